/* test_api.c - the public library as an embedder uses it: through pawl.h only. */
#include "api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILS(call, code) CHECK_EQ(call, -(code))

static void verify_and_close(struct pawl *p)
{
    struct pawl_verify_result r;

    OK(pawl_verify(p, NULL, &r, &api_err));
    CHECK_EQ(r.violations, 0);
    CHECK(r.checks > 20);
    pawl_close(p);
}

static struct pawl_worker *open_worker(struct pawl *p, int64_t lease)
{
    struct pawl_worker_options o = {.lease = lease, .folder = "here"};
    struct pawl_worker *w = NULL;

    OK(pawl_worker_open(p, &o, &w, &api_err));
    return w;
}

static int64_t submit_one(struct pawl *p, int max_attempts)
{
    struct pawl_job job = {.name = "exec::a", .input = "[1]", .max_attempts = max_attempts};

    OK(pawl_submit(p, &job, 1, &api_err));
    CHECK(!job.existed);
    return job.id;
}

static struct pawl_claim claim_one_job(struct pawl_worker *w)
{
    struct pawl_claim c = {0};
    size_t n = 0;

    OK(pawl_claim(w, &c, 1, &n, &api_err));
    CHECK_EQ(n, 1);
    return c;
}

static struct pawl_lease lease_of(const struct pawl_claim *c)
{
    return (struct pawl_lease){.execution = c->execution, .epoch = c->epoch};
}

static int count_lines(void *arg, const char *json)
{
    CHECK(json[0] == '{' && json[strlen(json) - 1] == '}' && !strchr(json, '\n'));
    ++*(int *)arg;
    return 0;
}

static int keep_line(void *arg, const char *json)
{
    snprintf(arg, 2000, "%s", json);
    return 0;
}

TEST(draining_worker_claims_nothing_and_settles_the_job_that_it_has)
{
    struct pawl *p = open_pawl();
    struct pawl_worker *w = open_worker(p, 0);
    struct pawl_claim c, none;
    struct pawl_settlement done = {.outcome = PAWL_OK};
    char id[17], line[2000] = "";
    size_t n = 1;

    snprintf(id, sizeof(id), "%016llx", (unsigned long long)pawl_worker_id(w));
    FAILS(pawl_worker_drain(p, "x", NULL, NULL, &api_err), PAWL_E_INVALID);
    FAILS(pawl_worker_drain(p, "00000000000000ff", NULL, NULL, &api_err), PAWL_E_NOT_FOUND);
    submit_one(p, 1);
    submit_one(p, 1);
    c = claim_one_job(w);
    OK(pawl_worker_drain(p, id, "ada", "new disk", &api_err));
    OK(pawl_worker_drain(p, id, "bob", NULL, &api_err)); /* the last requester is shown */
    OK(pawl_workers(p, keep_line, line, &api_err));
    CHECK(strstr(line, "\"state\":\"draining\",\"drain\":{\"since\":\"20"));
    CHECK(strstr(line, "\"by\":\"bob\",\"reason\":null}"));
    CHECK(!pawl_worker_is_draining(w));
    OK(pawl_tick(w, NULL, &api_err));
    CHECK(pawl_worker_is_draining(w));
    OK(pawl_claim(w, &none, 1, &n, &api_err));
    CHECK_EQ(n, 0);
    done.lease = lease_of(&c);
    OK(pawl_settle(w, &done, 1, &api_err));
    CHECK_STR(done.status, "succeeded");
    pawl_worker_close(w);
    verify_and_close(p);
}

TEST(settled_job_shows_its_result)
{
    struct pawl *p = open_pawl();
    struct pawl_worker *w = open_worker(p, 0);
    int64_t id = submit_one(p, 1), last = 0;
    struct pawl_claim c = claim_one_job(w);
    struct pawl_lease l = lease_of(&c);
    struct pawl_settlement s = {.lease = l, .outcome = PAWL_OK, .result = "{\"a\":\n 2}"};
    char *json = NULL;
    int events = 0;

    CHECK_EQ(c.execution, id);
    CHECK_EQ(c.attempt, 1);
    CHECK_STR(c.input, "[1]");
    CHECK(!c.adopted);
    OK(pawl_started(w, &l, 1, 0, &api_err));
    OK(pawl_heartbeat(w, &l, 1, &api_err));
    CHECK(!l.lost && !l.cancel_requested);
    OK(pawl_settle(w, &s, 1, &api_err));
    CHECK_STR(s.status, "succeeded");
    OK(pawl_last(p, &last, &api_err));
    CHECK_EQ(last, id);
    OK(pawl_show(p, id, &json, &api_err));
    CHECK(strstr(json, "\"status\":\"succeeded\""));
    CHECK(strstr(json, "\"result\":{\"a\":  2}"));
    CHECK_EQ(count_lines(&events, json), 0);
    free(json);
    events = 0;
    OK(pawl_events(p, &(struct pawl_event_query){.execution = id}, count_lines, &events, &api_err));
    CHECK_EQ(events, 5);
    pawl_worker_close(w);
    verify_and_close(p);
}

TEST(submit_with_one_invalid_job_stores_no_job)
{
    struct pawl *p = open_pawl();
    struct pawl_job jobs[3] = {{.name = "a"}, {.name = "b", .input = "{"}, {.name = "c"}};
    int64_t id;

    FAILS(pawl_submit(p, jobs, 3, &api_err), PAWL_E_INVALID);
    CHECK_EQ(api_err.code, PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "job 2 of 3"));
    FAILS(pawl_last(p, &id, &api_err), PAWL_E_NOT_FOUND);
    jobs[1].input = "{}";
    OK(pawl_submit(p, jobs, 3, &api_err));
    CHECK(jobs[0].id < jobs[1].id && jobs[1].id < jobs[2].id);
    verify_and_close(p);
}

TEST(job_above_the_cap_with_queues_disabled_is_refused_and_a_workflow_is_accepted)
{
    char path[4200];
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant(), .config = path};
    struct pawl_job jobs[2] = {{.name = "a"}, {.name = "b"}}, one = {.name = "c"};
    struct pawl_job workflow = {.yaml = "name: w\ntasks: {d: 'true'}\n"};
    struct pawl *p = NULL;
    FILE *f;

    snprintf(path, sizeof(path), "%s/pawl.yaml", test_dir());
    CHECK((f = fopen(path, "w")) != NULL);
    fprintf(f, "queue: {enabled: false, cap: 2}\n");
    CHECK_EQ(fclose(f), 0);
    OK(pawl_open(&o, &p, &api_err));
    OK(pawl_submit(p, jobs, 2, &api_err));
    FAILS(pawl_submit(p, &one, 1, &api_err), PAWL_E_REFUSED);
    CHECK(strstr(api_err.message, "queue.cap (2) is reached"));
    OK(pawl_submit(p, &workflow, 1, &api_err));
    OK(pawl_cancel(p, jobs[0].id, NULL, NULL, NULL, &api_err)); /* task d gets its permit */
    FAILS(pawl_submit(p, &one, 1, &api_err), PAWL_E_REFUSED);
    verify_and_close(p);
}

TEST(error_about_a_missing_object_contains_its_name)
{
    struct pawl *p = open_pawl();
    struct pawl_job jobs[2] = {{.name = "a"}};
    char *json;

    jobs[1].yaml = "name: w\nparams: {day: {type: string, required: true}}\ntasks: {a: exit}\n";
    FAILS(pawl_submit(p, jobs, 2, &api_err), PAWL_E_INVALID);
    CHECK_EQ(api_err.missing, PAWL_MISSING_PARAM);
    CHECK_STR(api_err.name, "day");
    FAILS(pawl_show(p, 777, &json, &api_err), PAWL_E_NOT_FOUND);
    CHECK_EQ(api_err.missing, PAWL_MISSING_EXECUTION);
    CHECK_STR(api_err.name, "777");
    OK(pawl_submit(p, jobs, 1, &api_err));
    FAILS(pawl_resume(p, jobs[0].id, NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK_EQ(api_err.missing, PAWL_MISSING_STATE);
    CHECK_STR(api_err.name, "");
    FAILS(pawl_queue_resume(p, "q", NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK_EQ(api_err.missing, PAWL_MISSING_STATE);
    FAILS(pawl_queue_resume(p, "\x01", NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK_EQ(api_err.missing, 0);
    jobs[1].params = (const char *const[]){"dya=monday", NULL};
    FAILS(pawl_submit(p, jobs, 2, &api_err), PAWL_E_INVALID);
    CHECK_EQ(api_err.missing, 0);
    verify_and_close(p);
}

TEST(submit_with_a_known_idempotency_key_returns_the_existing_execution)
{
    struct pawl *p = open_pawl();
    struct pawl_job job = {.name = "a", .key = "k"}, again = job, other = {.name = "b", .key = "k"};

    OK(pawl_submit(p, &job, 1, &api_err));
    OK(pawl_submit(p, &again, 1, &api_err));
    CHECK(again.existed);
    CHECK_EQ(again.id, job.id);
    FAILS(pawl_submit(p, &other, 1, &api_err), PAWL_E_CONFLICT);
    verify_and_close(p);
}

TEST(settle_after_a_lost_lease_changes_nothing_and_the_job_is_adopted)
{
    struct pawl *p = open_pawl();
    struct pawl_worker *dead = open_worker(p, 50000), *heir = open_worker(p, 50000);
    int64_t id = submit_one(p, 2);
    struct pawl_claim c = claim_one_job(dead), taken = {0};
    struct pawl_lease l = lease_of(&c);
    struct pawl_settlement late = {.lease = l, .outcome = PAWL_OK};
    struct pawl_settlement lost = {.outcome = PAWL_LOST, .error = "gone", .duration = -1};
    size_t n = 0;

    /* A worker reaps only after it has been healthy for one lease. */
    while (!n) {
        OK(pawl_tick(heir, NULL, &api_err));
        OK(pawl_claim(heir, &taken, 1, &n, &api_err));
    }
    CHECK_EQ(taken.execution, id);
    CHECK(taken.adopted);
    CHECK_EQ(taken.attempt, 1);
    CHECK_EQ(taken.epoch, c.epoch + 1);

    OK(pawl_heartbeat(dead, &l, 1, &api_err));
    CHECK(l.lost);
    OK(pawl_settle(dead, &late, 1, &api_err));
    CHECK(late.lease.lost);
    CHECK(!late.status);

    lost.lease = lease_of(&taken);
    OK(pawl_settle(heir, &lost, 1, &api_err));
    CHECK_STR(lost.status, "ready");
    pawl_worker_close(dead);
    pawl_worker_close(heir);
    verify_and_close(p);
}

TEST(delayed_job_becomes_claimable_by_a_pawl_tick_after_its_delay)
{
    struct pawl *p = open_pawl();
    struct pawl_worker *w = open_worker(p, 0);
    struct pawl_job job = {.name = "a", .delay = 30000};
    struct pawl_claim c;
    int64_t due = 0;
    size_t n = 0;

    OK(pawl_submit(p, &job, 1, &api_err));
    OK(pawl_tick(w, &due, &api_err));
    while (!n) {
        OK(pawl_tick(w, &due, &api_err));
        OK(pawl_claim(w, &c, 1, &n, &api_err));
    }
    CHECK_EQ(c.execution, job.id);
    CHECK_EQ(due, 0);
    pawl_worker_close(w);
    verify_and_close(p);
}

TEST(params_given_to_a_job_that_is_not_a_workflow_are_refused)
{
    struct pawl *p = open_pawl();
    struct pawl_job job = {.name = "exec::a", .params = (const char *const[]){"day=monday", NULL}};

    FAILS(pawl_submit(p, &job, 1, &api_err), PAWL_E_INVALID);
    CHECK_STR(api_err.message, "the job exec::a is not a workflow, so it has no param day=monday");
    verify_and_close(p);
}

TEST(settle_with_an_unknown_outcome_is_refused)
{
    struct pawl *p = open_pawl();
    struct pawl_worker *w = open_worker(p, 0);
    struct pawl_settlement s = {.outcome = 99};

    FAILS(pawl_settle(w, &s, 1, &api_err), PAWL_E_INVALID);
    OK(pawl_settle(w, NULL, 0, &api_err));
    OK(pawl_heartbeat(w, NULL, 0, &api_err));
    pawl_worker_close(w);
    verify_and_close(p);
}

TEST(tree_of_sixty_levels_is_read_completely)
{
    struct pawl *p = open_pawl();
    struct pawl_job job = {.name = "level"};
    int64_t top = 0;
    char *json = NULL;
    int i, lines = 0;

    for (i = 0; i < 60; i++) {
        OK(pawl_submit(p, &job, 1, &api_err));
        top = top ? top : job.id;
        job.parent = job.id;
    }
    OK(pawl_tree(p, top, &json, &api_err));
    for (i = 0; (size_t)i < strlen(json); i++)
        lines += json[i] == '{';
    CHECK_EQ(lines, 60);
    free(json);
    lines = 0;
    OK(pawl_tree_lines(p, top, count_lines, &lines, &api_err));
    CHECK_EQ(lines, 60);
    verify_and_close(p);
}

TEST(event_reader_gets_each_event_once)
{
    struct pawl *p = open_pawl();
    struct pawl_follower *f = NULL;
    int lines = 0;
    size_t n = 1;

    submit_one(p, 1);
    OK(pawl_follow(p, &(struct pawl_event_query){0}, &f, &api_err));
    OK(pawl_follower_next(f, count_lines, &lines, &n, &api_err));
    CHECK_EQ(lines, 0);
    submit_one(p, 1);
    while (lines < 2)
        OK(pawl_follower_next(f, count_lines, &lines, &n, &api_err));
    OK(pawl_follower_next(f, count_lines, &lines, &n, &api_err));
    CHECK_EQ(lines, 2);
    pawl_follower_close(f);
    FAILS(pawl_follow(p, &(struct pawl_event_query){.execution = 99}, &f, &api_err),
          PAWL_E_NOT_FOUND);
    verify_and_close(p);
}

TEST(listener_is_woken_by_a_new_job)
{
    struct pawl *p = open_pawl(), *other = open_pawl();
    struct pawl_listener *l = NULL;
    unsigned what = 0;

    OK(pawl_listen(p, PAWL_WAKE_JOBS, &l, &api_err));
    CHECK(pawl_listener_poll_ms(l) > 0);
    CHECK(pawl_listener_fd(l) >= 0);
    pawl_listener_drain(l);
    submit_one(other, 1);
    while (!(what & PAWL_WAKE_JOBS))
        what |= pawl_listener_wait(l, 1000);
    pawl_listener_close(l);
    pawl_close(other);
    verify_and_close(p);
}

TEST(cleanup_removes_only_finished_trees_that_are_old_enough)
{
    struct pawl *p = open_pawl();
    struct pawl_worker *w = open_worker(p, 0);
    struct pawl_cleanup_result r;
    int i;

    for (i = 0; i < 3; i++) {
        struct pawl_claim c;
        struct pawl_settlement s = {.outcome = PAWL_OK};

        submit_one(p, 1);
        c = claim_one_job(w);
        s.lease = lease_of(&c);
        OK(pawl_settle(w, &s, 1, &api_err));
    }
    submit_one(p, 1);
    OK(pawl_cleanup(p, 3600000000LL, false, &r, &api_err));
    CHECK_EQ(r.trees, 0);
    OK(pawl_cleanup(p, 0, true, &r, &api_err));
    CHECK_EQ(r.trees, 3);
    OK(pawl_cleanup(p, 0, false, &r, &api_err));
    CHECK_EQ(r.trees, 3);
    CHECK_EQ(r.events, 12);
    OK(pawl_cleanup(p, 0, false, &r, &api_err));
    CHECK_EQ(r.trees, 0);
    pawl_worker_close(w);
    verify_and_close(p);
}

TEST(open_with_must_exist_does_not_create_a_database)
{
    char url[4200];
    struct pawl_options o = {.url = url, .must_exist = true};
    struct pawl *p = NULL;

    snprintf(url, sizeof(url), "sqlite:%s/none.db", test_dir());
    FAILS(pawl_open(&o, &p, &api_err), PAWL_E_UNAVAILABLE);
    CHECK(strstr(api_err.message, "there is no database at"));
    CHECK(!p);
    FAILS(pawl_open(&o, &p, NULL), PAWL_E_UNAVAILABLE);
    o.tenant = "nobody";
    FAILS(pawl_open(&o, &p, &api_err), PAWL_E_NOT_FOUND);
}
