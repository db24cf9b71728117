/* interpret.c - nodes, their moves, and the events that cause them; see interpret.h. */
#include "interpret_inner.h"

#include "base/mem.h"
#include "core/transitions.h"

#include <stdio.h>
#include <string.h>

#define MAX_NODES 4000

/* ---- nodes ---- */

static void note_dirty(struct interpreter *in, struct node *n)
{
    if (n && !n->dirty) {
        n->dirty = true;
        in->dirty[in->ndirty++] = n;
    }
}

/* Moves a node by the one transition table, and counts it at its parent if it has ended. */
static void move(struct interpreter *in, struct node *n, enum event_action action, int to);

static struct node *make_node(struct interpreter *in, struct node *parent,
                              const struct workflow_task *task, int item)
{
    struct node *n = arena_zalloc(&in->arena, sizeof(*n));
    bool each = task && task->foreach && item < 0, inner = !task || task->nested;

    *n = (struct node){.parent = parent,
                       .task = task,
                       .item = item,
                       .depth = parent ? parent->depth + 1 : 0,
                       .kind = each    ? KIND_FOREACH
                               : inner ? KIND_WORKFLOW
                                       : KIND_TASK,
                       .needs_left = task ? (int)task->nneeds : 0,
                       .status = S_PENDING};
    if (parent)
        n->in = item >= 0 ? parent->in : parent->workflow;
    if (n->kind == KIND_WORKFLOW)
        n->workflow = task ? task->nested : in->workflows[0];
    if (!parent)
        snprintf(n->path, sizeof(n->path), "w");
    else if (item >= 0)
        snprintf(n->path, sizeof(n->path), "%.100s[%d]", parent->path, item);
    else
        snprintf(n->path, sizeof(n->path), "%.80s/%.20s", parent->path, task->name);
    if (in->nall < MAX_NODES)
        in->all[in->nall++] = n;
    if (parent)
        parent->children[item >= 0 ? item : (int)task->index] = n;
    return n;
}

struct node *interpreter_find(struct interpreter *in, const char *path)
{
    size_t i;

    for (i = 0; i < in->nall; i++)
        if (!strcmp(in->all[i]->path, path))
            return in->all[i];
    return NULL;
}

static void count_end(struct interpreter *in, struct node *n)
{
    struct node *up = n->parent;
    struct graph_need need;
    uint32_t i;

    if (!up)
        return;
    need = node_need(n);
    up->bits |= graph_flags_of(&need);
    up->needs_left--;
    note_dirty(in, up);
    for (i = 0; n->item < 0 && i < n->task->nfollowers && !up->cancel_requested; i++) {
        struct node *follower = up->children[n->task->followers[i]];

        if (follower->status == S_PENDING) {
            follower->needs_left--;
            follower->succeeded += graph_is_success(&need);
            note_dirty(in, follower);
        }
    }
}

static void move(struct interpreter *in, struct node *n, enum event_action action, int to)
{
    if (!move_is_legal(n->kind, action, n->status, to) && !in->err.code)
        (void)!err_set(&in->err, E_INTERNAL, "%s may not move from %s to %s", n->path,
                       status_text(n->status), status_text(to));
    n->status = to;
    if (status_is_terminal(to))
        count_end(in, n);
}

/* ---- decisions ---- */

static void begin_node(struct interpreter *in, struct node *n);

static void decide(struct interpreter *in, struct node *n)
{
    enum graph_decision d = graph_join(n->task->join, (size_t)n->needs_left, (size_t)n->succeeded);
    struct graph_facts facts;
    struct err why = ERR_INIT;
    bool runs;

    if (d == GRAPH_WAIT)
        return;
    facts = node_facts(n);
    runs = d == GRAPH_DECIDE && facts.success;
    if (d == GRAPH_DECIDE && n->task->condition && node_evaluate(n, facts, &runs, NULL, &why)) {
        move(in, n, EV_FAILED, S_FAILED);
    } else if (!runs) {
        n->bits |= facts.failure ? FLAG_FAILED : 0;
        move(in, n, EV_SKIPPED, S_SKIPPED);
    } else {
        begin_node(in, n);
    }
}

/* ---- starting and ending ---- */

static void have_children(struct interpreter *in, struct node *n, int all)
{
    n->children = arena_zalloc(&in->arena, sizeof(*n->children) * ((size_t)all + 1));
    n->nchildren = all;
}

static void begin_workflow(struct interpreter *in, struct node *n)
{
    uint32_t i;

    have_children(in, n, (int)n->workflow->ntasks + 2);
    n->needs_left = (int)n->workflow->ntasks;
    move(in, n, EV_STARTED, S_RUNNING);
    for (i = 0; i < n->workflow->ntasks; i++)
        make_node(in, n, &n->workflow->tasks[i], -1);
    for (i = 0; i < n->workflow->ntasks; i++)
        if (!n->workflow->tasks[i].nneeds)
            note_dirty(in, n->children[i]);
}

static void begin_items(struct interpreter *in, struct node *n)
{
    json_t *list;
    struct err why = ERR_INIT;

    if (node_evaluate(n, node_facts(n), NULL, &list, &why)) {
        move(in, n, EV_FAILED, S_FAILED);
        return;
    }
    have_children(in, n, (int)json_array_size(list));
    json_decref(list);
    n->needs_left = 0;
    move(in, n, EV_STARTED, S_RUNNING);
    note_dirty(in, n);
}

static void begin_node(struct interpreter *in, struct node *n)
{
    if (n->kind == KIND_WORKFLOW)
        begin_workflow(in, n);
    else if (n->kind == KIND_FOREACH)
        begin_items(in, n);
    else if (node_is_resolved(n))
        move(in, n, EV_MARKED_READY, S_READY);
    else
        move(in, n, EV_FAILED, S_FAILED);
}

static void end_node(struct interpreter *in, struct node *n)
{
    int to = graph_end(n->bits, n->cancel_requested);

    move(in, n,
         to == S_SUCCEEDED   ? EV_COMPLETED
         : to == S_CANCELLED ? EV_CANCELLED
                             : EV_FAILED,
         to);
}

static void run_last(struct interpreter *in, struct node *n, const struct workflow_task *task,
                     int bit)
{
    n->bits |= bit;
    n->needs_left++;
    begin_node(in, make_node(in, n, task, -1));
}

static void advance_workflow(struct interpreter *in, struct node *n)
{
    if (n->needs_left)
        return;
    if (n->workflow->on_failure && (n->bits & FLAG_FAILED) && !n->cancel_requested &&
        !(n->bits & (FLAG_HANDLED | FLAG_EXITED)))
        run_last(in, n, n->workflow->on_failure, FLAG_HANDLED);
    else if (n->workflow->on_exit && !(n->bits & FLAG_EXITED))
        run_last(in, n, n->workflow->on_exit, FLAG_EXITED);
    else
        end_node(in, n);
}

static void advance_items(struct interpreter *in, struct node *n)
{
    int room, i;

    if (n->task->fail_fast && (n->bits & FLAG_FAILED) && !(n->bits & FLAG_STOPPED)) {
        n->bits |= FLAG_STOPPED;
        for (i = 0; i < n->made; i++)
            interpreter_cancel(in, n->children[i]);
    }
    room = n->task->max_parallel ? n->task->max_parallel - n->needs_left : n->nchildren;
    if (n->cancel_requested || (n->bits & FLAG_STOPPED))
        room = 0;
    for (; room > 0 && n->made < n->nchildren; room--) {
        n->needs_left++;
        begin_node(in, make_node(in, n, n->task, n->made++));
    }
    if (!n->needs_left &&
        (n->made == n->nchildren || n->cancel_requested || (n->bits & FLAG_STOPPED)))
        end_node(in, n);
}

static bool comes_before(const struct node *a, const struct node *b)
{
    uint32_t x = a->status == S_RUNNING ? 0 : a->task->index + 1;
    uint32_t y = b->status == S_RUNNING ? 0 : b->task->index + 1;

    return a->depth != b->depth ? a->depth > b->depth : x < y;
}

void interpreter_advance(struct interpreter *in)
{
    while (in->ndirty) {
        size_t best = 0, i;
        struct node *n;

        for (i = 1; i < in->ndirty; i++)
            if (comes_before(in->dirty[i], in->dirty[best]))
                best = i;
        n = in->dirty[best];
        in->dirty[best] = in->dirty[--in->ndirty];
        n->dirty = false;
        if (n->status == S_PENDING)
            decide(in, n);
        else if (n->status == S_RUNNING && n->kind == KIND_WORKFLOW)
            advance_workflow(in, n);
        else if (n->status == S_RUNNING && n->kind == KIND_FOREACH)
            advance_items(in, n);
    }
}

/* ---- events ---- */

void interpreter_start(struct interpreter *in, struct node *job)
{
    job->attempts++;
    move(in, job, EV_CLAIMED, S_RUNNING);
}

static bool cancelled_above(const struct node *n)
{
    for (; n; n = n->parent) {
        if (n->cancel_requested)
            return true;
        if (n->task && n->item < 0 && !strcmp(n->task->name, "on_exit"))
            return false;
    }
    return false;
}

void interpreter_settle(struct interpreter *in, struct node *job, enum plan_end end, int list)
{
    bool fails = end == PLAN_FAIL || end == PLAN_TIMEOUT || end == PLAN_LOST;

    if (end == PLAN_DEFER || end == PLAN_REFUSE) {
        if (cancelled_above(job)) {
            move(in, job, EV_CANCELLED, S_CANCELLED);
        } else {
            job->attempts--;
            move(in, job, end == PLAN_DEFER ? EV_DEFERRED : EV_RELEASED, S_READY);
        }
    } else if (fails && job->attempts <= job->task->command.retry.max && !cancelled_above(job)) {
        move(in, job, EV_RETRY_SCHEDULED, S_READY);
    } else if (end == PLAN_OK) {
        job->list = list;
        move(in, job, EV_COMPLETED, S_SUCCEEDED);
    } else if (end == PLAN_TIMEOUT) {
        move(in, job, EV_TIMED_OUT, S_TIMED_OUT);
    } else if (end == PLAN_FAIL || (end == PLAN_LOST && !job->cancel_requested)) {
        move(in, job, end == PLAN_LOST ? EV_ABANDONED : EV_FAILED, S_FAILED);
    } else {
        move(in, job, EV_CANCELLED, S_CANCELLED);
    }
}

void interpreter_cancel(struct interpreter *in, struct node *n)
{
    int spared = n->kind == KIND_WORKFLOW && n->cancel_requested ? n->nchildren - 1 : -1, i;

    if (status_is_terminal(n->status))
        return;
    if (n->status == S_RUNNING) {
        n->cancel_requested = true;
        if (n->kind != KIND_TASK)
            note_dirty(in, n);
    } else {
        move(in, n, EV_CANCELLED, S_CANCELLED);
    }
    for (i = 0; i < n->nchildren; i++)
        if (n->children[i] && i != spared)
            interpreter_cancel(in, n->children[i]);
}

void interpreter_skip(struct interpreter *in, struct node *n)
{
    n->bits |= FLAG_BY_OPERATOR;
    move(in, n, EV_SKIPPED, S_SKIPPED);
}

void interpreter_begin(struct interpreter *in, const struct plan *p)
{
    *in = (struct interpreter){.arena = ARENA_INIT};
    in->all = arena_alloc(&in->arena, sizeof(*in->all) * MAX_NODES);
    in->dirty = arena_alloc(&in->arena, sizeof(*in->dirty) * MAX_NODES);
    interpreter_define(in, p);
    in->root = make_node(in, NULL, NULL, -1);
    begin_node(in, in->root);
    interpreter_advance(in);
}

void interpreter_release(struct interpreter *in)
{
    arena_release(&in->arena);
}
