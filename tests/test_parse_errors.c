/* test_parse_errors.c - errors in workflow files: the sentence and its location. Values of the
 * wrong type or size: test_parse_value_errors.c; missing and nested files:
 * test_parse_file_errors.c. */
#include "parse_fixture.h"

TEST_NO_DB;

TEST(unknown_or_misplaced_key_is_an_error)
{
    static const struct bad list[] = {
        {"taks: {a: x}", "1:1: there is no key \"taks\"; did you mean \"tasks\"?\n"
                         "1:1: the workflow has no tasks"},
        {"tasks: {a: {rnu: x}}",
         "1:9: tasks.a has nothing to run: exactly one of run, argv, function and workflow is required\n"
         "1:13: there is no key \"rnu\" in tasks.a; did you mean \"run\"?"},
        {"tasks: {a: {run: x, frobnicate: 1}}", "1:21: there is no key \"frobnicate\" in tasks.a"},
        {T "retries: 3", "2:1: there is no key \"retries\""},
        {T "defaults: {needs: a, retires: 3}",
         "2:12: defaults.needs can't be used in defaults\n"
         "2:22: there is no key \"retires\" in defaults; did you mean \"retry\"?"},
        {T "on_exit: {run: x, needs: a, foreach: [1]}",
         "2:19: on_exit.needs can't be used in a task that runs after all others\n"
         "2:29: on_exit.foreach can't be used in a task that runs after all others"},
        {"tasks: {a: {function: f, cwd: /x, container: c, stdin: x}}",
         "1:26: tasks.a.cwd can't be used with a function\n"
         "1:35: tasks.a.container can't be used with a function\n"
         "1:49: tasks.a.stdin can't be used with a function"},
        {T "on: {shedule: '@daily'}",
         "2:6: there is no key \"shedule\" in on; did you mean \"schedule\"?"},
        {T "params: {p: {typ: string}}",
         "2:14: there is no key \"typ\" in params.p; did you mean \"type\"?"},
        {"tasks: {a: {run: x, retry: {mx: 3}}}",
         "1:29: there is no key \"mx\" in tasks.a.retry; did you mean \"max\"?"},
        {"tasks: {a: {run: x}, a: {run: y}}", "1:22: the key \"a\" is already defined on line 1"},
        /* names that other tools use */
        {"jobs: {a: x}", "1:1: there is no key \"jobs\"; did you mean \"tasks\"?\n"
                         "1:1: the workflow has no tasks"},
        {T "schedule: '@daily'", "2:1: there is no key \"schedule\"; did you mean \"on\"?"},
        {"tasks: {a: {run: x, depends_on: b, continue-on-error: true, Environment: {A: b}}}",
         "1:21: there is no key \"depends_on\" in tasks.a; did you mean \"needs\"?\n"
         "1:36: there is no key \"continue-on-error\" in tasks.a; did you mean \"allow_failure\"?\n"
         "1:61: there is no key \"Environment\" in tasks.a; did you mean \"env\"?"},
        {"tasks: {a: {command: x}}",
         "1:9: tasks.a has nothing to run: exactly one of run, argv, function and workflow is required\n"
         "1:13: there is no key \"command\" in tasks.a; did you mean \"run\"?"},
        {T "on_exit: {run: x, depends: a}", "2:19: there is no key \"depends\" in on_exit"},
    };

    check_all(list, COUNT(list));
}

TEST(task_without_exactly_one_action_is_an_error)
{
    static const struct bad list[] = {
        {"tasks: {a: {needs: []}}",
         "1:9: tasks.a has nothing to run: exactly one of run, argv, function and workflow is required"},
        {"tasks: {a: {run: x, argv: [y]}}",
         "1:9: tasks.a has both run and argv: exactly one of run, argv, function and workflow is required"},
        {"tasks: {a: {function: f, workflow: g.yaml}}",
         "1:9: tasks.a has both function and workflow: exactly one of run, argv, function and workflow is required\n"
         "1:36: tasks.a.workflow: g.yaml can't be read: No such file or directory"},
        {T "on_failure: {timeout: 1s}",
         "2:13: on_failure has nothing to run: exactly one of run, argv, function and workflow is required"},
    };

    check_all(list, COUNT(list));
}

TEST(task_without_a_command_needs_a_custom_executor)
{
    static const struct bad list[] = {
        {"tasks: {a: {executor: process, with: {n: 1}}}",
         "1:23: tasks.a has nothing to run: the executor process runs commands, so run or argv is "
         "required"},
        {"tasks: {a: {executor: container}}",
         "1:23: tasks.a has nothing to run: the executor container runs commands, so run or argv is "
         "required"},
        {"tasks: {a: {executor: function, with: {n: 1}}}",
         "1:23: tasks.a names the executor function, but no function: write `function: NAME` "
         "instead"},
        {"tasks: {a: {executor: 'function:f'}}",
         "1:23: tasks.a names the executor function:f, but no function: write `function: NAME` "
         "instead"},
        {"tasks: {a: {executor: [gpu]}}",
         "1:23: tasks.a.executor: a string is expected, not a list"},
        {T "on_exit: {executor: process}",
         "2:21: on_exit has nothing to run: the executor process runs commands, so run or argv is "
         "required"},
        /* the executor of the defaults does not replace a command */
        {"defaults: {executor: gpu}\ntasks: {a: {with: {n: 1}}}",
         "2:9: tasks.a has nothing to run: exactly one of run, argv, function and workflow is required"},
        {"tasks: {a: {executor: gpu, env: {A: b}, cwd: /x, container: c, shell: sh}}",
         "1:28: tasks.a.env can't be used without run or argv: pass values to the executor in `with`\n"
         "1:41: tasks.a.cwd can't be used without run or argv: pass values to the executor in `with`\n"
         "1:50: tasks.a.container can't be used without run or argv: pass values to the executor in "
         "`with`\n"
         "1:64: tasks.a.shell can't be used without run or argv: pass values to the executor in "
         "`with`"},
        {"tasks: {a: {executor: gpu, command: x}}",
         "1:28: there is no key \"command\" in tasks.a; did you mean \"run\"?"},
        {"tasks: {a: {executor: gpu, with: {n: '${{ item }}'}}}",
         "1:43: tasks.a.with.n: item is available only in a task with foreach"},
    };

    check_all(list, COUNT(list));
}

TEST(expression_in_shell_text_is_an_error)
{
    static const struct bad list[] = {
        {"tasks:\n  a:\n    run: echo ${{ params.x }}",
         "3:10: tasks.a.run contains ${{ }}, but values are never inserted into shell text, where they could run as commands; pass the value in env (env: {X: \"${{ … }}\"}) and write \"$X\"; params are environment variables already"},
        {T "on_exit: echo ${{ x }}",
         "2:10: on_exit contains ${{ }}, but values are never inserted into shell text, where they could run as commands; pass the value in env (env: {X: \"${{ … }}\"}) and write \"$X\"; params are environment variables already"},
        {"tasks: ['a $${{ x }}']",
         "1:9: step1 contains ${{ }}, but values are never inserted into shell text, where they could run as commands; pass the value in env (env: {X: \"${{ … }}\"}) and write \"$X\"; params are environment variables already"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_task_name_is_an_error)
{
    static const struct bad list[] = {
        {"tasks: {1a: x, a b: x, -a: x, 'ä': x, on_exit: x, on_failure: x}",
         "1:9: task name: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not '1a'\n"
         "1:16: task name: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not 'a b'\n"
         "1:24: task name: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not '-a'\n"
         "1:31: task name: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not 'ä'\n"
         "1:39: a task can't be named on_exit: that key belongs next to tasks, not inside it\n"
         "1:51: a task can't be named on_failure: that key belongs next to tasks, not inside it"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_needs_or_join_is_an_error)
{
    static const struct bad list[] = {
        {"tasks:\n  fetch: x\n  b: {run: x, needs: fecth}",
         "3:22: tasks.b.needs: there is no task \"fecth\"; did you mean \"fetch\"?"},
        {"tasks: {a: {run: x, needs: a}}", "1:28: tasks.a.needs: the task \"a\" can't need itself"},
        {"tasks: {a: x, b: {run: x, needs: [a, zzzz, a]}, c: {run: x, needs: [a, b, a]}}",
         "1:38: tasks.b.needs: there is no task \"zzzz\"\n"
         "1:68: tasks.c.needs: \"a\" is listed twice"},
        {"tasks: {a: x, b: {run: x, needs: [a], join: 2}, c: {run: x, join: any}}",
         "1:45: tasks.b.join: the task has only 1 need\n"
         "1:67: tasks.c.join: the task has only 0 needs"},
        {"tasks: {a: x, b: {run: x, needs: a, join: 0}, c: {run: x, needs: a, join: most}}",
         "1:43: tasks.b.join: a whole number from 1 to 100000 is expected, not 0\n"
         "1:75: tasks.c.join: all, any or a number of needs is expected, not 'most'"},
        {"tasks: [x, {run: y, needs: step1}]",
         "1:28: step2.needs: in a list, each task needs the one before it; write tasks as a mapping (name: task) to set other needs"},
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
         "1:9: tasks need each other in a cycle: a -> b -> c -> a"},
        {"tasks: {z: x, a: {run: x, needs: [z, b]}, b: {run: x, needs: a}, c: {run: x, needs: b},\n"
         "  d: {run: x, needs: e}, e: {run: x, needs: [c, d]}}",
         "1:15: tasks need each other in a cycle: a -> b -> a\n"
         "2:3: tasks need each other in a cycle: d -> e -> d"},
    };

    check_all(list, COUNT(list));
}

/* The search may enter the cycle at any of its tasks. */
TEST(cycle_path_starts_at_its_first_task_in_the_file)
{
    static const struct bad list[] = {
        {"tasks: {a: {run: x, needs: c}, b: {run: x, needs: d}, c: {run: x, needs: d},\n"
         "  d: {run: x, needs: [b]}}",
         "1:32: tasks need each other in a cycle: b -> d -> b"},
        {"tasks: {a: {run: x, needs: [b, c]}, b: {run: x, needs: a}, c: {run: x, needs: a}}",
         "1:9: tasks need each other in a cycle: a -> b -> a"},
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
         "2:35: tasks.a.env.A: there is no param \"regoin\"; did you mean \"region\"?"},
        {"env: {REGION: eu}\nvars: {limit: 3}\ntasks:\n  a:\n    run: x\n"
         "    if: env.REGON == 'eu' && vars.limt > 2",
         "6:9: tasks.a.if: env has no variable \"REGON\"; did you mean \"REGION\"?\n"
         "6:30: tasks.a.if: vars has no variable \"limt\"; did you mean \"limit\"?"},
        {"tasks: {a: x, b: {run: x, if: tasks.a.status == 'ok'}}",
         "1:31: tasks.b.if refers to the task \"a\", which \"b\" does not need: add it to needs"},
        {"tasks: {a: x, b: {run: x, needs: a, if: tasks.aa.status == 'ok'}}",
         "1:41: tasks.b.if: there is no task \"aa\"; did you mean \"a\"?"},
        {"tasks: {a: {run: x, if: tasks.a.status == 'ok'}}",
         "1:25: tasks.a.if: \"a\" can't refer to itself"},
        {"tasks: {a: x, b: {run: x, needs: a}, c: {run: x, needs: b, if: tasks.a.status == 'x'},\n"
         "  d: {run: x, if: tasks.c.status == 'x'}}",
         "2:19: tasks.d.if refers to the task \"c\", which \"d\" does not need: add it to needs"},
        {"tasks: {a: {run: x, outputs: [files]}, b: {run: x, needs: a, "
         "if: 'tasks.a.outputs.fiels && default(tasks.a.outputs.other, true)'}}",
         "1:67: tasks.b.if: the task \"a\" has no output \"fiels\"; did you mean \"files\"?"},
        {"tasks: {a: x, b: {run: x, needs: a, if: tasks.a.state == 'x'}}",
         "1:41: tasks.b.if: a task has no field \"state\"; its fields are: status, outputs, error"},
        {"params: {p: a}\n"
         "tasks: {a: x, b: {run: x, needs: a, with: {t: '${{ toJSON(tasks) }}'},\n"
         "  if: \"tasks[params.p].status == 'x' && default(keys(tasks), []) == []\"}}\n"
         "outputs: {n: '${{ keys(tasks) }}', m: '${{ tasks[params.p].error }}'}\n"
         "on_exit: {run: x, env: {A: '${{ toJSON(tasks) }}'}}",
         "2:59: tasks.b.with.t: tasks can be used as a whole, or with a computed name, only in on_failure, on_exit and outputs; write tasks.NAME here\n3:8: tasks.b.if: tasks can be used as a whole, or with a computed name, only in on_failure, on_exit and outputs; write tasks.NAME here\n3:54: tasks.b.if: tasks can be used as a whole, or with a computed name, only in on_failure, on_exit and outputs; write tasks.NAME here"},
        {"tasks: {a: {run: x, env: {S: '${{ workflow.status }}'}}}\n"
         "on_failure: {run: x, env: {S: '${{ workflow.status }}${{ workflow.error }}'}}\n"
         "outputs: {s: '${{ workflow.error }}'}",
         "1:35: tasks.a.env.S: workflow has no field \"status\"; its fields are: name, hash\n"
         "3:19: outputs.s: workflow has no field \"error\"; its fields are: name, hash"},
        {"tasks: {a: {run: x, foreach: 3}, b: {run: x, needs: a, if: tasks.a.outputs.x}}",
         "1:60: tasks.b.if: the outputs of \"a\" are a list with one entry per item; write, for example, tasks.a.outputs[0].outputs.x"},
        {"tasks: {a: {run: x, env: {A: '${{ item }}'}}}",
         "1:35: tasks.a.env.A: item is available only in a task with foreach"},
        {"tasks: {a: {run: x, foreach: 3, env: {A: '${{ item }}'}, if: index > 1}}",
         "1:62: tasks.a.if: index is not available here, because this expression is evaluated once, before the items exist"},
        {"tasks: {a: {run: x, foreach: '${{ range(index) }}'}}",
         "1:41: tasks.a.foreach: index is not available here, because this expression is evaluated once, before the items exist"},
        {T "env: {A: '${{ env.B }}', B: '${{ tasks.a.status }}'}\nvars: {c: '${{ vars.d }}'}",
         "2:15: env.A: env is not available here\n"
         "2:34: env.B: tasks is not available here\n"
         "3:16: vars.c: vars is not available here"},
        {T "outputs: {x: '${{ tasks.b.status }}', y: '${{ success() }}', z: '${{ item }}'}",
         "2:19: outputs.x: there is no task \"b\"\n"
         "2:43: outputs.y: status functions such as success() can be used only in a task\n"
         "2:70: outputs.z: item is available only in a task with foreach"},
        {T "defaults: {env: {A: '${{ tasks.a.status }}', B: '${{ item }}'}}",
         "2:26: defaults.env.A: tasks is not available here\n"
         "2:54: defaults.env.B: item is available only in a task with foreach"},
        {T "outputs: {x: '${{ workflow.nam }}', y: '${{ execution.idd }}'}",
         "2:19: outputs.x: workflow has no field \"nam\"; its fields are: name, hash\n"
         "2:45: outputs.y: execution has no field \"idd\"; its fields are: id, name, root, due_at"},
        {T "on_exit: {run: x, env: {A: '${{ tasks.b.status }} ${{ tasks.a.status }}'}}",
         "2:33: on_exit.env.A: there is no task \"b\""},
        {"tasks: [x, {run: y, if: tasks.step1.status == 'x' && tasks.step3.status == 'x'}]",
         "1:54: step2.if: there is no task \"step3\"; did you mean \"step1\"?"},
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
         "2:39: params.a has a default, so it can't be required: remove required or the default"},
        {T "params: {a-b: 1, PAWL_X: 2}",
         "2:10: params.a-b: a name of letters, digits and _ that does not start with PAWL_ is expected, not 'a-b'\n"
         "2:18: params.PAWL_X: a name of letters, digits and _ that does not start with PAWL_ is expected, not 'PAWL_X'"},
        {T "params: {a: '${{ x }}'}",
         "2:13: params.a can't contain ${{ }}: the value is used as written"},
        {T "params: [a]", "2:9: params: a mapping (key: value) is expected, not a list"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_schedule_is_an_error)
{
    static const struct bad list[] = {
        {T "on: {schedule: '61 * * * *'}", "2:16: on.schedule: *"},
        {T "on: {schedule: {tz: Europe/Berlin}}",
         "2:16: on.schedule has no cron: add one, such as cron: \"0 2 * * *\""},
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
         "2:58: on.schedule: end must be after start"},
        {T "on: {schedule: [{cron: '@daily', name: a}, {cron: '@hourly', name: a}]}",
         "2:68: on.schedule: two schedules are named a"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_trigger_by_another_workflow_is_an_error)
{
    static const struct bad list[] = {
        {T "on: {workflow: 9a}",
         "2:16: on.workflow: a letter or _ followed by up to 99 letters, digits, _ or -, is expected, not '9a'"},
        {T "on: {workflow: {status: failed}}",
         "2:16: on.workflow has no name: add the name of the other workflow"},
        {T "on: {workflow: {name: b, status: success}}",
         "2:34: on.workflow.status: succeeded, failed, timed_out, cancelled or any is expected, "
         "not 'success'"},
        {T "on: {workflow: {name: b, state: failed}}",
         "2:26: there is no key \"state\" in on.workflow; did you mean \"status\"?"},
        {T "on: {workflow_run: b}",
         "2:6: there is no key \"workflow_run\" in on; did you mean \"workflow\"?"},
        {T "name: f\non: {workflow: f}",
         "3:16: on.workflow: a workflow can't start itself when it ends; schedule it, or repeat the "
         "work inside one run"},
        {T "params: {d: 1}\non: {workflow: {name: b, with: {d: '${{ trigger.output }}', e: 1}}}",
         "3:41: on.workflow.with.d: trigger has no field \"output\"; its fields are: workflow, "
         "execution, status, error, params, outputs\n"
         "3:61: on.workflow.with: the workflow f has no param \"e\""},
        {T "params: {d: 1}\non: {workflow: {name: b, with: {d: '${{ params.d }}'}}}",
         "3:41: on.workflow.with.d: params is not available here"},
        {"tasks: {a: {argv: [x, '${{ trigger.status }}']}}", "1:*"},
    };

    check_all(list, COUNT(list));
}

TEST(invalid_trigger_by_a_webhook_is_an_error)
{
    static const struct bad list[] = {
        {T "on: {webhook: a/b}",
         "2:15: on.webhook: a letter or _ followed by up to 99 letters, digits, _ or -, is "
         "expected, not 'a/b'"},
        {T "on: {webhook: {with: {}}}",
         "2:15: on.webhook has no name: add one, such as name: push"},
        {T "on: {webhook: [a, a]}", "2:19: on.webhook: the webhook a is listed twice"},
        {T "on: {webhok: a}", "2:6: there is no key \"webhok\" in on; did you mean \"webhook\"?"},
        {T "params: {d: 1}\non: {webhook: {name: b, with: {d: '${{ trigger.payload }}'}}}",
         "3:40: on.webhook.with.d: trigger has no field \"payload\"; its fields are: hook, id, "
         "headers, body"},
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
    CHECK(strstr(errors, "1:9: task name: a letter or _ followed by up to 99 letters"));
    free(errors);
}
