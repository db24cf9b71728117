/* test_logs_retention.c - how long the output of attempts is kept: it is removed before its tree or
 * with it. */
#include "log_fixture.h"
#include "retention_fixture.h"

static int slices; /* slices of the last retain_counted */

static struct retention retain_counted(struct store *s, struct retention r)
{
    for (slices = 0; !slices || r.more; slices++)
        r = retain_slice(s, r);
    return r;
}

/* A slice takes one execution, so the number of slices shows how many were inspected. */
TEST(execution_whose_logs_were_removed_is_not_inspected_again)
{
    struct store *s = fixture_store();
    struct retention logs = {.older_than = 7 * DAY, .max_trees = 1, .logs_only = true};
    int i;

    for (i = 0; i < 10; i++) {
        struct held_job j = running(s);

        CHECK_EQ(send_text(s, j, 0, "old"), 0);
        CHECK_EQ(settle_ok(s, j), 0);
    }
    clock_advance(8 * DAY);
    CHECK_EQ(retain_counted(s, logs).executions, 10);
    CHECK_EQ(slices, 11);
    CHECK_EQ(retain_counted(s, logs).executions, 0);
    CHECK_EQ(slices, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 10);
    verify_clean(s);
    store_close(&s);
}

/* A child may end long before its parent, or long after. */
TEST(logs_are_kept_until_both_the_execution_and_its_root_ended_long_enough_ago)
{
    struct store *s = fixture_store();
    struct retention logs = {.older_than = 7 * DAY, .max_trees = 10, .logs_only = true};
    struct held_job top = running(s), early, late;

    submit_child(s, top.id, "early");
    early = claim_job(s, 1);
    submit_child(s, top.id, "late");
    late = claim_job(s, 1);
    CHECK_EQ(send_text(s, top, 0, "top"), 0);
    CHECK_EQ(send_text(s, early, 0, "early"), 0);
    CHECK_EQ(send_text(s, late, 0, "late"), 0);
    CHECK_EQ(settle_ok(s, early), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain_as(s, logs).executions, 0);
    CHECK_EQ(settle_ok(s, top), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain_as(s, logs).executions, 2);
    check_log(s, late.id, 0, "late");
    CHECK_EQ(settle_ok(s, late), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain_as(s, logs).executions, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(logs_are_removed_together_with_their_tree_or_earlier)
{
    struct store *s = fixture_store();
    struct held_job j = running(s), open;
    struct retention logs = {.older_than = 7 * DAY, .max_trees = 1, .logs_only = true},
                     all = {.older_than = 90 * DAY, .max_trees = 10};

    submit_child(s, j.id, "child");
    open = claim_job(s, 1);
    CHECK_EQ(send_text(s, j, 0, "old"), 0);
    CHECK_EQ(send_text(s, open, 0, "a child's"), 0);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(settle_ok(s, open), 0);
    open = running(s);
    CHECK_EQ(send_text(s, open, 0, "running"), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain_as(s, logs).executions, 2);
    check_log(s, j.id, 0, "");
    check_log(s, open.id, 0, "running");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 3);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, open), 0);
    clock_advance(100 * DAY);
    CHECK_EQ(retain_as(s, all).trees, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    verify_clean(s);
    store_close(&s);
}
