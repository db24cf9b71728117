/* engine.c - the engine for those outside: made of the configuration, stepped by the caller. */
#include "api/api.h"

#include "api/executor.h"
#include "engine/engine.h"
#include "exec/attempt.h"
#include "exec/function.h"
#include "exec/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_PATIENCE 10000000LL /* µs */
#define DAY          (86400 * 1000000LL)

#define SAME(outer, inner, member)                                                                 \
    _Static_assert(offsetof(struct outer, member) == offsetof(struct inner, member) &&             \
                       sizeof(((struct outer *)0)->member) == sizeof(((struct inner *)0)->member), \
                   "pawl.h and exec/function.h differ")
SAME(pawl_call, function_call, ops);
SAME(pawl_call, function_call, name);
SAME(pawl_call, function_call, input);
SAME(pawl_call, function_call, execution);
SAME(pawl_call, function_call, root);
SAME(pawl_call, function_call, attempt);
SAME(pawl_call, function_call, max_attempts);
SAME(pawl_call_ops, function_call_ops, cancelled);
SAME(pawl_call_ops, function_call_ops, remaining);
SAME(pawl_call_ops, function_call_ops, set_output);
SAME(pawl_call_ops, function_call_ops, set_result);
SAME(pawl_call_ops, function_call_ops, log);
SAME(pawl_call_ops, function_call_ops, fail);
SAME(pawl_call_ops, function_call_ops, defer);
SAME(pawl_plugin_host, function_plugin_host, abi);
SAME(pawl_plugin_host, function_plugin_host, add);
SAME(pawl_plugin_host, function_plugin_host, data);
_Static_assert(PAWL_PLUGIN_ABI == FUNCTION_PLUGIN_ABI, "pawl.h and exec/function.h differ");

/* The key of the limit queue.cap. */
#define HERE_KEY "pawl:here"

struct pawl_engine {
    struct pawl *p;
    const struct pawl_engine_options *o; /* while it is opened */
    struct env env;
    struct engine *engine;
    struct functions *functions;
    const char *state; /* the folder, while it is opened */
    int slots;
    bool here, given; /* one job alone; it was submitted */
    pawl_told *told;
    void *told_arg;
    bool (*give_up)(void *arg);
    void *give_up_arg;
};

/* ---- making it ---- */

static void note(void *arg, const char *sentence)
{
    struct pawl *p = ((struct pawl_engine *)arg)->p;

    if (p->env.note)
        p->env.note(p->env.arg, sentence);
}

static int add_functions(struct pawl_engine *e, struct dispatch *d, struct err *err)
{
    const struct config *c = e->p->config;
    /* more threads than slots would only keep the queue empty */
    struct function_options o = {.threads = c->functions.threads < e->slots ? c->functions.threads
                                                                            : e->slots,
                                 .queue = c->functions.queue ? c->functions.queue : -1,
                                 .env = &e->env};
    size_t i;
    int rc;

    if ((rc = function_new(&o, &e->functions, err)))
        return rc;
    if ((rc = dispatch_add(d, function_executor(e->functions), 0, err))) {
        function_executor(e->functions)->ops->free(function_executor(e->functions));
        return rc;
    }
    for (i = 0; !rc && i < c->plugins.n; i++)
        rc = function_load_plugin(e->functions, c->plugins.at[i], err);
    for (i = 0; !rc && e->o->plugins && e->o->plugins[i]; i++)
        rc = function_load_plugin(e->functions, e->o->plugins[i], err);
    return rc;
}

/* How many attempts of its own it runs at once: the configuration's word, else all slots. */
static int own_slots(const struct pawl_engine *e, const struct config_executor *c)
{
    return c && c->slots_given ? c->slots : e->slots;
}

/* container: NULL: commands run as they are. */
static int add_commands(struct pawl_engine *e, const struct config_executor *c,
                        const struct container_options *container, const struct engine_place *place,
                        struct dispatch *d, struct err *err)
{
    const struct db_url *url = store_url(e->p->store);
    struct spec_pair extra[] = {
        {"PAWL_DB", url->text}, {"PAWL_STATE", e->state}, {"PAWL_TENANT", url->tenant}};
    struct process_options o = {.key = c->key,
                                .dir = place->dir,
                                .shim = c->shim,
                                .slots = own_slots(e, c),
                                .env = &e->env,
                                .lease = place->lease,
                                .fence = place->fence,
                                .grace = c->grace ? c->grace : -1,
                                .log_head = c->log.head,
                                .log_tail = c->log.tail,
                                .allow = c->env.at,
                                .extra = extra,
                                /* in a container there is neither database nor folder */
                                .nextra = container     ? 0
                                          : url->tenant ? 3
                                                        : 2,
                                .resolve_secret = api_secret,
                                .secret_arg = (void *)c,
                                .container = container};
    struct executor *x;
    int rc;

    if ((rc = process_new(&o, &x, err)))
        return rc;
    if ((rc = dispatch_add(d, x, 0, err)))
        x->ops->free(x);
    return rc;
}

/* A program that embeds Pawl for its functions need not have the shim; who works on one job alone,
 * or names the shim, means to run commands. */
static bool can_run(struct pawl_engine *e, const struct config_executor *c)
{
    struct buf b = BUF_INIT;

    if (e->here || c->shim || getenv("PAWL_SHIM") || process_has_shim(NULL))
        return true;
    buf_addf(&b, "pawl-shim is not there: what the executor %s would run is left to other workers",
             c->key);
    note(e, buf_cstr(&b));
    buf_release(&b);
    return false;
}

/* Where somebody counts on an engine, it is said that it is not there. */
static void note_no_engine(struct pawl_engine *e, const struct config_executor *c)
{
    struct buf b = BUF_INIT;

    if (e->here || c->engine == CONFIG_AUTO)
        return;
    buf_addf(&b, "%s is not in PATH: what the executor %s would run is left to other workers",
             config_engines[c->engine], c->key);
    note(e, buf_cstr(&b));
    buf_release(&b);
}

/* Without an engine its tasks are left to workers that have one. */
static int add_containers(struct pawl_engine *e, const struct config_executor *c,
                          const struct engine_place *place, struct dispatch *d, struct err *err)
{
    char *podman = c->engine == CONFIG_DOCKER ? NULL : container_find("podman");
    char *docker = c->engine == CONFIG_PODMAN || podman ? NULL : container_find("docker");
    struct container_options o = {.client = podman ? podman : docker,
                                  .docker = !podman,
                                  .image = c->image,
                                  .pull = config_pulls[c->pull]};
    struct err away = ERR_INIT;
    int rc = 0;

    if (docker && c->engine == CONFIG_AUTO && container_check(&o, &away))
        o.client = NULL; /* many have the client, and no engine */
    if (!o.client)
        note_no_engine(e, c);
    if (o.client && can_run(e, c))
        rc = add_commands(e, c, &o, place, d, err);
    else
        dispatch_elsewhere(d, c->key);
    free(podman);
    free(docker);
    return rc;
}

static int new_dispatch(struct pawl_engine *e, const struct engine_place *place,
                        struct dispatch **out, struct err *err)
{
    const struct config *c = e->p->config;
    size_t n = c->dispatch.routes.n, i;
    struct route *routes = mem_alloc((n + 1) * sizeof(*routes));
    struct dispatch_options o = {.env = &e->env,
                                 .slots = e->slots,
                                 .routes = routes,
                                 .nroutes = n,
                                 .report = place->report,
                                 .arg = place->arg};
    int rc;

    for (i = 0; i < n; i++)
        routes[i] =
            (struct route){c->dispatch.routes.at[i].task, c->dispatch.routes.at[i].executor};
    rc = dispatch_new(&o, out, err);
    free(routes);
    return rc;
}

/* After a restored backup: what belongs to the time that is lost must not run beside what comes
 * now. */
static int end_old(const struct engine_place *place, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && place->old[i]; i++)
        rc = attempt_end_all(place->old[i], END_PATIENCE, err);
    return rc;
}

static int make(void *arg, const struct engine_place *place, struct dispatch **out, struct err *err)
{
    struct pawl_engine *e = arg;
    const struct config *c = e->p->config;
    struct dispatch *d = NULL;
    size_t i;
    int rc;

    if ((rc = end_old(place, err)) || (rc = new_dispatch(e, place, &d, err)))
        return rc;
    for (i = 0; !rc && i < c->executors.n; i++) {
        const struct config_executor *x = &c->executors.at[i];

        if (x->enabled && x->type == CONFIG_PROCESS && can_run(e, x))
            rc = add_commands(e, x, NULL, place, d, err);
        else if (x->enabled && x->type == CONFIG_CONTAINER)
            rc = add_containers(e, x, place, d, err);
        else if (x->enabled && x->type == CONFIG_FUNCTION)
            rc = add_functions(e, d, err);
        else
            dispatch_elsewhere(d, x->key);
    }
    if (rc)
        dispatch_free(d);
    else
        *out = d;
    return rc;
}

static bool give_up(void *arg)
{
    struct pawl_engine *e = arg;

    return e->give_up(e->give_up_arg);
}

static void trace(void *arg, const char *what, int64_t took, long rows)
{
    struct pawl *p = ((struct pawl_engine *)arg)->p;

    p->env.trace(p->env.arg, what, took, rows);
}

int api_state(const char *given, const struct config *c, const char **out, struct err *err)
{
    const char *named = getenv("PAWL_STATE");

    *out = given ? given : named && *named ? named : c->state;
    if (*out)
        return 0;
    return err_set(err, E_INVALID,
                   "where to keep the state? Set `state` in pawl.yaml, XDG_STATE_HOME or HOME");
}

static void set_flow(void *arg, struct store *s)
{
    api_set_flow(s, arg);
}

int pawl_engine_open(struct pawl *p, const struct pawl_engine_options *options,
                     struct pawl_engine **out, struct pawl_error *out_err)
{
    static const struct pawl_engine_options none;
    const struct pawl_engine_options *o = options ? options : &none;
    const struct config *c = p->config;
    const struct db_url *url = store_url(p->store);
    struct pawl_engine *e = mem_zalloc(sizeof(*e));
    struct err err = ERR_INIT;
    char host[256] = "localhost";
    struct engine_options eo = {.url = url->text,
                                .tenant = url->tenant,
                                .env = &e->env,
                                .queues = o->queues ? o->queues : c->worker.queues.at,
                                .host = host,
                                .version = PAWL_VERSION,
                                .here = o->here,
                                .tree = o->tree,
                                .poll = c->dispatch.mode == CONFIG_POLL,
                                .loops = o->loops ? o->loops : c->worker.loops,
                                .lease = c->worker.lease,
                                .heartbeat = c->worker.heartbeat,
                                .host_grace = c->worker.host_grace};
    int rc;

    gethostname(host, sizeof(host) - 1);
    e->p = p;
    e->o = o;
    e->here = o->here;
    e->slots = o->slots ? o->slots : c->worker.slots;
    e->give_up = o->give_up;
    e->give_up_arg = o->arg;
    e->env = (struct env){.note = note,
                          .trace = p->env.trace ? trace : NULL,
                          .give_up = o->give_up ? give_up : NULL,
                          .arg = e};
    if (c->execution_events.cleanup && !o->here)
        eo.retention = c->execution_events.retention_days * DAY;
    if (eo.retention)
        eo.logs = c->logs.retention_days * DAY;
    if (!(rc = api_state(o->state, c, &eo.state, &err))) {
        e->state = eo.state;
        rc = engine_open(&eo, make, e, &e->engine, &err);
    }
    e->o = NULL;
    e->state = NULL;
    if (rc) {
        free(e);
    } else {
        engine_each_store(e->engine, set_flow, p->config);
        *out = e;
    }
    return api_end(rc, &err, out_err);
}

void pawl_engine_close(struct pawl_engine *e)
{
    if (!e)
        return;
    engine_close(&e->engine);
    free(e);
}

int64_t pawl_engine_worker(const struct pawl_engine *e)
{
    return engine_worker(e->engine);
}

int pawl_engine_slots(const struct pawl_engine *e)
{
    return e->slots;
}

int pawl_engine_register(struct pawl_engine *e, const char *name, pawl_function *fn, void *arg,
                         struct pawl_error *out)
{
    struct err err = ERR_INIT;
    int rc;

    if (!e->functions)
        rc = err_set(&err, E_INVALID, "the configuration has switched functions off");
    else
        rc = function_add(e->functions, name, (function_fn *)(void (*)(void))fn, arg, &err);
    return api_end(rc, &err, out);
}

int pawl_engine_add_executor(struct pawl_engine *e, const struct pawl_executor *x,
                             struct pawl_error *out)
{
    const struct config_executor *c = x->key ? config_executor(e->p->config, x->key) : NULL;
    struct err err = ERR_INIT;
    int rc;

    if (c && c->type != CONFIG_CUSTOM)
        rc = err_set(&err, E_CONFLICT, "there is an executor \"%s\" of the type %s already", c->key,
                     config_executor_types[c->type]);
    else
        rc = api_executor_add(engine_dispatch(e->engine), x, own_slots(e, c), &e->env, &err);
    return api_end(rc, &err, out);
}

/* ---- running it ---- */

int pawl_engine_step(struct pawl_engine *e, int timeout_ms, struct pawl_error *out)
{
    struct err err = ERR_INIT;

    return api_end(engine_step(e->engine, timeout_ms < 0 ? -1 : timeout_ms * 1000LL, &err), &err,
                   out);
}

int pawl_engine_fd(const struct pawl_engine *e)
{
    return engine_fd(e->engine);
}

int pawl_engine_timeout_ms(const struct pawl_engine *e)
{
    return (int)((engine_timeout(e->engine) + 999) / 1000);
}

struct submitting {
    struct pawl_engine *e;
    pawl_submitted *done;
    void *arg;
};

static void submitted(void *arg, const struct submission *s)
{
    struct submitting *w = arg;
    struct pawl_job job = {.name = s->name, .queue = s->queue, .id = s->id, .existed = s->existed};
    struct pawl_error e;

    (void)api_end(s->rc, &s->err, &e);
    if (s->rc == -E_REFUSED && s->concurrency && !strcmp(s->concurrency, HERE_KEY))
        snprintf(
            e.message, sizeof(e.message),
            "as many run as queue.cap allows (%d), and there is no queue to wait in: try again "
            "when one has ended, or raise it in pawl.yaml",
            s->concurrency_max);
    if (s->rc)
        w->e->given = false;
    if (w->done)
        w->done(w->arg, &job, s->rc ? &e : NULL);
    free(w);
}

/* A job of its own queue; where there are no queues, also one of at most queue.cap, except that
 * what a task starts takes the task's place. */
static int work_here(struct pawl_engine *e, struct submission *s, struct err *err)
{
    const struct config *c = e->p->config;

    if (e->given)
        return err_set(err, E_INVALID, "this engine works on one job alone, and has it");
    s->queue = QUEUE_HERE;
    if (!c->queue.enabled && !s->parent && !s->concurrency) {
        s->concurrency = HERE_KEY;
        s->concurrency_max = c->queue.cap;
        s->refuse = true;
    }
    return 0;
}

int pawl_engine_submit(struct pawl_engine *e, const struct pawl_job *job, pawl_submitted *done,
                       void *arg, struct pawl_error *out)
{
    struct arena texts = ARENA_INIT;
    struct submission s;
    struct submitting *w = NULL;
    struct err err = ERR_INIT;
    int rc = api_submission(e->p, job, &texts, &s, &err);

    if (!rc && e->here)
        rc = work_here(e, &s, &err);
    if (!rc && !(rc = submission_check(&s, &err))) {
        w = mem_alloc(sizeof(*w));
        *w = (struct submitting){.e = e, .done = done, .arg = arg};
        e->given = true;
        engine_submit(e->engine, &s, submitted, w);
    }
    arena_release(&texts);
    return api_end(rc, &err, out);
}

void pawl_engine_stop(struct pawl_engine *e, bool now)
{
    engine_stop(e->engine, now);
}

bool pawl_engine_idle(const struct pawl_engine *e)
{
    return engine_is_idle(e->engine);
}

int pawl_engine_drained(struct pawl_engine *e, bool *drained, struct pawl_error *out)
{
    struct err err = ERR_INIT;
    bool open = false;
    int rc = 0;

    if (engine_is_drained(e->engine) && !(rc = engine_is_awaited(e->engine, &open, &err)))
        *drained = !open;
    else if (!rc)
        *drained = false;
    return api_end(rc, &err, out);
}

static void told_end(void *arg, int64_t execution, int status, const struct outcome *o)
{
    struct pawl_engine *e = arg;

    (void)o;
    e->told(e->told_arg, execution, status_text(status));
}

static void told_log(void *arg, int64_t execution)
{
    struct pawl_engine *e = arg;

    e->told(e->told_arg, execution, NULL);
}

void pawl_engine_watch(struct pawl_engine *e, pawl_told *told, void *arg)
{
    e->told = told;
    e->told_arg = arg;
    engine_on_end(e->engine, told ? told_end : NULL, e);
    engine_on_log(e->engine, told ? told_log : NULL, e);
}

int64_t pawl_engine_drain_grace(const struct pawl_engine *e)
{
    return e->p->config->worker.drain_grace;
}
