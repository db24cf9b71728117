/* test_retention.c - the contract of retention: it removes whole trees, long after their end, with
 * all that belongs to them, and never anything that is still open. Nothing else changes the
 * history. */
#include "retention_fixture.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- which trees are removed ---- */

TEST(tree_that_ended_long_ago_is_removed_completely)
{
    struct store *s = fixture_store();

    ended_tree(s);
    clock_advance(89 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 0);
    CHECK_EQ(count(s, "executions"), 3);
    verify_clean(s);
    clock_advance(2 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 1);
    CHECK_EQ(count(s, "executions"), 0);
    CHECK_EQ(count(s, "execution_events"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(age_of_a_tree_is_counted_from_the_time_it_ended)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "slow");
    struct held_job j;

    clock_advance(100 * DAY); /* the job waits for 100 days */
    j = claim_job(s, 1);
    CHECK_EQ(settle_ok(s, j), 0);
    clock_advance(50 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 0);
    CHECK(exists(s, id));
    clock_advance(41 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 1);
    CHECK(!exists(s, id));
    verify_clean(s);
    store_close(&s);
}

TEST(tree_ends_when_its_last_execution_ends)
{
    struct store *s = fixture_store();
    int64_t root = submit(s, "root"), child;

    submit_child(s, root, "child"); /* as `pawl exec --detach` inside of a task */
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, root), S_SUCCEEDED);
    clock_advance(60 * DAY);
    child = claim_job(s, 1).id;
    CHECK_EQ(cancel(s, child), 0);
    CHECK_EQ(settle_as(s, (struct held_job){.id = child, .root = root, .worker = 1, .epoch = 1},
                       OUTCOME_CANCELLED, -1),
             0);
    clock_advance(60 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 0); /* the root ended 120 days ago, the child 60 */
    CHECK_EQ(count(s, "executions"), 2);
    verify_clean(s);
    clock_advance(31 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 1);
    CHECK_EQ(count(s, "executions"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(ended_root_is_kept_while_a_descendant_is_open)
{
    struct store *s = fixture_store();
    int64_t root = submit(s, "root"), child, grandchild;

    child = submit_child(s, root, "child");
    grandchild = submit_child(s, child, "grandchild");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, child), S_SUCCEEDED);
    clock_advance(1000 * DAY);
    CHECK_EQ(retain(s, DAY), 0);
    CHECK(exists(s, root) && exists(s, child) && exists(s, grandchild));
    verify_clean(s);
    store_close(&s);
}

TEST(open_execution_is_kept_however_old_it_is)
{
    struct store *s = fixture_store();
    int64_t running = submit(s, "running"), ended;

    claim_job(s, 1);
    submit_with(s, (struct submission){.name = "paused", .paused = true});
    submit_with(s, (struct submission){.name = "delayed", .delay = 3000 * DAY});
    submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    ended = ended_job(s);
    submit(s, "ready");
    clock_advance(2000 * DAY);
    CHECK_EQ(retain(s, DAY), 1);
    CHECK(!exists(s, ended));
    CHECK_EQ(count(s, "executions"), 5);
    CHECK_EQ(status_of(s, running), S_RUNNING);
    CHECK_EQ(count(s, "leases"), 1);
    CHECK_EQ(count(s, "timers"), 1);
    CHECK_EQ(count(s, "task_outbox"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(retention_removes_old_ended_trees_and_keeps_young_and_open_ones)
{
    struct store *s = fixture_store();
    int64_t id[30];
    int i;

    for (i = 0; i < 30; i++) /* every third stays open, every other third ends later */
        id[i] = i % 3 == 0 ? submit_with(s, (struct submission){.name = "x", .paused = true})
                           : submit(s, "x");
    for (i = 0; i < 30; i++)
        if (i % 3 == 1)
            CHECK_EQ(cancel(s, id[i]), 0);
    clock_advance(50 * DAY);
    for (i = 0; i < 30; i++)
        if (i % 3 == 2)
            CHECK_EQ(cancel(s, id[i]), 0);
    clock_advance(50 * DAY);
    CHECK_EQ(retain(s, 90 * DAY), 10);
    for (i = 0; i < 30; i++)
        CHECK_EQ(exists(s, id[i]), i % 3 != 1);
    verify_clean(s);
    store_close(&s);
}

/* ---- rows that belong to a tree ---- */

TEST(idempotency_key_is_removed_with_its_tree_and_may_be_used_again)
{
    struct store *s = fixture_store();
    struct submission sub = {.name = "x", .key = "order-17"}, other = {.name = "y", .key = "o-18"};
    int64_t id = submit_with(s, sub), kept = submit_with(s, other);

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    clock_advance(100 * DAY);
    CHECK_EQ(submit_with(s, sub), id); /* the key is known until its tree is removed */
    CHECK_EQ(retain(s, 90 * DAY), 1);
    CHECK_EQ(count(s, "submit_keys"), 1);
    CHECK(submit_with(s, sub) > id);
    CHECK_EQ(submit_with(s, other), kept);
    verify_clean(s);
    store_close(&s);
}

TEST(ids_and_sequence_numbers_are_not_reused_after_everything_was_deleted)
{
    struct store *s = fixture_store();
    int64_t last_id = 0, last_event;
    int i;

    for (i = 0; i < 3; i++) {
        int64_t id = ended_tree(s);

        CHECK(id > last_id);
        if (i)
            CHECK(sql_number(s, "SELECT min(sequence_num) FROM execution_events") > last_event);
        last_id = sql_number(s, "SELECT max(id) FROM executions");
        last_event = sql_number(s, "SELECT max(sequence_num) FROM execution_events");
        clock_advance(10 * DAY);
        CHECK_EQ(retain(s, DAY), 1);
        CHECK_EQ(count(s, "execution_events"), 0);
        verify_clean(s);
        store_close(&s); /* a process that starts later does not reuse them either */
        s = fixture_store();
    }
    store_close(&s);
}

/* ---- dry runs ---- */

TEST(dry_run_of_retention_counts_what_a_real_run_removes_and_deletes_nothing)
{
    struct store *s = fixture_store();
    struct retention dry = {.older_than = 90 * DAY, .max_trees = 4, .dry_run = true}, real;
    int64_t executions, events;
    int i;

    for (i = 0; i < 10; i++)
        i % 3 ? ended_job(s) : ended_tree(s);
    submit(s, "open");
    executions = count(s, "executions");
    events = count(s, "execution_events");
    clock_advance(100 * DAY);
    dry = retain_as(s, dry);
    CHECK_EQ(dry.trees, 10);
    CHECK_EQ(dry.executions, executions - 1);
    CHECK_EQ(dry.events, events - 2); /* created, marked_ready of the open one */
    CHECK_EQ(count(s, "executions"), executions);
    CHECK_EQ(count(s, "execution_events"), events);
    verify_clean(s);
    real = retain_as(s, (struct retention){.older_than = 90 * DAY, .max_trees = 4});
    CHECK_EQ(real.trees, dry.trees);
    CHECK_EQ(real.executions, dry.executions);
    CHECK_EQ(real.events, dry.events);
    CHECK_EQ(count(s, "executions"), 1);
    CHECK_EQ(count(s, "execution_events"), 2);
    verify_clean(s);
    store_close(&s);
}

/* ---- history is append-only ---- */

/* Runs a statement, rolls it back and returns its result. */
static int try_sql(struct store *s, const char *sql)
{
    static struct stmt stmts[20]; /* drivers identify statements by address */
    static size_t n;
    struct stmt *stmt = &stmts[n++];
    struct args a = {.stmt = stmt};
    struct err err = ERR_INIT;
    int rc;

    CHECK(n < COUNT(stmts));
    stmt->name = "test";
    stmt->sql[DIALECT_SQLITE] = stmt->sql[DIALECT_POSTGRES] = sql;
    CHECK_OK_ERR(db_begin(store_db(s), TX_WRITE, &err), &err);
    if (!(rc = db_send(store_db(s), &a, NULL, ANY_ROWS, &err)))
        rc = db_flush(store_db(s), &err);
    db_rollback(store_db(s));
    return rc;
}

TEST(events_cannot_be_updated_deleted_or_truncated)
{
    static const char *const tries[] = {
        "UPDATE execution_events SET data = 'x'",
        "UPDATE execution_events SET to_status = 4 WHERE seq = 1",
        "UPDATE execution_events SET sequence_num = sequence_num + 1000000",
        "DELETE FROM execution_events",
        "DELETE FROM execution_events WHERE seq = 2",
        "DELETE FROM execution_events WHERE root IN (SELECT id FROM executions)",
        "TRUNCATE execution_events",
    };
    struct store *s = fixture_store();
    size_t i;

    ended_tree(s);
    CHECK_EQ(try_sql(s, "UPDATE executions SET name = name"), 0); /* try_sql itself works */
    for (i = 0; i < COUNT(tries); i++)
        if (!try_sql(s, tries[i]))
            test_fail(__FILE__, __LINE__, "%s succeeded", tries[i]);
    /* they also fail in the transaction after a retention, on the same connection */
    clock_advance(10 * DAY);
    ended_job(s);
    CHECK_EQ(retain(s, DAY), 1);
    for (i = 0; i < COUNT(tries); i++)
        CHECK(try_sql(s, tries[i]));
    CHECK_EQ(count(s, "execution_events"), 4);
    verify_clean(s);
    store_close(&s);
}

static int retain_and_fail(struct turn *t, void *arg, struct err *err)
{
    struct retaining *r = arg;
    int rc = op_retain(t, &r->from, &r->to, err);

    return rc ? rc : err_set(err, E_INVALID, "on purpose");
}

TEST(rolled_back_retention_removes_nothing_and_leaves_events_protected)
{
    struct store *s = fixture_store();
    struct retaining r = {.from = {.older_than = DAY, .max_trees = 10}};
    struct err err = ERR_INIT;
    int64_t events;

    ended_tree(s);
    events = count(s, "execution_events");
    clock_advance(10 * DAY);
    CHECK_EQ(store_turn(s, retain_and_fail, &r, &err), -E_INVALID);
    CHECK_EQ(r.to.trees, 1);
    CHECK_EQ(count(s, "execution_events"), events);
    CHECK(try_sql(s, "DELETE FROM execution_events"));
    verify_clean(s);
    CHECK_EQ(retain(s, DAY), 1);
    verify_clean(s);
    store_close(&s);
}
