/* flow_decide.c - a task whose needs have moved on: it waits, runs, is skipped, or can't be
 * decided. The decisions themselves are pure (core/graph.h); here their facts are fetched. */
#include "core/graph.h"
#include "core/resolve.h"
#include "store/data.h"
#include "store/door.h"
#include "store/flow.h"

struct graph_need flow_need(const struct workflow_task *task, const struct execution *e)
{
    return (struct graph_need){.status = e->status,
                               .allow_failure = task->allow_failure,
                               .failed_behind = (e->failed_behind & GRAPH_FAILED) != 0,
                               .by_operator = (e->failed_behind & GRAPH_BY_OPERATOR) != 0};
}

int flow_skip(struct turn *t, struct row *row, bool failed_behind, const char *why, struct err *err)
{
    struct move_note note = {.data = data_reason(t, why)};

    if (failed_behind)
        row->now.failed_behind |= GRAPH_FAILED;
    return door_move(t, row, EV_SKIPPED, S_SKIPPED, &note, err);
}

int flow_fail(struct turn *t, struct row *row, const char *sentence, struct err *err)
{
    struct outcome o = {
        .kind = OUTCOME_FAILED, .error = arena_strdup(&t->arena, sentence), .duration = -1};
    struct move_note note = {.data = data_outcome(t, &o, 0)};

    door_outcome(row, NULL, o.error);
    return door_move(t, row, EV_FAILED, S_FAILED, &note, err);
}

/* ---- what its needs gave ---- */

#define MANY_NEEDS 1000

/* To go through all tasks is cheaper then, too. */
bool flow_needs_many(const struct flow *f, const struct workflow_task *task)
{
    return task->nneeds >= MANY_NEEDS && task->nneeds >= f->def->workflow->ntasks / 4;
}

static void note_state(void *arg, const struct workflow_task *task, const struct execution *e)
{
    struct flow_state *all = arg;

    all[task->index] = (struct flow_state){e->id, flow_need(task, e)};
}

/* One question in a turn: many tasks may need the same ones. */
static int read_all(struct turn *t, struct flow *f, struct err *err)
{
    struct flow_state *all;
    int rc;

    if (f->all)
        return 0;
    all = arena_zalloc(&t->arena, (f->def->workflow->ntasks + 1) * sizeof(*all));
    if (!(rc = flow_task_states(t, f->row->now.id, f->def, note_state, all, err)))
        f->all = all;
    return rc;
}

/* What this turn made of it since counts. */
static struct graph_need need_now(const struct turn *t, const struct flow *f, uint32_t index)
{
    const struct flow_state *s = &f->all[index];
    const struct row *row = s->id ? turn_row(t, s->id) : idmap_get(&f->tasks, (int64_t)index + 1);

    return row ? flow_need(&f->def->workflow->tasks[index], &row->now) : s->need;
}

static int ask_all(struct turn *t, struct flow *f, const struct workflow_task *task,
                   struct graph_need *needs, struct err *err)
{
    int rc = read_all(t, f, err);
    uint32_t i;

    for (i = 0; !rc && i < task->nneeds; i++)
        needs[i] = need_now(t, f, task->needs[i]);
    return rc;
}

static int ask_each(struct turn *t, struct flow *f, const struct workflow_task *task,
                    struct graph_need *needs, struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (task->nneeds + 1) * sizeof(*rows));
    uint32_t i;
    int rc;

    if ((rc = flow_tasks(t, f, task->needs, task->nneeds, rows, err)))
        return rc;
    for (i = 0; i < task->nneeds; i++)
        needs[i] = flow_need(&f->def->workflow->tasks[task->needs[i]], &rows[i]->now);
    return 0;
}

int flow_facts(struct turn *t, struct flow *f, const struct workflow_task *task,
               struct graph_facts *out, struct err *err)
{
    struct graph_need *needs = arena_alloc(&t->arena, (task->nneeds + 1) * sizeof(*needs));
    int rc = flow_needs_many(f, task) ? ask_all(t, f, task, needs, err)
                                      : ask_each(t, f, task, needs, err);

    if (rc)
        return rc;
    *out = graph_facts(needs, task->nneeds);
    if (task->join)
        out->success = true; /* enough of them have succeeded */
    return 0;
}

/* ---- the decision ---- */

int flow_decide(struct turn *t, struct flow *f, const struct workflow_task *task, struct row *row,
                struct err *err)
{
    struct graph_facts facts;
    struct flow_subject s = {.task = task, .row = row};
    struct resolve_scope scope;
    bool runs;
    int rc;

    if (row->now.status != S_PENDING)
        return 0;
    switch (graph_join(task->join, (size_t)row->now.needs_left, (size_t)row->now.cursor)) {
    case GRAPH_WAIT:
        return 0;
    case GRAPH_SKIP:
        if ((rc = flow_facts(t, f, task, &facts, err)))
            return rc;
        return flow_skip(t, row, facts.failure, "not enough of what it needs can succeed", err);
    case GRAPH_DECIDE:
        break;
    }
    if ((rc = flow_facts(t, f, task, &facts, err)))
        return rc;
    s.facts = facts;
    runs = facts.success;
    if (task->condition) {
        if ((rc = flow_scope(t, f, &s, &scope, err)))
            return flow_or_fail(t, row, rc, err);
        rc = resolve_condition(f->def->workflow, task, &scope, &runs, err);
        resolve_scope_release(&scope);
        if (rc)
            return flow_or_fail(t, row, rc, err);
    }
    if (!runs)
        return flow_skip(
            t, row, facts.failure,
            task->condition ? "its condition is false" : "what it needs did not succeed", err);
    return flow_ready(t, f, &s, err);
}

/* One more of its needs is terminal. It is decided on later: others may end in this very turn. One
 * that waits to begin was decided on, and counts no more: whoever hands it its permit changes its
 * row without the lock of this tree. */
static void need_ended(struct turn *t, struct flow *f, uint32_t follower, struct row *row,
                       bool success)
{
    if (row->now.status != S_PENDING || row->now.held)
        return;
    row->now.needs_left--;
    row->now.cursor += success; /* of a task: how many of its needs have succeeded */
    door_touch(t, row);
    if (!row->on_agenda)
        *vec_add(&t->moved) = row;
    flow_look(t, row, f->def->rank[follower]);
}

int flow_count_end(struct turn *t, struct flow *f, const struct workflow_task *task,
                   const struct row *row, uint32_t from, uint32_t n, struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));
    struct graph_need need = flow_need(task, &row->now);
    int rc = flow_tasks(t, f, task->followers + from, n, rows, err);
    uint32_t i;

    for (i = 0; !rc && i < n; i++)
        need_ended(t, f, task->followers[from + i], rows[i], graph_is_success(&need));
    return rc;
}

int flow_task_ended(struct turn *t, struct flow *f, struct row *row, struct err *err)
{
    const struct workflow_task *task = definition_task(f->def, row->now.task_name);
    struct graph_need n = flow_need(task, &row->now);
    int rc;

    flow_put_task(f, task->index, row);
    f->row->now.failed_behind |= graph_bits_of(&n);
    f->row->now.needs_left--;
    door_touch(t, f->row);
    if (!f->row->now.cancel_requested && (rc = flow_tell(t, f, task, row, err)))
        return rc;
    flow_look(t, f->row, 0);
    return 0;
}
