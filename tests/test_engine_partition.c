/* test_engine_partition.c - one worker is cut off from its PostgreSQL while others continue: it
 * ends in time, or when it is asked to, and none of its attempts is alive when others adopt its
 * jobs. */
#include "outage_fixture.h"
#include "proxy_fixture.h"

TEST_ONLY_DB(postgres);
TEST_THREADED;
TEST_LOOPS_TOO;
TEST_LONG;

static void wait_for_end(pid_t worker)
{
    int status;

    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* Returns false if the worker ended before both jobs started. */
static bool lives_until_started(pid_t worker, const int64_t ids[2])
{
    while (!ledger_begun(ids[0]) || !ledger_begun(ids[1])) {
        if (waitpid(worker, NULL, WNOHANG))
            return false;
        clock_sleep_us(1000);
    }
    return true;
}

static void submit_two(int64_t ids[2])
{
    struct store *s;

    server_url(); /* skips the test unless the database is PostgreSQL */
    s = fixture_store();
    ids[0] = submit_with(s, ledger_job(false, "wait", 4));
    ids[1] = submit_with(s, ledger_job(true, "wait", 4));
    store_close(&s);
}

TEST(worker_that_is_cut_off_from_the_database_ends_itself)
{
    struct engine_options o = {.lease = SECOND / 2, .host_grace = 4 * SECOND};
    int64_t ids[2];
    pid_t through, worker;
    char *url;

    submit_two(ids);
    url = proxy_start(&through);
    do /* a stall of two seconds cuts the worker off, too */
        worker = worker_start(url, kit_state(), o);
    while (!lives_until_started(worker, ids));
    proxy->shut = 1;
    wait_for_end(worker);
    while (ledger_processes()) /* the shim ends the command, whose lease is not renewed */
        clock_sleep_us(1000);
    proxy_stop(through);
    free(url);
}

static volatile sig_atomic_t stop_requested;

static void on_term(int number)
{
    stop_requested = number;
}

static bool is_stop_requested(void *arg)
{
    (void)arg;
    return stop_requested != 0;
}

/* Starts a worker that stops on SIGTERM, within `grace` microseconds if it can't reach the
 * database. */
static pid_t stoppable_worker_start(const char *url, struct engine_options o, int64_t grace)
{
    struct worker_kit k = {.list = ledger_functions};
    struct err err = ERR_INIT;
    int64_t until;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid)
        return pid;
    signal(SIGTERM, on_term);
    o.url = url;
    o.tenant = fixture_tenant();
    o.env = fixture_env();
    o.env->give_up = is_stop_requested;
    o.state = kit_state();
    CHECK_OK_ERR(engine_open(&o, kit_make, &k, &k.engine, &err), &err);
    while (!stop_requested)
        kit_step(&k);
    engine_stop(k.engine, false);
    for (until = clock_boot_us() + grace; !engine_is_idle(k.engine) && clock_boot_us() < until;)
        kit_step(&k);
    engine_close(&k.engine);
    _exit(0);
}

TEST(worker_asked_to_stop_during_an_outage_stops)
{
    struct engine_options o = {.lease = 60 * SECOND, .host_grace = 40000 * SECOND};
    int64_t id;
    struct store *s;
    pid_t through, worker;
    char *url;
    int status;

    server_url(); /* skips the test unless the database is PostgreSQL */
    s = fixture_store();
    id = submit_with(s, ledger_job(false, "wait", 4));
    store_close(&s);
    url = proxy_start(&through);
    worker = stoppable_worker_start(url, o, SECOND);
    until_begun(&id, 1);
    proxy->shut = 1;
    ledger_go(); /* its outcome must be stored: the loop waits for the database */
    clock_sleep_us(SECOND);
    kill(worker, SIGTERM); /* without it the worker would retry for a quarter of host_grace */
    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK_EQ(status, 0);
    s = fixture_store();
    CHECK_EQ(status_of(s, id), S_RUNNING); /* the next worker that finds its lock free adopts it */
    proxy_stop(through);
    store_close(&s);
    free(url);
}

/* Workers of another host may adopt its jobs after host_grace; the attempts have ended by then. */
TEST_SLOW(attempts_of_a_cut_off_worker_end_before_another_host_adopts_its_jobs, 600)
{
    struct engine_options o = {.lease = SECOND, .host_grace = 10 * SECOND};
    char *url, *elsewhere = mem_printf("%s/elsewhere", test_dir());
    pid_t through, first, second;
    struct store *s;
    int64_t ids[2];
    int i;

    if (!test_full())
        SKIP("takes 15 s");
    submit_two(ids);
    url = proxy_start(&through);
    first = worker_start(url, kit_state(), o);
    until_begun(ids, 2);
    second = worker_start(fixture_url(), elsewhere, o);
    proxy->shut = 1;
    wait_for_end(first);
    while (ledger_begun(ids[0]) < 2 || ledger_begun(ids[1]) < 2)
        clock_sleep_us(1000);
    ledger_go();
    s = fixture_store();
    for (i = 0; i < 2; i++) {
        until_terminal(s, ids[i]);
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
        ledger_check(s, ids[i]);
    }
    end_worker(second);
    proxy_stop(through);
    verify_clean(s);
    store_close(&s);
    free(elsewhere);
    free(url);
}
