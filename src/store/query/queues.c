/* queues.c - reads queues and workers. */
#include "store/query/query_internal.h"

struct queues_query {
    struct rows rows, counts;
    int64_t now;
};

static void release_query(struct queues_query *r)
{
    rows_release(&r->rows);
    rows_release(&r->counts);
}

/* ---- queues ---- */

void audit_read_last(struct last_audit *out, const struct rows *r, size_t row, size_t col,
                     struct arena *arena)
{
    *out = (struct last_audit){.at = rows_int(r, row, col),
                               .action = (enum audit_action)rows_int(r, row, col + 1),
                               .by = arena_strdup(arena, rows_text(r, row, col + 2)),
                               .reason = arena_strdup(arena, rows_text(r, row, col + 3)),
                               .data = arena_strdup(arena, rows_text(r, row, col + 4))};
}

void query_read_queues(const struct rows *r, int64_t now, struct queue_list *out)
{
    size_t i;

    *out = (struct queue_list){.n = r->n, .now = now};
    out->at = arena_zalloc(&out->arena, (out->n + 1) * sizeof(*out->at));
    for (i = 0; i < out->n; i++) {
        out->at[i] = (struct queue_row){
            .name = arena_strdup(&out->arena, rows_text(r, i, 0)),
            .ready = rows_int(r, i, 1),
            .held = rows_int(r, i, 2),
            .running = rows_int(r, i, 3),
            .oldest_ready_at = rows_int(r, i, 4),
            .limit_max = rows_null(r, i, 5) ? -1 : rows_int(r, i, 5),
            .limit_used = rows_int(r, i, 6),
            .paused = !rows_null(r, i, 7),
            .resume_max = rows_int(r, i, 7),
            .paused_at = rows_int(r, i, 8),
            .paused_by = arena_strdup(&out->arena, rows_text(r, i, 9)),
            .pause_reason = arena_strdup(&out->arena, rows_text(r, i, 10)),
        };
        audit_read_last(&out->at[i].last, r, i, 11, &out->arena);
    }
}

static int queues_body(struct db *db, void *arg, struct err *err)
{
    struct queues_query *r = arg;
    int rc;

    if ((rc = query_send(db, Q_QUERY_QUEUES, &r->rows, err)) ||
        (rc = db->driver->send_now(db, &r->now, err)))
        return rc;
    return db_flush(db, err);
}

int query_queues(struct store *s, struct queue_list *out, struct err *err)
{
    struct queues_query r = {.rows = ROWS_INIT};
    int rc;

    if (!(rc = query_read(s, queues_body, &r, err)))
        query_read_queues(&r.rows, r.now + store_env(s)->clock_offset, out);
    release_query(&r);
    return rc;
}

void queue_list_release(struct queue_list *l)
{
    arena_release(&l->arena);
    *l = (struct queue_list){0};
}

int query_queue_open(struct store *s, const char *queue, bool *open, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_QUEUE_OPEN);
    args_text(&a, queue);
    if (!(rc = query_run(s, &a, &r, err)))
        *open = rows_int(&r, 0, 0) != 0;
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* ---- workers ---- */

void query_read_workers(const struct rows *r, const struct rows *counts, int64_t now,
                        struct worker_list *out)
{
    size_t i, c = 0;

    *out = (struct worker_list){.n = r->n, .now = now};
    out->at = arena_zalloc(&out->arena, (out->n + 1) * sizeof(*out->at));
    for (i = 0; i < out->n; i++) {
        int64_t id = rows_int(r, i, 0);

        out->at[i].worker = (struct worker){
            .id = id,
            .started_at = rows_int(r, i, 1),
            .seen_at = rows_int(r, i, 2),
            .pid = (int)rows_int(r, i, 3),
            .capacity = (int)rows_int(r, i, 4),
            .host = arena_strdup(&out->arena, rows_text(r, i, 5)),
            .folder = arena_strdup(&out->arena, rows_text(r, i, 6)),
            .version = arena_strdup(&out->arena, rows_text(r, i, 7)),
            .serves = arena_strdup(&out->arena, rows_text(r, i, 8)),
        };
        /* both lists are sorted by id */
        while (c < counts->n && rows_int(counts, c, 0) < id)
            c++;
        if (c < counts->n && rows_int(counts, c, 0) == id)
            out->at[i].leases = rows_int(counts, c, 1);
    }
}

static int workers_body(struct db *db, void *arg, struct err *err)
{
    struct queues_query *r = arg;
    int rc;

    if ((rc = query_send(db, Q_QUERY_WORKERS, &r->rows, err)) ||
        (rc = query_send(db, Q_QUERY_LEASE_COUNTS, &r->counts, err)) ||
        (rc = db->driver->send_now(db, &r->now, err)))
        return rc;
    return db_flush(db, err);
}

int query_workers(struct store *s, struct worker_list *out, struct err *err)
{
    struct queues_query r = {.rows = ROWS_INIT};
    int rc;

    if (!(rc = query_read(s, workers_body, &r, err)))
        query_read_workers(&r.rows, &r.counts, r.now + store_env(s)->clock_offset, out);
    release_query(&r);
    return rc;
}

void worker_list_release(struct worker_list *l)
{
    arena_release(&l->arena);
    *l = (struct worker_list){0};
}
