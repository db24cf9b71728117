/* test_requested_by.c - every action of an operator leaves a record of who requested it and why,
 * even if it changes no status. */
#include "api_fixture.h"
#include "schedule_fixture.h"
#include "workflow_fixture.h"

#define ADA "\"by\":\"ada\",\"reason\":\"a test\""

/* The number of events of this type and with exactly this data that the execution has. */
static int64_t count_events(struct store *s, int64_t id, int type, const char *data)
{
    char sql[400];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM execution_events WHERE execution = %lld AND type = %d AND "
             "data = '%s'",
             (long long)id, type, data);
    return sql_number(s, sql);
}

/* A workflow and its task a, which the test inspects. */
struct scene {
    struct store *s;
    struct pawl *p;
    int64_t w, a;
    struct held_job held; /* task a, if a worker has claimed it */
};

static struct scene scene(const char *tasks)
{
    struct scene c = {.s = fixture_store(), .p = open_pawl()};
    char yaml[300];

    snprintf(yaml, sizeof(yaml), "name: w\ntasks:\n  %s\n", tasks);
    c.w = submit_workflow(c.s, yaml, NULL);
    c.a = task_of(c.s, c.w, "a");
    return c;
}

/* Like scene(), and a worker has claimed task a. */
static struct scene scene_with_claim(const char *tasks)
{
    struct scene c = scene(tasks);

    c.held = claim_job(c.s, 1);
    CHECK_EQ(c.held.id, c.a);
    return c;
}

static void end_scene(struct scene *c)
{
    verify_clean(c->s);
    pawl_close(c->p);
    store_close(&c->s);
}

/* ---- pauses ---- */

TEST(pause_and_resume_of_a_task_that_waits_for_approval_record_the_user_and_the_reason)
{
    struct scene c = scene("a: {run: x, approval: go on?}");

    CHECK_EQ(control_execution(c.s, CONTROL_PAUSE, c.a), 0);
    CHECK_EQ(get(c.s, c.a).held, HELD_APPROVAL); /* the approval takes precedence over the pause */
    CHECK_EQ(count_events(c.s, c.a, EV_HELD, "{\"why\":\"paused\"," ADA "}"), 1);
    verify_clean(c.s);
    CHECK_EQ(control_execution(c.s, CONTROL_RESUME, c.a), 0);
    CHECK_EQ(get(c.s, c.a).held, HELD_APPROVAL);
    CHECK_EQ(count_events(c.s, c.a, EV_UNHELD, "{" ADA "}"), 1);
    CHECK_EQ(count_events(c.s, c.a, EV_HELD, "{\"why\":\"approval\",\"message\":\"go on?\"}"), 2);
    CHECK_STR(history(c.s, c.a), "created marked_ready held held unheld held");
    verify_clean(c.s);
    CHECK_EQ(control_execution(c.s, CONTROL_APPROVE, c.a), 0);
    run_workflows(c.s, "");
    CHECK_EQ(status_of(c.s, c.w), S_SUCCEEDED);
    end_scene(&c);
}

TEST(pause_does_not_change_the_timeout_of_an_approval)
{
    struct scene c = scene("a: {run: x, delay: 2h, approval: {timeout: 1h}}");

    CHECK_EQ(control_execution(c.s, CONTROL_PAUSE, c.a), 0);
    CHECK_EQ(control_execution(c.s, CONTROL_RESUME, c.a), 0);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM timers"),
             2); /* for the delay and for the approval */
    clock_advance(3599 * SECOND);
    CHECK_EQ(run_timers(c.s), 0);
    clock_advance(2 * SECOND);
    CHECK_EQ(run_timers(c.s), 1);
    CHECK_EQ(status_of(c.s, c.a), S_TIMED_OUT);
    end_scene(&c);
}

TEST(approval_of_a_paused_task_leaves_it_paused)
{
    struct scene c = scene("a: {run: x, approval: true}");

    CHECK_EQ(control_execution(c.s, CONTROL_PAUSE, c.a), 0);
    CHECK_EQ(control_execution(c.s, CONTROL_APPROVE, c.a), 0);
    CHECK_EQ(get(c.s, c.a).held, HELD_PAUSED);
    verify_clean(c.s);
    CHECK_EQ(control_execution(c.s, CONTROL_RESUME, c.a), 0);
    run_workflows(c.s, "");
    CHECK_EQ(status_of(c.s, c.w), S_SUCCEEDED);
    end_scene(&c);
}

/* ---- cancels ---- */

TEST(cancel_that_lets_a_job_finish_records_the_user_and_the_reason_and_does_not_stop_the_job)
{
    struct scene c = scene_with_claim("a: {run: x, retry: 3}");

    CHECK_EQ(control_execution(c.s, CONTROL_LET_FINISH, c.a), 0);
    CHECK_EQ(control_execution(c.s, CONTROL_LET_FINISH, c.a), 0); /* recorded once */
    CHECK_EQ(count_events(c.s, c.a, EV_CANCEL_REQUESTED, "{" ADA ",\"let_finish\":true}"), 1);
    CHECK_STR(history(c.s, c.a), "created marked_ready claimed cancel_requested");
    CHECK(!get(c.s, c.a).cancel_requested);
    CHECK_EQ(heartbeat(c.s, c.held), 0);
    verify_clean(c.s);
    CHECK_EQ(settle_as(c.s, c.held, OUTCOME_FAILED, 0), 0);
    CHECK_STR(tree_text(c.s, c.w), "a:failed");
    end_scene(&c);
}

TEST(job_that_a_cancel_lets_finish_can_still_be_cancelled)
{
    struct scene c = scene_with_claim("a: {run: x}");

    CHECK_EQ(control_execution(c.s, CONTROL_LET_FINISH, c.a), 0);
    CHECK_EQ(control_execution(c.s, CONTROL_CANCEL, c.a), 0);
    CHECK(get(c.s, c.a).cancel_requested);
    CHECK_EQ(count_events(c.s, c.a, EV_CANCEL_REQUESTED, "{" ADA "}"), 1);
    CHECK_EQ(settle_as(c.s, c.held, OUTCOME_CANCELLED, -1), 0);
    CHECK_EQ(status_of(c.s, c.w), S_CANCELLED);
    end_scene(&c);
}

TEST(cancel_that_lets_a_workflow_finish_is_recorded_for_its_running_tasks)
{
    struct scene c = scene_with_claim("a: {run: x}\n  b: {run: x, needs: a}");

    CHECK_EQ(control_execution(c.s, CONTROL_LET_FINISH, c.w), 0);
    CHECK_EQ(count_events(c.s, c.w, EV_CANCEL_REQUESTED + WORKFLOW_EVENT,
                          "{" ADA ",\"let_finish\":true}"),
             1);
    CHECK_EQ(count_events(c.s, c.a, EV_CANCEL_REQUESTED, "{" ADA ",\"let_finish\":true}"), 1);
    CHECK_EQ(settle_ok(c.s, c.held), 0);
    CHECK_STR(tree_text(c.s, c.w), "a:succeeded b:cancelled");
    end_scene(&c);
}

/* ---- why ---- */

static bool why_contains(struct pawl *p, int64_t id, const char *part)
{
    char *json = NULL;
    bool found;

    OK(pawl_why(p, id, &json, &api_err));
    found = strstr(json, part) != NULL;
    if (!found)
        printf("%s\n", json);
    free(json);
    return found;
}

TEST(why_names_the_user_who_paused_a_job_that_also_waits_for_approval)
{
    struct scene c = scene("a: {run: x, needs: b, approval: go on?}\n  b: {run: x}");

    CHECK_EQ(control_execution(c.s, CONTROL_PAUSE, c.a), 0);
    CHECK(why_contains(c.p, c.a, ", by ada: a test; resume it with `pawl resume"));
    run_workflows(c.s, "");
    CHECK_EQ(get(c.s, c.a).held, HELD_APPROVAL);
    CHECK(why_contains(c.p, c.a, ", by ada: a test; resume it with `pawl resume"));
    CHECK(why_contains(c.p, c.a, "go on?"));
    CHECK_EQ(control_execution(c.s, CONTROL_APPROVE, c.a), 0);
    CHECK(why_contains(c.p, c.a, ", by ada: a test; resume it with `pawl resume"));
    end_scene(&c);
}

TEST(why_shows_the_approval_message_of_a_task_that_was_paused)
{
    struct scene c = scene("a: {run: x, approval: go on?}");

    CHECK_EQ(control_execution(c.s, CONTROL_PAUSE, c.a), 0);
    CHECK(why_contains(c.p, c.a, "go on?"));
    CHECK_EQ(control_execution(c.s, CONTROL_RESUME, c.a), 0);
    CHECK(why_contains(c.p, c.a, "go on?"));
    CHECK(!strstr(history(c.s, c.a), "claimed"));
    end_scene(&c);
}

TEST(why_says_that_a_cancelled_job_may_finish)
{
    struct scene c = scene_with_claim("a: {run: x}");

    CHECK_EQ(control_execution(c.s, CONTROL_LET_FINISH, c.a), 0);
    CHECK(why_contains(c.p, c.a,
                       "it may finish, but is not retried: its cancellation was requested at "));
    CHECK(why_contains(c.p, c.a, "\"code\":\"let_finish\""));
    CHECK_EQ(settle_ok(c.s, c.held), 0);
    end_scene(&c);
}

/* ---- queues and schedules ---- */

static int keep_line(void *arg, const char *json)
{
    snprintf(arg, 2000, "%s", json);
    return 0;
}

/* The last audit record of the only queue or schedule, else its whole line. */
static const char *last_record(struct pawl *p, bool queues)
{
    static char line[2000];

    line[0] = 0;
    if (queues)
        OK(pawl_queues(p, keep_line, line, &api_err));
    else
        OK(pawl_schedules(p, NULL, keep_line, line, &api_err));
    return strstr(line, "\"last_order\":") ? strstr(line, "\"last_order\":") : line;
}

TEST(audit_names_the_users_who_limited_paused_and_resumed_a_queue)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int i;

    for (i = 0; i < 3; i++)
        submit(s, "a");
    CHECK(strstr(last_record(p, true), "\"last_order\":null"));
    OK(pawl_queue_limit(p, "default", 2, "ada", "too hot", NULL, &api_err));
    CHECK(strstr(last_record(p, true), "{\"action\":\"limited\","));
    CHECK(strstr(last_record(p, true),
                 "\"by\":\"ada\",\"reason\":\"too hot\",\"data\":{\"limit\":2}}"));
    OK(pawl_queue_pause(p, "default", "bob", NULL, &api_err));
    CHECK(strstr(last_record(p, true), "{\"action\":\"paused\","));
    OK(pawl_queue_resume(p, "default", "eve", "cool again", &api_err));
    CHECK(strstr(last_record(p, true), "{\"action\":\"resumed\","));
    CHECK(strstr(last_record(p, true), "\"by\":\"eve\",\"reason\":\"cool again\",\"data\":null}"));
    CHECK_EQ(pawl_queue_resume(p, "default", "eve", NULL, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM operator_orders"),
             3); /* the refused one is not recorded */
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

static int queue_body(struct turn *t, void *arg, struct err *err)
{
    return op_change_queue(t, arg, err);
}

TEST(queue_action_that_takes_several_slices_is_audited_once)
{
    struct store *s = fixture_store();
    struct queue_action q = {.verb = QUEUE_PAUSE, .queue = "default", .by = "ada", .slice = 2};
    struct err err = ERR_INIT;
    int i, turns = 0;

    for (i = 0; i < 9; i++)
        submit(s, "a");
    do {
        CHECK_OK_ERR(store_turn(s, queue_body, &q, &err), &err);
        q.is_continuation = true;
        turns++;
    } while (q.more);
    CHECK(turns > 3);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM operator_orders"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(audit_names_the_users_who_paused_and_resumed_a_schedule)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();

    apply_schedules(s, "'@daily'");
    CHECK(strstr(last_record(p, false), "\"last_order\":null"));
    OK(pawl_schedule_pause(p, "w", "ada", NULL, &api_err));
    CHECK(strstr(last_record(p, false), "{\"action\":\"paused\","));
    OK(pawl_schedule_resume(p, "w", "bob", "it is fixed", &api_err));
    CHECK(strstr(last_record(p, false), "{\"action\":\"resumed\","));
    CHECK(
        strstr(last_record(p, false), "\"by\":\"bob\",\"reason\":\"it is fixed\",\"data\":null}"));
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention *r = arg;

    return op_retain(t, &r[0], &r[1], err);
}

TEST(audit_records_older_than_the_retention_time_are_removed)
{
    struct store *s = fixture_store();
    struct retention r[2] = {{.older_than = 3600 * SECOND, .max_trees = 100}};
    struct queue_action first = {.verb = QUEUE_SET, .queue = "default", .max = 2, .slice = 10};
    struct queue_action second = {.verb = QUEUE_PAUSE, .queue = "default", .slice = 10};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, queue_body, &first, &err), &err);
    clock_advance(3000 * SECOND);
    CHECK_OK_ERR(store_turn(s, queue_body, &second, &err), &err);
    clock_advance(1000 * SECOND);
    CHECK_OK_ERR(store_turn(s, retain_body, r, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM operator_orders"), 1);
    CHECK_EQ(sql_number(s, "SELECT min(action) FROM operator_orders"), AUDIT_PAUSED);
    verify_clean(s);
    store_close(&s);
}
