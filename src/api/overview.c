/* overview.c - queues, workers, running jobs and recent outcomes as one JSON object, for a view
 * that is redrawn often. */
#include "api/api.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_COUNT 100
#define MAX_COUNT     1000

/* ---- ended attempts ---- */

/* The value of a label in Prometheus text, unescaped; "" if there is none. A value can't contain
 * the start of another label, because a quote in it is escaped. */
static const char *label(const char *labels, const char *name, struct buf *out)
{
    char begin[32];
    const char *at;

    snprintf(begin, sizeof(begin), "%s=\"", name);
    buf_reset(out);
    if (!(at = strstr(labels, begin)))
        return "";
    for (at += strlen(begin); *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        buf_addch(out, *at);
    }
    return buf_cstr(out);
}

struct ended {
    char *queue;
    int64_t done, failed;
};
struct ended_list {
    VEC(struct ended) rows;
};

static struct ended *ended_of(struct ended_list *l, const char *queue)
{
    size_t i;

    for (i = 0; i < l->rows.n; i++)
        if (!strcmp(l->rows.at[i].queue, queue))
            return &l->rows.at[i];
    *vec_add(&l->rows) = (struct ended){.queue = mem_strdup(queue)};
    return &l->rows.at[l->rows.n - 1];
}

/* Cancelled, deferred and refused attempts count as neither done nor failed. */
static void add_outcome(struct ended_list *l, const struct outcome_row *r)
{
    struct buf queue = BUF_INIT, outcome = BUF_INIT;
    struct ended *e = ended_of(l, label(r->labels, "queue", &queue));
    const char *how = label(r->labels, "outcome", &outcome);

    if (!strcmp(how, "ok"))
        e->done += r->n;
    else if (!strcmp(how, "failed") || !strcmp(how, "timed_out") || !strcmp(how, "lost"))
        e->failed += r->n;
    buf_release(&queue);
    buf_release(&outcome);
}

static void add_ended(struct json_writer *w, const struct overview *o)
{
    struct ended_list l = {0};
    size_t i;

    for (i = 0; i < o->noutcomes; i++)
        add_outcome(&l, &o->outcomes[i]);
    json_write_key(w, "ended");
    json_write_begin(w, '[');
    for (i = 0; i < l.rows.n; i++) {
        json_write_begin(w, '{');
        json_field_text(w, "queue", l.rows.at[i].queue);
        json_field_i64(w, "done", l.rows.at[i].done);
        json_field_i64(w, "failed", l.rows.at[i].failed);
        json_write_end(w, '}');
        free(l.rows.at[i].queue);
    }
    json_write_end(w, ']');
    vec_release(&l.rows);
}

/* ---- the rest ---- */

static void add_running(struct json_writer *w, const struct overview *o)
{
    size_t i;

    json_write_key(w, "running");
    json_write_begin(w, '[');
    for (i = 0; i < o->nrunning; i++) {
        const struct running_row *r = &o->running[i];

        json_write_begin(w, '{');
        json_field_i64(w, "id", r->id);
        json_field_i64(w, "root", r->root);
        json_field_text(w, "name", r->name);
        json_field_text(w, "queue", r->queue);
        json_field_executor(w, r->lane);
        json_field_i64(w, "attempt", r->attempts);
        json_field_i64(w, "max_attempts", r->max_attempts);
        json_field_worker(w, "worker", r->worker);
        json_field_time(w, "since", r->since);
        json_field_i64(w, "elapsed_us", o->now > r->since ? o->now - r->since : 0);
        json_field_text(w, "last_line", r->last_line);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

static void write_overview(struct json_writer *w, const struct overview *o)
{
    size_t i;

    json_write_begin(w, '{');
    json_field_time(w, "at", o->now);
    json_write_key(w, "queues");
    json_write_begin(w, '[');
    for (i = 0; i < o->queues.n; i++)
        json_queue(w, &o->queues.at[i], o->now);
    json_write_end(w, ']');
    json_write_key(w, "workers");
    json_write_begin(w, '[');
    for (i = 0; i < o->workers.n; i++)
        json_worker(w, &o->workers.at[i], o->now);
    json_write_end(w, ']');
    add_running(w, o);
    add_ended(w, o);
    json_write_end(w, '}');
}

int pawl_overview(struct pawl *p, const struct pawl_overview_query *q, char **json,
                  struct pawl_error *e)
{
    struct overview o = {0};
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    struct err err = ERR_INIT;
    int64_t limit = q && q->limit > 0 ? q->limit : DEFAULT_COUNT;
    const char *part = q && q->part && *q->part ? q->part : NULL;
    int rc = 0;

    if (part && !text_is_utf8(part, strlen(part)))
        rc = err_set(&err, E_INVALID, "the part of a name to search for is not valid UTF-8");
    if (!rc)
        rc = query_overview(p->store, part, (size_t)(limit < MAX_COUNT ? limit : MAX_COUNT), &o,
                            &err);
    if (!rc) {
        queues_fold_foreground(&o.queues);
        write_overview(&w, &o);
        *json = b.ptr;
    }
    overview_release(&o);
    return api_end(rc, &err, e);
}
