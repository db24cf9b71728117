/* fold.c - groups the tasks that have the same needs and followers; see fold.h. */
#include "parse/render/fold.h"

#include <stdlib.h>
#include <string.h>

/* The place of a task in the graph: its needs and followers. */
struct place {
    uint64_t hash; /* hash of the needs and followers */
    uint32_t task, nneeds;
    const uint32_t *needs; /* ascending */
};

static int compare_indexes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->task < y->task ? -1 : 1;
}

static uint64_t hash_list(uint64_t hash, const uint32_t *list, uint32_t n)
{
    /* FNV-1a; the last round adds the length, so that lists can't run into each other. */
    for (uint32_t i = 0; i <= n; i++)
        hash = (hash ^ (i < n ? list[i] : UINT32_MAX)) * 1099511628211u;
    return hash;
}

static void find_place(const struct workflow_task *t, struct arena *arena, struct place *out)
{
    uint32_t *needs = arena_alloc(arena, (t->nneeds + 1) * sizeof(*needs));

    if (t->nneeds)
        memcpy(needs, t->needs, t->nneeds * sizeof(*needs));
    qsort(needs, t->nneeds, sizeof(*needs), compare_indexes);
    *out = (struct place){.task = t->index, .nneeds = t->nneeds, .needs = needs};
    out->hash = hash_list(14695981039346656037u, needs, t->nneeds);
    out->hash = hash_list(out->hash, t->followers, t->nfollowers);
}

static bool is_same_place(const struct workflow *w, const struct place *a, const struct place *b)
{
    const struct workflow_task *s = &w->tasks[a->task], *t = &w->tasks[b->task];

    return a->hash == b->hash && a->nneeds == b->nneeds && s->nfollowers == t->nfollowers &&
           (!a->nneeds || !memcmp(a->needs, b->needs, a->nneeds * sizeof(*a->needs))) &&
           (!s->nfollowers ||
            !memcmp(s->followers, t->followers, s->nfollowers * sizeof(*s->followers)));
}

/* Sets leader[task] to the first task of its group. If different places have the same hash by
 * chance, the tasks of one of these places are not grouped. */
static void find_groups(const struct workflow *w, uint32_t *leader)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct place *places = arena_alloc(&arena, (w->ntasks + 1) * sizeof(*places));
    const struct place *first = places;

    for (uint32_t i = 0; i < w->ntasks; i++)
        find_place(&w->tasks[i], &arena, &places[i]);
    qsort(places, w->ntasks, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < w->ntasks; i++) {
        if (places[i].hash != first->hash)
            first = &places[i];
        leader[places[i].task] = is_same_place(w, first, &places[i]) ? first->task : places[i].task;
    }
}

void fold_tasks(const struct workflow *w, struct arena *arena, struct fold *out)
{
    uint32_t *leader = arena_alloc(arena, (w->ntasks + 1) * sizeof(*leader)), i;

    *out = (struct fold){.box_of = arena_alloc(arena, (w->ntasks + 1) * sizeof(*out->box_of)),
                         .first = arena_alloc(arena, (w->ntasks + 1) * sizeof(*out->first)),
                         .size = arena_zalloc(arena, (w->ntasks + 1) * sizeof(*out->size))};
    for (i = 0; i < w->ntasks; i++)
        leader[i] = i;
    if (w->ntasks > FOLD_FROM)
        find_groups(w, leader);
    for (i = 0; i < w->ntasks; i++) {
        if (leader[i] == i) {
            out->first[out->n] = i;
            out->box_of[i] = out->n++;
        } else {
            out->box_of[i] = out->box_of[leader[i]];
        }
        out->size[out->box_of[i]]++;
    }
}
