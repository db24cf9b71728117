/* outline.c - reads a tree as views show it: the items of fan-outs are counted, and only some
 * running and failed items are listed. One query at any depth. */
#include "store/query/query_internal.h"

#include <stdio.h>
#include <string.h>

/* Parses the numbers of items by status, such as "3:2 4:17". */
static void read_counts(const char *text, int64_t counts[S_COUNT])
{
    long long n;
    int status, used;

    for (; text && sscanf(text, " %d:%lld%n", &status, &n, &used) == 2; text += used)
        if (status > 0 && status < S_COUNT)
            counts[status] = n;
}

static void read_row(const struct rows *r, size_t i, struct arena *arena, struct outline_row *out)
{
    size_t col = STATE_COLUMNS;

    execution_read_state(&out->execution, r, i, 0, arena);
    out->execution.error = arena_strdup(arena, rows_text(r, i, col));
    out->ready_at = rows_int(r, i, col + 1);
    out->worker = rows_int(r, i, col + 2);
    out->due_at = rows_int(r, i, col + 3);
    out->reason = arena_strdup(arena, rows_text(r, i, col + 4));
    read_counts(rows_text(r, i, col + 5), out->items);
    out->nitems = rows_null(r, i, col + 6) ? -1 : rows_int(r, i, col + 6);
}

struct outline_query {
    int64_t id;
    size_t max_items;
    int64_t now;
    struct rows rows;
};

static int outline_body(struct db *db, void *arg, struct err *err)
{
    struct outline_query *o = arg;
    struct args a = ARGS_INIT;
    int rc;

    rows_release(&o->rows); /* the body may run more than once */
    args_begin(&a, Q_QUERY_OUTLINE);
    args_int(&a, o->id);
    args_int(&a, (int64_t)o->max_items);
    if (!(rc = db->driver->send_now(db, &o->now, err)))
        rc = db_query(db, &a, &o->rows, err);
    o->now += db->env->clock_offset;
    args_release(&a);
    return rc;
}

int query_outline(struct store *s, int64_t id, size_t max_items, struct outline *out,
                  struct err *err)
{
    struct outline_query o = {.id = id, .max_items = max_items, .rows = ROWS_INIT};
    int rc = query_read(s, outline_body, &o, err);

    if (!rc && !o.rows.n)
        rc = query_explain_missing(s, id, err);
    if (!rc) {
        *out = (struct outline){.now = o.now};
        out->at = arena_zalloc(&out->arena, o.rows.n * sizeof(*out->at));
        for (; out->n < o.rows.n; out->n++)
            read_row(&o.rows, out->n, &out->arena, &out->at[out->n]);
    }
    rows_release(&o.rows);
    return rc;
}

void outline_release(struct outline *o)
{
    arena_release(&o->arena);
    *o = (struct outline){0};
}
