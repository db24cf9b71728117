/* test_workflow_bad.c - workflow files that are wrong: what is said, and where. */
#include "harness.h"

#include "base/env.h"
#include "flow/workflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* "line:column: sentence" of all problems in order, one a line; "" if there is none. */
static char *problems_of(const char *text, size_t len)
{
    struct problems problems = PROBLEMS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf all = BUF_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    int rc = workflow_parse(problems_take(&problems, "f.flow.yaml", text, len), test_dir(),
                            &problems, &arena, &w, &err);
    size_t i;

    CHECK_EQ(!rc, !problems.count);
    CHECK_EQ(!rc, !!w);
    CHECK(!rc || rc == -E_INVALID);
    for (i = 0; i < problems.list.n; i++) {
        const struct problem *p = &problems.list.at[i];

        buf_addf(&all, "%s%u:%u: %s", i ? "\n" : "", p->line, p->column, p->sentence);
    }
    arena_release(&arena);
    problems_release(&problems);
    buf_addstr(&all, "");
    return all.ptr;
}

struct bad {
    const char *text, *said;
};

/* A * at the end stands for words that are not ours. */
static bool fits(const char *said, const char *wanted)
{
    size_t n = strlen(wanted);

    return n && wanted[n - 1] == '*' ? !strncmp(said, wanted, n - 1) : !strcmp(said, wanted);
}

static void check_all(const struct bad *list, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        char *said = problems_of(list[i].text, strlen(list[i].text));

        if (!fits(said, list[i].said))
            test_fail(__FILE__, __LINE__, "%s\nsays:\n%s\nnot:\n%s", list[i].text, said,
                      list[i].said);
        free(said);
    }
}

#define T "tasks: {a: x}\n" /* something to do, for what is about something else */

TEST(keys_that_are_none_or_stand_in_the_wrong_place)
{
    static const struct bad list[] = {
        {"taks: {a: x}", "1:1: there is no key \"taks\": did you mean \"tasks\"?\n"
                         "1:1: the workflow has no tasks"},
        {"tasks: {a: {rnu: x}}",
         "1:9: tasks.a has nothing to do: exactly one of run, argv, function and workflow is expected\n"
         "1:13: there is no key \"rnu\" in tasks.a: did you mean \"run\"?"},
        {"tasks: {a: {run: x, frobnicate: 1}}", "1:21: there is no key \"frobnicate\" in tasks.a"},
        {T "retries: 3", "2:1: there is no key \"retries\""},
        {T "defaults: {needs: a, retires: 3}",
         "2:12: defaults.needs has no meaning in defaults\n"
         "2:22: there is no key \"retires\" in defaults: did you mean \"retry\"?"},
        {T "on_exit: {run: x, needs: a, foreach: [1]}",
         "2:19: on_exit.needs has no meaning after all other tasks\n"
         "2:29: on_exit.foreach has no meaning after all other tasks"},
        {"tasks: {a: {function: f, cwd: /x, container: c, stdin: x}}",
         "1:26: tasks.a.cwd has no meaning for a function\n"
         "1:35: tasks.a.container has no meaning for a function\n"
         "1:49: tasks.a.stdin has no meaning for a function"},
        {T "on: {shedule: '@daily'}",
         "2:6: there is no key \"shedule\" in on: did you mean \"schedule\"?"},
        {T "params: {p: {typ: string}}",
         "2:14: there is no key \"typ\" in params.p: did you mean \"type\"?"},
        {"tasks: {a: {run: x, retry: {mx: 3}}}",
         "1:29: there is no key \"mx\" in tasks.a.retry: did you mean \"max\"?"},
        {"tasks: {a: {run: x}, a: {run: y}}", "1:22: the key \"a\" is already there, in line 1"},
        /* as others call them */
        {"jobs: {a: x}", "1:1: there is no key \"jobs\": did you mean \"tasks\"?\n"
                         "1:1: the workflow has no tasks"},
        {T "schedule: '@daily'", "2:1: there is no key \"schedule\": did you mean \"on\"?"},
        {"tasks: {a: {run: x, depends_on: b, continue-on-error: true, Environment: {A: b}}}",
         "1:21: there is no key \"depends_on\" in tasks.a: did you mean \"needs\"?\n"
         "1:36: there is no key \"continue-on-error\" in tasks.a: did you mean \"allow_failure\"?\n"
         "1:61: there is no key \"Environment\" in tasks.a: did you mean \"env\"?"},
        {"tasks: {a: {command: x}}",
         "1:9: tasks.a has nothing to do: exactly one of run, argv, function and workflow is expected\n"
         "1:13: there is no key \"command\" in tasks.a: did you mean \"run\"?"},
        {T "on_exit: {run: x, depends: a}", "2:19: there is no key \"depends\" in on_exit"},
    };

    check_all(list, COUNT(list));
}

TEST(values_of_the_wrong_type_or_out_of_their_range)
{
    static const struct bad list[] = {
        {"[a]", "1:1: a workflow: a mapping (key: value) is expected, not a list"},
        {"", "1:1: a workflow: a mapping (key: value) is expected, not nothing"},
        {"tasks:",
         "1:7: tasks: a mapping (name: task), or a list of tasks, is expected, not nothing"},
        {"tasks: {}", "1:8: the workflow has no tasks"},
        {"tasks: x",
         "1:8: tasks: a mapping (name: task), or a list of tasks, is expected, not 'x'"},
        {"tasks: {a: [x]}",
         "1:12: tasks.a: a mapping (key: value), or shell text, is expected, not a list"},
        {"tasks: {a: }",
         "1:12: tasks.a: a mapping (key: value), or shell text, is expected, not nothing"},
        {"tasks: {a: {run: ''}}",
         "1:18: tasks.a.run: a text that is not empty is expected, not ''"},
        {"tasks: {a: {run: [x]}}", "1:18: tasks.a.run: a text is expected, not a list"},
        {"tasks: {a: {argv: []}}", "1:19: tasks.a.argv: the list is empty"},
        {"tasks: {a: {argv: ['', x]}}",
         "1:20: tasks.a.argv: the name of a program is expected, not ''"},
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
         "1:28: tasks.a.retry: a number of retries, or a mapping (key: value) is expected, not 'often'"},
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
         "1:28: tasks.a.queue: a text that is not empty is expected, not ''\n"
         "1:52: tasks.b.queue: a queue's name that does not begin with here: is expected, not 'here:1'"},
        {"tasks: {a: {run: x, limits: {memory: 1kB, cpu: 1, files: 1, pids: 0}}}",
         "1:38: tasks.a.limits.memory: a size from 1048576 to 1125899906842624 bytes is expected, not '1kB'\n"
         "1:48: tasks.a.limits.cpu: a duration such as 250ms, 30s, 5m, 2h or 90d is expected, not 1\n"
         "1:58: tasks.a.limits.files: a whole number from 8 to 1073741824 is expected, not 1\n"
         "1:67: tasks.a.limits.pids: a whole number from 1 to 4194304 is expected, not 0"},
        {"tasks: {a: {run: x, limits: 3}}",
         "1:29: tasks.a.limits: a mapping (key: value) is expected, not 3"},
        {"tasks: {a: {run: x, fail_fast: true, max_parallel: 3}}",
         "1:32: tasks.a.fail_fast has no meaning without foreach\n"
         "1:52: tasks.a.max_parallel has no meaning without foreach"},
        {"tasks: {a: {run: x, foreach: [1], max_parallel: 0, fail_fast: yes}}",
         "1:49: tasks.a.max_parallel: a whole number from 1 to 1000000 is expected, not 0\n"
         "1:63: tasks.a.fail_fast: true or false is expected, not 'yes'"},
        {"tasks: {a: {run: x, foreach: 100001}}",
         "1:30: tasks.a.foreach: a whole number from 0 to 100000 is expected, not 100001"},
        {"tasks: {a: {run: x, foreach: -1}}",
         "1:30: tasks.a.foreach: a whole number from 0 to 100000 is expected, not -1"},
        {"tasks: {a: {run: x, foreach: range(3)}}",
         "1:30: tasks.a.foreach: a list, a number, or one ${{ expression }} is expected, not 'range(3)'"},
        {"tasks: {a: {run: x, foreach: {a: 1}}}",
         "1:30: tasks.a.foreach: a list, a number, or one ${{ expression }} is expected, not a mapping"},
        {"tasks: {a: {run: x, foreach: '${{ [1] }} ${{ [2] }}'}}",
         "1:42: tasks.a.foreach: a condition is one expression: *"},
        {"tasks: {a: {run: x, env: {9A: x, PAWL_X: y, B: [1], C: }}}",
         "1:27: tasks.a.env: the name of a variable (letters, digits and _) is expected, not '9A'\n"
         "1:34: tasks.a.env: a name that does not begin with PAWL_ is expected, not 'PAWL_X'\n"
         "1:48: tasks.a.env.B: a text is expected, not a list\n"
         "1:56: tasks.a.env.C: a text is expected, not nothing"},
        {"tasks: {a: {run: x, secrets: [A, A, b-c]}}",
         "1:34: tasks.a.secrets: \"A\" is already there\n"
         "1:37: tasks.a.secrets: the name of a variable (letters, digits and _) is expected, not 'b-c'"},
        {"tasks: {a: {run: x, outputs: [a, a, 'b=c']}}",
         "1:34: tasks.a.outputs: \"a\" is already there\n"
         "1:37: tasks.a.outputs: the name of an output (no =, no control characters) is expected, not 'b=c'"},
        {"tasks: {a: {run: x, container: {image: '', pull: sometimes}}}",
         "1:40: tasks.a.container.image: a text that is not empty is expected, not ''\n"
         "1:50: tasks.a.container.pull: missing, always or never is expected, not 'sometimes'"},
        {"tasks: {a: {run: x, concurrency: {max: 2}}, b: {run: x, concurrency: {key: k, max: 0}}}",
         "1:34: tasks.a.concurrency needs a key: what has the same one shares the limit\n"
         "1:84: tasks.b.concurrency.max: a whole number from 1 to 1000000 is expected, not 0"},
        {"tasks: {a: {run: x, approval: {timeout: 1ms}}}",
         "1:41: tasks.a.approval.timeout: a duration from 1s to 365d is expected, not '1ms'"},
        {"tasks: {a: {run: x, with: {a-b: 1, c: .nan}}}",
         "1:28: tasks.a.with: a name (letters, digits and _) is expected, not 'a-b'\n"
         "1:39: tasks.a.with.c: a number that JSON can hold is expected, not .nan"},
        {"tasks: {a: {run: x, if: ''}}",
         "1:25: tasks.a.if: a text that is not empty is expected, not ''"},
        {"tasks: {a: {run: x, user: '${{ params.u }}'}}",
         "1:27: tasks.a.user can't hold ${{ }}: it is taken as it is"},
        {T "name: 1a",
         "2:7: name: a letter or _, then up to 99 letters, digits, _ or -, is expected, not '1a'"},
        {T "name: a b",
         "2:7: name: a letter or _, then up to 99 letters, digits, _ or -, is expected, not 'a b'"},
        {T "timeout: 1",
         "2:10: timeout: a duration such as 250ms, 30s, 5m, 2h or 90d is expected, not 1"},
        {T "outputs: [x]", "2:10: outputs: a mapping (key: value) is expected, not a list"},
        {T "env: x", "2:6: env: a mapping (key: value) is expected, not 'x'"},
    };

    check_all(list, COUNT(list));
}

TEST(a_task_does_exactly_one_thing)
{
    static const struct bad list[] = {
        {"tasks: {a: {needs: []}}",
         "1:9: tasks.a has nothing to do: exactly one of run, argv, function and workflow is expected"},
        {"tasks: {a: {run: x, argv: [y]}}",
         "1:9: tasks.a has both run and argv: exactly one of run, argv, function and workflow is expected"},
        {"tasks: {a: {function: f, workflow: g.yaml}}",
         "1:9: tasks.a has both function and workflow: exactly one of run, argv, function and workflow is expected\n"
         "1:36: tasks.a.workflow: g.yaml can't be read: No such file or directory"},
        {T "on_failure: {timeout: 1s}",
         "2:13: on_failure has nothing to do: exactly one of run, argv, function and workflow is expected"},
    };

    check_all(list, COUNT(list));
}

TEST(values_are_never_put_into_shell_text)
{
    static const struct bad list[] = {
        {"tasks:\n  a:\n    run: echo ${{ params.x }}",
         "3:10: tasks.a.run: values are never put into shell text, where they could be taken for commands: pass it by env (env: {X: \"${{ … }}\"}) and write \"$X\"; params are there already"},
        {T "on_exit: echo ${{ x }}",
         "2:10: on_exit: values are never put into shell text, where they could be taken for commands: pass it by env (env: {X: \"${{ … }}\"}) and write \"$X\"; params are there already"},
        {"tasks: ['a $${{ x }}']",
         "1:9: step1: values are never put into shell text, where they could be taken for commands: pass it by env (env: {X: \"${{ … }}\"}) and write \"$X\"; params are there already"},
    };

    check_all(list, COUNT(list));
}

TEST(names_of_tasks)
{
    static const struct bad list[] = {
        {"tasks: {1a: x, a b: x, -a: x, 'ä': x, on_exit: x, on_failure: x}",
         "1:9: the name of a task: a letter or _, then up to 99 letters, digits, _ or -, is expected, not '1a'\n"
         "1:16: the name of a task: a letter or _, then up to 99 letters, digits, _ or -, is expected, not 'a b'\n"
         "1:24: the name of a task: a letter or _, then up to 99 letters, digits, _ or -, is expected, not '-a'\n"
         "1:31: the name of a task: a letter or _, then up to 99 letters, digits, _ or -, is expected, not 'ä'\n"
         "1:39: no task can be called on_exit: write it beside tasks, not in it\n"
         "1:51: no task can be called on_failure: write it beside tasks, not in it"},
    };

    check_all(list, COUNT(list));
}

TEST(needs_that_are_none)
{
    static const struct bad list[] = {
        {"tasks:\n  fetch: x\n  b: {run: x, needs: fecth}",
         "3:22: tasks.b.needs: there is no task \"fecth\": did you mean \"fetch\"?"},
        {"tasks: {a: {run: x, needs: a}}", "1:28: tasks.a.needs: the task \"a\" can't need itself"},
        {"tasks: {a: x, b: {run: x, needs: [a, zzzz, a]}, c: {run: x, needs: [a, b, a]}}",
         "1:38: tasks.b.needs: there is no task \"zzzz\"\n"
         "1:68: tasks.c.needs: \"a\" is there twice"},
        {"tasks: {a: x, b: {run: x, needs: [a], join: 2}, c: {run: x, join: any}}",
         "1:45: tasks.b.join: it has only 1 need\n"
         "1:67: tasks.c.join: it has only 0 needs"},
        {"tasks: {a: x, b: {run: x, needs: a, join: 0}, c: {run: x, needs: a, join: most}}",
         "1:43: tasks.b.join: a whole number from 1 to 100000 is expected, not 0\n"
         "1:75: tasks.c.join: all, any or a number of needs is expected, not 'most'"},
        {"tasks: [x, {run: y, needs: step1}]",
         "1:28: step2.needs: in a list each task needs the one before it: write the tasks as a mapping (name: task) to say it otherwise"},
        {"tasks: {a: {run: x, needs: on_exit}}\non_exit: x",
         "1:28: tasks.a.needs: there is no task \"on_exit\""},
        {"tasks: {a: {run: x, needs: {b: c}}}",
         "1:28: tasks.a.needs: a text is expected, not a mapping"},
    };

    check_all(list, COUNT(list));
}

TEST(circles_are_named_by_their_path)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, needs: b}, b: {run: x, needs: c}, c: {run: x, needs: a}}",
         "1:9: tasks need each other in a circle: a -> b -> c -> a"},
        {"tasks: {z: x, a: {run: x, needs: [z, b]}, b: {run: x, needs: a}, c: {run: x, needs: b},\n"
         "  d: {run: x, needs: e}, e: {run: x, needs: [c, d]}}",
         "1:15: tasks need each other in a circle: a -> b -> a\n"
         "2:3: tasks need each other in a circle: d -> e -> d"},
    };

    check_all(list, COUNT(list));
}

/* The walk meets it at c; it is told from its first task in the file on. */
TEST(a_circle_is_told_from_its_first_task_on)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, needs: c}, b: {run: x, needs: d}, c: {run: x, needs: d},\n"
         "  d: {run: x, needs: [b]}}",
         "1:32: tasks need each other in a circle: b -> d -> b"},
        {"tasks: {a: {run: x, needs: [b, c]}, b: {run: x, needs: a}, c: {run: x, needs: a}}",
         "1:9: tasks need each other in a circle: a -> b -> a"},
    };

    check_all(list, COUNT(list));
}

TEST(expressions_that_are_wrong)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, if: 1 +}}", "1:25: tasks.a.if: *"},
        {"tasks:\n  a:\n    run: x\n    env: {A: \"x ${{ foo }}\"}", "4:21: tasks.a.env.A: *"},
        {"tasks: {a: {argv: ['${{ 1 }', x]}}", "1:27: tasks.a.argv: *"},
        {"tasks: {a: {run: x, if: succes()}}", "1:25: tasks.a.if: *"},
        {"tasks:\n  a:\n    run: x\n    stdin: |\n      text\n      ${{ 1 / }}",
         "4:12: tasks.a.stdin: *"},
        {T "outputs: {a: [1, {b: '${{ ) }}'}]}", "2:27: outputs.a.b: *"},
    };

    check_all(list, COUNT(list));
}

TEST(what_expressions_speak_of_must_be_there)
{
    static const struct bad list[] = {
        {"params: {region: eu}\ntasks: {a: {run: x, env: {A: '${{ params.regoin }}'}}}",
         "2:35: tasks.a.env.A: there is no param \"regoin\": did you mean \"region\"?"},
        {"env: {REGION: eu}\nvars: {limit: 3}\ntasks:\n  a:\n    run: x\n"
         "    if: env.REGON == 'eu' && vars.limt > 2",
         "6:9: tasks.a.if: there is no variable in env called \"REGON\": did you mean \"REGION\"?\n"
         "6:30: tasks.a.if: there is no variable in vars called \"limt\": did you mean \"limit\"?"},
        {"tasks: {a: x, b: {run: x, if: tasks.a.status == 'ok'}}",
         "1:31: tasks.b.if speaks of the task \"a\", which \"b\" does not need: add it to needs"},
        {"tasks: {a: x, b: {run: x, needs: a, if: tasks.aa.status == 'ok'}}",
         "1:41: tasks.b.if: there is no task \"aa\": did you mean \"a\"?"},
        {"tasks: {a: {run: x, if: tasks.a.status == 'ok'}}",
         "1:25: tasks.a.if: \"a\" can't speak of itself"},
        {"tasks: {a: x, b: {run: x, needs: a}, c: {run: x, needs: b, if: tasks.a.status == 'x'},\n"
         "  d: {run: x, if: tasks.c.status == 'x'}}",
         "2:19: tasks.d.if speaks of the task \"c\", which \"d\" does not need: add it to needs"},
        {"tasks: {a: {run: x, outputs: [files]}, b: {run: x, needs: a, "
         "if: 'tasks.a.outputs.fiels && default(tasks.a.outputs.other, true)'}}",
         "1:67: tasks.b.if: there is no output of the task \"a\" called \"fiels\": did you mean \"files\"?"},
        {"tasks: {a: x, b: {run: x, needs: a, if: tasks.a.state == 'x'}}",
         "1:41: tasks.b.if: a task has no \"state\"; there are: status, outputs"},
        {"tasks: {a: {run: x, foreach: 3}, b: {run: x, needs: a, if: tasks.a.outputs.x}}",
         "1:60: tasks.b.if: the outputs of \"a\" are a list, one for each of its items: tasks.a.outputs[0].outputs.x"},
        {"tasks: {a: {run: x, env: {A: '${{ item }}'}}}",
         "1:35: tasks.a.env.A: item is known only in a task with foreach"},
        {"tasks: {a: {run: x, foreach: 3, env: {A: '${{ item }}'}, if: index > 1}}",
         "1:62: tasks.a.if: index is not known here: it is worked out once, before there are items"},
        {"tasks: {a: {run: x, foreach: '${{ range(index) }}'}}",
         "1:41: tasks.a.foreach: index is not known here: it is worked out once, before there are items"},
        {T "env: {A: '${{ env.B }}', B: '${{ tasks.a.status }}'}\nvars: {c: '${{ vars.d }}'}",
         "2:15: env.A: env is not known here\n"
         "2:34: env.B: tasks is not known here\n"
         "3:16: vars.c: vars is not known here"},
        {T "outputs: {x: '${{ tasks.b.status }}', y: '${{ success() }}', z: '${{ item }}'}",
         "2:19: outputs.x: there is no task \"b\"\n"
         "2:43: outputs.y: only a task can ask how its needs ended\n"
         "2:70: outputs.z: item is known only in a task with foreach"},
        {T "defaults: {env: {A: '${{ tasks.a.status }}', B: '${{ item }}'}}",
         "2:26: defaults.env.A: tasks is not known here\n"
         "2:54: defaults.env.B: item is known only in a task with foreach"},
        {T "outputs: {x: '${{ workflow.nam }}', y: '${{ execution.idd }}'}",
         "2:19: outputs.x: workflow has no \"nam\"; there are: name, hash\n"
         "2:45: outputs.y: execution has no \"idd\"; there are: id, name, root, due_at"},
        {T "on_exit: {run: x, env: {A: '${{ tasks.b.status }} ${{ tasks.a.status }}'}}",
         "2:33: on_exit.env.A: there is no task \"b\""},
        {"tasks: [x, {run: y, if: tasks.step1.status == 'x' && tasks.step3.status == 'x'}]",
         "1:54: step2.if: there is no task \"step3\": did you mean \"step1\"?"},
    };

    check_all(list, COUNT(list));
}

TEST(params_and_their_defaults)
{
    static const struct bad list[] = {
        {T "params: {a: {type: text}}",
         "2:20: params.a.type: string, number, integer, boolean, list or object is expected, not 'text'"},
        {T
         "params: {a: {type: integer, default: x}, b: {type: string, default: 3}, c: {type: "
         "number, default: true}, d: {type: list, default: x}, e: {type: object, default: []}, f: "
         "{type: boolean, default: 1}}",
         "2:38: params.a.default: a whole number is expected, not 'x'\n"
         "2:69: params.b.default: a string (put it in quotes) is expected, not 3\n"
         "2:100: params.c.default: a number is expected, not true\n"
         "2:132: params.d.default: a list is expected, not 'x'\n"
         "2:163: params.e.default: a mapping is expected, not a list\n"
         "2:196: params.f.default: true or false is expected, not 1"},
        {T "params: {a: {required: true, default: 1}}",
         "2:39: params.a has a default, so it is never missing: leave out required, or the default"},
        {T "params: {a-b: 1, PAWL_X: 2}",
         "2:10: params.a-b: a name of letters, digits and _ that does not begin with PAWL_ is expected, not 'a-b'\n"
         "2:18: params.PAWL_X: a name of letters, digits and _ that does not begin with PAWL_ is expected, not 'PAWL_X'"},
        {T "params: {a: '${{ x }}'}", "2:13: params.a can't hold ${{ }}: it is taken as it is"},
        {T "params: [a]", "2:9: params: a mapping (key: value) is expected, not a list"},
    };

    check_all(list, COUNT(list));
}

TEST(schedules_that_never_come)
{
    static const struct bad list[] = {
        {T "on: {schedule: '61 * * * *'}", "2:16: on.schedule: *"},
        {T "on: {schedule: {tz: Europe/Berlin}}", "2:16: on.schedule has no cron: when is it due?"},
        {T "on: {schedule: [{cron: '@daily', tz: Europe/Berlni}]}", "2:38: on.schedule.tz: *"},
        {T "on: {schedule: [{cron: '@daily', catchup: first, overlap: both}]}",
         "2:43: on.schedule.catchup: a duration such as 6h, or last, is expected, not 'first'\n"
         "2:59: on.schedule.overlap: skip, queue or allow is expected, not 'both'"},
        {T "on: {schedule: [{cron: '@daily', catchup: 999d}]}",
         "2:43: on.schedule.catchup: a duration from 1s to 365d is expected, not '999d'"},
        {T "params: {d: {required: true}, e: 1}\non: {schedule: [{cron: '@daily', with: {f: 1, e: "
           "x}}]}",
         "3:40: on.schedule.with: the workflow f requires the param \"d\"\n"
         "3:41: on.schedule.with: the workflow f has no param \"f\"\n"
         "3:50: on.schedule.with.e: a whole number is expected, not 'x'"},
        {T "on: {schedule: [{cron: '0 0 30 2 *'}]}", "2:24: on.schedule.cron: *"},
        {T "on: {schedule: [{cron: '@daily', start: 1999, jitter: 2d}]}",
         "2:41: on.schedule.start: a time after 1970 such as 2026-01-31 or 2026-01-31T14:00:00Z is "
         "expected, not 1999\n"
         "2:55: on.schedule.jitter: a duration from 1ms to 1d is expected, not '2d'"},
        {T "on: {schedule: [{cron: '@daily', start: 2026-02-01, end: 2026-01-31}]}",
         "2:58: on.schedule: it ends before it starts"},
        {T "on: {schedule: [{cron: '@daily', name: a}, {cron: '@hourly', name: a}]}",
         "2:68: on.schedule: another one is called a"},
    };

    check_all(list, COUNT(list));
}

TEST(a_name_has_at_most_100_characters)
{
    char text[200], *said;

    snprintf(text, sizeof(text), "tasks: {%0100d: x}", 0);
    text[8] = 'a';
    said = problems_of(text, strlen(text));
    CHECK_STR(said, "");
    free(said);
    snprintf(text, sizeof(text), "tasks: {%0101d: x}", 0);
    text[8] = 'a';
    said = problems_of(text, strlen(text));
    CHECK(strstr(said, "1:9: the name of a task: a letter or _, then up to 99 letters"));
    free(said);
}

/* ---- files ---- */

static void write_file(const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
    f = fopen(path, "we");
    CHECK(f);
    fputs(text, f);
    CHECK_EQ(fclose(f), 0);
}

/* As `pawl validate` shows it, with the test's folder left out. */
static void check_file(const char *name, int code, const char *said)
{
    struct problems problems = PROBLEMS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf all = BUF_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    char path[512];
    size_t i;

    snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
    CHECK_EQ(workflow_load(path, &problems, &arena, &w, &err), code);
    for (i = 0; i < problems.list.n; i++) {
        const struct problem *p = &problems.list.at[i];
        const char *at;

        CHECK(!strncmp(p->source->name, test_dir(), strlen(test_dir())));
        buf_addf(&all, "%s%s:%u:%u: ", i ? "\n" : "", p->source->name + strlen(test_dir()) + 1,
                 p->line, p->column);
        for (at = p->sentence; *at;)
            if (!strncmp(at, test_dir(), strlen(test_dir())))
                at += strlen(test_dir()) + 1;
            else
                buf_addch(&all, *at++);
    }
    CHECK_STR(buf_cstr(&all), said);
    if (!problems.count && code)
        CHECK(err.msg[0]);
    buf_release(&all);
    arena_release(&arena);
    problems_release(&problems);
}

TEST(a_file_that_is_not_there)
{
    check_file("none.flow.yaml", -E_NOT_FOUND, "");
    check_file("", -E_INVALID, ""); /* a folder */
    write_file("f.flow.yaml", "tasks: {a: {workflow: none.flow.yaml}, b: {workflow: .}}");
    check_file("f.flow.yaml", -E_INVALID,
               "f.flow.yaml:1:23: tasks.a.workflow: none.flow.yaml can't be read: No such file or "
               "directory\n"
               "f.flow.yaml:1:54: tasks.b.workflow: . can't be read: Is a directory");
}

TEST(a_file_whose_name_can_not_be_that_of_a_workflow)
{
    write_file("1.yaml", "tasks: [x]");
    check_file("1.yaml", -E_INVALID,
               "1.yaml:1:1: the workflow has no name, and that of its file can't be one: begin "
               "with name: NAME");
    write_file("2.yaml", "name: two\ntasks: [x]");
    check_file("2.yaml", 0, "");
}

TEST(what_is_wrong_with_a_nested_file_is_said_once_and_there)
{
    char folder[512];

    snprintf(folder, sizeof(folder), "%s/sub", test_dir());
    CHECK_EQ(mkdir(folder, 0700), 0);
    write_file("f.flow.yaml", "tasks: {a: {workflow: sub/g.yaml}, b: {workflow: ./sub/g.yaml}}");
    write_file("sub/g.yaml", "tasks: {c: {workflow: h.yaml}}");
    write_file("sub/h.yaml", "tasks: {d: {run: x, retyr: 1}}");
    check_file("f.flow.yaml", -E_INVALID,
               "sub/h.yaml:1:21: there is no key \"retyr\" in tasks.d: did you mean \"retry\"?");
    write_file("sub/h.yaml", "tasks: {d: {run: x, retry: 1}}");
    check_file("f.flow.yaml", 0, "");
}

TEST(files_that_nest_each_other_are_named_by_their_path)
{
    char from[512];

    write_file("a.flow.yaml", "tasks: {a: {workflow: b.flow.yaml}}");
    write_file("b.flow.yaml", "tasks: {b: x}\non_exit: {workflow: c.flow.yaml}");
    write_file("c.flow.yaml", "tasks: {c: {workflow: link.flow.yaml}, d: {workflow: a.flow.yaml}}");
    snprintf(from, sizeof(from), "%s/link.flow.yaml", test_dir());
    CHECK_EQ(symlink("b.flow.yaml", from), 0); /* the same file by another name */
    check_file(
        "a.flow.yaml", -E_INVALID,
        "c.flow.yaml:1:23: tasks.c.workflow: a workflow can't be part of itself: b.flow.yaml "
        "-> c.flow.yaml -> b.flow.yaml\n"
        "c.flow.yaml:1:54: tasks.d.workflow: a workflow can't be part of itself: a.flow.yaml "
        "-> b.flow.yaml -> c.flow.yaml -> a.flow.yaml");
}

TEST(workflows_nested_too_deep)
{
    char name[32], text[128];
    int i;

    for (i = 0; i <= WORKFLOW_MAX_DEPTH; i++) {
        snprintf(name, sizeof(name), "w%d.yaml", i);
        snprintf(text, sizeof(text), "tasks: {a: {workflow: w%d.yaml}}", i + 1);
        write_file(name, i == WORKFLOW_MAX_DEPTH ? "tasks: [x]" : text);
    }
    check_file("w1.yaml", 0, "");
    check_file("w0.yaml", -E_INVALID,
               "w31.yaml:1:23: tasks.a.workflow: at most 1000 workflows may be nested, at most 32 "
               "deep");
}

TEST(many_workflows_side_by_side_are_not_deep)
{
    struct buf top = BUF_INIT;
    char name[32];
    int i;

    buf_addstr(&top, "tasks:\n");
    for (i = 0; i < 2 * WORKFLOW_MAX_DEPTH; i++) {
        snprintf(name, sizeof(name), "w%d.yaml", i);
        write_file(name, "tasks: [x]");
        buf_addf(&top, "  t%d: {workflow: %s}\n", i, name);
    }
    write_file("top.yaml", top.ptr);
    check_file("top.yaml", 0, "");
    buf_release(&top);
}

TEST(values_for_a_nested_workflow_are_checked_against_its_params)
{
    write_file("child.yaml", "params: {day: {required: true}, n: 3, list: {type: list}}\n"
                             "tasks: {a: {run: x, outputs: file}}\n"
                             "outputs: {file: '${{ tasks.a.outputs.file }}'}");
    write_file("f.yaml",
               "params: {p: x}\n"
               "tasks:\n"
               "  a: {workflow: child.yaml}\n"
               "  b: {workflow: child.yaml, with: {dya: x, n: x, list: '${{ 1 }}'}}\n"
               "  c: {workflow: child.yaml, with: {day: '${{ params.p }}', n: 4}}\n"
               "  d: {run: x, needs: c, if: tasks.c.outputs.flie}\n"
               "  e: {workflow: child.yaml, with: {day: x}, env: {A: b}, retry: 3, cwd: x}\n");
    check_file(
        "f.yaml", -E_INVALID,
        "f.yaml:3:3: tasks.a.with: the workflow child requires the param \"day\"\n"
        "f.yaml:4:35: tasks.b.with: the workflow child requires the param \"day\"\n"
        "f.yaml:4:36: tasks.b.with: the workflow child has no param \"dya\": did you mean "
        "\"day\"?\n"
        "f.yaml:4:47: tasks.b.with.n: a whole number is expected, not 'x'\n"
        "f.yaml:6:29: tasks.d.if: there is no output of the task \"c\" called \"flie\": did you "
        "mean \"file\"?\n"
        "f.yaml:7:45: tasks.e.env has no meaning for a nested workflow: pass values by with\n"
        "f.yaml:7:58: tasks.e.retry has no meaning for a nested workflow\n"
        "f.yaml:7:68: tasks.e.cwd has no meaning for a nested workflow");
}

/* ---- too much of it ---- */

/* Wrong files are refused fast, however large they are. Processor time: others may use it, too. */
static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifdef __SANITIZE_ADDRESS__
#define LONGEST 60
#else
#define LONGEST 10
#endif

static char *fast(const struct buf *text)
{
    double from = seconds();
    char *said = problems_of(text->ptr, text->len);

    CHECK(seconds() - from < LONGEST);
    return said;
}

TEST(a_hundred_thousand_tasks_and_one_more)
{
    struct buf b = BUF_INIT;
    char *said;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i <= WORKFLOW_MAX_TASKS; i++)
        buf_addf(&b, "  t%d: x\n", i);
    said = fast(&b);
    CHECK_STR(said, "2:3: tasks: there are 100001; at most 100000 are taken");
    free(said);
    buf_release(&b);
}

TEST(a_circle_of_a_hundred_thousand_tasks)
{
    struct buf b = BUF_INIT;
    char *said;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i < WORKFLOW_MAX_TASKS; i++)
        buf_addf(&b, "  t%d: {run: x, needs: t%d}\n", i, (i + 1) % WORKFLOW_MAX_TASKS);
    said = fast(&b);
    CHECK(strstr(said, "2:3: tasks need each other in a circle: t0 -> t1 -> "));
    CHECK(strstr(said, " -> … 99981 more … -> t99990 -> "));
    CHECK(!strcmp(said + strlen(said) - 12, "t99999 -> t0"));
    free(said);
    buf_release(&b);
}

TEST(a_hundred_thousand_tasks_that_speak_of_one_far_behind_or_not)
{
    struct buf b = BUF_INIT;
    char *said;
    int i;

    /* Two chains; each task speaks of one long before it, the last one of the other chain's. */
    buf_addstr(&b, "tasks:\n  a0: x\n  b0: x\n");
    for (i = 1; i < 30000; i++)
        buf_addf(&b,
                 "  a%d: {run: x, needs: a%d, if: tasks.a%d.status != ''}\n"
                 "  b%d: {run: x, needs: b%d, if: tasks.%s%d.status != ''}\n",
                 i, i - 1, i > 20 ? i / 2 : 0, i, i - 1, i == 29999 ? "a" : "b",
                 i > 20 ? i - 20 : 0);
    said = fast(&b);
    CHECK_STR(said,
              "60001:39: tasks.b29999.if speaks of the task \"a29979\", which \"b29999\" does "
              "not need: add it to needs");
    free(said);
    buf_release(&b);
}

TEST(a_few_aliases_that_stand_for_very_much)
{
    struct buf b = BUF_INIT;
    char *said;
    int i;

    buf_addstr(&b, "vars:\n  a: &a '");
    for (i = 0; i < 500000; i++)
        buf_addch(&b, 'x');
    buf_addstr(&b, "'\n  b: &b [");
    for (i = 0; i < 1000; i++)
        buf_addstr(&b, "*a,");
    buf_addstr(&b, "]\n  c: [");
    for (i = 0; i < 1000; i++)
        buf_addstr(&b, "*b,");
    buf_addstr(&b, "]\ntasks: [x]\n");
    said = fast(&b);
    CHECK(strstr(said, "the workflow has more than 32 MB of text"));
    free(said);
    buf_release(&b);
}

TEST(defaults_that_make_each_of_many_tasks_large)
{
    struct buf b = BUF_INIT;
    char *said;
    int i;

    buf_addstr(&b, "defaults: {container: {options: [");
    for (i = 0; i < 1000; i++)
        buf_addf(&b, "--very-long-option=%d,", i);
    buf_addstr(&b, "]}}\ntasks:\n");
    for (i = 0; i < 50000; i++)
        buf_addf(&b, "  t%d: x\n", i);
    said = fast(&b);
    CHECK(strstr(said, "the workflow has more than 32 MB of text"));
    free(said);
    buf_release(&b);
}

TEST(every_line_of_many_is_wrong)
{
    struct buf b = BUF_INIT;
    char *said;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i < WORKFLOW_MAX_TASKS; i++)
        buf_addf(&b, "  t%d: {rnu: x, needs: tt%d, env: {A: '${{ params.x }}'}}\n", i, i);
    said = fast(&b);
    CHECK(strstr(said, "2:8: there is no key \"rnu\" in tasks.t0: did you mean \"run\"?"));
    free(said);
    buf_release(&b);
}
