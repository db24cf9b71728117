/* test_engine_failed_turns.c - turns that can't be written: bisection finds the row that fails, and
 * only that row is affected. Each test ends with verify. */
#include "engine_refusal_fixture.h"
#include "heartbeat_fixture.h"

#include <sys/wait.h>

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static int noop(struct function_call *c, void *arg)
{
    (void)arg;
    return c->ops->set_output(c, "n", "1");
}

static int logs_a_line(struct function_call *c, void *arg)
{
    (void)arg;
    c->ops->log(c, "well");
    return 0;
}

static const struct kit_function functions[] = {
    {"noop", noop, NULL}, {"talks", logs_a_line, NULL}, {NULL, NULL, NULL}};

#define SUCCESS "NEW.status = 4"

static void refuse_success(struct store *s)
{
    refuse_write(s, "UPDATE ON executions", SUCCESS);
}

static void allow_success(struct store *s)
{
    allow_write(s, "executions");
}

/* Runs a job until the engine knows its outcome but has not settled it. */
static int64_t run_unsettled(struct store *s, struct worker_kit *k)
{
    int64_t id = kit_submit(s, "noop", NULL);

    KIT_UNTIL(k, dispatch_in_flight(engine_dispatch(k->engine)));
    while (dispatch_in_flight(engine_dispatch(k->engine)))
        dispatch_poll(engine_dispatch(k->engine));
    return id;
}

static void check_failed(struct store *s, int64_t id)
{
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK(strstr(get(s, id).error, "the outcome can't be stored: "));
    CHECK(strstr(get(s, id).error, "not today"));
}

TEST(outcome_that_cannot_be_stored_becomes_a_failure_with_the_reason)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id, next;

    kit_open(&k);
    id = run_unsettled(s, &k);
    refuse_success(s);
    kit_until_ended(&k, 1);
    check_failed(s, id);
    allow_success(s);
    next = kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 2);
    CHECK_EQ(status_of(s, next), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static void keep_id(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    *(int64_t *)arg = s->id;
}

TEST(submission_in_the_same_turn_as_an_unstorable_outcome_is_not_refused)
{
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::innocent", .lane = "process", .task_index = -1};
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id, other = 0;

    kit_open(&k);
    id = run_unsettled(s, &k);
    refuse_success(s);
    engine_submit(k.engine, &sub, keep_id, &other);
    kit_until_ended(&k, 1);
    KIT_UNTIL(&k, other);
    check_failed(s, id);
    CHECK_EQ(status_of(s, other), S_READY);
    allow_success(s);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* Another transaction locks all trees for the duration of the nth turn. */
static struct {
    struct db *db;
    int nth, turns;
} lock;

static void lock_for_one_turn(void *arg, const char *where)
{
    struct err err = ERR_INIT;

    (void)arg;
    if (strcmp(where, "engine:turn"))
        return;
    if (++lock.turns == lock.nth) {
        CHECK_OK_ERR(db_begin(lock.db, TX_WRITE, &err), &err);
        CHECK_OK_ERR(lock.db->driver->script(lock.db, "SELECT 1 FROM executions FOR UPDATE", &err),
                     &err);
    } else if (lock.db->in_tx) {
        db_rollback(lock.db);
    }
}

/* The database refuses a write of a job that has ended, another job is submitted, and the tree is
 * locked during one of the turns of the bisection: during each of them once. */
static void check_with_locked_tree(const char *what, const char *when, const char *table,
                                   void (*check)(struct store *s, int64_t id))
{
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::innocent", .lane = "process", .task_index = -1};
    struct store *s, *other;

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only: SQLite has no row locks");
    fixture_env()->long_timeouts = false; /* a turn that waits for the lock has to give up */
    s = fixture_store();
    other = fixture_store();
    lock.db = store_db(other);
    for (lock.nth = 1; lock.nth <= 13; lock.nth++) {
        struct worker_kit k = {.list = functions};
        int64_t id, innocent = 0;

        kit_open(&k);
        id = run_unsettled(s, &k);
        refuse_write(s, what, when);
        engine_submit(k.engine, &sub, keep_id, &innocent);
        lock.turns = 0;
        fixture_env()->point = lock_for_one_turn;
        kit_until_ended(&k, 1);
        KIT_UNTIL(&k, innocent);
        fixture_env()->point = NULL;
        db_rollback(lock.db);
        check(s, id);
        CHECK_EQ(status_of(s, innocent), S_READY);
        allow_write(s, table);
        sql_run(s, "DROP FUNCTION refuse()");
        engine_close(&k.engine);
    }
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

TEST(submission_in_the_same_turn_as_an_unstorable_outcome_in_a_locked_tree_is_not_refused)
{
    check_with_locked_tree("UPDATE ON executions", SUCCESS, "executions", check_failed);
}

static void check_succeeded(struct store *s, int64_t id)
{
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
}

TEST(start_that_cannot_be_stored_in_a_locked_tree_fails_no_job)
{
    check_with_locked_tree("INSERT ON execution_events", "NEW.type = 6", "execution_events",
                           check_succeeded);
}

/* For some of ten jobs the database refuses the start or the output: only that is missing. */
static void check_refused_reports(const char *function, const char *table, const char *and,
                                  const char *what)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    char condition[100];
    int64_t ids[10];

    for (int i = 0; i < 10; i++)
        ids[i] = kit_submit(s, function, NULL);
    snprintf(condition, sizeof(condition), "NEW.execution IN (%lld, %lld)%s", (long long)ids[4],
             (long long)ids[7], and);
    refuse_write(s, table, condition);
    fixture_env()->note = keep_message;
    kit_open(&k);
    kit_until_ended(&k, 10);
    fixture_env()->note = NULL;
    CHECK(strstr(message, what));
    CHECK(strstr(message, "not today"));
    for (int i = 0; i < 10; i++)
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(output_that_cannot_be_stored_is_dropped_and_every_outcome_is_stored)
{
    check_refused_reports("talks", "INSERT ON attempt_logs", "", "output of execution");
}

TEST(start_that_cannot_be_stored_is_dropped_and_every_outcome_is_stored)
{
    check_refused_reports("noop", "INSERT ON execution_events", " AND NEW.type = 6",
                          "the start of execution");
}

/* The freed permit would go to a job that can't be written. */
TEST(outcome_is_stored_even_if_the_job_that_gets_its_permit_cannot_be_written)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id, next, bad;

    set_limit(s, "queue:default", 1);
    kit_open_with(&k, (struct engine_options){.lease = 300 * SECOND});
    id = run_unsettled(s, &k);
    bad = submit_with(s, (struct submission){.name = "exec::bad", .lane = "function:noop"});
    refuse_write(s, "UPDATE ON executions", "NEW.name = 'exec::bad' AND NEW.held = 0");
    fixture_env()->note = keep_message;
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    KIT_UNTIL(&k, strstr(message, "a timer of execution"));
    fixture_env()->note = NULL;
    CHECK(strstr(message, "(handover)"));
    verify_clean(s);
    allow_write(s, "executions");
    clock_advance(61 * SECOND);
    next = kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 3);
    CHECK_EQ(status_of(s, bad), S_SUCCEEDED);
    CHECK_EQ(status_of(s, next), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- maintenance ---- */

static int64_t submit_delayed(struct store *s, const char *name)
{
    return submit_with(
        s, (struct submission){.name = name, .lane = "function:noop", .delay = 10 * SECOND});
}

/* The timer of job number `bad` of `n` can't be fired. */
static void check_timers(int bad, int n)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t ids[20], faulty = 0;
    char number[40];

    kit_open_with(&k, (struct engine_options){.lease = 300 * SECOND});
    for (int i = 0; i < n; i++) {
        ids[i] = submit_delayed(s, i == bad ? "exec::bad" : "exec::good");
        faulty = i == bad ? ids[i] : faulty;
    }
    refuse_write(s, "UPDATE ON executions", "NEW.name = 'exec::bad' AND NEW.held = 0");
    fixture_env()->note = keep_message;
    clock_advance(11 * SECOND);
    KIT_UNTIL(&k, k.ended == n - 1 && *message);
    fixture_env()->note = NULL;
    snprintf(number, sizeof(number), "a timer of execution %lld (delay)", (long long)faulty);
    CHECK(strstr(message, number));
    CHECK(strstr(message, "not today"));
    for (int i = 0; i < n; i++)
        CHECK_EQ(status_of(s, ids[i]), i == bad ? S_READY : S_SUCCEEDED);
    KIT_UNTIL(&k, engine_timeout(k.engine) > SECOND); /* the engine does not retry in a busy loop */
    verify_clean(s);
    allow_write(s, "executions");
    clock_advance(61 * SECOND);
    kit_until_ended(&k, n);
    CHECK_EQ(status_of(s, faulty), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(timer_that_cannot_be_fired_does_not_delay_other_timers)
{
    check_timers(3, 9);
}

TEST(single_timer_that_cannot_be_fired_does_not_end_the_worker)
{
    check_timers(0, 1);
}

/* If every timer fails, the database is at fault. */
TEST(worker_ends_if_every_timer_fails)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};

    kit_open_with(&k, (struct engine_options){.lease = 300 * SECOND});
    for (int i = 0; i < 30; i++)
        submit_delayed(s, "exec::good");
    refuse_write(s, "UPDATE ON executions", "NEW.held = 0");
    clock_advance(11 * SECOND);
    check_ends_refused(&k, s);
}

/* Both jobs are leased to workers that are gone. */
TEST(reaper_clears_other_leases_if_one_lease_cannot_be_cleared)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t bad = submit(s, "exec::bad"), good = submit(s, "exec::good");
    char when[100];

    claim_job(s, 77);
    claim_job(s, 78);
    kit_open(&k);
    snprintf(when, sizeof(when), "NEW.execution = %lld AND NEW.worker IS NULL", (long long)bad);
    refuse_write(s, "UPDATE ON leases", when);
    fixture_env()->note = keep_message;
    while (!strstr(history(s, good), "lease_expired") || !*message) {
        kit_pass(&k, LEASE / 4);
    }
    fixture_env()->note = NULL;
    CHECK(strstr(message, "can't be cleared"));
    CHECK(strstr(message, "not today"));
    CHECK(!strstr(history(s, bad), "lease_expired"));
    allow_write(s, "leases");
    while (!strstr(history(s, bad), "lease_expired")) {
        kit_pass(&k, LEASE / 4);
    }
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* Returns the pid of a worker that has ended and left its file and its row. */
static pid_t run_worker_that_dies(void)
{
    struct worker_kit k = {.list = functions};
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (!pid) {
        kit_open(&k);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    return pid;
}

TEST(dead_worker_row_that_cannot_be_removed_does_not_end_other_workers)
{
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    char when[60];

    store_close(&s);
    snprintf(when, sizeof(when), "OLD.pid = %d", (int)run_worker_that_dies());
    s = fixture_store();
    refuse_write(s, "DELETE ON workers", when);
    fixture_env()->note = keep_message;
    kit_open(&k);
    KIT_UNTIL(&k, *message);
    fixture_env()->note = NULL;
    CHECK(strstr(message, "not today"));
    kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers"), 2);
    allow_write(s, "workers");
    clock_advance(LEASE / 3);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM workers") == 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

#define DAY (86400 * SECOND)

TEST(tree_that_cannot_be_removed_does_not_stop_retention_of_other_trees)
{
    struct engine_options o = {.retention = &(struct retention_policy){90, 0},
                               .host_grace = 400 * DAY};
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    char when[40], name[40];
    int64_t ids[5];

    for (int i = 0; i < 5; i++)
        ids[i] = kit_submit(s, "noop", NULL);
    kit_open_with(&k, o);
    kit_until_ended(&k, 5);
    snprintf(when, sizeof(when), "OLD.id = %lld", (long long)ids[2]);
    refuse_write(s, "DELETE ON executions", when);
    fixture_env()->note = keep_message;
    clock_advance(91 * DAY);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM executions") == 1);
    fixture_env()->note = NULL;
    snprintf(name, sizeof(name), "the expired execution %lld ", (long long)ids[2]);
    CHECK(strstr(message, name));
    CHECK(strstr(message, "not today"));
    CHECK_EQ(status_of(s, ids[2]), S_SUCCEEDED);
    verify_clean(s);
    allow_write(s, "executions");
    clock_advance(DAY + 1);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM executions") == 0);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(worker_that_cannot_remove_old_trees_continues_and_retries_the_next_day)
{
    struct engine_options o = {.retention = &(struct retention_policy){90, 0},
                               .host_grace = 400 * DAY};
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();

    kit_submit(s, "noop", NULL);
    kit_open_with(&k, o);
    kit_until_ended(&k, 1);
    refuse_write(s, "DELETE ON executions", "OLD.id > 0");
    fixture_env()->note = keep_message;
    clock_advance(91 * DAY);
    KIT_UNTIL(&k, strstr(message, "attempted again tomorrow"));
    fixture_env()->note = NULL;
    kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 2);
    allow_write(s, "executions");
    clock_advance(DAY + 1);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM executions") == 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
