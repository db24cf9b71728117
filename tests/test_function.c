/* test_function.c - functions on threads: what is reported, when they are told to stop, who keeps
 * which slot, and what a plugin may and may not do. */
#include "harness.h"

#include "base/mem.h"
#include "exec/function.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_NO_DB;
TEST_THREADED;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define MS          1000LL
#define SECOND      1000000LL

/* ---- an executor, and what it reported ---- */

struct seen {
    enum report_kind kind;
    int64_t execution, ago, offset, dropped;
    int attempt, epoch;
    char *log; /* REPORT_LOG */
    struct outcome outcome;
    char *result, *error;
};

struct fixture {
    struct functions *f;
    struct executor *x;
    VEC(struct seen) seen;
    int ended;
    void (*meanwhile)(struct fixture *, const struct report *);
};

static void on_report(void *arg, struct executor *x, const struct report *r)
{
    struct fixture *fx = arg;
    struct seen *s = vec_add(&fx->seen);

    CHECK(x == fx->x);
    *s = (struct seen){r->kind,  r->execution, r->ago,     r->offset, r->dropped, r->attempt,
                       r->epoch, NULL,         r->outcome, NULL,      NULL};
    if (r->kind == REPORT_LOG) {
        s->log = mem_zalloc(r->log_len + 1);
        memcpy(s->log, r->log, r->log_len);
    }
    if (r->kind == REPORT_ENDED) {
        CHECK((r->outcome.kind == OUTCOME_OK) == !r->outcome.error);
        CHECK(!r->outcome.error || *r->outcome.error);
        s->result = mem_strdup(r->outcome.result);
        s->error = mem_strdup(r->outcome.error);
        fx->ended++;
    }
    if (fx->meanwhile)
        fx->meanwhile(fx, r);
}

static void open_with(struct fixture *fx, struct function_options o)
{
    struct err err = ERR_INIT;

    *fx = (struct fixture){0};
    CHECK_OK_ERR(function_new(&o, &fx->f, &err), &err);
    fx->x = function_executor(fx->f);
    fx->x->report = on_report;
    fx->x->arg = fx;
}

static void open_threads(struct fixture *fx, int threads)
{
    open_with(fx, (struct function_options){.threads = threads});
}

static void end(struct fixture *fx)
{
    size_t i;

    fx->x->ops->free(fx->x);
    for (i = 0; i < fx->seen.n; i++) {
        free(fx->seen.at[i].log);
        free(fx->seen.at[i].result);
        free(fx->seen.at[i].error);
    }
    vec_release(&fx->seen);
}

static void add(struct fixture *fx, const char *name, function_fn *fn, void *arg)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(function_add(fx->f, name, fn, arg, &err), &err);
}

static struct task a_task(int64_t execution, const char *function)
{
    return (struct task){.execution = execution,
                         .root = 1,
                         .attempt = 1,
                         .max_attempts = 3,
                         .epoch = 1,
                         .name = "nightly::load",
                         .function = function};
}

static void start_task(struct fixture *fx, const struct task *t)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(fx->x->ops->start(fx->x, t, &err), &err);
}

static void start(struct fixture *fx, int64_t execution, const char *function)
{
    struct task t = a_task(execution, function);

    start_task(fx, &t);
}

static void start_spec(struct fixture *fx, int64_t execution, const char *function,
                       const struct spec *spec)
{
    struct task t = a_task(execution, function);

    t.spec = spec;
    start_task(fx, &t);
}

/* Waits for the descriptor, then takes a turn. False: nothing came in that time. */
static bool turn(struct fixture *fx, int ms)
{
    struct pollfd p = {.fd = fx->x->ops->fd(fx->x), .events = POLLIN};
    int n = poll(&p, 1, ms);

    CHECK(n >= 0 || errno == EINTR);
    if (n > 0)
        fx->x->ops->turn(fx->x);
    return n > 0;
}

static void wait_ended(struct fixture *fx, int n)
{
    while (fx->ended < n)
        CHECK(turn(fx, 30000));
}

static struct seen *find_seen(struct fixture *fx, enum report_kind kind, int64_t execution)
{
    size_t i;

    for (i = 0; i < fx->seen.n; i++)
        if (fx->seen.at[i].kind == kind && fx->seen.at[i].execution == execution)
            return &fx->seen.at[i];
    return NULL;
}

static struct seen *ended(struct fixture *fx, int64_t execution)
{
    struct seen *s = find_seen(fx, REPORT_ENDED, execution);

    CHECK(s);
    return s;
}

#define WAIT_FOR(fx, cond) \
    do {                   \
        while (!(cond))    \
            turn(fx, 10);  \
    } while (0)

/* ---- functions to run ---- */

static int nothing(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    return 0;
}

static int returns(struct function_call *c, void *arg)
{
    (void)c;
    return *(int *)arg;
}

/* A gate that a test opens; functions that were told to stop do not wait for it. */
struct gate {
    atomic_int inside, open, told;
    int rc;
};

static int until_open(struct function_call *c, void *arg)
{
    struct gate *g = arg;
    bool told = false;

    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open) && !(told = c->ops->cancelled(c)))
        clock_sleep_us(200);
    atomic_fetch_add(&g->told, told);
    atomic_fetch_sub(&g->inside, 1);
    return told ? g->rc : 0;
}

static int deaf(struct function_call *c, void *arg)
{
    struct gate *g = arg;

    (void)c;
    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open))
        clock_sleep_us(200);
    atomic_fetch_sub(&g->inside, 1);
    return g->rc;
}

/* ---- the ordinary life ---- */

static int speaks(struct function_call *c, void *arg)
{
    CHECK_STR(c->name, "nightly::load");
    CHECK_STR(c->input, "{\"day\":1}");
    CHECK_EQ(c->execution, 42);
    CHECK_EQ(c->root, 1);
    CHECK_EQ(c->attempt, 2);
    CHECK_EQ(c->max_attempts, 3);
    CHECK_EQ(*(int *)arg, 7);
    CHECK_EQ(c->ops->remaining(c), INT64_MAX);
    CHECK(!c->ops->cancelled(c));
    c->ops->log(c, "one");
    c->ops->log(c, "two\n");
    c->ops->log(c, "");
    c->ops->log(c, NULL);
    CHECK_OK(c->ops->set_output(c, "files", "[1]"));
    CHECK_OK(c->ops->set_output(c, "n", "1"));
    CHECK_OK(c->ops->set_output(c, "files", "[1, 2]"));
    return 0;
}

TEST(a_function_gets_its_task_and_reports_start_log_and_end_in_order)
{
    struct fixture fx;
    struct task t = a_task(42, "speaks");
    int arg = 7;

    open_threads(&fx, 2);
    add(&fx, "speaks", speaks, &arg);
    t.attempt = 2;
    t.epoch = 5;
    t.input = "{\"day\":1}";
    start_task(&fx, &t);
    wait_ended(&fx, 1);
    CHECK_EQ(fx.seen.n, 3);
    CHECK_EQ(fx.seen.at[0].kind, REPORT_STARTED);
    CHECK(fx.seen.at[0].ago >= 0);
    CHECK_EQ(fx.seen.at[1].kind, REPORT_LOG);
    CHECK_STR(fx.seen.at[1].log, "one\ntwo\n");
    CHECK_EQ(fx.seen.at[1].offset, 0);
    CHECK_EQ(fx.seen.at[1].dropped, 0);
    CHECK_EQ(fx.seen.at[2].kind, REPORT_ENDED);
    CHECK_EQ(fx.seen.at[2].attempt, 2);
    CHECK_EQ(fx.seen.at[2].epoch, 5);
    CHECK_EQ(fx.seen.at[2].outcome.kind, OUTCOME_OK);
    CHECK_STR(fx.seen.at[2].result, "{\"files\":[1, 2],\"n\":1}");
    CHECK(fx.seen.at[2].outcome.duration >= 0);
    end(&fx);
}

static int says_result(struct function_call *c, void *arg)
{
    CHECK_OK(c->ops->set_result(c, "[]"));
    return c->ops->set_result(c, arg) ? 9 : 0;
}

TEST(a_whole_result_is_taken_as_it_is)
{
    struct fixture fx;
    char json[] = " {\"a\": 1} ";

    open_threads(&fx, 1);
    add(&fx, "says", says_result, json);
    start(&fx, 1, "says");
    wait_ended(&fx, 1);
    CHECK_STR(ended(&fx, 1)->result, " {\"a\": 1} ");
    end(&fx);
}

static int fails_with_words(struct function_call *c, void *arg)
{
    c->ops->fail(c, "the disk is on fire");
    c->ops->fail(c, "a second sentence");
    return *(int *)arg;
}

TEST(a_function_that_returns_a_code_or_says_that_it_failed_has_failed)
{
    struct fixture fx;
    int three = 3, zero = 0;

    open_threads(&fx, 1);
    add(&fx, "three", returns, &three);
    add(&fx, "words", fails_with_words, &three);
    add(&fx, "words0", fails_with_words, &zero);
    start(&fx, 1, "three");
    start(&fx, 2, "words");
    start(&fx, 3, "words0");
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_FAILED);
    CHECK_STR(ended(&fx, 1)->error, "function three returned 3");
    CHECK(ended(&fx, 1)->outcome.has_exit_code);
    CHECK_EQ(ended(&fx, 1)->outcome.exit_code, 3);
    CHECK_STR(ended(&fx, 2)->error, "the disk is on fire");
    CHECK_EQ(ended(&fx, 2)->outcome.exit_code, 3);
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_FAILED);
    CHECK_STR(ended(&fx, 3)->error, "the disk is on fire");
    CHECK_EQ(ended(&fx, 3)->outcome.exit_code, 1);
    end(&fx);
}

static int misuses(struct function_call *c, void *arg)
{
    switch (*(int *)arg) {
    case 0:
        return c->ops->set_output(c, "x", "{oops") == -E_INVALID ? 0 : 77;
    case 1:
        return c->ops->set_output(c, "", "1") == -E_INVALID ? 0 : 77;
    case 2:
        CHECK_OK(c->ops->set_output(c, "x", "1"));
        return c->ops->set_result(c, "1") == -E_INVALID ? 0 : 77;
    default:
        CHECK_OK(c->ops->set_result(c, "1"));
        return c->ops->set_output(c, "x", "1") == -E_INVALID ? 0 : 77;
    }
}

TEST(an_output_that_can_not_be_taken_fails_the_attempt_also_if_nobody_looks)
{
    static const char *const sentences[] = {
        "the output x is not valid JSON", "an output was set without a name",
        "a whole result was set beside outputs", "an output was set beside a whole result"};
    struct fixture fx;
    int which[4] = {0, 1, 2, 3}, i;
    char name[8];

    open_threads(&fx, 1);
    for (i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        add(&fx, name, misuses, &which[i]);
        start(&fx, i + 1, name);
    }
    wait_ended(&fx, 4);
    for (i = 0; i < 4; i++) {
        CHECK_EQ(ended(&fx, i + 1)->outcome.kind, OUTCOME_FAILED);
        CHECK(!strncmp(ended(&fx, i + 1)->error, sentences[i], strlen(sentences[i])));
        CHECK_EQ(ended(&fx, i + 1)->outcome.exit_code, 1);
        CHECK(!ended(&fx, i + 1)->result);
    }
    end(&fx);
}

static int two_outputs(struct function_call *c, void *arg)
{
    (void)arg;
    CHECK_OK(c->ops->set_output(c, "a", "1"));
    CHECK_OK(c->ops->set_output(c, "b", "2"));
    return 0;
}

TEST(only_the_outputs_that_the_spec_names_count)
{
    static const char *const names[] = {"c", "b", NULL};
    struct spec spec = {.outputs = names, .noutputs = 2};
    struct fixture fx;

    open_threads(&fx, 1);
    add(&fx, "two", two_outputs, NULL);
    start_spec(&fx, 1, "two", &spec);
    wait_ended(&fx, 1);
    CHECK_STR(ended(&fx, 1)->result, "{\"b\":2}");
    end(&fx);
}

static int defers(struct function_call *c, void *arg)
{
    c->ops->defer(c, 5 * SECOND);
    return *(int *)arg;
}

TEST(a_function_may_ask_to_be_run_again_later)
{
    struct fixture fx;
    int zero = 0, two = 2;

    open_threads(&fx, 1);
    add(&fx, "defers", defers, &zero);
    add(&fx, "fails", defers, &two);
    start(&fx, 1, "defers");
    start(&fx, 2, "fails");
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_DEFERRED);
    CHECK_EQ(ended(&fx, 1)->outcome.retry_delay, 5 * SECOND);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_FAILED);
    end(&fx);
}

TEST(a_long_function_is_reported_as_started_while_it_runs)
{
    struct fixture fx;
    struct gate g = {0};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, find_seen(&fx, REPORT_STARTED, 1));
    CHECK_EQ(fx.ended, 0);
    CHECK(find_seen(&fx, REPORT_STARTED, 1)->ago >= 40 * MS);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(fx.seen.n, 2); /* not twice */
    end(&fx);
}

/* ---- logs ---- */

static int chats(struct function_call *c, void *arg)
{
    struct gate *g = arg;

    c->ops->log(c, "early");
    until_open(c, g);
    c->ops->log(c, "late");
    return 0;
}

TEST(the_log_of_a_running_function_comes_before_its_end)
{
    struct fixture fx;
    struct gate g = {0};

    open_threads(&fx, 1);
    add(&fx, "chats", chats, &g);
    start(&fx, 1, "chats");
    WAIT_FOR(&fx, find_seen(&fx, REPORT_LOG, 1));
    CHECK_STR(find_seen(&fx, REPORT_LOG, 1)->log, "early\n");
    CHECK_EQ(fx.ended, 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(fx.seen.n, 4);
    CHECK_EQ(fx.seen.at[2].kind, REPORT_LOG);
    CHECK_STR(fx.seen.at[2].log, "late\n");
    CHECK_EQ(fx.seen.at[2].offset, 6);
    end(&fx);
}

#define FLOOD_LINES 400000

static int floods(struct function_call *c, void *arg)
{
    char line[16];
    int i;

    (void)arg;
    for (i = 0; i < FLOOD_LINES; i++) {
        snprintf(line, sizeof(line), "line %06d", i); /* 12 bytes with its end */
        c->ops->log(c, line);
    }
    return 0;
}

TEST(of_a_flood_the_head_and_the_tail_are_kept_and_the_rest_is_counted)
{
    struct fixture fx;
    size_t i;
    char *all;
    int64_t len = 0, dropped = 0;

    open_threads(&fx, 1);
    add(&fx, "floods", floods, NULL);
    start(&fx, 1, "floods");
    wait_ended(&fx, 1);
    all = mem_zalloc(2 * 1024 * 1024);
    for (i = 0; i < fx.seen.n; i++)
        if (fx.seen.at[i].kind == REPORT_LOG) {
            CHECK_EQ(fx.seen.at[i].offset, len);
            memcpy(all + len, fx.seen.at[i].log, strlen(fx.seen.at[i].log));
            len += (int64_t)strlen(fx.seen.at[i].log);
            dropped = fx.seen.at[i].dropped;
        }
    CHECK_EQ(len, 1024 * 1024);
    CHECK_EQ(dropped, FLOOD_LINES * 12 - 1024 * 1024);
    CHECK(!strncmp(all, "line 000000\nline 000001\n", 24));
    CHECK_STR(all + len - 24, "line 399998\nline 399999\n");
    free(all);
    end(&fx);
}

static int one_long_text(struct function_call *c, void *arg)
{
    c->ops->log(c, arg);
    return 0;
}

TEST(one_text_larger_than_all_that_is_kept_is_cut_in_the_middle)
{
    struct fixture fx;
    char *text = mem_alloc(5000001);

    memset(text, 'x', 5000000);
    memcpy(text, "first", 5);
    memcpy(text + 4999996, "last", 5);
    open_threads(&fx, 1);
    add(&fx, "long", one_long_text, text);
    start(&fx, 1, "long");
    wait_ended(&fx, 1);
    CHECK_EQ(fx.seen.n, 4);
    CHECK(!strncmp(fx.seen.at[1].log, "firstx", 6));
    CHECK_EQ(strlen(fx.seen.at[1].log), 512 * 1024);
    CHECK_EQ(fx.seen.at[2].offset, 512 * 1024);
    CHECK_EQ(strlen(fx.seen.at[2].log), 512 * 1024);
    CHECK_STR(fx.seen.at[2].log + 512 * 1024 - 6, "xlast\n");
    CHECK_EQ(fx.seen.at[2].dropped, 5000001 - 1024 * 1024);
    free(text);
    end(&fx);
}

/* ---- being told to stop ---- */

TEST(a_running_function_that_is_cancelled_is_told_and_ends_as_cancelled)
{
    struct fixture fx;
    struct gate g = {0};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    fx.x->ops->cancel(fx.x, 1, 7, OUTCOME_CANCELLED); /* another attempt, and another job */
    fx.x->ops->cancel(fx.x, 9, 1, OUTCOME_CANCELLED);
    CHECK_EQ(atomic_load(&g.told), 0);
    fx.x->ops->cancel(fx.x, 1, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 1);
    CHECK_EQ(atomic_load(&g.told), 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_CANCELLED);
    CHECK_STR(ended(&fx, 1)->error, "function gate was cancelled");
    end(&fx);
}

TEST(a_function_that_has_not_begun_is_cancelled_without_running)
{
    struct fixture fx;
    struct gate g = {0}, other = {.open = 1};
    struct task born_dead = a_task(3, "other");

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    add(&fx, "other", until_open, &other);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    start(&fx, 2, "gate");
    born_dead.cancel = true;
    start_task(&fx, &born_dead);
    fx.x->ops->cancel(fx.x, 2, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_CANCELLED);
    CHECK_EQ(ended(&fx, 2)->outcome.duration, -1);
    CHECK(!find_seen(&fx, REPORT_STARTED, 2));
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_CANCELLED);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(work_that_ended_before_the_cancel_keeps_its_own_outcome)
{
    struct fixture fx;

    open_threads(&fx, 1);
    add(&fx, "nothing", nothing, NULL);
    start(&fx, 1, "nothing");
    while (fx.x->ops->room(fx.x) != 5) /* it has returned; no turn was taken yet */
        clock_sleep_us(200);
    fx.x->ops->cancel(fx.x, 1, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

static int watches_the_time(struct function_call *c, void *arg)
{
    int64_t left = c->ops->remaining(c);

    (void)arg;
    CHECK(left > 0 && left <= 80 * MS);
    while (!c->ops->cancelled(c))
        clock_sleep_us(200);
    CHECK_EQ(c->ops->remaining(c), 0);
    c->ops->fail(c, "half of it done");
    return 1;
}

TEST(a_function_is_told_at_its_deadline_and_ends_as_timed_out)
{
    struct fixture fx;
    struct spec spec = {.timeout = 80 * MS}, long_spec = {.timeout = 3600 * SECOND};
    struct gate g = {0};

    open_threads(&fx, 2);
    add(&fx, "watches", watches_the_time, NULL);
    add(&fx, "gate", until_open, &g);
    start_spec(&fx, 2, "gate", &long_spec);
    start_spec(&fx, 1, "watches", &spec);
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_TIMED_OUT);
    CHECK_STR(ended(&fx, 1)->error,
              "function watches ran longer than its timeout of 80.0 ms: half of it done");
    CHECK(ended(&fx, 1)->outcome.duration >= 80 * MS);
    CHECK_EQ(atomic_load(&g.told), 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(the_time_of_a_function_runs_from_its_begin_and_not_in_the_queue)
{
    struct fixture fx;
    struct spec spec = {.timeout = 100 * MS};
    struct gate g = {0};
    int64_t until = clock_boot_us() + 200 * MS;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    add(&fx, "nothing", nothing, NULL);
    start(&fx, 1, "gate");
    start_spec(&fx, 2, "nothing", &spec);
    WAIT_FOR(&fx, clock_boot_us() > until);
    CHECK_EQ(fx.ended, 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

/* ---- leases ---- */

TEST(a_forgotten_function_is_told_keeps_its_slot_and_is_never_heard_of_again)
{
    struct fixture fx;
    struct gate g = {0};
    int before;

    open_with(&fx, (struct function_options){.threads = 2, .queue = -1});
    add(&fx, "deaf", deaf, &g);
    add(&fx, "nothing", nothing, NULL);
    before = fx.x->ops->room(fx.x);
    CHECK_EQ(before, 2);
    start(&fx, 1, "deaf");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    fx.x->ops->forget(fx.x, 1, 1);
    fx.x->ops->forget(fx.x, 8, 8);
    CHECK_EQ(fx.x->ops->room(fx.x), 1);
    start(&fx, 2, "nothing");
    wait_ended(&fx, 1);
    CHECK(!find_seen(&fx, REPORT_ENDED, 1));
    CHECK_EQ(fx.x->ops->room(fx.x), 1);
    atomic_store(&g.open, 1);
    WAIT_FOR(&fx, fx.x->ops->room(fx.x) == 2);
    while (turn(&fx, 20))
        ;
    CHECK(!find_seen(&fx, REPORT_ENDED, 1));
    end(&fx);
}

TEST(a_forgotten_function_that_has_not_begun_never_runs)
{
    struct fixture fx;
    struct gate g = {0}, other = {.open = 1};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    add(&fx, "other", until_open, &other);
    start(&fx, 2, "other");
    fx.x->ops->forget(fx.x, 2, 1);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(atomic_load(&other.told), 0);
    CHECK_EQ(fx.x->ops->room(fx.x), 5);
    CHECK(!find_seen(&fx, REPORT_ENDED, 2));
    end(&fx);
}

TEST(what_this_worker_still_runs_goes_on_under_its_new_epoch)
{
    struct fixture fx;
    struct gate g = {0};
    struct task again = a_task(1, "gate");
    struct err err = ERR_INIT;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    again.epoch = 9;
    CHECK_OK_ERR(fx.x->ops->find(fx.x, &again, &err), &err);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(fx.ended, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 1)->epoch, 9);
    end(&fx);
}

TEST(one_that_was_forgotten_and_found_again_is_lost_unless_it_got_done)
{
    struct fixture fx;
    struct gate stops = {.rc = 1}, does = {.rc = 0};
    struct task a = a_task(1, "stops"), b = a_task(2, "does");
    struct err err = ERR_INIT;

    open_threads(&fx, 2);
    add(&fx, "stops", deaf, &stops);
    add(&fx, "does", deaf, &does);
    start(&fx, 1, "stops");
    start(&fx, 2, "does");
    WAIT_FOR(&fx, atomic_load(&stops.inside) && atomic_load(&does.inside));
    fx.x->ops->forget(fx.x, 1, 1);
    fx.x->ops->forget(fx.x, 2, 1);
    a.epoch = b.epoch = 3;
    CHECK_OK_ERR(fx.x->ops->find(fx.x, &a, &err), &err);
    CHECK_OK_ERR(fx.x->ops->find(fx.x, &b, &err), &err);
    atomic_store(&stops.open, 1);
    atomic_store(&does.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_LOST);
    CHECK_STR(ended(&fx, 1)->error, "function stops was stopped: its worker had lost the lease");
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 2)->epoch, 3);
    end(&fx);
}

TEST(what_runs_nowhere_is_lost_at_once_and_never_begun)
{
    struct fixture fx;
    struct gate g = {.open = 1};
    struct task t = a_task(1, "gate"), unknown = a_task(2, "not-here");
    struct err err = ERR_INIT;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    CHECK_OK_ERR(fx.x->ops->find(fx.x, &t, &err), &err);
    CHECK_OK_ERR(fx.x->ops->find(fx.x, &unknown, &err), &err);
    CHECK_EQ(fx.seen.n, 0); /* reports are made in a turn */
    wait_ended(&fx, 2);
    CHECK_EQ(fx.seen.n, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_LOST);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_LOST);
    CHECK_STR(ended(&fx, 1)->error,
              "the worker that ran this function is gone, and the function with it");
    end(&fx);
}

/* ---- the end of a worker ---- */

TEST(a_worker_that_stops_gives_back_what_waits_and_lets_run_what_runs)
{
    struct fixture fx;
    struct gate done = {.rc = 0}, not_done = {.rc = 4};
    struct task t = a_task(9, "done");
    struct err err = ERR_INIT;

    open_threads(&fx, 2);
    add(&fx, "done", until_open, &done);
    add(&fx, "not_done", until_open, &not_done);
    start(&fx, 1, "done");
    start(&fx, 2, "not_done");
    WAIT_FOR(&fx, atomic_load(&done.inside) && atomic_load(&not_done.inside));
    start(&fx, 3, "done");
    fx.x->ops->hand_over(fx.x, true);
    CHECK_EQ(fx.x->ops->room(fx.x), 0);
    CHECK_EQ(fx.x->ops->start(fx.x, &t, &err), -E_REFUSED);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_DEFERRED); /* costs no attempt */
    CHECK_EQ(ended(&fx, 2)->outcome.retry_delay, 0);
    CHECK_STR(ended(&fx, 2)->error, "function not_done was stopped with its worker");
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_REFUSED);
    CHECK(!find_seen(&fx, REPORT_STARTED, 3));
    end(&fx);
}

TEST(a_worker_that_drains_lets_run_what_runs_and_may_still_lose_its_patience)
{
    struct fixture fx;
    struct gate g = {.rc = 4}, patient = {.rc = 4};

    open_threads(&fx, 2);
    add(&fx, "gate", until_open, &g);
    add(&fx, "patient", until_open, &patient);
    start(&fx, 1, "gate");
    start(&fx, 2, "patient");
    WAIT_FOR(&fx, atomic_load(&g.inside) && atomic_load(&patient.inside));
    start(&fx, 3, "gate");
    fx.x->ops->hand_over(fx.x, false);
    CHECK_EQ(fx.x->ops->room(fx.x), 0);
    WAIT_FOR(&fx, fx.ended == 1);
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_REFUSED);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(atomic_load(&g.told) + atomic_load(&patient.told), 0);
    fx.x->ops->hand_over(fx.x, true);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_DEFERRED);
    end(&fx);
}

TEST(a_function_that_does_not_stop_in_its_grace_is_counted_as_deaf)
{
    struct fixture fx;
    struct gate g = {0};
    struct spec spec = {.grace = 30 * MS};

    open_threads(&fx, 2);
    add(&fx, "deaf", deaf, &g);
    start_spec(&fx, 1, "deaf", &spec);
    start(&fx, 2, "deaf"); /* has ten seconds */
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    CHECK_EQ(function_deaf(fx.f), 0);
    fx.x->ops->cancel(fx.x, 1, 1, OUTCOME_CANCELLED);
    fx.x->ops->cancel(fx.x, 2, 1, OUTCOME_CANCELLED);
    CHECK_EQ(function_deaf(fx.f), 0);
    WAIT_FOR(&fx, function_deaf(fx.f) == 1);
    CHECK_EQ(fx.ended, 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(function_deaf(fx.f), 0);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_CANCELLED);
    end(&fx);
}

/* Of this process, by their names: a sanitizer has threads of its own. */
static int pool_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *e;
    int n = 0;

    CHECK(tasks);
    while ((e = readdir(tasks))) {
        char path[300], name[32] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        if ((f = fopen(path, "re"))) {
            n += fgets(name, sizeof(name), f) && !strcmp(name, "pawl-function\n");
            fclose(f);
        }
    }
    closedir(tasks);
    return n;
}

static void note(void *arg, const char *sentence)
{
    CHECK(strstr(sentence, "does not stop"));
    ++*(int *)arg;
}

TEST(freeing_an_executor_waits_for_its_functions_but_not_for_a_deaf_one)
{
    struct fixture fx;
    static struct gate g, hears; /* static: the thread outlives this test's frame */
    struct spec spec = {.grace = 30 * MS};
    int notes = 0;
    struct env env = {.note = note, .arg = &notes};

    open_with(&fx, (struct function_options){.threads = 1, .env = &env});
    add(&fx, "hears", until_open, &hears);
    start(&fx, 1, "hears");
    start(&fx, 2, "hears");
    WAIT_FOR(&fx, atomic_load(&hears.inside) == 1);
    end(&fx);
    CHECK_EQ(atomic_load(&hears.told), 1);
    CHECK_EQ(notes, 0);

    open_with(&fx, (struct function_options){.threads = 1, .env = &env});
    add(&fx, "deaf", deaf, &g);
    start_spec(&fx, 1, "deaf", &spec);
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    end(&fx);
    CHECK_EQ(notes, 1);
    atomic_store(&g.open, 1);
    while (pool_threads()) /* which clears up behind itself */
        clock_sleep_us(1000);
}

/* ---- room and threads ---- */

static void count_running(void *arg, int64_t execution, int attempt)
{
    CHECK_EQ(attempt, 1);
    ((int *)arg)[execution]++;
}

TEST(there_is_room_for_the_threads_and_a_small_queue_and_no_more)
{
    struct fixture fx;
    struct gate g = {0};
    struct task t = a_task(99, "gate");
    struct err err = ERR_INIT;
    int i, runs[20] = {0};

    open_threads(&fx, 2);
    add(&fx, "gate", until_open, &g);
    CHECK_EQ(fx.x->ops->room(fx.x), 10);
    for (i = 1; i <= 10; i++)
        start(&fx, i, "gate");
    CHECK_EQ(fx.x->ops->room(fx.x), 0);
    CHECK_EQ(fx.x->ops->start(fx.x, &t, &err), -E_REFUSED);
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    function_running(fx.f, count_running, runs);
    CHECK_EQ(runs[1] + runs[2], 2);
    for (i = 3; i < 20; i++)
        CHECK_EQ(runs[i], 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 10);
    CHECK_EQ(fx.x->ops->room(fx.x), 10);
    end(&fx);
}

TEST(the_queue_is_bounded_whatever_the_number_of_threads)
{
    struct fixture fx;

    open_threads(&fx, 1000);
    CHECK_EQ(fx.x->ops->room(fx.x), 1500);
    end(&fx);
    open_with(&fx, (struct function_options){.threads = 3, .queue = 7});
    CHECK_EQ(fx.x->ops->room(fx.x), 10);
    end(&fx);
    open_with(&fx, (struct function_options){0});
    CHECK_EQ(fx.x->ops->room(fx.x), 20);
    end(&fx);
}

TEST(threads_are_made_as_needed_and_end_when_they_idle)
{
    struct fixture fx;
    struct gate g = {0};
    int i;

    open_with(&fx, (struct function_options){.threads = 8, .idle = 50 * MS});
    add(&fx, "gate", until_open, &g);
    CHECK_EQ(pool_threads(), 0);
    start(&fx, 1, "gate");
    start(&fx, 2, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    CHECK_EQ(pool_threads(), 2);
    for (i = 3; i <= 20; i++)
        start(&fx, i, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 8);
    CHECK_EQ(pool_threads(), 8);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 20);
    WAIT_FOR(&fx, pool_threads() == 0);
    start(&fx, 21, "gate"); /* and they come back */
    wait_ended(&fx, 21);
    end(&fx);
}

TEST(a_function_for_which_no_thread_can_be_made_is_given_back)
{
    struct fixture fx;
    struct task t = a_task(1, "nothing");
    struct err err = ERR_INIT;
    pthread_attr_t usual, huge;

    CHECK_EQ(pthread_getattr_default_np(&usual), 0);
    CHECK_EQ(pthread_attr_init(&huge), 0);
    CHECK_EQ(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
    open_threads(&fx, 1);
    add(&fx, "nothing", nothing, NULL);
    CHECK_EQ(pthread_setattr_default_np(&huge), 0);
    CHECK_EQ(fx.x->ops->start(fx.x, &t, &err), -E_REFUSED);
    CHECK_STR(err.msg, "this worker can start no thread for a function");
    CHECK_EQ(pthread_setattr_default_np(&usual), 0);
    CHECK_EQ(fx.x->ops->room(fx.x), 5);
    start_task(&fx, &t); /* and goes when it can */
    wait_ended(&fx, 1);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&usual);
    end(&fx);
}

/* A thread that is signalled and finds that another was faster must not be counted as on its way
 * for ever: jobs would wait behind others while it sleeps. */
TEST(no_wake_up_is_lost_when_jobs_come_in_small_groups)
{
    struct fixture fx;
    struct gate g = {0};
    int i, k, n = 0, rounds = test_full() ? 100000 : 10000;

    open_with(&fx, (struct function_options){.threads = 3, .idle = 3600 * SECOND});
    add(&fx, "nothing", nothing, NULL);
    add(&fx, "gate", until_open, &g);
    for (i = 0; i < rounds; i++) {
        for (k = 0; k <= i % 3; k++)
            start(&fx, ++n, "nothing");
        wait_ended(&fx, n);
    }
    for (k = 0; k < 3; k++)
        start(&fx, ++n, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 3);
    atomic_store(&g.open, 1);
    wait_ended(&fx, n);
    end(&fx);
}

static atomic_int ran;

static int counts(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

/* Cancels, forgets and finds at random among what runs, waits or has just ended. */
TEST(every_started_attempt_ends_exactly_once_whatever_is_done_to_it)
{
    struct fixture fx;
    int i, n = test_full() ? 50000 : 5000, forgotten = 0;
    char *expect = mem_zalloc((size_t)n + 1);
    size_t k;
    unsigned seed = 1;

    open_threads(&fx, 4);
    add(&fx, "counts", counts, NULL);
    for (i = 1; i <= n; i++) {
        struct task t = a_task(i, "counts");
        struct err err = ERR_INIT;
        int victim = 1 + rand_r(&seed) % i, what = rand_r(&seed) % 10;

        while (!fx.x->ops->room(fx.x))
            turn(&fx, 1000);
        start_task(&fx, &t);
        expect[i] = 1;
        if (what < 2) {
            fx.x->ops->cancel(fx.x, victim, 1, OUTCOME_CANCELLED);
        } else if (what == 2 && !find_seen(&fx, REPORT_ENDED, i)) {
            fx.x->ops->forget(fx.x, i, 1);
            expect[i] = 0;
            forgotten++;
        } else if (what == 3) {
            t.epoch = 2;
            CHECK_OK_ERR(fx.x->ops->find(fx.x, &t, &err), &err);
        }
        if (what > 6)
            turn(&fx, 0);
    }
    wait_ended(&fx, n - forgotten);
    while (turn(&fx, 20))
        ;
    for (k = 0; k < fx.seen.n; k++)
        if (fx.seen.at[k].kind == REPORT_ENDED)
            expect[fx.seen.at[k].execution]--;
    for (i = 1; i <= n; i++)
        CHECK_EQ(expect[i], 0);
    free(expect);
    end(&fx);
}

static void start_next(struct fixture *fx, const struct report *r)
{
    if (r->kind == REPORT_ENDED && r->execution < 100)
        start(fx, r->execution + 1, "nothing");
    if (r->kind == REPORT_ENDED && r->execution == 50) {
        fx->x->ops->cancel(fx->x, 50, 1, OUTCOME_CANCELLED); /* about itself, when it is over */
        fx->x->ops->forget(fx->x, 50, 1);
    }
}

TEST(a_report_may_start_cancel_and_forget)
{
    struct fixture fx;

    open_threads(&fx, 2);
    add(&fx, "nothing", nothing, NULL);
    fx.meanwhile = start_next;
    start(&fx, 1, "nothing");
    wait_ended(&fx, 100);
    CHECK_EQ(ended(&fx, 100)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

/* ---- names ---- */

TEST(functions_are_known_by_their_names_and_lanes)
{
    static const char *const bad[] = {"", "a b", "a\n", "\303\244", "a*"};
    struct fixture fx;
    struct err err = ERR_INIT;
    struct task t = a_task(1, "missing");
    const char *const *lanes;
    size_t n, i;

    open_threads(&fx, 1);
    add(&fx, "b", nothing, NULL);
    add(&fx, "c", nothing, NULL);
    add(&fx, "a.b/c-d:e_1", nothing, NULL);
    CHECK(function_has(fx.f, "b"));
    CHECK(!function_has(fx.f, "bb"));
    lanes = function_lanes(fx.f, &n);
    CHECK_EQ(n, 3);
    CHECK_STR(lanes[0], "function:a.b/c-d:e_1");
    CHECK_STR(lanes[1], "function:b");
    CHECK_STR(lanes[2], "function:c");
    CHECK_EQ(function_add(fx.f, "b", nothing, NULL, &err), -E_CONFLICT);
    CHECK_STR(err.msg, "there is a function b already");
    for (i = 0; i < COUNT(bad); i++)
        CHECK_EQ(function_add(fx.f, bad[i], nothing, NULL, &err), -E_INVALID);
    CHECK_EQ(function_add(fx.f, "x", NULL, NULL, &err), -E_INVALID);
    CHECK_EQ(fx.x->ops->start(fx.x, &t, &err), -E_REFUSED);
    CHECK_STR(err.msg, "this worker has no function missing");
    CHECK(function_of(fx.x) == fx.f);
    end(&fx);
}

/* ---- plugins ---- */

/* What a plugin is compiled with, written down a second time: these layouts are an interface. */
static const char plugin_head[] =
    "#include <stdint.h>\n"
    "#include <stdbool.h>\n"
    "struct call;\n"
    "struct call_ops {\n"
    "    bool (*cancelled)(const struct call *);\n"
    "    int64_t (*remaining)(const struct call *);\n"
    "    int (*set_output)(struct call *, const char *, const char *);\n"
    "    int (*set_result)(struct call *, const char *);\n"
    "    void (*log)(struct call *, const char *);\n"
    "    void (*fail)(struct call *, const char *);\n"
    "    void (*defer)(struct call *, int64_t);\n"
    "};\n"
    "struct call { const struct call_ops *ops; const char *name, *input; int64_t execution, root;\n"
    "              int attempt, max_attempts; };\n"
    "struct host { int abi; int (*add)(const struct host *, const char *,\n"
    "                                  int (*)(struct call *, void *), void *); void *data; };\n"
    "static int hello(struct call *c, void *arg)\n"
    "{ c->ops->log(c, c->name); return c->ops->set_output(c, arg, c->input); }\n";

static void build_plugin(const char *name, const char *body, char *path, size_t size)
{
    char command[1000];
    FILE *f;

    snprintf(path, size, "%s/%s.c", test_dir(), name);
    CHECK((f = fopen(path, "we")) != NULL);
    fprintf(f, "%s%s\n", plugin_head, body);
    CHECK_EQ(fclose(f), 0);
    snprintf(path, size, "%s/%s.so", test_dir(), name);
    snprintf(command, sizeof(command), "cc -w -shared -fPIC -o %s %s/%s.c", path, test_dir(), name);
    if (system("command -v cc >/dev/null"))
        SKIP("there is no C compiler");
    CHECK_EQ(system(command), 0);
}

TEST(a_plugin_brings_functions)
{
    struct fixture fx;
    struct err err = ERR_INIT;
    struct task t = a_task(1, "hello");
    char path[300];

    build_plugin("good",
                 "const int pawl_plugin_abi = 1;\n"
                 "int pawl_plugin_init(const struct host *h)\n"
                 "{ return h->abi != 1 || h->add(h, \"hello\", hello, \"out\"); }",
                 path, sizeof(path));
    open_threads(&fx, 1);
    CHECK_OK_ERR(function_load_plugin(fx.f, path, &err), &err);
    t.input = "[7]";
    start_task(&fx, &t);
    wait_ended(&fx, 1);
    CHECK_STR(find_seen(&fx, REPORT_LOG, 1)->log, "nightly::load\n");
    CHECK_STR(ended(&fx, 1)->result, "{\"out\":[7]}");
    CHECK_EQ(function_load_plugin(fx.f, path, &err), -E_CONFLICT); /* once is enough */
    CHECK(function_has(fx.f, "hello"));
    end(&fx);
}

static void check_not_loaded(struct fixture *fx, const char *path, const char *words)
{
    struct err err = ERR_INIT;
    size_t n;

    CHECK(function_load_plugin(fx->f, path, &err) < 0);
    if (!strstr(err.msg, words) || !strstr(err.msg, path))
        test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", err.msg, words);
    function_lanes(fx->f, &n);
    CHECK_EQ(n, 1); /* what was there before, and nothing of the plugin */
}

TEST(a_plugin_that_can_not_be_used_adds_nothing_and_says_why)
{
    static const struct {
        const char *body, *words;
    } bad[] = {
        {"", "it is not a plugin of Pawl: it has no pawl_plugin_abi"},
        {"const int pawl_plugin_abi = 1;", "it has no pawl_plugin_init"},
        {"const int pawl_plugin_abi = 99; int pawl_plugin_init(const struct host *h) { *(int *)0 = "
         "1; return 0; }",
         "built for version 99 of the plugin interface, and this Pawl has 1"},
        {"const int pawl_plugin_abi = 1; int pawl_plugin_init(const struct host *h) { "
         "h->add(h, \"new\", hello, 0); h->add(h, \"there\", hello, 0); return 0; }",
         "there is a function there already"},
        {"const int pawl_plugin_abi = 1; int pawl_plugin_init(const struct host *h) { "
         "h->add(h, \"new\", hello, 0); return 5; }",
         "its pawl_plugin_init returned 5"},
        {"const int pawl_plugin_abi = 1; int pawl_plugin_init(const struct host *h) { "
         "return h->add(h, \"bad name\", hello, 0); }",
         "can't be the name of a function"},
    };
    struct fixture fx;
    char path[300], name[16];
    size_t i;

    open_threads(&fx, 1);
    add(&fx, "there", nothing, NULL);
    for (i = 0; i < COUNT(bad); i++) {
        snprintf(name, sizeof(name), "bad%zu", i);
        build_plugin(name, bad[i].body, path, sizeof(path));
        check_not_loaded(&fx, path, bad[i].words);
    }
    check_not_loaded(&fx, "/nowhere/at-all.so", "can't be loaded");
    check_not_loaded(&fx, "libc.so.6", "can't be loaded"); /* not from the system's folders */
    end(&fx);
}
