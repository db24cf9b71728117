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

static int64_t parts_of(const json_t *o)
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

/* All parts of all steps are the whole, to the microsecond. */
static void check_sums(const json_t *path)
{
    const json_t *steps = json_object_get(path, "steps"), *step;
    int64_t sum = 0;
    size_t i;

    json_array_foreach((json_t *)steps, i, step)
    {
        CHECK_EQ(parts_of(step), number(step, "total_us"));
        CHECK(number(step, "wait_us") >= 0 && number(step, "held_us") >= 0);
        CHECK(number(step, "run_us") >= 0 && number(step, "retry_us") >= 0);
        sum += number(step, "total_us");
    }
    CHECK_EQ(sum, number(path, "total_us"));
    CHECK_EQ(sum, parts_of(path));
    CHECK_EQ(sum, time_of(path, "to") - time_of(path, "from"));
}

static json_t *critical(struct pawl *p, int64_t id, const struct pawl_moment *at)
{
    char *json = NULL;
    json_t *path;

    OK(pawl_critical(p, id, at, &json, &api_err));
    path = json_taken(json);
    check_sums(path);
    return path;
}

/* "w a b": the names of its steps without those of their workflows. */
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

/* Whole units of a part of the step of that name: the clock of a test moves by these, and whatever
 * it does itself takes far less. */
#define UNIT (1000 * SECOND)

static int64_t whole(const json_t *o, const char *part)
{
    return (number(o, part) + UNIT / 2) / UNIT;
}

static int64_t units(const json_t *path, const char *name, const char *part)
{
    const json_t *step;
    size_t i;

    json_array_foreach(json_object_get(path, "steps"), i, step)
    {
        const char *full = json_string_value(json_object_get(step, "name"));
        const char *colon = strrchr(full, ':');

        if (!strcmp(colon ? colon + 1 : full, name))
            return whole(step, part);
    }
    return 0;
}

/* Claims all there is; the job of that name. */
static struct flow_claiming claimed;

static void claim_all(struct store *s)
{
    static struct flow_claiming k;
    size_t i;

    flow_claim(s, &k);
    for (i = 0; i < k.n; i++) {
        claimed.held[claimed.n] = k.held[i];
        memcpy(claimed.names[claimed.n++], k.names[i], sizeof(k.names[i]));
    }
}

static void end(struct store *s, const char *name, enum outcome_kind kind)
{
    size_t i;

    for (i = claimed.n; i > 0; i--)
        if (!strcmp(claimed.names[i - 1], name)) {
            flow_settle(s, claimed.held[i - 1], kind, NULL);
            return;
        }
    test_fail(__FILE__, __LINE__, "%s was not claimed", name);
}

static void pass(int n)
{
    clock_advance(n * UNIT);
}

TEST(the_path_goes_back_over_the_need_that_ended_last)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n"
                            "  quick: {run: x}\n"
                            "  slow: {run: x}\n"
                            "  unrelated: {run: x}\n"
                            "  last: {run: x, needs: [quick, slow]}\n",
                            NULL);
    json_t *path;

    pass(2);
    claim_all(s);
    pass(3);
    end(s, "quick", OUTCOME_OK);
    pass(4);
    end(s, "slow", OUTCOME_OK);
    end(s, "unrelated", OUTCOME_OK);
    pass(5);
    claim_all(s);
    pass(6);
    end(s, "last", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_STR(names_of(path) + strcspn(names_of(path), "s"), "slow last");
    CHECK_EQ(units(path, "slow", "wait_us"), 2);
    CHECK_EQ(units(path, "slow", "run_us"), 7);
    CHECK_EQ(units(path, "last", "wait_us"), 5);
    CHECK_EQ(units(path, "last", "run_us"), 6);
    CHECK_EQ(whole(path, "total_us"), 20);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(failed_attempts_and_their_back_off_are_apart_from_the_run)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "exec::a", .max_attempts = 3});
    struct held_job j;
    json_t *path;

    pass(1);
    j = claim_job(s, 5);
    pass(2);
    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, 10 * UNIT));
    pass(10);
    CHECK_EQ(run_timers(s), 1);
    pass(3); /* nobody is there to claim it */
    j = claim_job(s, 5);
    pass(4);
    CHECK_OK(settle_as(s, j, OUTCOME_REFUSED, 0));
    pass(5);
    j = claim_job(s, 5);
    pass(6);
    CHECK_OK(settle_as(s, j, OUTCOME_OK, -1));
    path = critical(p, id, NULL);
    CHECK_STR(names_of(path), "a");
    CHECK_EQ(units(path, "a", "wait_us"), 1 + 3 + 4 + 5);
    CHECK_EQ(units(path, "a", "retry_us"), 2 + 10);
    CHECK_EQ(units(path, "a", "run_us"), 6);
    CHECK_EQ(units(path, "a", "held_us"), 0);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(what_an_approval_takes_is_held)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x, approval: {message: go}}\n", NULL);
    json_t *path;

    pass(7);
    OK(pawl_approve(p, flow_task(s, w, "a"), "ada", NULL, &api_err));
    pass(2);
    claim_all(s);
    pass(3);
    end(s, "a", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_EQ(units(path, "a", "run_us"), 3);
    CHECK_EQ(units(path, "a", "held_us") + units(path, "a", "wait_us"), 9);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(of_a_fan_out_the_items_that_its_end_waited_for_are_on_the_path)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = flow_submit(
        s,
        "name: w\ntasks:\n  each: {run: x, foreach: 3, max_parallel: 2}\n  after: {run: x, needs: each}\n",
        NULL);
    json_t *path;

    claim_all(s);
    pass(2);
    end(s, "each[0]", OUTCOME_OK);
    pass(1);
    claim_all(s);
    pass(1);
    end(s, "each[1]", OUTCOME_OK);
    pass(9);
    end(s, "each[2]", OUTCOME_OK);
    claim_all(s);
    end(s, "after", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "each[0] each[2] after"));
    CHECK(!strstr(names_of(path), "each[1]"));
    CHECK_EQ(units(path, "each[0]", "run_us"), 2);
    CHECK_EQ(units(path, "each[2]", "wait_us"), 1);
    CHECK_EQ(units(path, "each[2]", "run_us"), 10);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(a_nested_workflow_has_its_own_chain_on_the_path)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w =
        flow_submit_text(s,
                         flow_text_of_files((const char *const[]){
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
    pass(1);
    end(s, "first", OUTCOME_OK);
    claim_all(s);
    pass(2);
    end(s, "other", OUTCOME_OK);
    end(s, "one", OUTCOME_OK);
    claim_all(s);
    pass(3);
    end(s, "two", OUTCOME_FAILED);
    claim_all(s);
    pass(4);
    end(s, "on_exit", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "one two on_exit"));
    CHECK(!strstr(names_of(path), "other"));
    CHECK_EQ(units(path, "first", "run_us"), 1);
    CHECK_EQ(units(path, "one", "run_us"), 2);
    CHECK_EQ(units(path, "two", "run_us"), 3);
    CHECK_EQ(units(path, "on_exit", "run_us"), 4);
    json_decref(path);
    path = critical(p, flow_task(s, w, "below"), NULL); /* a part of it is a top of its own */
    CHECK_EQ(whole(path, "run_us"), 5);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(while_it_runs_the_path_ends_at_what_is_open_longest)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                            "  c: {run: x, needs: a}\n  d: {run: x, needs: [b, c]}\n",
                            NULL);
    struct pawl_moment at;
    json_t *path;

    claim_all(s);
    pass(3);
    end(s, "a", OUTCOME_OK);
    claim_all(s);
    pass(5);
    end(s, "b", OUTCOME_OK);
    at = (struct pawl_moment){.event =
                                  sql_number(s, "SELECT max(sequence_num) FROM execution_events")};
    pass(10);
    end(s, "c", OUTCOME_OK);
    claim_all(s);
    end(s, "d", OUTCOME_OK);
    path = critical(p, w, &at);
    CHECK(strstr(names_of(path), "a c"));
    CHECK_EQ(units(path, "a", "run_us"), 3);
    CHECK_EQ(units(path, "c", "run_us"), 5);
    json_decref(path);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "a c d"));
    CHECK_EQ(units(path, "c", "run_us"), 15);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int rerun_body(struct turn *t, void *arg, struct err *e)
{
    return op_rerun(t, arg, e);
}

TEST(of_what_ran_again_the_last_run_counts)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
    struct rerun r = {.request = {.execution = w, .by = "ada"}, .what = RERUN_ONLY_FAILED};
    struct err e = ERR_INIT;
    json_t *path;

    claim_all(s);
    pass(30);
    end(s, "a", OUTCOME_OK);
    claim_all(s);
    pass(20);
    end(s, "b", OUTCOME_FAILED);
    pass(3600);
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &e), &e);
    rerun_release(&r);
    pass(1);
    claim_all(s);
    pass(2);
    end(s, "b", OUTCOME_OK);
    path = critical(p, w, NULL);
    CHECK_EQ(whole(path, "total_us"), 3);
    CHECK(!strstr(names_of(path), "a"));
    CHECK_EQ(units(path, "b", "wait_us"), 1);
    CHECK_EQ(units(path, "b", "run_us"), 2);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(what_a_task_started_and_left_behind_takes_over_from_it)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x}\n", NULL);
    json_t *path;

    pass(1);
    claim_all(s);
    pass(2);
    submit_child(s, flow_task(s, w, "a"), "exec::left");
    pass(3);
    end(s, "a", OUTCOME_OK);
    CHECK_EQ(status_of(s, w), S_RUNNING);
    pass(4);
    CHECK_OK(settle_ok(s, claim_job(s, 5)));
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    path = critical(p, w, NULL);
    CHECK(strstr(names_of(path), "a left"));
    CHECK_EQ(units(path, "a", "wait_us"), 1);
    CHECK_EQ(units(path, "a", "run_us"), 2); /* up to there: the rest of it did not matter */
    CHECK_EQ(units(path, "left", "wait_us"), 3 + 4);
    json_decref(path);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
