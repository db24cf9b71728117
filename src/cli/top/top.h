/* top.h - the parts of `pawl top`. All data comes from pawl_overview, pawl_why and pawl_outline.
 *
 *   read.c         the last overview, and rates per minute
 *   tables.c       tables of queues, workers and running jobs
 *   frame.c        a frame made of these tables
 *   detail.c       one execution: why it has its status, and its tree; the help page
 *   state.c        which page and row is shown, and how keys change that
 *   ../cmd_top.c   the loop: signals, time, the screen */
#ifndef CLI_TOP_TOP_H
#define CLI_TOP_TOP_H

#include "cli/list.h"

/* ---- read.c ---- */

struct top_model {
    json_t *o; /* the last overview */
    VEC(struct top_sample {
        int64_t at;
        json_t *ended;
    })
    samples; /* samples of the last minute, oldest first */
};
MUST_USE int top_read(struct top_model *m, struct pawl *p, const char *part,
                      struct pawl_error *err);
/* Returns how many attempts in a queue ended per minute; key is "done" or "failed". < 0 if not
 * known yet. */
int64_t top_rate(const struct top_model *m, const char *queue, const char *key);
size_t top_count(const struct top_model *m); /* number of running jobs that were read */
int64_t top_id(const struct top_model *m, size_t i);
void top_release(struct top_model *m);

/* ---- tables.c ---- */

void top_queues(const struct top_model *m, struct table *t);
void top_workers(const struct top_model *m, struct table *t);
void top_running(const struct top_model *m, struct table *t);

/* ---- frame.c ---- */

struct top_view_state {
    struct style style; /* with the width of a line; 0 for no limit */
    int rows;           /* rows of the terminal; 0 for no limit, and only the tables are printed */
    size_t selected, first;
    const char *foot, *where; /* the last line; the database */
};
/* Appends the lines of a frame. Adjusts `first` so that the selected row is visible. */
void top_frame(const struct top_model *m, struct top_view_state *view, struct buf *out);

/* ---- detail.c ---- */

struct top_detail {
    json_t *why;
    struct view tree;
};
MUST_USE int detail_read(struct top_detail *d, struct pawl *p, int64_t id, struct pawl_error *err);
/* Appends the page's lines from *first on, as many as fit; reduces *first if it is beyond the
 * end. */
void detail_frame(const struct top_detail *d, const struct top_view_state *view, size_t *first,
                  struct buf *out);
void help_frame(const struct top_view_state *view, struct buf *out);
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
    struct buf part; /* the filter: text that a name or queue must contain */
    size_t selected, first, scroll;
    int64_t id;  /* id of the selected job, so that the selection follows it in the list */
    char *note;  /* error of the last read; NULL if none */
    int64_t due; /* when to refresh, on the boot clock */
};
/* Reads the current page, and sets `due`. */
void top_refresh(struct top *t);
void top_find_selected(struct top *t);
bool top_key(struct top *t, int key); /* false if the key quits */

#endif
