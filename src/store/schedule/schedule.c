/* schedule.c - reads and writes rows of schedules, and has the operator actions: pause, resume,
 * manual run. See schedule.h. */
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/ops/audit.h"
#include "store/schedule/schedule_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

const char *schedule_full_name(const struct schedule_row *r, char out[SCHEDULE_NAME_SIZE])
{
    snprintf(out, SCHEDULE_NAME_SIZE, "%s/%s", r->workflow, r->name);
    return out;
}

int schedule_name_parse(const char *text, struct schedule_name *out, struct err *err)
{
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);

    *out = (struct schedule_name){.name = NULL};
    if (!len || len > WORKFLOW_NAME_MAX ||
        (slash && (!slash[1] || strlen(slash + 1) > WORKFLOW_NAME_MAX)))
        return err_set(
            err, E_INVALID,
            "'%.100s' is not a schedule name: write WORKFLOW/NAME, or WORKFLOW for all its "
            "schedules",
            text);
    memcpy(out->workflow, text, len);
    if (slash) {
        memcpy(out->own, slash + 1, strlen(slash + 1)); /* the length was checked above */
        out->name = out->own;
    }
    return 0;
}

/* ---- rows ---- */

void schedule_read_row(struct schedule_row *out, const struct rows *r, size_t row,
                       struct arena *arena)
{
    int overlap;

    rows_read(r, row, 0, arena, &out->id, &out->workflow, &out->name, &out->cron, &out->tz,
              &out->catchup, &overlap, &out->jitter, &out->start, &out->end, &out->params,
              &out->done, &out->next, &out->waiting, &out->last_run, &out->skipped,
              &out->skipped_at, &out->missed_at, &out->paused_at, &out->paused_by,
              &out->pause_reason, &out->problem);
    out->overlap = (enum overlap)overlap;
}

int schedule_load(struct turn *t, const struct schedule_name *n, struct schedule_row **out,
                  size_t *count, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_SCHEDULES_OF, n->workflow, n->name));
    *out = arena_alloc(&t->arena, (r.n + 1) * sizeof(**out));
    *count = r.n;
    for (size_t i = 0; i < r.n; i++)
        schedule_read_row(&(*out)[i], &r, i, &t->arena);
    return 0;
}

void schedule_push_state(struct args *a, const struct schedule_row *r)
{
    args_row(a, r->done, val_or_null(r->next), val_or_null(r->waiting), val_or_null(r->last_run),
             r->skipped, val_or_null(r->skipped_at), val_or_null(r->missed_at),
             val_or_null(r->paused_at), r->paused_by, r->pause_reason, r->problem);
}

void schedule_push_row(struct args *a, const struct schedule_row *r)
{
    args_int(a, r->id);
    schedule_push_state(a, r);
}

int schedule_write_row(struct turn *t, const struct schedule_row *r, struct err *err)
{
    args_begin(&t->args, Q_SCHEDULE_WRITE);
    schedule_push_row(&t->args, r);
    return db_send(t->db, &t->args, NULL, 1, err);
}

int schedule_from_row(const struct schedule_row *r, const char *name, struct schedule *out,
                      struct tz **zone, struct err *err)
{
    *out = (struct schedule){.name = name,
                             .tz = r->tz,
                             .catchup = r->catchup,
                             .overlap = r->overlap,
                             .jitter = r->jitter,
                             .start = r->start,
                             .end = r->end,
                             .paused = r->paused_at != 0};
    TRY(cron_parse(r->cron, &out->cron, err));
    return tz_load(r->tz ? r->tz : "UTC", zone, err);
}

struct submission schedule_build_submission(struct turn *t, const struct schedule_row *r,
                                            const char *hash, int64_t due,
                                            const struct schedule_action *by)
{
    char name[SCHEDULE_NAME_SIZE];

    return (struct submission){
        .hash = hash,
        .input = r->params,
        .due = due,
        .origin = data_build(t, "tutt", "schedule", schedule_full_name(r, name), "due_at", due,
                             "by", by ? by->by : NULL, "reason", by ? by->reason : NULL),
        .task_index = -1};
}

/* ---- operator actions ---- */

static int write_changed(struct turn *t, const struct schedule_row *r, struct schedule_action *o,
                         struct err *err)
{
    char name[SCHEDULE_NAME_SIZE];

    o->changed++;
    TRY(schedule_write_row(t, r, err));
    return audit_write(
        t,
        &(struct audit_entry){.kind = "schedule",
                              .name = schedule_full_name(r, name),
                              .action = o->verb == SCHEDULE_PAUSE ? AUDIT_PAUSED : AUDIT_RESUMED,
                              .by = o->by,
                              .reason = o->reason},
        err);
}

static int pause_all(struct turn *t, struct schedule_row *rows, size_t n, struct schedule_action *o,
                     struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct schedule_row *r = &rows[i];

        if (r->paused_at)
            continue;
        if (r->waiting) {
            r->skipped++;
            r->skipped_at = r->waiting;
        }
        r->waiting = r->next = 0;
        r->paused_at = turn_wall_time(t);
        r->paused_by = o->by;
        r->pause_reason = o->reason;
        TRY(write_changed(t, r, o, err));
    }
    return 0;
}

static int resume_all(struct turn *t, struct schedule_row *rows, size_t n,
                      struct schedule_action *o, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct schedule_row *r = &rows[i];

        if (!r->paused_at)
            continue;
        r->paused_at = 0;
        r->paused_by = r->pause_reason = NULL;
        r->done = r->next = turn_wall_time(t);
        TRY(write_changed(t, r, o, err));
    }
    schedule_wake(t);
    return o->changed ? 0 : err_set_state(err, "the schedule %s is not paused", o->name);
}

/* Finds the definition that the schedule's workflow is bound to. Does not lock the workflow's name,
 * which could deadlock: a transaction that applies the workflow holds that lock while it waits for
 * the lock of the schedule, which this turn holds. */
static int find_applied_hash(struct turn *t, const struct schedule_row *row, const char **out,
                             struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int rc;

    if (!(rc = ask(t, &r, err, Q_SCHEDULE_FACTS, row->id)) && r.n)
        *out = arena_strdup(&t->arena, rows_text(&r, 0, 2));
    return rc;
}

static int run_manually(struct turn *t, struct schedule_row *r, struct schedule_action *o,
                        struct err *err)
{
    struct submission s;
    const char *hash = NULL;

    TRY(find_applied_hash(t, r, &hash, err));
    if (!hash)
        return err_set(err, E_NOT_FOUND,
                       "the workflow %s is not applied: apply it with `pawl apply FILE`",
                       r->workflow);
    s = schedule_build_submission(t, r, hash, 0, o);
    TRY(op_submit(t, &s, 1, err));
    if (s.rc) {
        *err = s.err;
        return s.rc;
    }
    o->id = r->last_run = s.id;
    o->changed = 1;
    return schedule_write_row(t, r, err);
}

int op_change_schedule(struct turn *t, struct schedule_action *o, struct err *err)
{
    struct schedule_name name;
    struct schedule_row *rows;
    size_t n;

    o->changed = 0;
    TRY(schedule_name_parse(o->name, &name, err));
    TRY(schedule_load(t, &name, &rows, &n, err));
    if (!n)
        return err_set(err, E_NOT_FOUND, "there is no schedule %.210s: `pawl schedule` lists them",
                       o->name);
    if (o->verb == SCHEDULE_PAUSE)
        return pause_all(t, rows, n, o, err);
    if (o->verb == SCHEDULE_RESUME)
        return resume_all(t, rows, n, o, err);
    if (n > 1)
        return err_set(err, E_INVALID,
                       "%s has %zu schedules: name one of them, for example %s/%s, or submit the "
                       "workflow by its name",
                       o->name, n, rows[0].workflow, rows[0].name);
    return run_manually(t, &rows[0], o, err);
}
