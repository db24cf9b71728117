/* decide.c - decides whether a pending task waits, runs, is skipped, or fails because its condition
 * can't be evaluated. The decision itself is pure (core/graph.h); this file reads the facts for
 * it. */
#include "core/graph.h"
#include "core/resolve.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/workflow/workflow.h"

struct graph_need task_as_need(const struct workflow_task *task, const struct execution *e)
{
    return (struct graph_need){.status = e->status,
                               .allow_failure = task->allow_failure,
                               .skipped_by_failure = (e->flags & FLAG_FAILED) != 0,
                               .by_operator = (e->flags & FLAG_BY_OPERATOR) != 0};
}

int task_skip(struct turn *t, struct row *row, bool skipped_by_failure, const char *why,
              struct err *err)
{
    struct move_note note = {.data = data_reason(t, why)};

    if (skipped_by_failure)
        row->now.flags |= FLAG_FAILED;
    return door_move(t, row, EV_SKIPPED, S_SKIPPED, &note, err);
}

int task_fail(struct turn *t, struct row *row, const char *sentence, struct err *err)
{
    struct outcome o = {
        .kind = OUTCOME_FAILED, .error = arena_strdup(&t->arena, sentence), .duration = -1};
    struct move_note note = {.data = data_outcome(t, &o, 0)};

    door_set_outcome(row, NULL, o.error);
    return door_move(t, row, EV_FAILED, S_FAILED, &note, err);
}

/* ---- reading the states of a task's needs ---- */

#define MANY_NEEDS 1000

/* Whether the task has so many needs that reading the states of all tasks, in pages, is cheaper
 * than reading those of its needs. */
bool task_has_many_needs(const struct workflow_state *f, const struct workflow_task *task)
{
    return task->nneeds >= MANY_NEEDS && task->nneeds >= f->def->workflow->ntasks / 4;
}

/* The state of a need. A change that this turn made after the states were read takes precedence. */
static struct graph_need find_current_need(const struct turn *t, const struct workflow_state *f,
                                           uint32_t index)
{
    const struct task_state *s = &f->task_states[index];
    const struct row *row = s->id ? turn_row(t, s->id) : idmap_get(&f->tasks, (int64_t)index + 1);

    return row ? task_as_need(&f->def->workflow->tasks[index], &row->now) : s->need;
}

static int read_needs_from_states(struct turn *t, struct workflow_state *f,
                                  const struct workflow_task *task, struct graph_need *needs,
                                  struct err *err)
{
    if (!f->task_states) /* read the states once per turn: many tasks may have the same needs */
        TRY(tasks_read_states(t, f->row->now.id, f->def, &f->task_states, err));
    for (uint32_t i = 0; i < task->nneeds; i++)
        needs[i] = find_current_need(t, f, task->needs[i]);
    return 0;
}

static int read_needs_from_rows(struct turn *t, struct workflow_state *f,
                                const struct workflow_task *task, struct graph_need *needs,
                                struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (task->nneeds + 1) * sizeof(*rows));

    TRY(tasks_get_rows(t, f, task->needs, task->nneeds, rows, err));
    for (uint32_t i = 0; i < task->nneeds; i++)
        needs[i] = task_as_need(&f->def->workflow->tasks[task->needs[i]], &rows[i]->now);
    return 0;
}

int task_read_facts(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                    struct graph_facts *out, struct err *err)
{
    struct graph_need *needs = arena_alloc(&t->arena, (task->nneeds + 1) * sizeof(*needs));

    if (task_is_final(f, task)) {
        *out = workflow_end_facts(f);
        return 0;
    }
    TRY(task_has_many_needs(f, task) ? read_needs_from_states(t, f, task, needs, err)
                                     : read_needs_from_rows(t, f, task, needs, err));
    *out = graph_facts(needs, task->nneeds);
    if (task->join)
        out->success = true; /* enough needs have succeeded for the join */
    return 0;
}

/* ---- the decision ---- */

int task_decide(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                struct row *row, struct err *err)
{
    struct graph_facts facts;
    struct eval_subject s = {.task = task, .row = row};
    struct resolve_scope scope;
    bool runs;
    int rc = 0;

    if (row->now.status != S_PENDING)
        return 0;
    switch (graph_join(task->join, (size_t)row->now.needs_left, (size_t)row->now.needs_succeeded)) {
    case GRAPH_WAIT:
        return 0;
    case GRAPH_SKIP:
        TRY(task_read_facts(t, f, task, &facts, err));
        return task_skip(t, row, facts.failure,
                         "too few of the tasks that it needs can still succeed", err);
    case GRAPH_DECIDE:
        break;
    }
    TRY(task_read_facts(t, f, task, &facts, err));
    if (!facts.success && templates_require_success(f->def->templates, task))
        return task_skip(t, row, facts.failure, "a task that it needs did not succeed", err);
    s.facts = facts;
    runs = true;
    if (task->condition) {
        if ((rc = workflow_build_scope(t, f, &s, &scope, err)))
            return task_fail_if_invalid(t, row, rc, err);
        rc = resolve_condition(&scope, &runs, err);
        resolve_scope_release(&scope);
        if (rc)
            return task_fail_if_invalid(t, row, rc, err);
    }
    if (!runs)
        return task_skip(t, row, facts.failure, "its condition is false", err);
    return task_make_ready(t, f, &s, err);
}
