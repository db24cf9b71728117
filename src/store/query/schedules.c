/* schedules.c - reads schedules and applied workflows. */
#include "store/query/query_internal.h"
#include "store/schedule/schedule_rows.h"

#include <stdlib.h>

struct schedules_query {
    const struct schedule_name *name; /* NULL for all */
    struct rows rows;
    int64_t now;
};

static int schedules_body(struct db *db, void *arg, struct err *err)
{
    struct schedules_query *r = arg;
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_SCHEDULES);
    args_text(&a, r->name ? r->name->workflow : NULL);
    args_text(&a, r->name ? r->name->name : NULL);
    rows_release(&r->rows); /* the body may run more than once */
    if (!(rc = db_send(db, &a, &r->rows, ANY_ROWS, err)) &&
        !(rc = db->driver->send_now(db, &r->now, err)))
        rc = db_flush(db, err);
    args_release(&a);
    return rc;
}

static void read_listed(struct schedule_listed *out, const struct rows *r, size_t i,
                        struct arena *arena)
{
    schedule_read_row(&out->row, r, i, arena);
    out->hash = arena_strdup(arena, rows_text(r, i, SCHEDULE_COLUMNS));
    out->applied_at = rows_int(r, i, SCHEDULE_COLUMNS + 1);
    out->applied_by = arena_strdup(arena, rows_text(r, i, SCHEDULE_COLUMNS + 2));
    out->last_due = rows_int(r, i, SCHEDULE_COLUMNS + 3);
    out->last_status = (int)rows_int(r, i, SCHEDULE_COLUMNS + 4);
    audit_read_last(&out->last_audit, r, i, SCHEDULE_COLUMNS + 5, arena);
}

int query_schedules(struct store *s, const char *name, struct schedule_list *out, struct err *err)
{
    struct schedule_name parsed;
    struct schedules_query r = {.name = name ? &parsed : NULL};
    size_t i;
    int rc;

    if (name && (rc = schedule_name_parse(name, &parsed, err)))
        return rc;
    if ((rc = query_read(s, schedules_body, &r, err)))
        goto done;
    if (name && !r.rows.n) {
        rc = err_set(err, E_NOT_FOUND, "there is no schedule %.210s: `pawl schedule` lists them",
                     name);
        goto done;
    }
    *out = (struct schedule_list){
        .n = r.rows.n, .now = wall_time(store_db(s), r.now + store_env(s)->clock_offset)};
    out->at = arena_zalloc(&out->arena, (out->n + 1) * sizeof(*out->at));
    for (i = 0; i < out->n; i++)
        read_listed(&out->at[i], &r.rows, i, &out->arena);
done:
    rows_release(&r.rows);
    return rc;
}

void schedule_list_release(struct schedule_list *l)
{
    arena_release(&l->arena);
    *l = (struct schedule_list){0};
}

int query_applied(struct store *s, const char *name, char **definition, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_APPLIED);
    args_text(&a, name);
    if ((rc = query_run(s, &a, &r, err)))
        goto done;
    if (!r.n)
        rc = err_set(
            err, E_NOT_FOUND,
            "no workflow is applied under the name %.100s: apply it with `pawl apply FILE`", name);
    else if (rows_null(&r, 0, 1))
        rc =
            err_set(err, E_NOT_FOUND, "the definition of %.100s, %s, is not stored: apply it again",
                    name, rows_text(&r, 0, 0));
    else
        *definition = mem_strdup(rows_text(&r, 0, 1));
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}
