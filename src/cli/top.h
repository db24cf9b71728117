/* top.h - what goes on everywhere as people see it, in `pawl top`. All it knows comes from
 * pawl_overview, pawl_why and pawl_outline.
 *
 *   top_read.c    what was read last, and what ended per minute
 *   top_frame.c   that as a frame: queues, workers, what runs
 *   top_detail.c  one execution: why it is where it is, and its tree; the keys
 *   cmd_top.c     the loop: keys, signals, time */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "cli/view.h"

/* ---- top_read.c ---- */

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

/* ---- top_frame.c ---- */

struct top_look {
    struct style style; /* its width is that of a line; 0: any */
    int rows;           /* of the terminal; 0: any number, and nothing but the tables */
    size_t selected, first;
    const char *foot, *where; /* the last line; the database */
};
/* Adds the lines of a frame. Moves `first` so that what is selected is seen. */
void top_frame(const struct top_model *m, struct top_look *look, struct buf *out);

/* ---- top_detail.c ---- */

struct top_detail {
    json_t *why;
    struct view tree;
};
MUST_USE int detail_read(struct top_detail *d, struct pawl *p, int64_t id, struct pawl_error *err);
/* Adds its lines from `*first` on, as many as fit; moves *first back if it is behind the end. */
void detail_frame(const struct top_detail *d, const struct top_look *look, size_t *first,
                  struct buf *out);
void help_frame(const struct top_look *look, struct buf *out);
void detail_release(struct top_detail *d);

#endif
