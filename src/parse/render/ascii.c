/* ascii.c - draws the graph for a terminal: one line per task, each task after its needs, and on
 * the left "rails", vertical lines that lead from a task down to its followers.
 *
 *     *    fetch
 *     +-*  clean     + the rail leads to the task of this line, and continues
 *     * |  count     * a task: its rail continues down to its last follower
 *     *-'  report    ' ` the rail ends in the task of this line
 *
 * Notes after the name say what the picture can't show. A graph with too many rails is printed as a
 * list of tasks with their needs instead. */
#include "parse/render/graph.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RAILS   20
#define FREE        UINT32_MAX
/* A rail that ended in the line above. It is not reused in this line, because it would look
 * connected. */
#define RESTING     (UINT32_MAX - 1)
#define SHOWN_NEEDS 5
#define LONGEST     33 /* characters shown of an expression */
#define FEWEST      8  /* columns: the minimum for a name and for its notes */

struct rails {
    const struct workflow *w;
    uint32_t at[MAX_RAILS]; /* the task from which the rail leads down; FREE or RESTING if none */
    uint32_t n;             /* number of rails, including free ones between used ones */
    uint32_t *left;         /* by task: number of its followers that are not drawn yet */
};

static uint32_t rail_of(const struct rails *r, uint32_t task)
{
    uint32_t i;

    for (i = 0; i < r->n && r->at[i] != task; i++)
        ;
    return i;
}

static bool in_use(const struct rails *r, uint32_t rail)
{
    return r->at[rail] < RESTING;
}

static bool is_need(const struct workflow_task *t, uint32_t task)
{
    for (uint32_t i = 0; i < t->nneeds; i++)
        if (t->needs[i] == task)
            return true;
    return false;
}

/* The rail in whose column to draw the task: one that ends at the task, or else a free one;
 * MAX_RAILS if there is none. */
static uint32_t find_column(struct rails *r, const struct workflow_task *t)
{
    uint32_t i;

    for (i = 0; i < r->n; i++)
        if (in_use(r, i) && r->left[r->at[i]] == 1 && is_need(t, r->at[i]))
            return i;
    i = rail_of(r, FREE);
    if (i == r->n && r->n < MAX_RAILS)
        r->at[r->n++] = FREE;
    return i;
}

/* Draws the rails of one line. The rails from `lo` to `hi` are connected with the line's task. */
static void draw_rails(const struct rails *r, const struct workflow_task *t, uint32_t column,
                       struct buf *out)
{
    uint32_t lo = column, hi = column, i;

    for (i = 0; i < r->n; i++)
        if (in_use(r, i) && is_need(t, r->at[i])) {
            lo = i < lo ? i : lo;
            hi = i > hi ? i : hi;
        }
    for (i = 0; i < r->n; i++) {
        bool need = in_use(r, i) && is_need(t, r->at[i]);
        char c = i > lo && i < hi ? '-' : ' ';

        if (i == column)
            c = '*';
        else if (need)
            c = r->left[r->at[i]] > 1 ? '+' : i < column ? '`' : '\'';
        else if (in_use(r, i))
            c = '|';
        buf_addch(out, c);
        buf_addch(out, i >= lo && i < hi ? '-' : ' ');
    }
}

/* Updates the rails after the line of a task, for the next line. */
static void advance_rails(struct rails *r, const struct workflow_task *t, uint32_t column)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->at[i] == RESTING)
            r->at[i] = FREE;
    for (uint32_t i = 0; i < t->nneeds; i++)
        if (!--r->left[t->needs[i]])
            r->at[rail_of(r, t->needs[i])] = RESTING;
    r->at[column] = t->nfollowers ? t->index : RESTING;
    while (r->n && r->at[r->n - 1] == FREE)
        r->n--;
}

/* Calls `line` for each task in order. Returns false if there are not enough rails. */
static bool walk(const struct workflow *w, const uint32_t *order,
                 void (*line)(const struct rails *, const struct workflow_task *, uint32_t column,
                              void *),
                 void *arg)
{
    struct rails r = {.w = w, .left = mem_alloc((w->ntasks + 1) * sizeof(*r.left))};
    uint32_t i, column;
    bool ok = true;

    for (i = 0; i < w->ntasks; i++)
        r.left[i] = w->tasks[i].nfollowers;
    for (i = 0; i < w->ntasks && ok; i++) {
        const struct workflow_task *t = &w->tasks[order[i]];

        column = find_column(&r, t);
        ok = column < MAX_RAILS;
        if (!ok)
            break;
        line(&r, t, column, arg);
        advance_rails(&r, t, column);
    }
    free(r.left);
    return ok;
}

/* ---- lines ---- */

struct drawing {
    struct buf *out;
    const struct graph_state *state;
    size_t width;
    uint32_t rails; /* the largest number of rails in any line */
    size_t names;   /* width of the column of names */
};

static void measure(const struct rails *r, const struct workflow_task *t, uint32_t column,
                    void *arg)
{
    struct drawing *d = arg;

    (void)t;
    (void)column;
    d->rails = r->n > d->rails ? r->n : d->rails;
}

/* Adds a task's name and notes, starting at `column`, cut at the width of the drawing. */
static void add_task(struct drawing *d, const struct workflow_task *t, size_t column,
                     const char *more)
{
    AUTO_BUF notes = BUF_INIT, own = BUF_INIT;
    size_t left = d->width > column + FEWEST ? d->width - column : FEWEST, names = d->names;

    render_task_notes(t, d->state, ", ", LONGEST, &own);
    buf_addf(&notes, "%s%s%s", more, *more && own.len ? "; " : "", buf_cstr(&own));
    if (names + 2 + FEWEST > left) /* too narrow for a column of names */
        names = strlen(t->name);
    if (!notes.len || names + 2 + FEWEST > left) {
        render_cut_text(d->out, t->name, left);
    } else {
        buf_addf(d->out, "%-*s  ", (int)names, t->name);
        render_cut_text(d->out, notes.ptr, left - names - 2);
    }
    buf_addch(d->out, '\n');
}

static void draw_line(const struct rails *r, const struct workflow_task *t, uint32_t column,
                      void *arg)
{
    struct drawing *d = arg;
    size_t from = d->out->len, wide = d->rails * 2 + 3;

    buf_addstr(d->out, "  ");
    draw_rails(r, t, column, d->out);
    while (d->out->len - from < wide)
        buf_addch(d->out, ' ');
    add_task(d, t, wide, "");
}

/* Adds a line to the list of tasks that is printed for a graph with too many rails. */
static void list_line(struct drawing *d, const struct workflow *w, const struct workflow_task *t)
{
    AUTO_BUF needs = BUF_INIT;

    for (uint32_t i = 0; i < t->nneeds && i < SHOWN_NEEDS; i++)
        buf_addf(&needs, "%s%s", i ? ", " : "needs ", w->tasks[t->needs[i]].name);
    if (t->nneeds > SHOWN_NEEDS)
        buf_addf(&needs, " and %u more", t->nneeds - SHOWN_NEEDS);
    buf_addstr(d->out, "  * ");
    add_task(d, t, 4, buf_cstr(&needs));
}

static void draw_hook(struct drawing *d, const struct workflow_task *t)
{
    if (!t)
        return;
    buf_addstr(d->out, "  ! ");
    add_task(d, t, 4, "");
}

static void draw_workflow(const struct workflow *w, const struct graph_state *state, size_t width,
                          struct buf *out)
{
    uint32_t *order = mem_alloc((w->ntasks + 1) * sizeof(*order)), n, i;
    struct drawing d = {.out = out, .state = state, .width = width};

    for (i = 0; i < w->ntasks; i++) {
        size_t len = strlen(w->tasks[i].name);

        d.names = len > d.names ? len : d.names;
    }
    buf_addf(out, "%s: %u task%s%s%s\n", w->name, w->ntasks, w->ntasks == 1 ? "" : "s",
             state ? ", " : "", state ? status_text(state->status) : "");
    (void)workflow_order(w, order, &n);
    if (walk(w, order, measure, &d))
        (void)walk(w, order, draw_line, &d);
    else
        for (i = 0; i < n; i++)
            list_line(&d, w, &w->tasks[order[i]]);
    draw_hook(&d, w->on_failure);
    draw_hook(&d, w->on_exit);
    free(order);
}

void graph_render_ascii(const struct workflow *w, const struct graph_state *state, size_t width,
                        struct buf *out)
{
    size_t n, i;
    AUTO_FREE const struct workflow **nested = workflow_below(w, &n);

    draw_workflow(w, state, width, out);
    for (i = 0; i < n; i++) {
        buf_addch(out, '\n');
        draw_workflow(nested[i], NULL, width, out);
    }
}
