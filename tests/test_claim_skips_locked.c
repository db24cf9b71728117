/* test_claim_skips_locked.c - a claim skips rows that another turn has locked. That turn may leave
 * them unchanged, or roll back, and then notifies no worker; so the claim must report that it
 * skipped rows, and the worker must claim again. On SQLite no other turn can hold a lock during a
 * turn. */
#include "heartbeat_fixture.h"
#include "retention_fixture.h"

#include "store/turn.h"

TEST_ONLY_DB(postgres);
TEST_POLL_TOO;
TEST_LOOPS_TOO;

/* ---- claims ---- */

struct trial_claim {
    size_t max, n;
    bool skipped_locked;
};

static int trial_claim_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"nobody", "default"}, {"process", "default"}};
    struct trial_claim *l = arg;
    struct claim c = {.worker = 1,
                      .folder = "here",
                      .lease = LEASE,
                      .serves = serves,
                      .nserves = 2,
                      .max = l->max};
    struct job_list jobs;
    int rc = op_claim(t, &c, &jobs, err);

    l->n = jobs.n;
    l->skipped_locked = jobs.skipped_locked;
    return rc ? rc : err_set(err, E_INVALID, "the trial claim is rolled back");
}

/* Claims and rolls back. Returns how many jobs a claim would get, and whether it skipped locked
 * rows. */
static struct trial_claim try_claim(struct store *s, size_t max)
{
    struct trial_claim l = {.max = max};
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, trial_claim_body, &l, &err), -E_INVALID);
    return l;
}

struct locked_job {
    int64_t id;
    void (*meanwhile)(void *arg);
    void *arg;
};

static int lock_job_body(struct turn *t, void *arg, struct err *err)
{
    struct locked_job *h = arg;
    struct row_ref row_ref = {.id = h->id, .root = h->id};
    int rc = turn_load(t, &row_ref, 1, err);

    CHECK_EQ(row_ref.rc, 0);
    if (!rc)
        h->meanwhile(h->arg);
    return rc;
}

/* Calls meanwhile() while a turn has the job locked. That turn leaves the job unchanged. */
static void while_locked(struct store *s, int64_t id, void (*meanwhile)(void *arg), void *arg)
{
    struct locked_job h = {.id = id, .meanwhile = meanwhile, .arg = arg};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, lock_job_body, &h, &err), &err);
}

static void check_claims_while_one_of_three_is_locked(void *other)
{
    struct trial_claim all = try_claim(other, 3), two = try_claim(other, 2);

    CHECK_EQ(all.n, 2);
    CHECK(all.skipped_locked);
    CHECK_EQ(two.n, 2); /* enough other jobs were unlocked */
    CHECK(!two.skipped_locked);
}

static void check_claim_while_the_only_job_is_locked(void *other)
{
    struct trial_claim l = try_claim(other, 10);

    CHECK_EQ(l.n, 0);
    CHECK(l.skipped_locked);
}

TEST(claim_that_finds_too_few_jobs_reports_that_it_skipped_locked_rows)
{
    struct store *s = fixture_store(), *other = fixture_store();
    int64_t id;

    CHECK(!try_claim(s, 3).skipped_locked);
    id = submit(s, "a");
    CHECK(!try_claim(s, 3).skipped_locked);
    while_locked(s, id, check_claim_while_the_only_job_is_locked, other);
    submit(s, "b");
    submit(s, "c");
    while_locked(s, id, check_claims_while_one_of_three_is_locked, other);
    CHECK_EQ(try_claim(s, 4).n, 3);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

/* ---- workers ---- */

static int noop(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    return 0;
}

static void check_worker_finds_nothing_and_is_not_drained(void *arg)
{
    struct worker_kit *k = arg;
    int i;

    for (i = 0; i < 50; i++) {
        kit_step(k);
        CHECK(!engine_is_drained(k->engine));
    }
    CHECK_EQ(k->ended, 0);
}

TEST(worker_claims_a_skipped_job_after_the_row_lock_is_released)
{
    static const struct kit_function functions[] = {{"noop", noop, NULL}, {NULL, NULL, NULL}};
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "noop", NULL);

    kit_open_asleep(&k); /* so that no heartbeat finds the job */
    while_locked(s, id, check_worker_finds_nothing_and_is_not_drained, &k);
    kit_until_ended(&k, 1);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- retention ---- */

static void check_kept_jobs_are_unlocked(void *other)
{
    struct trial_claim l = try_claim(other, 10);

    CHECK_EQ(l.n, 2);
    CHECK(!l.skipped_locked);
}

static int retain_and_check_locks(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = DAY, .max_trees = 100}, to;
    int rc = op_retain(t, &from, &to, err);

    CHECK_EQ(to.trees, 1);
    check_kept_jobs_are_unlocked(arg);
    return rc;
}

TEST(retention_does_not_lock_trees_that_it_keeps)
{
    struct store *s = fixture_store(), *other = fixture_store();
    struct err err = ERR_INIT;

    submit(s, "old");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    submit(s, "old and waiting");
    clock_advance(2 * DAY);
    submit(s, "new");
    CHECK_OK_ERR(store_long_turn(s, retain_and_check_locks, other, &err), &err);
    CHECK_EQ(try_claim(s, 10).n, 2);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}
