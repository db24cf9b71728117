/* counter_sums.c - reads the counters of workers, summed or per worker. */
#include "store/query/query_internal.h"

int query_counters(struct store *s, bool by_worker, struct counter_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, by_worker ? Q_QUERY_COUNTERS_BY_WORKER : Q_QUERY_COUNTERS));
    LIST_ALLOC(out, r.n);
    for (size_t i = 0; i < r.n; i++) {
        struct counter_row *c = &out->at[i];

        rows_read(&r, i, 0, &out->arena, &c->worker, &c->metric, &c->labels, &c->value);
    }
    return 0;
}
