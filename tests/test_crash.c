/* test_crash.c - kill -9 at every point of a worker's life, and replies to COMMIT that never
 * arrive. After each the database is consistent and started work can be finished: nothing is done
 * twice, and nothing that was acknowledged is lost. */
#include "proxy_fixture.h"

#include "store/tenant.h"

#include <stdio.h>

TEST_LONG;

/* ---- a worker's life ---- */

/* The executions of one round. All have keys, so that a repeated submit finds the existing ones. */
enum { FLOW, RETRIED, DELAYED, LIMITED, WAITING, CANCELLED, LONE, EXECUTIONS };

struct round_jobs {
    int round;
    int64_t ids[EXECUTIONS];
};

static int64_t submit_role(struct store *s, const struct round_jobs *c, int role)
{
    static const char *const names[] = {"flow",    "retried",   "delayed", "limited",
                                        "waiting", "cancelled", "lone"};
    struct submission sub = {.name = names[role], .max_attempts = 3};
    char key[50];

    snprintf(key, sizeof(key), "%d-%s", c->round, names[role]);
    sub.key = key;
    sub.kind = role == FLOW ? KIND_WORKFLOW : KIND_TASK;
    sub.parent = role == FLOW || role == LONE ? 0 : c->ids[FLOW];
    sub.delay = role == DELAYED ? 10 * SECOND : 0;
    sub.priority = -role; /* jobs are claimed in the order of their roles */
    if (role == LIMITED || role == WAITING)
        sub.concurrency = "k";
    return submit_with(s, sub);
}

static void submit_round(struct store *s, struct round_jobs *c)
{
    int i;

    for (i = 0; i < EXECUTIONS; i++)
        c->ids[i] = submit_role(s, c, i);
}

struct life {
    struct watch w;
    struct store *s;
    struct round_jobs round_jobs;
};

static void advance_clock(struct life *l, int64_t us)
{
    l->w.env.clock_offset += us;
}

static struct worker worker_of(const int64_t *id)
{
    return (struct worker){
        .id = *id, .host = "h", .folder = "folder-a", .version = "1", .capacity = 10};
}

static int register_body(struct turn *t, void *arg, struct err *err)
{
    struct worker w = worker_of(arg);

    return op_worker_register(t, &w, err);
}

static int tick_body(struct turn *t, void *arg, struct err *err)
{
    struct worker w = worker_of(arg);
    struct tick tick;

    return op_worker_tick(t, &w, &tick, err);
}

static int unregister_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_unregister(t, *(int64_t *)arg, err);
}

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = 4000 * SECOND, .max_trees = 100}, to;

    (void)arg;
    return op_retain(t, &from, &to, err);
}

static void run_turn(struct life *l, int (*body)(struct turn *, void *, struct err *), void *arg)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(l->s, body, arg, &err), &err);
}

/* A worker's life from registration to unregistration, with every kind of write in between. */
static void run_life(struct life *l)
{
    int64_t *id = l->round_jobs.ids, me = 1;
    struct store *s = l->s;
    struct held_job j;

    run_turn(l, retain_body, NULL); /* removes what earlier rounds left */
    run_turn(l, register_body, &me);
    set_limit(s, "queue:default", 4);
    /* One is delayed, one waits for its concurrency key, one for the queue. */
    submit_round(s, &l->round_jobs);

    j = claim_job(s, 1);
    CHECK_EQ(j.id, id[RETRIED]);
    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(heartbeat(s, j), 0);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 10 * SECOND), 0);
    advance_clock(l, 11 * SECOND);
    CHECK_EQ(run_timers(s), 2);

    set_limit(s, "queue:default", 2);
    set_limit(s, "queue:default", -1);
    CHECK_EQ(cancel(s, id[CANCELLED]), 0);
    CHECK_EQ(hold(s, id[LONE]), 0);
    CHECK_EQ(unhold(s, id[LONE]), 0);

    j = claim_job(s, 1);
    CHECK_EQ(j.id, id[RETRIED]);
    advance_clock(l, LEASE + SECOND);
    run_turn(l, tick_body, &me);
    CHECK_EQ(reap(s), 1);
    CHECK(adopt_one(s, 2, &j));
    CHECK_EQ(settle_as(s, j, OUTCOME_LOST, 0), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 2)), 0);
    CHECK_EQ(status_of(s, id[RETRIED]), S_SUCCEEDED);

    CHECK_EQ(settle_as(s, claim_job(s, 2), OUTCOME_DEFERRED, 0), 0);
    while (claim_one(s, 2, &j))
        CHECK_EQ(settle_ok(s, j), 0);
    end_workflow(l->s, id[FLOW]);
    run_turn(l, unregister_body, &me);
}

/* ---- kill at every point ---- */

/* Runs a life that is killed at its nth point. Returns false if the life ended before that. */
static bool run_life_until(int round, int nth)
{
    struct life l = {.round_jobs.round = round};
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        watch_for(&l.w, NULL, nth, die_at_once, NULL);
        l.s = watched_store(&l.w);
        run_life(&l);
        store_close(&l.s);
        _exit(0);
    }
    return was_killed(pid);
}

/* Checks what the next process finds, and finishes the work. */
static void check_and_finish(int round, int nth)
{
    struct round_jobs c = {.round = round};
    struct store *s = fixture_store();
    char sql[200];
    int i;

    printf("killed at point %d\n", nth);
    clock_advance(600 * SECOND); /* later than any time that the killed process used */
    verify_clean(s);
    submit_round(s, &c);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM submit_keys WHERE key LIKE '%d-%%'", round);
    CHECK_EQ(sql_number(s, sql), EXECUTIONS);
    set_limit(s, "queue:default", -1);
    drain(s);
    for (i = 0; i < EXECUTIONS; i++) {
        struct execution e = get(s, c.ids[i]);

        CHECK(status_is_terminal(e.status));
        CHECK(e.status == S_SUCCEEDED || i == CANCELLED);
    }
    verify_clean(s);
    store_close(&s);
    clock_advance(4000 * SECOND);
}

/* `make test` kills at some of the points only, at different ones in each run. */
TEST_SLOW(kill_at_any_point_leaves_a_consistent_database_and_jobs_that_can_finish, 1200)
{
    int stride = test_full() ? 1 : SANITIZED ? 20 : 8, round = 1;
    int nth = 1 + (int)(getpid() % stride);

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* only processes of Pawl are killed */
    fixture_url();
    for (; run_life_until(round, nth); nth += stride)
        check_and_finish(round++, nth);
    printf("%d kills, up to point %d\n", round, nth);
    CHECK(nth > 200); /* the life had enough points */
}

/* ---- kill while the schema is created ---- */

static bool create_tenant_until(const char *name, int nth)
{
    struct watch w = {0};
    struct err err = ERR_INIT;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        /* this store only provides the environment: the process creates another tenant */
        struct store *s = watched_store(&w);

        watch_for(&w, NULL, nth, die_at_once, NULL);
        CHECK_OK_ERR(tenant_create(fixture_url(), name, &w.env, &err), &err);
        store_close(&s);
        _exit(0);
    }
    return was_killed(pid);
}

TEST_SLOW(kill_while_a_tenant_is_created_leaves_the_tenant_complete_or_creatable, 600)
{
    int nth, stride = test_full() ? 1 : SANITIZED ? 9 : 3;
    char name[60];

    for (nth = 1; nth < 100; nth += stride) {
        struct err err = ERR_INIT;
        struct store *s = NULL;
        bool killed;
        int rc;

        snprintf(name, sizeof(name), "%s_%d", fixture_tenant(), nth);
        killed = create_tenant_until(name, nth);
        rc = tenant_create(fixture_url(), name, NULL, &err);
        CHECK(rc == 0 || rc == -E_INVALID); /* the tenant exists already */
        CHECK_OK_ERR(store_open(fixture_url(), name, NULL, &s, &err), &err);
        submit(s, "x");
        verify_clean(s);
        store_close(&s);
        CHECK_OK_ERR(tenant_drop(fixture_url(), name, NULL, &err), &err);
        if (!killed)
            break;
    }
    CHECK(nth > 5 && nth < 100);
}

/* ---- replies that never arrive ---- */

/* Opens a store through a proxy. */
static struct store *store_through_proxy(struct watch *w, pid_t *pid)
{
    struct store_options options = {.env = &w->env};
    struct store *s = watched_store(w); /* fills in w's environment */
    struct err err = ERR_INIT;
    char *through;

    store_close(&s);
    through = proxy_start(pid);
    CHECK_OK_ERR(store_open(through, fixture_tenant(), &options, &s, &err), &err);
    free(through);
    return s;
}

static void close_and_stop_proxy(struct store **s, pid_t pid)
{
    CHECK_EQ(proxy->cuts, 1);
    store_close(s);
    proxy_stop(pid);
}

/* Submits without a key: only the number of the turn shows that it must not be repeated. */
static void submit_once(enum cut how, bool first_turn)
{
    struct watch w = {0};
    pid_t pid;
    struct store *s = store_through_proxy(&w, &pid), *direct = fixture_store();
    int64_t before, id;

    if (!first_turn)
        submit(s, "before");
    before = sql_number(direct, "SELECT count(*) FROM executions");
    proxy_lose_next(how);
    id = submit(s, "once");
    CHECK_EQ(sql_number(direct, "SELECT count(*) FROM executions"), before + 1);
    CHECK_EQ(status_of(direct, id), S_READY);
    CHECK(w.redone > 0); /* the lost connection was reported */
    submit(s, "after");
    CHECK_EQ(sql_number(direct, "SELECT count(*) FROM executions"), before + 2);
    verify_clean(direct);
    store_close(&direct);
    close_and_stop_proxy(&s, pid);
}

TEST(turn_with_a_lost_commit_reply_is_not_repeated)
{
    submit_once(DROP_ANSWER, false);
}

TEST(first_turn_with_a_lost_commit_reply_is_not_repeated)
{
    submit_once(DROP_ANSWER, true);
}

TEST(turn_with_a_lost_commit_request_is_repeated)
{
    submit_once(DROP_COMMIT, false);
}

/* The server takes long to commit: the store has reconnected, and asks whether its turn is stored,
 * before the commit is done. */
static void submit_once_with_slow_commit(bool first_turn)
{
    struct store *s;

    server_url(); /* skips the test unless the database is PostgreSQL */
    s = fixture_store();
    sql_run(s, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
               "'BEGIN PERFORM pg_sleep(CASE WHEN NEW.name = ''once'' THEN 0.7 ELSE 0 END);"
               " RETURN NULL; END'");
    sql_run(s, "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON executions "
               "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()");
    store_close(&s);
    submit_once(CUT_AFTER_COMMIT, first_turn);
}

TEST(store_waits_for_a_turn_whose_commit_is_still_in_progress)
{
    submit_once_with_slow_commit(false);
}

TEST(store_waits_for_its_first_turn_while_the_commit_is_still_in_progress)
{
    submit_once_with_slow_commit(true);
}

TEST(claim_with_a_lost_commit_reply_returns_its_jobs)
{
    struct watch w = {0};
    pid_t pid;
    struct store *s = store_through_proxy(&w, &pid);
    struct held_job jobs[5];
    size_t n, i;

    for (i = 0; i < 3; i++)
        submit(s, "x");
    proxy_lose_next(DROP_ANSWER);
    n = claim_many(s, 1, 5, jobs);
    CHECK_EQ(n, 3);
    for (i = 0; i < n; i++) {
        CHECK_EQ(jobs[i].epoch, 1);
        CHECK_EQ(settle_ok(s, jobs[i]), 0);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 1"), 3);
    verify_clean(s);
    close_and_stop_proxy(&s, pid);
}
