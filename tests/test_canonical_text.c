/* test_canonical_text.c - the canonical text of a definition: it contains everything that the files
 * define, nested files included, each once, and nothing else. */
#include "parse_fixture.h"

#include "core/workflow/keys.h"

#include <jansson.h>
#include <sys/stat.h>

TEST_NO_DB;

/* Uses every key: each value must be written to the text and read back from it. */
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
    "timeout: 1h\nqueue: q\npriority: -3\nshell: dash -e\n"
    "concurrency: {key: \"${{ params.s }}\", max: 2}\n"
    "secrets: [S]\n"
    "defaults: {env: {D: d}, retry: {backoff: 1.5, jitter: 0}}\n"
    "on:\n"
    "  schedule:\n"
    "    - {cron: \"0 0 * * *\", tz: Europe/Berlin, catchup: last, overlap: queue, with: {i: 4},\n"
    "       name: nightly, jitter: 5m, start: 2026-01-31, end: \"2026-02-01T14:00:00+01:00\"}\n"
    "    - {cron: \"@hourly\", catchup: 5m, overlap: allow, with: {i: 5}}\n"
    "  webhook: {name: push, with: {i: 7}}\n"
    "  workflow: [{name: early, with: {i: 6}}, {name: late, status: any, with: {i: \"${{ trigger.execution }}\"}}]\n"
    "tasks:\n"
    "  first: {argv: [\"${{ params.s }}\", \"\"], description: e, allow_failure: true}\n"
    "  second:\n"
    "    run: \"x\\ny\"\n"
    "    shell: [bash, \"-e x\"]\n"
    "    needs: [first]\n"
    "    if: ${{ always() }}\n"
    "    join: 1\n"
    "    foreach: [1, a, {b: \"${{ tasks.first.status }}\"}]\n"
    "    max_parallel: 2\n"
    "    fail_fast: true\n"
    "    with: {w: \"${{ item }}\"}\n"
    "    env: {F: \"${{ env.E }}${{ index }}\"}\n"
    "    files: {G: \"${{ item }}\"}\n"
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
    "  fourth: {executor: gpu, with: {n: 1, deep: [\"${{ params.i }}\"]}, outputs: [loss]}\n"
    "outputs: {r: {a: \"${{ tasks.second.outputs }}\"}}\n"
    "on_failure: {run: x, with: {a: 1}}\n"
    "on_exit: {argv: [x, \"${{ tasks.third.status }}\"]}\n";

TEST(canonical_text_contains_every_key_of_a_file)
{
    struct fixture f = parse(everything);
    char *text = text_of(f.w);
    json_t *doc = json_loads(text, 0, NULL), *second;
    const struct key *k;

    check_inverse(f.w);
    second = json_array_get(json_object_get(doc, "tasks"), 1);
    KEYS_EACH(&keys_task, k)
    {
        /* these keys are used by the other tasks */
        bool other = strstr("argv function workflow description allow_failure", k->name);

        if (!other && !json_object_get(second, k->name))
            test_fail(__FILE__, __LINE__, "%s is lost: %s", k->name, text);
    }
    KEYS_EACH(&keys_workflow, k)
    {
        const char *key = !strcmp(k->name, "on")         ? "follows"
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
    CHECK(strstr(
        text,
        "\"webhooks\":[{\"name\":\"push\",\"with\":{\"i\":7}}],"
        "\"follows\":[{\"name\":\"early\",\"with\":{\"i\":6}},{\"name\":\"late\",\"status\":\"any\","
        "\"with\":{\"i\":\"${{ trigger.execution }}\"}}]"));
    CHECK(strstr(text, "\"secrets\":[\"S\",\"T\"]"));
    json_decref(doc);
    free(text);
    done(&f);
}

TEST(definition_hash_depends_only_on_content_and_line_numbers)
{
    struct fixture a = parse("tasks: {a: x}"), b = parse("tasks: {a: 'x'}   # a remark"),
                   c = parse("tasks: {a: y}"), d = parse("tasks:\n  a: x");

    CHECK_EQ(strlen(a.w->hash), 32);
    CHECK_STR(a.w->hash, b.w->hash);
    CHECK(strcmp(a.w->hash, c.w->hash) != 0);
    /* line numbers are hashed, because errors name them */
    CHECK(strcmp(a.w->hash, d.w->hash) != 0);
    done(&a);
    done(&b);
    done(&c);
    done(&d);
}

TEST(definition_hash_of_an_empty_text_is_the_same_in_every_version)
{
    char hash[WORKFLOW_HASH_SIZE];

    /* BLAKE2b with 16 bytes. Stored definitions are found by their hash, so it must stay the same
     * for ever. */
    workflow_hash("", 0, hash);
    CHECK_STR(hash, "cae66941d9efbd404e4d88758ea67670");
}

/* A damaged text must never be read as a definition. */
TEST(definition_text_that_is_not_canonical_is_refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "the definition is not valid JSON"},
        {"[]", "must be an object"},
        {"{}", "has no name"},
        {"{\"name\":\"a b\",\"tasks\":[]}", "name is not a valid name"},
        {"{\"name\":\"a\"}", "has no tasks"},
        {"{\"name\":\"a\",\"tasks\":{}}", "tasks must be a list"},
        {"{\"name\":\"a\",\"tasks\":[],\"x\":1}", "x is not a known key"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\"}]}", "exactly one of run"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"function\":\"y\"}]}",
         "exactly one of run"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"executor\":\"process\"}]}",
         "or a custom executor"},
        {"{\"name\":\"a\",\"tasks\":[{\"run\":\"x\"}]}", "has no name"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[1]}]}",
         "needs the task with index 1, but the workflow has only 1 task"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[-1]}]}", "from 0"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[0]}]}",
         "need each other in a cycle: b -> b"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"needs\":[1]},"
         "{\"name\":\"c\",\"run\":\"x\",\"needs\":[0]}]}",
         "need each other in a cycle: b -> c -> b"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"run\":\"x\",\"join\":1}]}",
         "has a join of 1, but only 0 needs"},
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
         "contains itself"},
        {"{\"name\":\"a\",\"tasks\":[{\"name\":\"b\",\"workflow\":\"0123456789abcdef0123456789abcdef\""
         "}],\"nested\":{\"0123456789abcdef0123456789abcdef\":{\"name\":\"c\",\"tasks\":[],"
         "\"nested\":{}}}}",
         "nested is not a known key"},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        struct arena arena = ARENA_INIT;
        const struct workflow *w = NULL;
        struct err err = ERR_INIT;

        CHECK_EQ(workflow_read(cases[i].text, strlen(cases[i].text), &arena, &w, &err), -E_INVALID);
        CHECK(!w);
        if (!strstr(err.msg, cases[i].error))
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].text, err.msg);
        arena_release(&arena);
    }
}

/* ---- nested workflows ---- */

static struct fixture load_from_test_dir(const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
    return load(path);
}

TEST(nested_file_used_several_times_is_stored_once_in_the_definition)
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
    f = load_from_test_dir("top.yaml");
    g = load_from_test_dir("sub/left.yaml");
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
    CHECK_STR(left->hash, g.w->hash); /* the same hash alone and as a nested workflow */

    /* A task that runs a workflow takes as long as all tasks of that workflow, so the default retry
     * and timeout do not apply to it. */
    CHECK_EQ(f.w->tasks[0].command.retry.max, -1);
    CHECK_EQ(f.w->tasks[0].command.timeout, 0);
    CHECK_STR(f.w->tasks[0].queue, "q");
    CHECK_EQ(f.w->tasks[2].command.timeout, 3600000000LL);

    check_inverse(f.w);
    check_inverse(left);
    text = text_of(f.w);
    CHECK_EQ(strstr(strstr(text, "\"leaf.yaml\"") + 1, "\"leaf.yaml\"") == NULL, true);
    free(text);
    done(&f);
    done(&g);
}

TEST(definition_read_from_its_canonical_text_needs_no_file)
{
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    struct fixture f;
    char *text, path[512];

    write_file("top.yaml", "tasks: {a: {workflow: leaf.yaml}, b: {run: x, needs: a}}");
    write_file("leaf.yaml", "tasks: [x, y]");
    f = load_from_test_dir("top.yaml");
    text = text_of(f.w);
    done(&f);
    snprintf(path, sizeof(path), "%s/leaf.yaml", test_dir());
    CHECK_EQ(remove(path), 0);
    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &w, &err), &err);
    CHECK_STR(w->tasks[0].nested->tasks[1].command.run, "y");
    CHECK_EQ(w->tasks[0].nested->tasks[0].followers[0], 1);
    CHECK_EQ(w->tasks[0].followers[0], 1);
    CHECK_EQ(w->nnested, 1);
    free(text);
    arena_release(&arena);
}
