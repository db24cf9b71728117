/* engine_fixture.h - whole engines in a test: on the test's database, in the test's own state
 * folder, with functions, and with commands if the shim is built. The test itself steps the
 * engines, so everything happens in the order in which it is written. */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include "base/text.h"
#include "engine/engine.h"
#include "exec/function/function.h"
#include "exec/process/process.h"
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct worker_kit {
    struct engine *engine;
    struct functions *functions;
    const struct kit_function {
        const char *name;
        function_fn *fn;
        void *arg;
    } * list; /* ends with a NULL name */
    bool commands;
    int slots, threads;
    int in_all;       /* slots over all executors; 0 for no limit */
    int64_t patience; /* of functions that wait for a thread; 0 for the default */

    int ended; /* how many executions it has reported as ended */
};

/* Whether the tests run in the mode in which jobs are only claimed by polling. */
static inline bool kit_polls(void)
{
    return getenv("PAWL_TEST_POLL") != NULL;
}

/* The number of loops per engine, if the database supports several. */
static inline int kit_loops(void)
{
    const char *text = strcmp(test_db(), "postgres") ? NULL : getenv("PAWL_TEST_LOOPS");
    int64_t n = 1;

    CHECK(!text || !text_parse_i64(text, &n));
    return (int)n;
}

static inline const char *kit_state(void)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/state", test_dir());
    return path;
}

static inline const char *kit_shim(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    char *slash;

    CHECK(n > 0);
    path[n] = 0;
    CHECK((slash = strrchr(path, '/')) != NULL);
    *slash = 0;
    CHECK((slash = strrchr(path, '/')) != NULL);
    snprintf(slash, 32, "/pawl-shim");
    return path;
}

static inline int kit_make(void *arg, const struct engine_dispatch_setup *place,
                           struct dispatch **out, struct err *err)
{
    struct worker_kit *k = arg;
    struct function_options fo = {.threads = k->threads ? k->threads : 4,
                                  .marks = place->marks,
                                  .patience = k->patience,
                                  .env = fixture_env()};
    struct process_options po = {.dir = place->dir,
                                 .shim = kit_shim(),
                                 .slots = k->slots ? k->slots : 4,
                                 .lease = place->lease,
                                 .fence = place->fence,
                                 .marks = place->marks,
                                 .env = fixture_env()};
    struct dispatch_options o = place->dispatch;
    const struct kit_function *f;
    struct executor *x;

    o.slots = k->in_all;
    CHECK_OK_ERR(dispatch_new(&o, out, err), err);
    CHECK_OK_ERR(function_new(&fo, &k->functions, err), err);
    for (f = k->list; f && f->name; f++)
        CHECK_OK_ERR(function_add(k->functions, f->name, f->fn, f->arg, err), err);
    CHECK_OK_ERR(dispatch_add_executor(*out, function_executor(k->functions), 0, err), err);
    if (k->commands) {
        CHECK_OK_ERR(process_new(&po, &x, err), err);
        CHECK_OK_ERR(dispatch_add_executor(*out, x, 0, err), err);
    }
    return 0;
}

static inline void kit_ended(void *arg, int64_t execution, int status, const struct outcome *o)
{
    (void)execution;
    (void)status;
    (void)o;
    ++*(int *)arg;
}

static inline void kit_open_with(struct worker_kit *k, struct engine_options o)
{
    struct err err = ERR_INIT;

    o.url = fixture_url();
    o.tenant = fixture_tenant();
    o.env = fixture_env();
    o.state = kit_state();
    o.lease = o.lease ? o.lease : LEASE;
    o.no_push = kit_polls();
    o.loops = o.loops ? o.loops : kit_loops();
    CHECK_OK_ERR(engine_open(&o, kit_make, k, &k->engine, &err), &err);
    engine_on_end(k->engine, kit_ended, &k->ended);
}

static inline void kit_open(struct worker_kit *k)
{
    kit_open_with(k, (struct engine_options){0});
}

static inline void kit_step(struct worker_kit *k)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(engine_step(k->engine, 20000, &err), &err);
}

/* Steps the engine until `what` holds; only the test's own time limit ends the wait. */
#define KIT_UNTIL(k, what) \
    while (!(what))        \
    kit_step(k)

static inline void kit_until_ended(struct worker_kit *k, int n)
{
    KIT_UNTIL(k, k->ended >= n);
}

/* Opens the engine, which must run the only job to a success with this result. */
static inline void kit_run_to_success(struct worker_kit *k, struct store *s, int64_t id,
                                      const char *result)
{
    struct execution e;

    kit_open(k);
    kit_until_ended(k, 1);
    e = get(s, id);
    CHECK_EQ(e.status, S_SUCCEEDED);
    CHECK_STR(e.result, result);
    CHECK_STR(history(s, id), "created marked_ready claimed started completed");
}

/* Cancels through another store; retries while a turn of the engine has the tree locked. */
static inline void kit_cancel(struct worker_kit *k, struct store *s, int64_t id)
{
    int rc;

    while ((rc = cancel(s, id)) == -E_BUSY)
        kit_step(k);
    CHECK_OK(rc);
}

static inline int64_t kit_submit(struct store *s, const char *function, const char *input)
{
    char lane[128];

    snprintf(lane, sizeof(lane), "function:%s", function);
    return submit_with(s, (struct submission){.name = "exec::test", .lane = lane, .input = input});
}

/* ---- functions ---- */

/* Counts its calls in an atomic_int, if one is given. */
static inline int kit_noop(struct function_call *c, void *arg)
{
    (void)c;
    if (arg)
        atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

/* Sets an atomic_int and runs until it is cancelled. */
static inline int kit_waits(struct function_call *c, void *arg)
{
    atomic_store((atomic_int *)arg, 1);
    while (!c->ops->cancelled(c))
        usleep(1000);
    return 1;
}

/* Runs this short function until the worker claims four jobs more than it has threads. Returns how
 * often. */
static inline int kit_warm_up(struct worker_kit *k, struct store *s, const char *function)
{
    int runs = 0;
    size_t n;

    while (dispatch_lane_groups(engine_dispatch(k->engine), &n)[0].can_queue < 4) {
        kit_submit(s, function, NULL);
        kit_until_ended(k, ++runs);
    }
    return runs;
}

/* ---- losing a lease ---- */

/* Lets the only lease expire, and clears it. */
static inline void kit_lose_lease(struct store *s)
{
    clock_advance(2 * LEASE);
    CHECK_EQ(reap(s), 1);
}

/* Ends the only function and clears its lease, so that only its worker knows the outcome. */
static inline void kit_lose_ended(struct worker_kit *k, struct store *s)
{
    struct dispatch *d = engine_dispatch(k->engine);

    KIT_UNTIL(k, dispatch_in_flight(d));
    while (dispatch_in_flight(d))
        dispatch_poll(d);
    kit_lose_lease(s);
}

/* Another worker, outside of these engines, adopts the job that lost its lease. */
static inline struct held_job kit_adopt_elsewhere(struct store *s)
{
    int64_t id = sql_number(s, "SELECT execution FROM leases");
    struct held_job taken;
    char back[128];

    snprintf(back, sizeof(back), "UPDATE executions SET lane = '%s'", get(s, id).lane);
    sql_run(s, "UPDATE executions SET lane = 'process'"); /* as adopt_one requires */
    sql_run(s, "UPDATE leases SET folder = 'folder-a'");
    CHECK(adopt_one(s, 77, &taken));
    CHECK_EQ(taken.id, id);
    sql_run(s, back);
    return taken;
}

static inline int64_t kit_command(struct store *s, const char *text)
{
    char spec[2000];

    snprintf(spec, sizeof(spec), "{\"run\":\"%s\"}", text);
    return submit_with(s, (struct submission){.name = "exec::test", .spec = spec});
}

#endif
