/* test_concurrent_waits.c - a turn that waited for a lock goes by the state at the moment when it
 * got the lock: the time then, and the lease as the other turn left it. */
#include "concurrent_turns_fixture.h"

/* Another process locks the row for a while. A turn that waited for it must use the time when the
 * row became free, not when it started to wait: otherwise it would write a lease that is partly
 * over already. */
#define WAIT_US 400000 /* less than the lock timeout */

static struct {
    struct shared_flag locked;
    _Atomic int64_t freed_at; /* by the database's clock */
    struct held_job job;
} * waiting;

/* Uses its own statement on PostgreSQL, because the test is about how turns read the time. */
static int database_time(struct turn *t, struct err *err)
{
    static const struct stmt now = {
        .name = "database_time",
        .sql = {[DIALECT_SQLITE] = "SELECT 0",
                [DIALECT_POSTGRES] =
                    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"}};
    struct args a = {.stmt = &now};
    struct rows r = ROWS_INIT;
    int rc = turn_query(t, &a, &r, err);

    if (!rc)
        waiting->freed_at = on_sqlite() ? turn_now(t) : rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int hold_row(struct turn *t, void *arg, struct err *err)
{
    const char *table = arg;
    int rc = lock_row(t, table, waiting->job.id, err);

    if (rc)
        return rc;
    flag_set(&waiting->locked);
    clock_sleep_us(WAIT_US);
    return database_time(t, err);
}

static void hold_for_a_while(struct store *s, const char *table)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hold_row, (void *)(uintptr_t)table, &err), &err);
}

static void renew_after_a_wait(int nth)
{
    struct store *s = fixture_store();

    if (nth == 0) {
        hold_for_a_while(s, "leases");
    } else {
        flag_await(&waiting->locked);
        CHECK_EQ(heartbeat(s, waiting->job), 0);
    }
    store_close(&s);
}

static int retry_in_a_minute(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = waiting->job;
    struct settlement s = {
        .lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
        .outcome = {
            .kind = OUTCOME_FAILED, .error = "no", .duration = 1, .retry_delay = 60 * SECOND}};
    int rc = op_settle(t, j.worker, &s, 1, err);

    (void)arg;
    CHECK(rc || !s.lease.rc);
    return rc;
}

static void settle_after_a_wait(int nth)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    if (nth == 0) {
        hold_for_a_while(s, "executions");
    } else {
        flag_await(&waiting->locked);
        CHECK_OK_ERR(store_turn_waiting(s, retry_in_a_minute, NULL, &err), &err);
    }
    store_close(&s);
}

static struct store *run_with_one_job(void (*body)(int nth))
{
    struct store *s = fixture_store();

    waiting = shared_memory(sizeof(*waiting));
    submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    waiting->job = claim_job(s, 1);
    store_close(&s);
    run_processes(2, body);
    return fixture_store();
}

TEST(lease_renewed_after_a_lock_wait_has_its_full_length)
{
    struct store *s = run_with_one_job(renew_after_a_wait);

    CHECK(get(s, waiting->job.id).until >= waiting->freed_at + LEASE);
    verify_clean(s);
    store_close(&s);
}

static int next_timer_body(struct turn *t, void *arg, struct err *err)
{
    struct timer_slice r = {.max = 100};
    int rc = op_fire_timers(t, &r, err);

    *(int64_t *)arg = r.next;
    return rc;
}

TEST(retry_delay_after_a_lock_wait_has_its_full_length)
{
    struct store *s = run_with_one_job(settle_after_a_wait);
    struct err err = ERR_INIT;
    int64_t due = 0;

    CHECK(get(s, waiting->job.id).updated_at >= waiting->freed_at);
    CHECK_OK_ERR(store_turn(s, next_timer_body, &due, &err), &err);
    CHECK(due >= waiting->freed_at + 60 * SECOND);
    verify_clean(s);
    store_close(&s);
}

/* The reaper has changed the job and not yet committed. A turn that waits for the job must see the
 * lease as the reaper left it. */
static void hold_until_the_other_waits(void *observer)
{
    hold_until_they_wait(observer, 1);
}

static int settle_reaped_body(struct turn *t, void *arg, struct err *err)
{
    struct settlement *s = arg;

    return op_settle(t, scene->up[0].worker, s, 1, err);
}

static void reap_and_hold(struct store *s, struct watch *w, struct store *observer)
{
    watch_for(w, "commit", 1, hold_until_the_other_waits, observer);
    CHECK_EQ(reap(s), 1);
}

static void settle_too_late(struct store *s, int nth)
{
    struct held_job j = scene->up[0];
    struct settlement end = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                             .outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    struct err err = ERR_INIT;

    (void)nth;
    CHECK_OK_ERR(store_turn_waiting(s, settle_reaped_body, &end, &err), &err);
    CHECK_EQ(end.lease.rc, -E_LEASE_LOST);
}

TEST(settle_that_waited_for_the_reapers_lock_is_refused)
{
    struct store *s = fixture_store();

    scene = shared_memory(sizeof(*scene));
    submit(s, "x");
    scene->up[0] = claim_job(s, 1);
    store_close(&s);
    clock_advance(LEASE + SECOND);
    run_in_line(2, reap_and_hold, settle_too_late);
    s = fixture_store();
    CHECK_STR(history(s, scene->up[0].id), "created marked_ready claimed lease_expired");
    verify_clean(s);
    store_close(&s);
}
