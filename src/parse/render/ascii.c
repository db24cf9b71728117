/* graph_render_ascii.c - the graph for a terminal: a line for each task, each after what it needs,
 * and beside them rails that lead from a task down to those that need it.
 *
 *     *    fetch
 *     +-*  clean     + a rail goes on, and here it leads to the task of this line
 *     * |  count     * a task: its rail goes on below, as long as others need it
 *     *-'  report    ' ` a rail ends here, in the task of this line
 *
 * A line of text follows for what the picture can't show. Graphs with too many rails are listed
 * with their needs instead. */
#include "parse/render/graph.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RAILS   20
#define FREE        UINT32_MAX
#define RESTING     (UINT32_MAX - 1) /* ended in the line above: what comes next is no part of it */
#define SHOWN_NEEDS 5
#define LONGEST     33 /* characters of an expression */
#define FEWEST      8  /* columns for which it is worth to begin */

struct rails {
    const struct workflow *w;
    uint32_t at[MAX_RAILS]; /* the task whose rail it is; FREE, RESTING: none */
    uint32_t n;             /* in use, or free between others */
    uint32_t *left;         /* of each task: how many that need it are still to come */
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
    uint32_t i;

    for (i = 0; i < t->nneeds; i++)
        if (t->needs[i] == task)
            return true;
    return false;
}

/* Where the task goes: on a rail that ends in it, else on a free one. MAX_RAILS: there is none. */
static uint32_t place(struct rails *r, const struct workflow_task *t)
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

/* The rails at this line. `lo` to `hi` is the stretch that leads to the task. */
static void draw(const struct rails *r, const struct workflow_task *t, uint32_t column,
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

/* The rails below this line. */
static void move_on(struct rails *r, const struct workflow_task *t, uint32_t column)
{
    uint32_t i;

    for (i = 0; i < r->n; i++)
        if (r->at[i] == RESTING)
            r->at[i] = FREE;
    for (i = 0; i < t->nneeds; i++)
        if (!--r->left[t->needs[i]])
            r->at[rail_of(r, t->needs[i])] = RESTING;
    r->at[column] = t->nfollowers ? t->index : RESTING;
    while (r->n && r->at[r->n - 1] == FREE)
        r->n--;
}

/* Calls `line` for each task in order, while there are rails enough. */
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

        column = place(&r, t);
        ok = column < MAX_RAILS;
        if (!ok)
            break;
        line(&r, t, column, arg);
        move_on(&r, t, column);
    }
    free(r.left);
    return ok;
}

/* ---- lines ---- */

struct drawing {
    struct buf *out;
    size_t width;
    uint32_t rails; /* the most that a line has */
    size_t names;   /* the longest name */
};

static void measure(const struct rails *r, const struct workflow_task *t, uint32_t column,
                    void *arg)
{
    struct drawing *d = arg;

    (void)t;
    (void)column;
    d->rails = r->n > d->rails ? r->n : d->rails;
}

/* Name and notes from `column` on, cut at the width. */
static void add_task(struct drawing *d, const struct workflow_task *t, size_t column,
                     const char *more)
{
    struct buf notes = BUF_INIT, own = BUF_INIT;
    size_t left = d->width > column + FEWEST ? d->width - column : FEWEST, names = d->names;

    render_task_notes(t, ", ", LONGEST, &own);
    buf_addf(&notes, "%s%s%s", more, *more && own.len ? "; " : "", buf_cstr(&own));
    if (names + 2 + FEWEST > left) /* too narrow for columns */
        names = strlen(t->name);
    if (!notes.len || names + 2 + FEWEST > left) {
        render_cut_text(d->out, t->name, left);
    } else {
        buf_addf(d->out, "%-*s  ", (int)names, t->name);
        render_cut_text(d->out, notes.ptr, left - names - 2);
    }
    buf_addch(d->out, '\n');
    buf_release(&notes);
    buf_release(&own);
}

static void draw_line(const struct rails *r, const struct workflow_task *t, uint32_t column,
                      void *arg)
{
    struct drawing *d = arg;
    size_t from = d->out->len, wide = d->rails * 2 + 3;

    buf_addstr(d->out, "  ");
    draw(r, t, column, d->out);
    while (d->out->len - from < wide)
        buf_addch(d->out, ' ');
    add_task(d, t, wide, "");
}

/* Without rails. */
static void list_line(struct drawing *d, const struct workflow *w, const struct workflow_task *t)
{
    struct buf needs = BUF_INIT;
    uint32_t i;

    for (i = 0; i < t->nneeds && i < SHOWN_NEEDS; i++)
        buf_addf(&needs, "%s%s", i ? ", " : "needs ", w->tasks[t->needs[i]].name);
    if (t->nneeds > SHOWN_NEEDS)
        buf_addf(&needs, " and %u more", t->nneeds - SHOWN_NEEDS);
    buf_addstr(d->out, "  * ");
    add_task(d, t, 4, buf_cstr(&needs));
    buf_release(&needs);
}

static void draw_hook(struct drawing *d, const struct workflow_task *t)
{
    if (!t)
        return;
    buf_addstr(d->out, "  ! ");
    add_task(d, t, 4, "");
}

static void draw_one(const struct workflow *w, size_t width, struct buf *out)
{
    uint32_t *order = mem_alloc((w->ntasks + 1) * sizeof(*order)), n, i;
    struct drawing d = {.out = out, .width = width};

    for (i = 0; i < w->ntasks; i++) {
        size_t len = strlen(w->tasks[i].name);

        d.names = len > d.names ? len : d.names;
    }
    buf_addf(out, "%s: %u task%s\n", w->name, w->ntasks, w->ntasks == 1 ? "" : "s");
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

void graph_render_ascii(const struct workflow *w, size_t width, struct buf *out)
{
    size_t n, i;
    const struct workflow **below = workflow_below(w, &n);

    draw_one(w, width, out);
    for (i = 0; i < n; i++) {
        buf_addch(out, '\n');
        draw_one(below[i], width, out);
    }
    free(below);
}
