/* function_fixture.h - functions on threads in a test: an executor, a record of its reports, and
 * functions to run. */
#ifndef TESTS_FUNCTION_FIXTURE_H
#define TESTS_FUNCTION_FIXTURE_H

#include "base/mem.h"
#include "exec/function/function.h"
#include "handle_fixture.h"
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define MS          1000LL
#define SECOND      1000000LL

struct seen {
    enum report_kind kind;
    int64_t execution, ago, offset, dropped;
    int attempt;
    char *log; /* REPORT_LOG */
    struct outcome outcome;
    char *result, *error;
};

struct fixture {
    struct functions *f;
    struct executor *x;
    struct handles handles;
    VEC(struct seen) seen;
    int ended;
    void (*meanwhile)(struct fixture *, const struct report *);
};

static inline void on_report(void *arg, struct executor *x, const struct report *r)
{
    struct fixture *fx = arg;
    struct seen *s = vec_add(&fx->seen);

    CHECK(x == fx->x);
    handles_report(&fx->handles, r);
    *s = (struct seen){r->kind,    r->execution, r->ago,     r->offset, r->dropped,
                       r->attempt, NULL,         r->outcome, NULL,      NULL};
    if (r->kind == REPORT_LOG) {
        s->log = mem_zalloc(r->log_len + 1);
        memcpy(s->log, r->log, r->log_len);
    }
    if (r->kind == REPORT_ENDED) {
        CHECK((r->outcome.kind == OUTCOME_OK) == !r->outcome.error);
        CHECK(!r->outcome.error || *r->outcome.error);
        s->result = mem_strdup(r->outcome.result);
        s->error = mem_strdup(r->outcome.error);
        fx->ended++;
    }
    if (fx->meanwhile)
        fx->meanwhile(fx, r);
}

static inline void open_with(struct fixture *fx, struct function_options o)
{
    struct err err = ERR_INIT;

    *fx = (struct fixture){0};
    if (!o.patience) /* a test may be slow */
        o.patience = 3600 * SECOND;
    CHECK_OK_ERR(function_new(&o, &fx->f, &err), &err);
    fx->x = fx->handles.x = function_executor(fx->f);
    fx->x->report = on_report;
    fx->x->arg = fx;
}

static inline void open_threads(struct fixture *fx, int threads)
{
    open_with(fx, (struct function_options){.threads = threads});
}

static inline void end(struct fixture *fx)
{
    size_t i;

    handles_release(&fx->handles);
    for (i = 0; i < fx->seen.n; i++) {
        free(fx->seen.at[i].log);
        free(fx->seen.at[i].result);
        free(fx->seen.at[i].error);
    }
    vec_release(&fx->seen);
}

static inline void add(struct fixture *fx, const char *name, function_fn *fn, void *arg)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(function_add(fx->f, name, fn, arg, &err), &err);
}

static inline struct job a_task(int64_t execution, const char *function)
{
    return (struct job){.execution = execution,
                        .root = 1,
                        .attempt = 1,
                        .max_attempts = 3,
                        .epoch = 1,
                        .name = "nightly::load",
                        .function = function};
}

static inline void start_task(struct fixture *fx, const struct job *t)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(handles_start(&fx->handles, t, &err), &err);
}

static inline void start(struct fixture *fx, int64_t execution, const char *function)
{
    struct job t = a_task(execution, function);

    start_task(fx, &t);
}

static inline void start_spec(struct fixture *fx, int64_t execution, const char *function,
                              const struct spec *spec)
{
    struct job t = a_task(execution, function);

    t.spec = spec;
    start_task(fx, &t);
}

/* Waits for the descriptor, then polls. False if nothing came in that time. */
static inline bool poll_reports(struct fixture *fx, int ms)
{
    struct pollfd p = {.fd = fx->x->ops->fd(fx->x), .events = POLLIN};
    int n = poll(&p, 1, ms);

    CHECK(n >= 0 || errno == EINTR);
    if (n > 0)
        fx->x->ops->poll(fx->x);
    return n > 0;
}

static inline void wait_ended(struct fixture *fx, int n)
{
    while (fx->ended < n)
        CHECK(poll_reports(fx, 240000));
}

static inline struct seen *find_seen(struct fixture *fx, enum report_kind kind, int64_t execution)
{
    size_t i;

    for (i = 0; i < fx->seen.n; i++)
        if (fx->seen.at[i].kind == kind && fx->seen.at[i].execution == execution)
            return &fx->seen.at[i];
    return NULL;
}

static inline struct seen *ended(struct fixture *fx, int64_t execution)
{
    struct seen *s = find_seen(fx, REPORT_ENDED, execution);

    CHECK(s);
    return s;
}

#define WAIT_FOR(fx, cond)        \
    do {                          \
        while (!(cond))           \
            poll_reports(fx, 10); \
    } while (0)

static inline int nothing(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

/* A gate that a test opens; cancelled functions do not wait for it. */
struct gate {
    atomic_int inside, open, notified;
    int rc;
};

static inline int until_open(struct function_call *c, void *arg)
{
    struct gate *g = arg;
    bool notified = false;

    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open) && !(notified = c->ops->cancelled(c)))
        clock_sleep_us(200);
    atomic_fetch_add(&g->notified, notified);
    atomic_fetch_sub(&g->inside, 1);
    return notified ? g->rc : 0;
}

/* Threads of this process, counted by name, because a sanitizer has threads of its own. */
static inline int pool_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *e;
    int n = 0;

    CHECK(tasks);
    while ((e = readdir(tasks))) {
        char path[300], name[32] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        if ((f = fopen(path, "re"))) {
            n += fgets(name, sizeof(name), f) && !strcmp(name, "pawl-function\n");
            fclose(f);
        }
    }
    closedir(tasks);
    return n;
}

#endif
