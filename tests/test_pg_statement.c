/* test_pg_statement.c - statements of the PostgreSQL driver, without the store: values, the
 * pipeline, prepared statements. */
#include "pg_fixture.h"

TEST_ONLY_DB(postgres);

/* ---- values ---- */

STMT(echo, "SELECT $1, $2, $3, $4, $5, $6", 6, 0, T_I64, T_I32, T_I16, T_TEXT, T_TIME, T_BYTES);

static struct rows echo_back(struct pg *t, struct args *a)
{
    struct rows r = ROWS_INIT;

    pg_begin(t);
    CHECK_OK_ERR(db_query(t->db, a, &r, &t->err), &t->err);
    pg_commit(t);
    return r;
}

TEST(values_of_every_type_come_back_as_sent)
{
    static const char text[] = "it's a \"quoted\" \\ text; -- naïve 😀 %s\n\t";
    static const int64_t times[] = {
        0, -1, 1, -5000000000000000, 946684799999999, 946684800000000, 1700000000123456};
    struct pg t = pg_ready();
    struct args a = {.stmt = &echo};

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        struct rows r;

        a.vals.n = 0;
        args_int(&a, i % 2 ? INT64_MIN : INT64_MAX);
        args_int(&a, i % 2 ? INT32_MIN : INT32_MAX);
        args_int(&a, i % 2 ? INT16_MIN : INT16_MAX);
        args_text(&a, text);
        args_int(&a, times[i]);
        args_bytes(&a, "\0\xff", 2);
        r = echo_back(&t, &a);
        CHECK_EQ(r.n, 1);
        CHECK_EQ(r.ncols, 6);
        CHECK(rows_int(&r, 0, 0) == (i % 2 ? INT64_MIN : INT64_MAX));
        CHECK_EQ(rows_int(&r, 0, 1), i % 2 ? INT32_MIN : INT32_MAX);
        CHECK_EQ(rows_int(&r, 0, 2), i % 2 ? INT16_MIN : INT16_MAX);
        CHECK_STR(rows_text(&r, 0, 3), text);
        CHECK_EQ(r.cells[3].len, strlen(text));
        CHECK_EQ(rows_int(&r, 0, 4), times[i]);
        CHECK_EQ(r.cells[5].len, 2);
        CHECK(memcmp(r.cells[5].s, "\0\xff", 3) == 0);
        rows_release(&r);
    }
    args_release(&a);
    pg_done(&t);
}

TEST(null_comes_back_as_null_and_an_empty_value_as_empty)
{
    struct pg t = pg_ready();
    struct args a = {.stmt = &echo};
    struct rows r;

    for (int i = 0; i < 6; i++)
        args_null(&a);
    r = echo_back(&t, &a);
    for (size_t i = 0; i < 6; i++)
        CHECK(rows_null(&r, 0, i) && rows_int(&r, 0, i) == 0 && !rows_text(&r, 0, i));
    rows_release(&r);

    a.vals.n = 0;
    args_int_or_null(&a, 0);
    args_int_or_null(&a, 7);
    args_int(&a, 0);
    args_text(&a, "");
    args_int_or_null(&a, 0);
    args_bytes(&a, "", 0);
    r = echo_back(&t, &a);
    CHECK(rows_null(&r, 0, 0) && rows_null(&r, 0, 4));
    CHECK_EQ(rows_int(&r, 0, 1), 7);
    CHECK(!rows_null(&r, 0, 2) && !rows_null(&r, 0, 3) && !rows_null(&r, 0, 5));
    CHECK_STR(rows_text(&r, 0, 3), "");
    rows_release(&r);
    args_release(&a);
    pg_done(&t);
}

STMT(echo_rows,
     "SELECT $1 + i, n, s, x, at, b FROM unnest($2, $3, $4, $5, $6) WITH ORDINALITY"
     " AS u(n, s, x, at, b, i) ORDER BY i",
     1, 5, T_I64, T_I32, T_I16, T_TEXT, T_TIME, T_BYTES);

TEST(rows_sent_as_arrays_keep_their_nulls)
{
    enum { ROWS = 1000 };
    struct pg t = pg_ready();
    struct args a = {.stmt = &echo_rows};
    struct rows r;
    char text[40];

    args_int(&a, 100);
    for (int i = 0; i < ROWS; i++) {
        snprintf(text, sizeof(text), "{\"%d\", NULL}", i);
        args_int_or_null(&a, i);
        args_int(&a, i % 7);
        /* Texts are borrowed until the statement is flushed. */
        args_text(&a, i % 3 ? mem_strdup(text) : NULL);
        args_int(&a, i - 500);
        args_bytes(&a, i % 5 ? "\0x" : NULL, 2);
    }
    CHECK_EQ(args_rows(&a), ROWS);
    r = echo_back(&t, &a);
    CHECK_EQ(r.n, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(text, sizeof(text), "{\"%zu\", NULL}", i);
        CHECK_EQ(rows_int(&r, i, 0), 101 + i);
        CHECK_EQ(rows_null(&r, i, 1), i == 0);
        CHECK_EQ(rows_int(&r, i, 1), i);
        CHECK_EQ(rows_int(&r, i, 2), i % 7);
        CHECK_STR(rows_text(&r, i, 3), i % 3 ? text : NULL);
        CHECK_EQ(rows_int(&r, i, 4), (long long)i - 500);
        CHECK_EQ(r.cells[i * r.ncols + 5].len, i % 5 ? 2 : 0);
    }
    rows_release(&r);
    for (size_t i = 3; i < a.vals.n; i += 5)
        free((char *)a.vals.at[i].s);
    args_release(&a);
    pg_done(&t);
}

TEST(statement_with_row_parameters_but_no_rows_is_not_sent)
{
    struct pg t = pg_ready();
    struct args a = {.stmt = &echo_rows};
    struct rows r = ROWS_INIT;

    args_int(&a, 1);
    pg_begin(&t);
    r.n = 3; /* left from an earlier use */
    CHECK_OK_ERR(db_send(t.db, &a, &r, 5, &t.err), &t.err);
    CHECK_EQ(r.n, 0);
    CHECK_OK_ERR(db_flush(t.db, &t.err), &t.err);
    pg_commit(&t);
    args_release(&a);
    pg_done(&t);
}

STMT(odd_types,
     "SELECT true, 'n'::name, 'v'::varchar, '{\"a\": 1}'::json, 7::oid, 2.5::float8, -2.5::float8,"
     " pg_current_xact_id(), 'unknown', NULL, pg_advisory_xact_lock(1)",
     0, 0, 0);
STMT(a_numeric, "SELECT 1 AS fine, 1.5 AS wrong", 0, 0, 0);

TEST(result_columns_are_converted_by_their_type)
{
    struct pg t = pg_ready();
    struct rows r = ROWS_INIT;

    pg_begin(&t);
    CHECK_OK_ERR(pg_send_ints(&t, &odd_types, NULL, 0, &r, 1), &t.err);
    CHECK_OK_ERR(db_flush(t.db, &t.err), &t.err);
    CHECK_EQ(rows_int(&r, 0, 0), 1);
    CHECK_STR(rows_text(&r, 0, 1), "n");
    CHECK_STR(rows_text(&r, 0, 2), "v");
    CHECK_STR(rows_text(&r, 0, 3), "{\"a\": 1}");
    CHECK_EQ(rows_int(&r, 0, 4), 7);
    CHECK_EQ(rows_int(&r, 0, 5), 3);
    CHECK_EQ(rows_int(&r, 0, 6), -3);
    CHECK(rows_int(&r, 0, 7) > 0);
    CHECK_STR(rows_text(&r, 0, 8), "unknown");
    CHECK(rows_null(&r, 0, 9) && rows_null(&r, 0, 10));

    CHECK_OK_ERR(pg_send_ints(&t, &a_numeric, NULL, 0, &r, 1), &t.err);
    CHECK_EQ(db_flush(t.db, &t.err), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "a_numeric") && strstr(t.err.msg, "wrong"));
    db_rollback(t.db);
    rows_release(&r);
    pg_done(&t);
}

TEST(value_that_does_not_fit_its_parameter_type_is_refused_before_it_is_sent)
{
    static const struct val bad[] = {
        [0] = {.s = "text", .len = 4}, [1] = {.i = INT64_MAX}, [2] = {.i = 32768}, [3] = {.i = 5},
        [4] = {.i = INT64_MIN},        [5] = {.i = 1},
    };
    struct pg t = pg_ready();

    for (size_t i = 0; i < 6; i++) {
        struct args a = {.stmt = &echo};
        char param[] = "$0";

        for (size_t j = 0; j < 6; j++)
            args_null(&a);
        a.vals.at[i] = bad[i];
        pg_begin(&t);
        CHECK_EQ(db_send(t.db, &a, NULL, ANY_ROWS, &t.err), -E_INTERNAL);
        param[1] = (char)('1' + i);
        CHECK(strstr(t.err.msg, param));
        CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
        args_release(&a);
    }
    pg_done(&t);
}

/* ---- the pipeline ---- */

STMT(fat, "SELECT repeat('x', 20000), $1", 1, 0, T_TEXT);

TEST(pipeline_larger_than_the_socket_buffers_does_not_deadlock)
{
    enum { N = 1000 };
    struct pg t = pg_ready();
    struct args a = {.stmt = &fat};
    struct rows *r = mem_zalloc(N * sizeof(*r));
    char *text = mem_zalloc(30001);

    memset(text, 'y', 30000);
    pg_begin(&t);
    for (int i = 0; i < N; i++) {
        a.vals.n = 0;
        args_text(&a, text);
        CHECK_OK_ERR(db_send(t.db, &a, &r[i], 1, &t.err), &t.err);
    }
    pg_commit(&t);
    for (int i = 0; i < N; i++) {
        CHECK_STR(rows_text(&r[i], 0, 1), text);
        rows_release(&r[i]);
    }
    free(r);
    free(text);
    args_release(&a);
    pg_done(&t);
}

TEST(first_error_of_a_pipeline_is_reported_and_nothing_is_stored)
{
    struct pg t = pg_ready();
    struct rows r = ROWS_INIT;

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    CHECK_OK(pg_add_item(&t, 1));
    CHECK_OK(pg_send_ints(&t, &a_numeric, NULL, 0, &r, 1));
    CHECK_EQ(db_flush(t.db, &t.err), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "23505") && strstr(t.err.msg, "add_item"));
    CHECK_EQ(pg_try(&t, &count_items),
             E_INTERNAL); /* every statement gets that error until the rollback */
    CHECK(strstr(t.err.msg, "23505"));
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    db_rollback(t.db);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    rows_release(&r);
    pg_done(&t);
}

STMT(rename_items, "UPDATE item SET name = 'x' WHERE id > $1", 1, 0, T_I64);
STMT(rename_returning, "UPDATE item SET name = 'x' WHERE id > $1 RETURNING id", 1, 0, T_I64);

TEST(unexpected_row_count_prevents_the_commit)
{
    static const int64_t one = 1;
    struct pg t = pg_ready();
    struct rows r = ROWS_INIT;

    pg_script_in_tx(&t, "INSERT INTO item SELECT generate_series(1, 3)");
    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 4));
    CHECK_OK(pg_send_ints(&t, &rename_items, &one, 1, NULL, 2)); /* three rows match */
    CHECK_EQ(db_commit(t.db, &t.err), -E_INTERNAL);
    CHECK(strstr(t.err.msg, "rename_items") && strstr(t.err.msg, "3 rows instead of 2"));
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 3);

    pg_begin(&t);
    CHECK_OK(pg_send_ints(&t, &rename_returning, &one, 1, &r, 2));
    CHECK_OK(pg_send_ints(&t, &rename_items, &one, 1, NULL, 2));
    pg_commit(&t);
    CHECK_EQ(r.n, 2);
    rows_release(&r);
    pg_done(&t);
}

TEST(queued_statements_can_be_rolled_back_before_their_results_are_read)
{
    struct pg t = pg_ready();
    struct rows *r = mem_zalloc(sizeof(*r));
    int64_t pid = pg_number_in_tx(&t, &backend_pid);

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    CHECK_OK(pg_add_item(&t, 1)); /* fails, and its error is never read */
    CHECK_OK(pg_send_ints(&t, &count_items, NULL, 0, r, 1));
    free(r);
    db_rollback(t.db);
    db_rollback(t.db);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    CHECK_EQ(pg_number_in_tx(&t, &backend_pid), pid); /* still the same session */
    pg_done(&t);
}

STMT(named_count, "SELECT count(*) FROM pg_prepared_statements", 0, 0, 0);

/* Runs a statement of the table: those are prepared by name. */
static int query_named(struct pg *t, enum stmt_id q, int64_t *n)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, q);
    rc = db_query(t->db, &a, &r, &t->err);
    if (!rc)
        *n = rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int64_t migrations_exist(struct pg *t)
{
    int64_t n = 0;

    CHECK_OK_ERR(query_named(t, Q_MIGRATIONS_EXIST, &n), &t->err);
    return n;
}

TEST(statements_are_prepared_once)
{
    struct pg t = pg_ready();
    int64_t before;

    pg_begin(&t);
    before = pg_number(&t, &named_count);
    CHECK(before > 0); /* BEGIN and COMMIT are prepared by now */
    CHECK_EQ(migrations_exist(&t), 0);
    CHECK_EQ(migrations_exist(&t), 0);
    CHECK_EQ(pg_number(&t, &named_count), before + 1);
    pg_commit(&t);
    pg_begin(&t);
    CHECK_EQ(migrations_exist(&t), 0);
    CHECK_EQ(pg_number(&t, &named_count), before + 1);
    pg_commit(&t);
    pg_done(&t);
}

STMT(deallocate_all, "DEALLOCATE ALL", 0, 0, 0);

TEST(session_that_lost_its_prepared_statements_uses_unnamed_statements)
{
    struct pg t = pg_ready();

    pg_begin(&t);
    CHECK_OK(pg_add_item(&t, 1));
    CHECK_EQ(pg_try(&t, &deallocate_all), 0);
    CHECK_EQ(db_commit(t.db, &t.err), -E_REDO);
    pg_begin(&t);
    CHECK_EQ(pg_number(&t, &count_items), 0);
    CHECK_EQ(migrations_exist(&t), 0);
    CHECK_EQ(pg_number(&t, &named_count), 0);
    pg_commit(&t);
    pg_done(&t);
}

TEST(turn_whose_prepared_statement_a_migration_invalidated_runs_again_once)
{
    struct pg t = pg_ready(), other = pg_second(&t);
    int64_t version = 0;

    pg_script_in_tx(&t, "CREATE TABLE schema_migrations (version int);"
                        "INSERT INTO schema_migrations VALUES (3)");
    pg_begin(&t);
    CHECK_OK_ERR(query_named(&t, Q_SCHEMA_VERSION, &version), &t.err);
    pg_commit(&t);
    pg_script_in_tx(&other, "ALTER TABLE schema_migrations ALTER version TYPE bigint");
    pg_begin(&t);
    CHECK_EQ(query_named(&t, Q_SCHEMA_VERSION, &version), -E_REDO);
    db_rollback(t.db);
    pg_begin(&t);
    CHECK_OK_ERR(query_named(&t, Q_SCHEMA_VERSION, &version), &t.err);
    CHECK_EQ(version, 3);
    pg_commit(&t);
    pg_end(&other);
    pg_done(&t);
}
