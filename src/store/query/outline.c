/* outline.c - reads a tree in the form that views show: the items of fan-outs are counted, and only
 * some running and failed items are listed. One query reads all levels. Also reads the tasks of one
 * workflow for its graph, in the same form. */
#include "store/query/query_internal.h"

#include <stdio.h>
#include <string.h>

/* Parses a list of statuses with the number of items in each, such as "3:2 4:17". */
static void read_counts(const char *text, int64_t counts[S_COUNT])
{
    long long n;
    int status, used;

    for (; text && sscanf(text, " %d:%lld%n", &status, &n, &used) == 2; text += used)
        if (status > 0 && status < S_COUNT)
            counts[status] = n;
}

/* Reads the columns of the SQL macro @counted_items@. */
static void read_items(const struct rows *r, size_t i, size_t col, struct arena *arena,
                       struct outline_row *out)
{
    const char *counts;

    rows_read(r, i, col, arena, &counts, &out->nitems);
    read_counts(counts, out->items);
    if (rows_null(r, i, col + 1))
        out->nitems = -1;
}

static void read_row(const struct rows *r, size_t i, struct arena *arena, struct outline_row *out)
{
    execution_read_state(&out->execution, r, i, 0, arena);
    rows_read(r, i, STATE_COLUMNS, arena, &out->execution.error, &out->ready_at, &out->worker,
              &out->due_at, &out->reason);
    read_items(r, i, STATE_COLUMNS + 5, arena, out);
}

int query_outline(struct store *s, int64_t id, size_t max_items, struct outline *out,
                  struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_OUTLINE, id, max_items)));
    if (!r.n)
        return query_explain_missing(s, id, err);
    LIST_ALLOC(out, r.n);
    out->now = now;
    for (size_t i = 0; i < r.n; i++)
        read_row(&r, i, &out->arena, &out->at[i]);
    return 0;
}

int query_graph(struct store *s, int64_t workflow, struct outline *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_GRAPH, workflow)));
    LIST_ALLOC(out, r.n);
    out->now = now;
    for (size_t i = 0; i < r.n; i++) {
        execution_read_state(&out->at[i].execution, &r, i, 0, &out->arena);
        read_items(&r, i, STATE_COLUMNS, &out->arena, &out->at[i]);
    }
    return 0;
}
