/* test_schedule_overlap.c - due times during the last run: they are left out, wait for its end, or
 * run beside it, as the schedule says. */
#include "schedule_fixture.h"

TEST(a_due_time_during_the_last_run_is_left_out)
{
    struct store *s = fired_once("'@hourly'");

    CHECK_EQ(look_at(s, "2030-06-01T14:00:00Z"), 0);
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 1);
    CHECK_EQ(schedule_named(s, "w/1").row.skipped_at, schedule_time("2030-06-01T14:00:00Z"));
    flow_play(s, "");
    CHECK_EQ(look(s), 0);
    CHECK_EQ(look_at(s, "2030-06-01T15:00:00Z"), 1);
    CHECK_EQ(firings(s), 2);
    flow_play(s, "");
    schedule_done(s);
}

TEST(one_may_wait_for_the_end_of_the_last_run)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");
    struct schedule_slice r;
    struct next_due due;
    struct err err = ERR_INIT;

    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(r.next, schedule_time("2030-06-01T15:00:00Z")); /* it waits, nobody looks meanwhile */
    CHECK_EQ(schedule_named(s, "w/1").row.waiting, schedule_time("2030-06-01T14:00:00Z"));
    CHECK_EQ(look_at(s, "2030-06-01T15:00:00Z"), 0); /* one, not two */
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 1);
    CHECK_EQ(firings(s), 1);
    flow_play(s, "a"); /* a failed run is a run that ended */
    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.schedule && due.schedule < due.wall); /* now */
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 1), "2030-06-01T14:00:00");
    CHECK_EQ(look(s), 0);
    flow_play(s, "");
    schedule_done(s);
}

TEST(the_end_of_a_run_wakes_those_who_look)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");
    struct flow_claiming k = {0};

    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    CHECK(store_last_wake(s) & WAKE_TIMERS);
    schedule_done(s);
}

/* Each of the two has not seen the other's change: whoever commits last must have looked at again.
 */
static void end_between(void *arg)
{
    struct store *s = arg;

    CHECK_EQ(cancel(s, schedule_named(s, "w/1").row.last_run), 0);
}

TEST(a_run_that_ends_while_a_due_time_is_made_to_wait_for_it_is_noticed)
{
    struct watch w = {0};
    struct next_due due;
    struct store *s, *other;
    struct err err = ERR_INIT;

    if (!strcmp(test_db(), "sqlite"))
        SKIP("a turn excludes all others");
    other = fired_once("{cron: '@hourly', overlap: queue}");
    clock_to(other, "2030-06-01T14:00:00Z");
    s = watched_store(&w);
    watch_for(&w, "commit", 1, end_between, other);
    CHECK_EQ(look(s), 0);
    CHECK(w.acted);
    CHECK(store_last_wake(s) & WAKE_TIMERS);
    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.schedule && due.schedule < due.wall);
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    store_close(&s);
    schedule_done(other);
}

TEST(all_may_run_at_once)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: allow}");

    CHECK_EQ(look_at(s, "2030-06-01T14:00:00Z"), 1);
    CHECK_EQ(running_runs(s), 2);
    flow_play(s, "");
    schedule_done(s);
}

TEST(a_cancelled_run_has_ended)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");

    CHECK_EQ(look_at(s, "2030-06-01T14:00:00Z"), 0);
    CHECK_EQ(cancel(s, schedule_named(s, "w/1").row.last_run), 0);
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    schedule_done(s);
}
