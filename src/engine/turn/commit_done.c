/* commit_done.c - the work after the commit of a turn: forget settled jobs, hand over claimed and
 * adopted jobs, answer submitters. None of this may happen before the commit. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

#define READOPT_PAUSE 10000 /* µs until a lost job that another turn had locked is tried again */

/* Marks the jobs whose outcomes were refused as lost. If a lease only ran out while the outcome
 * waited for this turn, the next turn readopts the job and settles it with the same outcome. */
static void mark_refused_lost(struct engine *e, struct plan *p)
{
    pthread_mutex_lock(&e->heartbeat.lock);
    for (size_t i = 0; i < p->refused.n; i++) {
        struct leased_job *h = leased_job_get(e, p->refused.at[i].execution);

        if (h && h->a.attempt == p->refused.at[i].attempt) /* if not, this turn has claimed the job
                                                              again */
            h->lost = true;
    }
    pthread_mutex_unlock(&e->heartbeat.lock);
    if (e->stopping)
        forget_lost_jobs(e, NULL);
    else if (p->refused.n)
        e->adopt = true;
}

/* Notes that the store refused the outcome. Leaves out a job that was lost before if this turn
 * adopted, because the turn has already tried to readopt the job. */
static void add_refused(struct plan *p, const struct leased_job *h)
{
    if (!h->lost || !p->adopt)
        *vec_add(&p->refused) = (struct attempt_ref){h->a.execution, h->a.attempt};
}

/* Finishes a settle after its commit. `kind` may differ from the reported outcome: an attempt that
 * stays unstarted too often is lost. */
static void finish_settle(struct engine *e, struct leased_job *h, enum outcome_kind kind,
                          int status)
{
    env_point(e->env, "engine:settled");
    h->outcome.kind = kind;
    dispatch_settled(e->dispatch, h->a.execution, h->a.attempt);
    if (e->on_end)
        e->on_end(e->on_end_arg, h->a.execution, status, &h->outcome);
    start_marks_drop(e->start_marks, h->a.execution, h->a.attempt);
    leased_job_remove(e, h);
}

static void finish_settles(struct engine *e, struct plan *p)
{
    struct loop *l = p->l;
    size_t i, kept = 0;

    for (i = 0; i < p->nsettles; i++) {
        struct leased_job *h = l->ended.at[i];
        const struct settlement *s = &p->settles[i];

        h->settling = false;
        if (h->dropped) {
            leased_job_free(h);
        } else if (s->lease.rc == -E_BUSY) {
            h->times_locked++;
            l->ended.at[kept++] = h;
        } else if (s->lease.rc) {
            add_refused(p, h);
        } else {
            finish_settle(e, h, s->outcome.kind, s->status);
        }
    }
    drop_between(&l->ended, kept, p->nsettles);
}

/* Serves the private queue of this engine's foreground tree from now on, for retries and for
 * descendants. */
static void serve_foreground_tree(struct engine *e, const struct submission *s)
{
    char name[QUEUE_FOREGROUND_SIZE];

    stop_serving_dead_trees(e);
    *vec_add(&e->queues) = mem_strdup(queue_foreground(s->id, name));
    e->own_queues = e->queues.n;
    e->foreground_root = s->id;
}

static void finish_submits(struct engine *e, struct plan *p)
{
    struct loop *l = p->l;
    size_t i, kept = 0;

    for (i = 0; i < p->nsubmits; i++) {
        struct pending_submit *s = l->submits.at[i];

        if (p->submissions[i].rc == -E_BUSY) { /* the tree of the submission's parent was locked */
            s->times_locked++;
            l->submits.at[kept++] = s;
            continue;
        }
        if (e->o.foreground && !p->submissions[i].rc && !p->submissions[i].existed)
            serve_foreground_tree(e, &p->submissions[i]);
        if (s->done)
            s->done(s->arg, &p->submissions[i]);
        free(s);
    }
    drop_between(&l->submits, kept, p->nsubmits);
}

/* Whether the job will be readopted and its reports written under the new epoch. */
static bool is_to_be_readopted(const struct engine *e, int64_t execution, int attempt)
{
    const struct leased_job *h = leased_job_get(e, execution);

    return h && h->a.attempt == attempt && h->a.ended;
}

/* Whether a refused chunk is kept for the next epoch. Under a new epoch a log must start at offset
 * 0: if the start of the log is already stored, the refused chunks can't be kept, and the log lacks
 * its end. */
static bool is_log_kept(const struct engine *e, const struct plan *p, size_t nth, size_t kept)
{
    const struct pending_log *logs = p->l->logs.at, *g = &logs[nth];
    bool whole = !g->offset;

    if (!p->logs[nth].lease.rc || !is_to_be_readopted(e, g->execution, g->attempt))
        return false;
    for (size_t i = 0; !whole && i < kept; i++)
        whole = logs[i].execution == g->execution;
    return whole;
}

static void drop_logs(struct engine *e, const struct plan *p)
{
    struct loop *l = p->l;
    size_t i, kept = 0;

    for (i = 0; i < p->nlogs; i++) {
        if (is_log_kept(e, p, i, kept)) {
            l->logs.at[kept++] = l->logs.at[i];
            continue;
        }
        if (e->on_log && !p->logs[i].lease.rc)
            e->on_log(e->on_log_arg, l->logs.at[i].execution);
        free(l->logs.at[i].bytes);
    }
    drop_between(&l->logs, kept, p->nlogs);
}

static void drop_starts(struct engine *e, const struct plan *p)
{
    struct loop *l = p->l;
    size_t i, kept = 0;

    for (i = 0; i < p->nstarts; i++) {
        const struct pending_start *s = &l->starts.at[i];

        if (p->starts[i].lease.rc == -E_BUSY ||
            (p->starts[i].lease.rc && is_to_be_readopted(e, s->execution, s->attempt)))
            l->starts.at[kept++] = *s;
    }
    drop_between(&l->starts, kept, p->nstarts);
    l->starts_due = l->starts.n ? engine_now(e) + (kept ? 20000 : 0) : 0;
}

/* Whether the turn saw that a lost job is no longer an orphan: another worker has the job, or its
 * attempt has ended. */
static bool is_elsewhere(const struct plan *p, const struct leased_job *h)
{
    for (size_t i = 0; p && i < p->lost.n; i++)
        if (p->lost.at[i].execution == h->a.execution && p->lost.at[i].epoch == h->a.epoch)
            return p->lost.at[i].rc != -E_BUSY;
    return false;
}

/* Whether to try again to readopt a lost job: no other worker is known to have the job, but another
 * turn (perhaps a heartbeat) had its row locked. Tries for at most the length of a lease. */
static bool may_readopt(struct engine *e, const struct plan *p, struct leased_job *h)
{
    int64_t now = engine_now(e);

    if (!p || is_elsewhere(p, h))
        return false;
    if (!h->readopt_until)
        h->readopt_until = now + e->o.lease;
    return now < h->readopt_until;
}

/* Drops the start mark of a lost job that another worker has, or that has ended. The marks of other
 * lost jobs stay: until another worker adopts such a job, the database names this worker as its
 * last holder. A function that still runs frees its mark's slot in the worker file when it ends, so
 * the mark is written to a slot of its own; a worker that is stopping never reuses a slot. Returns
 * whether the job may be forgotten. */
static bool leave_mark(struct engine *e, const struct plan *p, const struct leased_job *h)
{
    int64_t id = h->a.execution;

    if (is_elsewhere(p, h))
        start_marks_drop(e->start_marks, id, h->a.attempt);
    else if (!e->stopping && !start_marks_has(e->start_marks, id, h->a.attempt))
        return !start_marks_add(e->start_marks, id, h->a.attempt);
    return true;
}

/* Forgets the jobs whose lease this worker lost and that plan `p` did not adopt again, except those
 * that may_readopt lets it try again; if `p` is NULL, forgets all of them. Other workers may have
 * them now, so their attempts must not be touched. */
void forget_lost_jobs(struct engine *e, const struct plan *p)
{
    struct leased_job *h;

    for (size_t at = 0; (h = idmap_next(&e->leased_jobs, &at));) {
        if (!h->lost || h->settling)
            continue;
        if (may_readopt(e, p, h)) {
            e->adopt = true;
            e->adopt_at = engine_now(e) + READOPT_PAUSE;
            continue;
        }
        if (!leave_mark(e, p, h))
            continue; /* the disk is full: a later call forgets the job */
        dispatch_forget(e->dispatch, h->a.execution, h->a.attempt);
        leased_job_drop(e, h);
        at = 0; /* removing moves other entries: start over */
    }
}

/* Finishes earlier turns that settle a claimed job: it may be one that this worker had before and
 * whose previous attempt was settled by a turn that is not yet finished. This can't deadlock: the
 * settles of this turn are finished. */
static void finish_earlier_settles(struct engine *e, const struct plan *p)
{
    for (size_t i = 0; i < p->claimed.n; i++) {
        const struct leased_job *h = leased_job_get(e, p->claimed.at[i]->id);

        if (h && h->settling)
            turn_finish(loop_of(e, h->a.root));
    }
}

static enum handover how_adopted(const struct plan *p, int64_t execution)
{
    for (size_t i = 0; i < p->unstarted.n; i++)
        if (p->unstarted.at[i] == execution)
            return HANDOVER_UNSTARTED;
    return HANDOVER_ADOPTED;
}

static void start_claimed(struct engine *e, struct plan *p)
{
    if (e->closing) { /* start nothing: other workers adopt the job */
        e->left_work |= p->adopted.n || p->claimed.n;
        return;
    }
    for (size_t i = 0; i < p->adopted.n; i++)
        engine_hand_over_job(e, p->adopted.at[i], how_adopted(p, p->adopted.at[i]->id),
                             p->claimed_at);
    for (size_t i = 0; i < p->claimed.n; i++)
        engine_hand_over_job(e, p->claimed.at[i], HANDOVER_CLAIMED, p->claimed_at);
}

/* Polls again later for jobs that another turn had locked: if that turn leaves them as they are, or
 * rolls back, it sends no notification. */
static void poll_skipped_later(struct engine *e, const struct plan *p)
{
    if (p->skipped_locked)
        e->poll_groups_at = engine_now(e) + back_off(e->skipped_locked++, 10000, 1000000);
    else if (p->groups_polled)
        e->skipped_locked = 0;
}

void plan_commit_done(struct engine *e, struct plan *p)
{
    unsigned woke = store_last_wake(p->l->store);

    env_point(e->env, "engine:committed");
    finish_settles(e, p);
    drop_logs(e, p);
    drop_starts(e, p);
    e->groups_to_poll |= p->groups_polled & ~p->groups_drained;
    poll_skipped_later(e, p);
    e->slot_wanted = p->slot_wanted;
    apply_wake(e, woke);
    finish_earlier_settles(e, p);
    start_claimed(e, p);
    finish_submits(e, p); /* must be last: pushed jobs use the strings of the submissions */
    if (p->adopt) {
        e->adopt = p->more_orphans;
        if (!p->more_orphans)
            forget_lost_jobs(e, p);
    }
    mark_refused_lost(e, p);
}
