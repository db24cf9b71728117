/* test_workflow_engine.c - workflows in a complete engine: tasks that become ready run at once. */
#include "engine_fixture.h"
#include "workflow_fixture.h"

#define HOPS 30

static int commits;

static void count_commits(void *arg, const char *where)
{
    (void)arg;
    commits += !strcmp(where, "committed");
}

/* On PostgreSQL a turn reads the time where it locks rows, and waits for the answer. */
static int answers;

static void count_answers(void *arg, const char *what, int64_t took_us, long rows)
{
    (void)arg;
    (void)took_us;
    (void)rows;
    answers += !strcmp(what, "NOW");
}

TEST(each_task_in_a_chain_takes_one_commit_and_two_lock_round_trips)
{
    static const struct kit_function list[] = {{"f", kit_noop, NULL}, {NULL, NULL, NULL}};
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    if (kit_polls())
        return; /* followers go through the outbox in that mode */
    buf_addstr(&yaml, "name: w\ntasks:\n  t0: {function: f}\n");
    for (i = 1; i < HOPS; i++)
        buf_addf(&yaml, "  t%d: {function: f, needs: t%d}\n", i, i - 1);
    kit_open(&k);
    kit_step(&k);
    w = submit_workflow(s, buf_cstr(&yaml), NULL);
    fixture_env()->point = count_commits;
    fixture_env()->trace = count_answers;
    commits = answers = 0;
    kit_until_ended(&k, HOPS);
    fixture_env()->point = NULL;
    fixture_env()->trace = NULL;
    printf("%d commits, %d answers\n", commits, answers);
    CHECK(commits <
          HOPS + HOPS / 2);    /* includes heartbeats and starts that were reported separately */
    CHECK(answers < 3 * HOPS); /* per hop: the settled job and its ancestors; the claim */
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    engine_close(&k.engine);
    buf_release(&yaml);
    verify_clean(s);
    store_close(&s);
}
