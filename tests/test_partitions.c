/* test_partitions.c - partitions of the history: each is dropped when nothing needs it any more,
 * without blocking other transactions. */
#include "retention_fixture.h"

#undef SECOND /* the driver defines the same name, as an int */
#include "pg_fixture.h"

TEST_ONLY_DB(postgres);
FRESH_TENANTS;

static bool has_partition(struct store *s, int n)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM pg_class WHERE relname = 'execution_events_%d'"
             " AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())",
             n);
    return sql_number(s, sql) == 1;
}

TEST(event_partition_is_dropped_when_its_last_tree_is_removed)
{
    struct store *s = fixture_store();
    struct held_job j;
    int64_t open;

    ended_job(s);
    open = submit(s, "open");
    CHECK(has_partition(s, 0) && has_partition(s, 2) && !has_partition(s, 3));
    sql_run(s, "SELECT setval('execution_id', 999999)");
    CHECK_EQ(submit_child(s, open, "a child's events are with its root's"), 1000000);
    CHECK_EQ(submit(s, "of the second partition"), 1000001);
    CHECK_EQ(cancel(s, 1000001), 0);
    clock_advance(100 * DAY);
    CHECK_EQ(retain(s, DAY), 2);
    CHECK(has_partition(s, 0)); /* the partition has the events of the open tree */
    verify_clean(s);
    j = claim_job(s, 1);
    CHECK_EQ(j.id, open);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(cancel(s, 1000000), 0);
    submit(s, "young");
    clock_advance(100 * DAY);
    CHECK_EQ(retain(s, DAY), 1);
    CHECK(!has_partition(s, 0));
    CHECK(has_partition(s, 1) && has_partition(s, 2)); /* the current one, and the next */
    CHECK(ended_job(s) > 1000001);
    verify_clean(s);
    store_close(&s);
}

TEST(event_partition_is_dropped_while_other_turns_write_to_the_next_partition)
{
    struct store *s = fixture_store(), *other = fixture_store();
    int64_t id;

    ended_job(s);
    sql_run(s, "SELECT setval('execution_id', 1000000)");
    id = submit(other, "keeps the horizon up");
    clock_advance(100 * DAY);
    CHECK_EQ(retain(s, DAY), 1);
    CHECK(!has_partition(s, 0));
    CHECK_EQ(claim_job(other, 1).id, id); /* prepared statements of the other store still work */
    submit(other, "x");
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

/* ---- concurrent transactions ---- */

/* Adds a tree to the first partition, which is old then, and a tree to the second. */
static struct store *add_old_partition(struct store *s)
{
    ended_job(s);
    sql_run(s, "SELECT setval('execution_id', 1000000)");
    submit(s, "keeps the horizon up");
    clock_advance(100 * DAY);
    return s;
}

TEST(event_partition_that_is_being_read_is_dropped_later)
{
    struct store *s = add_old_partition(fixture_store()), *other = fixture_store();
    struct pg reader = pg_open(fixture_url(), fixture_tenant());

    pg_begin(&reader);
    pg_script(&reader, "SELECT count(*) FROM execution_events");
    CHECK_EQ(retain(s, DAY), 1);
    CHECK(has_partition(s, 0));
    pg_commit(&reader); /* before it idles for too long */
    submit(other, "x");
    CHECK_EQ(retain(s, DAY), 0);
    CHECK(!has_partition(s, 0));
    verify_clean(s);
    pg_end(&reader);
    store_close(&other);
    store_close(&s);
}

STMT(waits_for_us,
     "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' "
     "AND relation = 'execution_events'::regclass",
     0, 0, 0);

static struct shared_flag *written, *committed;

/* The first process adds an event to the old partition, and commits when the second waits for the
 * partition's lock. */
static void write_and_retain(int nth)
{
    struct pg writer;
    struct store *s;

    if (nth == 0) {
        writer = pg_open(fixture_url(), fixture_tenant());
        pg_begin(&writer);
        pg_script(&writer, "INSERT INTO execution_events (sequence_num, root, execution, "
                           "created_at, seq, attempt, epoch, type, from_status, to_status) "
                           "VALUES (nextval('event_sequence'), 7, 7, now(), 1, 0, 0, 1, 0, 1)");
        flag_set(written);
        while (!pg_number(&writer, &waits_for_us))
            ;
        pg_commit(&writer);
        flag_set(committed);
        pg_end(&writer);
    } else {
        s = fixture_store();
        flag_await(written);
        do /* each call waits only briefly */
            retain(s, DAY);
        while (!committed->is_set);
        store_close(&s);
    }
}

TEST(event_added_while_retention_waits_for_its_partition_is_kept)
{
    struct store *s = add_old_partition(fixture_store());
    struct pg p;

    written = shared_memory(sizeof(*written));
    committed = shared_memory(sizeof(*committed));
    store_close(&s);
    run_processes(2, write_and_retain);
    s = fixture_store();
    CHECK(has_partition(s, 0));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE root = 7"), 1);
    p = pg_open(fixture_url(), fixture_tenant()); /* remove the event: it has no execution */
    pg_script_in_tx(&p,
                    "SET LOCAL pawl.retention = 'on'; DELETE FROM execution_events WHERE root = 7");
    pg_end(&p);
    verify_clean(s);
    store_close(&s);
}
