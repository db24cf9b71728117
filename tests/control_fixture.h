/* control_fixture.h - operator actions through pawl.h in a test. The test creates jobs, changes
 * their status and advances the clock through a store that is open on the same database. */
#ifndef TESTS_CONTROL_FIXTURE_H
#define TESTS_CONTROL_FIXTURE_H

#include "api/api.h"
#include "api_fixture.h"

#include <string.h>

#define FAILS(call, code) CHECK_EQ(call, -(code))

/* Advances the clock of the test and of the handle. */
static inline void pass(struct pawl *p, int64_t us)
{
    clock_advance(us);
    p->env.clock_offset = fixture_env()->clock_offset;
}

static inline void close_both(struct pawl *p, struct store *s)
{
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static inline int register_worker_body(struct turn *t, void *arg, struct err *e)
{
    return op_worker_register(t, arg, e);
}

static inline void register_worker(struct store *s, int64_t id, const char *folder,
                                   const char *serves)
{
    struct worker w = {.id = id,
                       .host = "host",
                       .folder = folder,
                       .version = "1",
                       .pid = 77,
                       .capacity = 4,
                       .serves = serves};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_worker_body, &w, &e), &e);
}

static inline void register_worker_on(struct store *s, int64_t id, const char *host)
{
    struct worker w = {.id = id, .host = host, .folder = "folder-a", .version = "1", .capacity = 4};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_worker_body, &w, &err), &err);
}

static inline int unregister_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_unregister(t, *(int64_t *)arg, err);
}

static inline void unregister_worker(struct store *s, int64_t id)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, unregister_body, &id, &err), &err);
}

/* Submits n jobs to the default queue. */
static inline void submit_many(struct pawl *p, size_t n)
{
    struct pawl_job *jobs = calloc(n, sizeof(*jobs));
    size_t i;

    for (i = 0; i < n; i++)
        jobs[i] = (struct pawl_job){.name = "one"};
    OK(pawl_submit(p, jobs, n, &api_err));
    free(jobs);
}

#endif
