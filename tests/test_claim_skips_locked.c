/* test_claim_skips_locked.c - a claim passes over what another turn has locked. That one may leave
 * it as it was, or be undone, and says nothing then: so whoever passed it over has to know, and
 * look again. On SQLite nobody holds anything beside a turn. */
#include "heartbeat_fixture.h"
#include "retention_fixture.h"

#include "store/turn.h"

TEST_ONLY_DB(postgres);
TEST_POLL_TOO;
TEST_LOOPS_TOO;

/* ---- claims ---- */

struct attempted {
    size_t max, n;
    bool skipped_locked;
};

static int attempt_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"nobody", "default"}, {"process", "default"}};
    struct attempted *l = arg;
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
    return rc ? rc : err_set(err, E_INVALID, "it was only a look");
}

/* What a claim would take, and whether others hold something. */
static struct attempted attempt(struct store *s, size_t max)
{
    struct attempted l = {.max = max};
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, attempt_body, &l, &err), -E_INVALID);
    return l;
}

struct holding {
    int64_t id;
    void (*meanwhile)(void *arg);
    void *arg;
};

static int hold_body(struct turn *t, void *arg, struct err *err)
{
    struct holding *h = arg;
    struct row_ref row_ref = {.id = h->id, .root = h->id};
    int rc = turn_load(t, &row_ref, 1, err);

    CHECK_EQ(row_ref.rc, 0);
    if (!rc)
        h->meanwhile(h->arg);
    return rc;
}

/* While another turn has locked the job, which it leaves as it was. */
static void while_held(struct store *s, int64_t id, void (*meanwhile)(void *arg), void *arg)
{
    struct holding h = {.id = id, .meanwhile = meanwhile, .arg = arg};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hold_body, &h, &err), &err);
}

static void one_of_three_is_held(void *other)
{
    struct attempted all = attempt(other, 3), two = attempt(other, 2);

    CHECK_EQ(all.n, 2);
    CHECK(all.skipped_locked);
    CHECK_EQ(two.n, 2); /* there was enough beside it */
    CHECK(!two.skipped_locked);
}

static void the_only_one_is_held(void *other)
{
    struct attempted l = attempt(other, 10);

    CHECK_EQ(l.n, 0);
    CHECK(l.skipped_locked);
}

TEST(a_claim_tells_what_others_hold_from_nothing)
{
    struct store *s = fixture_store(), *other = fixture_store();
    int64_t id;

    CHECK(!attempt(s, 3).skipped_locked);
    id = submit(s, "a");
    CHECK(!attempt(s, 3).skipped_locked);
    while_held(s, id, the_only_one_is_held, other);
    submit(s, "b");
    submit(s, "c");
    while_held(s, id, one_of_three_is_held, other);
    CHECK_EQ(attempt(s, 4).n, 3);
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

static void it_finds_nothing_and_is_not_drained(void *arg)
{
    struct worker_kit *k = arg;
    int i;

    for (i = 0; i < 50; i++) {
        kit_step(k);
        CHECK(!engine_is_drained(k->engine));
    }
    CHECK_EQ(k->ended, 0);
}

TEST(a_worker_looks_again_for_what_another_turn_left_as_it_was)
{
    static const struct kit_function functions[] = {{"noop", noop, NULL}, {NULL, NULL, NULL}};
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "noop", NULL);

    kit_open_asleep(&k); /* so that no heartbeat finds it */
    while_held(s, id, it_finds_nothing_and_is_not_drained, &k);
    kit_until_ended(&k, 1);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- retention ---- */

static void what_stays_is_not_held(void *other)
{
    struct attempted l = attempt(other, 10);

    CHECK_EQ(l.n, 2);
    CHECK(!l.skipped_locked);
}

static int retain_and_wait(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = DAY, .max_trees = 100}, to;
    int rc = op_retain(t, &from, &to, err);

    CHECK_EQ(to.trees, 1);
    what_stays_is_not_held(arg);
    return rc;
}

TEST(retention_holds_nothing_that_stays)
{
    struct store *s = fixture_store(), *other = fixture_store();
    struct err err = ERR_INIT;

    submit(s, "old");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    submit(s, "old and waiting");
    clock_advance(2 * DAY);
    submit(s, "new");
    CHECK_OK_ERR(store_long_turn(s, retain_and_wait, other, &err), &err);
    CHECK_EQ(attempt(s, 10).n, 2);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}
