/* test_scale.c - what a question costs does not grow with what is stored (scale_fixture.h). That of
 * turns: test_scale_turns.c. */
#include "scale_fixture.h"
#include "store/query/as_of.h"

TEST_ASAN_DB(sqlite); /* what is measured is the database's own doing */
FRESH_TENANTS;

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
    ASK_EVENTS(query_execution_events(w->s, w->child, 0, 100, &list, &err));
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
    struct event_cursor place = {0};

    ASK_EVENTS(query_events(w->s, &any, 50, &place, &list, &err));
}

static void ask_failures(struct world *w)
{
    struct event_filter failed = {.types = EVENT_BIT(EV_FAILED)};
    struct event_cursor place = {0};

    ASK_EVENTS(query_events(w->s, &failed, 10, &place, &list, &err));
}

static void ask_what_is_new(struct world *w)
{
    struct event_list before = {0};
    struct err nothing = ERR_INIT;

    do { /* all that is old */
        event_list_release(&before);
        CHECK_OK_ERR(query_follow(w->s, &w->event_follower, 100000, &before, &nothing), &nothing);
    } while (before.n);
    submit_with(w->s, (struct submission){.name = "x", .queue = "elsewhere", .paused = true});
    ASK_EVENTS(query_follow(w->s, &w->event_follower, 1000, &list, &err));
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
    struct log_position place = {.execution = w->child};
    struct buf b = BUF_INIT;
    struct log_page page;
    struct err err = ERR_INIT;

    MEASURE(w->s, CHECK_OK_ERR(query_log(w->s, &place, 1000, &b, &page, &err), &err));
    CHECK_EQ(b.len, 12);
    buf_release(&b);
}

static const struct scale_case questions[] = {
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
};

TEST_SLOW(no_question_costs_more_when_four_times_as_much_is_stored, 1800)
{
    check_scale(questions, sizeof(questions) / sizeof(*questions));
}
