/* queues_workers.c - reads queues and workers. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#define SILENT 30000000LL /* µs */

/* ---- queues ---- */

void queues_fold_foreground(struct queue_list *l)
{
    struct queue_row here = {.name = "here", .limit_max = -1};
    size_t i, n = 0;
    bool any = false;

    for (i = 0; i < l->n; i++) {
        const struct queue_row *q = &l->at[i];

        if (strncmp(q->name, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND))) {
            l->at[n++] = *q;
            continue;
        }
        any = true;
        here.ready += q->ready;
        here.held += q->held;
        here.running += q->running;
        if (q->oldest_ready_at &&
            (!here.oldest_ready_at || q->oldest_ready_at < here.oldest_ready_at))
            here.oldest_ready_at = q->oldest_ready_at;
    }
    if (any)
        l->at[n++] = here;
    l->n = n;
}

void json_queue(struct json_writer *w, const struct queue_row *q, int64_t now)
{
    json_write_begin(w, '{');
    json_field_text(w, "queue", q->name);
    json_field_i64(w, "ready", q->ready);
    json_field_i64(w, "held", q->held);
    json_field_i64(w, "running", q->running);
    json_field_time(w, "oldest_ready_at", q->oldest_ready_at);
    json_field_i64(w, "oldest_wait_us", q->oldest_ready_at ? now - q->oldest_ready_at : 0);
    json_write_key(w, "paused");
    if (!q->paused) {
        json_write_null(w);
    } else {
        json_write_begin(w, '{');
        json_field_time(w, "since", q->paused_at);
        json_field_text(w, "by", q->paused_by);
        json_field_text(w, "reason", q->pause_reason);
        json_write_key(w, "limit");
        if (q->resume_max < 0)
            json_write_null(w);
        else
            json_write_i64(w, q->resume_max);
        json_write_end(w, '}');
    }
    json_write_key(w, "limit");
    if (q->limit_max < 0) {
        json_write_null(w);
    } else {
        json_write_begin(w, '{');
        json_field_i64(w, "max", q->limit_max);
        json_field_i64(w, "used", q->limit_used);
        json_write_end(w, '}');
    }
    json_field_last_order(w, &q->last);
    json_write_end(w, '}');
}

int pawl_queues(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    struct queue_list l = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = query_queues(p->store, &l, &err);
    size_t i;

    for (i = 0; !rc && i < l.n; i++) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        json_queue(&w, &l.at[i], l.now);
        if (each(arg, b.ptr))
            break;
    }
    buf_release(&b);
    queue_list_release(&l);
    return api_end(rc, &err, e);
}

/* ---- workers ---- */

bool worker_is_silent(const struct worker_row *r, int64_t now)
{
    return now - r->worker.seen_at > SILENT;
}

/* A draining worker claims no more jobs, so it serves no lane. */
static const char *state_of(const struct worker_row *r, int64_t now)
{
    if (worker_is_silent(r, now))
        return "silent";
    return r->worker.serves && !strcmp(r->worker.serves, "{}") ? "draining" : "alive";
}

void json_worker(struct json_writer *w, const struct worker_row *r, int64_t now)
{
    json_write_begin(w, '{');
    json_field_worker(w, "id", r->worker.id);
    json_field_text(w, "host", r->worker.host);
    json_field_i64(w, "pid", r->worker.pid);
    json_field_text(w, "folder", r->worker.folder);
    json_field_text(w, "version", r->worker.version);
    json_field_i64(w, "room", r->worker.capacity);
    json_field_i64(w, "leases", r->leases);
    json_field_time(w, "started_at", r->worker.started_at);
    json_field_time(w, "seen_at", r->worker.seen_at);
    json_field_i64(w, "silent_us", now - r->worker.seen_at);
    json_write_key(w, "serves");
    json_write_raw(w, r->worker.serves);
    json_field_text(w, "state", state_of(r, now));
    json_write_end(w, '}');
}

int pawl_workers(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    struct worker_list l = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = query_workers(p->store, &l, &err);
    size_t i;

    for (i = 0; !rc && i < l.n; i++) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        json_worker(&w, &l.at[i], l.now);
        if (each(arg, b.ptr))
            break;
    }
    buf_release(&b);
    worker_list_release(&l);
    return api_end(rc, &err, e);
}
