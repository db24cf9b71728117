/* past.c - see past.h. One walk down the tree for the rows, then the events of a thousand
 * executions at a time, each folded up to the moment, and on to its end: a later rerun keeps the
 * result that there was, and the tries are told only by the end. */
#include "store/past.h"

#include "base/text.h"
#include "core/graph.h"
#include "store/query_internal.h"

#define SLICE 1000 /* executions whose events are read at once */

/* Columns of @event@, and those of query_past_rows after @whole@. */
enum { NUMBER, ROOT, EXECUTION, CREATED_AT, WORKER, SEQ, ATTEMPT, EPOCH, TYPE, FROM, TO, DATA };
enum { DEFINITION = WHOLE_COLUMNS, VARIABLES, ITEMS };

void past_release(struct past *p)
{
    idmap_release(&p->by_id);
    arena_release(&p->arena);
}

/* ---- reading ---- */

static void read_rows(struct past *p, const struct rows *r)
{
    size_t i;

    p->rows = arena_zalloc(&p->arena, (r->n + 1) * sizeof(*p->rows));
    for (p->n = i = 0; i < r->n; i++) {
        struct past_row *row = &p->rows[p->n++];

        execution_read_whole(&row->execution, r, i, 0, &p->arena);
        row->definition = arena_strdup(&p->arena, rows_text(r, i, DEFINITION));
        row->variables = arena_strdup(&p->arena, rows_text(r, i, VARIABLES));
        row->items = rows_null(r, i, ITEMS) ? -1 : rows_int(r, i, ITEMS);
        idmap_put(&p->by_id, row->execution.id, row);
    }
}

static bool is_before(const struct past *p, const struct rows *r, size_t i)
{
    return p->at.event ? rows_int(r, i, NUMBER) <= p->at.event
                       : rows_int(r, i, CREATED_AT) <= p->at.time;
}

/* The events of a slice are in memory only while it is read. */
static void keep_texts(struct fold *f, struct arena *arena)
{
    f->outcome = arena_strdup(arena, f->outcome);
    f->reason = arena_strdup(arena, f->reason);
    f->pause = arena_strdup(arena, f->pause);
}

static void take_event(struct past *p, const struct rows *r, size_t i)
{
    struct past_row *row = idmap_get(&p->by_id, rows_int(r, i, EXECUTION));
    struct fold_event e = {.at = rows_int(r, i, CREATED_AT),
                           .worker = rows_int(r, i, WORKER),
                           .type = (int)rows_int(r, i, TYPE),
                           .from = (int)rows_int(r, i, FROM),
                           .to = (int)rows_int(r, i, TO),
                           .attempt = (int)rows_int(r, i, ATTEMPT),
                           .epoch = (int)rows_int(r, i, EPOCH),
                           .seq = (int)rows_int(r, i, SEQ),
                           .data = rows_text(r, i, DATA)};
    bool first_rerun = e.type % FLOW_EVENT == EV_RERUN && row->now.reruns == row->then.reruns;

    fold_event(&row->now, &e, &p->arena);
    if (is_before(p, r, i)) {
        row->then = row->now;
        if (p->trails)
            trail_event(&row->trail, &e, row->now.held, &p->arena);
    } else if (first_rerun) {
        row->result = fold_result(&e, &p->arena);
    }
}

static int read_slice(struct past *p, struct db *db, size_t first, struct err *err)
{
    struct rows r = ROWS_INIT;
    struct args a = ARGS_INIT;
    size_t i;
    int rc;

    args_begin(&a, Q_QUERY_PAST_EVENTS);
    for (i = first; i < p->n && i < first + SLICE; i++) {
        args_int(&a, p->rows[i].execution.root);
        args_int(&a, p->rows[i].execution.id);
    }
    if ((rc = db_query(db, &a, &r, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        take_event(p, &r, i);
    for (i = first; i < p->n && i < first + SLICE; i++)
        keep_texts(&p->rows[i].then, &p->arena);
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int past_body(struct db *db, void *arg, struct err *err)
{
    struct past *p = arg;
    struct rows r = ROWS_INIT;
    struct args a = ARGS_INIT;
    size_t i;
    int rc;

    arena_reset(&p->arena); /* of a first try */
    idmap_reset(&p->by_id);
    args_begin(&a, Q_QUERY_PAST_ROWS);
    args_int(&a, p->id);
    args_int(&a, p->texts);
    args_int(&a, p->deep);
    if ((rc = db->driver->send_now(db, &p->now, err)) || (rc = db_query(db, &a, &r, err)))
        goto done;
    p->now += db->env->clock_offset;
    read_rows(p, &r);
    for (i = 0; !rc && i < p->n; i += SLICE)
        rc = read_slice(p, db, i, err);
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* ---- as it was ---- */

/* What a task is given is made when it becomes ready, and made anew when it runs again. */
static bool knew_input(const struct past_row *r)
{
    const struct execution *e = &r->execution;

    if (!e->task_name)
        return true;
    return r->then.reruns == r->now.reruns &&
           (kind_is_job(e->kind) ? r->then.ready_at != 0 : r->then.started_at != 0);
}

/* The row as it was: what the door changes is overwritten by the fold. */
static void go_back(struct past_row *r)
{
    struct execution *e = &r->execution;
    const struct fold *f = &r->then;
    bool later = f->reruns != r->now.reruns;

    if (!knew_input(r)) {
        e->input = NULL;
        r->items = -1;
    }
    e->result = !status_is_terminal(f->status) ? NULL : later ? r->result : e->result;
    e->error = f->error;
    e->max_attempts += f->given - r->now.given;
    e->status = f->status;
    e->held = f->held;
    e->held_key = f->held_key;
    e->attempts = f->attempts;
    e->epoch = f->epoch;
    e->seq = f->seq;
    e->started_at = f->started_at;
    e->finished_at = f->finished_at;
    e->updated_at = f->updated_at;
    e->deferred = f->deferred;
    e->cancel_requested = f->cancel_requested;
    e->worker = f->worker;
    e->failed_behind = f->paused ? GRAPH_PAUSED : 0;
    e->needs_left = NEEDS_NOT_KEPT;
}

/* "execution 17 was not there at …: it was requested at …" */
static int not_yet(const struct past *p, struct err *err)
{
    char then[TIME_TEXT_SIZE], requested[TIME_TEXT_SIZE];

    text_time(p->rows[0].execution.requested_at, requested);
    if (p->at.event)
        return err_set(err, E_NOT_FOUND,
                       "execution %lld was not there at event %lld: it was requested at %s",
                       (long long)p->id, (long long)p->at.event, requested);
    return err_set(err, E_NOT_FOUND, "execution %lld was not there at %s: it was requested at %s",
                   (long long)p->id, text_time(p->at.time, then), requested);
}

/* Keeps those that were there, in their order; the time of the moment is now. */
static int settle_moment(struct past *p, struct err *err)
{
    int64_t last = 0;
    size_t i, n = 0;

    if (!p->n)
        return query_no_execution(p->id, err);
    if (!p->rows[0].then.status)
        return not_yet(p, err);
    for (i = 0; i < p->n; i++) {
        if (!p->rows[i].then.status)
            continue;
        go_back(&p->rows[i]);
        if (p->rows[i].then.updated_at > last)
            last = p->rows[i].then.updated_at;
        p->rows[n++] = p->rows[i];
    }
    p->n = n;
    if (p->at.event)
        p->now = last;
    else if (p->at.time < p->now)
        p->now = p->at.time;
    return 0;
}

int past_load(struct past *p, struct store *s, struct err *err)
{
    int rc = query_read(s, past_body, p, err);

    return rc ? rc : settle_moment(p, err);
}
