/* resumed.c - the shim of a resumed attempt, whose first shim died while its container ran: checks
 * that it may continue the attempt, continues the log, and adds the output that was printed
 * meanwhile. It starts nothing but clients of the container engine.
 *
 * The engine prints the output from its start. Masking is a function of the text alone, so the log
 * of the dead shim is a prefix of the masked output: that many bytes are skipped. */
#include "base/env.h"
#include "base/fd.h"
#include "base/own_file.h"
#include "exec/shim/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REST_TIME  10000000 /* µs to wait for the rest of the output */
#define REST_PAUSE 100      /* ms between two polls */

static const char seam[] =
    "pawl: another shim took the container over here; lines before this may be missing or "
    "repeated\n";

/* Opens the log to append to it. After the ring has wrapped, its position may be older than its
 * content; then the same bytes are written to the same place again. */
static bool open_log(struct shim *s, const struct attempt_container *c)
{
    struct attempt_log_pos pos;
    struct stat st;
    int rc = record_read(s->folder, &RECORD_LOG_POS, &pos);

    s->log.head = c->head;
    s->log.tail = c->tail;
    s->log.fd = own_file_open(s->folder, ATTEMPT_LOG, O_WRONLY, ATTEMPT_LOG_MAX);
    if (s->log.fd < 0) /* the task has printed nothing, or its log was replaced */
        return true;
    if (fstat(s->log.fd, &st))
        return false;
    s->log.total = rc == 1 ? pos.total : st.st_size;
    return rc >= 0 && st.st_size <= c->head + c->tail &&
           (rc == 0 || (pos.head == c->head && pos.tail == c->tail));
}

bool may_resume(struct shim *s)
{
    struct attempt_container c;
    struct attempt_exit end;

    if (attempt_has_tombstone(s->folder) || record_read(s->folder, &RECORD_EXIT, &end) ||
        record_read(s->folder, &RECORD_ENDING, &end) ||
        record_read(s->folder, &RECORD_SHIM, &s->self) != 1 ||
        record_read(s->folder, &RECORD_CONTAINER, &c) != 1 ||
        attempt_epoch(s->folder) > s->request.r.epoch ||
        (s->until > 0 && s->until <= clock_boot_us()) || !open_log(s, &c))
        return false;
    s->skip = s->request.r.skip;
    if (s->skip < 0) {
        log_append(&s->log, seam, strlen(seam));
        s->skip = 0;
    }
    s->first_skip = s->skip;
    return true;
}

void append_output(struct shim *s, const char *text, size_t len)
{
    size_t n = s->skip < (int64_t)len ? (size_t)s->skip : len;

    s->skip -= (int64_t)n;
    s->printed += (int64_t)len;
    log_append(&s->log, text + n, len - n);
}

/* Starts the command `stop` or `rest` of the request. */
static bool launch_command(const struct shim *s, const char **argv, struct launched *out)
{
    struct request r = s->request.r;
    struct launch l = {.r = &r, .folder = s->folder, .cgroup = -1, .tree = -1, .lock = s->lock};
    struct launch_failure why;

    r.argv = argv;
    if (launch(&l, out, &why))
        return false;
    fd_close(&out->report);
    return true;
}

void terminate_container(const struct shim *s)
{
    struct launched stop;

    if (launch_command(s, s->request.r.stop, &stop)) /* the process is reaped together with the
                                                        client */
        fd_close(&stop.output);
}

/* Reads what the command prints, until it closes its output. */
static void read_to_end(struct shim *s)
{
    int64_t deadline = clock_boot_us() + REST_TIME;

    while (s->task.output >= 0 && clock_boot_us() < deadline) {
        struct pollfd p = {.fd = s->task.output, .events = POLLIN};

        if (poll(&p, 1, REST_PAUSE) > 0)
            while (read_task_output(s))
                ;
    }
}

void read_rest_of_output(struct shim *s)
{
    struct launched rest;
    int status;

    /* A fenced attempt has no time left to read the rest of its output. */
    if (s->kind == END_FENCED || !launch_command(s, s->request.r.rest, &rest))
        return;
    fd_close(&s->task.output);
    s->task.output = rest.output;
    if (s->mask.pending.ptr) /* dropped: the new client prints the text again */
        explicit_bzero(s->mask.pending.ptr, s->mask.pending.cap);
    buf_reset(&s->mask.pending);
    s->skip = s->printed > s->first_skip ? s->printed : s->first_skip;
    read_to_end(s);
    kill_tree(&rest.pid, &status, "");
}
