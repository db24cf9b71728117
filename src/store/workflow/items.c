/* items.c - fan-outs: an execution of kind foreach with one child per item of its list. Only a
 * window of items is open at once, and new items are created as others end, so that a long list
 * takes linear time and bounded memory. */
#include "base/json.h"
#include "core/graph.h"
#include "core/resolve.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_WINDOW   1000 /* open items of one fan-out, unless max_parallel is lower */
#define ITEMS_SLICE    500  /* items of one fan-out that are created at once */
/* Items of all fan-outs that one turn creates, even if they end at once. */
#define ITEMS_PER_TURN 4000

/* Caches the list of a fan-out: it may be long, it is needed each time an item ends, and it does
 * not change during a run. The time of the row's last move (updated_at) distinguishes one run from
 * the next. The cache holds few lists and any insertion may evict a list that is in use, so each
 * user holds its own reference. */
static void cache_list(struct store *s, const struct row *foreach, json_t *list)
{
    struct item_list *slot = NULL;

    for (size_t i = 0; i < MAX_CACHED_LISTS; i++)
        if (s->item_lists[i].foreach == foreach->now.id)
            slot = &s->item_lists[i]; /* replace the list of an earlier run */
    if (!slot)
        slot = &s->item_lists[s->next_item_list++ % MAX_CACHED_LISTS];
    json_decref(slot->list);
    *slot = (struct item_list){.foreach = foreach->now.id,
                               .started_at = foreach->now.updated_at,
                               .list = json_incref(list)};
}

static json_t *find_cached_list(const struct store *s, const struct row *foreach)
{
    for (size_t i = 0; i < MAX_CACHED_LISTS; i++)
        if (s->item_lists[i].foreach == foreach->now.id &&
            s->item_lists[i].started_at == foreach->now.updated_at)
            return json_incref(s->item_lists[i].list);
    return NULL;
}

void item_lists_clear(struct store *s)
{
    for (size_t i = 0; i < MAX_CACHED_LISTS; i++) {
        json_decref(s->item_lists[i].list);
        s->item_lists[i] = (struct item_list){0};
    }
}

int items_read_list(struct turn *t, const struct row *foreach, json_t **out, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    const char *text = foreach->now.input; /* set only if the fan-out started in this turn */
    int rc = 0;

    if ((*out = find_cached_list(t->store, foreach))) {
        turn_keep_json(t, *out);
        return 0;
    }
    args_begin(&a, Q_INPUTS_OF, foreach->now.id);
    if (!text)
        TRY(db_query(t->db, &a, &r, err));
    if (!text)
        text = r.n ? rows_text(&r, 0, 1) : NULL;
    *out = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    if (*out)
        cache_list(t->store, foreach, turn_keep_json(t, *out));
    else
        rc = err_set(err, E_INTERNAL,
                     "the stored list of fan-out %lld is not valid JSON: restore the "
                     "database from a backup",
                     (long long)foreach->now.id);
    return rc;
}

int items_at(const struct row *foreach, const json_t *list, int index, json_t **out,
             struct err *err)
{
    *out = json_array_get(list, (size_t)index);
    return *out ? 0
                : err_set(err, E_INTERNAL, "the list of fan-out %lld has no item %d",
                          (long long)foreach->now.id, index);
}

static const char *item_name(struct turn *t, const struct row *foreach, int index)
{
    return arena_printf(&t->arena, "%s[%d]", foreach->now.name, index);
}

/* Creates the next item. If `reused` names an item of an earlier execution, the new item ends at
 * once with that item's result. */
static int create_item(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                       struct row *foreach, json_t *item, const struct reusable_item *reused,
                       struct err *err)
{
    struct execution *up = &foreach->now;
    struct execution e = {.parent = up->id,
                          .root = up->root,
                          .workflow = up->workflow,
                          .depth = up->depth + 1,
                          .kind = task->nested ? KIND_WORKFLOW : KIND_TASK,
                          .priority = up->priority,
                          .max_attempts = up->max_attempts,
                          .task_index = up->children_made,
                          .flags = up->flags & FLAG_CAPPED,
                          .name = item_name(t, foreach, up->children_made),
                          .queue = up->queue,
                          .task_name = up->task_name};
    struct eval_subject s = {
        .task = task, .item = item, .index = up->children_made, .facts = {.success = true}};

    TRY(turn_next_id(t, up->id, &e.id, err));
    TRY(door_create(t, &e, NULL, &s.row, err));
    up->children_made++;
    up->children_open++;
    return reused->id ? task_reuse_result(t, s.row, reused->id, reused->result, err)
                      : task_make_ready(t, f, &s, err);
}

static int items_slice_left(const struct turn *t)
{
    int left = (int)slice_bound(t, ITEMS_PER_TURN) - (int)t->items_created;
    int most = (int)slice_bound(t, ITEMS_SLICE);

    return left < most ? left : most;
}

/* Creates items until the window is full. Items beyond this turn's slice are created by the next
 * turn. */
static int fill_window(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                       struct row *foreach, json_t *list, struct err *err)
{
    int widest = (int)slice_bound(t, ITEMS_WINDOW);
    int window = task->max_parallel && task->max_parallel < widest ? task->max_parallel : widest;
    struct execution *e = &foreach->now;
    bool is_rerun = (e->flags & FLAG_RERUN) != 0;
    AUTO(reusable_items_release) struct reusable_items reusable = {.page = ROWS_INIT};
    struct reusable_item reused = {0};
    struct old_items old = {0};
    int all = (int)json_array_size(list), most = items_slice_left(t), want, made;

    want = all - e->children_made < window - e->children_open ? all - e->children_made
                                                              : window - e->children_open;
    want = want < most ? want : most;
    if (want > 0 && !is_rerun) {
        TRY(turn_reserve_ids(t, (size_t)want, e->id, err));
        TRY(items_load_reusable(t, f, task, &reusable, err));
    }
    for (made = 0; e->children_made < all && e->children_open < window && made < most; made++) {
        struct row *row = NULL;
        json_t *item;

        TRY(items_at(foreach, list, e->children_made, &item, err));
        if (is_rerun)
            TRY(items_find_old(t, foreach, &old, &row, err));
        else
            TRY(items_find_reusable(t, &reusable, e->children_made, item, &reused, err));
        TRY(row ? items_rerun_old(t, f, task, foreach, &old, item, err)
                : create_item(t, f, task, foreach, item, &reused, err));
    }
    t->items_created += (uint32_t)made;
    door_mark_changed(t, foreach);
    return e->children_made < all && e->children_open < window
               ? execution_continue_later(t, foreach, err)
               : 0;
}

int items_start(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                struct err *err)
{
    struct resolve_scope scope;
    json_t *list = NULL;
    struct buf input = BUF_INIT, none = BUF_INIT;
    int rc;

    if ((rc = workflow_build_scope(t, f, s, &scope, err)))
        return task_fail_if_invalid(t, s->row, rc, err);
    rc = resolve_items(&scope, &list, err);
    resolve_scope_release(&scope);
    if (rc)
        return task_fail_if_invalid(t, s->row, rc, err);
    (void)json_add_value(&input, list, SIZE_MAX);
    turn_keep_json(t, list);
    if (!(rc = task_store_resolved(t, s->row, &none, &input, err)))
        rc = door_move(t, s->row, EV_STARTED, S_RUNNING, NULL, err);
    else
        rc = task_fail_if_invalid(t, s->row, rc, err);
    buf_release(&input);
    if (!rc && s->row->now.status == S_RUNNING) {
        cache_list(t->store, s->row, list);
        agenda_add(t, s->row, 0);
    }
    return rc;
}

/* ---- the end ---- */

static int items_end_if_done(struct turn *t, struct row *foreach, const json_t *list,
                             struct err *err)
{
    struct execution *e = &foreach->now;
    struct outcome o = {.duration = -1};
    AUTO_BUF outputs = BUF_INIT;
    bool fits;

    if (e->status != S_RUNNING || e->children_open > 0 ||
        (!e->cancel_requested && !(e->flags & FLAG_STOPPED) &&
         (size_t)e->children_made < json_array_size(list)))
        return 0;
    TRY(items_build_outputs(t, foreach, ITEMS_MAX_STORED, &outputs, &fits, err));
    if (fits)
        o.result = arena_strdup(&t->arena, buf_cstr(&outputs));
    return execution_finish(t, foreach, graph_end(e->flags, e->cancel_requested), &o, err);
}

int items_count_end(struct turn *t, struct row *foreach, struct row *item, struct err *err)
{
    struct graph_need n = {.status = item->now.status};
    struct workflow_state *f;

    TRY(workflow_state_get(t, foreach->now.workflow, foreach->now.root, &f, err));
    if (!f)
        return 0;
    foreach->now.children_open--;
    foreach->now.flags |= graph_flags_of(&n);
    door_mark_changed(t, foreach);
    agenda_add(t, foreach, 0);
    return 0;
}

int items_advance(struct turn *t, struct workflow_state *f, struct row *foreach, struct err *err)
{
    const struct workflow_task *task = definition_find_task(f->def, foreach->now.task_name);
    struct execution *e = &foreach->now;
    json_t *list = NULL;
    int rc = 0;

    if ((e->flags & FLAG_FAILED) && task->fail_fast && !(e->flags & FLAG_STOPPED)) {
        e->flags |= FLAG_STOPPED;
        door_mark_changed(t, foreach);
        TRY(cancel_below(t, foreach, "another item failed", err));
    }
    if (!e->cancel_requested && !(e->flags & FLAG_STOPPED) &&
        ((rc = items_read_list(t, foreach, &list, err)) ||
         (rc = fill_window(t, f, task, foreach, list, err))))
        return rc;
    return items_end_if_done(t, foreach, list, err);
}
