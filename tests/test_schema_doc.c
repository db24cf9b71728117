/* test_schema_doc.c - compares docs/SCHEMA.md, which lists all tables and views with their columns,
 * with the database, and the words that the views show with core/vocab.h. */
#include "workflow_fixture.h"

#include "base/buf.h"
#include "core/vocab.h"
#include "store/driver/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FRESH_TENANTS;

#define PAGE "docs/SCHEMA.md"

static bool is_sqlite(void)
{
    return !strcmp(test_db(), "sqlite");
}

/* ---- the page ---- */

/* Appends the words in `backquotes` on the line, each after a space; only the first one if `first`
 * is set. */
static void add_quoted(struct buf *out, const char *line, bool first)
{
    const char *end;

    while ((line = strchr(line, '`')) && (end = strchr(line + 1, '`'))) {
        buf_addf(out, " %.*s", (int)(end - line - 1), line + 1);
        line = end + 1;
        if (first)
            break;
    }
}

/* One line "name: column column …" per heading; the caller sorts them. */
static size_t read_page(char *lines[], size_t max)
{
    FILE *f = fopen(PAGE, "r");
    struct buf one = BUF_INIT;
    char line[1000];
    size_t n = 0;
    bool listing = false, skip = false;

    if (!f)
        test_fail(__FILE__, __LINE__, "%s can't be read", PAGE);
    while (fgets(line, sizeof(line), f)) {
        if (!strncmp(line, "## ", 3) || !strncmp(line, "### `", 5)) {
            if (one.len && !skip)
                lines[n++] = mem_strdup(buf_cstr(&one));
            CHECK(n < max);
            buf_reset(&one);
            skip = listing = false;
            if (line[2] == '#')
                buf_addf(&one, "%.*s:", (int)strcspn(line + 5, "`"), line + 5);
        } else if (!one.len) {
            continue;
        } else if (!strncmp(line, "SQLite only", 11)) {
            skip = !is_sqlite();
        } else if (!strncmp(line, "| `", 3)) {
            add_quoted(&one, line, true);
        } else if (listing || !strncmp(line, "Columns:", 8)) {
            listing = line[0] != '\n';
            add_quoted(&one, line, false);
        }
    }
    if (one.len && !skip)
        lines[n++] = mem_strdup(buf_cstr(&one));
    fclose(f);
    buf_release(&one);
    return n;
}

/* ---- the database ---- */

/* Drivers identify a statement by its address. */
static const struct stmt *statement(const char *sql)
{
    static struct stmt all[300];
    static size_t n;
    struct stmt *one = &all[n++];

    CHECK(n < 300);
    one->name = "test";
    one->sql[DIALECT_SQLITE] = one->sql[DIALECT_POSTGRES] = sql;
    return one;
}

static void run_query(struct store *s, const char *sql, struct rows *out)
{
    struct args a = {.stmt = statement(sql)};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(db_begin(store_db(s), TX_READ, &err), &err);
    CHECK_OK_ERR(db_query(store_db(s), &a, out, &err), &err);
    db_rollback(store_db(s));
    args_release(&a);
}

static size_t read_database(struct store *s, char *lines[], size_t max)
{
    struct rows r = ROWS_INIT;
    struct buf one = BUF_INIT;
    size_t i, n = 0;

    run_query(s,
              is_sqlite()
                  ? "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p "
                    "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' "
                    "ORDER BY m.name, p.cid"
                  : "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a "
                    "ON a.attrelid = c.oid WHERE c.relnamespace = current_schema()::regnamespace "
                    "AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition AND a.attnum > 0 "
                    "AND NOT a.attisdropped ORDER BY c.relname, a.attnum",
              &r);
    for (i = 0; i < r.n; i++) {
        if (!i || strcmp(rows_text(&r, i, 0), rows_text(&r, i - 1, 0))) {
            buf_reset(&one);
            buf_addf(&one, "%s:", rows_text(&r, i, 0));
        }
        buf_addf(&one, " %s", rows_text(&r, i, 1));
        if (i + 1 == r.n || strcmp(rows_text(&r, i, 0), rows_text(&r, i + 1, 0))) {
            CHECK(n < max);
            lines[n++] = mem_strdup(buf_cstr(&one));
        }
    }
    rows_release(&r);
    buf_release(&one);
    return n;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

TEST(schema_page_lists_every_table_and_view_with_its_columns)
{
    struct store *s = fixture_store();
    char *page[100], *real[100];
    size_t npage = read_page(page, 100), nreal = read_database(s, real, 100), i;

    qsort(page, npage, sizeof(*page), compare_text);
    qsort(real, nreal, sizeof(*real), compare_text);
    for (i = 0; i < npage && i < nreal; i++)
        CHECK_STR(page[i], real[i]);
    CHECK_EQ(npage, nreal);
    for (i = 0; i < npage; i++) {
        free(page[i]);
        free(real[i]);
    }
    store_close(&s);
}

/* ---- words ---- */

/* Sets a code in a transaction, reads the word from the view, and rolls back. */
static const char *word(struct store *s, const char *damage, const char *sql)
{
    static char text[100];
    struct db *db = store_db(s);
    struct args a = {.stmt = statement(sql)};
    struct rows r = ROWS_INIT;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(db_begin(db, TX_WRITE, &err), &err);
    if (is_sqlite())
        CHECK_OK_ERR(db->driver->script(db, "DROP TRIGGER execution_events_no_update", &err), &err);
    else
        CHECK_OK_ERR(db->driver->script(db,
                                        "SET LOCAL ROLE NONE; ALTER TABLE execution_events DISABLE "
                                        "TRIGGER USER",
                                        &err),
                     &err);
    CHECK_OK_ERR(db->driver->script(db, damage, &err), &err);
    CHECK_OK_ERR(db_query(db, &a, &r, &err), &err);
    snprintf(text, sizeof(text), "%s", r.n && rows_text(&r, 0, 0) ? rows_text(&r, 0, 0) : "");
    db_rollback(db);
    rows_release(&r);
    args_release(&a);
    return text;
}

TEST(views_show_a_word_for_every_stored_code)
{
    struct store *s = fixture_store();
    char sql[200];
    int i;

    submit(s, "exec::x");
    sql_run(s, "UPDATE executions SET held_key = 'key:k'");
#define CHECK_WORD(update, code, select, expected)        \
    do {                                                  \
        snprintf(sql, sizeof(sql), update " = %d", code); \
        CHECK_STR(word(s, sql, select), expected);        \
    } while (0)
#define X(name, code, text) \
    CHECK_WORD("UPDATE executions SET kind", code, "SELECT kind FROM pawl_executions", text);
    KINDS(X)
#undef X
#define X(name, code, text)                                                                        \
    CHECK_WORD("UPDATE executions SET status", code, "SELECT status FROM pawl_executions", text);  \
    CHECK_WORD("UPDATE executions SET status", code, "SELECT status FROM pawl_jobs", text);        \
    CHECK_WORD("UPDATE execution_events SET from_status", code,                                    \
               "SELECT from_status FROM pawl_events", text);                                       \
    CHECK_WORD("UPDATE execution_events SET to_status", code, "SELECT to_status FROM pawl_events", \
               text);
    STATUSES(X)
#undef X
#define X(name, code, text)                                                            \
    CHECK_WORD("UPDATE executions SET held", code, "SELECT held FROM pawl_executions", \
               code == HELD_LIMIT ? text ":key:k" : text);
    HOLDS(X)
#undef X
    for (i = 1; i < EV_COUNT; i++) {
        CHECK_WORD("UPDATE execution_events SET type", i, "SELECT type FROM pawl_events",
                   event_text(i));
        CHECK_WORD("UPDATE execution_events SET type", i + WORKFLOW_EVENT,
                   "SELECT type FROM pawl_events", event_text(i + WORKFLOW_EVENT));
    }
    sql_run(s, "UPDATE executions SET held_key = NULL");
    verify_clean(s);
    store_close(&s);
}

TEST(views_show_readable_times_and_workers)
{
    struct store *s = fixture_store();
    struct held_job j;
    struct rows r = ROWS_INIT;

    submit(s, "exec::x");
    j = claim_job(s, 0x7b);
    run_query(s,
              "SELECT CAST(requested_at AS text), worker, CAST(lease_until AS text) FROM pawl_jobs",
              &r);
    CHECK_EQ(strspn(rows_text(&r, 0, 0), "0123456789-") >= 10, true);
    CHECK_STR(rows_text(&r, 0, 1), "000000000000007b");
    CHECK_EQ(strncmp(rows_text(&r, 0, 2), "20", 2), 0);
    rows_release(&r);
    run_query(s, "SELECT queue, ready, running FROM pawl_queue", &r);
    CHECK_EQ(r.n, 1);
    CHECK_STR(rows_text(&r, 0, 0), "default");
    CHECK_EQ(rows_int(&r, 0, 1), 0);
    CHECK_EQ(rows_int(&r, 0, 2), 1);
    rows_release(&r);
    run_query(s, "SELECT worker FROM pawl_events WHERE type = 'task.claimed'", &r);
    CHECK_STR(rows_text(&r, 0, 0), "000000000000007b");
    rows_release(&r);
    CHECK_EQ(settle_ok(s, j), 0);
    run_query(s, "SELECT CAST(result AS text), worker FROM pawl_executions", &r);
    CHECK_STR(rows_text(&r, 0, 0), "{\"n\":1}");
    CHECK(rows_null(&r, 0, 1));
    rows_release(&r);
    verify_clean(s);
    store_close(&s);
}

TEST(jobs_view_shows_when_a_job_is_available_and_which_worker_has_it)
{
    struct store *s = fixture_store();
    struct rows r = ROWS_INIT;
    struct held_job j;

    submit_workflow(s,
                    "name: w\ntasks:\n  a: {run: x, approval: {message: ok?, timeout: 1h}}\n"
                    "  b: {run: x, needs: a}\n",
                    NULL);
    submit(s, "exec::now");
    submit_with(s, (struct submission){.name = "exec::later", .delay = 100 * SECOND});
    run_query(s,
              "SELECT e.name FROM jobs j JOIN executions e ON e.id = j.id "
              "WHERE j.available_at IS NULL ORDER BY e.name",
              &r);
    CHECK_EQ(r.n, 2);
    CHECK_STR(rows_text(&r, 0, 0), "w::a");
    CHECK_STR(rows_text(&r, 1, 0), "w::b");
    rows_release(&r);
    run_query(s,
              "SELECT e.name FROM jobs j JOIN executions e ON e.id = j.id "
              "WHERE j.available_at > e.requested_at",
              &r);
    CHECK_EQ(r.n, 1);
    CHECK_STR(rows_text(&r, 0, 0), "exec::later");
    rows_release(&r);
    j = claim_job(s, 0x7b);
    run_query(s, "SELECT locked_by FROM jobs WHERE locked_by IS NOT NULL", &r);
    CHECK_EQ(r.n, 1);
    CHECK_STR(rows_text(&r, 0, 0), "000000000000007b");
    rows_release(&r);
    CHECK_EQ(settle_ok(s, j), 0);
    verify_clean(s);
    store_close(&s);
}
