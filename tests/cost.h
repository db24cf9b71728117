/* cost.h - the cost of a query or a turn, as counted by the database itself. PostgreSQL: the rows
 * of all plan nodes, by EXPLAIN ANALYZE of each statement as the turn runs it, with the plan that
 * the engine uses. SQLite: steps of its virtual machine. Time is never measured. */
#ifndef TESTS_COST_H
#define TESTS_COST_H

#include "base/buf.h"
#include "fixture.h"
#include "store/driver/sqlite/sqlite_db.h"

#include <stdlib.h>
#include <string.h>

/* A driver in front of PostgreSQL's: explains each statement of the engine, and undoes it, before
 * it is run. */
static struct db_driver spy;
static const struct db_driver *real;
static bool measuring;
static bool prepared[Q_COUNT];   /* the server can explain only prepared statements */
static VEC(struct rows *) plans; /* filled when the queue is flushed */
static struct arena spied;       /* statements are identified by their address */

static const char *const type_names[] = {
    [T_I64] = "bigint",       [T_I32] = "int",     [T_I16] = "smallint", [T_TEXT] = "text",
    [T_TIME] = "timestamptz", [T_BYTES] = "bytea", [T_TID] = "tid"};

static void add_value(struct buf *b, const struct val *v, unsigned char type)
{
    uint32_t i;

    if (v->null) {
        buf_addstr(b, "NULL");
    } else if (type == T_TEXT) {
        buf_addch(b, '\'');
        for (i = 0; i < v->len; i++)
            buf_addf(b, v->s[i] == '\'' ? "''" : "%c", v->s[i]);
        buf_addch(b, '\'');
    } else if (type == T_BYTES) {
        buf_addstr(b, "'\\x");
        for (i = 0; i < v->len; i++)
            buf_addf(b, "%02x", (unsigned char)v->s[i]);
        buf_addch(b, '\'');
    } else if (type == T_TIME) {
        buf_addf(b, "(timestamptz '1970-01-01Z' + %lld * interval '1 microsecond')",
                 (long long)v->i);
    } else if (type == T_TID) {
        buf_addf(b, "'(%lld,%lld)'", (long long)(v->i >> 16), (long long)(v->i & 0xffff));
    } else {
        buf_addf(b, "%lld", (long long)v->i);
    }
    buf_addf(b, "::%s", type_names[type]);
}

/* Some statements are not queries and have no plan. */
static bool has_plan(const struct stmt *s)
{
    static const char *const words[] = {"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"};
    const char *sql = s->sql[DIALECT_POSTGRES];
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strncmp(sql, words[i], strlen(words[i])))
            return true;
    return false;
}

/* The text that prepares the statement for EXPLAIN, under a name of its own: for many rows the
 * driver prepares variants of the statement under its own names. */
static char *prepare_text(const struct stmt *s)
{
    struct buf b = BUF_INIT;
    char *text;
    int i;

    buf_addf(&b, "PREPARE spied_%s", s->name);
    for (i = 0; i < s->nscalars + s->nrows; i++)
        buf_addf(&b, "%s%s%s", i ? ", " : "(", type_names[s->types[i]],
                 i < s->nscalars ? "" : "[]");
    buf_addf(&b, "%s AS %s", i ? ")" : "", s->sql[DIALECT_POSTGRES]);
    text = arena_strdup(&spied, buf_cstr(&b));
    buf_release(&b);
    return text;
}

static char *explain_text(const struct args *a)
{
    const struct stmt *s = a->stmt;
    size_t rows = s->nrows ? args_rows(a) : 0, i, row;
    struct buf b = BUF_INIT;
    char *text;

    buf_addf(&b, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) EXECUTE spied_%s",
             s->name);
    for (i = 0; i < (size_t)s->nscalars + s->nrows; i++) {
        buf_addstr(&b, i ? ", " : "(");
        if (i < s->nscalars) {
            add_value(&b, &a->vals.at[i], s->types[i]);
            continue;
        }
        buf_addstr(&b, "ARRAY[");
        for (row = 0; row < rows; row++) {
            buf_addstr(&b, row ? ", " : "");
            add_value(&b, &a->vals.at[s->nscalars + row * s->nrows + i - s->nscalars], s->types[i]);
        }
        buf_addch(&b, ']');
    }
    buf_addstr(&b, i ? ")" : "");
    text = arena_strdup(&spied, buf_cstr(&b));
    buf_release(&b);
    return text;
}

static int spy_run(struct db *db, const char *sql, struct rows *out, struct err *err)
{
    struct stmt *stmt = arena_zalloc(&spied, sizeof(*stmt));
    struct args a = {.stmt = stmt};

    stmt->name = "spy";
    stmt->sql[DIALECT_POSTGRES] = sql;
    return real->send(db, &a, out, ANY_ROWS, err);
}

static int spy_send(struct db *db, const struct args *a, struct rows *out, long expect,
                    struct err *err)
{
    bool ours = a->stmt >= statements && a->stmt < statements + Q_COUNT;
    struct rows *plan;
    int rc;

    if (!measuring || !ours || !has_plan(a->stmt) || (a->stmt->nrows && !args_rows(a)))
        return real->send(db, a, out, expect, err);
    if (!prepared[a->stmt - statements] && (rc = spy_run(db, prepare_text(a->stmt), NULL, err)))
        return rc;
    prepared[a->stmt - statements] = true;
    plan = arena_zalloc(&spied, sizeof(*plan));
    if ((rc = spy_run(db, "SAVEPOINT spy", NULL, err)) ||
        (rc = spy_run(db, explain_text(a), plan, err)) ||
        (rc = spy_run(db, "ROLLBACK TO SAVEPOINT spy", NULL, err)))
        return rc;
    *vec_add(&plans) = plan;
    return real->send(db, a, out, expect, err);
}

static void spy_on(struct store *s)
{
    struct db *db = store_db(s);

    if (db->driver->dialect != DIALECT_POSTGRES || db->driver == &spy)
        return;
    memset(prepared, 0, sizeof(prepared));
    real = db->driver;
    spy = *real;
    spy.send = spy_send;
    db->driver = &spy;
}

/* The number after a word in a line, 0 if the word does not occur. */
static double number_after(const char *line, const char *word)
{
    const char *at = strstr(line, word);

    return at ? atof(at + strlen(word)) : 0;
}

/* Rows of all nodes: those returned and those filtered out. A plan shows the mean over its loops.
 */
static double rows_of_plan(const struct rows *plan)
{
    double sum = 0, loops = 1;
    size_t i;

    for (i = 0; i < plan->n; i++) {
        const char *line = rows_text(plan, i, 0);

        if (strstr(line, "(actual ")) {
            loops = number_after(line, "loops=");
            sum += loops * number_after(line, " rows=");
        }
        sum += loops * (number_after(line, "Rows Removed by Filter: ") +
                        number_after(line, "Rows Removed by Join Filter: ") +
                        number_after(line, "Rows Removed by Index Recheck: "));
    }
    return sum;
}

static double cost_of_plans(void)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < plans.n; i++) {
        sum += rows_of_plan(plans.at[i]);
        rows_release(plans.at[i]);
    }
    vec_release(&plans);
    arena_reset(&spied);
    return sum;
}

static double cost_of_steps(struct store *s)
{
    sqlite3 *sq = sqlite_from_db(store_db(s))->sq;
    double sum = 0;

    for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(sq, st));)
        sum += sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 1);
    return sum;
}

static double cost(struct store *s)
{
    return store_db(s)->driver->dialect == DIALECT_SQLITE ? cost_of_steps(s) : cost_of_plans();
}

static double measured; /* the cost of the current operation */
static bool rehearsing; /* the first run only prepares the statements */

static void begin_measuring(struct store *s)
{
    cost(s);
    measuring = !rehearsing;
}

static void end_measuring(struct store *s)
{
    measuring = false;
    measured = cost(s);
}

#define MEASURE(s, what)    \
    do {                    \
        begin_measuring(s); \
        what;               \
        end_measuring(s);   \
    } while (0)

#endif
