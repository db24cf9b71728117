/* hooks.c - creates and revokes webhooks. schedule/receive_webhook.c starts what they trigger. */
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

int op_create_hook(struct turn *t, const struct new_hook *h, struct err *err)
{
    bool inserted;

    TRY(turn_sync(t, err));
    TRY(ask_any(t->db, &inserted, err, Q_HOOK_INSERT, h->name, (int)h->signature,
                val_bytes(h->key->bytes, h->key->len), t->now, h->by));
    if (!inserted)
        return err_set(err, E_CONFLICT,
                       "there is already a webhook '%.100s': choose another name, or revoke it "
                       "first",
                       h->name);
    return audit_hook(t, h->name, AUDIT_CREATED, h->by, h->reason, err);
}

int op_revoke_hook(struct turn *t, const struct hook_revocation *r, struct err *err)
{
    bool deleted;

    TRY(turn_sync(t, err));
    TRY(ask_any(t->db, &deleted, err, Q_HOOK_DELETE, r->name));
    if (!deleted)
        return err_set(err, E_NOT_FOUND,
                       "there is no webhook '%.100s' to revoke: `pawl admin hook list` lists them",
                       r->name);
    return audit_hook(t, r->name, AUDIT_REVOKED, r->by, r->reason, err);
}
