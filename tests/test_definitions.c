/* test_definitions.c - the definitions of workflows: stored while something needs them, and gone
 * with retention when nothing does. */
#include "retention_fixture.h"
#include "schedule_fixture.h"
#include "workflow_fixture.h"

static const char *const plain = "name: w\ntasks:\n  a: {run: x}\n";

static const char *const nesting[] = {
    "w.yaml", "name: w\ntasks:\n  a: {run: x}\n  in: {workflow: in.yaml, needs: a}\n", "in.yaml",
    "name: in\ntasks:\n  leaf: {run: x}\n", NULL};

static int64_t definitions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM workflow_definitions");
}

TEST(a_definition_goes_when_nothing_needs_it_any_more)
{
    struct store *s = fixture_store();

    flow_submit(s, plain, NULL);
    flow_play(s, "");
    flow_submit(s, "name: v\ntasks:\n  b: {run: x}\n", NULL);
    clock_advance(10 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 2); /* neither is that old */
    clock_advance(90 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 1); /* the other still runs */
    flow_play(s, "");
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(a_definition_stays_as_long_as_what_ran_by_it)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s, plain, NULL);

    clock_advance(100 * DAY);
    flow_play(s, ""); /* it took long, and ended just now */
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 1);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(a_definition_that_was_used_a_moment_ago_stays_however_short_the_rest_is_kept)
{
    struct store *s = fixture_store();

    flow_submit(s, plain, NULL);
    flow_play(s, "");
    clock_advance(DAY);
    retain(s, 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(definitions(s), 1);
    clock_advance(DAY + SECOND);
    retain(s, 0);
    CHECK_EQ(definitions(s), 0);
    store_close(&s);
}

TEST(a_definition_that_a_name_means_stays_and_goes_when_another_is_applied)
{
    struct store *s = fixture_store();

    apply_schedules(s, "'@yearly'");
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 1);
    CHECK_EQ(order(s, SCHEDULE_RUN, "w", NULL), 0);
    flow_play(s, "");
    apply_schedules(s, "'@monthly'");
    CHECK_EQ(definitions(s), 2);
    clock_advance(100 * DAY);
    apply_schedules(s, "'@weekly'");
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 2); /* somebody may have read what it meant a moment ago */
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_definition_is_used_anew_by_each_run_that_begins)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 4; i++) {
        flow_submit(s, plain, NULL);
        flow_play(s, "");
        clock_advance(40 * DAY);
        retain(s, 60 * DAY);
        CHECK_EQ(definitions(s), 1);
    }
    verify_clean(s);
    store_close(&s);
}

TEST(a_nested_definition_is_there_again_when_a_run_comes_to_it)
{
    struct store *s = fixture_store(), *other = fixture_store();
    const char *text = flow_text_of_files(nesting);
    int64_t w;

    flow_submit_text(s, mem_strdup(text), NULL);
    flow_play(s, "");
    flow_submit_text(other, mem_strdup(text), NULL); /* both stores have read all of it */
    flow_play(other, "");
    CHECK_EQ(definitions(s), 2);
    clock_advance(80 * DAY);
    w = flow_submit_text(s, text, NULL);
    clock_advance(20 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 1); /* only the outer one is run by */
    verify_clean(s);
    flow_play(other, "");
    CHECK_STR(flow_shape(s, w), "a:succeeded in:succeeded leaf:succeeded");
    CHECK_EQ(definitions(s), 2);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

TEST(a_definition_that_a_store_remembers_is_stored_again_if_it_is_gone)
{
    struct store *s = fixture_store(), *other = fixture_store();
    int64_t w;

    flow_submit(other, plain, NULL);
    flow_play(s, "");
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(definitions(s), 0);
    w = flow_submit(other, plain, NULL);
    CHECK_EQ(definitions(s), 1);
    verify_clean(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    store_close(&other);
    store_close(&s);
}

static int submit_and_lose_body(struct turn *t, void *arg, struct err *err)
{
    int rc = flow_submit_body(t, arg, err);

    return rc ? rc : err_set(err, E_INVALID, "the engine is gone");
}

TEST(a_turn_that_is_lost_has_stored_nothing_and_remembers_nothing)
{
    struct submission w = {.definition = flow_text(plain)};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, submit_and_lose_body, &w, &err), -E_INVALID);
    CHECK_EQ(definitions(s), 0);
    flow_submit(s, plain, NULL);
    CHECK_EQ(definitions(s), 1);
    flow_play(s, "");
    verify_clean(s);
    free((char *)w.definition);
    store_close(&s);
}

/* ---- at the same time ---- */

static const char *again; /* what both are about */

static void submit_or_retain(int nth)
{
    struct store *s = fixture_store();

    if (nth == 0)
        retain(s, 90 * DAY);
    else
        flow_submit_text(s, mem_strdup(again), NULL);
    store_close(&s);
}

TEST_SLOW(retention_takes_no_definition_from_whoever_submits_it, 600)
{
    int rounds = test_full() ? 200 : 20, i;
    struct store *s;

    again = flow_text_of_files(nesting);
    for (i = 0; i < rounds; i++) {
        clock_advance(100 * DAY); /* what ran before is old */
        run_processes(3, submit_or_retain);
        s = fixture_store();
        verify_clean(s);
        CHECK_EQ(
            sql_number(s, "SELECT count(*) FROM executions WHERE status < 4 AND parent IS NULL"),
            2);
        flow_play(s, "");
        CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"), 0);
        verify_clean(s);
        store_close(&s);
    }
}
