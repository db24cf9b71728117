/* why.c - collects, in one snapshot, the facts that explain the state of an execution. It does not
 * put them into words; the layers above the store do. Also counts the open executions of a subtree
 * and all leases. */
#include "store/query/why.h"

#include <string.h>

/* ---- statements ---- */

int why_run_query(struct db *db, struct why_query *g, struct err *err)
{
    rows_release(&g->rows);
    return db_query(db, &g->args, &g->rows, err);
}

static int read_number(struct db *db, struct why_query *g, int64_t *n, struct err *err)
{
    int rc = why_run_query(db, g, err);

    if (!rc)
        *n = rows_int(&g->rows, 0, 0);
    return rc;
}

/* ---- the parts ---- */

static int read_execution(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    int rc;

    args_begin(&g->args, Q_QUERY_EXECUTION);
    args_int(&g->args, g->id);
    if ((rc = db->driver->send_now(db, &w->now, err)) || (rc = why_run_query(db, g, err)))
        return rc;
    if (!g->rows.n)
        return query_set_not_found(g->id, err);
    w->now += db->env->clock_offset;
    execution_read_whole(&w->execution, &g->rows, 0, 0, &w->arena);
    query_read_history(&w->history, &g->rows, 0, WHOLE_COLUMNS, &w->arena);
    return 0;
}

static int read_events(struct db *db, struct why_query *g, struct err *err)
{
    int rc;

    args_begin(&g->args, Q_WHY_EVENTS);
    args_int(&g->args, g->id);
    args_int(&g->args, WHY_EVENTS);
    if (!(rc = why_run_query(db, g, err)))
        query_add_events(&g->rows, &g->why->events);
    return rc;
}

static int read_others(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    size_t i;
    int rc;

    args_int(&g->args, WHY_MAX_OTHERS);
    if ((rc = why_run_query(db, g, err)))
        return rc;
    for (i = 0; i < g->rows.n && w->nothers < WHY_MAX_OTHERS; i++)
        w->others[w->nothers++] =
            (struct why_execution){.id = rows_int(&g->rows, i, 0),
                                   .status = (int)rows_int(&g->rows, i, 1),
                                   .name = arena_strdup(&w->arena, rows_text(&g->rows, i, 2))};
    return 0;
}

static int read_limit(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    struct why *w = g->why;
    int rc;

    args_begin(&g->args, Q_WHY_LIMIT);
    args_text(&g->args, e->held_key);
    if ((rc = why_run_query(db, g, err)))
        return rc;
    if (g->rows.n) {
        w->limit_max = rows_int(&g->rows, 0, 0);
        w->limit_used = rows_int(&g->rows, 0, 1);
        w->queue_paused = !rows_null(&g->rows, 0, 2);
        w->paused_at = rows_int(&g->rows, 0, 3);
        w->paused_by = arena_strdup(&w->arena, rows_text(&g->rows, 0, 4));
        w->pause_reason = arena_strdup(&w->arena, rows_text(&g->rows, 0, 5));
    }
    args_begin(&g->args, Q_WHY_LIMIT_AHEAD);
    args_text(&g->args, e->held_key);
    args_int(&g->args, -e->priority);
    args_int(&g->args, e->id);
    args_int(&g->args, WHY_MAX_AHEAD);
    if ((rc = read_number(db, g, &w->before, err)))
        return rc;
    args_begin(&g->args, e->held_key[0] == 'q' ? Q_WHY_HOLDERS_OF_QUEUE : Q_WHY_HOLDERS_OF_KEY);
    args_text(&g->args, strchr(e->held_key, ':') + 1);
    if ((rc = read_others(db, g, err)) || e->held_key[0] == 'q' ||
        (int64_t)w->nothers >= w->limit_used)
        return rc;
    args_begin(&g->args, Q_WHY_WORKFLOWS_OF_KEY);
    args_text(&g->args, strchr(e->held_key, ':') + 1);
    return read_others(db, g, err);
}

static int read_ahead_in_queue(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;

    args_begin(&g->args, Q_WHY_AHEAD);
    args_text(&g->args, e->lane);
    args_text(&g->args, e->queue);
    args_int(&g->args, -e->priority);
    args_int(&g->args, e->id);
    args_int(&g->args, WHY_MAX_AHEAD);
    return read_number(db, g, &g->why->before, err);
}

static int why_body(struct db *db, void *arg, struct err *err)
{
    struct why_query *g = arg;
    const struct execution *e = &g->why->execution;
    int rc;

    why_release(g->why); /* the body may run more than once */
    if ((rc = read_execution(db, g, err)) || (rc = read_events(db, g, err)) ||
        (rc = why_read_workflow(db, g, err)))
        return rc;
    if (execution_is_claimable(e))
        return read_ahead_in_queue(db, g, err);
    if (e->held == HELD_LIMIT && e->held_key)
        return read_limit(db, g, err);
    if (!kind_is_job(e->kind) && e->status == S_RUNNING) {
        args_begin(&g->args, Q_WHY_CHILDREN);
        args_int(&g->args, g->id);
        return read_others(db, g, err);
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
    rows_release(&g.rows);
    args_release(&g.args);
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
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_OPEN);
    args_int(&a, id);
    if (!(rc = query_run(s, &a, &r, err)))
        *n = rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

int query_attempts(struct store *s, int64_t id, int *attempts, int *status, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_ATTEMPTS);
    args_int(&a, id);
    if ((rc = query_run(s, &a, &r, err)))
        goto done;
    if (!r.n) {
        rc = query_explain_missing(s, id, err);
        goto done;
    }
    *attempts = (int)rows_int(&r, 0, 0);
    *status = (int)rows_int(&r, 0, 1);
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

int query_lease_totals(struct store *s, struct lease_totals *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_LEASE_TOTALS);
    if (!(rc = query_run(s, &a, &r, err)))
        *out = (struct lease_totals){rows_int(&r, 0, 0), rows_int(&r, 0, 1)};
    rows_release(&r);
    args_release(&a);
    return rc;
}
