/* plan.c - what the next turn does: as much of what waits as fits, and whom to adopt from. */
#include "engine/plan.h"

#include <stdlib.h>
#include <string.h>

#define ADOPT_MAX 100

/* Who works on one tree takes over nothing else; not even the work of the dead. */
static bool is_own_tree(const struct engine *e, const struct execution *x)
{
    size_t i;

    for (i = 0; e->o.here && i < e->own_queues; i++)
        if (!strcmp(e->queues.at[i], x->queue))
            return true;
    return !e->o.here;
}

/* Functions live in their worker: while that one lives nobody else may take them for lost. */
static bool wanted(void *arg, const struct execution *x, int64_t last_worker)
{
    struct engine *e = arg;
    const struct held *h = held_get(e, x->id);

    if (h && !h->lost && (h->ended || h->attempt == x->attempts))
        return false; /* ours, and on its way */
    if (!is_own_tree(e, x))
        return false;
    if (dispatch_outlives(e->dispatch, x->lane) || last_worker == e->row.id || !last_worker ||
        strcmp(x->folder ? x->folder : "", e->row.folder) ||
        !folder_is_alive(e->folder, last_worker))
        return true;
    if (x->expired_at && engine_now(e) + e->db_ahead - x->expired_at > e->o.host_grace / 2)
        folder_kill(e->folder, last_worker); /* it should have ended by itself long ago */
    return false;
}

static void plan_adoption(struct engine *e, struct plan *p)
{
    size_t n, i, k;
    const struct lane_group *groups = dispatch_lanes(e->dispatch, &n);
    const struct dead_worker *dead = folder_dead(e->folder, &p->adoption.ndead);
    int64_t *ids = mem_alloc((p->adoption.ndead + 1) * sizeof(*ids));

    VEC(struct lane_queue) serves = {0};

    if (e->o.here)
        p->adoption.ndead = 0;
    for (i = 0; i < p->adoption.ndead; i++)
        ids[i] = dead[i].id;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            *vec_add(&serves) = (struct lane_queue){groups[i].lanes[k], NULL};
    p->adoption.dead = ids;
    p->adoption.host_grace = e->o.host_grace;
    p->adoption.wanted = wanted;
    p->adoption.arg = e;
    p->adoption.claim = (struct claim){.worker = e->row.id,
                                       .folder = e->row.folder,
                                       .lease = e->o.lease,
                                       .serves = serves.at,
                                       .nserves = serves.n,
                                       .max = ADOPT_MAX};
}

static size_t at_most(size_t n)
{
    return n < TURN_MAX ? n : TURN_MAX;
}

static struct lease_ref ref_of(int64_t execution, int64_t root, int epoch)
{
    return (struct lease_ref){.execution = execution, .root = root, .epoch = epoch};
}

/* Whether this turn writes all that it said before its end: after that nobody takes it any more.
 * */
static bool is_told(const struct engine *e, size_t nlogs, size_t nstarts, const struct held *h)
{
    size_t i;

    for (i = nlogs; i < e->logs.n; i++)
        if (e->logs.at[i].execution == h->execution)
            return false;
    for (i = nstarts; i < e->starts.n; i++)
        if (e->starts.at[i].execution == h->execution)
            return false;
    return true;
}

void plan_make(struct engine *e, struct plan *p, size_t most)
{
    int64_t now = engine_now(e);
    size_t i;

    *p = (struct plan){.e = e};
    p->nstarts = at_most(e->starts.n);
    p->nlogs = at_most(e->logs.n);
    p->nsettles = at_most(e->ended.n) < most ? at_most(e->ended.n) : most;
    p->nsubmits = at_most(e->submits.n) < most ? at_most(e->submits.n) : most;
    p->starts = mem_zalloc((p->nstarts + 1) * sizeof(*p->starts));
    p->logs = mem_zalloc((p->nlogs + 1) * sizeof(*p->logs));
    p->settles = mem_zalloc((p->nsettles + 1) * sizeof(*p->settles));
    p->submissions = mem_zalloc((p->nsubmits + 1) * sizeof(*p->submissions));
    for (i = 0; i < p->nstarts; i++) {
        const struct pending_start *s = &e->starts.at[i];

        p->starts[i] = (struct start){.lease = ref_of(s->execution, s->root, s->epoch),
                                      .ago = now > s->at ? now - s->at : 0,
                                      .adopted = s->adopted};
    }
    for (i = 0; i < p->nlogs; i++) {
        const struct pending_log *l = &e->logs.at[i];

        p->logs[i] = (struct log_chunk){.lease = ref_of(l->execution, 0, l->epoch),
                                        .attempt = l->attempt,
                                        .bytes = l->bytes,
                                        .len = l->len,
                                        .offset = l->offset,
                                        .dropped = l->dropped};
    }
    for (i = 0; i < p->nsettles; i++)
        if (!is_told(e, p->nlogs, p->nstarts, e->ended.at[i]))
            p->nsettles = i;
    for (i = 0; i < p->nsettles; i++) {
        const struct held *h = e->ended.at[i];

        p->settles[i] = (struct settlement){.lease = ref_of(h->execution, h->root, h->epoch),
                                            .outcome = h->outcome,
                                            .parent = h->parent,
                                            .workflow = h->workflow,
                                            .queue = h->queue,
                                            .concurrency = h->concurrency};
    }
    for (i = 0; i < p->nsubmits; i++)
        p->submissions[i] = e->submits.at[i]->s;
    p->adopt = e->adopt && !e->stopping;
    if (!e->stopping)
        p->ask = p->nsubmits && !e->o.poll ? UINT64_MAX : e->hungry;
    if (p->adopt)
        plan_adoption(e, p);
}

void plan_release(struct plan *p)
{
    free(p->starts);
    free(p->logs);
    free(p->settles);
    free(p->submissions);
    free((void *)p->adoption.dead);
    free((void *)p->adoption.claim.serves);
    rows_release(&p->generation);
    vec_release(&p->refused);
    vec_release(&p->adopted);
    vec_release(&p->claimed);
    arena_release(&p->texts);
}
