/* bisect.c - finds the row that makes a turn fail; see bisect.h. */
#include "engine/bisect.h"

bool is_transient(int rc)
{
    return rc == -E_UNAVAILABLE || rc == -E_NO_SPACE || rc == -E_BUSY;
}

bool is_row_fault(int rc)
{
    return rc && !is_transient(rc) && rc != -E_COMMIT_UNKNOWN && rc != -E_CONFLICT &&
           rc != -E_SCHEMA;
}

int bisect(const struct bisect_work *w, void *arg, size_t max, struct bisect_state *state,
           struct err *err)
{
    struct rows_seen seen = {0};
    int rc = w->run_turn(arg, max, &seen, err);

    state->more_rows = is_row_fault(rc);
    while (is_row_fault(rc) && seen.n > 1)
        rc = w->run_turn(arg, seen.n / 2, &seen, err);
    if (!is_row_fault(rc) || seen.n != 1)
        return rc;
    if (state->failed != seen.first) {
        state->failed = seen.first;
        return 0;
    }
    state->failed = 0;
    return w->isolate(arg, err);
}
