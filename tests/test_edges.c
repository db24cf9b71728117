/* test_edges.c - corner cases of the store's contract: rollbacks, duplicates, very large trees and
 * very long delays. */
#include "store/tenant.h"
#include "workflow_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct submission_batch {
    struct submission *list;
    size_t n;
};

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    struct submission_batch *m = arg;

    return op_submit(t, m->list, m->n, err);
}

static void submit_all(struct store *s, struct submission *list, size_t n)
{
    struct submission_batch m = {list, n};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_body, &m, &err), &err);
}

static int submit_then_redo(struct turn *t, void *arg, struct err *err)
{
    struct submission sub = {.kind = KIND_EXEC, .task_index = -1, .name = "x"};
    int *runs = arg, rc = op_submit(t, &sub, 1, err);

    if (!rc && ++*runs == 1)
        return err_set(err, E_REDO, "once, on purpose");
    return rc;
}

TEST(turn_that_is_repeated_after_it_created_a_partition_stores_its_events)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int runs = 0;

    submit(s, "first");
    if (!strcmp(test_db(), "postgres"))
        sql_run(s, "SELECT setval('execution_id', 2999999)"); /* beyond the existing partitions */
    CHECK_OK_ERR(store_turn(s, submit_then_redo, &runs, &err), &err);
    CHECK_EQ(runs, 2);
    submit(s, "another");
    verify_clean(s);
    store_close(&s);
}

static int heartbeat_two(struct turn *t, void *arg, struct err *err)
{
    return op_heartbeat(t, 1, LEASE, arg, 2, err);
}

TEST(heartbeat_that_lists_an_old_and_a_new_epoch_renews_only_the_new_one)
{
    struct store *s = fixture_store();
    struct held_job old, new;
    struct lease_ref refs[2];
    struct err err = ERR_INIT;

    submit(s, "x");
    old = claim_job(s, 1);
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK(adopt_one(s, 1, &new)); /* the same worker adopts it again */
    refs[0] = (struct lease_ref){.execution = old.id, .root = old.root, .epoch = old.epoch};
    refs[1] = (struct lease_ref){.execution = new.id, .root = new.root, .epoch = new.epoch};
    CHECK_OK_ERR(store_light_turn(s, heartbeat_two, refs, &err), &err);
    CHECK_EQ(refs[0].rc, -E_LEASE_LOST);
    CHECK_EQ(refs[1].rc, 0);
    verify_clean(s);
    store_close(&s);
}

struct retaining {
    struct retention from, to;
};

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retaining *r = arg;

    return op_retain(t, &r->from, &r->to, err);
}

TEST(tree_larger_than_one_slice_is_deleted_leaves_first)
{
    struct store *s = fixture_store();
    int64_t root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    int64_t task = submit_child(s, root, "task"), small;
    struct retaining r = {.from = {.older_than = SECOND, .max_trees = 10, .max_rows = 3}};
    struct err err = ERR_INIT;
    struct held_job j;
    int i, slices = 0;

    for (i = 0; i < 7; i++)
        submit_child(s, task, "leaf");
    small = submit(s, "small");
    while (claim_one(s, 1, &j))
        CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(cancel(s, root), 0);
    sql_run(
        s,
        "DELETE FROM turns"); /* as if this writer were long gone: retention must cope with that */
    CHECK_OK_ERR(store_turn(s, workflow_end_body,
                            &(struct workflow_end){.id = root, .status = S_CANCELLED}, &err),
                 &err);
    clock_advance(10 * SECOND);
    do {
        CHECK_OK_ERR(store_long_turn(s, retain_body, &r, &err), &err);
        verify_clean(s); /* after each slice */
        r.from = r.to;
        CHECK(++slices < 20);
    } while (r.to.more);
    CHECK(slices >= 3);
    CHECK_EQ(r.to.trees, 2);
    CHECK_EQ(r.to.executions, 10);
    CHECK(small > root);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events"), 0);
    store_close(&s);
}

static int tick_body(struct turn *t, void *arg, struct err *err)
{
    struct worker w = {.id = 9, .host = "h", .folder = "f", .version = "1", .capacity = 1};
    struct tick tick = {0};
    int rc = op_worker_tick(t, &w, &tick, err);

    *(int64_t *)arg = tick.next_timer;
    return rc;
}

TEST(heartbeat_of_a_worker_without_a_row_registers_it_again_and_returns_the_next_timer)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int64_t next = 0;

    submit_with(s, (struct submission){.name = "x", .delay = 60 * SECOND});
    CHECK_OK_ERR(store_light_turn(s, tick_body, &next, &err), &err);
    CHECK(next > 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers"), 1); /* the worker registered again */
    verify_clean(s);
    store_close(&s);
}

static int settle_with_bad_values(struct turn *t, void *arg, struct err *err)
{
    static char bytes[20000];
    struct held_job *j = arg;
    struct settlement end = {
        .lease = {.execution = j->id, .root = j->root, .epoch = j->epoch},
        .outcome = {
            .kind = OUTCOME_FAILED, .error = bytes, .duration = 1, .retry_delay = INT64_MAX}};

    memset(bytes, 0x80, sizeof(bytes) - 1);
    return op_settle(t, j->worker, &end, 1, err);
}

TEST(settle_with_an_invalid_utf8_error_and_an_overflowing_delay_is_stored)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    struct held_job j = claim_job(s, 1);
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_with_bad_values, &j, &err), &err);
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK(strlen(get(s, id).error) > 1000);
    verify_clean(s);
    store_close(&s);
}

TEST(submission_with_an_overflowing_delay_is_refused)
{
    struct submission sub = {.kind = KIND_EXEC, .name = "x", .task_index = -1, .delay = INT64_MAX};
    struct err err = ERR_INIT;

    CHECK_EQ(submission_check(&sub, &err), -E_INVALID);
    CHECK(strstr(err.msg, "the delay in µs of 'x' must be from 0 to "));
}

static int claim_with_a_lane_twice(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"process", "default"}, {"process", "default"}};
    struct claim c = {
        .worker = 1, .folder = "f", .lease = LEASE, .serves = serves, .nserves = 2, .max = 10};
    struct job_list jobs;
    int rc = op_claim(t, &c, &jobs, err);

    *(size_t *)arg = jobs.n;
    return rc;
}

TEST(lane_or_queue_given_twice_is_served_once)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    size_t n = 0;

    submit(s, "a");
    submit(s, "b");
    CHECK_OK_ERR(store_turn(s, claim_with_a_lane_twice, &n, &err), &err);
    CHECK_EQ(n, 2);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_with_an_open_fan_out_item_does_not_end)
{
    struct store *s = fixture_store();
    int64_t id = submit_workflow(s, "name: w\ntasks:\n  a: {foreach: [1, 2], run: x}\n", NULL);
    struct held_job first = claim_job(s, 1), second = claim_job(s, 1);

    CHECK_EQ(settle_ok(s, first), 0);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_EQ(settle_ok(s, second), 0);
    CHECK_STR(history(s, id), "created started completed");
    verify_clean(s);
    store_close(&s);
}

TEST(cancel_of_a_wide_tree_finds_its_slices_by_an_index)
{
    enum { WIDE = 3000 };
    static struct submission list[WIDE];
    struct store *s = fixture_store();
    int64_t root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    int64_t started;
    size_t i;

    for (i = 0; i < WIDE; i++)
        list[i] = (struct submission){
            .kind = KIND_EXEC, .task_index = -1, .name = "item", .parent = root};
    submit_all(s, list, WIDE);
    sql_run(s, "ANALYZE executions");
    started = clock_boot_us();
    while (cancel(s, root) == 0 && sql_number(s, "SELECT count(*) FROM task_outbox"))
        ;
    CHECK(clock_boot_us() - started <
          60 * SECOND); /* a scan of all rows for each item takes minutes */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), WIDE);
    verify_clean(s);
    store_close(&s);
}

static void count_name(void *arg, const char *name)
{
    if (!strcmp(name, "a") || !strcmp(name, "b"))
        ++*(int *)arg;
}

TEST(tenants_in_a_folder_with_glob_characters_are_listed)
{
    char dir[300], url[400];
    struct err err = ERR_INIT;
    int found = 0;

    if (strcmp(test_db(), "sqlite"))
        SKIP("for SQLite only: tenants of a server are not in a folder");
    snprintf(dir, sizeof(dir), "%s/[a-z]*{x}", test_dir());
    CHECK_EQ(mkdir(dir, 0700), 0);
    snprintf(url, sizeof(url), "sqlite:%s/pawl.db", dir);
    CHECK_OK_ERR(tenant_create(url, "a", NULL, &err), &err);
    CHECK_OK_ERR(tenant_create(url, "b", NULL, &err), &err);
    CHECK_OK_ERR(tenant_list(url, NULL, count_name, &found, &err), &err);
    CHECK_EQ(found, 2);
}
