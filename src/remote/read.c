/* read.c - the reading functions of pawl.h. */
#include "base/text.h"
#include "remote/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX   1000  /* executions of a page */
#define EVENTS_MAX 10000 /* events of a page */
#define LOG_MAX    (1 << 20)
#define WAIT_S     60 /* one request of a wait without a limit */

/* Moves the body of an answer to the caller, who frees it. */
static int take_body(struct remote *r, struct call *q, char **text, struct err *err)
{
    AUTO_REPLY a = {0};

    TRY(remote_send(r, q, &a, err));
    buf_reserve(&a.body, 1);
    *text = a.body.ptr;
    (*text)[a.body.len] = '\0';
    a.body = (struct buf)BUF_INIT;
    return 0;
}

/* Likewise, of an answer that must be a JSON object. */
static int take_document(struct remote *r, struct call *q, char **json, struct err *err)
{
    TRY(take_body(r, q, json, err));
    if (**json == '{')
        return 0;
    free(*json);
    return remote_no_server(r, err);
}

static void add_moment(struct call *q, const struct pawl_moment *at)
{
    if (!at)
        return;
    call_time(q, "at", at->time);
    call_int(q, "at_event", at->event);
}

static void begin_execution(struct call *q, int64_t id, const char *what)
{
    call_path(q, "/v1/executions/%lld%s", (long long)id, what);
}

int remote_get(struct remote *r, const char *path, char **json, struct err *err)
{
    AUTO_CALL q = {0};

    call_path(&q, "%s", path);
    return take_body(r, &q, json, err);
}

int remote_lines(struct remote *r, const char *path, const char *argument, const char *name,
                 int64_t limit, pawl_line *each, void *arg, struct err *err)
{
    AUTO_CALL q = {0};

    call_path(&q, "%s", path);
    if (argument)
        call_text(&q, argument, name);
    if (limit >= 0)
        call_path(&q, "%climit=%lld", q.queried ? '&' : '?', (long long)limit);
    q.queried |= limit >= 0;
    return remote_pages(r, &q, each, arg, err);
}

int remote_submissions(struct remote *r, const struct pawl_submission_query *s, pawl_line *each,
                       void *arg, char **next, struct err *err)
{
    AUTO_CALL q = {0};

    call_path(&q, "/v1/submissions");
    call_text(&q, "status", s->status);
    call_int(&q, "limit", s->limit);
    call_text(&q, "cursor", s->cursor);
    return remote_page(r, &q, each, arg, next, err);
}

/* ---- one execution ---- */

int remote_show(struct remote *r, int64_t id, const char *what, const struct pawl_moment *at,
                char **json, struct err *err)
{
    AUTO_CALL q = {0};

    begin_execution(&q, id, what);
    add_moment(&q, at);
    return take_document(r, &q, json, err);
}

int remote_list_of(struct remote *r, int64_t id, const char *what, pawl_line *each, void *arg,
                   struct err *err)
{
    AUTO_CALL q = {0};

    begin_execution(&q, id, what);
    return remote_pages(r, &q, each, arg, err);
}

int remote_outline(struct remote *r, int64_t id, const struct pawl_moment *at, pawl_line *each,
                   void *arg, int64_t *now, struct err *err)
{
    AUTO_CALL q = {0};
    AUTO_REPLY a = {0};

    begin_execution(&q, id, "/outline");
    add_moment(&q, at);
    TRY(remote_send(r, &q, &a, err));
    if (now)
        *now = reply_int(&a, "Pawl-Time");
    return remote_items(r, &a, each, arg, NULL, err);
}

int remote_diff(struct remote *r, int64_t a, int64_t b, char **json, bool *same, struct err *err)
{
    AUTO_CALL q = {0};
    json_auto_t *o = NULL;

    begin_execution(&q, a, "/diff");
    call_path(&q, "/%lld", (long long)b);
    TRY(take_document(r, &q, json, err));
    if (same) {
        o = json_loads(*json, JSON_ALLOW_NUL, NULL);
        *same = json_is_true(json_object_get(o, "same"));
    }
    return 0;
}

int remote_graph(struct remote *r, int64_t id, const char *format, int width, char **text,
                 struct err *err)
{
    AUTO_CALL q = {0};

    begin_execution(&q, id, "/graph");
    call_text(&q, "format", format);
    call_int(&q, "width", width > 0 ? width : 0);
    return take_body(r, &q, text, err);
}

/* ---- waiting ---- */

static bool has_ended(const char *status)
{
    return strcmp(status, "pending") && strcmp(status, "ready") && strcmp(status, "running");
}

/* Asks for the status; with a wait, the server answers when the execution has ended, or after
 * `seconds`. */
static int ask_status(struct remote *r, int64_t id, int64_t seconds,
                      char status[REMOTE_STATUS_SIZE], struct err *err)
{
    AUTO_FREE char *prefer = seconds ? mem_printf("Prefer: wait=%lld", (long long)seconds) : NULL;
    AUTO_CALL q = {.header = {prefer}};
    json_auto_t *o = NULL;
    const char *now;

    begin_execution(&q, id, "");
    TRY(remote_ask(r, &q, &o, err));
    now = json_string_value(json_object_get(o, "status"));
    if (!now || strlen(now) >= REMOTE_STATUS_SIZE)
        return remote_no_server(r, err);
    snprintf(status, REMOTE_STATUS_SIZE, "%s", now);
    return 0;
}

int remote_status(struct remote *r, int64_t id, int timeout_ms, char status[REMOTE_STATUS_SIZE],
                  struct err *err)
{
    int64_t end = clock_boot_us() + timeout_ms * 1000LL, left = timeout_ms * 1000LL;

    for (;;) {
        int64_t seconds = timeout_ms < 0 ? WAIT_S : (left + 999999) / 1000000;

        TRY(ask_status(r, id, seconds < WAIT_S ? seconds : WAIT_S, status, err));
        left = end - clock_boot_us();
        if (has_ended(status) || (timeout_ms >= 0 && left <= 0))
            return 0;
    }
}

/* ---- lists ---- */

static void add_filter(struct call *q, const struct pawl_list_query *f)
{
    call_text(q, "status", f->status);
    call_text(q, "kind", f->kind);
    call_text(q, "workflow", f->workflow);
    call_text(q, "name", f->name);
    call_text(q, "queue", f->queue);
    call_time(q, "since", f->since);
    call_time(q, "until", f->until);
    call_text(q, "worker", f->worker);
    call_text(q, "host", f->host);
    call_text(q, "by", f->by);
    for (const char *const *p = f->params; p && *p; p++)
        call_text(q, "param", *p);
    call_int(q, "parent", f->parent);
    call_bool(q, "all", f->all);
}

int remote_list(struct remote *r, const struct pawl_list_query *l, pawl_line *each, void *arg,
                int64_t *next, struct err *err)
{
    bool limited = l->limit > 0 && (l->tasks || l->limit < LIST_MAX);
    AUTO_CALL q = {0};
    AUTO_FREE char *cursor = NULL;

    call_path(&q, "/v1/executions");
    add_filter(&q, l);
    call_int(&q, "tasks", l->tasks);
    call_int(&q, "cursor", l->before);
    call_int(&q, "limit", limited ? l->limit : l->tasks ? 0 : LIST_MAX);
    TRY(remote_page(r, &q, each, arg, &cursor, err));
    if (next)
        *next = cursor ? strtoll(cursor, NULL, 10) : 0;
    return 0;
}

int remote_counts(struct remote *r, const struct pawl_list_query *l, char **json, struct err *err)
{
    AUTO_CALL q = {0};

    call_path(&q, "/v1/executions/counts");
    add_filter(&q, l);
    call_int(&q, "before", l->before);
    call_int(&q, "limit", l->limit > 0 ? l->limit : 0);
    return take_document(r, &q, json, err);
}

static int keep_id(void *id, const char *json)
{
    json_auto_t *o = json_loads(json, JSON_ALLOW_NUL, NULL);

    *(int64_t *)id = json_integer_value(json_object_get(o, "id"));
    return 1;
}

int remote_last(struct remote *r, int64_t *id, struct err *err)
{
    int64_t found = 0;

    TRY(remote_list(r, &(struct pawl_list_query){.limit = 1}, keep_id, &found, NULL, err));
    if (!found)
        return err_set(err, E_NOT_FOUND, "there are no executions yet");
    *id = found;
    return 0;
}

/* The server has them newest first. */
int remote_children(struct remote *r, int64_t id, pawl_line *each, void *arg, struct err *err)
{
    AUTO_CALL q = {0};

    begin_execution(&q, id, "/children");
    call_bool(&q, "oldest_first", true);
    return remote_pages(r, &q, each, arg, err);
}

int remote_overview(struct remote *r, const char *part, int64_t limit, char **json, struct err *err)
{
    AUTO_CALL q = {0};

    call_path(&q, "/v1/overview");
    call_text(&q, "part", part);
    call_int(&q, "limit", limit);
    return take_document(r, &q, json, err);
}

int remote_applied_list(struct remote *r, const struct pawl_applied_query *l, pawl_line *each,
                        void *arg, bool *more, struct err *err)
{
    AUTO_CALL q = {0};
    AUTO_FREE char *next = NULL;

    call_path(&q, "/v1/workflows");
    call_text(&q, "name", l->name);
    call_text(&q, "cursor", l->after);
    call_int(&q, "limit", l->limit > 0 && l->limit < LIST_MAX ? l->limit : LIST_MAX);
    TRY(remote_page(r, &q, each, arg, &next, err));
    if (more)
        *more = next != NULL;
    return 0;
}

int remote_applied_versions(struct remote *r, const char *name, int64_t before, int64_t limit,
                            pawl_line *each, void *arg, bool *more, struct err *err)
{
    AUTO_CALL q = {0};
    AUTO_FREE char *next = NULL;

    call_path(&q, "/v1/workflows");
    call_segment(&q, name);
    call_path(&q, "/versions");
    call_int(&q, "cursor", before);
    call_int(&q, "limit", limit > 0 && limit < LIST_MAX ? limit : LIST_MAX);
    TRY(remote_page(r, &q, each, arg, &next, err));
    if (more)
        *more = next != NULL;
    return 0;
}

int remote_applied_show(struct remote *r, const char *name, const char *version, char **json,
                        struct err *err)
{
    AUTO_CALL q = {0};

    call_path(&q, "/v1/workflows");
    call_segment(&q, name);
    call_text(&q, "version", version);
    return take_document(r, &q, json, err);
}

/* ---- output and events ---- */

int remote_log(struct remote *r, const struct pawl_log_place *at, char *out, size_t size,
               struct pawl_log_page *page, struct err *err)
{
    AUTO_CALL q = {0};
    AUTO_REPLY a = {0};

    begin_execution(&q, at->execution, "/logs");
    call_int(&q, "attempt", at->attempt);
    call_int(&q, "from", at->from);
    call_int(&q, "limit", size < LOG_MAX ? (int64_t)size : LOG_MAX);
    TRY(remote_send(r, &q, &a, err));
    if (a.body.len > size || !reply_header(&a, "Pawl-Log-Next"))
        return remote_no_server(r, err);
    if (a.body.len)
        memcpy(out, a.body.ptr, a.body.len);
    *page = (struct pawl_log_page){.attempt = (int)reply_int(&a, "Pawl-Log-Attempt"),
                                   .len = a.body.len,
                                   .from = reply_int(&a, "Pawl-Log-From"),
                                   .next = reply_int(&a, "Pawl-Log-Next"),
                                   .dropped = reply_int(&a, "Pawl-Log-Dropped"),
                                   .more = reply_bool(&a, "Pawl-Log-More"),
                                   .ended = reply_bool(&a, "Pawl-Log-Ended")};
    return 0;
}

/* Passes on at most `left` events. */
struct some_events {
    pawl_line *each;
    void *arg;
    int64_t left;
};

static int pass_some(void *arg, const char *json)
{
    struct some_events *s = arg;

    return s->each(s->arg, json) || --s->left == 0;
}

int remote_events(struct remote *r, const struct pawl_event_query *e, pawl_line *each, void *arg,
                  struct err *err)
{
    struct some_events some = {each, arg, e->limit > 0 ? e->limit : INT64_MAX};
    AUTO_CALL q = {0};

    if (e->execution)
        begin_execution(&q, e->execution, "/events");
    else
        call_path(&q, "/v1/events");
    call_bool(&q, "self", e->self);
    call_text(&q, "type", e->types);
    call_time(&q, "since", e->since);
    call_time(&q, "until", e->until);
    call_int(&q, "limit", some.left < EVENTS_MAX ? some.left : EVENTS_MAX);
    if (e->last)
        call_path(&q, "%ccursor=%lld-%lld", q.queried ? '&' : '?', (long long)e->last,
                  (long long)(e->last_time > 0 ? e->last_time : 1));
    return remote_pages(r, &q, pass_some, &some, err);
}
