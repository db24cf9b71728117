/* exit_record.c - writes down how the task ended, see shim.h. */
#include "base/env.h"
#include "exec/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITE_PAUSE     10000   /* µs between two tries to write, at first … */
#define WRITE_PAUSE_MAX 1000000 /* … and at last */

/* --- before the start ---------------------------------------------------------------------------
 */

static void release(struct shim *s, const struct record *kind, int *room)
{
    if (*room < 0)
        return;
    close(*room);
    *room = -1;
    record_release(s->folder, kind);
}

void release_records(struct shim *s)
{
    release(s, &RECORD_EXIT, &s->exit_room);
    release(s, &RECORD_ENDING, &s->ending_room);
}

bool reserve_records(struct shim *s)
{
    const struct attempt_lease lease = {.epoch = s->epoch, .until = s->until};

    s->exit_room = record_reserve(s->folder, &RECORD_EXIT);
    if (s->exit_room >= 0 && s->in_container)
        s->ending_room = record_reserve(s->folder, &RECORD_ENDING);
    /* Without a file to overwrite, no renewal would reach us on a full disk, and the fence would
     * kill a task whose worker is fine. */
    if (s->exit_room >= 0 && (!s->in_container || s->ending_room >= 0) &&
        attempt_begin_lease(s->folder, &lease) == 0)
        return true;
    release_records(s);
    return false;
}

/* --- at the end ---------------------------------------------------------------------------------
 */

static int64_t us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static struct attempt_exit describe(const struct shim *s)
{
    struct attempt_exit e = {.kind = s->kind,
                             .begun = s->self.begun,
                             .ended = clock_boot_us(),
                             .log_total = s->log.total,
                             .log_unwritten = s->log.unwritten};
    struct rusage u;

    if (!e.kind && s->in_container)
        e.kind = container_exit_kind(s);
    if (s->why.step) {
        e.kind = END_NOT_STARTED;
        e.step = s->why.step;
        e.error = s->why.error;
        e.code = s->why.step == STEP_EXEC && s->why.error == ENOENT ? 127 : 126;
    } else if (WIFSIGNALED(s->status)) {
        e.kind = e.kind ? e.kind : END_SIGNALLED;
        e.signal = WTERMSIG(s->status);
    } else {
        e.kind = e.kind ? e.kind : END_EXITED;
        e.code = WEXITSTATUS(s->status);
    }
    /* What its engine spends is not counted here, and what the one who asks spends says nothing. */
    if (!s->in_container && getrusage(RUSAGE_CHILDREN, &u) == 0) {
        e.cpu = us(u.ru_utime) + us(u.ru_stime);
        e.peak_memory = u.ru_maxrss * 1024;
    }
    test_point("ended");
    return e;
}

bool write_ending(struct shim *s)
{
    struct attempt_exit end = describe(s);

    return record_publish(s->folder, &RECORD_ENDING, &end, &s->ending_room, test_point) == 0;
}

/* A task may have taken the rights of its own folder away. */
static bool regain_folder(struct shim *s)
{
    if (faccessat(s->folder, ".", R_OK | W_OK | X_OK, AT_EACCESS) && errno == EACCES)
        return fchmod(s->folder, 0700) == 0;
    return true;
}

/* Nobody can read what is written into a folder that was removed. */
void keep_trying(struct shim *s, bool (*step)(struct shim *s))
{
    int64_t pause = WRITE_PAUSE;

    while ((!regain_folder(s) || !step(s)) && !attempt_is_folder_removed(s->folder)) {
        attempt_mark_end_known(s->lock);
        clock_sleep_us(pause);
        pause = pause * 2 < WRITE_PAUSE_MAX ? pause * 2 : WRITE_PAUSE_MAX;
    }
}

/* True as well where the task put something else in the place of the record: it stays there, and
 * the worker names it. */
static bool publish_exit(struct shim *s)
{
    return record_publish(s->folder, &RECORD_EXIT, &s->end, &s->exit_room, test_point) == 0 ||
           errno == ENOSTR;
}

void write_exit(struct shim *s)
{
    s->end = describe(s); /* once: it did not run for as long as we try */
    keep_trying(s, publish_exit);
}
