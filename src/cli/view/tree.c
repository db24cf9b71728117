/* tree.c - reads an outline as nodes, each with its position in the tree. */
#include "base/mem.h"
#include "cli/view/view.h"

#include <stdlib.h>
#include <string.h>

static bool has_failed(const json_t *o)
{
    return !strcmp(field(o, "status"), "failed") || !strcmp(field(o, "status"), "timed_out");
}

/* ---- items left out of a fan-out ---- */

/* A fan-out whose items are being read. */
struct fan {
    const json_t *o;
    int depth;
    int64_t running, failed; /* items that have a line */
};

struct reading {
    struct view *view;
    int64_t top; /* depth of the first node; -1 until it has been read */
    VEC(struct fan) fans;
    VEC(size_t) path; /* the node at each depth on the path to the last node */
};

static void reading_release(struct reading *r)
{
    vec_release(&r->fans);
    vec_release(&r->path);
}

static void close_fan(struct reading *r)
{
    const struct fan *f = &r->fans.at[--r->fans.n];
    const json_t *items = json_object_get(f->o, "items");
    int64_t failed = field_int(items, "failed") + field_int(items, "timed_out") - f->failed;
    int64_t running = field_int(items, "running") - f->running;
    struct buf b = BUF_INIT;

    if (failed > 0)
        buf_addf(&b, "%lld more failed: pawl ls --parent %lld --status failed,timed_out",
                 (long long)failed, (long long)field_int(f->o, "id"));
    if (running > 0)
        buf_addf(&b, "%s%lld more running", failed > 0 ? "; " : "", (long long)running);
    if (b.len)
        *vec_add(&r->view->nodes) = (struct view_node){.note = b.ptr, .depth = f->depth + 1};
}

static void count_item(struct fan *f, const json_t *o)
{
    f->failed += has_failed(o);
    f->running += !strcmp(field(o, "status"), "running");
}

/* ---- nodes ---- */

static int add_node(void *arg, const char *json)
{
    struct reading *r = arg;
    struct view_node n = {.o = parse_object(json)};
    struct view *v = r->view;

    if (r->top < 0)
        r->top = field_int(n.o, "depth");
    n.depth = (int)(field_int(n.o, "depth") - r->top);
    while (r->fans.n && r->fans.at[r->fans.n - 1].depth >= n.depth)
        close_fan(r);
    if (r->fans.n && r->fans.at[r->fans.n - 1].depth == n.depth - 1)
        count_item(&r->fans.at[r->fans.n - 1], n.o);
    r->path.n = (size_t)n.depth;
    if (n.depth && has_failed(n.o))
        v->nodes.at[r->path.at[n.depth - 1]].blames = true;
    *vec_add(&r->path) = v->nodes.n;
    *vec_add(&v->nodes) = n;
    if (!json_is_null(json_object_get(n.o, "items")))
        *vec_add(&r->fans) = (struct fan){.o = n.o, .depth = n.depth};
    return 0;
}

/* Marks last siblings, from the end of the list: the first node seen at a depth, before one at a
 * smaller depth, is the last of its siblings. */
static void find_last(struct view *v)
{
    VEC(bool) seen = {0};

    for (size_t i = v->nodes.n; i > 0; i--) {
        struct view_node *n = &v->nodes.at[i - 1];

        while (seen.n < (size_t)n->depth + 2)
            *vec_add(&seen) = false;
        n->last = !seen.at[n->depth];
        seen.at[n->depth] = true;
        seen.at[n->depth + 1] = false;
    }
    vec_release(&seen);
}

int view_read(struct pawl *p, int64_t id, const struct pawl_moment *at, struct view *out,
              struct pawl_error *err)
{
    AUTO(view_release) struct view v = {0};
    AUTO(reading_release) struct reading r = {.view = &v, .top = -1};

    TRY(pawl_outline_at(p, id, at, add_node, &r, &v.now, err));
    while (r.fans.n)
        close_fan(&r);
    find_last(&v);
    *out = v;
    v = (struct view){0};
    return 0;
}

void view_release(struct view *v)
{
    for (size_t i = 0; i < v->nodes.n; i++) {
        json_decref(v->nodes.at[i].o);
        free(v->nodes.at[i].note);
    }
    vec_release(&v->nodes);
    *v = (struct view){0};
}
