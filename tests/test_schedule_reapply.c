/* test_schedule_reapply.c - schedules that are applied again, and schedules that can't be fired for
 * a while, keep their state. */
#include "schedule_fixture.h"

/* ---- applied again ---- */

TEST(definition_that_was_reapplied_is_used_by_the_next_firing)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct apply_request a;

    a = apply_schedules(s, "'@hourly'");
    CHECK(a.unchanged);
    a = apply(s, "name: w\non: {schedule: '@hourly'}\ntasks: {b: {run: y}}\n");
    CHECK(!a.unchanged);
    CHECK_EQ(a.kept, 1);
    CHECK_EQ(a.removed, 0);
    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 1);
    CHECK(task_of(s, schedule_named(s, "w/1").row.last_run, "b") > 0);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(reapplied_schedule_with_an_unchanged_pattern_continues_at_any_position_in_the_list)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', {cron: '@daily'}]");
    struct apply_request a;

    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "w/2", NULL), 0);
    clock_to(s, "2030-06-01T13:00:30Z"); /* due, and not evaluated yet */
    a = apply_schedules(s, "['@daily', {cron: '@hourly', with: {}, overlap: allow}]");
    CHECK_EQ(a.kept, 2);
    CHECK(schedule_named(s, "w/1").row.paused_at);
    CHECK(!schedule_named(s, "w/2").row.paused_at);
    CHECK_EQ(fire_due(s), 1);
    CHECK_STR(firing(s, 0), "2030-06-01T13:00:00");
    a = apply_schedules(s, "['@hourly', '@daily']");
    CHECK_EQ(fire_due(s), 0); /* this due time has fired already, under another name */
    CHECK_EQ(firings(s), 1);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(reapplied_schedule_with_a_new_pattern_starts_over_but_stays_paused)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "[{name: a, cron: '@hourly', catchup: 9d}, '@hourly']");
    struct apply_request a;

    CHECK_EQ(change_schedule(s, SCHEDULE_PAUSE, "w/2", NULL), 0);
    clock_to(s, "2030-06-01T15:30:00Z");
    a = apply_schedules(s, "[{name: a, cron: '15 * * * *', catchup: 9d}, '20 * * * *']");
    CHECK_EQ(a.kept, 0);
    CHECK_EQ(a.removed, 0);
    CHECK(schedule_named(s, "w/2").row.paused_at);
    CHECK_EQ(fire_due(s), 0); /* nothing from before the change */
    CHECK_EQ(fire_due_at(s, "2030-06-01T16:15:00Z"), 1);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(removed_schedule_does_not_fire_and_its_history_is_kept)
{
    struct store *s = fired_once("['@hourly', '@daily']");
    struct apply_request a;
    struct schedule_slice r;

    a = apply_schedules(s, "[]");
    CHECK_EQ(a.schedules, 0);
    CHECK_EQ(a.removed, 2);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(r.next, 0);
    CHECK_EQ(firings(s), 1);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(invalid_definition_is_not_applied)
{
    struct store *s = fixture_store();
    struct apply_request a = {.definition = "{}"};
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, apply_body, &a, &err), -E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_names"), 0);
    schedule_done(s);
}

/* ---- schedules that can't be fired ---- */

TEST(schedule_with_a_missing_time_zone_is_reported_once_and_other_schedules_fire)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', '@hourly']");
    struct schedule_slice r;

    sql_run(s, "UPDATE schedules SET tz = 'Nowhere/Gone' WHERE name = '1'");
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(fire_due_slice(s, &r), 1);
    CHECK_EQ(r.nmessages, 1);
    CHECK(strstr(r.messages[0], "w/1 can't be fired"));
    CHECK(strstr(r.messages[0], "Nowhere/Gone"));
    CHECK(strstr(schedule_named(s, "w/1").row.problem, "Nowhere/Gone"));
    CHECK(!schedule_named(s, "w/2").row.problem);
    CHECK(r.next > r.now); /* the engine does not spin */
    clock_advance(6 * MINUTE);
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(r.nmessages, 0);
    sql_run(s, "UPDATE schedules SET tz = NULL");
    run_workflows(s, "");
    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 2); /* both schedules fire again */
    CHECK(!schedule_named(s, "w/1").row.problem);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(schedule_with_a_missing_definition_is_reported_and_catches_up_later)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 1h}");
    struct schedule_slice r;

    apply(s, "name: v\non: {schedule: '@hourly'}\ntasks: {b: {run: y}}\n");
    sql_run(s, "DELETE FROM workflow_definitions WHERE name = 'w'");
    store_close(&s);
    s = fixture_store(); /* a store without a cached definition */
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(fire_due_slice(s, &r), 1);
    CHECK_EQ(r.nmessages, 1);
    CHECK(strstr(r.messages[0], "is missing from the database"));
    CHECK_EQ(firings(s), 1);
    apply_schedules(s, "{cron: '@hourly', catchup: 1h}");
    CHECK_EQ(fire_due(s), 1);
    CHECK_EQ(firings(s), 2);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(waiting_due_time_that_cannot_fire_does_not_make_the_engine_spin)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");
    struct schedule_slice r;

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 0);
    run_workflows(s, "");
    sql_run(s, "UPDATE schedules SET tz = 'Nowhere/Gone'");
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK(r.next > r.now);
    sql_run(s, "UPDATE schedules SET tz = NULL");
    clock_advance(6 * MINUTE);
    CHECK_EQ(fire_due(s), 1);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(scheduled_run_with_invalid_param_values_fails_and_counts_as_a_firing)
{
    struct store *s = fixture_store();

    clock_to(s, "2030-06-01T12:30:00Z");
    apply(s, "name: w\nparams: {n: {type: integer, default: 1}}\n"
             "on: {schedule: {cron: '@hourly', with: {n: 2}}}\n"
             "tasks: {a: {run: x}}\n");
    sql_run(s, "UPDATE schedules SET params = '{\"n\":\"x\"}'");
    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 1);
    CHECK_EQ(firings(s), 1);
    CHECK_EQ(status_of(s, schedule_named(s, "w/1").row.last_run), S_FAILED);
    schedule_done(s);
}
