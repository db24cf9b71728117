/* delete_applied.c - deletes the name of a workflow with its schedules; see catalogue.h. */
#include "store/applied.h"
#include "store/door/event_data.h"
#include "store/ops/audit.h"
#include "store/schedule/catalogue.h"
#include "store/schedule/schedule_rows.h"
#include "store/workflow/workflow.h"

#include <string.h>

/* Deletes the schedules of the name. A due time that waits for a run to end is dropped with its
 * schedule. */
static int delete_schedules(struct turn *t, struct applied_deletion *d, struct err *err)
{
    struct schedule_name name = {.name = NULL};
    struct schedule_row *rows;

    stpncpy(name.workflow, d->name, sizeof(name.workflow) - 1);
    TRY(schedule_load(t, &name, &rows, &d->schedules, err));
    for (size_t i = 0; i < d->schedules; i++)
        d->waiting += rows[i].waiting != 0;
    return db_queue(t->db, NULL, (long)d->schedules, err, Q_SCHEDULES_DELETE, d->name);
}

/* Marks the definition as used, so that it is kept: a transaction that has already read the name
 * may be about to start a run. */
static int keep_definition(struct turn *t, const char *hash, struct err *err)
{
    int rc = definition_use(t, hash, NULL, NULL, err);

    return rc == -E_NOT_FOUND ? 0 : rc;
}

int op_delete_applied(struct turn *t, struct applied_deletion *d, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    d->schedules = d->waiting = 0;
    TRY(ask(t, &r, err, Q_APPLIED_LOCK, d->name));
    if (!r.n)
        return applied_missing(ASK_ON(t->db), d->name, err);
    TRY(applied_check_match(d->name, d->expected, rows_text(&r, 0, 0), err));
    stpncpy(d->hash, rows_text(&r, 0, 0), sizeof(d->hash) - 1);
    TRY(keep_definition(t, d->hash, err));
    TRY(delete_schedules(t, d, err));
    TRY(triggers_delete(t, d->name, err));
    TRY(db_queue(t->db, NULL, 1, err, Q_APPLIED_DELETE, d->name));
    return audit_write(
        t,
        &(struct audit_entry){
            .kind = "workflow",
            .name = d->name,
            .action = AUDIT_DELETED,
            .by = d->by,
            .reason = d->reason,
            .data = data_build(t, "tn", "definition", d->hash, "schedules", (int64_t)d->schedules)},
        err);
}
