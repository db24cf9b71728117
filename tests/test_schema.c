/* test_schema.c - the contract of opening a database: whoever comes first makes the schema, however
 * many come at once and wherever one of them dies; a schema that is newer than the program is left
 * alone. */
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

static struct store *open_it(const char *url)
{
    struct store *s;
    struct err err;

    CHECK_OK_ERR(try_open(url, (struct store_options){0}, &s, &err), &err);
    return s;
}

/* One whole schema, and it works. */
static void check_schema(struct store *s)
{
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schema_migrations"), migration_count);
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), migration_count);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM settings WHERE name = 'database_id'"), 1);
    submit(s, "x");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    verify_clean(s);
}

/* ---- making it ---- */

TEST(the_first_to_open_makes_the_schema)
{
    const char *url = own_database();
    struct store *s = open_it(url);

    check_schema(s);
    store_close(&s);
    own_database_drop();
}

/* What is sent to the database, each name once. */
static void note_name(void *arg, const char *where)
{
    if (!strstr(buf_cstr(arg), where))
        buf_addf(arg, "%s ", where);
}

TEST(opening_what_is_migrated_only_looks)
{
    const char *url = own_database();
    struct buf seen = BUF_INIT;
    struct env env = {.point = note_name, .arg = &seen};
    struct store *s = open_it(url);
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
    struct store *s = open_it(shared_url);
    char name[32];

    snprintf(name, sizeof(name), "job %d", nth);
    submit(s, name);
    store_close(&s);
}

TEST(eight_processes_that_come_at_once_make_one_schema)
{
    struct store *s;
    int i;

    shared_url = own_database();
    run_processes(8, open_and_submit);
    s = open_it(shared_url);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 8);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT name) FROM executions"), 8);
    for (i = 0; i < 8; i++)
        CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

/* ---- refusing it ---- */

TEST(a_schema_that_is_newer_is_refused_and_left_alone)
{
    const char *url = own_database();
    struct store *s = open_it(url), *other;
    struct err err;

    sql_run(s, "INSERT INTO schema_migrations SELECT 999, 'of the future', applied_at FROM"
               " schema_migrations WHERE version = 1");
    CHECK_EQ(try_open(url, (struct store_options){0}, &other, &err), -E_SCHEMA);
    CHECK_EQ(err.code, E_SCHEMA);
    CHECK(strstr(err.msg, "version 999"));
    CHECK(strstr(err.msg, "use a newer pawl"));
    CHECK(!other);
    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &other, &err), -E_SCHEMA);
    submit(s, "x"); /* whoever was there before the upgrade goes on */
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), 999);
    verify_clean(s);
    store_close(&s);
    own_database_drop();
}

TEST(without_leave_to_migrate_an_empty_database_is_refused_with_what_to_do)
{
    const char *url = own_database();
    struct store *s;
    struct err err;

    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "has no Pawl tables yet"));
    CHECK(strstr(err.msg, "pawl admin migrate"));
    CHECK(!s);
    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    s = open_it(url); /* and nothing was spoilt by the look */
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

/* ---- names of somebody else's ---- */

/* As a program that knows nothing of Pawl writes there. */
static void write_there(const char *text, const char *sql)
{
    char *all = mem_printf("%s%s", strcmp(test_db(), "sqlite") ? "CREATE SCHEMA pawl;" : "", sql);
    struct pg t = pg_open(text, NULL);

    pg_script_in_tx(&t, all);
    pg_end(&t);
    free(all);
}

static void refuses_name(const char *url, const char *name)
{
    struct store *s;
    struct err err;

    CHECK_EQ(try_open(url, (struct store_options){0}, &s, &err), -E_SCHEMA);
    CHECK(!s);
    if (!strstr(err.msg, name) || !strstr(err.msg, "not Pawl's"))
        test_fail(__FILE__, __LINE__, "%s", err.msg);
}

TEST(a_table_of_somebody_else_under_a_name_that_pawl_needs_is_refused_and_left_alone)
{
    const char *url = own_database();
    struct store *s;
    struct pg t;

    write_there(url, "CREATE TABLE settings (a INTEGER); INSERT INTO settings VALUES (7);"
                     "CREATE TABLE bills (a INTEGER)");
    refuses_name(url, "'settings'");
    t = pg_open(url, NULL);
    pg_script_in_tx(&t, "INSERT INTO settings SELECT a + 1 FROM settings; DROP TABLE settings");
    pg_end(&t);
    s = open_it(url); /* all that it has beside it is no obstacle */
    check_schema(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM bills"), 0);
    store_close(&s);
    own_database_drop();
}

TEST(the_list_of_migrations_of_another_program_is_not_taken_for_ours)
{
    const char *url = own_database();
    struct store *s;
    struct err err;

    write_there(url, "CREATE TABLE schema_migrations (version INTEGER);"
                     "INSERT INTO schema_migrations VALUES (20260131)");
    refuses_name(url, "'schema_migrations'");
    CHECK_EQ(try_open(url, (struct store_options){.no_migrate = true}, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "not Pawl's"));
    own_database_drop();
}

TEST(a_name_that_only_a_later_version_needs_is_refused_at_the_upgrade)
{
    const char *url = own_database();
    struct store *s = open_it(url);

    submit(s, "x");
    sql_run(s, "DROP INDEX workflow_names_hash");
    sql_run(s, "DROP INDEX workflow_definitions_used");
    sql_run(s, "DROP INDEX workflow_executions_definition");
    sql_run(s, "DELETE FROM schema_migrations WHERE version >= 8");
    sql_run(s, "CREATE TABLE workflow_names_hash (a INTEGER)");
    refuses_name(url, "'workflow_names_hash'");
    CHECK_EQ(sql_number(s, "SELECT max(version) FROM schema_migrations"), 7);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    store_close(&s);
    own_database_drop();
}

TEST(what_pawl_makes_is_known_by_its_name)
{
    CHECK(schema_creates(DIALECT_SQLITE, 0, migration_count, "SETTINGS"));
    CHECK(schema_creates(DIALECT_SQLITE, 0, 1, "settings"));
    CHECK(schema_creates(DIALECT_SQLITE, 0, migration_count, "jobs"));
    CHECK(schema_creates(DIALECT_POSTGRES, 0, migration_count, "execution_id"));
    CHECK(!schema_creates(DIALECT_SQLITE, 1, migration_count, "settings"));
    CHECK(!schema_creates(DIALECT_SQLITE, 0, migration_count, "bills"));
}

/* ---- dying in the middle ---- */

TEST(a_migration_that_is_killed_anywhere_leaves_nothing_and_the_next_succeeds)
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
    CHECK(before_commit && migrated); /* after the script, with everything written */
    s = open_it(url);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}

static void open_only(int nth)
{
    struct store *s = open_it(shared_url);

    (void)nth;
    store_close(&s);
}

TEST(a_migration_that_is_killed_at_any_moment_is_done_by_the_next)
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
    s = open_it(shared_url);
    check_schema(s);
    store_close(&s);
    own_database_drop();
}
