/* prefetch.c - loads in one round trip all rows that a settle will need: the executions and their
 * leases, their parents and workflows, their limits, the states of their workflows. Without it,
 * each step of the settle would load its own part, and the turn would wait for four round trips to
 * the server. */
#include "store/door/door.h"
#include "store/workflow/workflow.h"

#include <stdlib.h>

struct prefetch {
    VEC(struct row_ref) wants;
    VEC(int64_t) workflows;
    struct idmap seen; /* maps an id to its index in wants + 1 */
    struct rows limits, workflow_states;
};

static void want_row(struct prefetch *f, int64_t id, int64_t root)
{
    if (!id || idmap_get(&f->seen, id))
        return;
    idmap_put(&f->seen, id, (void *)(uintptr_t)(f->wants.n + 1));
    *vec_add(&f->wants) = (struct row_ref){.id = id, .root = root};
}

static void add_settlement(struct turn *t, struct prefetch *f, const struct settlement *s)
{
    if (!s->lease.root)
        return;
    want_row(f, s->lease.execution, s->lease.root);
    want_row(f, s->parent, s->lease.root);
    if (s->workflow && s->workflow != s->parent)
        want_row(f, s->workflow, s->lease.root);
    if (s->queue)
        limits_note(t, &(struct execution){.kind = KIND_EXEC,
                                           .flags = s->is_capped ? FLAG_CAPPED : 0,
                                           .queue = s->queue,
                                           .concurrency = s->concurrency});
}

/* Sends the queries for limits and workflow states that the turn does not have yet. */
static int send_limits_and_states(struct turn *t, void *arg, struct err *err)
{
    struct prefetch *f = arg;

    TRY(limits_send(t, &f->limits, err));
    return workflow_states_send(t, f->workflows.at, f->workflows.n, &f->workflow_states, err);
}

/* Whether this turn holds the lock of a row. The state of a row that another turn has locked must
 * not be used: the step that needs this state has to wait for the lock. */
static bool is_locked_by_turn(const struct prefetch *f, int64_t id)
{
    size_t position = (uintptr_t)idmap_get(&f->seen, id);

    return position && f->wants.at[position - 1].rc == 0;
}

int op_prefetch(struct turn *t, const struct settlement *list, size_t n, struct err *err)
{
    struct prefetch f = {.limits = ROWS_INIT, .workflow_states = ROWS_INIT};
    AUTO_IDMAP seen_workflows = IDMAP_INIT;
    int rc;

    for (size_t i = 0; i < n; i++) {
        add_settlement(t, &f, &list[i]);
        if (list[i].lease.root && list[i].workflow &&
            !idmap_get(&seen_workflows, list[i].workflow)) {
            idmap_put(&seen_workflows, list[i].workflow, t);
            *vec_add(&f.workflows) = list[i].workflow;
        }
    }
    if (!f.wants.n)
        return 0;
    if ((rc = turn_load_and_send(t, f.wants.at, f.wants.n, send_limits_and_states, &f, err)))
        goto done;
    limits_receive(t, &f.limits);
    for (size_t i = 0; !rc && i < f.workflow_states.n; i++)
        if (is_locked_by_turn(&f, rows_int(&f.workflow_states, i, 0)))
            rc = workflow_state_receive(t, &f.workflow_states, i, err);
done:
    rows_release(&f.limits);
    rows_release(&f.workflow_states);
    vec_release(&f.wants);
    vec_release(&f.workflows);
    idmap_release(&f.seen);
    return rc;
}
