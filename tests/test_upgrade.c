/* test_upgrade.c - the contract of an upgrade: a database of the first version is migrated to this
 * version with all of its data, no matter how many processes start at once and where one of them is
 * killed. A process of an older version that still runs is refused afterwards. */
#include "own_fixture.h"
#include "store/generation.h"

#include <sodium.h>
#include <sys/wait.h>

/* ---- databases of older versions ---- */

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

/* Creates the tables as that version did. */
static void create_tables(struct db *db, const struct db_url *parsed, int version)
{
    bool is_sqlite = db->driver->dialect == DIALECT_SQLITE;
    char recorded[160];
    int i;

    run(db, Q_SCHEMA_NAME, parsed->schema ? parsed->schema : "");
    run(db, Q_SCHEMA_CREATE, NULL);
    run(db, Q_MIGRATIONS_TABLE, NULL);
    for (i = 0; i < version; i++) {
        script(db, migrations[i].sql[db->driver->dialect]);
        snprintf(recorded, sizeof(recorded), "INSERT INTO schema_migrations VALUES (%d, '%s', %s)",
                 migrations[i].version, migrations[i].name,
                 is_sqlite ? "1000000000000000" : "now()");
        script(db, recorded);
    }
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

static void create_version(int version, const char *rows)
{
    struct db_url *parsed = NULL;
    struct env env = {0};
    struct err err = ERR_INIT;
    struct db *db;

    url = own_database();
    db = open_db(&parsed, &env);
    CHECK_OK_ERR(db_begin(db, TX_LONG, &err), &err);
    create_tables(db, parsed, version);
    script(db, rows);
    if (version == 1)
        store_key(db);
    CHECK_OK_ERR(db_commit(db, &err), &err);
    db_close(&db);
    url_free(&parsed);
}

static void create_version_1(void)
{
    create_version(1, jobs);
}

/* ---- the upgrade ---- */

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

TEST(older_database_that_may_not_be_migrated_is_refused_with_advice)
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

TEST(database_opened_by_eight_processes_simultaneously_is_upgraded_once)
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

TEST(upgrade_killed_at_any_point_leaves_the_old_version_and_the_next_upgrade_succeeds)
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

/* ---- counters of version 12 ---- */

#define MADE_OF_4                                                                                  \
    "INSERT INTO workflow_definitions (hash, name, definition, created_at) SELECT 'four', 'four'," \
    " '{\"name\":\"\\u0000\",\"tasks\":[{},{},{},{}]}', applied_at FROM schema_migrations"         \
    " WHERE version = 1;"

/* Counters as version 12 stored them, and their meaning. */
struct old_counters {
    const char *what;
    int kind, status, needs_left, cursor, flags;
    bool started;
    /* expected; -1 for null */
    int left, succeeded, open, made, notify, reuse, start, now_flags;
};

#define NOTHING -1, -1, -1, -1, -1

static const struct old_counters old_counters[] = {
    {"plain job", KIND_EXEC, S_READY, 0, 0, 0, false, 0, 0, NOTHING, 0},
    {"pending task", KIND_TASK, S_PENDING, 3, 2, 128, false, 3, 2, NOTHING, 128},
    {"task that joined early", KIND_TASK, S_RUNNING, 1, 2, 0, true, 1, 2, NOTHING, 0},
    {"ended task", KIND_TASK, S_SUCCEEDED, 0, 2, 0, true, 0, 2, NOTHING, 0},
    {"ended task that notifies", KIND_TASK, S_FAILED, 7, 2, 16384 + 1, true, 0, 2, -1, -1, 7, -1,
     -1, 1},
    {"workflow that creates tasks", KIND_WORKFLOW, S_RUNNING, 2, 2, 0, true, 0, 0, 2, 2, -1, -1, -1,
     0},
    {"workflow before its first task", KIND_WORKFLOW, S_RUNNING, 0, 0, 0, true, 0, 0, NOTHING, 0},
    {"workflow that runs", KIND_WORKFLOW, S_RUNNING, 1, 4, 2048, true, 0, 0, 1, 4, -1, -1, -1,
     2048},
    {"workflow that starts tasks", KIND_WORKFLOW, S_RUNNING, 4, 7, 0, true, 0, 0, 4, 4, -1, -1, 1,
     0},
    {"workflow that reuses results", KIND_WORKFLOW, S_RUNNING, 4, 9, 0, true, 0, 0, 4, 4, -1, 3, -1,
     0},
    {"workflow about to reuse", KIND_WORKFLOW, S_RUNNING, 4, 8, 0, true, 0, 0, 4, 4, -1, 4, -1, 0},
    {"ended workflow", KIND_WORKFLOW, S_SUCCEEDED, 0, 4, 24, true, 0, 0, -1, 4, -1, -1, -1, 24},
    {"workflow cancelled at its start", KIND_WORKFLOW, S_CANCELLED, 0, 6, 2, true, 0, 0, -1, 4, -1,
     -1, -1, 2},
    {"ended nested workflow that notifies", KIND_WORKFLOW, S_SUCCEEDED, 5, 4, 16384, true, 0, 0, -1,
     4, 5, -1, -1, 0},
    {"pending nested workflow", KIND_WORKFLOW, S_PENDING, 1, 1, 0, false, 1, 1, NOTHING, 0},
    {"skipped nested workflow", KIND_WORKFLOW, S_SKIPPED, 0, 1, 0, false, 0, 1, NOTHING, 0},
    {"nested workflow that will run again", KIND_WORKFLOW, S_PENDING, 2, 1, 8192 + 2048, true, 2, 1,
     NOTHING, 8192 + 2048},
    {"nested workflow cancelled before it ran again", KIND_WORKFLOW, S_CANCELLED, 1, 1, 8192, true,
     1, 1, NOTHING, 8192},
    {"fan-out", KIND_FOREACH, S_RUNNING, 5, 9, 1, true, 0, 0, 5, 9, -1, -1, -1, 1},
    {"ended fan-out that notifies", KIND_FOREACH, S_TIMED_OUT, 3, 9, 16384, true, 0, 0, -1, 9, 3,
     -1, -1, 0},
};

#define OLD_COUNTERS (sizeof(old_counters) / sizeof(*old_counters))

static void add_old_row(struct buf *sql, size_t i)
{
    const struct old_counters *o = &old_counters[i];

    buf_addf(
        sql,
        "INSERT INTO executions (id, root, requested_at, started_at, updated_at, priority, "
        "attempts, max_attempts, epoch, seq, needs_left, cursor, depth, kind, status, held, "
        "deferred, failed_behind, cancel_requested, name, queue) SELECT %zu, 1, applied_at, %s,"
        " applied_at, 0, 0, 1, 0, 0, %d, %d, 0, %d, %d, 0, 0, %d, 0, 'x', 'default' FROM "
        "schema_migrations WHERE version = 1;",
        i + 1, o->started ? "applied_at" : "NULL", o->needs_left, o->cursor, o->kind, o->status,
        o->flags);
    if (o->kind == KIND_WORKFLOW)
        buf_addf(sql,
                 "INSERT INTO workflow_executions (execution, definition, variables)"
                 " VALUES (%zu, 'four', '{}');",
                 i + 1);
}

static void check_new_row(struct store *s, size_t i)
{
    const struct old_counters *o = &old_counters[i];
    char sql[600];

    snprintf(
        sql, sizeof(sql),
        "SELECT count(*) FROM executions WHERE id = %zu AND needs_left = %d AND "
        "needs_succeeded = %d AND COALESCE(children_open, -1) = %d AND COALESCE(children_made, "
        "-1) = %d AND COALESCE(notify_left, -1) = %d AND COALESCE((SELECT w.reuse_left FROM "
        "workflow_executions w WHERE w.execution = id), -1) = %d AND COALESCE((SELECT "
        "w.start_left FROM workflow_executions w WHERE w.execution = id), -1) = %d AND flags = %d",
        i + 1, o->left, o->succeeded, o->open, o->made, o->notify, o->reuse, o->start,
        o->now_flags);
    if (!sql_number(s, sql))
        test_fail(__FILE__, __LINE__, "%s: no row matches: %s", o->what, sql);
}

TEST(packed_counters_of_version_12_are_split_into_one_column_each)
{
    struct buf rows = BUF_INIT;
    struct store *s;
    size_t i;

    buf_addstr(&rows, MADE_OF_4);
    for (i = 0; i < OLD_COUNTERS; i++)
        add_old_row(&rows, i);
    create_version(12, rows.ptr);
    buf_release(&rows);
    s = open_upgraded();
    for (i = 0; i < OLD_COUNTERS; i++)
        check_new_row(s, i);
    store_close(&s);
    own_database_drop();
}

/* ---- the catalogue of applied workflows ---- */

#define APPLIED_BY_20                                                                            \
    "INSERT INTO workflow_definitions (hash, name, definition, created_at, used_at) SELECT "     \
    "'1111', 'w', '{\"name\":\"w\",\"description\":\"it''s old\",\"params\":[{\"name\":\"a\"}]," \
    "\"tasks\":[{\"name\":\"a\",\"run\":\"x\"},{\"name\":\"b\",\"run\":\"y\"}]}', applied_at, "  \
    "applied_at FROM schema_migrations WHERE version = 1;"                                       \
    "INSERT INTO workflow_names SELECT 'w', '1111', applied_at, 'ada' FROM schema_migrations "   \
    "WHERE version = 1;"

TEST(workflow_applied_by_version_20_is_the_first_version_in_the_catalogue)
{
    struct store *s;

    create_version(20, APPLIED_BY_20);
    s = open_upgraded();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_applications a JOIN workflow_names n ON "
                           "n.name = a.name AND n.hash = a.hash AND n.applied_at = a.applied_at "
                           "WHERE a.name = 'w' AND a.seq = 1 AND a.applied_by = 'ada' AND a.tasks "
                           "= 2 AND a.params = 1 AND a.description = 'it''s old'"),
             1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_definitions WHERE source IS NULL"), 1);
    verify_clean(s);
    store_close(&s);
    own_database_drop();
}

/* ---- processes of older versions ---- */

static int write_as_an_older_version(struct err *err)
{
    struct db_url *parsed = NULL;
    struct env env = {0};
    struct db *db = open_db(&parsed, &env);
    int rc;

    CHECK_OK_ERR(db_begin(db, TX_LONG, err), err);
    rc = db->driver->script(db,
                            strcmp(test_db(), "sqlite")
                                ? "INSERT INTO turns (writer, turn, at) VALUES (7, 1, now()) ON "
                                  "CONFLICT (writer) DO UPDATE SET turn = excluded.turn"
                                : "INSERT INTO turns (writer, turn, at) VALUES (7, 1, 1) ON "
                                  "CONFLICT (writer) DO UPDATE SET turn = excluded.turn",
                            err);
    db_rollback(db);
    db_close(&db);
    url_free(&parsed);
    return rc;
}

TEST(turn_of_a_version_12_process_is_refused_after_the_upgrade)
{
    struct err err = ERR_INIT;
    struct store *s;

    create_version(12, "INSERT INTO turns SELECT 7, 1, applied_at FROM schema_migrations"
                       " WHERE version = 1");
    CHECK_OK_ERR(write_as_an_older_version(&err), &err);
    s = open_upgraded();
    CHECK_EQ(write_as_an_older_version(&err), -E_SCHEMA);
    CHECK(strstr(err.msg, "a newer pawl has upgraded the schema"));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM settings WHERE name = 'fence_generation'"
                           " AND value = '1'"),
             1);
    store_close(&s);
    own_database_drop();
}

static int do_nothing(struct turn *t, void *arg, struct err *err)
{
    (void)t;
    (void)arg;
    (void)err;
    return 0;
}

TEST(turn_of_a_process_older_than_the_minimum_version_is_refused)
{
    bool is_sqlite = !strcmp(test_db(), "sqlite");
    struct err err = ERR_INIT;
    struct store *s;

    create_version_1();
    s = open_upgraded();
    CHECK_OK_ERR(store_turn(s, do_nothing, NULL, &err), &err);
    sql_run(s, is_sqlite ? "DROP TRIGGER turns_refuse_older_schema"
                         : "DROP TRIGGER turns_refuse_older_schema ON turns");
    sql_run(s, is_sqlite
                   ? "CREATE TRIGGER refuse BEFORE INSERT ON turns WHEN NEW.schema_version < "
                     "99 BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema'); END"
                   : "CREATE TRIGGER refuse BEFORE INSERT ON turns FOR EACH ROW WHEN "
                     "(NEW.schema_version < 99) EXECUTE FUNCTION refuse_older_schema()");
    CHECK_EQ(store_turn(s, do_nothing, NULL, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "a newer pawl has upgraded the schema"));
    store_close(&s);
    own_database_drop();
}
