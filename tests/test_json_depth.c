/* test_json_depth.c - how deep JSON may be nested: deeper input is refused with an error that names
 * the limit, deeper outputs fail their task, and every stored workflow can be read again. Each test
 * ends with verify. */
#include "api_fixture.h"
#include "base/json.h"
#include "sql_submission_fixture.h"
#include "workflow_fixture.h"

TEST_LONG;

#define PARSER_MAX 2048 /* levels that the parser reads */
#define ONE_LIST   "name: w\nparams: {p: {type: list, default: []}}\ntasks: {a: {run: x}}\n"
#define LIMIT      "levels deep; at most 64 are allowed"

static struct arena texts = ARENA_INIT; /* lives as long as the test */

static const char *keep_text(struct buf *b)
{
    const char *text = arena_memdup0(&texts, b->ptr, b->len);

    buf_release(b);
    return text;
}

/* A list with `depth` levels; [[]] for 2. */
static const char *nested(int depth)
{
    struct buf b = BUF_INIT;
    int i;

    for (i = 0; i < depth; i++)
        buf_addch(&b, '[');
    for (i = 0; i < depth; i++)
        buf_addch(&b, ']');
    return keep_text(&b);
}

/* An object with `depth` levels, as params and outputs are: {"p": [[…]]}. */
static const char *object(int depth)
{
    struct buf b = BUF_INIT;

    buf_addf(&b, "{\"p\":%s}", nested(depth - 1));
    return keep_text(&b);
}

static void check_names_limit(const char *message)
{
    if (!message || !strstr(message, LIMIT))
        test_fail(__FILE__, __LINE__, "this does not name the limit: %s", message);
}

static int64_t executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions");
}

static void verify_and_close(struct store *s)
{
    verify_clean(s);
    store_close(&s);
}

/* ---- input ---- */

TEST(too_deeply_nested_params_from_a_program_are_refused_and_nothing_is_stored)
{
    static const int depths[] = {65, PARSER_MAX - 1, PARSER_MAX, PARSER_MAX + 1, 100000};
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct buf param = BUF_INIT;
    const char *params[] = {NULL, NULL};
    size_t i;

    for (i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
        struct pawl_job by_input = {.yaml = ONE_LIST, .input = object(depths[i])};
        struct pawl_job by_param = {.yaml = ONE_LIST, .params = params};
        struct pawl_job job = {.name = "exec::a", .input = nested(depths[i])};
        struct pawl_job spec = {.name = "exec::a", .spec = nested(depths[i])};
        struct pawl_job *all[] = {&by_input, &by_param, &job, &spec};
        size_t nth;

        buf_reset(&param);
        buf_addf(&param, "p=%s", nested(depths[i] - 1));
        params[0] = buf_cstr(&param);
        for (nth = 0; nth < 4; nth++) {
            CHECK_EQ(pawl_submit(p, all[nth], 1, &api_err), -PAWL_E_INVALID);
            check_names_limit(api_err.message);
        }
    }
    CHECK_EQ(executions(s), 0);
    buf_release(&param);
    pawl_close(p);
    verify_and_close(s);
}

static int submit_deep(struct pawl_tx *tx, void *arg)
{
    return pawl_tx_submit(tx, arg, 1, &api_err);
}

TEST(too_deeply_nested_params_in_a_transaction_are_refused_and_nothing_is_stored)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_job job = {.yaml = ONE_LIST, .input = object(PARSER_MAX - 1)};
    struct pawl_error err;

    if (strcmp(test_db(), "sqlite"))
        SKIP("for SQLite only: on PostgreSQL a program uses its own connection");
    CHECK_EQ(pawl_transaction(p, submit_deep, &job, &err), -PAWL_E_INVALID);
    check_names_limit(api_err.message);
    CHECK_EQ(executions(s), 0);
    pawl_close(p);
    verify_and_close(s);
}

TEST(params_at_the_depth_limit_are_accepted_and_the_workflow_runs)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, ONE_LIST, object(JSON_DEPTH_MAX));

    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_and_close(s);
}

TEST(too_deeply_nested_params_from_sql_are_refused_and_other_submissions_are_accepted)
{
    struct store *s = fixture_store();
    int64_t deep, deeper, limit;

    apply(s, ONE_LIST);
    deep = sql_submit(s, (struct sql_call){.params = object(65)});
    deeper = sql_submit(s, (struct sql_call){.params = object(PARSER_MAX - 1), .key = "k"});
    limit = sql_submit(s, (struct sql_call){.params = object(JSON_DEPTH_MAX)});
    CHECK_EQ(take_submissions(s), 3);
    CHECK_STR(submission_word(s, deep), "refused");
    check_names_limit(submission_of(s, deep).error);
    CHECK_STR(submission_word(s, deeper), "refused");
    check_names_limit(submission_of(s, deeper).error);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, limit), S_SUCCEEDED);
    CHECK_EQ(take_submissions(s), 0);
    verify_and_close(s);
}

TEST(too_deeply_nested_values_in_a_built_workflow_are_refused)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_workflow *w =
        pawl_workflow_new(&(struct pawl_workflow_keys){.name = "w", .vars = object(65)});
    struct pawl_job job = {.built = w};

    pawl_workflow_task(w, "a", &(struct pawl_task_keys){.run = "x", .foreach = nested(2100)});
    CHECK_EQ(pawl_submit(p, &job, 1, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "vars nests lists and objects 65 " LIMIT));
    CHECK(strstr(api_err.message, "tasks.a.foreach nests lists and objects 2100 " LIMIT));
    CHECK_EQ(executions(s), 0);
    pawl_workflow_free(w);
    pawl_close(p);
    verify_and_close(s);
}

/* A file has 64 levels; its canonical text has more where the file is nested in another. */
TEST(literals_at_the_depth_limit_in_a_nested_file_are_stored_and_run)
{
    struct buf below = BUF_INIT;
    const char *files[] = {"top.yaml", "name: top\ntasks: {n: {workflow: below.yaml}}\n",
                           "below.yaml", NULL, NULL};
    struct store *s = fixture_store();
    int64_t w;

    buf_addf(&below, "name: below\ntasks: {a: {run: x, foreach: %s}}\n", nested(61));
    files[3] = buf_cstr(&below);
    w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    buf_release(&below);
    verify_and_close(s);
}

/* ---- outputs of tasks ---- */

TEST(too_deeply_nested_outputs_fail_their_task)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(s,
                                "name: w\ntasks: {a: {run: x}, b: {run: x}, c: {run: x}, "
                                "d: {run: x, needs: a, env: {P: '${{ tasks.a.outputs }}'}}}\n",
                                NULL);

    CHECK_EQ(claim_tasks(s, &k), 3);
    settle_task(s, k.held[0], OUTCOME_OK, object(JSON_DEPTH_MAX));
    settle_task(s, k.held[1], OUTCOME_OK, object(65));
    settle_task(s, k.held[2], OUTCOME_OK, object(PARSER_MAX));
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, nested(63)));
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(tree_text(s, w), "a:succeeded b:failed c:failed d:succeeded");
    check_names_limit(get(s, task_of(s, w, "b")).error);
    check_names_limit(get(s, task_of(s, w, "c")).error);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_and_close(s);
}

/* Submits a fan-out and a task that refers to its outputs; claims its two items. */
static int64_t submit_and_claim_items(struct store *s, struct task_claim *k)
{
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  each: {run: x, foreach: 2}\n"
                        "  sum: {run: x, needs: each, env: {ALL: '${{ tasks.each.outputs }}'}}\n",
                        NULL);

    CHECK_EQ(claim_tasks(s, k), 2);
    return w;
}

TEST(outputs_of_a_fan_out_at_the_depth_limit_reach_its_follower)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_and_claim_items(s, &k);

    settle_task(s, k.held[0], OUTCOME_OK, object(JSON_DEPTH_MAX));
    settle_task(s, k.held[1], OUTCOME_OK, object(JSON_DEPTH_MAX));
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, nested(63)));
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_and_close(s);
}

/* Earlier versions could read the outputs of each item, but not the list of all of them, which is
 * nested one level deeper; they treated it as {}. */
TEST(too_deeply_nested_outputs_of_an_item_fail_the_fan_out)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_and_claim_items(s, &k);

    settle_task(s, k.held[0], OUTCOME_OK, object(PARSER_MAX - 1));
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    CHECK_STR(tree_text(s, w), "each:failed sum:skipped each[0]:failed each[1]:succeeded");
    check_names_limit(get(s, task_of(s, w, "each[0]")).error);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_and_close(s);
}

/* Such a row may have been written by an earlier version. */
TEST(stored_outputs_that_cannot_be_parsed_fail_the_task_that_refers_to_them)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    struct buf sql = BUF_INIT;
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  c: {run: x, needs: b, env: {P: '${{ tasks.a.outputs }}'}}\n",
                                NULL);
    int64_t a = task_of(s, w, "a");

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{}");
    buf_addf(&sql, "UPDATE executions SET result = '%s' WHERE id = %lld", object(PARSER_MAX + 1),
             (long long)a);
    sql_run(s, buf_cstr(&sql));
    run_workflows(s, "");
    CHECK_STR(tree_text(s, w), "a:succeeded b:succeeded c:failed");
    CHECK(strstr(get(s, task_of(s, w, "c")).error, "the outputs of a (execution "));
    CHECK_EQ(status_of(s, w), S_FAILED);
    buf_release(&sql);
    verify_and_close(s);
}

TEST(too_deeply_nested_result_from_a_program_fails_the_job)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_worker_options o = {.folder = "here"};
    struct pawl_worker *w = NULL;
    struct pawl_job job = {.name = "exec::a"};
    struct pawl_claim c = {0};
    struct pawl_settlement settlement = {.outcome = PAWL_OK, .result = nested(65)};
    size_t n = 0;

    OK(pawl_worker_open(p, &o, &w, &api_err));
    OK(pawl_submit(p, &job, 1, &api_err));
    OK(pawl_claim(w, &c, 1, &n, &api_err));
    CHECK_EQ(n, 1);
    settlement.lease = (struct pawl_lease){.execution = c.execution, .epoch = c.epoch};
    OK(pawl_settle(w, &settlement, 1, &api_err));
    CHECK_STR(settlement.status, "failed");
    check_names_limit(get(s, job.id).error);
    pawl_worker_close(w);
    pawl_close(p);
    verify_and_close(s);
}

/* ---- values made by expressions ---- */

/* Values at the limit become one level deeper wherever they are stored. */
TEST(values_that_become_too_deep_fail_the_task_that_stores_them)
{
    static const char *const names[] = {"f", "each", "n"};
    const char *files[] = {"top.yaml",
                           "name: top\nparams: {p: {type: list}}\ntasks:\n"
                           "  f: {function: f, with: {x: ['${{ params.p }}']}}\n"
                           "  each: {run: x, foreach: [['${{ params.p }}']]}\n"
                           "  n: {workflow: below.yaml, with: {q: ['${{ params.p }}']}}\n"
                           "  fine: {workflow: below.yaml, with: {q: '${{ params.p }}'}}\n",
                           "below.yaml",
                           "name: below\nparams: {q: {type: list}}\ntasks: {a: {run: x}}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), object(JSON_DEPTH_MAX));
    size_t i;

    run_workflows(s, "");
    for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CHECK_EQ(task_status(s, w, names[i]), S_FAILED);
        check_names_limit(get(s, task_of(s, w, names[i])).error);
    }
    CHECK_EQ(task_status(s, w, "fine"), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_and_close(s);
}

TEST(vars_that_become_too_deep_fail_the_workflow)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\nparams: {p: {type: list}}\nvars: {v: ['${{ params.p }}']}\n"
                        "tasks: {a: {run: x}}\n",
                        object(JSON_DEPTH_MAX));

    CHECK_EQ(status_of(s, w), S_FAILED);
    check_names_limit(get(s, w).error);
    verify_and_close(s);
}

TEST(workflow_outputs_that_become_too_deep_fail_the_workflow)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(
        s, "name: w\ntasks: {a: {run: x}}\noutputs: {all: '${{ tasks.a.outputs }}'}\n", NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, object(JSON_DEPTH_MAX));
    CHECK_EQ(status_of(s, w), S_FAILED);
    check_names_limit(get(s, w).error);
    verify_and_close(s);
}
