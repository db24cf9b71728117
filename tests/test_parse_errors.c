/* test_parse_errors.c - errors in workflow files: the sentence and its location. Values of the
 * wrong type or size: test_parse_value_errors.c; missing and nested files:
 * test_parse_file_errors.c. */
#include "parse_fixture.h"

TEST_NO_DB;

TEST(unknown_or_misplaced_key_is_an_error)
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
        {"tasks: {a: {run: x}, a: {run: y}}", "1:22: the key \"a\" is already defined in line 1"},
        /* names that other tools use */
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

TEST(task_without_exactly_one_action_is_an_error)
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

TEST(expression_in_shell_text_is_an_error)
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

TEST(invalid_task_name_is_an_error)
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

TEST(invalid_need_is_an_error)
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
         "1:28: tasks.a.needs: a string is expected, not a mapping"},
    };

    check_all(list, COUNT(list));
}

TEST(cycle_is_reported_with_its_path)
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

/* The search may enter the cycle at any of its tasks. */
TEST(cycle_path_starts_at_its_first_task_in_the_file)
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

TEST(malformed_expression_is_an_error_at_its_location)
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

TEST(unknown_name_in_an_expression_is_an_error)
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

TEST(invalid_param_or_default_is_an_error)
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

TEST(invalid_schedule_is_an_error)
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

TEST(task_name_longer_than_100_characters_is_an_error)
{
    char text[200], *errors;

    snprintf(text, sizeof(text), "tasks: {%0100d: x}", 0);
    text[8] = 'a';
    errors = diagnostics_of(text, strlen(text));
    CHECK_STR(errors, "");
    free(errors);
    snprintf(text, sizeof(text), "tasks: {%0101d: x}", 0);
    text[8] = 'a';
    errors = diagnostics_of(text, strlen(text));
    CHECK(strstr(errors, "1:9: the name of a task: a letter or _, then up to 99 letters"));
    free(errors);
}
