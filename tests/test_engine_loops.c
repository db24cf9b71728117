/* test_engine_loops.c - engines that run several turns at once, on PostgreSQL: no job is lost, run
 * twice or counted twice, whichever loop it goes through; each outcome is reported once; and the
 * jobs of an engine that is closed or killed midway are found by others. */
#include "attempt_counts_fixture.h"
#include "ledger.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

TEST_ONLY_DB(postgres);
TEST_THREADED;

#define LOOPS         3
#define NO_LEASE_LOST "SELECT CAST(count(*) = 0 AS integer) FROM attempt_counters WHERE type = 11"

static struct engine_options with_loops(void)
{
    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    return (struct engine_options){.loops = LOOPS, .lease = LEASE};
}

static int64_t open_executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE status < 4");
}

/* ---- reports ---- */

static void count_stored(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    ++*(int *)arg;
}

static int defers_without_delay(struct function_call *c, void *arg)
{
    (void)arg;
    if (c->attempt == 1)
        c->ops->defer(c, 0);
    return 0;
}

/* Another loop may claim the next attempt before this loop knows how its own turn ended. */
TEST(attempts_deferred_without_delay_are_reported_and_counted_once)
{
    static const struct kit_function list[] = {{"comes_back", defers_without_delay, NULL},
                                               {NULL, NULL, NULL}};
    struct engine_options o = with_loops();
    struct worker_kit k = {.list = list, .threads = 4};
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::x", .lane = "function:comes_back", .task_index = -1};
    int jobs = test_full() ? 3000 : 300, acked = 0, i;
    struct store *s = fixture_store();

    setenv("PAWL_TEST_POLL", "1", 1); /* through the outbox, where other loops find the job */
    kit_open_with(&k, o);
    for (i = 0; i < jobs; i++)
        engine_submit(k.engine, &sub, count_stored, &acked);
    kit_until_ended(&k, 2 * jobs);
    CHECK_EQ(acked, jobs);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 2 * jobs);
    engine_close(&k.engine);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 2"),
             jobs);
    check_counts_match_events(s);
    CHECK_EQ(sql_number(s, NO_LEASE_LOST), 1);
    verify_clean(s);
    store_close(&s);
}

/* The heartbeat's thread writes the worker's row, too, if the row is gone, as after a suspended
 * machine. */
TEST(worker_row_written_by_two_threads_lists_every_function)
{
    struct engine_options o = with_loops();
    struct worker_kit k = {0};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    char name[20];

    o.heartbeat = 1000;
    kit_open_with(&k, o);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "noop%d", i);
        CHECK_OK_ERR(function_add(k.functions, name, kit_noop, NULL, &err), &err);
        sql_run(s, "DELETE FROM workers");
        kit_step(&k);
    }
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM workers WHERE serves LIKE '%noop99%'"));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- a job deferred without delay, in the order that could go wrong ---- */

static struct {
    pthread_t engine;            /* the thread that steps the engine */
    _Atomic bool started, armed; /* armed: the next turn that commits is stopped there */
    _Atomic bool stopped, other;
    _Atomic pthread_t thread;
} stop;

/* Makes the thread of a loop that has just committed wait until another loop has committed, and
 * then a while longer. */
static void stop_after_commit(void *arg, const char *where)
{
    (void)arg;
    if (strcmp(where, "committed") || pthread_equal(pthread_self(), stop.engine))
        return;
    if (atomic_exchange(&stop.armed, false)) {
        stop.thread = pthread_self();
        stop.stopped = true;
        while (!stop.other)
            usleep(1000);
        usleep(200000);
    } else if (stop.stopped && !pthread_equal(pthread_self(), stop.thread)) {
        stop.other = true;
    }
}

static int defers_when_started(struct function_call *c, void *arg)
{
    (void)arg;
    if (c->attempt > 1)
        return 0;
    while (!stop.started) /* until its start is stored, so that its end comes next */
        usleep(1000);
    stop.armed = true;
    c->ops->defer(c, 0);
    return 0;
}

/* One attempt is settled, but the engine has not answered that turn yet, when another loop claims
 * the next attempt. */
TEST(attempt_claimed_before_the_engine_learns_that_the_previous_one_is_settled_keeps_its_lease)
{
    static const struct kit_function list[] = {{"comes_back", defers_when_started, NULL},
                                               {"ledger", ledger_function, NULL},
                                               {NULL, NULL, NULL}};
    struct engine_options o = with_loops();
    struct worker_kit k = {.list = list};
    struct submission first = {.name = "exec::x", .lane = "function:comes_back"};
    struct submission more = ledger_job(false, "ok", 1);
    struct store *s = fixture_store();
    int acked = 0, i;
    int64_t id;

    setenv("PAWL_TEST_POLL", "1", 1);
    stop.engine = pthread_self();
    kit_open_with(&k, o);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    fixture_env()->point = stop_after_commit;
    for (;;) { /* avoid a tree of the loop that takes the next submissions */
        id = submit_with(s, (struct submission){.name = "exec::x", .lane = "nobody"});
        CHECK_OK(cancel(s, id));
        if ((id + 1) % LOOPS != 0)
            break;
    }
    id = submit_with(s, first);
    CHECK(id % LOOPS != 0);
    KIT_UNTIL(&k, strstr(history(s, id), "started"));
    stop.started = true;
    KIT_UNTIL(&k, stop.stopped);
    CHECK_EQ(status_of(s, id), S_READY);
    for (i = 0; i < 40; i++)
        engine_submit(k.engine, &more, count_stored, &acked);
    kit_submit(s, "ledger", NULL); /* announces that a job waits */
    KIT_UNTIL(&k, k.ended >= 2 + 41);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 2 + 41);
    CHECK_EQ(acked, 40);
    fixture_env()->point = NULL;
    engine_close(&k.engine);
    CHECK_EQ(sql_number(s, NO_LEASE_LOST), 1);
    CHECK_STR(history(s, id),
              "created marked_ready claimed started deferred resumed started completed");
    verify_clean(s);
    store_close(&s);
}

/* ---- capacity ---- */

static atomic_int now, most;
static atomic_bool go;

static int waits(struct function_call *c, void *arg)
{
    int n = atomic_fetch_add(&now, 1) + 1, before = atomic_load(&most);

    (void)c;
    (void)arg;
    while (n > before && !atomic_compare_exchange_weak(&most, &before, n))
        ;
    while (!go)
        usleep(1000);
    atomic_fetch_sub(&now, 1);
    return 0;
}

TEST(all_loops_together_claim_no_more_than_the_capacity_of_the_worker)
{
    static const struct kit_function list[] = {{"waits", waits, NULL}, {NULL, NULL, NULL}};
    struct engine_options o = with_loops();
    struct worker_kit k = {.list = list, .threads = 8, .in_all = LOOPS};
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::x", .lane = "function:waits", .task_index = -1};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int acked = 0, i, loop;

    kit_open_with(&k, o);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    for (loop = 0; loop < LOOPS; loop++) { /* one turn per loop, before any of them has ended */
        for (i = 0; i < 40; i++)
            engine_submit(k.engine, &sub, count_stored, &acked);
        CHECK_OK_ERR(engine_step(k.engine, 0, &err), &err);
    }
    KIT_UNTIL(&k, acked == 40 * LOOPS && atomic_load(&now) == LOOPS);
    for (i = 0; i < 20; i++)
        kit_step(&k);
    CHECK_EQ(atomic_load(&most), LOOPS);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"),
             LOOPS); /* no claimed job waits for a thread */
    go = true;
    kit_until_ended(&k, 40 * LOOPS);
    CHECK_EQ(atomic_load(&most), LOOPS);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- cancel ---- */

TEST(cancel_reaches_the_jobs_of_every_loop)
{
    struct engine_options o = with_loops();
    struct worker_kit k = {.list = ledger_functions, .threads = 12};
    struct store *s = fixture_store();
    int64_t ids[12];
    int i;

    for (i = 0; i < 12; i++)
        ids[i] = submit_with(s, ledger_job(false, "wait", 1));
    kit_open_with(&k, o);
    for (i = 0; i < 12; i++)
        KIT_UNTIL(&k, ledger_begun(ids[i]));
    for (i = 0; i < 12; i++)
        kit_cancel(&k, s, ids[i]);
    kit_until_ended(&k, 12);
    for (i = 0; i < 12; i++)
        CHECK_EQ(status_of(s, ids[i]), S_CANCELLED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- a locked parent tree ---- */

struct child {
    struct worker_kit k;
    int64_t parent;
    int acked;
};

static void submit_meanwhile(void *arg)
{
    struct child *c = arg;
    struct submission sub = {.kind = KIND_EXEC,
                             .name = "exec::child",
                             .lane = "function:ledger",
                             .task_index = -1,
                             .parent = c->parent};
    int i;

    engine_submit(c->k.engine, &sub, count_stored, &c->acked);
    for (i = 0; i < 3; i++)
        kit_step(&c->k);
    CHECK_EQ(c->acked, 0);
}

TEST(submission_of_a_child_in_a_locked_tree_waits_for_the_lock)
{
    int loops;

    for (loops = 1; loops <= LOOPS; loops += LOOPS - 1) {
        struct engine_options o = with_loops();
        struct child c = {.k = {.list = ledger_functions}};
        struct store *s = fixture_store(), *other;
        struct watch w = {0};

        o.loops = loops;
        c.parent = submit_with(s, (struct submission){.name = "exec::p", .lane = "nobody"});
        kit_open_with(&c.k, o);
        other = watched_store(&w);
        watch_for(&w, "commit", 1, submit_meanwhile, &c);
        CHECK_OK(hold(other, c.parent));
        CHECK(w.acted);
        KIT_UNTIL(&c.k, c.acked == 1);
        KIT_UNTIL(&c.k, unhold(s, c.parent) == 0);
        kit_until_ended(&c.k, 1);
        engine_close(&c.k.engine);
        store_close(&other);
        CHECK_OK(cancel(s, c.parent));
        verify_clean(s);
        store_close(&s);
    }
}

/* ---- engines closed and killed midway ---- */

TEST(jobs_that_a_closed_engine_had_claimed_are_finished_by_the_next_engine)
{
    struct engine_options o = with_loops();
    struct store *s = fixture_store();
    int round, i;

    for (i = 0; i < 60; i++)
        submit_with(s, ledger_job(i % 10 == 0, i % 3 ? "ok" : "once", 20));
    for (round = 0; open_executions(s); round++) {
        struct worker_kit k = {.list = ledger_functions, .commands = true};

        kit_open_with(&k, o);
        for (i = 0; i < 3 + round; i++)
            kit_step(&k);
        engine_close(&k.engine);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 60);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 0);
    verify_clean(s);
    store_close(&s);
}

static _Atomic pid_t *victim;

static void work_until_done(int nth)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    struct store *s = fixture_store();
    pid_t pid = 0;
    bool done;

    kit_open_with(&k, with_loops());
    do {
        kit_step(&k);
        done = !open_executions(s);
        if (nth == 1 && (done || k.ended > 20) && (pid = atomic_exchange(victim, 0)))
            CHECK_OK(kill(pid, SIGKILL));
    } while (!done);
    engine_close(&k.engine);
    store_close(&s);
}

/* The first process forks another worker, which the second process kills. */
static void work(int nth)
{
    int status;
    pid_t pid;

    if (nth == 0) {
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            work_until_done(nth);
            pause();
        }
        atomic_store(victim, pid);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    work_until_done(nth);
}

TEST_SLOW(jobs_of_a_killed_worker_are_finished_by_workers_with_several_loops, 600)
{
    int jobs = test_full() ? 2000 : 200, i;
    struct store *s;
    int64_t *ids;

    with_loops();
    s = fixture_store();
    victim = shared_memory(sizeof(*victim));
    ids = shared_memory((size_t)jobs * sizeof(*ids));
    for (i = 0; i < jobs; i++)
        ids[i] = submit_with(s, ledger_job(i % 10 == 0, i % 3 ? "ok" : "once", 6));
    store_close(&s);
    run_processes(2, work);
    s = fixture_store();
    for (i = 0; i < jobs; i++) {
        ledger_check(s, ids[i]);
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 0);
    verify_clean(s);
    store_close(&s);
}
