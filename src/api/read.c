/* read.c - executions, queues and workers, for whoever asks. */
#include "api/api.h"
#include "base/idmap.h"

#include <stdlib.h>

/* ---- one execution ---- */

int pawl_show(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    struct execution_list one = {0}, tasks = {0};
    struct nodes nodes = {0};
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    struct err err = ERR_INIT;
    size_t i;
    int rc;

    if ((rc = query_execution(p->store, id, &one, &err)))
        goto done;
    if (one.at[0].kind == KIND_WORKFLOW && (rc = query_tasks(p->store, id, &tasks, &err)))
        goto done;
    for (i = 0; i < tasks.n; i++)
        *vec_add(&nodes) = &tasks.at[i];
    json_execution(&w, &one.at[0], &one.past[0], &nodes);
    jw_end(&w, '}');
    *json = b.ptr;
    b = (struct buf)BUF_INIT;
done:
    buf_release(&b);
    vec_release(&nodes);
    execution_list_release(&one);
    execution_list_release(&tasks);
    return api_end(rc, &err, e);
}

int pawl_last(struct pawl *p, int64_t *id, struct pawl_error *e)
{
    struct execution_list l = {0};
    struct err err = ERR_INIT;
    int rc = query_roots(p->store, 0, 0, 1, &l, &err);

    if (!rc && !l.n)
        rc = err_set(&err, E_NOT_FOUND, "there is no execution yet");
    if (!rc)
        *id = l.at[0].id;
    execution_list_release(&l);
    return api_end(rc, &err, e);
}

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

/* The nodes of a workflow in the tree: its children, and those of its fan-outs. */
static void find_nodes(const struct tree *t, long top, struct nodes *out)
{
    long i = t->list.at[top].kind == KIND_WORKFLOW ? t->links[top].child : -1;

    while (i >= 0) {
        long down = t->list.at[i].kind == KIND_FOREACH ? t->links[i].child : -1;

        *vec_add(out) = &t->list.at[i];
        if (down >= 0) {
            i = down;
            continue;
        }
        while (i != top && t->links[i].sibling < 0)
            i = t->links[i].parent;
        i = i == top ? -1 : t->links[i].sibling;
    }
}

static void write_node(struct json_writer *w, const struct tree *t, long i)
{
    struct nodes nodes = {0};

    find_nodes(t, i, &nodes);
    json_execution(w, &t->list.at[i], &t->list.past[i], &nodes);
    vec_release(&nodes);
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
