/* cancel.c - cancels an execution and all its descendants, in slices. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/operator.h"
#include "store/ops/admission.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <stdlib.h>

#define CANCEL_SLICE 1000 /* number of executions of a tree that one turn cancels */
#define SLICES_AHEAD 20   /* number of slices that one walk through the tree finds */

/* Requests the end of a running execution, which also ends its pause. The pause may hold tasks that
 * this cancel does not reach, such as on_exit of a workflow that was cancelled before: a timer
 * releases them. */
static int request_end(struct turn *t, struct row *r, const struct move_note *note, struct err *err)
{
    bool pause_ends = (r->now.flags & (FLAG_PAUSED | FLAG_RELEASING)) != 0;

    TRY(door_move(t, r, EV_CANCEL_REQUESTED, S_RUNNING, note, err));
    if (!pause_ends)
        return 0;
    r->now.flags |= FLAG_RELEASING;
    door_mark_changed(t, r);
    return execution_continue_later(t, r, err);
}

static int cancel_execution(struct turn *t, struct row *r, const struct request *q, struct err *err)
{
    struct move_note note = {.data = data_request(t, q), .let_finish = q->let_finish};
    bool job = kind_is_job(r->now.kind);

    if (status_is_terminal(r->now.status))
        return 0;
    if (r->now.status != S_RUNNING)
        return door_move(t, r, EV_CANCELLED, S_CANCELLED, &note, err);
    if (r->now.cancel_requested || (job && q->let_finish && (r->now.flags & FLAG_LET_FINISH)))
        return 0; /* already requested */
    if (!job)
        agenda_add(t, r, 0);
    if (!job || !q->let_finish)
        t->wake |= WAKE_CANCEL;
    return request_end(t, r, &note, err);
}

/* The open executions that one slice of a cancel request handles. */
struct open_subtree {
    struct row_ref *open;
    size_t n;
    /* Whether an earlier walk found them: some may have ended since, and new ones may exist. */
    bool from_cache;
};

void cancel_cache_clear(struct store *s)
{
    vec_release(&s->cancel_cache.ids);
    s->cancel_cache.top = 0;
}

/* Walks through the tree, which takes time in proportion to its size, and caches the open
 * executions for the next slices. */
static int find_open_subtree(struct turn *t, const struct request *q, size_t max, struct err *err)
{
    struct store *s = t->store;
    AUTO_ROWS r = ROWS_INIT;

    cancel_cache_clear(s);
    TRY(door_write(t, err)); /* the query must see the executions that this turn created */
    TRY(ask(t, &r, err, Q_OPEN_SUBTREE, q->execution, (int64_t)max * SLICES_AHEAD,
            q->let_finish ? FLAG_LET_FINISH : 0));
    for (size_t i = 0; i < r.n; i++)
        *vec_add(&s->cancel_cache.ids) = rows_int(&r, i, 0);
    s->cancel_cache.top = q->execution;
    s->cancel_cache.let_finish = q->let_finish;
    s->cancel_cache.truncated = r.n == max * SLICES_AHEAD;
    s->cancel_cache.next = 0;
    return 0;
}

/* Whether the cache contains the next slice of the request: a full slice, or the last one. */
static bool slice_is_cached(const struct store *s, const struct request *q, size_t max)
{
    size_t left = s->cancel_cache.ids.n - s->cancel_cache.next;

    return s->cancel_cache.top == q->execution && s->cancel_cache.let_finish == q->let_finish &&
           left > 0 && (left >= max || !s->cancel_cache.truncated);
}

/* Loads the executions of the next slice of a request, and notes the limits of their rows. */
static int load_subtree(struct turn *t, const struct request *q, size_t max,
                        struct open_subtree *out, struct err *err)
{
    struct store *s = t->store;
    size_t left, i;

    out->from_cache = slice_is_cached(s, q, max);
    if (!out->from_cache)
        TRY(find_open_subtree(t, q, max, err));
    left = s->cancel_cache.ids.n - s->cancel_cache.next;
    out->n = left < max ? left : max;
    out->open = arena_zalloc(&t->arena, (out->n + 1) * sizeof(*out->open));
    for (i = 0; i < out->n; i++)
        out->open[i] = (struct row_ref){.id = s->cancel_cache.ids.at[s->cancel_cache.next++],
                                        .root = turn_row(t, q->execution)->now.root};
    if (out->n == left)
        cancel_cache_clear(s);
    TRY(turn_load(t, out->open, out->n, err));
    for (i = 0; i < out->n; i++)
        if (!out->open[i].rc)
            limits_note(t, &turn_row(t, out->open[i].id)->now);
    return 0;
}

static int cancel_subtree(struct turn *t, const struct open_subtree *tree, struct request *q,
                          bool only_descendants, bool *changed, struct err *err)
{
    for (size_t i = 0; i < tree->n; i++) {
        struct row *r = turn_row(t, tree->open[i].id);
        int seq;

        if (only_descendants && tree->open[i].id == q->execution)
            continue;
        if (tree->open[i].rc) { /* a claim has locked the row: the next turn tries again */
            q->rc = -E_BUSY;
            continue;
        }
        seq = r->now.seq;
        TRY(cancel_execution(t, r, q, err));
        *changed |= seq != r->now.seq;
    }
    q->status = turn_row(t, q->execution)->now.status;
    return 0;
}

/* Sets a timer that cancels the rest of the tree, whether or not the caller continues: a cancel
 * that stopped halfway would leave pending tasks that no turn ever starts, skips or cancels. If the
 * top execution can't have a timer (it is a job, or is not running), sets one on each workflow and
 * fan-out below it that got a cancel request. */
static int set_cancel_timers(struct turn *t, const struct open_subtree *tree,
                             const struct request *q, struct err *err)
{
    struct row *top = turn_row(t, q->execution);
    int rc = 0;

    if (!kind_is_job(top->now.kind) && top->now.status == S_RUNNING)
        return execution_continue_later(t, top, err);
    for (size_t i = 0; !rc && i < tree->n; i++) {
        struct row *r = tree->open[i].rc ? NULL : turn_row(t, tree->open[i].id);

        if (r && !kind_is_job(r->now.kind) && r->now.cancel_requested)
            rc = execution_continue_later(t, r, err);
    }
    return rc;
}

static int cancel_requests(struct turn *t, struct request *list, size_t n, size_t max,
                           bool only_descendants, bool *more, struct err *err)
{
    struct open_subtree *trees = arena_zalloc(&t->arena, (n + 1) * sizeof(*trees));

    *more = false;
    TRY(requests_load(t, list, n, err));
    for (size_t i = 0; i < n; i++)
        if (!list[i].rc)
            TRY(load_subtree(t, &list[i], max, &trees[i], err));
    /* Fetch the limits of all requests at once, to keep the lock order. */
    TRY(limits_fetch(t, err));
    for (size_t i = 0; i < n; i++) {
        bool changed = false, left;

        if (list[i].rc)
            continue;
        TRY(cancel_subtree(t, &trees[i], &list[i], only_descendants, &changed, err));
        left = (trees[i].n == max && changed) ||
               trees[i].from_cache; /* only a new walk can prove that nothing is left */
        if (left || list[i].rc == -E_BUSY)
            TRY(set_cancel_timers(t, &trees[i], &list[i], err));
        *more |= left;
    }
    return 0;
}

int op_cancel(struct turn *t, struct request *list, size_t n, size_t max, bool *more,
              struct err *err)
{
    return cancel_requests(t, list, n, max, false, more, err);
}

/* Cancels one slice of the tree of a row, for the user and with the reason of the request q. */
static int cancel_slice(struct turn *t, struct row *row, struct request q, bool only_descendants,
                        struct err *err)
{
    bool more;

    q.execution = row->now.id;
    q.root = row->now.root;
    q.let_finish = only_descendants && (row->now.flags & FLAG_LET_FINISH);
    return cancel_requests(t, &q, 1, slice_bound(t, CANCEL_SLICE), only_descendants, &more, err);
}

int cancel_below(struct turn *t, struct row *row, const char *reason, struct err *err)
{
    return cancel_slice(t, row, (struct request){.reason = reason}, true, err);
}

int cancel_next_slice(struct turn *t, struct row *row, struct err *err)
{
    struct request q = {0};

    TRY(data_requested_by(t, row, EV_CANCEL_REQUESTED, &q, err));
    return cancel_slice(t, row, q, true, err);
}

int cancel_tree(struct turn *t, struct row *row, const char *reason, struct err *err)
{
    return cancel_slice(t, row, (struct request){.reason = reason}, false, err);
}
