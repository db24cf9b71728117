/* test_parse_value_errors.c - errors about values in workflow files that have the wrong type or
 * are out of range: the sentence and its location. */
#include "parse_fixture.h"

TEST_NO_DB;

TEST(value_of_the_wrong_type_is_an_error)
{
    static const struct bad list[] = {
        {"[a]", "1:1: the workflow: a mapping (key: value) is expected, not a list"},
        {"", "1:1: the workflow: a mapping (key: value) is expected, not null"},
        {"tasks:", "1:7: tasks: a mapping (name: task), or a list of tasks, is expected, not null"},
        {"tasks: {}", "1:8: the workflow has no tasks"},
        {"tasks: x",
         "1:8: tasks: a mapping (name: task), or a list of tasks, is expected, not 'x'"},
        {"tasks: {a: [x]}",
         "1:12: tasks.a: a mapping (key: value), or shell text, is expected, not a list"},
        {"tasks: {a: }",
         "1:12: tasks.a: a mapping (key: value), or shell text, is expected, not null"},
        {"tasks: {a: {run: ''}}", "1:18: tasks.a.run: a non-empty string is expected, not ''"},
        {"tasks: {a: {run: [x]}}", "1:18: tasks.a.run: a string is expected, not a list"},
        {"tasks: {a: {argv: []}}", "1:19: tasks.a.argv: the list is empty"},
        {"tasks: {a: {argv: ['', x]}}",
         "1:20: tasks.a.argv: the name of a program is expected, not ''"},
        {T "name: 1a",
         "2:7: name: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not '1a'"},
        {T "name: a b",
         "2:7: name: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not 'a b'"},
        {T "timeout: 1",
         "2:10: timeout: a duration such as 250ms, 30s, 5m, 2h or 90d is expected, not 1"},
        {T "outputs: [x]", "2:10: outputs: a mapping (key: value) is expected, not a list"},
        {T "env: x", "2:6: env: a mapping (key: value) is expected, not 'x'"},
    };

    check_all(list, COUNT(list));
}

TEST(number_duration_or_size_out_of_range_is_an_error)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, timeout: 5}}",
         "1:30: tasks.a.timeout: a duration such as 250ms, 30s, 5m, 2h or 90d is expected, not 5"},
        {"tasks: {a: {run: x, timeout: 0s}}",
         "1:30: tasks.a.timeout: a duration from 1ms to 365d is expected, not '0s'"},
        {"tasks: {a: {run: x, timeout: 366d}}",
         "1:30: tasks.a.timeout: a duration from 1ms to 365d is expected, not '366d'"},
        {"tasks: {a: {run: x, delay: 366d}}",
         "1:28: tasks.a.delay: a duration from 0s to 365d is expected, not '366d'"},
        {"tasks: {a: {run: x, retry: -1}}",
         "1:28: tasks.a.retry: a whole number from 0 to 1000 is expected, not -1"},
        {"tasks: {a: {run: x, retry: 1001}}",
         "1:28: tasks.a.retry: a whole number from 0 to 1000 is expected, not 1001"},
        {"tasks: {a: {run: x, retry: often}}",
         "1:28: tasks.a.retry: a number of retries or a mapping (key: value) is expected, not 'often'"},
        {"tasks: {a: {run: x, retry: {backoff: 0.5, jitter: 2, delay: 0ms, codes: [0, 256, x]}}}",
         "1:38: tasks.a.retry.backoff: a number from 1 to 100 is expected, not 0.5\n"
         "1:51: tasks.a.retry.jitter: a number from 0 to 1 is expected, not 2\n"
         "1:61: tasks.a.retry.delay: a duration from 1ms to 30d is expected, not '0ms'\n"
         "1:74: tasks.a.retry.codes: a whole number from 1 to 255 is expected, not 0\n"
         "1:77: tasks.a.retry.codes: a whole number from 1 to 255 is expected, not 256\n"
         "1:82: tasks.a.retry.codes: a whole number from 1 to 255 is expected, not 'x'"},
        {"tasks: {a: {run: x, retry: {delay: 10m, max_delay: 5m}}}",
         "1:28: tasks.a.retry: delay is longer than max_delay"},
        {"tasks: {a: {run: x, priority: 1000001}}",
         "1:31: tasks.a.priority: a whole number from -1000000 to 1000000 is expected, not 1000001"},
        {"tasks: {a: {run: x, queue: ''}, b: {run: x, queue: 'here:1'}}",
         "1:28: tasks.a.queue: a queue name of 1 to 64 bytes is expected, not ''\n"
         "1:52: tasks.b.queue: a queue name that does not start with here: is expected, not 'here:1'"},
        {"tasks: {a: {run: x, limits: {memory: 1kB, cpu: 1, files: 1, pids: 0}}}",
         "1:38: tasks.a.limits.memory: a size from 1048576 to 1125899906842624 bytes is expected, not '1kB'\n"
         "1:48: tasks.a.limits.cpu: a duration such as 250ms, 30s, 5m, 2h or 90d is expected, not 1\n"
         "1:58: tasks.a.limits.files: a whole number from 8 to 1073741824 is expected, not 1\n"
         "1:67: tasks.a.limits.pids: a whole number from 1 to 4194304 is expected, not 0"},
        {"tasks: {a: {run: x, limits: 3}}",
         "1:29: tasks.a.limits: a mapping (key: value) is expected, not 3"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_foreach_is_an_error)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, fail_fast: true, max_parallel: 3}}",
         "1:32: tasks.a.fail_fast can be used only with foreach\n"
         "1:52: tasks.a.max_parallel can be used only with foreach"},
        {"tasks: {a: {run: x, foreach: [1], max_parallel: 0, fail_fast: yes}}",
         "1:49: tasks.a.max_parallel: a whole number from 1 to 1000000 is expected, not 0\n"
         "1:63: tasks.a.fail_fast: true or false is expected, not 'yes'"},
        {"tasks: {a: {run: x, foreach: 100001}}",
         "1:30: tasks.a.foreach: a whole number from 0 to 100000 is expected, not 100001"},
        {"tasks: {a: {run: x, foreach: -1}}",
         "1:30: tasks.a.foreach: a whole number from 0 to 100000 is expected, not -1"},
        {"tasks: {a: {run: x, foreach: range(3)}}",
         "1:30: tasks.a.foreach: a list, a number or a single ${{ expression }} is expected, not 'range(3)'"},
        {"tasks: {a: {run: x, foreach: {a: 1}}}",
         "1:30: tasks.a.foreach: a list, a number or a single ${{ expression }} is expected, not a mapping"},
        {"tasks: {a: {run: x, foreach: '${{ [1] }} ${{ [2] }}'}}",
         "1:42: tasks.a.foreach: only one expression is allowed here: *"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_value_inside_a_task_is_an_error)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, env: {9A: x, PAWL_X: y, B: [1], C: }}}",
         "1:27: tasks.a.env: a variable name (letters, digits and _, not starting with a digit) is expected, not '9A'\n"
         "1:34: tasks.a.env: a name that does not start with PAWL_ is expected, not 'PAWL_X'\n"
         "1:48: tasks.a.env.B: a string is expected, not a list\n"
         "1:56: tasks.a.env.C: a string is expected, not null"},
        {"tasks: {a: {run: x, secrets: [A, A, b-c]}}",
         "1:34: tasks.a.secrets: \"A\" is listed twice\n"
         "1:37: tasks.a.secrets: a variable name (letters, digits and _, not starting with a digit) is expected, not 'b-c'"},
        {"tasks: {a: {run: x, outputs: [a, a, 'b=c']}}",
         "1:34: tasks.a.outputs: \"a\" is listed twice\n"
         "1:37: tasks.a.outputs: an output name (without = or control characters) is expected, not 'b=c'"},
        {"tasks: {a: {run: x, container: {image: '', pull: sometimes}}}",
         "1:40: tasks.a.container.image: a non-empty string is expected, not ''\n"
         "1:50: tasks.a.container.pull: missing, always or never is expected, not 'sometimes'"},
        {"tasks: {a: {run: x, concurrency: {max: 2}}, b: {run: x, concurrency: {key: k, max: 0}}}",
         "1:34: tasks.a.concurrency: `key` is missing; executions with the same `key` share the limit\n"
         "1:84: tasks.b.concurrency.max: a whole number from 1 to 1000000 is expected, not 0"},
        {"tasks: {a: {run: x, approval: {timeout: 1ms}}}",
         "1:41: tasks.a.approval.timeout: a duration from 1s to 365d is expected, not '1ms'"},
        {"tasks: {a: {run: x, with: {a-b: 1, c: .nan}}}",
         "1:28: tasks.a.with: a name (letters, digits and _, not starting with a digit) is expected, not 'a-b'\n"
         "1:39: tasks.a.with.c: a number that JSON can represent is expected, not .nan"},
        {"tasks: {a: {run: x, if: ''}}",
         "1:25: tasks.a.if: a non-empty string is expected, not ''"},
        {"tasks: {a: {run: x, user: '${{ params.u }}'}}",
         "1:27: tasks.a.user can't contain ${{ }}: the value is used as written"},
    };

    check_all(list, COUNT(list));
}

/* `success() && (…)` has one more level and some more bytes than the condition in the file. */
TEST(condition_that_is_too_deep_or_long_with_its_added_success_call_is_refused)
{
    static const struct {
        const char *begin;
        int deep, spaces;
        const char *expect;
    } cells[] = {
        {"", 62, 0, ""},
        {"", 63, 0,
         "1:26: tasks.a.if: Pawl adds success() && (…) to a condition without a status function; with that, this expression is nested more than 64 levels deep"},
        {"always() && ", 62, 0, ""},
        {"", 0, 65000, ""},
        {"", 0, 65531,
         "1:26: tasks.a.if: Pawl adds success() && (…) to a condition without a status function; with that, this text is 65551 bytes long; at most 65536 "
         "are allowed"},
        {"always() && ", 0, 65519, ""}};
    size_t i;

    for (i = 0; i < COUNT(cells); i++) {
        struct buf b = BUF_INIT;
        char *got;
        int k;

        buf_addf(&b, "tasks: {a: {run: x, if: '%s", cells[i].begin);
        for (k = 0; k < cells[i].deep; k++)
            buf_addch(&b, '(');
        buf_addf(&b, "1%*s < 2", cells[i].spaces, "");
        for (k = 0; k < cells[i].deep; k++)
            buf_addch(&b, ')');
        buf_addstr(&b, "'}}");
        got = diagnostics_of(b.ptr, b.len);
        CHECK_STR(got, cells[i].expect);
        free(got);
        buf_release(&b);
    }
}
