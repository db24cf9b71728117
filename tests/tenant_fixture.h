/* tenant_fixture.h - a database whose owner is not a superuser, tenants in it, and statements run
 * as one role or another: PostgreSQL only. */
#ifndef TESTS_TENANT_FIXTURE_H
#define TESTS_TENANT_FIXTURE_H

#include "base/buf.h"
#include "own_fixture.h"

#include "store/tenant.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* A function that would leave the tenant's role if a session ran it. */
#define ESCAPE                                                                      \
    "LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('role', 'none', true); RAISE " \
    "EXCEPTION 'evil ran'; END $$"

/* ---- roles: the owner of the database, who is not a superuser, and the tenants ---- */

static inline const char *name_of_process(const char *name)
{
    static char names[8][64];
    static int n;
    char *out = names[n++ % 8];

    snprintf(out, sizeof(names[0]), "%s_%d", name, (int)getpid());
    return out;
}

static char *server_url, *boss_url;

static inline char *url_as(const char *role)
{
    return mem_printf("postgres://%s%s", role, strchr(server_url, '@'));
}

static inline void run_sql_with_name(const char *url, const char *sql, const char *name)
{
    struct buf text = BUF_INIT;
    const char *p;

    for (p = sql; *p; p++) /* @ stands for the name */
        buf_addf(&text, *p == '@' ? "%s" : "%.1s", *p == '@' ? name : p);
    pg_admin(url, buf_cstr(&text));
    buf_release(&text);
}

static inline int try_sql(const char *url_text, const char *schema, const char *sql,
                          struct err *err)
{
    char *text = mem_printf("SET search_path = %s; %s", schema, sql);
    struct pg_session session;
    struct db_url *url = NULL;
    PGconn *conn = NULL;
    PGresult *res = NULL;
    int rc;

    *err = (struct err)ERR_INIT;
    CHECK_OK_ERR(url_parse(url_text, NULL, &url, err), err);
    CHECK_OK_ERR(pg_connect(url, 0, &conn, &session, err), err);
    CHECK(pq.sendQuery(conn, text));
    rc = pg_finish_statement(conn, 60 * SECOND, sql, url->safe, &res, err);
    pq.clear(res);
    pg_close(&conn);
    url_free(&url);
    free(text);
    return rc;
}

static inline void setup(void)
{
    const char *boss = name_of_process("boss");

    server_url = mem_strdup(own_database());
    run_sql_with_name(server_url, "DROP ROLE IF EXISTS @", boss);
    run_sql_with_name(server_url, "CREATE ROLE @ LOGIN CREATEROLE", boss);
    run_sql_with_name(
        server_url,
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO @', current_database()); "
        "END $$",
        boss);
    boss_url = url_as(boss);
}

static inline void finish(void)
{
    own_database_drop();
    run_sql_with_name(pg_server(), "DROP ROLE @", name_of_process("boss"));
    free(server_url);
    free(boss_url);
}

static inline int try_open(const char *url, const char *tenant, struct store **s, struct err *err)
{
    *err = (struct err)ERR_INIT;
    *s = NULL;
    return store_open(url, tenant, NULL, s, err);
}

static inline void check_works(const char *url, const char *tenant)
{
    struct store *s;
    struct err err;

    CHECK_OK_ERR(try_open(url, tenant, &s, &err), &err);
    submit_with(s, (struct submission){.name = "x", .concurrency = "k", .max_attempts = 2});
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    verify_clean(s);
    store_close(&s);
}

static inline int64_t number_as_server(const char *sql, const char *name)
{
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    struct stmt stmt = {.name = "number"};
    struct args a = {.stmt = &stmt};
    struct rows r = ROWS_INIT;
    const char *p;
    struct pg t;
    int64_t n;

    for (p = sql; *p; p++)
        buf_addf(&text, *p == '@' ? "%s" : "%.1s", *p == '@' ? name : p);
    stmt.sql[DIALECT_POSTGRES] = buf_cstr(&text);
    t = pg_open(server_url, NULL);
    pg_begin(&t);
    CHECK_OK_ERR(db_query(t.db, &a, &r, &err), &err);
    n = rows_int(&r, 0, 0);
    rows_release(&r);
    db_rollback(t.db);
    pg_end(&t);
    buf_release(&text);
    return n;
}

/* The server takes a moment to end the sessions of a dropped role. */
static inline void await_end(const char *role)
{
    while (number_as_server("SELECT count(*) FROM pg_stat_activity WHERE usename = '@'", role))
        ;
}

/* The role has no access beyond its own tenant. */
static inline void check_contained(const char *role, const char *other)
{
    char sql[300];

    CHECK_EQ(
        number_as_server("SELECT count(*) FROM pg_auth_members WHERE member = '@'::regrole", role),
        0);
    snprintf(sql, sizeof(sql), "SELECT has_schema_privilege('@', '%s', 'USAGE')::int::bigint",
             other);
    CHECK_EQ(number_as_server(sql, role), 0);
    CHECK_EQ(number_as_server("SELECT count(*) FROM pg_class c WHERE relowner = '@'::regrole AND "
                              "relnamespace = '@'::regnamespace",
                              role),
             0);
}

#endif
