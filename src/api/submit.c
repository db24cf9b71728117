/* submit.c - pawl_submit. */
#include "api/api.h"
#include "dispatch/route.h"

#include <stdlib.h>

struct submitting {
    struct submission *list;
    size_t n;
    bool busy;
};

/* One that can't be taken ends the turn, so that nothing of the others is stored either. */
static int submit_body(struct turn *t, void *arg, struct err *err)
{
    struct submitting *s = arg;
    size_t i;
    int rc;

    s->busy = false;
    if ((rc = op_submit(t, s->list, s->n, err)))
        return rc;
    for (i = 0; i < s->n; i++) {
        if (!s->list[i].rc)
            continue;
        if (s->list[i].rc == -E_BUSY) {
            s->busy = true;
            return err_set(err, E_BUSY, "the parent's tree is locked by others for long");
        }
        *err = s->list[i].err;
        return s->n > 1 ? err_prefix(err, "job %zu of %zu", i + 1, s->n) : s->list[i].rc;
    }
    return 0;
}

/* Like api_turns, but for all or none. */
static int submit_all(struct pawl *p, struct submitting *s, struct err *err)
{
    int i, rc;

    for (i = 0; i < 3; i++) {
        rc = store_turn(p->store, submit_body, s, err);
        if (rc != -E_BUSY || !s->busy)
            return rc;
    }
    return store_turn_waiting(p->store, submit_body, s, err);
}

/* The executor of a command that names none, by the rules of the configuration. */
static const char *route(const struct config *c, const char *name, struct arena *arena)
{
    struct route *rules = arena_alloc(arena, (c->dispatch.routes.n + 1) * sizeof(*rules));
    struct route_query q = {.name = name};
    struct routes routes;
    const char *lane;
    size_t i;

    if (!name)
        return NULL; /* refused for that anyway */
    for (i = 0; i < c->dispatch.routes.n; i++)
        rules[i] = (struct route){c->dispatch.routes.at[i].task, c->dispatch.routes.at[i].executor};
    routes_init(&routes, rules, c->dispatch.routes.n, c->dispatch.default_executor, NULL);
    lane = arena_strdup(arena, routes_lane(&routes, &q, arena));
    routes_release(&routes);
    return lane;
}

struct submission api_submission(const struct pawl *p, const struct pawl_job *job,
                                 struct arena *arena)
{
    return (struct submission){.kind = KIND_EXEC,
                               .parent = job->parent,
                               .name = job->name,
                               .queue = job->queue,
                               .lane = job->lane ? job->lane : route(p->config, job->name, arena),
                               .concurrency = job->concurrency,
                               .concurrency_max = job->concurrency_max,
                               .input = job->input,
                               .spec = job->spec,
                               .key = job->key,
                               .task_index = -1,
                               .priority = job->priority,
                               .max_attempts = job->max_attempts,
                               .delay = job->delay,
                               .refuse = job->refuse};
}

int pawl_submit(struct pawl *p, struct pawl_job *jobs, size_t n, struct pawl_error *e)
{
    struct submitting s = {.list = mem_zalloc((n + 1) * sizeof(*s.list)), .n = n};
    struct arena texts = ARENA_INIT;
    struct err err = ERR_INIT;
    size_t i;
    int rc;

    for (i = 0; i < n; i++)
        s.list[i] = api_submission(p, &jobs[i], &texts);
    if (!(rc = submit_all(p, &s, &err)))
        for (i = 0; i < n; i++) {
            jobs[i].id = s.list[i].id;
            jobs[i].existed = s.list[i].existed;
        }
    free(s.list);
    arena_release(&texts);
    return api_end(rc, &err, e);
}
