/* test_parse_workflow.c - valid workflow files: what the definition contains. Its canonical text:
 * test_canonical_text.c; large files: test_parse_large.c. */
#include "parse_fixture.h"

#include "core/workflow/keys.h"

#include <glob.h>
#include <jansson.h>

TEST_NO_DB;

/* ---- shapes ---- */

TEST(task_given_as_text_is_a_shell_command)
{
    check_text("tasks: {a: echo hi, b: true, c: 5}",
               HEAD "\"tasks\":[{\"name\":\"a\",\"at\":[1,9],\"run\":\"echo hi\"},"
                    "{\"name\":\"b\",\"at\":[1,21],\"run\":\"true\"},"
                    "{\"name\":\"c\",\"at\":[1,30],\"run\":\"5\"}]}");
}

TEST(task_in_a_list_is_named_by_its_position_and_needs_the_task_before_it)
{
    check_text("tasks: [./a.sh, ./b.sh, {argv: c}]",
               HEAD "\"tasks\":[{\"name\":\"step1\",\"at\":[1,9],\"run\":\"./a.sh\"},"
                    "{\"name\":\"step2\",\"at\":[1,17],\"run\":\"./b.sh\",\"needs\":[0]},"
                    "{\"name\":\"step3\",\"at\":[1,25],\"argv\":[\"c\"],\"needs\":[1]}]}");
}

TEST(single_value_is_read_as_a_list_with_one_item)
{
    check_text("secrets: S\ntasks: {a: x, b: {argv: y, needs: a, outputs: o, secrets: T,"
               " retry: {codes: 7}}}",
               HEAD "\"secrets\":[\"S\"],\"tasks\":[{\"name\":\"a\",\"at\":[2,9],\"run\":\"x\","
                    "\"secrets\":[\"S\"]},{\"name\":\"b\",\"at\":[2,15],\"argv\":[\"y\"],"
                    "\"needs\":[0],\"secrets\":[\"S\",\"T\"],\"retry\":{\"codes\":[7]},"
                    "\"outputs\":[\"o\"]}]}");
}

TEST(short_form_of_a_key_equals_its_long_form)
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

TEST(workflow_with_many_keys_is_read_completely)
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
    CHECK_STR(w->params[0].default_value, "\"2026-01-01\"");
    CHECK_STR(w->env.at[0].value, "eu");
    CHECK_EQ(w->timeout, 7200 * 1000000LL);
    CHECK_EQ(w->nschedules, 1);
    CHECK_STR(w->schedules[0].tz, "Europe/Berlin");
    CHECK_EQ(w->schedules[0].catchup, 6 * 3600 * 1000000LL);
    CHECK_EQ(w->ntasks, 4);

    CHECK_EQ(extract->command.retry.max, 5);
    CHECK_EQ(extract->command.retry.delay, 10000000);
    CHECK_EQ(extract->command.retry.ncodes, 2);
    CHECK_EQ(extract->command.retry.codes[1], 111);
    CHECK_EQ((int)(extract->command.retry.jitter * 100), 25);
    CHECK_EQ(extract->command.timeout, 600 * 1000000LL);
    CHECK_EQ(extract->line, 8);
    CHECK_EQ(extract->column, 3);
    CHECK_EQ(extract->nneeds, 0);
    CHECK_EQ(extract->nfollowers, 2);
    CHECK_EQ(extract->followers[0], 1);
    CHECK_EQ(extract->followers[1], 2);

    CHECK_EQ(task(&f, "check")->command.retry.max, 2);
    CHECK_STR(task(&f, "check")->command.container, "{\"image\":\"alpine\"}");
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
    CHECK_STR(w->on_exit->command.run, "./cleanup.sh");
    CHECK_STR(w->outputs.at[0].key, "total");
    check_inverse(w);
    done(&f);
}

/* ---- defaults ---- */

TEST(defaults_apply_where_a_task_sets_no_value)
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

    CHECK_EQ(t->command.retry.max, 2);
    CHECK_EQ(t->command.retry.delay, 10000000);
    CHECK_EQ(t->command.timeout, 600000000);
    CHECK_STR(t->command.cwd, "/d");
    CHECK_STR(t->command.user, "u");
    CHECK_STR(t->executor, "e");
    CHECK_STR(t->queue, "q");
    CHECK_EQ(t->priority, 7);
    CHECK_EQ(t->command.limits.memory, 1000000000);
    CHECK_STR(t->command.container, "{\"image\":\"c\"}");
    CHECK_EQ(t->command.nenv, 0); /* env of defaults is kept separately, in f.w->defaults */
    CHECK_STR(f.w->defaults.command.env[0].key, "A");

    t = task(&f, "own");
    CHECK_EQ(t->command.retry.max, 5);
    CHECK_EQ(t->command.retry.delay, 10000000); /* from defaults: the task does not set it */
    CHECK_EQ(t->command.retry.ncodes, 1);
    CHECK_EQ(t->command.timeout, 1000000);
    CHECK_STR(t->command.cwd, "/o");
    CHECK_STR(t->queue, "r");
    CHECK_EQ(t->priority, 0);
    CHECK_EQ(t->command.limits.memory, 1000000000);
    CHECK_EQ(t->command.limits.pids, 9);
    CHECK_STR(t->command.container, "{\"image\":\"d\"}");
    CHECK_STR(t->command.user, "v");
    CHECK_STR(t->executor, "g");
    CHECK_EQ(t->command.nenv, 1);

    t = task(&f, "function");
    CHECK_EQ(t->command.retry.max, 2);
    CHECK_EQ(t->command.timeout, 600000000);
    CHECK(!t->command.cwd && !t->command.container && !t->command.user && !t->executor &&
          !t->command.limits.memory);

    CHECK_EQ(f.w->on_exit->command.retry.max, 2);
    CHECK_STR(f.w->on_exit->queue, "q");
    check_inverse(f.w);
    done(&f);
}

TEST(values_that_are_set_nowhere_are_left_to_the_configuration)
{
    struct fixture f = parse("tasks: {a: x}");
    const struct workflow_task *t = task(&f, "a");

    CHECK_EQ(t->command.retry.max, -1);
    CHECK(t->command.retry.jitter < 0);
    CHECK_EQ(t->command.retry.delay, 0);
    CHECK_EQ(t->command.timeout, 0);
    CHECK(!t->queue && !t->executor && !t->condition && !t->foreach);
    done(&f);
    f = parse("tasks: {a: {run: x, retry: 0}}");
    CHECK_EQ(task(&f, "a")->command.retry.max, 0);
    check_inverse(f.w);
    done(&f);
}

/* ---- the graph ---- */

TEST(workflow_order_lists_each_task_after_its_needs)
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

/* ---- shipped files ---- */

TEST(shipped_examples_are_valid)
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

    KEYS_EACH(keys, k)
    {
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

TEST(json_schema_describes_every_key)
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
    /* run, argv, function, workflow, or only a custom executor */
    CHECK_EQ(json_array_size(json_object_get(json_array_get(of_task, 1), "oneOf")), 5);
    of_task = json_object_get(json_object_get(definitions, "hook"), "anyOf");
    check_described(json_array_get(of_task, 1), "hook", &keys_task, KEY_HOOKS);
    check_described(json_object_get(definitions, "defaults"), "defaults", &keys_task, KEY_COMMON);
    check_described(json_object_get(definitions, "retry"), "retry", &keys_retry, 0);
    check_described(json_object_get(definitions, "param"), "param", &keys_param, 0);
    check_described(json_object_get(definitions, "schedule"), "schedule", &keys_schedule, 0);
    check_described(json_object_get(definitions, "webhook"), "webhook", &keys_webhook, 0);
    check_described(json_object_get(definitions, "follow"), "follow", &keys_follow, 0);
    json_decref(schema);
    buf_release(&b);
}
