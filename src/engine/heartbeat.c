/* heartbeat.c - heartbeats: renews the leases in this worker's table, by id and epoch, and updates
 * the worker's row. On SQLite the engine's thread does this between turns; on PostgreSQL a thread
 * does, so that neither a long turn nor a slow read can delay the renewals. That thread's
 * connection also sends and receives wake-ups, for a limited time between two heartbeats
 * (docs/adr/0061). */
#include "base/thread.h"
#include "engine/engine_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MIN_RETRY      250000LL /* µs between a failed heartbeat and the next one */
#define MAX_RETRY      1000000LL
/* Conflicts with other transactions are normal: up to this many failures in a row are not reported
 * to the operator. The store reports a lost connection at once. */
#define QUIET_FAILURES 4

static int64_t interval(const struct engine *e)
{
    return e->o.heartbeat;
}

/* The data that one heartbeat sends; filled under the lock, used without it. */
struct sending {
    struct engine *e;
    struct worker row; /* a copy, because the engine may announce other lanes while the heartbeat is
                          sent */
    struct heartbeat_result *result;
};

static int heartbeat_body(struct turn *t, void *arg, struct err *err)
{
    struct sending *s = arg;
    const struct worker *w = &s->row;

    TRY(op_heartbeat(t, w->id, s->e->o.lease, s->result->leases.at, s->result->leases.n, err));
    return op_worker_tick(t, w, &s->result->tick, err);
}

/* Copies the ids and epochs of the leases. Called with the lock held. */
static void copy_leases(struct engine *e, struct heartbeat_result *result)
{
    const struct leased_job *h;

    result->leases.n = 0;
    IDMAP_EACH(&e->leased_jobs, h)
    if (!h->lost)
        *vec_add(&result->leases) =
            (struct lease_ref){.execution = h->a.execution, .root = h->a.root, .epoch = h->a.epoch};
}

/* Opens the thread's own store, on the channel's connection, at the first heartbeat: a process that
 * runs only a short command never needs it, and does not wait for it. */
static int open_own_store(struct engine *e, struct err *err)
{
    struct heartbeat *b = &e->heartbeat;
    struct store_options options = {.env = e->env, .no_migrate = true};
    struct store *store = NULL;
    int rc;

    if (!e->server || b->store)
        return 0;
    options.share = b->channel->db;
    if ((rc = store_open(e->o.url, e->o.tenant, &options, &store, err)))
        return rc;
    store_set_wake(store, engine_wake, e);
    store_set_patience(store, 0); /* don't retry inside the store: between two tries, the thread
                                     must send and receive wake-ups */
    b->store = store;
    return 0;
}

static int renew_leases(struct engine *e, struct sending *s, struct err *err)
{
    TRY(open_own_store(e, err));
    return store_light_turn(e->heartbeat.store ? e->heartbeat.store : e->store, heartbeat_body, s,
                            err);
}

/* The pause after a failure. On PostgreSQL a lease row that another transaction has locked, and a
 * connection that was lost, are common failures that soon pass. On SQLite the store has already
 * retried. */
static int64_t retry_pause(const struct engine *e)
{
    int64_t most = interval(e) / 4;

    if (!e->server)
        return most;
    if (most > MAX_RETRY)
        most = MAX_RETRY;
    return back_off(e->heartbeat.failures, most < MIN_RETRY ? most : MIN_RETRY, most);
}

/* Sends one heartbeat. Called with the lock held; releases it while sending. */
static void send_heartbeat(struct engine *e)
{
    struct heartbeat *b = &e->heartbeat;
    struct sending s = {.e = e, .row = e->row, .result = &b->current};
    struct err err = ERR_INIT;
    struct heartbeat_result done;
    int rc;

    copy_leases(e, &b->current);
    b->current.sent_at = engine_now(e);
    pthread_mutex_unlock(&b->lock);
    rc = renew_leases(e, &s, &err);
    if (rc && (!e->server || rc != -E_UNAVAILABLE || b->failures >= QUIET_FAILURES))
        engine_note(e, err.msg);
    pthread_mutex_lock(&b->lock);
    b->current.rc = rc;
    b->current.answered_at = engine_now(e);
    done = b->current;
    b->current = b->last;
    b->last = done;
    b->done = true;
    b->next = rc ? engine_now(e) + retry_pause(e) : done.sent_at + interval(e);
    b->failures = rc ? b->failures + 1 : 0;
    if (!rc)
        b->last_success = done.sent_at;
}

static void *heartbeat_thread_main(void *arg)
{
    struct engine *e = arg;
    struct heartbeat *b = &e->heartbeat;

    pthread_mutex_lock(&b->lock);
    while (!b->closing) {
        int64_t wait = b->next - engine_now(e), wakes = wakes_due(b);

        if (b->now || wait <= 0) {
            b->now = false;
            send_heartbeat(e);
            (void)eventfd_write(b->fd, 1); /* fails only if the eventfd is readable already */
        } else if (wakes <= 0) {
            wakes_send(e);
            wakes_receive(e, 0); /* under load, when there is always something to send, wake-ups
                                    must be received too */
        } else {
            wakes_receive(e, wait < wakes ? wait : wakes);
        }
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

int heartbeat_open(struct engine *e, struct err *err)
{
    struct heartbeat *b = &e->heartbeat;

    b->last_success = engine_now(e);
    e->heartbeat_due = b->next = b->last_success + interval(e);
    b->fd = -1;
    if (!e->server)
        return 0;
    b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->requests = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->fd < 0 || b->requests < 0)
        return err_set(err, E_UNAVAILABLE, "can't create a descriptor for heartbeats: %s",
                       strerror(errno));
    if (thread_start(&b->thread, heartbeat_thread_main, e))
        return err_set(err, E_UNAVAILABLE, "can't start the heartbeat thread");
    b->threaded = true;
    return 0;
}

void heartbeat_close(struct engine *e)
{
    struct heartbeat *b = &e->heartbeat;

    if (b->threaded) {
        pthread_mutex_lock(&b->lock);
        b->closing = true;
        heartbeat_call(b);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
        b->threaded = false;
    }
    store_close(&b->store);
    if (b->fd >= 0)
        close(b->fd);
    if (b->requests >= 0)
        close(b->requests);
    b->fd = b->requests = -1;
    vec_release(&b->current.leases);
    vec_release(&b->last.leases);
}

void heartbeat_call(struct heartbeat *b)
{
    if (b->requests >= 0)
        (void)eventfd_write(b->requests, 1); /* fails only if the eventfd is readable already */
}

void heartbeat_send_soon(struct engine *e)
{
    struct heartbeat *b = &e->heartbeat;

    if (!b->threaded) {
        e->heartbeat_due = engine_now(e);
        return;
    }
    pthread_mutex_lock(&b->lock);
    b->now = true;
    heartbeat_call(b);
    pthread_mutex_unlock(&b->lock);
}

/* Applies the result of one lease. The job may have been settled, or readopted under a new epoch,
 * since the heartbeat was sent. */
static void apply_lease_result(struct engine *e, const struct lease_ref *l, int64_t until)
{
    struct leased_job *h = leased_job_get(e, l->execution);

    if (!h || h->a.epoch != l->epoch || h->a.ended)
        return;
    if (l->rc) {
        h->lost = true;
        e->adopt = true; /* a turn readopts the job if it is still an orphan */
        return;
    }
    h->until = until;
    dispatch_renewed(e->dispatch, h->a.execution, h->a.attempt, until - env_own_offset(e->env));
    if (l->cancel_requested && !h->cancel_sent) {
        h->cancel_sent = true;
        dispatch_cancel(e->dispatch, h->a.execution, h->a.attempt, OUTCOME_CANCELLED);
    }
}

/* Sets the error with which the worker ends: a worker that could not renew its leases for half of
 * host_grace must end before workers on other hosts may adopt its jobs. */
static int fail_unrenewed(struct err *err)
{
    return err_set(err, E_UNAVAILABLE,
                   "this worker could not renew its leases for half of worker.host_grace "
                   "and exits, so that workers on other hosts may adopt its jobs: check "
                   "its connection to the database");
}

/* Applies the results that the heartbeats have left. Called with the lock held. */
static int apply_results(struct engine *e, struct err *err)
{
    struct heartbeat *b = &e->heartbeat;
    const struct heartbeat_result *r = &b->last;
    int64_t now = engine_now(e);
    int rc;

    b->done = false;
    e->heartbeat_due = b->next + interval(e) / 4;
    if (r->rc) {
        e->healthy_since = now;
        if (e->server && now - b->last_success > e->o.host_grace / 2)
            return fail_unrenewed(err);
        return 0;
    }
    if ((rc = check_generation(e, r->tick.generation, err)) ||
        (rc = store_check_schema(e->store, r->tick.minimum_schema, err)))
        return rc;
    for (size_t i = 0; i < r->leases.n; i++)
        apply_lease_result(e, &r->leases.at[i], r->sent_at + e->o.lease);
    db_clock_observe(e, r->tick.now, r->sent_at, r->answered_at);
    maintenance_after_tick(e, &r->tick);
    return 0;
}

int heartbeat_take_results(struct engine *e, struct err *err)
{
    struct heartbeat *b = &e->heartbeat;
    eventfd_t count;
    int rc = 0;

    if (!b->threaded)
        return 0;
    (void)eventfd_read(b->fd, &count);
    pthread_mutex_lock(&b->lock);
    if (b->done)
        rc = apply_results(e, err);
    pthread_mutex_unlock(&b->lock);
    if (e->stopping)
        forget_lost_jobs(e, NULL); /* from now on, no job is readopted */
    return rc;
}

int heartbeat_if_due(struct engine *e, struct err *err)
{
    struct heartbeat *b = &e->heartbeat;
    int rc;

    if (e->heartbeat_due > engine_now(e))
        return 0;
    if (b->threaded) { /* the thread's heartbeat is late, or a test moved the clock */
        bool over;

        heartbeat_send_soon(e);
        e->heartbeat_due = engine_now(e) + interval(e) / 2;
        pthread_mutex_lock(&b->lock);
        over = engine_now(e) - b->last_success > e->o.host_grace / 2;
        pthread_mutex_unlock(&b->lock);
        return over ? fail_unrenewed(err) : 0; /* even if the thread itself hangs */
    }
    pthread_mutex_lock(&b->lock);
    send_heartbeat(e);
    rc = apply_results(e, err);
    e->heartbeat_due = b->next;
    pthread_mutex_unlock(&b->lock);
    if (e->stopping)
        forget_lost_jobs(e, NULL);
    return rc;
}
