/* frame.c - a frame of pawl top: a summary line, then queues, workers and running jobs, as many
 * as fit. Running jobs get the rest of the screen, and can be scrolled. */
#include "cli/top/top.h"

#include <string.h>

/* A table and how it is fitted to the screen. */
struct part {
    struct table table;
    struct table_fit fit;
};

static void part_release(struct part *p)
{
    table_release(&p->table);
    table_fit_release(&p->fit);
}

static size_t part_rows(const struct part *p)
{
    return table_rows(&p->table) - 1;
}

/* ---- lines ---- */

static void end_line(struct buf *out, struct line *l)
{
    buf_addf(out, "%s\n", buf_cstr(&l->text));
}

static void empty_line(struct buf *out)
{
    buf_addch(out, '\n');
}

/* Adds a row; the selected row has a mark and, on a terminal with colors, other colors. */
static void add_row(const struct top_view_state *k, const struct part *p, size_t row, bool selected,
                    struct line *l, struct buf *out)
{
    struct style plain = k->style;

    if (!row || selected)
        plain.color = false;
    line_begin(l, &plain);
    line_add(l, TINT_PLAIN, selected ? "> " : "  ");
    table_row(&p->table, &p->fit, row, l);
    if (k->style.color && (!row || selected))
        buf_addf(out, "%s%s\033[0m\n", row ? "\033[7m" : "\033[1m", buf_cstr(&l->text));
    else
        end_line(out, l);
}

static void add_more(const struct top_view_state *k, size_t n, struct line *l, struct buf *out)
{
    line_begin(l, &k->style);
    line_addf(l, TINT_FAINT, "  %s %zu more", k->style.utf8 ? "…" : "...", n);
    end_line(out, l);
}

/* Adds the heading and at most `room` lines. */
static void add_part(const struct top_view_state *k, const struct part *p, size_t room,
                     struct line *l, struct buf *out)
{
    size_t n = part_rows(p), shown = n > room ? room - 1 : n, i;

    for (i = 0; i <= shown; i++)
        add_row(k, p, i, false, l, out);
    if (shown < n)
        add_more(k, n - shown, l, out);
    empty_line(out);
}

/* ---- the summary line ---- */

static int64_t sum(const json_t *list, const char *key)
{
    int64_t n = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        n += field_int(json_array_get(list, i), key);
    return n;
}

static void add_title(const struct top_model *m, const struct top_view_state *k, struct line *l,
                      struct buf *out)
{
    const json_t *queues = json_object_get(m->o, "queues");
    const json_t *workers = json_object_get(m->o, "workers");
    const char *at = field(m->o, "at");
    size_t i, n = json_array_size(workers), silent = 0;

    for (i = 0; i < n; i++)
        silent += !strcmp(field(json_array_get(workers, i), "state"), "silent");
    line_begin(l, &k->style);
    line_addf(l, TINT_PLAIN, "%.8s  %lld ready  %lld running", text_time_of_day(at),
              (long long)sum(queues, "ready"), (long long)sum(queues, "running"));
    line_addf(l, TINT_PLAIN, "  %zu worker%s", n - silent, n - silent == 1 ? "" : "s");
    if (silent)
        line_addf(l, TINT_BAD, "  %zu silent", silent);
    line_addf(l, TINT_FAINT, "  %lld held  %s", (long long)sum(queues, "held"), k->where);
    end_line(out, l);
    empty_line(out);
}

/* ---- running jobs ---- */

static void add_running(const struct top_model *m, struct top_view_state *k, const struct part *p,
                        size_t room, struct line *l, struct buf *out)
{
    size_t n = part_rows(p), i;
    int64_t all = sum(json_object_get(m->o, "queues"), "running");

    if (k->first > k->selected)
        k->first = k->selected;
    if (k->selected >= k->first + room)
        k->first = k->selected + 1 - room;
    if (k->first + room > n)
        k->first = n > room ? n - room : 0;
    add_row(k, p, 0, false, l, out);
    for (i = k->first; i < n && i < k->first + room; i++)
        add_row(k, p, i + 1, k->rows && i == k->selected, l, out);
    if (!k->rows && all > (int64_t)n)
        add_more(k, (size_t)(all - (int64_t)n), l, out);
}

/* ---- the frame ---- */

#define FIXED 8 /* lines: title, three headings, three empty ones, footer */
#define TINY  5 /* a screen of at most this many lines has no title */

struct rooms {
    size_t queues, workers, running;
    bool only_running; /* the screen has no room for the other tables */
};

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static struct rooms divide_rows(const struct top_view_state *k, size_t queues, size_t workers,
                                size_t running)
{
    size_t room = k->rows > FIXED ? (size_t)k->rows - FIXED : 0;
    struct rooms r = {.queues = queues, .workers = workers, .running = running + 1};

    if (!k->rows)
        return r;
    if (room < 6)
        return (struct rooms){.running = (size_t)(k->rows > TINY ? k->rows - 4
                                                  : k->rows > 2  ? k->rows - 2
                                                                 : 1),
                              .only_running = true};
    r.running = at_most(running, room / 2);
    r.workers = at_most(workers, (room - r.running) / 2);
    r.queues = at_most(queues, room - r.running - r.workers);
    r.workers = at_most(workers, room - r.running - r.queues);
    r.running = room - r.queues - r.workers;
    return r;
}

/* Pads with empty lines up to the last one, which is the footer. */
static void add_foot(const struct top_view_state *k, struct line *l, struct buf *out)
{
    const char *at;
    int lines = 0;

    for (at = buf_cstr(out); (at = strchr(at, '\n')); at++)
        lines++;
    for (; lines < k->rows - 1; lines++)
        empty_line(out);
    line_begin(l, &k->style);
    line_add(l, TINT_FAINT, k->foot);
    buf_addstr(out, buf_cstr(&l->text));
}

void top_frame(const struct top_model *m, struct top_view_state *k, struct buf *out)
{
    AUTO(part_release) struct part queues = {0}, workers = {0}, running = {0};
    struct style inner = k->style;
    AUTO(line_release) struct line l = {0};
    struct rooms r;

    inner.width = inner.width ? inner.width - 2 : 0; /* leaves space for the mark */
    top_queues(m, &queues.table);
    table_fit(&queues.table, &inner, &queues.fit);
    top_workers(m, &workers.table);
    table_fit(&workers.table, &inner, &workers.fit);
    top_running(m, &running.table);
    table_fit(&running.table, &inner, &running.fit);
    r = divide_rows(k, part_rows(&queues), part_rows(&workers), part_rows(&running));
    if (!k->rows || k->rows > TINY)
        add_title(m, k, &l, out);
    if (!r.only_running) {
        add_part(k, &queues, r.queues, &l, out);
        add_part(k, &workers, r.workers, &l, out);
    }
    add_running(m, k, &running, r.running, &l, out);
    if (k->rows)
        add_foot(k, &l, out);
}
