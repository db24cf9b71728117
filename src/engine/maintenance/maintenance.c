/* maintenance.c - the periodic work that any engine may do: fire what is due (due.c), reap leases
 * that were not renewed, finish the trees of dead workers, accept SQL submissions, remove old
 * trees. Locks in the store make sure that each thing is done once. */
#include "engine/engine_internal.h"

#include "store/generation.h"
#include "store/query/query.h"

#include <stdlib.h>
#include <string.h>

#define SLICE                  500
#define RETENTION_CHECK_EVERY  3600000000LL /* µs */
#define DAY                    86400000000LL
#define RETENTION_SLICE        100
#define RETENTION_FAILURES_MAX 20 /* failed trees, after which retention stops for the day */
#define COMMIT_TIME_MAX        60000000LL /* µs that a dead worker's commit may take */

/* Whether this worker may reap leases. A lease that ran out while the database was unavailable does
 * not mean that its worker is dead. Only a worker that has seen a healthy database for a whole
 * lease may reap. */
static bool may_reap(const struct engine *e)
{
    return engine_now(e) - e->healthy_since >= e->o.lease;
}

/* Whether the last successful heartbeat is recent enough to reap the leases of others. */
static bool was_heartbeat_recent(const struct engine *e)
{
    return may_reap(e) && engine_now(e) - e->last_tick <= e->o.lease / 3 * 2;
}

void maintenance_after_tick(struct engine *e, const struct tick *tick)
{
    int64_t now = engine_now(e);

    /* If more than two heartbeat intervals have passed since the last heartbeat, this process was
     * suspended. In a shorter time, no lease that its holder kept renewing can have run out. */
    if (now - e->last_tick > e->o.lease / 3 * 2)
        e->healthy_since = now;
    e->last_tick = e->last_poll_at = now;
    if (tick->waiting)
        e->groups_to_poll = UINT64_MAX;
    e->reap = tick->expired > 0 && may_reap(e);
    e->adopt |= tick->orphans > 0;
    e->timer_due = tick->next_timer ? tick->next_timer - e->db_clock.ahead_min : 0;
    if (!e->has_ticked) /* the database's clock may have been set back before this engine started */
        e->check_schedules = true;
    e->has_ticked = true;
    set_schedule_due(e, tick->next_schedule, tick->wall);
    e->submissions |= tick->submissions && !e->o.foreground;
    e->adopt |= state_folder_scan(e->state_folder);
    e->dead_workers_unchecked = true;
    e->drain_requested |= tick->drain && !e->o.foreground;
    e->unresponsive |= dispatch_count_unresponsive(e->dispatch) > 0;
}

/* Checks may_reap again inside the turn: this worker may have waited for the database, and so may
 * the workers that hold the leases. */
static bool may_reap_in_turn(void *arg, int64_t now)
{
    const struct engine *e = arg;

    return was_heartbeat_recent(e) && !db_clock_was_set(e, now);
}

static int reap_body(struct turn *t, void *arg, struct err *err)
{
    return op_reap(t, arg, err);
}

static int reap_turn(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct reap_slice *r = arg;
    struct engine *e = r->arg;
    int rc;

    *r = (struct reap_slice){
        .max = max, .after = e->reaped_to, .may_reap = may_reap_in_turn, .arg = e};
    rc = store_turn(e->store, reap_body, r, err);
    *seen = (struct rows_seen){r->found, r->first};
    return rc;
}

/* Skips the lease until all other expired leases are processed; the next heartbeat finds the lease
 * again. */
static int skip_lease(void *arg, struct err *err)
{
    const struct reap_slice *r = arg;
    struct engine *e = r->arg;

    err_prefix(err, "the lease of execution %lld has expired but can't be cleared",
               (long long)r->first);
    engine_note(e, err->msg);
    e->reaped_to = r->first;
    return 0;
}

static int reap(struct engine *e, struct err *err)
{
    static const struct bisect_work leases = {reap_turn, skip_lease};
    struct reap_slice r = {.arg = e};
    int rc = bisect(&leases, &r, SLICE, &e->leases, err);

    if (rc)
        return rc;
    e->reap = e->leases.more_rows || r.found == r.max;
    if (!e->reap)
        e->reaped_to = 0;
    e->adopt |= r.n > 0;
    return 0;
}

static int remove_worker_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_unregister(t, *(int64_t *)arg, err);
}

/* Whether the worker holds a lease, or was the last to hold the lease of an orphan, so that its
 * start marks are still needed. */
static bool has_leases(struct engine *e, int64_t worker)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    struct err err = ERR_INIT;

    return query_leases(e->store, worker, 0, 1, &l, &err) || l.n;
}

int read_status(struct engine *e, int64_t execution, int *status, struct err *err)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    int rc = query_execution(e->store, execution, &l, err);

    *status = rc ? 0 : l.at[0].status;
    if (rc == -E_NOT_FOUND)
        err->code = E_NONE;
    return rc == -E_NOT_FOUND ? 0 : rc;
}

bool tree_is_open(struct engine *e, int64_t root)
{
    struct err err = ERR_INIT;
    int status;

    return read_status(e, root, &status, &err) || (status && !status_is_terminal(status));
}

void stop_serving_dead_trees(struct engine *e)
{
    while (e->queues.n > e->own_queues)
        free((char *)e->queues.at[--e->queues.n]);
}

/* Whether a tree that does not exist may still appear, because its submitter died during the
 * commit. */
static bool may_be_committing(struct engine *e, int64_t worker, int64_t root)
{
    struct err err = ERR_INIT;
    int status;

    return !read_status(e, root, &status, &err) && !status &&
           state_folder_worker_age(e->state_folder, worker) < COMMIT_TIME_MAX;
}

static void serve_tree(struct engine *e, int64_t root)
{
    char name[QUEUE_FOREGROUND_SIZE];

    queue_foreground(root, name);
    for (size_t i = 0; i < e->queues.n; i++)
        if (!strcmp(e->queues.at[i], name))
            return;
    *vec_add(&e->queues) = mem_strdup(name);
    e->groups_to_poll = UINT64_MAX;
}

static int end_fenced_tree_body(struct turn *t, void *arg, struct err *err)
{
    return op_fenced_tree_end(t, *(int64_t *)arg, err);
}

/* Serves the foreground trees that were open at a fence, until they end. No process runs them any
 * longer, and their worker files may be missing: a run that ended in the lost time has removed its
 * file, but its tree is open again. Any worker may serve them, since the database does not know the
 * host. A later fence ends this worker, so once the list of such trees is empty, it stays empty. */
static int serve_fenced_trees(struct engine *e, struct err *err)
{
    AUTO_ROWS roots = ROWS_INIT;

    if (e->generation == FIRST_GENERATION || e->no_fenced_trees)
        return 0;
    TRY(store_fenced_trees(e->store, &roots, err));
    e->no_fenced_trees = !roots.n;
    for (size_t i = 0; i < roots.n; i++) {
        int64_t root = rows_int(&roots, i, 0);

        if (rows_null(&roots, i, 1) || status_is_terminal((int)rows_int(&roots, i, 1)))
            TRY(store_turn(e->store, end_fenced_tree_body, &root, err));
        else if (!state_folder_runs_tree(e->state_folder, root))
            serve_tree(e, root);
    }
    return 0;
}

/* Serves the foreground tree of each dead worker until the tree ends. Removes dead workers that
 * have neither an open tree nor a lease. */
static int finish_dead_workers(struct engine *e, struct err *err)
{
    size_t n, i;
    const struct dead_worker *dead;
    int rc;

    if (e->o.foreground)
        return 0; /* a foreground engine finishes no dead workers */
    stop_serving_dead_trees(e);
    for (i = 0; dead = state_folder_dead_workers(e->state_folder, &n), i < n; i++) {
        int64_t id = dead[i].id, foreground = dead[i].foreground;

        if (foreground && may_be_committing(e, id, foreground))
            continue;
        if (foreground && tree_is_open(e, foreground)) {
            serve_tree(e, foreground);
            continue;
        }
        if (has_leases(e, id))
            continue;
        if ((rc = store_turn(e->store, remove_worker_body, &id, err))) {
            if (!is_row_fault(rc))
                return rc;
            engine_note(e, err->msg);
            continue; /* try this worker again later, and continue with the next one */
        }
        env_point(e->env, "engine:before-worker-file-removal");
        state_folder_remove_worker(e->state_folder, id);
        i--;
    }
    return serve_fenced_trees(e, err);
}

static int retention_due_body(struct turn *t, void *arg, struct err *err)
{
    return op_retention_due(t, arg, err);
}

struct old_trees {
    struct engine *e;
    struct retention from, to;
};

/* Reads the retention setting again in each slice, so that nothing is removed after an operator has
 * chosen to keep it. */
static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct old_trees *o = arg;
    struct retention_policy p = *o->e->o.retention;
    int days;

    TRY(op_retention_policy(t, &p, err));
    days = o->from.logs_only ? p.log_days : p.execution_days;
    o->from.older_than = days * DAY;
    o->to = o->from;
    o->to.more = false;
    if (!days)
        return 0;
    return o->from.logs_only ? op_retain_logs(t, &o->from, &o->to, err)
                             : op_retain(t, &o->from, &o->to, err);
}

/* Returns what to remove next: first the old trees, then the logs of trees that are kept longer
 * than their logs. */
static struct retention next_retention(const struct engine *e)
{
    if (e->retention.logs_only)
        return (struct retention){0};
    return (struct retention){.max_trees = RETENTION_SLICE, .logs_only = true};
}

static int retain_turn(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct old_trees *o = arg;
    int rc;

    o->from = o->e->retention;
    o->from.max_trees = max;
    rc = store_long_turn(o->e->store, retain_body, o, err);
    *seen = (struct rows_seen){max, o->to.after};
    if (!rc) {
        o->to.max_trees = RETENTION_SLICE;
        o->e->retention = o->to;
        if (!o->to.more)
            o->e->retention = next_retention(o->e);
    }
    return rc;
}

/* Skips a tree that can't be removed until tomorrow. If many trees fail, or a turn failed before it
 * reached a tree, the trees are not the cause and retention stops; other maintenance must
 * continue. */
static int skip_old_tree(void *arg, struct err *err)
{
    struct old_trees *o = arg;
    struct engine *e = o->e;

    if (o->to.after > e->retention.after && e->retention_failures++ < RETENTION_FAILURES_MAX) {
        err_prefix(err, "removing the expired %s %lld failed and will be attempted again tomorrow",
                   o->to.logs_only ? "log of execution" : "execution", (long long)o->to.after);
        e->retention.after = o->to.after;
    } else {
        err_prefix(err, "removing expired executions failed and will be attempted again tomorrow");
        e->retention = (struct retention){0};
    }
    engine_note(e, err->msg);
    return 0;
}

/* Once a day one engine removes old trees, one slice per step. */
static int run_retention(struct engine *e, struct err *err)
{
    static const struct bisect_work trees = {retain_turn, skip_old_tree};
    struct old_trees o = {.e = e};
    bool due = false;
    int rc;

    if (e->retention.max_trees)
        return bisect(&trees, &o, RETENTION_SLICE, &e->old_trees, err);
    if (e->retention_check_at > engine_now(e))
        return 0;
    if ((rc = store_turn(e->store, retention_due_body, &due, err)))
        return rc;
    e->retention_check_at = engine_now(e) + RETENTION_CHECK_EVERY;
    e->retention_failures = 0;
    if (due)
        e->retention = (struct retention){.max_trees = RETENTION_SLICE};
    return 0;
}

int run_maintenance(struct engine *e, struct err *err)
{
    int64_t now = engine_now(e);
    int rc = 0;

    if (e->loops[0].retry_at > now || e->stopping)
        return 0;
    if (e->next_due_unknown && (rc = refresh_next_due(e, err)))
        goto failed;
    if (e->timer_due && e->timer_due <= now && (rc = fire_timers(e, err)))
        goto failed;
    if (e->reap && (rc = reap(e, err)))
        goto failed;
    if (e->schedule_due && e->schedule_due <= now && (rc = fire_schedules(e, err)))
        goto failed;
    if (e->submissions && (rc = accept_submissions(e, err)))
        goto failed;
    if (e->dead_workers_unchecked && !e->adopt) {
        e->dead_workers_unchecked = false;
        if ((rc = finish_dead_workers(e, err)))
            goto failed;
    }
    if ((rc = cleanup_if_due(e, err)) || (e->o.retention && (rc = run_retention(e, err))))
        goto failed;
    e->loops[0].failures = 0;
    return 0;
failed:
    e->loops[0].retry_at = now + back_off(e->loops[0].failures++, 10000, 1000000);
    engine_note(e, err->msg);
    return rc == -E_INTERNAL ? rc : 0;
}
