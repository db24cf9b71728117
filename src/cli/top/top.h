/* top.h - what goes on everywhere as people see it, in `pawl top`. All it knows comes from
 * pawl_overview, pawl_why and pawl_outline.
 *
 *   read.c    what was read last, and what ended per minute
 *   tables.c  that as tables: queues, workers, what runs
 *   frame.c   these as a frame
 *   detail.c  one execution: why it is where it is, and its tree; the keys
 *   state.c   which of it is looked at, and what the keys change about that
 *   cmd_top.c     the loop: signals, time, the screen */
#ifndef CLI_TOP_TOP_H
#define CLI_TOP_TOP_H

#include "cli/table.h"

/* ---- read.c ---- */

struct top_model {
    json_t *o; /* an overview */
    VEC(struct top_sample {
        int64_t at;
        json_t *ended;
    })
    samples; /* of the last minute, the oldest first */
};
MUST_USE int top_read(struct top_model *m, struct pawl *p, const char *part,
                      struct pawl_error *err);
/* Attempts of a queue that ended per minute, "done" or "failed"; < 0: it is too soon to say. */
int64_t top_rate(const struct top_model *m, const char *queue, const char *key);
size_t top_count(const struct top_model *m); /* of what runs, and was read */
int64_t top_id(const struct top_model *m, size_t i);
void top_release(struct top_model *m);

/* ---- tables.c ---- */

void top_queues(const struct top_model *m, struct table *t);
void top_workers(const struct top_model *m, struct table *t);
void top_running(const struct top_model *m, struct table *t);

/* ---- frame.c ---- */

struct top_view_state {
    struct style style; /* its width is that of a line; 0: any */
    int rows;           /* of the terminal; 0: any number, and nothing but the tables */
    size_t selected, first;
    const char *foot, *where; /* the last line; the database */
};
/* Adds the lines of a frame. Moves `first` so that what is selected is seen. */
void top_frame(const struct top_model *m, struct top_view_state *look, struct buf *out);

/* ---- detail.c ---- */

struct top_detail {
    json_t *why;
    struct view tree;
};
MUST_USE int detail_read(struct top_detail *d, struct pawl *p, int64_t id, struct pawl_error *err);
/* Adds its lines from `*first` on, as many as fit; moves *first back if it is behind the end. */
void detail_frame(const struct top_detail *d, const struct top_view_state *look, size_t *first,
                  struct buf *out);
void help_frame(const struct top_view_state *look, struct buf *out);
void detail_release(struct top_detail *d);

/* ---- state.c ---- */

enum page { PAGE_LIST, PAGE_DETAIL, PAGE_HELP };

struct top {
    int64_t interval;
    const char *filter;
    bool once;

    struct pawl *p;
    struct top_model model;
    struct top_detail detail;
    enum page page;
    bool paused, typing;
    struct buf part; /* what names must have in them */
    size_t selected, first, scroll;
    int64_t id;  /* of what is selected, so that it stays so when others come and go */
    char *note;  /* what went wrong when it was read last */
    int64_t due; /* boot clock */
};
/* Reads what is looked at, and says when to do it next. */
void top_refresh(struct top *t);
void top_find_selected(struct top *t);
bool top_key(struct top *t, int key); /* false: that was the last one */

#endif
