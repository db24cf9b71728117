/* receive_webhook.c - starts the workflow that a webhook triggers. The caller has checked the
 * signature. A message that is delivered again has the same idempotency key, and gets the execution
 * of the first delivery, whatever the workflow's definition is by now. */
#include "store/schedule/receive_webhook.h"
#include "store/turn.h"
#include "store/workflow/workflow.h"

#include "base/json.h"
#include "core/resolve.h"

#include <jansson.h>
#include <string.h>

static int find_earlier(struct turn *t, struct webhook_delivery *d, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_KEY_FIND);
    args_text(&t->args, d->key);
    TRY(turn_query(t, &t->args, &r, err));
    d->existed = r.n > 0;
    d->id = r.n ? rows_int(&r, 0, 1) : 0;
    return 0;
}

static int find_definition(struct turn *t, const struct webhook_delivery *d,
                           const struct definition **out, size_t *number, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_WEBHOOK_DEFINITION, d->hook));
    if (!r.n || rows_null(&r, 0, 1))
        return err_set(err, E_NOT_FOUND,
                       "no applied workflow has `on: {webhook: %.100s}`: apply one with "
                       "`pawl apply FILE`",
                       d->hook);
    TRY(definition_get(t, rows_text(&r, 0, 1), out, err));
    for (*number = 0; *number < (*out)->workflow->nwebhooks; ++*number)
        if (!strcmp((*out)->workflow->webhooks[*number].name, d->hook))
            return 0;
    return err_set(err, E_REDO, "the workflow of the webhook %.100s is being applied", d->hook);
}

static int submit(struct turn *t, struct webhook_delivery *d, struct err *err)
{
    struct submission s = {
        .task_index = -1, .key = d->key, .by = arena_printf(&t->arena, "webhook %s", d->hook)};
    json_auto_t *params = NULL;
    const struct definition *def;
    size_t number = 0;

    TRY(find_definition(t, d, &def, &number, err));
    TRY(resolve_trigger(def->templates, def->templates->webhooks[number], d->trigger, &params,
                        err));
    s.hash = def->hash;
    s.input = json_arena_text(params, &t->arena);
    TRY(op_submit(t, &s, 1, err));
    if (s.rc) {
        *err = s.err;
        return s.rc;
    }
    d->id = s.id;
    d->existed = s.existed;
    return 0;
}

int op_receive_webhook(struct turn *t, struct webhook_delivery *d, struct err *err)
{
    int rc;

    TRY(find_earlier(t, d, err));
    if (d->existed)
        return 0;
    rc = submit(t, d, err);
    if (rc != -E_CONFLICT)
        return rc;
    return find_earlier(t, d, err); /* another delivery of the message came first */
}
