/* test_requested_by.c - no action without its record: whatever a person asks for leaves who asked
 * and why, also where it changes no status. */
#include "api_fixture.h"
#include "schedule_fixture.h"
#include "workflow_fixture.h"

#define ADA "\"by\":\"ada\",\"reason\":\"a test\""

/* How many events of a type this execution has, with exactly that data. */
static int64_t said(struct store *s, int64_t id, int type, const char *data)
{
    char sql[400];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM execution_events WHERE execution = %lld AND type = %d AND "
             "data = '%s'",
             (long long)id, type, data);
    return sql_number(s, sql);
}

/* A workflow with a task a, which is looked at. */
struct scene {
    struct store *s;
    struct pawl *p;
    int64_t w, a;
    struct held_job held; /* the task, if a worker has it */
};

static struct scene scene(const char *tasks)
{
    struct scene c = {.s = fixture_store(), .p = open_pawl()};
    char yaml[300];

    snprintf(yaml, sizeof(yaml), "name: w\ntasks:\n  %s\n", tasks);
    c.w = flow_submit(c.s, yaml, NULL);
    c.a = flow_task(c.s, c.w, "a");
    return c;
}

/* The same, and a worker runs it. */
static struct scene scene_at_work(const char *tasks)
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

TEST(a_pause_of_what_waits_for_an_approval_says_who_and_why_and_so_does_its_end)
{
    struct scene c = scene("a: {run: x, approval: go on?}");

    CHECK_EQ(flow_ask(c.s, FLOW_PAUSE, c.a), 0);
    CHECK_EQ(get(c.s, c.a).held, HELD_APPROVAL); /* that comes first */
    CHECK_EQ(said(c.s, c.a, EV_HELD, "{\"why\":\"paused\"," ADA "}"), 1);
    verify_clean(c.s);
    CHECK_EQ(flow_ask(c.s, FLOW_RESUME, c.a), 0);
    CHECK_EQ(get(c.s, c.a).held, HELD_APPROVAL);
    CHECK_EQ(said(c.s, c.a, EV_UNHELD, "{" ADA "}"), 1);
    CHECK_EQ(said(c.s, c.a, EV_HELD, "{\"why\":\"approval\",\"message\":\"go on?\"}"), 2);
    CHECK_STR(history(c.s, c.a), "created marked_ready held held unheld held");
    verify_clean(c.s);
    CHECK_EQ(flow_ask(c.s, FLOW_APPROVE, c.a), 0);
    flow_play(c.s, "");
    CHECK_EQ(status_of(c.s, c.w), S_SUCCEEDED);
    end_scene(&c);
}

TEST(a_pause_takes_no_time_from_an_approval_and_gives_it_none)
{
    struct scene c = scene("a: {run: x, delay: 2h, approval: {timeout: 1h}}");

    CHECK_EQ(flow_ask(c.s, FLOW_PAUSE, c.a), 0);
    CHECK_EQ(flow_ask(c.s, FLOW_RESUME, c.a), 0);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM timers"),
             2); /* of the delay and of the approval */
    clock_advance(3599 * SECOND);
    CHECK_EQ(run_timers(c.s), 0);
    clock_advance(2 * SECOND);
    CHECK_EQ(run_timers(c.s), 1);
    CHECK_EQ(status_of(c.s, c.a), S_TIMED_OUT);
    end_scene(&c);
}

TEST(an_approval_of_what_was_paused_meanwhile_leaves_it_paused)
{
    struct scene c = scene("a: {run: x, approval: true}");

    CHECK_EQ(flow_ask(c.s, FLOW_PAUSE, c.a), 0);
    CHECK_EQ(flow_ask(c.s, FLOW_APPROVE, c.a), 0);
    CHECK_EQ(get(c.s, c.a).held, HELD_PAUSED);
    verify_clean(c.s);
    CHECK_EQ(flow_ask(c.s, FLOW_RESUME, c.a), 0);
    flow_play(c.s, "");
    CHECK_EQ(status_of(c.s, c.w), S_SUCCEEDED);
    end_scene(&c);
}

/* ---- cancels ---- */

TEST(a_cancel_that_lets_a_job_finish_says_who_and_why_and_ends_nothing)
{
    struct scene c = scene_at_work("a: {run: x, retry: 3}");

    CHECK_EQ(flow_ask(c.s, FLOW_LET_FINISH, c.a), 0);
    CHECK_EQ(flow_ask(c.s, FLOW_LET_FINISH, c.a), 0); /* once is enough */
    CHECK_EQ(said(c.s, c.a, EV_CANCEL_REQUESTED, "{" ADA ",\"let_finish\":true}"), 1);
    CHECK_STR(history(c.s, c.a), "created marked_ready claimed cancel_requested");
    CHECK(!get(c.s, c.a).cancel_requested);
    CHECK_EQ(heartbeat(c.s, c.held), 0);
    verify_clean(c.s);
    CHECK_EQ(settle_as(c.s, c.held, OUTCOME_FAILED, 0), 0);
    CHECK_STR(flow_shape(c.s, c.w), "a:failed");
    end_scene(&c);
}

TEST(who_may_finish_can_be_asked_to_end_after_all)
{
    struct scene c = scene_at_work("a: {run: x}");

    CHECK_EQ(flow_ask(c.s, FLOW_LET_FINISH, c.a), 0);
    CHECK_EQ(flow_ask(c.s, FLOW_CANCEL, c.a), 0);
    CHECK(get(c.s, c.a).cancel_requested);
    CHECK_EQ(said(c.s, c.a, EV_CANCEL_REQUESTED, "{" ADA "}"), 1);
    CHECK_EQ(settle_as(c.s, c.held, OUTCOME_CANCELLED, -1), 0);
    CHECK_EQ(status_of(c.s, c.w), S_CANCELLED);
    end_scene(&c);
}

TEST(what_runs_below_a_workflow_that_may_finish_says_so_too)
{
    struct scene c = scene_at_work("a: {run: x}\n  b: {run: x, needs: a}");

    CHECK_EQ(flow_ask(c.s, FLOW_LET_FINISH, c.w), 0);
    CHECK_EQ(said(c.s, c.w, EV_CANCEL_REQUESTED + WORKFLOW_EVENT, "{" ADA ",\"let_finish\":true}"),
             1);
    CHECK_EQ(said(c.s, c.a, EV_CANCEL_REQUESTED, "{" ADA ",\"let_finish\":true}"), 1);
    CHECK_EQ(settle_ok(c.s, c.held), 0);
    CHECK_STR(flow_shape(c.s, c.w), "a:succeeded b:cancelled");
    end_scene(&c);
}

/* ---- why ---- */

static bool why_says(struct pawl *p, int64_t id, const char *words)
{
    char *json = NULL;
    bool found;

    OK(pawl_why(p, id, &json, &api_err));
    found = strstr(json, words) != NULL;
    if (!found)
        printf("%s\n", json);
    free(json);
    return found;
}

TEST(why_knows_who_paused_a_job_whatever_held_it_since)
{
    struct scene c = scene("a: {run: x, needs: b, approval: go on?}\n  b: {run: x}");

    CHECK_EQ(flow_ask(c.s, FLOW_PAUSE, c.a), 0);
    CHECK(why_says(c.p, c.a, ", by ada: a test; `pawl resume"));
    flow_play(c.s, "");
    CHECK_EQ(get(c.s, c.a).held, HELD_APPROVAL);
    CHECK(why_says(c.p, c.a, ", by ada: a test; `pawl resume"));
    CHECK(why_says(c.p, c.a, "go on?"));
    CHECK_EQ(flow_ask(c.s, FLOW_APPROVE, c.a), 0);
    CHECK(why_says(c.p, c.a, ", by ada: a test; `pawl resume"));
    end_scene(&c);
}

TEST(why_knows_what_an_approval_asks_after_a_pause)
{
    struct scene c = scene("a: {run: x, approval: go on?}");

    CHECK_EQ(flow_ask(c.s, FLOW_PAUSE, c.a), 0);
    CHECK(why_says(c.p, c.a, "go on?"));
    CHECK_EQ(flow_ask(c.s, FLOW_RESUME, c.a), 0);
    CHECK(why_says(c.p, c.a, "go on?"));
    CHECK(!strstr(history(c.s, c.a), "claimed"));
    end_scene(&c);
}

TEST(why_knows_who_let_a_job_finish)
{
    struct scene c = scene_at_work("a: {run: x}");

    CHECK_EQ(flow_ask(c.s, FLOW_LET_FINISH, c.a), 0);
    CHECK(why_says(c.p, c.a, "it was cancelled, but may finish; it is not tried again since "));
    CHECK(why_says(c.p, c.a, "\"code\":\"let_finish\""));
    CHECK_EQ(settle_ok(c.s, c.held), 0);
    end_scene(&c);
}

/* ---- queues and schedules ---- */

static int keep_line(void *arg, const char *json)
{
    snprintf(arg, 2000, "%s", json);
    return 0;
}

/* The line of the only queue, or schedule. */
static const char *listed(struct pawl *p, bool queues)
{
    static char line[2000];

    line[0] = 0;
    if (queues)
        OK(pawl_queues(p, keep_line, line, &api_err));
    else
        OK(pawl_schedules(p, NULL, keep_line, line, &api_err));
    return strstr(line, "\"last_order\":") ? strstr(line, "\"last_order\":") : line;
}

TEST(whoever_limits_pauses_and_resumes_a_queue_is_kept)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int i;

    for (i = 0; i < 3; i++)
        submit(s, "a");
    CHECK(strstr(listed(p, true), "\"last_order\":null"));
    OK(pawl_queue_limit(p, "default", 2, "ada", "too hot", NULL, &api_err));
    CHECK(strstr(listed(p, true), "{\"action\":\"limited\","));
    CHECK(strstr(listed(p, true), "\"by\":\"ada\",\"reason\":\"too hot\",\"data\":{\"limit\":2}}"));
    OK(pawl_queue_pause(p, "default", "bob", NULL, &api_err));
    CHECK(strstr(listed(p, true), "{\"action\":\"paused\","));
    OK(pawl_queue_resume(p, "default", "eve", "cool again", &api_err));
    CHECK(strstr(listed(p, true), "{\"action\":\"resumed\","));
    CHECK(strstr(listed(p, true), "\"by\":\"eve\",\"reason\":\"cool again\",\"data\":null}"));
    CHECK_EQ(pawl_queue_resume(p, "default", "eve", NULL, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM operator_orders"),
             3); /* what was refused is none */
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

static int queue_body(struct turn *t, void *arg, struct err *err)
{
    return op_change_queue(t, arg, err);
}

TEST(an_order_in_slices_is_kept_once)
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

TEST(whoever_pauses_and_resumes_a_schedule_is_kept)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();

    apply_schedules(s, "'@daily'");
    CHECK(strstr(listed(p, false), "\"last_order\":null"));
    OK(pawl_schedule_pause(p, "w", "ada", NULL, &api_err));
    CHECK(strstr(listed(p, false), "{\"action\":\"paused\","));
    OK(pawl_schedule_resume(p, "w", "bob", "it is mended", &api_err));
    CHECK(strstr(listed(p, false), "{\"action\":\"resumed\","));
    CHECK(strstr(listed(p, false), "\"by\":\"bob\",\"reason\":\"it is mended\",\"data\":null}"));
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention *r = arg;

    return op_retain(t, &r[0], &r[1], err);
}

TEST(orders_go_when_they_are_as_old_as_what_else_goes)
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
