/* test_sql_submission_engine.c - engines take submissions on their own, woken by the commit or
 * by their poll, and no submission can stop them. */
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

TEST(starting_engine_takes_and_runs_waiting_submissions)
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

/* SQLite sends no notification: there the next heartbeat finds the submission. */
TEST(commit_of_a_submission_wakes_an_engine)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    bool is_sqlite = !strcmp(test_db(), "sqlite");

    apply(s, FUNCTION);
    if (is_sqlite)
        kit_open(&k);
    else
        kit_open_asleep(&k);
    while (engine_timeout(k.engine) < SECOND)
        kit_step(&k);
    sql_submit(s, (struct sql_call){0});
    if (is_sqlite)
        clock_advance(LEASE / 3);
    KIT_UNTIL(&k, ended_runs(s));
    close_all(&k, s);
}

/* A notification of an earlier commit may arrive late if the server was just started. */
static void step_until_idle(struct worker_kit *k)
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

TEST(submission_without_a_notification_is_found_by_the_poll)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    apply(s, FUNCTION);
    kit_open(&k);
    step_until_idle(&k);
    sql_submit(s, (struct sql_call){.silent = true});
    CHECK_OK_ERR(engine_step(k.engine, 200000, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    clock_advance(LEASE / 3); /* the next heartbeat */
    KIT_UNTIL(&k, ended_runs(s));
    close_all(&k, s);
}

TEST(draining_worker_takes_waiting_submissions_before_it_ends)
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
    struct buf *notes = arg;

    buf_addf(notes, "%s\n", sentence);
}

/* The id of the submission exists already: its row can't be inserted, which fails the whole
 * turn. */
TEST(submission_that_fails_the_turn_is_refused_and_the_other_submissions_are_taken)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    struct buf notes = BUF_INIT;
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
    fixture_env()->arg = &notes;
    kit_open(&k);
    KIT_UNTIL(&k, ended_runs(s) == 9);
    CHECK_STR(submission_word(s, taken), "refused");
    CHECK(*submission_of(s, taken).error);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE execution IS NULL"), 1);
    CHECK(strstr(buf_cstr(&notes), "refused"));
    sql_run(s, "DELETE FROM submissions WHERE error IS NOT NULL"); /* its id belongs to another
                                                                      execution */
    fixture_env()->note = NULL;
    close_all(&k, s);
    buf_release(&notes);
}

static void count_takes(void *arg, const char *where)
{
    *(int *)arg += !strcmp(where, "submissions_waiting");
}

TEST(submission_whose_turn_failed_once_is_tried_again)
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
    sql_run(s, sql); /* the obstacle is gone */
    KIT_UNTIL(&k, ended_runs(s));
    CHECK_STR(submission_word(s, id), "taken");
    fixture_env()->point = NULL;
    close_all(&k, s);
}

/* The turn that ends a run wakes its own engine: the follower starts without a poll. */
TEST(engine_runs_the_follower_of_a_run_that_it_has_ended_at_once)
{
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();

    apply(s, FUNCTION);
    apply(s, "name: second\non: {workflow: w}\ntasks: {a: {function: f}}\n");
    apply(s, "name: third\non: {workflow: second}\ntasks: {a: {function: f}}\n");
    submit_workflow(s, FUNCTION, NULL);
    kit_open(&k);
    KIT_UNTIL(&k, ended_runs(s) == 3);
    CHECK_EQ(calls, 3);
    close_all(&k, s);
}
