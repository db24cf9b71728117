/* test_scale_turns.c - the cost of a turn does not grow with the size of the database
 * (scale_fixture.h). The cost of queries is measured in test_scale.c. */
#include "scale_fixture.h"

TEST_ASAN_DB(sqlite); /* the test measures the database, not this program */
FRESH_TENANTS;

static void do_submit(struct scale *w)
{
    MEASURE(w->s, submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere"}));
}

static void do_submit_keyed(struct scale *w)
{
    char key[32];

    snprintf(key, sizeof(key), "%lld", (long long)env_random_id());
    MEASURE(w->s, submit_with(w->s, (struct submission){.name = "x",
                                                        .queue = "elsewhere",
                                                        .key = key,
                                                        .concurrency = "one",
                                                        .concurrency_max = 1000000}));
}

/* Two queues with thousands of jobs and two that are empty. */
static void do_claim(struct scale *w)
{
    static struct work work;

    work = (struct work){.serves = {{"process", BACKLOG},
                                    {"container", BACKLOG},
                                    {"process", "empty"},
                                    {"nothing", "empty"}},
                         .nserves = 4,
                         .max = 10};
    MEASURE(w->s, claim(w->s, &work));
    CHECK_EQ(work.n, 10);
    settle(w->s, &work);
}

static void do_claim_of_empty_queue(struct scale *w)
{
    static struct work work;

    work = (struct work){.serves = {{"process", "empty"}}, .nserves = 1, .max = 10};
    MEASURE(w->s, claim(w->s, &work));
    CHECK_EQ(work.n, 0);
}

static struct held_job one_job(struct store *s)
{
    int64_t id = submit_with(s, (struct submission){.name = "x", .priority = 100});
    struct held_job j = claim_job(s, 7);

    CHECK_EQ(j.id, id);
    return j;
}

static void do_start(struct scale *w)
{
    struct held_job j = one_job(w->s);

    MEASURE(w->s, CHECK_EQ(start(w->s, j), 0));
    settle_ok(w->s, j);
}

static void do_heartbeat(struct scale *w)
{
    struct held_job j = one_job(w->s);

    MEASURE(w->s, CHECK_EQ(heartbeat(w->s, j), 0));
    settle_ok(w->s, j);
}

/* The first log chunk of an attempt, and a second one. */
static void do_log(struct scale *w)
{
    struct held_job j = one_job(w->s);
    struct work work = {.refs = {{.execution = j.id, .root = j.root, .epoch = j.epoch}}, .n = 1};

    MEASURE(w->s, store_logs(w->s, &work); store_logs(w->s, &work));
    settle_ok(w->s, j);
}

static void do_query_counters(struct scale *w)
{
    struct attempt_list queues = {0};
    struct worker_outcome_list workers = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_attempt_counts(w->s, &queues, &workers, &err), &err));
    attempt_list_release(&queues);
    worker_outcome_list_release(&workers);
}

static void do_settle(struct scale *w)
{
    struct held_job j = one_job(w->s);

    MEASURE(w->s, CHECK_EQ(settle_ok(w->s, j), 0));
}

static void do_retry_later(struct scale *w)
{
    struct held_job j;

    submit_with(w->s, (struct submission){.name = "x", .priority = 100, .max_attempts = 2});
    j = claim_job(w->s, 7);
    MEASURE(w->s, CHECK_EQ(settle_as(w->s, j, OUTCOME_FAILED, MINUTE), 0));
    cancel(w->s, j.id);
}

/* The permit goes to the first of all jobs that wait for the limit. */
static void do_pass_permit(struct scale *w)
{
    static struct work work;
    struct lane_queue narrow = {"process", NARROW};

    work = (struct work){.serves = {narrow}, .nserves = 1, .max = 1};
    claim(w->s, &work);
    CHECK_EQ(work.n, 1);
    MEASURE(w->s, settle(w->s, &work));
}

static void do_widen_and_narrow(struct scale *w)
{
    MEASURE(w->s, set_limit(w->s, LIMIT_OF, 4); set_limit(w->s, LIMIT_OF, 3));
}

static void do_hold(struct scale *w)
{
    int64_t id = submit(w->s, "x");

    MEASURE(w->s, hold(w->s, id); unhold(w->s, id));
    cancel(w->s, id);
}

static void do_cancel(struct scale *w)
{
    int64_t id = submit(w->s, "x");

    MEASURE(w->s, CHECK_EQ(cancel(w->s, id), 0));
}

static void do_timers(struct scale *w)
{
    submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere", .delay = MINUTE});
    clock_advance(MINUTE + 1);
    MEASURE(w->s, CHECK_EQ(run_timers(w->s), 1));
}

static void do_reap_and_adopt(struct scale *w)
{
    struct held_job j = one_job(w->s), adopted = j;

    clock_advance(LEASE + 1);
    MEASURE(w->s, reap(w->s); adopt_one(w->s, 8, &adopted));
    CHECK_EQ(adopted.epoch, 2);
    settle_ok(w->s, adopted);
}

static int tick_body(struct turn *t, void *arg, struct err *err)
{
    struct worker w = {.id = 7, .host = "h", .folder = "f", .version = "1", .capacity = 1};

    return op_worker_tick(t, &w, arg, err);
}

static void do_tick(struct scale *w)
{
    struct tick k;
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(store_light_turn(w->s, tick_body, &k, &err), &err));
}

struct retaining {
    struct retention from, to;
};

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retaining *r = arg;

    return op_retain(t, &r->from, &r->to, err);
}

static void do_retain(struct scale *w)
{
    struct retaining r = {
        .from = {.older_than = MINUTE / 2, .max_trees = 20, .after = w->retained}};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(store_turn(w->s, retain_body, &r, &err), &err));
    CHECK(r.to.more);
    w->retained = r.to.after;
}

static const struct scale_case turns[] = {
    {"submit", do_submit, 0},
    {"submit with keys", do_submit_keyed, 0},
    {"claim", do_claim, 0},
    {"claim of an empty queue", do_claim_of_empty_queue, 0},
    {"started", do_start, 0},
    {"heartbeat", do_heartbeat, 0},
    {"log", do_log, 0},
    /* one row for each bucket of times that is used, which depends on the speed of the machine */
    {"counters of attempts", do_query_counters, 5000},
    {"settle", do_settle, 0},
    {"settle with a retry", do_retry_later, 0},
    {"settle that passes a permit", do_pass_permit, 0},
    {"limit", do_widen_and_narrow, 0},
    {"hold, unhold", do_hold, 0},
    {"cancel", do_cancel, 0},
    {"timers", do_timers, 0},
    {"reap, adopt", do_reap_and_adopt, 0},
    {"worker_tick", do_tick, 0},
    {"retain", do_retain, 0},
};

TEST_SLOW(turn_costs_no_more_on_a_database_four_times_as_large, 1800)
{
    check_scale(turns, sizeof(turns) / sizeof(*turns));
}
