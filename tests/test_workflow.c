/* test_workflow.c - workflow files that are right: what the definition holds, its canonical text,
 * and that large ones take neither long nor much. */
#include "harness.h"

#include "base/env.h"
#include "flow/keys.h"
#include "flow/workflow.h"

#include <glob.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

struct fixture {
    struct arena arena;
    const struct workflow *w;
};

static struct fixture parse_bytes(const char *text, size_t len)
{
    struct problems problems = PROBLEMS_INIT;
    struct fixture f = {.w = NULL};
    struct buf shown = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = workflow_parse(problems_take(&problems, "f.flow.yaml", text, len), "/somewhere",
                            &problems, &f.arena, &f.w, &err);

    problems_show(&problems, &shown);
    if (rc)
        test_fail(__FILE__, __LINE__, "%s\n%s", text, buf_cstr(&shown));
    buf_release(&shown);
    problems_release(&problems);
    return f;
}

static struct fixture parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static struct fixture load(const char *path)
{
    struct problems problems = PROBLEMS_INIT;
    struct fixture f = {.w = NULL};
    struct buf shown = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = workflow_load(path, &problems, &f.arena, &f.w, &err);

    problems_show(&problems, &shown);
    if (rc)
        test_fail(__FILE__, __LINE__, "%s\n%s", err.msg, buf_cstr(&shown));
    buf_release(&shown);
    problems_release(&problems);
    return f;
}

static void done(struct fixture *f)
{
    arena_release(&f->arena);
}

static const struct workflow_task *task(const struct fixture *f, const char *name)
{
    const struct workflow_task *t = workflow_task(f->w, name);

    if (!t)
        test_fail(__FILE__, __LINE__, "there is no task %s", name);
    return t;
}

/* The canonical text; the caller frees it. */
static char *text_of(const struct workflow *w)
{
    struct buf b = BUF_INIT;

    workflow_write(w, &b);
    return b.ptr;
}

/* What is written is read back as the same, and written as the same. */
static void check_inverse(const struct workflow *w)
{
    char *text = text_of(w), *again;
    struct arena arena = ARENA_INIT;
    const struct workflow *back;
    char hash[WORKFLOW_HASH_SIZE];
    struct err err = ERR_INIT;

    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &back, &err), &err);
    again = text_of(back);
    CHECK_STR(again, text);
    CHECK_STR(back->hash, w->hash);
    workflow_hash(text, strlen(text), hash);
    CHECK_STR(hash, w->hash);
    free(again);
    free(text);
    arena_release(&arena);
}

static void check_text(const char *yaml, const char *canonical)
{
    struct fixture f = parse(yaml);
    char *text = text_of(f.w);

    CHECK_STR(text, canonical);
    free(text);
    check_inverse(f.w);
    done(&f);
}

#define HEAD "{\"name\":\"f\",\"file\":\"f.flow.yaml\",\"folder\":\"/somewhere\","

/* ---- shapes ---- */

TEST(a_text_alone_is_a_command)
{
    check_text("tasks: {a: echo hi, b: true, c: 5}",
               HEAD "\"tasks\":[{\"name\":\"a\",\"at\":[1,9],\"run\":\"echo hi\"},"
                    "{\"name\":\"b\",\"at\":[1,21],\"run\":\"true\"},"
                    "{\"name\":\"c\",\"at\":[1,30],\"run\":\"5\"}]}");
}

TEST(tasks_in_a_list_run_one_after_the_other)
{
    check_text("tasks: [./a.sh, ./b.sh, {argv: c}]",
               HEAD "\"tasks\":[{\"name\":\"step1\",\"at\":[1,9],\"run\":\"./a.sh\"},"
                    "{\"name\":\"step2\",\"at\":[1,17],\"run\":\"./b.sh\",\"needs\":[0]},"
                    "{\"name\":\"step3\",\"at\":[1,25],\"argv\":[\"c\"],\"needs\":[1]}]}");
}

TEST(a_single_value_stands_for_a_list_of_it)
{
    check_text("secrets: S\ntasks: {a: x, b: {argv: y, needs: a, outputs: o, secrets: T,"
               " retry: {codes: 7}}}",
               HEAD "\"secrets\":[\"S\"],\"tasks\":[{\"name\":\"a\",\"at\":[2,9],\"run\":\"x\","
                    "\"secrets\":[\"S\"]},{\"name\":\"b\",\"at\":[2,15],\"argv\":[\"y\"],"
                    "\"needs\":[0],\"secrets\":[\"S\",\"T\"],\"retry\":{\"codes\":[7]},"
                    "\"outputs\":[\"o\"]}]}");
}

TEST(short_forms_are_what_they_are_short_for)
{
    static const struct {
        const char *brief, *full;
    } cases[] = {
        {"tasks: {a: {run: x, retry: 3}}", "tasks: {a: {run: x, retry: {max: 3}}}"},
        {"tasks: {a: {run: x, container: i}}", "tasks: {a: {run: x, container: {image: i}}}"},
        {"tasks: {a: {run: x, concurrency: k}}",
         "tasks: {a: {run: x, concurrency: {key: k, max: 1}}}"},
        {"tasks: {a: {run: x, approval: ok?}}", "tasks: {a: {run: x, approval: {message: ok?}}}"},
        {"tasks: {a: {run: x, approval: true}}", "tasks: {a: {run: x, approval: {}}}"},
        {"tasks: {a: {run: x, approval: false}}", "tasks: {a: {run: x}}"},
        {"tasks: {a: x, b: {run: x, needs: a, join: any}}",
         "tasks: {a: x, b: {run: x, needs: [a], join: 1}}"},
        {"tasks: {a: x, b: {run: x, needs: a, join: all}}", "tasks: {a: x, b: {run: x, needs: a}}"},
        {"tasks: {a: x}\non: {schedule: '@daily'}",
         "tasks: {a: x}\non: {schedule: [{cron: '@daily', overlap: skip}]}"},
        {"tasks: {a: x}\nparams: {p: 3, q: , r: [1]}",
         "tasks: {a: x}\nparams: {p: {type: integer, default: 3}, q: {type: string}, "
         "r: {type: list, default: [1]}}"},
        {"tasks: {a: x}\nparams: {p: {default: 1.5}, q: {default: true}, r: {default: {a: b}}}",
         "tasks: {a: x}\nparams: {p: {type: number, default: 1.5}, "
         "q: {type: boolean, default: true}, r: {type: object, default: {a: b}}}"},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        struct fixture a = parse(cases[i].brief), b = parse(cases[i].full);
        char *brief = text_of(a.w), *full = text_of(b.w);

        CHECK_STR(brief, full);
        free(brief);
        free(full);
        done(&a);
        done(&b);
    }
}

TEST(the_workflow_of_the_design_holds_what_it_says)
{
    static const char text[] =
        "name: nightly\n"
        "params: {day: {type: string, default: \"2026-01-01\"}}\n"
        "env: {REGION: eu}\n"
        "defaults: {retry: 2, timeout: 10m}\n"
        "timeout: 2h\n"
        "on: {schedule: [{cron: \"0 2 * * *\", tz: Europe/Berlin, catchup: 6h, overlap: skip}]}\n"
        "tasks:\n"
        "  extract:\n"
        "    run: ./extract.sh \"$day\"\n"
        "    retry: {max: 5, delay: 10s, backoff: 2, max_delay: 5m, jitter: 0.25, codes: [75, 111]}\n"
        "    outputs: [files]\n"
        "  transform:\n"
        "    needs: extract\n"
        "    foreach: ${{ tasks.extract.outputs.files }}\n"
        "    max_parallel: 4\n"
        "    run: ./transform.sh \"$ITEM\"\n"
        "  check: {needs: extract, container: {image: alpine}, run: ./check.sh}\n"
        "  publish:\n"
        "    needs: [transform, check]\n"
        "    if: success() || tasks.check.status == 'skipped'\n"
        "    function: publish\n"
        "    with: {day: \"${{ params.day }}\"}\n"
        "outputs: {total: \"${{ tasks.transform.outputs }}\"}\n"
        "on_failure: {run: ./page.sh}\n"
        "on_exit: {run: ./cleanup.sh}\n";
    struct fixture f = parse(text);
    const struct workflow *w = f.w;
    const struct workflow_task *extract = task(&f, "extract"), *publish = task(&f, "publish");

    CHECK_STR(w->name, "nightly");
    CHECK_STR(w->folder, "/somewhere");
    CHECK_EQ(w->nparams, 1);
    CHECK_EQ(w->params[0].type, PARAM_STRING);
    CHECK_STR(w->params[0].otherwise, "\"2026-01-01\"");
    CHECK_STR(w->env.at[0].value, "eu");
    CHECK_EQ(w->timeout, 7200 * 1000000LL);
    CHECK_EQ(w->nschedules, 1);
    CHECK_STR(w->schedules[0].tz, "Europe/Berlin");
    CHECK_EQ(w->schedules[0].catchup, 6 * 3600 * 1000000LL);
    CHECK_EQ(w->ntasks, 4);

    CHECK_EQ(extract->retry.max, 5);
    CHECK_EQ(extract->retry.policy.delay, 10000000);
    CHECK_EQ(extract->retry.policy.ncodes, 2);
    CHECK_EQ(extract->retry.policy.codes[1], 111);
    CHECK_EQ((int)(extract->retry.policy.jitter * 100), 25);
    CHECK_EQ(extract->timeout, 600 * 1000000LL);
    CHECK_EQ(extract->line, 8);
    CHECK_EQ(extract->column, 3);
    CHECK_EQ(extract->nneeds, 0);
    CHECK_EQ(extract->nfollowers, 2);
    CHECK_EQ(extract->followers[0], 1);
    CHECK_EQ(extract->followers[1], 2);

    CHECK_EQ(task(&f, "check")->retry.max, 2);
    CHECK_STR(task(&f, "check")->container, "{\"image\":\"alpine\"}");
    CHECK_STR(task(&f, "transform")->foreach, "\"${{ tasks.extract.outputs.files }}\"");
    CHECK_EQ(task(&f, "transform")->max_parallel, 4);

    CHECK_EQ(publish->index, 3);
    CHECK_EQ(publish->nneeds, 2);
    CHECK_EQ(publish->needs[0], 1);
    CHECK_EQ(publish->needs[1], 2);
    CHECK_STR(publish->condition, "success() || tasks.check.status == 'skipped'");
    CHECK_STR(publish->with.at[0].value, "\"${{ params.day }}\"");
    CHECK_EQ(publish->nfollowers, 0);

    CHECK_EQ(w->on_failure->index, 4);
    CHECK_EQ(w->on_exit->index, 5);
    CHECK_STR(w->on_exit->run, "./cleanup.sh");
    CHECK_STR(w->outputs.at[0].key, "total");
    check_inverse(w);
    done(&f);
}

/* ---- defaults ---- */

TEST(defaults_hold_where_a_task_does_not_say_otherwise)
{
    struct fixture f = parse(
        "queue: q\npriority: 7\n"
        "defaults:\n"
        "  {retry: {max: 2, delay: 10s, codes: [1]}, timeout: 10m, cwd: /d, user: u, executor: e,\n"
        "   limits: {memory: 1GB, pids: 5}, container: c, env: {A: b}}\n"
        "tasks:\n"
        "  all: x\n"
        "  own: {run: x, retry: {max: 5}, timeout: 1s, cwd: /o, queue: r, priority: 0,\n"
        "        limits: {pids: 9}, container: {image: d}, user: v, executor: g, env: {C: d}}\n"
        "  function: {function: f}\n"
        "on_exit: y\n");
    const struct workflow_task *t = task(&f, "all");

    CHECK_EQ(t->retry.max, 2);
    CHECK_EQ(t->retry.policy.delay, 10000000);
    CHECK_EQ(t->timeout, 600000000);
    CHECK_STR(t->cwd, "/d");
    CHECK_STR(t->user, "u");
    CHECK_STR(t->executor, "e");
    CHECK_STR(t->queue, "q");
    CHECK_EQ(t->priority, 7);
    CHECK_EQ(t->limits.memory, 1000000000);
    CHECK_STR(t->container, "{\"image\":\"c\"}");
    CHECK_EQ(t->env.n, 0); /* they come after the workflow's own, and so stay apart */
    CHECK_STR(f.w->default_env.at[0].key, "A");

    t = task(&f, "own");
    CHECK_EQ(t->retry.max, 5);
    CHECK_EQ(t->retry.policy.delay, 10000000); /* what it leaves out */
    CHECK_EQ(t->retry.policy.ncodes, 1);
    CHECK_EQ(t->timeout, 1000000);
    CHECK_STR(t->cwd, "/o");
    CHECK_STR(t->queue, "r");
    CHECK_EQ(t->priority, 0);
    CHECK_EQ(t->limits.memory, 1000000000);
    CHECK_EQ(t->limits.pids, 9);
    CHECK_STR(t->container, "{\"image\":\"d\"}");
    CHECK_STR(t->user, "v");
    CHECK_STR(t->executor, "g");
    CHECK_EQ(t->env.n, 1);

    t = task(&f, "function");
    CHECK_EQ(t->retry.max, 2);
    CHECK_EQ(t->timeout, 600000000);
    CHECK(!t->cwd && !t->container && !t->user && !t->executor && !t->limits.memory);

    CHECK_EQ(f.w->on_exit->retry.max, 2);
    CHECK_STR(f.w->on_exit->queue, "q");
    check_inverse(f.w);
    done(&f);
}

TEST(what_nobody_says_is_left_to_the_configuration)
{
    struct fixture f = parse("tasks: {a: x}");
    const struct workflow_task *t = task(&f, "a");

    CHECK_EQ(t->retry.max, -1);
    CHECK(t->retry.policy.jitter < 0);
    CHECK_EQ(t->retry.policy.delay, 0);
    CHECK_EQ(t->timeout, 0);
    CHECK(!t->queue && !t->executor && !t->condition && !t->foreach);
    done(&f);
    f = parse("tasks: {a: {run: x, retry: 0}}");
    CHECK_EQ(task(&f, "a")->retry.max, 0);
    check_inverse(f.w);
    done(&f);
}

/* ---- the canonical text ---- */

/* One of everything: what a key holds must get into the text, and out of it again. */
static const char everything[] =
    "name: everything\n"
    "description: d\n"
    "params:\n"
    "  s: {type: string, default: \"x\\ty\\u0001\\u00e9\", description: text}\n"
    "  n: {type: number, default: -0.1}\n"
    "  i: {type: integer, required: true}\n"
    "  b: {type: boolean, default: false}\n"
    "  l: {type: list, default: [1, {a: [null, 1e300]}]}\n"
    "  o: {type: object, default: {z: 1, a: 2}}\n"
    "vars: {v: \"${{ params.i + 1 }}\", w: [\"${{ params.s }}\", 2]}\n"
    "env: {E: \"${{ vars.v }}\"}\n"
    "timeout: 1h\nqueue: q\npriority: -3\n"
    "concurrency: {key: \"${{ params.s }}\", max: 2}\n"
    "secrets: [S]\n"
    "defaults: {env: {D: d}, retry: {backoff: 1.5, jitter: 0}}\n"
    "on:\n"
    "  schedule:\n"
    "    - {cron: \"0 0 * * *\", tz: Europe/Berlin, catchup: last, overlap: queue, with: {i: 4},\n"
    "       name: nightly, jitter: 5m, start: 2026-01-31, end: \"2026-02-01T14:00:00+01:00\"}\n"
    "    - {cron: \"@hourly\", catchup: 5m, overlap: allow, with: {i: 5}}\n"
    "tasks:\n"
    "  first: {argv: [\"${{ params.s }}\", \"\"], description: e, allow_failure: true}\n"
    "  second:\n"
    "    run: \"x\\ny\"\n"
    "    needs: [first]\n"
    "    if: ${{ always() }}\n"
    "    join: 1\n"
    "    foreach: [1, a, {b: \"${{ tasks.first.status }}\"}]\n"
    "    max_parallel: 2\n"
    "    fail_fast: true\n"
    "    with: {w: \"${{ item }}\"}\n"
    "    env: {F: \"${{ env.E }}${{ index }}\"}\n"
    "    cwd: sub/${{ params.s }}\n"
    "    stdin: \"\"\n"
    "    user: nobody\n"
    "    limits: {memory: 2MiB, cpu: 3s, files: 10, pids: 4}\n"
    "    container: {image: i, pull: always, network: none, volumes: [a:b], options: [--x, y]}\n"
    "    secrets: [T, S]\n"
    "    retry: {max: 3, delay: 1s, max_delay: 2s, codes: [1, 255]}\n"
    "    timeout: 5s\n"
    "    queue: r\n"
    "    priority: 4\n"
    "    executor: gpu\n"
    "    concurrency: {key: \"${{ item }}\", max: 3}\n"
    "    delay: 250ms\n"
    "    outputs: [a, b-c]\n"
    "    approval: {message: \"${{ params.s }}?\", timeout: 1d}\n"
    "  third: {function: g, needs: [second, first], foreach: 5}\n"
    "outputs: {r: {a: \"${{ tasks.second.outputs }}\"}}\n"
    "on_failure: {run: x, with: {a: 1}}\n"
    "on_exit: {argv: [x, \"${{ tasks.third.status }}\"]}\n";

TEST(everything_a_file_can_say_is_in_the_canonical_text)
{
    struct fixture f = parse(everything);
    char *text = text_of(f.w);
    json_t *doc = json_loads(text, 0, NULL), *second;
    const struct key *k;

    check_inverse(f.w);
    second = json_array_get(json_object_get(doc, "tasks"), 1);
    for (k = keys_task.at; k->name; k++) {
        /* These are the other tasks' */
        bool other = strstr("argv function workflow description allow_failure", k->name);

        if (!other && !json_object_get(second, k->name))
            test_fail(__FILE__, __LINE__, "%s is lost: %s", k->name, text);
    }
    for (k = keys_workflow.at; k->name; k++) {
        const char *key = !strcmp(k->name, "on")         ? "schedules"
                          : !strcmp(k->name, "defaults") ? "default_env"
                                                         : k->name;

        if (!json_object_get(doc, key))
            test_fail(__FILE__, __LINE__, "%s is lost: %s", key, text);
    }
    CHECK(strstr(text, "\"default\":\"x\\ty\\u0001é\""));
    CHECK(strstr(text, "\"backoff\":1.5,\"jitter\":0"));
    CHECK(strstr(text, "\"default\":{\"z\":1,\"a\":2}"));
    CHECK(strstr(text, "\"schedules\":[{\"name\":\"nightly\",\"cron\":\"0 0 * * *\","
                       "\"tz\":\"Europe/Berlin\",\"catchup\":-1,\"overlap\":\"queue\","
                       "\"jitter\":300000000,\"start\":1769817600000000,\"end\":1769950800000000,"
                       "\"with\":{\"i\":4}},{\"cron\":\"@hourly\","
                       "\"catchup\":300000000,\"overlap\":\"allow\",\"with\":{\"i\":5}}]"));
    CHECK(strstr(text, "\"secrets\":[\"S\",\"T\"]"));
    json_decref(doc);
    free(text);
    done(&f);
}

TEST(the_hash_follows_the_content_and_nothing_else)
{
    struct fixture a = parse("tasks: {a: x}"), b = parse("tasks: {a: 'x'}   # a remark"),
                   c = parse("tasks: {a: y}"), d = parse("tasks:\n  a: x");

    CHECK_EQ(strlen(a.w->hash), 32);
    CHECK_STR(a.w->hash, b.w->hash);
    CHECK(strcmp(a.w->hash, c.w->hash) != 0);
    CHECK(strcmp(a.w->hash, d.w->hash) != 0); /* errors name its lines */
    done(&a);
    done(&b);
    done(&c);
    done(&d);
}

TEST(the_hash_of_a_text_never_changes)
{
    char hash[WORKFLOW_HASH_SIZE];

    /* BLAKE2b of 16 bytes; what is stored under one must be found under it for ever. */
    workflow_hash("", 0, hash);
    CHECK_STR(hash, "cae66941d9efbd404e4d88758ea67670");
}

/* What a damaged text says is not believed. */
TEST(a_text_that_is_not_canonical_is_refused)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"", "the definition is not valid JSON"},
        {"[]", "must be an object"},
        {"{}", "has no name"},
        {"{\"name\":\"a b\",\"tasks\":[]}", "name is not a name"},
        {"{\"name\":\"a\"}", "has no tasks"},
        {"{\"name\":\"a\",\"tasks\":{}}", "tasks must be a list"},
        {"{\"name\":\"a\",\"tasks\":[],\"x\":1}", "x is not known"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\"}]}", "exactly one of run"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"function\":\"y\"}]}",
         "exactly one of run"},
        {"{\"name\":\"a\",\"tasks\":[{\"run\":\"x\"}]}", "has no name"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[1]}]}",
         "needs task 1 of 1"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[-1]}]}", "from 0"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[0]}]}",
         "need each other"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[1]},"
         "{\"name\":\"c\",\"run\":\"x\",\"needs\":[0]}]}",
         "need each other"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"join\":1}]}",
         "joins 1 of 0 needs"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"at\":[1]}]}", "a line and"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"fail_fast\":false}]}",
         "must be true"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"priority\":9999999999}]}",
         "from -2147483648"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"workflow\":\"0\"}]}",
         "not among the nested"},
        {"{\"name\":\"a\",\"params\":[{\"name\":\"p\",\"type\":\"text\"}],\"tasks\":[]}",
         "can't be \"text\""},
        {"{\"name\":\"a\",\"on_exit\":{\"name\":\"b\",\"run\":\"x\",\"needs\":[0]},\"tasks\":[]}",
         "can't need other tasks"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"workflow\":\"0123456789abcdef0123456789abcdef\""
         "}],\"nested\":{\"0123456789abcdef0123456789abcdef\":{\"name\":\"c\",\"tasks\":[{\"name\":"
         "\"d\",\"workflow\":\"0123456789abcdef0123456789abcdef\"}]}}}",
         "is part of itself"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"workflow\":\"0123456789abcdef0123456789abcdef\""
         "}],\"nested\":{\"0123456789abcdef0123456789abcdef\":{\"name\":\"c\",\"tasks\":[],"
         "\"nested\":{}}}}",
         "nested is not known"},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        struct arena arena = ARENA_INIT;
        const struct workflow *w = NULL;
        struct err err = ERR_INIT;

        CHECK_EQ(workflow_read(cases[i].text, strlen(cases[i].text), &arena, &w, &err), -E_INVALID);
        CHECK(!w);
        if (!strstr(err.msg, cases[i].said))
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].text, err.msg);
        arena_release(&arena);
    }
}

/* ---- nested ones ---- */

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

static struct fixture load_here(const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
    return load(path);
}

TEST(nested_files_are_part_of_the_definition_each_once)
{
    char folder[512], real[4096];
    struct fixture f, g;
    const struct workflow *left, *leaf;
    char *text;

    snprintf(folder, sizeof(folder), "%s/sub", test_dir());
    CHECK_EQ(mkdir(folder, 0700), 0);
    CHECK(realpath(folder, real));
    write_file("top.yaml", "defaults: {retry: 3, timeout: 5s, queue: q}\n"
                           "tasks: {a: {workflow: sub/left.yaml}, b: {workflow: sub/right.yaml},\n"
                           "  c: {workflow: sub/left.yaml, foreach: 3, timeout: 1h}}\n"
                           "on_exit: {workflow: sub/leaf.yaml}");
    write_file("sub/left.yaml", "tasks: {a: {workflow: leaf.yaml}}");
    write_file("sub/right.yaml", "tasks: {a: {workflow: ../sub/leaf.yaml}}");
    write_file("sub/leaf.yaml", "tasks: [x]\noutputs: {o: 1}");
    f = load_here("top.yaml");
    g = load_here("sub/left.yaml");
    left = f.w->tasks[0].nested;
    leaf = left->tasks[0].nested;

    CHECK_EQ(f.w->nnested, 3);
    CHECK(f.w->nested[0] == left);
    CHECK(f.w->nested[2] == leaf);
    CHECK(f.w->tasks[2].nested == left);
    CHECK(f.w->tasks[1].nested->tasks[0].nested == leaf);
    CHECK(f.w->on_exit->nested == leaf);
    CHECK_STR(left->name, "left");
    CHECK_STR(left->folder, real);
    CHECK_STR(leaf->file, "leaf.yaml");
    CHECK_STR(left->hash, g.w->hash); /* the same by itself and as a part */

    /* defaults are not for what runs for as long as all its tasks */
    CHECK_EQ(f.w->tasks[0].retry.max, -1);
    CHECK_EQ(f.w->tasks[0].timeout, 0);
    CHECK_STR(f.w->tasks[0].queue, "q");
    CHECK_EQ(f.w->tasks[2].timeout, 3600000000LL);

    check_inverse(f.w);
    check_inverse(left);
    text = text_of(f.w);
    CHECK_EQ(strstr(strstr(text, "\"leaf.yaml\"") + 1, "\"leaf.yaml\"") == NULL, true);
    free(text);
    done(&f);
    done(&g);
}

TEST(a_definition_read_from_its_text_needs_no_file)
{
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    struct fixture f;
    char *text, path[512];

    write_file("top.yaml", "tasks: {a: {workflow: leaf.yaml}, b: {run: x, needs: a}}");
    write_file("leaf.yaml", "tasks: [x, y]");
    f = load_here("top.yaml");
    text = text_of(f.w);
    done(&f);
    snprintf(path, sizeof(path), "%s/leaf.yaml", test_dir());
    CHECK_EQ(remove(path), 0);
    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &w, &err), &err);
    CHECK_STR(w->tasks[0].nested->tasks[1].run, "y");
    CHECK_EQ(w->tasks[0].nested->tasks[0].followers[0], 1);
    CHECK_EQ(w->tasks[0].followers[0], 1);
    CHECK_EQ(w->nnested, 1);
    free(text);
    arena_release(&arena);
}

/* ---- the graph ---- */

TEST(an_order_has_each_task_after_its_needs)
{
    struct fixture f = parse("tasks: {a: {run: x, needs: [c, d]}, b: x, c: {run: x, needs: b}, "
                             "d: {run: x, needs: [b, c]}}");
    uint32_t order[4], n;

    CHECK(workflow_order(f.w, order, &n));
    CHECK_EQ(n, 4);
    CHECK_EQ(order[0], 1);
    CHECK_EQ(order[1], 2);
    CHECK_EQ(order[2], 3);
    CHECK_EQ(order[3], 0);
    done(&f);
}

/* ---- large ones ---- */

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A ladder: each task needs the two before it. */
static void add_ladder(struct buf *b, int n)
{
    int i;

    buf_addstr(b, "defaults: {retry: 2, timeout: 10m}\ntasks:\n");
    for (i = 0; i < n; i++)
        if (i < 2)
            buf_addf(b, "  t%d: x\n", i);
        else
            buf_addf(b, "  t%d: {run: x, needs: [t%d, t%d]}\n", i, i - 1, i - 2);
}

/* Reads, checks, writes and reads again: seconds of processor time. */
static double try_ladder(int n)
{
    struct buf yaml = BUF_INIT;
    double from, took;
    struct fixture f;

    add_ladder(&yaml, n);
    from = cpu_seconds();
    f = parse_bytes(yaml.ptr, yaml.len);
    check_inverse(f.w);
    took = cpu_seconds() - from;
    CHECK_EQ(f.w->ntasks, n);
    CHECK_EQ(f.w->tasks[n / 2].nfollowers, 2);
    CHECK_EQ(f.w->tasks[n / 2].followers[1], n / 2 + 2);
    done(&f);
    buf_release(&yaml);
    return took;
}

TEST_SLOW(a_hundred_thousand_tasks_take_linear_time, 120)
{
    double few = try_ladder(WORKFLOW_MAX_TASKS / 8), many = try_ladder(WORKFLOW_MAX_TASKS);

    if (many > 4 * 8 * few)
        test_fail(__FILE__, __LINE__, "12,500 tasks take %.3f s, 100,000 take %.3f s", few, many);
}

static long high_water(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long kb = -1;

    CHECK(f);
    while (fgets(line, sizeof(line), f))
        if (!strncmp(line, "VmHWM:", 6))
            kb = strtol(line + 6, NULL, 10);
    fclose(f);
    return kb;
}

TEST_SLOW(a_hundred_thousand_tasks_take_bounded_memory, 120)
{
#ifdef __SANITIZE_ADDRESS__
    SKIP("a sanitizer needs memory of its own");
#else
    struct buf yaml = BUF_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    struct fixture f;
    char *text;

    add_ladder(&yaml, WORKFLOW_MAX_TASKS);
    f = parse_bytes(yaml.ptr, yaml.len);
    text = text_of(f.w);
    done(&f);
    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &w, &err), &err);
    free(text);
    arena_release(&arena);
    buf_release(&yaml);
    CHECK(high_water() < 300 * 1024);
#endif
}

/* ---- what is shipped ---- */

TEST(the_examples_are_right)
{
    glob_t found;
    size_t i;

    CHECK_EQ(glob("examples/*.flow.yaml", 0, NULL, &found), 0);
    CHECK(found.gl_pathc >= 7);
    for (i = 0; i < found.gl_pathc; i++) {
        struct fixture f = load(found.gl_pathv[i]);

        check_inverse(f.w);
        done(&f);
    }
    globfree(&found);
}

static void check_described(const json_t *schema, const char *where, const struct keys *keys,
                            unsigned places)
{
    const json_t *properties = json_object_get(schema, "properties");
    const struct key *k;
    size_t n = 0;

    for (k = keys->at; k->name; k++) {
        if ((k->places & places) != places)
            continue;
        n++;
        if (!json_string_value(
                json_object_get(json_object_get(properties, k->name), "description")))
            test_fail(__FILE__, __LINE__, "%s.%s has no description", where, k->name);
    }
    CHECK_EQ(json_object_size(properties), n);
    CHECK(json_is_false(json_object_get(schema, "additionalProperties")));
}

TEST(the_schema_has_every_key_with_a_description)
{
    struct buf b = BUF_INIT;
    json_t *schema, *definitions, *of_task;

    keys_schema(&b);
    schema = json_loads(b.ptr, JSON_REJECT_DUPLICATES, NULL);
    CHECK(schema);
    CHECK_STR(json_string_value(json_object_get(schema, "$schema")),
              "http://json-schema.org/draft-07/schema#");
    definitions = json_object_get(schema, "definitions");
    check_described(schema, "workflow", &keys_workflow, 0);
    of_task = json_object_get(json_object_get(definitions, "task"), "anyOf");
    check_described(json_array_get(of_task, 1), "task", &keys_task, 0);
    of_task = json_object_get(json_object_get(definitions, "hook"), "anyOf");
    check_described(json_array_get(of_task, 1), "hook", &keys_task, KEY_HOOKS);
    check_described(json_object_get(definitions, "defaults"), "defaults", &keys_task, KEY_COMMON);
    check_described(json_object_get(definitions, "retry"), "retry", &keys_retry, 0);
    check_described(json_object_get(definitions, "param"), "param", &keys_param, 0);
    check_described(json_object_get(definitions, "schedule"), "schedule", &keys_schedule, 0);
    json_decref(schema);
    buf_release(&b);
}
