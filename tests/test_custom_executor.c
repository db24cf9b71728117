/* test_custom_executor.c - custom executors of an embedder: the tasks that they get, and the
 * outcomes that the engine stores from their reports. */
#include "custom_executor_fixture.h"

TEST_THREADED;

/* ---- the life of an attempt ---- */

TEST(start_log_and_result_reported_by_a_custom_executor_are_stored)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w);
    struct pawl_log_page page;
    char text[64];
    struct execution e;

    UNTIL(&w, recorder.nbegun == 1);
    CHECK_EQ(recorder.begun[0].execution, id);
    CHECK_EQ(recorder.begun[0].attempt, 1);
    pawl_report_started(recorder.begun[0], 0);
    UNTIL(&w, strstr(history(w.s, id), "started"));
    pawl_report_log(recorder.begun[0], "one\n", 4);
    pawl_report_log(recorder.begun[0], "two\n", 4);
    pawl_report_ended(recorder.begun[0], &(struct pawl_end){.outcome = PAWL_OK,
                                                            .result = "{\"n\":7}",
                                                            .has_exit_code = true,
                                                            .cpu = 3});
    pawl_report_ended(recorder.begun[0],
                      &(struct pawl_end){.outcome = PAWL_FAILED, .error = "late"});
    UNTIL(&w, recorder.settled == 1);
    e = get(w.s, id);
    CHECK_EQ(e.status, S_SUCCEEDED);
    CHECK_STR(e.result, "{\"n\":7}");
    CHECK_STR(history(w.s, id), "created marked_ready claimed started completed");
    OK(pawl_log(w.p, &(struct pawl_log_place){.execution = id}, text, sizeof(text), &page, &err));
    CHECK_EQ(page.len, 8);
    CHECK(!memcmp(text, "one\ntwo\n", 8));
    done(recorder.begun[0], NULL); /* a report after the end has no effect */
    step(&w);
    CHECK_EQ(recorder.freed, 0);
    close_run(&w);
    CHECK_EQ(recorder.freed, 1);
}

static void check_command(const struct pawl_task *t)
{
    const struct pawl_command *c = &t->command;

    CHECK_STR(t->name, "exec::lab-7");
    CHECK_STR(t->input, "[1]");
    CHECK_EQ(t->max_attempts, 3);
    CHECK_EQ(t->root, t->id.execution);
    CHECK(t->lease_until > 0);
    CHECK(!c->run);
    CHECK_STR(c->argv[0], "ls");
    CHECK_STR(c->argv[1], "-l");
    CHECK(!c->argv[2]);
    CHECK_STR(c->env[0], "A=1=2");
    CHECK_STR(c->env[1], "B=");
    CHECK(!c->env[2]);
    CHECK_STR(c->secrets[0], "TOKEN");
    CHECK_STR(c->outputs[0], "n");
    CHECK_STR(c->cwd, "/tmp");
    CHECK_EQ(c->timeout, 5000000);
    CHECK_EQ(c->memory, 1 << 20);
    CHECK(strstr(t->spec, "\"argv\":[\"ls\",\"-l\"]"));
}

TEST(custom_executor_gets_the_command_as_submitted)
{
    struct recorder recorder = {.on_start = check_command};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    struct pawl_command c = {.argv = (const char *[]){"ls", "-l", NULL},
                             .env = (const char *[]){"A=1=2", "B=", NULL},
                             .secrets = (const char *[]){"TOKEN", NULL},
                             .outputs = (const char *[]){"n", NULL},
                             .cwd = "/tmp",
                             .timeout = 5000000,
                             .memory = 1 << 20};
    char *spec = NULL;

    OK(pawl_command_spec(w.p, &c, NULL, &spec, &err));
    put(&w,
        (struct pawl_job){.name = "exec::lab-7", .input = "[1]", .spec = spec, .max_attempts = 3});
    UNTIL(&w, recorder.nbegun == 1);
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    free(spec);
    close_run(&w);
}

TEST(refused_start_returns_the_job_to_its_queue_without_using_an_attempt)
{
    struct recorder recorder = {.refuse = 1};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, recorder.nbegun == 1);
    CHECK_EQ(recorder.begun[0].attempt, 2);
    CHECK_EQ(get(w.s, id).max_attempts, 2);
    CHECK(strstr(history(w.s, id), "claimed released"));
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    CHECK_EQ(status_of(w.s, id), S_SUCCEEDED);
    close_run(&w);
}

TEST(start_error_fails_the_attempt_with_the_executors_message)
{
    struct recorder recorder = {.wrong = "there is no such machine"};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, status_of(w.s, id) == S_FAILED);
    CHECK_STR(get(w.s, id).error, "there is no such machine");
    CHECK(!strstr(history(w.s, id), "started"));
    CHECK_EQ(recorder.settled, 0); /* the executor never accepted it */
    close_run(&w);
}

TEST(invalid_report_fails_the_attempt_with_an_error)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w;
    int64_t none, no_json, silent;

    x.slots = 3;
    w = open_run(&x, "executors: {process: {enabled: false}}\nworker: {slots: 3}\n");
    none = put_one(&w);
    no_json = put_one(&w);
    silent = put_one(&w);
    UNTIL(&w, recorder.nbegun == 3);
    pawl_report_ended(recorder.begun[0], &(struct pawl_end){0});
    pawl_report_ended(recorder.begun[1], &(struct pawl_end){.outcome = PAWL_OK, .result = "{"});
    pawl_report_ended(recorder.begun[2], &(struct pawl_end){.outcome = PAWL_FAILED, .error = ""});
    UNTIL(&w, recorder.settled == 3);
    CHECK(strstr(get(w.s, none).error, "reported the unknown outcome 0"));
    CHECK_EQ(status_of(w.s, no_json), S_FAILED);
    CHECK_STR(get(w.s, silent).error, "the executor lab reported no error message");
    close_run(&w);
}

/* ---- cancel, timeout and stop ---- */

TEST(cancel_reaches_a_custom_executor)
{
    struct recorder recorder = {.obeys = true};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, recorder.nbegun == 1);
    OK(pawl_cancel(w.p, id, "me", "enough", NULL, &err));
    UNTIL(&w, recorder.settled == 1);
    CHECK_EQ(recorder.cancelled, 1);
    CHECK_EQ(status_of(w.s, id), S_CANCELLED);
    close_run(&w);
}

TEST(attempt_that_succeeds_despite_a_cancel_keeps_its_outcome)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, recorder.nbegun == 1);
    OK(pawl_cancel(w.p, id, NULL, NULL, NULL, &err));
    UNTIL(&w, recorder.cancelled == 1);
    done(recorder.begun[0], "[]");
    UNTIL(&w, recorder.settled == 1);
    CHECK_EQ(status_of(w.s, id), S_SUCCEEDED);
    close_run(&w);
}

TEST(custom_executor_is_cancelled_at_the_timeout)
{
    struct recorder recorder = {.obeys = true};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t silent = put(&w, (struct pawl_job){.spec = "{\"timeout\":50000}"}), late;

    /* The timeout counts from the start call, because the executor never reports a start. */
    UNTIL(&w, recorder.settled == 1);
    CHECK_EQ(recorder.cancelled, 1);
    CHECK_EQ(status_of(w.s, silent), S_TIMED_OUT);
    CHECK(strstr(get(w.s, silent).error, "ran longer than its timeout of 50"));
    late = put(&w, (struct pawl_job){.spec = "{\"timeout\":3600000000}"});
    UNTIL(&w, recorder.nbegun == 2);
    pawl_report_started(recorder.begun[1],
                        3600 * SECOND); /* the attempt started one whole timeout ago */
    UNTIL(&w, recorder.settled == 2);
    CHECK_EQ(status_of(w.s, late), S_TIMED_OUT);
    close_run(&w);
}

TEST(attempt_of_an_executor_without_a_cancel_callback_runs_to_its_end)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w;
    int64_t id;

    x.cancel = NULL;
    w = open_run(&x, NULL);
    id = put(&w, (struct pawl_job){.spec = "{\"timeout\":1000}"});
    UNTIL(&w, recorder.nbegun == 1);
    OK(pawl_cancel(w.p, id, NULL, NULL, NULL, &err));
    step(&w);
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    CHECK_EQ(status_of(w.s, id), S_SUCCEEDED);
    close_run(&w);
}

TEST(immediate_stop_returns_running_jobs_to_their_queue_without_using_an_attempt)
{
    struct recorder recorder = {.obeys = true};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, recorder.nbegun == 1);
    pawl_engine_stop(w.e, false);
    step(&w);
    CHECK_EQ(recorder.cancelled, 0);
    pawl_engine_stop(w.e, true);
    UNTIL(&w, pawl_engine_idle(w.e));
    CHECK_EQ(recorder.cancelled, 1);
    CHECK_EQ(status_of(w.s, id), S_READY);
    CHECK(strstr(history(w.s, id), "deferred"));
    pawl_engine_close(w.e);
    open_engine(&w, &x);
    UNTIL(&w, recorder.nbegun == 2);
    done(recorder.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}
