/* picture.h - the graph of a workflow as boxes and lines with coordinates in px, for the formats
 * svg and json. It chooses the text and size of each box; layout.h places the boxes. */
#ifndef PARSE_RENDER_PICTURE_H
#define PARSE_RENDER_PICTURE_H

#include "parse/render/graph.h"
#include "parse/render/layout.h"

/* Sizes of text, and distances inside a box, which the writer of SVG also needs. */
#define PICTURE_NAME_SIZE 14 /* font size of the name */
#define PICTURE_TEXT_SIZE 12 /* font size of the other lines */
#define PICTURE_NAME_LINE 20
#define PICTURE_TEXT_LINE 16
#define PICTURE_PADDING   12
#define PICTURE_ICON      22 /* width of the icon for the kind of a task, left of the name */
/* Width and height that the boxes behind the front box of a stack add. */
#define PICTURE_STACK     8

struct picture_box {
    const char *id;
    const struct workflow_task *task; /* the task that the box shows; the first task of a group */
    uint32_t ntasks;                  /* more than 1 if the box is a group (fold.h) */
    bool hook;                        /* whether the box is on_failure or on_exit */
    /* Whether the box is a fan-out or a group, drawn as a stack. */
    bool stacked;
    const char *kind; /* command, function, workflow, executor or group */
    /* The lines of text. All but the label may be missing. */
    const char *label;    /* the name, cut to fit; "fetch +99 more" for a group */
    const char *status;   /* such as "failed (allowed), 1.2 s" */
    const char *progress; /* such as "12/100 done, 1 failed" */
    const char **notes;   /* such as "if …", "for each …" */
    uint32_t nnotes;
    /* State of the task, or of all tasks of a group; all 0 if there is no run. */
    struct graph_task_state state;
    int x, y, width, height;
};

struct picture {
    const struct workflow *workflow;
    int status; /* enum status of the run; 0 if there is no run */
    int width, height;
    struct picture_box *boxes; /* the boxes of tasks, in the order of the file, then the hooks */
    const struct layout_edge *edges;
    uint32_t nboxes, nedges;
    /* The frame around the hooks, with the text "after all others"; width 0 if there are no
     * hooks. */
    struct layout_box after;
    const char *folded; /* a sentence about which tasks are grouped; NULL if none are */
};

/* Draws the workflow. All memory that *out refers to belongs to the arena or to the workflow. */
void picture_draw(const struct workflow *w, const struct graph_state *state, struct arena *arena,
                  struct picture *out);

#endif
