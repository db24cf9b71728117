/* bisect.h - finds the row that makes a turn fail. A row that can't be written must neither block
 * other rows nor make one worker after another fail: the turn is repeated with half of its rows
 * until the faulty row is alone. The fault may have been momentary, so a row that failed alone is
 * tried again in the next bisection; a row that fails alone again is isolated: refused, dropped or
 * quarantined. */
#ifndef ENGINE_BISECT_H
#define ENGINE_BISECT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rows_seen {
    size_t n;
    int64_t first; /* identifies the first row */
};

/* Work that is done in turns, each over many rows. */
struct bisect_work {
    /* Runs one turn over at most `max` rows. Sets *seen even if it fails. */
    int (*run_turn)(void *arg, size_t max, struct rows_seen *seen, struct err *err);
    /* Isolates the only row of the last turn, which failed with *err. Returns an error if the rows
     * are not the cause. */
    int (*isolate)(void *arg, struct err *err);
};

struct bisect_state {
    int64_t failed; /* the row that failed alone in the last bisection; 0 if none */
    bool more_rows; /* the turn failed without trying all rows: run another turn soon */
};

/* Whether the error comes from the database rather than the data, so that a retry may succeed. */
bool is_transient(int rc);
/* Whether a row may be the cause: the error is not transient, it does not concern the whole
 * database, the turn was certainly not committed, and this worker was not fenced. */
bool is_row_fault(int rc);

/* Runs one turn; if that fails because of a row, runs further turns with fewer rows. Returns 0 even
 * if the search is not finished: the next call continues it. */
MUST_USE int bisect(const struct bisect_work *w, void *arg, size_t max, struct bisect_state *state,
                    struct err *err);

#endif
