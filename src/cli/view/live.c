/* live.c - redraws a tree on a terminal: as much as fits, with running and failed tasks first.
 * Each frame overwrites the one before it and nothing else, so that text above and below stays
 * readable. */
#include "base/env.h"
#include "base/mem.h"
#include "cli/view/view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TAIL_US 500000 /* µs, minimum between two reads of a task's output */

struct live_tail {
    struct tail tail;
    int64_t read_at;
    bool seen; /* used in the frame that is being drawn */
};

struct live {
    struct pawl *p;
    int64_t id;
    FILE *to;
    struct view view;
    int64_t read_at; /* when the view was read, on the boot clock */
    char *note;

    struct style style;
    int rows;
    VEC(int) drawn; /* width of each line of the last frame, in columns */
    VEC(struct live_tail *) tails;
};

static void update_size(struct live *s)
{
    struct winsize size;
    bool known = !ioctl(fileno(s->to), TIOCGWINSZ, &size) && size.ws_col && size.ws_row;

    s->style = style_of(s->to);
    s->style.bars = true;
    s->style.width = (known ? size.ws_col : 80) - 1; /* a character in the last column would start a
                                                        new line */
    s->rows = known ? size.ws_row : 24;
}

struct live *live_open(struct pawl *p, int64_t id, FILE *to)
{
    struct live *s = mem_zalloc(sizeof(*s));

    s->p = p;
    s->id = id;
    s->to = to;
    return s;
}

/* ---- output of running tasks ---- */

static struct live_tail *tail_of(struct live *s, int64_t id, int attempt)
{
    struct live_tail *t;

    for (size_t i = 0; i < s->tails.n; i++)
        if (s->tails.at[i]->tail.execution == id && s->tails.at[i]->tail.attempt == attempt)
            return s->tails.at[i];
    t = mem_zalloc(sizeof(*t));
    t->tail = (struct tail){.execution = id, .attempt = attempt};
    *vec_add(&s->tails) = t;
    return t;
}

/* Returns the last line of a task's output; "" if it can't be read. */
static const char *last_output_line(struct live *s, const json_t *o)
{
    int attempt = (int)field_int(o, "attempt");
    struct live_tail *t;

    if (strcmp(field(o, "status"), "running") || !attempt)
        return "";
    t = tail_of(s, field_int(o, "id"), attempt);
    t->seen = true;
    if (clock_boot_us() - t->read_at >= TAIL_US) {
        if (tail_refresh(s->p, &t->tail, NULL))
            t->tail.attempt = attempt;
        t->read_at = clock_boot_us();
    }
    return tail_last(&t->tail);
}

static void forget_tails(struct live *s, bool all)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->tails.n; i++) {
        struct live_tail *t = s->tails.at[i];

        if (t->seen && !all) {
            t->seen = false;
            s->tails.at[kept++] = t;
        } else {
            tail_release(&t->tail);
            free(t);
        }
    }
    s->tails.n = kept;
}

/* ---- selection ---- */

/* Returns the rank of a node: if not all nodes fit on the screen, those with the lowest ranks are
 * shown. */
static int rank_of(const struct view_node *n)
{
    static const char *const ranks[][2] = {{"running", "failed"},
                                           {"timed_out", "cancelled"},
                                           {"ready", "ready"},
                                           {"pending", "pending"},
                                           {"succeeded", "succeeded"}};
    int i, all = (int)(sizeof(ranks) / sizeof(*ranks));

    for (i = 0; n->o && i < all; i++)
        if (!strcmp(field(n->o, "status"), ranks[i][0]) ||
            !strcmp(field(n->o, "status"), ranks[i][1]))
            return i;
    return n->o ? all : 0;
}

/* Sets `shown` for the nodes whose rank_of is at most `rank`, and for their ancestors; returns
 * their number. */
static size_t choose(const struct view *v, int rank, bool *shown)
{
    size_t n = 0;
    int above = 0; /* depth of the next ancestor that must be shown */

    for (size_t i = v->nodes.n; i > 0; i--) {
        const struct view_node *node = &v->nodes.at[i - 1];

        shown[i - 1] = node->depth <= above || rank_of(node) <= rank;
        if (node->depth <= above || (shown[i - 1] && node->depth - 1 > above))
            above = node->depth - 1;
        n += shown[i - 1];
    }
    return n;
}

static size_t choose_fitting(const struct view *v, size_t room, bool *shown)
{
    int rank = 6;
    size_t n = choose(v, rank, shown);

    while (n > room && rank > 0)
        n = choose(v, --rank, shown);
    return n;
}

/* ---- a frame ---- */

static void add_line(struct live *s, struct buf *frame, struct line *l)
{
    buf_addf(frame, "%s\033[K\n", buf_cstr(&l->text));
    *vec_add(&s->drawn) = l->cols;
}

/* Returns the number of rows that the last frame occupies now: a terminal that became narrower
 * wraps its lines. */
static int rows_drawn(const struct live *s)
{
    int rows = 0, wide = s->style.width + 1;

    for (size_t i = 0; i < s->drawn.n; i++)
        rows += s->drawn.at[i] ? (s->drawn.at[i] + wide - 1) / wide : 1;
    return rows < s->rows ? rows : s->rows - 1;
}

static void add_nodes(struct live *s, struct buf *frame, struct line *l, size_t room)
{
    const struct view *v = &s->view;
    bool *shown = mem_alloc(v->nodes.n * sizeof(*shown));
    size_t n = choose_fitting(v, room, shown), i, left = 0;
    AUTO(rails_release) struct view_rails rails = {0};

    if (n > room || n < v->nodes.n)
        room--; /* for the line that counts the nodes left out */
    for (i = 0; i < v->nodes.n; i++) {
        const struct view_node *node = &v->nodes.at[i];

        rails_enter(&rails, node);
        if (!shown[i] || !room) {
            left++;
            continue;
        }
        room--;
        line_begin(l, &s->style);
        view_live_line(v, node, &rails, last_output_line(s, node->o), l);
        add_line(s, frame, l);
    }
    if (left) {
        line_begin(l, &s->style);
        line_addf(l, TINT_FAINT, "%s %zu more", s->style.utf8 ? "…" : "...", left);
        add_line(s, frame, l);
    }
    free(shown);
}

/* ---- the note ---- */

/* Returns the length of the first line in bytes: as many words as fit. No character has more
 * columns than bytes. */
static size_t first_line(const char *note, size_t width)
{
    size_t len = strcspn(note, " "), next;

    for (; note[len]; len = next) {
        next = len + 1 + strcspn(note + len + 1, " ");
        if (next > width)
            break;
    }
    return len;
}

/* Adds the note. It uses at most half of the terminal, so that the tree remains visible. */
static size_t add_note(struct live *s, struct buf *frame, struct line *l)
{
    size_t most = s->rows > 4 ? (size_t)s->rows / 2 : 1, rows = 0, len;
    const char *at = s->note ? s->note : "";

    for (; *at && rows < most; rows++, at += len + (at[len] == ' ')) {
        char *words;

        len = rows + 1 < most ? first_line(at, (size_t)s->style.width) : strlen(at);
        words = mem_printf("%.*s", (int)len, at);
        line_begin(l, &s->style);
        line_add(l, TINT_BUSY, words);
        add_line(s, frame, l);
        free(words);
    }
    return rows;
}

static void draw(struct live *s, bool whole)
{
    AUTO_BUF frame = BUF_INIT, note = BUF_INIT;
    AUTO(line_release) struct line l = {0};
    size_t below;
    int up;

    if (!s->view.nodes.n)
        return;
    update_size(s);
    s->view.now += clock_boot_us() - s->read_at;
    s->read_at = clock_boot_us();
    if ((up = rows_drawn(s)))
        buf_addf(&frame, "\r\033[%dA", up);
    else
        buf_addstr(&frame, "\r");
    s->drawn.n = 0;
    below = 2 + add_note(s, &note, &l);
    add_nodes(s, &frame, &l,
              whole                         ? s->view.nodes.n + 1
              : (size_t)s->rows > below + 1 ? (size_t)s->rows - below
                                            : 1);
    buf_add(&frame, buf_cstr(&note), note.len);
    buf_addstr(&frame, "\033[J");
    fwrite(frame.ptr, 1, frame.len, s->to);
    fflush(s->to);
    forget_tails(s, false);
}

int live_read(struct live *s, struct pawl_error *err)
{
    struct view v = {0};

    TRY(view_read(s->p, s->id, NULL, &v, err));
    view_release(&s->view);
    s->view = v;
    s->read_at = clock_boot_us();
    return 0;
}

void live_draw(struct live *s)
{
    draw(s, false);
}

void live_note(struct live *s, const char *sentence)
{
    free(s->note);
    s->note = mem_strdup(sentence); /* NULL stays NULL */
    draw(s, false);
}

/* Draws all nodes a last time; other output may follow below. */
void live_end(struct live *s)
{
    free(s->note);
    s->note = NULL;
    draw(s, true);
    s->drawn.n = 0;
}

const struct view *live_view(const struct live *s)
{
    return &s->view;
}

void live_close(struct live *s)
{
    if (!s)
        return;
    view_release(&s->view);
    forget_tails(s, true);
    vec_release(&s->tails);
    vec_release(&s->drawn);
    free(s->note);
    free(s);
}
