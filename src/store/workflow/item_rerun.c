/* item_rerun.c - reruns the items of a fan-out in place, on the rows of their earlier run. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <string.h>

/* Reads when the fan-out last started as a whole: outcomes of items before that are obsolete. */
static int read_run_started_at(struct turn *t, const struct row *foreach, int64_t *out,
                               struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_LAST_STARTED_AT);
    args_int(&a, foreach->now.root);
    args_int(&a, foreach->now.id);
    if (!(rc = db_query(t->db, &a, &r, err)) && r.n)
        *out = rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

int items_find_old(struct turn *t, const struct row *foreach, struct old_items *old,
                   struct row **out, struct err *err)
{
    int at = foreach->now.cursor, rc = 0;
    struct row *page[OLD_ITEMS_PAGE];
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;

    if (old->n && at < old->from + old->n)
        goto done;
    memset(old->at, 0, sizeof(old->at));
    old->from = at;
    old->n = OLD_ITEMS_PAGE;
    args_begin(&a, Q_ITEMS_FROM);
    args_int(&a, foreach->now.id);
    args_int(&a, at);
    args_int(&a, at + OLD_ITEMS_PAGE);
    if ((rc = db_query(t->db, &a, &r, err)) ||
        ((foreach->now.flags & FLAG_ONLY_FAILED) &&
         (rc = read_run_started_at(t, foreach, &old->run_started_at, err))))
        goto done;
    if ((rc = turn_read_rows(t, &r, false, page, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        old->at[page[i]->now.task_index - at] = page[i];
done:
    if (!rc)
        *out = old->at[at - old->from];
    rows_release(&r);
    args_release(&a);
    return rc;
}

static bool item_is_done(const struct row *item)
{
    return item->now.status == S_SUCCEEDED ||
           (item->now.status == S_SKIPPED && (item->now.flags & FLAG_BY_OPERATOR));
}

static int rerun_item(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                      struct rerun *r, struct err *err)
{
    int rc = rerun_reset(t, s->row, S_PENDING, task_max_attempts(t, s->task), r, err);

    return rc ? rc : task_make_ready(t, f, s, err);
}

int items_rerun_old(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                    struct row *foreach, const struct old_items *old, json_t *item, struct err *err)
{
    struct row *row = old->at[foreach->now.cursor - old->from];
    struct eval_subject s = {.task = task,
                             .row = row,
                             .item = item,
                             .index = foreach->now.cursor,
                             .facts = {.success = true}};
    bool only_failed =
             (foreach->now.flags & FLAG_ONLY_FAILED) && row->now.finished_at >= old->run_started_at,
         whole = true;
    int rc;

    foreach->now.cursor++;
    if (only_failed && item_is_done(row))
        return 0;
    foreach->now.needs_left++;
    if (only_failed && row->now.kind == KIND_WORKFLOW &&
        (rc = rerun_nested(t, row, NULL, &whole, err)))
        return rc;
    return whole ? rerun_item(t, f, &s, NULL, err) : 0;
}

int items_rerun_failed(struct turn *t, struct row *foreach, struct rerun *r, struct err *err)
{
    int rc = rerun_reset(t, foreach, S_RUNNING, 0, r, err);

    foreach->now.flags |= FLAG_ONLY_FAILED;
    agenda_add(t, foreach, 0);
    return rc;
}

int items_get_subject(struct turn *t, const struct row *foreach, struct row *item,
                      struct workflow_state **f, struct eval_subject *s, struct err *err)
{
    json_t *list;
    int rc;

    *s = (struct eval_subject){
        .row = item, .index = item->now.task_index, .facts = {.success = true}};
    if ((rc = workflow_state_get(t, foreach->now.workflow, foreach->now.root, f, err)) ||
        (rc = items_read_list(t, foreach, &list, err)) ||
        (rc = items_at(foreach, list, s->index, &s->item, err)))
        return rc;
    s->task = definition_find_task((*f)->def, foreach->now.task_name);
    return 0;
}

int items_rerun_one(struct turn *t, struct row *foreach, struct row *item, struct rerun *r,
                    struct err *err)
{
    struct eval_subject s;
    struct workflow_state *f;
    int rc = items_get_subject(t, foreach, item, &f, &s, err);

    return rc ? rc : rerun_item(t, f, &s, r, err);
}

int items_compute_flags(struct turn *t, struct row *foreach, int *bits, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    if ((rc = door_write(t, err))) /* the query must see the changes of this turn */
        return rc;
    args_begin(&a, Q_ITEMS_FAILED_OR_CANCELLED);
    args_int(&a, foreach->now.id);
    args_int(&a, foreach->now.cursor);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *bits = (rows_int(&r, 0, 0) ? FLAG_FAILED : 0) | (rows_int(&r, 0, 1) ? FLAG_CANCELLED : 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}
