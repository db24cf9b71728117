/* test_stored_spec.c - a job's spec is stored unchanged from its submission to the worker that runs
 * it, and the resource usage of its attempts from the worker to the reader. */
#include "fixture.h"

#include "pawl.h"
#include "store/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC "{\"run\":\"make \\u00e4ll\",\"timeout\":5}"

static const struct lane_queue serves[] = {{"process", "default"}};

struct claiming {
    bool adopt, push;
    struct submission *submit; /* submitted in the same turn; NULL for nothing */
    char spec[100], input[100];
    size_t n;
};

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct claiming *g = arg;
    struct adoption a = {.claim = {.worker = 1,
                                   .folder = "folder-a",
                                   .lease = LEASE,
                                   .serves = serves,
                                   .nserves = 1,
                                   .max = 1,
                                   .push = g->push}};
    struct job_list jobs;
    int rc;

    if (g->submit && (rc = op_submit(t, g->submit, 1, err)))
        return rc;
    if ((rc = g->adopt ? op_adopt(t, &a, &jobs, err) : op_claim(t, &a.claim, &jobs, err)))
        return rc;
    g->n = jobs.n;
    if (jobs.n) {
        snprintf(g->spec, sizeof(g->spec), "%s", jobs.at[0]->spec ? jobs.at[0]->spec : "none");
        snprintf(g->input, sizeof(g->input), "%s", jobs.at[0]->input ? jobs.at[0]->input : "none");
    }
    return 0;
}

static void check_claimed(struct store *s, struct claiming g, const char *spec, const char *input)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, claim_body, &g, &err), &err);
    CHECK_EQ(g.n, 1);
    CHECK_STR(g.spec, spec);
    CHECK_STR(g.input, input);
}

TEST(claimed_or_adopted_job_comes_with_its_spec)
{
    struct store *s = fixture_store();
    struct submission sub = {.kind = KIND_EXEC, .task_index = -1, .name = "x", .spec = SPEC};
    int64_t id = submit_with(s, sub);

    CHECK_STR(get(s, id).spec, SPEC);
    check_claimed(s, (struct claiming){0}, SPEC, "none");
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    check_claimed(s, (struct claiming){.adopt = true}, SPEC, "none");
    submit_with(s, (struct submission){.name = "y", .input = "[1]"});
    check_claimed(s, (struct claiming){0}, "none", "[1]");
    check_claimed(s, (struct claiming){.submit = &sub}, SPEC, "none");
    check_claimed(s, (struct claiming){.submit = &sub, .push = true}, SPEC, "none");
    CHECK_STR(get(s, id).spec, SPEC); /* the spec stays after the job has ended */
    verify_clean(s);
    store_close(&s);
}

TEST(retried_job_is_claimed_with_its_spec)
{
    struct store *s = fixture_store();

    submit_with(s, (struct submission){.name = "x", .spec = SPEC, .max_attempts = 2});
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    check_claimed(s, (struct claiming){0}, SPEC, "none");
    verify_clean(s);
    store_close(&s);
}

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 1, err);
}

static int try_submit(struct store *s, struct submission sub, struct submission *out)
{
    struct err err = ERR_INIT;

    sub.kind = KIND_EXEC;
    sub.task_index = -1;
    *out = sub;
    CHECK_OK_ERR(store_turn(s, submit_body, out, &err), &err);
    return out->rc;
}

TEST(submission_whose_spec_is_invalid_json_or_too_long_is_refused)
{
    struct store *s = fixture_store();
    char *large = mem_alloc(STORE_MAX_SPEC + 2);
    struct submission out;

    memset(large, '1', STORE_MAX_SPEC + 1);
    large[STORE_MAX_SPEC + 1] = '\0';
    CHECK_EQ(try_submit(s, (struct submission){.name = "x", .spec = "{run"}, &out), -E_INVALID);
    CHECK(strstr(out.err.msg, "the spec"));
    CHECK_EQ(try_submit(s, (struct submission){.name = "x", .spec = ""}, &out), -E_INVALID);
    large[0] = '"';
    large[STORE_MAX_SPEC] = '"';
    CHECK_EQ(try_submit(s, (struct submission){.name = "x", .spec = large}, &out), -E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    memmove(large + STORE_MAX_SPEC - 1, "\"", 2);
    CHECK_EQ(try_submit(s, (struct submission){.name = "x", .spec = large}, &out), 0);
    free(large);
    verify_clean(s);
    store_close(&s);
}

TEST(idempotency_key_with_another_spec_is_refused)
{
    struct store *s = fixture_store();
    struct submission sub = {.name = "x", .key = "k", .spec = SPEC}, out;
    int64_t id = submit_with(s, sub);

    CHECK_EQ(submit_with(s, sub), id);
    sub.spec = "{\"run\":\"make other\"}";
    CHECK_EQ(try_submit(s, sub, &out), -E_CONFLICT);
    sub.spec = NULL;
    CHECK_EQ(try_submit(s, sub, &out), -E_CONFLICT);
    sub.input = SPEC; /* the same text in another field is a different submission */
    CHECK_EQ(try_submit(s, sub, &out), -E_CONFLICT);
    verify_clean(s);
    store_close(&s);
}

/* ---- usage ---- */

static int settle_body(struct turn *t, void *arg, struct err *err)
{
    return op_settle(t, 1, arg, 1, err);
}

static void settle_used(struct store *s, struct held_job j, int64_t cpu, int64_t peak_memory)
{
    struct settlement g = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                           .outcome = {.kind = OUTCOME_FAILED,
                                       .error = "no",
                                       .duration = 9,
                                       .cpu = cpu,
                                       .peak_memory = peak_memory,
                                       .retry_delay = -1}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_body, &g, &err), &err);
    CHECK_EQ(g.lease.rc, 0);
}

static void check_usage(int64_t id, const char *expected)
{
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant()};
    struct pawl_error err = {0};
    struct pawl *p = NULL;
    char *json = NULL;

    CHECK_EQ(pawl_open(&o, &p, &err), 0);
    CHECK_EQ(pawl_show(p, id, &json, &err), 0);
    if (!strstr(json, expected))
        test_fail(__FILE__, __LINE__, "%s is not in %s", expected, json);
    free(json);
    pawl_close(p);
}

TEST(usage_of_the_last_attempt_is_shown_with_the_execution)
{
    static const struct {
        int64_t cpu, peak_memory;
        const char *shown;
    } cases[] = {{1500, 4096, "\"usage\":{\"cpu_us\":1500,\"peak_memory\":4096}"},
                 {1500, 0, "\"usage\":{\"cpu_us\":1500}"},
                 {0, 4096, "\"usage\":{\"peak_memory\":4096}"},
                 {0, 0, "\"usage\":null"}};
    struct store *s = fixture_store();
    struct held_job j[4];
    size_t i;

    for (i = 0; i < 4; i++) {
        submit(s, "x");
        j[i] = claim_job(s, 1);
        settle_used(s, j[i], cases[i].cpu, cases[i].peak_memory);
    }
    verify_clean(s);
    store_close(&s);
    for (i = 0; i < 4; i++)
        check_usage(j[i].id, cases[i].shown);
}
