/* custom_executor_fixture.h - an embedder's executor that only records its calls, so that the test
 * makes the reports; a database with an engine, and a store to inspect it. */
#ifndef TESTS_CUSTOM_EXECUTOR_FIXTURE_H
#define TESTS_CUSTOM_EXECUTOR_FIXTURE_H

#include "fixture.h"
#include "pawl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)          test_check_ok(__FILE__, __LINE__, #call, call, err.message)
#define FAILS(call, code) CHECK_EQ(call, -(code))
#define MOST              64

static struct pawl_error err;

/* ---- the executor ---- */

struct recorder {
    struct pawl_attempt begun[MOST], found[MOST];
    int nbegun, nfound, cancelled, forgotten, settled, freed;
    int epoch;                                   /* of the last start */
    int refuse;                                  /* refuses this many starts first */
    const char *wrong;                           /* start fails with this sentence */
    bool obeys;                                  /* a cancel ends the attempt */
    void (*on_start)(const struct pawl_task *t); /* also when an attempt is found */
};

static inline int recorder_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct recorder *l = data;

    if (l->refuse > 0) {
        l->refuse--;
        snprintf(e->message, sizeof(e->message), "the executor is closed");
        return -PAWL_E_REFUSED;
    }
    if (l->wrong) {
        snprintf(e->message, sizeof(e->message), "%s", l->wrong);
        return -PAWL_E_INVALID;
    }
    if (l->on_start)
        l->on_start(t);
    CHECK(l->nbegun < MOST);
    l->begun[l->nbegun++] = t->id;
    l->epoch = t->epoch;
    return 0;
}

static inline int recorder_reattach(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct recorder *l = data;

    (void)e;
    if (l->on_start)
        l->on_start(t);
    CHECK(l->nfound < MOST);
    l->found[l->nfound++] = t->id;
    l->epoch = t->epoch;
    return 0;
}

static inline void recorder_cancel(void *data, struct pawl_attempt a)
{
    struct recorder *l = data;

    l->cancelled++;
    if (l->obeys)
        pawl_report_ended(a, &(struct pawl_end){.outcome = PAWL_CANCELLED});
}

static inline void recorder_forget(void *data, struct pawl_attempt a)
{
    (void)a;
    ((struct recorder *)data)->forgotten++;
}

static inline void recorder_settled(void *data, struct pawl_attempt a)
{
    (void)a;
    ((struct recorder *)data)->settled++;
}

static inline void recorder_free(void *data)
{
    ((struct recorder *)data)->freed++;
}

static inline struct pawl_executor recorder_executor(struct recorder *l)
{
    return (struct pawl_executor){.key = "lab",
                                  .data = l,
                                  .start = recorder_start,
                                  .cancel = recorder_cancel,
                                  .settled = recorder_settled,
                                  .free = recorder_free};
}

static inline void done(struct pawl_attempt a, const char *result)
{
    pawl_report_ended(a, &(struct pawl_end){.outcome = PAWL_OK, .result = result});
}

/* ---- a database with an engine, and a store to inspect it ---- */

struct engine_run {
    struct pawl *p;
    struct pawl_engine *e;
    struct store *s;
};

static inline void configure(char *path, size_t size, const char *more)
{
    FILE *f;

    snprintf(path, size, "%s/pawl.yaml", test_dir());
    CHECK((f = fopen(path, "w")) != NULL);
    fprintf(f, "state: %s/state\n%s", test_dir(),
            more ? more : "executors: {process: {enabled: false}}\n");
    CHECK_EQ(fclose(f), 0);
}

static inline int try_open(struct engine_run *w, const char *more)
{
    char path[4096];
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant(), .config = path};

    configure(path, sizeof(path), more);
    return pawl_open(&o, &w->p, &err);
}

static inline void open_engine(struct engine_run *w, const struct pawl_executor *x)
{
    OK(pawl_engine_open(w->p, NULL, &w->e, &err));
    OK(pawl_engine_add_executor(w->e, x, &err));
}

static inline struct engine_run open_run(const struct pawl_executor *x, const char *more)
{
    struct engine_run w = {0};

    OK(try_open(&w, more));
    open_engine(&w, x);
    w.s = fixture_store();
    return w;
}

static inline void close_run(struct engine_run *w)
{
    pawl_engine_close(w->e);
    verify_clean(w->s);
    store_close(&w->s);
    pawl_close(w->p);
}

static inline void step(struct engine_run *w)
{
    OK(pawl_engine_step(w->e, 20, &err));
}

/* Steps the engine until the condition holds; only the test's own time limit ends the wait. */
#define UNTIL(w, what) \
    while (!(what))    \
    step(w)

static inline int64_t put(struct engine_run *w, struct pawl_job job)
{
    if (!job.name)
        job.name = "exec::lab";
    if (!job.lane && !strncmp(job.name, "exec::lab", 9))
        job.lane = "lab";
    OK(pawl_submit(w->p, &job, 1, &err));
    return job.id;
}

static inline int64_t put_one(struct engine_run *w)
{
    return put(w, (struct pawl_job){0});
}

#define LAB_CONFIG                                                            \
    "executors: {process: {enabled: false}, lab: {type: custom, slots: 2}}\n" \
    "dispatch: {routes: [{task: 'exec::*-lab', executor: lab}]}\n"

#endif
