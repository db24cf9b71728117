/* start_marks.h - start marks: a table in a worker's file of what the worker has started, which
 * others read after its death.
 *
 * A mark is a pair of numbers, the ids of what is started: an execution and its attempt. It is
 * written before the start, and its slot is used again only when the outcome is stored or belongs
 * to another worker. So a pair that is missing in the file of a dead worker was never started by
 * it. Marks outlive the process, but not a crash of the host, and say nothing about a database that
 * was restored since: the table begins with the id of the boot and the generation of the database
 * for which it is valid.
 *
 * All functions except start_marks_write are called on the engine's thread. */
#ifndef BASE_START_MARKS_H
#define BASE_START_MARKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define START_MARKS_AT 128 /* the offset of the table in the worker file */

struct start_marks;

/* fd is the worker file; it stays open until the marks are freed. */
struct start_marks *start_marks_new(int fd, int64_t generation);
void start_marks_free(struct start_marks *m); /* m may be NULL */
/* Writes the head of the table: from now on every start is marked. Returns 0, or -1 and errno. */
MUST_USE int start_marks_begin(struct start_marks *m);

/* A slot is reserved for an attempt that may start, and kept while its outcome is not committed. */
int start_marks_reserve(struct start_marks *m);
void start_marks_unreserve(struct start_marks *m, int slot);
void start_marks_keep(struct start_marks *m, int slot, int64_t execution, int attempt);
/* Frees the slot that is kept for this attempt, if any. */
void start_marks_drop(struct start_marks *m, int64_t execution, int attempt);

/* Returns 0, or -1 and errno; then the function must not start. Called by any thread. */
MUST_USE int start_marks_write(const struct start_marks *m, int slot, int64_t execution,
                               int attempt);
/* Writes and keeps the mark of an attempt that another worker may have started. */
MUST_USE int start_marks_add(struct start_marks *m, int64_t execution, int attempt);

/* Whether the file of a dead worker proves that it never started this attempt of an execution in
 * this generation of the database. */
bool start_marks_prove_unstarted(int fd, int64_t generation, int64_t execution, int attempt);

#endif
