/* apply.c - binds a name to a definition and replaces the name's schedules. New schedules are
 * matched with old ones of the same pattern, so that editing the file neither repeats nor loses a
 * due time; see schedule.h. */
#include "store/applied.h"
#include "store/schedule/schedule_rows.h"
#include "store/workflow/workflow.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* The schedules that the workflow had before; each is matched with at most one new schedule. */
struct old_schedules {
    struct schedule_row *at;
    size_t n;
    bool *matched;
};

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Finds the old schedule that the new schedule r continues: one with the same pattern; if several
 * have it, the one with the same name. */
static struct schedule_row *match_by_pattern(struct old_schedules *b, const struct schedule_row *r)
{
    struct schedule_row *found = NULL;

    for (size_t i = 0; i < b->n; i++)
        if (!b->matched[i] && !strcmp(b->at[i].cron, r->cron) && same_text(b->at[i].tz, r->tz) &&
            (!found || !strcmp(b->at[i].name, r->name)))
            found = &b->at[i];
    if (found)
        b->matched[found - b->at] = true;
    return found;
}

/* Finds an old schedule with the same name and another pattern. The new schedule keeps its pause
 * and last run. */
static struct schedule_row *match_by_name(struct old_schedules *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (!b->matched[i] && !strcmp(b->at[i].name, name)) {
            b->matched[i] = true;
            return &b->at[i];
        }
    return NULL;
}

static const char *build_params(struct turn *t, const struct workflow_schedule *s)
{
    AUTO_BUF b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    for (size_t i = 0; i < s->with.n; i++) {
        json_write_key(&w, s->with.at[i].key);
        json_write_raw(&w, s->with.at[i].value);
    }
    json_write_end(&w, '}');
    return arena_strdup(&t->arena, b.ptr);
}

static struct schedule_row row_from_definition(struct turn *t, const struct workflow *w, size_t nth)
{
    const struct workflow_schedule *s = &w->schedules[nth];
    char number[24];

    snprintf(number, sizeof(number), "%zu", nth + 1);
    return (struct schedule_row){.workflow = w->name,
                                 .name = s->name ? s->name : arena_strdup(&t->arena, number),
                                 .cron = s->cron,
                                 .tz = s->tz,
                                 .catchup = s->catchup,
                                 .overlap = s->overlap,
                                 .jitter = s->jitter,
                                 .start = s->start,
                                 .end = s->end,
                                 .params = build_params(t, s)};
}

static void copy_pause(struct schedule_row *r, const struct schedule_row *from)
{
    r->paused_at = from->paused_at;
    r->paused_by = from->paused_by;
    r->pause_reason = from->pause_reason;
}

static void copy_state(struct schedule_row *r, const struct schedule_row *from)
{
    r->id = from->id;
    r->done = from->done;
    r->waiting = from->waiting;
    r->last_run = from->last_run;
    r->skipped = from->skipped;
    r->skipped_at = from->skipped_at;
    r->missed_at = from->missed_at;
    copy_pause(r, from);
}

/* Matches new schedules with old ones by pattern first; then matches the rest by name. */
static int match_old_schedules(struct turn *t, const struct workflow *w, struct old_schedules *b,
                               struct schedule_row *r, struct apply_request *a, struct err *err)
{
    int64_t now = turn_wall_time(t);
    const struct schedule_row *old;

    for (size_t i = 0; i < w->nschedules; i++) {
        r[i] = row_from_definition(t, w, i);
        if ((old = match_by_pattern(b, &r[i]))) {
            copy_state(&r[i], old);
            a->kept++;
        }
    }
    for (size_t i = 0; i < w->nschedules; i++) {
        if (!r[i].id) {
            TRY(turn_new_ids(t, 1, &r[i].id, err));
            r[i].done = now;
            if ((old = match_by_name(b, r[i].name))) {
                copy_pause(&r[i], old);
                r[i].last_run = old->last_run;
            }
        }
        r[i].next = r[i].paused_at ? 0 : now;
    }
    for (size_t i = 0; i < b->n; i++)
        a->removed += !b->matched[i];
    return 0;
}

static void push_row(struct args *a, const struct schedule_row *r)
{
    args_row(a, r->id, r->workflow, r->name, r->cron, r->tz, r->catchup, (int)r->overlap, r->jitter,
             val_or_null(r->start), val_or_null(r->end), r->params);
    schedule_push_state(a, r);
}

/* Deletes the old rows and inserts all rows again, because schedules may have swapped their
 * names. */
static int replace_schedules(struct turn *t, const struct workflow *w, struct apply_request *a,
                             struct err *err)
{
    struct schedule_row *rows = arena_zalloc(&t->arena, (w->nschedules + 1) * sizeof(*rows));
    struct schedule_name name = {.name = NULL};
    struct old_schedules b = {0};

    stpncpy(name.workflow, w->name, sizeof(name.workflow) - 1);
    TRY(schedule_load(t, &name, &b.at, &b.n, err));
    b.matched = arena_zalloc(&t->arena, (b.n + 1) * sizeof(*b.matched));
    TRY(match_old_schedules(t, w, &b, rows, a, err));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_SCHEDULES_DELETE, w->name));
    args_begin(&t->args, Q_SCHEDULE_INSERT);
    for (size_t i = 0; i < w->nschedules; i++)
        push_row(&t->args, &rows[i]);
    schedule_wake(t);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

/* Locks the name. *hash is set to the definition that the name was bound to. It is NULL if the name
 * was not applied, in which case the name is now bound to w. */
static int lock_name(struct turn *t, const struct workflow *w, const struct apply_request *a,
                     const char **hash, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT, again = ROWS_INIT;
    bool inserted = false;

    TRY(ask(t, &r, err, Q_APPLIED_LOCK, w->name));
    if (!r.n)
        TRY(ask_any(t->db, &inserted, err, Q_APPLIED_INSERT, w->name, w->hash, t->now, a->by));
    if (inserted) {
        *hash = NULL;
        return 0;
    }
    if (!r.n) /* another transaction has applied the name since it was read */
        TRY(ask(t->db, &again, err, Q_APPLIED_LOCK, w->name));
    if (!r.n && !again.n)
        return err_set(err, E_REDO, "the workflow %s was deleted by another transaction", w->name);
    *hash = arena_strdup(&t->arena, rows_text(r.n ? &r : &again, 0, 0));
    return 0;
}

static int bind_name(struct turn *t, const struct workflow *w, struct apply_request *a,
                     struct err *err)
{
    const char *old = NULL;
    int rc = 0;

    TRY(lock_name(t, w, a, &old, err));
    TRY(applied_check_match(w->name, a->expected, old, err));
    a->unchanged = old && !strcmp(old, w->hash);
    /* Keep the old definition: a transaction that has read the name before may be about to use this
     * definition. */
    if (old && !a->unchanged && (rc = definition_use(t, old, NULL, NULL, err)) &&
        rc != -E_NOT_FOUND)
        return rc;
    return old ? db_queue(t->db, NULL, 1, err, Q_APPLIED_SET, w->name, w->hash, t->now, a->by) : 0;
}

/* Stores the definition with the text that it was read from, and records it as a version of the
 * name. */
static int store_definition(struct turn *t, const struct workflow *w, const struct apply_request *a,
                            struct err *err)
{
    TRY(definition_use(t, w->hash, w, a->definition, err));
    if (a->source)
        TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_DEFINITION_SET_SOURCE, w->hash, a->source));
    if (a->unchanged)
        return 0;
    return db_queue(t->db, NULL, 1, err, Q_APPLICATION_INSERT, w->name, t->now, w->ntasks,
                    w->nparams, w->hash, a->by, w->description);
}

int op_apply(struct turn *t, struct apply_request *a, struct err *err)
{
    const struct workflow *w;

    a->kept = a->removed = 0;
    TRY(workflow_read(a->definition, strlen(a->definition), &t->arena, &w, err));
    TRY(bind_name(t, w, a, err));
    TRY(store_definition(t, w, a, err));
    TRY(replace_schedules(t, w, a, err));
    TRY(triggers_replace(t, w, err));
    memcpy(a->hash, w->hash, sizeof(a->hash));
    a->schedules = w->nschedules;
    return 0;
}
