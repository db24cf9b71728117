/* test_dispatch.c - which executor gets which attempt, and how many at once. */
#include "core/route.h"
#include "dispatch_fixture.h"

#include <stdatomic.h>
#include <string.h>

TEST_NO_DB;
TEST_THREADED;

/* ---- routes ---- */

TEST(task_is_routed_by_its_executor_key_else_first_matching_route_else_kind)
{
    static const struct route routes[] = {
        {"nightly::transform[0]", "first"},
        {"nightly::transform[*]", "items"},
        {"nightly::?heck", "check"},
        {"a\\b", "backslash"},
        {"nightly::*", "night"},
        {"*::load", "never-for-nightly"},
        {"*::été?", "summer"},
        {"*a*::b*c", "stars"},
    };
    static const struct {
        struct route_query q;
        const char *lane;
    } cases[] = {
        {{.name = "nightly::transform[0]"}, "first"},
        {{.name = "nightly::transform[1]"}, "items"},
        {{.name = "nightly::transform[10]"}, "items"},
        {{.name = "nightly::transform"}, "night"},
        {{.name = "nightly::transform0"}, "night"}, /* brackets are literal */
        {{.name = "nightly::check"}, "check"},
        {{.name = "nightly::load"}, "night"},
        {{.name = "weekly::load"}, "never-for-nightly"},
        {{.name = "a\\b"}, "backslash"},
        {{.name = "ab"}, "process"},
        {{.name = "nightlyX::load2"}, "process"},
        {{.name = "exec::x", .container = true}, "container"},
        {{.name = "nightly::x", .container = true}, "night"},
        {{.name = "nightly::load", .executor = "mine"}, "mine"},
        {{.name = "nightly::load", .function = "send"}, "function:send"},
        {{.name = "nightly::load", .function = "send", .executor = "mine"}, "function:send"},
        {{.name = ""}, "process"},
        {{.name = "x::étés"}, "summer"},
        {{.name = "x::étéé"}, "summer"}, /* ? is one character, not one byte */
        {{.name = "x::été"}, "process"},
        {{.name = "xay::b::bcbc"}, "stars"},
        {{.name = "xay::b::bcb"}, "process"},
    };
    struct routes given = {.at = routes, .n = COUNT(routes)}, defaults = {.command = "cluster"};
    struct arena arena = ARENA_INIT;
    size_t i;

    for (i = 0; i < COUNT(cases); i++)
        CHECK_STR(route_find(&given, &cases[i].q, &arena), cases[i].lane);
    CHECK_STR(route_find(&defaults, &cases[0].q, &arena), "cluster");
    CHECK_STR(route_find(&defaults, &cases[11].q, &arena), "container");
    arena_release(&arena);
}

TEST(written_routes_read_back_unchanged_and_an_incomplete_route_is_refused)
{
    static const struct route list[] = {{"a::\"*\"", "gpu"}, {"*::été", "container"}};
    struct routes routes = {.at = list, .n = 2, .command = "cluster"}, read;
    AUTO_FREE char *text = routes_write(&routes), *again = NULL, *none = NULL;
    AUTO_ARENA arena = ARENA_INIT;
    struct err err = ERR_INIT;

    CHECK_STR(text, "{\"default_executor\":\"cluster\",\"routes\":["
                    "{\"task\":\"a::\\\"*\\\"\",\"executor\":\"gpu\"},"
                    "{\"task\":\"*::été\",\"executor\":\"container\"}]}");
    CHECK_OK_ERR(routes_read(text, &arena, &read, &err), &err);
    again = routes_write(&read);
    CHECK_STR(again, text);
    CHECK_EQ(routes_read("{\"routes\":[{\"task\":\"a\"}]}", &arena, &read, &err), -E_INVALID);
    CHECK_STR(err.msg, "the stored routes: routes[0] needs both task and executor");
    none = routes_write(&(struct routes){0});
    CHECK_STR(none, "{\"default_executor\":\"process\",\"routes\":[]}");
}

static void refuse_routes(struct routes routes, const char *sentence)
{
    struct err err = ERR_INIT;

    CHECK_EQ(routes_check(&routes, &err), -E_INVALID);
    CHECK_STR(err.msg, sentence);
}

TEST(route_without_a_glob_or_to_an_executor_that_runs_no_commands_is_refused)
{
    static const struct route routes[] = {{"a::*", "process"}, {"", "process"}, {"b", "function"},
                                          {"c", "function:f"}, {"d", ""},       {"e", "gpu:1"}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(routes_check(&(struct routes){.at = routes, .n = 1}, &err), &err);
    refuse_routes((struct routes){.at = routes, .n = 2}, "route 2: the glob is empty");
    refuse_routes((struct routes){.at = routes + 2, .n = 1},
                  "route 1 (b): the executor \"function\" runs functions, not commands");
    refuse_routes((struct routes){.at = routes + 3, .n = 1},
                  "route 1 (c): the executor \"function:f\" runs functions, not commands");
    refuse_routes((struct routes){.at = routes + 5, .n = 1},
                  "route 1 (e): the executor's key \"gpu:1\" can't contain a colon");
    refuse_routes((struct routes){.at = routes + 4, .n = 1},
                  "route 1 (d): the executor's key is empty");
    refuse_routes((struct routes){.command = ""},
                  "the default executor for commands: the executor's key is empty");
    refuse_routes((struct routes){.at = routes, .n = ROUTES_MAX + 1},
                  "there are 10001 routes; at most 10000 are allowed");
}

TEST(second_executor_with_the_same_key_is_refused)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct manual_executor *k = manual_new(&manual_ops, "process", 1);

    open_with(&fx, (struct dispatch_options){0});
    add_manual_executor(&fx, "process", 1, 0);
    CHECK_EQ(dispatch_add_executor(fx.d, &k->x, 0, &err), -E_CONFLICT);
    CHECK_STR(err.msg, "there are two executors named \"process\"");
    manual_free(&k->x);
    end(&fx);
}

/* ---- capacity ---- */

TEST(capacity_is_limited_by_executor_slots_and_worker_slots)
{
    struct fixture fx;
    struct manual_executor *a, *b;

    open_with(&fx, (struct dispatch_options){.slots = 6});
    a = add_manual_executor(&fx, "a", 10, 3);
    b = add_manual_executor(&fx, "b", 4, 0);
    CHECK_EQ(dispatch_free_slots(fx.d), 6);
    CHECK_EQ(capacity(&fx, "a"), 3);
    CHECK_EQ(capacity(&fx, "b"), 4);
    CHECK_EQ(group(&fx, "a")->nlanes, 1);
    CHECK_STR(group(&fx, "a")->lanes[0], "a");
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    CHECK_EQ(capacity(&fx, "a"), 1);
    CHECK_EQ(capacity(&fx, "b"), 4);
    start(&fx, 3, "b");
    start(&fx, 4, "b");
    start(&fx, 5, "b");
    CHECK_EQ(dispatch_free_slots(fx.d), 1);
    CHECK_EQ(capacity(&fx, "b"), 1);
    start(&fx, 6, "a");
    CHECK_EQ(dispatch_free_slots(fx.d), 0);
    CHECK_EQ(capacity(&fx, "b"), 0);
    start(&fx, 7, "b"); /* adopted attempts may exceed the capacity; free slots stay at 0 */
    CHECK_EQ(dispatch_free_slots(fx.d), 0);
    CHECK_EQ(dispatch_in_flight(fx.d), 7);
    manual_end(a, 1, OUTCOME_OK);
    manual_end(b, 3, OUTCOME_OK);
    poll_until_idle(&fx);
    CHECK_EQ(dispatch_in_flight(fx.d), 5);
    CHECK_EQ(dispatch_free_slots(fx.d), 1); /* although neither is settled yet */
    CHECK_EQ(capacity(&fx, "a"), 1);
    end(&fx);
}

TEST(dispatcher_without_slot_limits_has_the_capacity_of_its_executor)
{
    struct fixture fx;

    open_with(&fx, (struct dispatch_options){0});
    add_manual_executor(&fx, "a", 10, 0);
    CHECK_EQ(capacity(&fx, "a"), 10);
    CHECK(dispatch_free_slots(fx.d) > 1000000);
    end(&fx);
}

TEST(attempt_frees_its_slot_whatever_its_outcome)
{
    static const enum outcome_kind kinds[] = {OUTCOME_OK,     OUTCOME_FAILED,    OUTCOME_TIMED_OUT,
                                              OUTCOME_LOST,   OUTCOME_CANCELLED, OUTCOME_DEFERRED,
                                              OUTCOME_REFUSED};
    struct fixture fx;
    struct manual_executor *a;
    size_t i;

    open_with(&fx, (struct dispatch_options){0});
    a = add_manual_executor(&fx, "a", 10, 9);
    for (i = 1; i <= COUNT(kinds) + 1; i++)
        start(&fx, (int64_t)i, "a");
    CHECK_EQ(capacity(&fx, "a"), 1);
    for (i = 0; i < COUNT(kinds); i++)
        manual_end(a, (int64_t)i + 1, kinds[i]);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.n, COUNT(kinds));
    for (i = 0; i < fx.seen.n; i++)
        CHECK_EQ(fx.seen.at[i].outcome, kinds[fx.seen.at[i].execution - 1]);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    CHECK_EQ(capacity(&fx, "a"), 8);
    end(&fx);
}

/* ---- functions ---- */

static atomic_int gate;

static int wait_for_gate(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    while (!atomic_load(&gate))
        clock_sleep_us(200);
    return 0;
}

static int do_nothing(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

TEST(each_function_has_its_own_lane_and_all_share_one_capacity)
{
    struct fixture fx;
    struct functions *f;
    struct err err = ERR_INIT;
    struct spec spec = {.grace = MS};
    struct job t = a_task(1);
    const struct lane_group *g;

    open_with(&fx, (struct dispatch_options){0});
    add_manual_executor(&fx, "process", 10, 0);
    CHECK_OK_ERR(function_new(&(struct function_options){.threads = 2}, &f, &err), &err);
    CHECK_OK_ERR(dispatch_add_executor(fx.d, function_executor(f), 0, &err), &err);
    CHECK_EQ(group(&fx, "function")->nlanes, 0);
    CHECK_OK_ERR(function_add(f, "waits", wait_for_gate, NULL, &err), &err);
    CHECK_OK_ERR(function_add(f, "nothing", do_nothing, NULL, &err), &err);
    g = group(&fx, "function");
    CHECK_EQ(g->nlanes, 2);
    CHECK_STR(g->lanes[0], "function:nothing");
    CHECK_STR(g->lanes[1], "function:waits");
    CHECK_EQ(g->can_start, 2);
    CHECK_EQ(g->can_queue, 0); /* it is not known yet whether functions are short */

    t.spec = &spec;
    start_job(&fx, "function:waits", &t);
    CHECK_EQ(capacity(&fx, "function"), 1);
    start(&fx, 2, "function:nothing");
    start(&fx, 3, "function"); /* the executor's key is not a lane */
    wait_seen(&fx, 4);         /* nothing: started and ended; function: refused; waits: started */
    CHECK_EQ(dispatch_count_unresponsive(fx.d), 0);
    dispatch_cancel(fx.d, 1, 1, OUTCOME_CANCELLED);
    while (!dispatch_count_unresponsive(fx.d))
        clock_sleep_us(1000);
    atomic_store(&gate, 1);
    wait_seen(&fx, 5);
    CHECK_EQ(fx.seen.at[4].execution, 1);
    CHECK_EQ(fx.seen.at[4].outcome, OUTCOME_CANCELLED);
    CHECK_EQ(dispatch_count_unresponsive(fx.d), 0);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    end(&fx);
}

/* A dispatcher with that many slots, a function executor with 2 threads and a queue of 8, and a
 * manual executor with a capacity of 10. */
static struct functions *manual_executor_and_functions(struct fixture *fx, int slots)
{
    struct functions *f;
    struct err err = ERR_INIT;

    open_with(fx, (struct dispatch_options){.slots = slots});
    add_manual_executor(fx, "a", 10, 0);
    CHECK_OK_ERR(
        function_new(&(struct function_options){.threads = 2, .patience = 3600 * SECOND}, &f, &err),
        &err);
    CHECK_OK_ERR(dispatch_add_executor(fx->d, function_executor(f), 0, &err), &err);
    CHECK_OK_ERR(function_add(f, "waits", wait_for_gate, NULL, &err), &err);
    return f;
}

TEST(function_queued_for_a_thread_uses_no_slot)
{
    struct fixture fx;
    int ahead;

    manual_executor_and_functions(&fx, 4);
    atomic_store(&gate, 1);
    for (int64_t id = 100; capacity(&fx, "function") < 10; id++) { /* until they count as short */
        start(&fx, id, "function:waits");
        while (dispatch_in_flight(fx.d))
            dispatch_poll(fx.d);
    }
    atomic_store(&gate, 0);
    CHECK_EQ(dispatch_total_capacity(fx.d, &ahead), 4);
    CHECK_EQ(ahead, 8);
    CHECK_EQ(capacity(&fx, "function"), 10);
    CHECK_EQ(group(&fx, "function")->can_start, 2);
    CHECK_EQ(capacity(&fx, "a"), 4);
    start(&fx, 1, "function:waits");
    start(&fx, 2, "function:waits");
    start(&fx, 3, "function:waits");
    CHECK_EQ(dispatch_free_slots(fx.d), 2);
    CHECK_EQ(capacity(&fx, "function"), 7);
    CHECK_EQ(group(&fx, "function")->can_start, 0);
    start(&fx, 4, "a");
    start(&fx, 5, "a");
    CHECK_EQ(dispatch_free_slots(fx.d), 0);
    CHECK_EQ(capacity(&fx, "a"), 0);
    /* Queued functions get the slots of the two that run. */
    CHECK_EQ(capacity(&fx, "function"), 7);
    CHECK_EQ(dispatch_total_capacity(fx.d, &ahead), 4);
    CHECK_EQ(ahead, 8);
    dispatch_forget(fx.d, 1, 1);
    CHECK_EQ(dispatch_free_slots(fx.d), 0); /* a forgotten function keeps its thread and slot */
    atomic_store(&gate, 1);
    end(&fx);
}

TEST(function_is_not_queued_for_a_free_thread_if_the_worker_has_no_slot_left)
{
    struct fixture fx;

    manual_executor_and_functions(&fx, 3);
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    CHECK_EQ(capacity(&fx, "function"), 1);
    CHECK_EQ(group(&fx, "function")->can_start, 2);
    start(&fx, 3, "a");
    CHECK_EQ(capacity(&fx, "function"), 0);
    end(&fx);
}

static void settle_and_start(struct fixture *fx, const struct report *r)
{
    if (r->kind != REPORT_ENDED)
        return;
    dispatch_settled(fx->d, r->execution, r->attempt);
    if (r->execution < 1010)
        start(fx, r->execution + 10, "function:nothing");
}

TEST(report_callback_may_settle_and_start_attempts)
{
    struct fixture fx;
    struct functions *f;
    struct err err = ERR_INIT;
    size_t i, ends = 0;

    open_with(&fx, (struct dispatch_options){0});
    CHECK_OK_ERR(function_new(&(struct function_options){.threads = 3}, &f, &err), &err);
    CHECK_OK_ERR(dispatch_add_executor(fx.d, function_executor(f), 0, &err), &err);
    CHECK_OK_ERR(function_add(f, "nothing", do_nothing, NULL, &err), &err);
    fx.meanwhile = settle_and_start;
    for (i = 0; i < 10; i++)
        start(&fx, 10 + (int64_t)i, "function:nothing");
    wait_seen(&fx, 2 * 1010);
    for (i = 0; i < fx.seen.n; i++)
        ends += fx.seen.at[i].kind == REPORT_ENDED && fx.seen.at[i].outcome == OUTCOME_OK;
    CHECK_EQ(ends, 1010);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    end(&fx);
}
