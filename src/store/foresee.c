/* foresee.c - what settling is going to ask for: the rows and their leases, those above them, their
 * limits, the states of their workflows. Each would be asked for by whoever needs it, one after
 * the other; a server then answers four times, and each answer is waited for. */
#include "store/door.h"
#include "store/flow.h"

#include <stdlib.h>

struct foreseen {
    VEC(struct want) wants;
    VEC(int64_t) workflows;
    struct idmap seen; /* id -> its place among the wants, from 1 */
    struct rows limits, flows;
};

static void want(struct foreseen *f, int64_t id, int64_t root)
{
    if (!id || idmap_get(&f->seen, id))
        return;
    idmap_put(&f->seen, id, (void *)(uintptr_t)(f->wants.n + 1));
    *vec_add(&f->wants) = (struct want){.id = id, .root = root};
}

static void look_at(struct turn *t, struct foreseen *f, const struct settlement *s)
{
    if (!s->lease.root)
        return;
    want(f, s->lease.execution, s->lease.root);
    want(f, s->parent, s->lease.root);
    if (s->workflow && s->workflow != s->parent)
        want(f, s->workflow, s->lease.root);
    if (s->queue)
        limits_note(t, &(struct execution){
                           .kind = KIND_EXEC, .queue = s->queue, .concurrency = s->concurrency});
}

/* Of those that are not there yet. */
static int send_more(struct turn *t, void *arg, struct err *err)
{
    struct foreseen *f = arg;
    int rc = limits_send(t, &f->limits, err);

    return rc ? rc : flow_send(t, f->workflows.at, f->workflows.n, &f->flows, err);
}

/* What is locked by another turn is not ours to know: whoever asks for it has to wait. */
static bool is_ours(const struct foreseen *f, int64_t id)
{
    size_t place = (uintptr_t)idmap_get(&f->seen, id);

    return place && f->wants.at[place - 1].rc == 0;
}

int op_foresee(struct turn *t, const struct settlement *list, size_t n, struct err *err)
{
    struct foreseen f = {.limits = ROWS_INIT, .flows = ROWS_INIT};
    struct idmap flows = IDMAP_INIT;
    size_t i;
    int rc;

    for (i = 0; i < n; i++) {
        look_at(t, &f, &list[i]);
        if (list[i].lease.root && list[i].workflow && !idmap_get(&flows, list[i].workflow)) {
            idmap_put(&flows, list[i].workflow, t);
            *vec_add(&f.workflows) = list[i].workflow;
        }
    }
    if (!f.wants.n)
        return 0;
    if ((rc = turn_load_with(t, f.wants.at, f.wants.n, send_more, &f, err)))
        goto done;
    limits_take(t, &f.limits);
    for (i = 0; !rc && i < f.flows.n; i++)
        if (is_ours(&f, rows_int(&f.flows, i, 0)))
            rc = flow_take(t, &f.flows, i, err);
done:
    rows_release(&f.limits);
    rows_release(&f.flows);
    vec_release(&f.wants);
    vec_release(&f.workflows);
    idmap_release(&f.seen);
    idmap_release(&flows);
    return rc;
}
