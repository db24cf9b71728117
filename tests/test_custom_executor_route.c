/* test_custom_executor_route.c - which jobs a custom executor of an embedder gets, and how many at
 * once; and what an executor must define to be accepted. */
#include "custom_executor_fixture.h"

TEST_THREADED;

/* ---- routes and capacity ---- */

TEST(task_is_routed_to_a_custom_executor_by_its_name)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, LAB_CONFIG);
    int64_t fits = put(&w, (struct pawl_job){.name = "exec::x-lab"});
    int64_t other = put(&w, (struct pawl_job){.name = "exec::x-lob"});

    CHECK_STR(get(w.s, fits).lane, "lab");
    CHECK_STR(get(w.s, other).lane, "process");
    UNTIL(&w, recorder.nbegun == 1);
    CHECK_EQ(recorder.begun[0].execution, fits);
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    CHECK_EQ(status_of(w.s, other), S_READY);
    close_run(&w);
}

static int doubles(struct pawl_call *c, void *arg)
{
    (void)arg;
    return c->ops->set_result(c, "2");
}

/* There is no pawl-shim in the folder of this program. */
TEST(worker_without_a_shim_runs_functions_and_why_reports_that_commands_are_not_served)
{
    struct pawl_engine_options here = {.here = true};
    struct engine_run w = {0};
    struct pawl_engine *other;
    int64_t function, command;
    char *json;

    OK(try_open(&w, "worker: {slots: 1}\n"));
    OK(pawl_engine_open(w.p, NULL, &w.e, &err));
    OK(pawl_engine_register(w.e, "doubles", doubles, NULL, &err));
    w.s = fixture_store();
    function = put(&w, (struct pawl_job){.name = "exec::f", .lane = "function:doubles"});
    command = put(&w, (struct pawl_job){.name = "exec::c", .lane = "process"});
    UNTIL(&w, status_of(w.s, function) == S_SUCCEEDED);
    CHECK_EQ(status_of(w.s, command), S_READY);
    OK(pawl_why(w.p, command, &json, &err));
    CHECK(strstr(json, "no live worker serves lane process in queue default (1 is alive)"));
    free(json);
    /* an engine in the foreground, which runs one command, needs the shim */
    FAILS(pawl_engine_open(w.p, &here, &other, &err), PAWL_E_UNAVAILABLE);
    CHECK(strstr(err.message, "pawl-shim, which runs commands, was not found"));
    CHECK_EQ(setenv("PAWL_SHIM", "/nowhere/pawl-shim", 1), 0);
    FAILS(pawl_engine_open(w.p, NULL, &other, &err), PAWL_E_UNAVAILABLE);
    close_run(&w);
}

TEST(worker_starts_although_a_configured_custom_executor_is_not_registered)
{
    struct engine_run w = {0};

    OK(try_open(&w, LAB_CONFIG));
    OK(pawl_engine_open(w.p, NULL, &w.e, &err));
    w.s = fixture_store();
    step(&w);
    close_run(&w);
}

TEST(route_to_an_unknown_executor_is_an_error_when_the_worker_starts)
{
    struct engine_run w = {0};

    FAILS(try_open(&w, "dispatch:\n  routes:\n    - {task: 'exec::*', executor: labb}\n"
                       "executors: {lab: {type: custom}}\n"),
          PAWL_E_INVALID);
    CHECK(strstr(err.message, "pawl.yaml:4:"));
    CHECK(strstr(err.message, "there is no executor \"labb\"; did you mean \"lab\"?"));
}

TEST(custom_executor_never_runs_more_attempts_than_its_slots)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, LAB_CONFIG);
    int i;

    for (i = 0; i < 5; i++)
        put_one(&w);
    UNTIL(&w, recorder.nbegun == 2);
    for (i = 0; i < 5; i++)
        step(&w);
    CHECK_EQ(recorder.nbegun, 2);
    for (i = 0; i < 5; i++) {
        done(recorder.begun[i], NULL);
        UNTIL(&w, recorder.settled == i + 1);
        UNTIL(&w, recorder.nbegun == (i + 3 < 5 ? i + 3 : 5));
    }
    close_run(&w);
}

static int recorder_capacity(void *data)
{
    return ((struct recorder *)data)->refuse ? 0 : 1;
}

TEST(custom_executor_without_capacity_gets_no_job)
{
    struct recorder recorder = {.refuse = 1};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w;
    int64_t id;
    int i;

    x.capacity = recorder_capacity;
    w = open_run(&x, NULL);
    id = put_one(&w);
    for (i = 0; i < 5; i++)
        step(&w);
    CHECK_STR(history(w.s, id), "created marked_ready");
    recorder.refuse = 0;
    UNTIL(&w, recorder.nbegun == 1);
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    close_run(&w);
}

TEST(incomplete_or_conflicting_executor_is_refused)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder), bad;
    struct engine_run w = open_run(&x, NULL);

    FAILS(pawl_engine_add_executor(w.e, &x, &err), PAWL_E_CONFLICT);
    bad = x;
    bad.key = "process";
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_CONFLICT);
    bad.key = "a:b";
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    bad.key = NULL;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    bad.key = "b";
    bad.start = NULL;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    bad.start = recorder_start;
    bad.outlives_worker = true;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    CHECK(strstr(err.message, "has no find"));
    bad.outlives_worker = false;
    bad.fd = recorder_capacity;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    CHECK_EQ(recorder.freed, 0);
    close_run(&w);
}
