/* test_schedule_overlap.c - due times during the previous run are skipped, wait for its end, or run
 * at the same time, according to the schedule's overlap setting. */
#include "schedule_fixture.h"

TEST(due_time_during_a_run_is_skipped_by_default)
{
    struct store *s = fired_once("'@hourly'");

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 0);
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 1);
    CHECK_EQ(schedule_named(s, "w/1").row.skipped_at, schedule_time("2030-06-01T14:00:00Z"));
    run_workflows(s, "");
    CHECK_EQ(fire_due(s), 0);
    CHECK_EQ(fire_due_at(s, "2030-06-01T15:00:00Z"), 1);
    CHECK_EQ(firings(s), 2);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(due_time_during_a_run_waits_for_the_end_of_the_run_with_overlap_queue)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");
    struct schedule_slice r;
    struct next_due due;
    struct err err = ERR_INIT;

    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(fire_due_slice(s, &r), 0);
    CHECK_EQ(
        r.next,
        schedule_time(
            "2030-06-01T15:00:00Z")); /* one due time waits, and no evaluation is planned before */
    CHECK_EQ(schedule_named(s, "w/1").row.waiting, schedule_time("2030-06-01T14:00:00Z"));
    CHECK_EQ(fire_due_at(s, "2030-06-01T15:00:00Z"), 0); /* at most one due time waits */
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 1);
    CHECK_EQ(firings(s), 1);
    run_workflows(s, "a"); /* a failed run counts as ended */
    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.schedule && due.schedule < due.wall); /* overdue, so it is evaluated now */
    CHECK_EQ(fire_due(s), 1);
    CHECK_STR(firing(s, 1), "2030-06-01T14:00:00");
    CHECK_EQ(fire_due(s), 0);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(end_of_a_run_wakes_the_engines_that_evaluate_schedules)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");
    struct task_claim k = {0};

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK(store_last_wake(s) & WAKE_TIMERS);
    schedule_done(s);
}

/* Neither transaction sees the other's change: the one that commits last must cause another
 * evaluation. */
static void end_in_the_middle(void *arg)
{
    struct store *s = arg;

    CHECK_EQ(cancel(s, schedule_named(s, "w/1").row.last_run), 0);
}

TEST(end_of_a_run_is_noticed_while_a_due_time_is_about_to_wait_for_it)
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
    watch_for(&w, "commit", 1, end_in_the_middle, other);
    CHECK_EQ(fire_due(s), 0);
    CHECK(w.acted);
    CHECK(store_last_wake(s) & WAKE_TIMERS);
    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.schedule && due.schedule < due.wall);
    CHECK_EQ(fire_due(s), 1);
    run_workflows(s, "");
    store_close(&s);
    schedule_done(other);
}

TEST(due_time_during_a_run_starts_a_parallel_run_with_overlap_allow)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: allow}");

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 1);
    CHECK_EQ(running_runs(s), 2);
    run_workflows(s, "");
    schedule_done(s);
}

TEST(cancelled_run_counts_as_ended_for_the_next_due_time)
{
    struct store *s = fired_once("{cron: '@hourly', overlap: queue}");

    CHECK_EQ(fire_due_at(s, "2030-06-01T14:00:00Z"), 0);
    CHECK_EQ(cancel(s, schedule_named(s, "w/1").row.last_run), 0);
    CHECK_EQ(fire_due(s), 1);
    run_workflows(s, "");
    schedule_done(s);
}
