/* test_plans.c - every named statement finds what it works on by an index: the database itself is
 * asked how it would go about each, in an empty database and in one with something in it. A table
 * that may be large is never gone through as a whole, but for what is listed here. */
#include "store/driver/sqlite/sqlite_db.h"
#include "workflow_fixture.h"

#undef SECOND /* the driver has the same, as an int */
#include "pg_fixture.h"
#include "store/driver/postgres/batch.h"

#include <jansson.h>

FRESH_TENANTS;

/* Of these there are few rows, however much is stored: they may be read as a whole. */
static const char *const small[] = {"leases",
                                    "limits",
                                    "workers",
                                    "turns",
                                    "queue_counters",
                                    "settings",
                                    "counters",
                                    "clock",
                                    "worker_counters",
                                    "schedules",
                                    "event_sequence",
                                    "workflow_names",
                                    "workflow_definitions",
                                    "operator_orders",
                                    "schema_migrations"};

/* What goes through a table, or through an index without saying where it begins, and may. */
static struct exception {
    const char *statement, *table;
    enum { LITE = 1, PG = 2 } where;
    int seen;
} exceptions[] = {
    /* the first of an index, or the first few */
    {"timer_next", "timers", LITE | PG, 0},
    {"next_due", "timers", LITE | PG, 0},
    {"next_due", "submissions", LITE | PG, 0},
    {"worker_tick", "timers", LITE | PG, 0},
    {"worker_tick", "submissions", LITE | PG, 0},
    {"worker_tick", "task_outbox", LITE | PG, 0},
    {"submissions_waiting", "submissions", LITE | PG, 0},
    {"query_submissions", "submissions", LITE | PG, 0},
    {"query_submissions_taken", "submissions", PG, 0},
    {"query_submissions_waiting", "submissions", LITE | PG, 0},
    {"query_submissions_refused", "submissions", LITE | PG, 0},
    {"query_submission_totals", "submissions", LITE | PG, 0},
    {"sqlite_clock_newest", "execution_events", LITE, 0},
    /* whoever drains a queue and ends asks once whether something of it comes later */
    {"query_queue_open", "timers", LITE | PG, 0},
    /* retention, which PostgreSQL plans without the settings of engines */
    {"definitions_delete_unused", "submissions", LITE | PG, 0},
    {"definitions_delete_unused", "workflow_executions", PG, 0},
    {"submissions_delete", "submissions", PG, 0},
    {"submissions_delete_refused", "submissions", PG, 0},
};
enum { EXCEPTIONS = sizeof(exceptions) / sizeof(*exceptions) };

static const char *state;
static int bad;

static bool is_small(const char *table)
{
    size_t i;

    for (i = 0; i < sizeof(small) / sizeof(*small); i++)
        if (!strcmp(small[i], table))
            return true;
    return false;
}

/* The statement reads all of the table. */
static void whole(const struct stmt *s, const char *table, const char *how)
{
    struct exception *e;

    if (is_small(table))
        return;
    for (e = exceptions; e < exceptions + EXCEPTIONS; e++)
        if (!strcmp(e->statement, s->name) && !strcmp(e->table, table)) {
            e->seen++;
            return;
        }
    printf("%s goes through %s in %s: %s\n", s->name, table, state, how);
    bad++;
}

static bool is_called(const struct stmt *s, const char *beginning)
{
    return !strncmp(s->name, beginning, strlen(beginning));
}

/* Verify reads everything, and is meant to; so does the upgrade of a tenant of an older version, of
 * the catalogs. What people ask, now and then, is left to the planner,
 * if that has true statistics. */
static bool is_left_out(const struct stmt *s, bool true_statistics)
{
    bool asked = is_called(s, "query") || is_called(s, "why") || is_called(s, "list") ||
                 is_called(s, "workflow_start_info");

    return is_called(s, "verify") || is_called(s, "schema_strange") || (asked && !true_statistics);
}

/* ---- SQLite ---- */

/* Whether the statement has the table under this name. */
static bool has_as(const char *sql, const char *table, const char *alias)
{
    static const char *const words[] = {" ", " AS "};
    char wanted[200];
    const char *at;
    size_t i;

    if (!strcmp(table, alias))
        return true;
    for (i = 0; i < 2; i++) {
        snprintf(wanted, sizeof(wanted), "%s%s%s", table, words[i], alias);
        for (at = strstr(sql, wanted); at; at = strstr(at + 1, wanted))
            if (at > sql && strchr(" \n(", at[-1]) &&
                !strchr("_abcdefghijklmnopqrstuvwxyz", at[strlen(wanted)]))
                return true;
    }
    return false;
}

/* Tables that a statement makes for itself. */
static bool is_own(const char *sql, const char *alias)
{
    return has_as(sql, "tree", alias) || has_as(sql, "nodes", alias) || has_as(sql, "names", alias);
}

static void scanned(struct store *st, const struct stmt *s, const char *alias, const char *how)
{
    sqlite3 *sq = sqlite_from_db(store_db(st))->sq;
    const char *index = strstr(how, "INDEX ");
    sqlite3_stmt *tables;

    if (is_own(s->sql[DIALECT_SQLITE], alias))
        return;
    CHECK_OK(sqlite3_prepare_v2(sq, "SELECT name FROM sqlite_master WHERE type = 'table'", -1,
                                &tables, NULL));
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);

        if (index && strncmp(index + 6, table, strlen(table)))
            continue; /* another one has that name, too */
        if (has_as(s->sql[DIALECT_SQLITE], table, alias))
            whole(s, table, how);
    }
    sqlite3_finalize(tables);
}

static void look_at_lite(struct store *st, const struct stmt *s)
{
    sqlite3 *sq = sqlite_from_db(store_db(st))->sq;
    char *sql = mem_printf("EXPLAIN QUERY PLAN %s", s->sql[DIALECT_SQLITE]);
    sqlite3_stmt *plan;

    CHECK_OK(sqlite3_prepare_v2(sq, sql, -1, &plan, NULL));
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *how = (const char *)sqlite3_column_text(plan, 3);
        char alias[100];

        if (sscanf(how, "SCAN %99s", alias) == 1)
            scanned(st, s, alias, how);
    }
    sqlite3_finalize(plan);
    free(sql);
}

/* ---- PostgreSQL ---- */

static const char *const type_names[] = {
    [T_I64] = "bigint",       [T_I32] = "int",     [T_I16] = "smallint", [T_TEXT] = "text",
    [T_TIME] = "timestamptz", [T_BYTES] = "bytea", [T_TID] = "tid"};

/* Whether an index is entered at a place: by its first column. */
static bool is_entered(const json_t *node, const char *first)
{
    const char *condition = json_string_value(json_object_get(node, "Index Cond"));

    return condition && strstr(condition, first);
}

/* "": any will do. */
STMT(first_column,
     "SELECT CASE WHEN m.amname = 'brin' THEN '' ELSE a.attname::text END "
     "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam "
     "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
     "WHERE i.indexrelid = to_regclass($1)",
     1, 0, T_TEXT);

static const char *first_column_of(struct pg *p, const char *index)
{
    static char name[100];
    struct args a = {.stmt = &first_column};
    struct rows r = ROWS_INIT;

    args_text(&a, index);
    CHECK_OK_ERR(db_query(p->db, &a, &r, &p->err), &p->err);
    CHECK_EQ(r.n, 1);
    snprintf(name, sizeof(name), "%s", rows_text(&r, 0, 0));
    rows_release(&r);
    args_release(&a);
    return name;
}

static const char *table_of(const char *relation)
{
    return strncmp(relation, "execution_events", 16) ? relation : "execution_events";
}

static void look_at_node(struct pg *p, const struct stmt *s, const json_t *node,
                         const char *relation)
{
    const char *type = json_string_value(json_object_get(node, "Node Type"));
    const char *index = json_string_value(json_object_get(node, "Index Name"));
    const json_t *below;
    size_t i;

    if (json_object_get(node, "Relation Name"))
        relation = json_string_value(json_object_get(node, "Relation Name"));
    if (index ? !is_entered(node, first_column_of(p, index)) : !strcmp(type, "Seq Scan"))
        whole(s, table_of(relation), index ? index : type);
    json_array_foreach(json_object_get(node, "Plans"), i, below)
        look_at_node(p, s, below, relation);
}

static void add_params(struct buf *b, const struct stmt *s, uint64_t same, const char *before)
{
    size_t i;

    for (i = 0; i < (size_t)s->nscalars + s->nrows; i++)
        buf_addf(b, "%s%s%s%s", i ? ", " : "(", before, type_names[s->types[i]],
                 i < s->nscalars || same >> i & 1 ? "" : "[]");
    buf_addstr(b, i ? ")" : "");
}

/* Some statements are no queries: they have no plan. */
static bool has_plan(const struct stmt *s)
{
    const char *sql = s->sql[DIALECT_POSTGRES];

    return sql &&
           (!strncmp(sql, "SELECT", 6) || !strncmp(sql, "WITH", 4) || !strncmp(sql, "INSERT", 6) ||
            !strncmp(sql, "UPDATE", 6) || !strncmp(sql, "DELETE", 6));
}

static void look_at_text(struct pg *p, const struct stmt *s, const char *sql, uint64_t same)
{
    struct stmt explain = {.name = "explain"};
    struct args a = {.stmt = &explain};
    struct rows r = ROWS_INIT;
    struct buf b = BUF_INIT;
    json_t *plan;

    pg_script(p, "SET LOCAL ROLE NONE"); /* some are the owner's alone */
    buf_addf(&b, "PREPARE looked_at");
    add_params(&b, s, same, "");
    buf_addf(&b, " AS %s", sql);
    pg_script(p, buf_cstr(&b));
    buf_reset(&b);
    buf_addstr(&b, "EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE looked_at");
    add_params(&b, s, same, "NULL::");
    explain.sql[DIALECT_POSTGRES] = buf_cstr(&b);
    CHECK_OK_ERR(db_query(p->db, &a, &r, &p->err), &p->err);
    plan = json_loads(rows_text(&r, 0, 0), 0, NULL);
    CHECK(plan != NULL);
    look_at_node(p, s, json_object_get(json_array_get(plan, 0), "Plan"), "");
    json_decref(plan);
    rows_release(&r);
    buf_release(&b);
    pg_script(p, "DEALLOCATE looked_at");
}

/* As it is for many rows that have everything in common but one column. */
static void look_at_shape(struct pg *p, const struct stmt *s, int different)
{
    struct args a = {.stmt = s};
    struct pg_shapes shapes = {0};
    struct pg_shape *shape;
    int i, row;

    for (i = 0; i < s->nscalars; i++)
        args_null(&a);
    for (row = 0; row < 100; row++)
        for (i = 0; i < s->nrows; i++)
            args_int_or_null(&a, i == different ? row : 0);
    if ((shape = pg_shape_for(&shapes, &a)))
        look_at_text(p, s, shape->sql, shape->same);
    pg_shapes_release(&shapes);
    args_release(&a);
}

static void look_at_pg(struct pg *p, const struct stmt *s)
{
    if (!has_plan(s))
        return;
    look_at_text(p, s, s->sql[DIALECT_POSTGRES], 0);
    if (s->nrows > 1) {
        look_at_shape(p, s, 0);
        look_at_shape(p, s, s->nrows - 1);
    }
}

/* ---- all of them ---- */

static void look_at_all(struct store *s, bool true_statistics)
{
    struct pg p = {0};
    bool lite = store_url(s)->file != NULL;
    int q;

    if (!lite) {
        p = pg_open(fixture_url(), fixture_tenant());
        pg_begin(&p); /* with the settings that engines have */
    }
    for (q = 0; q < Q_COUNT; q++) {
        if (is_left_out(&statements[q], lite || true_statistics))
            continue;
        if (lite && statements[q].sql[DIALECT_SQLITE])
            look_at_lite(s, &statements[q]);
        else if (!lite)
            look_at_pg(&p, &statements[q]);
    }
    if (!lite) {
        pg_commit(&p);
        pg_end(&p);
    }
}

static void check_exceptions(bool lite)
{
    const struct exception *e;

    for (e = exceptions; e < exceptions + EXCEPTIONS; e++)
        if ((e->where & (lite ? LITE : PG)) && !e->seen) {
            printf("%s does not go through %s\n", e->statement, e->table);
            bad++;
        }
}

/* Some of everything: workflows that ended, jobs that wait for a worker, a time, a limit. */
static void fill(struct store *s)
{
    int i;

    for (i = 0; i < 30; i++)
        flow_submit(s, "name: w\ntasks:\n  a: {foreach: 10, run: x}\n  b: {needs: a, run: x}\n",
                    NULL);
    flow_play_sets(s);
    set_limit(s, "queue:narrow", 1);
    for (i = 0; i < 200; i++) {
        char key[20];

        snprintf(key, sizeof(key), "%d", i);
        submit_with(s, (struct submission){.name = "x", .queue = "waits", .key = key});
        submit_with(s, (struct submission){.name = "x", .queue = "later", .delay = 1000000000});
        submit_with(s, (struct submission){.name = "x", .queue = "narrow"});
    }
}

TEST(every_statement_goes_by_an_index)
{
    struct store *s = fixture_store();
    bool lite = store_url(s)->file != NULL;

    state = "a new database";
    look_at_all(s, false);
    if (!lite) { /* SQLite has no statistics */
        sql_analyze(s);
        state = "one that was empty when it was analyzed";
        look_at_all(s, false);
    }
    fill(s);
    if (!lite)
        sql_analyze(s);
    state = "one with something in it";
    look_at_all(s, true);
    check_exceptions(lite);
    CHECK_EQ(bad, 0);
    verify_clean(s);
    store_close(&s);
}
