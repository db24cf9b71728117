/* events.c - reads the history: of one execution, of a subtree, or of the whole database (newest
 * first, in windows of time). */
#include "store/query/query_internal.h"

#include <string.h>

void query_add_events(const struct rows *r, struct event_list *out)
{
    struct event_row *all = arena_alloc(&out->arena, (out->n + r->n + 1) * sizeof(*all));

    if (out->n)
        memcpy(all, out->at, out->n * sizeof(*all));
    for (size_t i = 0; i < r->n; i++) {
        struct event_row *e = &all[out->n + i];

        rows_read(r, i, 0, &out->arena, &e->sequence_num, &e->root, &e->execution, &e->created_at,
                  &e->worker, &e->seq, &e->attempt, &e->epoch, &e->type, &e->from, &e->to, &e->data,
                  &e->host);
    }
    out->at = all;
    out->n += r->n;
}

int query_execution_events(struct store *s, int64_t execution, int after_seq, size_t max,
                           struct event_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_EVENTS_OF, execution, after_seq, max));
    *out = (struct event_list){0};
    query_add_events(&r, out);
    return 0;
}

int query_events_below(struct store *s, int64_t execution, const struct event_filter *f,
                       const struct event_range *range, struct event_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_EVENTS_BELOW, f->since, f->until ? f->until : END_OF_TIME,
            range->after, f->types, execution, range->upto ? range->upto : INT64_MAX, range->max));
    *out = (struct event_list){0};
    query_add_events(&r, out);
    return 0;
}

/* ---- newest first ---- */

/* The length of the first window of time. Each window is read completely and sorted, so it must not
 * hold too many events. The length adapts to the density of events: it shrinks if a window holds
 * too many events and grows if it holds few, so that years without an event cost only a few
 * probes. */
#define WINDOW_START (60 * 1000000LL)
#define WINDOW_LEAST 1000LL
#define WINDOW_ROWS  20000
#define PAGE_ROWS    200000 /* rows after which a page is returned, even if it is not full */

#define FAILURES                                                                      \
    (EVENT_BIT(EV_RETRY_SCHEDULED) | EVENT_BIT(EV_FAILED) | EVENT_BIT(EV_TIMED_OUT) | \
     EVENT_BIT(EV_ABANDONED) | EVENT_BIT(EV_FAILED + WORKFLOW_EVENT) |                \
     EVENT_BIT(EV_TIMED_OUT + WORKFLOW_EVENT))

struct page {
    const struct event_filter *filter;
    size_t max;
    struct event_cursor from, *cursor; /* start of the page, and current position */
    struct event_list *out;
};

static int count_window(struct db *db, struct page *p, int64_t lo, int64_t *n, struct err *err)
{
    return ask_one(db, INTO(n), err, Q_QUERY_EVENTS_COUNT, lo, p->cursor->time,
                   p->cursor->sequence_num, WINDOW_ROWS);
}

/* Reads the events of the window that fit on the page, and moves the cursor past the last event
 * read, or past the window if it was read completely. */
static int read_window(struct db *db, struct page *p, enum stmt_id q, int64_t lo, struct err *err)
{
    size_t room = p->max - p->out->n;
    const struct event_row *last;
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, q, lo, p->cursor->time, p->cursor->sequence_num, p->filter->types, room));
    query_add_events(&r, p->out);
    last = p->out->n ? &p->out->at[p->out->n - 1] : NULL;
    *p->cursor = r.n == room ? (struct event_cursor){last->created_at, last->sequence_num, false}
                             : (struct event_cursor){.time = lo};
    return 0;
}

static bool is_at_end(const struct page *p)
{
    return p->cursor->time <= p->filter->since && !p->cursor->sequence_num;
}

static int read_windows(struct db *db, struct page *p, int64_t now, struct err *err)
{
    int64_t window = WINDOW_START, rows_read = 0, n, lo;
    int rc = 0;

    while (!rc && p->out->n < p->max && !is_at_end(p) && rows_read < PAGE_ROWS) {
        /* the first window has no upper bound, because events lie in the future if the clock was
         * set back */
        lo = (p->cursor->time < now ? p->cursor->time : now) - window;
        if (lo < p->filter->since)
            lo = p->filter->since;
        if ((rc = count_window(db, p, lo, &n, err)))
            break;
        if (n >= WINDOW_ROWS && window > WINDOW_LEAST) {
            window /= 4;
            continue;
        }
        if (n)
            rc = read_window(db, p, Q_QUERY_EVENTS_WINDOW, lo, err);
        else
            *p->cursor = (struct event_cursor){.time = lo};
        rows_read += n;
        if (n < WINDOW_ROWS / 8)
            window *= 2;
    }
    return rc;
}

static int page_body(struct db *db, void *arg, struct err *err)
{
    struct page *p = arg;
    int64_t now = 0;
    int rc = 0;

    *p->cursor = p->from;
    event_list_release(p->out);
    if (!p->cursor->time)
        p->cursor->time = END_OF_TIME;
    if (p->filter->until && p->cursor->time >= p->filter->until)
        *p->cursor = (struct event_cursor){.time = p->filter->until};
    if (p->filter->types && !(p->filter->types & ~FAILURES)) {
        rc = read_window(db, p, Q_QUERY_EVENTS_FAILURES, p->filter->since, err);
    } else {
        TRY(db->driver->send_now(db, &now, err));
        TRY(db_flush(db, err));
        rc = read_windows(db, p, now + db->env->clock_offset, err);
    }
    p->cursor->end = is_at_end(p);
    return rc;
}

int query_events(struct store *s, const struct event_filter *f, size_t max,
                 struct event_cursor *cursor, struct event_list *out, struct err *err)
{
    struct event_list found = {0};
    struct event_cursor at = *cursor;
    struct page p = {.filter = f, .max = max, .from = *cursor, .cursor = &at, .out = &found};
    int rc = query_read(s, page_body, &p, err);

    if (!rc) {
        *cursor = at;
        *out = found;
        found = (struct event_list){0};
    }
    event_list_release(&found);
    return rc;
}
