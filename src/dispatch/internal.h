/* internal.h - what dispatch.c (the registry), hand_out.c (attempts on their way out) and turn.c
 * (on their way back) share. */
#ifndef DISPATCH_INTERNAL_H
#define DISPATCH_INTERNAL_H

#include "base/histogram.h"
#include "base/mem.h"
#include "dispatch/attempts.h"
#include "dispatch/dispatch.h"
#include "exec/function.h"

/* An executor as the dispatcher knows it. */
struct member {
    struct dispatch *d;
    struct executor *x;
    struct functions *functions; /* x, if it runs functions */
    int fd;
    int slots, in_flight;
    int64_t done, failed;
    struct histogram times;
    int refusals;          /* one after the other */
    int64_t resting_until; /* CLOCK_BOOTTIME, µs; 0: it does not rest */
    char why[256];         /* it rests */
};

/* An attempt that no executor took: its end is reported in the next turn. */
struct untaken {
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
    VEC(struct member *) members;
    VEC(char *) elsewhere; /* keys of executors that routes may name, too */
    VEC(struct lane_group) groups;
    VEC(struct untaken) untaken;
    struct attempts attempts;
    int epoll, timer;
    int64_t armed; /* when the timer fires; 0: it does not */
};

/* Has a turn taken at that time at the latest. */
void dispatch_arm(struct dispatch *d, int64_t at);
/* It is no longer in flight. */
void dispatch_count_out(struct dispatch *d, const struct attempt *a);
void dispatch_on_report(void *member, struct executor *x, const struct report *r);

#endif
