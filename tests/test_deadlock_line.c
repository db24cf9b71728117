/* test_deadlock_line.c - turns that need the same rows, trees or limits lock them in one order and
 * so never wait for each other in a cycle. */
#include "concurrent_turns_fixture.h"

TEST_LONG;

/* ---- trees and leases ---- */

static void hold_until_both_wait(struct store *observer)
{
    hold_until_they_wait(observer, 2);
}

static void copy_in_order(struct held_job *to, const struct held_job *from, bool falling)
{
    int i;

    for (i = 0; i < 3; i++)
        to[i] = from[falling ? 2 - i : i];
}

struct three_jobs {
    struct held_job job[3];
    int rc[3];
};

static int settle_three(struct turn *t, void *arg, struct err *err)
{
    struct three_jobs *g = arg;
    struct settlement list[3];
    int rc, i;

    for (i = 0; i < 3; i++)
        list[i] = (struct settlement){
            .lease = {.execution = g->job[i].id, .root = g->job[i].root, .epoch = g->job[i].epoch},
            .outcome = {.kind = OUTCOME_OK, .retry_delay = -1}};
    rc = op_settle(t, g->job[0].worker, list, 3, err);
    for (i = 0; i < 3; i++)
        g->rc[i] = list[i].lease.rc;
    return rc;
}

static int lock_middle_root(struct turn *t, void *observer, struct err *err)
{
    struct row_ref row_ref = {.id = scene->ids[1], .root = scene->ids[1]};
    int rc = turn_load(t, &row_ref, 1, err);

    if (!rc)
        hold_until_both_wait(observer);
    return rc;
}

static void hold_the_middle_root(struct store *s, struct watch *w, struct store *observer)
{
    struct err err = ERR_INIT;

    (void)w;
    CHECK_OK_ERR(store_turn(s, lock_middle_root, observer, &err), &err);
}

static void settle_in_three_workflows(struct store *s, int nth)
{
    struct err err = ERR_INIT;
    struct three_jobs g = {0};
    int i;

    copy_in_order(g.job, nth == 1 ? scene->up : scene->down, nth == 2);
    CHECK_OK_ERR(store_turn_waiting(s, settle_three, &g, &err), &err);
    for (i = 0; i < 3; i++)
        CHECK_EQ(g.rc[i], 0);
}

TEST(turns_on_the_same_workflows_do_not_deadlock)
{
    struct store *s = fixture_store();
    int i;

    scene = shared_memory(sizeof(*scene));
    for (i = 0; i < 3; i++) {
        scene->ids[i] = submit_with(s, (struct submission){.name = "f", .kind = KIND_WORKFLOW});
        submit_child(s, scene->ids[i], "up");
        submit_child(s, scene->ids[i], "down");
        scene->up[i] = claim_job(s, 1);
        scene->down[i] = claim_job(s, 2);
    }
    store_close(&s);
    run_in_line(3, hold_the_middle_root, settle_in_three_workflows);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 6);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

static int lock_middle_lease(struct turn *t, void *observer, struct err *err)
{
    int rc = lock_row(t, "leases", scene->up[1].id, err);

    if (!rc)
        hold_until_both_wait(observer);
    return rc;
}

static int renew_three(struct turn *t, void *arg, struct err *err)
{
    struct three_jobs *g = arg;
    struct lease_ref list[3];
    int rc, i;

    for (i = 0; i < 3; i++)
        list[i] = (struct lease_ref){
            .execution = g->job[i].id, .root = g->job[i].root, .epoch = g->job[i].epoch};
    rc = op_heartbeat(t, g->job[0].worker, LEASE, list, 3, err);
    for (i = 0; i < 3; i++)
        g->rc[i] = list[i].rc;
    return rc;
}

static void hold_the_middle_lease(struct store *s, struct watch *w, struct store *observer)
{
    struct err err = ERR_INIT;

    (void)w;
    CHECK_OK_ERR(store_turn(s, lock_middle_lease, observer, &err), &err);
}

static void renew_and_settle(struct store *s, int nth)
{
    struct err err = ERR_INIT;
    struct three_jobs g = {0};
    int i;

    copy_in_order(g.job, scene->up, nth == 2);
    if (nth == 1)
        CHECK_OK_ERR(store_turn(s, settle_three, &g, &err), &err);
    else
        CHECK_OK_ERR(store_light_turn(s, renew_three, &g, &err), &err);
    for (i = 0; i < 3; i++)
        CHECK(g.rc[i] == 0 || (nth == 2 && g.rc[i] == -E_LEASE_LOST));
}

TEST(heartbeats_and_outcomes_of_the_same_jobs_do_not_deadlock)
{
    struct store *s = fixture_store();
    int i;

    scene = shared_memory(sizeof(*scene));
    for (i = 0; i < 3; i++) {
        submit(s, "x");
        scene->up[i] = claim_job(s, 1);
    }
    store_close(&s);
    run_in_line(3, hold_the_middle_lease, renew_and_settle);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 3);
    verify_clean(s);
    store_close(&s);
}

/* ---- limits ---- */

static struct submission with_key(const char *key)
{
    return (struct submission){.kind = KIND_EXEC,
                               .task_index = -1,
                               .name = "x",
                               .concurrency = key,
                               .concurrency_max = 100};
}

static void at_commit(void *observer)
{
    hold_until_both_wait(observer);
}

static int submit_three(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 3, err);
}

static void hold_the_middle_key(struct store *s, struct watch *w, struct store *observer)
{
    watch_for(w, "commit", 1, at_commit, observer);
    submit_with(s, with_key("m"));
}

static void submit_with_keys(struct store *s, bool falling)
{
    static const char *const keys[] = {"a", "m", "z"};
    struct submission list[3];
    struct err err = ERR_INIT;
    int i;

    for (i = 0; i < 3; i++)
        list[i] = with_key(keys[falling ? 2 - i : i]);
    CHECK_OK_ERR(store_turn(s, submit_three, list, &err), &err);
    for (i = 0; i < 3; i++)
        CHECK_OK_ERR(list[i].rc, &list[i].err);
}

static void submit_with_new_keys(struct store *s, int nth)
{
    submit_with_keys(s, nth == 2);
}

TEST(submissions_with_the_same_new_concurrency_keys_do_not_deadlock)
{
    struct store *s;

    scene = shared_memory(sizeof(*scene));
    run_in_line(3, hold_the_middle_key, submit_with_new_keys);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT sum(used) FROM limits"), 7);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* A submit meets the limits a, m, z and its queue's; a settle of the last job first meets its
 * queue's, z, m and a. If they lock in these orders, one holds a, the other the queue's limit and
 * z, and both wait for m. */
static int lock_middle_limit(struct turn *t, void *observer, struct err *err)
{
    int rc;

    limit_get(t, 'k', "m");
    if (!(rc = limits_fetch(t, err)))
        hold_until_both_wait(observer);
    return rc;
}

static void hold_the_middle_limit(struct store *s, struct watch *w, struct store *observer)
{
    struct err err = ERR_INIT;

    (void)w;
    CHECK_OK_ERR(store_turn(s, lock_middle_limit, observer, &err), &err);
}

static void submit_or_settle_three(struct store *s, int nth)
{
    struct err err = ERR_INIT;
    struct three_jobs g = {0};
    int i;

    if (nth == 1) {
        submit_with_keys(s, false);
        return;
    }
    copy_in_order(g.job, scene->up, true);
    CHECK_OK_ERR(store_turn(s, settle_three, &g, &err), &err);
    for (i = 0; i < 3; i++)
        CHECK_EQ(g.rc[i], 0);
}

TEST(submissions_and_outcomes_with_the_same_concurrency_keys_do_not_deadlock)
{
    struct store *s = fixture_store();
    int i;

    scene = shared_memory(sizeof(*scene));
    set_limit(s, "queue:default", 10);
    submit_with_keys(s, false);
    for (i = 0; i < 3; i++)
        scene->up[i] = claim_job(s, 1);
    store_close(&s);
    run_in_line(3, hold_the_middle_limit, submit_or_settle_three);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 3);
    verify_clean(s);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

static void hold_the_limit_of_a_cancel(struct store *s, struct watch *w, struct store *observer)
{
    watch_for(w, "commit", 1, at_commit, observer);
    CHECK_EQ(cancel(s, scene->ids[0]), 0);
}

static void cancel_a_tree(struct store *s, int nth)
{
    CHECK_EQ(cancel(s, scene->ids[nth]), 0);
}

TEST(cancels_of_jobs_under_the_same_limits_do_not_deadlock)
{
    static const char *const keys[] = {"a", "m", "z"};
    struct store *s = fixture_store();
    int tree, i;

    scene = shared_memory(sizeof(*scene));
    scene->ids[0] = submit_with(s, with_key("m"));
    for (tree = 1; tree <= 2; tree++) {
        scene->ids[tree] = submit_with(s, (struct submission){.name = "f", .kind = KIND_WORKFLOW});
        for (i = 0; i < 3; i++) {
            struct submission sub = with_key(keys[tree == 1 ? i : 2 - i]);

            sub.parent = scene->ids[tree];
            submit_with(s, sub);
        }
    }
    store_close(&s);
    run_in_line(3, hold_the_limit_of_a_cancel, cancel_a_tree);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 7);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- turns that pass each other permits ---- */

/* Two jobs end. The permit of the first could go to a job that also needs the limit of the second,
 * and the permit of the second to a job that needs the limit of the first. */
static struct {
    struct shared_flag there[2];
    struct held_job job[2];
} * crossing;

static void wait_for_the_other(void *arg)
{
    int nth = *(int *)arg;

    flag_set(&crossing->there[nth]);
    /* The other process may not get this far, which is right too. */
    flag_wait(&crossing->there[!nth], 300000);
}

static void settle_crossing(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);

    if (!on_sqlite())
        watch_for(&w, "waiters", 1, wait_for_the_other, &nth);
    while (settle_ok(s, crossing->job[nth]) == -E_BUSY)
        ;
    close_checked(&s, &w);
}

static int claim_other_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue other[] = {{"process", "other"}};
    struct claim c = claim_of(2, 1, LEASE);
    struct job_list list;
    int rc;

    c.serves = other;
    if (!(rc = op_claim(t, &c, &list, err)))
        *(struct held_job *)arg = held_job_of(list.at[0]);
    return rc;
}

static void settle_both_and_verify(struct store **s)
{
    store_close(s);
    run_processes(2, settle_crossing);
    *s = fixture_store();
    verify_clean(*s);
    drain(*s);
    verify_clean(*s);
    store_close(s);
}

TEST(turns_that_pass_permits_to_each_other_within_a_queue_do_not_deadlock)
{
    struct store *s = fixture_store();
    int64_t a, b;

    crossing = shared_memory(sizeof(*crossing));
    set_limit(s, "queue:default", 2);
    submit_with(s, (struct submission){.name = "0", .concurrency = "a"});
    crossing->job[0] = claim_job(s, 1);
    submit_with(s, (struct submission){.name = "1", .concurrency = "b"});
    crossing->job[1] = claim_job(s, 2);
    a = submit_with(s, (struct submission){.name = "x", .concurrency = "b"});
    b = submit_with(s, (struct submission){.name = "y", .concurrency = "a"});
    CHECK_STR(get(s, a).held_key, "queue:default");
    CHECK_STR(get(s, b).held_key, "queue:default");
    settle_both_and_verify(&s);
}

TEST(turns_that_pass_permits_to_each_other_between_queues_do_not_deadlock)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int64_t a, b;

    crossing = shared_memory(sizeof(*crossing));
    set_limit(s, "queue:default", 2);
    submit_with(s, (struct submission){.name = "0", .concurrency = "a"});
    crossing->job[0] = claim_job(s, 1);
    submit_with(s, (struct submission){.name = "1", .concurrency = "b", .queue = "other"});
    CHECK_OK_ERR(store_turn(s, claim_other_body, &crossing->job[1], &err), &err);
    b = submit_with(s, (struct submission){.name = "x", .concurrency = "b"});
    submit(s, "the queue is full with this one");
    a = submit_with(s, (struct submission){.name = "y", .concurrency = "b"});
    CHECK_STR(get(s, a).held_key, "queue:default");
    CHECK_STR(get(s, b).held_key, "key:b");
    settle_both_and_verify(&s);
}
