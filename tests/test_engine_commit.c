/* test_engine_commit.c - turns whose COMMIT got no answer: the engine looks up whether they are
 * stored, never guesses, and does nothing twice. */
#include "outage_fixture.h"
#include "proxy_fixture.h"

#include <glob.h>

TEST_ONLY_DB(postgres);
TEST_THREADED;
TEST_LOOPS_TOO;
TEST_LONG;

TEST_SLOW(turn_whose_commit_was_not_answered_claims_and_submits_nothing_twice, 1200)
{
    int cuts = test_full() ? 1000 : 15;
    struct load l = {.k = {.list = functions}};
    pid_t pid;
    char *url = proxy_start(&pid);

    open_at(&l.k, url, kit_state(), (struct engine_options){.lease = 10 * SECOND});
    proxy->every = 5;
    while (proxy->cuts < cuts)
        step_under_load(&l, 50);
    proxy->every = 0;
    printf("%d commits lost, %d jobs\n", proxy->cuts, l.submitted);
    end_load(&l);
    proxy_stop(pid);
    free(url);
}

/* Returns the number of worker files in the state folder. */
static size_t count_worker_files(void)
{
    char *pattern = mem_printf("%s/*/workers/*", kit_state());
    glob_t found;
    size_t n;

    CHECK(!glob(pattern, 0, NULL, &found) || !found.gl_pathc);
    n = found.gl_pathc;
    globfree(&found);
    free(pattern);
    return n;
}

static void keep_rc(void *arg, const struct submission *s)
{
    *(int *)arg = s->rc;
}

/* The submitter learns that the outcome of the commit is unknown; the submission is stored, and
 * another worker finds the job. */
TEST(job_claimed_in_a_commit_of_unknown_outcome_is_adopted_immediately_by_the_next_worker)
{
    struct submission sub = ledger_job(false, "ok", 1);
    struct engine_options o = {
        .lease = LEASE,
        .host_grace = 24 * SECOND}; /* half of it must be longer than a stall of the machine */
    struct worker_kit k = {.list = functions}, next = {.list = functions};
    struct err err = ERR_INIT;
    struct store *s;
    pid_t through;
    int64_t id;
    char *url;
    int rc, reported = 1;

    server_url(); /* skips the test unless the database is PostgreSQL */
    url = proxy_start(&through);
    open_at(&k, url, kit_state(), o);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    proxy->last = 1;
    engine_submit(k.engine, &sub, keep_rc, &reported);
    while (!(rc = engine_step(k.engine, 20000, &err)))
        ;
    CHECK_EQ(rc, -E_COMMIT_UNKNOWN);
    CHECK_EQ(reported, -E_COMMIT_UNKNOWN);
    engine_close(&k.engine);
    s = fixture_store();
    id = sql_number(s, "SELECT id FROM executions");
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_EQ(count_worker_files(), 1);
    open_at(&next, fixture_url(), kit_state(), o);
    KIT_UNTIL(&next, status_is_terminal(status_of(s, id))); /* long before its lease expires */
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
    proxy_stop(through);
    free(url);
}

/* The next COMMIT of the worker is then that of a turn, unless the machine stalls for seconds. */
static void until_heartbeat(struct worker_kit *k, struct store *s)
{
    char sql[200];
    int64_t before;

    snprintf(
        sql, sizeof(sql),
        "SELECT CAST(extract(epoch FROM seen_at) * 1000 AS bigint) FROM workers WHERE id = %lld",
        (long long)engine_worker(k->engine));
    before = sql_number(s, sql);
    KIT_UNTIL(k, sql_number(s, sql) != before);
}

static bool is_unknown(struct worker_kit *k)
{
    struct err err = ERR_INIT;
    int rc = engine_step(k->engine, 20000, &err);

    CHECK(!rc || rc == -E_COMMIT_UNKNOWN);
    return rc != 0;
}

/* The first worker starts a function and is killed. The second one adopts it in a commit whose
 * answer is lost, and runs another function before it ends. */
TEST(started_function_adopted_in_a_commit_of_unknown_outcome_is_not_returned_to_its_queue)
{
    struct engine_options o = {.lease = 12 * SECOND, .host_grace = 48 * SECOND};
    struct worker_kit k = {.list = functions}, next = {.list = functions};
    struct submission sub = ledger_job(false, "wait", 1);
    struct store *s;
    pid_t through, first;
    int64_t id;
    char *url;

    server_url(); /* skips the test unless the database is PostgreSQL */
    url = proxy_start(&through);
    first = worker_start(fixture_url(), kit_state(), o);
    s = fixture_store();
    id = submit_with(s, sub);
    until_begun(&id, 1);
    open_at(&k, url, kit_state(), o);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    until_heartbeat(&k, s);
    proxy->last = 1;
    end_worker(first);
    while (!is_unknown(&k))
        ;
    CHECK_EQ(get(s, id).worker, engine_worker(k.engine)); /* the adoption is stored */
    proxy->last = proxy->shut = 0;
    kit_submit(s, "counts", NULL);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    fclose(fopen(ledger_file("go"), "we")); /* if it ran again, it would end */
    open_at(&next, fixture_url(), kit_state(), o);
    KIT_UNTIL(&next, status_is_terminal(status_of(s, id)));
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK(!strstr(history(s, id), "released"));
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
    proxy_stop(through);
    free(url);
}
