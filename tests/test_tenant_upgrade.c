/* test_tenant_upgrade.c - the upgrade takes ownership of a tenant whose role owns its schema, as
 * version 10 and older created it, unless foreign code was added to it. PostgreSQL only. */
#include "tenant_fixture.h"

TEST_ONLY_DB(postgres);

/* ---- tenants of version 10, owned by their role ---- */

#define OLD_VERSION 10

/* Runs the migrations up to the version in a schema that exists. */
static void create_old_tables(const char *url, const char *tenant, int version)
{
    struct args a = ARGS_INIT;
    struct pg t = pg_open(url, tenant);
    char sql[200];
    int i;

    CHECK_OK_ERR(db_begin(t.db, TX_LONG, &t.err), &t.err);
    args_begin(&a, Q_MIGRATIONS_TABLE);
    CHECK_OK_ERR(db_send(t.db, &a, NULL, ANY_ROWS, &t.err), &t.err);
    for (i = 0; i < version; i++) {
        pg_script(&t, migrations[i].sql[DIALECT_POSTGRES]);
        snprintf(sql, sizeof(sql), "INSERT INTO schema_migrations VALUES (%d, '%s', now())", i + 1,
                 migrations[i].name);
        pg_script(&t, sql);
    }
    pg_script(&t, "INSERT INTO settings VALUES ('database_id', '0123456789abcdef')");
    pg_commit(&t);
    pg_end(&t);
    args_release(&a);
}

static void create_old_tenant(const char *tenant, int version)
{
    char *role = mem_printf("pawl_%s", tenant), *url;

    run_sql_with_name(server_url, "DROP ROLE IF EXISTS @", role);
    run_sql_with_name(boss_url, "CREATE ROLE @ LOGIN", role);
    run_sql_with_name(boss_url, "GRANT @ TO CURRENT_USER", role);
    run_sql_with_name(boss_url, "CREATE SCHEMA @ AUTHORIZATION @", role);
    url = url_as(role);
    create_old_tables(url, tenant, version);
    free(url);
    free(role);
}

static int64_t count_owned_objects(const char *role)
{
    return number_as_server("SELECT count(*) FROM pg_class WHERE relowner = '@'::regrole", role) +
           number_as_server("SELECT count(*) FROM pg_proc WHERE proowner = '@'::regrole", role) +
           number_as_server("SELECT count(*) FROM pg_namespace WHERE nspowner = '@'::regrole",
                            role);
}

static void check_upgrade_of_old_tenant(const char *a, int version)
{
    const char *b = name_of_process("beta"), *friend = name_of_process("friend");
    char *role = mem_printf("pawl_%s", a), *role_b = mem_printf("pawl_%s", b), *url, sql[300];
    struct store *s;
    struct err err;

    setup();
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", friend);
    CHECK_OK_ERR(tenant_create(boss_url, b, NULL, &err), &err);
    create_old_tenant(a, version);
    url = url_as(role);
    snprintf(sql, sizeof(sql),
             "SELECT make_event_partitions(5000000); CREATE TABLE mine (x int); "
             "GRANT ALL ON executions TO %s; GRANT REFERENCES (id) ON executions TO %s; "
             "GRANT ALL ON SCHEMA %s TO %s",
             friend, friend, role, friend);
    CHECK_OK_ERR(try_sql(url, role, sql, &err), &err);
    CHECK_EQ(try_open(url, a, &s, &err),
             -E_SCHEMA); /* the tenant's role can't give up ownership itself */
    CHECK(strstr(err.msg, "pawl admin migrate --tenant"));
    CHECK_EQ(store_open(boss_url, a, &(struct store_options){.no_migrate = true}, &s, &err),
             -E_SCHEMA);
    CHECK(strstr(err.msg, "pawl admin migrate --tenant"));
    await_end(role);
    check_works(boss_url, a);
    check_works(url, a);
    CHECK_OK_ERR(try_sql(url, role, "DROP TABLE mine", &err),
                 &err); /* the role still owns the table that it created */
    CHECK_EQ(count_owned_objects(role), 0);
    check_contained(role, role_b);
    snprintf(sql, sizeof(sql),
             "CREATE TRIGGER t AFTER INSERT ON executions EXECUTE FUNCTION "
             "suppress_redundant_updates_trigger()");
    CHECK(try_sql(url, role, sql, &err));
    CHECK(strstr(err.msg, "permission denied"));
    snprintf(
        sql, sizeof(sql),
        "SELECT (has_table_privilege('@', '%s.executions', 'TRIGGER, REFERENCES, TRUNCATE') OR "
        "has_any_column_privilege('@', '%s.executions', 'REFERENCES') OR "
        "has_schema_privilege('@', '%s', 'CREATE'))::int::bigint",
        role, role, role);
    CHECK_EQ(number_as_server(sql, friend), 0);
    snprintf(sql, sizeof(sql),
             "SELECT has_table_privilege('@', '%s.executions', 'SELECT')::int::bigint", role);
    CHECK_EQ(number_as_server(sql, friend), 1);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    CHECK_OK_ERR(tenant_drop(boss_url, b, NULL, &err), &err);
    run_sql_with_name(server_url, "DROP ROLE @", friend);
    free(url);
    free(role);
    free(role_b);
    finish();
}

TEST(tenant_owned_by_its_role_is_owned_by_pawl_after_the_upgrade)
{
    check_upgrade_of_old_tenant(name_of_process("alpha"), OLD_VERSION);
}

TEST(tenant_of_the_first_version_is_owned_by_pawl_after_the_upgrade)
{
    check_upgrade_of_old_tenant(name_of_process("alpha"), 1);
}

/* Other tests on this server may use this name too: take a lock. */
TEST(tenant_whose_schema_is_named_like_a_view_is_owned_by_pawl_after_the_upgrade)
{
    struct err err = ERR_INIT;
    struct pg_session session;
    struct db_url *url = NULL;
    PGconn *conn = NULL;
    PGresult *res = NULL;

    CHECK_OK_ERR(url_parse(pg_server(), NULL, &url, &err), &err);
    CHECK_OK_ERR(pg_connect(url, 0, &conn, &session, &err), &err);
    CHECK(pq.sendQuery(conn, "SELECT pg_advisory_lock(hashtext('pawl_executions'))"));
    CHECK_OK_ERR(pg_finish_statement(conn, 60 * SECOND, "lock", url->safe, &res, &err), &err);
    check_upgrade_of_old_tenant("executions", OLD_VERSION);
    pq.clear(res);
    pg_close(&conn);
    url_free(&url);
}

#define EVIL "CREATE FUNCTION public.evil() RETURNS trigger " ESCAPE ";"
static const struct {
    const char *change, *named, *undo;
} foreign_code[] = {
    {"CREATE FUNCTION steal() RETURNS trigger " ESCAPE
     "; CREATE TRIGGER t BEFORE INSERT ON schema_migrations FOR EACH ROW EXECUTE FUNCTION steal()",
     "the trigger t on ", "DROP FUNCTION steal() CASCADE"},
    {EVIL
     "CREATE TRIGGER t BEFORE INSERT ON executions FOR EACH ROW EXECUTE FUNCTION public.evil()",
     "the trigger t on ", "DROP FUNCTION public.evil() CASCADE"},
    {EVIL "CREATE TRIGGER t BEFORE INSERT ON execution_events_1 FOR EACH ROW EXECUTE FUNCTION "
          "public.evil()",
     "the trigger t on ", "DROP FUNCTION public.evil() CASCADE"},
    {"CREATE FUNCTION quote_ident(name) RETURNS text " ESCAPE, "quote_ident(name)",
     "DROP FUNCTION quote_ident(name)"},
    {"CREATE FUNCTION max(integer, integer) RETURNS integer " ESCAPE, "max(integer,integer)",
     "DROP FUNCTION max(integer, integer)"},
    {"CREATE OPERATOR === (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text)", "the operator ",
     "DROP OPERATOR === (text, text)"},
    {"CREATE DOMAIN quote_ident AS name CHECK (query_to_xml('SELECT 1/0', true, true, '') IS NOT "
     "NULL)",
     "the type ", "DROP DOMAIN quote_ident"},
    {"CREATE TYPE hashtext AS ENUM ('a')", ".hashtext", "DROP TYPE hashtext"},
    {"CREATE TYPE max AS (x text)", ".max", "DROP TYPE max"},
    {"CREATE RULE r AS ON INSERT TO limits DO ALSO SELECT 1", "the rule r on ",
     "DROP RULE r ON limits"},
    {"CREATE POLICY p ON limits USING (true)", "the policy p on ", "DROP POLICY p ON limits"},
    {"ALTER TABLE limits ENABLE ROW LEVEL SECURITY", "limits, which is not what Pawl made",
     "ALTER TABLE limits DISABLE ROW LEVEL SECURITY"},
    {"ALTER TABLE executions ALTER COLUMN error SET DEFAULT "
     "query_to_xml('SELECT 1', true, true, '')::text",
     "the default or type of the column error of ",
     "ALTER TABLE executions ALTER COLUMN error DROP DEFAULT"},
    {"ALTER TABLE limits ADD CONSTRAINT c CHECK (length(key) > 0)", "the constraint c on ",
     "ALTER TABLE limits DROP CONSTRAINT c"},
    {"CREATE INDEX i ON limits ((length(key)))", ".i", "DROP INDEX i"},
    {"CREATE STATISTICS x ON id, root FROM executions", "the statistics x on ",
     "DROP STATISTICS x"},
    {"CREATE TABLE c () INHERITS (limits)", ".c, which inherits from ", "DROP TABLE c"},
    {"CREATE TABLE parent (LIKE limits); ALTER TABLE limits INHERIT parent",
     ".limits, which inherits from ", "ALTER TABLE limits NO INHERIT parent; DROP TABLE parent"},
    {"CREATE TYPE public.pair AS (name text, value text); ALTER TABLE settings OF public.pair",
     ".settings, which is not what Pawl made",
     "ALTER TABLE settings NOT OF; DROP TYPE public.pair"},
    {"CREATE FUNCTION public.steal(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1'; "
     "ALTER TABLE execution_events RENAME TO other; CREATE TABLE execution_events (LIKE other) "
     "PARTITION BY RANGE (public.steal(root))",
     ".execution_events, which is not what Pawl made",
     "DROP TABLE execution_events; DROP FUNCTION public.steal; ALTER TABLE other RENAME TO "
     "execution_events"},
    {"DROP TRIGGER execution_events_guard ON execution_events",
     ".execution_events, which is missing",
     "CREATE TRIGGER execution_events_guard BEFORE UPDATE OR DELETE ON execution_events FOR EACH "
     "ROW EXECUTE FUNCTION execution_events_guard()"},
    {"ALTER TABLE limits RENAME TO other", ".limits, which is missing",
     "ALTER TABLE other RENAME TO limits"},
    {"ALTER FUNCTION drop_event_partitions RENAME TO other",
     "drop_event_partitions(bigint), which ",
     "ALTER FUNCTION other RENAME TO drop_event_partitions"},
    {"CREATE TABLE c (id bigint REFERENCES executions ON DELETE CASCADE)", " on ", "DROP TABLE c"},
    {"ALTER TABLE schema_migrations RENAME TO other; CREATE VIEW schema_migrations AS SELECT * FROM "
     "other",
     "schema_migrations",
     "DROP VIEW schema_migrations; ALTER TABLE other RENAME TO schema_migrations"},
};

TEST(upgrade_of_a_tenant_with_foreign_code_is_refused_and_the_error_names_the_code)
{
    const char *a = name_of_process("alpha");
    char *role = mem_printf("pawl_%s", a), *url;
    struct store *s;
    struct err err;
    int64_t before;
    size_t i;

    setup();
    run_sql_with_name(server_url, "GRANT CREATE ON SCHEMA public TO @", "PUBLIC");
    create_old_tenant(a, OLD_VERSION);
    url = url_as(role);
    before = count_owned_objects(role);
    for (i = 0; i < COUNT(foreign_code); i++) {
        CHECK_OK_ERR(try_sql(url, role, foreign_code[i].change, &err), &err);
        await_end(role);
        if (try_open(boss_url, a, &s, &err) != -E_SCHEMA ||
            !strstr(err.msg, foreign_code[i].named) || strstr(err.msg, "evil ran"))
            test_fail(__FILE__, __LINE__, "%s: %s", foreign_code[i].change, err.msg);
        CHECK_OK_ERR(try_sql(url, role, foreign_code[i].undo, &err), &err);
        CHECK_EQ(count_owned_objects(role), before);
    }
    CHECK_EQ(number_as_server("SELECT count(*) FROM @.schema_migrations", role), OLD_VERSION);
    await_end(role);
    check_works(boss_url, a);
    CHECK_EQ(count_owned_objects(role), 0);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    free(url);
    free(role);
    finish();
}

TEST(upgrade_of_a_tenant_with_altered_pawl_code_is_refused_and_the_error_names_the_code)
{
    static const char *const changes[][2] = {
        {"CREATE OR REPLACE FUNCTION execution_events_guard() RETURNS trigger " ESCAPE,
         "execution_events_guard()"},
        {"CREATE OR REPLACE VIEW pawl_submissions AS SELECT * FROM pawl_submissions WHERE "
         "query_to_xml('SELECT 1', true, true, '') IS NOT NULL",
         "the rule _RETURN on "},
    };
    size_t i;

    for (i = 0; i < COUNT(changes); i++) {
        const char *a = name_of_process("alpha");
        char *role = mem_printf("pawl_%s", a), *url;
        struct store *s;
        struct err err;

        setup();
        create_old_tenant(a, OLD_VERSION);
        url = url_as(role);
        CHECK_OK_ERR(try_sql(url, role, changes[i][0], &err), &err);
        await_end(role);
        CHECK_EQ(try_open(boss_url, a, &s, &err), -E_SCHEMA);
        CHECK(strstr(err.msg, changes[i][1]));
        CHECK(strstr(err.msg, "nothing was changed"));
        CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
        free(url);
        free(role);
        finish();
    }
}

TEST(upgrade_is_refused_while_the_tenants_role_is_connected)
{
    const char *a = name_of_process("alpha");
    char *role = mem_printf("pawl_%s", a), *url;
    struct store *s;
    struct err err;
    struct pg t;

    setup();
    create_old_tenant(a, OLD_VERSION);
    url = url_as(role);
    t = pg_open(url, a);
    CHECK_EQ(try_open(boss_url, a, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "1 session of the role"));
    pg_end(&t);
    await_end(role);
    check_works(boss_url, a);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    free(url);
    free(role);
    finish();
}

TEST(role_with_write_access_to_the_default_schema_still_works_after_the_upgrade)
{
    static const char *const calls[] = {"make_event_partitions", "drop_event_partitions"};
    const char *app = name_of_process("app"), *reader = name_of_process("reader");
    char *url, sql[200];
    size_t i;

    setup();
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", app);
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", reader);
    run_sql_with_name(boss_url, "CREATE SCHEMA @", "pawl");
    create_old_tables(boss_url, NULL, OLD_VERSION);
    run_sql_with_name(boss_url, "GRANT USAGE ON SCHEMA pawl TO @", app);
    run_sql_with_name(
        boss_url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pawl TO @", app);
    run_sql_with_name(boss_url, "GRANT ALL ON ALL SEQUENCES IN SCHEMA pawl TO @", app);
    run_sql_with_name(boss_url, "GRANT SELECT ON ALL TABLES IN SCHEMA pawl TO @", reader);
    check_works(boss_url, NULL);
    url = url_as(app);
    check_works(url, NULL);
    for (i = 0; i < COUNT(calls); i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT has_function_privilege('@', 'pawl.%s(bigint)', 'EXECUTE')::int::bigint",
                 calls[i]);
        CHECK_EQ(number_as_server(sql, app), 1);
        CHECK_EQ(number_as_server(sql, reader), 0);
    }
    CHECK_EQ(
        number_as_server("SELECT (has_table_privilege('@', 'pawl.jobs', 'SELECT') AND "
                         "has_table_privilege('@', 'pawl.worker_hosts', 'SELECT') AND NOT "
                         "has_table_privilege('@', 'pawl.worker_hosts', 'INSERT'))::int::bigint",
                         reader),
        1);
    run_sql_with_name(server_url, "DROP OWNED BY @", app);
    run_sql_with_name(server_url, "DROP OWNED BY @", reader);
    run_sql_with_name(server_url, "DROP ROLE @", app);
    run_sql_with_name(server_url, "DROP ROLE @", reader);
    free(url);
    finish();
}
