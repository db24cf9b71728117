/* test_shell.c - the key `shell`: which shell a task gets, and the command that results. */
#include "parse_fixture.h"

#include "core/resolve.h"
#include "core/spec.h"
#include "core/workflow/model.h"

#include <jansson.h>

TEST_NO_DB;

/* The spec of a task, as a turn makes it. */
static char *spec_of(const struct workflow *w, const char *task)
{
    json_t *variables = json_pack("{s:{}, s:{}}", "params", "vars");
    struct arena arena = ARENA_INIT;
    struct resolve_given g = {.templates = templates_parse(w, &arena),
                              .task = workflow_task(w, task),
                              .variables = variables};
    struct spec defaults = {.retry.jitter = -1};
    struct buf spec = BUF_INIT, input = BUF_INIT;
    struct resolve_scope scope;
    struct err err = ERR_INIT;
    char *text;

    CHECK_OK_ERR(resolve_scope(&g, &scope, &err), &err);
    CHECK_OK_ERR(resolve_task(&scope, &defaults, &spec, &input, &err), &err);
    resolve_scope_release(&scope);
    arena_release(&arena);
    json_decref(variables);
    text = mem_strdup(buf_cstr(&spec));
    buf_release(&spec);
    buf_release(&input);
    return text;
}

static void check_shell(const struct workflow *w, const char *task, const char *shell)
{
    char *spec = spec_of(w, task);
    json_t *doc = json_loads(spec, 0, NULL);
    char *found = json_dumps(json_object_get(doc, "shell"), JSON_COMPACT);

    CHECK_STR(found ? found : "none", shell);
    free(found);
    json_decref(doc);
    free(spec);
}

TEST(task_without_the_key_shell_gets_the_default_shell)
{
    struct fixture f = parse("tasks: {a: x, b: {function: f}, c: {argv: [x]}}\non_exit: y");

    check_shell(f.w, "a", "[\"/bin/sh\",\"-e\"]");
    check_shell(f.w, "on_exit", "[\"/bin/sh\",\"-e\"]");
    check_inverse(f.w);
    done(&f);
}

TEST(task_without_a_script_stores_no_shell)
{
    struct fixture f = parse("shell: bash\ntasks: {a: {function: f}, b: {argv: [x]}}");

    check_shell(f.w, "a", "none");
    check_shell(f.w, "b", "none");
    done(&f);
}

TEST(shell_of_a_task_overrides_defaults_which_override_the_workflow)
{
    struct fixture f = parse("shell: dash -e\n"
                             "tasks: {a: x, b: {run: x, shell: [python3, -c]}}\n"
                             "on_failure: {run: x, shell: bash}");

    check_shell(f.w, "a", "[\"dash\",\"-e\"]");
    check_shell(f.w, "b", "[\"python3\",\"-c\"]");
    check_shell(f.w, "on_failure", "[\"bash\"]");
    check_inverse(f.w);
    done(&f);
    f = parse("shell: dash -e\ndefaults: {shell: \"  bash   -euo  pipefail \"}\n"
              "tasks: {a: x, b: {run: x, shell: sh}}");
    check_shell(f.w, "a", "[\"bash\",\"-euo\",\"pipefail\"]");
    check_shell(f.w, "b", "[\"sh\"]");
    check_inverse(f.w);
    done(&f);
}

/* A definition that was stored before the key existed has no shell: its scripts run as they did
 * then. */
TEST(stored_definition_without_the_key_shell_runs_plain_sh)
{
    static const char text[] =
        "{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"false\\ntrue\"}]}";
    const struct workflow *w;
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct spec s;
    const char *const *argv;
    char *spec;

    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &w, &err), &err);
    spec = spec_of(w, "b");
    CHECK_STR(spec, "{\"run\":\"false\\ntrue\"}");
    CHECK_OK_ERR(spec_parse(spec, &arena, &s, &err), &err);
    argv = spec_argv(&s, &arena);
    CHECK_STR(argv[0], "/bin/sh");
    CHECK_STR(argv[1], "-c");
    CHECK_STR(argv[2], "false\ntrue");
    CHECK(!argv[3]);
    free(spec);
    arena_release(&arena);
}

/* ---- the command ---- */

static void check_argv(const char *spec, const char *expected)
{
    struct arena arena = ARENA_INIT;
    struct buf found = BUF_INIT;
    struct err err = ERR_INIT;
    const char *const *word;
    struct spec s;

    CHECK_OK_ERR(spec_parse(spec, &arena, &s, &err), &err);
    for (word = spec_argv(&s, &arena); word && *word; word++)
        buf_addf(&found, "%s%s", found.len ? "|" : "", *word);
    CHECK_STR(buf_cstr(&found), expected);
    buf_release(&found);
    arena_release(&arena);
}

TEST(script_is_passed_after_option_c_or_in_place_of_the_braces)
{
    check_argv("{\"run\":\"x y\"}", "/bin/sh|-c|x y");
    check_argv("{\"run\":\"x y\",\"shell\":[]}", "/bin/sh|-c|x y");
    check_argv("{\"run\":\"x\",\"shell\":[\"bash\",\"-euo\",\"pipefail\"]}",
               "bash|-euo|pipefail|-c|x");
    check_argv("{\"run\":\"x\",\"shell\":[\"python3\",\"-c\"]}", "python3|-c|x");
    check_argv("{\"run\":\"x\",\"shell\":[\"perl\",\"-e\",\"{}\",\"a\"]}", "perl|-e|x|a");
    check_argv("{\"argv\":[\"a\",\"{}\"]}", "a|{}");
    check_argv("{}", "");
}

TEST(shell_that_cannot_run_a_script_is_refused)
{
    static const struct bad cases[] = {
        {"shell: ''\ntasks: {a: x}",
         "1:8: shell: a program such as bash, with its options, is expected, not ''"},
        {"tasks: {a: {run: x, shell: []}}", "1:28: tasks.a.shell: a program such as bash, with "
                                            "its options, is expected, not a list"},
        {"tasks: {a: {run: x, shell: '{} -e'}}", "1:28: tasks.a.shell: a program such as bash, "
                                                 "with its options, is expected, not '{} -e'"},
        {"tasks: {a: {run: x, shell: }}",
         "1:28: tasks.a.shell: a string, or a list of strings, is expected, not null"},
        {"tasks: {a: {run: x, shell: [sh, {}]}}",
         "1:33: tasks.a.shell: a string is expected, not a mapping"},
        {"tasks: {a: {run: x, shell: 'bash {0}'}}",
         "1:28: tasks.a.shell: {0} is not supported, because the script is not in a file; write {} where "
         "its text belongs"},
        {"tasks: {a: {run: x, shell: 'a {} {}'}}",
         "1:28: tasks.a.shell: {} stands for the text of run, so it can occur only once"},
        {"defaults: {shell: \"${{ params.x }}\"}\ntasks: {a: x}",
         "1:19: defaults.shell can't contain ${{ }}: the value is used as written"},
        {"tasks: {a: {argv: [x], shell: sh}}", "1:31: tasks.a.shell can be used only with run"},
        {"tasks: {a: {function: x, shell: sh}}",
         "1:26: tasks.a.shell can't be used with a function"},
        {"tasks: {a: {run: x, shel: sh}}",
         "1:21: there is no key \"shel\" in tasks.a; did you mean \"shell\"?"},
    };

    check_all(cases, COUNT(cases));
}
