/* interpret.c - see interpret.h. */
#include "interpret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "core/graph.h"
#include "core/resolve.h"
#include "core/transitions.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 4000

/* ---- the plan as a definition ---- */

static const char *kept(struct interpreter *in, struct buf *b)
{
    const char *s = arena_strdup(&in->arena, buf_cstr(b));

    buf_release(b);
    return s;
}

/* The condition as the parser completes it. */
static const char *complete(struct interpreter *in, const char *condition)
{
    struct expr_text text = {.at = condition, .len = strlen(condition)};
    struct expr_fault fault;
    const struct expr *e;
    const char *full = NULL;

    if (expr_parse_condition(&text, &in->arena, &e, &fault))
        (void)!expr_fault_err(&fault, &in->err);
    else
        full = expr_complete_condition(e, &in->arena);
    return full ? full : condition;
}

static void define_task(struct interpreter *in, const struct plan_workflow *f, int index,
                        struct workflow_task *out)
{
    const struct plan_task *t = &f->tasks[index];
    uint32_t *needs = arena_alloc(&in->arena, sizeof(*needs) * PLAN_NEEDS);
    struct buf condition = BUF_INIT, list = BUF_INIT;
    char name[16];
    int i;

    for (i = 0; i < t->nneeds; i++)
        needs[i] = (uint32_t)plan_index(f, t->needs[i]);
    if (t->nconds)
        plan_condition(f, t, &condition);
    if (t->each != PLAN_ONE)
        plan_foreach(t, &list);
    *out = (struct workflow_task){
        .name = arena_strdup(&in->arena, plan_name(f, index, name)),
        .index = (uint32_t)index,
        .nested = t->nested ? in->workflows[t->nested] : NULL,
        .needs = needs,
        .nneeds = (uint32_t)t->nneeds,
        .condition = t->nconds ? complete(in, kept(in, &condition)) : NULL,
        .join = t->join,
        .foreach = t->each != PLAN_ONE ? kept(in, &list) : NULL,
        .max_parallel = t->max_parallel,
        .fail_fast = t->fail_fast,
        .allow_failure = t->allow_failure,
        .command = {.run = t->nested ? NULL : "x", .retry = {.max = t->retries}}};
    if (t->each == PLAN_LIST && !t->nested) { /* items that can't be resolved */
        const char **argv = arena_zalloc(&in->arena, 2 * sizeof(*argv));

        argv[0] = "${{ item.a }}";
        out->command.argv = argv;
        out->command.argc = 1;
        out->command.run = NULL;
    }
}

static void define(struct interpreter *in, const struct plan *p, int workflow)
{
    const struct plan_workflow *f = &p->workflows[workflow];
    struct workflow *w = arena_zalloc(&in->arena, sizeof(*w));
    int i;

    w->name = "w";
    w->tasks = arena_zalloc(&in->arena, sizeof(*w->tasks) * (size_t)(f->ntasks + 2));
    w->ntasks = (uint32_t)f->ntasks;
    for (i = 0; i < f->ntasks + 2; i++)
        define_task(in, f, i, &w->tasks[i]);
    w->on_failure = f->on_failure ? &w->tasks[f->ntasks] : NULL;
    w->on_exit = f->on_exit ? &w->tasks[f->ntasks + 1] : NULL;
    workflow_link(w, &in->arena);
    in->workflows[workflow] = w;
}

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

static struct node *make(struct interpreter *in, struct node *parent,
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

static struct graph_need need_of(const struct node *n)
{
    return (struct graph_need){.status = n->status,
                               .allow_failure = n->item < 0 && n->task->allow_failure,
                               .skipped_by_failure = (n->bits & FLAG_FAILED) != 0,
                               .by_operator = (n->bits & FLAG_BY_OPERATOR) != 0};
}

static void count_end(struct interpreter *in, struct node *n)
{
    struct node *up = n->parent;
    struct graph_need need;
    uint32_t i;

    if (!up)
        return;
    need = need_of(n);
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

struct speaks {
    json_t *tasks;
    const struct node *of;
};

static json_t *outputs_of_job(const struct node *n)
{
    json_t *list = json_array();
    int i;

    for (i = 0; i < n->list; i++)
        json_array_append_new(list, json_integer(i));
    return json_pack("{s:i, s:o}", "n", 1, "list", list);
}

static json_t *outputs_of_items(const struct node *n)
{
    json_t *all = json_array(), *items = json_loads(n->task->foreach, JSON_DECODE_ANY, NULL);
    int i;

    for (i = 0; i < n->nchildren; i++)
        json_array_append_new(
            all,
            json_pack("{s:s, s:o}", "status",
                      status_text(n->children[i] ? n->children[i]->status : S_CANCELLED), "item",
                      json_is_array(items) ? json_incref(json_array_get(items, (size_t)i))
                                           : json_integer(i)));
    json_decref(items);
    return all;
}

static void on_reference(void *arg, const char *name)
{
    struct speaks *s = arg;
    const struct workflow_task *task = workflow_task(s->of->in, name);
    const struct node *n = s->of->parent->children[task->index];
    json_t *outputs = NULL;

    if (n->kind == KIND_TASK && n->status == S_SUCCEEDED)
        outputs = outputs_of_job(n);
    else if (n->kind == KIND_FOREACH && status_is_terminal(n->status) && n->children)
        outputs = outputs_of_items(n);
    json_object_set_new(s->tasks, name,
                        json_pack("{s:s, s:o}", "status", status_text(n->status), "outputs",
                                  outputs ? outputs : json_object()));
}

/* Evaluates the condition of a node, or the list of its items, in the node's scope. */
static int evaluate(struct node *n, struct graph_facts facts, bool *runs, json_t **list,
                    struct err *err)
{
    struct speaks s = {json_object(), n};
    json_t *variables = json_pack("{s:{}, s:{}}", "params", "vars"), *execution = json_object();
    struct arena arena = ARENA_INIT;
    struct resolve_given g = {.templates = templates_parse(n->in, &arena),
                              .task = n->task,
                              .variables = variables,
                              .tasks = s.tasks,
                              .execution = execution,
                              .facts = facts};
    struct resolve_scope scope;
    int rc;

    templates_references(g.templates, n->task, false, on_reference, &s);
    if (!(rc = resolve_scope(&g, &scope, err))) {
        rc = list ? resolve_items(&scope, list, err) : resolve_condition(&scope, runs, err);
        resolve_scope_release(&scope);
    }
    json_decref(variables);
    json_decref(execution);
    json_decref(s.tasks);
    arena_release(&arena);
    return rc;
}

static struct graph_facts facts_of(const struct node *n)
{
    struct graph_need needs[PLAN_NEEDS];
    struct graph_facts f;
    uint32_t i;

    for (i = 0; i < n->task->nneeds; i++)
        needs[i] = need_of(n->parent->children[n->task->needs[i]]);
    f = graph_facts(needs, n->task->nneeds);
    f.success |= n->task->join > 0;
    return f;
}

static void begin(struct interpreter *in, struct node *n);

static void decide(struct interpreter *in, struct node *n)
{
    enum graph_decision d = graph_join(n->task->join, (size_t)n->needs_left, (size_t)n->succeeded);
    struct graph_facts facts;
    struct err why = ERR_INIT;
    bool runs;

    if (d == GRAPH_WAIT)
        return;
    facts = facts_of(n);
    runs = d == GRAPH_DECIDE && facts.success;
    if (d == GRAPH_DECIDE && n->task->condition && evaluate(n, facts, &runs, NULL, &why)) {
        move(in, n, EV_FAILED, S_FAILED);
    } else if (!runs) {
        n->bits |= facts.failure ? FLAG_FAILED : 0;
        move(in, n, EV_SKIPPED, S_SKIPPED);
    } else {
        begin(in, n);
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
        make(in, n, &n->workflow->tasks[i], -1);
    for (i = 0; i < n->workflow->ntasks; i++)
        if (!n->workflow->tasks[i].nneeds)
            note_dirty(in, n->children[i]);
}

static void begin_items(struct interpreter *in, struct node *n)
{
    json_t *list;
    struct err why = ERR_INIT;

    if (evaluate(n, facts_of(n), NULL, &list, &why)) {
        move(in, n, EV_FAILED, S_FAILED);
        return;
    }
    have_children(in, n, (int)json_array_size(list));
    json_decref(list);
    n->needs_left = 0;
    move(in, n, EV_STARTED, S_RUNNING);
    note_dirty(in, n);
}

/* An item may refer to something that does not exist. */
static bool is_resolved(const struct node *n)
{
    json_t *list = json_loads(n->task->foreach ? n->task->foreach : "0", JSON_DECODE_ANY, NULL);
    bool bad = n->item >= 0 && n->task->command.argc &&
               !json_object_get(json_array_get(list, (size_t)n->item), "a");

    json_decref(list);
    return !bad;
}

static void begin(struct interpreter *in, struct node *n)
{
    if (n->kind == KIND_WORKFLOW)
        begin_workflow(in, n);
    else if (n->kind == KIND_FOREACH)
        begin_items(in, n);
    else if (is_resolved(n))
        move(in, n, EV_MARKED_READY, S_READY);
    else
        move(in, n, EV_FAILED, S_FAILED);
}

static void end(struct interpreter *in, struct node *n)
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
    begin(in, make(in, n, task, -1));
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
        end(in, n);
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
        begin(in, make(in, n, n->task, n->made++));
    }
    if (!n->needs_left &&
        (n->made == n->nchildren || n->cancel_requested || (n->bits & FLAG_STOPPED)))
        end(in, n);
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
    int i;

    *in = (struct interpreter){.arena = ARENA_INIT};
    in->all = arena_alloc(&in->arena, sizeof(*in->all) * MAX_NODES);
    in->dirty = arena_alloc(&in->arena, sizeof(*in->dirty) * MAX_NODES);
    for (i = p->nworkflows - 1; i >= 0; i--)
        define(in, p, i);
    in->root = make(in, NULL, NULL, -1);
    begin(in, in->root);
    interpreter_advance(in);
}

void interpreter_release(struct interpreter *in)
{
    arena_release(&in->arena);
}
