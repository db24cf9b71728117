/* test_engine_unclaimable.c - jobs that wait and that the database refuses to give out: a worker
 * sets them aside, runs all others, and tries them again later. */
#include "engine_fixture.h"
#include "refusal_fixture.h"

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static const struct kit_function functions[] = {{"noop", kit_noop, NULL}, {NULL, NULL, NULL}};

static char said[4096];

static void keep_note(void *arg, const char *sentence)
{
    (void)arg;
    snprintf(said, sizeof(said), "%s", sentence);
}

static int64_t submit_bad(struct store *s)
{
    return submit_with(s, (struct submission){.name = "exec::bad", .lane = "function:noop"});
}

static void refuse_claims(struct store *s)
{
    refuse_write(s, "UPDATE ON executions", "NEW.name = 'exec::bad' AND NEW.status = 3");
}

/* So many good ones before the bad one, and behind it. */
static void check_around(int before, int behind)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t bad;
    char name[64];
    int i;

    for (i = 0; i < before; i++)
        kit_submit(s, "noop", NULL);
    bad = submit_bad(s);
    for (i = 0; i < behind; i++)
        kit_submit(s, "noop", NULL);
    refuse_claims(s);
    said[0] = 0;
    fixture_env()->note = keep_note;
    kit_open(&k);
    kit_until_ended(&k, before + behind);
    KIT_UNTIL(&k, engine_is_drained(k.engine) && said[0]);
    fixture_env()->note = NULL;
    snprintf(name, sizeof(name), "execution %lld can't be claimed", (long long)bad);
    CHECK(strstr(said, name));
    CHECK(strstr(said, "not today"));
    CHECK_EQ(status_of(s, bad), S_READY);
    verify_clean(s);

    allow_write(s, "executions");
    clock_advance(61 * SECOND);
    kit_until_ended(&k, before + behind + 1);
    CHECK_EQ(status_of(s, bad), S_SUCCEEDED);
    CHECK_EQ(get(s, bad).attempts, 1); /* what was refused was no attempt */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(a_job_that_can_not_be_claimed_keeps_none_behind_it_waiting)
{
    check_around(0, 9);
}

TEST(a_job_that_can_not_be_claimed_is_found_among_others)
{
    check_around(3, 3);
}

TEST(a_job_that_can_not_be_claimed_may_be_the_only_one)
{
    check_around(0, 0);
}

TEST(where_no_job_can_be_claimed_the_worker_says_so_and_ends)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct err err = ERR_INIT;
    int i, rc = 0;

    for (i = 0; i < 30; i++)
        submit_bad(s);
    refuse_claims(s);
    kit_open(&k);
    for (i = 0; i < 1000 && !rc; i++)
        rc = engine_step(k.engine, 20000, &err);
    CHECK(rc);
    CHECK(strstr(err.msg, "not today"));
    engine_close(&k.engine);
    allow_write(s, "executions");
    verify_clean(s);
    store_close(&s);
}
