/* test_metrics.c - the metrics of pawl.h: gauges computed from stored rows, and the counters of
 * attempts. */
#include "control_fixture.h"

static void check_has_line(const char *all, const char *line)
{
    const char *at = strstr(all, line);

    while (at && !((at == all || at[-1] == '\n') && at[strlen(line)] == '\n'))
        at = strstr(at + 1, line);
    if (!at)
        test_fail(__FILE__, __LINE__, "no line: %s\nin:\n%s", line, all);
}

TEST(metrics_show_gauges_of_queues_workers_and_leases)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    char *all = NULL;

    register_worker(s, 1, "f", NULL);
    submit_with(s, (struct submission){.name = "x", .queue = "we\"ird\\"});
    submit_with(s, (struct submission){.name = "x", .queue = QUEUE_FOREGROUND});
    submit_with(s, (struct submission){.name = "x", .queue = QUEUE_FOREGROUND});
    submit(s, "a");
    claim_job(s, 1);
    submit_with(s, (struct submission){.name = "b", .delay = 100 * SECOND});
    submit(s, "c");
    OK(pawl_metrics(p, &all, &api_err));
    check_has_line(all, "# TYPE pawl_queue_jobs gauge");
    check_has_line(all, "pawl_queue_jobs{queue=\"default\",state=\"ready\"} 1");
    check_has_line(all, "pawl_queue_jobs{queue=\"default\",state=\"held\"} 1");
    check_has_line(all, "pawl_queue_jobs{queue=\"default\",state=\"running\"} 1");
    check_has_line(all, "pawl_queue_jobs{queue=\"we\\\"ird\\\\\",state=\"ready\"} 1");
    check_has_line(all, "pawl_queue_jobs{queue=\"here\",state=\"ready\"} 2");
    check_has_line(all, "pawl_workers{state=\"alive\"} 1");
    check_has_line(all, "pawl_leases 1");
    check_has_line(all, "pawl_orphans 0");
    check_has_line(all, "pawl_adoptions_total 0");
    check_has_line(all, "pawl_leases_lost_total 0");
    check_has_line(all, "pawl_executor_running{executor=\"process\"} 1");
    free(all);
    close_both(p, s);
}

/* A worker with slots for 4 commands and 2 containers. */
static void announce(struct store *s, int64_t id, const char *host)
{
    struct worker w = {.id = id,
                       .host = host,
                       .folder = "f",
                       .version = "1",
                       .executors = "{\"process\":4,\"container\":2}"};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_worker_body, &w, &e), &e);
}

static void run_one(struct store *s, int64_t worker, enum outcome_kind how)
{
    submit(s, "x");
    CHECK_OK(settle_as(s, claim_job(s, worker), how, -1));
}

TEST(metrics_count_outcomes_by_queue_executor_worker_and_host)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    char *all = NULL;

    announce(s, 1, "alpha");
    announce(s, 2, "be\"ta");
    announce(s, 3, "alpha");
    run_one(s, 1, OUTCOME_OK);
    run_one(s, 1, OUTCOME_OK);
    run_one(s, 2, OUTCOME_FAILED);
    run_one(s, 3, OUTCOME_OK);
    unregister_worker(s, 3);
    OK(pawl_metrics(p, &all, &api_err));
    check_has_line(all, "pawl_attempts_total{queue=\"default\",executor=\"process\"} 4");
    check_has_line(all,
                   "pawl_outcomes_total{queue=\"default\",executor=\"process\",outcome=\"ok\"} 3");
    check_has_line(
        all, "pawl_outcomes_total{queue=\"default\",executor=\"process\",outcome=\"failed\"} 1");
#define BY(host, worker, outcome) \
    "pawl_worker_outcomes_total{host=\"" host "\",worker=\"" worker "\",outcome=\"" outcome "\"} "
    check_has_line(all, BY("alpha", "0000000000000001", "ok") "2");
    check_has_line(all, BY("alpha", "", "ok") "1"); /* the row of this worker is gone */
    check_has_line(all, BY("be\\\"ta", "0000000000000002", "failed") "1");
    check_has_line(all, "pawl_executor_room{executor=\"process\"} 8");
    check_has_line(all, "pawl_executor_room{executor=\"container\"} 4");
    check_has_line(all, "pawl_executor_running{executor=\"process\"} 0");
    free(all);
    close_both(p, s);
}

TEST(histograms_are_cumulative_and_include_every_bucket)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    char *all = NULL;

#define WAIT(suffix, le) \
    "pawl_wait_seconds" suffix "{queue=\"default\",executor=\"process\"" le "} "
    submit(s, "a");
    clock_advance(3 * SECOND);
    claim_job(s, 1);
    submit(s, "b");
    clock_advance(20 * SECOND);
    claim_job(s, 1);
    OK(pawl_metrics(p, &all, &api_err));
    check_has_line(all, "# TYPE pawl_wait_seconds histogram");
    check_has_line(all, WAIT("_bucket", ",le=\"0.001\"") "0");
    check_has_line(all, WAIT("_bucket", ",le=\"1\"") "0");
    check_has_line(all, WAIT("_bucket", ",le=\"5\"") "1");
    check_has_line(all, WAIT("_bucket", ",le=\"10\"") "1");
    check_has_line(all, WAIT("_bucket", ",le=\"30\"") "2");
    check_has_line(all, WAIT("_bucket", ",le=\"1800\"") "2");
    check_has_line(all, WAIT("_bucket", ",le=\"+Inf\"") "2");
    check_has_line(all, WAIT("_count", "") "2");
    CHECK(strstr(all, WAIT("_sum", "") "23.") != NULL);
    free(all);
    drain(s);
    close_both(p, s);
}
