/* dispatch_fixture.h - a dispatcher in a test, with the test's own executor, and a record of its
 * reports. */
#ifndef TESTS_DISPATCH_FIXTURE_H
#define TESTS_DISPATCH_FIXTURE_H

#include "attempts_fixture.h"
#include "exec/function/function.h"
#include "harness.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define MS          1000LL
#define SECOND      1000000LL
#define PATIENT_MS \
    240000 /* for something that must happen eventually; less than a test's time limit */

/* An executor whose attempts are rows in a table; the test itself ends them. `answer` is the value
 * that its start returns. */
struct manual_executor {
    struct executor x;
    int event, max, answer;
    VEC(struct report) at, ended;
    int cancelled, renewed, forgotten, settled, handed_over, polls, starts, reattached;
};

static inline int manual_start(struct executor *x, const struct job *t, void **handle,
                               struct err *err)
{
    struct manual_executor *k = (struct manual_executor *)x;

    k->starts++;
    if (k->answer)
        return err_set(err, (enum error_code)(-k->answer), "the executor is closed");
    *vec_add(&k->at) =
        (struct report){.kind = REPORT_ENDED, .execution = t->execution, .attempt = t->attempt};
    *handle = (void *)(intptr_t)t->execution;
    CHECK(!t->function);
    return 0;
}

static inline struct report *manual_find(struct manual_executor *k, int64_t execution)
{
    size_t i;

    for (i = 0; i < k->at.n; i++)
        if (k->at.at[i].execution == execution)
            return &k->at.at[i];
    return NULL;
}

static inline int manual_reattach(struct executor *x, const struct job *t, void **handle,
                                  struct err *err)
{
    struct manual_executor *k = (struct manual_executor *)x;

    k->reattached++;
    return manual_find(k, t->execution) ? 0 : manual_start(x, t, handle, err);
}

/* Ends an attempt with an outcome, which the next poll reports. */
static inline void manual_end(struct manual_executor *k, int64_t execution, enum outcome_kind kind)
{
    struct report *r = manual_find(k, execution);

    CHECK(r);
    r->outcome = (struct outcome){
        .kind = kind, .error = kind == OUTCOME_OK ? NULL : "as requested", .duration = 1000};
    *vec_add(&k->ended) = *r;
    *r = k->at.at[--k->at.n];
    if (k->event >= 0)
        eventfd_write(k->event, 1);
}

static inline void manual_poll(struct executor *x)
{
    struct manual_executor *k = (struct manual_executor *)x;
    eventfd_t n;

    k->polls++;
    if (k->event >= 0)
        eventfd_read(k->event, &n);
    while (k->ended.n) {
        struct report r = k->ended.at[--k->ended.n];

        x->report(x->arg, x, &r);
    }
}

static inline void manual_cancel(struct executor *x, void *handle, enum outcome_kind why)
{
    struct manual_executor *k = (struct manual_executor *)x;
    int64_t execution = (intptr_t)handle;

    k->cancelled++;
    if (manual_find(k, execution))
        manual_end(k, execution, why);
}

static inline void manual_renewed(struct executor *x, void *handle, int64_t until)
{
    (void)handle;
    CHECK_EQ(until, 77);
    ((struct manual_executor *)x)->renewed++;
}

static inline void manual_forget(struct executor *x, void *handle)
{
    struct manual_executor *k = (struct manual_executor *)x;
    struct report *r = manual_find(k, (intptr_t)handle);

    k->forgotten++;
    if (r)
        *r = k->at.at[--k->at.n];
}

static inline void manual_settled(struct executor *x, int64_t execution, int attempt)
{
    (void)execution, (void)attempt;
    ((struct manual_executor *)x)->settled++;
}

static inline void manual_hand_over(struct executor *x, bool now)
{
    (void)now;
    ((struct manual_executor *)x)->handed_over++;
}

static inline int manual_capacity(struct executor *x)
{
    return ((struct manual_executor *)x)->max - (int)((struct manual_executor *)x)->at.n;
}

static inline int manual_fd(struct executor *x)
{
    return ((struct manual_executor *)x)->event;
}

static inline void manual_free(struct executor *x)
{
    struct manual_executor *k = (struct manual_executor *)x;

    if (k->event >= 0)
        close(k->event);
    vec_release(&k->at);
    vec_release(&k->ended);
    free(k);
}

static const struct executor_ops manual_ops = {
    .outlives_worker = true,
    .start = manual_start,
    .reattach = manual_reattach,
    .cancel = manual_cancel,
    .renewed = manual_renewed,
    .forget = manual_forget,
    .settled = manual_settled,
    .stop = manual_hand_over,
    .capacity = manual_capacity,
    .fd = manual_fd,
    .poll = manual_poll,
    .free = manual_free,
};

struct seen {
    enum report_kind kind;
    int64_t execution;
    int epoch;
    enum outcome_kind outcome;
    int64_t delay;
    char *error;
};

struct fixture {
    struct dispatch *d;
    struct idmap attempts;
    VEC(struct seen) seen;
    void (*meanwhile)(struct fixture *, const struct report *);
};

static inline void on_report(void *arg, struct attempt *a, const struct report *r)
{
    struct fixture *fx = arg;

    CHECK_EQ(a->execution, r->execution);
    CHECK_EQ(a->ended, r->kind == REPORT_ENDED);
    *vec_add(&fx->seen) =
        (struct seen){r->kind,         r->execution,           a->epoch,
                      r->outcome.kind, r->outcome.retry_delay, mem_strdup(r->outcome.error)};
    if (fx->meanwhile)
        fx->meanwhile(fx, r);
}

static inline void open_with(struct fixture *fx, struct dispatch_options o)
{
    struct err err = ERR_INIT;

    *fx = (struct fixture){0};
    o.attempts = &fx->attempts;
    o.report = on_report;
    o.arg = fx;
    CHECK_OK_ERR(dispatch_new(&o, &fx->d, &err), &err);
}

static inline void end(struct fixture *fx)
{
    size_t i;

    dispatch_free(fx->d);
    attempts_release(&fx->attempts);
    for (i = 0; i < fx->seen.n; i++)
        free(fx->seen.at[i].error);
    vec_release(&fx->seen);
}

static inline struct manual_executor *manual_new(const struct executor_ops *ops, const char *key,
                                                 int max)
{
    struct manual_executor *k = mem_zalloc(sizeof(*k));

    k->x.ops = ops;
    k->x.key = key;
    k->max = max;
    k->event = ops == &manual_ops ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    return k;
}

static inline struct manual_executor *add_manual_executor(struct fixture *fx, const char *key,
                                                          int max, int slots)
{
    struct manual_executor *k = manual_new(&manual_ops, key, max);
    struct err err = ERR_INIT;

    CHECK_OK_ERR(dispatch_add_executor(fx->d, &k->x, slots, &err), &err);
    return k;
}

static inline struct job a_task(int64_t execution)
{
    return (struct job){
        .execution = execution, .root = 1, .attempt = 1, .epoch = 1, .name = "nightly::load"};
}

/* Like the engine, records the outcome of an attempt that no executor accepted. */
static inline void start_job(struct fixture *fx, const char *lane, const struct job *t)
{
    struct attempt *a = attempts_put(&fx->attempts, t);
    struct outcome failed;
    struct err err = ERR_INIT;

    if (!dispatch_start(fx->d, lane, t, &failed, &err))
        return;
    a->ended = true;
    on_report(fx, a,
              &(struct report){.kind = REPORT_ENDED, .execution = t->execution, .outcome = failed});
}

static inline void start(struct fixture *fx, int64_t execution, const char *lane)
{
    struct job t = a_task(execution);

    start_job(fx, lane, &t);
}

static inline int reattach(struct fixture *fx, const char *lane, const struct job *t,
                           struct err *err)
{
    attempts_put(&fx->attempts, t);
    return dispatch_reattach(fx->d, lane, t, err);
}

/* Polls for as long as there is something to do. */
static inline void poll_until_idle(struct fixture *fx)
{
    struct pollfd p = {.fd = dispatch_fd(fx->d), .events = POLLIN};

    while (poll(&p, 1, 0) > 0)
        dispatch_poll(fx->d);
}

static inline void wait_seen(struct fixture *fx, size_t n)
{
    struct pollfd p = {.fd = dispatch_fd(fx->d), .events = POLLIN};

    while (fx->seen.n < n) {
        CHECK(poll(&p, 1, PATIENT_MS) > 0 || errno == EINTR);
        dispatch_poll(fx->d);
    }
}

static inline const struct lane_group *group(struct fixture *fx, const char *executor)
{
    size_t n, i;
    const struct lane_group *g = dispatch_lane_groups(fx->d, &n);

    for (i = 0; i < n; i++)
        if (!strcmp(g[i].executor, executor))
            return &g[i];
    test_fail(__FILE__, __LINE__, "no executor %s", executor);
}

static inline int capacity(struct fixture *fx, const char *executor)
{
    return lane_group_capacity(group(fx, executor), dispatch_free_slots(fx->d));
}

#endif
