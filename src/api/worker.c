/* worker.c - an embedder's worker, without an engine: registration, claims, and the maintenance
 * that all workers share. Its reports about jobs are in settle.c. */
#include "api/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_LEASE      30000000LL  /* µs */
#define DEFAULT_HOST_GRACE 300000000LL /* µs */
#define MAINTENANCE_SLICE  1000        /* leases and timers in one turn */

/* ---- open and close ---- */

/* Combines every lane with every queue. The store needs equal lanes to be adjacent. */
static void set_serves(struct pawl_worker *w, const struct pawl_worker_options *o)
{
    static const char *const process[] = {"process", NULL}, *const queue[] = {"default", NULL};
    const char *const *lanes = o->lanes ? o->lanes : process;
    const char *const *queues = o->queues ? o->queues : queue;
    size_t nlanes = api_count(lanes), nqueues = api_count(queues), i, j;

    w->serves = arena_alloc(&w->own, (nlanes * nqueues + 1) * sizeof(*w->serves));
    for (i = 0; i < nlanes; i++)
        for (j = 0; j < nqueues; j++)
            w->serves[w->nserves++] = (struct lane_queue){arena_strdup(&w->own, lanes[i]),
                                                          arena_strdup(&w->own, queues[j])};
}

static const char *serves_text(struct pawl_worker *w)
{
    AUTO_BUF b = BUF_INIT;

    serves_to_json(w->serves, w->nserves, &b);
    return arena_strdup(&w->own, b.ptr);
}

TURN_BODY(register_body, op_worker_register)

static int unregister_body(struct turn *t, void *arg, struct err *err)
{
    struct pawl_worker *w = arg;

    return op_worker_unregister(t, w->id, err);
}

static void release(struct pawl_worker *w)
{
    arena_release(&w->own);
    arena_release(&w->claimed);
    free(w);
}

int pawl_worker_open(struct pawl *p, const struct pawl_worker_options *options,
                     struct pawl_worker **out, struct pawl_error *e)
{
    static const struct pawl_worker_options none;
    const struct pawl_worker_options *o = options ? options : &none;
    struct pawl_worker *w;
    char host[256] = "";
    int rc;
    API_ERR(e);

    TRY(api_needs_database(p, "a worker works", err));
    w = mem_zalloc(sizeof(*w));
    if (gethostname(host, sizeof(host) - 1))
        snprintf(host, sizeof(host), "localhost");
    w->pawl = p;
    w->id = env_random_id();
    w->folder = arena_strdup(&w->own, o->folder ? o->folder : host);
    w->lease = o->lease > 0 ? o->lease : DEFAULT_LEASE;
    w->host_grace = o->host_grace > 0 ? o->host_grace : DEFAULT_HOST_GRACE;
    w->healthy_since = w->last_tick = clock_boot_us();
    set_serves(w, o);
    w->row = (struct worker){.id = w->id,
                             .host = arena_strdup(&w->own, host),
                             .folder = w->folder,
                             .version = PAWL_VERSION,
                             .serves = serves_text(w),
                             .pid = (int)getpid(),
                             .capacity = o->slots > 0 ? o->slots : 1};
    if ((rc = api_follow_routes(p, true, err)) ||
        (rc = store_turn(p->store, register_body, &w->row, err)))
        release(w);
    else
        *out = w;
    return rc;
}

void pawl_worker_close(struct pawl_worker *w)
{
    struct err err = ERR_INIT;

    if (!w)
        return;
    if (store_turn(w->pawl->store, unregister_body, w, &err))
        err.code = E_NONE; /* if removing the row failed, maintenance removes it after a day of
                              silence */
    release(w);
}

int64_t pawl_worker_id(const struct pawl_worker *w)
{
    return w->id;
}

/* ---- claim ---- */

struct claiming {
    struct pawl_worker *w;
    struct pawl_claim *out;
    size_t max, n;
};

/* Copies the claimed jobs: the store's rows live until its next turn, the caller's copies until the
 * worker's next claim. */
static void keep_claims(struct claiming *c, const struct job_list *jobs, bool adopted)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct execution *e = jobs->at[i];

        c->out[c->n++] = (struct pawl_claim){
            .execution = e->id,
            .root = e->root,
            .attempt = e->attempts,
            .epoch = e->epoch,
            .max_attempts = e->max_attempts,
            .adopted = adopted,
            .cancel_requested = e->cancel_requested,
            .name = arena_strdup(&c->w->claimed, e->name),
            .queue = arena_strdup(&c->w->claimed, e->queue),
            .lane = arena_strdup(&c->w->claimed, e->lane),
            .input = arena_strdup(&c->w->claimed, e->input),
        };
    }
}

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct claiming *c = arg;
    struct adoption a = {.claim = {.worker = c->w->id,
                                   .folder = c->w->folder,
                                   .lease = c->w->lease,
                                   .serves = c->w->serves,
                                   .nserves = c->w->nserves,
                                   .max = c->max},
                         .host_grace = c->w->host_grace};
    struct job_list jobs;

    arena_reset(&c->w->claimed);
    c->n = 0;
    TRY(op_adopt(t, &a, &jobs, err));
    keep_claims(c, &jobs, true);
    a.claim.max -= c->n;
    TRY(op_claim(t, &a.claim, &jobs, err));
    keep_claims(c, &jobs, false);
    return 0;
}

int pawl_claim(struct pawl_worker *w, struct pawl_claim *out, size_t max, size_t *n,
               struct pawl_error *e)
{
    struct claiming c = {.w = w, .out = out, .max = max};
    API_ERR(e);

    *n = 0;
    if (w->draining)
        return 0;
    TRY(store_turn(w->pawl->store, claim_body, &c, err));
    *n = c.n;
    return 0;
}

bool pawl_worker_is_draining(const struct pawl_worker *w)
{
    return w->draining;
}

/* ---- maintenance ---- */

struct maintenance {
    struct pawl_worker *w;
    struct tick tick;
    int64_t next;
    bool may_reap, again;
};

static int tick_body(struct turn *t, void *arg, struct err *err)
{
    struct maintenance *u = arg;
    int rc = op_worker_tick(t, &u->w->row, &u->tick, err);

    u->next = u->tick.next_timer;
    return rc;
}

static int maintenance_body(struct turn *t, void *arg, struct err *err)
{
    struct maintenance *u = arg;
    struct reap_slice reaping = {.max = MAINTENANCE_SLICE};
    struct timer_slice timers = {.max = MAINTENANCE_SLICE};

    if (u->tick.expired && u->may_reap)
        TRY(op_reap(t, &reaping, err));
    TRY(op_fire_timers(t, &timers, err));
    u->next = timers.next;
    u->again = reaping.n == MAINTENANCE_SLICE || timers.n == MAINTENANCE_SLICE;
    return 0;
}

/* Whether this worker may reap leases. A worker that could not reach the database itself must not:
 * other leases may have expired because no worker could write. */
static bool may_reap(struct pawl_worker *w)
{
    int64_t now = clock_boot_us();

    if (now - w->last_tick > w->lease)
        w->healthy_since = now;
    return now - w->healthy_since >= w->lease;
}

static int do_maintenance(struct pawl_worker *w, struct maintenance *u, struct err *err)
{
    u->may_reap = may_reap(w);
    TRY(store_light_turn(w->pawl->store, tick_body, u, err));
    w->last_tick = clock_boot_us();
    w->draining |= u->tick.drain;
    if (!(u->tick.expired && u->may_reap) && !(u->next && u->next <= u->tick.now))
        return 0;
    do
        TRY(store_turn(w->pawl->store, maintenance_body, u, err));
    while (u->again);
    return 0;
}

int pawl_tick(struct pawl_worker *w, int64_t *next_due, struct pawl_error *e)
{
    struct maintenance u = {.w = w};
    int rc;
    API_ERR(e);

    if ((rc = do_maintenance(w, &u, err)))
        w->healthy_since = clock_boot_us();
    else if (next_due)
        *next_due = u.next;
    return rc;
}
