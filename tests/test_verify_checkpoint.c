/* test_verify_checkpoint.c - verify with a checkpoint reports everything that was rewritten since,
 * and nothing else; files that are not checkpoints are refused. */
#include "base/buf.h"
#include "verify_fixture.h"

static const char *file_path(void)
{
    static char path[300];

    snprintf(path, sizeof(path), "%s/checkpoint", test_dir());
    return path;
}

static void collect(void *arg, const struct violation *b)
{
    struct buf *codes = arg;

    if (!strstr(buf_cstr(codes), b->invariant))
        buf_addf(codes, "%s%s", codes->len ? " " : "", b->invariant);
}

static int verify_with(struct store *s, const char *save, const char *since, struct buf *codes,
                       struct err *err)
{
    struct verify_options o = {
        .lease = LEASE, .save = save, .since = since, .report = collect, .arg = codes};
    struct verify_result r;
    int rc;

    rc = store_verify(s, &o, &r, err);
    CHECK(rc || r.checks == invariant_count - (since ? 0 : 4));
    return rc;
}

static void save(struct store *s)
{
    struct err err = ERR_INIT;
    struct buf codes = BUF_INIT;

    CHECK_OK_ERR(verify_with(s, file_path(), NULL, &codes, &err), &err);
    CHECK_STR(buf_cstr(&codes), "");
}

static void check_since(struct store *s, const char *expected, const char *what)
{
    struct err err = ERR_INIT;
    struct buf codes = BUF_INIT;

    CHECK_OK_ERR(verify_with(s, NULL, file_path(), &codes, &err), &err);
    if (strcmp(buf_cstr(&codes), expected))
        test_fail(__FILE__, __LINE__, "%s\n    expected: %s\n    found:    %s", what, expected,
                  buf_cstr(&codes));
    buf_release(&codes);
}

static const struct damage rewritten[] = {
    BREAK("S01", NULL, "UPDATE executions SET result = '{\"n\":2}'" ROW("done")),
    BREAK("S01", NULL, "UPDATE executions SET error = 'another'" ROW("failed")),
    BREAK("S01", NULL,
          "UPDATE executions SET finished_at = updated_at, max_attempts = 9" ROW("done")),
    BREAK("S01", "I06", "UPDATE executions SET status = 6" ROW("failed")),
    BREAK("S01", "I05 I07", ADD_EVENT("failed", 3, 5, 5)),
    BREAK("S02", "I15", "UPDATE executions SET attempts = 0" ROW("running")),
    BREAK("S02", "I23", "UPDATE executions SET epoch = 0" ROW("running")),
    BREAK("S02", "I01 I06", "UPDATE executions SET seq = seq - 1" ROW("ready")),
    BREAK("S03", NULL,
          "UPDATE execution_events SET data = '{\"ago_us\":6}'" OF("done") " AND type = 6"),
    BREAK("S03", NULL, "UPDATE execution_events SET worker = 1" OF("running") " AND type = 5"),
    BREAK("S03", "I01 I02", "DELETE FROM execution_events" OF("running") " AND seq = 2"),
    BREAK("S03", "S02",
          "DELETE FROM execution_events" LAST(
              "delayed") ";"
                         "UPDATE executions SET seq = 2, held = 2, flags = 128" ROW(
                             "delayed") "; DELETE FROM timers" OF("delayed")),
    BREAK("S04", NULL,
          "DELETE FROM execution_events" OF("item") "; DELETE FROM executions" ROW("item")),
    BREAK(NULL, NULL,
          "DELETE FROM execution_events" OF("done") "; DELETE FROM executions" ROW("done")),
    BREAK(
        NULL, NULL,
        "DELETE FROM execution_events WHERE root = (SELECT root FROM executions WHERE name = 'flow done');"
        "DELETE FROM executions" ROW("flow done")),
};

TEST_SLOW(verify_with_a_checkpoint_reports_rewritten_rows, 600)
{
    struct store *s = good_database();
    char expected[512];
    size_t i;

    save(s);
    check_since(s, "", "nothing changed");
    for (i = 0; i < sizeof(rewritten) / sizeof(*rewritten); i++) {
        begin_damage(s, rewritten[i].sql, NULL, NULL);
        expected_codes(&rewritten[i], expected, sizeof(expected));
        check_since(s, expected, rewritten[i].sql);
        db_rollback(store_db(s));
    }
    store_close(&s);
}

TEST(legal_changes_after_a_checkpoint_are_not_violations)
{
    struct store *s = good_database();
    struct held_job j;

    save(s);
    while (claim_one(s, WORKER + 1, &j))
        CHECK_EQ(settle_ok(s, j), 0);
    submit_child(s, sql_number(s, "SELECT id FROM executions WHERE name = 'flow'"), "late");
    submit(s, "later");
    check_since(s, "", "work continued");
    save(s);
    check_since(s, "", "a second checkpoint");
    store_close(&s);
}

TEST(checkpoint_of_several_pages_detects_a_change_on_each_page)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 1100; i++)
        submit(s, "one of many");
    save(s);
    check_since(s, "", "nothing changed");
    begin_damage(s, "UPDATE execution_events SET data = '{}' WHERE execution > 1000", NULL, NULL);
    check_since(s, "S03", "events on the second page");
    db_rollback(store_db(s));
    begin_damage(s,
                 "DELETE FROM executions; DELETE FROM execution_events; DELETE FROM task_outbox; "
                 "DELETE FROM queue_counters",
                 NULL, NULL);
    check_since(s, "", "all trees were removed completely");
    db_rollback(store_db(s));
    store_close(&s);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file_path(), "we");

    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void check_refused(struct store *s, enum error_code code, const char *expected)
{
    struct err err = ERR_INIT;
    struct buf codes = BUF_INIT;

    CHECK_EQ(verify_with(s, NULL, file_path(), &codes, &err), -(int)code);
    buf_release(&codes);
    if (!strstr(err.msg, expected))
        test_fail(__FILE__, __LINE__, "'%s' is not in: %s", expected, err.msg);
}

TEST(file_that_is_not_a_checkpoint_is_refused_with_a_clear_error)
{
    struct store *s = fixture_store();
    struct buf codes = BUF_INIT;
    struct err err = ERR_INIT;

    submit(s, "a");
    check_refused(s, E_NOT_FOUND, "can't be read");
    write_file("");
    check_refused(s, E_INVALID, "is not a checkpoint");
    write_file("%PDF-1.4\n");
    check_refused(s, E_INVALID, "is not a checkpoint");
    write_file("pawl-checkpoint 9 x 1 2\n");
    check_refused(s, E_INVALID, "version 9");
    write_file("pawl-checkpoint 1 another 1 2\nend 0\n");
    check_refused(s, E_INVALID, "another database");
    CHECK_EQ(verify_with(s, "/nowhere/at/all", NULL, &codes, &err), -E_INVALID);
    CHECK(strstr(err.msg, "can't be written"));
    buf_release(&codes);
    store_close(&s);
}

TEST(incomplete_or_damaged_checkpoint_is_refused)
{
    struct store *s = good_database();
    char text[100000], *last;
    size_t n;
    FILE *f;

    save(s);
    f = fopen(file_path(), "re");
    CHECK(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n - 3] = '\0'; /* cut in the middle of the last line */
    write_file(text);
    check_refused(s, E_INVALID, "is incomplete");
    last = strrchr(text, '\n') + 1;
    memcpy(last, "end 1\n", 7);
    write_file(text);
    check_refused(s, E_INVALID, "damaged");
    memcpy(last, "1 2 x 4 5\n", 11);
    write_file(text);
    check_refused(s, E_INVALID, "damaged");
    store_close(&s);
}
