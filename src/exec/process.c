/* process.c - the process executor: its slots, its turn, its memory. See process.h. */
#include "exec/process.h"

#include "base/mem.h"
#include "exec/process_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK       1000000 /* µs between looks at the logs */
#define TIDY_MAX   2       /* in a turn: right after many removals folders are slow to make */
#define EVENTS_MAX 64

/* --- watches ------------------------------------------------------------------------------------
 */

static struct watch **bucket(struct process *p, int64_t execution)
{
    return &p->watches[(uint64_t)execution % WATCH_BUCKETS];
}

struct watch *watch_new(struct process *p, const struct task *t, int at)
{
    const struct spec *s = t->spec;
    struct watch *w = mem_zalloc(sizeof(*w)), **head = bucket(p, t->execution);

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
        p->tick_at = clock_boot_us() + TICK;
    return w;
}

struct watch *watch_find(struct process *p, int64_t execution, int attempt)
{
    struct watch *w = *bucket(p, execution);

    while (w && (w->execution != execution || w->attempt != attempt || w->state == WATCH_GONE))
        w = w->next;
    return w;
}

/* The helper may still have the same handle open, and then closing ours would not end its place in
 * the poll: it would go on to tell of a watch that is long freed. */
static void close_pidfd(struct process *p, struct watch *w)
{
    if (w->pidfd >= 0)
        (void)epoll_ctl(p->poll, EPOLL_CTL_DEL, w->pidfd, NULL);
    process_close(&w->pidfd);
}

void watch_drop(struct process *p, struct watch *w)
{
    if (w->state == WATCH_GONE)
        return;
    w->state = WATCH_GONE;
    close_pidfd(p, w);
    undo_release(&w->undo);
    process_close(&w->lock);
    process_close(&w->at);
    p->running--;
    p->any_gone = true;
}

static void watch_free(struct watch *w)
{
    free(w->program);
    free(w->cwd);
    free(w->user);
    process_free_list(w->outputs);
    free(w);
}

void process_sweep(struct process *p)
{
    for (size_t i = 0; p->any_gone && i < WATCH_BUCKETS; i++) {
        for (struct watch **at = &p->watches[i]; *at;) {
            struct watch *w = *at;

            if (w->state != WATCH_GONE) {
                at = &w->next;
                continue;
            }
            *at = w->next;
            watch_free(w);
        }
    }
    p->any_gone = false;
}

/* --- the turn -----------------------------------------------------------------------------------
 */

bool process_poll_add(struct process *p, int fd, void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(p->poll, EPOLL_CTL_ADD, fd, &e) == 0;
}

void process_wake_at(struct process *p, int64_t when)
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
    if (w->state == WATCH_RUNNING) {
        w->state = WATCH_LOOKING;
        w->look_at = now;
        w->wait = 0;
    }
}

/* What is due, and when to come back. */
static void look_around(struct process *p, int64_t now)
{
    bool tick = now >= p->tick_at, away = tick && now - p->tick_at > p->lease;

    if (tick)
        p->tick_at = now + TICK;
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (struct watch *w = p->watches[i]; w; w = w->next) {
            if (w->look_at && w->look_at <= now) {
                w->look_at = 0;
                if (w->state == WATCH_RUNNING)
                    watch_tell(p, w);
                else if (w->state == WATCH_ASKED)
                    process_helper_give_up(p);
                else if (w->state != WATCH_GONE)
                    watch_look(p, w);
            }
            if (tick && w->state == WATCH_RUNNING && w->kill_at && w->kill_at <= now)
                watch_overdue(p, w, away);
            if (tick && w->state == WATCH_RUNNING)
                process_report_log(p, w);
            if (w->state != WATCH_GONE && w->look_at)
                process_wake_at(p, w->look_at);
        }
    }
    if (p->running)
        process_wake_at(p, p->tick_at);
}

static void turn(struct executor *x)
{
    struct process *p = (struct process *)x;
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(p->poll, events, EVENTS_MAX, 0);
    int64_t now = clock_boot_us();

    for (int i = 0; i < n; i++) {
        void *what = events[i].data.ptr;

        if (what == &p->socket)
            process_helper_listen(p);
        else if (what == &p->timer)
            on_timer(p);
        else
            on_shim_ended(p, what, now);
    }
    look_around(p, now);
    process_tidy(p, TIDY_MAX);
    process_sweep(p);
}

/* --- the other slots ----------------------------------------------------------------------------
 */

static int find(struct executor *x, const struct task *t, struct err *err)
{
    struct process *p = (struct process *)x;
    struct attempt_lease lease = {.epoch = t->epoch, .until = t->lease_until};
    struct watch *w;
    int at = attempt_open(p->dir, t->execution, t->attempt), rc;

    /* Not there: made, so that the tombstone has a place. */
    if (at < 0 && errno == ENOENT)
        at = attempt_make(p->dir, t->execution, t->attempt);
    if (at < 0 && errno == EEXIST) /* its starter was faster */
        at = attempt_open(p->dir, t->execution, t->attempt);
    if (at < 0)
        return err_set(err, E_REFUSED,
                       "the folder of attempt %d of execution %lld can't be opened: %s", t->attempt,
                       (long long)t->execution, strerror(errno));
    /* From here on its shim obeys nobody of a lower epoch. */
    rc = attempt_renew(at, &lease, err);
    if (rc) { /* it may well be running: nothing is known, so nothing may be said about it */
        close(at);
        if (rc == -E_UNAVAILABLE)
            err->code = E_REFUSED;
        return -(int)err->code;
    }
    w = watch_find(p, t->execution, t->attempt);
    if (w) /* our own, of an epoch that is over */
        watch_drop(p, w);
    w = watch_new(p, t, at);
    if (p->in_containers && !undo_load(&w->undo, at))
        process_undo_by_name(p, w);
    w->found = true;
    w->state = WATCH_LOOKING;
    w->look_at = clock_boot_us();
    process_wake_at(p, w->look_at);
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
    watch_tell(p, w);
}

static void renewed(struct executor *x, int64_t execution, int attempt, int64_t until)
{
    struct process *p = (struct process *)x;
    struct watch *w = watch_find(p, execution, attempt);
    struct attempt_lease lease = {.until = until};
    struct err err = ERR_INIT;

    if (!w)
        return;
    lease.epoch = w->epoch;
    /* A disk that is full now may not be at the next renewal; the fence stands far behind. */
    if (attempt_renew(w->at, &lease, &err) && x->env->note)
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

void process_let_go(struct process *p)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (struct watch *w = p->watches[i]; w; w = w->next)
            watch_drop(p, w);
    process_helper_stop(p);
}

static void hand_over(struct executor *x, bool now)
{
    struct process *p = (struct process *)x;

    (void)now; /* all that has begun outlives us */
    p->closed = true;
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (struct watch *w = p->watches[i]; w; w = w->next)
            watch_give_back(p, w);
    process_let_go(p);
}

static int room(struct executor *x)
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

#define SLOTS                                                                            \
    .outlives_worker = true, .start = process_start, .find = find, .cancel = cancel,     \
    .renewed = renewed, .forget = forget, .settled = process_settled,                    \
    .leftovers = process_leftovers, .hand_over = hand_over, .room = room, .fd = poll_fd, \
    .turn = turn, .stats = stats, .free = process_free

const struct executor_ops process_ops = {.kind = "process", SLOTS};
const struct executor_ops container_ops = {.kind = "container", SLOTS};
