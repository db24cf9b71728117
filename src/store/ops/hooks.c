/* hooks.c - creates and revokes webhooks. schedule/receive_webhook.c starts what they trigger,
 * workflow/deliveries.c reports to them. */
#include "core/webhook.h"
#include "store/ops/audit.h"

static int audit_hook(struct turn *t, const char *name, enum audit_action action, const char *by,
                      const char *reason, struct err *err)
{
    return audit_write(
        t,
        &(struct audit_entry){
            .kind = "hook", .name = name, .action = action, .by = by, .reason = reason},
        err);
}

/* Stores read the webhooks that report something again when the version has changed. */
static int announce(struct turn *t, struct err *err)
{
    int64_t version;

    return ask_one(t->db, INTO(&version), err, Q_SETTINGS_RAISE_VERSION);
}

int op_create_hook(struct turn *t, const struct new_hook *h, struct err *err)
{
    bool inserted;

    TRY(turn_sync(t, err));
    TRY(ask_any(t->db, &inserted, err, Q_HOOK_INSERT, h->name, (int)h->signature,
                val_bytes(h->key->bytes, h->key->len), t->now, h->by, h->url, h->statuses,
                h->workflow, h->queue, (int)h->tasks));
    if (!inserted)
        return err_set(err, E_CONFLICT,
                       "there is already a webhook '%.100s': choose another name, or revoke it "
                       "first",
                       h->name);
    if (h->url)
        TRY(announce(t, err));
    return audit_hook(t, h->name, AUDIT_CREATED, h->by, h->reason, err);
}

int op_revoke_hook(struct turn *t, const struct hook_revocation *r, struct err *err)
{
    int64_t reports = -1;

    TRY(turn_sync(t, err));
    TRY(ask_one(t->db, INTO(&reports), err, Q_HOOK_DELETE, r->name));
    if (reports < 0)
        return err_set(err, E_NOT_FOUND,
                       "there is no webhook '%.100s' to revoke: `pawl admin hook list` lists them",
                       r->name);
    if (reports)
        TRY(announce(t, err));
    return audit_hook(t, r->name, AUDIT_REVOKED, r->by, r->reason, err);
}
