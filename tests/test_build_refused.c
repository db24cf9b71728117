/* test_build_refused.c - invalid workflows built in C: they get the same error messages as a file,
 * and values that no file can hold are reported with their key. */
#include "api_fixture.h"
#include "workflow_fixture.h"

#include <math.h>

static void add_message(void *arg, const struct pawl_problem *p)
{
    buf_addf(arg, "%s\n", p->message);
}

/* Checks that the built workflow and the file are refused with the same messages. Frees w. */
static void check_same_errors(struct pawl_workflow *w, const char *yaml)
{
    struct buf built = BUF_INIT, read = BUF_INIT;
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/workflow", test_dir());
    f = fopen(path, "we");
    CHECK(f);
    fputs(yaml, f);
    CHECK_EQ(fclose(f), 0);
    CHECK_EQ(pawl_validate(path, add_message, &read, NULL, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_workflow_check(w, add_message, &built, NULL, &api_err), -PAWL_E_INVALID);
    CHECK_STR(buf_cstr(&built), buf_cstr(&read));
    CHECK(strstr(api_err.message, "workflow:"));
    buf_release(&built);
    buf_release(&read);
    pawl_workflow_free(w);
}

static struct pawl_workflow *build_one_task(const char *name, const struct pawl_task_keys *t)
{
    struct pawl_workflow *w = pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w"});

    if (t)
        pawl_workflow_task(w, name, t);
    return w;
}

TEST(workflow_built_by_a_program_gets_the_same_errors_as_the_equivalent_file)
{
    char long_key[1201], with[1220], yaml[1300];
    struct pawl_workflow *w;

    check_same_errors(build_one_task(NULL, NULL), "name: w\n");
    check_same_errors(
        build_one_task("a", &(struct pawl_task_keys){.needs = PAWL_LIST("b"), .run = "x"}),
        "name: w\ntasks: {a: {needs: b, run: x}}\n");
    check_same_errors(build_one_task("a", &(struct pawl_task_keys){.timeout = 5}),
                      "name: w\ntasks: {a: {timeout: 5us}}\n");
    check_same_errors(
        build_one_task("a b", &(struct pawl_task_keys){.run = "${{ x }}", .function = "f"}),
        "name: w\ntasks: {a b: {run: \"${{ x }}\", function: f}}\n");
    check_same_errors(build_one_task("on_exit", &(struct pawl_task_keys){.run = "x"}),
                      "name: w\ntasks: {on_exit: {run: x}}\n");
    check_same_errors(
        build_one_task("a", &(struct pawl_task_keys){.run = "x", .env = PAWL_LIST("A", "2=x")}),
        "name: w\ntasks: {a: {run: x, env: {A: null, '2': x}}}\n");
    check_same_errors(build_one_task("a", &(struct pawl_task_keys){.run = "x", .with = "[1]"}),
                      "name: w\ntasks: {a: {run: x, with: [1]}}\n");
    check_same_errors(
        build_one_task("a", &(struct pawl_task_keys){.run = "x", .retry = {.backoff = NAN}}),
        "name: w\ntasks: {a: {run: x, retry: {backoff: nan}}}\n");
    check_same_errors(
        build_one_task("a",
                       &(struct pawl_task_keys){.run = "x", .timeout = -5, .delay = INT64_MIN}),
        "name: w\ntasks: {a: {run: x, timeout: -5us, delay: -9223372036854775808us}}\n");
    memset(long_key, 'k', sizeof(long_key) - 1);
    long_key[sizeof(long_key) - 1] = '\0';
    snprintf(with, sizeof(with), "{\"%s\": 1}", long_key);
    snprintf(yaml, sizeof(yaml), "name: w\ntasks:\n  a:\n    run: x\n    with: {%s: 1}\n",
             long_key);
    check_same_errors(build_one_task("a", &(struct pawl_task_keys){.run = "x", .with = with}),
                      yaml);
    CHECK(strstr(api_err.message, "this key is longer than 1024 characters"));
    w = build_one_task("a", &(struct pawl_task_keys){.run = "x"});
    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "y"});
    check_same_errors(w, "# a file\nname: w\ntasks:\n  a: {run: x}\n  a: {run: y}\n");
}

TEST(invalid_json_in_a_built_workflow_is_reported_with_its_key_and_nothing_is_stored)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_workflow *w =
        pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w", .outputs = "{\"a\": 1"});
    struct pawl_job job = {.built = w};

    pawl_workflow_param(w, "day", &(struct pawl_param_keys){.value = "today"});
    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "x", .foreach = "[1, 2"});
    pawl_workflow_task(w, "b", &(struct pawl_task_keys){.needs = PAWL_LIST("c"), .run = "x"});
    CHECK_EQ(pawl_submit(p, &job, 1, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "outputs is not valid JSON (line 1, column 7: "));
    CHECK(strstr(api_err.message, "params.day.default is not valid JSON"));
    CHECK(strstr(api_err.message, "tasks.a.foreach is not valid JSON"));
    CHECK(strstr(api_err.message, "tasks.b.needs"));
    CHECK_EQ(pawl_apply_built(p, w, NULL, NULL, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    pawl_workflow_free(w);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* For example a time in nanoseconds: the year 57844 would be written as 7844. */
TEST(built_schedule_time_outside_the_years_0_to_9999_is_reported_with_its_key)
{
    static const int64_t far[] = {1763294400000000000, 253402300800 * SECOND,
                                  -62167219200 * SECOND - 1, INT64_MIN, INT64_MAX};
    struct buf messages = BUF_INIT;
    size_t i;

    for (i = 0; i < sizeof(far) / sizeof(*far); i++) {
        struct pawl_workflow *w = build_one_task("a", &(struct pawl_task_keys){.run = "x"});
        char message[200];

        pawl_workflow_schedule(
            w, &(struct pawl_schedule_keys){.cron = "@daily", .start = far[i], .end = SECOND});
        buf_reset(&messages);
        CHECK_EQ(pawl_workflow_check(w, add_message, &messages, NULL, &api_err), -PAWL_E_INVALID);
        snprintf(
            message, sizeof(message),
            "on.schedule.start is not within the years 0 to 9999: %lld is read as µs since 1970\n",
            (long long)far[i]);
        CHECK_STR(buf_cstr(&messages), message);
        CHECK(strstr(pawl_workflow_text(w), "{\"cron\":\"@daily\",\"end\":\"1970-"));
        pawl_workflow_free(w);
    }
    buf_release(&messages);
}
