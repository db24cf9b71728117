/* test_remote.c - handles of pawl.h on a server that can't be reached: each function reports that,
 * or refuses at once because it needs the database itself. tests/test_cli_remote*.py ask real
 * servers. */
#include "harness.h"
#include "pawl.h"

#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define NOBODY "unix:/nowhere/pawl.sock"

static struct pawl_error err;

static struct pawl *open_remote(void)
{
    struct pawl_options o = {.url = NOBODY, .token = "pawl__x", .patience = 1000000};
    struct pawl *p = NULL;

    CHECK_EQ(pawl_open(&o, &p, &err), 0);
    return p;
}

static int no_line(void *arg, const char *json)
{
    (void)arg;
    test_fail(__FILE__, __LINE__, "there is a line: %s", json);
    return 1;
}

#define AWAY(call)                                              \
    do {                                                        \
        CHECK_EQ(call, -PAWL_E_UNAVAILABLE);                    \
        CHECK(strstr(err.message, "can't be reached") != NULL); \
        CHECK(strstr(err.message, NOBODY) != NULL);             \
    } while (0)
#define REFUSED(call)                                          \
    do {                                                       \
        CHECK_EQ(call, -PAWL_E_INVALID);                       \
        CHECK(strstr(err.message, "database itself") != NULL); \
    } while (0)

TEST(reading_function_without_a_server_reports_that_it_cannot_be_reached)
{
    struct pawl_log_place place = {.execution = 1};
    struct pawl_event_query events = {.execution = 1};
    struct pawl_moment at = {.event = 1};
    struct pawl_list_query q = {.status = "failed"};
    struct pawl *p = open_remote();
    struct pawl_follower *f;
    struct pawl_listener *l;
    struct pawl_log_page page;
    const char *status;
    bool flag;
    char *text, bytes[10];
    int64_t n;

    AWAY(pawl_show(p, 1, &text, &err));
    AWAY(pawl_show_at(p, 1, &at, &text, &err));
    AWAY(pawl_status(p, 1, &status, &err));
    AWAY(pawl_wait(p, 1, 1000, &status, &err));
    AWAY(pawl_parent(p, 1, &text, &err));
    AWAY(pawl_workflow(p, 1, &text, &err));
    AWAY(pawl_children(p, 1, no_line, NULL, &err));
    AWAY(pawl_tasks(p, 1, no_line, NULL, &err));
    AWAY(pawl_tree(p, 1, &text, &err));
    AWAY(pawl_tree_at(p, 1, &at, &text, &err));
    AWAY(pawl_tree_lines(p, 1, no_line, NULL, &err));
    AWAY(pawl_outline(p, 1, no_line, NULL, &n, &err));
    AWAY(pawl_outline_at(p, 1, &at, no_line, NULL, &n, &err));
    AWAY(pawl_critical(p, 1, NULL, &text, &err));
    AWAY(pawl_diff(p, 1, 2, &text, &flag, &err));
    AWAY(pawl_list(p, &q, no_line, NULL, &n, &err));
    AWAY(pawl_counts(p, &q, &text, &err));
    AWAY(pawl_last(p, &n, &err));
    AWAY(pawl_why(p, 1, &text, &err));
    AWAY(pawl_log(p, &place, bytes, sizeof(bytes), &page, &err));
    AWAY(pawl_metrics(p, &text, &err));
    AWAY(pawl_graph_of(p, 1, NULL, 0, &text, &err));
    AWAY(pawl_applied_list(p, NULL, no_line, NULL, &flag, &err));
    AWAY(pawl_applied_show(p, "w", NULL, &text, &err));
    AWAY(pawl_applied_versions(p, "w", 0, 0, no_line, NULL, &flag, &err));
    AWAY(pawl_schedules(p, NULL, no_line, NULL, &err));
    AWAY(pawl_schedule_next(p, "w", 1, no_line, NULL, &err));
    AWAY(pawl_submissions(p, NULL, no_line, NULL, NULL, &err));
    AWAY(pawl_queues(p, no_line, NULL, &err));
    AWAY(pawl_workers(p, no_line, NULL, &err));
    AWAY(pawl_tokens(p, no_line, NULL, &err));
    AWAY(pawl_overview(p, NULL, &text, &err));
    AWAY(pawl_events(p, &events, no_line, NULL, &err));
    AWAY(pawl_follow(p, &events, &f, &err));
    AWAY(pawl_listen(p, PAWL_WAKE_EVENTS, &l, &err));
    AWAY(pawl_retention_get(p, &text, &err));
    AWAY(pawl_routes_get(p, &text, &err));
    AWAY(pawl_verify(p, NULL, NULL, &err));
    CHECK_EQ(pawl_yield(p), 0);
    CHECK_STR(pawl_url(p), NOBODY);
    CHECK(pawl_has_queue(p));
    pawl_close(p);
}

static void check_actions(struct pawl *p)
{
    static const char yaml[] = "name: w\ntasks: {a: {run: x}}\n";
    struct pawl_job job = {.applied = "w"}, file = {.yaml = yaml},
                    single = {.name = "exec::x", .lane = "function:x", .input = "[1]"};
    struct pawl_list_query failed = {.status = "failed"};
    struct pawl_bulk bulk = {.action = "rerun", .filter = &failed};
    struct pawl_token token = {.name = "t", .scopes = PAWL_SCOPE_READ};
    struct pawl_retention retention = {.execution_days = 1};
    struct pawl_routes routes = {.n = 0};
    struct pawl_rerun rerun = {.failed = true};
    struct pawl_cancelled cancelled;
    struct pawl_bulk_result result;
    char *text;
    int64_t id;
    bool paused;

    AWAY(pawl_submit(p, &job, 1, &err));
    AWAY(pawl_submit(p, &file, 1, &err));
    AWAY(pawl_submit(p, &single, 1, &err));
    AWAY(pawl_cancel(p, 1, NULL, "why", &cancelled, &err));
    AWAY(pawl_let_finish(p, 1, NULL, NULL, NULL, &err));
    AWAY(pawl_pause(p, 1, NULL, NULL, &err));
    AWAY(pawl_resume(p, 1, NULL, NULL, &err));
    AWAY(pawl_skip(p, 1, NULL, NULL, &err));
    AWAY(pawl_approve(p, 1, NULL, NULL, &err));
    AWAY(pawl_reject(p, 1, NULL, NULL, &err));
    AWAY(pawl_rerun(p, 1, &rerun, &text, &err));
    AWAY(pawl_bulk(p, &bulk, no_line, NULL, &result, &err));
    AWAY(pawl_queue_limit(p, "q", 1, NULL, NULL, &paused, &err));
    AWAY(pawl_queue_pause(p, "q", NULL, NULL, &err));
    AWAY(pawl_queue_resume(p, "q", NULL, NULL, &err));
    AWAY(pawl_worker_drain(p, "00000000000000ff", NULL, NULL, &err));
    AWAY(pawl_apply_text(p, yaml, NULL, NULL, &err));
    AWAY(pawl_applied_delete(p, "w", NULL, NULL, NULL, NULL, &err));
    AWAY(pawl_schedule_pause(p, "w", NULL, NULL, &err));
    AWAY(pawl_schedule_resume(p, "w", NULL, NULL, &err));
    AWAY(pawl_schedule_run(p, "w", NULL, NULL, &id, &err));
    AWAY(pawl_token_create(p, &token, NULL, NULL, &text, &err));
    AWAY(pawl_token_revoke(p, "t", NULL, NULL, &err));
    AWAY(pawl_retention_set(p, &retention, NULL, NULL, &err));
    AWAY(pawl_routes_set(p, &routes, NULL, NULL, &err));
}

TEST(changing_function_without_a_server_reports_that_it_cannot_be_reached)
{
    struct pawl *p = open_remote();

    check_actions(p);
    pawl_close(p);
}

static int never(struct pawl_tx *tx, void *arg)
{
    (void)tx, (void)arg;
    test_fail(__FILE__, __LINE__, "the body of a transaction was called");
    return 1;
}

TEST(function_that_needs_the_database_refuses_a_server)
{
    struct pawl_options o = {.url = NOBODY};
    struct pawl *p = open_remote();
    struct pawl_cleanup_result cleaned;
    struct pawl_verify_result verified;
    struct pawl_rights *rights;
    struct pawl_engine *e;
    struct pawl_worker *w;
    struct pawl_fenced fenced;

    REFUSED(pawl_engine_open(p, NULL, &e, &err));
    REFUSED(pawl_worker_open(p, NULL, &w, &err));
    REFUSED(pawl_transaction(p, never, NULL, &err));
    REFUSED(pawl_verify(p, &(struct pawl_verify_options){.save = "f"}, &verified, &err));
    REFUSED(pawl_verify(p, &(struct pawl_verify_options){.since = "f"}, &verified, &err));
    REFUSED(pawl_verify(p, &(struct pawl_verify_options){.host = true}, &verified, &err));
    REFUSED(pawl_cleanup(p, 1, true, &cleaned, &err));
    REFUSED(pawl_fence(p, &fenced, &err));
    REFUSED(pawl_accept_timeline(p, NULL, &err));
    REFUSED(pawl_token_check(p, "x", &rights, &err));
    REFUSED(pawl_migrate(&o, NULL, &err));
    REFUSED(pawl_tenant_create(&o, "t", &err));
    REFUSED(pawl_tenant_drop(&o, "t", &err));
    REFUSED(pawl_tenant_list(&o, NULL, NULL, &err));
    pawl_close(p);
}

TEST(wrong_argument_is_refused_before_a_server_is_asked)
{
    struct pawl_job shared = {.name = "exec::x", .lane = "function:x", .shares_slot = true};
    struct pawl_list_query both = {.parent = 1, .all = true}, status = {.status = "odd"};
    struct pawl_event_query types = {.types = "odd"};
    struct pawl *p = open_remote();
    char *text;

    CHECK_EQ(pawl_list(p, &both, no_line, NULL, NULL, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_list(p, &status, no_line, NULL, NULL, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_events(p, &types, no_line, NULL, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_graph_of(p, 1, "odd", 0, &text, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_pause(p, 1, NULL, "", &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_queue_pause(p, "", NULL, NULL, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_applied_show(p, "", NULL, &text, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_submit(p, &shared, 1, &err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_submit(p, NULL, 0, &err), 0);
    pawl_close(p);
}

TEST(url_and_token_of_a_server_are_checked_when_it_is_opened)
{
    static const char *const wrong[] = {"http://", "http://user@host",      "http://host/?q",
                                        "unix:",   "https://host/#token=x", "http:// host"};
    struct pawl_options token = {.url = NOBODY, .token = "two\r\nlines"};
    struct pawl_options tenant = {.url = NOBODY, .tenant = "other"};
    struct pawl *p;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct pawl_options o = {.url = wrong[i]};

        CHECK_EQ(pawl_open(&o, &p, &err), -PAWL_E_INVALID);
    }
    CHECK_EQ(pawl_open(&token, &p, &err), -PAWL_E_INVALID);
    CHECK(!strstr(err.message, "lines"));
    CHECK_EQ(pawl_open(&tenant, &p, &err), -PAWL_E_INVALID);
}
