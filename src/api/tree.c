/* tree.c - reads an execution with its descendants: as one object, as lines, and as an outline for
 * views; its present state, and its state as of a moment. */
#include "api/api.h"
#include "base/idmap.h"
#include "core/graph.h"
#include "store/query/as_of.h"

#include <jansson.h>
#include <stdlib.h>

#define SHOWN_ITEMS 10 /* running items of a fan-out in an outline, and as many failed ones */

/* ---- links ---- */

/* The links of an execution in a list, as indexes; -1 if none. Trees are walked without recursion,
 * because their depth is unlimited. */
struct links {
    long parent, child, last_child, sibling;
};

/* In the list, parents come before their children, and children are in the order of display. */
static struct links *link_all(const struct execution *const *list, size_t n)
{
    struct links *links = mem_alloc((n + 1) * sizeof(*links));
    struct idmap at = IDMAP_INIT;
    size_t i;

    for (i = 0; i < n; i++) {
        struct links *parent = i ? idmap_get(&at, list[i]->parent) : NULL;

        links[i] = (struct links){parent ? parent - links : -1, -1, -1, -1};
        if (parent && parent->child < 0)
            parent->child = (long)i;
        else if (parent)
            links[parent->last_child].sibling = (long)i;
        if (parent)
            parent->last_child = (long)i;
        idmap_put(&at, list[i]->id, &links[i]);
    }
    idmap_release(&at);
    return links;
}

/* The next execution in pre-order; -1 after the last one. */
static long next_of(const struct links *links, long i)
{
    if (links[i].child >= 0)
        return links[i].child;
    while (i && links[i].sibling < 0)
        i = links[i].parent;
    return i ? links[i].sibling : -1;
}

/* ---- whole executions ---- */

struct tree {
    struct execution_list list;
    const struct execution **at;
    struct links *links;
};

static void link_tree(struct tree *t)
{
    size_t i;

    t->at = mem_alloc(t->list.n * sizeof(*t->at));
    for (i = 0; i < t->list.n; i++)
        t->at[i] = &t->list.at[i];
    t->links = link_all(t->at, t->list.n);
}

static int load_tree(struct pawl *p, int64_t id, struct tree *t, struct err *err)
{
    int rc = query_tree(p->store, id, &t->list, err);

    if (!rc)
        link_tree(t);
    return rc;
}

static void tree_release(struct tree *t)
{
    execution_list_release(&t->list);
    free(t->at);
    free(t->links);
}

/* Writes one execution. The tasks of a workflow are its children. */
static void write_node(struct json_writer *w, const struct tree *t, long i)
{
    VEC(struct task_name) tasks = {0};
    long c = t->at[i]->kind == KIND_WORKFLOW ? t->links[i].child : -1;

    for (; c >= 0; c = t->links[c].sibling) {
        const struct execution *e = t->at[c];

        *vec_add(&tasks) =
            (struct task_name){.name = e->task_name ? e->task_name : e->name, .status = e->status};
    }
    json_execution(w, t->at[i], &t->list.history[i], (struct task_names){tasks.at, tasks.n});
    vec_release(&tasks);
}

static void write_tree(struct json_writer *w, const struct tree *t)
{
    long i = 0;

    while (i >= 0) {
        write_node(w, t, i);
        json_write_key(w, "children");
        json_write_begin(w, '[');
        if (t->links[i].child >= 0) {
            i = t->links[i].child;
            continue;
        }
        for (;; i = t->links[i].parent) {
            json_write_end(w, ']');
            json_write_end(w, '}');
            if (i == 0 || t->links[i].sibling >= 0)
                break;
        }
        i = i ? t->links[i].sibling : -1;
    }
}

/* Writes the tree to *json unless loading it failed. Releases the tree. */
static void answer_tree(int rc, struct tree *t, char **json)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    if (!rc) {
        write_tree(&w, t);
        *json = b.ptr;
    }
    tree_release(t);
}

int pawl_tree(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    struct tree t = {0};
    struct err err = ERR_INIT;
    int rc = load_tree(p, id, &t, &err);

    answer_tree(rc, &t, json);
    return api_end(rc, &err, e);
}

/* ---- as of a moment ---- */

int api_moment(const struct pawl_moment *at, struct moment *out, struct err *err)
{
    *out = (struct moment){.time = at->time, .event = at->event};
    if (at->time < 0 || at->event < 0 || !at->time == !at->event)
        return err_set(err, E_INVALID, "a moment is either a time or the number of an event");
    return 0;
}

int pawl_tree_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                 struct pawl_error *e)
{
    struct tree t = {0};
    struct moment moment;
    struct err err = ERR_INIT;
    int rc = api_moment(at, &moment, &err);

    if (!rc && !(rc = query_tree_at(p->store, id, &moment, &t.list, &err)))
        link_tree(&t);
    answer_tree(rc, &t, json);
    return api_end(rc, &err, e);
}

int pawl_show_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                 struct pawl_error *e)
{
    struct tree t = {0};
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    struct moment moment;
    struct err err = ERR_INIT;
    int rc = api_moment(at, &moment, &err);

    if (!rc && !(rc = query_execution_at(p->store, id, &moment, &t.list, &err))) {
        link_tree(&t);
        write_node(&w, &t, 0);
        json_write_end(&w, '}');
        *json = b.ptr;
    }
    tree_release(&t);
    return api_end(rc, &err, e);
}

int pawl_tree_lines(struct pawl *p, int64_t id, pawl_line *each, void *arg, struct pawl_error *e)
{
    struct tree t = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = load_tree(p, id, &t, &err);
    long i;

    for (i = rc ? -1 : 0; i >= 0; i = next_of(t.links, i)) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        write_node(&w, &t, i);
        json_write_end(&w, '}');
        if (each(arg, b.ptr))
            break;
    }
    buf_release(&b);
    tree_release(&t);
    return api_end(rc, &err, e);
}

/* ---- outlines ---- */

static void items_field(struct json_writer *w, const struct outline_row *r)
{
    int status;

    json_write_key(w, "items");
    if (r->execution.kind != KIND_FOREACH) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_write_key(w, "total");
    if (r->nitems < 0)
        json_write_null(w);
    else
        json_write_i64(w, r->nitems);
    for (status = S_PENDING; status < S_COUNT; status++)
        json_field_i64(w, status_text(status), r->items[status]);
    json_write_end(w, '}');
}

static void reason_field(struct json_writer *w, const char *text)
{
    json_t *data = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;

    json_field_text(w, "reason", json_string_value(json_object_get(data, "reason")));
    json_decref(data);
}

static void write_outlined(struct json_writer *w, const struct outline_row *r)
{
    const struct execution *e = &r->execution;

    json_write_begin(w, '{');
    json_field_i64(w, "id", e->id);
    json_field_id(w, "parent", e->parent);
    json_field_i64(w, "depth", e->depth);
    json_field_text(w, "kind", kind_text(e->kind));
    json_field_text(w, "name", e->name);
    json_field_text(w, "task_name", e->task_name);
    json_field_index(w, e->task_index);
    json_field_text(w, "status", status_text(e->status));
    json_field_i64(w, "attempt", e->attempts);
    json_field_i64(w, "max_attempts", e->max_attempts);
    json_field_worker(w, "worker", e->worker ? e->worker : r->worker);
    json_field_time(w, "requested_at", e->requested_at);
    json_field_time(w, "ready_at", r->ready_at);
    json_field_time(w, "started_at", e->started_at);
    json_field_time(w, "finished_at", e->finished_at);
    json_field_text(w, "error", e->error);
    reason_field(w, r->reason);
    json_waiting(w, e, r->due_at);
    json_write_key(w, "paused");
    json_write_bool(w, (e->flags & FLAG_PAUSED) != 0);
    items_field(w, r);
    json_write_end(w, '}');
}

static void answer_outline(const struct outline *o, pawl_line *each, void *arg, int64_t *now)
{
    const struct execution **at = mem_alloc(o->n * sizeof(*at));
    struct links *links;
    struct buf b = BUF_INIT;
    size_t n;
    long i;

    for (n = 0; n < o->n; n++)
        at[n] = &o->at[n].execution;
    links = link_all(at, o->n);
    for (i = 0; i >= 0; i = next_of(links, i)) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        write_outlined(&w, &o->at[i]);
        if (each(arg, b.ptr))
            break;
    }
    if (now)
        *now = o->now;
    free(at);
    free(links);
    buf_release(&b);
}

int pawl_outline(struct pawl *p, int64_t id, pawl_line *each, void *arg, int64_t *now,
                 struct pawl_error *e)
{
    struct outline o = {0};
    struct err err = ERR_INIT;
    int rc = query_outline(p->store, id, SHOWN_ITEMS, &o, &err);

    if (!rc)
        answer_outline(&o, each, arg, now);
    outline_release(&o);
    return api_end(rc, &err, e);
}

int pawl_outline_at(struct pawl *p, int64_t id, const struct pawl_moment *at, pawl_line *each,
                    void *arg, int64_t *now, struct pawl_error *e)
{
    struct outline o = {0};
    struct moment moment;
    struct err err = ERR_INIT;
    int rc = api_moment(at, &moment, &err);

    if (!rc && !(rc = query_outline_at(p->store, id, &moment, SHOWN_ITEMS, &o, &err)))
        answer_outline(&o, each, arg, now);
    outline_release(&o);
    return api_end(rc, &err, e);
}
