/* test_follow_runs.c - workflows that start when a run of another workflow ends: when, with which
 * params, how often, and when they are refused. */
#include "rerun_fixture.h"
#include "sql_submission_fixture.h"
#include "store/schedule/catalogue.h"

TEST_LONG;

#define SOURCE                                                                          \
    "name: src\nparams: {day: monday}\ntasks: {a: {run: x, outputs: n}, b: {run: x}}\n" \
    "outputs: {n: '${{ tasks.a.outputs.n }}'}\n"

/* Applies SOURCE and a workflow "f" with this trigger. */
static struct store *open_following(const char *trigger)
{
    struct store *s = fixture_store();
    char yaml[1000];

    apply(s, SOURCE);
    snprintf(yaml, sizeof(yaml),
             "name: f\nparams: {day: none, n: 0, how: none}\non: {workflow: %s}\n"
             "tasks: {a: {run: x}}\n",
             trigger);
    apply(s, yaml);
    return s;
}

static int64_t waiting_submissions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM submissions WHERE execution IS NULL AND error IS "
                         "NULL");
}

static int64_t runs_of(struct store *s, const char *name)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE name = '%s'", name);
    return sql_number(s, sql);
}

/* Runs SOURCE to its end; tasks named in `fails` fail. */
static int64_t run_source(struct store *s, const char *fails)
{
    int64_t id = submit_workflow(s, SOURCE, NULL);

    run_workflows(s, fails);
    return id;
}

TEST(follower_starts_once_with_values_of_the_run_that_ended)
{
    struct store *s = open_following("{name: src, with: {day: '${{ trigger.params.day }}', how: "
                                     "'${{ trigger.workflow }} ${{ trigger.status }}', n: '${{ "
                                     "trigger.execution }}'}}");
    int64_t run = run_source(s, " ");
    struct submission_row r;

    CHECK_EQ(waiting_submissions(s), 1);
    r = submission_of(s, sql_number(s, "SELECT max(id) FROM submissions"));
    CHECK_EQ(r.source, run);
    CHECK_STR(r.workflow, "f");
    CHECK(strstr(r.params, "\"day\":\"monday\""));
    CHECK(strstr(r.params, "\"how\":\"src succeeded\""));
    CHECK(strstr(r.by, "workflow src, execution "));
    CHECK_EQ(take_submissions(s), 1);
    CHECK_EQ(take_submissions(s), 0);
    run_workflows(s, " ");
    CHECK_EQ(status_of(s, r.id), S_SUCCEEDED);
    CHECK_EQ(runs_of(s, "f"), 1);
    CHECK_EQ(waiting_submissions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(follower_gets_the_outputs_of_the_run_that_ended)
{
    struct store *s = open_following("{name: src, with: {n: '${{ trigger.outputs.n }}'}}");
    struct task_claim k = {0};

    submit_workflow(s, SOURCE, NULL);
    for (size_t n = claim_tasks(s, &k); n; n = claim_tasks(s, &k))
        for (size_t i = 0; i < k.n; i++)
            settle_task(s, k.held[i], OUTCOME_OK, "{\"n\":7}");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE params = '{\"n\":7}'"), 1);
    CHECK_EQ(take_submissions(s), 1);
    run_workflows(s, " ");
    verify_clean(s);
    store_close(&s);
}

static const struct end_case {
    const char *status;
    int succeeded, failed, cancelled, timed_out;
} end_cases[] = {
    {"succeeded", 1, 0, 0, 0}, {"failed", 0, 1, 0, 0}, {"cancelled", 0, 0, 1, 0},
    {"timed_out", 0, 0, 0, 1}, {"any", 1, 1, 1, 1},
};

TEST(status_of_a_trigger_selects_the_ends_that_start_its_workflow)
{
    struct store *s = fixture_store();
    int64_t expected = 0;
    char yaml[500];

    for (size_t i = 0; i < sizeof(end_cases) / sizeof(*end_cases); i++) {
        snprintf(yaml, sizeof(yaml),
                 "name: on_%s\non: {workflow: {name: src, status: %s}}\ntasks: {a: {run: x}}\n",
                 end_cases[i].status, end_cases[i].status);
        apply(s, yaml);
    }
    run_source(s, " ");
    CHECK_EQ(waiting_submissions(s), expected += 2);
    run_source(s, " b ");
    CHECK_EQ(waiting_submissions(s), expected += 2);
    CHECK_EQ(control_execution(s, CONTROL_CANCEL, submit_workflow(s, SOURCE, NULL)), 0);
    CHECK_EQ(waiting_submissions(s), expected += 2);
    submit_workflow(s, SOURCE "timeout: 1m\n", NULL);
    clock_advance(2 * MINUTE);
    run_all_timers(s);
    CHECK_EQ(waiting_submissions(s), expected += 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE workflow = 'on_any'"), 4);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE workflow = 'on_timed_out'"), 1);
    take_submissions(s);
    run_workflows(s, " ");
    verify_clean(s);
    store_close(&s);
}

TEST(follower_whose_values_can_not_be_computed_is_refused_and_the_run_is_not_affected)
{
    struct store *s = open_following("{name: src, with: {n: '${{ trigger.outputs.none }}'}}");
    int64_t run = run_source(s, " ");
    struct submission_row r = submission_of(s, sql_number(s, "SELECT max(id) FROM submissions"));

    CHECK_EQ(status_of(s, run), S_SUCCEEDED);
    CHECK_STR(submission_word(s, r.id), "refused");
    CHECK(strstr(r.error, "with: n: "));
    CHECK_EQ(take_submissions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(cycle_of_workflows_ends_after_32_runs)
{
    struct store *s = fixture_store();
    int64_t runs = 0;

    apply(s, "name: x\non: {workflow: y}\ntasks: {a: {run: x}}\n");
    apply(s, "name: y\non: {workflow: x}\ntasks: {a: {run: x}}\n");
    submit_workflow(s, "name: x\ntasks: {a: {run: x}}\n", NULL);
    do
        run_workflows(s, " ");
    while (++runs < 100 && take_submissions(s));
    CHECK_EQ(runs, 33);
    CHECK_EQ(runs_of(s, "x") + runs_of(s, "y"), 33);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE error LIKE '32 runs have "
                           "started each other: remove the cycle%'"),
             1);
    verify_clean(s);
    store_close(&s);
}

static int delete_applied_body(struct turn *t, void *arg, struct err *err)
{
    return op_delete_applied(t, arg, err);
}

TEST(another_store_notices_that_a_trigger_was_added_changed_or_deleted)
{
    struct store *s = fixture_store(), *other = fixture_store();
    struct applied_deletion d = {.name = "f"};
    struct err err = ERR_INIT;

    run_source(s, " ");
    CHECK_EQ(waiting_submissions(s), 0);
    apply(other, "name: f\non: {workflow: src}\ntasks: {a: {run: x}}\n");
    run_source(s, " ");
    CHECK_EQ(waiting_submissions(s), 1);
    apply(other, "name: f\non: {workflow: {name: src, status: failed}}\ntasks: {a: {run: x}}\n");
    run_source(s, " ");
    CHECK_EQ(waiting_submissions(s), 1);
    run_source(s, " a ");
    CHECK_EQ(waiting_submissions(s), 2);
    CHECK_OK_ERR(store_turn(other, delete_applied_body, &d, &err), &err);
    run_source(s, " a ");
    CHECK_EQ(waiting_submissions(s), 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_triggers"), 0);
    take_submissions(s);
    run_workflows(s, " ");
    store_close(&other);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_nested_in_a_run_starts_no_follower)
{
    struct store *s = fixture_store();
    const char *const files[] = {"outer.yaml", "name: outer\ntasks: {n: {workflow: src.yaml}}\n",
                                 "src.yaml", "name: src\ntasks: {a: {run: x}}\n", NULL};

    apply(s, "name: f\non: {workflow: {name: src, status: any}}\ntasks: {a: {run: x}}\n");
    submit_workflow_text(s, workflow_text_of_files(files), NULL);
    run_workflows(s, " ");
    CHECK_EQ(runs_of(s, "outer::n"), 1);
    CHECK_EQ(waiting_submissions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(run_that_ends_again_after_a_rerun_in_place_starts_its_follower_again)
{
    struct store *s = open_following("[{name: src, status: failed}, {name: src}]");
    int64_t run = run_source(s, " b ");

    CHECK_EQ(waiting_submissions(s), 1);
    CHECK(rerun(s, run, RERUN_ONLY_FAILED, NULL));
    run_workflows(s, " ");
    CHECK_EQ(status_of(s, run), S_SUCCEEDED);
    CHECK_EQ(waiting_submissions(s), 2);
    take_submissions(s);
    run_workflows(s, " ");
    CHECK_EQ(runs_of(s, "f"), 2);
    verify_clean(s);
    store_close(&s);
}

/* ---- kill -9 ---- */

static void run_once(struct store *s, void *arg)
{
    (void)arg;
    submit_workflow(s, SOURCE, NULL);
    run_workflows(s, " ");
    take_submissions(s);
}

static void finish_all(struct store *s)
{
    do
        drain(s);
    while (take_submissions(s));
    CHECK_EQ(runs_of(s, "f"), runs_of(s, "src"));
}

/* The process dies at each point of a run in turn, and another one continues: each run of src that
 * ended has exactly one follower, whether the end was committed before or after the kill. */
TEST(each_run_has_one_follower_whenever_the_process_that_ends_it_is_killed)
{
    struct store *s = open_following("{name: src, status: any}");
    int nth = 0;

    store_close(&s);
    while (nth < 200 && killed_at(NULL, nth += 2, run_once, NULL)) {
        s = fixture_store();
        finish_all(s);
        store_close(&s);
    }
    CHECK(nth > 10);
    CHECK(nth < 200);
    s = fixture_store();
    finish_all(s);
    verify_clean(s);
    store_close(&s);
}
