/* test_sqlite_driver.c - the SQLite driver alone: values, statements, transactions, time. */
#include "base/buf.h"
#include "sqlite_fixture.h"

#include <pthread.h>

TEST_NO_DB;
TEST_THREADED;

/* ---- statements ---- */

STMT(echo, "SELECT ?1, ?2, ?3, ?4, ?5, ?6, typeof(?5), 2.5", 6, 0, T_I64, T_I16, T_TIME, T_TEXT,
     T_BYTES, T_TEXT);

TEST(values_of_every_type_are_returned_unchanged)
{
    struct sqlite_test t = sqlite_test_ready();
    struct args a = {.stmt = &echo};
    struct rows r = ROWS_INIT;

    args_int(&a, INT64_MIN);
    args_int(&a, -7);
    args_int(&a, 1700000000123456);
    args_text(&a, "naïve");
    args_bytes(&a, "\0\xff", 2);
    args_null(&a);
    CHECK_OK_ERR(db_begin(t.db, TX_READ, &t.err), &t.err);
    CHECK_OK_ERR(db_query(t.db, &a, &r, &t.err), &t.err);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);

    CHECK_EQ(r.n, 1);
    CHECK_EQ(r.ncols, 8);
    CHECK(rows_int(&r, 0, 0) == INT64_MIN);
    CHECK_EQ(rows_int(&r, 0, 1), -7);
    CHECK_EQ(rows_int(&r, 0, 2), 1700000000123456);
    CHECK_STR(rows_text(&r, 0, 3), "naïve");
    CHECK_EQ(r.cells[3].len, strlen("naïve"));
    CHECK_EQ(r.cells[4].len, 2);
    CHECK(memcmp(r.cells[4].s, "\0\xff", 3) == 0);
    CHECK(rows_null(&r, 0, 5) && !rows_text(&r, 0, 5));
    CHECK_STR(rows_text(&r, 0, 6), "blob");
    CHECK_EQ(rows_int(&r, 0, 7), 3);
    rows_release(&r);
    args_release(&a);
    sqlite_test_end(&t);
}

TEST(value_whose_type_differs_from_the_declared_type_is_refused)
{
    static const struct val bad[] = {[0] = {.s = "text", .len = 4}, [3] = {.i = 5}, [4] = {.i = 1}};
    struct sqlite_test t = sqlite_test_ready();

    for (size_t i = 0; i < 5; i++) {
        struct args a = {.stmt = &echo};
        char param[] = "$0";

        if (!bad[i].s && !bad[i].i)
            continue;
        args_row(&a, VAL_NULL, VAL_NULL, VAL_NULL, VAL_NULL, VAL_NULL, VAL_NULL);
        a.vals.at[i] = bad[i];
        CHECK_OK_ERR(db_begin(t.db, TX_READ, &t.err), &t.err);
        CHECK_EQ(db_send(t.db, &a, NULL, ANY_ROWS, &t.err), -E_INTERNAL);
        param[1] = (char)('1' + i);
        CHECK(strstr(t.err.msg, param));
        CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
        args_release(&a);
    }
    sqlite_test_end(&t);
}

TEST(columns_are_read_into_variables_of_their_types)
{
    struct sqlite_test t = sqlite_test_ready();
    struct args a = {.stmt = &echo};
    struct rows r = ROWS_INIT;
    const char *text = NULL, *none = "", *bytes = NULL;
    int64_t number = 0;
    bool flag = false;
    int small = 0;

    args_row(&a, INT64_MAX, (size_t)7, true, "text", val_bytes("b", 1), VAL_NULL);
    CHECK_OK_ERR(db_begin(t.db, TX_READ, &t.err), &t.err);
    CHECK_OK_ERR(db_query(t.db, &a, &r, &t.err), &t.err);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    rows_read(&r, 0, 0, NULL, &number, &small, &flag, &text, &bytes, &none);
    CHECK(number == INT64_MAX && flag);
    CHECK_EQ(small, 7);
    CHECK_STR(text, "text");
    CHECK_STR(bytes, "b");
    CHECK(!none);
    rows_read(&r, 0, 5, NULL, &number);
    CHECK_EQ(number, 0);
    rows_release(&r);
    args_release(&a);
    sqlite_test_end(&t);
}

TEST(empty_text_and_empty_bytes_are_not_null)
{
    struct sqlite_test t = sqlite_test_ready();
    struct args a = {.stmt = &echo};
    struct rows r = ROWS_INIT;

    args_int(&a, 0);
    args_int_or_null(&a, 0);
    args_int(&a, 0);
    args_text(&a, "");
    args_bytes(&a, "", 0);
    args_text(&a, NULL);
    CHECK_OK_ERR(db_begin(t.db, TX_READ, &t.err), &t.err);
    CHECK_OK_ERR(db_query(t.db, &a, &r, &t.err), &t.err);
    CHECK(!rows_null(&r, 0, 0) && rows_null(&r, 0, 1));
    CHECK_STR(rows_text(&r, 0, 3), "");
    CHECK_STR(rows_text(&r, 0, 4), "");
    CHECK(rows_null(&r, 0, 5));
    rows_release(&r);
    args_release(&a);
    sqlite_test_end(&t);
}

STMT(add_rows, "INSERT INTO item (id, name) VALUES (?2 + ?1, ?3) RETURNING id, name", 1, 2, T_I64,
     T_I64, T_TEXT);
STMT(rename_rows, "UPDATE item SET name = 'new' WHERE id = ?1", 0, 1, T_I64);

TEST(statement_with_row_parameters_runs_once_per_row_and_collects_the_results)
{
    struct sqlite_test t = sqlite_test_ready();
    struct args a = {.stmt = &add_rows};
    struct rows r = ROWS_INIT;
    int64_t ids[] = {101, 150, 199};

    args_int(&a, 100);
    for (int i = 0; i < 100; i++) {
        args_int(&a, i);
        args_text(&a, i % 2 ? "odd" : NULL);
    }
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_OK_ERR(db_send(t.db, &a, &r, 100, &t.err), &t.err);
    CHECK_OK_ERR(db_flush(t.db, &t.err), &t.err);
    CHECK_EQ(r.n, 100);
    CHECK_EQ(rows_int(&r, 99, 0), 199);
    CHECK_STR(rows_text(&r, 99, 1), "odd");
    CHECK(rows_null(&r, 98, 1));
    CHECK_OK_ERR(sqlite_test_run_ints(&t, &rename_rows, ids, 3, NULL, 3), &t.err);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    CHECK_EQ(sqlite_test_number(&t, &count_items), 100);
    rows_release(&r);
    args_release(&a);
    sqlite_test_end(&t);
}

TEST(statement_with_row_parameters_but_no_rows_is_not_run)
{
    struct sqlite_test t = sqlite_test_ready();
    struct args a = {.stmt = &add_rows};
    struct rows r = ROWS_INIT;

    args_int(&a, 100);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_OK_ERR(db_send(t.db, &a, &r, 0, &t.err), &t.err);
    CHECK_EQ(r.n, 0);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    args_release(&a);
    sqlite_test_end(&t);
}

TEST(unexpected_row_count_fails_and_prevents_the_commit)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t ids[] = {1, 2};

    sqlite_test_add_item(&t, 1);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_EQ(sqlite_test_run_ints(&t, &rename_rows, ids, 2, NULL, 2), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "rename_rows") && strstr(t.err.msg, "1 rows instead of 2"));
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    db_rollback(t.db);
    sqlite_test_end(&t);
}

STMT(no_such_table, "SELECT * FROM nothing_here", 0, 0, 0);
STMT(two_statements, "SELECT 1; SELECT 2", 0, 0, 0);
STMT(raises, "DELETE FROM item", 0, 0, 0);

TEST(error_names_the_statement_and_the_file_and_says_what_to_do)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t one = 1;

    sqlite_test_script_in_tx(&t, "CREATE TRIGGER t BEFORE DELETE ON item "
                                 "BEGIN SELECT raise(ABORT, 'history stays'); END");
    sqlite_test_add_item(&t, 1);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_EQ(sqlite_test_run_ints(&t, &no_such_table, NULL, 0, NULL, ANY_ROWS), -E_SCHEMA);
    CHECK(strstr(t.err.msg, "nothing_here") && strstr(t.err.msg, "pawl admin migrate"));
    CHECK(strstr(t.err.msg, t.url.file));
    CHECK_EQ(sqlite_test_run_ints(&t, &add_item, &one, 1, NULL, 1), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "add_item") && strstr(t.err.msg, "UNIQUE constraint failed"));
    CHECK_EQ(sqlite_test_run_ints(&t, &raises, NULL, 0, NULL, ANY_ROWS), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "history stays"));
    CHECK_EQ(sqlite_test_run_ints(&t, &two_statements, NULL, 0, NULL, ANY_ROWS), -E_INTERNAL);
    db_rollback(t.db);
    CHECK_EQ(sqlite_test_run_ints(&t, &count_items, NULL, 0, NULL, ANY_ROWS),
             -E_INTERNAL); /* outside of a transaction */
    sqlite_test_end(&t);
}

/* ---- transactions ---- */

TEST(rollback_stores_nothing)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t one = 1;

    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_OK_ERR(sqlite_test_run_ints(&t, &add_item, &one, 1, NULL, 1), &t.err);
    db_rollback(t.db);
    db_rollback(t.db);
    CHECK_EQ(sqlite_test_number(&t, &count_items), 0);
    sqlite_test_add_item(&t, 1);
    sqlite_test_end(&t);
}

STMT(roll_back_by_itself, "INSERT OR ROLLBACK INTO item (id) VALUES (?1)", 1, 0, T_I64);

TEST(rollback_after_sqlite_rolled_back_by_itself_is_harmless)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t one = 1;

    sqlite_test_add_item(&t, 1);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_EQ(sqlite_test_run_ints(&t, &roll_back_by_itself, &one, 1, NULL, 1), -E_INTERNAL);
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    db_rollback(t.db);
    sqlite_test_add_item(&t, 2);
    sqlite_test_end(&t);
}

TEST(reader_sees_one_snapshot_and_cannot_write)
{
    struct sqlite_test w = sqlite_test_ready(), r = sqlite_test_named("t.db", NULL);
    struct rows rows = ROWS_INIT;
    int64_t one = 1;

    sqlite_open_test(&r);
    CHECK_OK_ERR(db_begin(r.db, TX_READ, &r.err), &r.err);
    CHECK_OK_ERR(sqlite_test_run_ints(&r, &count_items, NULL, 0, &rows, 1), &r.err);
    sqlite_test_add_item(&w, 1);
    CHECK_OK_ERR(sqlite_test_run_ints(&r, &count_items, NULL, 0, &rows, 1), &r.err);
    CHECK_EQ(rows_int(&rows, 0, 0), 0);
    rows_release(&rows);
    CHECK_EQ(sqlite_test_run_ints(&r, &add_item, &one, 1, NULL, 1), -E_INTERNAL);
    CHECK_EQ(r.db->driver->script(r.db, "DELETE FROM item", &r.err), -E_INTERNAL);
    db_rollback(r.db);
    CHECK_EQ(sqlite_test_number(&r, &count_items), 1);
    sqlite_test_end(&r);
    sqlite_test_end(&w);
}

static void *add_a_hundred(void *arg)
{
    struct sqlite_test t = sqlite_test_named("t.db", NULL);
    int64_t first = *(int64_t *)arg;

    sqlite_open_test(&t);
    for (int64_t i = 0; i < 100; i++)
        sqlite_test_add_item(&t, first + i);
    sqlite_test_end(&t);
    return NULL;
}

TEST(write_transactions_of_several_threads_exclude_each_other)
{
    struct sqlite_test t = sqlite_test_ready();
    pthread_t threads[4];
    int64_t firsts[4];

    for (int i = 0; i < 4; i++) {
        firsts[i] = 1 + i * 1000;
        CHECK_OK(pthread_create(&threads[i], NULL, add_a_hundred, &firsts[i]));
    }
    for (int i = 0; i < 4; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    CHECK_EQ(sqlite_test_number(&t, &count_items), 400);
    sqlite_test_end(&t);
}

static void collect(void *arg, const char *what, int64_t took_us, long rows)
{
    CHECK(took_us >= 0);
    buf_addf(arg, "%s:%ld ", what, rows);
}

TEST(trace_shows_the_lock_and_every_statement)
{
    struct sqlite_test t = sqlite_test_ready();
    struct buf log = BUF_INIT;

    t.env->arg = &log;
    t.env->trace = collect;
    sqlite_test_add_item(&t, 1);
    CHECK_STR(buf_cstr(&log), "lock:0 begin:0 add_item:1 commit:0 ");
    sqlite_test_end(&t);
    buf_release(&log);
}

/* ---- time ---- */

#define CLOCK_TABLES                                                                    \
    "CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), boot_id TEXT NOT NULL," \
    "                    offset_us INTEGER NOT NULL);"                                  \
    "CREATE TABLE execution_events (sequence_num INTEGER PRIMARY KEY, created_at INTEGER);"

STMT(boot_ids, "SELECT count(*) FROM clock WHERE boot_id = 'another'", 0, 0, 0);
STMT(clock_rows, "SELECT count(*) FROM clock", 0, 0, 0);

static int64_t now_in(struct sqlite_test *t, enum tx_kind kind, bool commit)
{
    int64_t us = 0;

    CHECK_OK_ERR(db_begin(t->db, kind, &t->err), &t->err);
    CHECK_OK_ERR(t->db->driver->send_now(t->db, &us, &t->err), &t->err);
    if (commit)
        CHECK_OK_ERR(db_commit(t->db, &t->err), &t->err);
    else
        db_rollback(t->db);
    return us;
}

#define SECOND 1000000

static bool is_near(int64_t us, int64_t other)
{
    return us > other - 5 * SECOND && us < other + 5 * SECOND;
}

TEST(time_before_the_first_migration_is_wall_clock_time)
{
    struct sqlite_test t = sqlite_test_ready();

    CHECK(is_near(now_in(&t, TX_WRITE, true), clock_wall_us()));
    CHECK(is_near(now_in(&t, TX_READ, true), clock_wall_us()));
    sqlite_test_end(&t);
}

TEST(time_never_goes_back_and_is_the_same_for_all_connections)
{
    struct sqlite_test t = sqlite_test_ready(), other = sqlite_test_named("t.db", NULL);
    int64_t before;

    sqlite_test_script_in_tx(&t, CLOCK_TABLES);
    CHECK(is_near(now_in(&t, TX_READ, true), clock_wall_us()));
    CHECK_EQ(sqlite_test_number(&t, &clock_rows), 0); /* a reader writes nothing */
    before = now_in(&t, TX_WRITE, true);
    sqlite_open_test(&other);
    for (int i = 0; i < 100; i++) {
        struct sqlite_test *one = i % 2 ? &t : &other;
        int64_t us = now_in(one, i % 3 ? TX_READ : TX_WRITE, true);

        CHECK(us >= before);
        before = us;
    }
    CHECK_EQ(sqlite_test_number(&t, &clock_rows), 1);
    sqlite_test_end(&other);
    sqlite_test_end(&t);
}

TEST(clock_offset_that_was_rolled_back_is_dropped)
{
    struct sqlite_test t = sqlite_test_ready();

    sqlite_test_script_in_tx(&t, CLOCK_TABLES);
    now_in(&t, TX_WRITE, false);
    sqlite_test_script_in_tx(
        &t, "INSERT INTO execution_events VALUES (7, 4102444800000000)"); /* 2100 */
    CHECK(is_near(now_in(&t, TX_WRITE, true), 4102444800000000));
    CHECK_EQ(sqlite_test_number(&t, &clock_rows), 1);
    sqlite_test_end(&t);
}

TEST(time_after_a_reboot_is_later_than_every_stored_time)
{
    struct sqlite_test t = sqlite_test_ready();
    int64_t us;

    sqlite_test_script_in_tx(&t, CLOCK_TABLES
                             "INSERT INTO clock VALUES (1, 'another', 12345);"
                             "INSERT INTO execution_events VALUES (1, 5), (2, 4102444800000000)");
    CHECK(is_near(now_in(&t, TX_READ, true), clock_wall_us()));
    us = now_in(&t, TX_WRITE, true);
    CHECK(us > 4102444800000000 && is_near(us, 4102444800000000));
    CHECK_EQ(sqlite_test_number(&t, &boot_ids), 0);
    CHECK(now_in(&t, TX_READ, true) >= us);
    sqlite_test_end(&t);
}
