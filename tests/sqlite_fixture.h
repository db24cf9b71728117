/* sqlite_fixture.h - shared by the tests of the SQLite driver: a database in the test's folder,
 * test statements, and child processes. A child is always started before its parent opens the
 * database: SQLite forbids a fork with an open handle. */
#ifndef TESTS_SQLITE_FIXTURE_H
#define TESTS_SQLITE_FIXTURE_H

#include "harness.h"
#include "statement_fixture.h"

#include "store/driver/db.h"
#include "store/driver/url.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STMT(...) STMT_FOR(DIALECT_SQLITE, __VA_ARGS__)

struct sqlite_test {
    struct db_url url;
    struct env
        *env; /* a pointer, because the connection points to it and this structure is copied */
    struct err err;
    struct db *db;
};

/* A database called `name` in the test's folder, not yet open; `options` follow "?", or NULL. */
static inline struct sqlite_test sqlite_test_named(const char *name, const char *options)
{
    struct sqlite_test t = {0};

    t.env = mem_zalloc(sizeof(*t.env));
    t.url.driver = &db_sqlite;
    t.url.file = mem_printf("%s/%s", test_dir(), name);
    t.url.text =
        mem_printf("sqlite:%s%s%s", t.url.file, options ? "?" : "", options ? options : "");
    return t;
}

static inline void sqlite_open_test(struct sqlite_test *t)
{
    CHECK_OK_ERR(db_open(&t->url, t->env, &t->db, &t->err), &t->err);
}

static inline void sqlite_test_end(struct sqlite_test *t)
{
    db_close(&t->db);
    free(t->env);
    free(t->url.file);
    free(t->url.text);
}

static inline void sqlite_test_script_in_tx(struct sqlite_test *t, const char *sql)
{
    CHECK_OK_ERR(db_begin(t->db, TX_WRITE, &t->err), &t->err);
    CHECK_OK_ERR(t->db->driver->script(t->db, sql, &t->err), &t->err);
    CHECK_OK_ERR(db_commit(t->db, &t->err), &t->err);
}

/* Opens t.db with one table: item (id, name). */
static inline struct sqlite_test sqlite_test_ready(void)
{
    struct sqlite_test t = sqlite_test_named("t.db", NULL);

    sqlite_open_test(&t);
    sqlite_test_script_in_tx(&t,
                             "CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT)");
    return t;
}

/* Runs a statement with integer arguments, inside a transaction. */
static inline int sqlite_test_run_ints(struct sqlite_test *t, const struct stmt *s,
                                       const int64_t *n, size_t count, struct rows *out,
                                       long expect)
{
    struct args a = {.stmt = s};
    int rc;

    for (size_t i = 0; i < count; i++)
        args_int(&a, n[i]);
    rc = db_send(t->db, &a, out, expect, &t->err);
    args_release(&a);
    return rc;
}

/* The one number that a query without parameters returns, in its own transaction. */
static inline int64_t sqlite_test_number(struct sqlite_test *t, const struct stmt *s)
{
    struct rows r = ROWS_INIT;
    int64_t n;

    CHECK_OK_ERR(db_begin(t->db, TX_READ, &t->err), &t->err);
    CHECK_OK_ERR(sqlite_test_run_ints(t, s, NULL, 0, &r, 1), &t->err);
    n = rows_int(&r, 0, 0);
    rows_release(&r);
    CHECK_OK_ERR(db_commit(t->db, &t->err), &t->err);
    return n;
}

STMT(count_items, "SELECT count(*) FROM item", 0, 0, 0);
STMT(add_item, "INSERT INTO item (id) VALUES (?1)", 1, 0, T_I64);

static inline void sqlite_test_add_item(struct sqlite_test *t, int64_t id)
{
    CHECK_OK_ERR(db_begin(t->db, TX_WRITE, &t->err), &t->err);
    CHECK_OK_ERR(sqlite_test_run_ints(t, &add_item, &id, 1, NULL, 1), &t->err);
    CHECK_OK_ERR(db_commit(t->db, &t->err), &t->err);
}

/* A child process that waits for commands and reports its progress: one byte each way. */
struct child {
    pid_t pid;
    int to, from;
};

static inline struct child child_start(void (*body)(int in, int out))
{
    int to[2], from[2];
    struct child c;

    CHECK_OK(pipe(to) || pipe(from));
    c.pid = fork();
    CHECK(c.pid >= 0);
    if (c.pid == 0) {
        close(to[1]);
        close(from[0]);
        body(to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    c.to = to[1];
    c.from = from[0];
    return c;
}

static inline void write_byte(int fd)
{
    CHECK_EQ(write(fd, "", 1), 1);
}

static inline void read_byte(int fd)
{
    char byte;

    CHECK_EQ(read(fd, &byte, 1), 1);
}

static inline void child_end(struct child *c)
{
    int status;

    close(c->to);
    close(c->from);
    CHECK_EQ(waitpid(c->pid, &status, 0), c->pid);
    CHECK_EQ(status, 0);
}

static inline void child_kill(struct child *c)
{
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->to);
    close(c->from);
}

#endif
