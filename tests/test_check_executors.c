/* test_check_executors.c - warnings of tasks whose executor nobody is known to have, before they
 * are submitted, and `why` for those that were submitted by SQL. */
#include "settings_fixture.h"
#include "sql_submission_fixture.h"

TEST_THREADED;

/* The warnings of the last check, one per line. */
static char warnings[4096];
static int nwarnings;

static void keep_warning(void *arg, const struct pawl_problem *p)
{
    size_t n = strlen(warnings);

    CHECK(!arg);
    nwarnings++;
    snprintf(warnings + n, sizeof(warnings) - n, "%s:%u:%u: %s\n", p->file ? p->file : "", p->line,
             p->column, p->message);
}

static const char *check_job(struct pawl *p, struct pawl_engine *e, struct pawl_job job)
{
    *warnings = '\0';
    nwarnings = 0;
    OK(pawl_check_executors(p, e, &job, keep_warning, NULL, &api_err));
    return warnings;
}

#define EXECUTOR_TASK(executor) "name: w\ntasks: {a: {executor: " executor ", with: {n: 1}}}"
#define UNKNOWN(executor)                                                                    \
    "workflow:2:9: tasks.a names the executor \"" executor "\", which no worker has served " \
    "yet: the task waits until a worker has it"

TEST(executor_that_no_worker_has_served_gets_a_warning)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with("one", "executors: {mailer: {type: custom}}");

    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("gpu")}),
              UNKNOWN("gpu") "\n");
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("maler")}),
              UNKNOWN("maler") "; did you mean \"mailer\"?\n");
    /* known by the configuration, or built in */
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("mailer")}), "");
    CHECK_STR(check_job(p, NULL,
                        (struct pawl_job){.yaml = "name: w\n"
                                                  "tasks: {a: x, b: {function: f}, c: {container: "
                                                  "i, run: x}, d: {executor: process, run: x}}"}),
              "");
    /* a job that is not a workflow */
    CHECK_STR(
        check_job(p, NULL, (struct pawl_job){.name = "exec::a", .lane = "malier"}),
        ":0:0: the job names the executor \"malier\", which no worker has served yet: the job "
        "waits until a worker has it; did you mean \"mailer\"?\n");
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.name = "exec::a", .lane = "function:f"}), "");
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.name = "exec::a"}), "");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int register_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_register(t, arg, err);
}

static void register_lane(struct store *s, int64_t id, const char *serves)
{
    struct worker w = {.id = id,
                       .pid = 1,
                       .host = "h",
                       .folder = "f",
                       .version = "1",
                       .serves = serves,
                       .capacity = 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_body, &w, &err), &err);
}

TEST(executor_of_a_worker_or_of_an_earlier_attempt_gets_no_warning)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with("one", "");
    struct pawl_worker *w;
    struct pawl_claim claim;
    struct pawl_settlement end = {.outcome = PAWL_OK, .duration = -1};
    struct pawl_worker_options o = {.lanes = (const char *[]){"gpu", NULL}};
    struct pawl_job job = {.name = "exec::x", .lane = "gpu"};
    size_t n;

    OK(pawl_worker_open(p, &o, &w, &api_err));
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("gpu")}), "");
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("gpuu")}),
              UNKNOWN("gpuu") "; did you mean \"gpu\"?\n");
    OK(pawl_submit(p, &job, 1, &api_err));
    OK(pawl_claim(w, &claim, 1, &n, &api_err));
    CHECK_EQ(n, 1);
    end.lease = (struct pawl_lease){.execution = claim.execution, .epoch = claim.epoch};
    OK(pawl_settle(w, &end, 1, &api_err));
    pawl_worker_close(w); /* its row is gone, but the executor has run an attempt */
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("gpu")}), "");
    CHECK_STR(check_job(p, NULL, (struct pawl_job){.yaml = EXECUTOR_TASK("gpuu")}),
              UNKNOWN("gpuu") "; did you mean \"gpu\"?\n");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(unknown_executor_gets_one_warning_that_names_its_first_task_at_any_depth)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with("one", "executors: {batch: {type: process}}");
    struct pawl_definition d;
    char path[4096], inner[4096], yaml[9000];
    struct pawl_workflow *built;
    FILE *f;

    snprintf(inner, sizeof(inner), "%s/inner.flow.yaml", test_dir());
    CHECK((f = fopen(inner, "w")) != NULL);
    fprintf(f, "tasks:\n  deep: {executor: tpu}\n  more: {executor: gpu}\n");
    CHECK_EQ(fclose(f), 0);
    snprintf(path, sizeof(path), "%s/outer.flow.yaml", test_dir());
    snprintf(yaml, sizeof(yaml),
             "tasks:\n"
             "  a: {executor: gpu, with: {n: 1}}\n"
             "  b: {workflow: inner.flow.yaml}\n"
             "  c: {executor: gpu, run: x}\n"
             "  d: {executor: batch, with: {n: 1}}\n"
             "on_exit: {executor: mail}\n");
    CHECK((f = fopen(path, "w")) != NULL);
    fputs(yaml, f);
    CHECK_EQ(fclose(f), 0);
    OK(pawl_validate(path, NULL, NULL, &d, &api_err));
    CHECK_EQ(d.executors, 6);
    CHECK_STR(
        check_job(p, NULL, (struct pawl_job){.workflow = path}),
        "outer.flow.yaml:2:3: tasks.a names the executor \"gpu\", which no worker has served yet: "
        "the task waits until a worker has it (2 other tasks name it, too)\n"
        "outer.flow.yaml:5:3: tasks.d has neither run nor argv, but its executor \"batch\" runs "
        "commands: the task will fail\n"
        "outer.flow.yaml:6:10: on_exit names the executor \"mail\", which no worker has served yet: "
        "the task waits until a worker has it\n"
        "inner.flow.yaml:2:3: tasks.deep names the executor \"tpu\", which no worker has served "
        "yet: the task waits until a worker has it\n");
    /* the same for a loaded and for an applied workflow */
    OK(pawl_workflow_load(path, NULL, NULL, &built, &api_err));
    check_job(p, NULL, (struct pawl_job){.built = built});
    CHECK_EQ(nwarnings, 4);
    OK(pawl_apply_built(p, built, NULL, NULL, &api_err));
    check_job(p, NULL, (struct pawl_job){.applied = "outer"});
    CHECK_EQ(nwarnings, 4);
    CHECK_EQ(pawl_check_executors(p, NULL, &(struct pawl_job){.applied = "outr"}, keep_warning,
                                  NULL, &api_err),
             -PAWL_E_NOT_FOUND);
    pawl_workflow_free(built);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(task_that_is_routed_to_an_unknown_executor_gets_a_warning)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with("one", "");
    struct pawl_route r = {"w::a", "gpuu"};

    OK(pawl_routes_set(p, &(struct pawl_routes){.routes = &r, .n = 1}, NULL, NULL, &api_err));
    register_lane(s, 5, "{\"gpu\":[\"default\"]}");
    CHECK_STR(
        check_job(p, NULL, (struct pawl_job){.yaml = "name: w\ntasks: {a: x, b: x}"}),
        "workflow:2:9: tasks.a is routed to the executor \"gpuu\", which no worker has served yet: "
        "the task waits until a worker has it; did you mean \"gpu\"?\n");
    start_engine(p); /* a worker that starts reports the route */
    CHECK_EQ(count_notes("the routes of the database name the executor \"gpuu\", which no worker "
                         "has: tasks that are routed to it wait; see `pawl admin routes`; did you "
                         "mean \"gpu\"?"),
             1);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int start_nothing(void *data, const struct pawl_task *t, struct pawl_error *err)
{
    (void)data;
    (void)t;
    (void)err;
    return -PAWL_E_REFUSED;
}

TEST(foreground_job_is_checked_against_the_executors_of_its_own_engine)
{
    struct store *s = fixture_store();
    struct pawl *p =
        open_with("one", "executors: {process: {enabled: false}, container: {enabled: false}}");
    struct pawl_executor x = {.key = "lab", .start = start_nothing};
    struct pawl_engine_options here = {.here = true};
    struct pawl_engine *e;

    register_lane(s, 5, "{\"gpu\":[\"default\"]}"); /* does not run the job of this engine */
    OK(pawl_engine_open(p, &here, &e, &api_err));
    OK(pawl_engine_add_executor(e, &x, &api_err));
    CHECK_STR(check_job(p, e, (struct pawl_job){.yaml = EXECUTOR_TASK("lab")}), "");
    CHECK_STR(
        check_job(p, e, (struct pawl_job){.yaml = EXECUTOR_TASK("gpu")}),
        "workflow:2:9: tasks.a names the executor \"gpu\", which this process does not have, and no "
        "other process runs the task, so it would wait: queue it for a worker that has the executor\n");
    check_job(p, e, (struct pawl_job){.yaml = EXECUTOR_TASK("lap")});
    CHECK(strstr(warnings, "; did you mean \"lab\"?"));
    pawl_engine_close(e);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(why_of_a_task_submitted_by_sql_names_the_unknown_executor)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with("one", "");
    int64_t id;
    char *json;

    OK(pawl_apply_text(p, EXECUTOR_TASK("gpuu"), NULL, NULL, &api_err));
    id = sql_submit(s, (struct sql_call){0});
    CHECK_EQ(take_submissions(s), 1);
    register_lane(s, 5, "{\"gpu\":[\"default\"],\"process\":[\"default\"]}");
    OK(pawl_why(p, task_of(s, id, "a"), &json, &api_err));
    CHECK(strstr(json, "{\"code\":\"not_served\","));
    CHECK(strstr(json,
                 "{\"code\":\"unknown_executor\",\"text\":\"no worker has served the executor "
                 "\\\"gpuu\\\" yet; did you mean \\\"gpu\\\"?\",\"executor\":\"gpuu\","
                 "\"similar\":\"gpu\"}"));
    free(json);
    register_lane(s, 6, "{\"gpuu\":[\"mail\"]}"); /* it exists, but not in this queue */
    OK(pawl_why(p, task_of(s, id, "a"), &json, &api_err));
    CHECK(strstr(json, "not_served") && !strstr(json, "unknown_executor"));
    free(json);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
