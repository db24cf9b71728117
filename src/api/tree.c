/* tree.c - reads an execution with its descendants: as one object, as lines, and as an outline for
 * views; its present state, and its state as of a moment. */
#include "api/api.h"
#include "base/idmap.h"
#include "core/graph.h"
#include "store/query/as_of.h"

#include <jansson.h>
#include <stdlib.h>

#define SHOWN_ITEMS 10 /* at most this many running, and this many failed, items per fan-out */

/* ---- links ---- */

/* The links of an execution in a list, as indexes; -1 if none. Trees are walked without recursion,
 * because their depth is unlimited. */
struct links {
    long parent, child, last_child, sibling;
};

/* Links the executions of a list in which parents come before their children, and children are in
 * the order of display. */
static struct links *link_all(const struct execution *const *list, size_t n)
{
    struct links *links = mem_alloc((n + 1) * sizeof(*links));
    AUTO_IDMAP at = IDMAP_INIT;

    for (size_t i = 0; i < n; i++) {
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
    return links;
}

/* Returns the next execution in pre-order; -1 after the last one. */
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

int api_moment(const struct pawl_moment *at, struct moment *out, struct err *err)
{
    *out = (struct moment){.time = at->time, .event = at->event};
    if (at->time < 0 || at->event < 0 || !at->time == !at->event)
        return err_set(err, E_INVALID, "give either a positive time or a positive event number");
    return 0;
}

typedef int query_at(struct store *s, int64_t id, const struct moment *at,
                     struct execution_list *out, struct err *err);

/* Reads the tree as it is now if `at` is NULL, else as of that moment with the query `past`. */
static int load_tree(struct pawl *p, int64_t id, const struct pawl_moment *at, query_at *past,
                     struct tree *t, struct err *err)
{
    struct moment moment;

    if (at)
        TRY(api_moment(at, &moment, err));
    TRY(at ? past(p->store, id, &moment, &t->list, err) : query_tree(p->store, id, &t->list, err));
    t->at = mem_alloc(t->list.n * sizeof(*t->at));
    for (size_t i = 0; i < t->list.n; i++)
        t->at[i] = &t->list.at[i];
    t->links = link_all(t->at, t->list.n);
    return 0;
}

static void tree_release(struct tree *t)
{
    execution_list_release(&t->list);
    free(t->at);
    free(t->links);
}

/* Writes the beginning of an execution's object, so that its children can follow. The tasks of a
 * workflow are its children. */
static void begin_node(struct json_writer *w, const struct tree *t, long i)
{
    AUTO_VEC(struct task_name) tasks = {0};
    long c = t->at[i]->kind == KIND_WORKFLOW ? t->links[i].child : -1;

    for (; c >= 0; c = t->links[c].sibling) {
        const struct execution *e = t->at[c];

        *vec_add(&tasks) =
            (struct task_name){.name = e->task_name ? e->task_name : e->name, .status = e->status};
    }
    json_write_begin(w, '{');
    execution_fields(w, t->at[i], &t->list.history[i], (struct task_names){tasks.at, tasks.n});
}

static void write_node(struct buf *b, const struct tree *t, long i)
{
    struct json_writer w = JSON_WRITER(b);

    begin_node(&w, t, i);
    json_write_end(&w, '}');
}

static void write_tree(struct buf *b, const struct tree *t)
{
    struct json_writer w = JSON_WRITER(b);
    long i = 0;

    while (i >= 0) {
        begin_node(&w, t, i);
        json_write_key(&w, "children");
        json_write_begin(&w, '[');
        if (t->links[i].child >= 0) {
            i = t->links[i].child;
            continue;
        }
        for (;; i = t->links[i].parent) {
            json_write_end(&w, ']');
            json_write_end(&w, '}');
            if (i == 0 || t->links[i].sibling >= 0)
                break;
        }
        i = i ? t->links[i].sibling : -1;
    }
}

int pawl_tree_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                 struct pawl_error *e)
{
    AUTO(tree_release) struct tree t = {0};
    struct buf b = BUF_INIT;
    struct moment checked;
    API_ERR(e);

    if (at)
        TRY(api_moment(at, &checked, err));
    if (p->remote)
        return remote_show(p->remote, id, "/tree", at, json, err);
    TRY(load_tree(p, id, at, query_tree_at, &t, err));
    write_tree(&b, &t);
    *json = b.ptr;
    return 0;
}

int pawl_tree(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    return pawl_tree_at(p, id, NULL, json, e);
}

int pawl_show_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                 struct pawl_error *e)
{
    AUTO(tree_release) struct tree t = {0};
    struct buf b = BUF_INIT;
    struct moment checked;
    API_ERR(e);

    if (at)
        TRY(api_moment(at, &checked, err));
    if (p->remote)
        return remote_show(p->remote, id, "", at, json, err);
    TRY(load_tree(p, id, at, query_execution_at, &t, err));
    write_node(&b, &t, 0);
    *json = b.ptr;
    return 0;
}

int pawl_tree_lines(struct pawl *p, int64_t id, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(tree_release) struct tree t = {0};
    API_ERR(e);

    if (p->remote)
        return remote_list_of(p->remote, id, "/nodes", each, arg, err);
    TRY(load_tree(p, id, NULL, NULL, &t, err));
    for (long i = 0; i >= 0 && !lines.closed; i = next_of(t.links, i)) {
        buf_reset(&lines.line);
        write_node(&lines.line, &t, i);
        lines.closed = each(arg, lines.line.ptr) != 0;
    }
    return 0;
}

int pawl_tree_size(struct pawl *p, int64_t id, int64_t most, int64_t *n, struct pawl_error *e)
{
    API_ERR(e);

    TRY(api_needs_database(p, "the size of a tree is read", err));
    return query_tree_size(p->store, id, most, n, err);
}

/* ---- outlines ---- */

struct outlined {
    struct execution e;
    struct outline_row row;
    int64_t duration, worker;
    const char *reason, *waiting;
    bool paused;
    const struct outline_row *items; /* NULL if the execution is not a fan-out */
};

#define ROW struct outline_row
static const struct column items_columns[] = {
    {"total", OPT_INT(nitems), "the final number of items; null while unknown"},
    {"pending", INT(items[S_PENDING]), "of the items created so far"},
    {"ready", INT(items[S_READY]), NULL},
    {"running", INT(items[S_RUNNING]), NULL},
    {"succeeded", INT(items[S_SUCCEEDED]), NULL},
    {"failed", INT(items[S_FAILED]), NULL},
    {"timed_out", INT(items[S_TIMED_OUT]), NULL},
    {"cancelled", INT(items[S_CANCELLED]), NULL},
    {"skipped", INT(items[S_SKIPPED]), NULL},
};
const struct noun items_noun = {"### items", NOUN_COLUMNS(items_columns)};
#undef ROW

#define ROW struct outlined
static const struct column columns[] = {
    {E_ID},
    {E_PARENT},
    {E_DEPTH},
    {E_KIND},
    {E_NAME},
    {"task_name", OPT_TEXT(e.task_name), NULL},
    {E_TASK_INDEX},
    {E_STATUS},
    {E_ATTEMPT},
    {E_MAX_ATTEMPTS},
    {"worker", OPT_WORKER(worker), NULL},
    {E_REQUESTED},
    {"ready_at", OPT_TIME(row.ready_at),
     "when it became claimable: from then until `started_at` it waited in its queue"},
    {E_STARTED},
    {E_FINISHED},
    {E_DURATION},
    {E_IDLE},
    {E_ERROR},
    {"reason", OPT_TEXT(reason), "why it was skipped or cancelled"},
    {"waiting", OPT_TEXT(waiting), NULL},
    {"paused", BOOL(paused), "whether it and its descendants are paused"},
    {"items", OPT_OBJECT(items, items_noun), "the items of a fan-out"},
};
const struct noun outline_noun = {"## A line of an outline", NOUN_COLUMNS(columns)};

static void write_outlined(struct lines *lines, const struct outline_row *r)
{
    const struct execution *e = &r->execution;
    json_auto_t *data = api_data(r->reason);
    AUTO_BUF waiting = BUF_INIT;
    struct outlined o = {.e = *e,
                         .row = *r,
                         .duration = final_duration(e),
                         .worker = e->worker ? e->worker : r->worker,
                         .reason = api_data_text(data, "reason"),
                         .waiting = execution_waiting(e, r->due_at, &waiting),
                         .paused = (e->flags & FLAG_PAUSED) != 0,
                         .items = e->kind == KIND_FOREACH ? r : NULL};

    lines_add(lines, &outline_noun, &o);
}

static void answer_outline(const struct outline *o, struct lines *lines)
{
    AUTO_FREE const struct execution **at = mem_alloc(o->n * sizeof(*at));
    AUTO_FREE struct links *links = NULL;

    for (size_t i = 0; i < o->n; i++)
        at[i] = &o->at[i].execution;
    links = link_all(at, o->n);
    for (long i = 0; i >= 0 && !lines->closed; i = next_of(links, i))
        write_outlined(lines, &o->at[i]);
}

int pawl_outline_at(struct pawl *p, int64_t id, const struct pawl_moment *at, pawl_line *each,
                    void *arg, int64_t *now, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(outline_release) struct outline o = {0};
    struct moment moment;
    API_ERR(e);

    if (at)
        TRY(api_moment(at, &moment, err));
    if (p->remote)
        return remote_outline(p->remote, id, at, each, arg, now, err);
    TRY(at ? query_outline_at(p->store, id, &moment, SHOWN_ITEMS, &o, err)
           : query_outline(p->store, id, SHOWN_ITEMS, &o, err));
    answer_outline(&o, &lines);
    if (now)
        *now = o.now;
    return 0;
}

int pawl_outline(struct pawl *p, int64_t id, pawl_line *each, void *arg, int64_t *now,
                 struct pawl_error *e)
{
    return pawl_outline_at(p, id, NULL, each, arg, now, e);
}
