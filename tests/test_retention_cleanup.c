/* test_retention_cleanup.c - retention also cleans up the counters of stores and the rows of
 * workers that are gone. */
#include "retention_fixture.h"

TEST(queue_counters_of_inactive_stores_are_merged_and_their_sums_do_not_change)
{
    struct store *s = fixture_store(), *gone;
    struct held_job j[2];
    int round;

    for (round = 1; round <= 2; round++) { /* the second round adds to merged counters */
        gone = fixture_store();
        submit(s, "a");
        submit(gone, "b");
        submit(gone, "c");
        submit_with(gone, (struct submission){.name = "d", .queue = "other", .paused = true});
        CHECK_EQ(claim_many(gone, 1, 2, j), 2);
        store_close(&gone);
        CHECK(count(s, "queue_counters") >= 3);
        clock_advance(25 * 3600 * SECOND);
        submit_with(s, (struct submission){.name = "e", .queue = "third"}); /* s is alive */
        CHECK_EQ(retain(s, 90 * DAY), 0);
        CHECK_EQ(sql_number(s, "SELECT count(*) FROM turns"), 1);
        CHECK_EQ(
            sql_number(
                s, "SELECT CAST(sum(ready) AS bigint) FROM queue_counters WHERE queue = 'default'"),
            round);
        CHECK_EQ(
            sql_number(
                s,
                "SELECT CAST(sum(running) AS bigint) FROM queue_counters WHERE queue = 'default'"),
            2 * round);
        CHECK_EQ(sql_number(s, "SELECT held FROM queue_counters WHERE queue = 'other'"), round);
        CHECK_EQ(sql_number(s, "SELECT writer FROM queue_counters WHERE queue = 'other'"), 0);
        verify_clean(s);
    }
    store_close(&s);
}

TEST(store_whose_counters_were_merged_after_a_long_silence_can_continue)
{
    struct store *s = fixture_store(), *silent = fixture_store();
    struct held_job j;

    submit(silent, "x");
    clock_advance(25 * 3600 * SECOND);
    CHECK_EQ(retain(s, 90 * DAY), 0);
    verify_clean(s);
    j = claim_job(silent, 1);
    CHECK_EQ(settle_ok(silent, j), 0);
    verify_clean(s);
    store_close(&silent);
    store_close(&s);
}

static int register_body(struct turn *t, void *arg, struct err *err)
{
    struct worker w = {.id = *(int64_t *)arg,
                       .host = "here",
                       .folder = "folder-a",
                       .version = "0",
                       .pid = 1,
                       .capacity = 10};

    return op_worker_register(t, &w, err);
}

TEST(rows_of_vanished_workers_are_removed_unless_they_hold_leases)
{
    struct store *s = fixture_store();
    int64_t idle = 11, holder = 12, alive = 13;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_body, &idle, &err), &err);
    CHECK_OK_ERR(store_turn(s, register_body, &holder, &err), &err);
    submit(s, "x");
    claim_job(s, holder);
    clock_advance(25 * 3600 * SECOND);
    CHECK_OK_ERR(store_turn(s, register_body, &alive, &err), &err);
    CHECK_EQ(retain(s, 90 * DAY), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers"), 2);
    CHECK_EQ(sql_number(s, "SELECT min(id) FROM workers"), holder);
    verify_clean(s);
    store_close(&s);
}

TEST(dry_run_of_retention_cleans_up_nothing)
{
    struct store *s = fixture_store(), *gone = fixture_store();

    submit(gone, "x");
    store_close(&gone);
    submit(s, "x");
    clock_advance(100 * DAY);
    retain_as(s, (struct retention){.older_than = DAY, .max_trees = 10, .dry_run = true});
    CHECK_EQ(count(s, "turns"), 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM queue_counters WHERE writer = 0"), 0);
    verify_clean(s);
    store_close(&s);
}
