/* events.c - reads the history: of one execution, of a subtree, or all of it, newest first, in
 * windows of time. */
#include "store/query/query_internal.h"

#include <string.h>

void query_add_events(const struct rows *r, struct event_list *out)
{
    struct event_row *all = arena_alloc(&out->arena, (out->n + r->n + 1) * sizeof(*all));
    size_t i;

    if (out->n)
        memcpy(all, out->at, out->n * sizeof(*all));
    for (i = 0; i < r->n; i++)
        all[out->n + i] = (struct event_row){
            .sequence_num = rows_int(r, i, 0),
            .root = rows_int(r, i, 1),
            .execution = rows_int(r, i, 2),
            .created_at = rows_int(r, i, 3),
            .worker = rows_int(r, i, 4),
            .seq = (int)rows_int(r, i, 5),
            .attempt = (int)rows_int(r, i, 6),
            .epoch = (int)rows_int(r, i, 7),
            .type = (int)rows_int(r, i, 8),
            .from = (int)rows_int(r, i, 9),
            .to = (int)rows_int(r, i, 10),
            .data = arena_strdup(&out->arena, rows_text(r, i, 11)),
        };
    out->at = all;
    out->n += r->n;
}

void event_list_release(struct event_list *l)
{
    arena_release(&l->arena);
    *l = (struct event_list){0};
}

void query_event_args(struct args *a, enum stmt_id q, const struct event_filter *f, int64_t number)
{
    args_begin(a, q);
    args_int(a, f->since);
    args_int(a, f->until ? f->until : END_OF_TIME);
    args_int(a, number);
    args_int(a, (int64_t)f->types);
}

static int read_events(struct store *s, const struct args *a, struct event_list *out,
                       struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc = query_run(s, a, &r, err);

    if (!rc) {
        *out = (struct event_list){0};
        query_add_events(&r, out);
    }
    rows_release(&r);
    return rc;
}

int query_execution_events(struct store *s, int64_t execution, int after_seq, size_t max,
                           struct event_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_EVENTS_OF);
    args_int(&a, execution);
    args_int(&a, after_seq);
    args_int(&a, (int64_t)max);
    rc = read_events(s, &a, out, err);
    args_release(&a);
    return rc;
}

int query_events_below(struct store *s, int64_t execution, const struct event_filter *f,
                       const struct event_range *range, struct event_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    query_event_args(&a, Q_QUERY_EVENTS_BELOW, f, range->after);
    args_int(&a, execution);
    args_int(&a, range->upto ? range->upto : INT64_MAX);
    args_int(&a, (int64_t)range->max);
    rc = read_events(s, &a, out, err);
    args_release(&a);
    return rc;
}

/* ---- newest first ---- */

/* A window of time is read completely and sorted, so it must not hold too many events. Its length
 * adapts to the density of events: it shrinks if the window holds too many and grows if it holds
 * few, so that years without an event cost only a few probes. */
#define WINDOW_START (60 * 1000000LL)
#define WINDOW_LEAST 1000LL
#define WINDOW_ROWS  20000
#define PAGE_ROWS    200000 /* rows read for one page before it is returned short */

#define FAILURES                                                                      \
    (EVENT_BIT(EV_RETRY_SCHEDULED) | EVENT_BIT(EV_FAILED) | EVENT_BIT(EV_TIMED_OUT) | \
     EVENT_BIT(EV_ABANDONED) | EVENT_BIT(EV_FAILED + WORKFLOW_EVENT) |                \
     EVENT_BIT(EV_TIMED_OUT + WORKFLOW_EVENT))

struct page {
    const struct event_filter *filter;
    size_t max;
    struct event_cursor from, *cursor; /* start position; current position */
    struct event_list *out;
    struct args args;
};

static void window_args(struct page *p, enum stmt_id q, int64_t lo)
{
    args_begin(&p->args, q);
    args_int(&p->args, lo);
    args_int(&p->args, p->cursor->time);
    args_int(&p->args, p->cursor->sequence_num);
}

static int count_window(struct db *db, struct page *p, int64_t lo, int64_t *n, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    window_args(p, Q_QUERY_EVENTS_COUNT, lo);
    args_int(&p->args, WINDOW_ROWS);
    if (!(rc = db_query(db, &p->args, &r, err)))
        *n = rows_int(&r, 0, 0);
    rows_release(&r);
    return rc;
}

/* Reads the events of the window that fit on the page, and moves the cursor past the last event
 * read, or past the window if it was read completely. */
static int read_window(struct db *db, struct page *p, enum stmt_id q, int64_t lo, struct err *err)
{
    size_t room = p->max - p->out->n;
    struct rows r = ROWS_INIT;
    int rc;

    window_args(p, q, lo);
    args_int(&p->args, (int64_t)p->filter->types);
    args_int(&p->args, (int64_t)room);
    if (!(rc = db_query(db, &p->args, &r, err))) {
        const struct event_row *last;

        query_add_events(&r, p->out);
        last = p->out->n ? &p->out->at[p->out->n - 1] : NULL;
        *p->cursor = r.n == room
                         ? (struct event_cursor){last->created_at, last->sequence_num, false}
                         : (struct event_cursor){.time = lo};
    }
    rows_release(&r);
    return rc;
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
        /* the first window has no upper bound: if the clock was set back, events lie in the future
         */
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
    int rc;

    *p->cursor = p->from;
    event_list_release(p->out);
    if (!p->cursor->time)
        p->cursor->time = END_OF_TIME;
    if (p->filter->until && p->cursor->time >= p->filter->until)
        *p->cursor = (struct event_cursor){.time = p->filter->until};
    if (p->filter->types && !(p->filter->types & ~FAILURES)) {
        rc = read_window(db, p, Q_QUERY_EVENTS_FAILURES, p->filter->since, err);
    } else {
        if ((rc = db->driver->send_now(db, &now, err)) || (rc = db_flush(db, err)))
            return rc;
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
    args_release(&p.args);
    return rc;
}
