/* test_lite_driver.c - the SQLite driver by itself: values, statements, transactions, time,
 * options. */
#include "base/buf.h"
#include "lite_fixture.h"
#include "store/store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

TEST_NO_DB;
TEST_THREADED;

/* ---- statements ---- */

STMT(echo, "SELECT ?1, ?2, ?3, ?4, ?5, ?6, typeof(?5), 2.5", 6, 0, T_I64, T_I16, T_TIME, T_TEXT,
     T_BYTES, T_TEXT);

TEST(values_of_every_type_come_back_as_they_went)
{
    struct lite t = lite_ready();
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
    lite_end(&t);
}

TEST(empty_text_and_empty_bytes_are_not_null)
{
    struct lite t = lite_ready();
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
    lite_end(&t);
}

STMT(add_rows, "INSERT INTO item (id, name) VALUES (?2 + ?1, ?3) RETURNING id, name", 1, 2, T_I64,
     T_I64, T_TEXT);
STMT(rename_rows, "UPDATE item SET name = 'new' WHERE id = ?1", 0, 1, T_I64);

TEST(a_row_statement_runs_once_a_row_and_collects_what_it_returns)
{
    struct lite t = lite_ready();
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
    CHECK_OK_ERR(lite_run_ints(&t, &rename_rows, ids, 3, NULL, 3), &t.err);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    CHECK_EQ(lite_number(&t, &count_items), 100);
    rows_release(&r);
    args_release(&a);
    lite_end(&t);
}

TEST(a_row_statement_without_rows_runs_nothing)
{
    struct lite t = lite_ready();
    struct args a = {.stmt = &add_rows};
    struct rows r = ROWS_INIT;

    args_int(&a, 100);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_OK_ERR(db_send(t.db, &a, &r, 0, &t.err), &t.err);
    CHECK_EQ(r.n, 0);
    CHECK_OK_ERR(db_commit(t.db, &t.err), &t.err);
    args_release(&a);
    lite_end(&t);
}

TEST(a_count_that_differs_fails_and_the_transaction_can_not_be_committed)
{
    struct lite t = lite_ready();
    int64_t ids[] = {1, 2};

    lite_add_item(&t, 1);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_EQ(lite_run_ints(&t, &rename_rows, ids, 2, NULL, 2), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "rename_rows") && strstr(t.err.msg, "1 rows instead of 2"));
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    db_rollback(t.db);
    lite_end(&t);
}

STMT(no_such_table, "SELECT * FROM nothing_here", 0, 0, 0);
STMT(two_statements, "SELECT 1; SELECT 2", 0, 0, 0);
STMT(raises, "DELETE FROM item", 0, 0, 0);

TEST(errors_name_the_statement_and_the_file_and_say_what_to_do)
{
    struct lite t = lite_ready();
    int64_t one = 1;

    lite_script_in_tx(&t, "CREATE TRIGGER t BEFORE DELETE ON item "
                          "BEGIN SELECT raise(ABORT, 'history stays'); END");
    lite_add_item(&t, 1);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_EQ(lite_run_ints(&t, &no_such_table, NULL, 0, NULL, ANY_ROWS), -E_SCHEMA);
    CHECK(strstr(t.err.msg, "nothing_here") && strstr(t.err.msg, "pawl admin migrate"));
    CHECK(strstr(t.err.msg, t.url.file));
    CHECK_EQ(lite_run_ints(&t, &add_item, &one, 1, NULL, 1), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "add_item") && strstr(t.err.msg, "UNIQUE constraint failed"));
    CHECK_EQ(lite_run_ints(&t, &raises, NULL, 0, NULL, ANY_ROWS), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "history stays"));
    CHECK_EQ(lite_run_ints(&t, &two_statements, NULL, 0, NULL, ANY_ROWS), -E_INTERNAL);
    db_rollback(t.db);
    CHECK_EQ(lite_run_ints(&t, &count_items, NULL, 0, NULL, ANY_ROWS), -E_INTERNAL); /* no tx */
    lite_end(&t);
}

/* ---- transactions ---- */

TEST(a_rollback_leaves_nothing)
{
    struct lite t = lite_ready();
    int64_t one = 1;

    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_OK_ERR(lite_run_ints(&t, &add_item, &one, 1, NULL, 1), &t.err);
    db_rollback(t.db);
    db_rollback(t.db);
    CHECK_EQ(lite_number(&t, &count_items), 0);
    lite_add_item(&t, 1);
    lite_end(&t);
}

STMT(roll_back_by_itself, "INSERT OR ROLLBACK INTO item (id) VALUES (?1)", 1, 0, T_I64);

TEST(a_rollback_after_sqlite_rolled_back_by_itself_is_harmless)
{
    struct lite t = lite_ready();
    int64_t one = 1;

    lite_add_item(&t, 1);
    CHECK_OK_ERR(db_begin(t.db, TX_WRITE, &t.err), &t.err);
    CHECK_EQ(lite_run_ints(&t, &roll_back_by_itself, &one, 1, NULL, 1), -E_INTERNAL);
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    db_rollback(t.db);
    lite_add_item(&t, 2);
    lite_end(&t);
}

TEST(a_reader_sees_one_snapshot_and_can_not_write)
{
    struct lite w = lite_ready(), r = lite_named("t.db", NULL);
    struct rows rows = ROWS_INIT;
    int64_t one = 1;

    lite_open_it(&r);
    CHECK_OK_ERR(db_begin(r.db, TX_READ, &r.err), &r.err);
    CHECK_OK_ERR(lite_run_ints(&r, &count_items, NULL, 0, &rows, 1), &r.err);
    lite_add_item(&w, 1);
    CHECK_OK_ERR(lite_run_ints(&r, &count_items, NULL, 0, &rows, 1), &r.err);
    CHECK_EQ(rows_int(&rows, 0, 0), 0);
    rows_release(&rows);
    CHECK_EQ(lite_run_ints(&r, &add_item, &one, 1, NULL, 1), -E_INTERNAL);
    CHECK_EQ(r.db->driver->script(r.db, "DELETE FROM item", &r.err), -E_INTERNAL);
    db_rollback(r.db);
    CHECK_EQ(lite_number(&r, &count_items), 1);
    lite_end(&r);
    lite_end(&w);
}

static void *add_a_hundred(void *arg)
{
    struct lite t = lite_named("t.db", NULL);
    int64_t first = *(int64_t *)arg;

    lite_open_it(&t);
    for (int64_t i = 0; i < 100; i++)
        lite_add_item(&t, first + i);
    lite_end(&t);
    return NULL;
}

TEST(connections_of_several_threads_exclude_each_other)
{
    struct lite t = lite_ready();
    pthread_t threads[4];
    int64_t firsts[4];

    for (int i = 0; i < 4; i++) {
        firsts[i] = 1 + i * 1000;
        CHECK_OK(pthread_create(&threads[i], NULL, add_a_hundred, &firsts[i]));
    }
    for (int i = 0; i < 4; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    CHECK_EQ(lite_number(&t, &count_items), 400);
    lite_end(&t);
}

static void collect(void *arg, const char *what, int64_t took_us, long rows)
{
    CHECK(took_us >= 0);
    buf_addf(arg, "%s:%ld ", what, rows);
}

TEST(the_trace_shows_the_lock_and_every_statement)
{
    struct lite t = lite_ready();
    struct buf log = BUF_INIT;

    t.env->arg = &log;
    t.env->trace = collect;
    lite_add_item(&t, 1);
    CHECK_STR(buf_cstr(&log), "lock:0 begin:0 add_item:1 commit:0 ");
    lite_end(&t);
    buf_release(&log);
}

/* ---- time ---- */

#define CLOCK_TABLES                                                                    \
    "CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), boot_id TEXT NOT NULL," \
    "                    offset_us INTEGER NOT NULL);"                                  \
    "CREATE TABLE execution_events (sequence_num INTEGER PRIMARY KEY, created_at INTEGER);"

STMT(boot_ids, "SELECT count(*) FROM clock WHERE boot_id = 'another'", 0, 0, 0);
STMT(clock_rows, "SELECT count(*) FROM clock", 0, 0, 0);

static int64_t now_in(struct lite *t, enum tx_kind kind, bool commit)
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

TEST(before_the_first_migration_time_is_the_wall_clock)
{
    struct lite t = lite_ready();

    CHECK(is_near(now_in(&t, TX_WRITE, true), clock_wall_us()));
    CHECK(is_near(now_in(&t, TX_READ, true), clock_wall_us()));
    lite_end(&t);
}

TEST(time_never_goes_back_and_is_the_same_for_all)
{
    struct lite t = lite_ready(), other = lite_named("t.db", NULL);
    int64_t before;

    lite_script_in_tx(&t, CLOCK_TABLES);
    CHECK(is_near(now_in(&t, TX_READ, true), clock_wall_us()));
    CHECK_EQ(lite_number(&t, &clock_rows), 0); /* a reader writes nothing */
    before = now_in(&t, TX_WRITE, true);
    lite_open_it(&other);
    for (int i = 0; i < 100; i++) {
        struct lite *who = i % 2 ? &t : &other;
        int64_t us = now_in(who, i % 3 ? TX_READ : TX_WRITE, true);

        CHECK(us >= before);
        before = us;
    }
    CHECK_EQ(lite_number(&t, &clock_rows), 1);
    lite_end(&other);
    lite_end(&t);
}

TEST(an_offset_that_was_rolled_back_is_forgotten)
{
    struct lite t = lite_ready();

    lite_script_in_tx(&t, CLOCK_TABLES);
    now_in(&t, TX_WRITE, false);
    lite_script_in_tx(&t, "INSERT INTO execution_events VALUES (7, 4102444800000000)"); /* 2100 */
    CHECK(is_near(now_in(&t, TX_WRITE, true), 4102444800000000));
    CHECK_EQ(lite_number(&t, &clock_rows), 1);
    lite_end(&t);
}

TEST(after_a_boot_time_goes_on_above_what_is_stored)
{
    struct lite t = lite_ready();
    int64_t us;

    lite_script_in_tx(&t, CLOCK_TABLES
                      "INSERT INTO clock VALUES (1, 'another', 12345);"
                      "INSERT INTO execution_events VALUES (1, 5), (2, 4102444800000000)");
    CHECK(is_near(now_in(&t, TX_READ, true), clock_wall_us()));
    us = now_in(&t, TX_WRITE, true);
    CHECK(us > 4102444800000000 && is_near(us, 4102444800000000));
    CHECK_EQ(lite_number(&t, &boot_ids), 0);
    CHECK(now_in(&t, TX_READ, true) >= us);
    lite_end(&t);
}

/* ---- opening ---- */

STMT(synchronous, "PRAGMA synchronous", 0, 0, 0);
STMT(foreign_keys, "PRAGMA foreign_keys", 0, 0, 0);

TEST(commits_are_synced_unless_the_url_says_otherwise)
{
    struct lite full = lite_named("full.db", NULL),
                normal = lite_named("n.db", "synchronous=normal");

    lite_open_it(&full);
    lite_open_it(&normal);
    CHECK_EQ(lite_number(&full, &synchronous), 2);
    CHECK_EQ(lite_number(&normal, &synchronous), 1);
    CHECK_EQ(lite_number(&full, &foreign_keys), 1);
    lite_end(&full);
    lite_end(&normal);
}

TEST(an_unknown_option_is_refused_and_nothing_is_created)
{
    const char *bad[] = {"synchronous=off", "sync=normal", "", "synchronous=full&x=1"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct lite t = lite_named("t.db", bad[i]);

        CHECK_EQ(db_open(&t.url, t.env, &t.db, &t.err), -E_INVALID);
        CHECK(strstr(t.err.msg, "synchronous=normal"));
        CHECK(access(t.url.file, F_OK));
        lite_end(&t);
    }
}

TEST(files_are_for_their_owner_alone_and_a_reader_makes_no_lock_file)
{
    const char *ends[] = {"", "-wal", "-shm", ".lock"};
    struct lite t = lite_ready(), reader = lite_named("t.db", NULL);
    struct stat st;
    char *path;

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        path = mem_printf("%s%s", t.url.file, ends[i]);
        CHECK_OK(stat(path, &st));
        CHECK_EQ(st.st_mode & 0777, 0600);
        if (i == 3)
            CHECK_OK(unlink(path));
        free(path);
    }
    lite_end(&t);
    lite_open_it(&reader);
    CHECK_EQ(lite_number(&reader, &count_items), 0);
    path = mem_printf("%s.lock", reader.url.file);
    CHECK(access(path, F_OK));
    free(path);
    lite_end(&reader);
}

/* ---- files of others ---- */

/* As a program that knows nothing of Pawl writes it. */
static void write_theirs(const char *path, const char *sql)
{
    sqlite3 *theirs = NULL;

    CHECK_EQ(sqlite3_open(path, &theirs), SQLITE_OK);
    CHECK_EQ(sqlite3_exec(theirs, sql, NULL, NULL, NULL), SQLITE_OK);
    CHECK_EQ(sqlite3_close(theirs), SQLITE_OK);
}

static struct buf bytes_of(const char *path)
{
    struct buf b = BUF_INIT;
    FILE *f = fopen(path, "rb");
    int c;

    CHECK(f);
    while ((c = getc(f)) != EOF)
        buf_addch(&b, (char)c);
    CHECK_OK(fclose(f));
    return b;
}

TEST(a_file_of_another_program_that_is_refused_stays_as_it_was)
{
    static const char *const sql[] = {
        "CREATE TABLE settings (a); INSERT INTO settings VALUES (7)",
        "CREATE TABLE schema_migrations (version); INSERT INTO schema_migrations VALUES (9)"};
    static const char *const beside[] = {"-wal", "-shm", "-journal", ".lock", ".wake"};

    for (size_t i = 0; i < sizeof(sql) / sizeof(*sql); i++) {
        struct lite t = lite_named(i ? "b.db" : "a.db", NULL);
        struct store_options o = {.env = t.env};
        struct store *s = NULL;
        struct buf before, after;

        write_theirs(t.url.file, sql[i]);
        before = bytes_of(t.url.file);
        CHECK_EQ(store_open(t.url.text, NULL, &o, &s, &t.err), -E_SCHEMA);
        CHECK(strstr(t.err.msg, "not Pawl's"));
        after = bytes_of(t.url.file);
        CHECK_EQ(after.len, before.len);
        CHECK(!memcmp(after.ptr, before.ptr, before.len));
        for (size_t k = 0; k < sizeof(beside) / sizeof(*beside); k++) {
            char *path = mem_printf("%s%s", t.url.file, beside[k]);

            CHECK(access(path, F_OK));
            free(path);
        }
        buf_release(&before);
        buf_release(&after);
        lite_end(&t);
    }
}

static int write_version(const char *path)
{
    struct buf b = bytes_of(path);
    int version = b.ptr[18]; /* of the file format: 2 is with a log */

    buf_release(&b);
    return version;
}

/* A copy that a backup made, say. */
TEST(a_file_without_a_log_gets_one_with_the_first_write)
{
    struct lite t = lite_named("t.db", NULL);

    write_theirs(t.url.file, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
    lite_open_it(&t);
    CHECK_EQ(lite_number(&t, &count_items), 0);
    db_close(&t.db);
    CHECK_EQ(write_version(t.url.file), 1);
    lite_open_it(&t);
    lite_add_item(&t, 1);
    CHECK_EQ(lite_number(&t, &count_items), 1);
    db_close(&t.db);
    CHECK_EQ(write_version(t.url.file), 2);
    lite_end(&t);
}

TEST(a_database_reached_through_a_link_has_the_same_lock_file)
{
    struct lite t = lite_ready(), link = lite_named("link.db", NULL);
    char *lock = mem_printf("%s.lock", link.url.file);

    CHECK_OK(symlink("t.db", link.url.file));
    lite_open_it(&link);
    lite_add_item(&link, 1);
    CHECK(access(lock, F_OK));
    CHECK_EQ(lite_number(&t, &count_items), 1);
    free(lock);
    lite_end(&link);
    lite_end(&t);
}

static off_t size_of(const char *path)
{
    struct stat st;

    CHECK_OK(stat(path, &st));
    return st.st_size;
}

/* A copy of a database's file and log, without their index: as they are found after a crash. */
static struct lite crashed(const struct lite *t)
{
    struct lite copy = lite_named("copy.db", NULL);
    char *command = mem_printf("cp '%s' '%s' && cp '%s-wal' '%s-wal'", t->url.file, copy.url.file,
                               t->url.file, copy.url.file);

    CHECK_OK(system(command));
    free(command);
    lite_open_it(&copy);
    return copy;
}

TEST(a_commit_does_not_make_the_log_longer_and_what_lies_ahead_of_it_is_no_commit)
{
    struct lite t = lite_ready(), copy;
    char *wal = mem_printf("%s-wal", t.url.file);
    int grown = 0;
    off_t size;

    for (int64_t i = 1; i <= 200; i++) {
        size = size_of(wal);
        lite_add_item(&t, i);
        grown += size_of(wal) != size;
    }
    CHECK(grown < 15);
    copy = crashed(&t);
    CHECK_EQ(lite_number(&copy, &count_items), 200);
    lite_add_item(&copy, 201);
    CHECK_EQ(lite_number(&copy, &count_items), 201);
    lite_end(&copy);
    lite_end(&t);
    free(wal);
}
