/* test_route_setting.c - routes are a setting of the database: every job that becomes ready follows
 * them, regardless of who submitted it and which process makes it ready. */
#include "settings_fixture.h"
#include "sql_submission_fixture.h"

TEST_THREADED;

/* Sets the routes by another process. */
static void set_routes(const struct pawl_route *list, size_t n)
{
    struct pawl *p = open_pawl();

    OK(pawl_routes_set(p, &(struct pawl_routes){.routes = list, .n = n}, "ann", "test", &api_err));
    pawl_close(p);
}
#define ROUTE(task, executor) set_routes(&(struct pawl_route){task, executor}, 1)

static json_t *routes_of(struct pawl *p)
{
    char *json;

    OK(pawl_routes_get(p, &json, &api_err));
    return json_parse_and_free(json);
}

static const char *lane(struct store *s, int64_t id)
{
    const char *l = get(s, id).lane;

    return l ? l : "(none)";
}

static const char *task_lane(struct store *s, int64_t workflow, const char *task)
{
    return lane(s, task_of(s, workflow, task));
}

/* The lanes of all tasks of the workflow, which must be equal. */
static const char *all_lanes(struct store *s, const char *name)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT count(DISTINCT COALESCE(lane, '')) FROM executions "
             "WHERE name = '%s'",
             name);
    CHECK_EQ(sql_number(s, sql), 1);
    snprintf(sql, sizeof(sql), "SELECT min(id) FROM executions WHERE name = '%s'", name);
    return lane(s, sql_number(s, sql));
}

static int64_t submit_job(struct pawl *p, struct pawl_job job)
{
    OK(pawl_submit(p, &job, 1, &api_err));
    return job.id;
}

#define GPU_FILE                                                \
    "executors: {gpu: {type: process}, cpu: {type: process}}\n" \
    "dispatch: {routes: [{task: 'w::*', executor: gpu}]}"
#define OTHER_FILE                                              \
    "executors: {gpu: {type: process}, cpu: {type: process}}\n" \
    "dispatch: {routes: [{task: 'w::*', executor: cpu}], default_executor: cpu}"

TEST(applied_workflow_gets_the_same_executor_for_every_submitter)
{
    struct store *s = fixture_store();
    struct pawl *gpu = open_with("gpu", GPU_FILE), *other = open_with("other", OTHER_FILE),
                *none = open_with("none", "");
    int64_t id;

    start_engine(gpu); /* its file provides the initial routes */
    clock_to(s, "2030-06-01T12:59:00Z");
    apply_schedules(s, "{cron: '@hourly', overlap: allow}");
    CHECK_EQ(fire_due(s), 0);
    submit_job(gpu, (struct pawl_job){.applied = "w"});
    submit_job(other, (struct pawl_job){.applied = "w"});
    submit_job(none, (struct pawl_job){.applied = "w"});
    OK(pawl_schedule_run(other, "w/1", NULL, NULL, &id, &api_err));
    sql_submit(s, (struct sql_call){0});
    CHECK_EQ(take_submissions(s), 1);
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(fire_due(s), 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE name = 'w::a'"), 6);
    CHECK_STR(all_lanes(s, "w::a"), "gpu");
    pawl_close(gpu);
    pawl_close(other);
    pawl_close(none);
    verify_clean(s);
    store_close(&s);
}

TEST(routes_in_the_config_file_of_the_first_submitter_become_those_of_the_database)
{
    struct store *s = fixture_store();
    struct pawl *gpu = open_with("gpu", GPU_FILE), *other = open_with("other", OTHER_FILE);
    json_auto_t *r = NULL;
    const json_t *last;

    CHECK_STR(lane(s, submit_job(gpu, (struct pawl_job){.name = "w::x"})), "gpu");
    CHECK_STR(lane(s, submit_job(other, (struct pawl_job){.name = "w::y"})), "gpu");
    CHECK_STR(lane(s, submit_job(other, (struct pawl_job){.name = "exec::z"})), "process");
    CHECK_EQ(count_notes("differ"), 0); /* reported by workers */
    r = routes_of(other);
    last = json_object_get(r, "last_order");
    CHECK_STR(text_in(r, "source"), "database");
    CHECK(strstr(text_in(last, "reason"), "the initial value, from "));
    CHECK(strstr(text_in(last, "reason"), "gpu.yaml"));
    pawl_close(gpu);
    pawl_close(other);
    verify_clean(s);
    store_close(&s);
}

TEST(worker_whose_config_file_has_other_routes_follows_the_database_and_reports_it_once)
{
    struct store *s = fixture_store();
    struct pawl *other = open_with("other", OTHER_FILE);
    struct pawl_engine *e;
    int64_t id;

    ROUTE("w::*", "gpu");
    OK(pawl_engine_open(other, NULL, &e, &api_err));
    apply_schedules(s, "'@hourly'");
    id = sql_submit(s, (struct sql_call){0});
    do
        OK(pawl_engine_step(e, 20, &api_err)); /* the engine takes the submission */
    while (!sql_number(s, "SELECT count(*) FROM executions WHERE name = 'w::a'"));
    CHECK_STR(task_lane(s, id, "a"), "gpu");
    CHECK_EQ(count_notes("other.yaml: the keys dispatch.routes and dispatch.default_executor "
                         "differ from the database's setting, which applies: see "
                         "`pawl admin routes`"),
             1);
    CHECK_EQ(count_notes("which no worker has"), 0);
    pawl_engine_close(e);
    pawl_close(other);
    verify_clean(s);
    store_close(&s);
}

TEST(changed_routes_apply_to_pending_tasks_of_a_running_workflow)
{
    struct store *s = fixture_store();
    struct task_claim k = {0};
    int64_t w = submit_workflow(s,
                                "name: w\n"
                                "tasks:\n"
                                "  a: {run: x}\n"
                                "  ready: {run: x}\n"
                                "  held: {run: x, delay: 1h}\n"
                                "  b: {run: x, needs: a}\n"
                                "  named: {run: x, needs: a, executor: cpu}\n"
                                "  function: {function: f, needs: a}\n"
                                "  container: {run: x, needs: a, container: {image: i}}\n"
                                "  items: {run: x, needs: a, foreach: [1, 2]}\n",
                                NULL);

    CHECK_STR(task_lane(s, w, "a"), "process");
    CHECK_STR(task_lane(s, w, "b"), "(none)");
    CHECK_EQ(claim_tasks(s, &k), 2);
    ROUTE("w::*", "gpu");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(task_lane(s, w, "ready"), "process");
    CHECK_STR(task_lane(s, w, "held"), "process");
    CHECK_STR(task_lane(s, w, "b"), "gpu");
    CHECK_STR(task_lane(s, w, "named"), "cpu");
    CHECK_STR(task_lane(s, w, "function"), "function:f");
    CHECK_STR(task_lane(s, w, "container"), "gpu");
    CHECK_STR(task_lane(s, w, "items[0]"), "gpu");
    CHECK_STR(task_lane(s, w, "items[1]"), "gpu");
    verify_clean(s);
    store_close(&s);
}

TEST(changed_routes_apply_to_the_next_items_of_a_running_fan_out)
{
    struct store *s = fixture_store();
    struct task_claim k = {0};
    int64_t w = submit_workflow(
        s, "name: w\ntasks: {l: {run: x, foreach: [1, 2, 3], max_parallel: 1}}", NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    ROUTE("w::l", "gpu");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(task_lane(s, w, "l[0]"), "process");
    CHECK_STR(task_lane(s, w, "l[1]"), "gpu");
    verify_clean(s);
    store_close(&s);
}

/* Up to version 18 of the schema a task got its lane when it was created. */
TEST(pending_task_that_an_older_version_stored_with_a_lane_is_routed_by_the_database)
{
    struct store *s = fixture_store();
    struct task_claim k = {0};
    int64_t w = submit_workflow(s, "name: w\ntasks: {a: {run: x}, b: {run: x, needs: a}}", NULL);

    sql_run(s, "UPDATE executions SET lane = 'frozen' WHERE name = 'w::b'");
    ROUTE("w::*", "gpu");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(task_lane(s, w, "b"), "gpu");
    verify_clean(s);
    store_close(&s);
}

static void rerun(struct pawl *p, int64_t id)
{
    OK(pawl_rerun(p, id, &(struct pawl_rerun){0}, NULL, &api_err));
}

TEST(rerun_is_routed_again_unless_the_job_names_its_executor)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t routed = submit_job(p, (struct pawl_job){.name = "exec::a"});
    int64_t named = submit_job(p, (struct pawl_job){.name = "exec::b", .lane = "process"});
    int64_t w = submit_workflow(s, "name: w\ntasks: {a: {run: x}}", NULL);

    run_workflows(s, "");
    CHECK_EQ(status_of(s, routed), S_SUCCEEDED);
    ROUTE("*", "gpu");
    rerun(p, routed);
    rerun(p, named);
    rerun(p, w);
    CHECK_STR(lane(s, routed), "gpu");
    CHECK_STR(lane(s, named), "process");
    CHECK_STR(task_lane(s, w, "a"), "gpu");
    ROUTE("*", "cpu");
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(idempotency_key_returns_the_same_execution_after_the_routes_changed)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_job job = {.name = "exec::a", .key = "k"}, again = job;
    struct pawl_job older = {.name = "exec::a", .key = "older", .lane = "gpu"};
    int64_t id = submit_job(p, job), older_id = submit_job(p, older);

    ROUTE("exec::*", "gpu");
    OK(pawl_submit(p, &again, 1, &api_err));
    CHECK(again.existed);
    CHECK_EQ(again.id, id);
    /* an older version stored the key with the lane that its routes chose */
    older.lane = NULL;
    OK(pawl_submit(p, &older, 1, &api_err));
    CHECK(older.existed);
    CHECK_EQ(older.id, older_id);
    older.lane = "cpu";
    FAILS(pawl_submit(p, &older, 1, &api_err), PAWL_E_CONFLICT);
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(route_to_an_executor_that_no_worker_has_is_accepted_and_workers_report_it)
{
    static const struct pawl_route list[] = {
        {"a::*", "contaner"}, {"b::*", "gpu"}, {"c::*", "contaner"}};
    struct store *s = fixture_store();
    struct pawl *p = open_with("gpu", "executors: {gpu: {type: process}}");
    json_auto_t *r = NULL;
    const json_t *unknown;

    set_routes(list, 3);
    r = routes_of(p);
    unknown = json_object_get(r, "unknown_executors");
    CHECK_EQ((int)json_array_size(unknown), 1);
    CHECK_STR(json_string_value(json_array_get(unknown, 0)), "contaner");
    start_engine(p);
    CHECK_EQ(count_notes("the routes of the database name the executor \"contaner\", which no "
                         "worker has"),
             1);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(routes_are_set_from_a_file_and_cleared)
{
    struct pawl *gpu = open_with("gpu", GPU_FILE), *p = open_with("none", "");
    json_auto_t *set = NULL, *cleared = NULL;
    char path[4096];

    snprintf(path, sizeof(path), "%s/gpu.yaml", test_dir());
    OK(pawl_routes_set(p, &(struct pawl_routes){.file = path}, NULL, NULL, &api_err));
    set = routes_of(p);
    CHECK_STR(text_in(json_array_get(json_object_get(set, "routes"), 0), "executor"), "gpu");
    CHECK_STR(text_in(set, "default_executor"), "process");
    OK(pawl_routes_set(p, &(struct pawl_routes){0}, NULL, NULL, &api_err));
    start_engine(gpu); /* its file is not used again */
    cleared = routes_of(p);
    CHECK_EQ((int)json_array_size(json_object_get(cleared, "routes")), 0);
    CHECK_EQ(count_notes("differ"), 1);
    snprintf(path, sizeof(path), "%s/none.yaml", test_dir());
    FAILS(pawl_routes_set(p, &(struct pawl_routes){.file = path}, NULL, NULL, &api_err),
          PAWL_E_INVALID);
    pawl_close(gpu);
    pawl_close(p);
}

/* ---- cost ---- */

static int reads;

static void count_reads(void *arg, const char *what, int64_t took, long rows)
{
    (void)arg, (void)took, (void)rows;
    reads += !strcmp(what, "setting_read") || !strcmp(what, "settings_read_version");
}

TEST(store_reads_the_routes_again_only_after_a_change)
{
    struct store *s = fixture_store();

    fixture_env()->trace = count_reads;
    for (int i = 0; i < 5; i++)
        submit(s, "x");
    CHECK_EQ(reads, 0); /* no setting was ever changed */
    ROUTE("w::*", "gpu");
    reads = 0;
    for (int i = 0; i < 5; i++)
        submit(s, "x");
    CHECK_EQ(reads, 1);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}
