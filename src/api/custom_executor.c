/* custom_executor.c - wraps an embedder's executor (struct pawl_executor) as an executor of the
 * dispatcher: calls its functions, and provides defaults for missing ones. */
#include "api/custom_executor.h"

#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 64

static struct pawl_reporter *reporter(struct executor *x)
{
    return (struct pawl_reporter *)x;
}

/* ---- start and reattach ---- */

/* Returns a list of NAME=VALUE that ends with NULL. */
static const char *const *variables_of(const struct spec_pair *pairs, size_t n, struct arena *arena)
{
    const char **list = arena_zalloc(arena, (n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = arena_printf(arena, "%s=%s", pairs[i].key, pairs[i].value);
    return list;
}

static struct pawl_command command_of(const struct spec *s, struct arena *arena)
{
    return (struct pawl_command){.run = s->run,
                                 .shell = s->nshell ? s->shell : NULL,
                                 .argv = s->argv,
                                 .cwd = s->cwd,
                                 .input = s->input,
                                 .user = s->user,
                                 .env = variables_of(s->env, s->nenv, arena),
                                 .input_files = variables_of(s->files, s->nfiles, arena),
                                 .secrets = s->secrets,
                                 .outputs = s->outputs,
                                 .timeout = s->timeout,
                                 .grace = s->grace,
                                 .memory = s->limits.memory,
                                 .cpu = s->limits.cpu,
                                 .files = s->limits.files,
                                 .pids = s->limits.pids};
}

/* The item of a fan-out as JSON, from the input of a job; NULL if it has none. */
static const char *item_of(const struct job *j, struct arena *arena)
{
    json_auto_t *input = NULL;
    struct err refusal = ERR_INIT;
    json_t *item;

    if (j->index < 0 || spec_has_command(j->spec) || !j->input ||
        json_load(j->input, strlen(j->input), SIZE_MAX, "the input", &input, &refusal))
        return NULL;
    item = json_object_get(input, "item");
    return item ? json_arena_text(item, arena) : NULL;
}

/* The workflow's name: the part of the job's full name before the task. */
static const char *workflow_name_of(const struct job *j, struct arena *arena)
{
    const char *end = strstr(j->name, "::");

    return j->task_name && end ? arena_printf(arena, "%.*s", (int)(end - j->name), j->name) : NULL;
}

/* Sets the fields that say where the job belongs: its workflow, its queue and its tenant. */
static void set_place(struct pawl_task *t, const struct job *j, const struct run *run,
                      struct arena *arena)
{
    t->parent = j->parent;
    t->workflow = j->workflow;
    t->workflow_name = workflow_name_of(j, arena);
    t->task_name = j->task_name;
    t->index = j->index;
    t->item = item_of(j, arena);
    t->queue = j->queue;
    t->tenant = run->id.to->tenant;
    t->priority = j->priority;
    t->deadline = run->deadline ? run->deadline : run->timeout ? run->accepted + run->timeout : 0;
}

/* Converts the return code and error of start or find to an internal error. */
static int convert_error(const struct pawl_reporter *r, int rc, const struct pawl_error *e,
                         struct err *err)
{
    int code = rc < 0 && rc >= -E_VIOLATION ? -rc : E_INTERNAL;

    if (!rc)
        return 0;
    if (!*e->message)
        return err_set(err, (enum error_code)code,
                       "the executor %s failed without an error message", r->x.key);
    return err_set(err, (enum error_code)code, "%s", e->message);
}

/* Passes a job to the executor's start or find. On failure the run is dropped and *handle is
 * NULL. */
static int hand_over_job(void **handle, const struct job *j,
                         int (*slot)(void *, const struct pawl_task *, struct pawl_error *),
                         struct err *err)
{
    struct run *run = *handle;
    struct pawl_reporter *r = run->id.to;
    struct pawl_error e = {0};
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUF spec = BUF_INIT;
    struct pawl_task task = {.id = run->id,
                             .root = j->root,
                             .epoch = j->epoch,
                             .max_attempts = j->max_attempts,
                             .name = j->name,
                             .input = j->input,
                             .command = command_of(j->spec, &arena),
                             .lease_until = j->lease_until};
    int rc;

    set_place(&task, j, run, &arena);
    spec_write(j->spec, &spec);
    task.spec = buf_cstr(&spec);
    rc = convert_error(r, slot(r->own.data, &task, &e), &e, err);
    if (rc) {
        run_drop(run);
        *handle = NULL;
    } else if (run->timeout && !run->deadline) {
        run->deadline = run->accepted + run->timeout; /* provisional, until the start is reported */
        wakeup_at(&r->wakeup, run->deadline);
    }
    return rc;
}

static int start(struct executor *x, const struct job *j, void **handle, struct err *err)
{
    struct pawl_reporter *r = reporter(x);

    *handle = run_new(r, j);
    return hand_over_job(handle, j, r->own.start, err);
}

static void cancel(struct executor *x, void *handle, enum outcome_kind why)
{
    (void)x;
    run_cancel(handle, why);
}

static int reattach(struct executor *x, const struct job *j, void **handle, struct err *err)
{
    struct pawl_reporter *r = reporter(x);
    struct run *run = *handle ? *handle : run_of(x, j->execution, j->attempt);
    bool is_known = run;
    int rc = 0;

    if (is_known)
        run_repeat_reports(run);
    else
        run = run_new(r, j);
    *handle = run;
    if (r->own.find)
        rc = hand_over_job(handle, j, r->own.find, err);
    else if (!is_known) /* the attempt ran inside its worker and ended with it */
        pawl_report_ended(run->id,
                          &(struct pawl_end){.outcome = PAWL_LOST,
                                             .error = "the worker that ran it is gone, and the "
                                                      "attempt ended with it"});
    if (!rc && j->cancel && (is_known || r->own.find))
        run_cancel(run, OUTCOME_CANCELLED);
    return rc;
}

/* ---- the other functions ---- */

/* Drops an attempt if attempts of this executor outlive the worker. Otherwise the attempt keeps its
 * slot until it ends; the dispatcher no longer knows the attempt and gets no report about it. */
static void forget(struct executor *x, void *handle)
{
    struct pawl_reporter *r = reporter(x);
    struct run *run = handle;

    if (r->own.forget)
        r->own.forget(r->own.data, run->id);
    else if (!r->own.outlives_worker)
        run_cancel(run, OUTCOME_LOST);
    if (r->own.outlives_worker)
        run_drop(run);
    else if (!run->why)
        run->why = OUTCOME_LOST;
}

static void renewed(struct executor *x, void *handle, int64_t until)
{
    struct pawl_reporter *r = reporter(x);

    if (r->own.renewed)
        r->own.renewed(r->own.data, ((struct run *)handle)->id, until);
}

static void settled(struct executor *x, int64_t execution, int attempt)
{
    struct pawl_reporter *r = reporter(x);

    if (r->own.settled)
        r->own.settled(r->own.data, (struct pawl_attempt){r, execution, attempt});
}

/* Stops an attempt. Its outcome will be "deferred": another worker runs the job again, and this
 * attempt does not count. */
static void stop_run(struct run *run, int64_t now)
{
    (void)now;
    run_cancel(run, OUTCOME_DEFERRED);
}

static void drain(struct executor *x)
{
    reporter(x)->closed = true;
}

static void stop(struct executor *x, bool now)
{
    struct pawl_reporter *r = reporter(x);

    drain(x);
    if (now && !r->own.outlives_worker)
        run_each(r, stop_run);
}

static int capacity(struct executor *x)
{
    struct pawl_reporter *r = reporter(x);
    int left = r->closed || r->n >= r->slots ? 0 : r->slots - r->n, own;

    if (!left || !r->own.capacity)
        return left;
    own = r->own.capacity(r->own.data);
    return own < 0 ? 0 : own < left ? own : left;
}

static int poll_fd(struct executor *x)
{
    return reporter(x)->wakeup.epoll;
}

static void release(struct pawl_reporter *r)
{
    run_free_all(r);
    wakeup_close(&r->wakeup);
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
    .start = start,
    .reattach = reattach,
    .cancel = cancel,
    .renewed = renewed,
    .forget = forget,
    .settled = settled,
    .drain = drain,
    .stop = stop,
    .capacity = capacity,
    .fd = poll_fd,
    .poll = custom_executor_poll,
    .free = free_executor,
};

/* ---- adding an executor ---- */

int api_executor_check(const struct pawl_executor *x, struct err *err)
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
    if (!x->fd != !x->poll)
        return err_set(err, E_INVALID, "the executor %s needs both fd and poll, or neither", key);
    return 0;
}

static int open_fds(struct pawl_reporter *r, struct err *err)
{
    r->wakeup = (struct wakeup)WAKEUP_INIT;
    if (!wakeup_open(&r->wakeup) &&
        (!r->own.fd || !wakeup_add(&r->wakeup, r->own.fd(r->own.data), r)))
        return 0;
    return err_set(err, E_UNAVAILABLE,
                   "the file descriptors of the executor %s can't be polled: %s", r->x.key,
                   strerror(errno));
}

int api_executor_add(struct dispatch *d, const struct pawl_executor *x,
                     const struct custom_executor_options *o, struct err *err)
{
    struct pawl_reporter *r;
    int rc;

    if ((rc = api_executor_check(x, err)))
        return rc;
    r = mem_zalloc(sizeof(*r));
    r->ops = ops;
    r->ops.outlives_worker = x->outlives_worker;
    r->x = (struct executor){.ops = &r->ops, .key = mem_strdup(x->key), .env = o->env};
    r->own = *x;
    r->own.key = r->x.key;
    r->tenant = o->tenant;
    r->slots = x->slots > 0 ? x->slots : o->slots;
    r->news_end = &r->news;
    pthread_mutex_init(&r->lock, NULL);
    if ((rc = open_fds(r, err)) || (rc = dispatch_add_executor(d, &r->x, 0, err)))
        release(r);
    return rc;
}
