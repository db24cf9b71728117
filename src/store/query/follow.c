/* follow.c - follows the history. With several writers an event number may become visible after a
 * higher one. So a follower returns only events up to a horizon, the last number at some moment,
 * once all transactions that were writing at that moment have ended (docs/adr/0022). */
#include "store/query/query_internal.h"

#include <stdlib.h>

#define STEP_MIN  10000
#define STEP_MAX  1000000
#define TREE_PAGE 20000

/* The last event number at one moment, and the transactions that were writing at that moment. */
struct writers_snapshot {
    const char *only_among; /* if not NULL, only check which of these writers are still writing */
    int64_t horizon;
    char *writers; /* the writers that were found, as text; NULL if none */
};

/* Reads the horizon before the writers. The order matters: a transaction takes its lock before it
 * draws event numbers, so a transaction that drew a number up to the horizon is either found or has
 * ended. */
static int read_writers(struct db *db, void *arg, struct err *err)
{
    struct writers_snapshot *m = arg;
    AUTO_ROWS last = ROWS_INIT, writers = ROWS_INIT;

    TRY(ask(db, &last, err, Q_QUERY_HORIZON));
    TRY(ask(db, &writers, err, Q_QUERY_WRITERS, m->only_among));
    m->horizon = rows_int(&last, 0, 0);
    free(m->writers);
    m->writers = writers.n ? mem_strdup(rows_text(&writers, 0, 0)) : NULL;
    return 0;
}

/* Advances the horizon if all events up to it have been returned, and checks whether the history is
 * complete up to it. A new follower starts at the first horizon, and is complete when the
 * transactions of that moment have ended: a caller that loads its data then has all events up to
 * it. */
static int find_horizon(struct store *s, struct event_follower *f, struct err *err)
{
    struct writers_snapshot m = {.only_among = f->writers};
    int rc;

    if (f->started && f->seen < f->horizon && !f->writers)
        return 0; /* the history is complete up to the horizon, but not all events were returned */
    if ((rc = query_read(s, read_writers, &m, err)))
        goto done;
    if (!f->started) {
        f->seen = f->horizon = m.horizon;
        f->started = true;
    } else if (!f->writers || f->horizon > m.horizon) { /* a caller may have made up its position */
        f->horizon = m.horizon;
    }
    free(f->writers);
    f->writers = m.writers;
    m.writers = NULL;
done:
    free(m.writers);
    return rc;
}

/* Reads all events in steps of event numbers: a follower that is far behind must not sort all
 * events that it has not seen. */
static int read_all_events(struct store *s, struct event_follower *f, size_t max,
                           struct event_list *out, struct err *err)
{
    int64_t step = (int64_t)max > STEP_MIN ? (int64_t)max : STEP_MIN, upto;
    const struct event_filter *e = &f->filter;
    AUTO_ROWS r = ROWS_INIT;

    while (!out->n && f->seen < f->horizon) {
        upto = f->horizon - f->seen > step ? f->seen + step : f->horizon;
        TRY(ask(s, &r, err, Q_QUERY_EVENTS_AFTER, e->since, e->until ? e->until : END_OF_TIME,
                f->seen, e->types, upto, max));
        query_add_events(&r, out);
        f->seen = out->n == max ? out->at[out->n - 1].sequence_num : upto;
        step = step * 2 > STEP_MAX ? STEP_MAX : step * 2;
    }
    return 0;
}

static int read_tree_events(struct store *s, struct event_follower *f, struct event_list *out,
                            struct err *err)
{
    struct event_range range = {.after = f->seen, .upto = f->horizon, .max = TREE_PAGE};
    int rc = query_events_below(s, f->execution, &f->filter, &range, out, err);

    if (!rc)
        f->seen = out->n == TREE_PAGE ? out->at[out->n - 1].sequence_num : f->horizon;
    return rc;
}

int query_follow(struct store *s, struct event_follower *f, size_t max, struct event_list *out,
                 struct err *err)
{
    struct event_list found = {0};
    int rc = find_horizon(s, f, err);

    /* use a separate transaction, whose snapshot is taken after the writers have ended */
    if (!rc && !f->writers && f->seen < f->horizon)
        rc = f->execution ? read_tree_events(s, f, &found, err)
                          : read_all_events(s, f, max, &found, err);
    if (rc)
        event_list_release(&found);
    else
        *out = found;
    return rc;
}

void event_follower_release(struct event_follower *f)
{
    free(f->writers);
    *f = (struct event_follower){0};
}
