/* test_schema.c - the contract of opening a database: the first process creates the schema, no
 * matter how many start at once and where one of them is killed; a schema that is newer than the
 * program is left unchanged. */
#include "base/buf.h"
#include "own_fixture.h"

#include <sys/wait.h>

static int try_open(const char *url, struct store_options options, struct store **s,
                    struct err *err)
{
    *err = (struct err)ERR_INIT;
    *s = NULL;
    return store_open(url, NULL, &options, s, err);
}

static struct store *open_database(const char *url)
{
    struct store *s;
    struct err err;

    CHECK_OK_ERR(try_open(url, (struct store_options){0}, &s, &err), &err);
    return s;
}

/* The schema is complete, and a job runs. */
static void check_schema(struct store *s)
{
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schema_migrations"), migration_count);
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), migration_count);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM settings WHERE name = 'database_id'"), 1);
    submit(s, "x");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    verify_clean(s);
}

/* ---- creating the schema ---- */

TEST(first_open_creates_the_schema)
{
    const char *url = own_database();
    struct store *s = open_database(url);

    check_schema(s);
    store_close(&s);
    own_database_drop();
}

/* Collects the names of the statements sent to the database, each name once. */
static void note_name(void *arg, const char *where)
{
    if (!strstr(buf_cstr(arg), where))
        buf_addf(arg, "%s ", where);
}

TEST(open_of_an_up_to_date_database_writes_nothing)
{
    const char *url = own_database();
    struct buf seen = BUF_INIT;
    struct env env = {.point = note_name, .arg = &seen};
    struct store *s = open_database(url);
    struct err err;
    int64_t at;

    submit(s, "x");
    at = sql_number(s, "SELECT count(*) FROM execution_events");
    store_close(&s);
    CHECK_OK_ERR(try_open(url, (struct store_options){.env = &env}, &s, &err), &err);
    CHECK_STR(buf_cstr(&seen), strcmp(test_db(), "sqlite")
                                   ? "schema_owner migrations_exist schema_version "
                                   : "migrations_exist schema_version ");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events"), at);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schema_migrations"), migration_count);
    store_close(&s);
    buf_release(&seen);
    CHECK_OK_ERR(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), &err);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

static const char *shared_url;

static void open_and_submit(int nth)
{
    struct store *s = open_database(shared_url);
    char name[32];

    snprintf(name, sizeof(name), "job %d", nth);
    submit(s, name);
    store_close(&s);
}

TEST(eight_processes_that_open_a_database_simultaneously_create_one_schema)
{
    struct store *s;
    int i;

    shared_url = own_database();
    run_processes(8, open_and_submit);
    s = open_database(shared_url);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 8);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT name) FROM executions"), 8);
    for (i = 0; i < 8; i++)
        CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

/* ---- refusing a schema ---- */

TEST(newer_schema_is_refused_and_left_unchanged)
{
    const char *url = own_database();
    struct store *s = open_database(url), *other;
    struct err err;

    sql_run(s, "INSERT INTO schema_migrations SELECT 999, 'of the future', applied_at FROM"
               " schema_migrations WHERE version = 1");
    CHECK_EQ(try_open(url, (struct store_options){0}, &other, &err), -E_SCHEMA);
    CHECK_EQ(err.code, E_SCHEMA);
    CHECK(strstr(err.msg, "version 999"));
    CHECK(strstr(err.msg, "use a newer pawl"));
    CHECK(!other);
    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &other, &err), -E_SCHEMA);
    submit(s, "x"); /* a process that was connected before the upgrade continues */
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), 999);
    verify_clean(s);
    store_close(&s);
    own_database_drop();
}

TEST(empty_database_without_permission_to_migrate_is_refused_with_advice)
{
    const char *url = own_database();
    struct store *s;
    struct err err;

    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "has no Pawl tables yet"));
    CHECK(strstr(err.msg, "pawl admin migrate"));
    CHECK(!s);
    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    s = open_database(url); /* the refused attempt changed nothing */
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

/* ---- name conflicts with other programs ---- */

/* Writes as a program that is unrelated to Pawl. */
static void write_as_another_program(const char *text, const char *sql)
{
    char *all = mem_printf("%s%s", strcmp(test_db(), "sqlite") ? "CREATE SCHEMA pawl;" : "", sql);
    struct pg t = pg_open(text, NULL);

    pg_script_in_tx(&t, all);
    pg_end(&t);
    free(all);
}

static void check_name_is_refused(const char *url, const char *name)
{
    struct store *s;
    struct err err;

    CHECK_EQ(try_open(url, (struct store_options){0}, &s, &err), -E_SCHEMA);
    CHECK(!s);
    if (!strstr(err.msg, name) || !strstr(err.msg, "not Pawl's"))
        test_fail(__FILE__, __LINE__, "%s", err.msg);
}

TEST(database_with_a_foreign_table_of_a_name_that_pawl_needs_is_refused_and_unchanged)
{
    const char *url = own_database();
    struct store *s;
    struct pg t;

    write_as_another_program(url,
                             "CREATE TABLE settings (a INTEGER); INSERT INTO settings VALUES (7);"
                             "CREATE TABLE bills (a INTEGER)");
    check_name_is_refused(url, "'settings'");
    t = pg_open(url, NULL);
    pg_script_in_tx(&t, "INSERT INTO settings SELECT a + 1 FROM settings; DROP TABLE settings");
    pg_end(&t);
    s = open_database(url); /* other tables do not matter */
    check_schema(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM bills"), 0);
    store_close(&s);
    own_database_drop();
}

TEST(database_with_the_migrations_table_of_another_program_is_refused)
{
    const char *url = own_database();
    struct store *s;
    struct err err;

    write_as_another_program(url, "CREATE TABLE schema_migrations (version INTEGER);"
                                  "INSERT INTO schema_migrations VALUES (20260131)");
    check_name_is_refused(url, "'schema_migrations'");
    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "not Pawl's"));
    own_database_drop();
}

TEST(foreign_table_with_a_name_that_only_a_later_version_needs_fails_the_upgrade)
{
    const char *url = own_database();
    struct store *s = open_database(url);

    submit(s, "x");
    sql_run(s, "DROP INDEX workflow_names_hash");
    sql_run(s, "DROP INDEX workflow_definitions_used");
    sql_run(s, "DROP INDEX workflow_executions_definition");
    sql_run(s, "DROP INDEX executions_workflow");
    sql_run(s, "DROP INDEX execution_events_failed_tasks");
    sql_run(s, "DROP INDEX executions_runs");
    sql_run(s, "DROP INDEX workflow_applications_hash");
    sql_run(s, "ALTER TABLE workflow_applications RENAME TO applications_of_workflows");
    sql_run(s, strcmp(test_db(), "sqlite") ? "DROP TRIGGER turns_refuse_older_schema ON turns"
                                           : "DROP TRIGGER turns_refuse_older_schema");
    sql_run(s, "DROP INDEX submissions_source");
    sql_run(s, "DROP INDEX workflow_webhooks_workflow");
    sql_run(s, "ALTER TABLE workflow_triggers RENAME TO triggers_of_workflows");
    sql_run(s, "ALTER TABLE workflow_webhooks RENAME TO webhooks_of_workflows");
    sql_run(s, "ALTER TABLE hooks RENAME TO messages");
    sql_run(s, "DROP INDEX worker_hosts_seen");
    sql_run(s, "ALTER TABLE worker_hosts RENAME TO hosts_of_workers");
    sql_run(s, "DROP TABLE access_tokens");
    sql_run(s, "ALTER TABLE attempt_counters RENAME TO counters_of_attempts");
    sql_run(s, "DELETE FROM schema_migrations WHERE version >= 8");
    sql_run(s, "CREATE TABLE workflow_names_hash (a INTEGER)");
    check_name_is_refused(url, "'workflow_names_hash'");
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), 7);
    sql_run(s, "ALTER TABLE counters_of_attempts RENAME TO attempt_counters");
    sql_run(s, "ALTER TABLE triggers_of_workflows RENAME TO workflow_triggers");
    sql_run(s, "ALTER TABLE webhooks_of_workflows RENAME TO workflow_webhooks");
    sql_run(s, "ALTER TABLE messages RENAME TO hooks");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    store_close(&s);
    own_database_drop();
}

TEST(names_that_a_migration_creates_are_recognized)
{
    CHECK(schema_creates(DIALECT_SQLITE, 0, migration_count, "SETTINGS"));
    CHECK(schema_creates(DIALECT_SQLITE, 0, 1, "settings"));
    CHECK(schema_creates(DIALECT_SQLITE, 0, migration_count, "jobs"));
    CHECK(schema_creates(DIALECT_POSTGRES, 0, migration_count, "execution_id"));
    CHECK(!schema_creates(DIALECT_SQLITE, 1, migration_count, "settings"));
    CHECK(!schema_creates(DIALECT_SQLITE, 0, migration_count, "bills"));
}

/* ---- killed during a migration ---- */

TEST(migration_killed_at_any_point_leaves_nothing_behind_and_the_next_one_succeeds)
{
    const char *url = own_database();
    struct killing *k = shared_memory(sizeof(*k));
    bool before_commit = false, migrated = false;
    struct store *s;
    struct err err;
    int nth, rc;

    for (nth = 1; open_and_die(url, nth, k); nth++) {
        CHECK(nth < 100);
        before_commit |= !strcmp(k->where, "commit");
        migrated |= !strcmp(k->where, "committed");
        rc = try_open(url, (struct store_options){.no_migrate = true}, &s, &err);
        store_close(&s);
        if (rc != (migrated ? 0 : -E_SCHEMA))
            test_fail(__FILE__, __LINE__, "killed at point %d, %s: %d: %s", nth, k->where, rc,
                      err.msg);
        CHECK(migrated || strstr(err.msg, "has no Pawl tables yet"));
    }
    CHECK(before_commit && migrated); /* both points were reached, so everything had been written */
    s = open_database(url);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

static void open_only(int nth)
{
    struct store *s = open_database(shared_url);

    (void)nth;
    store_close(&s);
}

TEST(migration_killed_at_a_random_time_is_completed_by_the_next_open)
{
    struct store *s;
    int i;

    shared_url = own_database();
    for (i = 0; i < 20; i++) {
        pid_t pid = fork();
        int status;

        CHECK(pid >= 0);
        if (!pid) {
            open_only(0);
            _exit(0);
        }
        clock_sleep_us(env_random_id() % 30000);
        kill(pid, SIGKILL);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    run_processes(3, open_only);
    s = open_database(shared_url);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}
