/* test_upgrade.c - the contract of an upgrade: a database of the first version is migrated to this
 * version with all of its data, no matter how many processes start at once and where one of them is
 * killed. */
#include "own_fixture.h"

#include <sodium.h>
#include <sys/wait.h>

/* ---- a database of version 1 ---- */

static const char *url;

static struct db *open_db(struct db_url **parsed, struct env *env)
{
    struct err err = ERR_INIT;
    struct db *db = NULL;

    CHECK_OK_ERR(url_parse(url, NULL, parsed, &err), &err);
    CHECK_OK_ERR(db_open(*parsed, env, &db, &err), &err);
    return db;
}

static void run(struct db *db, enum stmt_id q, const char *text)
{
    struct args a = ARGS_INIT;
    struct err err = ERR_INIT;

    args_begin(&a, q);
    if (text)
        args_text(&a, text);
    CHECK_OK_ERR(db_send(db, &a, NULL, ANY_ROWS, &err), &err);
    args_release(&a);
}

static void script(struct db *db, const char *sql)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(db->driver->script(db, sql, &err), &err);
}

/* Creates the tables as version 1 did. */
static void create_tables(struct db *db, const struct db_url *parsed)
{
    bool is_sqlite = db->driver->dialect == DIALECT_SQLITE;

    run(db, Q_SCHEMA_NAME, parsed->schema ? parsed->schema : "");
    run(db, Q_SCHEMA_CREATE, NULL);
    run(db, Q_MIGRATIONS_TABLE, NULL);
    script(db, migrations[0].sql[db->driver->dialect]);
    script(db, is_sqlite ? "INSERT INTO schema_migrations VALUES (1, 'initial', 1000000000000000)"
                         : "INSERT INTO schema_migrations VALUES (1, 'initial', now())");
    script(db, "INSERT INTO settings VALUES ('database_id', '0123456789abcdef')");
    script(db, is_sqlite ? "UPDATE counters SET value = 2 WHERE name = 'execution_id'"
                         : "SELECT setval('execution_id', 2), setval('event_sequence', 5)");
}

/* Two jobs as version 1 stored them: 1 waits, 2 runs. */
#define EXECUTION(id, status, attempts, seq, started)                                              \
    "INSERT INTO executions (id, root, requested_at, started_at, updated_at, priority, attempts, " \
    "max_attempts, epoch, seq, needs_left, cursor, depth, kind, status, held, deferred, "          \
    "failed_behind, cancel_requested, name, queue, lane, input) SELECT " #id ", " #id              \
    ", applied_at, " started ", applied_at, 0, " #attempts ", 2, " #attempts ", " #seq             \
    ", 0, 0, 0, 1, " #status                                                                       \
    ", 0, 0, 0, 0, 'exec::old', 'default', 'process', '[1]' FROM schema_migrations;"
#define EVENT(n, id, seq, attempt, type, from, to)                                                   \
    "INSERT INTO execution_events (sequence_num, root, execution, created_at, seq, attempt, epoch, " \
    "type, from_status, to_status, worker) SELECT " #n ", " #id ", " #id ", applied_at, " #seq       \
    ", " #attempt ", " #attempt ", " #type ", " #from ", " #to ", 7 FROM schema_migrations;"

static const char jobs[] = EXECUTION(1, 2, 0, 2, "NULL") EXECUTION(2, 3, 1, 3, "applied_at") EVENT(
    1, 1, 1, 0, 1, 0, 1) EVENT(2, 1, 2, 0, 2, 1, 2) EVENT(3, 2, 1, 0, 1, 0, 1)
    EVENT(4, 2, 2, 0, 2, 1, 2) EVENT(
        5, 2, 3, 1, 5, 2,
        3) "INSERT INTO task_outbox SELECT 'process', 'default', 0, 1, applied_at, NULL FROM "
           "schema_migrations;"
           "INSERT INTO leases SELECT 2, 7, applied_at, NULL, 1, 'folder-a' FROM schema_migrations;"
           "INSERT INTO queue_counters VALUES ('default', 5, 1, 0, 1);";

static struct submission keyed_job(void)
{
    return (struct submission){.kind = KIND_EXEC,
                               .task_index = -1,
                               .name = "exec::old",
                               .input = "[1]",
                               .key = "order-17",
                               .max_attempts = 2};
}

static void hash_text(crypto_generichash_state *h, const char *s)
{
    uint64_t len = s ? strlen(s) + 1 : 0;

    crypto_generichash_update(h, (const unsigned char *)&len, sizeof(len));
    if (s)
        crypto_generichash_update(h, (const unsigned char *)s, strlen(s));
}

/* Stores the key of job 1 with the hash that version 1 computed of the submission. */
static void store_key(struct db *db)
{
    struct submission s = keyed_job();
    int64_t numbers[] = {s.kind, 0, -1, 0, 2, 0, 0, 0};
    const char *texts[] = {s.name, NULL, NULL, NULL, NULL, s.input};
    crypto_generichash_state h;
    unsigned char *body = mem_alloc(32);
    struct args a = ARGS_INIT;
    struct err err = ERR_INIT;
    size_t i;

    crypto_generichash_init(&h, NULL, 0, 32);
    crypto_generichash_update(&h, (const unsigned char *)numbers, sizeof(numbers));
    for (i = 0; i < 6; i++)
        hash_text(&h, texts[i]);
    crypto_generichash_final(&h, body, 32);
    args_begin(&a, Q_KEY_INSERT);
    args_text(&a, s.key);
    args_int(&a, 1);
    args_bytes(&a, body, 32);
    CHECK_OK_ERR(db_send(db, &a, NULL, ANY_ROWS, &err), &err);
    CHECK_OK_ERR(db_flush(db, &err), &err);
    args_release(&a);
    free(body);
}

static void create_version_1(void)
{
    struct db_url *parsed = NULL;
    struct env env = {0};
    struct err err = ERR_INIT;
    struct db *db;

    url = own_database();
    db = open_db(&parsed, &env);
    CHECK_OK_ERR(db_begin(db, TX_LONG, &err), &err);
    create_tables(db, parsed);
    script(db, jobs);
    store_key(db);
    CHECK_OK_ERR(db_commit(db, &err), &err);
    db_close(&db);
    url_free(&parsed);
}

/* ---- its upgrade ---- */

static int try_open(struct store_options options, struct store **s, struct err *err)
{
    *err = (struct err)ERR_INIT;
    *s = NULL;
    return store_open(url, NULL, &options, s, err);
}

static struct store *open_upgraded(void)
{
    struct store *s;
    struct err err;

    CHECK_OK_ERR(try_open((struct store_options){0}, &s, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schema_migrations"), migration_count);
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), migration_count);
    return s;
}

/* All old data exists, and the jobs continue. */
static void check_upgraded(struct store *s)
{
    char id[STORE_ID_SIZE];
    struct held_job j;
    struct err err = ERR_INIT;
    int64_t generation;

    CHECK_OK_ERR(store_identity(s, id, &generation, &err), &err);
    CHECK_STR(id, "0123456789abcdef");
    CHECK_EQ(generation, 1);
    verify_clean(s);
    CHECK_EQ(submit_with(s, keyed_job()), 1);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_STR(get(s, 1).input, "[1]");
    CHECK(!get(s, 1).spec);
    CHECK_EQ(reap(s), 1);
    CHECK(adopt_one(s, 1, &j));
    CHECK_EQ(j.id, 2);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK(submit_with(s, (struct submission){.name = "new", .spec = "{\"run\":\"true\"}"}) > 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE spec IS NOT NULL"), 1);
    verify_clean(s);
}

TEST(database_of_the_first_version_is_upgraded_and_its_jobs_continue)
{
    struct store *s;

    create_version_1();
    s = open_upgraded();
    check_upgraded(s);
    store_close(&s);
    own_database_drop();
}

TEST(older_database_without_permission_to_migrate_is_refused_with_advice)
{
    struct store *s;
    struct err err;

    create_version_1();
    CHECK_EQ(try_open((struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "version 1"));
    CHECK(strstr(err.msg, "pawl admin migrate"));
    s = open_upgraded();
    check_upgraded(s);
    store_close(&s);
    own_database_drop();
}

static void open_only(int nth)
{
    struct store *s = open_upgraded();

    (void)nth;
    store_close(&s);
}

TEST(database_opened_by_eight_processes_at_once_is_upgraded_once)
{
    struct store *s;

    create_version_1();
    run_processes(8, open_only);
    s = open_upgraded();
    check_upgraded(s);
    store_close(&s);
    own_database_drop();
}

/* ---- killed during an upgrade ---- */

TEST(upgrade_killed_at_any_point_leaves_the_old_version_and_the_next_succeeds)
{
    struct killing *k = shared_memory(sizeof(*k));
    bool before_commit = false, done = false;
    struct store *s;
    struct err err;
    int nth, rc;

    create_version_1();
    for (nth = 1; open_and_die(url, nth, k); nth++) {
        CHECK(nth < 100);
        before_commit |= !strcmp(k->where, "commit");
        done |= !strcmp(k->where, "committed");
        rc = try_open((struct store_options){.no_migrate = true}, &s, &err);
        store_close(&s);
        if (rc != (done ? 0 : -E_SCHEMA))
            test_fail(__FILE__, __LINE__, "killed at point %d, %s: %d: %s", nth, k->where, rc,
                      err.msg);
        CHECK(done || strstr(err.msg, "version 1,"));
    }
    CHECK(before_commit && done);
    s = open_upgraded();
    check_upgraded(s);
    store_close(&s);
    own_database_drop();
}
