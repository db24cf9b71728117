/* test_parse_file_errors.c - errors about workflow files that are missing, nest each other or
 * have no usable name: the sentence, and the file that it is reported for. */
#include "parse_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

TEST_NO_DB;

/* Checks the diagnostics as `pawl validate` shows them, without the path of the test folder. */
static void check_file(const char *name, int code, const char *expected)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf all = BUF_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    char path[512];
    size_t i;

    snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
    CHECK_EQ(workflow_load(path, &diagnostics, &arena, &w, &err), code);
    for (i = 0; i < diagnostics.list.n; i++) {
        const struct diagnostic *p = &diagnostics.list.at[i];
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
    CHECK_STR(buf_cstr(&all), expected);
    if (!diagnostics.count && code)
        CHECK(err.msg[0]);
    buf_release(&all);
    arena_release(&arena);
    diagnostics_release(&diagnostics);
}

TEST(missing_workflow_file_is_an_error)
{
    check_file("none.flow.yaml", -E_NOT_FOUND, "");
    check_file("", -E_INVALID, ""); /* a folder */
    write_file("f.flow.yaml", "tasks: {a: {workflow: none.flow.yaml}, b: {workflow: .}}");
    check_file("f.flow.yaml", -E_INVALID,
               "f.flow.yaml:1:23: tasks.a.workflow: none.flow.yaml can't be read: No such file or "
               "directory\n"
               "f.flow.yaml:1:54: tasks.b.workflow: . can't be read: Is a directory");
}

TEST(workflow_without_a_name_in_a_file_whose_name_is_invalid_is_an_error)
{
    write_file("1.yaml", "tasks: [x]");
    check_file("1.yaml", -E_INVALID,
               "1.yaml:1:1: the workflow has no name, and its file name can't be used as one: "
               "add `name: NAME`");
    write_file("2.yaml", "name: two\ntasks: [x]");
    check_file("2.yaml", 0, "");
}

TEST(error_in_a_nested_file_is_reported_once_however_often_the_file_is_used)
{
    char folder[512];

    snprintf(folder, sizeof(folder), "%s/sub", test_dir());
    CHECK_EQ(mkdir(folder, 0700), 0);
    write_file("f.flow.yaml", "tasks: {a: {workflow: sub/g.yaml}, b: {workflow: ./sub/g.yaml}}");
    write_file("sub/g.yaml", "tasks: {c: {workflow: h.yaml}}");
    write_file("sub/h.yaml", "tasks: {d: {run: x, retyr: 1}}");
    check_file("f.flow.yaml", -E_INVALID,
               "sub/h.yaml:1:21: there is no key \"retyr\" in tasks.d; did you mean \"retry\"?");
    write_file("sub/h.yaml", "tasks: {d: {run: x, retry: 1}}");
    check_file("f.flow.yaml", 0, "");
}

TEST(files_that_nest_each_other_are_reported_with_the_path_of_the_cycle)
{
    char from[512];

    write_file("a.flow.yaml", "tasks: {a: {workflow: b.flow.yaml}}");
    write_file("b.flow.yaml", "tasks: {b: x}\non_exit: {workflow: c.flow.yaml}");
    write_file("c.flow.yaml", "tasks: {c: {workflow: link.flow.yaml}, d: {workflow: a.flow.yaml}}");
    snprintf(from, sizeof(from), "%s/link.flow.yaml", test_dir());
    CHECK_EQ(symlink("b.flow.yaml", from), 0); /* the same file by another name */
    check_file("a.flow.yaml", -E_INVALID,
               "c.flow.yaml:1:23: tasks.c.workflow: a workflow can't contain itself (b.flow.yaml "
               "-> c.flow.yaml -> b.flow.yaml)\n"
               "c.flow.yaml:1:54: tasks.d.workflow: a workflow can't contain itself (a.flow.yaml "
               "-> b.flow.yaml -> c.flow.yaml -> a.flow.yaml)");
}

TEST(too_deeply_nested_workflows_are_refused)
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
               "w31.yaml:1:23: tasks.a.workflow: at most 1000 workflows can be nested, at most 32 "
               "levels deep");
}

TEST(many_workflows_nested_at_one_level_are_accepted)
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
        "f.yaml:4:36: tasks.b.with: the workflow child has no param \"dya\"; did you mean "
        "\"day\"?\n"
        "f.yaml:4:47: tasks.b.with.n: a whole number is expected, not 'x'\n"
        "f.yaml:6:29: tasks.d.if: the task \"c\" has no output \"flie\"; did you "
        "mean \"file\"?\n"
        "f.yaml:7:45: tasks.e.env can't be used with a nested workflow: pass values in `with`\n"
        "f.yaml:7:58: tasks.e.retry can't be used with a nested workflow\n"
        "f.yaml:7:68: tasks.e.cwd can't be used with a nested workflow");
}
