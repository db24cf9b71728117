/* dispatch_internal.h - what dispatch.c (the registry), start.c (attempts on their way out) and
 * poll.c (on their way back) share. */
#ifndef DISPATCH_DISPATCH_INTERNAL_H
#define DISPATCH_DISPATCH_INTERNAL_H

#include "base/histogram.h"
#include "base/mem.h"
#include "dispatch/attempts.h"
#include "dispatch/dispatch.h"
#include "exec/function/function.h"

/* An executor as the dispatcher knows it. */
struct executor_entry {
    struct dispatch *d;
    struct executor *x;
    struct functions *functions; /* x, if it runs functions */
    int fd;
    int slots, in_flight;
    int64_t done, failed;
    struct histogram times;
    int refusals;          /* one after the other */
    int64_t backoff_until; /* CLOCK_BOOTTIME, µs; 0: it does not rest */
    char why[256];         /* it rests */
};

/* An attempt that no executor took: its end is reported in the next turn. */
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
    VEC(char *) known_keys; /* keys of executors that routes may name, too */
    VEC(struct lane_group) groups;
    VEC(struct rejected) rejected;
    struct attempts attempts;
    int epoll, timer;
    int64_t timer_at; /* when the timer fires; 0: it does not */
};

/* Has a turn taken at that time at the latest. */
void dispatch_set_timer(struct dispatch *d, int64_t at);
/* It is no longer in flight. */
void dispatch_count_ended(struct dispatch *d, const struct attempt *a);
void dispatch_on_report(void *executor_entry, struct executor *x, const struct report *r);

#endif
