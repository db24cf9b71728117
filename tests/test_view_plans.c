/* test_view_plans.c - queries that people write against the documented views find their rows by an
 * index. bench/views shows how much they read in a large database. */
#include "store/ask.h"
#include "store/store_internal.h"
#include "workflow_fixture.h"

TEST_ASAN_DB(sqlite); /* the database explains the plans, not this program */
FRESH_TENANTS;

/* The plan of a query, as one text; lives until the next call. The statement is kept: drivers
 * identify statements by address. */
static const char *plan_of(struct store *s, const char *query)
{
    static char text[20000];
    bool sqlite = !strcmp(test_db(), "sqlite");
    static struct stmt kept[4];
    static char queries[4][400];
    static unsigned n;
    struct stmt *explain = &kept[n];
    struct args a = {.stmt = explain};
    struct rows r = ROWS_INIT;
    struct err err = ERR_INIT;
    size_t used = 0;

    CHECK(n < 4);
    snprintf(queries[n], sizeof(queries[n]), "EXPLAIN %s %s", sqlite ? "QUERY PLAN" : "(COSTS off)",
             query);
    explain->name = "explain";
    explain->sql[DIALECT_SQLITE] = explain->sql[DIALECT_POSTGRES] = queries[n++];
    CHECK_OK_ERR(db_begin(s->db, TX_READ, &err), &err);
    if (!sqlite) /* a small table is read as a whole, or along any index */
        CHECK_OK_ERR(s->db->driver->script(s->db,
                                           "SET LOCAL enable_seqscan = off; "
                                           "SET LOCAL enable_indexscan = off",
                                           &err),
                     &err);
    CHECK_OK_ERR(db_query(s->db, &a, &r, &err), &err);
    db_rollback(s->db);
    for (size_t i = 0; i < r.n && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n",
                                 rows_text(&r, i, sqlite ? 3 : 0));
    rows_release(&r);
    args_release(&a);
    return text;
}

/* Checks that the plan has one of the texts, the first on SQLite, and reads no table as a whole. */
static void check_plan(struct store *s, const char *query, const char *on_sqlite,
                       const char *on_postgres)
{
    const char *plan = plan_of(s, query);
    const char *wanted = strcmp(test_db(), "sqlite") ? on_postgres : on_sqlite;

    if (!strstr(plan, wanted) || strstr(plan, "SCAN ") || strstr(plan, "Seq Scan"))
        test_fail(__FILE__, __LINE__, "%s should have '%s' in its plan:\n%s", query, wanted, plan);
}

TEST(view_query_by_execution_failure_time_or_workflow_uses_an_index)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(
        s, "name: w\ntasks:\n  a: {run: x}\n  f: {foreach: 3, run: x}\n  b: {run: x, needs: a}\n",
        NULL);
    int64_t a = task_of(s, w, "a");
    char sql[300];

    run_workflows(s, " a ");
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM pawl_events WHERE execution = %lld",
             (long long)a);
    CHECK_EQ(sql_number(s, sql), get(s, a).seq);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM pawl_executions WHERE workflow = %lld",
             (long long)w);
    CHECK_EQ(sql_number(s, sql), 6); /* three tasks and three items */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM pawl_events WHERE type = 'task.failed' AND "
                           "created_at > '2001-01-01T00:00:00.000000Z'"),
             1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM pawl_events"),
             sql_number(s, "SELECT count(*) FROM execution_events"));
    sql_analyze(s);
    check_plan(s, "SELECT * FROM pawl_events WHERE execution = 5 ORDER BY seq",
               "execution_events_tree (root=? AND execution=?)",
               "Index Cond: ((root = e.root) AND (execution = 5))");
    check_plan(s,
               "SELECT * FROM pawl_events WHERE type = 'task.failed' AND "
               "created_at > '2001-01-01T00:00:00.000000Z'",
               "execution_events_failed_tasks (<expr>>?)",
               "Recheck Cond: ((created_at > "); /* and the condition of the partial index; the BRIN
                                                    index has no condition on the type */
    check_plan(s, "SELECT * FROM pawl_executions WHERE workflow = 5",
               "executions_workflow (workflow=?)", "executions_workflow");
    verify_clean(s);
    store_close(&s);
}
