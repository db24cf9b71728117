/* test_engine_outage.c - engines whose PostgreSQL server dies and comes back, under load or after
 * longer than a lease. Nothing is lost or done twice, and a healthy worker keeps its jobs. */
#include "outage_fixture.h"

TEST_ONLY_DB(postgres);
TEST_THREADED;
TEST_LOOPS_TOO;
TEST_LONG;

/* ---- a private server ---- */

struct server {
    char *data, *log, *port, *pg_ctl;
    uid_t user;
};

/* Runs pg_ctl as the server's user. */
static void pg_ctl(const struct server *v, const char *const *args)
{
    const char *argv[12] = {v->pg_ctl, "-D", v->data, "-w", "-l", v->log};
    int status, n = 6;
    pid_t pid;

    while (*args)
        argv[n++] = *args++;
    argv[n] = NULL;
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (chdir("/") || (getuid() != v->user && setuid(v->user)) ||
            !freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
            _exit(1);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void server_stop(const struct server *v)
{
    pg_ctl(v, (const char *const[]){"-m", "immediate", "stop", NULL});
}

static void server_start(const struct server *v)
{
    char *port = mem_printf("-p %s", v->port);

    pg_ctl(v, (const char *const[]){"-o", port, "start", NULL});
    free(port);
}

/* Path of the pg_ctl that belongs to the server running on this data folder. */
static char *pg_ctl_path(const char *data)
{
    char *path = mem_printf("%s/postmaster.pid", data), exe[4096];
    FILE *f = fopen(path, "re");
    int pid = 0;
    ssize_t n;

    CHECK(f && fscanf(f, "%d", &pid) == 1);
    fclose(f);
    free(path);
    path = mem_printf("/proc/%d/exe", pid);
    n = readlink(path, exe, sizeof(exe) - 1);
    free(path);
    CHECK(n > 0);
    exe[n] = 0;
    *strrchr(exe, '/') = 0;
    return mem_printf("%s/pg_ctl", exe);
}

/* A server that shuts down waits for every client that has connected and not authenticated yet; a
 * listener that can't be served meanwhile may be one of them. */
static void shorten_authentication_timeout(const struct server *v)
{
    char *path = mem_printf("%s/postgresql.conf", v->data);
    FILE *f = fopen(path, "ae");

    CHECK(f != NULL);
    fputs("authentication_timeout = 1s\n", f);
    CHECK_OK(fclose(f));
    free(path);
    pg_ctl(v, (const char *const[]){"reload", NULL});
}

/* Starts a private server and moves the fixture's database to it. */
static struct server server_new(void)
{
    char *dir = mem_printf("%s/pg", test_dir()), line[300] = "";
    char *command = mem_printf("tests/pg_server start %s %d", dir, (int)getpid());
    struct server v = {.data = mem_printf("%s/data", dir), .log = mem_printf("%s/log", dir)};
    struct stat st;
    FILE *f;

    server_url(); /* skips the test unless the database is PostgreSQL */
    fixture_fresh();
    CHECK_OK(chmod(test_dir(), 0755));
    CHECK((f = popen(command, "re")) != NULL);
    CHECK(fgets(line, sizeof(line), f) != NULL);
    CHECK_OK(pclose(f));
    line[strcspn(line, "\n")] = 0;
    CHECK_OK(setenv("PAWL_TEST_PG_URL", strchr(line, '=') + 1, 1));
    v.port = mem_printf("%d", server_port());
    CHECK_OK(stat(v.data, &st));
    v.user = st.st_uid;
    v.pg_ctl = pg_ctl_path(v.data);
    shorten_authentication_timeout(&v);
    free(command);
    free(dir);
    return v;
}

static void server_end(struct server *v)
{
    server_stop(v);
    free(v->data);
    free(v->log);
    free(v->port);
    free(v->pg_ctl);
}

/* ---- a server that dies under load ---- */

/* Jobs per second. */
static int rate(struct load *l)
{
    int before = l->k.ended;
    int64_t from = clock_boot_us(), to;

    do
        step_under_load(l, 200);
    while ((to = clock_boot_us()) - from < SECOND);
    return (int)((l->k.ended - before) * SECOND / (to - from));
}

/* The lowest of several rates, because other load on the machine varies. */
static int slowest_rate(struct load *l)
{
    int least = rate(l);

    for (int i = 0; i < 2; i++) {
        int again = rate(l);

        least = again < least ? again : least;
    }
    return least;
}

struct outage {
    struct shared_flag stop, back;
};

/* Forks a process that stops and starts the server on request; the engine's own thread can't do
 * that, because it waits for the server. */
static pid_t operator_start(const struct server *v, struct outage *o)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        flag_await(&o->stop);
        server_stop(v);
        server_start(v);
        flag_set(&o->back);
        _exit(0);
    }
    return pid;
}

TEST_SLOW(job_rate_recovers_after_the_server_crashes_under_load, 600)
{
    struct server v = server_new();
    struct outage *o = shared_memory(sizeof(*o));
    struct load l = {.k = {.list = functions}};
    pid_t pid;
    int64_t back;
    int before, now;

    fixture_url();
    pid = operator_start(&v, o);
    kit_open(&l.k);
    rate(&l);
    before = slowest_rate(&l);
    flag_set(&o->stop);
    while (!o->back.is_set)
        step_under_load(&l, 200);
    back = clock_boot_us();
    while ((now = rate(&l)) * 100 < before * (test_full() ? 95 : 70))
        ; /* bounded by the test's own time limit */
    printf("%d jobs/s before, %d after %lld ms\n", before, now,
           (long long)(clock_boot_us() - back) / 1000);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    end_load(&l);
    server_end(&v);
}

/* ---- a server that is away for longer than a lease ---- */

#define AWAY_LEASE (2 * SECOND)

static void check_ended(struct store *s, const int64_t *ids, int n)
{
    for (int i = 0; i < n; i++) {
        until_terminal(s, ids[i]);
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
        CHECK_EQ(get(s, ids[i]).attempts, 1);
        ledger_check(s, ids[i]);
    }
}

/* One worker has all jobs and reconnects last. The worker that reconnects first sees leases that
 * expired long ago, and must wait before it reaps them. */
TEST_SLOW(workers_keep_their_leases_through_a_database_outage_of_three_lease_times, 600)
{
    struct engine_options o = {.lease = AWAY_LEASE};
    struct server v = server_new();
    const char *url = fixture_url();
    struct store *s = fixture_store();
    pid_t busy, idle;
    int64_t ids[8];
    int i;

    for (i = 0; i < 8; i++)
        ids[i] = submit_with(s, ledger_job(i % 2, "wait", 4));
    store_close(&s);
    busy = worker_start(url, kit_state(), o);
    until_begun(ids, 8);
    idle = worker_start(url, kit_state(), o);
    s = fixture_store();
    until_number(s, "SELECT count(*) FROM workers WHERE seen_at > started_at", 2);
    server_stop(&v);
    CHECK_OK(kill(busy, SIGSTOP));
    clock_sleep_us(3 * AWAY_LEASE);
    server_start(&v);
    until_number(s, "SELECT count(*) FROM workers WHERE seen_at > pg_postmaster_start_time()", 1);
    clock_sleep_us(AWAY_LEASE / 2);
    CHECK_OK(kill(busy, SIGCONT));
    until_terminal(s, submit_with(s, ledger_job(false, "ok", 4)));
    until_terminal(s, submit_with(s, ledger_job(true, "ok", 4)));
    until_number(s, "SELECT count(*) FROM workers WHERE seen_at > pg_postmaster_start_time()", 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11"), 0);
    ledger_go();
    check_ended(s, ids, 8);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11"), 0);
    end_worker(busy);
    end_worker(idle);
    verify_clean(s);
    store_close(&s);
    server_end(&v);
}
