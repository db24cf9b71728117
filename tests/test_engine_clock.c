/* test_engine_clock.c - the clock of a PostgreSQL server is set forward while workers run. Leases
 * are stored in server time, so all of them look expired at once: live workers must not lose
 * a lease, and dead workers are still found within the normal time. Each host has
 * its own clock, which the tests advance independently of the server's. */
#include "heartbeat_fixture.h"
#include "ledger.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

TEST_ONLY_DB(postgres);
TEST_LOOPS_TOO;

#define FAR               (1200 * SECOND) /* more than host_grace */
#define HOST_GRACE        (300 * SECOND)
#define HEARTBEAT_OVERDUE (LEASE / 2 - SECOND) /* after this time the next heartbeat is overdue */

static atomic_int clock_notes; /* how often a worker has reported that the clock was set */

static void on_note(void *arg, const char *sentence)
{
    (void)arg;
    if (strstr(sentence, "the database's clock was set forward"))
        atomic_fetch_add(&clock_notes, 1);
}

/* Opens a worker on the given host: each state folder stands for one host. */
static void open_on_host(struct worker_kit *k, const char *host)
{
    struct err err = ERR_INIT;
    char *state = mem_printf("%s/%s", test_dir(), host);
    struct engine_options o = {.url = fixture_url(),
                               .tenant = fixture_tenant(),
                               .env = fixture_env(),
                               .state = state,
                               .lease = LEASE,
                               .host_grace = HOST_GRACE,
                               .loops = kit_loops()};

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    fixture_env()->note = on_note;
    *k = (struct worker_kit){.list = ledger_functions, .commands = true};
    CHECK_OK_ERR(engine_open(&o, kit_make, k, &k->engine, &err), &err);
    engine_on_end(k->engine, kit_ended, &k->ended);
    free(state);
}

static int64_t last_seen(struct store *s, const struct worker_kit *k)
{
    char sql[160];

    snprintf(sql, sizeof(sql),
             "SELECT CAST(extract(epoch FROM seen_at) * 1000000 AS bigint) FROM workers WHERE id = "
             "%" PRId64,
             engine_worker(k->engine));
    return sql_number(s, sql);
}

/* Waits until the worker's row has been renewed since `before`. */
static void await_heartbeat(struct store *s, struct worker_kit *k, int64_t before)
{
    KIT_UNTIL(k, last_seen(s, k) != before);
    kit_step(k);
}

/* Makes the worker's heartbeat due and waits for it. */
static void pass_heartbeat(struct store *s, struct worker_kit *k)
{
    int64_t before = last_seen(s, k);

    clock_advance(HEARTBEAT_OVERDUE);
    await_heartbeat(s, k, before);
}

/* Lets time pass in which both workers renew their leases. */
static void pass_heartbeat_of_both(struct store *s, struct worker_kit *a, struct worker_kit *b)
{
    int64_t before = last_seen(s, b);

    pass_heartbeat(s, a);
    await_heartbeat(s, b, before);
}

/* Lets several heartbeats pass: long enough for a worker to reap the leases of others. */
static void pass_heartbeats_of_both(struct store *s, struct worker_kit *a, struct worker_kit *b)
{
    for (int i = 0; i < 5; i++)
        pass_heartbeat_of_both(s, a, b);
}

static int64_t expired_leases(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11");
}

/* The worker without jobs is the first to see the new time; it must not reap leases by it. */
static void check_clock_set_forward(bool command, const char *host, const char *other)
{
    struct store *s = fixture_store();
    struct worker_kit a, b;
    int64_t id, before;

    open_on_host(&a, host);
    id = submit_with(s, ledger_job(command, "wait", 4));
    KIT_UNTIL(&a, ledger_begun(id));
    open_on_host(&b, other);
    pass_heartbeats_of_both(s, &a, &b);
    CHECK_EQ(expired_leases(s), 0);
    before = last_seen(s, &a);
    clock_set(FAR);
    clock_advance(HEARTBEAT_OVERDUE);
    KIT_UNTIL(&b, atomic_load(&clock_notes) || expired_leases(s));
    for (int i = 0; i < 3; i++)
        kit_step(&b);
    CHECK_EQ(expired_leases(s), 0);
    await_heartbeat(s, &a, before);
    pass_heartbeats_of_both(s, &a, &b);
    CHECK_EQ(expired_leases(s), 0);
    ledger_go();
    KIT_UNTIL(&a, status_is_terminal(status_of(s, id)));
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_EQ(get(s, id).attempts, 1);
    ledger_check(s, id);
    engine_close(&a.engine);
    engine_close(&b.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(running_command_is_not_adopted_by_another_host_when_the_clock_is_set_forward)
{
    check_clock_set_forward(true, "first", "second");
}

TEST(worker_that_runs_functions_is_not_killed_when_the_clock_is_set_forward)
{
    check_clock_set_forward(false, "first", "first");
}

/* The job of a host that is gone waits for the whole host_grace, by the clocks of the remaining
 * hosts: the fence of the lost host goes by its own clock, too. */
static void check_adoption_by_other_host(bool reaped_before)
{
    struct store *s = fixture_store();
    struct worker_kit a, b;
    int64_t id, waited = 0, before = reaped_before ? 2 * LEASE : 0;

    open_on_host(&a, "first");
    id = submit_with(s, ledger_job(false, "wait", 4));
    KIT_UNTIL(&a, ledger_begun(id));
    open_on_host(&b, "second");
    pass_heartbeats_of_both(s, &a, &b);
    engine_close(&a.engine); /* without notice, as if it had died */
    for (; waited < before; waited += HEARTBEAT_OVERDUE)
        pass_heartbeat(s, &b);
    CHECK_EQ(expired_leases(s), reaped_before);
    clock_set(FAR);
    for (; !strstr(history(s, id), "adopted"); waited += HEARTBEAT_OVERDUE) {
        pass_heartbeat(s, &b);
        CHECK(waited < LEASE + HOST_GRACE + 4 * LEASE);
    }
    CHECK(waited > HOST_GRACE);
    ledger_go();
    while (!status_is_terminal(status_of(s, id)))
        kit_pass(&b, SECOND);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_EQ(get(s, id).attempts, 2);
    engine_close(&b.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(job_of_a_dead_host_is_adopted_after_host_grace_when_the_clock_is_set_forward)
{
    check_adoption_by_other_host(false);
}

TEST(host_grace_in_progress_is_not_shortened_when_the_clock_is_set_forward)
{
    check_adoption_by_other_host(true);
}

/* ---- the clock is set between the reaper's read and its turn ---- */

static atomic_bool armed, heartbeat_has_read;
static pthread_t stepping; /* steps the engine; the heartbeat, which reads, has its own thread */

static void set_clock_in_next_turn(void *arg, const char *where)
{
    (void)arg;
    if (!pthread_equal(pthread_self(), stepping))
        heartbeat_has_read = heartbeat_has_read || !strcmp(where, "committed");
    else if (heartbeat_has_read && !strcmp(where, "turn_write") && atomic_exchange(&armed, false))
        clock_set(FAR);
}

TEST(live_worker_keeps_its_leases_if_the_clock_is_set_between_the_reapers_read_and_its_turn)
{
    struct store *s = fixture_store();
    struct worker_kit a, b;
    struct held_job dead;
    int64_t id, before, left = submit(s, "exec::left");

    dead = claim_job(s, 77);
    open_on_host(&a, "first");
    id = submit_with(s, ledger_job(true, "wait", 4));
    KIT_UNTIL(&a, ledger_begun(id));
    open_on_host(&b, "second");
    for (int i = 0; i < 5; i++) {
        pass_heartbeat_of_both(s, &a, &b);
        CHECK_OK(heartbeat(s, dead));
    }
    pass_heartbeat_of_both(s, &a, &b);
    pass_heartbeat_of_both(s, &a, &b);
    before = last_seen(s, &a);
    stepping = pthread_self();
    fixture_env()->point = set_clock_in_next_turn;
    atomic_store(&armed, true);
    clock_advance(HEARTBEAT_OVERDUE); /* only the dead worker's lease has expired */
    KIT_UNTIL(&b, !atomic_load(&armed));
    kit_step(&b);
    CHECK_EQ(expired_leases(s), 0);
    await_heartbeat(s, &a, before);
    while (!strstr(history(s, left), "lease_expired"))
        pass_heartbeat_of_both(s, &a, &b);
    CHECK_EQ(expired_leases(s), 1);
    ledger_go();
    KIT_UNTIL(&a, status_is_terminal(status_of(s, id)));
    CHECK_EQ(get(s, id).attempts, 1);
    engine_close(&a.engine);
    engine_close(&b.engine);
    verify_clean(s);
    store_close(&s);
}
