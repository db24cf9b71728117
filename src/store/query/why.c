/* why.c - collects, in one snapshot, the facts that explain the state of an execution. It does not
 * put them into words; the layers above the store do. Also counts the open executions of a subtree
 * and all leases. */
#include "store/query/why.h"

#include <string.h>

/* ---- the parts ---- */

static int read_execution(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    AUTO_ROWS r = ROWS_INIT;

    TRY(db->driver->send_now(db, &w->now, err));
    TRY(ask(db, &r, err, Q_QUERY_EXECUTION, g->id));
    if (!r.n)
        return query_set_not_found(g->id, err);
    w->now += db->env->clock_offset;
    execution_read_whole(&w->execution, &r, 0, 0, &w->arena);
    query_read_history(&w->history, &r, 0, WHOLE_COLUMNS, &w->arena);
    return 0;
}

static int read_events(struct db *db, struct why_query *g, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_WHY_EVENTS, g->id, WHY_EVENTS));
    query_add_events(&r, &g->why->events);
    return 0;
}

static void add_others(struct why *w, const struct rows *r)
{
    for (size_t i = 0; i < r->n && w->nothers < WHY_MAX_OTHERS; i++) {
        struct why_execution *o = &w->others[w->nothers++];

        rows_read(r, i, 0, &w->arena, &o->id, &o->status, &o->name);
    }
}

static int read_limit(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    const char *name = strchr(e->held_key, ':') + 1;
    bool of_queue = e->held_key[0] == 'q';
    AUTO_ROWS r = ROWS_INIT;
    struct why *w = g->why;
    int64_t resume_max;

    TRY(ask(db, &r, err, Q_WHY_LIMIT, e->held_key));
    if (r.n) {
        rows_read(&r, 0, 0, &w->arena, &w->limit_max, &w->limit_used, &resume_max, &w->paused_at,
                  &w->paused_by, &w->pause_reason);
        w->queue_paused = !rows_null(&r, 0, 2);
    }
    TRY(ask_one(db, INTO(&w->before), err, Q_WHY_LIMIT_AHEAD, e->held_key, -e->priority, e->id,
                WHY_MAX_AHEAD));
    TRY(ask(db, &r, err, of_queue ? Q_WHY_HOLDERS_OF_QUEUE : Q_WHY_HOLDERS_OF_KEY, name,
            WHY_MAX_OTHERS));
    add_others(w, &r);
    if (of_queue || (int64_t)w->nothers >= w->limit_used)
        return 0;
    TRY(ask(db, &r, err, Q_WHY_WORKFLOWS_OF_KEY, name, WHY_MAX_OTHERS));
    add_others(w, &r);
    return 0;
}

static int why_body(struct db *db, void *arg, struct err *err)
{
    struct why_query *g = arg;
    const struct execution *e = &g->why->execution;
    AUTO_ROWS r = ROWS_INIT;

    why_release(g->why); /* the body may run more than once */
    TRY(read_execution(db, g, err));
    TRY(read_events(db, g, err));
    TRY(why_read_workflow(db, g, err));
    if (execution_is_claimable(e))
        return ask_one(db, INTO(&g->why->before), err, Q_WHY_AHEAD, e->lane, e->queue, -e->priority,
                       e->id, WHY_MAX_AHEAD);
    if (e->held == HELD_LIMIT && e->held_key)
        return read_limit(db, g, err);
    if (!kind_is_job(e->kind) && e->status == S_RUNNING) {
        TRY(ask(db, &r, err, Q_WHY_CHILDREN, g->id, WHY_MAX_OTHERS));
        add_others(g->why, &r);
    }
    return 0;
}

int query_why(struct store *s, int64_t id, struct why *out, struct err *err)
{
    struct why found = {0};
    struct why_query g = {.id = id, .why = &found};
    int rc = query_read(s, why_body, &g, err);

    if (rc == -E_NOT_FOUND)
        rc = query_explain_missing(s, id, err);
    if (rc)
        why_release(&found);
    else
        *out = found;
    return rc;
}

void why_release(struct why *w)
{
    event_list_release(&w->events);
    arena_release(&w->arena);
    *w = (struct why){0};
}

/* ---- counts ---- */

int query_open(struct store *s, int64_t id, int64_t *n, struct err *err)
{
    return ask_one(s, INTO(n), err, Q_QUERY_OPEN, id);
}

int query_attempts(struct store *s, int64_t id, int *attempts, int *status, struct err *err)
{
    *status = 0;
    TRY(ask_one(s, INTO(attempts, status), err, Q_QUERY_ATTEMPTS, id));
    return *status ? 0 : query_explain_missing(s, id, err);
}

int query_lease_totals(struct store *s, struct lease_totals *out, struct err *err)
{
    return ask_one(s, INTO(&out->all, &out->orphans), err, Q_QUERY_LEASE_TOTALS);
}
