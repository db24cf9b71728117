/* process.c - the process executor: watches, poll and the other operations. See process.h. */
#include "exec/process/process.h"

#include "base/mem.h"
#include "exec/process/process_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOG_CHECK_EVERY 1000000 /* µs between two reads of the logs */
#define CLEANUP_MAX     2 /* removals in a poll: creating folders is slow right after many of them */
#define EVENTS_MAX      64

/* --- watches ------------------------------------------------------------------------------------
 */

static struct watch **bucket_of(struct process *p, int64_t execution)
{
    return &p->watches[(uint64_t)execution % WATCH_BUCKETS];
}

struct watch *watch_new(struct process *p, const struct task *t, int at)
{
    const struct spec *s = t->spec;
    struct watch *w = mem_zalloc(sizeof(*w)), **head = bucket_of(p, t->execution);

    w->execution = t->execution;
    w->attempt = t->attempt;
    w->epoch = t->epoch;
    w->at = at;
    w->pidfd = w->lock = -1;
    w->timeout = s->timeout;
    w->grace = s->grace > 0 ? s->grace : p->grace > 0 ? p->grace : 0;
    w->program = mem_strdup(s->run ? "/bin/sh" : s->argv ? s->argv[0] : "");
    w->cwd = mem_strdup(s->cwd);
    w->user = mem_strdup(s->user);
    w->outputs = s->noutputs ? process_copy_list(s->outputs) : NULL;
    w->command = t->cancel ? COMMAND_CANCEL : 0;
    w->cancelled = t->cancel;
    w->next = *head;
    *head = w;
    if (!p->running++)
        p->log_check_at = clock_boot_us() + LOG_CHECK_EVERY;
    return w;
}

struct watch *watch_find(struct process *p, int64_t execution, int attempt)
{
    struct watch *w = *bucket_of(p, execution);

    while (w && (w->execution != execution || w->attempt != attempt || w->state == WATCH_DROPPED))
        w = w->next;
    return w;
}

/* The helper may still have a copy of the pidfd open. Then closing ours would not remove it from
 * the epoll set, which would keep returning a freed watch. */
static void close_pidfd(struct process *p, struct watch *w)
{
    if (w->pidfd >= 0)
        (void)epoll_ctl(p->poll, EPOLL_CTL_DEL, w->pidfd, NULL);
    process_close_fd(&w->pidfd);
}

void watch_drop(struct process *p, struct watch *w)
{
    if (w->state == WATCH_DROPPED)
        return;
    w->state = WATCH_DROPPED;
    close_pidfd(p, w);
    undo_release(&w->undo);
    process_close_fd(&w->lock);
    process_close_fd(&w->at);
    p->running--;
    p->any_dropped = true;
}

static void watch_free(struct watch *w)
{
    free(w->program);
    free(w->cwd);
    free(w->user);
    process_free_list(w->outputs);
    free(w);
}

void process_free_dropped(struct process *p)
{
    for (size_t i = 0; p->any_dropped && i < WATCH_BUCKETS; i++) {
        for (struct watch **at = &p->watches[i]; *at;) {
            struct watch *w = *at;

            if (w->state != WATCH_DROPPED) {
                at = &w->next;
                continue;
            }
            *at = w->next;
            watch_free(w);
        }
    }
    p->any_dropped = false;
}

/* --- the poll -----------------------------------------------------------------------------------
 */

bool process_poll_add(struct process *p, int fd, void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(p->poll, EPOLL_CTL_ADD, fd, &e) == 0;
}

void process_set_timer(struct process *p, int64_t when)
{
    struct itimerspec t = {
        .it_value = {.tv_sec = when / 1000000, .tv_nsec = when % 1000000 * 1000 + 1}};

    if (p->timer_at && p->timer_at <= when)
        return;
    p->timer_at = when;
    timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void on_timer(struct process *p)
{
    uint64_t times;

    if (read(p->timer, &times, sizeof(times)) > 0)
        p->timer_at = 0;
}

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
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (struct watch *w = p->watches[i]; w; w = w->next) {
            if (w->check_at && w->check_at <= now) {
                w->check_at = 0;
                if (w->state == WATCH_RUNNING)
                    watch_send_command(p, w);
                else if (w->state == WATCH_REQUESTED)
                    process_helper_replace(p);
                else if (w->state != WATCH_DROPPED)
                    watch_check(p, w);
            }
            if (tick && w->state == WATCH_RUNNING && w->kill_at && w->kill_at <= now)
                watch_kill_overdue(p, w, away);
            if (tick && w->state == WATCH_RUNNING)
                process_report_log(p, w);
            if (w->state != WATCH_DROPPED && w->check_at)
                process_set_timer(p, w->check_at);
        }
    }
    if (p->running)
        process_set_timer(p, p->log_check_at);
}

static void poll_processes(struct executor *x)
{
    struct process *p = (struct process *)x;
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(p->poll, events, EVENTS_MAX, 0);
    int64_t now = clock_boot_us();

    for (int i = 0; i < n; i++) {
        void *what = events[i].data.ptr;

        if (what == &p->socket)
            process_helper_receive(p);
        else if (what == &p->timer)
            on_timer(p);
        else
            on_shim_ended(p, what, now);
    }
    check_watches(p, now);
    process_cleanup(p, CLEANUP_MAX);
    process_free_dropped(p);
}

/* --- the other operations -----------------------------------------------------------------------
 */

/* Reattaches to an adopted attempt: records our epoch in its folder; the next poll finds out what
 * became of it (watch_check in reattach.c). */
static int reattach(struct executor *x, const struct task *t, struct err *err)
{
    struct process *p = (struct process *)x;
    struct attempt_lease lease = {.epoch = t->epoch, .until = t->lease_until};
    struct watch *w;
    char fault[ATTEMPT_FAULT_SIZE] = "";
    int64_t no_folder;
    int at = process_open_folder(p, t, fault, &no_folder), rc;

    if (at < 0)
        return err_set(err, E_REFUSED,
                       "the folder of attempt %d of execution %lld can't be opened: %s", t->attempt,
                       (long long)t->execution, strerror(errno));
    /* From here on the shim obeys no lower epoch. */
    rc = attempt_renew(at, &lease, err);
    if (rc && rc != -E_INVALID) { /* the attempt may be running: report nothing about it */
        close(at);
        if (rc == -E_UNAVAILABLE)
            err->code = E_REFUSED;
        return -(int)err->code;
    }
    w = watch_find(p, t->execution, t->attempt);
    if (w) /* our own, of an earlier epoch */
        watch_drop(p, w);
    w = watch_new(p, t, at);
    w->no_folder = no_folder;
    snprintf(w->fault, sizeof(w->fault), "%s", fault);
    if (rc)
        watch_note_file(w, RECORD_LEASE.name, EPERM);
    else
        (void)watch_note_fault(w);
    if (p->in_containers && !undo_load(&w->undo, at))
        process_set_undo_by_name(p, w);
    w->found = true;
    w->state = WATCH_CHECKING;
    w->check_at = clock_boot_us();
    process_set_timer(p, w->check_at);
    return 0;
}

static void cancel(struct executor *x, int64_t execution, int attempt, enum outcome_kind why)
{
    struct process *p = (struct process *)x;
    struct watch *w = watch_find(p, execution, attempt);

    if (!w)
        return;
    w->command = why == OUTCOME_TIMED_OUT ? COMMAND_TIME_OUT : COMMAND_CANCEL;
    w->cancelled |= why != OUTCOME_TIMED_OUT;
    watch_send_command(p, w);
}

static void renewed(struct executor *x, int64_t execution, int attempt, int64_t until)
{
    struct process *p = (struct process *)x;
    struct watch *w = watch_find(p, execution, attempt);
    struct attempt_lease lease = {.until = until};
    struct err err = ERR_INIT;
    bool known;
    int rc;

    if (!w)
        return;
    lease.epoch = w->epoch;
    /* A failed renewal is only noted: the disk may have space at the next one, long before the
     * fence ends the attempt. A replaced file is noted once. */
    known = *w->fault;
    rc = attempt_renew(w->at, &lease, &err);
    if (rc == -E_INVALID)
        watch_note_file(w, RECORD_LEASE.name, EPERM);
    if (rc && !(rc == -E_INVALID && known) && x->env->note)
        x->env->note(x->env->arg, err.msg);
    if (!w->noted && w->state == WATCH_RUNNING && attempt_is_end_known(w->at))
        watch_note(p, w, UNWRITTEN);
}

static void forget(struct executor *x, int64_t execution, int attempt)
{
    struct process *p = (struct process *)x;
    struct watch *w = watch_find(p, execution, attempt);

    if (w)
        watch_drop(p, w);
}

void process_drop_all(struct process *p)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (struct watch *w = p->watches[i]; w; w = w->next)
            watch_drop(p, w);
    process_helper_stop(p);
}

static void stop(struct executor *x, bool now)
{
    struct process *p = (struct process *)x;

    (void)now; /* all attempts that have started outlive this worker */
    p->closed = true;
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (struct watch *w = p->watches[i]; w; w = w->next)
            watch_refuse_unstarted(p, w);
    process_drop_all(p);
}

static int capacity(struct executor *x)
{
    const struct process *p = (const struct process *)x;

    return !p->closed && p->slots > p->running ? p->slots - p->running : 0;
}

static int poll_fd(struct executor *x)
{
    return ((struct process *)x)->poll;
}

static void stats(struct executor *x, struct executor_stats *out)
{
    const struct process *p = (const struct process *)x;

    *out = (struct executor_stats){.running = p->running,
                                   .done = (int64_t)p->times.count,
                                   .failed = p->failed,
                                   .mean = histogram_mean(&p->times),
                                   .p99 = histogram_quantile(&p->times, 0.99)};
}

#define PROCESS_OPS                                                                          \
    .outlives_worker = true, .start = process_start, .reattach = reattach, .cancel = cancel, \
    .renewed = renewed, .forget = forget, .settled = process_settled,                        \
    .leftovers = process_leftovers, .stop = stop, .capacity = capacity, .fd = poll_fd,       \
    .poll = poll_processes, .stats = stats, .free = process_free

const struct executor_ops process_ops = {.kind = "process", PROCESS_OPS};
const struct executor_ops container_ops = {.kind = "container", PROCESS_OPS};
