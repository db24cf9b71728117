/* test_metrics.c - the metrics of pawl.h: gauges computed from stored rows, and counters that
 * workers report. */
#include "control_fixture.h"

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
    return op_add_counters(t, 1, list, sizeof(list) / sizeof(*list), e);
}

static void check_has_line(const char *all, const char *line)
{
    const char *at = strstr(all, line);

    while (at && !((at == all || at[-1] == '\n') && at[strlen(line)] == '\n'))
        at = strstr(at + 1, line);
    if (!at)
        test_fail(__FILE__, __LINE__, "no line: %s\nin:\n%s", line, all);
}

TEST(metrics_show_stored_gauges_and_worker_counters)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct err e = ERR_INIT;
    char *all = NULL;

    hello(s, 1, "f", NULL);
    submit_with(s, (struct submission){.name = "x", .queue = "we\"ird\\"});
    submit_with(s, (struct submission){.name = "x", .queue = QUEUE_FOREGROUND});
    submit_with(s, (struct submission){.name = "x", .queue = QUEUE_FOREGROUND});
    submit(s, "a");
    claim_job(s, 1);
    submit_with(s, (struct submission){.name = "b", .delay = 100 * SECOND});
    submit(s, "c");
    CHECK_OK_ERR(store_turn(s, counters_body, NULL, &e), &e);
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
    check_has_line(all, "pawl_adoptions_total 2");
    check_has_line(all, "pawl_leases_lost_total 0");
    check_has_line(all, "pawl_attempts_total{queue=\"a\\\"b\",executor=\"process\"} 3");
    free(all);
    close_both(p, s);
}

TEST(histograms_are_cumulative_and_include_every_bucket)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct err e = ERR_INIT;
    char *all = NULL;

#define RUN(suffix, le) "pawl_run_seconds" suffix "{queue=\"default\",executor=\"process\"" le "} "
    CHECK_OK_ERR(store_turn(s, counters_body, NULL, &e), &e);
    OK(pawl_metrics(p, &all, &api_err));
    check_has_line(all, "# TYPE pawl_run_seconds histogram");
    check_has_line(all, RUN("_bucket", ",le=\"0.005\"") "0");
    check_has_line(all, RUN("_bucket", ",le=\"0.01\"") "2");
    check_has_line(all, RUN("_bucket", ",le=\"1\"") "2");
    check_has_line(all, RUN("_bucket", ",le=\"5\"") "5");
    check_has_line(all, RUN("_bucket", ",le=\"1800\"") "5");
    check_has_line(all, RUN("_bucket", ",le=\"+Inf\"") "6");
    check_has_line(all, RUN("_sum", "") "12.500000");
    check_has_line(all, RUN("_count", "") "6");
    check_has_line(all, "pawl_run_seconds_count{queue=\"other\",executor=\"process\"} 1");
    check_has_line(all, "pawl_run_seconds_sum{queue=\"other\",executor=\"process\"} 0.000000");
    CHECK(!strstr(all, "_sum_us"));
    free(all);
    close_both(p, s);
}
