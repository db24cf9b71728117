/* exit_record.c - writes the record of how the task ended, see shim.h. */
#include "base/env.h"
#include "exec/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITE_PAUSE     10000   /* µs before the second try; each further pause is twice as long */
#define WRITE_PAUSE_MAX 1000000 /* µs, the longest pause */

/* ---- before the start ---- */

static void release_record(struct shim *s, const struct record *kind, int *room)
{
    if (*room < 0)
        return;
    close(*room);
    *room = -1;
    if (!s->resumed) /* the shim of a resumed attempt leaves the reserved files to the next shim, as
                        the disk may be full */
        record_release(s->folder, kind);
}

void release_records(struct shim *s)
{
    release_record(s, &RECORD_EXIT, &s->exit_room);
    release_record(s, &RECORD_ENDING, &s->ending_room);
}

bool reserve_records(struct shim *s)
{
    const struct attempt_lease lease = {.epoch = s->epoch, .until = s->until};

    s->exit_room = record_reserve(s->folder, &RECORD_EXIT);
    if (s->exit_room >= 0 && s->in_container)
        s->ending_room = record_reserve(s->folder, &RECORD_ENDING);
    /* Without a lease file to overwrite, no renewal could be written on a full disk, and the fence
     * would kill a task whose worker is alive. */
    if (s->exit_room >= 0 && (!s->in_container || s->ending_room >= 0) &&
        attempt_begin_lease(s->folder, &lease) == 0)
        return true;
    release_records(s);
    return false;
}

/* ---- at the end ---- */

static int64_t us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static struct attempt_exit make_exit(const struct shim *s)
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
    /* In a container only the client's usage is known, which says nothing about the command's. */
    if (!s->in_container && getrusage(RUSAGE_CHILDREN, &u) == 0) {
        e.cpu = us(u.ru_utime) + us(u.ru_stime);
        e.peak_memory = u.ru_maxrss * 1024;
    }
    test_point("ended");
    return e;
}

bool write_ending(struct shim *s)
{
    struct attempt_exit end = make_exit(s);

    return record_publish(s->folder, &RECORD_ENDING, &end, &s->ending_room, test_point) == 0;
}

/* Restores the permissions of the folder, which a task may have removed. */
static bool regain_folder(struct shim *s)
{
    if (faccessat(s->folder, ".", R_OK | W_OK | X_OK, AT_EACCESS) && errno == EACCES)
        return fchmod(s->folder, 0700) == 0;
    return true;
}

/* Gives up only when the folder was removed, as nothing can be read from it any more. */
void keep_trying(struct shim *s, bool (*step)(struct shim *s))
{
    int64_t pause = WRITE_PAUSE;

    while ((!regain_folder(s) || !step(s)) && !attempt_is_folder_removed(s->folder)) {
        attempt_mark_end_known(s->lock);
        clock_sleep_us(pause);
        pause = pause * 2 < WRITE_PAUSE_MAX ? pause * 2 : WRITE_PAUSE_MAX;
    }
}

/* Publishes the exit record. Also true if the task replaced the record by something other than a
 * plain file: the replacement is left there, and the worker reports it. */
static bool publish_exit(struct shim *s)
{
    return record_publish(s->folder, &RECORD_EXIT, &s->end, &s->exit_room, test_point) == 0 ||
           errno == ENOSTR;
}

void write_exit(struct shim *s)
{
    s->end = make_exit(s); /* only once: the time of the retries is not run time */
    keep_trying(s, publish_exit);
}

/* Publishes the exit record or, if that is not possible, makes the attempt count as not started:
 * removes the shim's own record, and returns the start token, which proves that nothing was
 * started. */
static bool publish_or_withdraw(struct shim *s)
{
    if (publish_exit(s))
        return true;
    if (unlinkat(s->folder, RECORD_SHIM.name, 0) && errno != ENOENT)
        return false;
    release_records(s);
    attempt_return_start_token(s->lock, &s->token);
    return true;
}

void write_not_started(struct shim *s)
{
    s->end = make_exit(s);
    keep_trying(s, publish_or_withdraw);
}
