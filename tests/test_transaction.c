/* test_transaction.c - a program's own tables in Pawl's SQLite file change in one transaction with
 * its submissions, and Pawl's tables are protected from the program. On PostgreSQL the library says
 * what to do instead. */
#include "api_fixture.h"
#include "sql_submission_fixture.h"

/* The steps of a transaction's body. */
struct plan {
    const char *sql[6];
    int expect[6]; /* the expected result of each statement */
    struct pawl_job *job;
    int submit; /* the expected result of the submission */
    int rc;     /* the value that the body returns */
    int calls;
    void (*inside)(struct pawl_tx *tx);
};

static int run_plan(struct pawl_tx *tx, void *arg)
{
    struct plan *plan = arg;
    size_t i;

    plan->calls++;
    for (i = 0; plan->sql[i]; i++) {
        struct pawl_statement s = {.sql = plan->sql[i]};
        int rc = pawl_tx_run(tx, &s, &api_err);

        if (rc != plan->expect[i])
            test_fail(__FILE__, __LINE__, "%s: %d, %s", plan->sql[i], rc,
                      rc ? api_err.message : "");
    }
    if (plan->inside)
        plan->inside(tx);
    if (plan->job)
        CHECK_EQ(pawl_tx_submit(tx, plan->job, 1, &api_err), plan->submit);
    return plan->rc;
}

static struct pawl *open_with_own_table(void)
{
    struct plan make = {
        .sql = {"CREATE TABLE bills (id INTEGER PRIMARY KEY, paid INTEGER NOT NULL, "
                "execution INTEGER)",
                "INSERT INTO bills (id, paid) VALUES (17, 0)"}};
    struct pawl *p;

    if (strcmp(test_db(), "sqlite"))
        SKIP("on PostgreSQL a program has its own connection");
    p = open_pawl();
    OK(pawl_transaction(p, run_plan, &make, &api_err));
    return p;
}

static void close_all(struct pawl *p, struct store *s)
{
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(write_to_a_table_of_the_program_and_its_submission_are_stored_together)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct pawl_job job = {.applied = "w", .input = "{\"n\": 3}"};
    struct plan plan = {.sql = {"UPDATE bills SET paid = 1"}, .job = &job};

    apply(s, ONE_TASK);
    OK(pawl_transaction(p, run_plan, &plan, &api_err));
    CHECK_EQ(sql_number(s, "SELECT paid FROM bills"), 1);
    CHECK_EQ(status_of(s, job.id), S_RUNNING);
    CHECK_STR(get(s, job.id).input, "{\"n\":3}");
    CHECK_EQ(plan.calls, 1);
    close_all(p, s);
}

TEST(transaction_whose_body_returns_an_error_stores_nothing)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct pawl_job job = {.name = "exec::x", .lane = "process"};
    struct plan plan = {
        .sql = {"UPDATE bills SET paid = 1", "CREATE TABLE more (a)"}, .job = &job, .rc = 5};

    CHECK_EQ(pawl_transaction(p, run_plan, &plan, &api_err), 5);
    plan.rc = -PAWL_E_REFUSED;
    CHECK_EQ(pawl_transaction(p, run_plan, &plan, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT paid FROM bills"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM sqlite_master WHERE name = 'more'"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    close_all(p, s);
}

TEST(refused_submission_rolls_back_the_transaction)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct pawl_job job = {.applied = "nosuch"};
    struct plan plan = {.sql = {"UPDATE bills SET paid = 1"},
                        .job = &job,
                        .submit = -PAWL_E_NOT_FOUND}; /* the body returns 0 nevertheless */

    CHECK_EQ(pawl_transaction(p, run_plan, &plan, &api_err), -PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, "no workflow is applied under the name nosuch"));
    CHECK_EQ(sql_number(s, "SELECT paid FROM bills"), 0);
    close_all(p, s);
}

/* ---- rows and values ---- */

static int check_row(void *arg, const struct pawl_value *cells, size_t n)
{
    ++*(int *)arg;
    CHECK_EQ(n, 5);
    CHECK_EQ(cells[0].type, PAWL_INT);
    CHECK_EQ(cells[0].i, -7);
    CHECK_EQ(cells[1].type, PAWL_REAL);
    CHECK(cells[1].d > 1.49 && cells[1].d < 1.51);
    CHECK_EQ(cells[2].type, PAWL_TEXT);
    CHECK_STR(cells[2].s, "Grüße");
    CHECK_EQ(cells[3].type, PAWL_BLOB);
    CHECK_EQ(cells[3].len, 3);
    CHECK(!memcmp(cells[3].s, "a\0b", 3));
    CHECK_EQ(cells[4].type, PAWL_NULL);
    return 0;
}

static int only_first(void *arg, const struct pawl_value *cells, size_t n)
{
    (void)n;
    *(int64_t *)arg += cells[0].i;
    return 1;
}

static int use_values(struct pawl_tx *tx, void *arg)
{
    const struct pawl_value v[] = {{.type = PAWL_INT, .i = -7},
                                   {.type = PAWL_REAL, .d = 1.5},
                                   {.type = PAWL_TEXT, .s = "Grüße"},
                                   {.type = PAWL_BLOB, .s = "a\0b", .len = 3},
                                   {.type = PAWL_TEXT}};
    struct pawl_statement make = {.sql = "CREATE TABLE v (a, b, c, d, e)"},
                          in = {.sql = "INSERT INTO v VALUES (?1, ?2, ?3, ?4, ?5);",
                                .params = v,
                                .nparams = 5},
                          out = {.sql = "SELECT * FROM v", .row = check_row, .arg = arg},
                          few = {.sql = "INSERT INTO v VALUES (?1, ?2, ?3, ?4, ?5)",
                                 .params = v,
                                 .nparams = 4},
                          change = {.sql = "UPDATE v SET e = 1"},
                          first = {.sql = "SELECT 1 UNION ALL SELECT 2", .row = only_first};
    int64_t sum = 0;

    OK(pawl_tx_run(tx, &make, &api_err));
    OK(pawl_tx_run(tx, &in, &api_err));
    CHECK_EQ(in.changed, 1);
    OK(pawl_tx_run(tx, &out, &api_err));
    CHECK_EQ(out.changed, 0);
    CHECK_EQ(pawl_tx_run(tx, &few, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "5 parameters, but 4 values"));
    OK(pawl_tx_run(tx, &in, &api_err));
    OK(pawl_tx_run(tx, &change, &api_err));
    CHECK_EQ(change.changed, 2);
    first.arg = &sum;
    OK(pawl_tx_run(tx, &first, &api_err));
    CHECK_EQ(sum, 1);
    return 0;
}

TEST(bound_values_are_stored_and_returned_unchanged)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    int rows = 0;

    OK(pawl_transaction(p, use_values, &rows, &api_err));
    CHECK_EQ(rows, 1);
    close_all(p, s);
}

TEST(error_in_the_programs_own_tables_does_not_end_the_transaction)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct plan plan = {
        .sql = {"INSERT INTO bills (id, paid) VALUES (17, 0)", "INSERT INTO bills (id) VALUES (18)",
                "SELECT nothing", "SELECT 1; SELECT 2",
                "INSERT INTO bills (id, paid) VALUES (19, 1)"},
        .expect = {-PAWL_E_CONFLICT, -PAWL_E_CONFLICT, -PAWL_E_INVALID, -PAWL_E_INVALID, 0}};

    OK(pawl_transaction(p, run_plan, &plan, &api_err));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM bills"), 2);
    close_all(p, s);
}

/* ---- forbidden statements ---- */

static const char *const forbidden[] = {
    "UPDATE executions SET status = 4",
    "update EXECUTIONS set status = 4",
    "DELETE FROM execution_events",
    "INSERT INTO settings VALUES ('a', 'b')",
    "INSERT INTO schema_migrations VALUES (99, 'x', 1)",
    "REPLACE INTO limits (key, max, used) VALUES ('k', 1, 0)",
    "DROP TABLE executions",
    "DROP VIEW pawl_executions",
    "DROP TRIGGER execution_events_no_delete",
    "DROP INDEX executions_roots",
    "ALTER TABLE executions ADD COLUMN mine TEXT",
    "ALTER TABLE executions RENAME TO mine",
    "CREATE INDEX mine ON executions (name)",
    "CREATE TRIGGER mine AFTER UPDATE ON executions BEGIN SELECT 1; END",
    "CREATE TABLE pawl_mine (a)",
    "CREATE VIEW pawl_mine AS SELECT 1",
    "CREATE TEMP TABLE executions (a)",
    "CREATE VIRTUAL TABLE mine USING fts5(a)",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA writable_schema = ON",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT a",
    "ATTACH 'other.db' AS other",
    "VACUUM",
    "INSERT INTO sqlite_master VALUES ('table', 'a', 'a', 1, '')",
};

TEST(statement_that_changes_pawls_tables_is_refused)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    size_t i;

    submit(s, "exec::x");
    for (i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++) {
        struct plan plan = {.sql = {forbidden[i]}, .expect = {-PAWL_E_INVALID}};

        OK(pawl_transaction(p, run_plan, &plan, &api_err));
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM sqlite_master WHERE name LIKE '%mine'"), 0);
    close_all(p, s);
}

/* Indirect changes: by a trigger of the program's own, or a foreign key that would prevent deletes.
 */
TEST(trigger_or_foreign_key_that_affects_pawls_tables_is_refused)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct plan trigger = {.sql = {"CREATE TRIGGER t AFTER UPDATE ON bills BEGIN DELETE FROM "
                                   "executions; END",
                                   "UPDATE bills SET paid = 2"},
                           .expect = {0, -PAWL_E_INVALID}},
                key = {.sql = {"CREATE TABLE k (e INTEGER REFERENCES executions (id))"},
                       .expect = {-PAWL_E_INVALID}},
                own = {.sql = {"CREATE TABLE lines (bill INTEGER REFERENCES bills (id))"}};

    submit(s, "exec::x");
    OK(pawl_transaction(p, run_plan, &trigger, &api_err));
    CHECK(pawl_transaction(p, run_plan, &key, &api_err) < 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM sqlite_master WHERE name = 'k'"), 0);
    OK(pawl_transaction(p, run_plan, &own, &api_err));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    close_all(p, s);
}

TEST(statement_that_rolls_back_ends_the_transaction)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct plan plan = {.sql = {"UPDATE bills SET paid = 1",
                                "INSERT OR ROLLBACK INTO bills (id, paid) VALUES (17, 0)"},
                        .expect = {0, -PAWL_E_CONFLICT}};

    CHECK(pawl_transaction(p, run_plan, &plan, &api_err) < 0);
    CHECK_EQ(sql_number(s, "SELECT paid FROM bills"), 0);
    submit(s, "exec::x");
    close_all(p, s);
}

static struct pawl *outer;

static void use_handle(struct pawl_tx *tx)
{
    struct pawl_job job = {.name = "exec::x", .lane = "process"};
    struct plan plan = {.sql = {"SELECT 1"}};
    char *json = NULL;

    (void)tx;
    CHECK_EQ(pawl_submit(outer, &job, 1, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "a transaction is in progress"));
    CHECK(pawl_show(outer, 1, &json, &api_err) < 0);
    CHECK_EQ(pawl_transaction(outer, run_plan, &plan, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(plan.calls, 0);
}

TEST(use_of_the_handle_inside_a_transaction_is_refused_and_nothing_is_lost)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    struct pawl_job job = {.name = "exec::y", .lane = "process"};
    struct plan plan = {.sql = {"UPDATE bills SET paid = 1"}, .inside = use_handle, .job = &job};

    outer = p;
    OK(pawl_transaction(p, run_plan, &plan, &api_err));
    CHECK_EQ(sql_number(s, "SELECT paid FROM bills"), 1);
    CHECK_EQ(status_of(s, job.id), S_READY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    close_all(p, s);
}

/* The caller's texts may be freed after the call. */
static int submit_and_overwrite_texts(struct pawl_tx *tx, void *arg)
{
    char name[20] = "exec::brief", input[20] = "[1]", key[20] = "k";
    struct pawl_job job = {.name = name, .lane = "process", .input = input, .key = key};

    OK(pawl_tx_submit(tx, &job, 1, &api_err));
    *(int64_t *)arg = job.id;
    memset(name, 'x', sizeof(name) - 1);
    memset(input, 'x', sizeof(input) - 1);
    memset(key, 'x', sizeof(key) - 1);
    return 0;
}

TEST(transaction_copies_the_strings_of_a_submission)
{
    struct store *s = fixture_store();
    struct pawl *p = open_with_own_table();
    int64_t id = 0, again = 0;

    OK(pawl_transaction(p, submit_and_overwrite_texts, &id, &api_err));
    OK(pawl_transaction(p, submit_and_overwrite_texts, &again, &api_err));
    CHECK_EQ(id, again);
    CHECK_STR(get(s, id).name, "exec::brief");
    CHECK_STR(get(s, id).input, "[1]");
    close_all(p, s);
}

/* ---- concurrency ---- */

static int count_up(struct pawl_tx *tx, void *arg)
{
    struct pawl_job job = {.name = "exec::x", .lane = "process"};
    struct pawl_statement s = {.sql = "UPDATE bills SET paid = paid + 1"};
    int rc = pawl_tx_run(tx, &s, arg);

    return rc ? rc : pawl_tx_submit(tx, &job, 1, arg);
}

static void count_many(int nth)
{
    struct pawl *p = open_pawl();
    int i;

    (void)nth;
    for (i = 0; i < 25; i++)
        OK(pawl_transaction(p, count_up, &api_err, &api_err));
    pawl_close(p);
}

TEST(concurrent_transactions_of_four_programs_lose_nothing)
{
    struct store *s;

    pawl_close(open_with_own_table());
    run_processes(4, count_many);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT paid FROM bills"), 100);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 100);
    verify_clean(s);
    store_close(&s);
}

TEST(transaction_on_postgresql_is_refused_with_an_alternative)
{
    struct plan plan = {.sql = {"SELECT 1"}};
    struct pawl *p;

    if (!strcmp(test_db(), "sqlite"))
        SKIP("for PostgreSQL only");
    p = open_pawl();
    CHECK_EQ(pawl_transaction(p, run_plan, &plan, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "SELECT pawl_submit("));
    CHECK_EQ(plan.calls, 0);
    pawl_close(p);
}
