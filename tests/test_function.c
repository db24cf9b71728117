/* test_function.c - functions on threads: their arguments, the reports about them and their output,
 * and their names. */
#include "function_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;
TEST_THREADED;

static int returns(struct function_call *c, void *arg)
{
    (void)c;
    return *(int *)arg;
}

/* ---- normal runs ---- */

static int uses_every_operation(struct function_call *c, void *arg)
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

TEST(function_gets_its_task_and_reports_start_log_and_end_in_order)
{
    struct fixture fx;
    struct job t = a_task(42, "speaks");
    int arg = 7;

    open_threads(&fx, 2);
    add(&fx, "speaks", uses_every_operation, &arg);
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
    CHECK_EQ(fx.seen.at[2].outcome.kind, OUTCOME_OK);
    CHECK_STR(fx.seen.at[2].result, "{\"files\":[1, 2],\"n\":1}");
    CHECK(fx.seen.at[2].outcome.duration >= 0);
    end(&fx);
}

static int sets_result(struct function_call *c, void *arg)
{
    CHECK_OK(c->ops->set_result(c, "[]"));
    return c->ops->set_result(c, arg) ? 9 : 0;
}

TEST(result_of_a_function_is_kept_unchanged)
{
    struct fixture fx;
    char json[] = " {\"a\": 1} ";

    open_threads(&fx, 1);
    add(&fx, "says", sets_result, json);
    start(&fx, 1, "says");
    wait_ended(&fx, 1);
    CHECK_STR(ended(&fx, 1)->result, " {\"a\": 1} ");
    end(&fx);
}

static int fails_with_message(struct function_call *c, void *arg)
{
    c->ops->fail(c, "the disk is on fire");
    c->ops->fail(c, "a second sentence");
    return *(int *)arg;
}

TEST(function_that_returns_nonzero_or_calls_fail_has_failed)
{
    struct fixture fx;
    int three = 3, zero = 0;

    open_threads(&fx, 1);
    add(&fx, "three", returns, &three);
    add(&fx, "words", fails_with_message, &three);
    add(&fx, "words0", fails_with_message, &zero);
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

TEST(invalid_output_fails_the_attempt_even_if_the_function_ignores_the_error)
{
    static const char *const sentences[] = {
        "the output x is not valid JSON", "an output was set without a name",
        "a whole result was set after outputs", "an output was set after a whole result"};
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

#define EIGHT(text) text text text text text text text text
#define NESTED_64   EIGHT(EIGHT("[")) EIGHT(EIGHT("]"))

static int too_deep(struct function_call *c, void *arg)
{
    if (*(int *)arg)
        return c->ops->set_result(c, "[" NESTED_64 "]") == -E_INVALID ? 0 : 77;
    return c->ops->set_output(c, "x", NESTED_64) == -E_INVALID ? 0 : 77;
}

TEST(too_deeply_nested_result_fails_the_attempt)
{
    struct fixture fx;
    int output = 0, result = 1;

    open_threads(&fx, 1);
    add(&fx, "output", too_deep, &output);
    add(&fx, "result", too_deep, &result);
    start(&fx, 1, "output");
    start(&fx, 2, "result");
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_FAILED);
    CHECK_STR(ended(&fx, 1)->error,
              "the result with the output x nests lists and objects 65 levels "
              "deep; at most 64 are allowed");
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_FAILED);
    CHECK_STR(ended(&fx, 2)->error,
              "the result nests lists and objects 65 levels deep; at most 64 are allowed");
    end(&fx);
}

static int two_outputs(struct function_call *c, void *arg)
{
    (void)arg;
    CHECK_OK(c->ops->set_output(c, "a", "1"));
    CHECK_OK(c->ops->set_output(c, "b", "2"));
    return 0;
}

TEST(only_outputs_named_in_the_spec_are_kept)
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

TEST(function_that_defers_ends_as_deferred_unless_it_fails)
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

TEST(long_running_function_is_reported_as_started)
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
    CHECK_EQ(fx.seen.n, 2); /* started is not reported twice */
    end(&fx);
}

/* ---- logs ---- */

static int logs_twice(struct function_call *c, void *arg)
{
    struct gate *g = arg;

    c->ops->log(c, "early");
    until_open(c, g);
    c->ops->log(c, "late");
    return 0;
}

TEST(log_of_a_running_function_is_reported_before_its_end)
{
    struct fixture fx;
    struct gate g = {0};

    open_threads(&fx, 1);
    add(&fx, "chats", logs_twice, &g);
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
        snprintf(line, sizeof(line), "line %06d", i); /* 12 bytes with its line feed */
        c->ops->log(c, line);
    }
    return 0;
}

TEST(log_beyond_its_limit_keeps_its_head_and_tail_and_counts_the_dropped_bytes)
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

TEST(single_log_text_larger_than_the_limit_loses_its_middle)
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

/* ---- names ---- */

TEST(function_is_registered_only_under_a_valid_unique_name)
{
    static const char *const bad[] = {"", "a b", "a\n", "\303\244", "a*"};
    struct fixture fx;
    struct err err = ERR_INIT;
    struct job t = a_task(1, "missing");
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
    CHECK_STR(err.msg, "a function b already exists");
    for (i = 0; i < COUNT(bad); i++)
        CHECK_EQ(function_add(fx.f, bad[i], nothing, NULL, &err), -E_INVALID);
    CHECK_EQ(function_add(fx.f, "x", NULL, NULL, &err), -E_INVALID);
    CHECK_EQ(handles_start(&fx.handles, &t, &err), -E_REFUSED);
    CHECK_STR(err.msg, "this worker has no function missing");
    CHECK(function_from_executor(fx.x) == fx.f);
    end(&fx);
}
