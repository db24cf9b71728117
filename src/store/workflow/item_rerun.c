/* item_rerun.c - reruns the items of a fan-out under their ids, on the rows of their earlier
 * run. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <string.h>

int items_find_old(struct turn *t, const struct row *foreach, struct old_items *old,
                   struct row **out, struct err *err)
{
    int at = foreach->now.children_made;
    AUTO_ROWS r = ROWS_INIT;
    struct row **page;

    if (!old->n || at >= old->from + old->n) {
        memset(old->at, 0, sizeof(old->at));
        old->from = at;
        old->n = OLD_ITEMS_PAGE;
        TRY(ask(t->db, &r, err, Q_ITEMS_FROM, foreach->now.id, at, at + OLD_ITEMS_PAGE));
        /* ignore outcomes of items that ended before the fan-out last started as a whole */
        if (foreach->now.flags & FLAG_ONLY_FAILED)
            TRY(ask_one(t->db, INTO(&old->run_started_at), err, Q_LAST_STARTED_AT,
                        foreach->now.root, foreach->now.id));
        TRY(turn_read_rows(t, &r, false, &page, err));
        for (size_t i = 0; i < r.n; i++)
            old->at[page[i]->now.task_index - at] = page[i];
    }
    *out = old->at[at - old->from];
    return 0;
}

static bool item_is_done(const struct row *item)
{
    return item->now.status == S_SUCCEEDED ||
           (item->now.status == S_SKIPPED && (item->now.flags & FLAG_BY_OPERATOR));
}

static int rerun_item(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                      struct rerun *r, struct err *err)
{
    TRY(rerun_reset(t, s->row, S_PENDING, task_max_attempts(t, s->task), r, err));
    return task_make_ready(t, f, s, err);
}

int items_rerun_old(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                    struct row *foreach, const struct old_items *old, json_t *item, struct err *err)
{
    struct row *row = old->at[foreach->now.children_made - old->from];
    struct eval_subject s = {.task = task,
                             .row = row,
                             .item = item,
                             .index = foreach->now.children_made,
                             .facts = {.success = true}};
    bool only_failed =
             (foreach->now.flags & FLAG_ONLY_FAILED) && row->now.finished_at >= old->run_started_at,
         whole = true;

    foreach->now.children_made++;
    if (only_failed && item_is_done(row))
        return 0;
    foreach->now.children_open++;
    if (only_failed && row->now.kind == KIND_WORKFLOW)
        TRY(rerun_nested(t, row, NULL, &whole, err));
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

    *s = (struct eval_subject){
        .row = item, .index = item->now.task_index, .facts = {.success = true}};
    TRY(workflow_state_get(t, foreach->now.workflow, foreach->now.root, f, err));
    TRY(items_read_list(t, foreach, &list, err));
    TRY(items_at(foreach, list, s->index, &s->item, err));
    s->task = definition_find_task((*f)->def, foreach->now.task_name);
    return 0;
}

int items_rerun_one(struct turn *t, struct row *foreach, struct row *item, struct rerun *r,
                    struct err *err)
{
    struct eval_subject s;
    struct workflow_state *f;

    TRY(items_get_subject(t, foreach, item, &f, &s, err));
    return rerun_item(t, f, &s, r, err);
}

int items_compute_flags(struct turn *t, struct row *foreach, int *bits, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(door_write(t, err)); /* write first: the query must see the changes of this turn */
    TRY(ask(t->db, &r, err, Q_ITEMS_FAILED_OR_CANCELLED, foreach->now.id,
            foreach->now.children_made));
    *bits = (rows_int(&r, 0, 0) ? FLAG_FAILED : 0) | (rows_int(&r, 0, 1) ? FLAG_CANCELLED : 0);
    return 0;
}
