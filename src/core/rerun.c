/* rerun.c - marks the tasks of a rerun; see rerun.h. */
#include "core/rerun.h"

#include "base/mem.h"

#include <stdlib.h>

struct front {
    uint32_t *at;
    size_t n, cap;
};

/* Marks every task that needs a task of `front`, directly or indirectly. Releases `front`. */
static void mark_followers(const struct workflow *w, struct front *front, enum rerun_mark *marks)
{
    while (front->n) {
        const struct workflow_task *task = &w->tasks[front->at[--front->n]];
        uint32_t i;

        for (i = 0; i < task->nfollowers; i++) {
            uint32_t next = task->followers[i];

            if (marks[next] == RERUN_FOLLOWER)
                continue;
            /* a follower even if it failed itself, because its needs run first */
            marks[next] = RERUN_FOLLOWER;
            *vec_add(front) = next;
        }
    }
    vec_release(front);
}

static bool ended_badly(const struct graph_need *n)
{
    if (n->status == S_FAILED || n->status == S_TIMED_OUT)
        return !n->allow_failure;
    return n->status == S_CANCELLED;
}

bool rerun_failed(const struct workflow *w, const struct graph_need *ended, enum rerun_mark *marks)
{
    struct front front = {0};
    bool any = false;

    for (uint32_t i = 0; i < w->ntasks; i++)
        if (ended_badly(&ended[i])) {
            marks[i] = RERUN_FIRST;
            *vec_add(&front) = i;
            any = true;
        }
    mark_followers(w, &front, marks);
    return any;
}

void rerun_from(const struct workflow *w, uint32_t task, bool with, enum rerun_mark *marks)
{
    struct front front = {0};

    if (with)
        marks[task] = RERUN_FIRST;
    *vec_add(&front) = task;
    mark_followers(w, &front, marks);
}
