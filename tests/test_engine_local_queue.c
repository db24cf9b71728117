/* test_engine_local_queue.c - functions that wait for a thread: they wait in the database, where
 * any worker can claim them, unless they are short. */
#include "engine_fixture.h"

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static atomic_int opened, inside;

static int until_opened(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    atomic_fetch_add(&inside, 1);
    while (!atomic_load(&opened))
        usleep(1000);
    return 0;
}

static const struct kit_function blocking[] = {
    {"f", until_opened, NULL}, {"short", kit_noop, NULL}, {0}};
static const struct kit_function quick[] = {{"f", kit_noop, NULL}, {0}};

static int64_t sum_of_queues(struct store *s, const char *column)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT CAST(sum(%s) AS bigint) FROM queue_counters", column);
    return sql_number(s, sql);
}

TEST(jobs_that_wait_for_a_thread_are_ready_and_not_running)
{
    struct worker_kit k = {.list = blocking, .threads = 2};
    struct store *s = fixture_store();
    int64_t ids[10];
    int i, running = 0;

    atomic_store(&opened, 0);
    kit_open(&k);
    for (i = 0; i < 10; i++)
        ids[i] = kit_submit(s, "f", NULL);
    KIT_UNTIL(&k, atomic_load(&inside) == 2);
    for (i = 0; i < 20; i++)
        kit_step(&k);
    for (i = 0; i < 10; i++) {
        struct execution x = get(s, ids[i]);

        running += x.status == S_RUNNING;
        CHECK(x.status == S_RUNNING || x.status == S_READY);
        CHECK_EQ(x.started_at != 0, x.status == S_RUNNING);
        CHECK_EQ(x.attempts, x.status == S_RUNNING);
    }
    CHECK_EQ(running, 2);
    CHECK_EQ(sum_of_queues(s, "running"), 2);
    CHECK_EQ(sum_of_queues(s, "ready"), 8);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 2);
    CHECK_EQ(sql_number(s, "SELECT room FROM workers"), 2);
    CHECK_EQ(sql_number(s, "SELECT claim_ahead FROM workers"), 8);
    atomic_store(&opened, 1);
    kit_until_ended(&k, 10);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(idle_worker_gets_jobs_that_wait_for_a_thread_of_a_busy_worker)
{
    struct worker_kit busy = {.list = blocking, .threads = 1}, idle = {.list = quick};
    struct store *s = fixture_store();
    int64_t ids[5];
    int i, n;

    atomic_store(&opened, 0);
    kit_open(&busy);
    n = kit_warm_up(&busy, s, "short");
    for (i = 0; i < 5; i++)
        ids[i] = kit_submit(s, "f", NULL);
    KIT_UNTIL(&busy, atomic_load(&inside) && busy.ended == n + 4); /* given back */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 1);
    kit_open(&idle);
    kit_until_ended(&idle, 4);
    atomic_store(&opened, 1);
    kit_until_ended(&busy, n + 5);
    engine_close(&idle.engine);
    engine_close(&busy.engine);
    for (i = 0; i < 5; i++)
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
    CHECK_STR(history(s, ids[4]),
              "created marked_ready claimed released claimed started completed");
    verify_clean(s);
    store_close(&s);
}
