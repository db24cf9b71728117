/* test_overview.c - the overview of pawl.h: running jobs, queues and workers, read in a few
 * statements however much is stored. */
#include "api_fixture.h"
#include "engine_fixture.h"

#include <stdatomic.h>

static void count_statement(void *arg, const char *statement, int64_t took, long rows)
{
    (void)statement;
    (void)took;
    (void)rows;
    ++*(int *)arg;
}

static struct pawl *open_counted(int *sent)
{
    struct pawl_options o = {
        .url = fixture_url(), .tenant = fixture_tenant(), .trace = count_statement, .arg = sent};
    struct pawl *p = NULL;

    OK(pawl_open(&o, &p, &api_err));
    return p;
}

static json_t *overview(struct pawl *p, const char *part, int64_t limit)
{
    struct pawl_overview_query q = {.part = part, .limit = limit};
    char *json = NULL;

    OK(pawl_overview(p, &q, &json, &api_err));
    return json_parse_and_free(json);
}

static int64_t number_in(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const json_t *list_item(const json_t *o, const char *list, size_t i)
{
    const json_t *found = json_array_get(json_object_get(o, list), i);

    CHECK(found);
    return found;
}

static size_t list_size(const json_t *o, const char *list)
{
    return json_array_size(json_object_get(o, list));
}

/* The item of a list whose `key` has this text. */
static const json_t *item_with(const json_t *o, const char *list, const char *key, const char *text)
{
    const json_t *all = json_object_get(o, list);
    size_t i;

    for (i = 0; i < json_array_size(all); i++)
        if (!strcmp(text_in(json_array_get(all, i), key), text))
            return json_array_get(all, i);
    test_fail(__FILE__, __LINE__, "no item of %s has %s %s", list, key, text);
}

/* ---- cost ---- */

static int statements_of(struct pawl *p, int *sent)
{
    *sent = 0;
    json_decref(overview(p, NULL, 0));
    return *sent;
}

TEST(overview_statement_count_does_not_grow_with_stored_rows)
{
    struct store *s = fixture_store();
    struct held_job held[300];
    int sent = 0, first, i;
    struct pawl *p = open_counted(&sent);
    char queue[16];

    first = statements_of(p, &sent);
    CHECK(first >= 5 && first <= 8); /* five queries, the clock, BEGIN and COMMIT */
    for (i = 0; i < 300; i++) {
        snprintf(queue, sizeof(queue), "q%d", i % 30);
        submit_with(s, (struct submission){.name = "exec::x", .queue = i % 3 ? NULL : queue});
    }
    for (i = 1; i < 50; i++)
        CHECK_EQ(claim_many(s, i, 4, held), 4);
    CHECK_EQ(statements_of(p, &sent), first);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* ---- running jobs ---- */

struct logging {
    struct held_job job;
    const char *bytes;
    int64_t offset;
};

static int log_body(struct turn *t, void *arg, struct err *e)
{
    struct logging *g = arg;
    struct log_chunk c = {
        .lease = {.execution = g->job.id, .root = g->job.root, .epoch = g->job.epoch},
        .attempt = g->job.attempt,
        .bytes = g->bytes,
        .len = strlen(g->bytes),
        .offset = g->offset};

    return op_store_logs(t, g->job.worker, &c, 1, e);
}

static void store_log(struct store *s, struct held_job j, int64_t offset, const char *bytes)
{
    struct logging g = {j, bytes, offset};
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, &g, &e), &e);
}

static const char *last_line(struct pawl *p)
{
    static json_t *o;

    json_decref(o);
    o = overview(p, NULL, 0);
    return text_in(list_item(o, "running", 0), "last_line");
}

TEST(running_job_shows_its_attempt_its_worker_and_the_last_log_line)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "exec::one", .max_attempts = 3});
    struct held_job j = claim_job(s, 0xabc);
    struct pawl *p = open_pawl();
    json_t *o = overview(p, NULL, 0);
    const json_t *r = list_item(o, "running", 0);

    CHECK_EQ(list_size(o, "running"), 1);
    CHECK_EQ(number_in(r, "id"), id);
    CHECK_EQ(number_in(r, "root"), id);
    CHECK_STR(text_in(r, "name"), "exec::one");
    CHECK_STR(text_in(r, "executor"), "process");
    CHECK_EQ(number_in(r, "attempt"), 1);
    CHECK_EQ(number_in(r, "max_attempts"), 3);
    CHECK_STR(text_in(r, "worker"), "0000000000000abc");
    CHECK(number_in(r, "elapsed_us") >= 0 && number_in(r, "elapsed_us") < 60 * SECOND);
    CHECK_STR(text_in(r, "last_line"), "(none)");
    json_decref(o);

    store_log(s, j, 0, "first\nsecond\n\n");
    CHECK_STR(last_line(p), "second");
    store_log(s, j, 14, "third, not ended");
    CHECK_STR(last_line(p), "third, not ended");
    store_log(s, j, 30, "\nfo\xFFur\xC3\xA9\xC3\r\n");
    CHECK_STR(last_line(p), "fo?ur\xC3\xA9?");
    store_log(s, j, 41, "\n\n");
    CHECK_STR(last_line(p), "(none)"); /* only the newest chunk is read */

    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, 0));
    run_timers(s);
    j = claim_job(s, 0xdef);
    CHECK_STR(last_line(p), "(none)"); /* only the log of the running attempt */
    CHECK_OK(settle_ok(s, j));
    o = overview(p, NULL, 0);
    CHECK_EQ(list_size(o, "running"), 0);
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(last_log_line_that_is_too_long_is_cut_at_its_start)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct held_job j;
    char line[3001];

    memset(line, 'x', sizeof(line) - 1);
    memcpy(line + 2996, "end\n", 5);
    submit(s, "exec::one");
    j = claim_job(s, 1);
    store_log(s, j, 0, line);
    CHECK_EQ(strlen(last_line(p)), 400);
    CHECK_STR(last_line(p) + 396, "xend");
    CHECK_OK(settle_ok(s, j));
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(orphaned_job_shows_no_worker)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct held_job j;
    json_t *o;

    submit(s, "exec::one");
    claim_job(s, 1);
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    o = overview(p, NULL, 0);
    CHECK_STR(text_in(list_item(o, "running", 0), "worker"), "(none)");
    json_decref(o);
    CHECK(adopt_one(s, 2, &j));
    CHECK_OK(settle_ok(s, j));
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(running_jobs_are_listed_oldest_first_and_can_be_filtered)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct held_job held[3];
    int64_t ids[3];
    json_t *o;

    ids[0] = submit(s, "exec::Alpha");
    ids[1] = submit(s, "exec::beta");
    ids[2] = submit_with(s, (struct submission){.name = "exec::alphabet", .priority = 5});
    CHECK_EQ(claim_many(s, 1, 3, held), 3);
    o = overview(p, NULL, 2);
    CHECK_EQ(list_size(o, "running"), 2);
    CHECK_EQ(number_in(list_item(o, "running", 0), "id"), ids[0]);
    CHECK_EQ(number_in(list_item(o, "running", 1), "id"), ids[1]);
    CHECK_EQ(number_in(list_item(o, "queues", 0), "running"),
             3); /* the limit does not change the count */
    json_decref(o);
    o = overview(p, "ALPHA", 0);
    CHECK_EQ(list_size(o, "running"), 2);
    CHECK_EQ(number_in(list_item(o, "running", 1), "id"), ids[2]);
    json_decref(o);
    o = overview(p, "defau", 0); /* matches the queue */
    CHECK_EQ(list_size(o, "running"), 3);
    json_decref(o);
    o = overview(p, "100% _'", 0);
    CHECK_EQ(list_size(o, "running"), 0);
    json_decref(o);
    CHECK_EQ(pawl_overview(p, &(struct pawl_overview_query){.part = "\xFF"}, NULL, &api_err),
             -PAWL_E_INVALID);
    drain(s);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* ---- queues and outcomes ---- */

TEST(outcomes_of_all_workers_are_summed_by_queue)
{
    static const enum outcome_kind kinds[] = {OUTCOME_OK,        OUTCOME_OK,   OUTCOME_FAILED,
                                              OUTCOME_TIMED_OUT, OUTCOME_LOST, OUTCOME_CANCELLED};
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    const json_t *q;
    json_t *o;

    for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++) {
        submit(s, "x");
        CHECK_OK(settle_as(s, claim_job(s, 1 + (int64_t)i % 2), kinds[i / 2], -1));
    }
    o = overview(p, NULL, 0);
    CHECK_EQ(list_size(o, "ended"), 1);
    q = item_with(o, "ended", "queue", "default");
    CHECK_EQ(number_in(q, "done"), 4);
    CHECK_EQ(number_in(q, "failed"), 6);
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(foreground_queues_are_shown_as_one_queue)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    json_t *o;

    submit_with(s, (struct submission){.name = "exec::x", .queue = "here:1"});
    submit_with(s, (struct submission){.name = "exec::x", .queue = "here:2"});
    o = overview(p, NULL, 0);
    CHECK_EQ(list_size(o, "queues"), 1);
    CHECK_STR(text_in(list_item(o, "queues", 0), "queue"), "here");
    CHECK_EQ(number_in(list_item(o, "queues", 0), "ready"), 2);
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* ---- workers ---- */

static atomic_int running, may_end;

static int wait_for_release(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    atomic_store(&running, 1);
    while (!atomic_load(&may_end))
        usleep(1000);
    return 0;
}

static const struct kit_function functions[] = {{"waits", wait_for_release, NULL}, {0}};

TEST(stopping_worker_is_shown_as_draining_and_serves_nothing)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions, .threads = 1};
    struct pawl *p = open_pawl();
    int64_t first = kit_submit(s, "waits", NULL), second;
    char *why = NULL;
    json_t *o;

    kit_open(&k);
    KIT_UNTIL(&k, atomic_load(&running));
    o = overview(p, NULL, 0);
    CHECK_STR(text_in(list_item(o, "workers", 0), "state"), "alive");
    CHECK_EQ(number_in(list_item(o, "workers", 0), "leases"), 1);
    json_decref(o);

    engine_stop(k.engine, false);
    second = kit_submit(s, "waits", NULL);
    kit_step(&k);
    o = overview(p, NULL, 0);
    CHECK_STR(text_in(list_item(o, "workers", 0), "state"), "draining");
    json_decref(o);
    OK(pawl_why(p, second, &why, &api_err));
    CHECK(strstr(why, "\"not_served\""));
    free(why);

    atomic_store(&may_end, 1);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, first), S_SUCCEEDED);
    engine_close(&k.engine);
    o = overview(p, NULL, 0);
    CHECK_EQ(list_size(o, "workers"), 0);
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(worker_without_a_recent_heartbeat_is_shown_as_silent)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_worker *w = NULL;
    json_t *o;

    OK(pawl_worker_open(p, &(struct pawl_worker_options){.folder = "here"}, &w, &api_err));
    OK(pawl_tick(w, NULL, &api_err));
    sql_run(s, !strcmp(test_db(), "sqlite")
                   ? "UPDATE workers SET seen_at = seen_at - 31000000"
                   : "UPDATE workers SET seen_at = seen_at - interval '31 seconds'");
    o = overview(p, NULL, 0);
    CHECK_STR(text_in(list_item(o, "workers", 0), "state"), "silent");
    json_decref(o);
    pawl_worker_close(w);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
