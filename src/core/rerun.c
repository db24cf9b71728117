/* rerun.c - see rerun.h. */
#include "core/rerun.h"

#include "base/mem.h"

#include <stdlib.h>

struct front {
    uint32_t *at;
    size_t n, cap;
};

/* From the marked ones on, to all that needs them. */
static void spread(const struct workflow *w, struct front *front, enum rerun_mark *marks)
{
    while (front->n) {
        const struct workflow_task *task = &w->tasks[front->at[--front->n]];
        uint32_t i;

        for (i = 0; i < task->nfollowers; i++) {
            uint32_t next = task->followers[i];

            if (marks[next] == RERUN_FOLLOWER)
                continue;
            marks[next] =
                RERUN_FOLLOWER; /* also one that failed itself: what it needs comes first */
            *vec_add(front) = next;
        }
    }
    vec_release(front);
}

static bool counts(const struct graph_need *n)
{
    if (n->status == S_FAILED || n->status == S_TIMED_OUT)
        return !n->allow_failure;
    return n->status == S_CANCELLED;
}

bool rerun_failed(const struct workflow *w, const struct graph_need *ended, enum rerun_mark *marks)
{
    struct front front = {0};
    bool any = false;
    uint32_t i;

    for (i = 0; i < w->ntasks; i++)
        if (counts(&ended[i])) {
            marks[i] = RERUN_FIRST;
            *vec_add(&front) = i;
            any = true;
        }
    spread(w, &front, marks);
    return any;
}

void rerun_from(const struct workflow *w, uint32_t task, bool with, enum rerun_mark *marks)
{
    struct front front = {0};

    if (with)
        marks[task] = RERUN_FIRST;
    *vec_add(&front) = task;
    spread(w, &front, marks);
}
