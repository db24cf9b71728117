/* picture.h - the graph of a workflow as boxes and lines with coordinates in px, for the formats
 * svg and json. It decides what a box says and how large it is; layout.h decides where it is. */
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
#define PICTURE_ICON      22 /* room for the mark of the kind, left of the name */
#define PICTURE_STACK     8  /* width and height that the boxes behind a stacked one add */

struct picture_box {
    const char *id;
    const struct workflow_task *task; /* the first task of a group */
    uint32_t ntasks;                  /* more than 1 if it is a group (fold.h) */
    bool hook;                        /* on_failure or on_exit */
    bool stacked;                     /* a fan-out or a group, drawn as a stack */
    const char *kind;                 /* command, function, workflow, executor or group */
    /* The lines of text, of which all but the label may be missing: */
    const char *label;    /* the name, cut to fit; "fetch +99 more" for a group */
    const char *status;   /* "failed (allowed), 1.2 s" */
    const char *progress; /* "12/100 done, 1 failed" */
    const char **notes;   /* "if …", "for each …" */
    uint32_t nnotes;
    struct graph_task_state state; /* all 0 if there is no run; a group has that of its tasks */
    int x, y, width, height;
};

struct picture {
    const struct workflow *workflow;
    int status; /* of the run, enum status; 0 if there is no run */
    int width, height;
    struct picture_box *boxes; /* first those of the tasks, in the order of the file; then hooks */
    const struct layout_edge *edges;
    uint32_t nboxes, nedges;
    struct layout_box after; /* the frame of the hooks, "after all others"; width 0 if none */
    const char *folded;      /* a sentence that says what is folded; NULL if nothing is */
};

/* Draws the workflow. Everything in *out lives in the arena, or in the workflow. */
void picture_draw(const struct workflow *w, const struct graph_state *state, struct arena *arena,
                  struct picture *out);

#endif
