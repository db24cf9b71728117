/* test_why_job.c - pawl_why() for jobs. Workflows are tested in test_why.c. */
#include "base/text.h"
#include "control_fixture.h"

#include <stdio.h>

/* ---- reading the reasons ---- */

/* The reasons of an execution; the document is kept until the test ends. */
static json_t *why(struct pawl *p, int64_t id)
{
    static json_t *kept[64];
    static size_t n;
    char *json = NULL;

    OK(pawl_why(p, id, &json, &api_err));
    CHECK(n < 64);
    CHECK((kept[n] = json_loads(json, 0, NULL)));
    free(json);
    CHECK_EQ(json_integer_value(json_object_get(kept[n], "id")), id);
    return json_object_get(kept[n++], "reasons");
}

/* All codes in order, as "running attempt attempt". */
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

static int64_t time_of(const json_t *reason, const char *key)
{
    struct err e = ERR_INIT;
    int64_t us = 0;

    CHECK_OK_ERR(text_parse_time(json_string_value(json_object_get(reason, key)), &us, &e), &e);
    return us;
}

static void check_contains(const json_t *reasons, size_t i, const char *words)
{
    const char *sentence = json_string_value(json_object_get(json_array_get(reasons, i), "text"));

    if (!sentence || !strstr(sentence, words))
        test_fail(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", sentence ? sentence : "",
                  words);
}

/* ---- why ---- */

TEST(why_of_a_ready_job_names_the_missing_worker)
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
    register_worker(s, 5, "f", "{\"function:a\":[\"default\"],\"process\":[\"mail\"]}");
    r = why(p, later);
    CHECK_STR(codes(r), "not_served");
    check_contains(r, 0,
                   "lane process in queue default (1 is alive); start one: `pawl worker`; 1 is "
                   "ahead of it");
    register_worker(s, 6, "f", "{\"process\":[\"mail\",\"default\"]}");
    r = why(p, later);
    CHECK_STR(codes(r), "in_line");
    CHECK_EQ(number(r, "alive"), 2);
    CHECK_EQ(number(r, "serving"), 1);
    CHECK_EQ(number(r, "room"), 4);
    register_worker(s, 7, "f", NULL); /* a worker without a list of lanes counts as serving it */
    CHECK_EQ(number(why(p, later), "serving"), 2);
    pass(p, 60 * SECOND);
    CHECK_STR(codes(why(p, later)), "no_worker");
    close_both(p, s);
}

TEST(why_of_a_job_whose_workers_drain_says_so)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_worker *w = NULL;
    char worker[17];
    int64_t id = submit(s, "a");
    json_t *r;

    OK(pawl_worker_open(p, NULL, &w, &api_err));
    r = why(p, id);
    CHECK_STR(codes(r), "in_line");
    CHECK_EQ(number(r, "draining"), 0);
    snprintf(worker, sizeof(worker), "%016llx", (unsigned long long)pawl_worker_id(w));
    OK(pawl_worker_drain(p, worker, "ada", NULL, &api_err));
    r = why(p, id); /* before the worker learns of the request */
    CHECK_STR(codes(r), "not_served");
    CHECK_EQ(number(r, "alive"), 1);
    CHECK_EQ(number(r, "draining"), 1);
    check_contains(r, 0, "(the only one drains); start one: `pawl worker`");
    register_worker(s, 5, "f", "{\"process\":[\"mail\"]}");
    check_contains(why(p, id), 0, "(2 are alive, 1 of which drains); start one: `pawl worker`");
    pawl_worker_close(w);
    close_both(p, s);
}

TEST(why_of_a_delayed_job_gives_the_time_and_for_a_retry_also_the_reason)
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
    check_contains(r, 0, "retry 1 of 2 in ");
    check_contains(r, 0, "because attempt 1 failed after 1.0 ms with exit code 1: it said no");
    CHECK_EQ(number(r, "exit_code"), 1);
    pass(p, 41 * SECOND);
    check_contains(why(p, id), 0, "retry 1 of 2 now");
    run_timers(s);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_REFUSED, 40 * SECOND), 0);
    CHECK_STR(codes(why(p, id)), "released attempt");
    pass(p, 41 * SECOND);
    run_timers(s);
    r = why(p, id);
    CHECK_STR(codes(r), "no_worker released attempt");
    check_contains(r, 1, "attempt 2 was refused after 1.0 ms with exit code 1: it said no");
    close_both(p, s);
}

TEST(why_of_a_job_held_by_a_limit_names_the_limit_and_the_holders)
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
    check_contains(r, 0, "(running)");
    CHECK_EQ(json_integer_value(json_object_get(json_array_get(first(r, "holders"), 0), "id")), a);

    OK(pawl_queue_pause(p, "default", "ada", "deploy", &api_err));
    CHECK_EQ(settle_ok(s, j), 0);
    r = why(p, submit(s, "d"));
    CHECK_STR(codes(r), "queue_paused");
    CHECK_STR(text(r, "by"), "ada");
    CHECK_STR(text(r, "reason"), "deploy");
    CHECK_STR(text(r, "queue"), "default");
    close_both(p, s);
}

TEST(why_of_a_paused_job_names_the_user)
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
    check_contains(r, 0, "by tester: a test");
    CHECK_EQ(unhold(s, id), 0);
    close_both(p, s);
}

TEST(why_of_a_running_job_reports_whether_its_worker_is_alive)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id;
    json_t *r;

    register_worker(s, 1, "folder-a", "{\"process\":[\"default\"]}");
    id = submit_with(s, (struct submission){.name = "a", .max_attempts = 2});
    claim_job(s, 1);
    r = why(p, id);
    CHECK_STR(codes(r), "running");
    CHECK_EQ(number(r, "attempt"), 1);
    CHECK_STR(text(r, "worker"), "0000000000000001");
    CHECK_STR(text(r, "host"), "host");
    OK(pawl_cancel(p, id, "ada", NULL, NULL, &api_err));
    r = why(p, id);
    CHECK_STR(codes(r), "running cancel_requested");
    check_contains(r, 1, "by ada");
    pass(p, LEASE + SECOND);
    CHECK_STR(codes(why(p, id)), "running worker_silent cancel_requested");
    CHECK_EQ(reap(s), 1);
    register_worker(s, 2, "folder-a", "{\"process\":[\"x\"]}");
    register_worker(s, 3, "elsewhere", "{\"process\":[\"x\"]}");
    r = why(p, id);
    CHECK_STR(codes(r), "running orphan cancel_requested");
    r = json_array_get(r, 1);
    CHECK_STR(json_string_value(json_object_get(r, "folder")), "folder-a");
    CHECK_EQ(json_integer_value(json_object_get(r, "alive_in_folder")), 1);
    CHECK_EQ(json_integer_value(json_object_get(r, "alive_elsewhere")), 1);
    close_both(p, s);
}

TEST(why_of_an_orphan_computes_others_from_with_the_configured_host_grace)
{
    struct store *s = fixture_store();
    char path[4096];
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant(), .config = path};
    struct pawl *p = NULL;
    json_t *orphan;
    int64_t id;
    FILE *f;

    snprintf(path, sizeof(path), "%s/pawl.yaml", test_dir());
    CHECK((f = fopen(path, "w")));
    CHECK(fputs("worker: {host_grace: 2h}\n", f) >= 0 && !fclose(f));
    OK(pawl_open(&o, &p, &api_err));
    register_worker(s, 1, "folder-a", "{\"process\":[\"default\"]}");
    id = submit(s, "a");
    claim_job(s, 1);
    pass(p, LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    orphan = json_array_get(why(p, id), 1);
    CHECK_EQ(time_of(orphan, "others_from") - time_of(orphan, "expired_at"), 7200 * SECOND);
    close_both(p, s);
}

TEST(why_of_an_ended_job_reports_the_outcome_of_each_attempt)
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
    check_contains(r, 0, "it timed out at ");
    check_contains(r, 0, "in attempt 3 of 3: it said no");
    check_contains(r, 1, "attempt 1 failed");
    check_contains(r, 2, "attempt 2 was lost");
    check_contains(r, 3, "attempt 3 timed out");

    id = submit(s, "b");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_STR(codes(why(p, id)), "ended");
    id = submit(s, "c");
    OK(pawl_cancel(p, id, "ada", "no need", NULL, &api_err));
    check_contains(why(p, id), 0, "by ada: no need");
    FAILS(pawl_why(p, 777, &(char *){NULL}, &api_err), PAWL_E_NOT_FOUND);
    close_both(p, s);
}

TEST(why_of_a_workflow_names_its_open_children)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t workflow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "w"}), i;
    json_t *r;

    for (i = 0; i < 7; i++)
        submit_child(s, workflow, "w::t");
    r = why(p, workflow);
    CHECK_STR(codes(r), "children no_worker");
    CHECK_EQ(json_array_size(first(r, "open")), WHY_MAX_OTHERS);
    drain(s);
    CHECK_STR(codes(why(p, workflow)), "ended");
    close_both(p, s);
}
