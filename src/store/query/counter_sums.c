/* counter_sums.c - reads the counters of workers, summed or per worker. */
#include "store/query/query_internal.h"

void counter_list_release(struct counter_list *l)
{
    arena_release(&l->arena);
    *l = (struct counter_list){0};
}

int query_counters(struct store *s, bool by_worker, struct counter_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&a, by_worker ? Q_QUERY_COUNTERS_BY_WORKER : Q_QUERY_COUNTERS);
    if ((rc = query_run(s, &a, &r, err)))
        goto done;
    *out = (struct counter_list){.n = r.n};
    out->at = arena_alloc(&out->arena, (r.n + 1) * sizeof(*out->at));
    for (i = 0; i < r.n; i++)
        out->at[i] = (struct counter_row){.worker = rows_int(&r, i, 0),
                                          .metric = arena_strdup(&out->arena, rows_text(&r, i, 1)),
                                          .labels = arena_strdup(&out->arena, rows_text(&r, i, 2)),
                                          .value = rows_int(&r, i, 3)};
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}
