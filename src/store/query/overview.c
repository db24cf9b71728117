/* overview.c - reads the overview for views that refresh often: queues with their counters,
 * workers, the oldest running jobs, outcomes. Runs five statements in one snapshot; the cost of
 * none of them grows with the number of stored executions. */
#include "base/text.h"
#include "store/query/query_internal.h"
#include "store/query/submissions.h"

#include <string.h>

#define LAST_LINE_MAX 400 /* bytes that are kept of the last line of output */

/* The last non-empty line of a chunk of output; only the end of that line if it is long. */
static const char *last_line(const struct val *cells, struct buf *chunk, struct arena *arena)
{
    const char *end, *begin;
    char *line;

    buf_reset(chunk);
    if (cells[2].null || !log_unpack(&cells[2], cells[0].i, cells[1].i != 0, chunk) || !chunk->len)
        return NULL; /* a damaged chunk is reported by `pawl logs`, not by a view */
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
    /* The kept part may start within a character, and the output may be binary. */
    text_make_utf8(line);
    return line;
}

static void read_running(const struct rows *r, struct overview *out)
{
    AUTO_BUF chunk = BUF_INIT;

    out->nrunning = r->n;
    out->running = arena_zalloc(&out->arena, (r->n + 1) * sizeof(*out->running));
    for (size_t i = 0; i < r->n; i++) {
        struct running_row *o = &out->running[i];

        rows_read(r, i, 0, &out->arena, &o->id, &o->root, &o->attempts, &o->max_attempts, &o->name,
                  &o->queue, &o->lane, &o->worker, &o->since);
        o->last_line = last_line(rows_cells(r, i) + 9, &chunk, &out->arena);
    }
}

int query_overview(struct store *s, const char *part, size_t max, struct overview *out,
                   struct err *err)
{
    AUTO_ROWS queues = ROWS_INIT, workers = ROWS_INIT, counts = ROWS_INIT;
    AUTO_ROWS running = ROWS_INIT, attempts = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&queues, Q_QUERY_QUEUES, SUBMISSION_TOTAL_MOST),
                ASKED(&workers, Q_QUERY_WORKERS), ASKED(&counts, Q_QUERY_LEASE_COUNTS),
                ASKED(&attempts, Q_QUERY_ATTEMPTS_BY_QUEUE),
                ASKED(&running, Q_QUERY_RUNNING, part, max)));
    *out = (struct overview){.now = now};
    query_read_queues(&queues, now, &out->queues);
    query_read_workers(&workers, &counts, now, &out->workers);
    read_running(&running, out);
    query_read_attempts(&attempts, &out->attempts);
    return 0;
}

void overview_release(struct overview *o)
{
    queue_list_release(&o->queues);
    worker_list_release(&o->workers);
    attempt_list_release(&o->attempts);
    arena_release(&o->arena);
    *o = (struct overview){0};
}
