/* test_waiting_submissions.c - a SQL submission before a worker takes it: it is shown, listed,
 * counted, explained and can be cancelled by the id of the execution that it becomes, and its
 * requested_at is the time of the submission. Each test ends with verify. */
#include "api_fixture.h"
#include "sql_submission_fixture.h"
#include "store/operator.h"

#define ON_EXIT "name: w\ntasks: {a: {run: x}}\non_exit: {run: y}\n"

static int64_t wait_with(struct store *s, struct sql_call c)
{
    apply(s, ON_EXIT);
    return sql_submit(s, c);
}

static json_t *show(struct pawl *p, int64_t id)
{
    char *json;

    OK(pawl_show(p, id, &json, &api_err));
    return json_parse_and_free(json);
}

TEST(requested_at_of_a_submission_does_not_change_when_a_worker_takes_it)
{
    struct store *s = fixture_store();
    int64_t id = wait_with(s, (struct sql_call){0}), at = submission_of(s, id).requested_at;
    struct execution_list l = {0};
    struct err err = ERR_INIT;

    CHECK(at > 0);
    CHECK_OK_ERR(query_execution(s, id, &l, &err), &err);
    CHECK_EQ(l.at[0].requested_at, at);
    execution_list_release(&l);
    clock_advance(HOUR);
    take_submissions(s);
    CHECK_EQ(get(s, id).requested_at, at);
    CHECK(get(s, id).started_at >= at + HOUR);
    run_workflows(s, "");
    verify_clean(s); /* also compares the past states with the events */
    store_close(&s);
}

static int count_line(void *arg, const char *json)
{
    (void)json;
    ++*(int *)arg;
    return 0;
}

/* How many executions the list has with this filter. */
static int listed(struct pawl *p, struct pawl_list_query q)
{
    int n = 0;

    OK(pawl_list(p, &q, count_line, &n, NULL, &api_err));
    return n;
}

TEST(waiting_submission_is_shown_and_listed_as_a_pending_workflow)
{
    struct store *s = fixture_store();
    int64_t id = wait_with(s, (struct sql_call){.params = "{}", .queue = "q", .priority = 3}), last;
    struct pawl *p = open_pawl();
    json_t *o = show(p, id);
    const char *status;

    CHECK_STR(text_in(o, "status"), "pending");
    CHECK_STR(text_in(o, "kind"), "workflow");
    CHECK_STR(text_in(o, "name"), "w");
    CHECK_STR(text_in(o, "queue"), "q");
    CHECK_STR(text_in(o, "waiting"), "submission: no worker has taken it yet");
    CHECK_EQ(json_integer_value(json_object_get(o, "priority")), 3);
    json_decref(o);
    CHECK_EQ(listed(p, (struct pawl_list_query){0}), 1);
    CHECK_EQ(listed(p, (struct pawl_list_query){.all = true, .status = "pending", .queue = "q"}),
             1);
    CHECK_EQ(listed(p, (struct pawl_list_query){.kind = "workflow", .workflow = "w"}), 1);
    CHECK_EQ(listed(p, (struct pawl_list_query){.name = "w*"}), 1);
    CHECK_EQ(listed(p, (struct pawl_list_query){.name = "v*"}), 0);
    CHECK_EQ(listed(p, (struct pawl_list_query){.status = "running"}), 0);
    CHECK_EQ(listed(p, (struct pawl_list_query){.queue = "default"}), 0);
    CHECK_EQ(listed(p, (struct pawl_list_query){.before = id}), 0);
    OK(pawl_last(p, &last, &api_err));
    CHECK_EQ(last, id);
    OK(pawl_status(p, id, &status, &api_err));
    CHECK_STR(status, "pending");
    take_submissions(s);
    CHECK_EQ(listed(p, (struct pawl_list_query){.status = "pending"}), 0);
    CHECK_EQ(listed(p, (struct pawl_list_query){.status = "running"}), 1);
    run_workflows(s, "");
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(list_merges_submissions_and_executions_by_id)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t before = 0, first = submit(s, "x");
    struct pawl_list_query q = {.limit = 2};
    int n = 0;

    wait_with(s, (struct sql_call){0});
    submit(s, "y");
    sql_submit(s, (struct sql_call){0});
    OK(pawl_list(p, &q, count_line, &n, &before, &api_err));
    q.before = before;
    OK(pawl_list(p, &q, count_line, &n, &before, &api_err));
    CHECK_EQ(n, 4);
    CHECK_EQ(before, first);
    take_submissions(s);
    drain(s);
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(tree_shows_a_waiting_submission_and_why_names_the_missing_worker)
{
    struct store *s = fixture_store();
    int64_t id = wait_with(s, (struct sql_call){0});
    struct pawl *p = open_pawl();
    json_t *o, *reason;
    char *json;

    OK(pawl_tree(p, id, &json, &api_err));
    o = json_parse_and_free(json);
    CHECK_EQ(json_integer_value(json_object_get(o, "id")), id);
    CHECK_STR(text_in(o, "status"), "pending");
    json_decref(o);
    OK(pawl_why(p, id, &json, &api_err));
    o = json_parse_and_free(json);
    reason = json_array_get(json_object_get(o, "reasons"), 0);
    CHECK_STR(text_in(reason, "code"), "submission");
    CHECK(strstr(text_in(reason, "text"), "it was submitted at "));
    CHECK(strstr(text_in(reason, "text"), "no worker is alive (`pawl worker`)"));
    json_decref(o);
    take_submissions(s);
    run_workflows(s, "");
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

static int add_submitted(void *arg, const char *json)
{
    json_t *o = json_loads(json, 0, NULL);

    *(json_int_t *)arg += json_integer_value(json_object_get(o, "submitted")) *
                          (strcmp(text_in(o, "queue"), "q") ? 1 : 100);
    json_decref(o);
    return 0;
}

TEST(queues_count_waiting_submissions)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    json_int_t n = 0;

    wait_with(s, (struct sql_call){0});
    sql_submit(s, (struct sql_call){.queue = "q"});
    sql_submit(s, (struct sql_call){.queue = "q"});
    OK(pawl_queues(p, add_submitted, &n, &api_err));
    CHECK_EQ(n, 201);
    take_submissions(s);
    n = 0;
    OK(pawl_queues(p, add_submitted, &n, &api_err));
    CHECK_EQ(n, 0);
    run_workflows(s, "");
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(cancelled_submission_becomes_an_execution_that_never_started)
{
    struct store *s = fixture_store();
    int64_t id = wait_with(s, (struct sql_call){.key = "once", .delay = HOUR});
    struct pawl *p = open_pawl();
    struct pawl_cancelled c;

    OK(pawl_cancel(p, id, "ada", "a test", &c, &api_err));
    CHECK_STR(c.status, "cancelled");
    CHECK_EQ(c.left, 0);
    CHECK_STR(history(s, id), "created cancelled"); /* on_exit does not run */
    CHECK_STR(submission_word(s, id), "taken");
    CHECK_EQ(take_submissions(s), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    CHECK_EQ(pawl_cancel(p, id, NULL, NULL, NULL, &api_err), -PAWL_E_INVALID);
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

TEST(cancel_of_a_submission_does_not_cancel_an_earlier_execution_with_the_same_key)
{
    struct store *s = fixture_store();
    int64_t first = submit_with(s, (struct submission){.name = "x", .key = "once"});
    int64_t id = wait_with(s, (struct sql_call){.key = "once"});
    struct pawl *p = open_pawl();

    CHECK_EQ(pawl_cancel(p, id, NULL, NULL, NULL, &api_err), -PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, "was refused: the key 'once'"));
    CHECK_EQ(status_of(s, first), S_READY);
    verify_clean(s);
    pawl_close(p);
    store_close(&s);
}

struct race {
    struct store *other;
    int64_t id;
    struct request request;
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct race *r = arg;
    bool more;

    TRY(op_create_submission(t, r->id, err));
    return op_cancel(t, &r->request, 1, 1000, &more, err);
}

static void take(void *arg)
{
    struct race *r = arg;

    CHECK_EQ(take_submissions(r->other), 1);
}

TEST(cancel_of_a_submission_that_is_taken_meanwhile_cancels_the_execution)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct race r = {.other = fixture_store()};
    struct err err = ERR_INIT;

    r.id = wait_with(r.other, (struct sql_call){0});
    r.request = (struct request){.execution = r.id, .by = "ada"};
    if (!strcmp(test_db(), "sqlite"))
        take(&r);
    else
        watch_for(&w, "submission_waiting", 1, take, &r);
    CHECK_OK_ERR(store_turn(s, cancel_body, &r, &err), &err);
    CHECK_OK(r.request.rc);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL"), 1);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, r.id), S_CANCELLED);
    verify_clean(s);
    store_close(&r.other);
    store_close(&s);
}
