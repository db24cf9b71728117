/* test_engine_clock.c - the clock of a PostgreSQL server is set while workers work. Leases are kept
 * in its time, so all of them look old at once; who lives must not lose any, and who does not is
 * still found, in the time that it takes otherwise. Hosts count their own time, which the tests
 * move apart from the server's. */
#include "heartbeat_fixture.h"
#include "ledger.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

TEST_ONLY_DB(postgres);
TEST_LOOPS_TOO;

#define FAR        (1200 * SECOND) /* more than host_grace */
#define HOST_GRACE (300 * SECOND)
#define BEAT       (LEASE / 2 - SECOND) /* the next heartbeat is overdue */

static atomic_int told; /* how often a worker has said that the clock was set */

static void on_note(void *arg, const char *sentence)
{
    (void)arg;
    if (strstr(sentence, "the database's clock was set forward"))
        atomic_fetch_add(&told, 1);
}

/* A worker on a host of its own: state folders are what tells hosts apart. */
static void open_on(struct worker_kit *k, const char *host)
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

/* It was seen since `before`. */
static void await_beat(struct store *s, struct worker_kit *k, int64_t before)
{
    KIT_UNTIL(k, last_seen(s, k) != before);
    kit_step(k);
}

/* Its heartbeat is due, and comes. */
static void beat(struct store *s, struct worker_kit *k)
{
    int64_t before = last_seen(s, k);

    clock_advance(BEAT);
    await_beat(s, k, before);
}

/* Time passes in which both renew what they have … */
static void live_for_a_beat(struct store *s, struct worker_kit *a, struct worker_kit *b)
{
    int64_t before = last_seen(s, b);

    beat(s, a);
    await_beat(s, b, before);
}

/* … long enough to judge others. */
static void live_for_a_while(struct store *s, struct worker_kit *a, struct worker_kit *b)
{
    for (int i = 0; i < 5; i++)
        live_for_a_beat(s, a, b);
}

static int64_t expired(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11");
}

/* The one that has nothing is the first to see the new time; it must not judge by it. */
static void set_forward_under(bool command, const char *host, const char *other)
{
    struct store *s = fixture_store();
    struct worker_kit a, b;
    int64_t id, before;

    open_on(&a, host);
    id = submit_with(s, ledger_job(command, "wait", 4));
    KIT_UNTIL(&a, ledger_begun(id));
    open_on(&b, other);
    live_for_a_while(s, &a, &b);
    CHECK_EQ(expired(s), 0);
    before = last_seen(s, &a);
    clock_set(FAR);
    clock_advance(BEAT);
    KIT_UNTIL(&b, atomic_load(&told) || expired(s));
    for (int i = 0; i < 3; i++)
        kit_step(&b);
    CHECK_EQ(expired(s), 0);
    await_beat(s, &a, before);
    live_for_a_while(s, &a, &b);
    CHECK_EQ(expired(s), 0);
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

TEST(another_host_takes_nothing_over_because_the_servers_clock_was_set_forward)
{
    set_forward_under(true, "first", "second");
}

TEST(a_worker_whose_leases_look_old_by_a_new_clock_is_not_killed_for_its_functions)
{
    set_forward_under(false, "first", "first");
}

/* What ran on a host that is gone waits for all of host_grace, by the clocks of those who are
 * there: its fence goes by its own clock, too. */
static void taken_over_after(bool reaped_before)
{
    struct store *s = fixture_store();
    struct worker_kit a, b;
    int64_t id, waited = 0, before = reaped_before ? 2 * LEASE : 0;

    open_on(&a, "first");
    id = submit_with(s, ledger_job(false, "wait", 4));
    KIT_UNTIL(&a, ledger_begun(id));
    open_on(&b, "second");
    live_for_a_while(s, &a, &b);
    engine_close(&a.engine); /* without a word, as if it had died */
    for (; waited < before; waited += BEAT)
        beat(s, &b);
    CHECK_EQ(expired(s), reaped_before);
    clock_set(FAR);
    for (; !strstr(history(s, id), "adopted"); waited += BEAT) {
        beat(s, &b);
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

TEST(a_dead_hosts_work_is_taken_over_in_its_time_though_the_servers_clock_was_set_forward)
{
    taken_over_after(false);
}

TEST(host_grace_that_has_begun_is_not_cut_short_by_a_clock_that_was_set_forward)
{
    taken_over_after(true);
}

/* ---- between the look and the deed ---- */

static atomic_bool armed, looked;
static pthread_t stepping; /* the heartbeat, which looks, has a thread of its own */

static void set_in_the_next_turn(void *arg, const char *where)
{
    (void)arg;
    if (!pthread_equal(pthread_self(), stepping))
        looked = looked || !strcmp(where, "committed");
    else if (looked && !strcmp(where, "turn_write") && atomic_exchange(&armed, false))
        clock_set(FAR);
}

TEST(a_clock_that_is_set_between_the_reapers_look_and_its_turn_costs_nobody_a_lease)
{
    struct store *s = fixture_store();
    struct worker_kit a, b;
    struct held_job dead;
    int64_t id, before, left = submit(s, "exec::left");

    dead = claim_job(s, 77);
    open_on(&a, "first");
    id = submit_with(s, ledger_job(true, "wait", 4));
    KIT_UNTIL(&a, ledger_begun(id));
    open_on(&b, "second");
    for (int i = 0; i < 5; i++) {
        live_for_a_beat(s, &a, &b);
        CHECK_OK(heartbeat(s, dead));
    }
    live_for_a_beat(s, &a, &b);
    live_for_a_beat(s, &a, &b);
    before = last_seen(s, &a);
    stepping = pthread_self();
    fixture_env()->point = set_in_the_next_turn;
    atomic_store(&armed, true);
    clock_advance(BEAT); /* the dead one's lease has run out, and that alone */
    KIT_UNTIL(&b, !atomic_load(&armed));
    kit_step(&b);
    CHECK_EQ(expired(s), 0);
    await_beat(s, &a, before);
    while (!strstr(history(s, left), "lease_expired"))
        live_for_a_beat(s, &a, &b);
    CHECK_EQ(expired(s), 1);
    ledger_go();
    KIT_UNTIL(&a, status_is_terminal(status_of(s, id)));
    CHECK_EQ(get(s, id).attempts, 1);
    engine_close(&a.engine);
    engine_close(&b.engine);
    verify_clean(s);
    store_close(&s);
}
