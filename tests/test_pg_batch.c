/* test_pg_batch.c - many rows with columns in common are sent by a statement text made for them;
 * callers of the driver see no difference. */
#include "pg_fixture.h"

TEST_ONLY_DB(postgres);

enum { ROWS = 200, COLUMNS = 5 };

STMT(echo_rows,
     "SELECT $1 + 1, u.* FROM (SELECT unnest($2) AS a, unnest($3) AS b, unnest($4) AS c,"
     " unnest($5) AS d, unnest($6) AS e) AS u",
     1, COLUMNS, T_I64, T_I64, T_I32, T_TEXT, T_TIME, T_I16);

/* The content of a column: the same value in all rows, NULL in all rows, or different values. */
enum content { SAME, NOTHING, DIFFERENT, CONTENTS };

static void add_value(struct args *a, int column, enum content content, int row)
{
    static const char *const words[] = {"", "one", "two", "it's\nthree"};

    if (content == NOTHING || (content == DIFFERENT && row % 3 == 1))
        args_null(a);
    else if (column == 2)
        args_text(a, words[content == SAME ? 3 : row % 4]);
    else
        args_int(a, content == SAME ? 42 : row * 7 - 300);
}

static void check_as_sent(const struct args *a, const struct rows *r)
{
    size_t row, column;

    CHECK_EQ(r->n, ROWS);
    for (row = 0; row < ROWS; row++) {
        CHECK_EQ(rows_int(r, row, 0), 1001);
        for (column = 0; column < COLUMNS; column++) {
            const struct val *sent = &a->vals.at[1 + row * COLUMNS + column];

            CHECK_EQ(rows_null(r, row, column + 1), sent->null);
            CHECK_EQ(rows_int(r, row, column + 1), sent->i);
            CHECK_STR(rows_text(r, row, column + 1), sent->s);
        }
    }
}

/* Includes rows that are all equal, so that no column gives their number, and more combinations of
 * common columns than the driver keeps texts for. */
TEST(batched_rows_come_back_as_sent_whichever_columns_are_equal_in_all_rows)
{
    struct pg t = pg_ready();
    struct args a = {.stmt = &echo_rows};
    struct rows r = ROWS_INIT;
    int mix, row, column, content;

    for (mix = 0; mix < 243; mix++) { /* CONTENTS to the power of COLUMNS */
        a.vals.n = 0;
        args_int(&a, 1000);
        for (row = 0; row < ROWS; row++)
            for (column = 0, content = mix; column < COLUMNS; column++, content /= CONTENTS)
                add_value(&a, column, (enum content)(content % CONTENTS), row);
        pg_begin(&t);
        CHECK_OK_ERR(db_query(t.db, &a, &r, &t.err), &t.err);
        pg_commit(&t);
        check_as_sent(&a, &r);
    }
    rows_release(&r);
    args_release(&a);
    pg_done(&t);
}

/* ---- statements of the table, which are prepared by name ---- */

STMT(texts_of_keys, "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'key_insert%'", 0,
     0, 0);
STMT(stored, "SELECT count(*) FROM submit_keys WHERE execution = $1", 1, 0, T_I64);
STMT(fails, "SELECT 1 / $1", 1, 0, T_I64);

static int64_t query_number(struct pg *t, const struct stmt *s, int64_t arg)
{
    struct args a = {.stmt = s};
    struct rows r = ROWS_INIT;
    int64_t n;

    if (s->nscalars)
        args_int(&a, arg);
    pg_begin(t);
    CHECK_OK_ERR(db_query(t->db, &a, &r, &t->err), &t->err);
    pg_commit(t);
    n = rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return n;
}

/* Sends keys of one execution, with different bodies or all with the same. */
static void send_keys(struct pg *t, int64_t execution, int rows, bool same_body)
{
    static char texts[ROWS][40]; /* borrowed until the statement is flushed */
    struct args a = ARGS_INIT;
    int i;

    args_begin(&a, Q_KEY_INSERT);
    for (i = 0; i < rows; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%lld-%d", (long long)execution, i);
        args_text(&a, texts[i]);
        args_int(&a, execution);
        args_text(&a, same_body ? "body" : texts[i]);
    }
    CHECK_OK_ERR(db_send(t->db, &a, NULL, rows, &t->err), &t->err);
    args_release(&a);
}

static void insert_keys(struct pg *t, int64_t execution, int rows, bool same_body)
{
    pg_begin(t);
    send_keys(t, execution, rows, same_body);
    pg_commit(t);
    CHECK_EQ(query_number(t, &stored, execution), rows);
}

static struct pg open_with_key_table(void)
{
    struct pg t = pg_ready();

    pg_script_in_tx(&t, "CREATE TABLE submit_keys (key text PRIMARY KEY, execution bigint NOT NULL,"
                        " body bytea NOT NULL)");
    return t;
}

TEST(statement_text_is_prepared_once_for_each_set_of_columns_that_are_equal_in_all_rows)
{
    struct pg t = open_with_key_table();

    insert_keys(&t, 1, ROWS, false);
    insert_keys(&t, 2, ROWS, false);
    CHECK_EQ(query_number(&t, &texts_of_keys, 0), 1);
    insert_keys(&t, 3, ROWS, true);
    insert_keys(&t, 4, ROWS, true);
    CHECK_EQ(query_number(&t, &texts_of_keys, 0), 2);
    insert_keys(&t, 5, 2, true); /* few rows: the generic text */
    insert_keys(&t, 6, 3, false);
    CHECK_EQ(query_number(&t, &texts_of_keys, 0), 3);
    pg_done(&t);
}

/* The server skips what follows an error in the pipeline, so it has not prepared the text. */
TEST(statement_text_that_the_server_skipped_after_an_error_is_prepared_again)
{
    struct pg t = open_with_key_table();
    struct args a = {.stmt = &fails};

    args_int(&a, 0);
    pg_begin(&t);
    CHECK_OK_ERR(db_send(t.db, &a, NULL, ANY_ROWS, &t.err), &t.err);
    send_keys(&t, 1, ROWS, false);
    CHECK(db_commit(t.db, &t.err) != 0);
    db_rollback(t.db);
    insert_keys(&t, 2, ROWS, false);
    CHECK_EQ(query_number(&t, &stored, 1), 0);
    args_release(&a);
    pg_done(&t);
}

TEST(new_connection_prepares_its_statement_texts_again)
{
    struct pg t = open_with_key_table();

    insert_keys(&t, 1, ROWS, false);
    pg_admin(t.url->text, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    while (db_begin(t.db, TX_WRITE, &t.err))
        db_rollback(t.db);
    db_rollback(t.db);
    insert_keys(&t, 2, ROWS, false);
    pg_done(&t);
}
