/* test_sql_submissions.c - SQL submissions become executions: exactly once each, with concurrent
 * engines and kills, and a submission that can't be taken is kept with its reason. Behaviour that
 * only PostgreSQL has is tested in test_pg_submit.c. */
#include "pawl.h"
#include "sql_submission_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL");
}

static const char *not_found(struct store *s, int64_t id)
{
    static struct err err;
    struct execution_list l = {0};

    err = (struct err)ERR_INIT;
    CHECK_EQ(query_execution(s, id, &l, &err), -E_NOT_FOUND);
    return err.msg;
}

/* ---- one submission ---- */

TEST(sql_submission_becomes_an_execution_with_the_same_id)
{
    struct store *s = fixture_store();
    int64_t id;

    apply(s, ONE_TASK);
    id = sql_submit(s, (struct sql_call){.params = "{\"day\": \"friday\"}", .priority = 7});
    CHECK_STR(submission_word(s, id), "waiting");
    CHECK_EQ(take_submissions(s), 1);
    CHECK_STR(submission_word(s, id), "taken");
    CHECK_EQ(submission_of(s, id).execution, id);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_EQ(get(s, id).priority, 7);
    CHECK_STR(get(s, id).input, "{\"day\":\"friday\"}");
    CHECK_EQ(take_submissions(s), 0);
    CHECK_EQ(executions(s), 1);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(tasks_of_a_submission_are_in_the_given_queue)
{
    struct store *s = fixture_store();
    int64_t id;

    apply(s, ONE_TASK);
    id = sql_submit(s, (struct sql_call){.queue = "slow"});
    take_submissions(s);
    CHECK_STR(get(s, task_of(s, id, "a")).queue, "slow");
    verify_clean(s);
    store_close(&s);
}

TEST(delay_counts_from_the_submission_even_if_an_engine_takes_it_late)
{
    struct store *s = fixture_store();
    int64_t soon, late;

    apply(s, ONE_TASK);
    late = sql_submit(s, (struct sql_call){.delay = 2 * HOUR});
    soon = sql_submit(s, (struct sql_call){.delay = HOUR / 2});
    clock_advance(HOUR);
    CHECK_EQ(take_submissions(s), 2);
    CHECK_EQ(status_of(s, soon), S_RUNNING);
    CHECK_EQ(status_of(s, late), S_PENDING);
    clock_advance(HOUR - 60 * SECOND);
    run_timers(s);
    CHECK_EQ(status_of(s, late), S_PENDING);
    clock_advance(61 * SECOND);
    run_timers(s);
    CHECK_EQ(status_of(s, late), S_RUNNING);
    verify_clean(s);
    store_close(&s);
}

TEST(submission_runs_the_definition_that_was_applied_when_it_was_made)
{
    struct store *s = fixture_store();
    int64_t id;

    apply(s, ONE_TASK);
    id = sql_submit(s, (struct sql_call){0});
    apply(s, "name: w\ntasks: {b: {run: x}, c: {run: x}}\n");
    take_submissions(s);
    CHECK_STR(tree_text(s, id), "a:ready");
    verify_clean(s);
    store_close(&s);
}

/* ---- keys ---- */

static struct submission by_library(const char *definition, const char *input)
{
    return (struct submission){
        .definition = definition, .input = input, .key = "order-17", .task_index = -1};
}

static int submit_once(struct store *s, struct submission *one)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_workflow_body, one, &err), &err);
    return one->rc;
}

TEST(idempotency_key_identifies_the_same_execution_in_sql_and_in_the_library)
{
    struct store *s = fixture_store();
    const char *text = workflow_text(ONE_TASK);
    struct submission first = by_library(text, "{\"day\":\"friday\"}"), again;
    int64_t id, other;

    apply(s, ONE_TASK);
    CHECK_OK(submit_once(s, &first));
    id = sql_submit(s, (struct sql_call){.key = "order-17", .params = "{ \"day\" : \"friday\" }"});
    CHECK_EQ(take_submissions(s), 1);
    CHECK_STR(submission_word(s, id), "taken");
    CHECK_EQ(submission_of(s, id).execution, first.id);
    CHECK(strstr(not_found(s, id), "had the same idempotency key as execution"));

    other = sql_submit(s, (struct sql_call){.key = "order-18"});
    take_submissions(s);
    again = by_library(text, "{}");
    again.key = "order-18";
    CHECK_OK(submit_once(s, &again));
    CHECK(again.existed);
    CHECK_EQ(again.id, other);
    CHECK_EQ(executions(s), 2);
    verify_clean(s);
    free((char *)text);
    store_close(&s);
}

TEST(submission_with_an_idempotency_key_of_another_submission_is_refused_and_kept_with_the_reason)
{
    struct store *s = fixture_store();
    const char *text = workflow_text(ONE_TASK);
    struct submission first = by_library(text, "{}");
    int64_t id, again;

    apply(s, ONE_TASK);
    CHECK_OK(submit_once(s, &first));
    id = sql_submit(s, (struct sql_call){.key = "order-17", .params = "{\"day\": \"friday\"}"});
    CHECK_EQ(take_submissions(s), 1);
    CHECK_STR(submission_word(s, id), "refused");
    CHECK(strstr(submission_of(s, id).error, "the key 'order-17' was used"));
    CHECK(strstr(not_found(s, id), "was refused: the key 'order-17'"));
    CHECK_EQ(take_submissions(s), 0);
    again =
        sql_submit(s, (struct sql_call){.key = "order-17"}); /* with the original input this time */
    CHECK(again != id);
    CHECK_EQ(take_submissions(s), 1);
    CHECK_EQ(submission_of(s, again).execution, first.id);
    CHECK_EQ(executions(s), 1);
    verify_clean(s);
    free((char *)text);
    store_close(&s);
}

/* ---- an invalid submission does not affect others ---- */

TEST(invalid_submission_does_not_block_other_submissions)
{
    struct store *s = fixture_store();
    struct submission_slice r = {.max = 100};
    struct err err = ERR_INIT;
    int64_t before, bad, after;
    char sql[200];

    apply(s, ONE_TASK);
    before = sql_submit(s, (struct sql_call){0});
    bad = sql_submit(s, (struct sql_call){0});
    after = sql_submit(s, (struct sql_call){.key = "k"});
    snprintf(sql, sizeof(sql), "UPDATE submissions SET definition = 'gone' WHERE id = %lld",
             (long long)bad);
    sql_run(s, sql);
    CHECK_OK_ERR(store_turn(s, submissions_body, &r, &err), &err);
    CHECK_EQ(r.n, 3);
    CHECK_EQ(r.nmessages, 1);
    CHECK(strstr(r.messages[0], "of the workflow w was refused"));
    CHECK_EQ(status_of(s, before), S_RUNNING);
    CHECK_EQ(status_of(s, after), S_RUNNING);
    CHECK_STR(submission_word(s, bad), "refused");
    CHECK(*submission_of(s, bad).error);
    CHECK_EQ(executions(s), 2);
    verify_clean(s);
    store_close(&s);
}

TEST(submissions_are_filtered_by_status_and_listed_newest_first)
{
    static const char *const words[] = {"", "waiting", "taken", "refused"};
    struct store *s = fixture_store();
    struct submission_list l = {0};
    struct err err = ERR_INIT;
    int64_t ids[4];
    int i;

    apply(s, ONE_TASK);
    ids[SUBMISSION_TAKEN] = sql_submit(s, (struct sql_call){0});
    take_submissions(s);
    ids[SUBMISSION_REFUSED] = sql_submit(s, (struct sql_call){0});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    ids[SUBMISSION_WAITING] = sql_submit(s, (struct sql_call){0});
    for (i = SUBMISSION_WAITING; i <= SUBMISSION_REFUSED; i++) {
        CHECK_OK_ERR(query_submissions(s, (enum submission_state)i, NULL, 9, &l, &err), &err);
        CHECK_EQ(l.n, 1);
        CHECK_EQ(l.at[0].id, ids[i]);
        CHECK_STR(submission_states[i], words[i]);
        CHECK_STR(submission_word(s, ids[i]), words[i]);
        submission_list_release(&l);
    }
    CHECK_OK_ERR(query_submissions(s, SUBMISSION_ANY, NULL, 2, &l, &err), &err);
    CHECK_EQ(l.n, 2);
    CHECK_EQ(l.at[0].id, ids[SUBMISSION_WAITING]); /* newest first */
    submission_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

/* Reads the list of a state in pages of one, and compares it with the whole list. */
static void check_pages(struct store *s, enum submission_state state, size_t expected)
{
    struct submission_list all = {0}, page = {0};
    struct submission_place after;
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(query_submissions(s, state, NULL, 100, &all, &err), &err);
    CHECK_EQ(all.n, expected);
    for (i = 0; i <= all.n; i++) {
        CHECK_OK_ERR(query_submissions(s, state, i ? &after : NULL, 1, &page, &err), &err);
        CHECK_EQ(page.n, i < all.n);
        if (page.n) {
            CHECK_EQ(page.at[0].id, all.at[i].id);
            after = submission_place(&page.at[0], state);
        }
        submission_list_release(&page);
    }
    submission_list_release(&all);
}

TEST(pages_of_submissions_have_each_of_them_once_though_several_were_refused_at_one_time)
{
    struct store *s = fixture_store();
    int i;

    apply(s, ONE_TASK);
    for (i = 0; i < 4; i++)
        sql_submit(s, (struct sql_call){0});
    take_submissions(s);
    for (i = 0; i < 3; i++)
        sql_submit(s, (struct sql_call){0});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    for (i = 0; i < 3; i++)
        sql_submit(s, (struct sql_call){0});
    check_pages(s, SUBMISSION_TAKEN, 4);
    check_pages(s, SUBMISSION_REFUSED, 3);
    check_pages(s, SUBMISSION_WAITING, 3);
    check_pages(s, SUBMISSION_ANY, 10);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT decided_at) FROM submissions"), 2);
    verify_clean(s);
    store_close(&s);
}

static char *metrics_of(struct pawl *p)
{
    struct pawl_error e;
    char *text = NULL;

    test_check_ok(__FILE__, __LINE__, "pawl_metrics", pawl_metrics(p, &text, &e), e.message);
    return text;
}

TEST(metrics_count_waiting_and_refused_submissions)
{
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant()};
    struct store *s = fixture_store();
    struct pawl *p = NULL;
    struct pawl_error e;
    char *all;

    test_check_ok(__FILE__, __LINE__, "pawl_open", pawl_open(&o, &p, &e), e.message);
    all = metrics_of(p);
    CHECK(strstr(all, "\npawl_submissions{state=\"waiting\"} 0\n"));
    CHECK(strstr(all, "\npawl_submissions_oldest_wait_seconds 0.000000\n"));
    free(all);
    apply(s, ONE_TASK);
    sql_submit(s, (struct sql_call){0});
    take_submissions(s);
    sql_submit(s, (struct sql_call){0});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    sql_submit(s, (struct sql_call){0});
    sql_run(s, strcmp(test_db(), "sqlite")
                   ? "UPDATE submissions SET requested_at = requested_at - interval '2 hours'"
                   : "UPDATE submissions SET requested_at = requested_at - 7200000000");
    sql_submit(s, (struct sql_call){0});
    all = metrics_of(p);
    CHECK(strstr(all, "\npawl_submissions{state=\"waiting\"} 2\n"));
    CHECK(strstr(all, "\npawl_submissions{state=\"refused\"} 1\n"));
    CHECK(strstr(all, "\npawl_submissions_oldest_wait_seconds 72"));
    free(all);
    pawl_close(p);
    take_submissions(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- retention ---- */

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention to;
    int rc = op_retain(t, arg, &to, err);

    *(struct retention *)arg = to;
    return rc;
}

TEST(retention_removes_submissions_with_their_trees_and_refused_ones_by_age)
{
    struct store *s = fixture_store();
    struct retention r = {.older_than = 24 * HOUR, .max_trees = 100};
    struct err err = ERR_INIT;
    int64_t waiting;

    apply(s, ONE_TASK);
    sql_submit(s, (struct sql_call){.key = "k"});
    take_submissions(s);
    run_workflows(s, "");
    sql_submit(s, (struct sql_call){0});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    clock_advance(25 * HOUR);
    waiting = sql_submit(s, (struct sql_call){0});
    do
        CHECK_OK_ERR(store_long_turn(s, retain_body, &r, &err), &err);
    while (r.more);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions"), 1);
    CHECK_STR(submission_word(s, waiting), "waiting");
    CHECK_EQ(executions(s), 0);
    take_submissions(s);
    CHECK_EQ(executions(s), 1);
    verify_clean(s);
    store_close(&s);
}

/* ---- exactly once ---- */

struct other {
    struct store *s;
    size_t n;
};

static void take_in_the_middle(void *arg)
{
    struct other *o = arg;

    o->n += take_submissions(o->s);
}

TEST(turn_skips_submissions_that_another_turn_is_taking)
{
    static const char *const points[] = {"submissions_waiting", "execution_insert",
                                         "submissions_decide", "commit"};
    struct watch w = {0};
    struct other o = {0};
    size_t i, n = 0;

    if (!strcmp(test_db(), "sqlite"))
        SKIP("a turn excludes all others");
    o.s = fixture_store();
    apply(o.s, ONE_TASK);
    for (i = 0; i < sizeof(points) / sizeof(*points); i++) {
        struct store *s = watched_store(&w);

        sql_submit(o.s, (struct sql_call){.key = points[i]});
        watch_for(&w, points[i], 1, take_in_the_middle, &o);
        n += take_submissions(s);
        CHECK(w.acted);
        CHECK_EQ(w.redone, 0); /* no turn had to be repeated */
        CHECK_EQ(n + o.n, i + 1);
        CHECK_EQ(executions(o.s), (int64_t)i + 1);
        store_close(&s);
    }
    verify_clean(o.s);
    store_close(&o.s);
}

TEST(query_finds_a_submission_that_is_taken_meanwhile)
{
    struct execution_list l = {0};
    struct other o = {.s = fixture_store()};
    struct err err = ERR_INIT;
    struct watch w = {0};
    struct store *s;
    int64_t id;

    apply(o.s, ONE_TASK);
    id = sql_submit(o.s, (struct sql_call){0});
    s = watched_store(&w);
    watch_for(&w, "query_execution", 1, take_in_the_middle, &o);
    CHECK_OK_ERR(query_execution(s, id, &l, &err), &err);
    CHECK(w.acted);
    CHECK_EQ(l.at[0].id, id);
    execution_list_release(&l);
    verify_clean(o.s);
    store_close(&s);
    store_close(&o.s);
}

#define MANY    200

#define WAITING "SELECT count(*) FROM submissions WHERE execution IS NULL"

static void take_until_none_waits(int nth)
{
    struct store *s = fixture_store();
    struct submission_slice r;
    struct err err = ERR_INIT;

    (void)nth;
    do {
        r = (struct submission_slice){.max = 7};
        CHECK_OK_ERR(store_turn(s, submissions_body, &r, &err), &err);
    } while (sql_number(s, WAITING));
    store_close(&s);
}

TEST_SLOW(four_concurrent_processes_take_each_submission_once, 600)
{
    struct store *s = fixture_store();
    int i;

    apply(s, ONE_TASK);
    for (i = 0; i < MANY; i++)
        sql_submit(s, (struct sql_call){0});
    store_close(&s);
    run_processes(4, take_until_none_waits);
    s = fixture_store();
    CHECK_EQ(executions(s), MANY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions s JOIN executions e ON e.id = s.id "
                           "WHERE s.execution = s.id AND e.parent IS NULL"),
             MANY);
    verify_clean(s);
    store_close(&s);
}

static void take_waiting(struct store *s, void *arg)
{
    (void)arg;
    take_submissions(s);
}

TEST_SLOW(kill_at_any_point_loses_no_submission_and_takes_no_submission_twice, 600)
{
    struct store *s;
    int nth = 0, rounds = 0;
    bool killed;

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* only processes of Pawl are killed */
    s = fixture_store();
    apply(s, ONE_TASK);
    store_close(&s);
    do {
        s = fixture_store();
        sql_submit(s, (struct sql_call){0});
        sql_submit(s, (struct sql_call){0});
        store_close(&s);
        rounds += 2;
        killed = killed_at(NULL, ++nth, take_waiting, NULL);
        s = fixture_store();
        do /* the server may still hold the locks of the killed process */
            take_submissions(s);
        while (sql_number(s, WAITING));
        CHECK_EQ(executions(s), rounds);
        CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE execution = id"), rounds);
        verify_clean(s);
        store_close(&s);
    } while (killed);
    printf("%d kills\n", nth - 1);
    CHECK(nth > 10); /* enough points were passed */
}
