/* item_reuse.c - a rerun as a new execution takes over the results of the items that succeeded in a
 * fan-out that failed. Two items are the same if their indexes and their values are equal. */
#include "store/workflow/workflow.h"

#include <jansson.h>

#define PAGE 100 /* rows per page; the result of one item may be 1 MB long */

void reusable_items_release(struct reusable_items *old)
{
    json_decref(old->list);
    rows_release(&old->page);
}

int items_load_reusable(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                        struct reusable_items *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    const char *list = NULL;
    bool wanted;

    TRY(workflow_reuses_items(t, f, task->index, &wanted, err));
    if (!wanted)
        return 0;
    TRY(ask(t->db, &r, err, Q_FAN_OUT_OF, f->row->now.rerun_of, task->name));
    if (!r.n)
        return 0;
    rows_read(&r, 0, 0, NULL, &out->foreach, &out->made, &list);
    out->list = list ? json_loads(list, JSON_ALLOW_NUL, NULL) : NULL;
    return 0;
}

int items_find_reusable(struct turn *t, struct reusable_items *old, int index, const json_t *item,
                        struct reusable_item *out, struct err *err)
{
    *out = (struct reusable_item){0};
    if (!old->foreach || index >= old->made ||
        !json_equal(json_array_get(old->list, (size_t)index), item))
        return 0;
    if (!old->n || index >= old->from + old->n) {
        rows_release(&old->page);
        old->from = index;
        old->n = PAGE;
        TRY(ask(t->db, &old->page, err, Q_SUCCEEDED_ITEMS, old->foreach, index, index + PAGE));
    }
    for (size_t i = 0; i < old->page.n && !out->id; i++)
        if (rows_int(&old->page, i, 0) == index)
            rows_read(&old->page, i, 1, &t->arena, &out->id, &out->result);
    return 0;
}
