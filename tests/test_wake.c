/* test_wake.c - the contract of wake-ups: a process that waits for work is woken immediately by a
 * commit that makes work available, and by nothing else; several wake-ups are merged; a dead or
 * disconnected listener does not block the others. */
#include "fixture.h"

#include "store/tenant.h"

#undef SECOND /* the driver defines the same name as an int */
#include "pg_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

/* Bits that no turn sends: when one arrives, all earlier wake-ups have arrived too. A second
 * listener needs a different bit so as not to receive the first one's. */
#define MARK  128u
#define OTHER ((unsigned)WAKE_SUBMISSIONS)
#define AWAKE 5000 /* ms; a listener that can be woken polls less often than this */
_Static_assert(MARK > WAKE_ENDS, "no turn sends it");

static struct listener *listen_to(unsigned what)
{
    struct db_url *url = NULL;
    struct listener *l = NULL;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(url_parse(fixture_url(), fixture_tenant(), &url, &err), &err);
    CHECK_OK_ERR(url->driver->listen(url, fixture_env(), what, &l, &err), &err);
    CHECK(l->fd >= 0);
    CHECK(l->poll_ms > AWAKE);
    CHECK_EQ(l->drain(l), 0);
    url_free(&url);
    return l;
}

/* Waits until one of the bits arrives and returns all bits that arrived. A listener that can be
 * woken must be woken: it is not drained before its descriptor is readable, however long that
 * takes. */
static unsigned wait_for_bits(struct listener *l, unsigned bits)
{
    unsigned arrived = 0;

    while (!(arrived & bits)) {
        struct pollfd p = {.fd = l->fd, .events = POLLIN};

        poll(&p, 1, l->poll_ms < AWAKE ? l->poll_ms : -1);
        arrived |= l->drain(l);
    }
    return arrived;
}

/* The wake-ups since the last call. */
static unsigned wake_ups(struct store *s, struct listener *l)
{
    unsigned arrived;

    store_db(s)->driver->wake(store_db(s), MARK);
    arrived = wait_for_bits(l, MARK);
    CHECK(arrived & MARK);
    return arrived & (WAKE_JOBS | WAKE_CANCEL);
}

/* ---- in another process ---- */

struct shared {
    struct shared_flag listening, asked, arrived;
    pid_t listener;
};
static struct shared *shared;

static void listen_or_submit(int nth)
{
    if (nth == 0) {
        struct listener *l = listen_to(WAKE_JOBS);

        flag_set(&shared->listening);
        CHECK_EQ(wait_for_bits(l, WAKE_JOBS), WAKE_JOBS);
        l->close(l);
    } else {
        struct store *s;

        flag_await(&shared->listening);
        s = fixture_store();
        submit(s, "x");
        store_close(&s);
    }
}

TEST(listener_in_another_process_is_woken_when_a_job_becomes_ready)
{
    struct store *s;

    fixture_url();
    shared = shared_memory(sizeof(*shared));
    run_processes(2, listen_or_submit);
    s = fixture_store();
    claim_job(s, 1);
    verify_clean(s);
    store_close(&s);
}

static void wait_for_cancel(int nth)
{
    if (nth == 0) {
        struct listener *l = listen_to(WAKE_CANCEL);

        flag_set(&shared->listening);
        CHECK_EQ(wait_for_bits(l, WAKE_CANCEL), WAKE_CANCEL);
        CHECK(shared->asked.is_set); /* woken by the cancel, not by an earlier commit */
        l->close(l);
    } else {
        struct store *s;
        struct held_job j;
        int64_t id;

        flag_await(&shared->listening);
        s = fixture_store();
        id = submit(s, "x");
        submit(s, "y");
        j = claim_job(s, 1);
        CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
        CHECK_EQ(start(s, j), 0);
        flag_set(&shared->asked);
        CHECK_EQ(cancel(s, id), 0);
        store_close(&s);
    }
}

static void wait_for_end(int nth)
{
    if (nth == 0) {
        struct listener *l = listen_to(WAKE_ENDS);

        flag_set(&shared->listening);
        CHECK_EQ(wait_for_bits(l, WAKE_ENDS), WAKE_ENDS);
        CHECK(shared->asked.is_set); /* woken by the end, not by an earlier commit */
        flag_set(&shared->arrived);
        CHECK_EQ(wait_for_bits(l, WAKE_ENDS), WAKE_ENDS);
        l->close(l);
    } else {
        struct store *s;
        struct held_job j;

        flag_await(&shared->listening);
        s = fixture_store();
        submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
        j = claim_job(s, 1);
        CHECK_EQ(start(s, j), 0);
        CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
        j = claim_job(s, 1);
        flag_set(&shared->asked);
        CHECK_EQ(settle_ok(s, j), 0);
        flag_await(&shared->arrived);
        CHECK_EQ(cancel(s, submit(s, "y")), 0);
        store_close(&s);
    }
}

TEST(listener_for_ended_executions_is_woken_only_when_an_execution_ends)
{
    struct store *s;

    fixture_url();
    shared = shared_memory(sizeof(*shared));
    run_processes(2, wait_for_end);
    s = fixture_store();
    verify_clean(s);
    store_close(&s);
}

TEST(listener_is_not_woken_by_unrelated_commits)
{
    struct store *s;

    fixture_url();
    shared = shared_memory(sizeof(*shared));
    run_processes(2, wait_for_cancel);
    s = fixture_store();
    verify_clean(s);
    store_close(&s);
}

enum { LISTENERS = 5 };

static void all_listen(int nth)
{
    if (nth < LISTENERS) {
        struct listener *l = listen_to(nth % 2 ? WAKE_JOBS : WAKE_JOBS | WAKE_CANCEL);

        if (nth == 0) {
            shared->listener = getpid();
            flag_set(&shared->listening);
            for (;;)
                pause(); /* it hangs and reads nothing until it is killed */
        }
        flag_set(&shared[nth].listening);
        CHECK_EQ(wait_for_bits(l, WAKE_JOBS), WAKE_JOBS);
        flag_set(&shared[nth].arrived);
        /* … and once more after a listener was killed */
        CHECK_EQ(wait_for_bits(l, WAKE_JOBS), WAKE_JOBS);
        l->close(l);
    } else {
        struct store *s;
        int i;

        for (i = 0; i < LISTENERS; i++)
            flag_await(&shared[i].listening);
        s = fixture_store();
        submit(s, "x");
        for (i = 1; i < LISTENERS; i++)
            flag_await(&shared[i].arrived);
        kill(shared->listener, SIGKILL);
        submit(s, "y");
        submit(s, "z");
        store_close(&s);
    }
}

/* Like run_processes, but the first process is killed during the test. */
static void run_all_but_one(int n, void (*body)(int nth))
{
    pid_t pid[16];
    int i, status;

    for (i = 0; i < n; i++) {
        CHECK((pid[i] = fork()) >= 0);
        if (!pid[i]) {
            body(i);
            _exit(0);
        }
    }
    for (i = 0; i < n; i++) {
        CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
        CHECK(i == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status));
    }
}

TEST(listener_that_hangs_or_was_killed_does_not_block_other_listeners)
{
    struct store *s;

    fixture_url();
    shared = shared_memory(LISTENERS * sizeof(*shared));
    run_all_but_one(LISTENERS + 1, all_listen);
    s = fixture_store();
    verify_clean(s);
    store_close(&s);
}

/* ---- which commits wake ---- */

static int fail_body(struct turn *t, void *arg, struct err *err)
{
    struct submission sub = {.kind = KIND_EXEC, .task_index = -1, .name = "ghost"};
    int rc = op_submit(t, &sub, 1, err);

    (void)arg;
    return rc ? rc : err_set(err, E_INVALID, "on purpose");
}

TEST(wake_up_is_sent_when_a_job_becomes_claimable_or_adoptable_or_gets_a_timer)
{
    struct store *s = fixture_store();
    struct listener *l = listen_to(WAKE_JOBS | WAKE_CANCEL | MARK);
    struct held_job j, other;
    struct err err;
    int64_t id;

    id = submit_with(s, (struct submission){.name = "x", .max_attempts = 9});
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    j = claim_job(s, 1);
    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(heartbeat(s, j), 0);
    CHECK_EQ(wake_ups(s, l), 0); /* work of one worker does not concern others */
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 10000000), 0);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS); /* a worker may have to wake up earlier */
    clock_advance(11000000);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    CHECK_EQ(hold(s, id), 0);
    CHECK_EQ(wake_ups(s, l), 0);
    CHECK_EQ(unhold(s, id), 0);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    claim_job(s, 1);
    clock_advance(LEASE + 1000000);
    CHECK_EQ(wake_ups(s, l), 0);
    CHECK_EQ(reap(s), 1);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS); /* an orphan */
    CHECK(adopt_one(s, 2, &other));
    CHECK_EQ(wake_ups(s, l), 0);
    CHECK_EQ(cancel(s, id), 0);
    CHECK_EQ(wake_ups(s, l), WAKE_CANCEL);
    CHECK_EQ(settle_as(s, other, OUTCOME_CANCELLED, -1), 0);
    CHECK_EQ(wake_ups(s, l), 0);
    id = submit_with(s, (struct submission){.name = "x", .paused = true});
    CHECK_EQ(wake_ups(s, l), 0);
    CHECK_EQ(cancel(s, id), 0);
    CHECK_EQ(wake_ups(s, l), 0); /* the job was not running */
    submit_with(s, (struct submission){.name = "x", .delay = 60000000});
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    CHECK_EQ(store_turn(s, fail_body, NULL, &err), -E_INVALID);
    CHECK_EQ(wake_ups(s, l), 0); /* the turn was rolled back */
    verify_clean(s);
    l->close(l);
    store_close(&s);
}

TEST(wake_up_is_sent_when_a_permit_is_passed_to_a_waiter)
{
    struct store *s = fixture_store();
    struct listener *l = listen_to(WAKE_JOBS | WAKE_CANCEL | MARK);
    struct held_job j;

    set_limit(s, "queue:default", 1);
    submit(s, "a");
    j = claim_job(s, 1);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    submit(s, "b");
    submit(s, "c");
    CHECK_EQ(wake_ups(s, l), 0); /* b and c wait for the limit */
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    set_limit(s, "queue:default", 2);
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    verify_clean(s);
    l->close(l);
    store_close(&s);
}

TEST(several_wake_ups_are_merged_into_one)
{
    struct store *s = fixture_store();
    struct listener *l = listen_to(WAKE_JOBS | WAKE_CANCEL | MARK);
    int i;

    for (i = 0; i < 100; i++)
        submit(s, "x"); /* more than a datagram buffer holds */
    CHECK(wake_ups(s, l) & WAKE_JOBS);
    CHECK_EQ(l->drain(l), 0); /* a single wake-up reported all of it */
    submit(s, "x");
    CHECK_EQ(wake_ups(s, l), WAKE_JOBS); /* the next wake-up arrives again */
    verify_clean(s);
    l->close(l);
    store_close(&s);
}

TEST(wake_up_in_another_tenant_is_not_received)
{
    struct store *s = fixture_store(), *other = NULL;
    struct listener *l = listen_to(WAKE_JOBS | WAKE_CANCEL | MARK);
    struct err err = ERR_INIT;
    char name[64];

    snprintf(name, sizeof(name), "o%d", (int)getpid());
    CHECK_OK_ERR(tenant_create(fixture_url(), name, NULL, &err), &err);
    CHECK_OK_ERR(store_open(fixture_url(), name, NULL, &other, &err), &err);
    submit(other, "x");
    store_close(&other); /* closing sends what is still to be sent */
    CHECK_EQ(wake_ups(s, l), 0);
    CHECK_OK_ERR(tenant_drop(fixture_url(), name, NULL, &err), &err);
    verify_clean(s);
    l->close(l);
    store_close(&s);
}

TEST(closed_listener_does_not_affect_later_wake_ups)
{
    struct store *s = fixture_store();
    struct listener *stays = listen_to(OTHER), *l;
    int i;

    for (i = 0; i < 20; i++) {
        l = listen_to(WAKE_JOBS | MARK);
        submit(s, "x");
        CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
        l->close(l);
        submit(s, "x");
        store_db(s)->driver->wake(store_db(s), OTHER);
        CHECK_EQ(wait_for_bits(stays, OTHER),
                 OTHER); /* the other listener gets none of these wake-ups */
    }
    verify_clean(s);
    stays->close(stays);
    store_close(&s);
}

/* ---- lost connections ---- */

static void disconnect_listeners(void)
{
    char *sql = mem_printf("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                           " WHERE query LIKE 'LISTEN%%%s%%'",
                           fixture_tenant());

    pg_admin(pg_server(), sql);
    free(sql);
}

TEST(listener_that_lost_its_connection_reports_every_wake_up_bit_and_works_again)
{
    struct listener *l;
    struct store *s;
    int i;

    pg_server(); /* SQLite has no connection to lose */
    s = fixture_store();
    l = listen_to(WAKE_JOBS | WAKE_CANCEL | MARK);
    for (i = 0; i < 2; i++) {
        disconnect_listeners();
        submit(s, "without a listener");
        /* wake-ups may have been lost: it must check for everything */
        CHECK(wait_for_bits(l, WAKE_CANCEL) & WAKE_CANCEL);
        CHECK(l->fd >= 0);
        CHECK(l->poll_ms > AWAKE);
        wake_ups(s, l);
        submit(s, "x");
        CHECK_EQ(wake_ups(s, l), WAKE_JOBS);
    }
    verify_clean(s);
    l->close(l);
    store_close(&s);
}
