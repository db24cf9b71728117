/* queues.c - reads queues, shared settings, workers and the counters of workers. */
#include "store/query/query_internal.h"
#include "store/query/submissions.h"

/* ---- queues ---- */

void audit_read_last(struct last_audit *out, const struct rows *r, size_t row, size_t col,
                     struct arena *arena)
{
    int action;

    rows_read(r, row, col, arena, &out->at, &action, &out->by, &out->reason, &out->data);
    out->action = (enum audit_action)action;
}

void query_read_queues(const struct rows *r, int64_t now, struct queue_list *out)
{
    LIST_ALLOC(out, r->n);
    out->now = now;
    for (size_t i = 0; i < out->n; i++) {
        struct queue_row *q = &out->at[i];

        rows_read(r, i, 0, &out->arena, &q->name, &q->ready, &q->held, &q->running,
                  &q->oldest_ready_at, &q->limit_max, &q->limit_used, &q->resume_max, &q->paused_at,
                  &q->paused_by, &q->pause_reason);
        if (rows_null(r, i, 5))
            q->limit_max = -1;
        q->paused = !rows_null(r, i, 7);
        audit_read_last(&q->last, r, i, 11, &out->arena);
        rows_read(r, i, 16, NULL, &q->submitted);
    }
}

int query_queues(struct store *s, struct queue_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_QUEUES, SUBMISSION_TOTAL_MOST)));
    query_read_queues(&r, now, out);
    return 0;
}

int query_queue_open(struct store *s, const char *queue, bool *open, struct err *err)
{
    return ask_one(s, INTO(open), err, Q_QUERY_QUEUE_OPEN, queue);
}

int query_setting(struct store *s, const char *name, struct setting *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_SETTING, name));
    if (!r.n)
        return 0;
    out->value = arena_strdup(&out->arena, rows_text(&r, 0, 0));
    audit_read_last(&out->last, &r, 0, 1, &out->arena);
    return 0;
}

/* ---- workers ---- */

void query_read_workers(const struct rows *r, const struct rows *counts, int64_t now,
                        struct worker_list *out)
{
    size_t c = 0;

    LIST_ALLOC(out, r->n);
    out->now = now;
    for (size_t i = 0; i < out->n; i++) {
        struct worker *w = &out->at[i].worker;

        rows_read(r, i, 0, &out->arena, &w->id, &w->started_at, &w->seen_at, &w->pid, &w->capacity,
                  &w->host, &w->folder, &w->version, &w->serves, &w->executors, &w->claim_ahead,
                  &w->drain.at, &w->drain.by, &w->drain.reason);
        /* both lists are sorted by id */
        while (c < counts->n && rows_int(counts, c, 0) < w->id)
            c++;
        if (c < counts->n && rows_int(counts, c, 0) == w->id)
            out->at[i].leases = rows_int(counts, c, 1);
    }
}

int query_workers(struct store *s, struct worker_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT, counts = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_WORKERS), ASKED(&counts, Q_QUERY_LEASE_COUNTS)));
    query_read_workers(&r, &counts, now, out);
    return 0;
}
