/* bisect_rows.c - bisects maintenance turns, which process many rows each. A row that can't be
 * processed must not block the others, nor end one worker after the other: the turn is repeated
 * with half of the rows until that row is alone. It is tried once more, because the fault may have
 * been momentary, and then quarantined. */
#include "engine/engine_internal.h"

int bisect_rows(struct engine *e, const struct rows_work *w, void *arg, struct bisect_state *state,
                struct err *err)
{
    struct rows_seen seen = {0};
    struct err why;
    int rc = w->run_turn(e, arg, w->max, &seen, err);

    state->more_rows = false;
    while (is_row_fault(rc) && seen.n > 1) {
        state->more_rows = true; /* the rows that are left out now */
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
