/* wake_queue.h - wake-ups that wait to be sent, and when they may be sent. The caller holds the
 * lock that protects the queue. */
#ifndef STORE_DRIVER_WAKE_QUEUE_H
#define STORE_DRIVER_WAKE_QUEUE_H

#include "store/driver/db.h"

/* µs between two notifications that executions ended: under load, nearly every commit ends one. The
 * first end after a longer pause is announced at once. */
#define WAKE_ENDS_PAUSE 20000

struct wake_queue {
    unsigned bits;   /* wake-ups that are not sent yet; callers add theirs */
    int64_t ends_at; /* when the next end may be announced, by clock_boot_us */
};

/* Removes and returns the bits that may be sent now; all of them if `closing`. */
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

/* When some of the waiting bits may be sent; 0 if at once. `bits` must not be 0. */
static inline int64_t wake_queue_due(const struct wake_queue *q)
{
    return q->bits & ~(unsigned)WAKE_ENDS ? 0 : q->ends_at;
}

#endif
