/* heartbeat_fixture.h - moves the clock of an engine that stays alive: its heartbeats get through,
 * however late the thread that sends them is scheduled. */
#ifndef TESTS_HEARTBEAT_FIXTURE_H
#define TESTS_HEARTBEAT_FIXTURE_H

#include "engine/engine_internal.h"
#include "engine_fixture.h"

/* The time of its last answered heartbeat, by its own clock. */
static inline int64_t kit_last_heartbeat(struct worker_kit *k)
{
    struct heartbeat *b = &k->engine->heartbeat;
    int64_t at;

    pthread_mutex_lock(&b->lock);
    at = b->last_success;
    pthread_mutex_unlock(&b->lock);
    return at;
}

/* Moves the clock and makes a step. An engine whose clock moved without its heartbeats would lose
 * its leases or give up; after a large jump it would not reap others for the length of a lease. */
static inline void kit_pass(struct worker_kit *k, int64_t us)
{
    clock_advance(us);
    kit_step(k);
    KIT_UNTIL(k, engine_now(k->engine) - kit_last_heartbeat(k) < k->engine->o.lease / 2);
}

/* Moves the clock until `what` holds. */
#define PASS_UNTIL(k, what) \
    while (!(what))         \
    kit_pass(k, (k)->engine->o.lease / 10)

/* Opens an engine that does not poll by itself within a test's time limit: it must be woken. */
static inline void kit_open_asleep(struct worker_kit *k)
{
    kit_open_with(k,
                  (struct engine_options){.lease = 40000 * SECOND, .host_grace = 400000 * SECOND});
    k->engine->listener->poll_ms = 40000000;
}

#endif
