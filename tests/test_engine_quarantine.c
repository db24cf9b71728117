/* test_engine_quarantine.c - waiting jobs and orphans whose claim or adoption the database refuses:
 * a worker quarantines them, runs all others, and tries them again later. */
#include "engine_refusal_fixture.h"
#include "heartbeat_fixture.h"

#include <sys/wait.h>

TEST_LONG;
TEST_POLL_TOO;
TEST_LOOPS_TOO;

#define MOST 40

static const struct kit_function functions[] = {{"noop", kit_noop, NULL}, {NULL, NULL, NULL}};

/* Lets another worker claim all `n` jobs and die. */
static void orphan_all(int n)
{
    static atomic_int running;
    const struct kit_function slow[] = {{"noop", kit_waits, &running}, {NULL, NULL, NULL}};
    struct worker_kit k = {.list = slow, .threads = MOST};
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (!pid) {
        struct store *s = fixture_store();

        kit_open(&k);
        KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM executions WHERE status = 3") == n);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* A way in which a worker gets jobs, and the message about a job that it can't get. */
struct way {
    bool orphans, reaped; /* reaped: their leases expired before their worker was found dead */
    const char *when, *words;
};
#define REFUSED_ADOPTION "NEW.name = 'exec::bad' AND NEW.epoch = 2"
static const struct way claims = {false, false, "NEW.name = 'exec::bad' AND NEW.status = 3",
                                  "claiming"};
static const struct way adoptions = {true, false, REFUSED_ADOPTION, "adopting"};
static const struct way reaped = {true, true, REFUSED_ADOPTION, "adopting"};

static int64_t submit_named(struct store *s, const char *name)
{
    return submit_with(
        s, (struct submission){.name = name, .lane = "function:noop", .max_attempts = 2});
}

/* Submits `before` good jobs, `bad` bad ones and `after` good ones; returns the last bad one. */
static int64_t prepare(const struct way *way, int before, int bad, int after)
{
    struct store *s = fixture_store();
    int64_t last_bad = 0;
    int i;

    for (i = 0; i < before; i++)
        submit_named(s, "exec::good");
    for (i = 0; i < bad; i++)
        last_bad = submit_named(s, "exec::bad");
    for (i = 0; i < after; i++)
        submit_named(s, "exec::good");
    store_close(&s);
    if (way->orphans)
        orphan_all(before + bad + after);
    s = fixture_store();
    if (way->reaped) {
        clock_advance(2 * LEASE);
        CHECK_EQ(reap(s), (size_t)(before + bad + after));
    }
    refuse_write(s, "UPDATE ON executions", way->when);
    store_close(&s);
    return last_bad;
}

/* Orphans are run again after a while: time has to pass. */
static void until_succeeded(struct worker_kit *k, struct store *s, int n)
{
    while (sql_number(s, "SELECT count(*) FROM executions WHERE status = 4") < n)
        kit_pass(k, SECOND / 10);
}

static void check_one_bad_job(const struct way *way, int before, int after)
{
    int64_t bad = prepare(way, before, 1, after);
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    char name[64];

    fixture_env()->note = keep_message;
    kit_open(&k);
    until_succeeded(&k, s, before + after);
    KIT_UNTIL(&k, engine_is_drained(k.engine) && message[0]);
    fixture_env()->note = NULL;
    snprintf(name, sizeof(name), "%s execution %lld failed", way->words, (long long)bad);
    CHECK(strstr(message, name));
    CHECK(strstr(message, "not today"));
    CHECK_EQ(status_of(s, bad), way->orphans ? S_RUNNING : S_READY);
    verify_clean(s);

    allow_write(s, "executions");
    clock_advance(61 * SECOND);
    until_succeeded(&k, s, before + after + 1);
    CHECK_EQ(get(s, bad).attempts, way->orphans ? 2 : 1); /* a refused claim is not an attempt */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(job_that_cannot_be_claimed_does_not_block_later_jobs)
{
    check_one_bad_job(&claims, 0, 9);
}

TEST(job_that_cannot_be_claimed_is_isolated_by_bisection)
{
    check_one_bad_job(&claims, 3, 3);
}

TEST(single_job_that_cannot_be_claimed_is_quarantined)
{
    check_one_bad_job(&claims, 0, 0);
}

static void count_stored(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    ++*(int *)arg;
}

/* Each step submits more jobs than are stored while the bisection tries one after the other. */
TEST(job_that_cannot_be_claimed_is_found_by_bisection_while_other_jobs_are_submitted)
{
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::good", .lane = "function:noop", .task_index = -1};
    struct worker_kit k = {.list = functions};
    int64_t bad = prepare(&claims, 0, 1, 0);
    struct store *s = fixture_store();
    int n, stored = 0;

    fixture_env()->note = keep_message;
    kit_open(&k);
    for (n = 0; n < 300 && !message[0]; n += 3) {
        for (int i = 0; i < 3; i++)
            engine_submit(k.engine, &sub, count_stored, &stored);
        kit_step(&k);
    }
    fixture_env()->note = NULL;
    CHECK(strstr(message, "claiming execution"));
    KIT_UNTIL(&k, stored == n);
    until_succeeded(&k, s, n);
    CHECK_EQ(status_of(s, bad), S_READY);
    allow_write(s, "executions");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(orphan_that_cannot_be_adopted_does_not_block_later_orphans)
{
    check_one_bad_job(&adoptions, 0, 9);
}

TEST(orphan_that_cannot_be_adopted_is_isolated_by_bisection)
{
    check_one_bad_job(&adoptions, 3, 3);
}

TEST(single_orphan_that_cannot_be_adopted_is_quarantined)
{
    check_one_bad_job(&adoptions, 0, 0);
}

TEST(reaped_orphan_that_cannot_be_adopted_is_isolated_by_bisection)
{
    check_one_bad_job(&reaped, 3, 3);
}

/* If every job fails, the database is at fault. */
static void check_all_bad(const struct way *way)
{
    struct worker_kit k = {.list = functions};

    prepare(way, 0, 30, 0);
    kit_open(&k);
    check_ends_refused(&k, fixture_store());
}

TEST(worker_ends_with_the_error_if_every_claim_fails)
{
    check_all_bad(&claims);
}

TEST(worker_ends_with_the_error_if_every_adoption_fails)
{
    check_all_bad(&adoptions);
}
