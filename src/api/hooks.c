/* hooks.c - webhooks: create, revoke, list. hook_receive.c takes their messages. */
#include "api/api.h"
#include "store/operator.h"
#include "store/query/hook_list.h"

#include <sodium.h>

/* ---- create and revoke ---- */

static int check_name(const char *name, struct err *err)
{
    if (name && workflow_is_name(name))
        return 0;
    return err_set(err, E_INVALID,
                   "the name of a webhook must be a letter or _ followed by up to 99 letters, "
                   "digits, _ or -, not '%.110s'",
                   name ? name : "");
}

static int find_key(const struct pawl_hook *h, int *signature, struct webhook_key *key,
                    struct err *err)
{
    if (sodium_init() < 0)
        return err_set(err, E_INTERNAL, "libsodium can't be initialized");
    *signature = h->signature ? webhook_signature_from_text(h->signature) : WEBHOOK_STANDARD;
    if (!*signature)
        return err_set(err, E_INVALID,
                       "'%.60s' is not a signature of webhooks: use standard or github",
                       h->signature);
    if (h->secret)
        return webhook_read_secret((enum webhook_signature) * signature, h->secret, key, err);
    webhook_make_key((enum webhook_signature) * signature, key);
    return 0;
}

TURN_BODY(create_body, op_create_hook)

static int create(struct pawl *p, void *arg, struct err *err)
{
    return store_turn(p->store, create_body, arg, err);
}

int pawl_hook_create(struct pawl *p, const struct pawl_hook *h, const char *by, const char *reason,
                     char **secret, struct pawl_error *e)
{
    AUTO(webhook_wipe_key) struct webhook_key key = {0};
    struct new_hook k = {.name = h->name, .key = &key, .by = by, .reason = reason};
    API_ERR(e);

    TRY(check_name(h->name, err));
    TRY(find_key(h, &k.signature, &key, err));
    TRY(api_request(p, &k.by, reason, create, &k, e));
    *secret = mem_alloc(WEBHOOK_SECRET_SIZE);
    webhook_write_secret((enum webhook_signature)k.signature, &key, *secret);
    return 0;
}

TURN_BODY(revoke_body, op_revoke_hook)

static int revoke(struct pawl *p, void *arg, struct err *err)
{
    const struct hook_revocation *r = arg;

    TRY(check_name(r->name, err));
    return store_turn(p->store, revoke_body, arg, err);
}

int pawl_hook_revoke(struct pawl *p, const char *name, const char *by, const char *reason,
                     struct pawl_error *e)
{
    struct hook_revocation r = {.name = name, .by = by, .reason = reason};

    return api_request(p, &r.by, reason, revoke, &r, e);
}

/* ---- list ---- */

#define ROW struct hook_row
static const struct column columns[] = {
    {"name", TEXT(name), "its URL ends with it"},
    {"signature", WORD(signature, webhook_signature_text),
     "how its messages are signed: `standard` or `github`"},
    {"workflow", OPT_TEXT(workflow),
     "the applied workflow that it starts; null if none has `on: webhook` with its name"},
    {"created_at", TIME(created_at), NULL},
    {"created_by", OPT_TEXT(created_by), NULL},
};
const struct noun hook_noun = {"## A webhook", NOUN_COLUMNS(columns)};
#undef ROW

int pawl_hooks(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(hook_list_release) struct hook_list l = {0};
    API_ERR(e);

    TRY(query_hooks(p->store, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        lines_add(&lines, &hook_noun, &l.at[i]);
    return 0;
}
