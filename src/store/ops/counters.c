/* counters.c - counters of the workers for the metrics. Each worker adds to its own rows, so that
 * workers never wait for each other; readers add the rows up. Retention merges the rows of workers
 * that no longer exist. */
#include "store/turn.h"

int op_add_counters(struct turn *t, int64_t worker, const struct counter *list, size_t n,
                    struct err *err)
{
    args_begin(&t->args, Q_WORKER_COUNTER_ADD, worker);
    for (size_t i = 0; i < n; i++)
        args_row(&t->args, list[i].metric, list[i].labels, list[i].add);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}
