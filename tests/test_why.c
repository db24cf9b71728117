/* test_why.c - pawl_why() for workflows: the exact condition that is not met, with the facts of its
 * sentence. */
#include "api_fixture.h"
#include "workflow_fixture.h"

/* Returns the reason with the given code; NULL if there is none. */
static const json_t *find_reason(struct pawl *p, int64_t id, const char *code)
{
    static json_t *kept[20]; /* freed when the test ends */
    static size_t n;
    const json_t *list, *found = NULL;
    char *text = NULL;
    size_t i;

    CHECK(n < 20);
    OK(pawl_why(p, id, &text, &api_err));
    CHECK((kept[n] = json_loads(text, 0, NULL)));
    list = json_object_get(kept[n++], "reasons");
    for (i = 0; i < json_array_size(list) && !found; i++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(list, i), "code")), code))
            found = json_array_get(list, i);
    free(text);
    return found;
}

static const json_t *reason(struct pawl *p, int64_t id, const char *code)
{
    const json_t *found = find_reason(p, id, code);

    if (!found)
        test_fail(__FILE__, __LINE__, "execution %lld has no reason %s", (long long)id, code);
    return found;
}

static int64_t number_in(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void check_contains(const json_t *r, const char *words)
{
    if (!strstr(text_in(r, "text"), words))
        test_fail(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", text_in(r, "text"), words);
}

/* Settles one task; the other claimed tasks are deferred. */
static void settle_one(struct store *s, int64_t workflow, const char *name, enum outcome_kind kind)
{
    static struct task_claim k;
    size_t i;

    claim_tasks(s, &k);
    for (i = 0; i < k.n; i++)
        if (k.held[i].id == task_of(s, workflow, name))
            settle_task(s, k.held[i], kind, "{}");
        else
            settle_task(s, k.held[i], OUTCOME_DEFERRED, NULL);
}

/* Runs everything to its end, verifies and closes. */
static void finish(struct pawl *p, struct store *s)
{
    run_workflows(s, "");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(why_of_a_pending_task_names_its_open_needs)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s,
                                       "name: w\n"
                                       "tasks:\n"
                                       "  a: {run: ':'}\n"
                                       "  b: {needs: a, run: ':'}\n"
                                       "  c: {needs: a, run: ':'}\n"
                                       "  d: {needs: [a, b, c], run: ':', if: always()}\n",
                                       NULL);
    struct pawl *p = open_pawl();
    const json_t *r = reason(p, task_of(s, workflow, "d"), "needs");

    CHECK_STR(text_in(r, "text"),
              "it waits for 3 of its 3 needs: a (ready), b (pending), c (pending)");
    settle_one(s, workflow, "a", OUTCOME_OK);
    r = reason(p, task_of(s, workflow, "d"), "needs");
    CHECK_STR(text_in(r, "text"), "it waits for 2 of its 3 needs: b (ready), c (ready)");
    CHECK_EQ(number_in(r, "left"), 2);
    CHECK_EQ(number_in(r, "all"), 3);
    CHECK(json_is_null(json_object_get(r, "join")));
    CHECK_STR(text_in(r, "if"), "always()");
    CHECK_EQ(json_array_size(json_object_get(r, "needs")), 2);
    CHECK_EQ(number_in(json_array_get(json_object_get(r, "needs"), 0), "id"),
             task_of(s, workflow, "b"));

    r = reason(p, workflow, "children");
    check_contains(r, "w::b (ready), ");
    check_contains(r, "w::d (pending)");
    finish(p, s);
}

TEST(why_of_a_join_reports_how_many_needs_succeeded_and_which_are_open)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s,
                                       "name: w\n"
                                       "tasks:\n"
                                       "  a: {run: ':'}\n"
                                       "  b: {needs: a, run: ':'}\n"
                                       "  c: {needs: b, run: ':'}\n"
                                       "  d: {needs: [a, b, c], join: 2, run: ':'}\n",
                                       NULL);
    struct pawl *p = open_pawl();
    const json_t *r;

    settle_one(s, workflow, "a", OUTCOME_OK);
    r = reason(p, task_of(s, workflow, "d"), "needs");
    CHECK_STR(text_in(r, "text"), "it waits until 2 of its 3 needs have succeeded (1 so far, "
                                  "2 open): b (ready), c (pending)");
    CHECK_EQ(number_in(r, "join"), 2);
    CHECK_EQ(number_in(r, "succeeded"), 1);
    finish(p, s);
}

TEST(why_of_a_task_mentions_needs_that_ended_but_have_not_notified_it_yet)
{
    struct store *s = fixture_store();
    int64_t workflow =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n  c: {run: x, needs: a}\n"
                        "  d: {run: x, needs: [a, b]}\n",
                        NULL);
    struct pawl *p = open_pawl();

    store_set_workflow_options(s, &(struct store_workflow_options){.notify_max = 1});
    settle_one(s, workflow, "a", OUTCOME_OK);
    check_contains(
        reason(p, task_of(s, workflow, "d"), "needs"),
        "it waits for 2 of its 2 needs: b (ready); 1 of them ended just now, and it has not been "
        "notified yet");
    run_timers(s);
    check_contains(reason(p, task_of(s, workflow, "d"), "needs"),
                   "it waits for 1 of its 2 needs: b");
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(why_of_a_skipped_task_names_the_reason)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s,
                                       "name: w\n"
                                       "tasks:\n"
                                       "  a: {run: ':'}\n"
                                       "  b: {run: ':'}\n"
                                       "  c: {needs: [a, b], run: ':'}\n"
                                       "  d: {needs: a, run: ':', if: failure()}\n",
                                       NULL);
    struct pawl *p = open_pawl();
    const json_t *r;

    run_workflows(s, " b ");
    r = reason(p, task_of(s, workflow, "c"), "needs");
    CHECK_STR(text_in(r, "text"), "it runs only if its needs succeed: b (failed)");
    check_contains(reason(p, task_of(s, workflow, "c"), "ended"),
                   "a task that it needs did not succeed");
    r = reason(p, task_of(s, workflow, "d"), "needs");
    CHECK_STR(text_in(r, "text"), "its condition was: failure()");
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(why_of_a_paused_task_names_the_paused_execution_the_user_and_the_reason)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s,
                                       "name: w\n"
                                       "tasks:\n"
                                       "  a: {run: ':'}\n"
                                       "  b: {needs: a, run: ':'}\n",
                                       NULL);
    struct pawl *p = open_pawl();
    const json_t *r;

    OK(pawl_pause(p, workflow, "ada@host", "the disk is full", &api_err));
    r = reason(p, task_of(s, workflow, "a"), "paused");
    check_contains(r, "its ancestor w (");
    check_contains(r, " has been paused since ");
    check_contains(r, ", by ada@host: the disk is full; resume it with `pawl resume ");
    CHECK_EQ(number_in(r, "execution"), workflow);
    CHECK_STR(text_in(r, "by"), "ada@host");
    reason(p, task_of(s, workflow, "b"), "needs");
    reason(p, task_of(s, workflow, "b"), "paused");
    check_contains(reason(p, workflow, "paused"), "it has been paused since ");
    OK(pawl_resume(p, workflow, NULL, NULL, &api_err));
    reason(p, task_of(s, workflow, "a"), "no_worker");
    finish(p, s);
}

TEST(why_of_a_task_held_for_approval_shows_the_message_and_how_to_approve)
{
    struct store *s = fixture_store();
    int64_t workflow =
        submit_workflow(s,
                        "name: w\n"
                        "tasks:\n"
                        "  a: {run: ':', approval: {message: 'publish it?', timeout: 1h}}\n",
                        NULL);
    struct pawl *p = open_pawl();
    int64_t a = task_of(s, workflow, "a");
    const json_t *r = reason(p, a, "approval");
    char words[100];

    check_contains(r, ": publish it?; `pawl approve ");
    snprintf(words, sizeof(words),
             "`pawl approve %lld` lets it continue, `pawl reject %lld` fails it", (long long)a,
             (long long)a);
    check_contains(r, words);
    CHECK_STR(text_in(r, "message"), "publish it?");
    CHECK(strchr(text_in(r, "until"), 'T'));
    OK(pawl_approve(p, a, NULL, NULL, &api_err));
    finish(p, s);
}

TEST(why_of_a_fan_out_reports_its_progress_and_how_many_items_may_run_at_a_time)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s,
                                       "name: w\n"
                                       "tasks:\n"
                                       "  a: {foreach: 9, max_parallel: 2, run: ':'}\n",
                                       NULL);
    struct pawl *p = open_pawl();
    const json_t *r;

    settle_one(s, workflow, "a[0]", OUTCOME_OK);
    r = reason(p, task_of(s, workflow, "a"), "items");
    check_contains(
        r, "1 of its 9 items have ended, 2 are open, more are created as these end (at most 2 at "
           "once): ");
    check_contains(r, "w::a[1] (ready)");
    CHECK_EQ(number_in(r, "total"), 9);
    CHECK_EQ(number_in(r, "made"), 3);
    CHECK_EQ(number_in(r, "left"), 2);
    CHECK_EQ(number_in(r, "max_parallel"), 2);
    finish(p, s);
}

TEST(why_of_a_workflow_held_by_its_concurrency_key_names_the_holder)
{
    static const char yaml[] = "name: w\n"
                               "concurrency: {key: only-one, max: 1}\n"
                               "tasks:\n"
                               "  a: {run: ':'}\n";
    struct store *s = fixture_store();
    int64_t first = submit_workflow(s, yaml, NULL), second = submit_workflow(s, yaml, NULL);
    struct pawl *p = open_pawl();
    const json_t *r = reason(p, second, "limit");
    const json_t *holders = json_object_get(r, "holders");

    check_contains(r, "only-one is full: 1 of 1 in use, by ");
    CHECK_EQ(json_array_size(holders), 1);
    CHECK_EQ(number_in(json_array_get(holders, 0), "id"), first);
    CHECK_STR(text_in(json_array_get(holders, 0), "name"), "w");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, second), S_SUCCEEDED);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(why_of_a_failed_workflow_names_the_first_task_that_failed_at_any_depth)
{
    static const char *const files[] = {"w.yaml",
                                        "name: w\n"
                                        "tasks:\n"
                                        "  allowed: {run: ':', allow_failure: true}\n"
                                        "  below: {workflow: sub.yaml}\n",
                                        "sub.yaml",
                                        "name: sub\n"
                                        "tasks:\n"
                                        "  each: {foreach: 3, run: ':'}\n",
                                        NULL};
    static const struct {
        const char *fails;
        bool is_only;
    } cases[] = {{" allowed each[1] ", true}, {" each[1] each[2] ", false}};
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t workflow = submit_workflow_text(s, workflow_text_of_files(files), NULL), item;
        char words[200];
        const json_t *r;

        run_workflows(s, cases[i].fails);
        CHECK_EQ(status_of(s, workflow), S_FAILED);
        item = task_of(s, workflow, "each[1]");
        r = reason(p, workflow, "ended");
        snprintf(words, sizeof(words), "; `pawl logs %lld` shows the output of sub::each[1]",
                 (long long)item);
        check_contains(r, words);
        snprintf(words, sizeof(words), ", and `pawl tree %lld` all that failed",
                 (long long)workflow);
        CHECK_EQ(!strstr(text_in(r, "text"), words), cases[i].is_only);
        CHECK_EQ(number_in(r, "failed"), item);
        CHECK_EQ(number_in(reason(p, task_of(s, workflow, "below"), "ended"), "failed"), item);
        CHECK(json_is_null(json_object_get(reason(p, item, "ended"), "failed")));
    }
    finish(p, s);
}

TEST(why_of_a_workflow_explains_its_first_ready_task_unless_a_job_runs)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\n"
        "tasks:\n"
        "  below: {workflow: sub.yaml}\n"
        "  after: {needs: below, run: ':'}\n",
        "sub.yaml",
        "name: sub\n"
        "tasks:\n"
        "  each: {foreach: 2, run: ':'}\n"
        "  gate: {needs: each, run: ':', approval: {message: go?}}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow_text(s, workflow_text_of_files(files), NULL), task;
    static struct task_claim k;
    struct pawl *p = open_pawl();
    const json_t *r = reason(p, workflow, "no_worker");
    char words[100];

    task = task_of(s, workflow, "each[0]");
    CHECK_EQ(number_in(r, "task"), task);
    snprintf(words, sizeof(words), "sub::each[0] (%lld): no worker is alive", (long long)task);
    check_contains(r, words);
    OK(pawl_pause(p, task, "ada", "not yet", &api_err));
    CHECK_EQ(number_in(reason(p, workflow, "paused"), "task"), task);
    OK(pawl_resume(p, task, NULL, NULL, &api_err));

    CHECK_EQ(claim_tasks(s, &k), 2);
    settle_task(s, k.held[0], OUTCOME_OK, "{}");
    CHECK(!find_reason(p, workflow, "no_worker"));
    settle_task(s, k.held[1], OUTCOME_OK, "{}");
    task = task_of(s, workflow, "gate");
    r = reason(p, workflow, "approval");
    CHECK_EQ(number_in(r, "task"), task);
    snprintf(words, sizeof(words), "sub::gate (%lld): it has been waiting for approval",
             (long long)task);
    check_contains(r, words);
    OK(pawl_approve(p, task, NULL, NULL, &api_err));
    finish(p, s);
}
