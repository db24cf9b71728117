/* svg.c - writes a picture as a standalone SVG, without scripts or references to other files, with
 * colours for light and dark screens. Each status has a colour and a word. The only text that comes
 * from a workflow is written by add_text, which escapes it. */
#include "base/text.h"
#include "parse/render/picture.h"

#include <string.h>

#define HEAD       44 /* height of the heading */
#define MARGIN     20
#define ARROW      8
#define LEAST_WIDE 320 /* least width of a picture, for the heading */

/* Looks. Columns: name, colours of border and text and of the background, first for light screens,
 * then for dark ones. */
#define LOOKS(X)                                               \
    X("plain", "#57606a", "#ffffff", "#9198a1", "#1c2128")     \
    X("pending", "#59636e", "#f6f8fa", "#9198a1", "#1c2128")   \
    X("ready", "#6639ba", "#f5f0ff", "#b392f0", "#241d3a")     \
    X("running", "#0550ae", "#e7f2ff", "#6cb6ff", "#122640")   \
    X("succeeded", "#116329", "#e9f7ed", "#6bc46d", "#12291a") \
    X("failed", "#b3141f", "#ffeceb", "#ff938a", "#3a1517")    \
    X("allowed", "#7d4e00", "#fff6dc", "#daaa3f", "#2e2410")   \
    X("cancelled", "#953800", "#fff1e5", "#f69d50", "#331e10") \
    X("skipped", "#59636e", "#f6f8fa", "#9198a1", "#1c2128")

/* Icons. Columns: kind of the box, drawing of 14 by 14 px. */
#define MARKS(X)                                                                                \
    X("command", "M1 3l4 4-4 4M7 11h6")                                                         \
    X("function", "M5 1H4Q2.5 1 2.5 3v2L1 7l1.5 2v2q0 2 1.5 2h1M9 1h1q1.5 0 1.5 2v2L13 7l-1.5 " \
                  "2v2q0 2-1.5 2H9")                                                            \
    X("workflow", "M4 1h6v4H4zM1 9h5v4H1zM8 9h5v4H8zM7 5v2M3.5 9V7h7v2")                        \
    X("executor", "M7 1l5.2 3v6L7 13l-5.2-3V4zM7 5a2 2 0 1 0 .01 0")                            \
    X("group", "M1 3h12M1 7h12M1 11h12")

/* ---- text ---- */

/* Appends text, escaping all characters that have a meaning in XML. Characters that XML does not
 * allow, and hidden ones, become U+FFFD; a line break becomes a space. */
static void add_text(struct buf *out, const char *s)
{
    size_t n;

    for (; *s; s += n) {
        n = text_step(s, strnlen(s, 4));
        if (*s == '<')
            buf_addstr(out, "&lt;");
        else if (*s == '>')
            buf_addstr(out, "&gt;");
        else if (*s == '&')
            buf_addstr(out, "&amp;");
        else if (*s == '"')
            buf_addstr(out, "&quot;");
        else if (*s == '\'')
            buf_addstr(out, "&#39;");
        else if (*s == '\n' || *s == '\t')
            buf_addch(out, ' ');
        else if (!n || text_is_hidden(s, n) || !strncmp(s, "\xEF\xBF\xBE", 3) ||
                 !strncmp(s, "\xEF\xBF\xBF", 3))
            buf_addstr(out, "\xEF\xBF\xBD");
        else
            buf_add(out, s, n);
        n += !n;
    }
}

static void add_line(struct buf *out, const char *class, int x, int y, const char *text)
{
    buf_addf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    add_text(out, text);
    buf_addstr(out, "</text>\n");
}

/* ---- style ---- */

static void add_colours(struct buf *out, bool dark)
{
    static const char *const looks[][5] = {
#define X(name, line, fill, dark_line, dark_fill) {name, line, fill, dark_line, dark_fill},
        LOOKS(X)
#undef X
    };

    buf_addf(out,
             ".pawl .paper{fill:%s}.pawl text{fill:%s}.pawl .note{fill:%s}"
             ".pawl .edge{stroke:%s}.pawl .arrow{fill:%s}.pawl .frame{stroke:%s}\n",
             dark ? "#0d1117" : "#ffffff", dark ? "#e6edf3" : "#1f2328",
             dark ? "#a8b1bb" : "#59636e", dark ? "#6e7681" : "#8c959f",
             dark ? "#8b949e" : "#6e7781", dark ? "#484f58" : "#afb8c1");
    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
        const char *const *l = looks[i];
        const char *line = l[dark ? 3 : 1];

        buf_addf(out,
                 ".pawl .%1$s rect{stroke:%2$s;fill:%3$s}.pawl .%1$s .bar{fill:%2$s}"
                 ".pawl .%1$s .mark{stroke:%2$s}.pawl .%1$s .status{fill:%2$s}\n",
                 l[0], line, l[dark ? 4 : 2]);
    }
}

static void add_style(struct buf *out)
{
    buf_addf(out,
             "<style>\n"
             ".pawl text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\","
             "\"Helvetica Neue\",Arial,\"DejaVu Sans\",sans-serif;font-size:%dpx}\n"
             ".pawl .head{font-size:16px;font-weight:600}"
             ".pawl .name{font-size:%dpx;font-weight:600}.pawl .status{font-weight:600}\n"
             ".pawl .box rect{stroke-width:1.3}.pawl .box .bar{stroke:none}"
             ".pawl .condition rect{stroke-dasharray:5 3}\n"
             ".pawl .mark{fill:none;stroke-width:1.4;stroke-linejoin:round;stroke-linecap:round}\n"
             ".pawl .edge{fill:none;stroke-width:1.4}.pawl .maybe{stroke-dasharray:5 4}"
             ".pawl .frame{fill:none;stroke-dasharray:3 4}\n",
             PICTURE_TEXT_SIZE, PICTURE_NAME_SIZE);
    add_colours(out, false);
    buf_addstr(out, "@media (prefers-color-scheme:dark){\n");
    add_colours(out, true);
    buf_addstr(out, "}\n</style>\n");
}

/* ---- description, for people who can't see the picture ---- */

static void add_needs(struct buf *out, const struct picture *p, uint32_t box, uint32_t *edge)
{
    const char *between = ", needs ";

    for (; *edge < p->nedges && p->edges[*edge].to == box; ++*edge) {
        buf_addstr(out, between);
        add_text(out, p->boxes[p->edges[*edge].from].label);
        between = ", ";
    }
}

static void add_description(struct buf *out, const struct picture *p)
{
    uint32_t edge = 0;

    buf_addstr(out, "<desc id=\"pawl-desc\">");
    for (uint32_t i = 0; i < p->nboxes; i++) {
        const struct picture_box *b = &p->boxes[i];

        buf_addstr(out, i ? "; " : "");
        add_text(out, b->label);
        if (b->status)
            buf_addf(out, ": %s", b->status);
        if (b->progress)
            buf_addf(out, ", %s", b->progress);
        add_needs(out, p, i, &edge);
        buf_addstr(out, b->hook ? ", after all others" : "");
    }
    buf_addstr(out, ".</desc>\n");
}

/* Appends the text of the heading, such as "diamond: 4 tasks, failed". */
static void add_heading_text(struct buf *out, const struct picture *p)
{
    const struct workflow *w = p->workflow;

    buf_addf(out, "%s: %u task%s%s%s", w->name, w->ntasks, w->ntasks == 1 ? "" : "s",
             p->status ? ", " : "", p->status ? status_text(p->status) : "");
}

/* ---- edges ---- */

static void add_edge(struct buf *out, const struct picture *p, const struct layout_edge *e)
{
    const struct layout_point *at = e->points, *last = &at[e->npoints - 1];
    int from = at->y;

    buf_addf(out, "<path class=\"edge%s\" d=\"M%d %d",
             p->boxes[e->to].task->condition ? " maybe" : "", at->x, at->y);
    for (uint32_t i = 1; i < e->npoints; i++) {
        /* The line ends inside the arrow, not at its tip. */
        int to = i + 2 >= e->npoints && at[i].y > last->y - ARROW ? last->y - ARROW : at[i].y;
        int half = (from + to) / 2;

        if (at[i - 1].x != at[i].x)
            buf_addf(out, "C%d %d %d %d %d %d", at[i - 1].x, half, at[i].x, half, at[i].x, to);
        else if (to != from)
            buf_addf(out, "V%d", to);
        from = to;
    }
    buf_addf(out, "\"/><path class=\"arrow\" d=\"M%d %dl-4 -%dh8z\"/>\n", last->x, last->y,
             ARROW + 1);
}

/* ---- boxes ---- */

static const char *look_of(const struct picture_box *b)
{
    int status = b->state.status;

    if (!status)
        return "plain";
    if (status == S_FAILED || status == S_TIMED_OUT)
        return b->task->allow_failure && b->ntasks == 1 ? "allowed" : "failed";
    return status_text(status);
}

static const char *mark_of(const char *kind)
{
    static const char *const marks[][2] = {
#define X(kind, path) {kind, path},
        MARKS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (!strcmp(marks[i][0], kind))
            return marks[i][1];
    return "";
}

/* Adds the title of a box, which browsers show while the pointer is on the box. */
static void add_title(struct buf *out, const struct picture_box *b)
{
    buf_addstr(out, "<title>");
    add_text(out, b->task->name);
    if (b->ntasks > 1)
        buf_addf(out, " and %u more tasks", b->ntasks - 1);
    if (b->status)
        buf_addf(out, ": %s", b->status);
    if (b->task->description && b->ntasks == 1) {
        buf_addstr(out, ". ");
        add_text(out, b->task->description);
    }
    buf_addstr(out, "</title>\n");
}

static void add_rect(struct buf *out, int x, int y, int width, int height)
{
    buf_addf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>", x, y, width,
             height);
}

static void add_frame(struct buf *out, const struct picture_box *b)
{
    int stack = b->stacked ? PICTURE_STACK : 0, width = b->width - stack,
        height = b->height - stack;

    for (; stack > 0; stack -= PICTURE_STACK / 2)
        add_rect(out, b->x + stack, b->y + stack, width, height);
    add_rect(out, b->x, b->y, width, height);
    if (b->task->nested && b->ntasks == 1) /* a nested workflow has a second frame in its frame */
        add_rect(out, b->x + 3, b->y + 3, width - 6, height - 6);
    if (b->state.status)
        buf_addf(out, "<path class=\"bar\" d=\"M%d %dh-1a5 5 0 0 0 -5 5v%da5 5 0 0 0 5 5h1z\"/>",
                 b->x + 7, b->y + 1, height - 12);
    buf_addch(out, '\n');
}

static void add_box(struct buf *out, const struct picture_box *b)
{
    int x = b->x + PICTURE_PADDING, y = b->y + PICTURE_PADDING + PICTURE_NAME_SIZE - 1;

    buf_addf(out, "<g class=\"box %s%s\">", look_of(b), b->task->condition ? " condition" : "");
    add_title(out, b);
    add_frame(out, b);
    buf_addf(out, "<path class=\"mark\" transform=\"translate(%d %d)\" d=\"%s\"/>\n", x, y - 12,
             mark_of(b->kind));
    add_line(out, "name", x + PICTURE_ICON, y, b->label);
    y += PICTURE_NAME_LINE - 1;
    if (b->status) {
        add_line(out, "status", x, y, b->status);
        y += PICTURE_TEXT_LINE;
    }
    if (b->progress) {
        add_line(out, "progress", x, y, b->progress);
        y += PICTURE_TEXT_LINE;
    }
    for (uint32_t i = 0; i < b->nnotes; i++, y += PICTURE_TEXT_LINE)
        add_line(out, "note", x, y, b->notes[i]);
    buf_addstr(out, "</g>\n");
}

/* ---- the whole ---- */

static void write_picture(const struct picture *p, struct buf *out)
{
    int width = p->width > LEAST_WIDE ? p->width : LEAST_WIDE, head = HEAD + (p->folded ? 18 : 0);

    buf_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"pawl\" width=\"%1$d\" height=\"%2$d\" "
        "viewBox=\"0 0 %1$d %2$d\" role=\"img\" aria-labelledby=\"pawl-title pawl-desc\">\n"
        "<title id=\"pawl-title\">",
        width, p->height + head - MARGIN / 2);
    add_heading_text(out, p);
    buf_addstr(out, "</title>\n");
    add_description(out, p);
    add_style(out);
    buf_addf(out,
             "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n<text class=\"head\" x=\"%d\" "
             "y=\"32\">",
             width, p->height + head - MARGIN / 2, MARGIN);
    add_heading_text(out, p);
    buf_addstr(out, "</text>\n");
    if (p->folded)
        add_line(out, "note", MARGIN, 52, p->folded);
    buf_addf(out, "<g transform=\"translate(0 %d)\">\n", head - MARGIN / 2);
    for (uint32_t i = 0; i < p->nedges; i++)
        add_edge(out, p, &p->edges[i]);
    if (p->after.width) {
        buf_addf(out,
                 "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n",
                 p->after.x, p->after.y, p->after.width, p->after.height);
        add_line(out, "note", p->after.x + PICTURE_PADDING, p->after.y + 16, "after all others");
    }
    for (uint32_t i = 0; i < p->nboxes; i++)
        add_box(out, &p->boxes[i]);
    buf_addstr(out, "</g>\n</svg>\n");
}

void graph_render_svg(const struct workflow *w, const struct graph_state *state, struct buf *out)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct picture p;

    picture_draw(w, state, &arena, &p);
    write_picture(&p, out);
}
