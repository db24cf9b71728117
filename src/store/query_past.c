/* query_past.c - see query_past.h. */
#include "store/query_past.h"

#include "store/past.h"

/* ---- lists ---- */

static int list_at(struct store *s, int64_t id, const struct moment *at, bool deep,
                   struct execution_list *out, struct err *err)
{
    struct past p = {.id = id, .at = *at, .texts = true, .deep = deep};
    struct execution_list l = {0};
    int rc = past_load(&p, s, err);

    if (rc)
        goto done;
    l.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    l.at = arena_zalloc(&l.arena, (p.n + 1) * sizeof(*l.at));
    l.past = arena_zalloc(&l.arena, (p.n + 1) * sizeof(*l.past));
    for (; l.n < p.n; l.n++) {
        const struct past_row *r = &p.rows[l.n];

        l.at[l.n] = r->execution;
        l.past[l.n] = (struct execution_past){.outcome = r->then.outcome,
                                              .worker = r->then.last_worker,
                                              .due_at = r->then.due_at,
                                              .definition = r->definition,
                                              .variables = r->variables,
                                              .pause = r->then.pause};
    }
    *out = l;
done:
    past_release(&p);
    return rc;
}

int query_tree_at(struct store *s, int64_t id, const struct moment *at, struct execution_list *out,
                  struct err *err)
{
    return list_at(s, id, at, true, out, err);
}

int query_execution_at(struct store *s, int64_t id, const struct moment *at,
                       struct execution_list *out, struct err *err)
{
    return list_at(s, id, at, false, out, err);
}

/* ---- outlines ---- */

/* Whether it gets a line: not what is below one that has none, and of items only some. */
static bool is_shown(struct idmap *lines, const struct execution *e, size_t max_items)
{
    struct outline_row *up = idmap_get(lines, e->parent);
    bool failed = e->status == S_FAILED || e->status == S_TIMED_OUT;
    int64_t before;

    if (!up || up->execution.kind != KIND_FOREACH)
        return up != NULL;
    before = failed ? up->items[S_FAILED] + up->items[S_TIMED_OUT] : up->items[S_RUNNING];
    up->items[e->status]++;
    return (failed || e->status == S_RUNNING) && before < (int64_t)max_items;
}

int query_outline_at(struct store *s, int64_t id, const struct moment *at, size_t max_items,
                     struct outline *out, struct err *err)
{
    struct past p = {.id = id, .at = *at, .deep = true};
    struct idmap lines = IDMAP_INIT;
    struct outline o = {0};
    int rc = past_load(&p, s, err);
    size_t i;

    if (rc)
        goto done;
    o.now = p.now;
    o.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    o.at = arena_zalloc(&o.arena, (p.n + 1) * sizeof(*o.at));
    for (i = 0; i < p.n; i++) {
        const struct past_row *r = &p.rows[i];
        bool ended_so = r->then.status == S_CANCELLED || r->then.status == S_SKIPPED;

        if (i && !is_shown(&lines, &r->execution, max_items))
            continue;
        o.at[o.n] = (struct outline_row){.execution = r->execution,
                                         .ready_at = r->then.ready_at,
                                         .worker = r->then.last_worker,
                                         .due_at = r->then.due_at,
                                         .reason = ended_so ? r->then.reason : NULL,
                                         .nitems = r->items};
        idmap_put(&lines, r->execution.id, &o.at[o.n++]);
    }
    *out = o;
done:
    idmap_release(&lines);
    past_release(&p);
    return rc;
}

/* ---- trails ---- */

void trail_list_release(struct trail_list *l)
{
    arena_release(&l->arena);
    *l = (struct trail_list){0};
}

int query_trails(struct store *s, int64_t id, const struct moment *at, struct trail_list *out,
                 struct err *err)
{
    struct past p = {.id = id, .at = *at, .deep = true, .trails = true};
    struct trail_list l = {0};
    int rc = past_load(&p, s, err);

    if (rc)
        goto done;
    l.now = p.now;
    l.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    l.at = arena_alloc(&l.arena, (p.n + 1) * sizeof(*l.at));
    for (; l.n < p.n; l.n++)
        l.at[l.n] = (struct trail_row){.execution = p.rows[l.n].execution,
                                       .trail = p.rows[l.n].trail,
                                       .definition = p.rows[l.n].definition};
    *out = l;
done:
    past_release(&p);
    return rc;
}
