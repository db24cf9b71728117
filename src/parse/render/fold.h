/* fold.h - decides which tasks of a large workflow share one box in a picture.
 *
 * A fan-out is always one box, whatever the number of its items. Up to FOLD_FROM tasks, every task
 * has its own box. Beyond that, tasks with exactly the same needs and the same followers share one
 * box, a group: since their place in the graph is the same, a group hides no edge. */
#ifndef PARSE_RENDER_FOLD_H
#define PARSE_RENDER_FOLD_H

#include "core/workflow/model.h"

#define FOLD_FROM 300

struct fold {
    /* By task: the box that shows it; boxes are numbered in the order of their first tasks. */
    uint32_t *box_of;
    uint32_t *first; /* by box: the first task in it */
    uint32_t *size;  /* by box: the number of tasks in it */
    uint32_t n;      /* boxes */
};

/* Assigns each task to a box. The arrays live in the arena. */
void fold_tasks(const struct workflow *w, struct arena *arena, struct fold *out);

#endif
