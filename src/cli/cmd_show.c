/* cmd_show.c - pawl show: one execution, whole. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void line(const char *label, const char *text)
{
    struct buf b = BUF_INIT;

    if (*text) {
        out_clean(&b, text);
        printf("%-10s %s\n", label, buf_cstr(&b));
    }
    buf_release(&b);
}

/* A time, and how long it was since the one before: "2026-01-31 14:00:00.123456 UTC, waited 3 s".
 */
static void moment(const char *label, const json_t *o, const char *key, int64_t since,
                   const char *verb)
{
    const char *at = field(o, key);
    char took[DURATION_TEXT_SIZE];
    struct buf b = BUF_INIT;

    if (*at) {
        buf_addf(&b, "%.10s %.15s UTC", at, at + 11);
        if (since)
            buf_addf(&b, ", %s %s", verb, text_duration(field_time(o, key) - since, took));
        line(label, b.ptr);
    }
    buf_release(&b);
}

static void document(const char *label, const json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    char *text;

    if (!value || json_is_null(value))
        return;
    text = json_text(value);
    line(label, text);
    free(text);
}

static void status_line(const json_t *o)
{
    struct buf b = BUF_INIT;

    buf_addstr(&b, field(o, "status"));
    if (*field(o, "executor")) /* a workflow or fan-out is not claimed */
        buf_addf(&b, ", attempt %lld of %lld", (long long)field_int(o, "attempt"),
                 (long long)field_int(o, "max_attempts"));
    line("status", b.ptr);
    buf_release(&b);
}

/* How long something goes on that has not ended. */
static void so_far_line(const json_t *o, int64_t now)
{
    int64_t since = field_time(o, "started_at");
    char text[DURATION_TEXT_SIZE];

    if (since && now && !*field(o, "finished_at"))
        line("so far", text_duration(now > since ? now - since : 0, text));
}

/* ---- workflows ---- */

static void names_line(const char *label, const json_t *flow, const char *key)
{
    struct buf b = BUF_INIT;
    const json_t *name;
    size_t i;

    json_array_foreach(json_object_get(flow, key), i, name)
        buf_addf(&b, "%s%s", i ? ", " : "", json_string_value(name));
    line(label, buf_cstr(&b));
    buf_release(&b);
}

static void workflow_lines(const json_t *o)
{
    const json_t *flow = json_object_get(o, "workflow_execution");
    const json_t *variables = json_object_get(flow, "variables");

    if (!json_is_object(flow))
        return;
    if (json_is_true(json_object_get(flow, "paused")))
        line("paused",
             *field(flow, "pause_reason") ? field(flow, "pause_reason") : "nobody said why");
    names_line("failed", flow, "failed_tasks");
    names_line("open", flow, "current_tasks");
    names_line("succeeded", flow, "completed_tasks");
    names_line("skipped", flow, "skipped_tasks");
    document("params", variables, "params");
    line("due", field(variables, "due_at"));
    line("definition", field(flow, "definition"));
}

static void task_line(const json_t *o)
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
    line("task", b.ptr);
    buf_release(&b);
}

/* What to ask next about something that is not well. */
static void next_line(const json_t *o)
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
    line("see also", b.ptr);
    buf_release(&b);
}

/* ---- all of it ---- */

static void place_line(const json_t *o)
{
    struct buf b = BUF_INIT;

    buf_addf(&b, "%s, priority %lld", field(o, "queue"), (long long)field_int(o, "priority"));
    if (*field(o, "executor"))
        buf_addf(&b, ", executor %s", field(o, "executor"));
    line("queue", b.ptr);
    buf_release(&b);
}

/* now: the time of the moment; 0: not known. */
static void print_execution(const json_t *o, int64_t now)
{
    printf("%-10s %lld, %s", "execution", (long long)field_int(o, "id"), field(o, "kind"));
    if (json_is_integer(json_object_get(o, "parent")))
        printf(", child of %lld in the tree of %lld", (long long)field_int(o, "parent"),
               (long long)field_int(o, "root"));
    putchar('\n');
    line("name", field(o, "name"));
    status_line(o);
    line("waits for", field(o, "waiting"));
    line("error", field(o, "error"));
    document("exit code", o, "exit_code");
    document("signal", o, "signal");
    place_line(o);
    moment("requested", o, "requested_at", 0, "");
    moment("started", o, "started_at", field_time(o, "requested_at"), "waited");
    moment("finished", o, "finished_at", field_time(o, "started_at"), "ran");
    so_far_line(o, now);
    line("worker", field(o, "worker"));
    task_line(o);
    document("rerun of", o, "rerun_of");
    workflow_lines(o);
    if (!json_is_object(json_object_get(o, "workflow_execution")))
        document("input", o, "input");
    document("result", o, "result");
    next_line(o);
}

/* Which execution: itself, or one above it; and when. */
struct command_options {
    bool parent, workflow;
    struct pawl_moment at;
};

static void print_moment(const struct pawl_moment *at)
{
    struct buf b = BUF_INIT;

    out_moment(&b, at);
    line("as of", b.ptr);
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
    {"parent", OPTION_FLAG, offsetof(struct command_options, parent), NULL, "its parent"},
    {"workflow", OPTION_FLAG, offsetof(struct command_options, workflow), NULL,
     "the workflow that it is a task of"},
    {"at", OPTION_MOMENT, offsetof(struct command_options, at), "TIME",
     "as it was then, by its events; =#N: after the event of that number"},
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
        code = cli_wrong("--parent or --workflow, not both");
    else if (is_moment(&a.at) && (a.parent || a.workflow))
        code = cli_wrong("--at is about the execution itself, not one above it");
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
    .text = "show one execution, or its parent, or the workflow that it is a task of",
    .options = options,
    .examples = {{"pawl show @last", "the newest execution"},
                 {"pawl show 17 --json", "all fields, see docs/JSON.md"},
                 {"pawl show 17 --at 5m", "as it was five minutes ago"}},
    .least = 1,
    .most = 1,
    .run = cmd_show,
};
