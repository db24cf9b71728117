/* test_engine_loops.c - engines that have several turns under way at once, on PostgreSQL: nothing
 * is lost, run twice or counted twice, whichever of them an execution goes through; what is told,
 * told once; and what is closed or killed in the middle is found by others. */
#include "ledger.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

TEST_ONLY_DB(postgres);
TEST_THREADED;

#define LOOPS 3

static struct engine_options with_loops(void)
{
    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    return (struct engine_options){.loops = LOOPS, .lease = LEASE};
}

static int64_t open_ones(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE status < 4");
}

/* ---- what is told ---- */

static void count(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    ++*(int *)arg;
}

static int comes_back_at_once(struct function_call *c, void *arg)
{
    (void)arg;
    if (c->attempt == 1)
        c->ops->defer(c, 0);
    return 0;
}

/* The next attempt may be claimed by another loop before this one has been told how its own turn
 * ended. */
TEST(what_comes_back_at_once_is_told_and_counted_once)
{
    static const struct kit_function list[] = {{"comes_back", comes_back_at_once, NULL},
                                               {NULL, NULL, NULL}};
    struct engine_options o = with_loops();
    struct worker_kit k = {.list = list, .threads = 4};
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::x", .lane = "function:comes_back", .task_index = -1};
    int jobs = test_full() ? 3000 : 300, acked = 0, i;
    struct store *s = fixture_store();

    setenv("PAWL_TEST_POLL", "1", 1); /* through the outbox, where others find it */
    kit_open_with(&k, o);
    for (i = 0; i < jobs; i++)
        engine_submit(k.engine, &sub, count, &acked);
    kit_until_ended(&k, 2 * jobs);
    CHECK_EQ(acked, jobs);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 2 * jobs);
    engine_close(&k.engine);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 2"),
             jobs);
    CHECK_EQ(sql_number(s, "SELECT CAST(sum(value) AS bigint) FROM worker_counters "
                           "WHERE metric = 'pawl_outcomes_total'"),
             2 * jobs);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM worker_counters "
                           "WHERE metric = 'pawl_leases_lost_total' AND value > 0"),
             0);
    verify_clean(s);
    store_close(&s);
}

/* The heartbeat's thread tells of the row, too: where it is gone, as that of a machine that slept
 * is. */
TEST(what_it_serves_is_told_by_two_threads)
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

/* ---- the same in the order in which it would go wrong ---- */

static struct {
    pthread_t engine;          /* the thread that steps it */
    _Atomic bool begun, armed; /* the next turn that is stored is stopped there */
    _Atomic bool stopped, other;
    _Atomic pthread_t thread;
} stop;

/* A loop's thread that has just committed waits until another one has, and then a while longer. */
static void stop_behind_commit(void *arg, const char *where)
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

static int comes_back(struct function_call *c, void *arg)
{
    (void)arg;
    if (c->attempt > 1)
        return 0;
    while (!stop.begun) /* its start is stored: what comes next is its end */
        usleep(1000);
    stop.armed = true;
    c->ops->defer(c, 0);
    return 0;
}

/* One attempt is settled, and not answered yet, when another loop has claimed the next one. */
TEST(the_next_attempt_is_claimed_before_the_end_of_the_last_one_is_told)
{
    static const struct kit_function list[] = {
        {"comes_back", comes_back, NULL}, {"ledger", ledger_function, NULL}, {NULL, NULL, NULL}};
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
    fixture_env()->point = stop_behind_commit;
    for (;;) { /* not a tree of the loop that takes the next submissions */
        id = submit_with(s, (struct submission){.name = "exec::x", .lane = "nobody"});
        CHECK_OK(cancel(s, id));
        if ((id + 1) % LOOPS != 0)
            break;
    }
    id = submit_with(s, first);
    CHECK(id % LOOPS != 0);
    KIT_UNTIL(&k, strstr(history(s, id), "started"));
    stop.begun = true;
    KIT_UNTIL(&k, stop.stopped);
    CHECK_EQ(status_of(s, id), S_READY);
    for (i = 0; i < 40; i++)
        engine_submit(k.engine, &more, count, &acked);
    kit_submit(s, "ledger", NULL); /* says that something waits */
    KIT_UNTIL(&k, k.ended >= 2 + 41);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 2 + 41);
    CHECK_EQ(acked, 40);
    fixture_env()->point = NULL;
    engine_close(&k.engine);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM worker_counters "
                           "WHERE metric = 'pawl_leases_lost_total' AND value > 0"),
             0);
    CHECK_STR(history(s, id),
              "created marked_ready claimed started deferred resumed started completed");
    verify_clean(s);
    store_close(&s);
}

/* ---- room ---- */

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

TEST(all_loops_together_claim_no_more_than_there_is_room_for)
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
    for (loop = 0; loop < LOOPS; loop++) { /* a turn of each, before one has ended */
        for (i = 0; i < 40; i++)
            engine_submit(k.engine, &sub, count, &acked);
        CHECK_OK_ERR(engine_step(k.engine, 0, &err), &err);
    }
    KIT_UNTIL(&k, acked == 40 * LOOPS && atomic_load(&now) == LOOPS);
    for (i = 0; i < 20; i++)
        kit_step(&k);
    CHECK_EQ(atomic_load(&most), LOOPS);
    CHECK(sql_number(s, "SELECT count(*) FROM leases") <=
          dispatch_total_capacity(engine_dispatch(k.engine)));
    go = true;
    kit_until_ended(&k, 40 * LOOPS);
    CHECK_EQ(atomic_load(&most), LOOPS);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- cancel ---- */

TEST(a_cancel_reaches_what_each_loop_has)
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

/* ---- a parent's tree that is locked ---- */

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

    engine_submit(c->k.engine, &sub, count, &c->acked);
    for (i = 0; i < 3; i++)
        kit_step(&c->k);
    CHECK_EQ(c->acked, 0);
}

TEST(a_submission_below_a_locked_tree_waits_for_it)
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

/* ---- closed and killed in the middle ---- */

TEST(what_was_claimed_while_the_engine_was_closed_is_found)
{
    struct engine_options o = with_loops();
    struct store *s = fixture_store();
    int round, i;

    for (i = 0; i < 60; i++)
        submit_with(s, ledger_job(i % 10 == 0, i % 3 ? "ok" : "once", 20));
    for (round = 0; open_ones(s); round++) {
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

static void work_until_all_is_done(int nth)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    struct store *s = fixture_store();
    pid_t pid = 0;
    bool done;

    kit_open_with(&k, with_loops());
    do {
        kit_step(&k);
        done = !open_ones(s);
        if (nth == 1 && (done || k.ended > 20) && (pid = atomic_exchange(victim, 0)))
            CHECK_OK(kill(pid, SIGKILL));
    } while (!done);
    engine_close(&k.engine);
    store_close(&s);
}

/* The first has another before it, which the second kills. */
static void work(int nth)
{
    int status;
    pid_t pid;

    if (nth == 0) {
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            work_until_all_is_done(nth);
            pause();
        }
        atomic_store(victim, pid);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    work_until_all_is_done(nth);
}

TEST_SLOW(processes_with_several_loops_finish_what_a_killed_one_had, 600)
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
