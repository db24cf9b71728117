/* counters.c - what workers count for the metrics. Each adds to rows of its own, so that nobody
 * waits for another; a reader sums them up. Retention folds what was counted by those that are
 * gone.
 */
#include "store/query/query_internal.h"
#include "store/turn.h"

int op_add_counters(struct turn *t, int64_t worker, const struct counter *list, size_t n,
                    struct err *err)
{
    size_t i;

    args_begin(&t->args, Q_WORKER_COUNTER_ADD);
    args_int(&t->args, worker);
    for (i = 0; i < n; i++) {
        args_text(&t->args, list[i].metric);
        args_text(&t->args, list[i].labels);
        args_int(&t->args, list[i].add);
    }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

/* ---- reading ---- */

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
