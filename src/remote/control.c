/* control.c - operator actions, schedules, queues, tokens, and actions on many executions. */
#include "base/text.h"
#include "remote/call.h"

#include <stdlib.h>
#include <string.h>

#define BULK_PAGE 1000 /* the lines that one answer has */

/* Sends a request whose body is the writer's object. */
static int send_object(struct remote *r, struct call *q, struct json_writer *w, json_t **out,
                       struct err *err)
{
    json_write_end(w, '}');
    return remote_ask(r, q, out, err);
}

static struct json_writer begin_object(struct call *q, const char *reason)
{
    struct json_writer w = JSON_WRITER(&q->body);

    json_write_begin(&w, '{');
    if (reason)
        json_field_text(&w, "reason", reason);
    return w;
}

static void write_true(struct json_writer *w, const char *name, bool value)
{
    if (!value)
        return;
    json_write_key(w, name);
    json_write_bool(w, true);
}

static void write_texts(struct json_writer *w, const char *name, const char *const *texts)
{
    if (!texts || !*texts)
        return;
    json_write_key(w, name);
    json_write_begin(w, '[');
    for (; *texts; texts++)
        json_write_text(w, *texts);
    json_write_end(w, ']');
}

static void write_given(struct json_writer *w, const char *name, const char *text)
{
    if (text)
        json_field_text(w, name, text);
}

static int64_t int_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* ---- one execution ---- */

int remote_act(struct remote *r, int64_t id, const char *action, const char *reason,
               struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, reason);
    json_auto_t *o = NULL;

    call_path(&q, "/v1/executions/%lld/%s", (long long)id, action);
    return send_object(r, &q, &w, &o, err);
}

int remote_cancel(struct remote *r, int64_t id, bool let_finish, const char *reason,
                  char status[REMOTE_STATUS_SIZE], int64_t *left, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, reason);
    json_auto_t *o = NULL;
    AUTO_REPLY a = {0};

    call_path(&q, "/v1/executions/%lld/cancel", (long long)id);
    write_true(&w, "let_finish", let_finish);
    json_write_end(&w, '}');
    TRY(remote_send(r, &q, &a, err));
    o = json_loadb(buf_cstr(&a.body), a.body.len, JSON_ALLOW_NUL, NULL);
    *left = reply_int(&a, "Pawl-Left");
    snprintf(status, REMOTE_STATUS_SIZE, "%.15s",
             json_is_object(o) ? json_string_value(json_object_get(o, "status")) : "");
    return 0;
}

int remote_rerun(struct remote *r, int64_t id, const struct pawl_rerun *how, const char *document,
                 char **json, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, how->reason);
    AUTO_REPLY a = {0};

    call_path(&q, "/v1/executions/%lld/rerun", (long long)id);
    write_true(&w, "failed", how->failed);
    write_true(&w, "dry_run", how->dry_run);
    write_given(&w, "from", how->from);
    write_texts(&w, "params", how->params);
    if (document) {
        json_write_key(&w, "document");
        json_write_raw(&w, document);
    }
    json_write_end(&w, '}');
    TRY(remote_send(r, &q, &a, err));
    if (json)
        *json = mem_strdup(buf_cstr(&a.body));
    return 0;
}

/* ---- many executions ---- */

/* Passes lines on, and keeps the id of the last one: the next page begins below it. */
struct bulk_lines {
    pawl_line *each;
    void *arg;
    int64_t last;
    bool closed;
};

static void pass_line(struct bulk_lines *b, const json_t *item)
{
    AUTO_FREE char *text = json_text(item);

    b->last = int_of(item, "id");
    b->closed = b->closed || (b->each && b->each(b->arg, text));
}

static void write_time(struct json_writer *w, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us)
        json_field_text(w, name, text_time(us, text));
}

static void write_int(struct json_writer *w, const char *name, int64_t n)
{
    if (n)
        json_field_i64(w, name, n);
}

static void write_filter(struct json_writer *w, const struct pawl_list_query *f, int64_t before)
{
    json_write_key(w, "filter");
    json_write_begin(w, '{');
    write_given(w, "status", f->status);
    write_given(w, "kind", f->kind);
    write_given(w, "workflow", f->workflow);
    write_given(w, "name", f->name);
    write_given(w, "queue", f->queue);
    write_time(w, "since", f->since);
    write_time(w, "until", f->until);
    write_given(w, "worker", f->worker);
    write_given(w, "host", f->host);
    write_given(w, "by", f->by);
    write_texts(w, "param", f->params);
    write_int(w, "parent", f->parent);
    write_int(w, "before", before);
    write_true(w, "all", f->all);
    json_write_end(w, '}');
}

static int act_on_page(struct remote *r, const struct pawl_bulk *bulk, int64_t before,
                       int64_t limit, json_t **out, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, bulk->reason);

    call_path(&q, "/v1/executions/actions");
    write_given(&w, "action", bulk->action);
    write_filter(&w, bulk->filter, before);
    write_true(&w, "dry_run", bulk->dry_run);
    write_int(&w, "limit", limit);
    return send_object(r, &q, &w, out, err);
}

static void add_result(struct pawl_bulk_result *sum, const json_t *o)
{
    sum->matched += int_of(o, "matched");
    sum->done += int_of(o, "done");
    sum->refused += int_of(o, "refused");
    sum->changed += int_of(o, "changed");
    if (!sum->before)
        sum->before = int_of(o, "before");
    if (!sum->code)
        sum->code = (int)int_of(o, "code");
}

/* An answer has at most BULK_PAGE lines, so a caller that wants all of them asks page by page. */
int remote_bulk(struct remote *r, const struct pawl_bulk *bulk, pawl_line *each, void *arg,
                struct pawl_bulk_result *result, struct err *err)
{
    const struct pawl_list_query *f = bulk->filter;
    struct bulk_lines lines = {each, arg, 0, false};
    int64_t before = f->before, left = f->limit > 0 ? f->limit : INT64_MAX, matched;

    do {
        int64_t limit = each && left > BULK_PAGE ? BULK_PAGE : left == INT64_MAX ? 0 : left;
        json_auto_t *o = NULL;
        const json_t *item;
        size_t i;

        TRY(act_on_page(r, bulk, before, limit, &o, err));
        add_result(result, o);
        json_array_foreach(json_object_get(o, "items"), i, item) pass_line(&lines, item);
        matched = int_of(o, "matched");
        left -= left == INT64_MAX ? 0 : matched;
        before = lines.last;
    } while (each && matched == BULK_PAGE && left && !lines.closed);
    return 0;
}

/* ---- queues and schedules ---- */

int remote_queue(struct remote *r, const char *queue, const char *action, int max,
                 const char *reason, bool *paused, struct err *err)
{
    bool limits = !strcmp(action, "limit");
    AUTO_CALL q = {.method = limits ? "PUT" : "POST"};
    struct json_writer w = begin_object(&q, reason);
    json_auto_t *o = NULL;
    const json_t *item;
    size_t i;

    call_path(&q, "/v1/queues");
    call_segment(&q, queue);
    call_path(&q, "/%s", action);
    if (limits && max >= 0)
        json_field_i64(&w, "max", max);
    TRY(send_object(r, &q, &w, &o, err));
    json_array_foreach(json_object_get(o, "items"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "queue"));

        if (paused && name && !strcmp(name, queue))
            *paused = json_is_object(json_object_get(item, "paused"));
    }
    return 0;
}

int remote_worker_drain(struct remote *r, const char *worker, const char *reason, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, reason);
    json_auto_t *o = NULL;

    call_path(&q, "/v1/workers");
    call_segment(&q, worker);
    call_path(&q, "/drain");
    return send_object(r, &q, &w, &o, err);
}

int remote_schedule(struct remote *r, const char *name, const char *action, const char *reason,
                    int64_t *id, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, reason);
    json_auto_t *o = NULL;

    call_path(&q, "/v1/schedules");
    call_segment(&q, name);
    call_path(&q, "/%s", action);
    TRY(send_object(r, &q, &w, &o, err));
    if (id)
        *id = int_of(o, "id");
    return 0;
}

/* ---- tokens ---- */

int remote_token_create(struct remote *r, const struct pawl_token *t, const char *scopes,
                        const char *reason, char **text, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, reason);
    char expires[DURATION_TEXT_SIZE];
    json_auto_t *o = NULL;
    const char *token;

    call_path(&q, "/v1/tokens");
    json_field_text(&w, "name", t->name);
    json_field_text(&w, "scopes", scopes);
    write_texts(&w, "queues", t->queues);
    write_texts(&w, "lanes", t->lanes);
    if (t->expires_in)
        json_field_text(&w, "expires_in", text_exact_duration(t->expires_in, expires));
    TRY(send_object(r, &q, &w, &o, err));
    token = json_string_value(json_object_get(o, "token"));
    if (!token)
        return remote_no_server(r, err);
    *text = mem_strdup(token);
    return 0;
}

/* The members of the setting are those of the body. */
int remote_setting(struct remote *r, const char *name, const char *value, const char *reason,
                   struct err *err)
{
    AUTO_CALL q = {.method = "PUT"};
    json_auto_t *o = NULL;

    call_path(&q, "/v1/%s", name);
    if (reason) {
        struct json_writer w = begin_object(&q, reason);

        (void)w;
        buf_addch(&q.body, ',');
        value++; /* its bracket */
    }
    buf_addstr(&q.body, value);
    return remote_ask(r, &q, &o, err);
}

static int delete_named(struct remote *r, const char *list, const char *name, const char *reason,
                        struct err *err)
{
    AUTO_CALL q = {.method = "DELETE"};
    AUTO_REPLY a = {0};

    call_path(&q, "%s", list);
    call_segment(&q, name);
    call_text(&q, "reason", reason);
    return remote_send(r, &q, &a, err);
}

int remote_token_revoke(struct remote *r, const char *name, const char *reason, struct err *err)
{
    return delete_named(r, "/v1/tokens", name, reason, err);
}

/* ---- webhooks ---- */

static void write_optional(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_field_text(w, key, text);
}

int remote_hook_create(struct remote *r, const struct pawl_hook *h, const char *reason,
                       char **secret, struct err *err)
{
    AUTO_CALL q = {.method = "POST"};
    struct json_writer w = begin_object(&q, reason);
    json_auto_t *o = NULL;
    const char *text;

    call_path(&q, "/v1/hooks");
    json_field_text(&w, "name", h->name);
    write_optional(&w, "signature", h->signature);
    write_optional(&w, "secret", h->secret);
    write_optional(&w, "url", h->url);
    write_optional(&w, "statuses", h->statuses);
    write_optional(&w, "workflow", h->workflow);
    write_optional(&w, "queue", h->queue);
    if (h->tasks) {
        json_write_key(&w, "tasks");
        json_write_bool(&w, true);
    }
    TRY(send_object(r, &q, &w, &o, err));
    text = json_string_value(json_object_get(o, "secret"));
    if (!text)
        return remote_no_server(r, err);
    *secret = mem_strdup(text);
    return 0;
}

int remote_hook_revoke(struct remote *r, const char *name, const char *reason, struct err *err)
{
    return delete_named(r, "/v1/hooks", name, reason, err);
}
