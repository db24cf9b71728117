/* wake_queue.h - wake-ups that have not been sent yet, and when they may be sent. The caller holds
 * the lock that protects the queue. */
#ifndef STORE_DRIVER_WAKE_QUEUE_H
#define STORE_DRIVER_WAKE_QUEUE_H

#include "store/driver/db.h"

/* The pause in µs between two wake-ups for ends of executions: under load, nearly every commit ends
 * an execution. The first end after a longer pause is announced at once. */
#define WAKE_ENDS_PAUSE 20000

struct wake_queue {
    unsigned bits;   /* wake-ups that are not sent yet; callers add further bits */
    int64_t ends_at; /* when a wake-up for ends may be sent again, by clock_boot_us */
};

/* Removes and returns the bits that may be sent now; all bits if `closing`. */
static inline unsigned wake_queue_take(struct wake_queue *q, int64_t now, bool closing)
{
    unsigned ready = q->bits;

    if (!closing && now < q->ends_at)
        ready &= ~(unsigned)WAKE_ENDS;
    if (ready & WAKE_ENDS)
        q->ends_at = now + WAKE_ENDS_PAUSE;
    q->bits &= ~ready;
    return ready;
}

/* The time from which some of the waiting bits may be sent; 0 if at once. `bits` must not be 0. */
static inline int64_t wake_queue_due(const struct wake_queue *q)
{
    return q->bits & ~(unsigned)WAKE_ENDS ? 0 : q->ends_at;
}

#endif
