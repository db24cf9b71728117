/* test_sql_submission_engine.c - engines take what was submitted by SQL by themselves: woken by the
 * commit, or by their poll; and nothing that is submitted can stop them. */
#include "heartbeat_fixture.h"
#include "sql_submission_fixture.h"

TEST_POLL_TOO;

#define FUNCTION \
    "name: w\nparams: {day: {type: string, default: monday}}\ntasks: {a: {function: f}}\n"

static atomic_int calls;
static const struct kit_function list[] = {{"f", kit_noop, &calls}, {NULL, NULL, NULL}};

static int64_t ended_runs(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL AND status = 4");
}

static void close_all(struct worker_kit *k, struct store *s)
{
    engine_close(&k->engine);
    verify_clean(s);
    store_close(&s);
}

TEST(an_engine_takes_and_runs_what_waits_when_it_comes)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    int64_t id;

    apply(s, FUNCTION);
    id = sql_submit(s, (struct sql_call){0});
    kit_open(&k);
    KIT_UNTIL(&k, ended_runs(s));
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_EQ(calls, 1);
    close_all(&k, s);
}

/* On SQLite nobody says anything: there it is the next look. */
TEST(an_engine_is_woken_by_the_commit)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    bool lite = !strcmp(test_db(), "sqlite");

    apply(s, FUNCTION);
    if (lite)
        kit_open(&k);
    else
        kit_open_asleep(&k);
    while (engine_timeout(k.engine) < SECOND)
        kit_step(&k);
    sql_submit(s, (struct sql_call){0});
    if (lite)
        clock_advance(LEASE / 3);
    KIT_UNTIL(&k, ended_runs(s));
    close_all(&k, s);
}

/* What was committed before it came may call it late, from a server that was just started. */
static void until_at_rest(struct worker_kit *k)
{
    struct err err = ERR_INIT;
    int64_t since;

    do {
        while (engine_timeout(k->engine) < SECOND)
            kit_step(k);
        since = clock_boot_us();
        CHECK_OK_ERR(engine_step(k->engine, 200000, &err), &err);
    } while (clock_boot_us() - since < 200000);
}

TEST(without_a_notify_it_is_found_by_the_poll)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    apply(s, FUNCTION);
    kit_open(&k);
    until_at_rest(&k);
    sql_submit(s, (struct sql_call){.silent = true});
    CHECK_OK_ERR(engine_step(k.engine, 200000, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    clock_advance(LEASE / 3); /* the next heartbeat */
    KIT_UNTIL(&k, ended_runs(s));
    close_all(&k, s);
}

TEST(a_worker_that_drains_takes_them_first)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    bool open = false;

    apply(s, FUNCTION);
    kit_open(&k);
    while (engine_timeout(k.engine) < SECOND)
        kit_step(&k);
    sql_submit(s, (struct sql_call){.silent = true});
    CHECK_OK_ERR(engine_has_open_work(k.engine, &open, &err), &err);
    CHECK(open);
    CHECK(!engine_is_drained(k.engine));
    KIT_UNTIL(&k, ended_runs(s));
    close_all(&k, s);
}

static void keep_note(void *arg, const char *sentence)
{
    struct buf *said = arg;

    buf_addf(said, "%s\n", sentence);
}

/* Ids that are there already: their rows can't be inserted, which fails the whole turn. */
TEST(those_that_fail_the_turn_are_found_and_refused_and_the_others_taken)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    struct buf said = BUF_INIT;
    int64_t taken = submit(s, "exec::other"), bad;
    char sql[200];
    int i;

    apply(s, FUNCTION);
    for (i = 0; i < 10; i++)
        sql_submit(s, (struct sql_call){.silent = true});
    bad = sql_number(s, "SELECT min(id) + 6 FROM submissions");
    snprintf(sql, sizeof(sql), "UPDATE submissions SET id = %lld WHERE id = %lld", (long long)taken,
             (long long)bad);
    sql_run(s, sql);
    fixture_env()->note = keep_note;
    fixture_env()->arg = &said;
    kit_open(&k);
    KIT_UNTIL(&k, ended_runs(s) == 9);
    CHECK_STR(submission_word(s, taken), "refused");
    CHECK(*submission_of(s, taken).error);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE execution IS NULL"), 1);
    CHECK(strstr(buf_cstr(&said), "refused"));
    sql_run(s, "DELETE FROM submissions WHERE error IS NOT NULL"); /* its id is another's */
    fixture_env()->note = NULL;
    close_all(&k, s);
    buf_release(&said);
}

static void count_takes(void *arg, const char *where)
{
    *(int *)arg += !strcmp(where, "submissions_waiting");
}

TEST(one_that_failed_in_a_bad_moment_is_tried_once_more)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    int64_t taken = submit(s, "exec::other"), id;
    int takes = 0;
    char sql[200];

    apply(s, FUNCTION);
    id = sql_submit(s, (struct sql_call){.silent = true});
    snprintf(sql, sizeof(sql), "UPDATE submissions SET id = %lld", (long long)taken);
    sql_run(s, sql);
    fixture_env()->point = count_takes;
    fixture_env()->arg = &takes;
    kit_open(&k);
    KIT_UNTIL(&k, takes);
    CHECK_EQ(takes, 1);
    CHECK_STR(submission_word(s, taken), "waiting");
    snprintf(sql, sizeof(sql), "UPDATE submissions SET id = %lld", (long long)id);
    sql_run(s, sql); /* what was in its way is gone */
    KIT_UNTIL(&k, ended_runs(s));
    CHECK_STR(submission_word(s, id), "taken");
    fixture_env()->point = NULL;
    close_all(&k, s);
}
