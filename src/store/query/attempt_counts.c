/* attempt_counts.c - reads the counters of attempts: sums over the rows of all writers. */
#include "store/query/query_internal.h"

#include <string.h>

static void add_time(int64_t buckets[TIME_BUCKETS], int64_t *sum, int64_t upto, int64_t n,
                     int64_t us)
{
    if (upto)
        buckets[time_bucket_of(upto)] += n;
    *sum += us;
}

/* Adds the counts for one kind of event, which start at column `col`. */
static void add_counts(struct attempt_counts *c, const struct rows *r, size_t row, size_t col)
{
    int64_t upto, n, us;
    int type, outcome;

    rows_read(r, row, col, NULL, &type, &outcome, &upto, &n, &us);
    if (outcome) {
        c->outcomes[outcome] += n;
        add_time(c->run, &c->run_us, upto, n, us);
    } else if (type == EV_CLAIMED || type == EV_RESUMED) {
        c->claimed += n;
        add_time(c->wait, &c->wait_us, upto, n, us);
    } else if (type == EV_ADOPTED) {
        c->adopted += n;
    } else if (type == EV_LEASE_EXPIRED) {
        c->lease_expired += n;
    } else {
        c->settle_refused += n;
    }
}

void query_read_attempts(const struct rows *r, struct attempt_list *out)
{
    LIST_ALLOC(out, r->n);
    out->n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const char *queue = rows_text(r, i, 0), *executor = rows_text(r, i, 1);
        struct queue_attempts *q = out->n ? &out->at[out->n - 1] : NULL;

        if (!q || strcmp(q->queue, queue) != 0 || strcmp(q->executor, executor) != 0) {
            q = &out->at[out->n++];
            q->queue = arena_strdup(&out->arena, queue);
            q->executor = arena_strdup(&out->arena, executor);
        }
        add_counts(&q->counts, r, i, 2);
    }
}

int query_attempt_counts(struct store *s, struct attempt_list *out,
                         struct worker_outcome_list *by_worker, struct err *err)
{
    AUTO_ROWS queues = ROWS_INIT, workers = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&queues, Q_QUERY_ATTEMPTS_BY_QUEUE),
                ASKED(&workers, Q_QUERY_ATTEMPTS_BY_WORKER)));
    query_read_attempts(&queues, out);
    LIST_ALLOC(by_worker, workers.n);
    for (size_t i = 0; i < workers.n; i++) {
        struct worker_outcome *w = &by_worker->at[i];

        rows_read(&workers, i, 0, &by_worker->arena, &w->host, &w->worker, &w->outcome, &w->n);
    }
    return 0;
}
