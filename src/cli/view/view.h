/* view.h - trees of executions as people see them, in `pawl tree` and live in `pawl run`. All they
 * know comes from pawl_outline, and of critical paths from pawl_critical.
 *
 *   style.c  what a terminal can show: symbols, colours, columns; lines that are cut to fit
 *   tree.c   an outline as nodes, with their place in the tree
 *   line.c   a node as a line
 *   log_tail.c   the last lines of an attempt's output
 *   live.c   a tree that is drawn again and again
 *   critical_path.c  where the time of one went
 *   summary.c    what is said about a run that did not end well */
#ifndef CLI_VIEW_VIEW_H
#define CLI_VIEW_VIEW_H

#include "base/mem.h"
#include "cli/cli.h"

/* ---- style.c ---- */

struct style {
    bool utf8, color;
    int width; /* columns; 0: any number */
    bool bars; /* fan-outs get one */
};
/* What suits this stream: NO_COLOR, the locale, pipes and the width of the terminal decide. */
struct style style_of(FILE *to);

enum tint { TINT_PLAIN, TINT_GOOD, TINT_BAD, TINT_BUSY, TINT_FAINT };

/* A line in the making. What does not fit is cut, and an ellipsis says so. */
struct line {
    const struct style *style;
    struct buf text;
    int cols;      /* as shown */
    size_t before; /* bytes up to the last column, where the ellipsis would stand */
    bool cut;
};
void line_begin(struct line *l, const struct style *style);
/* Adds text without control characters; what is no text of this locale becomes a "?". */
void line_add(struct line *l, enum tint tint, const char *text);
void line_addf(struct line *l, enum tint tint, const char *fmt, ...) PRINTF_LIKE(3, 4);
void line_release(struct line *l);

/* Symbol and tint of a status. */
const char *status_symbol(const char *status, const struct style *style);
enum tint status_tint(const char *status);

/* ---- tree.c ---- */

struct view_node {
    json_t *o; /* a line of the outline; NULL: `note` stands for more of a fan-out's items */
    char *note;
    int depth;   /* below the top */
    bool last;   /* of its siblings */
    bool blames; /* it failed because of another that is shown below it */
};

struct view {
    VEC(struct view_node) nodes;
    int64_t now; /* the database's time */
};

/* As it is, or (at is not NULL) was. */
MUST_USE int view_read(struct pawl *p, int64_t id, const struct pawl_moment *at, struct view *out,
                       struct pawl_error *err);
void view_release(struct view *v);

/* ---- line.c ---- */

/* Ancestors whose line goes on below them, by depth; for view_line. */
struct view_rails {
    VEC(bool) open;
};
void rails_enter(struct view_rails *r, const struct view_node *n); /* each node in order */
void rails_release(struct view_rails *r);

/* The node that was entered last, as a line. */
void view_line(const struct view *v, const struct view_node *n, const struct view_rails *r,
               struct line *out);
/* The same while it runs: shorter, and with the last line that it wrote. */
void view_live_line(const struct view *v, const struct view_node *n, const struct view_rails *r,
                    const char *last_words, struct line *out);

/* ---- log_tail.c ---- */

#define TAIL_LINES 20

struct tail {
    int64_t execution;
    int attempt; /* 0: the last one */
    int64_t at;  /* how far it was read */
    char *lines[TAIL_LINES];
    size_t n;        /* lines so far */
    struct buf line; /* one that has not ended */
    int escape;      /* how far inside of a sequence it is */
    bool returned;   /* the last byte was a carriage return */
};
MUST_USE int tail_refresh(struct pawl *p, struct tail *t, struct pawl_error *err); /* reads on */
void tail_take(struct tail *t, const char *bytes, size_t len);                     /* reads these */
size_t tail_count(const struct tail *t);
const char *tail_line(const struct tail *t, size_t i); /* the oldest is 0 */
const char *tail_last(const struct tail *t);           /* that is not empty; "": none */
void tail_release(struct tail *t);

/* ---- live.c ---- */

struct live;
struct live *live_open(struct pawl *p, int64_t id, FILE *to);
MUST_USE int live_read(struct live *s, struct pawl_error *err); /* how things are now */
void live_draw(struct live *s);                                 /* what was read last */
void live_note(struct live *s, const char *sentence); /* below it, from now on; NULL: none */
void live_end(struct live *s);                        /* the last frame, whole */
const struct view *live_view(const struct live *s);
void live_close(struct live *s); /* NULL is fine */

/* ---- critical_path.c ---- */

/* Prints it; at NULL: as it is now. */
MUST_USE int view_critical(struct pawl *p, int64_t id, const struct pawl_moment *at,
                           struct pawl_error *err);

/* ---- summary.c ---- */

/* What failed, each with the end of its output. */
MUST_USE int view_open_failed(struct pawl *p, const struct view *v, const char *file, FILE *to,
                              struct pawl_error *err);

#endif
