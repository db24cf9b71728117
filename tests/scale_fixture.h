/* scale_fixture.h - the cost of a query or a turn must not grow with the amount of stored data.
 * Fills a database, measures every case, fills it to four times as much, and measures again: on the
 * connection that made its plans when the database was small, and on a new one that uses the
 * statistics. cost.h defines the cost: never the time. */
#ifndef TESTS_SCALE_FIXTURE_H
#define TESTS_SCALE_FIXTURE_H

#include "cost.h"
#include "fixture.h"
#include "store/query/query.h"

#undef SECOND /* the driver defines the same name, as an int */
#include "pg_fixture.h"

#define UNIT     1000 /* executions created by one call of fill */
#define MINUTE   60000000LL
#define DAY      (24 * 60 * MINUTE)
#define BACKLOG  "default"
#define NARROW   "narrow"
#define LIMIT_OF "queue:" NARROW

/* ---- filling ---- */

struct batch {
    struct submission list[UNIT];
    size_t n;
};

static inline int submit_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

static inline void submit_batch(struct store *s, struct batch *b)
{
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(store_turn(s, submit_body, b, &err), &err);
    for (i = 0; i < b->n; i++)
        CHECK_OK_ERR(b->list[i].rc, &b->list[i].err);
}

static inline void submit_alike(struct store *s, size_t n, struct submission like)
{
    static struct batch b;
    size_t i;

    like.kind = like.kind ? like.kind : KIND_EXEC;
    like.task_index = -1;
    like.name = "exec::filler";
    for (b.n = 0, i = 0; i < n; i++)
        b.list[b.n++] = like;
    submit_batch(s, &b);
}

struct work {
    struct lane_queue serves[4];
    size_t nserves, max;
    struct lease_ref refs[UNIT];
    size_t n;
};

static inline int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct work *w = arg;
    struct claim c = {.worker = 7,
                      .folder = "folder-a",
                      .lease = LEASE,
                      .serves = w->serves,
                      .nserves = w->nserves,
                      .max = w->max};
    struct job_list jobs;
    size_t i;
    int rc = op_claim(t, &c, &jobs, err);

    for (i = 0; !rc && i < jobs.n; i++)
        w->refs[i] = (struct lease_ref){
            .execution = jobs.at[i]->id, .root = jobs.at[i]->root, .epoch = jobs.at[i]->epoch};
    w->n = rc ? 0 : jobs.n;
    return rc;
}

static inline int settle_body(struct turn *t, void *arg, struct err *err)
{
    static struct settlement list[UNIT];
    struct work *w = arg;
    size_t i;

    for (i = 0; i < w->n; i++)
        list[i] = (struct settlement){.lease = w->refs[i],
                                      .outcome = {.kind = i % 50 ? OUTCOME_OK : OUTCOME_FAILED,
                                                  .error = i % 50 ? NULL : "it said no",
                                                  .duration = 1000,
                                                  .retry_delay = -1}};
    return op_settle(t, 7, list, w->n, err);
}

static inline void claim(struct store *s, struct work *w)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, claim_body, w, &err), &err);
}

static inline void settle(struct store *s, struct work *w)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_body, w, &err), &err);
}

static inline int log_body(struct turn *t, void *arg, struct err *err)
{
    static struct log_chunk list[UNIT];
    struct work *w = arg;
    size_t i;

    for (i = 0; i < w->n; i++)
        list[i] = (struct log_chunk){
            .lease = w->refs[i], .attempt = 1, .bytes = "some output\n", .len = 12};
    return op_store_logs(t, 7, list, w->n, err);
}

static inline void store_logs(struct store *s, struct work *w)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, w, &err), &err);
}

/* Runs everything that is ready in a queue to its end. */
static inline void run_queue(struct store *s, const char *queue, size_t n)
{
    static struct work w;

    w = (struct work){.serves = {{"process", queue}}, .nserves = 1, .max = n};
    claim(s, &w);
    CHECK_EQ(w.n, n);
    store_logs(s, &w);
    settle(s, &w);
}

enum { WORKFLOWS = 20, CHILDREN = 9 };

static inline int end_workflows_body(struct turn *t, void *arg, struct err *err)
{
    const struct batch *b = arg;
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < WORKFLOWS; i++) {
        struct workflow_end end = {.id = b->list[i].id, .status = S_SUCCEEDED};

        rc = workflow_end_body(t, &end, err);
    }
    return rc;
}

/* Workflows with children, all ended; returns the last id. */
static inline int64_t make_workflows(struct store *s)
{
    static struct batch workflows, children;
    struct err err = ERR_INIT;
    size_t i, k;

    for (workflows.n = 0; workflows.n < WORKFLOWS; workflows.n++)
        workflows.list[workflows.n] =
            (struct submission){.kind = KIND_WORKFLOW, .task_index = -1, .name = "flow"};
    submit_batch(s, &workflows);
    for (children.n = 0, i = 0; i < WORKFLOWS; i++)
        for (k = 0; k < CHILDREN; k++)
            children.list[children.n++] = (struct submission){.kind = KIND_TASK,
                                                              .task_index = -1,
                                                              .name = "flow::task",
                                                              .parent = workflows.list[i].id,
                                                              .queue = "work"};
    submit_batch(s, &children);
    run_queue(s, "work", WORKFLOWS * CHILDREN);
    CHECK_OK_ERR(store_turn(s, end_workflows_body, &workflows, &err), &err);
    return workflows.list[WORKFLOWS - 1].id;
}

/* Creates a thousand executions: most have ended, some of them in trees; the others wait for a
 * worker, a time or a limit. */
static inline int64_t fill(struct store *s)
{
    int64_t workflow;

    submit_alike(s, 600, (struct submission){.queue = "work"});
    run_queue(s, "work", 600);
    workflow = make_workflows(s);
    submit_alike(s, 70, (struct submission){.queue = BACKLOG});
    submit_alike(s, 30, (struct submission){.queue = BACKLOG, .lane = "container"});
    submit_alike(s, 50, (struct submission){.queue = BACKLOG, .delay = 3650 * DAY});
    submit_alike(s, 50, (struct submission){.queue = NARROW});
    clock_advance(MINUTE);
    return workflow;
}

/* Does what the server's autovacuum does at an arbitrary time. */
static inline void vacuum(void)
{
    char *sql;

    if (!strcmp(test_db(), "sqlite"))
        return;
    sql = mem_printf("VACUUM pawl_%s.execution_events", fixture_tenant());
    pg_admin(pg_server(), sql);
    free(sql);
}

/* ---- measuring ---- */

struct scale {
    struct store *s;
    int64_t workflow, child; /* a workflow with nine ended tasks, and one of them */
    struct event_follower event_follower;
    int64_t retained; /* retention has reached this root */
};

/* Some cases read a window of time or a range of pages whose content varies by chance: a cost up to
 * `enough` is always accepted. */
struct scale_case {
    const char *name;
    void (*run)(struct scale *w);
    double enough;
};

static inline void measure_all(struct scale *w, const struct scale_case *all, size_t n, double *out)
{
    size_t i;

    spy_on(w->s);
    vacuum();
    for (i = 0; i < n; i++) {
        rehearsing = true;
        all[i].run(w);
        rehearsing = false;
        all[i].run(w);
        out[i] = measured;
    }
}

static inline void check_all(const struct scale_case *all, size_t n, const double *before,
                             const double *after, const char *where)
{
    bool grew = false;
    size_t i;

    for (i = 0; i < n; i++) {
        bool bad = before[i] <= 0 || (after[i] > before[i] * 1.5 + 300 && after[i] > all[i].enough);

        printf("%-26s %10.0f %10.0f  %s%s\n", all[i].name, before[i], after[i], where,
               bad ? "  GREW" : "");
        grew |= bad;
    }
    CHECK(!grew);
}

/* Opens a database with one job that keeps running. */
static inline void open_scale(struct scale *w)
{
    struct work work = {.serves = {{"process", "slow"}}, .nserves = 1, .max = 1};

    w->s = fixture_store();
    set_limit(w->s, LIMIT_OF, 3);
    submit_with(w->s, (struct submission){.name = "x", .queue = "slow"});
    claim(w->s, &work);
}

static inline void fill_scale(struct scale *w, int units)
{
    while (units--)
        w->workflow = fill(w->s);
    w->child = w->workflow + CHILDREN;
}

static inline void check_scale(const struct scale_case *all, size_t n)
{
    double *few = mem_alloc(n * sizeof(*few)), *many = mem_alloc(n * sizeof(*many)),
           *anew = mem_alloc(n * sizeof(*anew));
    int units = test_full() ? 1000 : 20;
    struct scale w = {0};

    open_scale(&w);
    fill_scale(&w, units / 4);
    measure_all(&w, all, n, few);
    fill_scale(&w, units - units / 4);
    measure_all(&w, all, n, many);
    sql_analyze(w.s);
    event_follower_release(&w.event_follower);
    store_close(&w.s);
    w.s = fixture_store();
    measure_all(&w, all, n, anew);
    check_all(all, n, few, many, "on the old connection");
    check_all(all, n, few, anew, "on a new one, with statistics");
    verify_clean(w.s);
    event_follower_release(&w.event_follower);
    store_close(&w.s);
    arena_release(&spied);
    free(few);
    free(many);
    free(anew);
}

#endif
