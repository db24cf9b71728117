/* test_schedule_missed.c - due times that were missed, that a clock change skipped or repeated, or
 * that come again after the clock was set back. */
#include "schedule_fixture.h"

#include "base/tz.h"

#include <unistd.h>

/* ---- missed ---- */

TEST(catchup_runs_each_missed_due_time_within_its_window)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 3h, overlap: allow}");

    CHECK_EQ(fire_due_at(s, "2030-06-01T20:30:00Z"), 3);
    CHECK_STR(firing(s, 0), "2030-06-01T18:00:00");
    CHECK_STR(firing(s, 2), "2030-06-01T20:00:00");
    CHECK(schedule_named(s, "w/1").row.missed_at > 0);
    CHECK_EQ(running_runs(s), 3);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(missed_due_times_beyond_one_turn_run_in_further_turns)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 30d, overlap: allow}");

    CHECK_EQ(fire_due_at(s, "2030-06-03T12:30:00Z"), 48);
    CHECK_EQ(firings(s), 48);
    schedule_done(s);
}

TEST(missed_due_times_without_overlap_run_one_after_another)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 6h}");
    int i;

    clock_to(s, "2030-06-01T16:30:00Z");
    for (i = 0; i < 4; i++) {
        CHECK_EQ(fire_due(s), 1);
        CHECK_EQ(fire_due(s), 0);
        CHECK_EQ(running_runs(s), 1);
        run_workflows(s, "");
    }
    CHECK_EQ(fire_due(s), 0);
    CHECK_STR(firing(s, 3), "2030-06-01T16:00:00");
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 0);
    schedule_done(s);
}

TEST(catchup_last_runs_only_the_newest_missed_due_time)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: last}");

    CHECK_EQ(fire_due_at(s, "2030-07-15T20:30:00Z"), 1);
    CHECK_STR(firing(s, 0), "2030-07-15T20:00:00");
    run_workflows(s, "");
    CHECK_EQ(fire_due(s), 0);
    schedule_done(s);
}

TEST(missed_due_time_without_catchup_is_reported_and_dropped)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct schedule_slice r;

    clock_to(s, "2030-06-01T20:30:00Z");
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(r.nmessages, 1);
    CHECK(strstr(r.messages[0], "w/1 missed due times"));
    CHECK_EQ(firings(s), 0);
    CHECK_EQ(r.next, schedule_time("2030-06-01T21:00:00Z"));
    schedule_done(s);
}

/* ---- clocks ---- */

static void needs_tzdata(void)
{
    if (access(TZ_DIR "/Europe/Berlin", R_OK))
        SKIP("tzdata is not installed");
}

TEST(due_time_skipped_by_a_dst_change_fires_at_the_change)
{
    struct store *s;

    needs_tzdata();
    s = applied_at("2030-03-30T12:00:00Z", "{cron: '30 2 * * *', tz: Europe/Berlin}");
    CHECK_EQ(fire_due_at(s, "2030-03-31T00:59:59Z"), 0);
    CHECK_EQ(fire_due_at(s, "2030-03-31T01:00:00Z"), 1); /* 02:00 becomes 03:00 */
    run_workflows(s, "");
    CHECK_EQ(fire_due_at(s, "2030-03-31T01:30:01Z"), 0);
    CHECK_EQ(fire_due_at(s, "2030-04-01T00:30:00Z"), 1);
    CHECK_STR(firing(s, 0), "2030-03-31T01:00:00");
    CHECK_STR(firing(s, 1), "2030-04-01T00:30:00");
    CHECK_EQ(firings(s), 2);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(due_time_repeated_by_a_dst_change_fires_once)
{
    struct store *s;

    needs_tzdata();
    s = applied_at("2030-10-26T12:00:00Z", "{cron: '30 2 * * *', tz: Europe/Berlin}");
    CHECK_EQ(fire_due_at(s, "2030-10-27T00:30:00Z"), 1);
    run_workflows(s, "");
    CHECK_EQ(fire_due_at(s, "2030-10-27T01:30:01Z"), 0); /* 02:30 for the second time */
    CHECK_EQ(firings(s), 1);
    CHECK_EQ(fire_due_at(s, "2030-10-28T01:30:00Z"), 1);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(schedule_checked_while_the_clock_was_ahead_continues_after_the_clock_is_set_back)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: allow}");
    struct schedule_slice ahead = {.max = 10, .ahead = true};
    struct err err = ERR_INIT;

    CHECK_EQ(fire_due_at(s, "2030-06-02T12:00:10Z"), 1);
    clock_advance(-23 * HOUR);
    CHECK_OK_ERR(store_turn(s, fire_due_body, &ahead, &err), &err);
    CHECK_EQ(ahead.checked, 1);
    CHECK_EQ(ahead.started, 0);
    CHECK_EQ(schedule_named(s, "w/1").row.next, schedule_time("2030-06-01T14:00:00Z"));
    CHECK_OK_ERR(store_turn(s, fire_due_body, &ahead, &err), &err);
    CHECK_EQ(ahead.found, 0); /* the schedule is checked only once */
    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:10Z"), 1);
    CHECK_EQ(fire_due_at(s, "2030-06-02T12:00:10Z"), 0); /* this due time has fired */
    CHECK_EQ(firings(s), 2);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(schedule_that_could_not_fire_is_checked_again_soon_after_the_clock_is_set_back)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: allow}");
    struct schedule_slice ahead = {.max = 10, .ahead = true};
    struct err err = ERR_INIT;

    sql_run(s, "UPDATE schedules SET tz = 'No/Where'");
    CHECK_EQ(fire_due_at(s, "2030-06-02T12:00:10Z"), 0);
    CHECK(schedule_named(s, "w/1").row.problem != NULL);
    CHECK_OK_ERR(store_turn(s, fire_due_body, &ahead, &err), &err);
    CHECK_EQ(ahead.found, 0); /* the clock was not set back */
    clock_advance(-23 * HOUR);
    CHECK_OK_ERR(store_turn(s, fire_due_body, &ahead, &err), &err);
    CHECK_EQ(ahead.checked, 1);
    CHECK(schedule_named(s, "w/1").row.next < schedule_time("2030-06-01T13:10:00Z"));
    CHECK_OK_ERR(store_turn(s, fire_due_body, &ahead, &err), &err);
    CHECK_EQ(ahead.found, 0); /* the schedule is checked only once */
    sql_run(s, "UPDATE schedules SET tz = NULL");
    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:10Z"), 1);
    CHECK(schedule_named(s, "w/1").row.problem == NULL);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(clock_set_back_fires_no_due_time_twice_and_later_ones_still_fire)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 1d}");

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:10Z"), 1);
    run_workflows(s, "");
    CHECK_EQ(fire_due(s), 1); /* the two missed due times, one after the other */
    run_workflows(s, "");
    clock_advance(-2 * HOUR);
    apply_schedules(
        s, "{cron: '@hourly', catchup: 1d}"); /* makes the schedule due for evaluation now */
    CHECK_EQ(fire_due(s), 0);
    CHECK(schedule_named(s, "w/1").row.done < schedule_time("2030-06-01T13:00:00Z"));
    clock_advance(HOUR);
    CHECK_EQ(fire_due(s), 0);
    clock_advance(HOUR);
    CHECK_EQ(fire_due(s), 0);
    clock_advance(HOUR);
    CHECK_EQ(fire_due(s), 1);
    CHECK_STR(firing(s, 2), "2030-06-01T15:00:00");
    CHECK_EQ(firings(s), 3);
    clock_advance(HOUR);
    run_workflows(s, "");
    schedule_done(s);
}

/* Engines whose clocks differ a little meet this often, not only after a large change. */
TEST(fired_due_time_that_the_clock_reaches_again_neither_waits_nor_displaces_the_next_due_time)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "{cron: '* * * * *', overlap: queue, catchup: 1h}");

    CHECK_EQ(fire_due_at(s, "2030-06-01T12:31:01Z"), 1);
    clock_advance(-2 * SECOND); /* 12:30:59 */
    apply_schedules(s, "{cron: '* * * * *', overlap: queue, catchup: 1h}");
    CHECK_EQ(fire_due(s), 0);
    CHECK_EQ(fire_due_at(s, "2030-06-01T12:31:30Z"), 0);
    CHECK_EQ(schedule_named(s, "w/1").row.waiting, 0);
    verify_clean(s);
    CHECK_EQ(fire_due_at(s, "2030-06-01T12:32:01Z"), 0);
    CHECK_EQ(schedule_named(s, "w/1").row.waiting, schedule_time("2030-06-01T12:32:00Z"));
    run_workflows(s, "");
    CHECK_EQ(fire_due(s), 1);
    CHECK_STR(firing(s, 1), "2030-06-01T12:32:00");
    run_workflows(s, "");
    schedule_done(s);
}
