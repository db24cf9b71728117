/* heartbeat_fixture.h - time that passes for an engine that stays alive in it: the clock is moved,
 * and heartbeats come through, however late the thread that sends them gets its turn. */
#ifndef TESTS_HEARTBEAT_FIXTURE_H
#define TESTS_HEARTBEAT_FIXTURE_H

#include "engine/engine_internal.h"
#include "engine_fixture.h"

/* When it last sent a heartbeat that was answered, by its own clock. */
static inline int64_t kit_last_heartbeat(struct worker_kit *k)
{
    struct heartbeat *b = &k->engine->heartbeat;
    int64_t at;

    pthread_mutex_lock(&b->lock);
    at = b->last_success;
    pthread_mutex_unlock(&b->lock);
    return at;
}

/* Lets some time pass, and a step be made. An engine whose clock moves on without it would lose its
 * leases, or give up; after a leap it would not judge others for as long as a lease lasts. */
static inline void kit_pass(struct worker_kit *k, int64_t us)
{
    clock_advance(us);
    kit_step(k);
    KIT_UNTIL(k, engine_now(k->engine) - kit_last_heartbeat(k) < k->engine->o.lease / 2);
}

/* Lets time pass until `what` holds. */
#define PASS_UNTIL(k, what) \
    while (!(what))         \
    kit_pass(k, (k)->engine->o.lease / 10)

/* An engine that finds nothing by itself for as long as a test may take: it has to be woken. */
static inline void kit_open_asleep(struct worker_kit *k)
{
    kit_open_with(k,
                  (struct engine_options){.lease = 40000 * SECOND, .host_grace = 400000 * SECOND});
    k->engine->listener->poll_ms = 40000000;
}

#endif
