/* bisect_rows.c - what is found in the database is done many rows in one turn. One that can't be
 * done must not keep the others from it, nor end one worker after the other: it is narrowed down
 * until it is alone, tried once more, as the fault may have been of that moment, and set aside. */
#include "engine/engine_internal.h"

int bisect_rows(struct engine *e, const struct rows_work *w, void *arg, struct bisect_state *state,
                struct err *err)
{
    struct rows_seen seen = {0};
    struct err why;
    int rc = w->run_turn(e, arg, w->max, &seen, err);

    state->more_rows = false;
    while (is_row_fault(rc) && seen.n > 1) {
        state->more_rows = true; /* for those that are left out now */
        rc = w->run_turn(e, arg, seen.n / 2, &seen, err);
    }
    if (!is_row_fault(rc) || seen.n != 1)
        return rc;
    state->more_rows = true;
    if (state->failed != seen.first) {
        state->failed = seen.first;
        return 0;
    }
    state->failed = 0;
    why = *err;
    return w->quarantine_row(e, arg, &why, err);
}
