/* schedules.c - reads schedules. */
#include "store/query/query_internal.h"
#include "store/schedule/schedule_rows.h"

#include <stdlib.h>

static void read_listed(struct schedule_listed *out, const struct rows *r, size_t i,
                        struct arena *arena)
{
    schedule_read_row(&out->row, r, i, arena);
    rows_read(r, i, SCHEDULE_COLUMNS, arena, &out->hash, &out->applied_at, &out->applied_by,
              &out->last_due, &out->last_status);
    audit_read_last(&out->last_audit, r, i, SCHEDULE_COLUMNS + 5, arena);
}

void query_read_schedules(struct store *s, const struct rows *r, int64_t now,
                          struct schedule_list *out)
{
    LIST_ALLOC(out, r->n);
    out->now = wall_time(store_db(s), now);
    for (size_t i = 0; i < out->n; i++)
        read_listed(&out->at[i], r, i, &out->arena);
}

int query_schedules(struct store *s, const char *name, struct schedule_list *out, struct err *err)
{
    struct schedule_name parsed = {0};
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    if (name)
        TRY(schedule_name_parse(name, &parsed, err));
    TRY(ask_all(
        s, &now, err,
        ASKED(&r, Q_QUERY_SCHEDULES, name ? parsed.workflow : NULL, name ? parsed.name : NULL)));
    if (name && !r.n)
        return err_set(err, E_NOT_FOUND, "there is no schedule %.210s: `pawl schedule` lists them",
                       name);
    query_read_schedules(s, &r, now, out);
    return 0;
}
