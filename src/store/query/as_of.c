/* as_of.c - builds lists, outlines and timelines from a tree loaded by as_of_load.c; see as_of.h.
 */
#include "store/query/as_of.h"

#include "store/query/as_of_load.h"

/* ---- lists ---- */

static int list_at(struct store *s, int64_t id, const struct moment *at, bool whole_tree,
                   struct execution_list *out, struct err *err)
{
    AUTO(as_of_release)
    struct as_of_tree p = {.id = id, .at = *at, .with_texts = true, .whole_tree = whole_tree};
    struct execution_list l = {0};

    TRY(as_of_load(&p, s, err));
    l.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    l.at = arena_zalloc(&l.arena, (p.n + 1) * sizeof(*l.at));
    l.history = arena_zalloc(&l.arena, (p.n + 1) * sizeof(*l.history));
    for (; l.n < p.n; l.n++) {
        const struct as_of_row *r = &p.rows[l.n];

        l.at[l.n] = r->execution;
        l.history[l.n] = (struct execution_history){.outcome = r->at_moment.outcome,
                                                    .worker = r->at_moment.last_worker,
                                                    .due_at = r->at_moment.due_at,
                                                    .definition = r->definition,
                                                    .variables = r->variables,
                                                    .pause = r->at_moment.pause};
    }
    *out = l;
    return 0;
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

/* Whether the execution gets a line: its parent must have one, and only the first max_items running
 * and the first max_items failed items of a fan-out are shown. */
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
    AUTO(as_of_release) struct as_of_tree p = {.id = id, .at = *at, .whole_tree = true};
    AUTO_IDMAP lines = IDMAP_INIT;
    struct outline o = {0};

    TRY(as_of_load(&p, s, err));
    o.now = p.now;
    o.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    o.at = arena_zalloc(&o.arena, (p.n + 1) * sizeof(*o.at));
    for (size_t i = 0; i < p.n; i++) {
        const struct as_of_row *r = &p.rows[i];
        bool has_reason = r->at_moment.status == S_CANCELLED || r->at_moment.status == S_SKIPPED;

        if (i && !is_shown(&lines, &r->execution, max_items))
            continue;
        o.at[o.n] = (struct outline_row){.execution = r->execution,
                                         .ready_at = r->at_moment.ready_at,
                                         .worker = r->at_moment.last_worker,
                                         .due_at = r->at_moment.due_at,
                                         .reason = has_reason ? r->at_moment.reason : NULL,
                                         .nitems = r->items};
        idmap_put(&lines, r->execution.id, &o.at[o.n++]);
    }
    *out = o;
    return 0;
}

int query_timelines(struct store *s, int64_t id, const struct moment *at, struct timeline_list *out,
                    struct err *err)
{
    AUTO(as_of_release)
    struct as_of_tree p = {.id = id, .at = *at, .whole_tree = true, .with_timelines = true};
    struct timeline_list l = {0};

    TRY(as_of_load(&p, s, err));
    l.now = p.now;
    l.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    l.at = arena_alloc(&l.arena, (p.n + 1) * sizeof(*l.at));
    for (; l.n < p.n; l.n++)
        l.at[l.n] = (struct timeline_row){.execution = p.rows[l.n].execution,
                                          .timeline = p.rows[l.n].timeline,
                                          .definition = p.rows[l.n].definition};
    *out = l;
    return 0;
}
