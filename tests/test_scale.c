/* test_scale.c - the cost of a query does not grow with the size of the database (scale_fixture.h).
 * The cost of turns is measured in test_scale_turns.c. */
#include "scale_fixture.h"
#include "store/query/as_of.h"

TEST_ASAN_DB(sqlite); /* the test measures the database, not this program */
FRESH_TENANTS;

#define QUERY_EXECUTIONS(call)                     \
    do {                                           \
        struct execution_list list = {0};          \
        struct err err = ERR_INIT;                 \
        MEASURE(w->s, CHECK_OK_ERR((call), &err)); \
        CHECK(list.n > 0);                         \
        execution_list_release(&list);             \
    } while (0)

static void run_execution(struct scale *w)
{
    QUERY_EXECUTIONS(query_execution(w->s, w->child, &list, &err));
}

static void run_parent(struct scale *w)
{
    QUERY_EXECUTIONS(query_parent(w->s, w->child, &list, &err));
}

static void run_children(struct scale *w)
{
    QUERY_EXECUTIONS(query_children(w->s, w->workflow, &list, &err));
}

static void run_tree(struct scale *w)
{
    QUERY_EXECUTIONS(query_tree(w->s, w->workflow, &list, &err));
}

static void run_outline(struct scale *w)
{
    struct outline o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_outline(w->s, w->workflow, 10, &o, &err), &err));
    CHECK(o.n > 1);
    outline_release(&o);
}

static const struct moment newest_moment = {.event = INT64_MAX};

static void run_execution_at(struct scale *w)
{
    QUERY_EXECUTIONS(query_execution_at(w->s, w->child, &newest_moment, &list, &err));
}

static void run_tree_at(struct scale *w)
{
    QUERY_EXECUTIONS(query_tree_at(w->s, w->workflow, &newest_moment, &list, &err));
}

static void run_outline_at(struct scale *w)
{
    struct outline o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s,
            CHECK_OK_ERR(query_outline_at(w->s, w->workflow, &newest_moment, 10, &o, &err), &err));
    CHECK(o.n > 1);
    outline_release(&o);
}

static void run_task_names(struct scale *w)
{
    struct task_name_list l = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_task_names(w->s, &w->workflow, 1, &l, &err), &err));
    CHECK(l.n > 0);
    task_name_list_release(&l);
}

static void run_graph(struct scale *w)
{
    struct outline o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_graph(w->s, w->workflow, &o, &err), &err));
    CHECK(o.n > 0);
    outline_release(&o);
}

static void run_tasks(struct scale *w)
{
    QUERY_EXECUTIONS(query_tasks(w->s, w->workflow, &list, &err));
}

#define QUERY_LIST(start, ...)                                                                     \
    do {                                                                                           \
        struct list_filter filter = __VA_ARGS__;                                                   \
        int64_t before;                                                                            \
        QUERY_EXECUTIONS((before = (start), query_list(w->s, &filter, &before, 20, &list, &err))); \
    } while (0)

static void run_roots(struct scale *w)
{
    QUERY_LIST(0, {0});
}

static void run_roots_before(struct scale *w)
{
    QUERY_LIST(w->workflow, {0});
}

static void run_roots_by_status(struct scale *w)
{
    QUERY_LIST(0, {.statuses = (uint64_t)1 << S_READY});
}

static void run_list_of_children(struct scale *w)
{
    QUERY_LIST(0, {.parent = w->workflow, .kind = KIND_TASK});
}

static void run_list_of_all(struct scale *w)
{
    QUERY_LIST(w->workflow + 100, {.all = true, .name = "*"});
}

/* A period with about the last three of the units that fill() has created. */
static void run_list_of_period(struct scale *w)
{
    int64_t at = get(w->s, w->workflow).requested_at;

    QUERY_LIST(0, {.since = at - 2 * MINUTE, .until = at + 1});
}

static void run_list_by_worker(struct scale *w)
{
    QUERY_LIST(w->workflow, {.worker = 7});
}

static void run_leases(struct scale *w)
{
    QUERY_EXECUTIONS(query_leases(w->s, 0, 0, 20, &list, &err));
}

#define QUERY_EVENTS(call)                         \
    do {                                           \
        struct event_list list = {0};              \
        struct err err = ERR_INIT;                 \
        MEASURE(w->s, CHECK_OK_ERR((call), &err)); \
        CHECK(list.n > 0);                         \
        event_list_release(&list);                 \
    } while (0)

static void run_execution_events(struct scale *w)
{
    QUERY_EVENTS(query_execution_events(w->s, w->child, 0, 100, &list, &err));
}

static void run_tree_events(struct scale *w)
{
    struct event_filter any = {0};
    struct event_range range = {.max = 1000};

    QUERY_EVENTS(query_events_below(w->s, w->workflow, &any, &range, &list, &err));
}

static void run_newest_events(struct scale *w)
{
    struct event_filter any = {0};
    struct event_cursor position = {0};

    QUERY_EVENTS(query_events(w->s, &any, 50, &position, &list, &err));
}

static void run_failures(struct scale *w)
{
    struct event_filter failed = {.types = EVENT_BIT(EV_FAILED)};
    struct event_cursor position = {0};

    QUERY_EVENTS(query_events(w->s, &failed, 10, &position, &list, &err));
}

static void run_follow(struct scale *w)
{
    struct event_list before = {0};
    struct err nothing = ERR_INIT;

    do { /* skip the events that exist already */
        event_list_release(&before);
        CHECK_OK_ERR(query_follow(w->s, &w->event_follower, 100000, &before, &nothing), &nothing);
    } while (before.n);
    submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere", .paused = true});
    QUERY_EVENTS(query_follow(w->s, &w->event_follower, 1000, &list, &err));
}

static void run_queues(struct scale *w)
{
    struct queue_list list = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_queues(w->s, &list, &err), &err));
    CHECK(list.n > 2);
    queue_list_release(&list);
}

static void run_overview(struct scale *w)
{
    struct overview o = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_overview(w->s, "x", 100, &o, &err), &err));
    CHECK(o.nrunning > 0);
    overview_release(&o);
}

static void run_workers(struct scale *w)
{
    struct worker_list list = {0};
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_workers(w->s, &list, &err), &err));
    worker_list_release(&list);
}

static void run_log(struct scale *w)
{
    struct log_position position = {.execution = w->child};
    struct buf b = BUF_INIT;
    struct log_page page;
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_log(w->s, &position, 1000, &b, &page, &err), &err));
    CHECK_EQ(b.len, 12);
    buf_release(&b);
}

static const struct scale_case queries[] = {
    {"query_execution", run_execution, 0},
    {"query_parent", run_parent, 0},
    {"query_children", run_children, 0},
    {"query_tree", run_tree, 0},
    {"query_tasks", run_tasks, 0},
    {"query_task_names", run_task_names, 0},
    {"query_outline", run_outline, 0},
    {"query_graph", run_graph, 0},
    {"query_execution_at", run_execution_at, 0},
    {"query_tree_at", run_tree_at, 0},
    {"query_outline_at", run_outline_at, 0},
    {"query_list", run_roots, 0},
    {"query_list before", run_roots_before, 0},
    {"query_list by status", run_roots_by_status, 0},
    {"query_list below", run_list_of_children, 0},
    {"query_list of all", run_list_of_all, 0},
    {"query_list of a period", run_list_of_period, 0},
    {"query_list by worker", run_list_by_worker, 0},
    {"query_leases", run_leases, 0},
    {"query_events_of", run_execution_events, 0},
    {"query_events_below", run_tree_events, 0},
    {"query_events", run_newest_events, 150000},
    {"query_events of failures", run_failures, 0},
    {"query_follow", run_follow, 8000},
    {"query_queues", run_queues, 0},
    {"query_workers", run_workers, 0},
    {"query_overview", run_overview, 0},
    {"query_log", run_log, 0},
};

TEST_SLOW(query_costs_no_more_on_a_database_four_times_as_large, 1800)
{
    check_scale(queries, sizeof(queries) / sizeof(*queries));
}
