/* log_retention.c - deletes the logs of old executions, which expire earlier than the executions
 * themselves. It walks the index of the logs, so that its cost depends on the executions that have
 * logs, not on all that are kept without logs. */
#include "store/store_internal.h"

/* Finds the next executions with logs that ended early enough. `wants` gets two entries for each:
 * its root and itself. */
static int find_with_logs(struct turn *t, struct retention *r, int64_t before,
                          struct row_ref *wants, size_t *n, struct err *err)
{
    AUTO_ROWS found = ROWS_INIT;

    TRY(ask(t, &found, err, Q_LOGS_KEPT, r->after, r->max_trees));
    r->more = found.n == r->max_trees;
    for (size_t i = 0; i < found.n; i++) {
        int64_t id, root, requested_at, finished_at;

        rows_read(&found, i, 0, NULL, &id, &root, &requested_at, &finished_at);
        if (requested_at >= before) {
            r->more = false; /* this one and all later ones were requested too late */
            break;
        }
        r->after = id;
        if (finished_at && finished_at < before) {
            wants[(*n)++] = (struct row_ref){.id = root, .root = root};
            wants[(*n)++] = (struct row_ref){.id = id, .root = root};
        }
    }
    return 0;
}

/* Checks again under the lock, as a rerun may have reopened it. Skips a tree that another turn has
 * locked until the next retention. */
static bool is_old(const struct turn *t, const struct row_ref *w, int64_t before)
{
    const struct row *row = w->rc ? NULL : turn_row(t, w->id);

    return row && row->now.finished_at && row->now.finished_at < before;
}

int op_retain_logs(struct turn *t, const struct retention *from, struct retention *r,
                   struct err *err)
{
    struct row_ref *wants = arena_alloc(&t->arena, (2 * from->max_trees + 1) * sizeof(*wants));
    int64_t before;
    size_t n = 0;

    *r = *from; /* the body of a turn may run more than once */
    TRY(turn_sync(t, err));
    before = t->now - r->older_than;
    TRY(find_with_logs(t, r, before, wants, &n, err));
    TRY(turn_load(t, wants, n, err));
    args_begin(&t->args, Q_LOGS_DELETE);
    for (size_t i = 0; i < n; i += 2)
        if (is_old(t, &wants[i], before) && is_old(t, &wants[i + 1], before)) {
            args_int(&t->args, wants[i + 1].id);
            r->executions++;
        }
    return args_rows(&t->args) ? db_send(t->db, &t->args, NULL, ANY_ROWS, err) : 0;
}
