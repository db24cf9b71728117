/* tokens.c - creates and revokes access tokens. A row of access_tokens is never deleted. No other
 * token can get its name until the token is revoked or has expired.
 * */
#include "core/access_token.h"
#include "store/ops/audit.h"

/* The token that currently owns a name. */
struct name_holder {
    int64_t created_at; /* 0 if no token owns the name */
    int64_t expires_at; /* 0 if the token never expires */
};

/* Locks the token that owns the name, if there is one, and reads its times. Then sets t->now, with
 * which the caller compares them. */
static int lock_name(struct turn *t, const char *name, struct name_holder *out, struct err *err)
{
    *out = (struct name_holder){0};
    return ask_one(t, INTO(&out->created_at, &out->expires_at), err, Q_TOKEN_LOCK, name);
}

static int audit_token(struct turn *t, const char *name, enum audit_action action, const char *by,
                       const char *reason, struct err *err)
{
    return audit_write(
        t,
        &(struct audit_entry){
            .kind = "token", .name = name, .action = action, .by = by, .reason = reason},
        err);
}

static int refuse_name(const char *name, struct err *err)
{
    return err_set(err, E_CONFLICT,
                   "there is already a valid token '%.100s': choose another name, or revoke that "
                   "token first",
                   name);
}

int op_create_token(struct turn *t, const struct new_token *k, struct err *err)
{
    struct name_holder holder;
    bool inserted;

    TRY(lock_name(t, k->name, &holder, err));
    if (holder.created_at && (!holder.expires_at || holder.expires_at > t->now))
        return refuse_name(k->name, err);
    if (holder.created_at)
        TRY(db_queue(t->db, NULL, 1, err, Q_TOKEN_REPLACE, k->name, t->now));
    TRY(ask_any(t->db, &inserted, err, Q_TOKEN_INSERT, val_bytes(k->hash, TOKEN_HASH_SIZE), k->name,
                (int)k->scopes, k->queues, k->lanes, t->now, k->by,
                val_or_null(k->lifetime ? t->now + k->lifetime : 0)));
    if (!inserted)
        return refuse_name(k->name, err);
    return audit_token(t, k->name, AUDIT_CREATED, k->by, k->reason, err);
}

int op_revoke_token(struct turn *t, const struct token_revocation *r, struct err *err)
{
    struct name_holder holder;

    TRY(lock_name(t, r->name, &holder, err));
    if (!holder.created_at)
        return err_set(err, E_NOT_FOUND,
                       "there is no token '%.100s' to revoke: `pawl admin token list` lists them",
                       r->name);
    TRY(db_queue(t->db, NULL, 1, err, Q_TOKEN_REVOKE, r->name, t->now, r->by));
    return audit_token(t, r->name, AUDIT_REVOKED, r->by, r->reason, err);
}

int op_record_token_use(struct turn *t, const unsigned char *hash, struct err *err)
{
    TRY(turn_sync(t, err));
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_TOKEN_USE, val_bytes(hash, TOKEN_HASH_SIZE),
                    t->now, t->now - TOKEN_USE_PRECISION);
}
