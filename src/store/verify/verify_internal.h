/* verify_internal.h - reporting violations, and checkpoints; internal to this folder.
 *
 * A checkpoint is a text file with one line per execution, ordered by (root, id). The executions of
 * a tree are adjacent, and a checkpoint can be merged with a walk through the database without
 * holding either in memory:
 *
 *     pawl-checkpoint 1 DATABASE EXECUTIONS EVENTS
 *     ROOT ID STATUS SEQ ATTEMPTS EPOCH HISTORY ENDING
 *     …
 *     end LINES
 */
#ifndef STORE_VERIFY_VERIFY_INTERNAL_H
#define STORE_VERIFY_VERIFY_INTERNAL_H

#include "store/ask.h"
#include "store/verify/verify.h"

struct verify {
    struct db *db;
    const struct verify_options *options;
    struct verify_result *result;
    size_t max; /* how many violations are reported per invariant */
    /* The violations, one list per invariant, which owns their details. */
    VEC(struct violation) * found;
    char database[128]; /* id of the database */
};

/* Records a violation, unless its invariant has reached the maximum. All violations are reported at
 * the end, in the order of the invariants. */
void verify_violation(struct verify *v, const char *code, int64_t execution, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Allows ("on") or forbids ("off") the planner's full scans of tables; see verify_settings. */
MUST_USE int verify_set_planner(struct verify *v, const char *whole_tables, struct err *err);

/* ---- workflows.c ---- */

/* Checks all workflows and fan-outs against their definitions. */
MUST_USE int verify_workflows(struct verify *v, struct err *err);

/* ---- one execution in a checkpoint ---- */

#define MARK_HASH_TEXT 17 /* 64 bits in hexadecimal and a NUL */

struct mark {
    int64_t root, id;
    int status, seq, attempts, epoch;
    char history[MARK_HASH_TEXT]; /* hash of the execution's events up to seq */
    /* Hash of its result, error and times; "-" if the execution has not ended. */
    char ending[MARK_HASH_TEXT];
};

/* ---- checkpoint.c: the file ---- */

struct checkpoint_writer;
/* Starts a temporary file next to `path`; checkpoint_finish moves it to `path`. */
MUST_USE int checkpoint_create(const char *path, const struct verify *v,
                               struct checkpoint_writer **out, struct err *err);
MUST_USE int checkpoint_add(struct checkpoint_writer *w, const struct mark *m, struct err *err);
MUST_USE int checkpoint_finish(struct checkpoint_writer *w, struct err *err);
void checkpoint_abandon(struct checkpoint_writer **w); /* removes the file if it is unfinished */

struct checkpoint_reader;
/* Opens a checkpoint. -E_NOT_FOUND if the file does not exist; -E_INVALID if it is not a
 * checkpoint, or belongs to another database. */
MUST_USE int checkpoint_open(const char *path, const struct verify *v,
                             struct checkpoint_reader **out, struct err *err);
/* Reads the next execution. *more is false at the end of the file. -E_INVALID if the file is
 * damaged or incomplete. */
MUST_USE int checkpoint_next(struct checkpoint_reader *r, struct mark *m, bool *more,
                             struct err *err);
void checkpoint_close(struct checkpoint_reader **r);

/* ---- history.c ---- */

/* Walks all executions with their events, in the order of a checkpoint. Adds each execution to
 * `save` and compares it with `since`; either may be NULL. */
MUST_USE int verify_walk(struct verify *v, struct checkpoint_writer *save,
                         struct checkpoint_reader *since, struct err *err);

#endif
