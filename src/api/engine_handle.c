/* engine_handle.c - the public handle of an engine: set up from the configuration, stepped by the
 * caller. */
#include "api/engine_handle.h"

#include "api/old_attempts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- open and close ---- */

static void note(void *arg, const char *sentence)
{
    struct pawl *p = ((struct pawl_engine *)arg)->p;

    if (p->env.note)
        p->env.note(p->env.arg, sentence);
}

static int make_dispatch(void *arg, const struct engine_dispatch_setup *place,
                         struct dispatch **out, struct err *err)
{
    struct pawl_engine *e = arg;

    TRY(old_attempts_end(place->old_dirs, &e->env, err));
    TRY(api_executors_make(e, place, out, err));
    if (!e->here) /* a foreground run is short, so it leaves the removal to workers */
        e->old_attempts = old_attempts_remove(place->old_dirs, &e->env);
    return 0;
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
                   "no state folder is set: set `state` in pawl.yaml, or the variable PAWL_STATE, "
                   "XDG_STATE_HOME or HOME");
}

static bool is_server(const struct pawl *p)
{
    return !store_db(p->store)->driver->one_writer;
}

static void set_workflow_options(void *arg, struct store *s)
{
    api_set_workflow_options(s, arg);
}

static int open_engine(struct pawl *p, const struct pawl_engine_options *options,
                       struct pawl_engine **out, struct err *err)
{
    static const struct pawl_engine_options none;
    const struct pawl_engine_options *o = options ? options : &none;
    const struct config *c = p->config;
    const struct db_url *url = store_url(p->store);
    struct pawl_engine *e = mem_zalloc(sizeof(*e));
    char host[256] = "localhost";
    struct engine_options eo = {.url = url->text,
                                .tenant = url->tenant,
                                .is_checked = true, /* the handle's store has checked the schema */
                                .share = store_db(p->store),
                                .env = &e->env,
                                .host = host,
                                .version = PAWL_VERSION,
                                .foreground = o->here,
                                .tree = o->tree,
                                .no_push = c->dispatch.mode == CONFIG_POLL,
                                .loops = o->loops ? o->loops : c->worker.loops,
                                .lease = c->worker.lease,
                                .heartbeat = c->worker.heartbeat,
                                .host_grace = c->worker.host_grace};
    bool delivers = false;
    int rc;

    eo.queues = e->queues = api_hook_queues(o, c, &delivers);
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
    e->retention = api_file_retention(c);
    if (!o->here)
        eo.retention = &e->retention;
    if (!(rc = api_state(o->state, c, &eo.state, err)) &&
        !(rc = api_follow_settings(p, o->here, err))) {
        e->state = eo.state;
        rc = engine_open(&eo, make_dispatch, e, &e->engine, err);
    }
    e->o = NULL;
    e->state = NULL;
    if (rc) {
        old_attempts_stop(&e->old_attempts);
        free((void *)e->queues);
        free(e);
    } else {
        engine_each_store(e->engine, set_workflow_options, p->config);
        if (is_server(p)) /* the engine sends the handle's wake-ups, which then need no connection
                             of their own */
            store_set_wake(p->store, engine_wake, e->engine);
        *out = e;
        if (delivers && !o->here && (rc = api_hooks_serve(e, !o->hooks, err))) {
            pawl_engine_close(e);
            *out = NULL;
        }
    }
    return rc;
}

int pawl_engine_open(struct pawl *p, const struct pawl_engine_options *options,
                     struct pawl_engine **out, struct pawl_error *e)
{
    API_ERR(e);

    TRY(api_needs_database(p, "an engine works", err));
    return open_engine(p, options, out, err);
}

void pawl_engine_close(struct pawl_engine *e)
{
    if (!e)
        return;
    old_attempts_stop(&e->old_attempts);
    store_set_wake(e->p->store, NULL, NULL);
    engine_close(&e->engine);
    api_hooks_release(e);
    free((void *)e->queues);
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

/* ---- run ---- */

int pawl_engine_step(struct pawl_engine *e, int timeout_ms, struct pawl_error *out)
{
    API_ERR(out);

    return engine_step(e->engine, timeout_ms < 0 ? -1 : timeout_ms * 1000LL, err);
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

    api_err_copy(&s->err, &e);
    e.code = -s->rc;
    if (s->rc)
        w->e->has_job = false;
    if (w->done)
        w->done(w->arg, &job, s->rc ? &e : NULL);
    free(w);
}

/* Gives the job its own foreground queue. */
static int work_in_foreground(const struct pawl_engine *e, struct submission *s, struct err *err)
{
    if (e->has_job)
        return err_set(err, E_INVALID,
                       "a foreground engine runs a single job, and it already has one");
    s->queue = QUEUE_FOREGROUND;
    return 0;
}

int pawl_engine_submit(struct pawl_engine *e, const struct pawl_job *job, pawl_submitted *done,
                       void *arg, struct pawl_error *out)
{
    AUTO_ARENA texts = ARENA_INIT;
    struct submission s;
    struct submitting *w;
    API_ERR(out);

    TRY(api_submission(e->p, job, &texts, &s, err));
    if (e->here)
        TRY(work_in_foreground(e, &s, err));
    TRY(submission_check(&s, err));
    w = mem_alloc(sizeof(*w));
    *w = (struct submitting){.e = e, .done = done, .arg = arg};
    e->has_job = true;
    engine_submit(e->engine, &s, submitted, w);
    return 0;
}

bool pawl_engine_is_draining(const struct pawl_engine *e, const char **by, const char **reason)
{
    const struct worker_drain *d = engine_drain_request(e->engine);

    if (by)
        *by = d ? d->by : NULL;
    if (reason)
        *reason = d ? d->reason : NULL;
    return d != NULL;
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
    bool open = false, idle = engine_is_drained(e->engine);
    API_ERR(out);

    if (idle)
        TRY(engine_has_open_work(e->engine, &open, err));
    *drained = idle && !open;
    return 0;
}

static void on_ended(void *arg, int64_t execution, int status, const struct outcome *o)
{
    struct pawl_engine *e = arg;

    (void)o;
    e->on_status(e->on_status_arg, execution, status_text(status));
}

static void on_log(void *arg, int64_t execution)
{
    struct pawl_engine *e = arg;

    e->on_status(e->on_status_arg, execution, NULL);
}

void pawl_engine_watch(struct pawl_engine *e, pawl_stored *on_status, void *arg)
{
    e->on_status = on_status;
    e->on_status_arg = arg;
    engine_on_end(e->engine, on_status ? on_ended : NULL, e);
    engine_on_log(e->engine, on_status ? on_log : NULL, e);
}

int64_t pawl_engine_drain_grace(const struct pawl_engine *e)
{
    return e->p->config->worker.drain_grace;
}
