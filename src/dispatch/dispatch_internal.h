/* dispatch_internal.h - structures shared by dispatch.c (the registry of executors), capacity.c
 * (how much may be claimed), start.c (from the engine to an executor) and poll.c (reports, from an
 * executor to the engine). */
#ifndef DISPATCH_DISPATCH_INTERNAL_H
#define DISPATCH_DISPATCH_INTERNAL_H

#include "base/histogram.h"
#include "base/mem.h"
#include "dispatch/attempts.h"
#include "dispatch/dispatch.h"
#include "exec/function/function.h"

/* An executor and the dispatcher's accounts of it. */
struct executor_entry {
    struct dispatch *d;
    struct executor *x;
    struct functions *functions; /* x if it runs functions, otherwise NULL */
    int fd;
    int slots, in_flight;
    int64_t done, failed;
    struct histogram times;
    int refusals;          /* in a row */
    int64_t backoff_until; /* CLOCK_BOOTTIME, µs: offered no jobs until then; 0 if none */
    char why[256];         /* its last refusal */
};

/* An attempt that no executor accepted; the next poll reports its outcome. */
struct rejected {
    int64_t execution;
    int attempt;
    enum outcome_kind kind;
    int64_t delay;
    char *error;
};

struct dispatch {
    struct env *env;
    void (*report)(void *arg, const struct report *r);
    void *arg;
    struct routes routes;
    int slots, in_flight;
    bool closed;
    VEC(struct executor_entry *) executors;
    VEC(char *) known_keys; /* executors that are not here, but that routes may name */
    VEC(struct lane_group) groups;
    VEC(struct rejected) rejected;
    struct attempts attempts;
    int epoll, timer;
    int64_t timer_at; /* when the timer fires; 0 if it is not set */
};

/* Makes dispatch_fd readable at that time (CLOCK_BOOTTIME, µs) at the latest. */
void dispatch_set_timer(struct dispatch *d, int64_t at);
/* Counts an attempt as no longer in flight, unless it has ended before. */
void dispatch_count_ended(struct dispatch *d, const struct attempt *a);
/* The report callback of all executors. */
void dispatch_on_report(void *executor_entry, struct executor *x, const struct report *r);

#endif
