/* test_pgbouncer.c - the store behind PgBouncer in transaction mode. Each transaction may run in
 * another session, so no state may be kept in a session. Jobs must behave as without a pooler. */
#include "fixture.h"

#include "store/tenant.h"

#undef SECOND /* the driver defines the same name, as an int */
#include "pg_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST_ONLY_DB(postgres);

#define PROGRAM "/usr/sbin/pgbouncer"

static char *bouncer_url, *bouncer_ini;
static pid_t bouncer;

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK_OK(bind(fd, (struct sockaddr *)&at, len));
    CHECK_OK(getsockname(fd, (struct sockaddr *)&at, &len));
    close(fd);
    return ntohs(at.sin_port);
}

static void write_settings(int port)
{
    char *users = mem_printf("%s/users", test_dir());
    FILE *f = fopen(users, "we");

    CHECK(f);
    fprintf(f, "\"postgres\" \"\"\n");
    fclose(f);
    bouncer_ini = mem_printf("%s/ini", test_dir());
    f = fopen(bouncer_ini, "we");
    CHECK(f);
    /* fewer sessions than clients, so that transactions move between them */
    fprintf(f,
            "[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr=127.0.0.1\n"
            "listen_port=%d\nunix_socket_dir=\nauth_type=trust\nauth_file=%s\n"
            "pool_mode=transaction\ndefault_pool_size=3\n",
            pg_port(), port, users);
    fclose(f);
    free(users);
    CHECK_OK(chmod(test_dir(), 0755)); /* pgbouncer does not run as root */
}

static void bouncer_start(void)
{
    char *as_root[] = {"pgbouncer", "-q", "-u", "postgres", bouncer_ini, NULL};
    char *as_user[] = {"pgbouncer", "-q", bouncer_ini, NULL};

    CHECK((bouncer = fork()) >= 0);
    if (!bouncer) {
        execv(PROGRAM, getuid() ? as_user : as_root);
        _exit(127);
    }
}

static void bouncer_stop(void)
{
    kill(bouncer, SIGKILL);
    waitpid(bouncer, NULL, 0);
}

static struct store *open_through_bouncer(void)
{
    struct store_options options = {.env = fixture_env()};
    struct err err = ERR_INIT;
    struct store *s = NULL;

    CHECK_OK_ERR(store_open(bouncer_url, fixture_tenant(), &options, &s, &err), &err);
    return s;
}

/* Waits until PgBouncer accepts connections. False if it has exited, as it does when another
 * program has taken its port meanwhile. */
static bool wait_for_bouncer(void)
{
    struct store *s = NULL;
    struct err err;

    while (store_open(bouncer_url, fixture_tenant(), NULL, &s, &err)) {
        CHECK_EQ(err.code, E_CONN_LOST);
        if (waitpid(bouncer, NULL, WNOHANG))
            return false;
        clock_sleep_us(20000);
    }
    store_close(&s);
    return true;
}

/* Starts PgBouncer in front of the test's database and waits until it accepts connections. */
static void setup_bouncer(void)
{
    int tries;

    pg_server(); /* skips the test if there is no server */
    if (access(PROGRAM, X_OK))
        SKIP("pgbouncer is not installed");
    fixture_tenant();
    for (tries = 0, bouncer_url = NULL; !bouncer_url; tries++) {
        int port = free_port();

        CHECK(tries < 10);
        write_settings(port);
        bouncer_url = pg_url_at(port, "postgres");
        bouncer_start();
        if (!wait_for_bouncer()) {
            free(bouncer_url);
            free(bouncer_ini);
            bouncer_url = bouncer_ini = NULL;
        }
    }
}

static void teardown_bouncer(void)
{
    bouncer_stop();
    free(bouncer_url);
    free(bouncer_ini);
}

/* ---- one process ---- */

TEST(job_runs_through_a_pooler_as_it_does_without_one)
{
    struct store *s, *other;
    struct held_job j, adopted;
    int64_t id;

    setup_bouncer();
    s = open_through_bouncer();
    other = open_through_bouncer(); /* the turns of both share the sessions */
    id = submit_with(
        s, (struct submission){.name = "x", .max_attempts = 3, .key = "k", .concurrency = "c"});
    CHECK_EQ(submit_with(other,
                         (struct submission){
                             .name = "x", .max_attempts = 3, .key = "k", .concurrency = "c"}),
             id);
    j = claim_job(other, 1);
    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(heartbeat(other, j), 0);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 10000000), 0);
    clock_advance(11000000);
    CHECK_EQ(run_timers(other), 1);
    j = claim_job(s, 1);
    clock_advance(LEASE + 1000000);
    CHECK_EQ(reap(other), 1);
    CHECK(adopt_one(s, 2, &adopted));
    CHECK_EQ(settle_ok(other, j), -E_LEASE_LOST);
    CHECK_EQ(cancel(s, id), 0);
    CHECK_EQ(heartbeat(other, adopted), 0);
    CHECK_EQ(settle_as(s, adopted, OUTCOME_CANCELLED, -1), 0);
    CHECK_STR(
        history(other, id),
        "created marked_ready claimed started retry_scheduled held unheld claimed lease_expired "
        "adopted cancel_requested cancelled");
    set_limit(s, "queue:default", 1);
    submit(other, "a");
    submit(s, "b");
    CHECK_EQ(settle_ok(other, claim_job(s, 1)), 0);
    CHECK_EQ(settle_ok(s, claim_job(other, 1)), 0);
    verify_clean(s);
    verify_clean(other);
    store_close(&other);
    store_close(&s);
    teardown_bouncer();
}

TEST(tenant_can_be_created_and_dropped_through_a_pooler)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    char name[32];

    setup_bouncer();
    snprintf(name, sizeof(name), "p%d", (int)getpid());
    CHECK_OK_ERR(tenant_create(bouncer_url, name, NULL, &err), &err);
    CHECK_OK_ERR(store_open(bouncer_url, name, NULL, &s, &err), &err);
    submit(s, "x");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    verify_clean(s);
    store_close(&s);
    CHECK_OK_ERR(tenant_drop(bouncer_url, name, NULL, &err), &err);
    CHECK_EQ(store_open(bouncer_url, name, NULL, &s, &err), -E_NOT_FOUND);
    teardown_bouncer();
}

TEST(listener_behind_a_pooler_polls_and_its_notifications_reach_direct_listeners)
{
    struct store *through, *direct;
    struct listener *polling = NULL, *listening = NULL;
    struct err err = ERR_INIT;
    struct pollfd p = {.events = POLLIN};

    setup_bouncer();
    through = open_through_bouncer();
    direct = fixture_store();
    CHECK_OK_ERR(db_postgres.listen(store_url(through), fixture_env(), WAKE_JOBS, &polling, &err),
                 &err);
    CHECK_EQ(polling->fd, -1);
    CHECK_EQ(polling->poll_ms, 500);
    CHECK_OK_ERR(db_postgres.listen(store_url(direct), fixture_env(), WAKE_JOBS, &listening, &err),
                 &err);
    submit(through, "x");
    p.fd = listening->fd;
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(listening->drain(listening), WAKE_JOBS);
    CHECK_EQ(polling->drain(polling), 0);
    polling->close(polling);
    listening->close(listening);
    verify_clean(through);
    store_close(&through);
    store_close(&direct);
    teardown_bouncer();
}

/* ---- several processes ---- */

enum { WORKERS = 6, EACH = 30 };

static void submit_and_run_jobs(int nth)
{
    struct store *s = open_through_bouncer();
    struct held_job j;
    int i, ended = 0;

    for (i = 0; i < EACH; i++)
        submit_with(s, (struct submission){.name = "x", .max_attempts = 2, .priority = i % 3});
    while (ended < EACH) { /* ends as many jobs as it submitted, its own or those of others */
        if (!claim_one(s, nth + 1, &j))
            continue;
        CHECK_EQ(start(s, j), 0);
        CHECK_EQ(heartbeat(s, j), 0);
        if (j.attempt == 1 && j.id % 4 == 0) {
            CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
        } else {
            CHECK_EQ(settle_ok(s, j), 0);
            ended++;
        }
    }
    store_close(&s);
}

TEST(several_workers_behind_a_pooler_run_each_job_once)
{
    struct store *s;

    setup_bouncer();
    run_processes(WORKERS, submit_and_run_jobs);
    s = open_through_bouncer();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), WORKERS * EACH);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 0);
    verify_clean(s);
    store_close(&s);
    teardown_bouncer();
}

/* ---- the pooler is killed ---- */

enum { SUBMITS = 300 };

struct progress {
    _Atomic int submitted;
};
static struct progress *progress;

static void submit_many(void)
{
    struct store *s = open_through_bouncer();
    char name[32];

    while (progress->submitted < SUBMITS) {
        snprintf(name, sizeof(name), "job %d", progress->submitted);
        submit(s, name);
        progress->submitted++;
    }
    store_close(&s);
}

TEST(restarted_pooler_neither_loses_nor_duplicates_submissions)
{
    struct store *s;
    int i, status;
    pid_t pid;

    setup_bouncer();
    progress = shared_memory(sizeof(*progress));
    CHECK((pid = fork()) >= 0);
    if (!pid) {
        submit_many();
        _exit(0);
    }
    for (i = 1; i <= 3; i++) {
        while (progress->submitted < i * SUBMITS / 4) {
            CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
            clock_sleep_us(200);
        }
        bouncer_stop(); /* the pooler dies at any point of a submit */
        clock_sleep_us(20000);
        bouncer_start();
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), SUBMITS);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT name) FROM executions"), SUBMITS);
    verify_clean(s);
    store_close(&s);
    teardown_bouncer();
}
