/* picture.c - computes the boxes and lines of a workflow's picture; see picture.h. */
#include "parse/render/picture.h"

#include "base/text.h"
#include "parse/render/fold.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 32 /* characters shown of a name */
#define LONGEST_NOTE 40 /* characters shown of an expression */
#define LEAST_WIDTH  110
#define MARGIN       20
#define BETWEEN      28 /* between the tasks and the hooks, and between both hooks */
#define FRAME        16 /* between the frame and the hooks in it */
#define FRAME_HEAD   24 /* room for the text of the frame */

/* ---- sizes ---- */

/* The widths of the characters from space to ~ in 1/100 of the font size. They are those of a wide
 * font (DejaVu Sans), so that the text fits in any font that a viewer is likely to have. */
static const unsigned char widths[] = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
/* Width of all other characters, like those of East Asia: as wide as high. */
#define OTHER_WIDTH 100
#define BOLD        115 /* per cent */

static int measure(const char *text, int size, bool bold)
{
    int sum = 0;
    size_t n;

    for (; *text; text += n) {
        n = text_step(text, strnlen(text, 4));
        n += !n;
        sum += *text >= ' ' && *text <= '~' ? widths[*text - ' '] : OTHER_WIDTH;
    }
    return sum * size * (bold ? BOLD : 100) / 10000 + 1;
}

static void widen(struct picture_box *b, int width)
{
    b->width = width > b->width ? width : b->width;
}

static void size_box(struct picture_box *b)
{
    b->width = LEAST_WIDTH - 2 * PICTURE_PADDING;
    b->height = 2 * PICTURE_PADDING - 6 + PICTURE_NAME_LINE;
    widen(b, PICTURE_ICON + measure(b->label, PICTURE_NAME_SIZE, true));
    if (b->status) {
        widen(b, measure(b->status, PICTURE_TEXT_SIZE, true));
        b->height += PICTURE_TEXT_LINE;
    }
    if (b->progress) {
        widen(b, measure(b->progress, PICTURE_TEXT_SIZE, false));
        b->height += PICTURE_TEXT_LINE;
    }
    for (uint32_t i = 0; i < b->nnotes; i++)
        widen(b, measure(b->notes[i], PICTURE_TEXT_SIZE, false));
    b->height += (int)b->nnotes * PICTURE_TEXT_LINE + (b->stacked ? PICTURE_STACK : 0);
    b->width += 2 * PICTURE_PADDING + (b->stacked ? PICTURE_STACK : 0);
    b->width += b->width % 2;
}

/* ---- text ---- */

static const char *kind_of(const struct workflow_task *t)
{
    if (t->nested)
        return "workflow";
    if (t->function)
        return "function";
    return task_is_custom(t) ? "executor" : "command";
}

static void add_notes(struct picture_box *b, struct arena *arena)
{
    AUTO_BUF text = BUF_INIT;
    char *rest, *line;

    render_task_notes(b->task, NULL, "\n", LONGEST_NOTE, &text);
    if (!text.len)
        return;
    rest = arena_strdup(arena, text.ptr);
    for (const char *p = rest; p; p = strchr(p + 1, '\n'))
        b->nnotes++;
    b->notes = arena_alloc(arena, b->nnotes * sizeof(*b->notes));
    for (uint32_t i = 0; (line = strsep(&rest, "\n")); i++)
        b->notes[i] = line;
}

static const char *status_line(const struct picture_box *b, struct arena *arena)
{
    const struct graph_task_state *s = &b->state;
    char duration[DURATION_TEXT_SIZE];
    bool allowed = b->task->allow_failure && b->ntasks == 1 &&
                   (s->status == S_FAILED || s->status == S_TIMED_OUT);

    if (!s->status)
        return NULL;
    return arena_printf(arena, "%s%s%s%s%s%s", status_text(s->status), allowed ? " (allowed)" : "",
                        s->held ? ": " : "", s->held ? hold_text(s->held) : "",
                        s->duration >= 0 ? ", " : "",
                        s->duration >= 0 ? text_duration(s->duration, duration) : "");
}

static const char *progress_line(const struct graph_counts *c, struct arena *arena)
{
    const int64_t *n = c->by_status;
    long long failed = n[S_FAILED] + n[S_TIMED_OUT], done = failed;
    AUTO_BUF text = BUF_INIT;

    done += n[S_SUCCEEDED] + n[S_CANCELLED] + n[S_SKIPPED];
    buf_addf(&text, "%lld", done);
    if (c->total >= 0)
        buf_addf(&text, "/%lld", (long long)c->total);
    buf_addstr(&text, " done");
    if (n[S_RUNNING])
        buf_addf(&text, ", %lld running", (long long)n[S_RUNNING]);
    if (failed)
        buf_addf(&text, ", %lld failed", failed);
    return arena_strdup(arena, text.ptr);
}

static const char *make_label(const struct picture_box *b, struct arena *arena)
{
    AUTO_BUF text = BUF_INIT;

    render_cut_text(&text, b->task->name, LONGEST_NAME);
    if (b->ntasks > 1)
        buf_addf(&text, " +%u more", b->ntasks - 1);
    return arena_strdup(arena, buf_cstr(&text));
}

/* ---- boxes ---- */

/* The status of a group: the most important status among its tasks. */
static int group_status(const struct graph_counts *c)
{
    static const int by_importance[] = {S_FAILED,  S_TIMED_OUT, S_RUNNING,   S_READY,
                                        S_PENDING, S_CANCELLED, S_SUCCEEDED, S_SKIPPED};

    for (size_t i = 0; i < sizeof(by_importance) / sizeof(*by_importance); i++)
        if (c->by_status[by_importance[i]])
            return by_importance[i];
    return 0;
}

static void describe(struct picture_box *b, struct arena *arena)
{
    b->id = arena_printf(arena, "t%u", b->task->index);
    b->kind = b->ntasks > 1 ? "group" : kind_of(b->task);
    b->stacked = b->ntasks > 1 || b->task->foreach;
    b->label = make_label(b, arena);
    if (b->ntasks == 1)
        add_notes(b, arena);
    b->status = status_line(b, arena);
    if (b->state.items)
        b->progress = progress_line(b->state.items, arena);
    size_box(b);
}

static void add_hook(struct picture *out, const struct workflow_task *t,
                     const struct graph_state *state)
{
    if (t)
        out->boxes[out->nboxes++] = (struct picture_box){
            .task = t,
            .ntasks = 1,
            .hook = true,
            .state = state ? state->tasks[t->index] : (struct graph_task_state){.duration = -1}};
}

/* Counts the tasks of each group by status. */
static void count_groups(const struct workflow *w, const struct graph_state *state,
                         const struct fold *fold, struct picture *out, struct arena *arena)
{
    struct graph_counts *counts = arena_zalloc(arena, (fold->n + 1) * sizeof(*counts));

    for (uint32_t i = 0; i < w->ntasks; i++)
        counts[fold->box_of[i]].by_status[state->tasks[i].status]++;
    for (uint32_t i = 0; i < fold->n; i++)
        if (fold->size[i] > 1) {
            counts[i].total = fold->size[i];
            out->boxes[i].state = (struct graph_task_state){
                .status = group_status(&counts[i]), .duration = -1, .items = &counts[i]};
        }
}

static void add_boxes(const struct workflow *w, const struct graph_state *state,
                      const struct fold *fold, struct picture *out, struct arena *arena)
{
    out->boxes = arena_zalloc(arena, (fold->n + 3) * sizeof(*out->boxes));
    for (uint32_t i = 0; i < fold->n; i++)
        out->boxes[i] =
            (struct picture_box){.task = &w->tasks[fold->first[i]],
                                 .ntasks = fold->size[i],
                                 .state = state ? state->tasks[fold->first[i]]
                                                : (struct graph_task_state){.duration = -1}};
    if (state)
        count_groups(w, state, fold, out, arena);
    out->nboxes = fold->n;
    add_hook(out, w->on_failure, state);
    add_hook(out, w->on_exit, state);
    for (uint32_t i = 0; i < out->nboxes; i++)
        describe(&out->boxes[i], arena);
}

/* ---- edges and places ---- */

/* Lists the edges between boxes, each once. All tasks of a group have the same edges. */
static struct layout_edge *list_edges(const struct workflow *w, const struct fold *fold,
                                      uint32_t *n, struct arena *arena)
{
    uint32_t *seen = arena_zalloc(arena, (fold->n + 1) * sizeof(*seen)), i, k;
    struct layout_edge *edges;

    *n = 0;
    for (i = 0; i < fold->n; i++)
        *n += w->tasks[fold->first[i]].nneeds;
    edges = arena_alloc(arena, (*n + 1) * sizeof(*edges));
    *n = 0;
    for (i = 0; i < fold->n; i++) {
        const struct workflow_task *t = &w->tasks[fold->first[i]];

        for (k = 0; k < t->nneeds; k++) {
            uint32_t from = fold->box_of[t->needs[k]];

            if (seen[from] != i + 1)
                edges[(*n)++] = (struct layout_edge){.from = from, .to = i};
            seen[from] = i + 1;
        }
    }
    return edges;
}

/* Places the hooks (on_failure, on_exit) in a row below everything else, in a frame. */
static void place_hooks(struct picture *out, uint32_t from)
{
    struct layout_box *frame = &out->after;
    int x = MARGIN + FRAME;

    if (from == out->nboxes)
        return;
    *frame = (struct layout_box){.x = MARGIN, .y = out->height - MARGIN + BETWEEN};
    frame->width = measure("after all others", PICTURE_TEXT_SIZE, false) + 2 * FRAME;
    for (uint32_t i = from; i < out->nboxes; i++) {
        struct picture_box *b = &out->boxes[i];

        b->x = x;
        b->y = frame->y + FRAME_HEAD;
        x += b->width + BETWEEN;
        if (b->height + FRAME_HEAD + FRAME > frame->height)
            frame->height = b->height + FRAME_HEAD + FRAME;
    }
    x += FRAME - BETWEEN;
    frame->width = x - frame->x > frame->width ? x - frame->x : frame->width;
    out->height = frame->y + frame->height + MARGIN;
    if (frame->width + 2 * MARGIN > out->width)
        out->width = frame->width + 2 * MARGIN;
}

static void place(struct picture *out, const struct fold *fold, const struct workflow *w,
                  struct arena *arena)
{
    struct layout l = {.boxes = arena_alloc(arena, (fold->n + 1) * sizeof(*l.boxes)),
                       .nboxes = fold->n};

    l.edges = list_edges(w, fold, &l.nedges, arena);
    for (uint32_t i = 0; i < fold->n; i++)
        l.boxes[i] =
            (struct layout_box){.width = out->boxes[i].width, .height = out->boxes[i].height};
    layout_run(&l, arena);
    for (uint32_t i = 0; i < fold->n; i++) {
        out->boxes[i].x = l.boxes[i].x + MARGIN;
        out->boxes[i].y = l.boxes[i].y + MARGIN;
    }
    for (uint32_t i = 0; i < l.nedges; i++)
        for (uint32_t k = 0; k < l.edges[i].npoints; k++) {
            l.edges[i].points[k].x += MARGIN;
            l.edges[i].points[k].y += MARGIN;
        }
    out->edges = l.edges;
    out->nedges = l.nedges;
    out->width = l.width + 2 * MARGIN;
    out->height = l.height + 2 * MARGIN;
}

void picture_draw(const struct workflow *w, const struct graph_state *state, struct arena *arena,
                  struct picture *out)
{
    struct fold fold;

    *out = (struct picture){.workflow = w, .status = state ? state->status : 0};
    fold_tasks(w, arena, &fold);
    add_boxes(w, state, &fold, out, arena);
    place(out, &fold, w, arena);
    place_hooks(out, fold.n);
    if (fold.n < w->ntasks)
        out->folded = arena_printf(
            arena,
            "%u tasks are drawn as %u boxes: tasks with the same needs and followers share one",
            w->ntasks, fold.n);
}
