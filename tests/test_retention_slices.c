/* test_retention_slices.c - retention in slices: each slice is bounded and leaves the database
 * consistent, and the next continues from there. */
#include "retention_fixture.h"
#include "workflow_fixture.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

TEST(retention_slice_is_bounded_and_the_next_slice_continues_where_it_ended)
{
    struct store *s = fixture_store();
    struct retention r = {.older_than = 90 * DAY, .max_trees = 3};
    int i, slices = 0;

    for (i = 0; i < 8; i++)
        ended_job(s);
    clock_advance(100 * DAY);
    do {
        int64_t before = r.trees;

        r = retain_slice(s, r);
        slices++;
        CHECK(r.trees - before <= 3);
        CHECK_EQ(count(s, "executions"), 8 - r.trees);
        CHECK_EQ(count(s, "execution_events"), 4 * (8 - r.trees));
        verify_clean(s);
    } while (r.more);
    CHECK_EQ(r.trees, 8);
    CHECK_EQ(r.executions, 8);
    CHECK_EQ(r.events, 32);
    CHECK_EQ(slices, 3);
    CHECK_EQ(retain(s, 90 * DAY), 0); /* nothing is left to do */
    verify_clean(s);
    store_close(&s);
}

TEST(retention_slice_full_of_open_trees_does_not_stop_retention)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 7; i++)
        submit_with(s, (struct submission){.name = "open", .paused = true});
    ended_job(s);
    clock_advance(100 * DAY);
    CHECK_EQ(retain_as(s, (struct retention){.older_than = DAY, .max_trees = 2}).trees, 1);
    CHECK_EQ(count(s, "executions"), 7);
    verify_clean(s);
    store_close(&s);
}

TEST(deep_and_wide_tree_is_removed_completely)
{
    struct store *s = fixture_store();
    int64_t root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW}),
            at = root;
    int i;

    for (i = 0; i < 60; i++) /* deep and wide */
        at = submit_child(s, i % 3 ? at : root, "x");
    CHECK_EQ(cancel(s, root), 0);
    end_workflow(s, root);
    clock_advance(100 * DAY);
    CHECK_EQ(retain(s, DAY), 1);
    CHECK_EQ(count(s, "executions"), 0);
    CHECK_EQ(count(s, "execution_events"), 0);
    verify_clean(s);
    store_close(&s);
}

static void count_tree_ids(void *arg, const char *what, int64_t took_us, long rows)
{
    (void)took_us;
    if (!strcmp(what, "tree_ids"))
        *(long *)arg += rows;
}

TEST(retention_slice_reads_no_more_large_trees_than_it_removes)
{
    static const struct retention kinds[] = {{.dry_run = true}, {0}};
    enum { TREES = 8, CHILDREN = 20 };
    struct store *s = fixture_store();
    size_t kind;
    long read;
    int i, k;

    for (i = 0; i < TREES; i++) {
        int64_t root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});

        for (k = 0; k < CHILDREN; k++)
            submit_child(s, root, "x");
        CHECK_EQ(cancel(s, root), 0);
        end_workflow(s, root);
    }
    clock_advance(100 * DAY);
    fixture_env()->trace = count_tree_ids;
    fixture_env()->arg = &read;
    for (kind = 0; kind < COUNT(kinds); kind++) {
        struct retention r = kinds[kind];

        r.older_than = DAY;
        r.max_trees = 100;
        r.max_rows = CHILDREN / 2;
        do {
            read = 0;
            r = retain_slice(s, r);
            CHECK(read < 3 * (CHILDREN + 1)); /* the rest of a tree, then two trees */
        } while (r.more);
        CHECK_EQ(r.trees, TREES);
    }
    fixture_env()->trace = NULL;
    CHECK_EQ(count(s, "executions"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_being_removed_in_slices_passes_verify)
{
    struct store *s = fixture_store();
    struct retention r = {.older_than = DAY, .max_trees = 10, .max_rows = 5};
    int slices = 0;

    submit_workflow(s,
                    "name: w\ntasks:\n  each: {foreach: 12, run: x}\n"
                    "  b: {run: x, needs: each}\n",
                    NULL);
    submit_workflow(s, "name: v\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
    run_workflows(s, "");
    clock_advance(100 * DAY);
    do {
        r = retain_slice(s, r);
        slices++;
        verify_clean(s);
    } while (r.more);
    CHECK(slices > 3);
    CHECK_EQ(r.trees, 2);
    CHECK_EQ(count(s, "executions"), 0);
    CHECK_EQ(count(s, "workflow_executions"), 0);
    CHECK_EQ(count(s, "settings WHERE name LIKE 'retaining:%'"), 0);
    store_close(&s);
}
