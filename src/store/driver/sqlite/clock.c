/* clock.c - the database's time: the boot clock plus a stored offset.
 *
 * The wall clock is not used directly, since it may be set back; leases would then last too long
 * and history would run backwards. The boot clock never jumps and keeps counting while the machine
 * sleeps, but starts at 0 with each boot. So the first writer after a boot stores an offset. With
 * it, boot clock + offset continues from the wall clock, but not below the newest stored time. All
 * other connections use that offset. */
#include "store/driver/sqlite/sqlite_db.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 40

static int read_boot_id(char *id, struct err *err)
{
    int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, id, BOOT_ID_SIZE - 1);
    int error = errno;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return err_set(err, E_UNAVAILABLE, BOOT_ID_FILE " can't be read: %s; is /proc mounted?",
                       n ? strerror(error) : "it is empty");
    id[n] = '\0';
    id[strcspn(id, "\n")] = '\0';
    return 0;
}

/* Reads the stored offset, and uses it if it was written during this boot. */
static int read_stored(struct sqlite_db *l, const char *boot_id, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&a, Q_SQLITE_CLOCK_GET);
    TRY(sqlite_run_stmt(l, &a, &r, ANY_ROWS, err));
    if (r.n && strcmp(rows_text(&r, 0, 0), boot_id) == 0)
        l->clock = (struct sqlite_clock){.state = CLOCK_STORED, .offset = rows_int(&r, 0, 1)};
    return 0;
}

static int store_new_offset(struct sqlite_db *l, const char *boot_id, struct err *err)
{
    int64_t newest, wall = clock_wall_us(), offset;
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&a, Q_SQLITE_CLOCK_NEWEST);
    TRY(sqlite_run_stmt(l, &a, &r, ANY_ROWS, err));
    newest = r.n ? rows_int(&r, 0, 0) : 0;
    offset = (newest >= wall ? newest + 1 : wall) - clock_boot_us();
    args_begin(&a, Q_SQLITE_CLOCK_SET, boot_id, offset);
    TRY(sqlite_run_stmt(l, &a, NULL, 1, err));
    l->clock = (struct sqlite_clock){.state = CLOCK_WRITTEN, .offset = offset};
    return 0;
}

static int load_offset(struct sqlite_db *l, struct err *err)
{
    char boot_id[BOOT_ID_SIZE];

    TRY(read_boot_id(boot_id, err));
    TRY(read_stored(l, boot_id, err));
    return l->clock.state == CLOCK_UNKNOWN && !reads_only(l->kind)
               ? store_new_offset(l, boot_id, err)
               : 0;
}

int sqlite_clock_now(struct sqlite_db *l, int64_t *us, struct err *err)
{
    int rc = l->clock.state == CLOCK_UNKNOWN ? load_offset(l, err) : 0;

    if (rc && rc != -E_SCHEMA)
        return rc;
    /* The offset is still unknown before the first migration, and in a reader that runs before the
     * first writer of this boot: use the wall clock. */
    *us = l->clock.state == CLOCK_UNKNOWN ? clock_wall_us() : clock_boot_us() + l->clock.offset;
    return 0;
}

void sqlite_clock_ended(struct sqlite_db *l, bool committed)
{
    if (l->clock.state == CLOCK_WRITTEN)
        l->clock.state = committed ? CLOCK_STORED : CLOCK_UNKNOWN;
}
