/* cmd_show.c - pawl show: prints all fields of one execution. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* Prints a time and, unless it is negative, a duration: "2026-01-31 14:00:00.123456 UTC, waited 3
 * s". */
static void print_time(const char *label, const json_t *o, const char *key, const char *verb,
                       int64_t us)
{
    const char *at = field(o, key);
    char took[DURATION_TEXT_SIZE];

    if (*at && us >= 0)
        print_field(label, "%.10s %.15s UTC, %s %s", at, text_time_of_day(at), verb,
                    text_duration(us, took));
    else if (*at)
        print_field(label, "%.10s %.15s UTC", at, text_time_of_day(at));
}

static void print_json_field(const char *label, const json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    AUTO_FREE char *text = json_is_null(value) ? NULL : json_text(value);

    if (text)
        print_field(label, "%s", text);
}

static void print_status(const json_t *o)
{
    if (*field(o, "executor")) /* workflows and fan-outs are not claimed */
        print_field("status", "%s, attempt %lld of %lld", field(o, "status"),
                    (long long)field_int(o, "attempt"), (long long)field_int(o, "max_attempts"));
    else
        print_field("status", "%s", field(o, "status"));
}

/* Prints how long an execution that has not ended has been running. */
static void print_elapsed(const json_t *o, int64_t now)
{
    int64_t us = field_duration(o, now);
    char text[DURATION_TEXT_SIZE];

    if (us >= 0 && now && !*field(o, "finished_at"))
        print_field("so far", "%s", text_duration(us, text));
}

/* ---- workflows ---- */

static void print_names(const char *label, const json_t *flow, const char *key)
{
    AUTO_BUF b = BUF_INIT;
    const json_t *name;
    size_t i;

    json_array_foreach(json_object_get(flow, key), i, name)
        buf_addf(&b, "%s%s", i ? ", " : "", json_string_value(name));
    print_field(label, "%s", buf_cstr(&b));
}

static void print_workflow(const json_t *o)
{
    const json_t *flow = json_object_get(o, "workflow_execution");
    const json_t *variables = json_object_get(flow, "variables");

    if (!json_is_object(flow))
        return;
    if (json_is_true(json_object_get(flow, "paused")))
        print_field("paused", "%s",
                    *field(flow, "pause_reason") ? field(flow, "pause_reason") : "no reason given");
    print_names("failed", flow, "failed_tasks");
    print_names("open", flow, "current_tasks");
    print_names("succeeded", flow, "completed_tasks");
    print_names("skipped", flow, "skipped_tasks");
    print_json_field("params", variables, "params");
    print_field("due", "%s", field(variables, "due_at"));
    print_field("definition", "%s", field(flow, "definition"));
}

static void print_task(const json_t *o)
{
    const json_t *task = json_object_get(o, "workflow_task");
    const json_t *index = json_object_get(task, "task_index");
    long long workflow = (long long)field_int(task, "workflow_execution");

    if (json_is_integer(index))
        print_field("task", "%s[%lld] of workflow %lld", field(task, "task_name"),
                    (long long)json_integer_value(index), workflow);
    else if (json_is_object(task))
        print_field("task", "%s of workflow %lld", field(task, "task_name"), workflow);
}

/* Suggests commands for an execution that did not succeed. */
static void print_see_also(const json_t *o)
{
    long long id = (long long)field_int(o, "id");

    if (!strcmp(field(o, "status"), "succeeded"))
        return;
    if (!*field(o, "executor"))
        print_field("see also", "pawl why %lld, pawl tree %lld", id, id);
    else if (field_int(o, "attempt"))
        print_field("see also", "pawl why %lld, pawl logs %lld", id, id);
    else
        print_field("see also", "pawl why %lld", id);
}

/* ---- the execution ---- */

static void print_queue(const json_t *o)
{
    const char *executor = field(o, "executor");

    print_field("queue", "%s, priority %lld%s%s", field(o, "queue"),
                (long long)field_int(o, "priority"), *executor ? ", executor " : "", executor);
}

static void print_worker(const json_t *o)
{
    const char *host = field(o, "host");

    print_field("worker", "%s%s%s", field(o, "worker"), *host ? " on " : "", host);
}

/* `now` is the time of the moment that is shown; 0 if not known. */
static void print_fields(const json_t *o, int64_t now)
{
    printf("%-10s %lld, %s", "execution", (long long)field_int(o, "id"), field(o, "kind"));
    if (json_is_integer(json_object_get(o, "parent")))
        printf(", child of %lld in the tree of %lld", (long long)field_int(o, "parent"),
               (long long)field_int(o, "root"));
    putchar('\n');
    print_field("name", "%s", field(o, "name"));
    print_status(o);
    print_field("waits for", "%s", field(o, "waiting"));
    print_field("error", "%s", field(o, "error"));
    print_json_field("exit code", o, "exit_code");
    print_json_field("signal", o, "signal");
    print_queue(o);
    print_time("requested", o, "requested_at", "", -1);
    print_field("by", "%s", field(o, "requested_by"));
    print_time("started", o, "started_at", "waited",
               field_time(o, "started_at") - field_time(o, "requested_at"));
    print_time("finished", o, "finished_at", "ran", field_duration(o, 0));
    print_elapsed(o, now);
    print_worker(o);
    print_task(o);
    print_json_field("rerun of", o, "rerun_of");
    print_workflow(o);
    if (!json_is_object(json_object_get(o, "workflow_execution")))
        print_json_field("input", o, "input");
    print_json_field("result", o, "result");
    print_see_also(o);
}

/* The execution to show (the named one, its parent or its workflow) and the moment. */
struct command_options {
    bool parent, workflow;
    struct pawl_moment at;
};

static void print_moment(const struct pawl_moment *at)
{
    AUTO_BUF b = BUF_INIT;

    out_moment(&b, at);
    print_field("as of", "%s", b.ptr);
}

static int show(struct cli *c)
{
    const struct command_options *a = c->values;
    json_auto_t *o = NULL;
    char *text;
    int64_t id;

    if (a->parent && a->workflow)
        return cli_wrong("--parent and --workflow exclude each other");
    if (is_moment(&a->at) && (a->parent || a->workflow))
        return cli_wrong("--at can't be combined with --parent or --workflow");
    TRY(cli_open(c));
    TRY(cli_id(c, c->words[0], &id));
    TRY(is_moment(&a->at) ? pawl_show_at(c->p, id, &a->at, &text, &c->err)
                          : (a->parent     ? pawl_parent
                             : a->workflow ? pawl_workflow
                                           : pawl_show)(c->p, id, &text, &c->err));
    if (c->json)
        return print_answer(text);
    o = take_object(text);
    if (is_moment(&a->at))
        print_moment(&a->at);
    print_fields(o, a->at.event ? 0 : a->at.time ? a->at.time : clock_wall_us());
    return 0;
}

static const struct option options[] = {
    {"parent", OPTION_FLAG, offsetof(struct command_options, parent), NULL, "show its parent"},
    {"workflow", OPTION_FLAG, offsetof(struct command_options, workflow), NULL,
     "show the workflow it is a task of"},
    {"at", OPTION_MOMENT, offsetof(struct command_options, at), "TIME",
     "show it as of this time, or with --at=#N after event number N; "
     "default: now"},
    {0},
};

const struct command command_show = {
    .name = "show",
    .forms = "ID",
    .text = "show one execution, or its parent, or the workflow it is a task of",
    .options = options,
    .size = sizeof(struct command_options),
    .examples = {{"pawl show @last", "the newest execution"},
                 {"pawl show 17 --json", "all fields; see docs/JSON.md"},
                 {"pawl show 17 --at 5m", "its state five minutes ago"}},
    .least = 1,
    .most = 1,
    .run = show,
    .reads = true,
};
