/* overview.c - the overview for views that refresh often: queues with their counters, workers, the
 * oldest running jobs, outcomes. Five statements in one snapshot; the cost of none of them grows
 * with the number of stored executions. */
#include "base/text.h"
#include "store/query/query_internal.h"

#include <string.h>

#define LAST_LINE_MAX 400 /* bytes kept of a line */

struct overview_query {
    const char *part;
    size_t max;
    struct rows queues, workers, counts, running, outcomes;
    int64_t now;
};

static int send_running(struct db *db, struct overview_query *g, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    rows_release(&g->running); /* the body may run more than once */
    args_begin(&a, Q_QUERY_RUNNING);
    args_text(&a, g->part);
    args_int(&a, (int64_t)g->max);
    rc = db_send(db, &a, &g->running, ANY_ROWS, err);
    args_release(&a);
    return rc;
}

static int overview_body(struct db *db, void *arg, struct err *err)
{
    struct overview_query *g = arg;
    int rc;

    if ((rc = query_send(db, Q_QUERY_QUEUES, &g->queues, err)) ||
        (rc = query_send(db, Q_QUERY_WORKERS, &g->workers, err)) ||
        (rc = query_send(db, Q_QUERY_LEASE_COUNTS, &g->counts, err)) ||
        (rc = query_send(db, Q_QUERY_OUTCOMES, &g->outcomes, err)) ||
        (rc = send_running(db, g, err)) || (rc = db->driver->send_now(db, &g->now, err)))
        return rc;
    return db_flush(db, err);
}

/* ---- running jobs ---- */

/* The last non-empty line of the chunk; only the end of a long line. */
static const char *last_line(const struct val *cells, struct buf *chunk, struct arena *arena)
{
    const char *end, *begin;
    char *line;

    buf_reset(chunk);
    if (cells[2].null || !log_unpack(&cells[2], cells[0].i, cells[1].i != 0, chunk) || !chunk->len)
        return NULL; /* damage is reported by pawl logs, not by a view */
    end = chunk->ptr + chunk->len;
    while (end > chunk->ptr && strchr("\n\r", end[-1]))
        end--;
    for (begin = end; begin > chunk->ptr && begin[-1] != '\n';)
        begin--;
    if (end - begin > LAST_LINE_MAX)
        begin = end - LAST_LINE_MAX;
    if (begin == end)
        return NULL;
    line = arena_memdup0(arena, begin, (size_t)(end - begin));
    text_make_utf8(line); /* it may start within a character, and the output may be binary */
    return line;
}

static void read_running(const struct rows *r, struct overview *out)
{
    struct buf chunk = BUF_INIT;
    size_t i;

    out->nrunning = r->n;
    out->running = arena_zalloc(&out->arena, (r->n + 1) * sizeof(*out->running));
    for (i = 0; i < r->n; i++)
        out->running[i] = (struct running_row){
            .id = rows_int(r, i, 0),
            .root = rows_int(r, i, 1),
            .attempts = (int)rows_int(r, i, 2),
            .max_attempts = (int)rows_int(r, i, 3),
            .name = arena_strdup(&out->arena, rows_text(r, i, 4)),
            .queue = arena_strdup(&out->arena, rows_text(r, i, 5)),
            .lane = arena_strdup(&out->arena, rows_text(r, i, 6)),
            .worker = rows_int(r, i, 7),
            .since = rows_int(r, i, 8),
            .last_line = last_line(&r->cells[i * r->ncols + 9], &chunk, &out->arena),
        };
    buf_release(&chunk);
}

static void read_outcomes(const struct rows *r, struct overview *out)
{
    size_t i;

    out->noutcomes = r->n;
    out->outcomes = arena_zalloc(&out->arena, (r->n + 1) * sizeof(*out->outcomes));
    for (i = 0; i < r->n; i++) {
        out->outcomes[i].labels = arena_strdup(&out->arena, rows_text(r, i, 0));
        out->outcomes[i].n = rows_int(r, i, 1);
    }
}

int query_overview(struct store *s, const char *part, size_t max, struct overview *out,
                   struct err *err)
{
    struct overview_query g = {.part = part, .max = max};
    int rc = query_read(s, overview_body, &g, err);

    if (!rc) {
        *out = (struct overview){.now = g.now + store_env(s)->clock_offset};
        query_read_queues(&g.queues, out->now, &out->queues);
        query_read_workers(&g.workers, &g.counts, out->now, &out->workers);
        read_running(&g.running, out);
        read_outcomes(&g.outcomes, out);
    }
    rows_release(&g.queues);
    rows_release(&g.workers);
    rows_release(&g.counts);
    rows_release(&g.running);
    rows_release(&g.outcomes);
    return rc;
}

void overview_release(struct overview *o)
{
    queue_list_release(&o->queues);
    worker_list_release(&o->workers);
    arena_release(&o->arena);
    *o = (struct overview){0};
}
