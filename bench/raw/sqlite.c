/* sqlite.c - see raw.h: sqlite3. */
#include "raw.h"

#include <sqlite3.h>
#include <string.h>

static sqlite3 *lite;
static sqlite3_stmt *sqlite_stmts[Q_COUNT];

static void sqlite_exec(const char *sql)
{
    if (sqlite3_exec(lite, sql, NULL, NULL, NULL))
        raw_die(sql, sqlite3_errmsg(lite));
}

static void sqlite_bind(sqlite3_stmt *st, const struct stmt *s, const struct val *v, int from,
                        int n)
{
    int i;

    for (i = 0; i < n; i++, v++) {
        unsigned char type = s->types[from + i];

        if (v->null)
            sqlite3_bind_null(st, from + i + 1);
        else if (type == T_TEXT)
            sqlite3_bind_text(st, from + i + 1, v->s, (int)v->len, SQLITE_STATIC);
        else
            sqlite3_bind_int64(st, from + i + 1, v->i);
    }
}

static void sqlite_run_stmt(const struct args *a, int64_t *first_column)
{
    const struct stmt *s = a->stmt;
    sqlite3_stmt **st = &sqlite_stmts[s - statements];
    size_t rows = s->nrows ? (a->vals.n - s->nscalars) / s->nrows : 1, r, got = 0;
    int rc;

    if (!*st &&
        sqlite3_prepare_v3(lite, s->sql[DIALECT_SQLITE], -1, SQLITE_PREPARE_PERSISTENT, st, NULL))
        raw_die(s->name, sqlite3_errmsg(lite));
    sqlite_bind(*st, s, a->vals.at, 0, s->nscalars);
    for (r = 0; r < rows; r++) {
        sqlite_bind(*st, s, a->vals.at + s->nscalars + r * s->nrows, s->nscalars, s->nrows);
        while ((rc = sqlite3_step(*st)) == SQLITE_ROW)
            if (first_column)
                first_column[got++] = sqlite3_column_int64(*st, 0);
        if (rc != SQLITE_DONE)
            raw_die(s->name, sqlite3_errmsg(lite));
        sqlite3_reset(*st);
    }
}

static void sqlite_open(const char *url)
{
    if (sqlite3_open(url + strlen("sqlite:"), &lite))
        raw_die(url, "can't open");
    sqlite_exec("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-65536;"
                "PRAGMA temp_store=MEMORY; DELETE FROM task_outbox");
}

static void sqlite_begin(void)
{
    sqlite_exec("BEGIN IMMEDIATE");
}

static void sqlite_sync(int64_t *first_column) /* no result is ever outstanding */
{
    (void)first_column;
}

static void sqlite_commit(void)
{
    sqlite_exec("COMMIT");
}

const struct raw_db raw_sqlite = {.open = sqlite_open,
                                  .begin = sqlite_begin,
                                  .run = sqlite_run_stmt,
                                  .sync = sqlite_sync,
                                  .commit = sqlite_commit};
