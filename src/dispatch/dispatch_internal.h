/* dispatch_internal.h - structures shared by dispatch.c (the registry of executors), capacity.c
 * (how much may be claimed), start.c (from the engine to an executor) and poll.c (reports, from an
 * executor to the engine). */
#ifndef DISPATCH_DISPATCH_INTERNAL_H
#define DISPATCH_DISPATCH_INTERNAL_H

#include "base/mem.h"
#include "base/wakeup.h"
#include "dispatch/dispatch.h"
#include "exec/function/function.h"

/* An executor, and what the dispatcher knows about it: limits, attempts and refusals. */
struct executor_entry {
    struct dispatch *d;
    struct executor *x;
    struct functions *functions; /* x if it runs functions, otherwise NULL */
    int fd;
    int slots, in_flight;
    int refusals;          /* refusals in a row */
    int64_t backoff_until; /* CLOCK_BOOTTIME, µs: the executor is offered no jobs until then; 0 if
                              none */
    char why[256];         /* reason for the executor's last refusal */
};

struct dispatch {
    const struct idmap *attempts; /* the engine's table, see attempts.h */
    void (*report)(void *arg, struct attempt *a, const struct report *r);
    void *arg;
    int slots, in_flight;
    bool closed;
    VEC(struct executor_entry *) executors;
    VEC(struct lane_group) groups;
    struct wakeup wakeup;
};

/* Counts the attempt as no longer in flight, unless that was done before. */
void dispatch_count_ended(struct dispatch *d, struct attempt *a);
/* Called when the executor has refused a job. Returns the time, in µs, for which the executor is
 * offered no jobs. */
int64_t dispatch_back_off(struct executor_entry *m, const char *why);
/* Called when the executor has started an attempt: it no longer refuses jobs. */
void dispatch_count_accepted(struct executor_entry *m);
/* The report callback of all executors. */
void dispatch_on_report(void *executor_entry, struct executor *x, const struct report *r);

#endif
