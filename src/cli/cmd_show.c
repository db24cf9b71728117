/* cmd_show.c - pawl show: prints all fields of one execution. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void print_field(const char *label, const char *text)
{
    struct buf b = BUF_INIT;

    if (*text) {
        out_clean(&b, text);
        printf("%-10s %s\n", label, buf_cstr(&b));
    }
    buf_release(&b);
}

/* Prints a time and the duration since an earlier one: "2026-01-31 14:00:00.123456 UTC, waited 3
 * s". */
static void print_time(const char *label, const json_t *o, const char *key, int64_t since,
                       const char *verb)
{
    const char *at = field(o, key);
    char took[DURATION_TEXT_SIZE];
    struct buf b = BUF_INIT;

    if (*at) {
        buf_addf(&b, "%.10s %.15s UTC", at, at + 11);
        if (since)
            buf_addf(&b, ", %s %s", verb, text_duration(field_time(o, key) - since, took));
        print_field(label, b.ptr);
    }
    buf_release(&b);
}

static void print_json_field(const char *label, const json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    char *text;

    if (!value || json_is_null(value))
        return;
    text = json_text(value);
    print_field(label, text);
    free(text);
}

static void print_status(const json_t *o)
{
    struct buf b = BUF_INIT;

    buf_addstr(&b, field(o, "status"));
    if (*field(o, "executor")) /* workflows and fan-outs are not claimed */
        buf_addf(&b, ", attempt %lld of %lld", (long long)field_int(o, "attempt"),
                 (long long)field_int(o, "max_attempts"));
    print_field("status", b.ptr);
    buf_release(&b);
}

/* How long an execution that has not ended has been running. */
static void print_elapsed(const json_t *o, int64_t now)
{
    int64_t since = field_time(o, "started_at");
    char text[DURATION_TEXT_SIZE];

    if (since && now && !*field(o, "finished_at"))
        print_field("so far", text_duration(now > since ? now - since : 0, text));
}

/* ---- workflows ---- */

static void print_names(const char *label, const json_t *flow, const char *key)
{
    struct buf b = BUF_INIT;
    const json_t *name;
    size_t i;

    json_array_foreach(json_object_get(flow, key), i, name)
        buf_addf(&b, "%s%s", i ? ", " : "", json_string_value(name));
    print_field(label, buf_cstr(&b));
    buf_release(&b);
}

static void print_workflow(const json_t *o)
{
    const json_t *flow = json_object_get(o, "workflow_execution");
    const json_t *variables = json_object_get(flow, "variables");

    if (!json_is_object(flow))
        return;
    if (json_is_true(json_object_get(flow, "paused")))
        print_field("paused",
                    *field(flow, "pause_reason") ? field(flow, "pause_reason") : "no reason given");
    print_names("failed", flow, "failed_tasks");
    print_names("open", flow, "current_tasks");
    print_names("succeeded", flow, "completed_tasks");
    print_names("skipped", flow, "skipped_tasks");
    print_json_field("params", variables, "params");
    print_field("due", field(variables, "due_at"));
    print_field("definition", field(flow, "definition"));
}

static void print_task(const json_t *o)
{
    const json_t *task = json_object_get(o, "workflow_task");
    const json_t *index = json_object_get(task, "task_index");
    struct buf b = BUF_INIT;

    if (!json_is_object(task))
        return;
    buf_addstr(&b, field(task, "task_name"));
    if (json_is_integer(index))
        buf_addf(&b, "[%lld]", (long long)json_integer_value(index));
    buf_addf(&b, " of workflow %lld", (long long)field_int(task, "workflow_execution"));
    print_field("task", b.ptr);
    buf_release(&b);
}

/* Suggests commands for an execution that did not succeed. */
static void print_see_also(const json_t *o)
{
    const char *status = field(o, "status");
    long long id = (long long)field_int(o, "id");
    bool flow = !*field(o, "executor");
    struct buf b = BUF_INIT;

    if (!strcmp(status, "succeeded"))
        return;
    buf_addf(&b, "pawl why %lld", id);
    if (flow)
        buf_addf(&b, ", pawl tree %lld", id);
    else if (field_int(o, "attempt"))
        buf_addf(&b, ", pawl logs %lld", id);
    print_field("see also", b.ptr);
    buf_release(&b);
}

/* ---- the execution ---- */

static void print_queue(const json_t *o)
{
    struct buf b = BUF_INIT;

    buf_addf(&b, "%s, priority %lld", field(o, "queue"), (long long)field_int(o, "priority"));
    if (*field(o, "executor"))
        buf_addf(&b, ", executor %s", field(o, "executor"));
    print_field("queue", b.ptr);
    buf_release(&b);
}

/* now is the time of the moment; 0 if not known. */
static void print_execution(const json_t *o, int64_t now)
{
    printf("%-10s %lld, %s", "execution", (long long)field_int(o, "id"), field(o, "kind"));
    if (json_is_integer(json_object_get(o, "parent")))
        printf(", child of %lld in the tree of %lld", (long long)field_int(o, "parent"),
               (long long)field_int(o, "root"));
    putchar('\n');
    print_field("name", field(o, "name"));
    print_status(o);
    print_field("waits for", field(o, "waiting"));
    print_field("error", field(o, "error"));
    print_json_field("exit code", o, "exit_code");
    print_json_field("signal", o, "signal");
    print_queue(o);
    print_time("requested", o, "requested_at", 0, "");
    print_time("started", o, "started_at", field_time(o, "requested_at"), "waited");
    print_time("finished", o, "finished_at", field_time(o, "started_at"), "ran");
    print_elapsed(o, now);
    print_field("worker", field(o, "worker"));
    print_task(o);
    print_json_field("rerun of", o, "rerun_of");
    print_workflow(o);
    if (!json_is_object(json_object_get(o, "workflow_execution")))
        print_json_field("input", o, "input");
    print_json_field("result", o, "result");
    print_see_also(o);
}

/* Which execution: itself, its parent or its workflow; and as of when. */
struct command_options {
    bool parent, workflow;
    struct pawl_moment at;
};

static void print_moment(const struct pawl_moment *at)
{
    struct buf b = BUF_INIT;

    out_moment(&b, at);
    print_field("as of", b.ptr);
    buf_release(&b);
}

static int show(struct pawl *p, const char *which, const struct command_options *a, bool json)
{
    struct pawl_error err;
    char *text = NULL;
    int64_t id;
    json_t *o;
    int code, rc;

    if ((code = cli_id(p, which, &id)))
        return code;
    rc = a->parent           ? pawl_parent(p, id, &text, &err)
         : a->workflow       ? pawl_workflow(p, id, &text, &err)
         : is_moment(&a->at) ? pawl_show_at(p, id, &a->at, &text, &err)
                             : pawl_show(p, id, &text, &err);
    if (rc)
        return cli_fail(&err);
    if (json) {
        puts(text);
    } else {
        o = parse_object(text);
        if (is_moment(&a->at))
            print_moment(&a->at);
        print_execution(o, a->at.event ? 0 : a->at.time ? a->at.time : clock_wall_us());
        json_decref(o);
    }
    free(text);
    return 0;
}

static const struct option options[] = {
    {"parent", OPTION_FLAG, offsetof(struct command_options, parent), NULL, "show its parent"},
    {"workflow", OPTION_FLAG, offsetof(struct command_options, workflow), NULL,
     "show the workflow it is a task of"},
    {"at", OPTION_MOMENT, offsetof(struct command_options, at), "TIME",
     "as of this time, computed from the events; =#N: after event number N"},
    {0},
};

static int cmd_show(int argc, char **argv)
{
    struct command_options a = {0};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_show, argc, argv, &a);

    if (code >= 0)
        return code;
    if (a.parent && a.workflow)
        code = cli_wrong("--parent and --workflow exclude each other");
    else if (is_moment(&a.at) && (a.parent || a.workflow))
        code = cli_wrong("--at can't be combined with --parent or --workflow");
    else if (!(code = cli_open(&c, &p))) {
        code = show(p, c.words[0], &a, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_show = {
    .name = "show",
    .forms = "ID",
    .text = "show one execution, or its parent, or the workflow it is a task of",
    .options = options,
    .examples = {{"pawl show @last", "the newest execution"},
                 {"pawl show 17 --json", "all fields; see docs/JSON.md"},
                 {"pawl show 17 --at 5m", "its state five minutes ago"}},
    .least = 1,
    .most = 1,
    .run = cmd_show,
};
