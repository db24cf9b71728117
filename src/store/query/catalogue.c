/* catalogue.c - reads the catalogue of applied workflows; see schedule/catalogue.h. */
#include "store/schedule/catalogue.h"
#include "store/applied.h"
#include "store/query/query_internal.h"

#include <string.h>

int query_applied(struct store *s, const char *name, char **definition, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_APPLIED, name));
    if (!r.n)
        return applied_missing(ASK_ON(s), name, err);
    if (rows_null(&r, 0, 1))
        return applied_definition_missing(name, rows_text(&r, 0, 0), err);
    *definition = mem_strdup(rows_text(&r, 0, 1));
    return 0;
}

/* Reads the columns of the SQL macro @applied@ (sql/catalogue.sql). */
static void read_applied(struct applied_row *out, const struct rows *r, size_t i,
                         struct arena *arena)
{
    rows_read(r, i, 0, arena, &out->name, &out->description, &out->hash, &out->tasks, &out->params,
              &out->schedules, &out->applied_at, &out->applied_by, &out->last_run,
              &out->last_status, &out->last_started, &out->last_finished);
}

int query_catalogue(struct store *s, const char *after, const char *name, size_t max,
                    struct applied_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_CATALOGUE, after, name, max + 1));
    LIST_ALLOC(out, r.n < max ? r.n : max);
    out->more = r.n > max;
    for (size_t i = 0; i < out->n; i++)
        read_applied(&out->at[i], &r, i, &out->arena);
    return 0;
}

int query_applied_versions(struct store *s, const char *name, int64_t before, size_t max,
                           struct applied_version_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_APPLICATIONS, name, before ? before : INT64_MAX, max + 1));
    if (!r.n && !before)
        return applied_missing(ASK_ON(s), name, err);
    LIST_ALLOC(out, r.n < max ? r.n : max);
    out->more = r.n > max;
    for (size_t i = 0; i < out->n; i++)
        rows_read(&r, i, 0, &out->arena, &out->at[i].number, &out->at[i].hash,
                  &out->at[i].applied_at, &out->at[i].applied_by, &out->at[i].tasks,
                  &out->at[i].current);
    return 0;
}

/* Sets the error that a version does not exist. `applied` is the row of the workflow's name, if
 * there is one. */
static int set_no_version(struct store *s, const char *name, const char *version,
                          const struct rows *applied, struct err *err)
{
    bool any;

    if (!version && applied->n)
        return applied_definition_missing(name, rows_text(applied, 0, 2), err);
    TRY(ask_any(s, &any, err, Q_QUERY_APPLICATIONS, name, INT64_MAX, 1));
    if (!version || !any)
        return applied_missing(ASK_ON(s), name, err);
    return err_set(
        err, E_NOT_FOUND,
        "the workflow %.100s has no version %.40s: `pawl workflow versions %.100s` lists "
        "those that are kept",
        name, version, name);
}

int query_applied_detail(struct store *s, const char *name, const char *version,
                         struct applied_detail *out, struct err *err)
{
    AUTO_ROWS applied = ROWS_INIT, one = ROWS_INIT, schedules = ROWS_INIT;
    struct applied_row *row = &out->row;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&applied, Q_QUERY_APPLIED_NAME, name),
                ASKED(&one, Q_QUERY_APPLICATION, name, version),
                ASKED(&schedules, Q_QUERY_SCHEDULES, name, VAL_NULL)));
    if (!one.n)
        return set_no_version(s, name, version, &applied, err);
    *out = (struct applied_detail){0};
    if (applied.n)
        read_applied(row, &applied, 0, &out->arena);
    out->current = applied.n && !strcmp(row->hash, rows_text(&one, 0, 0));
    if (!out->current) {
        row->name = arena_strdup(&out->arena, name);
        rows_read(&one, 0, 0, &out->arena, &row->hash, &row->applied_at, &row->applied_by,
                  &row->tasks, &row->params, &row->description);
    }
    rows_read(&one, 0, 6, &out->arena, &out->definition, &out->source);
    query_read_schedules(s, &schedules, now, &out->schedules);
    return 0;
}

void applied_detail_release(struct applied_detail *d)
{
    schedule_list_release(&d->schedules);
    arena_release(&d->arena);
}
