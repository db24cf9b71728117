/* test_diff.c - the difference between two runs, computed by pure functions. */
#include "core/history/diff.h"
#include "core/vocab.h"
#include "harness.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

static json_t *parse(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);

    CHECK(o);
    return o;
}

static void check_definitions(const char *a, const char *b, const char *expected)
{
    json_t *x = parse(a), *y = parse(b), *list = compare_definitions(x, y);
    char *text = json_dumps(list, JSON_COMPACT);

    CHECK_STR(text, expected);
    free(text);
    json_decref(list);
    json_decref(x);
    json_decref(y);
}

TEST(task_moved_within_its_file_is_not_a_difference)
{
    check_definitions(
        "{\"name\":\"w\",\"file\":\"a.yaml\",\"tasks\":[{\"name\":\"a\",\"at\":[1,1],"
        "\"run\":\"x\"},{\"name\":\"b\",\"run\":\"y\",\"needs\":[0]}]}",
        "{\"name\":\"w\",\"file\":\"b.yaml\",\"tasks\":[{\"name\":\"b\",\"run\":\"y\","
        "\"needs\":[1]},{\"name\":\"a\",\"at\":[7,1],\"run\":\"x\"}]}",
        "[]");
}

TEST(hook_moved_within_its_file_is_not_a_difference)
{
    check_definitions(
        "{\"name\":\"w\",\"tasks\":[],\"on_failure\":{\"name\":\"on_failure\",\"at\":[3,1],"
        "\"run\":\"x\"},\"on_exit\":{\"name\":\"on_exit\",\"at\":[4,1],\"run\":\"y\"}}",
        "{\"name\":\"w\",\"tasks\":[],\"on_failure\":{\"name\":\"on_failure\",\"at\":[5,1],"
        "\"run\":\"x\"},\"on_exit\":{\"name\":\"on_exit\",\"at\":[6,1],\"run\":\"z\"}}",
        "[{\"task\":null,\"change\":\"changed\",\"keys\":[\"on_exit\"]}]");
}

TEST(nested_workflow_of_a_hook_is_compared_task_by_task)
{
    check_definitions(
        "{\"name\":\"w\",\"tasks\":[],\"on_exit\":{\"name\":\"on_exit\",\"workflow\":\"11\"},"
        "\"nested\":{\"11\":{\"name\":\"i\",\"tasks\":[{\"name\":\"t\",\"run\":\"x\"}]}}}",
        "{\"name\":\"w\",\"tasks\":[],\"on_exit\":{\"name\":\"on_exit\",\"workflow\":\"22\"},"
        "\"nested\":{\"22\":{\"name\":\"i\",\"tasks\":[{\"name\":\"t\",\"run\":\"y\"}]}}}",
        "[{\"task\":\"on_exit/t\",\"change\":\"changed\",\"keys\":[\"run\"]}]");
}

TEST(changed_task_is_reported_with_its_changed_keys)
{
    check_definitions(
        "{\"name\":\"w\",\"timeout\":1,\"tasks\":[{\"name\":\"a\",\"run\":\"x\"},"
        "{\"name\":\"b\",\"run\":\"y\",\"needs\":[0]},{\"name\":\"c\",\"run\":\"z\"}]}",
        "{\"name\":\"w\",\"queue\":\"q\",\"tasks\":[{\"name\":\"d\",\"run\":\"x\"},"
        "{\"name\":\"b\",\"run\":\"Y\",\"needs\":[0],\"if\":\"true\"},{\"name\":\"c\",\"run\":\"z\"}]}",
        "[{\"task\":null,\"change\":\"changed\",\"keys\":[\"timeout\",\"queue\"]},"
        "{\"task\":\"a\",\"change\":\"removed\",\"keys\":[]},"
        "{\"task\":\"b\",\"change\":\"changed\",\"keys\":[\"run\",\"needs\",\"if\"]},"
        "{\"task\":\"d\",\"change\":\"added\",\"keys\":[]}]");
}

TEST(nested_workflow_is_compared_once_at_its_first_use)
{
    check_definitions(
        "{\"name\":\"w\",\"tasks\":[{\"name\":\"a\",\"workflow\":\"11\"},{\"name\":\"b\","
        "\"workflow\":\"11\"}],\"nested\":{\"11\":{\"name\":\"i\",\"tasks\":[{\"name\":\"t\","
        "\"run\":\"x\"}]}}}",
        "{\"name\":\"w\",\"tasks\":[{\"name\":\"a\",\"workflow\":\"22\"},{\"name\":\"b\","
        "\"workflow\":\"22\"}],\"nested\":{\"22\":{\"name\":\"i\",\"tasks\":[{\"name\":\"t\","
        "\"run\":\"y\"}]}}}",
        "[{\"task\":\"a/t\",\"change\":\"changed\",\"keys\":[\"run\"]}]");
}

TEST(json_members_are_compared_by_value_not_by_format)
{
    json_t *a = parse("{\"one\":1,\"two\":{\"x\":[1,2]},\"gone\":null}");
    json_t *b = parse("{\"two\":{ \"x\": [1, 2] },\"one\":2,\"new\":\"n\"}");
    json_t *list = compare_members(a, b);
    char *text = json_dumps(list, JSON_COMPACT);

    CHECK_STR(text, "[{\"name\":\"one\",\"a\":1,\"b\":2},{\"name\":\"gone\",\"a\":null},"
                    "{\"name\":\"new\",\"b\":\"n\"}]");
    free(text);
    json_decref(list);
    json_decref(a);
    json_decref(b);
    list = compare_members(NULL, NULL);
    CHECK_EQ(json_array_size(list), 0);
    json_decref(list);
}

/* ---- executions ---- */

#define NODE(p, s, end, took)                                                      \
    {                                                                              \
        .path = p, .status = S_##s, .ended = end, .duration = took, .id = __LINE__ \
    }

TEST(tasks_of_two_runs_are_paired_by_path_and_ordered_by_time)
{
    const struct diff_node a[] = {NODE("z", SUCCEEDED, 10, 1), NODE("gone", SKIPPED, 20, -1),
                                  NODE("y", FAILED, 30, 1), NODE("twice", SUCCEEDED, 40, 1),
                                  NODE("twice", SUCCEEDED, 50, 1)};
    const struct diff_node b[] = {NODE("twice", SUCCEEDED, 45, 1), NODE("y", SUCCEEDED, 5, 1),
                                  NODE("z", SUCCEEDED, 90, 1), NODE("new", RUNNING, -1, -1)};
    static const char *const paths[] = {"y", "z", "gone", "twice", "twice", "new"};
    struct diff_pair pairs[9];
    size_t n = diff_runs(a, 5, b, 4, pairs), i;

    CHECK_EQ(n, 6);
    for (i = 0; i < n; i++)
        CHECK_STR(pairs[i].a ? pairs[i].a->path : pairs[i].b->path, paths[i]);
    CHECK_EQ(pairs[0].differs, DIFFERS_STATUS);
    CHECK_EQ(pairs[1].differs, 0);
    CHECK_EQ(pairs[2].differs, DIFFERS_THERE);
    CHECK(!pairs[2].b && pairs[3].b && !pairs[4].b && !pairs[5].a);
    CHECK_EQ(diff_runs(a, 0, b, 0, pairs), 0);
}

TEST(child_of_a_task_is_listed_before_the_task)
{
    struct diff_node a[] = {NODE("each", FAILED, 10, 1), NODE("each[0]", FAILED, 10, 1)};
    struct diff_pair pairs[4];

    a[1].depth = 2;
    a[0].depth = 1;
    CHECK_EQ(diff_runs(a, 2, NULL, 0, pairs), 2);
    CHECK_STR(pairs[0].a->path, "each[0]");
}

static unsigned compare_durations(int64_t a, int64_t b)
{
    struct diff_node x = NODE("t", SUCCEEDED, 1, a), y = NODE("t", SUCCEEDED, 1, b);

    return compare_nodes(&x, &y);
}

TEST(durations_count_as_different_if_they_differ_by_at_least_100_ms_and_25_percent)
{
    CHECK_EQ(compare_durations(1000, 100999), 0);
    CHECK_EQ(compare_durations(1000, 101000), DIFFERS_DURATION);
    CHECK_EQ(compare_durations(101000, 1000), DIFFERS_DURATION);
    CHECK_EQ(compare_durations(3000001, 4000000), 0);
    CHECK_EQ(compare_durations(3000000, 4000000), DIFFERS_DURATION);
    CHECK_EQ(compare_durations(-1, 4000000), 0);
}

TEST(outputs_of_two_runs_are_compared_by_value)
{
    struct diff_node x = NODE("t", SUCCEEDED, 1, 1), y = x;

    x.outputs = "{\"a\":1,\"b\":[1,2]}";
    y.outputs = "{\"b\": [1, 2], \"a\": 1}";
    CHECK_EQ(compare_nodes(&x, &y), 0);
    y.outputs = "{\"a\":2}";
    y.error = "no";
    y.attempts = 2;
    CHECK_EQ(compare_nodes(&x, &y), DIFFERS_OUTPUTS | DIFFERS_ERROR | DIFFERS_ATTEMPTS);
    y.outputs = NULL;
    CHECK(compare_nodes(&x, &y) & DIFFERS_OUTPUTS);
}
