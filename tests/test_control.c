/* test_control.c - what an operator asks for through pawl.h: cancel, why, logs, metrics, limits and
 * pauses of queues, the fence. Jobs are made and moved through the store, whose clock a test moves.
 */
#include "fixture.h"

#include "api/api.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_error err;

#define OK(call)          test_check_ok(__FILE__, __LINE__, #call, call, err.message)
#define FAILS(call, code) CHECK_EQ(call, -(code))

/* ---- the two views of one database ---- */

static struct pawl *open_pawl(void)
{
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant()};
    struct pawl *p = NULL;

    OK(pawl_open(&o, &p, &err));
    return p;
}

/* Lets time pass for both. */
static void pass(struct pawl *p, int64_t us)
{
    clock_advance(us);
    p->env.clock_offset = fixture_env()->clock_offset;
}

static void close_both(struct pawl *p, struct store *s)
{
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static int hello_body(struct turn *t, void *arg, struct err *e)
{
    return op_worker_hello(t, arg, e);
}

static void hello(struct store *s, int64_t id, const char *folder, const char *serves)
{
    struct worker w = {.id = id,
                       .host = "host",
                       .folder = folder,
                       .version = "1",
                       .pid = 77,
                       .room = 4,
                       .serves = serves};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hello_body, &w, &e), &e);
}

/* ---- reading the answers ---- */

/* The reasons of an execution; the document lives as long as the test. */
static json_t *why(struct pawl *p, int64_t id)
{
    static json_t *kept[64];
    static size_t n;
    char *json = NULL;

    OK(pawl_why(p, id, &json, &err));
    CHECK(n < 64);
    CHECK((kept[n] = json_loads(json, 0, NULL)));
    free(json);
    CHECK_EQ(json_integer_value(json_object_get(kept[n], "id")), id);
    return json_object_get(kept[n++], "reasons");
}

/* All codes in their order, as "running attempt attempt". */
static const char *codes(const json_t *reasons)
{
    static char out[512];
    size_t i;

    out[0] = '\0';
    for (i = 0; i < json_array_size(reasons); i++) {
        const json_t *r = json_array_get(reasons, i);
        size_t len = strlen(out);

        CHECK(*json_string_value(json_object_get(r, "text")));
        snprintf(out + len, sizeof(out) - len, "%s%s", i ? " " : "",
                 json_string_value(json_object_get(r, "code")));
    }
    return out;
}

static const json_t *first(const json_t *reasons, const char *key)
{
    return json_object_get(json_array_get(reasons, 0), key);
}

static long long number(const json_t *reasons, const char *key)
{
    CHECK(json_is_integer(first(reasons, key)));
    return json_integer_value(first(reasons, key));
}

static const char *text(const json_t *reasons, const char *key)
{
    CHECK(json_is_string(first(reasons, key)));
    return json_string_value(first(reasons, key));
}

static void says(const json_t *reasons, size_t i, const char *words)
{
    const char *sentence = json_string_value(json_object_get(json_array_get(reasons, i), "text"));

    if (!sentence || !strstr(sentence, words))
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", sentence ? sentence : "",
                  words);
}

/* ---- cancel ---- */

TEST(cancelling_ends_what_waits_and_asks_what_runs)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t waits = submit(s, "waits"), runs;
    struct pawl_cancelled c;

    OK(pawl_cancel(p, waits, "ada", "not needed", &c, &err));
    CHECK_STR(c.status, "cancelled");
    CHECK_EQ(c.left, 0);
    CHECK_STR(history(s, waits), "created marked_ready cancelled");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE data = "
                           "'{\"by\":\"ada\",\"reason\":\"not needed\"}'"),
             1);
    runs = submit(s, "runs");
    claim_job(s, 1);
    OK(pawl_cancel(p, runs, NULL, NULL, &c, &err));
    CHECK_STR(c.status, "running");
    CHECK_EQ(c.left, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 13 AND data LIKE "
                           "'{\"by\":\"%@%\"}'"),
             1);
    OK(pawl_cancel(p, runs, NULL, NULL, &c, &err)); /* once more changes nothing */
    CHECK_STR(history(s, runs), "created marked_ready claimed cancel_requested");
    close_both(p, s);
}

TEST(cancelling_a_tree_reaches_all_of_it_however_large)
{
    enum { CHILDREN = 2300 };
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t top = submit(s, "top");
    struct held_job j = claim_job(s, 1);
    struct pawl_job *jobs = calloc(CHILDREN, sizeof(*jobs));
    struct pawl_cancelled c;
    size_t i;

    for (i = 0; i < CHILDREN; i++)
        jobs[i] = (struct pawl_job){.name = "child", .parent = top};
    OK(pawl_submit(p, jobs, CHILDREN, &err));
    free(jobs);
    claim_job(s, 1);
    OK(pawl_cancel(p, top, NULL, NULL, &c, &err));
    CHECK_EQ(c.left, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), CHILDREN - 1);
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, -1), 0);
    /* what has ended itself may have something open below it */
    OK(pawl_cancel(p, top, NULL, NULL, &c, &err));
    CHECK_STR(c.status, "cancelled");
    CHECK_EQ(c.left, 1);
    close_both(p, s);
}

TEST(what_has_ended_or_never_was_can_t_be_cancelled)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "a");

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    FAILS(pawl_cancel(p, id, NULL, NULL, NULL, &err), PAWL_E_INVALID);
    CHECK(strstr(err.message, "succeeded"));
    FAILS(pawl_cancel(p, 777, NULL, NULL, NULL, &err), PAWL_E_NOT_FOUND);
    id = submit(s, "b");
    FAILS(pawl_cancel(p, id, NULL, "\xff", NULL, &err), PAWL_E_INVALID);
    FAILS(pawl_cancel(p, id, "", NULL, NULL, &err), PAWL_E_INVALID);
    CHECK_EQ(status_of(s, id), S_READY);
    close_both(p, s);
}

/* ---- queues ---- */

static int64_t limit_now(struct store *s)
{
    return sql_number(s,
                      "SELECT COALESCE((SELECT max FROM limits WHERE key = 'queue:default'), -1)");
}

static int64_t claimable(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM task_outbox");
}

static void submit_many(struct pawl *p, size_t n)
{
    struct pawl_job *jobs = calloc(n, sizeof(*jobs));
    size_t i;

    for (i = 0; i < n; i++)
        jobs[i] = (struct pawl_job){.name = "one"};
    OK(pawl_submit(p, jobs, n, &err));
    free(jobs);
}

TEST(a_resumed_queue_has_the_limit_that_it_had)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    bool paused = true;

    submit_many(p, 6);
    OK(pawl_queue_limit(p, "default", 4, NULL, NULL, &paused, &err));
    CHECK(!paused);
    CHECK_EQ(claimable(s), 4);
    OK(pawl_queue_pause(p, "default", "ada", "deploy", &err));
    OK(pawl_queue_pause(p, "default", "bob", NULL, &err));
    CHECK_EQ(claimable(s), 0);
    verify_clean(s);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &err));
    CHECK_EQ(limit_now(s), 4);
    CHECK_EQ(claimable(s), 4);

    OK(pawl_queue_pause(p, "default", NULL, NULL, &err));
    OK(pawl_queue_limit(p, "default", 2, NULL, NULL, &paused, &err)); /* for later */
    CHECK(paused);
    CHECK_EQ(claimable(s), 0);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &err));
    CHECK_EQ(limit_now(s), 2);
    CHECK_EQ(claimable(s), 2);

    OK(pawl_queue_limit(p, "default", -1, NULL, NULL, NULL, &err));
    OK(pawl_queue_pause(p, "default", NULL, NULL, &err));
    CHECK_EQ(limit_now(s), 0);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &err));
    CHECK_EQ(limit_now(s), -1);
    CHECK_EQ(claimable(s), 6);
    FAILS(pawl_queue_resume(p, "default", NULL, NULL, &err), PAWL_E_INVALID);
    CHECK(strstr(err.message, "not paused"));
    close_both(p, s);
}

TEST(a_pause_and_its_end_reach_every_job_of_a_large_queue)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct held_job runs;

    submit_many(p, 2500);
    runs = claim_job(s, 1);
    OK(pawl_queue_pause(p, "default", NULL, NULL, &err));
    CHECK_EQ(claimable(s), 0);
    CHECK_EQ(status_of(s, runs.id), S_RUNNING);
    submit_many(p, 10);
    CHECK_EQ(claimable(s), 0);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &err));
    CHECK_EQ(claimable(s), 2509);
    CHECK_EQ(limit_now(s), -1);
    close_both(p, s);
}

static int queue_body(struct turn *t, void *arg, struct err *e)
{
    return op_queue(t, arg, e);
}

TEST(a_resume_that_died_half_way_is_finished_by_the_next)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct queue_order q = {.verb = QUEUE_RESUME, .queue = "default", .slice = 10};
    struct err e = ERR_INIT;

    submit_many(p, 50);
    OK(pawl_queue_limit(p, "default", 40, NULL, NULL, NULL, &err));
    OK(pawl_queue_pause(p, "default", NULL, NULL, &err));
    CHECK_OK_ERR(store_turn(s, queue_body, &q, &e), &e);
    CHECK(q.more && q.paused);
    CHECK_EQ(claimable(s), 10);
    verify_clean(s);
    OK(pawl_queue_resume(p, "default", NULL, NULL, &err));
    CHECK_EQ(limit_now(s), 40);
    CHECK_EQ(claimable(s), 40);
    close_both(p, s);
}

TEST(names_and_reasons_that_can_t_be_stored_are_refused)
{
    struct pawl *p = open_pawl();
    char longer[100];

    memset(longer, 'q', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    FAILS(pawl_queue_pause(p, "", NULL, NULL, &err), PAWL_E_INVALID);
    FAILS(pawl_queue_pause(p, longer, NULL, NULL, &err), PAWL_E_INVALID);
    FAILS(pawl_queue_pause(p, "q", NULL, "\xff", &err), PAWL_E_INVALID);
    FAILS(pawl_queue_limit(p, NULL, 1, NULL, NULL, NULL, &err), PAWL_E_INVALID);
    pawl_close(p);
}

/* ---- why ---- */

TEST(why_names_the_worker_that_is_missing)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "b", .priority = 1}), later;
    json_t *r;

    later = submit(s, "later");
    r = why(p, later);
    CHECK_STR(codes(r), "no_worker");
    CHECK_EQ(number(r, "before"), 1);
    CHECK_EQ(number(why(p, id), "before"), 0);
    hello(s, 5, "f", "{\"function:a\":[\"default\"],\"process\":[\"mail\"]}");
    r = why(p, later);
    CHECK_STR(codes(r), "not_served");
    says(r, 0, "lane process in queue default");
    hello(s, 6, "f", "{\"process\":[\"mail\",\"default\"]}");
    r = why(p, later);
    CHECK_STR(codes(r), "in_line");
    CHECK_EQ(number(r, "alive"), 2);
    CHECK_EQ(number(r, "serving"), 1);
    CHECK_EQ(number(r, "room"), 4);
    hello(s, 7, "f", NULL); /* one that did not say is believed to serve it */
    CHECK_EQ(number(why(p, later), "serving"), 2);
    pass(p, 60 * SECOND);
    CHECK_STR(codes(why(p, later)), "no_worker");
    close_both(p, s);
}

TEST(why_says_until_when_a_delay_lasts_and_what_a_retry_is_for)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id;
    json_t *r;

    id = submit_with(s, (struct submission){.name = "d", .max_attempts = 3, .delay = 100 * SECOND});
    r = why(p, id);
    CHECK_STR(codes(r), "delay");
    CHECK(number(r, "in_us") > 50 * SECOND && number(r, "in_us") <= 100 * SECOND);
    pass(p, 101 * SECOND);
    run_timers(s);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 40 * SECOND), 0);
    r = why(p, id);
    CHECK_STR(codes(r), "retry attempt");
    says(r, 0, "retry 1 of 2 in ");
    says(r, 0, "because attempt 1 failed after 1.0 ms with exit code 1: it said no");
    CHECK_EQ(number(r, "exit_code"), 1);
    pass(p, 41 * SECOND);
    says(why(p, id), 0, "retry 1 of 2 now");
    run_timers(s);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_REFUSED, 40 * SECOND), 0);
    CHECK_STR(codes(why(p, id)), "released attempt");
    close_both(p, s);
}

TEST(why_names_the_limit_and_who_has_its_permits)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct held_job j;
    int64_t a, b, c;
    json_t *r;

    a = submit_with(s, (struct submission){.name = "a", .concurrency = "k"});
    b = submit_with(s, (struct submission){.name = "b", .concurrency = "k"});
    c = submit_with(s, (struct submission){.name = "c", .concurrency = "k"});
    r = why(p, c);
    CHECK_STR(codes(r), "limit");
    CHECK_STR(text(r, "key"), "key:k");
    CHECK_EQ(number(r, "max"), 1);
    CHECK_EQ(number(r, "used"), 1);
    CHECK_EQ(number(r, "before"), 1);
    CHECK_EQ(json_array_size(first(r, "holders")), 1);
    j = claim_job(s, 1);
    CHECK_EQ(j.id, a);
    r = why(p, b);
    CHECK_EQ(number(r, "before"), 0);
    says(r, 0, "(running)");
    CHECK_EQ(json_integer_value(json_object_get(json_array_get(first(r, "holders"), 0), "id")), a);

    OK(pawl_queue_pause(p, "default", "ada", "deploy", &err));
    CHECK_EQ(settle_ok(s, j), 0);
    r = why(p, submit(s, "d"));
    CHECK_STR(codes(r), "queue_paused");
    CHECK_STR(text(r, "by"), "ada");
    CHECK_STR(text(r, "reason"), "deploy");
    CHECK_STR(text(r, "queue"), "default");
    close_both(p, s);
}

TEST(why_says_who_paused_a_job)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "a");
    json_t *r;

    CHECK_EQ(hold(s, id), 0);
    r = why(p, id);
    CHECK_STR(codes(r), "paused");
    CHECK(json_is_string(first(r, "since")));
    CHECK_STR(text(r, "by"), "tester");
    says(r, 0, "by tester: a test");
    CHECK_EQ(unhold(s, id), 0);
    close_both(p, s);
}

TEST(why_of_a_running_job_tells_whether_its_worker_is_still_there)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id;
    json_t *r;

    hello(s, 1, "folder-a", "{\"process\":[\"default\"]}");
    id = submit_with(s, (struct submission){.name = "a", .max_attempts = 2});
    claim_job(s, 1);
    r = why(p, id);
    CHECK_STR(codes(r), "running");
    CHECK_EQ(number(r, "attempt"), 1);
    CHECK_STR(text(r, "worker"), "0000000000000001");
    CHECK_STR(text(r, "host"), "host");
    OK(pawl_cancel(p, id, "ada", NULL, NULL, &err));
    r = why(p, id);
    CHECK_STR(codes(r), "running cancel_requested");
    says(r, 1, "by ada");
    pass(p, LEASE + SECOND);
    CHECK_STR(codes(why(p, id)), "running worker_silent cancel_requested");
    CHECK_EQ(reap(s), 1);
    hello(s, 2, "folder-a", "{\"process\":[\"x\"]}");
    hello(s, 3, "elsewhere", "{\"process\":[\"x\"]}");
    r = why(p, id);
    CHECK_STR(codes(r), "running orphan cancel_requested");
    r = json_array_get(r, 1);
    CHECK_STR(json_string_value(json_object_get(r, "folder")), "folder-a");
    CHECK_EQ(json_integer_value(json_object_get(r, "alive_in_folder")), 1);
    CHECK_EQ(json_integer_value(json_object_get(r, "alive_elsewhere")), 1);
    close_both(p, s);
}

TEST(why_of_what_ended_tells_how_each_attempt_ended)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "a", .max_attempts = 3});
    json_t *r;

    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_LOST, 0), 0);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_TIMED_OUT, 0), 0);
    r = why(p, id);
    CHECK_STR(codes(r), "ended attempt attempt attempt");
    CHECK_STR(text(r, "status"), "timed_out");
    says(r, 0, "it timed out at ");
    says(r, 0, "in attempt 3 of 3: it said no");
    says(r, 1, "attempt 1 failed");
    says(r, 2, "attempt 2 was lost");
    says(r, 3, "attempt 3 timed out");

    id = submit(s, "b");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_STR(codes(why(p, id)), "ended");
    id = submit(s, "c");
    OK(pawl_cancel(p, id, "ada", "no need", NULL, &err));
    says(why(p, id), 0, "by ada: no need");
    FAILS(pawl_why(p, 777, &(char *){NULL}, &err), PAWL_E_NOT_FOUND);
    close_both(p, s);
}

TEST(why_of_a_flow_names_what_is_open_below_it)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t flow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "w"}), i;
    json_t *r;

    for (i = 0; i < 7; i++)
        submit_child(s, flow, "w::t");
    r = why(p, flow);
    CHECK_STR(codes(r), "children");
    CHECK_EQ(json_array_size(first(r, "open")), WHY_OTHERS);
    drain(s);
    CHECK_STR(codes(why(p, flow)), "ended");
    close_both(p, s);
}

/* ---- logs ---- */

struct logging {
    int64_t worker;
    struct log_chunk chunk;
};

static int log_body(struct turn *t, void *arg, struct err *e)
{
    struct logging *g = arg;

    return op_log(t, g->worker, &g->chunk, 1, e);
}

static void write_log(struct store *s, struct held_job j, int64_t offset, int64_t dropped,
                      const char *bytes)
{
    struct logging g = {j.worker,
                        {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                         .attempt = j.attempt,
                         .bytes = bytes,
                         .len = strlen(bytes),
                         .offset = offset,
                         .dropped = dropped}};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, &g, &e), &e);
    CHECK_EQ(g.chunk.lease.rc, 0);
}

static struct pawl_log_page read_log(struct pawl *p, int64_t id, int attempt, int64_t from,
                                     char out[16])
{
    struct pawl_log_page page;

    memset(out, 0, 16);
    OK(pawl_log(p, &(struct pawl_log_place){id, attempt, from}, out, 15, &page, &err));
    CHECK(page.len <= 15);
    return page;
}

TEST(output_is_read_in_pages_while_its_attempt_runs_and_after)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit_with(s, (struct submission){.name = "a", .max_attempts = 2});
    struct pawl_log_page page;
    struct held_job j;
    char out[16];

    page = read_log(p, id, 0, 0, out);
    CHECK(!page.attempt && !page.len && !page.ended && !page.more);
    j = claim_job(s, 1);
    write_log(s, j, 0, 0, "one two three four\n");
    page = read_log(p, id, 0, 0, out);
    CHECK_STR(out, "one two three f");
    CHECK(page.more && !page.ended && page.attempt == 1);
    page = read_log(p, id, 0, page.next, out);
    CHECK_STR(out, "our\n");
    CHECK(!page.more && !page.ended);
    write_log(s, j, 19, 1000, "tail");
    page = read_log(p, id, 1, page.next, out);
    CHECK_STR(out, "tail");
    CHECK_EQ(page.dropped, 1000);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    CHECK(read_log(p, id, 0, page.next, out).ended); /* the last one, which is the first */
    j = claim_job(s, 1);
    page = read_log(p, id, 0, 0, out);
    CHECK(page.attempt == 2 && !page.len && !page.ended);
    CHECK(read_log(p, id, 1, 0, out).ended);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK(read_log(p, id, 2, 0, out).ended);
    FAILS(pawl_log(p, &(struct pawl_log_place){id, 3, 0}, out, 15, &page, &err), PAWL_E_NOT_FOUND);
    FAILS(pawl_log(p, &(struct pawl_log_place){777, 0, 0}, out, 15, &page, &err), PAWL_E_NOT_FOUND);
    close_both(p, s);
}

TEST(what_ended_without_a_start_has_no_output_to_wait_for)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "a");
    char out[16];

    CHECK_EQ(cancel(s, id), 0);
    CHECK(read_log(p, id, 0, 0, out).ended);
    close_both(p, s);
}

/* ---- metrics ---- */

static int counters_body(struct turn *t, void *arg, struct err *e)
{
    static const struct counter list[] = {
        {"pawl_attempts_total", "queue=\"a\\\"b\",executor=\"process\"", 3},
        {"pawl_adoptions_total", "", 2},
        {"pawl_run_seconds_bucket", "queue=\"default\",executor=\"process\",le=\"0.01\"", 2},
        {"pawl_run_seconds_bucket", "queue=\"default\",executor=\"process\",le=\"5\"", 3},
        {"pawl_run_seconds_bucket", "queue=\"default\",executor=\"process\",le=\"+Inf\"", 1},
        {"pawl_run_seconds_bucket", "queue=\"other\",executor=\"process\",le=\"1800\"", 1},
        {"pawl_run_seconds_sum_us", "queue=\"default\",executor=\"process\"", 12500000},
    };

    (void)arg;
    return op_counters(t, 1, list, sizeof(list) / sizeof(*list), e);
}

static void has_line(const char *all, const char *line)
{
    const char *at = strstr(all, line);

    while (at && !((at == all || at[-1] == '\n') && at[strlen(line)] == '\n'))
        at = strstr(at + 1, line);
    if (!at)
        test_fail(__FILE__, __LINE__, "no line: %s\nin:\n%s", line, all);
}

TEST(metrics_show_what_is_there_and_what_was_counted)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct err e = ERR_INIT;
    char *all = NULL;

    hello(s, 1, "f", NULL);
    submit_with(s, (struct submission){.name = "x", .queue = "we\"ird\\"});
    submit_with(s, (struct submission){.name = "x", .queue = QUEUE_HERE});
    submit_with(s, (struct submission){.name = "x", .queue = QUEUE_HERE});
    submit(s, "a");
    claim_job(s, 1);
    submit_with(s, (struct submission){.name = "b", .delay = 100 * SECOND});
    submit(s, "c");
    CHECK_OK_ERR(store_turn(s, counters_body, NULL, &e), &e);
    OK(pawl_metrics(p, &all, &err));
    has_line(all, "# TYPE pawl_queue_jobs gauge");
    has_line(all, "pawl_queue_jobs{queue=\"default\",state=\"ready\"} 1");
    has_line(all, "pawl_queue_jobs{queue=\"default\",state=\"held\"} 1");
    has_line(all, "pawl_queue_jobs{queue=\"default\",state=\"running\"} 1");
    has_line(all, "pawl_queue_jobs{queue=\"we\\\"ird\\\\\",state=\"ready\"} 1");
    has_line(all, "pawl_queue_jobs{queue=\"here\",state=\"ready\"} 2");
    has_line(all, "pawl_workers{state=\"alive\"} 1");
    has_line(all, "pawl_leases 1");
    has_line(all, "pawl_orphans 0");
    has_line(all, "pawl_adoptions_total 2");
    has_line(all, "pawl_leases_lost_total 0");
    has_line(all, "pawl_attempts_total{queue=\"a\\\"b\",executor=\"process\"} 3");
    free(all);
    close_both(p, s);
}

TEST(histograms_are_cumulative_and_have_all_their_buckets)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct err e = ERR_INIT;
    char *all = NULL;

#define RUN(suffix, le) "pawl_run_seconds" suffix "{queue=\"default\",executor=\"process\"" le "} "
    CHECK_OK_ERR(store_turn(s, counters_body, NULL, &e), &e);
    OK(pawl_metrics(p, &all, &err));
    has_line(all, "# TYPE pawl_run_seconds histogram");
    has_line(all, RUN("_bucket", ",le=\"0.005\"") "0");
    has_line(all, RUN("_bucket", ",le=\"0.01\"") "2");
    has_line(all, RUN("_bucket", ",le=\"1\"") "2");
    has_line(all, RUN("_bucket", ",le=\"5\"") "5");
    has_line(all, RUN("_bucket", ",le=\"1800\"") "5");
    has_line(all, RUN("_bucket", ",le=\"+Inf\"") "6");
    has_line(all, RUN("_sum", "") "12.500000");
    has_line(all, RUN("_count", "") "6");
    has_line(all, "pawl_run_seconds_count{queue=\"other\",executor=\"process\"} 1");
    has_line(all, "pawl_run_seconds_sum{queue=\"other\",executor=\"process\"} 0.000000");
    CHECK(!strstr(all, "_sum_us"));
    free(all);
    close_both(p, s);
}

/* ---- the fence ---- */

TEST(a_fence_takes_every_running_job_from_its_worker)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_fenced f;
    struct held_job j[3];
    int64_t first;

    submit_many(p, 4);
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    OK(pawl_fence(p, &f, &err));
    first = f.generation;
    CHECK(first > 1);
    CHECK_EQ(f.jobs, 3);
    CHECK_EQ(settle_ok(s, j[0]), -E_LEASE_LOST);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases WHERE worker IS NULL"), 3);
    OK(pawl_fence(p, &f, &err));
    CHECK(f.generation > first);
    CHECK_EQ(f.jobs, 0);
    drain(s);
    close_both(p, s);
}
