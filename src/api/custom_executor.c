/* custom_executor.c - wraps an executor of the embedder (struct pawl_executor) as one of the
 * dispatcher: calls its functions, and provides defaults for those that it does not have. */
#include "api/custom_executor.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define KEY_MAX 64

static struct pawl_reporter *reporter(struct executor *x)
{
    return (struct pawl_reporter *)x;
}

/* ---- start and reattach ---- */

static struct pawl_command command_of(const struct spec *s, struct arena *arena)
{
    const char **env = arena_alloc(arena, (s->nenv + 1) * sizeof(*env));
    struct buf pair = BUF_INIT;
    size_t i;

    for (i = 0; i < s->nenv; i++) {
        buf_reset(&pair);
        buf_addf(&pair, "%s=%s", s->env[i].key, s->env[i].value);
        env[i] = arena_memdup0(arena, pair.ptr, pair.len);
    }
    env[i] = NULL;
    buf_release(&pair);
    return (struct pawl_command){.run = s->run,
                                 .argv = s->argv,
                                 .cwd = s->cwd,
                                 .input = s->input,
                                 .user = s->user,
                                 .env = env,
                                 .secrets = s->secrets,
                                 .outputs = s->outputs,
                                 .timeout = s->timeout,
                                 .grace = s->grace,
                                 .memory = s->limits.memory,
                                 .cpu = s->limits.cpu,
                                 .files = s->limits.files,
                                 .pids = s->limits.pids};
}

/* Converts the return code and error of start or find to an internal error. */
static int convert_error(const struct pawl_reporter *r, int rc, const struct pawl_error *e,
                         struct err *err)
{
    int code = rc < 0 && rc >= -E_BREACH ? -rc : E_INTERNAL;

    if (!rc)
        return 0;
    if (!*e->message)
        return err_set(err, (enum error_code)code, "the executor %s gave no reason", r->x.key);
    return err_set(err, (enum error_code)code, "%s", e->message);
}

static int hand_over_task(struct run *run, const struct task *t,
                          int (*slot)(void *, const struct pawl_task *, struct pawl_error *),
                          struct err *err)
{
    struct pawl_reporter *r = run->id.to;
    struct pawl_error e = {0};
    struct arena arena = ARENA_INIT;
    struct buf spec = BUF_INIT;
    struct pawl_task task = {.id = run->id,
                             .root = t->root,
                             .epoch = t->epoch,
                             .max_attempts = t->max_attempts,
                             .name = t->name,
                             .input = t->input,
                             .command = command_of(t->spec, &arena),
                             .lease_until = t->lease_until};
    int rc;

    spec_write(t->spec, &spec);
    task.spec = buf_cstr(&spec);
    rc = convert_error(r, slot(r->own.data, &task, &e), &e, err);
    buf_release(&spec);
    arena_release(&arena);
    if (rc) {
        run_drop(run);
    } else if (run->timeout && !run->deadline) {
        run->deadline = run->accepted + run->timeout; /* until it reports when it started */
        run_arm(r, run->deadline);
    }
    return rc;
}

static int start(struct executor *x, const struct task *t, struct err *err)
{
    struct pawl_reporter *r = reporter(x);

    return hand_over_task(run_new(r, t), t, r->own.start, err);
}

static void cancel(struct executor *x, int64_t execution, int attempt, enum outcome_kind why)
{
    struct run *run = run_of(x, execution, attempt);

    if (run)
        run_ask(run, why);
}

static int reattach(struct executor *x, const struct task *t, struct err *err)
{
    struct pawl_reporter *r = reporter(x);
    struct run *run = run_of(x, t->execution, t->attempt);
    bool is_known = run;
    int rc = 0;

    if (is_known)
        run_remember(run);
    else
        run = run_new(r, t);
    if (r->own.find)
        rc = hand_over_task(run, t, r->own.find, err);
    else if (!is_known) /* it ran inside its worker and ended with it */
        pawl_report_ended(run->id,
                          &(struct pawl_end){.outcome = PAWL_LOST,
                                             .error = "the worker that ran it is gone, and the "
                                                      "attempt ended with it"});
    if (!rc && t->cancel && (is_known || r->own.find))
        run_ask(run, OUTCOME_CANCELLED);
    return rc;
}

/* ---- the other functions ---- */

/* Drops an attempt that outlives its worker. Any other attempt keeps its slot until it ends; the
 * dispatcher no longer knows it and gets no report of it. */
static void release_run(struct run *run)
{
    struct pawl_reporter *r = run->id.to;

    if (r->own.forget)
        r->own.forget(r->own.data, run->id);
    else if (!r->own.outlives_worker)
        run_ask(run, OUTCOME_LOST);
    if (r->own.outlives_worker)
        run_drop(run);
    else if (!run->why)
        run->why = OUTCOME_LOST;
}

static void forget(struct executor *x, int64_t execution, int attempt)
{
    struct run *run = run_of(x, execution, attempt);

    if (run)
        release_run(run);
}

static void renewed(struct executor *x, int64_t execution, int attempt, int64_t until)
{
    struct pawl_reporter *r = reporter(x);

    if (r->own.renewed)
        r->own.renewed(r->own.data, (struct pawl_attempt){r, execution, attempt}, until);
}

static void settled(struct executor *x, int64_t execution, int attempt)
{
    struct pawl_reporter *r = reporter(x);

    if (r->own.settled)
        r->own.settled(r->own.data, (struct pawl_attempt){r, execution, attempt});
}

static void leave_run(struct run *run, int64_t now)
{
    (void)now;
    release_run(run);
}

/* The attempt is deferred: another worker runs it again, and it does not count as an attempt. */
static void stop_run(struct run *run, int64_t now)
{
    (void)now;
    run_ask(run, OUTCOME_DEFERRED);
}

static void stop(struct executor *x, bool now)
{
    struct pawl_reporter *r = reporter(x);

    r->closed = true;
    if (r->own.outlives_worker)
        run_each(r, leave_run);
    else if (now)
        run_each(r, stop_run);
}

static int capacity(struct executor *x)
{
    struct pawl_reporter *r = reporter(x);
    int left = r->closed || r->n >= r->slots ? 0 : r->slots - r->n, own;

    if (!left || !r->own.room)
        return left;
    own = r->own.room(r->own.data);
    return own < 0 ? 0 : own < left ? own : left;
}

static int poll_fd(struct executor *x)
{
    return reporter(x)->epoll;
}

static void release(struct pawl_reporter *r)
{
    run_free_all(r);
    if (r->timer >= 0)
        close(r->timer);
    if (r->event >= 0)
        close(r->event);
    if (r->epoll >= 0)
        close(r->epoll);
    pthread_mutex_destroy(&r->lock);
    free((char *)r->x.key);
    free(r);
}

static void free_executor(struct executor *x)
{
    struct pawl_reporter *r = reporter(x);

    if (r->own.free)
        r->own.free(r->own.data);
    release(r);
}

static const struct executor_ops ops = {
    .kind = "custom",
    .start = start,
    .reattach = reattach,
    .cancel = cancel,
    .renewed = renewed,
    .forget = forget,
    .settled = settled,
    .stop = stop,
    .capacity = capacity,
    .fd = poll_fd,
    .poll = custom_executor_poll,
    .free = free_executor,
};

/* ---- adding one ---- */

static int check(const struct pawl_executor *x, struct err *err)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *key = x->key ? x->key : "";

    if (!*key || strlen(key) > KEY_MAX || key[strspn(key, letters)] || strchr("_.-", *key))
        return err_set(err, E_INVALID,
                       "'%.60s' can't be the key of an executor: use at most %d letters, digits, "
                       "_, . and -, and start with a letter or digit",
                       key, KEY_MAX);
    if (!x->start)
        return err_set(err, E_INVALID, "the executor %s has no start function", key);
    if (x->outlives_worker && !x->find)
        return err_set(err, E_INVALID,
                       "the executor %s has no find function, which outlives_worker requires", key);
    if (!x->fd != !x->turn)
        return err_set(err, E_INVALID, "the executor %s needs both fd and turn, or neither", key);
    return 0;
}

static bool watch(struct pawl_reporter *r, int fd)
{
    struct epoll_event ready = {.events = EPOLLIN, .data.fd = fd};

    return fd >= 0 && !epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ready);
}

static int open_fds(struct pawl_reporter *r, struct err *err)
{
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (watch(r, r->event) && watch(r, r->timer) &&
        (!r->own.fd || watch(r, r->own.fd(r->own.data))))
        return 0;
    return err_set(err, E_UNAVAILABLE,
                   "the file descriptors of the executor %s can't be polled: %s", r->x.key,
                   strerror(errno));
}

int api_executor_add(struct dispatch *d, const struct pawl_executor *x, int slots, struct env *env,
                     struct err *err)
{
    struct pawl_reporter *r;
    int rc;

    if ((rc = check(x, err)))
        return rc;
    r = mem_zalloc(sizeof(*r));
    r->ops = ops;
    r->ops.outlives_worker = x->outlives_worker;
    r->x = (struct executor){.ops = &r->ops, .key = mem_strdup(x->key), .env = env};
    r->own = *x;
    r->own.key = r->x.key;
    r->slots = x->slots > 0 ? x->slots : slots;
    r->news_end = &r->news;
    pthread_mutex_init(&r->lock, NULL);
    if ((rc = open_fds(r, err)) || (rc = dispatch_add_executor(d, &r->x, 0, err)))
        release(r);
    return rc;
}
