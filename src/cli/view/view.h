/* view.h - trees of executions for people, in `pawl tree` and live in `pawl run`. All data comes
 * from pawl_outline and, for critical paths, from pawl_critical.
 *
 *   style.c          what a terminal can show: symbols, colors, columns; lines cut to fit
 *   tree.c           an outline as nodes, with their positions in the tree
 *   line.c           a node as a line
 *   log_tail.c       the last lines of an attempt's output
 *   live.c           a tree that is redrawn
 *   critical_path.c  where the time of a run went
 *   summary.c        the summary of a run that did not succeed */
#ifndef CLI_VIEW_VIEW_H
#define CLI_VIEW_VIEW_H

#include "base/mem.h"
#include "cli/cli.h"

/* ---- style.c ---- */

struct style {
    bool utf8, color;
    int width; /* in columns; 0 for no limit */
    bool bars; /* draw progress bars for fan-outs */
};
/* Determines the style for a stream from NO_COLOR, the locale, whether it is a terminal, and its
 * width. */
struct style style_of(FILE *to);

enum tint { TINT_PLAIN, TINT_GOOD, TINT_BAD, TINT_BUSY, TINT_FAINT };

/* A line under construction. Text that does not fit is cut, and an ellipsis added. */
struct line {
    const struct style *style;
    struct buf text;
    int cols;      /* columns used */
    size_t before; /* bytes before the last column, where the ellipsis would go */
    bool cut;
};
void line_begin(struct line *l, const struct style *style);
/* Adds text without control characters; bytes that are invalid in the locale become "?". */
void line_add(struct line *l, enum tint tint, const char *text);
void line_addf(struct line *l, enum tint tint, const char *fmt, ...) PRINTF_LIKE(3, 4);
void line_print(struct line *l, FILE *to); /* prints the line, and begins the next */
void line_release(struct line *l);

/* The symbol and tint of a status. */
const char *status_symbol(const char *status, const struct style *style);
enum tint status_tint(const char *status);

/* ---- tree.c ---- */

struct view_node {
    json_t *o; /* a line of the outline; NULL if `note` stands for further items of a fan-out */
    char *note;
    int depth;   /* relative to the root of the view */
    bool last;   /* the last of its siblings */
    bool blames; /* the node failed because of a descendant that is shown */
};

struct view {
    VEC(struct view_node) nodes;
    int64_t now; /* the database's time */
};

/* Reads the tree as it is now or, if `at` is not NULL, as of that moment. */
MUST_USE int view_read(struct pawl *p, int64_t id, const struct pawl_moment *at, struct view *out,
                       struct pawl_error *err);
void view_release(struct view *v);

/* ---- line.c ---- */

/* For each depth, whether the ancestor there has further children below, so that a line connects
 * them. */
struct view_rails {
    VEC(bool) open;
};
void rails_enter(struct view_rails *r,
                 const struct view_node *n); /* call it for each node in order */
void rails_release(struct view_rails *r);

/* Appends all nodes, each as a line that ends with a newline. */
void view_lines(const struct view *v, const struct style *style, struct buf *out);
/* Formats the node that was entered last, for a running tree: shorter, with the last line of its
 * output. */
void view_live_line(const struct view *v, const struct view_node *n, const struct view_rails *r,
                    const char *last_words, struct line *out);

/* ---- log_tail.c ---- */

#define TAIL_LINES 20

struct tail {
    int64_t execution;
    int attempt; /* 0 for the last one */
    int64_t at;  /* offset up to which the output was read */
    char *lines[TAIL_LINES];
    size_t n;        /* number of complete lines so far */
    struct buf line; /* the incomplete line */
    int escape;      /* position inside an escape sequence; 0 if outside */
    bool returned;   /* the last byte was a carriage return */
};
MUST_USE int tail_refresh(struct pawl *p, struct tail *t,
                          struct pawl_error *err);            /* reads new output of the attempt */
void tail_add(struct tail *t, const char *bytes, size_t len); /* adds these bytes to the tail */
size_t tail_count(const struct tail *t);
const char *tail_line(const struct tail *t, size_t i); /* 0 is the oldest */
const char *tail_last(const struct tail *t); /* the last line that is not empty; "" if none */
void tail_release(struct tail *t);

/* ---- live.c ---- */

struct live;
struct live *live_open(struct pawl *p, int64_t id, FILE *to);
MUST_USE int live_read(struct live *s, struct pawl_error *err); /* reads the current state */
void live_draw(struct live *s); /* draws the state that was read last */
void live_note(struct live *s,
               const char *sentence); /* shown below the tree until replaced; NULL for none */
void live_end(struct live *s);        /* draws the last frame, with all nodes */
const struct view *live_view(const struct live *s);
void live_close(struct live *s); /* NULL is ignored */

/* ---- critical_path.c ---- */

/* Prints the critical path; as of now if `at` is NULL. */
MUST_USE int view_critical(struct pawl *p, int64_t id, const struct pawl_moment *at,
                           struct pawl_error *err);

/* ---- summary.c ---- */

/* Prints the failed tasks, each with the end of its output. */
MUST_USE int view_print_failed(struct pawl *p, const struct view *v, const char *file, FILE *to,
                               struct pawl_error *err);

#endif
