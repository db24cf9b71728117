/* test_plans.c - every named statement finds its rows by an index. The database itself explains the
 * plan of each statement, in an empty database and in a filled one. A table that may be large is
 * never read as a whole, except by the statements listed here. */
#include "store/driver/sqlite/sqlite_db.h"
#include "workflow_fixture.h"

#undef SECOND /* the driver defines the same name, as an int */
#include "pg_fixture.h"
#include "store/driver/postgres/batch.h"

#include <jansson.h>

TEST_ASAN_DB(sqlite); /* the database explains the plans, not this program */
FRESH_TENANTS;

/* Tables that have few rows however much is stored: they may be read as a whole. */
static const char *const small[] = {"leases",
                                    "limits",
                                    "workers",
                                    "turns",
                                    "queue_counters",
                                    "settings",
                                    "counters",
                                    "clock",
                                    "attempt_counters",
                                    "schedules",
                                    "event_sequence",
                                    "execution_id",
                                    "workflow_names",
                                    "workflow_definitions",
                                    "operator_orders",
                                    "schema_migrations",
                                    "workflow_triggers",
                                    "hooks",
                                    "workflow_webhooks"};

/* Statements that may read a whole table, or scan an index without a start key. */
static struct exception {
    const char *statement, *table;
    enum { ON_SQLITE = 1, ON_POSTGRES = 2 } where;
    int seen;
} exceptions[] = {
    /* reads only the first entries of an index */
    {"timer_next", "timers", ON_SQLITE | ON_POSTGRES, 0},
    {"next_due", "timers", ON_SQLITE | ON_POSTGRES, 0},
    {"next_due", "submissions", ON_SQLITE | ON_POSTGRES, 0},
    {"worker_tick", "timers", ON_SQLITE | ON_POSTGRES, 0},
    {"worker_tick", "submissions", ON_SQLITE | ON_POSTGRES, 0},
    {"worker_tick", "task_outbox", ON_SQLITE | ON_POSTGRES, 0},
    {"submissions_waiting", "submissions", ON_SQLITE | ON_POSTGRES, 0},
    {"query_queues", "submissions", ON_SQLITE | ON_POSTGRES, 0},
    {"query_submission_totals", "submissions", ON_SQLITE | ON_POSTGRES, 0},
    {"worker_hosts_delete_old", "executions", ON_SQLITE | ON_POSTGRES, 0},
    {"sqlite_clock_newest", "execution_events", ON_SQLITE, 0},
    {"fence_known_times", "executions", ON_POSTGRES, 0},
    /* lists everything, by design */
    {"query_tokens", "access_tokens", ON_SQLITE | ON_POSTGRES, 0},
    /* run once by a worker that drains a queue, to learn whether delayed jobs remain */
    {"query_queue_open", "timers", ON_SQLITE | ON_POSTGRES, 0},
    /* retention: PostgreSQL plans it without the settings of engines */
    {"definitions_delete_unused", "submissions", ON_SQLITE | ON_POSTGRES, 0},
    {"definitions_delete_unused", "workflow_executions", ON_POSTGRES, 0},
    {"submissions_delete", "submissions", ON_POSTGRES, 0},
    {"submissions_delete_refused", "submissions", ON_POSTGRES, 0},
};
enum { EXCEPTIONS = sizeof(exceptions) / sizeof(*exceptions) };

static const char *state;
static int failures;

static bool is_small(const char *table)
{
    size_t i;

    for (i = 0; i < sizeof(small) / sizeof(*small); i++)
        if (!strcmp(small[i], table))
            return true;
    return false;
}

/* Reports a statement that reads a whole table, unless it is listed as an exception. */
static void report_full_read(const struct stmt *s, const char *table, const char *how)
{
    struct exception *e;

    if (is_small(table))
        return;
    for (e = exceptions; e < exceptions + EXCEPTIONS; e++)
        if (!strcmp(e->statement, s->name) && !strcmp(e->table, table)) {
            e->seen++;
            return;
        }
    printf("%s reads all of %s in %s: %s\n", s->name, table, state, how);
    failures++;
}

static bool name_starts_with(const struct stmt *s, const char *beginning)
{
    return !strncmp(s->name, beginning, strlen(beginning));
}

/* Verify reads everything, by design, and the upgrade of a tenant of an older version reads all of
 * the catalogs. Queries, which people run now and then, are left to the planner, so they are
 * checked only with true statistics. */
static bool is_not_checked(const struct stmt *s, bool true_statistics)
{
    bool is_query = name_starts_with(s, "query") || name_starts_with(s, "why") ||
                    name_starts_with(s, "list") || name_starts_with(s, "workflow_start_info");

    return name_starts_with(s, "verify") || name_starts_with(s, "schema_strange") ||
           (is_query && !true_statistics);
}

/* ---- SQLite ---- */

/* Whether the statement uses the table under this alias. */
static bool uses_as(const char *sql, const char *table, const char *alias)
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

/* Whether the alias belongs to a table that the statement itself defines by WITH. */
static bool is_defined_by_with(const char *sql, const char *alias)
{
    return uses_as(sql, "tree", alias) || uses_as(sql, "nodes", alias) ||
           uses_as(sql, "names", alias);
}

static void check_scan(struct store *st, const struct stmt *s, const char *alias, const char *how)
{
    sqlite3 *sq = sqlite_from_db(store_db(st))->sq;
    const char *index = strstr(how, "INDEX ");
    sqlite3_stmt *tables;

    if (is_defined_by_with(s->sql[DIALECT_SQLITE], alias))
        return;
    CHECK_OK(sqlite3_prepare_v2(sq, "SELECT name FROM sqlite_master WHERE type = 'table'", -1,
                                &tables, NULL));
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);

        if (index && strncmp(index + 6, table, strlen(table)))
            continue; /* another table has that alias, too */
        if (uses_as(s->sql[DIALECT_SQLITE], table, alias))
            report_full_read(s, table, how);
    }
    sqlite3_finalize(tables);
}

static void check_sqlite_statement(struct store *st, const struct stmt *s)
{
    sqlite3 *sq = sqlite_from_db(store_db(st))->sq;
    char *sql = mem_printf("EXPLAIN QUERY PLAN %s", s->sql[DIALECT_SQLITE]);
    sqlite3_stmt *plan;

    CHECK_OK(sqlite3_prepare_v2(sq, sql, -1, &plan, NULL));
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *how = (const char *)sqlite3_column_text(plan, 3);
        char alias[100];

        if (sscanf(how, "SCAN %99s", alias) == 1)
            check_scan(st, s, alias, how);
    }
    sqlite3_finalize(plan);
    free(sql);
}

/* ---- PostgreSQL ---- */

static const char *const type_names[] = {
    [T_I64] = "bigint",       [T_I32] = "int",     [T_I16] = "smallint", [T_TEXT] = "text",
    [T_TIME] = "timestamptz", [T_BYTES] = "bytea", [T_TID] = "tid"};

/* Whether the index scan has a condition on the first column of the index. */
static bool has_start_key(const json_t *node, const char *first)
{
    const char *condition = json_string_value(json_object_get(node, "Index Cond"));

    return condition && strstr(condition, first);
}

/* The first column of an index; "" for a BRIN index, which serves conditions on any of its
 * columns. */
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

static void check_pg_node(struct pg *p, const struct stmt *s, const json_t *node,
                          const char *relation)
{
    const char *type = json_string_value(json_object_get(node, "Node Type"));
    const char *index = json_string_value(json_object_get(node, "Index Name"));
    const json_t *child;
    size_t i;

    if (json_object_get(node, "Relation Name"))
        relation = json_string_value(json_object_get(node, "Relation Name"));
    if (index ? !has_start_key(node, first_column_of(p, index)) : !strcmp(type, "Seq Scan"))
        report_full_read(s, table_of(relation), index ? index : type);
    json_array_foreach(json_object_get(node, "Plans"), i, child)
        check_pg_node(p, s, child, relation);
}

static void add_params(struct buf *b, const struct stmt *s, uint64_t same, const char *before)
{
    size_t i;

    for (i = 0; i < (size_t)s->nscalars + s->nrows; i++)
        buf_addf(b, "%s%s%s%s", i ? ", " : "(", before, type_names[s->types[i]],
                 i < s->nscalars || same >> i & 1 ? "" : "[]");
    buf_addstr(b, i ? ")" : "");
}

/* Some statements are not queries and have no plan. */
static bool has_plan(const struct stmt *s)
{
    const char *sql = s->sql[DIALECT_POSTGRES];

    return sql &&
           (!strncmp(sql, "SELECT", 6) || !strncmp(sql, "WITH", 4) || !strncmp(sql, "INSERT", 6) ||
            !strncmp(sql, "UPDATE", 6) || !strncmp(sql, "DELETE", 6));
}

static void check_pg_text(struct pg *p, const struct stmt *s, const char *sql, uint64_t same)
{
    struct stmt explain = {.name = "explain"};
    struct args a = {.stmt = &explain};
    struct rows r = ROWS_INIT;
    struct buf b = BUF_INIT;
    json_t *plan;

    pg_script(p, "SET LOCAL ROLE NONE"); /* some need the rights of the owner */
    buf_addf(&b, "PREPARE checked");
    add_params(&b, s, same, "");
    buf_addf(&b, " AS %s", sql);
    pg_script(p, buf_cstr(&b));
    buf_reset(&b);
    buf_addstr(&b, "EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE checked");
    add_params(&b, s, same, "NULL::");
    explain.sql[DIALECT_POSTGRES] = buf_cstr(&b);
    CHECK_OK_ERR(db_query(p->db, &a, &r, &p->err), &p->err);
    plan = json_loads(rows_text(&r, 0, 0), 0, NULL);
    CHECK(plan != NULL);
    check_pg_node(p, s, json_object_get(json_array_get(plan, 0), "Plan"), "");
    json_decref(plan);
    rows_release(&r);
    buf_release(&b);
    pg_script(p, "DEALLOCATE checked");
}

/* Checks the text that is made for many rows which differ in one column only. */
static void check_pg_shape(struct pg *p, const struct stmt *s, int different)
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
        check_pg_text(p, s, shape->sql, shape->same);
    pg_shapes_release(&shapes);
    args_release(&a);
}

static void check_pg_statement(struct pg *p, const struct stmt *s)
{
    if (!has_plan(s))
        return;
    check_pg_text(p, s, s->sql[DIALECT_POSTGRES], 0);
    if (s->nrows > 1) {
        check_pg_shape(p, s, 0);
        check_pg_shape(p, s, s->nrows - 1);
    }
}

/* ---- all statements ---- */

static void check_all_statements(struct store *s, bool true_statistics)
{
    struct pg p = {0};
    bool sqlite = store_url(s)->file != NULL;
    int q;

    if (!sqlite) {
        p = pg_open(fixture_url(), fixture_tenant());
        pg_begin(&p); /* with the settings of engines */
    }
    for (q = 0; q < Q_COUNT; q++) {
        if (is_not_checked(&statements[q], sqlite || true_statistics))
            continue;
        if (sqlite && statements[q].sql[DIALECT_SQLITE])
            check_sqlite_statement(s, &statements[q]);
        else if (!sqlite)
            check_pg_statement(&p, &statements[q]);
    }
    if (!sqlite) {
        pg_commit(&p);
        pg_end(&p);
    }
}

static void check_exceptions(bool sqlite)
{
    const struct exception *e;

    for (e = exceptions; e < exceptions + EXCEPTIONS; e++)
        if ((e->where & (sqlite ? ON_SQLITE : ON_POSTGRES)) && !e->seen) {
            printf("%s does not read all of %s\n", e->statement, e->table);
            failures++;
        }
}

/* Adds rows of each kind: ended workflows, and jobs that wait for a worker, a time or a limit. */
static void fill(struct store *s)
{
    int i;

    for (i = 0; i < 30; i++)
        submit_workflow(s, "name: w\ntasks:\n  a: {foreach: 10, run: x}\n  b: {needs: a, run: x}\n",
                        NULL);
    run_workflows_in_sets(s);
    set_limit(s, "queue:narrow", 1);
    for (i = 0; i < 200; i++) {
        char key[20];

        snprintf(key, sizeof(key), "%d", i);
        submit_with(s, (struct submission){.name = "x", .queue = "waits", .key = key});
        submit_with(s, (struct submission){.name = "x", .queue = "later", .delay = 1000000000});
        submit_with(s, (struct submission){.name = "x", .queue = "narrow"});
    }
}

TEST(every_statement_uses_an_index)
{
    struct store *s = fixture_store();
    bool sqlite = store_url(s)->file != NULL;

    state = "a new database";
    check_all_statements(s, false);
    if (!sqlite) { /* SQLite has no statistics */
        sql_analyze(s);
        state = "a database that was empty when it was analyzed";
        check_all_statements(s, false);
    }
    fill(s);
    if (!sqlite)
        sql_analyze(s);
    state = "a filled database";
    check_all_statements(s, true);
    check_exceptions(sqlite);
    CHECK_EQ(failures, 0);
    verify_clean(s);
    store_close(&s);
}
