/* plan.c - plans the next turn: the waiting commands that fit, whom to adopt from, what to claim;
 * see plan.h. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

#define ADOPT_MAX 100

/* A foreground engine adopts only from its own tree, not the jobs of dead workers. */
static bool is_own_tree(const struct engine *e, const struct execution *x)
{
    size_t i;

    for (i = 0; e->o.foreground && i < e->own_queues; i++)
        if (!strcmp(e->queues.at[i], x->queue))
            return true;
    return !e->o.foreground;
}

/* Whether a turn of another loop is settling it: the result is not known yet. */
static bool is_settled_elsewhere(const struct engine *e, const struct leased_job *h)
{
    return h->settling && !loop_may_adopt(loop_of(e, h->a.root));
}

/* Whether to adopt this orphan. A function runs inside its worker, so while that worker lives
 * no other worker may treat it as lost. */
static bool should_adopt(void *arg, const struct execution *x, int64_t last_worker)
{
    struct engine *e = arg;
    const struct leased_job *h = leased_job_get(e, x->id);

    if (h &&
        (is_settled_elsewhere(e, h) || (!h->lost && (h->a.ended || h->a.attempt == x->attempts))))
        return false; /* ours, and being settled or run */
    if (!is_own_tree(e, x))
        return false;
    if (dispatch_outlives(e->dispatch, x->lane) || last_worker == e->row.id || !last_worker ||
        strcmp(x->folder ? x->folder : "", e->row.folder) ||
        !state_folder_is_alive(e->state_folder, last_worker))
        return true;
    if (x->expired_at && db_clock_latest(e) - x->expired_at > e->o.host_grace / 2)
        state_folder_kill_worker(e->state_folder,
                                 last_worker); /* it should have ended by itself long ago */
    return false;
}

static struct lease_ref lease_ref_of(int64_t execution, int64_t root, int epoch)
{
    return (struct lease_ref){.execution = execution, .root = root, .epoch = epoch};
}

static void plan_adoption(struct engine *e, struct plan *p)
{
    size_t n, i, k;
    const struct lane_group *groups = dispatch_lane_groups(e->dispatch, &n);
    const struct dead_worker *dead_workers =
        state_folder_dead_workers(e->state_folder, &p->adoption.ndead_workers);
    int64_t *ids = mem_alloc((p->adoption.ndead_workers + 1) * sizeof(*ids));
    size_t max = p->turn_options.max[PART_CLAIMS];

    VEC(struct lane_queue) serves = {0};

    if (e->o.foreground)
        p->adoption.ndead_workers = 0;
    for (i = 0; i < p->adoption.ndead_workers; i++)
        ids[i] = dead_workers[i].id;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            *vec_add(&serves) = (struct lane_queue){groups[i].lanes[k], NULL};
    p->adoption.dead_workers = ids;
    p->adoption.host_grace = e->o.host_grace;
    p->adoption.latest = db_clock_latest(e);
    p->adoption.wanted = should_adopt;
    p->adoption.arg = e;
    p->adoption.claim = (struct claim){.worker = e->row.id,
                                       .folder = e->row.folder,
                                       .lease = e->o.lease,
                                       .serves = serves.at,
                                       .nserves = serves.n,
                                       .max = max < ADOPT_MAX ? max : ADOPT_MAX,
                                       .quarantined = &p->quarantined};
    for (i = 0; i < e->leased_jobs.cap; i++) {
        const struct leased_job *h = e->leased_jobs.keys[i] ? e->leased_jobs.values[i] : NULL;

        if (h && h->lost && !h->settling)
            *vec_add(&p->lost) = lease_ref_of(h->a.execution, h->a.root, h->a.epoch);
    }
}

static size_t count_planned(const struct plan *p, enum turn_part part)
{
    size_t n = loop_count_part(p->l, part), max = p->turn_options.max[part];

    return n < max ? n : max;
}

/* Whether this turn writes all starts and logs of the job: its outcome must be written last. */
static bool writes_all_reports(const struct loop *l, size_t nlogs, size_t nstarts,
                               const struct leased_job *h)
{
    size_t i;

    for (i = nlogs; i < l->logs.n; i++)
        if (l->logs.at[i].execution == h->a.execution)
            return false;
    for (i = nstarts; i < l->starts.n; i++)
        if (l->starts.at[i].execution == h->a.execution)
            return false;
    return true;
}

static void plan_starts_and_logs(struct loop *l, struct plan *p)
{
    int64_t now = engine_now(l->e);
    size_t i;

    p->nstarts = count_planned(p, PART_STARTS);
    p->nlogs = count_planned(p, PART_LOGS);
    p->starts = mem_zalloc((p->nstarts + 1) * sizeof(*p->starts));
    p->logs = mem_zalloc((p->nlogs + 1) * sizeof(*p->logs));
    for (i = 0; i < p->nstarts; i++) {
        const struct pending_start *s = &l->starts.at[i];

        p->starts[i] = (struct start){.lease = lease_ref_of(s->execution, s->root, s->epoch),
                                      .ago = now > s->at ? now - s->at : 0,
                                      .adopted = s->adopted};
    }
    for (i = 0; i < p->nlogs; i++) {
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
    size_t i;

    p->nsettles = count_planned(p, PART_OUTCOMES);
    p->nsubmits = count_planned(p, PART_SUBMITS);
    p->settles = mem_zalloc((p->nsettles + 1) * sizeof(*p->settles));
    p->submissions = mem_zalloc((p->nsubmits + 1) * sizeof(*p->submissions));
    for (i = 0; i < p->nsettles; i++)
        if (!writes_all_reports(l, p->nlogs, p->nstarts, l->ended.at[i]))
            p->nsettles = i;
    for (i = 0; i < p->nsettles; i++) {
        struct leased_job *h = l->ended.at[i];

        h->settling = true;
        p->settles[i] =
            (struct settlement){.lease = lease_ref_of(h->a.execution, h->a.root, h->a.epoch),
                                .outcome = h->outcome,
                                .parent = h->parent,
                                .workflow = h->workflow,
                                .queue = h->queue,
                                .concurrency = h->concurrency};
    }
    for (i = 0; i < p->nsubmits; i++)
        p->submissions[i] = l->submits.at[i]->s;
    if (p->nsubmits && l->e->threads.n) /* the next go to another loop, so that they do not wait */
        l->e->submit_to = 1 + l->e->submit_to % l->e->threads.n;
}

/* Copies the queues, because the list may change while the turn is under way. */
static void plan_queues(const struct engine *e, struct plan *p)
{
    const char **queues = arena_alloc(&p->texts, (e->queues.n + 1) * sizeof(*queues));
    size_t i;

    for (i = 0; i < e->queues.n; i++)
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
        e->groups_to_poll = 0; /* notifications during the turn set it again */
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

void plan_release(struct plan *p)
{
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
