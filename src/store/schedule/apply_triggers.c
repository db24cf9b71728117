/* apply_triggers.c - records which workflows an applied workflow follows (`on: workflow`), and
 * which webhooks start it. ../workflow/follow_runs.c and receive_webhook.c start its runs. */
#include "store/schedule/schedule_rows.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <string.h>

struct trigger_row {
    const char *source;
    int statuses;
};

/* The workflows that w follows, each once, ordered as in the definition. */
static size_t list_sources(const struct workflow *w, struct trigger_row *out)
{
    size_t n = 0;

    for (size_t i = 0; i < w->nfollows; i++) {
        size_t k = 0;

        while (k < n && strcmp(out[k].source, w->follows[i].name) != 0)
            k++;
        if (k == n)
            out[n++] = (struct trigger_row){.source = w->follows[i].name};
        out[k].statuses |= follow_statuses(&w->follows[i]);
    }
    return n;
}

/* Whether the stored rows are these. */
static bool are_stored(const struct rows *stored, const struct trigger_row *rows, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < stored->n; i++)
        for (size_t k = 0; k < n; k++)
            found += !strcmp(rows_text(stored, i, 0), rows[k].source) &&
                     rows_int(stored, i, 1) == rows[k].statuses;
    return stored->n == n && found == n;
}

static int write_triggers(struct turn *t, const char *workflow, const struct trigger_row *rows,
                          size_t n, struct err *err)
{
    AUTO_ROWS stored = ROWS_INIT;
    int64_t version;

    TRY(ask(t->db, &stored, err, Q_TRIGGERS_OF, workflow));
    if (are_stored(&stored, rows, n))
        return 0;
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_TRIGGERS_DELETE, workflow));
    args_begin(&t->args, Q_TRIGGER_INSERT);
    for (size_t i = 0; i < n; i++)
        args_row(&t->args, workflow, rows[i].source, rows[i].statuses);
    TRY(db_send(t->db, &t->args, NULL, ANY_ROWS, err));
    return ask_one(t->db, INTO(&version), err, Q_SETTINGS_RAISE_VERSION);
}

/* ---- webhooks ---- */

static bool has_webhooks(const struct rows *stored, const struct workflow *w)
{
    size_t found = 0;

    for (size_t i = 0; i < stored->n; i++)
        for (size_t k = 0; k < w->nwebhooks; k++)
            found += !strcmp(rows_text(stored, i, 0), w->webhooks[k].name);
    return stored->n == w->nwebhooks && found == w->nwebhooks;
}

/* Refuses a webhook that starts another workflow. */
static int check_free(struct turn *t, const struct workflow *w, struct err *err)
{
    for (size_t i = 0; i < w->nwebhooks; i++) {
        AUTO_ROWS r = ROWS_INIT;

        TRY(ask(t->db, &r, err, Q_WEBHOOK_TAKEN, w->webhooks[i].name, w->name));
        if (r.n)
            return err_set(err, E_INVALID,
                           "the webhook %s already starts the workflow %s: choose another name, "
                           "or remove it there",
                           w->webhooks[i].name, rows_text(&r, 0, 0));
    }
    return 0;
}

/* Inserts in the order of names, so that two turns never deadlock. */
static int write_webhooks(struct turn *t, const struct workflow *w, struct err *err)
{
    const char **names = arena_alloc(&t->arena, (w->nwebhooks + 1) * sizeof(*names));
    AUTO_ROWS stored = ROWS_INIT;

    TRY(ask(t->db, &stored, err, Q_WEBHOOKS_OF, w->name));
    if (has_webhooks(&stored, w))
        return 0;
    for (size_t i = 0; i < w->nwebhooks; i++) {
        size_t k = i;

        for (; k && strcmp(names[k - 1], w->webhooks[i].name) > 0; k--)
            names[k] = names[k - 1];
        names[k] = w->webhooks[i].name;
    }
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_WEBHOOKS_DELETE, w->name));
    args_begin(&t->args, Q_WEBHOOK_INSERT);
    for (size_t i = 0; i < w->nwebhooks; i++)
        args_row(&t->args, names[i], w->name);
    TRY(db_send(t->db, &t->args, NULL, ANY_ROWS, err));
    return check_free(t, w, err);
}

/* ---- both ---- */

int triggers_replace(struct turn *t, const struct workflow *w, struct err *err)
{
    struct trigger_row *rows = arena_zalloc(&t->arena, (w->nfollows + 1) * sizeof(*rows));

    TRY(write_triggers(t, w->name, rows, list_sources(w, rows), err));
    return write_webhooks(t, w, err);
}

int triggers_delete(struct turn *t, const char *workflow, struct err *err)
{
    TRY(write_triggers(t, workflow, NULL, 0, err));
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_WEBHOOKS_DELETE, workflow);
}
