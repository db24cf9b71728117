/* read.c - trees, queues and workers, for whoever asks. */
#include "api/api.h"
#include "base/idmap.h"

#include <stdlib.h>

/* ---- a tree ---- */

/* The list of a tree with its links; -1 is none. Walked without recursion: depth has no bound. */
struct links {
    long parent, child, last_child, sibling;
};

struct tree {
    struct execution_list list;
    struct links *links;
};

/* The list comes parents first, children in the order in which they are shown. */
static void link_tree(struct tree *t)
{
    struct idmap at = IDMAP_INIT;
    size_t i;

    t->links = arena_alloc(&t->list.arena, (t->list.n + 1) * sizeof(*t->links));
    for (i = 0; i < t->list.n; i++) {
        struct links *parent = i ? idmap_get(&at, t->list.at[i].parent) : NULL;

        t->links[i] = (struct links){parent ? parent - t->links : -1, -1, -1, -1};
        if (parent && parent->child < 0)
            parent->child = (long)i;
        else if (parent)
            t->links[parent->last_child].sibling = (long)i;
        if (parent)
            parent->last_child = (long)i;
        idmap_put(&at, t->list.at[i].id, &t->links[i]);
    }
    idmap_release(&at);
}

static int load_tree(struct pawl *p, int64_t id, struct tree *t, struct err *err)
{
    int rc = query_tree(p->store, id, &t->list, err);

    if (!rc)
        link_tree(t);
    return rc;
}

/* Its tasks are its children. */
static void write_node(struct json_writer *w, const struct tree *t, long i)
{
    VEC(struct task_name) tasks = {0};
    long c = t->list.at[i].kind == KIND_WORKFLOW ? t->links[i].child : -1;

    for (; c >= 0; c = t->links[c].sibling) {
        const struct execution *e = &t->list.at[c];

        *vec_add(&tasks) =
            (struct task_name){.name = e->task_name ? e->task_name : e->name, .status = e->status};
    }
    json_execution(w, &t->list.at[i], &t->list.past[i], (struct task_names){tasks.at, tasks.n});
    vec_release(&tasks);
}

static void write_tree(struct json_writer *w, const struct tree *t)
{
    long i = 0;

    while (i >= 0) {
        write_node(w, t, i);
        jw_key(w, "children");
        jw_begin(w, '[');
        if (t->links[i].child >= 0) {
            i = t->links[i].child;
            continue;
        }
        for (;; i = t->links[i].parent) {
            jw_end(w, ']');
            jw_end(w, '}');
            if (i == 0 || t->links[i].sibling >= 0)
                break;
        }
        i = i ? t->links[i].sibling : -1;
    }
}

int pawl_tree(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    struct tree t = {0};
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    struct err err = ERR_INIT;
    int rc = load_tree(p, id, &t, &err);

    if (!rc) {
        write_tree(&w, &t);
        *json = b.ptr;
    }
    execution_list_release(&t.list);
    return api_end(rc, &err, e);
}

int pawl_tree_lines(struct pawl *p, int64_t id, pawl_line *each, void *arg, struct pawl_error *e)
{
    struct tree t = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = load_tree(p, id, &t, &err);
    long i = rc ? -1 : 0;

    while (i >= 0) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        write_node(&w, &t, i);
        jw_end(&w, '}');
        if (each(arg, b.ptr))
            break;
        if (t.links[i].child >= 0) {
            i = t.links[i].child;
            continue;
        }
        while (i && t.links[i].sibling < 0)
            i = t.links[i].parent;
        i = i ? t.links[i].sibling : -1;
    }
    buf_release(&b);
    execution_list_release(&t.list);
    return api_end(rc, &err, e);
}

/* ---- queues and workers ---- */

static void json_queue(struct json_writer *w, const struct queue_row *q, int64_t now)
{
    jw_begin(w, '{');
    json_field_text(w, "queue", q->name);
    json_field_i64(w, "ready", q->ready);
    json_field_i64(w, "held", q->held);
    json_field_i64(w, "running", q->running);
    json_field_time(w, "oldest_ready_at", q->oldest_ready_at);
    json_field_i64(w, "oldest_wait_us", q->oldest_ready_at ? now - q->oldest_ready_at : 0);
    jw_key(w, "paused");
    if (!q->paused) {
        jw_null(w);
    } else {
        jw_begin(w, '{');
        json_field_time(w, "since", q->paused_at);
        json_field_text(w, "by", q->paused_by);
        json_field_text(w, "reason", q->pause_reason);
        jw_key(w, "limit");
        if (q->resume_max < 0)
            jw_null(w);
        else
            jw_i64(w, q->resume_max);
        jw_end(w, '}');
    }
    jw_key(w, "limit");
    if (q->limit_max < 0) {
        jw_null(w);
    } else {
        jw_begin(w, '{');
        json_field_i64(w, "max", q->limit_max);
        json_field_i64(w, "used", q->limit_used);
        jw_end(w, '}');
    }
    jw_end(w, '}');
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

static void json_worker(struct json_writer *w, const struct worker_row *r, int64_t now)
{
    jw_begin(w, '{');
    json_field_worker(w, "id", r->worker.id);
    json_field_text(w, "host", r->worker.host);
    json_field_i64(w, "pid", r->worker.pid);
    json_field_text(w, "folder", r->worker.folder);
    json_field_text(w, "version", r->worker.version);
    json_field_i64(w, "room", r->worker.room);
    json_field_i64(w, "leases", r->leases);
    json_field_time(w, "started_at", r->worker.started_at);
    json_field_time(w, "seen_at", r->worker.seen_at);
    json_field_i64(w, "silent_us", now - r->worker.seen_at);
    jw_key(w, "serves");
    jw_raw(w, r->worker.serves);
    jw_end(w, '}');
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
