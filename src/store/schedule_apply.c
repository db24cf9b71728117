/* schedule_apply.c - a definition becomes what its name means, and its schedules those of the name.
 * What was there before is matched by pattern, so that an edit of the file neither repeats nor
 * loses a due time; see schedule.h. */
#include "store/flow.h"
#include "store/schedule_rows.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* Those that the name had, each given away at most once. */
struct before {
    struct schedule_row *at;
    size_t n;
    bool *taken;
};

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* The one that it continues: of the same pattern, best of the same name. */
static struct schedule_row *find_same(struct before *b, const struct schedule_row *r)
{
    struct schedule_row *found = NULL;
    size_t i;

    for (i = 0; i < b->n; i++)
        if (!b->taken[i] && !strcmp(b->at[i].cron, r->cron) && same_text(b->at[i].tz, r->tz) &&
            (!found || !strcmp(b->at[i].name, r->name)))
            found = &b->at[i];
    if (found)
        b->taken[found - b->at] = true;
    return found;
}

/* One of the same name with another pattern: its pause stays, and its last run is still there. */
static struct schedule_row *find_named(struct before *b, const char *name)
{
    size_t i;

    for (i = 0; i < b->n; i++)
        if (!b->taken[i] && !strcmp(b->at[i].name, name)) {
            b->taken[i] = true;
            return &b->at[i];
        }
    return NULL;
}

static const char *params_of(struct turn *t, const struct workflow_schedule *s)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    const char *json;
    size_t i;

    jw_begin(&w, '{');
    for (i = 0; i < s->with.n; i++) {
        jw_key(&w, s->with.at[i].key);
        jw_raw(&w, s->with.at[i].value);
    }
    jw_end(&w, '}');
    json = arena_strdup(&t->arena, b.ptr);
    buf_release(&b);
    return json;
}

static struct schedule_row row_of(struct turn *t, const struct workflow *w, size_t nth)
{
    const struct workflow_schedule *s = &w->schedules[nth];
    char place[24];

    snprintf(place, sizeof(place), "%zu", nth + 1);
    return (struct schedule_row){.workflow = w->name,
                                 .name = s->name ? s->name : arena_strdup(&t->arena, place),
                                 .cron = s->cron,
                                 .tz = s->tz,
                                 .catchup = s->catchup,
                                 .overlap = s->overlap,
                                 .jitter = s->jitter,
                                 .start = s->start,
                                 .end = s->end,
                                 .params = params_of(t, s)};
}

static void take_pause(struct schedule_row *r, const struct schedule_row *from)
{
    r->paused_at = from->paused_at;
    r->paused_by = from->paused_by;
    r->pause_reason = from->pause_reason;
}

/* Goes on where the other one stood. */
static void take_state(struct schedule_row *r, const struct schedule_row *from)
{
    r->id = from->id;
    r->done = from->done;
    r->waiting = from->waiting;
    r->last_run = from->last_run;
    r->skipped = from->skipped;
    r->skipped_at = from->skipped_at;
    r->missed_at = from->missed_at;
    take_pause(r, from);
}

/* First all of the same pattern find theirs, then the others what is left of their names. */
static int match(struct turn *t, const struct workflow *w, struct before *b, struct schedule_row *r,
                 struct application *a, struct err *err)
{
    int64_t now = turn_wall(t);
    const struct schedule_row *old;
    size_t i;
    int rc;

    for (i = 0; i < w->nschedules; i++) {
        r[i] = row_of(t, w, i);
        if ((old = find_same(b, &r[i]))) {
            take_state(&r[i], old);
            a->kept++;
        }
    }
    for (i = 0; i < w->nschedules; i++) {
        if (!r[i].id) {
            if ((rc = turn_take_ids(t, 1, &r[i].id, err)))
                return rc;
            r[i].done = now;
            if ((old = find_named(b, r[i].name))) {
                take_pause(&r[i], old);
                r[i].last_run = old->last_run;
            }
        }
        r[i].next = r[i].paused_at ? 0 : now;
    }
    for (i = 0; i < b->n; i++)
        a->removed += !b->taken[i];
    return 0;
}

static void push_row(struct args *a, const struct schedule_row *r)
{
    args_int(a, r->id);
    args_text(a, r->workflow);
    args_text(a, r->name);
    args_text(a, r->cron);
    args_text(a, r->tz);
    args_int(a, r->catchup);
    args_int(a, (int)r->overlap);
    args_int(a, r->jitter);
    args_int_or_null(a, r->start);
    args_int_or_null(a, r->end);
    args_text(a, r->params);
    schedule_push_state(a, r);
}

/* All are written anew: names may have changed places. */
static int replace(struct turn *t, const struct workflow *w, struct application *a, struct err *err)
{
    struct schedule_row *rows = arena_zalloc(&t->arena, (w->nschedules + 1) * sizeof(*rows));
    struct schedule_name name = {.name = NULL};
    struct before b = {0};
    size_t i;
    int rc;

    stpncpy(name.workflow, w->name, sizeof(name.workflow) - 1);
    if ((rc = schedule_load(t, &name, &b.at, &b.n, err)))
        return rc;
    b.taken = arena_zalloc(&t->arena, (b.n + 1) * sizeof(*b.taken));
    if ((rc = match(t, w, &b, rows, a, err)))
        return rc;
    args_begin(&t->args, Q_SCHEDULES_DELETE);
    args_text(&t->args, w->name);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    args_begin(&t->args, Q_SCHEDULE_INSERT);
    for (i = 0; i < w->nschedules; i++)
        push_row(&t->args, &rows[i]);
    schedule_wake(t);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int set_name(struct turn *t, const struct workflow *w, struct application *a,
                    struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_APPLIED_LOCK);
    args_text(&t->args, w->name);
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    a->unchanged = r.n && !strcmp(rows_text(&r, 0, 0), w->hash);
    /* who read the name before us may be about to begin by what it meant */
    if (r.n && !a->unchanged && (rc = definition_use(t, rows_text(&r, 0, 0), NULL, NULL, err)) &&
        rc != -E_NOT_FOUND)
        goto done;
    args_begin(&t->args, Q_APPLIED_SET);
    args_text(&t->args, w->name);
    args_text(&t->args, w->hash);
    args_int(&t->args, t->now);
    args_text(&t->args, a->by);
    rc = db_send(t->db, &t->args, NULL, 1, err);
done:
    rows_release(&r);
    return rc;
}

int op_apply(struct turn *t, struct application *a, struct err *err)
{
    const struct workflow *w;
    int rc;

    a->kept = a->removed = 0;
    if ((rc = workflow_read(a->definition, strlen(a->definition), &t->arena, &w, err)) ||
        (rc = set_name(t, w, a, err)) || (rc = definition_use(t, w->hash, w, a->definition, err)) ||
        (rc = replace(t, w, a, err)))
        return rc;
    memcpy(a->hash, w->hash, sizeof(a->hash));
    a->schedules = w->nschedules;
    return 0;
}
