/* test_bulk.c - pawl_bulk: one action on all executions that match a filter, in slices. */
#include "control_fixture.h"
#include "core/graph.h"
#include "sql_submission_fixture.h"
#include "workflow_fixture.h"

static struct pawl *p;
static struct store *s;
static struct pawl_bulk_result r;

static void open_both(void)
{
    s = fixture_store();
    p = open_pawl();
}

/* ---- calls ---- */

/* Adds "name:status", or "name: error". */
static int add_line(void *arg, const char *json)
{
    json_t *o = json_loads(json, 0, NULL);
    const char *error = json_string_value(json_object_get(o, "error"));
    char *text = arg;
    size_t used = strlen(text);

    snprintf(text + used, 2000 - used, "%s%s:%s%s", used ? ", " : "", text_in(o, "name"),
             error ? " " : "", error ? error : text_in(o, "status"));
    json_decref(o);
    return 0;
}

/* The lines of a call, newest first. */
static const char *act(const char *action, struct pawl_list_query q)
{
    struct pawl_bulk b = {.action = action, .filter = &q, .by = "ada", .reason = "tidy"};
    static char text[2000];

    text[0] = '\0';
    OK(pawl_bulk(p, &b, add_line, text, &r, &api_err));
    return text;
}

#define ACT(action, ...) act(action, (struct pawl_list_query){__VA_ARGS__})

static void check_result(int64_t matched, int64_t done, int64_t refused, int64_t changed)
{
    CHECK_EQ(r.matched, matched);
    CHECK_EQ(r.done, done);
    CHECK_EQ(r.refused, refused);
    CHECK_EQ(r.changed, changed);
}

static void refuses(const char *action, struct pawl_list_query q, const char *sentence)
{
    struct pawl_bulk b = {.action = action, .filter = &q};

    FAILS(pawl_bulk(p, &b, NULL, NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK_STR(api_err.message, sentence);
}

static void submit_jobs(const char *name, int n)
{
    struct pawl_job *jobs = calloc((size_t)n, sizeof(*jobs));

    for (int i = 0; i < n; i++)
        jobs[i] = (struct pawl_job){.name = name, .lane = "process"};
    OK(pawl_submit(p, jobs, (size_t)n, &api_err));
    free(jobs);
}

static int64_t submit_yaml(const char *yaml)
{
    struct pawl_job job = {.yaml = yaml};

    OK(pawl_submit(p, &job, 1, &api_err));
    return job.id;
}

/* ---- refused calls ---- */

TEST(bulk_action_without_a_filter_is_refused)
{
    int64_t id;

    open_both();
    id = submit(s, "a");
    refuses("cancel", (struct pawl_list_query){.all = true, .before = 100, .limit = 1},
            "cancel needs at least one filter, such as the workflow or the status: without one it "
            "would act on all executions");
    FAILS(pawl_bulk(p, &(struct pawl_bulk){.action = "cancel"}, NULL, NULL, NULL, &api_err),
          PAWL_E_INVALID);
    refuses("stop", (struct pawl_list_query){.name = "a"},
            "'stop' is not an action on many executions: use cancel, let_finish, pause, resume, "
            "skip, rerun or rerun_failed");
    refuses(
        "skip", (struct pawl_list_query){.status = "running,failed"},
        "skip can't change executions with the status running,failed: use the status pending, ready");
    refuses("cancel", (struct pawl_list_query){.tasks = id},
            "cancel does not take the filter `tasks`: give the workflow as `parent`");
    CHECK_EQ(status_of(s, id), S_READY);
    close_both(p, s);
}

TEST(dry_run_of_a_bulk_action_reports_the_matches_and_changes_nothing)
{
    struct pawl_list_query q = {.name = "a*"};
    struct pawl_bulk b = {.action = "cancel", .filter = &q, .dry_run = true};
    char text[2000] = "";
    int64_t ended = submit(s = fixture_store(), "a0"), last;

    p = open_pawl();
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    submit(s, "a1");
    submit(s, "b");
    last = submit(s, "a2");
    OK(pawl_bulk(p, &b, add_line, text, &r, &api_err));
    CHECK_STR(text, "a2:ready, a1:ready");
    check_result(2, 0, 0, 0);
    CHECK_EQ(r.before, last + 1);
    CHECK_EQ(status_of(s, last), S_READY);
    CHECK_EQ(status_of(s, ended), S_SUCCEEDED);
    q.before = r.before; /* what the dry run saw, and nothing newer */
    b.dry_run = false;
    submit(s, "a3");
    OK(pawl_bulk(p, &b, NULL, NULL, &r, &api_err));
    check_result(2, 2, 0, 0);
    CHECK_STR(ACT("cancel", .name = "a*", .limit = 5), "a3:cancelled");
    close_both(p, s);
}

/* ---- cancel ---- */

TEST(bulk_cancel_ends_waiting_jobs_and_requests_the_cancel_of_running_jobs_once)
{
    int64_t runs;

    open_both();
    runs = submit(s, "runs");
    claim_job(s, 1);
    submit(s, "waits");
    CHECK_STR(ACT("cancel", .kind = "exec"), "waits:cancelled, runs:running");
    check_result(2, 2, 0, 0);
    CHECK_STR(history(s, runs), "created marked_ready claimed cancel_requested");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE data = "
                           "'{\"by\":\"ada\",\"reason\":\"tidy\"}'"),
             2);
    CHECK_STR(ACT("cancel", .kind = "exec"), ""); /* nothing is left to do */
    check_result(0, 0, 0, 0);
    close_both(p, s);
}

TEST(bulk_cancel_after_a_bulk_let_finish_reaches_the_running_tasks)
{
    int64_t w;

    open_both();
    w = submit_yaml("name: w\ntasks:\n  a: {run: x}\n  b: {run: y, needs: a}\n");
    claim_job(s, 1);
    CHECK_STR(ACT("let_finish", .workflow = "w"), "w:running");
    CHECK_EQ(get(s, task_of(s, w, "a")).cancel_requested, 0);
    CHECK_STR(ACT("let_finish", .workflow = "w"), "");
    CHECK_STR(ACT("cancel", .workflow = "w"), "w:running");
    CHECK_EQ(get(s, task_of(s, w, "a")).cancel_requested, 1);
    close_both(p, s);
}

static int stop_at_once(void *arg, const char *json)
{
    (void)json;
    ++*(int *)arg;
    return 1;
}

TEST(interrupted_bulk_action_stops_between_slices_and_continues_when_repeated)
{
    enum { MANY = 230 };
    struct pawl_list_query q = {.name = "many"};
    struct pawl_bulk b = {.action = "cancel", .filter = &q};
    int lines = 0;

    open_both();
    submit_jobs("many", MANY);
    OK(pawl_bulk(p, &b, stop_at_once, &lines, &r, &api_err));
    CHECK_EQ(lines, 1);
    CHECK_EQ(r.done, 100);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 100);
    q.limit = 50;
    OK(pawl_bulk(p, &b, NULL, NULL, &r, &api_err));
    check_result(50, 50, 0, 0);
    q.limit = 0;
    OK(pawl_bulk(p, &b, NULL, NULL, &r, &api_err));
    check_result(MANY - 150, MANY - 150, 0, 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), MANY);
    close_both(p, s);
}

static int submit_another(void *arg, const char *json)
{
    (void)json;
    submit(arg, "many");
    return 0;
}

TEST(bulk_action_does_not_reach_executions_requested_after_its_start)
{
    enum { MANY = 130 };
    struct pawl_list_query q = {.name = "many"};
    struct pawl_bulk b = {.action = "cancel", .filter = &q};

    open_both();
    submit_jobs("many", MANY);
    OK(pawl_bulk(p, &b, submit_another, s, &r, &api_err));
    check_result(MANY, MANY, 0, 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 2"), MANY);
    close_both(p, s);
}

/* Newer executions come first: each task before its workflow. */
TEST(bulk_cancel_at_any_depth_cancels_tasks_and_their_workflows)
{
    open_both();
    submit_yaml("name: v\ntasks:\n  a: {run: x}\n");
    submit_yaml("name: w\ntasks:\n  a: {run: x}\n  b: {run: y, needs: a}\n");
    ACT("cancel", .all = true, .queue = "default");
    CHECK_EQ(r.matched, 5);
    CHECK_EQ(r.refused, 0);
    CHECK_EQ(r.done + r.changed, 5);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 5);
    close_both(p, s);
}

/* More descendants than the turn of a slice changes. */
TEST(bulk_actions_on_large_trees_reach_every_execution)
{
    enum { TREES = 3, TASKS = 240 };
    struct buf yaml = BUF_INIT;
    int i;

    open_both();
    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < TASKS; i++)
        buf_addf(&yaml, "  t%d: {run: x}\n", i);
    for (i = 0; i < TREES; i++)
        submit_yaml(yaml.ptr);
    buf_release(&yaml);
    run_all_timers(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), TREES * TASKS);
    CHECK_STR(ACT("pause", .workflow = "w"), "w:running, w:running, w:running");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    CHECK_STR(ACT("resume", .workflow = "w"), "w:running, w:running, w:running");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), TREES * TASKS);
    CHECK_STR(ACT("cancel", .workflow = "w"), "w:cancelled, w:cancelled, w:cancelled");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"),
             TREES * (TASKS + 1));
    close_both(p, s);
}

/* ---- pause, resume, skip ---- */

TEST(bulk_pause_leaves_out_paused_and_running_jobs)
{
    open_both();
    submit(s, "runs");
    claim_job(s, 1);
    OK(pawl_pause(p, submit(s, "paused"), NULL, NULL, &api_err));
    submit(s, "waits");
    CHECK_STR(ACT("pause", .kind = "exec"), "waits:ready");
    CHECK_STR(ACT("pause", .kind = "exec"), "");
    CHECK_STR(ACT("resume", .kind = "exec"), "waits:ready, paused:ready");
    CHECK_STR(ACT("resume", .kind = "exec"), "");
    CHECK_STR(ACT("skip", .name = "?ai*"), "waits:skipped");
    close_both(p, s);
}

TEST(bulk_pause_at_any_depth_pauses_workflows_and_their_tasks)
{
    open_both();
    submit_yaml("name: w\ntasks:\n  a: {run: x}\n  b: {run: y, needs: a}\n");
    CHECK_STR(ACT("pause", .all = true, .workflow = "w"), "w::b:pending, w::a:ready, w:running");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    CHECK_STR(ACT("resume", .all = true, .workflow = "w"), "w::b:pending, w::a:ready, w:running");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 1);
    run_workflows(s, "");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 3);
    close_both(p, s);
}

/* ---- rerun ---- */

TEST(bulk_rerun_runs_ended_executions_again)
{
    int64_t failed;

    open_both();
    failed = submit(s, "a");
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, -1), 0);
    submit(s, "a");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    submit(s, "a");
    CHECK_STR(ACT("rerun", .name = "a", .status = "failed"), "a:ready");
    CHECK_EQ(status_of(s, failed), S_READY);
    CHECK_STR(ACT("rerun", .name = "a"), "a:ready"); /* the one that succeeded */
    CHECK_STR(ACT("rerun", .name = "a"), "");
    close_both(p, s);
}

TEST(bulk_rerun_of_failed_tasks_does_not_repeat_succeeded_tasks)
{
    int64_t w;

    open_both();
    submit(s, "job");
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, -1), 0);
    w = submit_yaml("name: w\ntasks:\n  a: {run: x}\n  b: {run: y}\n");
    run_workflows(s, " b ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(ACT("rerun_failed", .status = "failed"), "w:running");
    CHECK_STR(tree_text(s, w), "a:succeeded b:ready");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    close_both(p, s);
}

TEST(bulk_rerun_continues_after_executions_that_are_refused)
{
    open_both();
    submit(s, "a");
    submit_with(s, (struct submission){.name = "a", .queue = "here:2"});
    submit(s, "a");
    OK(pawl_cancel(p, 2, NULL, NULL, NULL, &api_err));
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_STR(ACT("rerun", .name = "a"),
              "a:ready, a: execution 2 ran in the foreground, so no worker serves its queue: rerun "
              "it alone with `pawl rerun 2`, a:ready");
    check_result(3, 2, 1, 0);
    CHECK_EQ(r.code, PAWL_E_INVALID);
    close_both(p, s);
}

/* ---- SQL submissions ---- */

TEST(bulk_cancel_cancels_waiting_sql_submissions_and_bulk_pause_refuses_them)
{
    struct pawl_applied applied;

    open_both();
    OK(pawl_apply_text(p, "name: w\ntasks:\n  a: {run: x}\n", NULL, &applied, &api_err));
    sql_submit(s, (struct sql_call){.workflow = "w"});
    CHECK(strstr(ACT("pause", .workflow = "w"),
                 "the submission that will create it (workflow w) waits for a "
                 "worker to take it"));
    check_result(1, 0, 1, 0);
    CHECK_EQ(r.code, PAWL_E_NOT_FOUND);
    CHECK_STR(ACT("cancel", .workflow = "w"), "w:cancelled");
    check_result(1, 1, 0, 0);
    close_both(p, s);
}
