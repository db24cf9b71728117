/* narrow.c - what is found in the database is done many rows in one turn. One that can't be done
 * must not keep the others from it, nor end one worker after the other: it is narrowed down until
 * it is alone, tried once more, as the fault may have been of that moment, and set aside. */
#include "engine/internal.h"

int narrow_down(struct engine *e, const struct rows_work *w, void *arg, struct narrowed *state,
                struct err *err)
{
    struct rows_seen seen = {0};
    struct err why;
    int rc = w->turn(e, arg, w->max, &seen, err);

    state->again = false;
    while (is_of_a_row(rc) && seen.n > 1) {
        state->again = true; /* for those that are left out now */
        rc = w->turn(e, arg, seen.n / 2, &seen, err);
    }
    if (!is_of_a_row(rc) || seen.n != 1)
        return rc;
    state->again = true;
    if (state->failed != seen.first) {
        state->failed = seen.first;
        return 0;
    }
    state->failed = 0;
    why = *err;
    return w->set_aside(e, arg, &why, err);
}
