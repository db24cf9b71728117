/* verify_internal.h - what the files of verify share: counting breaches, and checkpoints.
 *
 * A checkpoint is a text file with a line for each execution, in the order of (root, id), so that
 * the executions of a tree stand together and two walks can be merged without keeping either in
 * memory:
 *
 *     pawl-checkpoint 1 DATABASE EXECUTIONS EVENTS
 *     ROOT ID STATUS SEQ ATTEMPTS EPOCH HISTORY ENDING
 *     …
 *     end LINES
 */
#ifndef STORE_VERIFY_VERIFY_INTERNAL_H
#define STORE_VERIFY_VERIFY_INTERNAL_H

#include "store/verify/verify.h"

/* A breach that is told later, in its place. */
struct deferred_breach {
    const char *code;
    int64_t execution;
    char *detail; /* its own */
};

struct verify {
    struct db *db;
    const struct verify_options *options;
    struct verify_result *result;
    size_t max;         /* breaches reported of each invariant */
    size_t *found;      /* of each invariant, so far */
    char database[128]; /* its id */
    VEC(struct deferred_breach) deferred;
    size_t *ndeferred; /* of each invariant, so far */
};

/* Counts a breach and reports it, unless enough of its kind were. */
void verify_report_breach(struct verify *v, const char *code, int64_t execution, const char *fmt,
                          ...) PRINTF_LIKE(4, 5);
/* Keeps it until its invariant has its turn, unless enough of its kind were. */
void verify_defer_breach(struct verify *v, const char *code, int64_t execution, const char *fmt,
                         ...) PRINTF_LIKE(4, 5);

/* ---- workflows.c: workflows beside their definitions ---- */

/* Notes what is wrong with them. */
MUST_USE int verify_workflows(struct verify *v, struct err *err);

/* ---- one execution in a checkpoint ---- */

#define MARK_HASH_TEXT 17 /* 64 bits in hexadecimal and a NUL */

struct mark {
    int64_t root, id;
    int status, seq, attempts, epoch;
    char history[MARK_HASH_TEXT]; /* of its events up to seq */
    char ending[MARK_HASH_TEXT];  /* of what may not change any more once it is terminal; "-" before
                                   */
};

/* ---- checkpoint.c: the file ---- */

struct checkpoint_writer;
/* Begins a file beside `path`; nothing is at `path` before checkpoint_finish. */
MUST_USE int checkpoint_create(const char *path, const struct verify *v,
                               struct checkpoint_writer **out, struct err *err);
MUST_USE int checkpoint_add(struct checkpoint_writer *w, const struct mark *m, struct err *err);
MUST_USE int checkpoint_finish(struct checkpoint_writer *w, struct err *err);
void checkpoint_abandon(struct checkpoint_writer **w); /* removes what was not finished */

struct checkpoint_reader;
/* E_INVALID for what is no checkpoint, or one of another database. */
MUST_USE int checkpoint_open(const char *path, const struct verify *v,
                             struct checkpoint_reader **out, struct err *err);
/* The next execution; *more is false at the end, which has been checked to be the whole file's. */
MUST_USE int checkpoint_next(struct checkpoint_reader *r, struct mark *m, bool *more,
                             struct err *err);
void checkpoint_close(struct checkpoint_reader **r);

/* ---- history.c: the history of everything ---- */

/* Walks all executions with their events, in the order of a checkpoint. Each is added to `save` and
 * compared with `since`; either may be NULL. */
MUST_USE int verify_walk(struct verify *v, struct checkpoint_writer *save,
                         struct checkpoint_reader *since, struct err *err);

#endif
