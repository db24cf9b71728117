/* test_pg_batch.c - many rows that have columns in common are sent with a text of their own, and
 * nobody above the driver can tell. */
#include "pg_fixture.h"

TEST_ONLY_DB(postgres);

enum { ROWS = 200, COLUMNS = 5 };

STMT(echo_rows,
     "SELECT $1 + 1, u.* FROM (SELECT unnest($2) AS a, unnest($3) AS b, unnest($4) AS c,"
     " unnest($5) AS d, unnest($6) AS e) AS u",
     1, COLUMNS, T_I64, T_I64, T_I32, T_TEXT, T_TIME, T_I16);

/* What a column holds: always the same, always nothing, or something else in each row. */
enum content { SAME, NOTHING, DIFFERENT, CONTENTS };

static void add(struct args *a, int column, enum content content, int row)
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

/* Also where all are the same, so that no column tells how many rows there are, and where there
 * are more kinds of turns than texts are kept for. */
TEST(rows_come_back_as_they_went_whatever_they_have_in_common)
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
                add(&a, column, (enum content)(content % CONTENTS), row);
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

static int64_t number(struct pg *t, const struct stmt *s, int64_t arg)
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

/* Keys of one execution; with different bodies, or with the same. */
static void send_keys(struct pg *t, int64_t execution, int rows, bool same_body)
{
    static char texts[ROWS][40]; /* borrowed until the statement was flushed */
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
    CHECK_EQ(number(t, &stored, execution), rows);
}

static struct pg ready_for_keys(void)
{
    struct pg t = pg_ready();

    pg_script_in_tx(&t, "CREATE TABLE submit_keys (key text PRIMARY KEY, execution bigint NOT NULL,"
                        " body bytea NOT NULL)");
    return t;
}

TEST(a_text_is_prepared_once_for_each_kind_of_rows)
{
    struct pg t = ready_for_keys();

    insert_keys(&t, 1, ROWS, false);
    insert_keys(&t, 2, ROWS, false);
    CHECK_EQ(number(&t, &texts_of_keys, 0), 1);
    insert_keys(&t, 3, ROWS, true);
    insert_keys(&t, 4, ROWS, true);
    CHECK_EQ(number(&t, &texts_of_keys, 0), 2);
    insert_keys(&t, 5, 2, true); /* few: as the statement is */
    insert_keys(&t, 6, 3, false);
    CHECK_EQ(number(&t, &texts_of_keys, 0), 3);
    pg_done(&t);
}

/* What follows an error in the pipeline is skipped by the server: it does not know the text. */
TEST(a_text_that_was_skipped_is_prepared_again)
{
    struct pg t = ready_for_keys();
    struct args a = {.stmt = &fails};

    args_int(&a, 0);
    pg_begin(&t);
    CHECK_OK_ERR(db_send(t.db, &a, NULL, ANY_ROWS, &t.err), &t.err);
    send_keys(&t, 1, ROWS, false);
    CHECK(db_commit(t.db, &t.err) != 0);
    db_rollback(t.db);
    insert_keys(&t, 2, ROWS, false);
    CHECK_EQ(number(&t, &stored, 1), 0);
    args_release(&a);
    pg_done(&t);
}

TEST(a_new_connection_is_told_the_texts_again)
{
    struct pg t = ready_for_keys();

    insert_keys(&t, 1, ROWS, false);
    pg_admin(t.url->text, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    while (db_begin(t.db, TX_WRITE, &t.err))
        db_rollback(t.db);
    db_rollback(t.db);
    insert_keys(&t, 2, ROWS, false);
    pg_done(&t);
}
