/* test_dispatch.c - who gets which attempt, how many at once, and that whatever happens to one, its
 * end is reported exactly once. */
#include "harness.h"

#include "base/mem.h"
#include "dispatch/attempts.h"
#include "dispatch/dispatch.h"
#include "exec/function.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

TEST_NO_DB;
TEST_THREADED;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define MS          1000LL
#define SECOND      1000000LL

/* ---- a custom executor: all that one needs ---- */

/* Work here is a row in a table that a test ends by hand; `answer` is what start says. */
struct desk {
    struct executor x;
    int event, max, answer;
    VEC(struct report) at, ended;
    int cancelled, renewed, forgotten, settled, handed_over, turns, starts, finds;
};

static int desk_start(struct executor *x, const struct task *t, struct err *err)
{
    struct desk *k = (struct desk *)x;

    k->starts++;
    if (k->answer)
        return err_set(err, (enum error_code)(-k->answer), "the desk is closed");
    *vec_add(&k->at) = (struct report){
        .kind = REPORT_ENDED, .execution = t->execution, .attempt = t->attempt, .epoch = t->epoch};
    CHECK(!t->function);
    return 0;
}

static struct report *desk_find(struct desk *k, int64_t execution)
{
    size_t i;

    for (i = 0; i < k->at.n; i++)
        if (k->at.at[i].execution == execution)
            return &k->at.at[i];
    return NULL;
}

static int desk_adopt(struct executor *x, const struct task *t, struct err *err)
{
    struct desk *k = (struct desk *)x;

    k->finds++;
    return desk_find(k, t->execution) ? 0 : desk_start(x, t, err);
}

/* Ends work with an outcome: the report is made in the next turn. */
static void desk_end(struct desk *k, int64_t execution, enum outcome_kind kind)
{
    struct report *r = desk_find(k, execution);

    CHECK(r);
    r->outcome = (struct outcome){
        .kind = kind, .error = kind == OUTCOME_OK ? NULL : "as was said", .duration = 1000};
    *vec_add(&k->ended) = *r;
    *r = k->at.at[--k->at.n];
    if (k->event >= 0)
        eventfd_write(k->event, 1);
}

static void desk_turn(struct executor *x)
{
    struct desk *k = (struct desk *)x;
    eventfd_t n;

    k->turns++;
    if (k->event >= 0)
        eventfd_read(k->event, &n);
    while (k->ended.n) {
        struct report r = k->ended.at[--k->ended.n];

        x->report(x->arg, x, &r);
    }
}

static void desk_cancel(struct executor *x, int64_t execution, int attempt, enum outcome_kind why)
{
    struct desk *k = (struct desk *)x;

    (void)attempt;
    k->cancelled++;
    if (desk_find(k, execution))
        desk_end(k, execution, why);
}

static void desk_renewed(struct executor *x, int64_t execution, int attempt, int64_t until)
{
    (void)execution, (void)attempt;
    CHECK_EQ(until, 77);
    ((struct desk *)x)->renewed++;
}

static void desk_forget(struct executor *x, int64_t execution, int attempt)
{
    struct desk *k = (struct desk *)x;
    struct report *r = desk_find(k, execution);

    (void)attempt;
    k->forgotten++;
    if (r)
        *r = k->at.at[--k->at.n];
}

static void desk_settled(struct executor *x, int64_t execution, int attempt)
{
    (void)execution, (void)attempt;
    ((struct desk *)x)->settled++;
}

static void desk_hand_over(struct executor *x, bool now)
{
    (void)now;
    ((struct desk *)x)->handed_over++;
}

static int desk_room(struct executor *x)
{
    return ((struct desk *)x)->max - (int)((struct desk *)x)->at.n;
}

static int desk_fd(struct executor *x)
{
    return ((struct desk *)x)->event;
}

static void desk_free(struct executor *x)
{
    struct desk *k = (struct desk *)x;

    if (k->event >= 0)
        close(k->event);
    vec_release(&k->at);
    vec_release(&k->ended);
    free(k);
}

static const struct executor_ops desk_ops = {
    .kind = "desk",
    .outlives_worker = true,
    .start = desk_start,
    .find = desk_adopt,
    .cancel = desk_cancel,
    .renewed = desk_renewed,
    .forget = desk_forget,
    .settled = desk_settled,
    .hand_over = desk_hand_over,
    .room = desk_room,
    .fd = desk_fd,
    .turn = desk_turn,
    .free = desk_free,
};

/* The least that is needed: no descriptor, nothing outlives it, nothing is wanted to be known. */
static const struct executor_ops plain_desk_ops = {
    .kind = "plain",
    .start = desk_start,
    .find = desk_adopt,
    .cancel = desk_cancel,
    .forget = desk_forget,
    .room = desk_room,
    .fd = desk_fd,
    .turn = desk_turn,
    .free = desk_free,
};

/* ---- a dispatcher, and what it reported ---- */

struct seen {
    enum report_kind kind;
    int64_t execution;
    int epoch;
    enum outcome_kind outcome;
    int64_t delay;
    char *error;
};

struct fixture {
    struct dispatch *d;
    VEC(struct seen) seen;
    void (*meanwhile)(struct fixture *, const struct report *);
};

static void on_report(void *arg, const struct report *r)
{
    struct fixture *fx = arg;

    *vec_add(&fx->seen) =
        (struct seen){r->kind,         r->execution,           r->epoch,
                      r->outcome.kind, r->outcome.retry_delay, mem_strdup(r->outcome.error)};
    if (fx->meanwhile)
        fx->meanwhile(fx, r);
}

static void open_with(struct fixture *fx, struct dispatch_options o)
{
    struct err err = ERR_INIT;

    *fx = (struct fixture){0};
    o.report = on_report;
    o.arg = fx;
    CHECK_OK_ERR(dispatch_new(&o, &fx->d, &err), &err);
}

static void end(struct fixture *fx)
{
    size_t i;

    dispatch_free(fx->d);
    for (i = 0; i < fx->seen.n; i++)
        free(fx->seen.at[i].error);
    vec_release(&fx->seen);
}

static struct desk *desk_new(const struct executor_ops *ops, const char *key, int max)
{
    struct desk *k = mem_zalloc(sizeof(*k));

    k->x.ops = ops;
    k->x.key = key;
    k->max = max;
    k->event = ops == &desk_ops ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    return k;
}

static struct desk *add_desk(struct fixture *fx, const char *key, int max, int slots)
{
    struct desk *k = desk_new(&desk_ops, key, max);
    struct err err = ERR_INIT;

    CHECK_OK_ERR(dispatch_add(fx->d, &k->x, slots, &err), &err);
    return k;
}

static struct task a_task(int64_t execution)
{
    return (struct task){
        .execution = execution, .root = 1, .attempt = 1, .epoch = 1, .name = "nightly::load"};
}

static void start(struct fixture *fx, int64_t execution, const char *lane)
{
    struct task t = a_task(execution);

    dispatch_start(fx->d, lane, &t);
}

/* Takes turns for as long as there is something to do. */
static void turns(struct fixture *fx)
{
    struct pollfd p = {.fd = dispatch_fd(fx->d), .events = POLLIN};

    while (poll(&p, 1, 0) > 0)
        dispatch_turn(fx->d);
}

static void wait_seen(struct fixture *fx, size_t n)
{
    struct pollfd p = {.fd = dispatch_fd(fx->d), .events = POLLIN};

    while (fx->seen.n < n) {
        CHECK(poll(&p, 1, 30000) > 0 || errno == EINTR);
        dispatch_turn(fx->d);
    }
}

static const struct lane_group *group(struct fixture *fx, const char *executor)
{
    size_t n, i;
    const struct lane_group *g = dispatch_lanes(fx->d, &n);

    for (i = 0; i < n; i++)
        if (!strcmp(g[i].executor, executor))
            return &g[i];
    test_fail(__FILE__, __LINE__, "no executor %s", executor);
}

static int room(struct fixture *fx, const char *executor)
{
    return lane_group_room(group(fx, executor), dispatch_room(fx->d));
}

/* ---- routes ---- */

TEST(a_task_goes_to_its_own_executor_the_first_route_or_its_kind)
{
    static const struct route routes[] = {
        {"nightly::transform[0]", "first"},
        {"nightly::transform[*]", "items"},
        {"nightly::?heck", "check"},
        {"a\\b", "backslash"},
        {"nightly::*", "night"},
        {"*::load", "never-for-nightly"},
    };
    static const struct {
        struct route_query q;
        const char *lane;
    } cases[] = {
        {{.name = "nightly::transform[0]"}, "first"},
        {{.name = "nightly::transform[1]"}, "items"},
        {{.name = "nightly::transform[10]"}, "items"},
        {{.name = "nightly::transform"}, "night"},
        {{.name = "nightly::transform0"}, "night"}, /* brackets are no set */
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
    };
    struct arena arena = ARENA_INIT;
    struct fixture fx;
    size_t i;

    open_with(&fx, (struct dispatch_options){.routes = routes, .nroutes = COUNT(routes)});
    for (i = 0; i < COUNT(cases); i++)
        CHECK_STR(dispatch_route(fx.d, &cases[i].q, &arena), cases[i].lane);
    end(&fx);

    open_with(&fx, (struct dispatch_options){.command = "cluster", .container = "kube"});
    CHECK_STR(dispatch_route(fx.d, &cases[0].q, &arena), "cluster");
    CHECK_STR(dispatch_route(fx.d, &cases[11].q, &arena), "kube");
    end(&fx);
    arena_release(&arena);
}

static void check_refused(struct dispatch_options o, const char *sentence)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct functions *f;

    open_with(&fx, o);
    CHECK_OK_ERR(function_new(&(struct function_options){0}, &f, &err), &err);
    CHECK_OK_ERR(dispatch_add(fx.d, function_executor(f), 0, &err), &err);
    add_desk(&fx, "process", 1, 0);
    add_desk(&fx, "container", 1, 0);
    if (sentence) {
        CHECK_EQ(dispatch_check(fx.d, &err), -E_INVALID);
        CHECK_STR(err.msg, sentence);
    } else {
        CHECK_OK_ERR(dispatch_check(fx.d, &err), &err);
    }
    end(&fx);
}

TEST(a_route_or_default_to_an_executor_that_is_not_there_is_found_at_the_start)
{
    static const struct route routes[] = {
        {"a::*", "process"}, {"nightly::*", "contaner"}, {"b", "function"}, {"", "process"}};

    check_refused((struct dispatch_options){.routes = routes, .nroutes = 1}, NULL);
    check_refused((struct dispatch_options){.routes = routes, .nroutes = 2},
                  "route 2 (nightly::*): there is no executor \"contaner\" for commands; there "
                  "are: process, container");
    check_refused((struct dispatch_options){.routes = routes + 2, .nroutes = 1},
                  "route 1 (b): there is no executor \"function\" for commands; there are: "
                  "process, container");
    check_refused((struct dispatch_options){.routes = routes + 3, .nroutes = 1},
                  "route 1 has no glob: * fits every task");
    check_refused((struct dispatch_options){.command = "proc"},
                  "the default for commands: there is no executor \"proc\" for commands; there "
                  "are: process, container");
    check_refused((struct dispatch_options){.container = "podman"},
                  "the default for containers: there is no executor \"podman\" for commands; there "
                  "are: process, container");
}

TEST(without_routes_nothing_need_be_there)
{
    struct fixture fx;
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    CHECK_OK_ERR(dispatch_check(fx.d, &err), &err);
    end(&fx);
    open_with(&fx, (struct dispatch_options){.command = "x"});
    CHECK_EQ(dispatch_check(fx.d, &err), -E_INVALID);
    CHECK(strstr(err.msg, "there is none"));
    end(&fx);
}

TEST(two_executors_of_one_key_are_refused)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct desk *k = desk_new(&desk_ops, "process", 1);

    open_with(&fx, (struct dispatch_options){0});
    add_desk(&fx, "process", 1, 0);
    CHECK_EQ(dispatch_add(fx.d, &k->x, 0, &err), -E_CONFLICT);
    CHECK_STR(err.msg, "there are two executors \"process\"");
    desk_free(&k->x);
    end(&fx);
}

/* ---- room ---- */

TEST(room_is_what_executor_slots_and_the_whole_allow)
{
    struct fixture fx;
    struct desk *a, *b;

    open_with(&fx, (struct dispatch_options){.slots = 6});
    a = add_desk(&fx, "a", 10, 3);
    b = add_desk(&fx, "b", 4, 0);
    CHECK_EQ(dispatch_room(fx.d), 6);
    CHECK_EQ(room(&fx, "a"), 3);
    CHECK_EQ(room(&fx, "b"), 4);
    CHECK_EQ(group(&fx, "a")->nlanes, 1);
    CHECK_STR(group(&fx, "a")->lanes[0], "a");
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    CHECK_EQ(room(&fx, "a"), 1);
    CHECK_EQ(room(&fx, "b"), 4);
    start(&fx, 3, "b");
    start(&fx, 4, "b");
    start(&fx, 5, "b");
    CHECK_EQ(dispatch_room(fx.d), 1);
    CHECK_EQ(room(&fx, "b"), 1);
    start(&fx, 6, "a");
    CHECK_EQ(dispatch_room(fx.d), 0);
    CHECK_EQ(room(&fx, "b"), 0);
    start(&fx, 7, "b"); /* adopted work ignores room; so does the count */
    CHECK_EQ(dispatch_room(fx.d), 0);
    CHECK_EQ(dispatch_in_flight(fx.d), 7);
    desk_end(a, 1, OUTCOME_OK);
    desk_end(b, 3, OUTCOME_OK);
    turns(&fx);
    CHECK_EQ(dispatch_in_flight(fx.d), 5);
    CHECK_EQ(dispatch_room(fx.d), 1); /* though none is settled yet */
    CHECK_EQ(room(&fx, "a"), 1);
    end(&fx);
}

TEST(without_bounds_of_its_own_the_executors_room_counts)
{
    struct fixture fx;

    open_with(&fx, (struct dispatch_options){0});
    add_desk(&fx, "a", 10, 0);
    CHECK_EQ(room(&fx, "a"), 10);
    CHECK(dispatch_room(fx.d) > 1000000);
    end(&fx);
}

/* ---- the life of an attempt ---- */

static void count_held(void *arg, const struct held_attempt *a)
{
    CHECK_EQ(a->root, 1);
    CHECK_STR(a->executor, "a");
    ((int *)arg)[0]++;
    ((int *)arg)[1] += a->ended;
}

TEST(an_attempt_is_held_until_it_is_settled)
{
    struct fixture fx;
    struct desk *k;
    int held[2] = {0};

    open_with(&fx, (struct dispatch_options){0});
    k = add_desk(&fx, "a", 10, 0);
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    start(&fx, 2, "a"); /* it is there: nothing happens twice */
    CHECK_EQ(k->starts, 2);
    dispatch_renewed(fx.d, 1, 1, 77);
    dispatch_renewed(fx.d, 1, 2, 77);
    dispatch_renewed(fx.d, 99, 1, 77);
    CHECK_EQ(k->renewed, 1);
    desk_end(k, 1, OUTCOME_OK);
    turns(&fx);
    CHECK_EQ(fx.seen.n, 1);
    CHECK_EQ(fx.seen.at[0].execution, 1);
    dispatch_each(fx.d, count_held, held);
    CHECK_EQ(held[0], 2);
    CHECK_EQ(held[1], 1);
    dispatch_renewed(fx.d, 1, 1, 77); /* it has ended: its executor need not know */
    dispatch_cancel(fx.d, 1, 1, OUTCOME_CANCELLED);
    CHECK_EQ(k->renewed, 1);
    CHECK_EQ(k->cancelled, 0);
    CHECK_EQ(k->settled, 0);
    dispatch_settled(fx.d, 1, 1);
    dispatch_settled(fx.d, 1, 1);
    CHECK_EQ(k->settled, 1);
    held[0] = held[1] = 0;
    dispatch_each(fx.d, count_held, held);
    CHECK_EQ(held[0], 1);
    dispatch_cancel(fx.d, 2, 1, OUTCOME_TIMED_OUT);
    turns(&fx);
    CHECK_EQ(fx.seen.at[1].outcome, OUTCOME_TIMED_OUT);
    end(&fx);
}

TEST(of_a_forgotten_attempt_nothing_is_reported)
{
    struct fixture fx;
    struct desk *k;

    open_with(&fx, (struct dispatch_options){.slots = 2});
    k = add_desk(&fx, "a", 10, 0);
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    desk_end(k, 1, OUTCOME_OK); /* already on its way */
    dispatch_forget(fx.d, 1, 1);
    dispatch_forget(fx.d, 2, 1);
    dispatch_forget(fx.d, 3, 1);
    CHECK_EQ(k->forgotten, 2);
    turns(&fx);
    CHECK_EQ(fx.seen.n, 0);
    CHECK_EQ(dispatch_room(fx.d), 2);
    end(&fx);
}

TEST(reports_carry_the_epoch_that_the_attempt_is_held_under)
{
    struct fixture fx;
    struct desk *k;
    struct task t = a_task(1);
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    k = add_desk(&fx, "a", 10, 0);
    start(&fx, 1, "a");
    t.epoch = 4;
    CHECK_OK_ERR(dispatch_find(fx.d, "a", &t, &err), &err);
    CHECK_EQ(k->finds, 1); /* its executor was asked */
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    desk_end(k, 1, OUTCOME_OK);
    turns(&fx);
    CHECK_EQ(fx.seen.n, 1);
    CHECK_EQ(fx.seen.at[0].epoch, 4);
    t.epoch = 5; /* it ended, the settle is still to come: that is all there is to say */
    CHECK_OK_ERR(dispatch_find(fx.d, "a", &t, &err), &err);
    CHECK_EQ(k->finds, 1);
    end(&fx);
}

TEST(an_adopted_job_that_nobody_can_look_for_is_left_to_others)
{
    struct fixture fx;
    struct desk *k;
    struct task t = a_task(1);
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    k = add_desk(&fx, "a", 10, 0);
    CHECK_EQ(dispatch_find(fx.d, "b", &t, &err), -E_REFUSED);
    k->answer = -E_REFUSED;
    CHECK_EQ(dispatch_find(fx.d, "a", &t, &err), -E_REFUSED);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    k->answer = -E_INTERNAL; /* but an error is its end */
    CHECK_OK_ERR(dispatch_find(fx.d, "a", &t, &err), &err);
    wait_seen(&fx, 1);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_FAILED);
    CHECK_STR(fx.seen.at[0].error, "the desk is closed");
    k->answer = 0;
    t.execution = 2;
    CHECK_OK_ERR(dispatch_find(fx.d, "a", &t, &err), &err);
    desk_end(k, 2, OUTCOME_LOST);
    turns(&fx);
    CHECK_EQ(fx.seen.at[1].outcome, OUTCOME_LOST);
    end(&fx);
}

/* ---- what is not taken ---- */

TEST(a_start_that_fails_is_reported_as_a_failed_attempt)
{
    struct fixture fx;
    struct desk *k;

    open_with(&fx, (struct dispatch_options){0});
    k = add_desk(&fx, "a", 10, 0);
    k->answer = -E_INVALID;
    start(&fx, 1, "a");
    CHECK_EQ(fx.seen.n, 0); /* from a turn, as all are */
    wait_seen(&fx, 1);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_FAILED);
    CHECK_STR(fx.seen.at[0].error, "the desk is closed");
    CHECK_EQ(room(&fx, "a"), 10);
    dispatch_settled(fx.d, 1, 1);
    CHECK_EQ(k->settled, 0); /* it left nothing there */
    end(&fx);
}

TEST(an_executor_that_refuses_gives_back_and_is_left_alone_for_a_while)
{
    struct fixture fx;
    struct desk *k;
    int64_t i;

    open_with(&fx, (struct dispatch_options){0});
    k = add_desk(&fx, "a", 10, 0);
    add_desk(&fx, "b", 10, 0);
    k->answer = -E_REFUSED;
    for (i = 1; i <= 3; i++)
        start(&fx, i, "a");
    CHECK_EQ(k->starts, 1); /* the others of the batch are not even offered */
    CHECK_EQ(room(&fx, "a"), 0);
    CHECK_EQ(room(&fx, "b"), 10);
    wait_seen(&fx, 3);
    for (i = 0; i < 3; i++) {
        CHECK_EQ(fx.seen.at[i].outcome, OUTCOME_REFUSED);
        CHECK_STR(fx.seen.at[i].error, "the desk is closed");
        CHECK(fx.seen.at[i].delay > 0 && fx.seen.at[i].delay <= SECOND);
    }
    CHECK_EQ(fx.seen.at[0].delay, SECOND);
    k->answer = 0;
    while (!room(&fx, "a")) { /* the descriptor says when to look again */
        struct pollfd p = {.fd = dispatch_fd(fx.d), .events = POLLIN};

        CHECK(poll(&p, 1, 30000) == 1);
        dispatch_turn(fx.d);
    }
    start(&fx, 4, "a");
    CHECK_EQ(k->starts, 2);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    end(&fx);
}

TEST(a_job_of_a_lane_that_nobody_serves_is_given_back)
{
    struct fixture fx;

    open_with(&fx, (struct dispatch_options){0});
    add_desk(&fx, "a", 10, 0);
    start(&fx, 1, "b");
    start(&fx, 2, "function:none");
    CHECK_EQ(dispatch_in_flight(fx.d), 2);
    dispatch_cancel(fx.d, 1, 1, OUTCOME_CANCELLED);
    wait_seen(&fx, 2);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_REFUSED);
    CHECK_STR(fx.seen.at[0].error, "this worker does not serve the lane b");
    CHECK(fx.seen.at[0].delay > 0);
    CHECK_STR(fx.seen.at[1].error, "this worker does not serve the lane function:none");
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    dispatch_settled(fx.d, 1, 1);
    dispatch_forget(fx.d, 2, 1);
    start(&fx, 3, "b");
    dispatch_forget(fx.d, 3, 1);
    turns(&fx);
    CHECK_EQ(fx.seen.n, 2);
    end(&fx);
}

/* ---- the end of a worker ---- */

TEST(what_outlives_the_worker_is_let_go_and_the_rest_comes_back)
{
    struct fixture fx;
    struct desk *out, *in = desk_new(&plain_desk_ops, "in", 10);
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    out = add_desk(&fx, "out", 10, 0);
    CHECK_OK_ERR(dispatch_add(fx.d, &in->x, 0, &err), &err);
    start(&fx, 1, "out");
    start(&fx, 2, "out");
    start(&fx, 3, "in");
    start(&fx, 4, "nowhere");
    desk_end(out, 2, OUTCOME_OK);
    turns(&fx); /* 2 has ended, 4 was refused; both wait to be settled */
    CHECK_EQ(fx.seen.n, 2);
    dispatch_hand_over(fx.d, true);
    CHECK_EQ(out->handed_over, 1);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    CHECK_EQ(dispatch_room(fx.d), 0);
    CHECK_EQ(room(&fx, "out"), 0);
    dispatch_settled(fx.d, 2, 1);
    CHECK_EQ(out->settled, 1);
    desk_end(in, 3, OUTCOME_DEFERRED);
    wait_seen(&fx, 3);
    CHECK_EQ(fx.seen.at[2].execution, 3);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    desk_end(out, 1, OUTCOME_OK); /* no longer ours */
    turns(&fx);
    CHECK_EQ(fx.seen.n, 3);
    end(&fx);
}

TEST(an_executor_without_a_descriptor_is_looked_at_while_it_has_work)
{
    struct fixture fx;
    struct desk *k = desk_new(&plain_desk_ops, "plain", 10);
    struct err err = ERR_INIT;
    struct pollfd p;
    int n;

    open_with(&fx, (struct dispatch_options){0});
    CHECK_OK_ERR(dispatch_add(fx.d, &k->x, 0, &err), &err);
    p = (struct pollfd){.fd = dispatch_fd(fx.d), .events = POLLIN};
    CHECK_EQ(poll(&p, 1, 0), 0);
    start(&fx, 1, "plain");
    for (n = 0; n < 3; n++) { /* at once, and again and again */
        CHECK_EQ(poll(&p, 1, 30000), 1);
        dispatch_turn(fx.d);
    }
    CHECK(k->turns >= 3);
    desk_end(k, 1, OUTCOME_OK);
    wait_seen(&fx, 1);
    dispatch_settled(fx.d, 1, 1); /* it has no slot for that */
    turns(&fx);
    CHECK_EQ(poll(&p, 1, 100), 0); /* idle is idle */
    end(&fx);
}

/* ---- figures ---- */

TEST(figures_are_kept_for_each_executor)
{
    struct fixture fx;
    struct desk *a;
    struct executor_stats s;
    int64_t i;

    open_with(&fx, (struct dispatch_options){0});
    a = add_desk(&fx, "a", 10, 0);
    add_desk(&fx, "b", 10, 0);
    CHECK_STR(dispatch_stats(fx.d, 0, &s), "a");
    CHECK_EQ(s.done, 0);
    CHECK_EQ(s.mean, 0);
    for (i = 1; i <= 8; i++)
        start(&fx, i, "a");
    desk_end(a, 1, OUTCOME_OK);
    desk_end(a, 2, OUTCOME_FAILED);
    desk_end(a, 3, OUTCOME_TIMED_OUT);
    desk_end(a, 4, OUTCOME_LOST);
    desk_end(a, 5, OUTCOME_CANCELLED);
    desk_end(a, 6, OUTCOME_DEFERRED);
    desk_end(a, 7, OUTCOME_REFUSED);
    turns(&fx);
    CHECK_STR(dispatch_stats(fx.d, 0, &s), "a");
    CHECK_EQ(s.running, 1);
    CHECK_EQ(s.done, 5);
    CHECK_EQ(s.failed, 3);
    CHECK_EQ(s.mean, 1000);
    CHECK(s.p99 > 930 && s.p99 <= 1000);
    CHECK_STR(dispatch_stats(fx.d, 1, &s), "b");
    CHECK_EQ(s.done, 0);
    CHECK(!dispatch_stats(fx.d, 2, &s));
    end(&fx);
}

/* ---- with functions ---- */

static atomic_int gate;

static int waits(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    while (!atomic_load(&gate))
        clock_sleep_us(200);
    return 0;
}

static int nothing(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static void count_call(void *arg, int64_t execution, int attempt)
{
    CHECK_EQ(execution, 1);
    CHECK_EQ(attempt, 1);
    ++*(int *)arg;
}

TEST(functions_have_lanes_of_their_own_and_share_their_room)
{
    struct fixture fx;
    struct functions *f;
    struct err err = ERR_INIT;
    struct spec spec = {.grace = MS};
    struct task t = a_task(1);
    const struct lane_group *g;
    int running = 0;

    open_with(&fx, (struct dispatch_options){0});
    add_desk(&fx, "process", 10, 0);
    CHECK_OK_ERR(function_new(&(struct function_options){.threads = 2}, &f, &err), &err);
    CHECK_OK_ERR(dispatch_add(fx.d, function_executor(f), 0, &err), &err);
    CHECK_EQ(group(&fx, "function")->nlanes, 0);
    CHECK_OK_ERR(function_add(f, "waits", waits, NULL, &err), &err);
    CHECK_OK_ERR(function_add(f, "nothing", nothing, NULL, &err), &err);
    g = group(&fx, "function");
    CHECK_EQ(g->nlanes, 2);
    CHECK_STR(g->lanes[0], "function:nothing");
    CHECK_STR(g->lanes[1], "function:waits");
    CHECK_EQ(g->begin + g->wait, 10);

    t.spec = &spec;
    dispatch_start(fx.d, "function:waits", &t);
    CHECK_EQ(room(&fx, "function"), 9);
    start(&fx, 2, "function:nothing");
    start(&fx, 3, "function"); /* the executor's key is no lane */
    wait_seen(&fx, 4);         /* nothing: started and ended; function: refused; waits: started */
    while (!running)
        dispatch_functions(fx.d, count_call, &running);
    CHECK_EQ(dispatch_deaf(fx.d), 0);
    dispatch_cancel(fx.d, 1, 1, OUTCOME_CANCELLED);
    while (!dispatch_deaf(fx.d))
        clock_sleep_us(1000);
    atomic_store(&gate, 1);
    wait_seen(&fx, 5);
    CHECK_EQ(fx.seen.at[4].execution, 1);
    CHECK_EQ(fx.seen.at[4].outcome, OUTCOME_CANCELLED);
    CHECK_EQ(dispatch_deaf(fx.d), 0);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    end(&fx);
}

/* The worker's slots, with 2 threads and a queue of 8 for functions, and room for 10 of a desk. */
static struct functions *desk_and_functions(struct fixture *fx, int slots)
{
    struct functions *f;
    struct err err = ERR_INIT;

    open_with(fx, (struct dispatch_options){.slots = slots});
    add_desk(fx, "a", 10, 0);
    CHECK_OK_ERR(function_new(&(struct function_options){.threads = 2}, &f, &err), &err);
    CHECK_OK_ERR(dispatch_add(fx->d, function_executor(f), 0, &err), &err);
    CHECK_OK_ERR(function_add(f, "waits", waits, NULL, &err), &err);
    return f;
}

TEST(a_function_that_waits_for_its_thread_takes_no_slot)
{
    struct fixture fx;

    desk_and_functions(&fx, 4);
    atomic_store(&gate, 0);
    CHECK_EQ(dispatch_capacity(fx.d), 4 + 8);
    CHECK_EQ(room(&fx, "function"), 10);
    CHECK_EQ(group(&fx, "function")->begin, 2);
    CHECK_EQ(room(&fx, "a"), 4);
    start(&fx, 1, "function:waits");
    start(&fx, 2, "function:waits");
    start(&fx, 3, "function:waits");
    CHECK_EQ(dispatch_room(fx.d), 2);
    CHECK_EQ(room(&fx, "function"), 7);
    CHECK_EQ(group(&fx, "function")->begin, 0);
    start(&fx, 4, "a");
    start(&fx, 5, "a");
    CHECK_EQ(dispatch_room(fx.d), 0);
    CHECK_EQ(room(&fx, "a"), 0);
    CHECK_EQ(room(&fx, "function"), 7); /* they get the slots of the two before them */
    CHECK_EQ(dispatch_capacity(fx.d), 4 + 8);
    dispatch_forget(fx.d, 1, 1);
    CHECK_EQ(dispatch_room(fx.d), 0); /* it has its thread as long as it runs */
    atomic_store(&gate, 1);
    end(&fx);
}

TEST(nothing_waits_in_a_queue_of_functions_while_a_thread_is_free_but_no_slot)
{
    struct fixture fx;

    desk_and_functions(&fx, 3);
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    CHECK_EQ(room(&fx, "function"), 1);
    CHECK_EQ(group(&fx, "function")->begin, 2);
    start(&fx, 3, "a");
    CHECK_EQ(room(&fx, "function"), 0);
    end(&fx);
}

static void settle_and_start(struct fixture *fx, const struct report *r)
{
    if (r->kind != REPORT_ENDED)
        return;
    dispatch_settled(fx->d, r->execution, r->attempt);
    if (r->execution < 1000)
        start(fx, r->execution + 10, "function:nothing");
}

TEST(a_report_may_settle_and_start)
{
    struct fixture fx;
    struct functions *f;
    struct err err = ERR_INIT;
    size_t i, ends = 0;

    open_with(&fx, (struct dispatch_options){0});
    CHECK_OK_ERR(function_new(&(struct function_options){.threads = 3}, &f, &err), &err);
    CHECK_OK_ERR(dispatch_add(fx.d, function_executor(f), 0, &err), &err);
    CHECK_OK_ERR(function_add(f, "nothing", nothing, NULL, &err), &err);
    fx.meanwhile = settle_and_start;
    for (i = 0; i < 10; i++)
        start(&fx, (int64_t)i, "function:nothing");
    wait_seen(&fx, 2 * 1010);
    for (i = 0; i < fx.seen.n; i++)
        ends += fx.seen.at[i].kind == REPORT_ENDED && fx.seen.at[i].outcome == OUTCOME_OK;
    CHECK_EQ(ends, 1010);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    end(&fx);
}

/* ---- whatever happens ---- */

static void count_all(void *arg, const struct held_attempt *a)
{
    if (!a->ended)
        ++*(size_t *)arg;
}

TEST(every_attempt_that_is_not_forgotten_ends_once_whatever_is_done)
{
    enum { N = 3000 };
    struct fixture fx;
    struct desk *k;
    char *forgotten = mem_zalloc(N + 1), *ends = mem_zalloc(N + 1);
    struct err err = ERR_INIT;
    size_t n, held;
    unsigned seed = 7;
    int64_t i;

    open_with(&fx, (struct dispatch_options){.slots = 50});
    k = add_desk(&fx, "a", INT_MAX, 0);
    for (i = 1; i <= N; i++) {
        int64_t victim = 1 + rand_r(&seed) % i;
        struct task t = a_task(victim);

        k->answer = rand_r(&seed) % 20 ? 0 : -E_INVALID;
        start(&fx, i, rand_r(&seed) % 30 ? "a" : "nobody");
        k->answer = 0;
        switch (rand_r(&seed) % 6) {
        case 0:
            dispatch_cancel(fx.d, victim, 1, OUTCOME_CANCELLED);
            break;
        case 1:
            dispatch_forget(fx.d, i, 1);
            forgotten[i] = 1;
            break;
        case 2:
            if (desk_find(k, victim))
                desk_end(k, victim, OUTCOME_OK);
            break;
        case 3:
            dispatch_turn(fx.d);
            break;
        default:
            t.epoch = 2;
            if (desk_find(k, victim)) /* else it would be an adoption, and begin anew */
                CHECK_OK_ERR(dispatch_find(fx.d, "a", &t, &err), &err);
        }
        held = 0;
        dispatch_each(fx.d, count_all, &held);
        CHECK_EQ(held, dispatch_in_flight(fx.d));
        CHECK_EQ(dispatch_room(fx.d), held < 50 ? 50 - held : 0);
    }
    while (k->at.n)
        desk_end(k, k->at.at[0].execution, OUTCOME_OK);
    turns(&fx);
    for (n = 0; n < fx.seen.n; n++)
        ends[fx.seen.at[n].execution]++;
    for (i = 1; i <= N; i++)
        CHECK_EQ(ends[i], !forgotten[i]);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    free(forgotten);
    free(ends);
    end(&fx);
}

TEST(the_table_of_attempts_finds_what_was_added_and_not_removed)
{
    enum { N = 5000 };
    struct attempts t = {0};
    unsigned seed = 3;
    static bool there[N][3];
    size_t n = 0;
    int i;

    CHECK(!attempts_get(&t, 1, 1));
    for (i = 0; i < 60000; i++) {
        int64_t execution = rand_r(&seed) % N;
        int attempt = rand_r(&seed) % 3;
        struct attempt *a = attempts_get(&t, execution, attempt);

        CHECK_EQ(a != NULL, there[execution][attempt]);
        if (a) {
            CHECK_EQ(a->execution, execution);
            CHECK_EQ(a->attempt, attempt);
            attempts_remove(&t, a);
            n--;
        } else {
            attempts_add(&t, execution, attempt);
            n++;
        }
        there[execution][attempt] = !a;
        CHECK_EQ(t.n, n);
    }
    attempts_release(&t);
}
