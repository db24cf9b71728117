/* test_deliveries.c - ends of executions are reported to webhooks by jobs that the turn of the end
 * submits: which ends, what they contain, and that none is lost or doubled. */
#include "catalogue_fixture.h"

#include <jansson.h>

TEST_LONG;

#define FLOW "name: flow\ntasks: {a: {run: x}, b: {needs: a, run: x}}\n"

static void create(struct catalogue *c, struct pawl_hook h)
{
    char *secret;

    h.url = h.url ? h.url : "https://example.invalid/hook";
    OK(pawl_hook_create(c->p, &h, NULL, NULL, &secret, &api_err));
    free(secret);
}

static int64_t deliveries(struct catalogue *c, const char *hook)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE name = 'hook::%s'", hook);
    return sql_number(c->s, sql);
}

TEST(end_of_a_run_submits_one_delivery_with_a_cloud_event)
{
    struct catalogue c = open_catalogue();
    json_t *input, *event, *data;
    struct execution e;
    int64_t id;

    create(&c, (struct pawl_hook){.name = "all"});
    id = submit_workflow(c.s, FLOW, NULL);
    CHECK_EQ(deliveries(&c, "all"), 0);
    run_workflows(c.s, " a ");
    CHECK_EQ(deliveries(&c, "all"), 1);
    e = get(c.s, sql_number(c.s, "SELECT id FROM executions WHERE name = 'hook::all'"));
    CHECK_STR(e.queue, "pawl:hooks");
    CHECK_STR(e.lane, "function:pawl:deliver");
    CHECK_EQ(e.status, S_READY);
    CHECK_EQ(e.max_attempts, 12);
    CHECK_EQ(e.parent, 0);
    input = json_loads(e.input, 0, NULL);
    CHECK_STR(text_in(input, "hook"), "all");
    event = json_object_get(input, "event");
    CHECK_STR(text_in(event, "specversion"), "1.0");
    CHECK_STR(text_in(event, "type"), "pawl.workflow.failed");
    CHECK(!strncmp(text_in(event, "source"), "urn:pawl:", 9));
    CHECK(strstr(text_in(event, "time"), "Z"));
    data = json_object_get(event, "data");
    CHECK_EQ(json_integer_value(json_object_get(data, "execution")), id);
    CHECK_STR(text_in(data, "name"), "flow");
    CHECK_STR(text_in(data, "status"), "failed");
    CHECK(strstr(text_in(data, "error"), "a failed"));
    json_decref(input);
    close_catalogue(&c);
}

TEST(filters_select_the_ends_that_are_reported)
{
    struct catalogue c = open_catalogue();

    create(&c, (struct pawl_hook){.name = "runs"});
    create(&c, (struct pawl_hook){.name = "everything", .tasks = true});
    create(&c, (struct pawl_hook){.name = "failed", .statuses = "failed,timed_out"});
    create(&c, (struct pawl_hook){.name = "skipped", .statuses = "skipped", .tasks = true});
    create(&c, (struct pawl_hook){.name = "flow", .workflow = "flow", .tasks = true});
    create(&c, (struct pawl_hook){.name = "slow", .queue = "slow"});
    submit_workflow(c.s, FLOW, NULL);
    submit_workflow(c.s, "name: flower\ntasks: {a: {run: x}}\n", NULL);
    CHECK_EQ(cancel(c.s, submit_with(c.s, (struct submission){.name = "job", .queue = "slow"})), 0);
    run_workflows(c.s, " ");
    submit_workflow(c.s, FLOW, NULL);
    run_workflows(c.s, " a ");
    CHECK_EQ(deliveries(&c, "runs"), 4);
    CHECK_EQ(deliveries(&c, "everything"), 8); /* a skipped task is not reported by default */
    CHECK_EQ(deliveries(&c, "failed"), 1);
    CHECK_EQ(deliveries(&c, "skipped"), 1);
    CHECK_EQ(deliveries(&c, "flow"), 5);
    CHECK_EQ(deliveries(&c, "slow"), 1);
    close_catalogue(&c);
}

TEST(end_of_a_delivery_is_not_reported)
{
    struct catalogue c = open_catalogue();
    int64_t job;

    create(&c, (struct pawl_hook){.name = "all", .tasks = true});
    CHECK_EQ(cancel(c.s, submit(c.s, "job")), 0);
    CHECK_EQ(deliveries(&c, "all"), 1);
    job = sql_number(c.s, "SELECT id FROM executions WHERE name = 'hook::all'");
    CHECK_EQ(cancel(c.s, job), 0);
    CHECK_EQ(status_of(c.s, job), S_CANCELLED);
    CHECK_EQ(deliveries(&c, "all"), 1);
    close_catalogue(&c);
}

TEST(another_store_notices_that_a_reporting_webhook_was_created_or_revoked)
{
    struct catalogue c = open_catalogue();

    CHECK_EQ(cancel(c.s, submit(c.s, "job")), 0);
    create(&c, (struct pawl_hook){.name = "all"}); /* by another store than c.s */
    CHECK_EQ(cancel(c.s, submit(c.s, "job")), 0);
    CHECK_EQ(deliveries(&c, "all"), 1);
    OK(pawl_hook_revoke(c.p, "all", NULL, NULL, &api_err));
    CHECK_EQ(cancel(c.s, submit(c.s, "job")), 0);
    CHECK_EQ(deliveries(&c, "all"), 1);
    close_catalogue(&c);
}

TEST(reporting_webhook_with_invalid_settings_is_refused)
{
    static const struct pawl_hook bad[] = {
        {.name = "a", .url = "ftp://h/"},
        {.name = "a", .url = "h/x"},
        {.name = "a", .url = "https://"},
        {.name = "a", .url = "https://user:secret@h/"},
        {.name = "a", .url = "https://h/\n"},
        {.name = "a", .url = "https://h/", .signature = "github"},
        {.name = "a", .url = "https://h/", .statuses = "failed,running"},
        {.name = "a", .url = "https://h/", .statuses = ""},
        {.name = "a", .url = "https://h/", .workflow = "a b"},
        {.name = "a", .statuses = "failed"},
        {.name = "a", .tasks = true},
    };
    struct catalogue c = open_catalogue();
    char *secret;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_EQ(pawl_hook_create(c.p, &bad[i], NULL, NULL, &secret, &api_err), -PAWL_E_INVALID);
        CHECK(!strstr(api_err.message, "secret@"));
    }
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM hooks"), 0);
    close_catalogue(&c);
}

/* ---- kill -9 ---- */

static void run_once(struct store *s, void *arg)
{
    (void)arg;
    submit_workflow(s, FLOW, NULL);
    run_workflows(s, " ");
}

/* drain() would run deliveries, too, which are no jobs for its lane. */
static void check_each_reported(struct store *s)
{
    run_workflows(s, " ");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE name = 'hook::all'"),
             sql_number(s, "SELECT count(*) FROM executions WHERE name = 'flow' AND status >= 4"));
}

TEST(each_end_has_one_delivery_whenever_the_process_that_ends_it_is_killed)
{
    struct catalogue c = open_catalogue();
    struct store *s;
    int nth = 0;

    create(&c, (struct pawl_hook){.name = "all"});
    pawl_close(c.p);
    store_close(&c.s);
    while (nth < 200 && killed_at(NULL, nth += 2, run_once, NULL)) {
        s = fixture_store();
        check_each_reported(s);
        store_close(&s);
    }
    CHECK(nth > 10);
    CHECK(nth < 200);
    s = fixture_store();
    CHECK(sql_number(s, "SELECT count(*) FROM executions WHERE name = 'hook::all'") > 0);
    verify_clean(s);
    store_close(&s);
}
