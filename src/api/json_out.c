/* json_out.c - writes executions and events as JSON. The field names are defined only here; pawl.h
 * and docs/JSON.md list them. */
#include "api/api.h"
#include "base/json.h"
#include "base/text.h"
#include "core/graph.h"
#include "store/query/as_of.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 1000 /* in each list of tasks of a workflow */

/* ---- fields ---- */

void json_field_text(struct json_writer *w, const char *key, const char *text)
{
    json_write_key(w, key);
    json_write_text(w, text);
}

void json_field_i64(struct json_writer *w, const char *key, int64_t n)
{
    json_write_key(w, key);
    json_write_i64(w, n);
}

void json_field_id(struct json_writer *w, const char *key, int64_t id)
{
    json_write_key(w, key);
    if (id)
        json_write_i64(w, id);
    else
        json_write_null(w);
}

void json_field_index(struct json_writer *w, int64_t index)
{
    json_write_key(w, "task_index");
    if (index < 0)
        json_write_null(w);
    else
        json_write_i64(w, index);
}

void json_field_time(struct json_writer *w, const char *key, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    json_field_text(w, key, us ? text_time(us, text) : NULL);
}

void json_field_last_order(struct json_writer *w, const struct last_audit *o)
{
    json_write_key(w, "last_order");
    if (!o->at) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_field_text(w, "action", order_text((int)o->action));
    json_field_time(w, "at", o->at);
    json_field_text(w, "by", o->by);
    json_field_text(w, "reason", o->reason);
    json_write_key(w, "data");
    json_write_raw(w, o->data ? o->data : "null");
    json_write_end(w, '}');
}

void json_field_worker(struct json_writer *w, const char *key, int64_t id)
{
    char text[17];

    snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
    json_field_text(w, key, id ? text : NULL);
}

/* Writes a stored document unchanged, but on one line: in valid JSON a line break is never part of
 * a string. */
void json_field_raw(struct json_writer *w, const char *key, const char *json)
{
    size_t i;

    json_write_key(w, key);
    i = w->out->len;
    json_write_raw(w, json);
    for (; i < w->out->len; i++)
        if (w->out->ptr[i] == '\n' || w->out->ptr[i] == '\r')
            w->out->ptr[i] = ' ';
}

static void field_bool(struct json_writer *w, const char *key, bool b)
{
    json_write_key(w, key);
    json_write_bool(w, b);
}

/* ---- an execution ---- */

/* Writes the fields that come from the event that ended the last attempt. */
static void outcome_fields(struct json_writer *w, const char *outcome, json_t **usage)
{
    json_t *data = outcome ? json_loads(outcome, JSON_ALLOW_NUL, NULL) : NULL;
    json_t *code = json_object_get(data, "exit_code"), *sig = json_object_get(data, "signal");

    json_write_key(w, "exit_code");
    if (json_is_integer(code))
        json_write_i64(w, json_integer_value(code));
    else
        json_write_null(w);
    json_write_key(w, "signal");
    if (json_is_integer(sig))
        json_write_i64(w, json_integer_value(sig));
    else
        json_write_null(w);
    *usage = json_incref(json_object_get(data, "usage"));
    json_decref(data);
}

static void usage_field(struct json_writer *w, json_t *usage)
{
    char *text = usage ? json_text(usage) : NULL;

    json_field_raw(w, "usage", text);
    free(text);
    json_decref(usage);
}

/* Programs may rely on the first word, which never changes; the rest is for people. */
void json_waiting(struct json_writer *w, const struct execution *e, int64_t due_at)
{
    struct buf b = BUF_INIT;
    char at[TIME_TEXT_SIZE];

    if (e->held == HELD_LIMIT)
        buf_addf(&b, "limit: %s is full", e->held_key);
    else if (e->held == HELD_DELAY)
        buf_addf(&b, "delay: until %s", due_at ? text_time(due_at, at) : "a timer ends it");
    else if (e->held)
        buf_addstr(&b, hold_text(e->held));
    else if (e->status == S_PENDING && e->needs_left == NEEDS_UNKNOWN)
        buf_addstr(&b, "needs: not all have ended");
    else if (e->status == S_PENDING)
        buf_addf(&b, "needs: %d left", e->needs_left);
    else if (execution_is_claimable(e))
        buf_addf(&b, "worker: for lane %s in queue %s", e->lane, e->queue);
    else if (execution_has_lease(e) && !e->worker)
        buf_addstr(&b, "adoption: its worker is gone");
    json_field_text(w, "waiting", b.len ? b.ptr : NULL);
    buf_release(&b);
}

static void workflow_task_field(struct json_writer *w, const struct execution *e)
{
    json_write_key(w, "workflow_task");
    if (!e->workflow || !e->task_name) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_field_i64(w, "workflow_execution", e->workflow);
    json_field_text(w, "task_name", e->task_name);
    json_field_index(w, e->task_index);
    json_field_i64(w, "retry_count", e->attempts > 1 ? e->attempts - 1 : 0);
    json_field_i64(w, "max_retries", e->max_attempts - 1);
    json_write_end(w, '}');
}

/* Writes the names of the tasks whose status is in the range. A truncated list ends with "…", which
 * can't be the name of a task. */
static void tasks_field(struct json_writer *w, const char *key, struct task_names tasks, int from,
                        int to)
{
    size_t i, n = 0;

    json_write_key(w, key);
    json_write_begin(w, '[');
    for (i = 0; i < tasks.n && n <= NAMES_MAX; i++)
        if (tasks.at[i].status >= from && tasks.at[i].status <= to)
            json_write_text(w, n++ < NAMES_MAX ? tasks.at[i].name : "…");
    json_write_end(w, ']');
}

/* The reason of the pause, null if none was given. */
static void pause_reason_field(struct json_writer *w, const char *pause)
{
    json_t *data = pause ? json_loads(pause, JSON_ALLOW_NUL, NULL) : NULL;

    json_field_text(w, "pause_reason", json_string_value(json_object_get(data, "reason")));
    json_decref(data);
}

static void workflow_field(struct json_writer *w, const struct execution *e,
                           const struct execution_history *history, struct task_names tasks)
{
    json_write_key(w, "workflow_execution");
    if (e->kind != KIND_WORKFLOW) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_field_text(w, "definition", history->definition);
    json_field_raw(w, "variables", history->variables);
    tasks_field(w, "current_tasks", tasks, S_READY, S_RUNNING);
    tasks_field(w, "completed_tasks", tasks, S_SUCCEEDED, S_SUCCEEDED);
    tasks_field(w, "failed_tasks", tasks, S_FAILED, S_TIMED_OUT);
    tasks_field(w, "skipped_tasks", tasks, S_SKIPPED, S_SKIPPED);
    field_bool(w, "paused", (e->flags & FLAG_PAUSED) != 0);
    pause_reason_field(w, history->pause);
    json_field_text(w, "error", e->error);
    json_write_end(w, '}');
}

void json_field_executor(struct json_writer *w, const char *lane)
{
    json_write_key(w, "executor");
    if (!lane) {
        json_write_null(w);
        return;
    }
    if (w->comma)
        buf_addch(w->out, ',');
    json_quote(w->out, lane, strcspn(lane, ":"));
    w->comma = true;
}

void json_execution(struct json_writer *w, const struct execution *e,
                    const struct execution_history *history, struct task_names tasks)
{
    json_t *usage;

    json_write_begin(w, '{');
    json_field_i64(w, "id", e->id);
    json_field_id(w, "parent", e->parent);
    json_field_i64(w, "root", e->root);
    json_field_i64(w, "depth", e->depth);
    json_field_text(w, "kind", kind_text(e->kind));
    json_field_text(w, "name", e->name);
    json_field_text(w, "status", status_text(e->status));
    json_field_i64(w, "attempt", e->attempts);
    json_field_i64(w, "max_attempts", e->max_attempts);
    json_field_text(w, "queue", e->queue);
    json_field_i64(w, "priority", e->priority);
    json_field_executor(w, e->lane);
    json_field_worker(w, "worker", e->worker ? e->worker : history->worker);
    json_field_time(w, "requested_at", e->requested_at);
    json_field_time(w, "started_at", e->started_at);
    json_field_time(w, "finished_at", e->finished_at);
    outcome_fields(w, history->outcome, &usage);
    json_field_text(w, "error", e->error);
    json_field_raw(w, "input", e->input);
    json_field_raw(w, "outputs", e->result);
    json_field_raw(w, "result", e->result);
    usage_field(w, usage);
    json_waiting(w, e, history->due_at);
    json_field_id(w, "rerun_of", e->rerun_of);
    workflow_task_field(w, e);
    workflow_field(w, e, history, tasks);
}

/* ---- an event ---- */

void json_event(struct json_writer *w, const struct event_row *e)
{
    json_write_begin(w, '{');
    json_field_i64(w, "sequence_num", e->sequence_num);
    json_field_i64(w, "execution", e->execution);
    json_field_i64(w, "root", e->root);
    json_field_i64(w, "seq", e->seq);
    json_field_text(w, "type", event_text(e->type));
    json_field_text(w, "from", e->from ? status_text(e->from) : NULL);
    json_field_text(w, "to", status_text(e->to));
    json_field_i64(w, "attempt", e->attempt);
    json_field_i64(w, "epoch", e->epoch);
    json_field_worker(w, "worker", e->worker);
    json_field_raw(w, "data", e->data);
    json_field_time(w, "created_at", e->created_at);
    json_write_end(w, '}');
}
