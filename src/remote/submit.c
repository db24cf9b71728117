/* submit.c - submits jobs and workflows, and applies workflows. A workflow that this program has
 * read is sent as its document, so that files are read here and not by the server. */
#include "base/text.h"
#include "remote/call.h"

#include <string.h>

#define FUNCTION_LANE "function:"
#define JOBS_MAX      1000 /* of one request */

static void write_raw(struct json_writer *w, const char *name, const char *json)
{
    if (!json)
        return;
    json_write_key(w, name);
    json_write_raw(w, json);
}

static void write_text(struct json_writer *w, const char *name, const char *text)
{
    if (text)
        json_field_text(w, name, text);
}

static void write_int(struct json_writer *w, const char *name, int64_t n)
{
    if (n)
        json_field_i64(w, name, n);
}

static void write_params(struct json_writer *w, const char *const *params)
{
    if (!params || !*params)
        return;
    json_write_key(w, "param");
    json_write_begin(w, '[');
    for (; *params; params++)
        json_write_text(w, *params);
    json_write_end(w, ']');
}

/* A job that is not a workflow: for a function, or with a spec. */
static void write_single(struct json_writer *w, const struct pawl_job *job)
{
    const char *lane = job->lane;

    write_text(w, "name", job->name);
    if (lane && !strncmp(lane, FUNCTION_LANE, strlen(FUNCTION_LANE)))
        json_field_text(w, "function", lane + strlen(FUNCTION_LANE));
    else
        write_text(w, "executor", lane);
    write_raw(w, "spec", job->spec);
    write_raw(w, "input", job->input);
}

static void write_job(struct json_writer *w, const struct pawl_job *job)
{
    char delay[DURATION_TEXT_SIZE];

    json_write_begin(w, '{');
    if (job->applied || job->document) {
        write_text(w, "workflow", job->applied);
        write_raw(w, "document", job->document);
        write_raw(w, "params", job->input);
        write_params(w, job->params);
    } else {
        write_single(w, job);
    }
    write_text(w, "queue", job->queue);
    write_text(w, "key", job->key);
    write_int(w, "priority", job->priority);
    write_int(w, "max_attempts", job->max_attempts);
    if (job->delay > 0)
        json_field_text(w, "delay", text_exact_duration(job->delay, delay));
    if (job->concurrency) {
        json_write_key(w, "concurrency");
        json_write_begin(w, '{');
        json_field_text(w, "key", job->concurrency);
        write_int(w, "max", job->concurrency_max);
        json_write_end(w, '}');
    }
    write_int(w, "parent", job->parent);
    if (job->refuse) {
        json_write_key(w, "refuse");
        json_write_bool(w, true);
    }
    json_write_end(w, '}');
}

static int check_jobs(struct remote *r, const struct pawl_job *jobs, size_t n, struct err *err)
{
    if (n > JOBS_MAX)
        return err_set(err, E_INVALID, "the server %s accepts at most %d jobs in one request",
                       r->url, JOBS_MAX);
    for (size_t i = 0; i < n; i++)
        if (jobs[i].shares_slot)
            return err_set(
                err, E_INVALID,
                "a job that is submitted through a server can't share the slot of the job that "
                "submits it");
    return 0;
}

/* One job is sent alone, so that an error does not name its place in a list. */
int remote_submit(struct remote *r, struct pawl_job *jobs, size_t n, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = JSON_WRITER(&q.body);
    AUTO_REPLY a = {0};
    json_auto_t *o = NULL;

    if (!n)
        return 0;
    TRY(check_jobs(r, jobs, n, err));
    call_path(&q, "/v1/executions");
    if (n > 1)
        json_write_begin(&w, '[');
    for (size_t i = 0; i < n; i++)
        write_job(&w, &jobs[i]);
    if (n > 1)
        json_write_end(&w, ']');
    TRY(remote_send(r, &q, &a, err));
    o = json_loadb(buf_cstr(&a.body), a.body.len, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        const json_t *receipt = n > 1 ? json_array_get(o, i) : o;

        jobs[i].id = json_integer_value(json_object_get(receipt, "id"));
        jobs[i].existed = json_is_true(json_object_get(receipt, "existed"));
        if (!jobs[i].id)
            return remote_no_server(r, err);
    }
    return 0;
}

/* ---- applied workflows ---- */

static int64_t int_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void copy_text(char *to, size_t size, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    snprintf(to, size, "%s", text ? text : "");
}

int remote_apply(struct remote *r, const struct remote_apply *given, struct pawl_applied *out,
                 struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = JSON_WRITER(&q.body);
    struct pawl_applied a = {0};
    json_auto_t *o = NULL;

    call_path(&q, "/v1/workflows");
    json_write_begin(&w, '{');
    write_raw(&w, "document", given->document);
    write_text(&w, "source", given->source);
    write_text(&w, "name", given->name);
    write_text(&w, "if_match", given->if_match);
    json_write_end(&w, '}');
    TRY(remote_ask(r, &q, &o, err));
    a.unchanged = json_is_true(json_object_get(o, "unchanged"));
    a.kept = (size_t)int_of(o, "kept");
    a.removed = (size_t)int_of(o, "removed");
    if (out)
        *out = a;
    return 0;
}

int remote_applied_delete(struct remote *r, const char *name, const char *if_match,
                          const char *reason, struct pawl_applied_deleted *out, struct err *err)
{
    AUTO_FREE char *match = if_match ? mem_printf("If-Match: \"%s\"", if_match) : NULL;
    AUTO_CALL q = {.method = "DELETE", .header = {match}};
    json_auto_t *o = NULL;

    call_path(&q, "/v1/workflows");
    call_segment(&q, name);
    call_text(&q, "reason", reason);
    TRY(remote_ask(r, &q, &o, err));
    if (out) {
        *out = (struct pawl_applied_deleted){.schedules = (size_t)int_of(o, "schedules"),
                                             .waiting = (size_t)int_of(o, "waiting")};
        copy_text(out->hash, sizeof(out->hash), o, "definition");
    }
    return 0;
}
