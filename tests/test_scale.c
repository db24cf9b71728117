/* test_scale.c - what a question or a turn costs must not grow with what is stored. A database is
 * filled, every query and every operation is measured, it is filled to four times as much, and they
 * are measured again: on the connection that made its plans when there was little, and on a new one
 * that knows the statistics. The measure is in cost.h: never the time. */
#include "cost.h"
#include "fixture.h"
#include "store/query.h"
#include "store/query_past.h"

#undef SECOND /* the driver has the same, as an int */
#include "pg_fixture.h"

#define UNIT     1000 /* executions that are made at once, see fill */
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

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

static void submit_batch(struct store *s, struct batch *b)
{
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(store_turn(s, submit_body, b, &err), &err);
    for (i = 0; i < b->n; i++)
        CHECK_OK_ERR(b->list[i].rc, &b->list[i].err);
}

static void submit_alike(struct store *s, size_t n, struct submission like)
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

static int claim_body(struct turn *t, void *arg, struct err *err)
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

static int settle_body(struct turn *t, void *arg, struct err *err)
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

static void claim(struct store *s, struct work *w)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, claim_body, w, &err), &err);
}

static void settle(struct store *s, struct work *w)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_body, w, &err), &err);
}

static int log_body(struct turn *t, void *arg, struct err *err)
{
    static struct log_chunk list[UNIT];
    struct work *w = arg;
    size_t i;

    for (i = 0; i < w->n; i++)
        list[i] = (struct log_chunk){
            .lease = w->refs[i], .attempt = 1, .bytes = "what it said", .len = 12};
    return op_log(t, 7, list, w->n, err);
}

static void say(struct store *s, struct work *w)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, w, &err), &err);
}

/* Runs everything that is ready in a queue to its end. */
static void run_queue(struct store *s, const char *queue, size_t n)
{
    static struct work w;

    w = (struct work){.serves = {{"process", queue}}, .nserves = 1, .max = n};
    claim(s, &w);
    CHECK_EQ(w.n, n);
    say(s, &w);
    settle(s, &w);
}

enum { FLOWS = 20, CHILDREN = 9 };

static int end_flows_body(struct turn *t, void *arg, struct err *err)
{
    struct outcome ok = {.kind = OUTCOME_OK, .duration = -1, .retry_delay = -1};
    const struct batch *b = arg;
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < FLOWS; i++)
        rc = op_flow_end(t, b->list[i].id, &ok, err);
    return rc;
}

/* Workflows with children, all of it ended; the last one's id. */
static int64_t make_flows(struct store *s)
{
    static struct batch flows, children;
    struct err err = ERR_INIT;
    size_t i, k;

    for (flows.n = 0; flows.n < FLOWS; flows.n++)
        flows.list[flows.n] =
            (struct submission){.kind = KIND_WORKFLOW, .task_index = -1, .name = "flow"};
    submit_batch(s, &flows);
    for (children.n = 0, i = 0; i < FLOWS; i++)
        for (k = 0; k < CHILDREN; k++)
            children.list[children.n++] = (struct submission){.kind = KIND_TASK,
                                                              .task_index = -1,
                                                              .name = "flow::task",
                                                              .parent = flows.list[i].id,
                                                              .queue = "work"};
    submit_batch(s, &children);
    run_queue(s, "work", FLOWS * CHILDREN);
    CHECK_OK_ERR(store_turn(s, end_flows_body, &flows, &err), &err);
    return flows.list[FLOWS - 1].id;
}

/* A thousand more: most have ended, some of them in trees; the others wait, for a worker, a time, a
 * limit. */
static int64_t fill(struct store *s)
{
    int64_t flow;

    submit_alike(s, 600, (struct submission){.queue = "work"});
    run_queue(s, "work", 600);
    flow = make_flows(s);
    submit_alike(s, 70, (struct submission){.queue = BACKLOG});
    submit_alike(s, 30, (struct submission){.queue = BACKLOG, .lane = "container"});
    submit_alike(s, 50, (struct submission){.queue = BACKLOG, .delay = 3650 * DAY});
    submit_alike(s, 50, (struct submission){.queue = NARROW});
    clock_advance(MINUTE);
    return flow;
}

/* As the server's autovacuum does it in its own time. */
static void vacuum(void)
{
    char *sql;

    if (!strcmp(test_db(), "sqlite"))
        return;
    sql = mem_printf("VACUUM pawl_%s.execution_events", fixture_tenant());
    pg_admin(pg_server(), sql);
    free(sql);
}

/* ---- what is asked ---- */

struct world {
    struct store *s;
    int64_t flow, child; /* a workflow with nine tasks that have ended, and one of these */
    struct follower follower;
    int64_t retained; /* up to which root */
};

#define ASK_EXECUTIONS(call)                       \
    do {                                           \
        struct execution_list list = {0};          \
        struct err err = ERR_INIT;                 \
        MEASURE(w->s, CHECK_OK_ERR((call), &err)); \
        CHECK(list.n > 0);                         \
        execution_list_release(&list);             \
    } while (0)

static void ask_execution(struct world *w)
{
    ASK_EXECUTIONS(query_execution(w->s, w->child, &list, &err));
}

static void ask_parent(struct world *w)
{
    ASK_EXECUTIONS(query_parent(w->s, w->child, &list, &err));
}

static void ask_children(struct world *w)
{
    ASK_EXECUTIONS(query_children(w->s, w->flow, &list, &err));
}

static void ask_tree(struct world *w)
{
    ASK_EXECUTIONS(query_tree(w->s, w->flow, &list, &err));
}

static void ask_outline(struct world *w)
{
    struct outline o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_outline(w->s, w->flow, 10, &o, &err), &err));
    CHECK(o.n > 1);
    outline_release(&o);
}

static const struct moment past = {.event = INT64_MAX};

static void ask_execution_at(struct world *w)
{
    ASK_EXECUTIONS(query_execution_at(w->s, w->child, &past, &list, &err));
}

static void ask_tree_at(struct world *w)
{
    ASK_EXECUTIONS(query_tree_at(w->s, w->flow, &past, &list, &err));
}

static void ask_outline_at(struct world *w)
{
    struct outline o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_outline_at(w->s, w->flow, &past, 10, &o, &err), &err));
    CHECK(o.n > 1);
    outline_release(&o);
}

static void ask_task_names(struct world *w)
{
    struct task_name_list l = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_task_names(w->s, &w->flow, 1, &l, &err), &err));
    CHECK(l.n > 0);
    task_name_list_release(&l);
}

static void ask_tasks(struct world *w)
{
    ASK_EXECUTIONS(query_tasks(w->s, w->flow, &list, &err));
}

#define ASK_LIST(start, ...)                                                                     \
    do {                                                                                         \
        struct list_filter filter = __VA_ARGS__;                                                 \
        int64_t before;                                                                          \
        ASK_EXECUTIONS((before = (start), query_list(w->s, &filter, &before, 20, &list, &err))); \
    } while (0)

static void ask_roots(struct world *w)
{
    ASK_LIST(0, {0});
}

static void ask_roots_before(struct world *w)
{
    ASK_LIST(w->flow, {0});
}

static void ask_roots_by_status(struct world *w)
{
    ASK_LIST(0, {.statuses = (uint64_t)1 << S_READY});
}

static void ask_list_below(struct world *w)
{
    ASK_LIST(0, {.parent = w->flow, .kind = KIND_TASK});
}

static void ask_list_of_all(struct world *w)
{
    ASK_LIST(w->flow + 100, {.all = true, .name = "*"});
}

static void ask_leases(struct world *w)
{
    ASK_EXECUTIONS(query_leases(w->s, 0, 0, 20, &list, &err));
}

#define ASK_EVENTS(call)                           \
    do {                                           \
        struct event_list list = {0};              \
        struct err err = ERR_INIT;                 \
        MEASURE(w->s, CHECK_OK_ERR((call), &err)); \
        CHECK(list.n > 0);                         \
        event_list_release(&list);                 \
    } while (0)

static void ask_events_of(struct world *w)
{
    ASK_EVENTS(query_events_of(w->s, w->child, 0, 100, &list, &err));
}

static void ask_events_below(struct world *w)
{
    struct event_filter any = {0};
    struct event_range range = {.max = 1000};

    ASK_EVENTS(query_events_below(w->s, w->flow, &any, &range, &list, &err));
}

static void ask_newest_events(struct world *w)
{
    struct event_filter any = {0};
    struct event_place place = {0};

    ASK_EVENTS(query_events(w->s, &any, 50, &place, &list, &err));
}

static void ask_failures(struct world *w)
{
    struct event_filter failed = {.types = EVENT_BIT(EV_FAILED)};
    struct event_place place = {0};

    ASK_EVENTS(query_events(w->s, &failed, 10, &place, &list, &err));
}

static void ask_what_is_new(struct world *w)
{
    struct event_list before = {0};
    struct err nothing = ERR_INIT;

    do { /* all that is old */
        event_list_release(&before);
        CHECK_OK_ERR(query_follow(w->s, &w->follower, 100000, &before, &nothing), &nothing);
    } while (before.n);
    submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere", .paused = true});
    ASK_EVENTS(query_follow(w->s, &w->follower, 1000, &list, &err));
}

static void ask_queues(struct world *w)
{
    struct queue_list list = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_queues(w->s, &list, &err), &err));
    CHECK(list.n > 2);
    queue_list_release(&list);
}

static void ask_overview(struct world *w)
{
    struct overview o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_overview(w->s, "x", 100, &o, &err), &err));
    CHECK(o.nrunning > 0);
    overview_release(&o);
}

static void ask_workers(struct world *w)
{
    struct worker_list list = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_workers(w->s, &list, &err), &err));
    worker_list_release(&list);
}

static void ask_log(struct world *w)
{
    struct log_place place = {.execution = w->child};
    struct buf b = BUF_INIT;
    struct log_page page;
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_log(w->s, &place, 1000, &b, &page, &err), &err));
    CHECK_EQ(b.len, 12);
    buf_release(&b);
}

static void ask_counters(struct world *w)
{
    struct counter_list list = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_counters(w->s, false, &list, &err), &err));
    counter_list_release(&list);
}

/* ---- what is done ---- */

static void do_submit(struct world *w)
{
    MEASURE(w->s, submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere"}));
}

static void do_submit_keyed(struct world *w)
{
    char key[32];

    snprintf(key, sizeof(key), "%lld", (long long)env_random_id());
    MEASURE(w->s, submit_with(w->s, (struct submission){.name = "x",
                                                        .queue = "elsewhere",
                                                        .key = key,
                                                        .concurrency = "one",
                                                        .concurrency_max = 1000000}));
}

/* From where thousands wait, and where nobody does. */
static void do_claim(struct world *w)
{
    static struct work work;

    work = (struct work){.serves = {{"process", BACKLOG},
                                    {"container", BACKLOG},
                                    {"process", "empty"},
                                    {"nothing", "empty"}},
                         .nserves = 4,
                         .max = 10};
    MEASURE(w->s, claim(w->s, &work));
    CHECK_EQ(work.n, 10);
    settle(w->s, &work);
}

static void do_claim_in_vain(struct world *w)
{
    static struct work work;

    work = (struct work){.serves = {{"process", "empty"}}, .nserves = 1, .max = 10};
    MEASURE(w->s, claim(w->s, &work));
    CHECK_EQ(work.n, 0);
}

static struct held_job one_job(struct store *s)
{
    int64_t id = submit_with(s, (struct submission){.name = "x", .priority = 100});
    struct held_job j = claim_job(s, 7);

    CHECK_EQ(j.id, id);
    return j;
}

static void do_start(struct world *w)
{
    struct held_job j = one_job(w->s);

    MEASURE(w->s, CHECK_EQ(start(w->s, j), 0));
    settle_ok(w->s, j);
}

static void do_heartbeat(struct world *w)
{
    struct held_job j = one_job(w->s);

    MEASURE(w->s, CHECK_EQ(heartbeat(w->s, j), 0));
    settle_ok(w->s, j);
}

/* The first chunk of an attempt, and the next one. */
static void do_log(struct world *w)
{
    struct held_job j = one_job(w->s);
    struct work work = {.refs = {{.execution = j.id, .root = j.root, .epoch = j.epoch}}, .n = 1};

    MEASURE(w->s, say(w->s, &work); say(w->s, &work));
    settle_ok(w->s, j);
}

static int count_body(struct turn *t, void *arg, struct err *err)
{
    static const struct counter list[] = {{"jobs", "queue=\"a\"", 1}, {"jobs", "queue=\"b\"", 2}};

    (void)arg;
    return op_counters(t, 7, list, 2, err);
}

static void do_count(struct world *w)
{
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(store_turn(w->s, count_body, NULL, &err), &err));
}

static void do_settle(struct world *w)
{
    struct held_job j = one_job(w->s);

    MEASURE(w->s, CHECK_EQ(settle_ok(w->s, j), 0));
}

static void do_retry_later(struct world *w)
{
    struct held_job j;

    submit_with(w->s, (struct submission){.name = "x", .priority = 100, .max_attempts = 2});
    j = claim_job(w->s, 7);
    MEASURE(w->s, CHECK_EQ(settle_as(w->s, j, OUTCOME_FAILED, MINUTE), 0));
    cancel(w->s, j.id);
}

/* The permit goes to the first of all who wait for the limit. */
static void do_hand_over(struct world *w)
{
    static struct work work;
    struct lane_queue narrow = {"process", NARROW};

    work = (struct work){.serves = {narrow}, .nserves = 1, .max = 1};
    claim(w->s, &work);
    CHECK_EQ(work.n, 1);
    MEASURE(w->s, settle(w->s, &work));
}

static void do_widen_and_narrow(struct world *w)
{
    MEASURE(w->s, set_limit(w->s, LIMIT_OF, 4); set_limit(w->s, LIMIT_OF, 3));
}

static void do_hold(struct world *w)
{
    int64_t id = submit(w->s, "x");

    MEASURE(w->s, hold(w->s, id); unhold(w->s, id));
    cancel(w->s, id);
}

static void do_cancel(struct world *w)
{
    int64_t id = submit(w->s, "x");

    MEASURE(w->s, CHECK_EQ(cancel(w->s, id), 0));
}

static void do_timers(struct world *w)
{
    submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere", .delay = MINUTE});
    clock_advance(MINUTE + 1);
    MEASURE(w->s, CHECK_EQ(run_timers(w->s), 1));
}

static void do_reap_and_adopt(struct world *w)
{
    struct held_job j = one_job(w->s), adopted = j;

    clock_advance(LEASE + 1);
    MEASURE(w->s, reap(w->s); adopt_one(w->s, 8, &adopted));
    CHECK_EQ(adopted.epoch, 2);
    settle_ok(w->s, adopted);
}

static int tick_body(struct turn *t, void *arg, struct err *err)
{
    struct worker w = {.id = 7, .host = "h", .folder = "f", .version = "1", .room = 1};

    return op_worker_tick(t, &w, arg, err);
}

static void do_tick(struct world *w)
{
    struct tick k;
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(store_light_turn(w->s, tick_body, &k, &err), &err));
}

struct retaining {
    struct retention from, to;
};

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retaining *r = arg;

    return op_retain(t, &r->from, &r->to, err);
}

static void do_retain(struct world *w)
{
    struct retaining r = {
        .from = {.older_than = MINUTE / 2, .max_trees = 20, .after = w->retained}};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(store_turn(w->s, retain_body, &r, &err), &err));
    CHECK(r.to.more);
    w->retained = r.to.after;
}

/* Some look at a window of time or a range of pages that holds more or less by chance: `enough` is
 * never too much for them. */
static const struct {
    const char *name;
    void (*run)(struct world *w);
    double enough;
} all[] = {
    {"query_execution", ask_execution, 0},
    {"query_parent", ask_parent, 0},
    {"query_children", ask_children, 0},
    {"query_tree", ask_tree, 0},
    {"query_tasks", ask_tasks, 0},
    {"query_task_names", ask_task_names, 0},
    {"query_outline", ask_outline, 0},
    {"query_execution_at", ask_execution_at, 0},
    {"query_tree_at", ask_tree_at, 0},
    {"query_outline_at", ask_outline_at, 0},
    {"query_list", ask_roots, 0},
    {"query_list before", ask_roots_before, 0},
    {"query_list by status", ask_roots_by_status, 0},
    {"query_list below", ask_list_below, 0},
    {"query_list of all", ask_list_of_all, 0},
    {"query_leases", ask_leases, 0},
    {"query_events_of", ask_events_of, 0},
    {"query_events_below", ask_events_below, 0},
    {"query_events", ask_newest_events, 150000},
    {"query_events of failures", ask_failures, 0},
    {"query_follow", ask_what_is_new, 8000},
    {"query_queues", ask_queues, 0},
    {"query_workers", ask_workers, 0},
    {"query_overview", ask_overview, 0},
    {"query_log", ask_log, 0},
    {"submit", do_submit, 0},
    {"submit with keys", do_submit_keyed, 0},
    {"claim", do_claim, 0},
    {"claim in vain", do_claim_in_vain, 0},
    {"started", do_start, 0},
    {"heartbeat", do_heartbeat, 0},
    {"log", do_log, 0},
    {"counters", do_count, 0},
    {"query_counters", ask_counters, 0},
    {"settle", do_settle, 0},
    {"settle with a retry", do_retry_later, 0},
    {"settle with a hand-over", do_hand_over, 0},
    {"limit", do_widen_and_narrow, 0},
    {"hold, unhold", do_hold, 0},
    {"cancel", do_cancel, 0},
    {"timers", do_timers, 0},
    {"reap, adopt", do_reap_and_adopt, 0},
    {"worker_tick", do_tick, 0},
    {"retain", do_retain, 0},
};
enum { ALL = sizeof(all) / sizeof(*all) };

static void measure_all(struct world *w, double out[ALL])
{
    int i;

    spy_on(w->s);
    vacuum();
    for (i = 0; i < ALL; i++) {
        rehearsing = true;
        all[i].run(w);
        rehearsing = false;
        all[i].run(w);
        out[i] = measured;
    }
}

/* ---- the test ---- */

static void check_all(const double before[ALL], const double after[ALL], const char *where)
{
    bool grew = false;
    int i;

    for (i = 0; i < ALL; i++) {
        bool bad = before[i] <= 0 || (after[i] > before[i] * 1.5 + 300 && after[i] > all[i].enough);

        printf("%-26s %10.0f %10.0f  %s%s\n", all[i].name, before[i], after[i], where,
               bad ? "  GREW" : "");
        grew |= bad;
    }
    CHECK(!grew);
}

TEST_SLOW(nothing_costs_more_when_four_times_as_much_is_stored, 1800)
{
    struct world w = {.s = fixture_store()};
    int units = test_full() ? 1000 : 20, i;
    double few[ALL], many[ALL], anew[ALL];

    set_limit(w.s, LIMIT_OF, 3);
    submit_with(w.s,
                (struct submission){.name = "x", .queue = "slow"}); /* one that runs all the time */
    {
        struct work work = {.serves = {{"process", "slow"}}, .nserves = 1, .max = 1};

        claim(w.s, &work);
    }
    for (i = 0; i < units / 4; i++)
        w.flow = fill(w.s);
    w.child = w.flow + CHILDREN;
    measure_all(&w, few);
    for (; i < units; i++)
        w.flow = fill(w.s);
    w.child = w.flow + CHILDREN;
    measure_all(&w, many);
    sql_run(w.s, "ANALYZE");
    follower_release(&w.follower);
    store_close(&w.s);
    w.s = fixture_store();
    measure_all(&w, anew);
    check_all(few, many, "on the old connection");
    check_all(few, anew, "on a new one, with statistics");
    verify_clean(w.s);
    follower_release(&w.follower);
    store_close(&w.s);
    arena_release(&spied);
}
