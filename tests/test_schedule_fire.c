/* test_schedule_fire.c - schedules in the store: each due time fires once, with any number of
 * engines, and in spite of operator actions. */
#include "schedule_fixture.h"

#include "base/tz.h"

/* ---- once ---- */

TEST(run_of_a_due_time_is_created_once_and_not_early)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct schedule_slice r;
    int64_t id;

    fire_due_slice(s, &r);
    CHECK_EQ(r.next, schedule_time("2030-06-01T13:00:00Z"));
    CHECK_EQ(firings(s), 0);
    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 1);
    CHECK_EQ(fire_due(s), 0);
    CHECK_STR(firing(s, 0), "2030-06-01T13:00:00");
    id = sql_number(s, "SELECT execution FROM schedule_firings");
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_STR(get(s, id).name, "w");
    CHECK_EQ(schedule_named(s, "w/1").row.last_run, id);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    schedule_done(s);
}

TEST(run_started_by_a_schedule_records_the_schedule_and_gets_its_values)
{
    struct store *s = fixture_store();
    struct event_list events = {0};
    struct err err = ERR_INIT;
    int64_t id;

    clock_to(s, "2030-06-01T12:30:00Z");
    apply(
        s,
        "name: w\nparams: {day: x}\n"
        "on: {schedule: [{name: mine, cron: '@hourly', with: {day: y}}]}\n"
        "tasks: {a: {argv: ['${{ params.day }}', '${{ default(execution.due_at, \"never\") }}']}}\n");
    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 1);
    id = sql_number(s, "SELECT execution FROM schedule_firings");
    CHECK_OK_ERR(query_execution_events(s, id, 0, 1, &events, &err), &err);
    CHECK_STR(events.at[0].data,
              "{\"schedule\":\"w/mine\",\"due_at\":\"2030-06-01T13:00:00.000000Z\"}");
    event_list_release(&events);
    CHECK(strstr(get(s, task_of(s, id, "a")).spec, "[\"y\",\"2030-06-01T13:00:00.000000Z\"]"));
    CHECK_EQ(change_schedule(s, SCHEDULE_RUN, "w/mine", &id), 0);
    CHECK(strstr(get(s, task_of(s, id, "a")).spec, "[\"y\",\"never\"]"));
    schedule_done(s);
}

TEST(due_time_evaluated_in_two_stores_fires_once)
{
    struct store *a = applied_at("2030-06-01T12:30:00Z", "'@hourly'"), *b = fixture_store();

    clock_to(a, "2030-06-01T13:00:00Z");
    CHECK_EQ(fire_due(a) + fire_due(b), 1);
    clock_to(a, "2030-06-01T14:00:00Z");
    run_workflows(a, "");
    CHECK_EQ(fire_due(b) + fire_due(a), 1);
    CHECK_EQ(firings(a), 2);
    store_close(&b);
    schedule_done(a);
}

static int64_t shared_offset;

static void evaluate_for_five_hours(int nth)
{
    struct store *s;
    int i;

    (void)nth;
    fixture_env()->clock_offset = shared_offset;
    s = fixture_store();
    for (i = 0; i < 30; i++) {
        fire_due(s);
        clock_advance(10 * MINUTE);
    }
    store_close(&s);
}

TEST_SLOW(due_times_evaluated_by_many_processes_fire_once_each, 600)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "[{cron: '@hourly', overlap: allow, catchup: 1d}, "
                                           "{cron: '*/20 * * * *', overlap: allow, catchup: 1d}]");

    store_close(&s);
    shared_offset = fixture_env()->clock_offset;
    run_processes(4, evaluate_for_five_hours);
    s = fixture_store();
    clock_to(s, "2030-06-01T18:30:01Z");
    fire_due(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schedule_firings"), 6 + 18);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT execution) FROM schedule_firings"), 6 + 18);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL"), 6 + 18);
    schedule_done(s);
}

/* On PostgreSQL another process evaluates the schedule in the middle of the turn under test; SQLite
 * excludes that. */
struct other {
    struct store *s;
    size_t started;
};

static void fire_in_the_middle(void *arg)
{
    struct other *o = arg;

    o->started = fire_due(o->s);
}

TEST(evaluation_skips_schedules_that_another_turn_has_locked)
{
    static const char *const points[] = {"schedules_lock", "schedule_facts", "new_ids",
                                         "firing_insert", "commit"};
    struct watch w = {0};
    struct other o;
    size_t i, n = 0;

    if (!strcmp(test_db(), "sqlite"))
        SKIP("a turn excludes all others");
    o.s = applied_at("2030-06-01T12:30:00Z", "[{cron: '@hourly', overlap: allow, catchup: 1d}]");
    for (i = 0; i < sizeof(points) / sizeof(*points); i++) {
        struct store *s = watched_store(&w);

        clock_advance(HOUR);
        w.env.clock_offset = fixture_env()->clock_offset;
        o.started = 0;
        watch_for(&w, points[i], 1, fire_in_the_middle, &o);
        n += fire_due(s) + o.started;
        CHECK(w.acted);
        CHECK_EQ(n, i + 1);
        CHECK_EQ(firings(o.s), (int64_t)i + 1);
        store_close(&s);
    }
    schedule_done(o.s);
}

/* ---- when ---- */

TEST(jitter_delays_the_firing_by_the_same_amount_for_every_engine)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', jitter: 30m}");
    int64_t due = schedule_time("2030-06-01T13:00:00Z"), fires;
    struct schedule_listed l = schedule_named(s, "w");
    struct schedule_slice r;
    struct err err = ERR_INIT;
    struct tz *z = NULL;
    struct schedule c;

    CHECK_OK_ERR(schedule_from_row(&l.row, "w/1", &c, &z, &err), &err);
    fires = schedule_fires_at(&c, z, due);
    tz_free(&z);
    CHECK(fires > due && fires < due + 30 * MINUTE);
    fire_due_slice(s, &r);
    CHECK_EQ(r.next, fires);
    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 0);
    clock_advance(fires - due);
    CHECK_EQ(fire_due(s), 1);
    CHECK_STR(firing(s, 0), "2030-06-01T13:00:00");
    schedule_done(s);
}

TEST(schedule_with_start_and_end_fires_only_between_them)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z",
                   "{cron: '@daily', start: 2030-06-03, end: 2030-06-05, catchup: 9d}");
    struct schedule_slice r;

    fire_due_slice(s, &r);
    CHECK_EQ(r.next, schedule_time("2030-06-03"));
    CHECK_EQ(fire_due_at(s, "2030-06-03T00:00:00Z"), 1);
    run_workflows(s, "");
    clock_to(s, "2030-06-08T00:00:00Z");
    CHECK_EQ(fire_due_slice(s, &r), 1);
    CHECK_STR(firing(s, 1), "2030-06-04T00:00:00");
    run_workflows(s, "");
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(r.next, 0);
    schedule_done(s);
}

/* ---- operator actions ---- */

TEST(due_times_during_a_pause_are_not_caught_up)
{
    struct store *s = fired_once("{cron: '@hourly', catchup: 9d, overlap: queue}");
    struct schedule_listed l;

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 0); /* one due time waits */
    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "w/1", NULL), 0);
    l = schedule_named(s, "w/1");
    CHECK(l.row.paused_at);
    CHECK_STR(l.row.paused_by, "me");
    CHECK_STR(l.row.pause_reason, "why not");
    run_workflows(s, "");
    CHECK_EQ(fire_due_at(s, "2030-06-01T18:30:00Z"), 0);
    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "w", NULL), 0); /* pausing again changes nothing */
    CHECK_EQ(schedule_named(s, "w/1").row.paused_at, l.row.paused_at);
    CHECK_EQ(change_schedule(s, SCHEDULE_RESUME, "w/1", NULL), 0);
    CHECK_EQ(fire_due(s), 0);
    CHECK_EQ(fire_due_at(s, "2030-06-01T19:00:00Z"), 1);
    CHECK_EQ(firings(s), 2);
    CHECK_EQ(change_schedule(s, SCHEDULE_RESUME, "w/1", NULL), -E_INVALID);
    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "v", NULL), -E_NOT_FOUND);
    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "w/2", NULL), -E_NOT_FOUND);
    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "/", NULL), -E_INVALID);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(manual_run_is_not_a_firing_but_makes_the_next_due_time_skip)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', '@daily']");
    struct event_list events = {0};
    struct err err = ERR_INIT;
    int64_t id;

    CHECK_EQ(change_schedule(s, SCHEDULE_RUN, "w", NULL),
             -E_INVALID); /* ambiguous: two schedules */
    CHECK_EQ(change_schedule(s, SCHEDULE_RUN, "w/1", &id), 0);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_OK_ERR(query_execution_events(s, id, 0, 1, &events, &err), &err);
    CHECK_STR(events.at[0].data, "{\"schedule\":\"w/1\",\"by\":\"me\",\"reason\":\"why not\"}");
    event_list_release(&events);
    CHECK_EQ(firings(s), 0);
    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 0);
    run_workflows(s, "");
    schedule_done(s);
}

/* ---- retention ---- */

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = HOUR, .max_trees = 100}, to;

    (void)arg;
    return op_retain(t, &from, &to, err);
}

TEST(retention_removes_firings_with_their_runs)
{
    struct store *s = fired_once("'@hourly'");
    struct err err = ERR_INIT;

    run_workflows(s, "");
    clock_to(s, "2030-06-01T14:30:00Z");
    CHECK_OK_ERR(store_turn(s, retain_body, NULL, &err), &err);
    CHECK_EQ(firings(s), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    /* the last run was removed, so it has ended */
    CHECK_EQ(fire_due_at(s, "2030-06-01T15:00:00Z"), 1);
    run_workflows(s, "");
    schedule_done(s);
}
