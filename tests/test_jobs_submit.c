/* test_jobs_submit.c - submitting: a key makes it safe to repeat, and a submission that is refused
 * or rolled back leaves nothing. Each test ends with verify. */
#include "fixture.h"

#include <string.h>

static int submit_three(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 3, err);
}

TEST(idempotency_key_returns_the_same_execution_and_refuses_different_contents)
{
    struct store *s = fixture_store();
    struct submission sub = {
        .kind = KIND_EXEC, .task_index = -1, .name = "x", .key = "order-17", .input = "{\"a\":1}"};
    struct submission other[3] = {sub, sub, sub};
    struct err err = ERR_INIT;
    int64_t id = submit_with(s, sub);
    int i;

    CHECK_EQ(submit_with(s, sub), id);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(submit_with(s, sub), id); /* also after the job has ended */
    other[0].name = "y";
    other[1].input = "{\"a\":2}";
    other[2].priority = 1;
    CHECK_OK_ERR(store_turn(s, submit_three, other, &err), &err);
    for (i = 0; i < 3; i++)
        CHECK_EQ(other[i].rc, -E_CONFLICT);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(batch_with_invalid_submissions_stores_the_valid_ones)
{
    struct store *s = fixture_store();
    struct submission list[3] = {
        {.kind = KIND_EXEC, .task_index = -1, .name = "good"},
        {.kind = KIND_EXEC, .task_index = -1, .name = "bad", .input = "{not json"},
        {.kind = KIND_EXEC, .task_index = -1, .name = "lost", .parent = 424242},
    };
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_three, list, &err), &err);
    CHECK_EQ(list[0].rc, 0);
    CHECK_EQ(list[1].rc, -E_INVALID);
    CHECK(strstr(list[1].err.msg, "not valid JSON"));
    CHECK_EQ(list[2].rc, -E_NOT_FOUND);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(idempotency_key_used_twice_in_a_batch_creates_one_execution)
{
    struct store *s = fixture_store();
    struct submission list[3] = {
        {.kind = KIND_EXEC, .task_index = -1, .name = "x", .key = "k"},
        {.kind = KIND_EXEC, .task_index = -1, .name = "x", .key = "k"},
        {.kind = KIND_EXEC, .task_index = -1, .name = "y", .key = "k"},
    };
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_three, list, &err), &err);
    CHECK_EQ(list[0].rc, 0);
    CHECK_EQ(list[1].rc, 0);
    CHECK_EQ(list[1].id, list[0].id);
    CHECK(list[1].existed);
    CHECK_EQ(list[2].rc, -E_CONFLICT);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(submission_of_a_child_of_an_ended_execution_is_refused)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "x");
    struct submission list[3] = {
        {.kind = KIND_EXEC, .task_index = -1, .name = "late", .parent = id},
        {.kind = KIND_EXEC, .task_index = -1, .name = "a"},
        {.kind = KIND_EXEC, .task_index = -1, .name = "b"}};
    struct err err = ERR_INIT;

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_OK_ERR(store_turn(s, submit_three, list, &err), &err);
    CHECK_EQ(list[0].rc, -E_INVALID);
    CHECK_EQ(list[1].rc, 0);
    verify_clean(s);
    store_close(&s);
}

static int fails_after_writing(struct turn *t, void *arg, struct err *err)
{
    struct submission sub = {.kind = KIND_EXEC, .task_index = -1, .name = "ghost"};
    int rc = op_submit(t, &sub, 1, err);

    (void)arg;
    return rc ? rc : err_set(err, E_INVALID, "on purpose");
}

TEST(failed_turn_stores_nothing)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, fails_after_writing, NULL, &err), -E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events"), 0);
    verify_clean(s);
    store_close(&s);
}
