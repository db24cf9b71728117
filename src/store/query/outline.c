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
    const char *counts;

    execution_read_state(&out->execution, r, i, 0, arena);
    rows_read(r, i, STATE_COLUMNS, arena, &out->execution.error, &out->ready_at, &out->worker,
              &out->due_at, &out->reason, &counts, &out->nitems);
    read_counts(counts, out->items);
    if (rows_null(r, i, STATE_COLUMNS + 6))
        out->nitems = -1;
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
