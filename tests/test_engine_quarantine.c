/* test_engine_quarantine.c - jobs that wait, or whose worker died, and that the database refuses
 * to give out: a worker sets them aside, runs all others, and tries them again later. */
#include "engine_refusal_fixture.h"
#include "heartbeat_fixture.h"

#include <sys/wait.h>

TEST_POLL_TOO;
TEST_LOOPS_TOO;

#define MOST 40

static const struct kit_function functions[] = {{"noop", kit_noop, NULL}, {NULL, NULL, NULL}};

/* Another worker has claimed all of them, and is gone. */
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

/* How jobs come to be given out, and what a worker says who can't have one. */
struct way {
    bool orphans, reaped; /* reaped: nobody knows that their worker is gone */
    const char *when, *words;
};
#define REFUSED_ADOPTION "NEW.name = 'exec::bad' AND NEW.epoch = 2"
static const struct way claims = {false, false, "NEW.name = 'exec::bad' AND NEW.status = 3",
                                  "claimed"};
static const struct way adoptions = {true, false, REFUSED_ADOPTION, "adopted"};
static const struct way reaped = {true, true, REFUSED_ADOPTION, "adopted"};

static int64_t submit_named(struct store *s, const char *name)
{
    return submit_with(
        s, (struct submission){.name = name, .lane = "function:noop", .max_attempts = 2});
}

/* So many good ones before the bad one, and behind it; the bad one is returned. */
static int64_t prepare(const struct way *way, int before, int bad, int behind)
{
    struct store *s = fixture_store();
    int64_t first = 0;
    int i;

    for (i = 0; i < before; i++)
        submit_named(s, "exec::good");
    for (i = 0; i < bad; i++)
        first = submit_named(s, "exec::bad");
    for (i = 0; i < behind; i++)
        submit_named(s, "exec::good");
    store_close(&s);
    if (way->orphans)
        orphan_all(before + bad + behind);
    s = fixture_store();
    if (way->reaped) {
        clock_advance(2 * LEASE);
        CHECK_EQ(reap(s), (size_t)(before + bad + behind));
    }
    refuse_write(s, "UPDATE ON executions", way->when);
    store_close(&s);
    return first;
}

/* Those whose worker died are tried again, after a while. */
static void until_succeeded(struct worker_kit *k, struct store *s, int n)
{
    while (sql_number(s, "SELECT count(*) FROM executions WHERE status = 4") < n)
        kit_pass(k, SECOND / 10);
}

static void check_around(const struct way *way, int before, int behind)
{
    int64_t bad = prepare(way, before, 1, behind);
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    char name[64];

    fixture_env()->note = keep_said;
    kit_open(&k);
    until_succeeded(&k, s, before + behind);
    KIT_UNTIL(&k, engine_is_drained(k.engine) && said[0]);
    fixture_env()->note = NULL;
    snprintf(name, sizeof(name), "execution %lld can't be %s", (long long)bad, way->words);
    CHECK(strstr(said, name));
    CHECK(strstr(said, "not today"));
    CHECK_EQ(status_of(s, bad), way->orphans ? S_RUNNING : S_READY);
    verify_clean(s);

    allow_write(s, "executions");
    clock_advance(61 * SECOND);
    until_succeeded(&k, s, before + behind + 1);
    CHECK_EQ(get(s, bad).attempts, way->orphans ? 2 : 1); /* what was refused was no attempt */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(a_job_that_can_not_be_claimed_keeps_none_behind_it_waiting)
{
    check_around(&claims, 0, 9);
}

TEST(a_job_that_can_not_be_claimed_is_found_among_others)
{
    check_around(&claims, 3, 3);
}

TEST(a_job_that_can_not_be_claimed_may_be_the_only_one)
{
    check_around(&claims, 0, 0);
}

static void count_stored(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    ++*(int *)arg;
}

/* More in each step than are stored while one after the other is suspected. */
TEST(a_job_that_can_not_be_claimed_is_found_while_others_submit)
{
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::good", .lane = "function:noop", .task_index = -1};
    struct worker_kit k = {.list = functions};
    int64_t bad = prepare(&claims, 0, 1, 0);
    struct store *s = fixture_store();
    int n, stored = 0;

    fixture_env()->note = keep_said;
    kit_open(&k);
    for (n = 0; n < 300 && !said[0]; n += 3) {
        for (int i = 0; i < 3; i++)
            engine_submit(k.engine, &sub, count_stored, &stored);
        kit_step(&k);
    }
    fixture_env()->note = NULL;
    CHECK(strstr(said, "can't be claimed"));
    KIT_UNTIL(&k, stored == n);
    until_succeeded(&k, s, n);
    CHECK_EQ(status_of(s, bad), S_READY);
    allow_write(s, "executions");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(an_orphan_that_can_not_be_adopted_keeps_none_behind_it_waiting)
{
    check_around(&adoptions, 0, 9);
}

TEST(an_orphan_that_can_not_be_adopted_is_found_among_others)
{
    check_around(&adoptions, 3, 3);
}

TEST(an_orphan_that_can_not_be_adopted_may_be_the_only_one)
{
    check_around(&adoptions, 0, 0);
}

TEST(an_orphan_that_was_reaped_and_can_not_be_adopted_is_found_among_others)
{
    check_around(&reaped, 3, 3);
}

/* Then it is the database's fault. */
static void check_all_bad(const struct way *way)
{
    struct worker_kit k = {.list = functions};

    prepare(way, 0, 30, 0);
    kit_open(&k);
    check_ends_refused(&k, fixture_store());
}

TEST(where_no_job_can_be_claimed_the_worker_says_so_and_ends)
{
    check_all_bad(&claims);
}

TEST(where_no_orphan_can_be_adopted_the_worker_says_so_and_ends)
{
    check_all_bad(&adoptions);
}
