/* test_critical_path.c - the critical path of a run: which executions its end waited for, and where
 * each microsecond went. */
#include "api_fixture.h"
#include "base/text.h"
#include "workflow_fixture.h"

static int64_t number(const json_t *o, const char *key)
{
    CHECK(json_is_integer(json_object_get(o, key)));
    return json_integer_value(json_object_get(o, key));
}

static int64_t sum_of_parts(const json_t *o)
{
    return number(o, "wait_us") + number(o, "held_us") + number(o, "run_us") +
           number(o, "retry_us");
}

static int64_t time_of(const json_t *o, const char *key)
{
    struct err e = ERR_INIT;
    int64_t us = 0;

    CHECK_OK_ERR(text_parse_time(json_string_value(json_object_get(o, key)), &us, &e), &e);
    return us;
}

/* The parts of all steps add up to the total, to the microsecond. */
static void check_sums(const json_t *path)
{
    const json_t *steps = json_object_get(path, "steps"), *step;
    int64_t sum = 0;
    size_t i;

    json_array_foreach((json_t *)steps, i, step)
    {
        CHECK_EQ(sum_of_parts(step), number(step, "total_us"));
        CHECK(number(step, "wait_us") >= 0 && number(step, "held_us") >= 0);
        CHECK(number(step, "run_us") >= 0 && number(step, "retry_us") >= 0);
        sum += number(step, "total_us");
    }
    CHECK_EQ(sum, number(path, "total_us"));
    CHECK_EQ(sum, sum_of_parts(path));
    CHECK_EQ(sum, time_of(path, "to") - time_of(path, "from"));
}

static json_t *critical(struct pawl *p, int64_t id, const struct pawl_moment *at)
{
    char *json = NULL;
    json_t *path;

    OK(pawl_critical(p, id, at, &json, &api_err));
    path = json_parse_and_free(json);
    check_sums(path);
    return path;
}

/* The names of the steps, such as "w a b", without the prefix WORKFLOW:: of tasks. */
static const char *names_of(const json_t *path)
{
    static char names[1000];
    const json_t *step;
    size_t i, used = 0;

    names[0] = 0;
    json_array_foreach(json_object_get(path, "steps"), i, step)
    {
        const char *name = json_string_value(json_object_get(step, "name"));
        const char *colon = strrchr(name, ':');

        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " " : "",
                                 colon ? colon + 1 : name);
    }
    return names;
}

/* The tests advance the clock by whole units. Their own work takes far less time, so a figure
 * rounded to units is exact. */
#define UNIT (1000 * SECOND)

static int64_t rounded_units(const json_t *o, const char *part)
{
    return (number(o, part) + UNIT / 2) / UNIT;
}

static int64_t units_of_step(const json_t *path, const char *name, const char *part)
{
    const json_t *step;
    size_t i;

    json_array_foreach(json_object_get(path, "steps"), i, step)
    {
        const char *full = json_string_value(json_object_get(step, "name"));
        const char *colon = strrchr(full, ':');

        if (!strcmp(colon ? colon + 1 : full, name))
            return rounded_units(step, part);
    }
    return 0;
}

/* All jobs claimed so far, with their names. */
static struct task_claim claimed;

static void claim_all(struct store *s)
{
    static struct task_claim k;
    size_t i;

    claim_tasks(s, &k);
    for (i = 0; i < k.n; i++) {
        claimed.held[claimed.n] = k.held[i];
        memcpy(claimed.names[claimed.n++], k.names[i], sizeof(k.names[i]));
    }
}

static void settle_named(struct store *s, const char *name, enum outcome_kind kind)
{
    size_t i;

    for (i = claimed.n; i > 0; i--)
        if (!strcmp(claimed.names[i - 1], name)) {
            settle_task(s, claimed.held[i - 1], kind, NULL);
            return;
        }
    test_fail(__FILE__, __LINE__, "%s was not claimed", name);
}

static void advance_units(int n)
{
    clock_advance(n * UNIT);
}

TEST(critical_path_follows_the_need_that_ended_last)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n"
                                "  quick: {run: x}\n"
                                "  slow: {run: x}\n"
                                "  unrelated: {run: x}\n"
                                "  last: {run: x, needs: [quick, slow]}\n",
                                NULL);
    json_t *path;

    advance_units(2);
    claim_all(s);
    advance_units(3);
    settle_named(s, "quick", OUTCOME_OK);
    advance_units(4);
    settle_named(s, "slow", OUTCOME_OK);
    settle_named(s, "unrelated", OUTCOME_OK);
    advance_units(5);
    claim_all(s);
    advance_units(6);
    settle_named(s, "last", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_STR(names_of(path) + strcspn(names_of(path), "s"), "slow last");
    CHECK_EQ(units_of_step(path, "slow", "wait_us"), 2);
    CHECK_EQ(units_of_step(path, "slow", "run_us"), 7);
    CHECK_EQ(units_of_step(path, "last", "wait_us"), 5);
    CHECK_EQ(units_of_step(path, "last", "run_us"), 6);
    CHECK_EQ(rounded_units(path, "total_us"), 20);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(failed_attempts_and_their_backoff_count_as_retry_time)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "exec::a", .max_attempts = 3});
    struct held_job j;
    json_t *path;

    advance_units(1);
    j = claim_job(s, 5);
    advance_units(2);
    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, 10 * UNIT));
    advance_units(10);
    CHECK_EQ(run_timers(s), 1);
    advance_units(3); /* no worker claims it */
    j = claim_job(s, 5);
    advance_units(4);
    CHECK_OK(settle_as(s, j, OUTCOME_REFUSED, 0));
    advance_units(5);
    j = claim_job(s, 5);
    advance_units(6);
    CHECK_OK(settle_as(s, j, OUTCOME_OK, -1));
    path = critical(p, id, NULL);
    CHECK_STR(names_of(path), "a");
    CHECK_EQ(units_of_step(path, "a", "wait_us"), 1 + 3 + 4 + 5);
    CHECK_EQ(units_of_step(path, "a", "retry_us"), 2 + 10);
    CHECK_EQ(units_of_step(path, "a", "run_us"), 6);
    CHECK_EQ(units_of_step(path, "a", "held_us"), 0);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(time_until_an_approval_does_not_count_as_run_time)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w =
        submit_workflow(s, "name: w\ntasks:\n  a: {run: x, approval: {message: go}}\n", NULL);
    json_t *path;

    advance_units(7);
    OK(pawl_approve(p, task_of(s, w, "a"), "ada", NULL, &api_err));
    advance_units(2);
    claim_all(s);
    advance_units(3);
    settle_named(s, "a", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_EQ(units_of_step(path, "a", "run_us"), 3);
    CHECK_EQ(units_of_step(path, "a", "held_us") + units_of_step(path, "a", "wait_us"), 9);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(items_that_delayed_the_end_of_a_fan_out_are_on_the_critical_path)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(
        s,
        "name: w\ntasks:\n  each: {run: x, foreach: 3, max_parallel: 2}\n  after: {run: x, needs: each}\n",
        NULL);
    json_t *path;

    claim_all(s);
    advance_units(2);
    settle_named(s, "each[0]", OUTCOME_OK);
    advance_units(1);
    claim_all(s);
    advance_units(1);
    settle_named(s, "each[1]", OUTCOME_OK);
    advance_units(9);
    settle_named(s, "each[2]", OUTCOME_OK);
    claim_all(s);
    settle_named(s, "after", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "each[0] each[2] after"));
    CHECK(!strstr(names_of(path), "each[1]"));
    CHECK_EQ(units_of_step(path, "each[0]", "run_us"), 2);
    CHECK_EQ(units_of_step(path, "each[2]", "wait_us"), 1);
    CHECK_EQ(units_of_step(path, "each[2]", "run_us"), 10);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(critical_path_continues_inside_a_nested_workflow)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w =
        submit_workflow_text(s,
                             workflow_text_of_files((const char *const[]){
                                 "outer.flow.yaml",
                                 "name: outer\ntasks:\n  first: {run: x}\n  below: {needs: first, "
                                 "workflow: inner.flow.yaml}\non_exit: {run: x}\n",
                                 "inner.flow.yaml",
                                 "name: inner\ntasks:\n  one: {run: x}\n  other: {run: x}\n  two: "
                                 "{needs: one, run: x}\n",
                                 NULL}),
                             NULL);
    json_t *path;

    claim_all(s);
    advance_units(1);
    settle_named(s, "first", OUTCOME_OK);
    claim_all(s);
    advance_units(2);
    settle_named(s, "other", OUTCOME_OK);
    settle_named(s, "one", OUTCOME_OK);
    claim_all(s);
    advance_units(3);
    settle_named(s, "two", OUTCOME_FAILED);
    claim_all(s);
    advance_units(4);
    settle_named(s, "on_exit", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "one two on_exit"));
    CHECK(!strstr(names_of(path), "other"));
    CHECK_EQ(units_of_step(path, "first", "run_us"), 1);
    CHECK_EQ(units_of_step(path, "one", "run_us"), 2);
    CHECK_EQ(units_of_step(path, "two", "run_us"), 3);
    CHECK_EQ(units_of_step(path, "on_exit", "run_us"), 4);
    json_decref(path);
    path = critical(p, task_of(s, w, "below"), NULL); /* the path of a descendant */
    CHECK_EQ(rounded_units(path, "run_us"), 5);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(critical_path_of_a_running_workflow_ends_at_the_task_that_has_been_open_longest)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  c: {run: x, needs: a}\n  d: {run: x, needs: [b, c]}\n",
                                NULL);
    struct pawl_moment at;
    json_t *path;

    claim_all(s);
    advance_units(3);
    settle_named(s, "a", OUTCOME_OK);
    claim_all(s);
    advance_units(5);
    settle_named(s, "b", OUTCOME_OK);
    at = (struct pawl_moment){.event =
                                  sql_number(s, "SELECT max(sequence_num) FROM execution_events")};
    advance_units(10);
    settle_named(s, "c", OUTCOME_OK);
    claim_all(s);
    settle_named(s, "d", OUTCOME_OK);
    path = critical(p, w, &at);
    CHECK(strstr(names_of(path), "a c"));
    CHECK_EQ(units_of_step(path, "a", "run_us"), 3);
    CHECK_EQ(units_of_step(path, "c", "run_us"), 5);
    json_decref(path);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "a c d"));
    CHECK_EQ(units_of_step(path, "c", "run_us"), 15);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int rerun_body(struct turn *t, void *arg, struct err *e)
{
    return op_rerun(t, arg, e);
}

TEST(critical_path_after_a_rerun_covers_only_the_last_run)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w =
        submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
    struct rerun r = {.request = {.execution = w, .by = "ada"}, .what = RERUN_ONLY_FAILED};
    struct err e = ERR_INIT;
    json_t *path;

    claim_all(s);
    advance_units(30);
    settle_named(s, "a", OUTCOME_OK);
    claim_all(s);
    advance_units(20);
    settle_named(s, "b", OUTCOME_FAILED);
    advance_units(3600);
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &e), &e);
    rerun_release(&r);
    advance_units(1);
    claim_all(s);
    advance_units(2);
    settle_named(s, "b", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_EQ(rounded_units(path, "total_us"), 3);
    CHECK(!strstr(names_of(path), "a"));
    CHECK_EQ(units_of_step(path, "b", "wait_us"), 1);
    CHECK_EQ(units_of_step(path, "b", "run_us"), 2);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(time_between_a_tasks_end_and_its_rerun_is_attributed_to_the_running_workflow)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(
        s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n  slow: {run: x}\n", NULL);
    struct rerun r = {
        .request = {.execution = w, .by = "ada"}, .what = RERUN_FROM_TASK, .from = "b"};
    struct err e = ERR_INIT;
    json_t *path;

    claim_all(s);
    advance_units(3);
    settle_named(s, "a", OUTCOME_OK);
    claim_all(s);
    advance_units(2);
    settle_named(s, "b", OUTCOME_FAILED);
    advance_units(50);
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &e), &e);
    rerun_release(&r);
    advance_units(1);
    claim_all(s);
    advance_units(4);
    settle_named(s, "slow", OUTCOME_OK);
    advance_units(2);
    settle_named(s, "b", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_EQ(units_of_step(path, "b", "wait_us"), 1);
    CHECK_EQ(units_of_step(path, "b", "run_us"), 6);
    CHECK_EQ(units_of_step(path, "w", "run_us"), 52);
    CHECK_EQ(units_of_step(path, "a", "run_us"), 3);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(critical_path_continues_with_a_child_that_outlives_its_task)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n", NULL);
    json_t *path;

    advance_units(1);
    claim_all(s);
    advance_units(2);
    submit_child(s, task_of(s, w, "a"), "exec::left");
    advance_units(3);
    settle_named(s, "a", OUTCOME_OK);
    CHECK_EQ(status_of(s, w), S_RUNNING);
    advance_units(4);
    CHECK_OK(settle_ok(s, claim_job(s, 5)));
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "a left"));
    CHECK_EQ(units_of_step(path, "a", "wait_us"), 1);
    /* The task counts only until it submits its child: the rest did not delay the end. */
    CHECK_EQ(units_of_step(path, "a", "run_us"), 2);
    CHECK_EQ(units_of_step(path, "left", "wait_us"), 3 + 4);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
