/* tz.c - converts between UTC and local time; see tz.h. A zone is a table of offset changes
 * (steps), and a rule for the time after the last step. */
#include "base/tz.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tz_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (256 * 1024) /* bytes; the largest file in tzdata has 4 kB */

/* ---- loading ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-';
}

/* Names can't contain dots, so ".." and names of other files with a suffix are refused; empty
 * parts, as in "/etc" or "a//b", are refused, too. */
static bool is_name(const char *name)
{
    size_t i;

    for (i = 0; name[i]; i++)
        if (i >= TZ_NAME_SIZE - 1 ||
            !(is_name_char(name[i]) || (name[i] == '/' && i && name[i - 1] != '/' && name[i + 1])))
            return false;
    return i > 0;
}

static int no_such_zone(const char *name, struct err *err)
{
    if (access(TZ_DIR, F_OK))
        return err_set(err, E_UNAVAILABLE,
                       "time zone %s can't be read: %s does not exist; install the package tzdata",
                       name, TZ_DIR);
    return err_set(
        err, E_NOT_FOUND,
        "time zone %s does not exist: use the name of a file below %s, such as Europe/Berlin", name,
        TZ_DIR);
}

static int load_file(const char *name, struct tz **out, struct err *err)
{
    AUTO_BUF path = BUF_INIT, bytes = BUF_INIT;
    AUTO_FD fd = -1;
    struct stat st;

    buf_addf(&path, "%s/%s", TZ_DIR, name);
    /* Non-blocking, so that a FIFO or a device can't block open() before fstat shows its type. */
    fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return no_such_zone(name, err);
    if (fd < 0 || fstat(fd, &st))
        return err_set(err, E_UNAVAILABLE, "can't read %s: %s", path.ptr, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return no_such_zone(name, err);
    if (!S_ISREG(st.st_mode) || !buf_read(&bytes, fd, MAX_FILE) || bytes.len > MAX_FILE)
        return err_set(err, E_UNAVAILABLE, "can't read %s: it is not a time zone file", path.ptr);
    return tz_parse(name, buf_cstr(&bytes), bytes.len, out, err);
}

int tz_load(const char *name, struct tz **out, struct err *err)
{
    if (!is_name(name))
        return err_set(err, E_INVALID,
                       "'%.60s' is not the name of a time zone: write one such as Europe/Berlin",
                       name);
    if (!strcmp(name, "localtime"))
        return err_set(
            err, E_INVALID,
            "the time zone 'localtime' differs from machine to machine: name a time zone, such "
            "as Europe/Berlin");
    if (!strcmp(name, "UTC")) {
        *out = mem_zalloc(sizeof(**out));
        return 0;
    }
    return load_file(name, out, err);
}

void tz_free(struct tz **z)
{
    if (*z)
        free((*z)->steps);
    free(*z);
    *z = NULL;
}

/* ---- lookup ---- */

/* The period of a time after the last step of the table. It follows from the zone's rule, if the
 * zone has one. */
static struct tz_period period_by_rule(const struct tz *z, int64_t t)
{
    int64_t last = z->n ? z->steps[z->n - 1].at : -TZ_FOREVER;
    struct tz_period p = {last, TZ_FOREVER, z->n ? z->steps[z->n - 1].offset : z->before};

    if (z->has_rule && z->rule.has_summer)
        p = tz_rule_period(&z->rule, t);
    else if (z->has_rule)
        p.offset = z->rule.standard;
    if (p.from < last)
        p.from = last;
    if (p.until > TZ_FOREVER)
        p.until = TZ_FOREVER;
    return p;
}

struct tz_period tz_period(const struct tz *z, int64_t t)
{
    size_t low = 0, high = z->n; /* the number of steps up to time t is between low and high */

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (z->steps[mid].at <= t)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == z->n)
        return period_by_rule(z, t);
    return (struct tz_period){
        .from = low ? z->steps[low - 1].at : -TZ_FOREVER,
        .until = z->steps[low].at,
        .offset = low ? z->steps[low - 1].offset : z->before,
    };
}

int64_t tz_to_local(const struct tz *z, int64_t t)
{
    return t + tz_period(z, t).offset;
}

int64_t tz_from_local(const struct tz *z, int64_t local)
{
    /* No offset is larger than TZ_MAX_OFFSET, so the zone's clocks can't show `local` before this
     * time. */
    struct tz_period p = tz_period(z, local - TZ_MAX_OFFSET);

    while (p.until + p.offset <= local) /* while the clocks reach `local` only after this period */
        p = tz_period(z, p.until);
    return local - p.offset < p.from ? p.from : local - p.offset;
}
