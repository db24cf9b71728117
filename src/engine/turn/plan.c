/* plan.c - plans the next turn: the waiting commands that fit, whom to adopt from, what to claim;
 * see plan.h. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

static struct lease_ref lease_ref_of(int64_t execution, int64_t root, int epoch)
{
    return (struct lease_ref){.execution = execution, .root = root, .epoch = epoch};
}

static size_t count_planned(const struct plan *p, enum turn_part part)
{
    size_t n = loop_count_part(p->l, part), max = p->turn_options.max[part];

    return n < max ? n : max;
}

/* Whether this turn writes all starts and logs of the job: if not, its outcome must wait. */
static bool writes_all_reports(const struct loop *l, size_t nlogs, size_t nstarts,
                               const struct leased_job *h)
{
    for (size_t i = nlogs; i < l->logs.n; i++)
        if (l->logs.at[i].execution == h->a.execution)
            return false;
    for (size_t i = nstarts; i < l->starts.n; i++)
        if (l->starts.at[i].execution == h->a.execution)
            return false;
    return true;
}

static void plan_starts_and_logs(struct loop *l, struct plan *p)
{
    int64_t now = engine_now(l->e);

    p->nstarts = count_planned(p, PART_STARTS);
    p->nlogs = count_planned(p, PART_LOGS);
    p->starts = mem_zalloc((p->nstarts + 1) * sizeof(*p->starts));
    p->logs = mem_zalloc((p->nlogs + 1) * sizeof(*p->logs));
    for (size_t i = 0; i < p->nstarts; i++) {
        const struct pending_start *s = &l->starts.at[i];

        p->starts[i] = (struct start){.lease = lease_ref_of(s->execution, s->root, s->epoch),
                                      .ago = now > s->at ? now - s->at : 0,
                                      .adopted = s->adopted};
    }
    for (size_t i = 0; i < p->nlogs; i++) {
        const struct pending_log *g = &l->logs.at[i];

        p->logs[i] = (struct log_chunk){.lease = lease_ref_of(g->execution, 0, g->epoch),
                                        .attempt = g->attempt,
                                        .bytes = g->bytes,
                                        .len = g->len,
                                        .offset = g->offset,
                                        .dropped = g->dropped};
    }
}

static void plan_settles_and_submits(struct loop *l, struct plan *p)
{
    p->nsettles = count_planned(p, PART_OUTCOMES);
    p->nsubmits = count_planned(p, PART_SUBMITS);
    p->settles = mem_zalloc((p->nsettles + 1) * sizeof(*p->settles));
    p->submissions = mem_zalloc((p->nsubmits + 1) * sizeof(*p->submissions));
    for (size_t i = 0; i < p->nsettles; i++)
        if (!writes_all_reports(l, p->nlogs, p->nstarts, l->ended.at[i]))
            p->nsettles = i;
    for (size_t i = 0; i < p->nsettles; i++) {
        struct leased_job *h = l->ended.at[i];

        h->settling = true;
        p->settles[i] =
            (struct settlement){.lease = lease_ref_of(h->a.execution, h->a.root, h->a.epoch),
                                .outcome = h->outcome,
                                .parent = h->parent,
                                .workflow = h->workflow,
                                .queue = h->queue,
                                .concurrency = h->concurrency,
                                .is_capped = h->is_capped};
    }
    for (size_t i = 0; i < p->nsubmits; i++)
        p->submissions[i] = l->submits.at[i]->s;
    if (p->nsubmits && l->e->threads.n) /* further submissions go to another loop and need not wait
                                           for this turn */
        l->e->submit_to = 1 + l->e->submit_to % l->e->threads.n;
}

/* Copies the queues, because the list may change while the turn is under way. */
static void plan_queues(const struct engine *e, struct plan *p)
{
    const char **queues = arena_alloc(&p->texts, (e->queues.n + 1) * sizeof(*queues));

    for (size_t i = 0; i < e->queues.n; i++)
        queues[i] = arena_strdup(&p->texts, e->queues.at[i]);
    p->queues = queues;
    p->nqueues = e->queues.n;
}

void plan_make(struct loop *l, struct plan *p, struct turn_options m)
{
    struct engine *e = l->e;

    *p = (struct plan){.e = e, .l = l, .turn_options = m};
    plan_starts_and_logs(l, p);
    plan_settles_and_submits(l, p);
    if (!m.max[PART_CLAIMS] || e->stopping)
        return;
    p->quarantined = e->quarantined;
    if ((p->adopt = e->adopt && loop_may_adopt(l)))
        plan_adoption(e, p);
    if (loop_may_claim(l)) {
        plan_queues(e, p);
        plan_capacity(p);
        p->groups_polled = e->groups_to_poll;
        p->groups_to_claim = p->nsubmits && !e->o.no_push ? UINT64_MAX : e->groups_to_poll;
        e->groups_to_poll = 0; /* notifications that arrive during the turn set bits again */
    }
}

void plan_commit_failed(struct engine *e, struct plan *p)
{
    size_t i, kept = 0;

    for (i = 0; i < p->l->ended.n; i++) {
        struct leased_job *h = p->l->ended.at[i];

        h->settling = false;
        if (h->dropped)
            leased_job_free(h);
        else
            p->l->ended.at[kept++] = h;
    }
    p->l->ended.n = kept;
    p->l->claimed_jobs = p->claimed_jobs;
    e->groups_to_poll |= p->groups_polled;
}

static bool has_adopted(const struct plan *p, int64_t execution)
{
    for (size_t i = 0; i < p->adopted.n; i++)
        if (p->adopted.at[i]->id == execution)
            return true;
    return false;
}

void plan_drop_unused_marks(struct plan *p, int rc)
{
    for (size_t i = 0; rc != -E_COMMIT_UNKNOWN && i < p->marked.n; i++) {
        const struct attempt_ref *m = &p->marked.at[i];

        if ((rc || !has_adopted(p, m->execution)) &&
            !attempts_get(&p->e->leased_jobs, m->execution, m->attempt))
            start_marks_drop(p->e->start_marks, m->execution, m->attempt);
    }
}

void plan_release(struct plan *p)
{
    vec_release(&p->marked);
    vec_release(&p->unstarted);
    free(p->starts);
    free(p->logs);
    free(p->settles);
    free(p->submissions);
    free((void *)p->adoption.dead_workers);
    free((void *)p->adoption.claim.serves);
    rows_release(&p->generation);
    vec_release(&p->lost);
    vec_release(&p->refused);
    vec_release(&p->adopted);
    vec_release(&p->claimed);
    arena_release(&p->texts);
}
