/* link.c - the edges of a workflow: followers, a topological order, cycles. All of it takes time
 * linear in the number of tasks and needs. */
#include "core/workflow/model.h"

#include <stdlib.h>
#include <string.h>

static void link_followers(struct workflow *w, struct arena *arena)
{
    uint32_t *at, *list, i, k;
    size_t edges = 0;

    for (i = 0; i < w->ntasks; i++)
        edges += w->tasks[i].nneeds;
    for (i = 0; i < w->ntasks; i++)
        for (k = 0; k < w->tasks[i].nneeds; k++)
            w->tasks[w->tasks[i].needs[k]].nfollowers++;
    list = arena_alloc(arena, (edges + 1) * sizeof(*list));
    /* Where to write the next follower of each task. */
    at = mem_alloc((w->ntasks + 1) * sizeof(*at));
    for (i = 0, edges = 0; i < w->ntasks; i++) {
        at[i] = (uint32_t)edges;
        w->tasks[i].followers = list + edges;
        edges += w->tasks[i].nfollowers;
    }
    for (i = 0; i < w->ntasks; i++)
        for (k = 0; k < w->tasks[i].nneeds; k++)
            list[at[w->tasks[i].needs[k]]++] = i;
    free(at);
}

struct nested_list {
    const struct workflow **at;
    size_t n, cap;
};

static void add_nested(struct nested_list *list, const struct workflow_task *t)
{
    size_t i;

    if (!t || !t->nested)
        return;
    /* The definition is usually the last one added. */
    for (i = list->n; i && list->at[i - 1] != t->nested; i--)
        ;
    if (!i)
        *vec_add(list) = t->nested;
}

void workflow_link(struct workflow *w, struct arena *arena)
{
    struct nested_list list = {0};

    link_followers(w, arena);
    for (uint32_t i = 0; i < w->ntasks; i++)
        add_nested(&list, &w->tasks[i]);
    add_nested(&list, w->on_failure);
    add_nested(&list, w->on_exit);
    w->nnested = list.n;
    w->nested = NULL;
    if (list.n)
        w->nested = memcpy(arena_alloc(arena, list.n * sizeof(*list.at)), list.at,
                           list.n * sizeof(*list.at));
    vec_release(&list);
}

bool workflow_order(const struct workflow *w, uint32_t *order, uint32_t *n)
{
    uint32_t *left = mem_alloc((w->ntasks + 1) * sizeof(*left)), i, k, placed = 0;

    for (i = 0; i < w->ntasks; i++) {
        left[i] = w->tasks[i].nneeds;
        if (!left[i])
            order[placed++] = i;
    }
    for (i = 0; i < placed; i++) {
        const struct workflow_task *t = &w->tasks[order[i]];

        for (k = 0; k < t->nfollowers; k++)
            if (!--left[t->followers[k]])
                order[placed++] = t->followers[k];
    }
    free(left);
    *n = placed;
    return placed == w->ntasks;
}

/* ---- cycles ---- */

#define MAX_CYCLES 100

/* A depth-first walk from each task to its needs. The tasks on the current path are OPEN; reaching
 * an OPEN task closes a cycle. */
enum { UNSEEN, OPEN, DONE };

struct walk {
    const struct workflow *w;
    uint8_t *state;
    bool *reported;     /* whether the task, given by its index, is part of a reported cycle */
    uint32_t *next;     /* by task: index of the next need to visit */
    uint32_t *path;     /* the open tasks, in the order in which they were opened */
    uint32_t *position; /* by task: its position in the path */
    uint32_t depth;
    size_t found;
};

static void open_task(struct walk *k, uint32_t task)
{
    k->state[task] = OPEN;
    k->position[task] = k->depth;
    k->path[k->depth++] = task;
}

/* Reports a cycle: the tasks of the path from `task` on, unless its first or last task was already
 * part of a reported cycle. */
static void close_cycle(struct walk *k, uint32_t task,
                        void (*each)(void *arg, const uint32_t *path, uint32_t n), void *arg)
{
    uint32_t from = k->position[task], i;

    if (k->reported[task] || k->reported[k->path[k->depth - 1]] || k->found == MAX_CYCLES)
        return;
    each(arg, k->path + from, k->depth - from);
    k->found++;
    for (i = from; i < k->depth; i++)
        k->reported[k->path[i]] = true;
}

size_t workflow_cycles(const struct workflow *w,
                       void (*each)(void *arg, const uint32_t *path, uint32_t n), void *arg)
{
    size_t n = (size_t)w->ntasks + 1;
    AUTO_ARENA arena = ARENA_INIT;
    struct walk k = {.w = w,
                     .state = arena_zalloc(&arena, n * sizeof(*k.state)),
                     .reported = arena_zalloc(&arena, n * sizeof(*k.reported)),
                     .next = arena_zalloc(&arena, n * sizeof(*k.next)),
                     .path = arena_alloc(&arena, n * sizeof(*k.path)),
                     .position = arena_alloc(&arena, n * sizeof(*k.position))};
    uint32_t i, need;

    for (i = 0; i < w->ntasks; i++) {
        if (k.state[i] == UNSEEN)
            open_task(&k, i);
        while (k.depth) {
            const struct workflow_task *t = &w->tasks[k.path[k.depth - 1]];

            if (k.next[t->index] == t->nneeds) {
                k.state[t->index] = DONE;
                k.depth--;
                continue;
            }
            need = t->needs[k.next[t->index]++];
            if (k.state[need] == UNSEEN)
                open_task(&k, need);
            else if (k.state[need] == OPEN)
                close_cycle(&k, need, each, arg);
        }
    }
    return k.found;
}

/* ---- nested definitions ---- */

const struct workflow **workflow_below(const struct workflow *w, size_t *n)
{
    VEC(const struct workflow *) all = {0};
    size_t i, k, next = 0;

    /* A linear search is enough, since there are few definitions. */
    for (;;) {
        for (i = 0; i < w->nnested; i++) {
            for (k = 0; k < all.n && all.at[k] != w->nested[i]; k++)
                ;
            if (k == all.n)
                *vec_add(&all) = w->nested[i];
        }
        if (next == all.n)
            break;
        w = all.at[next++];
    }
    *n = all.n;
    return all.at;
}
