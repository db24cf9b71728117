/* process.c - the process executor: watches, poll and the other operations. See process.h. */
#include "exec/process/process.h"

#include "base/mem.h"
#include "exec/process/process_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOG_CHECK_EVERY 1000000 /* µs between two reads of the logs */
#define CLEANUP_MAX     2 /* removals in a poll: creating folders is slow right after many of them */
#define EVENTS_MAX      64

/* ---- watches ---- */

struct watch *watch_new(struct process *p, const struct job *j, int at)
{
    const struct spec *s = j->spec;
    struct watch *w = mem_zalloc(sizeof(*w));
    AUTO_ARENA arena = ARENA_INIT;
    const char *const *argv = spec_argv(s, &arena);

    w->execution = j->execution;
    w->attempt = j->attempt;
    w->epoch = j->epoch;
    w->at = at;
    w->pidfd = w->lock = -1;
    w->timeout = s->timeout;
    w->grace = s->grace > 0 ? s->grace : p->grace > 0 ? p->grace : 0;
    w->program = mem_strdup(argv ? argv[0] : "");
    w->cwd = mem_strdup(s->cwd);
    w->user = mem_strdup(s->user);
    w->outputs = s->noutputs ? mem_copy_list(s->outputs) : NULL;
    w->secrets = s->nsecrets ? mem_copy_list(s->secrets) : NULL;
    w->command = j->cancel ? COMMAND_CANCEL : 0;
    w->cancelled = j->cancel;
    w->has_limits = s->limits.memory || s->limits.files || s->limits.pids;
    w->next = p->watches;
    p->watches = w;
    if (!p->running++)
        p->log_check_at = clock_boot_us() + LOG_CHECK_EVERY;
    return w;
}

/* Closes a pidfd and removes it from the epoll set: if the helper still has a copy of it, closing
 * alone would leave it in the set, which would keep returning a freed watch. */
static void close_pidfd(struct process *p, struct watch *w)
{
    if (w->pidfd >= 0)
        wakeup_remove(&p->wakeup, w->pidfd);
    fd_close(&w->pidfd);
}

void watch_drop(struct process *p, struct watch *w, bool released)
{
    w->is_released |= released;
    p->any_released |= released;
    if (w->state == WATCH_DROPPED)
        return;
    w->state = WATCH_DROPPED;
    close_pidfd(p, w);
    undo_release(&w->undo);
    watch_stop_asking(w);
    fd_close(&w->lock);
    fd_close(&w->at);
    p->running--;
}

static void watch_free(struct watch *w)
{
    free(w->program);
    free(w->cwd);
    free(w->user);
    free(w->outputs);
    free(w->secrets);
    free(w);
}

void process_free_dropped(struct process *p)
{
    for (struct watch **at = &p->watches; p->any_released && *at;) {
        struct watch *w = *at;

        if (!w->is_released) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        watch_free(w);
    }
    p->any_released = false;
}

/* ---- the poll ---- */

static void on_shim_ended(struct process *p, struct watch *w, int64_t now)
{
    close_pidfd(p, w);
    w->shim_ended = true;
    if (w->state == WATCH_RUNNING) {
        w->state = WATCH_CHECKING;
        w->check_at = now;
        w->wait = 0;
    }
}

/* Handles the watches that are due and sets the timer for the next ones. */
static void check_watches(struct process *p, int64_t now)
{
    bool tick = now >= p->log_check_at, away = tick && now - p->log_check_at > p->lease;

    if (tick)
        p->log_check_at = now + LOG_CHECK_EVERY;
    for (struct watch *w = p->watches; w; w = w->next) {
        if (w->check_at && w->check_at <= now) {
            w->check_at = 0;
            if (w->state == WATCH_RUNNING) {
                watch_check_start(p, w);
                watch_send_command(p, w);
            } else if (w->state == WATCH_REQUESTED)
                process_helper_replace(p);
            else if (w->state != WATCH_DROPPED)
                watch_check(p, w);
        }
        if (tick && w->state == WATCH_RUNNING && w->kill_at && w->kill_at <= now)
            watch_kill_overdue(p, w, away);
        if (tick && w->state == WATCH_RUNNING)
            process_report_log(p, w);
        if (w->state != WATCH_DROPPED && w->check_at)
            wakeup_at(&p->wakeup, w->check_at);
    }
    if (p->running)
        wakeup_at(&p->wakeup, p->log_check_at);
}

static void poll_processes(struct executor *x)
{
    struct process *p = (struct process *)x;
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(p->wakeup.epoll, events, EVENTS_MAX, 0);
    int64_t now = clock_boot_us();

    (void)wakeup_clear(&p->wakeup, now);
    for (int i = 0; i < n; i++) {
        void *what = events[i].data.ptr;

        if (what == &p->socket)
            process_helper_receive(p);
        else if (what)
            on_shim_ended(p, what, now);
    }
    check_watches(p, now);
    process_cleanup(p, CLEANUP_MAX);
    process_free_dropped(p);
}

/* ---- the other operations ---- */

static void cancel(struct executor *x, void *handle, enum outcome_kind why)
{
    struct watch *w = handle;

    w->command = w->requested = why == OUTCOME_TIMED_OUT ? COMMAND_TIME_OUT : COMMAND_CANCEL;
    w->cancelled |= why != OUTCOME_TIMED_OUT;
    watch_send_command((struct process *)x, w);
}

static void renewed(struct executor *x, void *handle, int64_t until)
{
    struct process *p = (struct process *)x;
    struct watch *w = handle;
    struct attempt_lease lease = {.epoch = w->epoch, .until = until};
    struct err err = ERR_INIT;
    bool known = *w->fault;
    int rc;

    if (w->state == WATCH_DROPPED)
        return;
    /* A failed renewal is only noted: the disk may have space by the next renewal, long before the
     * shim ends the attempt for lack of a renewal. A replaced file is noted once. */
    rc = attempt_renew(w->at, &lease, &err);
    if (rc == -E_INVALID)
        watch_note_file(w, RECORD_LEASE.name, EPERM);
    if (rc && !(rc == -E_INVALID && known))
        env_note(x->env, "%s", err.msg);
    if (!w->noted && w->state == WATCH_RUNNING && attempt_is_end_known(w->at))
        watch_note(p, w, UNWRITTEN);
}

static void forget(struct executor *x, void *handle)
{
    watch_drop((struct process *)x, handle, true);
}

/* Keeps the helper: the container of an attempt that runs may need another shim (resume.c). */
static void drain(struct executor *x)
{
    struct process *p = (struct process *)x;

    p->closed = true;
    for (struct watch *w = p->watches; w; w = w->next)
        watch_refuse_unstarted(p, w);
}

static void stop(struct executor *x, bool now)
{
    struct process *p = (struct process *)x;

    (void)now; /* all attempts that have started outlive this worker */
    p->stopped = true;
    drain(x);
    process_helper_stop(p);
}

static int capacity(struct executor *x)
{
    const struct process *p = (const struct process *)x;

    return !p->closed && p->slots > p->running ? p->slots - p->running : 0;
}

static int poll_fd(struct executor *x)
{
    return ((struct process *)x)->wakeup.epoll;
}

const struct executor_ops process_ops = {
    .outlives_worker = true,
    .marks_starts = true,
    .start = process_start,
    .reattach = process_reattach,
    .cancel = cancel,
    .renewed = renewed,
    .forget = forget,
    .settled = process_settled,
    .leftovers = process_leftovers,
    .drain = drain,
    .stop = stop,
    .capacity = capacity,
    .fd = poll_fd,
    .poll = poll_processes,
    .free = process_free,
};
