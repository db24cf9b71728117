/* test_as_of.c - executions as of an earlier moment, computed from their events alone. test_random
 * compares them with the stored rows at moments of random runs, and verify_clean does so at the end
 * of every test. */
#include "api_fixture.h"
#include "base/text.h"
#include "workflow_fixture.h"

/* The current moment, as the number of the newest event. */
static struct pawl_moment current_moment(struct store *s)
{
    clock_advance(1);
    return (struct pawl_moment){
        .event = sql_number(s, "SELECT max(sequence_num) FROM execution_events")};
}

static json_t *show_at(struct pawl *p, int64_t id, struct pawl_moment at)
{
    char *json = NULL;

    OK(pawl_show_at(p, id, &at, &json, &api_err));
    return json_parse_and_free(json);
}

static void check_text(const json_t *o, const char *key, const char *expected)
{
    const char *is = json_string_value(json_object_get(o, key));

    CHECK_STR(is ? is : "", expected);
}

/* Checks the status, attempt, first word of "waiting" and error of an execution as of a moment. */
static void check_as_of(struct pawl *p, int64_t id, struct pawl_moment at, const char *status,
                        int attempt, const char *waiting, const char *error)
{
    json_t *o = show_at(p, id, at);
    const char *waits = json_string_value(json_object_get(o, "waiting"));

    check_text(o, "status", status);
    check_text(o, "error", error);
    CHECK_EQ(json_integer_value(json_object_get(o, "attempt")), attempt);
    CHECK(!strncmp(waits ? waits : "", waiting, strlen(waiting)) && !*waiting == !waits);
    json_decref(o);
}

static int64_t time_field(const json_t *o, const char *key)
{
    struct err e = ERR_INIT;
    int64_t us = 0;

    CHECK_OK_ERR(text_parse_time(json_string_value(json_object_get(o, key)), &us, &e), &e);
    return us;
}

TEST(job_as_of_each_event_has_its_state_at_that_moment)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "exec::a", .max_attempts = 3});
    struct pawl_moment at[6];
    struct held_job j;
    json_t *o;

    at[0] = current_moment(s);
    j = claim_job(s, 5);
    at[1] = current_moment(s);
    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, 10 * SECOND));
    at[2] = current_moment(s);
    clock_advance(11 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    at[3] = current_moment(s);
    j = claim_job(s, 6);
    at[4] = current_moment(s);
    CHECK_OK(settle_ok(s, j));
    at[5] = current_moment(s);

    check_as_of(p, id, at[0], "ready", 0, "worker", "");
    check_as_of(p, id, at[1], "running", 1, "", "");
    check_as_of(p, id, at[2], "ready", 1, "delay", "it said no");
    check_as_of(p, id, at[3], "ready", 1, "worker", "it said no");
    check_as_of(p, id, at[4], "running", 2, "", "it said no");
    check_as_of(p, id, at[5], "succeeded", 2, "", "");
    o = show_at(p, id, at[1]);
    check_text(o, "worker", "0000000000000005");
    CHECK(json_is_null(json_object_get(o, "finished_at")));
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(job_as_of_the_expiry_of_its_lease_waits_for_adoption)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "exec::a");
    struct pawl_moment held, orphan;

    claim_job(s, 5);
    held = current_moment(s);
    clock_advance(2 * LEASE);
    reap(s);
    orphan = current_moment(s);
    check_as_of(p, id, held, "running", 1, "", "");
    check_as_of(p, id, orphan, "running", 1, "adoption", "");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(state_as_of_a_time_includes_all_events_up_to_that_time)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "exec::a"), requested, started;
    struct held_job j;
    json_t *o;

    clock_advance(SECOND);
    j = claim_job(s, 5);
    clock_advance(SECOND);
    CHECK_OK(settle_ok(s, j));
    o = show_at(p, id, current_moment(s));
    requested = time_field(o, "requested_at");
    started = time_field(o, "started_at");
    json_decref(o);
    check_as_of(p, id, (struct pawl_moment){.time = requested}, "ready", 0, "worker", "");
    check_as_of(p, id, (struct pawl_moment){.time = started - 1}, "ready", 0, "worker", "");
    check_as_of(p, id, (struct pawl_moment){.time = started}, "running", 1, "", "");
    check_as_of(p, id, (struct pawl_moment){.time = started + 3600 * SECOND}, "succeeded", 1, "",
                "");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(execution_as_of_a_moment_before_its_submission_is_not_found)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t first = submit(s, "exec::a"), second;
    struct pawl_moment before = current_moment(s);
    char requested[TIME_TEXT_SIZE], sentence[200], *json = NULL;

    second = submit(s, "exec::b");
    text_time(get(s, second).requested_at, requested);
    CHECK_EQ(pawl_show_at(p, second, &before, &json, &api_err), -PAWL_E_NOT_FOUND);
    snprintf(sentence, sizeof(sentence),
             "execution %lld did not exist yet at event %lld: it was submitted at %s",
             (long long)second, (long long)before.event, requested);
    CHECK_STR(api_err.message, sentence);
    before = (struct pawl_moment){.time = get(s, second).requested_at - 1};
    CHECK_EQ(pawl_tree_at(p, second, &before, &json, &api_err), -PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, requested));
    CHECK_EQ(pawl_tree_at(p, 999999, &before, &json, &api_err), -PAWL_E_NOT_FOUND);
    CHECK_STR(api_err.message, "there is no execution 999999");
    CHECK_EQ(pawl_show_at(p, first, &(struct pawl_moment){0}, &json, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_show_at(p, first, &(struct pawl_moment){1, 1}, &json, &api_err), -PAWL_E_INVALID);
    drain(s);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int rerun_body(struct turn *t, void *arg, struct err *e)
{
    return op_rerun(t, arg, e);
}

static void rerun_whole(struct store *s, int64_t id)
{
    struct rerun r = {.request = {.execution = id, .by = "ada", .reason = "fixed"},
                      .what = RERUN_WHOLE};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &e), &e);
    rerun_release(&r);
}

TEST(execution_as_of_a_moment_before_its_rerun_has_its_old_result_and_error)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "outputs: {sum: '${{ tasks.a.outputs.n }}'}\n",
                                NULL);
    int64_t a = task_of(s, w, "a"), b = task_of(s, w, "b");
    struct pawl_moment failed, again, done;
    json_t *o;

    run_workflows(s, " b ");
    failed = current_moment(s);
    rerun_whole(s, w);
    again = current_moment(s);
    run_workflows(s, "");
    done = current_moment(s);
    rerun_whole(s, w);
    run_workflows(s, " a ");

    check_as_of(p, b, failed, "failed", 1, "", "it was made to fail");
    check_as_of(p, b, again, "pending", 1, "needs", "");
    check_as_of(p, b, done, "succeeded", 2, "", "");
    o = show_at(p, a, failed);
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(o, "result"), "n")), 1);
    CHECK_EQ(json_integer_value(json_object_get(o, "max_attempts")), 1);
    CHECK(json_is_null(json_object_get(o, "input"))); /* the rerun has replaced it since */
    json_decref(o);
    o = show_at(p, w, failed);
    check_text(o, "status", "failed");
    CHECK(json_is_null(json_object_get(o, "result")));
    CHECK_EQ(
        json_array_size(json_object_get(json_object_get(o, "workflow_execution"), "failed_tasks")),
        1);
    json_decref(o);
    o = show_at(p, w, done);
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(o, "result"), "sum")), 1);
    json_decref(o);
    CHECK_EQ(status_of(s, a), S_FAILED);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* ---- trees ---- */

static int keep_fan_out(void *arg, const char *json)
{
    json_t *o = json_loads(json, 0, NULL), **fan = arg;

    if (json_is_object(json_object_get(o, "items"))) {
        json_decref(*fan);
        *fan = json_incref(o);
    }
    json_decref(o);
    return 0;
}

static int count_lines(void *arg, const char *json)
{
    (void)json;
    ++*(int *)arg;
    return 0;
}

TEST(outline_of_a_workflow_as_of_a_moment_counts_items_by_their_status_at_that_moment)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(
        s, "name: w\ntasks:\n  a: {run: x}\n  each: {run: x, needs: a, foreach: 30}\n", NULL);
    static struct task_claim k;
    struct pawl_moment at_start, some;
    json_t *fan = NULL, *items;
    size_t i;
    int n = 0;

    at_start = current_moment(s);
    claim_tasks(s, &k);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    claim_tasks(s, &k);
    for (i = 0; i < 15; i++)
        settle_task(s, k.held[i], i < 12 ? OUTCOME_FAILED : OUTCOME_OK, NULL);
    some = current_moment(s);
    for (; i < k.n; i++)
        settle_task(s, k.held[i], OUTCOME_OK, NULL);

    OK(pawl_outline_at(p, w, &at_start, keep_fan_out, &fan, NULL, &api_err));
    check_text(fan, "status", "pending");
    CHECK(json_is_null(json_object_get(json_object_get(fan, "items"), "total")));
    OK(pawl_outline_at(p, w, &at_start, count_lines, &n, NULL, &api_err));
    CHECK_EQ(n, 3);
    OK(pawl_outline_at(p, w, &some, keep_fan_out, &fan, NULL, &api_err));
    items = json_object_get(fan, "items");
    CHECK_EQ(json_integer_value(json_object_get(items, "total")), 30);
    CHECK_EQ(json_integer_value(json_object_get(items, "failed")), 12);
    CHECK_EQ(json_integer_value(json_object_get(items, "succeeded")), 3);
    CHECK_EQ(json_integer_value(json_object_get(items, "running")), 15);
    n = 0;
    OK(pawl_outline_at(p, w, &some, count_lines, &n, NULL, &api_err));
    CHECK_EQ(n, 3 + 10 + 10);
    json_decref(fan);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(state_as_of_a_moment_shows_a_pause_only_while_it_lasted)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n", NULL);
    int64_t a = task_of(s, w, "a");
    struct pawl_moment paused, resumed;
    const json_t *workflow;
    json_t *o;

    OK(pawl_pause(p, w, "ada", "the disk is full", &api_err));
    paused = current_moment(s);
    OK(pawl_resume(p, w, "ada", NULL, &api_err));
    resumed = current_moment(s);
    run_workflows(s, "");
    o = show_at(p, w, paused);
    workflow = json_object_get(o, "workflow_execution");
    CHECK(json_is_true(json_object_get(workflow, "paused")));
    check_text(workflow, "pause_reason", "the disk is full");
    json_decref(o);
    check_as_of(p, a, paused, "ready", 0, "paused", "");
    check_as_of(p, a, resumed, "ready", 0, "worker", "");
    o = show_at(p, w, resumed);
    CHECK(json_is_false(json_object_get(json_object_get(o, "workflow_execution"), "paused")));
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static bool is_paused_at(struct pawl *p, int64_t id, struct pawl_moment at)
{
    json_t *o = show_at(p, id, at);
    const json_t *paused = json_object_get(o, "paused");
    bool yes = json_is_true(paused);

    CHECK(json_is_boolean(paused));
    json_decref(o);
    return yes;
}

TEST(job_below_a_paused_workflow_is_not_paused_itself)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n", NULL);
    int64_t a = task_of(s, w, "a");
    struct pawl_moment above, itself, resumed;

    OK(pawl_pause(p, w, "ada", NULL, &api_err));
    above = current_moment(s);
    CHECK(is_paused_at(p, w, above) && !is_paused_at(p, a, above));
    OK(pawl_resume(p, w, "ada", NULL, &api_err));
    OK(pawl_pause(p, a, "ada", NULL, &api_err));
    itself = current_moment(s);
    OK(pawl_resume(p, a, "ada", NULL, &api_err));
    resumed = current_moment(s);
    CHECK(!is_paused_at(p, a, resumed) && !is_paused_at(p, w, resumed));
    CHECK(is_paused_at(p, a, itself) && !is_paused_at(p, w, itself));
    run_workflows(s, "");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
