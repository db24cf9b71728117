/* test_limits_race.c - limits while several threads change them, claim and settle at once. */
#include "limit_fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

TEST_LONG;

/* ---- two turns at once ---- */

/* Another thread with its own store, stopped in the middle of a turn that has taken its locks:
 * before the statement `at`, or at the end of the body. It continues when the test signals it, or
 * after a moment: on a database with one writer all others wait for it until then, and the outcome
 * must be the same. */
struct other {
    struct env env;
    struct store *store;
    pthread_t thread;
    sem_t locked, go;
    int (*act)(struct turn *t, struct other *o, struct err *err);
    const char *at;
    int64_t id[2];
    bool give_up; /* the turn is rolled back at its end */
    bool waited;
    int rc;
};

static void other_wait(struct other *o)
{
    struct timespec until;

    if (o->waited)
        return;
    o->waited = true;
    sem_post(&o->locked);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 400000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(&o->go, &until);
}

static void other_point(void *arg, const char *where)
{
    struct other *o = arg;

    if (o->at && !strcmp(where, o->at))
        other_wait(o);
}

static int other_body(struct turn *t, void *arg, struct err *err)
{
    struct other *o = arg;
    int rc = o->act(t, o, err);

    if (!rc)
        other_wait(o);
    return !rc && o->give_up ? err_set(err, E_INVALID, "on purpose") : rc;
}

static void *other_run(void *arg)
{
    struct other *o = arg;
    struct err err = ERR_INIT;

    o->rc = store_turn(o->store, other_body, o, &err);
    return NULL;
}

static void other_start(struct other *o)
{
    struct store_options options = {.env = &o->env};
    struct err err = ERR_INIT;

    o->env = (struct env){.clock_offset = fixture_env()->clock_offset,
                          .long_timeouts = true,
                          .point = other_point,
                          .arg = o};
    CHECK_OK_ERR(store_open(fixture_url(), fixture_tenant(), &options, &o->store, &err), &err);
    sem_init(&o->locked, 0, 0);
    sem_init(&o->go, 0, 0);
    CHECK_OK(pthread_create(&o->thread, NULL, other_run, o));
    sem_wait(&o->locked);
}

static void other_finish(struct other *o)
{
    sem_post(&o->go);
    pthread_join(o->thread, NULL);
    store_close(&o->store);
    CHECK_EQ(o->rc, o->give_up ? -E_INVALID : 0);
}

/* Locks both executions and changes nothing: neither of them is paused. */
static int lock_only(struct turn *t, struct other *o, struct err *err)
{
    struct request r[2] = {{.execution = o->id[0]}, {.execution = o->id[1]}};
    bool more;
    int rc = op_resume(t, r, o->id[1] ? 2 : 1, 1000, &more, err);

    CHECK_EQ(r[0].rc, -E_INVALID);
    return rc;
}

/* Locks both executions and cancels the first. */
static int cancel_first(struct turn *t, struct other *o, struct err *err)
{
    struct request r = {.execution = o->id[0]};
    bool more;
    int rc = lock_only(t, o, err);

    return rc ? rc : op_cancel(t, &r, 1, 1000, &more, err);
}

static int claim_two(struct turn *t, struct other *o, struct err *err)
{
    static const struct lane_queue serves = {"process", "default"};
    struct claim claim = {.worker = 9,
                          .folder = "folder-a",
                          .lease = LEASE,
                          .serves = &serves,
                          .nserves = 1,
                          .max = 2};
    struct job_list jobs;

    (void)o;
    return op_claim(t, &claim, &jobs, err);
}

TEST(permit_whose_only_waiter_is_locked_is_offered_again)
{
    struct store *s = fixture_store();
    struct other o = {.act = lock_only, .at = "lock_limits"};
    struct held_job j;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    o.id[0] = submit(s, "b");
    j = claim_job(s, 1);
    other_start(&o);
    CHECK_EQ(settle_ok(s, j), 0); /* does not wait for the other turn */
    verify_clean(s);              /* no job holds the permit, and a timer is due for it */
    other_finish(&o);
    run_timers(s);
    check_claimable(s, o.id[0]);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(permit_is_not_lost_when_the_waiter_it_is_offered_to_is_cancelled)
{
    struct store *s = fixture_store();
    struct other o = {.act = cancel_first, .at = "lock_limits"};
    struct held_job j;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    o.id[0] = submit(s, "b");
    o.id[1] = submit(s, "c");
    j = claim_job(s, 1);
    other_start(&o);
    CHECK_EQ(settle_ok(s, j), 0);
    other_finish(&o);
    run_timers(s);
    CHECK_EQ(status_of(s, o.id[0]), S_CANCELLED);
    check_claimable(s, o.id[1]);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(limit_is_not_removed_before_its_last_waiter_is_admitted)
{
    struct store *s = fixture_store();
    struct other o = {.act = lock_only, .at = "lock_limits"};
    struct limit_change c = {.key = QUEUE, .max = -1};
    struct err err = ERR_INIT;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    o.id[0] = submit(s, "b");
    other_start(&o);
    CHECK_OK_ERR(store_turn(s, limit_body, &c, &err), &err);
    other_finish(&o);
    if (c.more)
        set_limit(s, QUEUE, -1);
    check_claimable(s, o.id[0]);
    CHECK_EQ(used(s, QUEUE), -1);
    verify_clean(s);
    store_close(&s);
}

/* Another thread claims two of three jobs while the limit is lowered to one. */
static void check_lowered_during_claim(bool given_up, int left, int in_use)
{
    struct store *s = fixture_store();
    struct other o = {.act = claim_two, .give_up = given_up};
    struct limit_change c = {.key = QUEUE, .max = 1};
    struct err err = ERR_INIT;

    submit_batch(s, 3, NULL);
    other_start(&o);
    CHECK_OK_ERR(store_turn(s, limit_body, &c, &err), &err);
    other_finish(&o);
    if (c.more)
        set_limit(s, QUEUE, 1);
    CHECK_EQ(claimable(s), left);
    CHECK_EQ(used(s, QUEUE), in_use);
    verify_clean(s);
    store_close(&s);
}

TEST(rolled_back_claim_leaves_no_job_beyond_a_limit_that_was_lowered_meanwhile)
{
    check_lowered_during_claim(true, 1, 1);
}

TEST(committed_claim_counts_against_a_limit_that_was_lowered_meanwhile)
{
    check_lowered_during_claim(false, 0, 2);
}

/* ---- many workers ---- */

enum { WORKERS = 4, JOBS = 160, LIMIT = 3 };

static atomic_int running, done;

static void *work(void *arg)
{
    struct store *s = arg;
    struct held_job j;

    while (done < JOBS) {
        if (!claim_one(s, (int64_t)(intptr_t)s, &j)) {
            run_timers(s);
            continue;
        }
        CHECK(++running <= LIMIT);
        running--;
        CHECK_EQ(settle_as(s, j, j.id % 3 ? OUTCOME_OK : OUTCOME_FAILED, -1), 0);
        done++;
    }
    return NULL;
}

TEST(concurrent_workers_never_exceed_a_limit_and_leave_no_job_waiting)
{
    struct store *s = fixture_store(), *own[WORKERS];
    pthread_t threads[WORKERS];
    int i;

    set_limit(s, QUEUE, LIMIT);
    for (i = 0; i < WORKERS; i++)
        own[i] = fixture_store();
    submit_with(s,
                (struct submission){.name = "x", .concurrency = "k", .concurrency_max = LIMIT - 1});
    submit_batch(s, JOBS / 2 - 1, "k");
    submit_batch(s, JOBS / 2, NULL);
    for (i = 0; i < WORKERS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, work, own[i]));
    for (i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        store_close(&own[i]);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status >= 4"), JOBS);
    CHECK_EQ(used(s, QUEUE), 0);
    CHECK_EQ(used(s, "key:k"), 0);
    verify_clean(s);
    store_close(&s);
}
