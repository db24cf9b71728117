/* start_marks.h - start marks: a table in a worker's file that lists the attempts which the worker
 * has started. Other workers read it after the worker's death.
 *
 * A mark is a pair of numbers: the id of an execution and the number of its attempt. The worker
 * writes the mark before it calls a function or requests the shim of a command, and reuses the
 * mark's slot only after the outcome is stored or another worker owns the attempt. So a dead worker
 * never started an attempt that is missing from its file. Marks outlive the process, but not a
 * crash of the host, and they are not valid for a database that was restored since: the table
 * begins with the id of the boot and the generation of the database for which it is valid.
 *
 * The table has no limit: it grows by 16 bytes for each mark that is kept. A mark whose attempt
 * this worker can't follow any more is kept until the worker ends.
 *
 * All functions except start_marks_write are called on the engine's thread. */
#ifndef BASE_START_MARKS_H
#define BASE_START_MARKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define START_MARKS_AT 128 /* the offset of the table in the worker file */

struct start_marks;

/* `fd` is the worker file. It must stay open until the marks are freed. */
struct start_marks *start_marks_new(int fd, int64_t generation);
void start_marks_free(struct start_marks *m); /* m may be NULL */
/* Writes the head of the table: from now on every start is marked. Returns 0, or -1 and errno. */
MUST_USE int start_marks_begin(struct start_marks *m);

/* A worker reserves a slot for an attempt that may start, and keeps the slot until the attempt's
 * outcome is committed. */
int start_marks_reserve(struct start_marks *m);
void start_marks_unreserve(struct start_marks *m, int slot);
void start_marks_keep(struct start_marks *m, int slot, int64_t execution, int attempt);
/* Whether a slot is kept for this attempt. */
bool start_marks_has(const struct start_marks *m, int64_t execution, int attempt);
/* Frees the slot that is kept for this attempt, if any. Call it only if the database no longer
 * names this worker as the attempt's last holder: the outcome is stored, another worker was seen to
 * own the attempt, or its adoption by this worker was certainly not stored. */
void start_marks_drop(struct start_marks *m, int64_t execution, int attempt);

/* Writes the mark of an attempt that is about to start. Returns 0, or -1 and errno; if it fails,
 * the attempt must not start. Any thread may call this function. */
MUST_USE int start_marks_write(const struct start_marks *m, int slot, int64_t execution,
                               int attempt);
/* Writes the mark of an attempt that is about to start, or that another worker may have started,
 * and keeps its slot. */
MUST_USE int start_marks_add(struct start_marks *m, int64_t execution, int attempt);

/* Whether the file of a dead worker proves that this worker never started the attempt. The proof is
 * valid only in one generation of the database. */
bool start_marks_prove_unstarted(int fd, int64_t generation, int64_t execution, int attempt);

#endif
