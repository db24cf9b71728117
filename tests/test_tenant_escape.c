/* test_tenant_escape.c - a tenant's role on PostgreSQL can't run code in a session that has rights
 * on other tenants: it owns nothing, and a schema that Pawl's role does not own is refused. */
#include "tenant_fixture.h"

TEST_ONLY_DB(postgres);

/* ---- the attack ---- */

static const char *const attacks[] = {
    "CREATE FUNCTION steal() RETURNS trigger " ESCAPE,
    "CREATE FUNCTION pg_temp.steal() RETURNS trigger " ESCAPE
    "; CREATE TRIGGER steal BEFORE INSERT ON executions FOR EACH ROW EXECUTE FUNCTION "
    "pg_temp.steal()",
    "CREATE TRIGGER steal BEFORE INSERT ON execution_events FOR EACH ROW EXECUTE FUNCTION "
    "suppress_redundant_updates_trigger()",
    "CREATE OR REPLACE FUNCTION execution_events_guard() RETURNS trigger " ESCAPE,
    "CREATE OR REPLACE FUNCTION make_event_partitions(wanted bigint) RETURNS bigint " ESCAPE,
    "CREATE FUNCTION quote_ident(name) RETURNS text " ESCAPE,
    "ALTER FUNCTION make_event_partitions SET search_path = public",
    "CREATE RULE steal AS ON INSERT TO executions DO ALSO SELECT 1",
    "ALTER TABLE executions ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY steal ON executions USING (true)",
    "ALTER TABLE executions ALTER COLUMN error SET DEFAULT "
    "query_to_xml('SELECT 1', true, true, '')::text",
    "ALTER TABLE executions ADD CHECK (id > 0)",
    "CREATE INDEX steal ON executions ((length(name)))",
    "CREATE STATISTICS steal ON id, root FROM executions",
    "CREATE OR REPLACE VIEW pawl_submissions AS SELECT 1",
    "CREATE VIEW steal AS SELECT 1",
    "CREATE TABLE steal () INHERITS (executions)",
    "CREATE TEMP TABLE steal () INHERITS (executions)",
    "CREATE TABLE public.steal (id bigint REFERENCES executions ON DELETE CASCADE)",
    "CREATE FUNCTION public.steal() RETURNS trigger " ESCAPE
    "; CREATE CONSTRAINT TRIGGER steal AFTER INSERT ON executions DEFERRABLE INITIALLY DEFERRED FOR "
    "EACH ROW EXECUTE FUNCTION public.steal()",
    "CREATE OPERATOR = (FUNCTION = texteq, LEFTARG = text, RIGHTARG = name)",
    "CREATE DOMAIN steal AS text CHECK (length(value) > 0)",
    "DROP TRIGGER execution_events_guard ON execution_events",
    "TRUNCATE executions",
    "INSERT INTO schema_migrations VALUES (999, 'x', now())",
    "DROP TABLE executions",
    "SET SESSION AUTHORIZATION postgres",
    "SET ROLE postgres",
};

/* Grants the right that every role has by default before PostgreSQL 15. */
static void allow_create_in_public(void)
{
    run_sql_with_name(server_url, "GRANT CREATE ON SCHEMA public TO @", "PUBLIC");
}

TEST(tenant_role_cannot_attach_code_to_its_tables)
{
    const char *a = name_of_process("alpha"), *b = name_of_process("beta");
    char *role_a = mem_printf("pawl_%s", a), *role_b = mem_printf("pawl_%s", b), *url, sql[300];
    struct err err;
    size_t i;

    setup();
    allow_create_in_public();
    CHECK_OK_ERR(tenant_create(boss_url, a, NULL, &err), &err);
    CHECK_OK_ERR(tenant_create(boss_url, b, NULL, &err), &err);
    url = url_as(role_a);
    for (i = 0; i < COUNT(attacks); i++) {
        if (!try_sql(url, role_a, attacks[i], &err))
            test_fail(__FILE__, __LINE__, "%s was done by %s", attacks[i], role_a);
        if (!strstr(err.msg, "permission denied") && !strstr(err.msg, "must be owner"))
            test_fail(__FILE__, __LINE__, "%s: %s", attacks[i], err.msg);
    }
    /* A GRANT without the right to grant is only a warning. */
    (void)!try_sql(url, role_a, "GRANT ALL ON executions TO PUBLIC", &err);
    snprintf(sql, sizeof(sql),
             "SELECT set_config('role', 'none', false); SELECT * FROM %s.executions", role_b);
    CHECK(try_sql(url, role_a, sql, &err));
    CHECK(strstr(err.msg, "permission denied"));
    snprintf(sql, sizeof(sql), "SET ROLE %s", name_of_process("boss"));
    CHECK(try_sql(url, role_a, sql, &err));
    check_works(boss_url, a); /* an administrator's worker */
    check_works(url, a);      /* the tenant's own worker */
    check_contained(role_a, role_b);
    CHECK_EQ(number_as_server("SELECT (has_table_privilege('@', '@.executions', 'TRIGGER') OR "
                              "has_schema_privilege('@', '@', 'CREATE'))::int::bigint",
                              role_a),
             0);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    CHECK_OK_ERR(tenant_drop(boss_url, b, NULL, &err), &err);
    free(url);
    free(role_a);
    free(role_b);
    finish();
}

TEST(worker_ignores_functions_in_the_public_schema_that_match_its_calls)
{
    static const char *const fits[] = {"quote_ident(name)",
                                       "hashtext(name)",
                                       "to_regclass(name)",
                                       "max(integer, integer)",
                                       "set_config(text, text, text)",
                                       "nextval(text)",
                                       "unnest(bigint[])",
                                       "clock_timestamp()"};
    const char *a = name_of_process("alpha");
    char *role = mem_printf("pawl_%s", a), *url, sql[500];
    struct err err;
    size_t i;

    setup();
    allow_create_in_public();
    CHECK_OK_ERR(tenant_create(boss_url, a, NULL, &err), &err);
    url = url_as(role);
    for (i = 0; i < COUNT(fits); i++) {
        snprintf(sql, sizeof(sql), "CREATE FUNCTION public.%s RETURNS text " ESCAPE, fits[i]);
        CHECK_OK_ERR(try_sql(url, role, sql, &err), &err);
    }
    check_works(boss_url, a);
    check_works(boss_url, NULL);
    run_sql_with_name(server_url, "DROP OWNED BY @", role);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    free(url);
    free(role);
    finish();
}

/* ---- schemas of other roles ---- */

TEST(schema_that_another_role_owns_is_refused_and_left_unchanged)
{
    const char *other = name_of_process("other");
    struct store *s;
    struct err err;

    setup();
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", other);
    run_sql_with_name(server_url, "CREATE SCHEMA pawl AUTHORIZATION @", other);
    CHECK_EQ(try_open(boss_url, NULL, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "the schema pawl in "));
    CHECK(strstr(err.msg, other));
    CHECK_EQ(try_open(server_url, NULL, &s, &err),
             -E_SCHEMA); /* also for a superuser, whose session has the most rights */
    CHECK(strstr(err.msg, other));
    CHECK_EQ(number_as_server(
                 "SELECT count(*) FROM pg_class WHERE relnamespace = 'pawl'::regnamespace", ""),
             0);
    run_sql_with_name(server_url, "DROP SCHEMA @", "pawl");
    check_works(boss_url, NULL);
    run_sql_with_name(server_url, "ALTER SCHEMA pawl OWNER TO @",
                      other); /* refused even if nothing has to be migrated */
    CHECK_EQ(try_open(boss_url, NULL, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, other));
    run_sql_with_name(server_url, "ALTER SCHEMA pawl OWNER TO @", name_of_process("boss"));
    check_works(boss_url, NULL);
    run_sql_with_name(server_url, "DROP ROLE @", other);
    finish();
}

TEST(schema_with_a_function_of_another_role_is_refused)
{
    const char *a = name_of_process("alpha"), *other = name_of_process("other");
    char *role = mem_printf("pawl_%s", a), sql[300];
    struct store *s;
    struct err err;

    setup();
    CHECK_OK_ERR(tenant_create(boss_url, a, NULL, &err), &err);
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", other);
    snprintf(sql, sizeof(sql),
             "CREATE FUNCTION quote_ident(name) RETURNS text " ESCAPE
             "; ALTER FUNCTION quote_ident(name) OWNER TO %s",
             other);
    CHECK_OK_ERR(try_sql(server_url, role, sql, &err), &err);
    CHECK_EQ(try_open(boss_url, a, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "quote_ident(pg_catalog.name)") && strstr(err.msg, other));
    CHECK_OK_ERR(try_sql(server_url, role, "DROP FUNCTION quote_ident(name)", &err), &err);
    check_works(boss_url, a);
    run_sql_with_name(server_url, "DROP ROLE @", other);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    free(role);
    finish();
}

TEST(schema_with_a_type_of_another_role_is_refused)
{
    const char *a = name_of_process("alpha");
    char *role = mem_printf("pawl_%s", a), *url, sql[300];
    struct store *s;
    struct err err;

    setup();
    CHECK_OK_ERR(tenant_create(boss_url, a, NULL, &err), &err);
    url = url_as(role);
    snprintf(sql, sizeof(sql),
             "CREATE DOMAIN quote_ident AS name CHECK (query_to_xml('SELECT 1/0', true, true, '') "
             "IS NOT NULL); ALTER DOMAIN quote_ident OWNER TO %s",
             role);
    CHECK_OK_ERR(try_sql(server_url, role, sql, &err), &err);
    CHECK_EQ(try_open(boss_url, a, &s, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, ".quote_ident, which belongs to "));
    CHECK_OK_ERR(try_sql(url, role, "DROP DOMAIN quote_ident", &err), &err);
    run_sql_with_name(server_url, "CREATE TABLE @.mine (x int)",
                      role); /* a row type is not a cast */
    run_sql_with_name(server_url, "ALTER TABLE @.mine OWNER TO @", role);
    check_works(boss_url, a);
    CHECK_OK_ERR(tenant_drop(boss_url, a, NULL, &err), &err);
    free(url);
    free(role);
    finish();
}

/* Persons or programs with logins of their own may share a group role without a login. */
TEST(login_that_acts_as_the_owner_role_can_create_and_use_the_schema_and_tenants)
{
    const char *a = name_of_process("alpha"), *b = name_of_process("beta"),
               *login = name_of_process("login");
    char *url, sql[300];
    struct err err;

    setup();
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", login);
    snprintf(sql, sizeof(sql), "GRANT %s TO @; ALTER ROLE @ SET role = %s", name_of_process("boss"),
             name_of_process("boss"));
    run_sql_with_name(server_url, sql, login);
    url = url_as(login);
    check_works(url, NULL); /* a new database */
    check_works(boss_url, NULL);
    CHECK_OK_ERR(tenant_create(url, a, NULL, &err), &err);
    CHECK_OK_ERR(tenant_create(boss_url, b, NULL, &err), &err);
    check_works(url, a);
    check_works(url, b);
    check_works(boss_url, a);
    CHECK_EQ(number_as_server("SELECT count(*) FROM pg_shdepend WHERE refobjid = '@'::regrole AND "
                              "deptype = 'o'",
                              login),
             0);
    CHECK_OK_ERR(tenant_drop(url, a, NULL, &err), &err);
    CHECK_OK_ERR(tenant_drop(url, b, NULL, &err), &err);
    run_sql_with_name(server_url, "DROP ROLE @", login);
    free(url);
    finish();
}

/* An administrator created the schema and granted CREATE on it, and the role of the workers created
 * the objects, as version 10 allowed. */
TEST(schema_of_another_role_is_accepted_by_the_workers_role_that_owns_its_objects)
{
    const char *app = name_of_process("app"), *boss = name_of_process("boss");
    char *url, sql[300];
    struct store *s;
    struct err err;

    setup();
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN", app);
    run_sql_with_name(server_url, "CREATE SCHEMA pawl AUTHORIZATION @", app);
    url = url_as(app);
    check_works(url, NULL);
    run_sql_with_name(server_url, "ALTER SCHEMA pawl OWNER TO @", boss);
    run_sql_with_name(server_url, "GRANT CREATE, USAGE ON SCHEMA pawl TO @", app);
    check_works(url, NULL);
    CHECK_EQ(try_open(boss_url, NULL, &s, &err), -E_SCHEMA); /* app could change its functions */
    snprintf(sql, sizeof(sql), "ALTER SCHEMA pawl OWNER TO %s", app);
    CHECK(strstr(err.msg, sql));
    snprintf(sql, sizeof(sql), "ALTER TABLE, SEQUENCE, VIEW, FUNCTION … OWNER TO %s", boss);
    CHECK(strstr(err.msg, sql));
    CHECK(!strstr(err.msg, "drop it"));
    run_sql_with_name(server_url,
                      "DELETE FROM @.schema_migrations WHERE version = (SELECT max(version) FROM "
                      "pawl.schema_migrations)",
                      "pawl");
    CHECK_EQ(try_open(url, NULL, &s, &err), -E_SCHEMA); /* only the owner upgrades */
    snprintf(sql, sizeof(sql), "ALTER SCHEMA pawl OWNER TO %s", app);
    CHECK(strstr(err.msg, sql));
    run_sql_with_name(server_url, "DROP OWNED BY @",
                      app); /* its objects have the shape of the newest version */
    run_sql_with_name(server_url, "ALTER SCHEMA pawl OWNER TO @", app);
    check_works(url, NULL);
    run_sql_with_name(server_url, "DROP OWNED BY @", app);
    run_sql_with_name(server_url, "DROP ROLE @", app);
    free(url);
    finish();
}
