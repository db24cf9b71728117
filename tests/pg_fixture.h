/* pg_fixture.h - shared by the tests of the PostgreSQL driver: a database of the test's own on the
 * private server, test statements, and a second connection that can disturb the first. */
#ifndef TESTS_PG_FIXTURE_H
#define TESTS_PG_FIXTURE_H

#include "harness.h"
#include "statement_fixture.h"

#include "store/driver/db.h"
#include "store/driver/postgres/conn.h"
#include "store/driver/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STMT(...) STMT_FOR(DIALECT_POSTGRES, __VA_ARGS__)

struct pg {
    struct db_url *url;
    struct env
        *env; /* a pointer, because the connection points to it and this structure is copied */
    struct err err;
    struct db *db;
};

static inline const char *pg_server(void)
{
    const char *url = getenv("PAWL_TEST_PG_URL");

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    CHECK(url && *url);
    return url;
}

/* The server's port, and the URL of the same server at another port. */
static inline int pg_port(void)
{
    const char *colon = strrchr(pg_server(), ':');

    return (int)strtol(colon + 1, NULL, 10);
}

static inline char *pg_url_at(int port, const char *database)
{
    const char *url = pg_server();

    return mem_printf("%.*s:%d/%s", (int)(strrchr(url, ':') - url), url, port, database);
}

/* Runs one statement outside of any transaction. */
static inline void pg_admin(const char *url_text, const char *sql)
{
    struct err err = ERR_INIT;
    struct pg_session session;
    struct db_url *url = NULL;
    PGconn *conn = NULL;
    PGresult *res = NULL;

    CHECK_OK_ERR(url_parse(url_text, NULL, &url, &err), &err);
    CHECK_OK_ERR(pg_connect(url, 0, &conn, &session, &err), &err);
    CHECK(pq.sendQuery(conn, sql));
    CHECK_OK_ERR(pg_finish_statement(conn, 60 * SECOND, sql, url->safe, &res, &err), &err);
    pq.clear(res);
    pg_close(&conn);
    url_free(&url);
}

static inline struct pg pg_at(const char *text, const char *tenant)
{
    struct pg t = {0};

    t.env = mem_zalloc(sizeof(*t.env));
    CHECK_OK_ERR(url_parse(text, tenant, &t.url, &t.err), &t.err);
    return t;
}

static inline struct pg pg_open(const char *text, const char *tenant)
{
    struct pg t = pg_at(text, tenant);

    CHECK_OK_ERR(db_open(t.url, t.env, &t.db, &t.err), &t.err);
    return t;
}

static inline void pg_end(struct pg *t)
{
    db_close(&t->db);
    url_free(&t->url);
    free(t->env);
}

static inline void pg_begin(struct pg *t)
{
    CHECK_OK_ERR(db_begin(t->db, TX_WRITE, &t->err), &t->err);
}

static inline void pg_commit(struct pg *t)
{
    CHECK_OK_ERR(db_commit(t->db, &t->err), &t->err);
}

static inline void pg_script(struct pg *t, const char *sql)
{
    CHECK_OK_ERR(t->db->driver->script(t->db, sql, &t->err), &t->err);
}

static inline void pg_script_in_tx(struct pg *t, const char *sql)
{
    pg_begin(t);
    pg_script(t, sql);
    pg_commit(t);
}

static inline void pg_database_drop(const char *name)
{
    char *sql = mem_printf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name);

    pg_admin(pg_server(), sql);
    free(sql);
}

/* A new database that belongs to this test's process; the caller frees its name. */
static inline char *pg_database(void)
{
    char *name = mem_printf("test_%d", (int)getpid());
    char *sql = mem_printf("CREATE DATABASE %s", name);

    pg_database_drop(name); /* left by a failed test that had the same pid */
    pg_admin(pg_server(), sql);
    free(sql);
    return name;
}

/* A connection to a new database with the schema pawl and a table in it: item (id, name). */
static inline struct pg pg_ready(void)
{
    char *name = pg_database(), *text = pg_url_at(pg_port(), name);
    struct pg t = pg_open(text, NULL);

    pg_script_in_tx(&t, "CREATE SCHEMA pawl; CREATE TABLE item (id bigint PRIMARY KEY, name text)");
    free(text);
    free(name);
    return t;
}

/* Closes what pg_ready opened and drops its database. */
static inline void pg_done(struct pg *t)
{
    char *name = mem_printf("test_%d", (int)getpid());

    pg_end(t);
    pg_database_drop(name);
    free(name);
}

/* Another connection to the same database. */
static inline struct pg pg_second(const struct pg *t)
{
    return pg_open(t->url->text, NULL);
}

/* Queues a statement with integer arguments. */
static inline int pg_send_ints(struct pg *t, const struct stmt *s, const int64_t *n, size_t count,
                               struct rows *out, long expect)
{
    struct args a = {.stmt = s};
    int rc;

    for (size_t i = 0; i < count; i++)
        args_int(&a, n[i]);
    rc = db_send(t->db, &a, out, expect, &t->err);
    args_release(&a);
    return rc;
}

/* Runs a statement without parameters; returns the error code. */
static inline int pg_try(struct pg *t, const struct stmt *s)
{
    int rc = pg_send_ints(t, s, NULL, 0, NULL, ANY_ROWS);

    return -(rc ? rc : db_flush(t->db, &t->err));
}

/* The one number that a query returns. */
static inline int64_t pg_number(struct pg *t, const struct stmt *s)
{
    struct rows r = ROWS_INIT;
    int64_t n;

    CHECK_OK_ERR(pg_send_ints(t, s, NULL, 0, &r, 1), &t->err);
    CHECK_OK_ERR(db_flush(t->db, &t->err), &t->err);
    n = rows_int(&r, 0, 0);
    rows_release(&r);
    return n;
}

/* pg_number in its own transaction. */
static inline int64_t pg_number_in_tx(struct pg *t, const struct stmt *s)
{
    int64_t n;

    pg_begin(t);
    n = pg_number(t, s);
    pg_commit(t);
    return n;
}

STMT(count_items, "SELECT count(*) FROM item", 0, 0, 0);
STMT(add_item, "INSERT INTO item (id) VALUES ($1)", 1, 0, T_I64);
STMT(backend_pid, "SELECT pg_backend_pid()", 0, 0, 0);
STMT(terminate, "SELECT pg_terminate_backend($1, 10000)::int", 1, 0, T_I32);

static inline int pg_add_item(struct pg *t, int64_t id)
{
    return pg_send_ints(t, &add_item, &id, 1, NULL, 1);
}

/* Ends the session with that pid and waits until it is gone. */
static inline void pg_kill(struct pg *killer, int64_t pid)
{
    pg_begin(killer);
    CHECK_OK_ERR(pg_send_ints(killer, &terminate, &pid, 1, NULL, 1), &killer->err);
    pg_commit(killer);
}

#endif
