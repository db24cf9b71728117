/* turn.c - one turn of the loop: everything that waits is written, orphans are adopted, jobs are
 * claimed; one commit. What the commit decided is answered and handed out after it. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

#define TURN_MAX   500 /* settles, submits and starts each: some thousand transitions, some 50 ms */
#define ADOPT_MAX  100
#define WAIT_AFTER 3 /* a tree that was locked so often is waited for, alone */

/* What a turn does. Its body may run several times, so it fills in only what it is asked for. */
struct plan {
    struct engine *e;
    struct start *starts;
    struct settlement *settles;
    struct log_chunk *logs;
    size_t nstarts, nsettles, nlogs, nsubmits;
    struct submission *submissions; /* copies, in a row */
    bool adopt;
    struct adoption adoption;

    int64_t taken_at; /* engine_now before the leases were taken */
    struct arena texts;
    VEC(struct execution *) adopted;
    VEC(struct execution *) claimed;
    bool more_orphans;
    bool busy_starts;   /* some starts wait for the tree of another turn */
    uint64_t ask;       /* which groups of lanes to claim from */
    uint64_t exhausted; /* those in which less waited than there was room for */
};

/* The groups of lanes, a bit each, in which another job can be run. */
static uint64_t groups_with_room(struct engine *e)
{
    size_t n, i;
    const struct lane_group *groups = dispatch_lanes(e->dispatch, &n);
    uint64_t some = 0;

    for (i = 0; i < n && dispatch_room(e->dispatch) > 0; i++)
        if (groups[i].room > 0)
            some |= group_bit(i);
    return some;
}

bool turn_is_needed(struct engine *e)
{
    int64_t now = engine_now(e);

    if (e->retry_at > now)
        return false;
    return e->ended.n || e->submits.n || e->logs.n || (e->starts_due && e->starts_due <= now) ||
           (e->adopt && !e->stopping) || (!e->stopping && (e->hungry & groups_with_room(e)));
}

/* ---- inside of the transaction ---- */

/* What runs belongs to the generation in which it was begun. If that is over, so is this worker:
 * the next one ends what is left of it, and then adopts. */
static int check_generation(struct turn *t, const struct engine *e, struct err *err)
{
    int64_t now;
    int rc = turn_generation(t, &now, err);

    if (rc || now == e->generation)
        return rc;
    return err_set(err, E_CONFLICT,
                   "the database was fenced (generation %lld, this worker has %lld): start the "
                   "worker again",
                   (long long)now, (long long)e->generation);
}

static int adopt(struct turn *t, struct plan *p, struct err *err)
{
    struct job_list jobs;
    size_t i;
    int rc;

    if ((rc = check_generation(t, p->e, err)))
        return rc;
    rc = op_adopt(t, &p->adoption, &jobs, err);

    for (i = 0; !rc && i < jobs.n; i++)
        *vec_add(&p->adopted) = jobs.at[i];
    p->more_orphans = !rc && jobs.n == p->adoption.claim.max;
    return rc;
}

/* The queue of a tree that is worked on by its submitter alone. */
static const char *here_queue(struct plan *p, size_t nth)
{
    return arena_strdup(&p->texts, queue_here(p->submissions[nth].id, (char[QUEUE_HERE_SIZE]){0}));
}

/* One claim for each group of lanes that share room. */
static int claim_group(struct turn *t, struct plan *p, const struct lane_group *group, size_t left,
                       bool *exhausted, struct err *err)
{
    struct engine *e = p->e;
    struct claim c = {.worker = e->row.id,
                      .folder = e->row.folder,
                      .lease = e->o.lease,
                      .max = (size_t)group->room < left ? (size_t)group->room : left,
                      .push = !e->o.poll};
    struct job_list jobs = {0};
    size_t i, k;
    int rc;

    VEC(struct lane_queue) serves = {0};

    for (k = 0; k < e->queues.n; k++)
        for (i = 0; i < group->nlanes; i++)
            *vec_add(&serves) = (struct lane_queue){group->lanes[i], e->queues.at[k]};
    for (k = 0; e->o.here && k < p->nsubmits; k++) /* the tree that this turn begins */
        if (!p->submissions[k].rc)
            for (i = 0; i < group->nlanes; i++)
                *vec_add(&serves) = (struct lane_queue){group->lanes[i], here_queue(p, k)};
    c.serves = serves.at;
    c.nserves = serves.n;
    rc = op_claim(t, &c, &jobs, err);
    for (i = 0; !rc && i < jobs.n; i++)
        *vec_add(&p->claimed) = jobs.at[i];
    *exhausted = jobs.n < c.max;
    vec_release(&serves);
    return rc;
}

/* Whoever finds us dead must find our tree by our file: so it is written before the tree can be
 * there. A name that leads nowhere does no harm. */
static int note_here(struct plan *p, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && p->e->o.here && i < p->nsubmits; i++)
        if (!p->submissions[i].rc && !p->submissions[i].existed)
            rc = folder_set_here(p->e->folder, p->submissions[i].id, err);
    return rc;
}

static int claim(struct turn *t, struct plan *p, struct err *err)
{
    size_t n, i, left = (size_t)dispatch_room(p->e->dispatch);
    const struct lane_group *groups = dispatch_lanes(p->e->dispatch, &n);
    int rc = 0;

    for (i = 0; !rc && i < n && p->claimed.n < left; i++)
        if (groups[i].room > 0 && (p->ask & group_bit(i))) {
            bool exhausted = false;

            rc = claim_group(t, p, &groups[i], left - p->claimed.n, &exhausted, err);
            p->exhausted |= exhausted ? group_bit(i) : 0;
        }
    return rc;
}

/* Its tree was locked when its start was to be written: that comes first, in another turn. */
static bool start_waits(const struct plan *p, int64_t execution)
{
    size_t i;

    for (i = 0; p->busy_starts && i < p->nstarts; i++)
        if (p->starts[i].lease.rc == -E_BUSY && p->starts[i].lease.execution == execution)
            return true;
    return false;
}

static int settle(struct turn *t, struct plan *p, struct err *err)
{
    struct settlement *now = arena_alloc(&p->texts, (p->nsettles + 1) * sizeof(*now));
    size_t i, n = 0;
    int rc;

    for (p->busy_starts = false, i = 0; i < p->nstarts; i++)
        p->busy_starts |= p->starts[i].lease.rc == -E_BUSY;
    for (i = 0; i < p->nsettles; i++)
        if (start_waits(p, p->settles[i].lease.execution))
            p->settles[i].lease.rc = -E_BUSY;
        else {
            p->settles[i].lease.rc = 0;
            now[n++] = p->settles[i];
        }
    rc = op_settle(t, p->e->row.id, now, n, err);
    for (i = p->nsettles; !rc && i-- > 0;)
        if (p->settles[i].lease.rc != -E_BUSY)
            p->settles[i] = now[--n];
    return rc;
}

static int body(struct turn *t, void *arg, struct err *err)
{
    struct plan *p = arg;
    int64_t worker = p->e->row.id;
    int rc;

    p->adopted.n = p->claimed.n = 0;
    p->exhausted = 0;
    p->taken_at = engine_now(p->e);
    op_submit_limits(t, p->submissions, p->nsubmits);
    if ((rc = op_started(t, worker, p->starts, p->nstarts, err)) ||
        (rc = op_log(t, worker, p->logs, p->nlogs, err)) || (rc = settle(t, p, err)) ||
        (rc = op_submit(t, p->submissions, p->nsubmits, err)) || (rc = note_here(p, err)) ||
        (rc = op_advance(t, err)) || (p->adopt && (rc = adopt(t, p, err))))
        return rc;
    return p->ask ? claim(t, p, err) : 0;
}

/* ---- before it: what is to be done ---- */

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

    if (h && (h->ended || (!h->lost && h->attempt == x->attempts)))
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

static void plan_make(struct engine *e, struct plan *p, size_t most)
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
                                            .outcome = h->outcome};
    }
    for (i = 0; i < p->nsubmits; i++)
        p->submissions[i] = e->submits.at[i]->s;
    p->adopt = e->adopt && !e->stopping;
    if (!e->stopping)
        p->ask = p->nsubmits && !e->o.poll ? UINT64_MAX : e->hungry;
    if (p->adopt)
        plan_adoption(e, p);
}

static void plan_release(struct plan *p)
{
    free(p->starts);
    free(p->logs);
    free(p->settles);
    free(p->submissions);
    free((void *)p->adoption.dead);
    free((void *)p->adoption.claim.serves);
    vec_release(&p->adopted);
    vec_release(&p->claimed);
    arena_release(&p->texts);
}

/* ---- after the commit ---- */

/* Takes the first n off a list. */
#define drop_first(v, n_)                                                         \
    do {                                                                          \
        if (n_) {                                                                 \
            memmove((v)->at, (v)->at + (n_), ((v)->n - (n_)) * sizeof(*(v)->at)); \
            (v)->n -= (n_);                                                       \
        }                                                                         \
    } while (0)

static void answer_settles(struct engine *e, struct plan *p)
{
    size_t i, kept = 0;

    for (i = 0; i < p->nsettles; i++) {
        struct held *h = e->ended.at[i];
        const struct settlement *s = &p->settles[i];

        if (s->lease.rc == -E_BUSY) {
            h->busy++;
            e->ended.at[kept++] = h;
            continue;
        }
        if (s->lease.rc) { /* refused: another may own it, so nothing of it is touched */
            e->refused_outcomes++;
            dispatch_forget(e->dispatch, h->execution, h->attempt);
        } else {
            env_point(e->env, "engine:settled");
            tally_outcome(h, &h->outcome);
            dispatch_settled(e->dispatch, h->execution, h->attempt);
            if (e->on_end)
                e->on_end(e->on_end_arg, h->execution, s->status, &h->outcome);
        }
        held_remove(e, h);
    }
    if (p->nsettles > kept) {
        memmove(e->ended.at + kept, e->ended.at + p->nsettles,
                (e->ended.n - p->nsettles) * sizeof(*e->ended.at));
        e->ended.n -= p->nsettles - kept;
    }
}

/* From now on its queue is ours: for another try, and for what comes to be below it. */
static void keep_here(struct engine *e, const struct submission *s)
{
    char name[QUEUE_HERE_SIZE];

    serve_only_own(e);
    *vec_add(&e->queues) = mem_strdup(queue_here(s->id, name));
    e->own_queues = e->queues.n;
    e->here = s->id;
}

static void answer_submits(struct engine *e, struct plan *p)
{
    size_t i;

    for (i = 0; i < p->nsubmits; i++) {
        struct pending_submit *s = e->submits.at[i];

        if (e->o.here && !p->submissions[i].rc && !p->submissions[i].existed)
            keep_here(e, &p->submissions[i]);
        if (s->done)
            s->done(s->arg, &p->submissions[i]);
        free(s);
    }
    drop_first(&e->submits, p->nsubmits);
}

static void drop_starts_and_logs(struct engine *e, const struct plan *p)
{
    size_t i, kept = 0;

    for (i = 0; i < p->nlogs; i++) {
        if (e->on_log && !p->logs[i].lease.rc)
            e->on_log(e->on_log_arg, e->logs.at[i].execution);
        free(e->logs.at[i].bytes);
    }
    drop_first(&e->logs, p->nlogs);
    for (i = 0; i < p->nstarts; i++)
        if (p->starts[i].lease.rc == -E_BUSY)
            e->starts.at[kept++] = e->starts.at[i];
    if (p->nstarts > kept) {
        memmove(e->starts.at + kept, e->starts.at + p->nstarts,
                (e->starts.n - p->nstarts) * sizeof(*e->starts.at));
        e->starts.n -= p->nstarts - kept;
    }
    e->starts_due = e->starts.n ? engine_now(e) + (kept ? 20000 : 0) : 0;
}

/* Those that were lost and that this turn did not get back are another's now. */
static void forget_lost(struct engine *e)
{
    size_t i;

    for (i = 0; i < e->held.cap; i++) {
        struct held *h = e->held.keys[i] ? e->held.values[i] : NULL;

        if (!h || !h->lost || h->ended)
            continue;
        e->leases_lost++;
        dispatch_forget(e->dispatch, h->execution, h->attempt);
        held_remove(e, h);
        i = (size_t)-1; /* removing moves others about */
    }
}

static void answer(struct engine *e, struct plan *p)
{
    unsigned woke = store_woke(e->store);
    size_t i;

    env_point(e->env, "engine:committed");
    answer_settles(e, p);
    drop_starts_and_logs(e, p);
    e->hungry &= ~p->exhausted;
    if (woke & WAKE_JOBS)
        e->hungry = UINT64_MAX;
    if (woke & WAKE_TIMERS)
        e->look_for_timer = true;
    for (i = 0; i < p->adopted.n; i++) {
        e->adoptions++;
        engine_hand_out(e, p->adopted.at[i], true, p->taken_at);
    }
    for (i = 0; i < p->claimed.n; i++)
        engine_hand_out(e, p->claimed.at[i], false, p->taken_at);
    answer_submits(e, p); /* not before: what was pushed has its texts from them */
    if (p->adopt) {
        e->adopt = p->more_orphans;
        if (!p->more_orphans)
            forget_lost(e);
    }
}

/* ---- a turn that fails ---- */

/* What can't be written even alone: a submission is refused, an outcome becomes a failure that says
 * why. Never is a job left running because of it. */
static void give_in(struct engine *e, const struct err *err)
{
    if (e->submits.n) {
        struct pending_submit *s = e->submits.at[0];

        s->s.rc = -(int)err->code;
        s->s.err = *err;
        if (s->done)
            s->done(s->arg, &s->s);
        free(s);
        drop_first(&e->submits, 1);
    } else if (e->ended.n && e->ended.at[0]->busy >= 0) {
        struct held *h = e->ended.at[0];

        free((char *)h->outcome.result);
        free((char *)h->outcome.error);
        h->outcome =
            (struct outcome){.kind = OUTCOME_FAILED,
                             .error = mem_printf("the outcome can't be stored: %s", err->msg),
                             .duration = -1,
                             .retry_delay = -1};
        h->busy = -1; /* if that fails too, the lease runs out */
    } else if (e->ended.n) {
        struct held *h = e->ended.at[0];

        drop_first(&e->ended, 1);
        dispatch_forget(e->dispatch, h->execution, h->attempt);
        held_remove(e, h);
    }
}

static bool is_for_later(int rc)
{
    return rc == -E_UNAVAILABLE || rc == -E_NO_SPACE || rc == -E_BUSY;
}

/* How a turn is made: of how many commands, and whether it also takes new work and waits. */
struct manner {
    size_t most;
    bool wait, bare;
};

static int run(struct engine *e, struct manner m, struct err *err)
{
    struct plan p;
    int rc;

    env_point(e->env, "engine:turn");
    plan_make(e, &p, m.most);
    if (m.bare) {
        p.ask = 0;
        p.adopt = false;
    }
    rc = m.wait ? store_turn_waiting(e->store, body, &p, err) : store_turn(e->store, body, &p, err);
    if (!rc)
        answer(e, &p);
    plan_release(&p);
    return rc;
}

/* Halves what fails until the culprit is alone. A turn that may be stored is never repeated: with
 * it this worker ends, and what it may have claimed is found by others. */
static int run_halving(struct engine *e, size_t most, struct err *err)
{
    size_t n = e->ended.n + e->submits.n;
    int rc = run(e, (struct manner){.most = most}, err);
    struct err alone = ERR_INIT;

    if (!rc || is_for_later(rc) || rc == -E_COMMIT_UNKNOWN || rc == -E_CONFLICT || !n)
        return rc;
    if (most > 1)
        return run_halving(e, most / 2, err);
    if (!run(e, (struct manner){.most = 1, .bare = true}, &alone))
        return rc; /* it is not what was to be written, but what was to be claimed */
    give_in(e, &alone);
    return 0;
}

int turn_make(struct engine *e, struct err *err)
{
    bool wait = e->ended.n && e->ended.at[0]->busy >= WAIT_AFTER;
    int rc = wait ? run(e, (struct manner){.most = 1, .wait = true}, err)
                  : run_halving(e, TURN_MAX, err);

    if (!rc) {
        e->failures = 0;
        e->retry_at = 0;
        return 0;
    }
    if (wait && rc == -E_BUSY) { /* the others first; it comes back here after some more turns */
        struct held *h = e->ended.at[0];

        drop_first(&e->ended, 1);
        *vec_add(&e->ended) = h;
        h->busy = 0;
        return 0;
    }
    e->retry_at = engine_now(e) + back_off(e->failures++, 10000, 1000000);
    if (e->env->note)
        e->env->note(e->env->arg, err->msg);
    return is_for_later(rc) ? 0 : rc;
}
