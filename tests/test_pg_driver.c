/* test_pg_driver.c - connections of the PostgreSQL driver, without the store: transactions, errors,
 * tenants. Statements: test_pg_statement.c. */
#include "pg_fixture.h"

#include "base/buf.h"

TEST_ONLY_DB(postgres);

/* ---- transactions ---- */

STMT(settings,
     "SELECT current_setting('search_path'), current_setting('lock_timeout'),"
     " current_setting('statement_timeout'),"
     " current_setting('idle_in_transaction_session_timeout'),"
     " current_setting('enable_seqscan') || current_setting('enable_hashjoin')"
     " || current_setting('enable_mergejoin'), current_setting('plan_cache_mode'),"
     " current_setting('jit'), current_setting('transaction_isolation'),"
     " current_setting('transaction_read_only')",
     0, 0, 0);

static void check_settings(struct pg *t, enum tx_kind kind, const char *const *expected)
{
    struct rows r = ROWS_INIT;

    CHECK_OK_ERR(db_begin(t->db, kind, &t->err), &t->err);
    CHECK_OK_ERR(pg_send_ints(t, &settings, NULL, 0, &r, 1), &t->err);
    pg_commit(t);
    for (size_t i = 0; i < r.ncols; i++)
        CHECK_STR(rows_text(&r, 0, i), expected[i]);
    rows_release(&r);
}

TEST(transaction_has_the_settings_for_its_kind_and_leaves_no_setting_behind)
{
    static const char *const engine[] = {
        "\"pawl\", pg_temp", "1s", "10s", "5s", "offoffoff", "force_generic_plan", "off",
        "read committed",    "off"};
    static const char *const reader[] = {
        "\"pawl\", pg_temp", "1s", "1min", "5s", "offoffoff", "force_generic_plan", "off",
        "repeatable read",   "on"};
    static const char *const big[] = {
        "\"pawl\", pg_temp", "10s", "0", "1min", "ononon", "auto", "off", "read committed", "off"};
    struct pg t = pg_ready();

    check_settings(&t, TX_WRITE, engine);
    check_settings(&t, TX_LONG, big);
    check_settings(&t, TX_READ, reader);
    check_settings(&t, TX_WRITE, engine);
    pg_done(&t);
}

TEST(sql_script_runs_inside_the_current_transaction)
{
    struct pg t = pg_ready();

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    pg_script(&t, "INSERT INTO item VALUES (2); CREATE TABLE more (id int); SELECT 1;");
    CHECK_EQ(pg_number(&t, &count_items), 2);
    db_rollback(t.db);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);

    pg_begin(&t);
    CHECK_EQ(t.db->driver->script(t.db, "SELECT 1; SELECT wrong", &t.err), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "script") && strstr(t.err.msg, "wrong"));
    db_rollback(t.db);
    pg_begin(&t);
    CHECK_EQ(t.db->driver->script(t.db, "COMMIT", &t.err), -E_INTERNAL);
    db_rollback(t.db);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    pg_done(&t);
}

TEST(database_call_outside_a_transaction_is_refused)
{
    struct pg t = pg_ready();
    int64_t now = 0;

    CHECK_EQ(pg_add_item(&t, 1), -E_INTERNAL);
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    CHECK_EQ(t.db->driver->script(t.db, "SELECT 1", &t.err), -E_INTERNAL);
    CHECK_EQ(t.db->driver->send_now(t.db, &now, &t.err), -E_INTERNAL);
    pg_begin(&t);
    CHECK_EQ(db_begin(t.db, TX_WRITE, &t.err), -E_INTERNAL);
    CHECK_EQ(pg_number(&t, &count_items), 0);
    pg_commit(&t);
    pg_done(&t);
}

TEST(time_of_a_transaction_is_read_from_the_server)
{
    struct pg t = pg_ready();
    int64_t first = 0, second = 0, wall = clock_wall_us();

    pg_begin(&t);
    CHECK_OK(t.db->driver->send_now(t.db, &first, &t.err));
    CHECK_OK(t.db->driver->send_now(t.db, &second, &t.err));
    CHECK_EQ(first, 0);
    pg_commit(&t);
    CHECK(first >= wall && second > first && second <= clock_wall_us());
    pg_done(&t);
}

static void trace_into(void *arg, const char *what, int64_t took_us, long rows)
{
    CHECK(took_us >= 0);
    buf_addf(arg, "%s:%ld ", what, rows);
}

TEST(trace_reports_each_statement_once)
{
    struct pg t = pg_ready();
    struct buf traced = BUF_INIT;

    t.env->arg = &traced;
    t.env->trace = trace_into;
    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    CHECK_EQ(pg_number(&t, &count_items), 1);
    pg_script(&t, "SELECT 1");
    pg_commit(&t);
    pg_begin(&t);
    db_rollback(t.db);
    t.env->trace = NULL;
    CHECK_STR(buf_cstr(&traced),
              "BEGIN:1 add_item:1 count_items:1 script:0 COMMIT:0 BEGIN:1 ROLLBACK:0 ");
    buf_release(&traced);
    pg_done(&t);
}

/* ---- errors ---- */

TEST(server_error_gets_the_error_code_and_advice_for_its_sqlstate)
{
    static const struct {
        const char *state;
        enum error_code code;
        const char *advice;
    } cases[] = {
        {"40001", E_REDO, ""},
        {"40P01", E_REDO, ""},
        {"55P03", E_REDO, ""},
        {"57014", E_REDO, ""},
        {"53100", E_NO_SPACE, "free some space"},
        {"53300", E_UNAVAILABLE, "max_connections"},
        {"53200", E_UNAVAILABLE, ""},
        {"28P01", E_UNAVAILABLE, "password"},
        {"42501", E_UNAVAILABLE, "grant"},
        {"25006", E_UNAVAILABLE, "primary"},
        {"42P01", E_SCHEMA, "pawl admin migrate"},
        {"3F000", E_SCHEMA, "pawl admin migrate"},
        {"23505", E_INTERNAL, "bug"},
        {"22021", E_INVALID, "UTF-8"},
        {"22P05", E_INVALID, ""},
        {"08P01", E_INTERNAL, ""},
        {"08006", E_CONN_LOST, ""},
        {"57P01", E_CONN_LOST, ""},
        {"25P03", E_CONN_LOST, ""},
        {"XX000", E_INTERNAL, ""},
    };
    struct pg t = pg_ready();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char sql[200];

        snprintf(sql, sizeof(sql),
                 "DO $$ BEGIN RAISE EXCEPTION E'so it\\nis' USING ERRCODE = '%s'; END $$",
                 cases[i].state);
        pg_begin(&t);
        CHECK_EQ(t.db->driver->script(t.db, sql, &t.err), -(int)cases[i].code);
        CHECK(strstr(t.err.msg, "so it") && !strchr(t.err.msg, '\n'));
        CHECK(strstr(t.err.msg, cases[i].state) && strstr(t.err.msg, cases[i].advice));
        CHECK(strstr(t.err.msg, t.url->safe));
        db_rollback(t.db);
    }
    pg_done(&t);
}

STMT(no_table, "SELECT * FROM nowhere", 0, 0, 0);
STMT(no_text, NULL, 0, 0, 0);

TEST(missing_table_is_a_schema_error)
{
    struct pg t = pg_ready();

    pg_begin(&t);
    CHECK_EQ(pg_try(&t, &no_table), E_SCHEMA);
    CHECK(strstr(t.err.msg, "no_table on postgres://"));
    db_rollback(t.db);
    pg_begin(&t);
    CHECK_EQ(pg_try(&t, &no_text), E_INTERNAL);
    db_rollback(t.db);
    pg_done(&t);
}

STMT(lock_one, "SELECT id FROM item WHERE id = $1 FOR UPDATE", 1, 0, T_I64);
STMT(be_quick, "SELECT set_config('statement_timeout', '50ms', true)", 0, 0, 0);
STMT(be_slow, "SELECT pg_sleep(30)", 0, 0, 0);

TEST(lock_wait_or_statement_that_times_out_asks_to_repeat_the_turn)
{
    struct pg t = pg_ready(), other = pg_second(&t);
    static const int64_t one = 1;

    pg_script_in_tx(&t, "INSERT INTO item VALUES (1)");
    pg_begin(&other);
    CHECK_OK(pg_send_ints(&other, &lock_one, &one, 1, NULL, 1));
    CHECK_OK(db_flush(other.db, &other.err));
    pg_begin(&t);
    CHECK_OK(pg_send_ints(&t, &lock_one, &one, 1, NULL, 1));
    CHECK_EQ(db_flush(t.db, &t.err), -E_REDO);
    CHECK(strstr(t.err.msg, "55P03"));
    db_rollback(t.db);
    pg_commit(&other);

    pg_begin(&t);
    CHECK_EQ(pg_try(&t, &be_quick), 0);
    CHECK_EQ(pg_try(&t, &be_slow), E_REDO);
    CHECK(strstr(t.err.msg, "57014"));
    db_rollback(t.db);
    pg_end(&other);
    pg_done(&t);
}

STMT(take_text, "SELECT $1", 1, 0, T_TEXT);

TEST(text_that_is_not_utf8_is_refused_as_invalid)
{
    struct pg t = pg_ready();
    struct args a = {.stmt = &take_text};

    args_text(&a, "\xff\xfe");
    pg_begin(&t);
    CHECK_EQ(db_query(t.db, &a, NULL, &t.err), -E_INVALID);
    db_rollback(t.db);
    a.vals.n = 0;
    args_bytes(&a, "a\0b", 3);
    pg_begin(&t);
    CHECK_EQ(db_query(t.db, &a, NULL, &t.err), -E_INVALID);
    db_rollback(t.db);
    args_release(&a);
    pg_done(&t);
}

/* ---- tenants ---- */

STMT(who, "SELECT current_user::text, current_schema()::text, session_user::text", 0, 0, 0);

TEST(tenant_uses_its_own_role_and_schema)
{
    struct pg t = pg_ready(), tenant;
    char *name = mem_printf("t%d", (int)getpid());
    char *sql = mem_printf("CREATE ROLE pawl_%s; CREATE SCHEMA pawl_%s AUTHORIZATION pawl_%s", name,
                           name, name);
    char *drop = mem_printf("DROP SCHEMA pawl_%s; DROP ROLE pawl_%s", name, name);
    struct rows r = ROWS_INIT;

    tenant = pg_at(t.url->text, name);
    CHECK_EQ(db_open(tenant.url, tenant.env, &tenant.db, &tenant.err), -E_NOT_FOUND);
    CHECK(strstr(tenant.err.msg, name));
    pg_script_in_tx(&t, sql);
    CHECK_OK_ERR(db_open(tenant.url, tenant.env, &tenant.db, &tenant.err), &tenant.err);
    for (int kind = TX_WRITE; kind <= TX_LONG; kind++) {
        CHECK_OK_ERR(db_begin(tenant.db, (enum tx_kind)kind, &tenant.err), &tenant.err);
        CHECK_OK(pg_send_ints(&tenant, &who, NULL, 0, &r, 1));
        pg_commit(&tenant);
        CHECK_STR(rows_text(&r, 0, 0), tenant.url->schema);
        CHECK_STR(rows_text(&r, 0, 1), tenant.url->schema);
        CHECK_STR(rows_text(&r, 0, 2), "postgres");
    }
    rows_release(&r);
    pg_end(&tenant);
    pg_script_in_tx(&t, drop);
    free(name);
    free(sql);
    free(drop);
    pg_done(&t);
}
