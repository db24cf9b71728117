/* tokens.c - access tokens: create, revoke, list. token_check.c checks them. */
#include "api/api.h"
#include "base/text.h"
#include "core/access_token.h"
#include "store/query/token_list.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_NAME   100
#define MAX_LIST   100 /* queues or lanes of one token */
#define ALL_SCOPES (PAWL_SCOPE_ADMIN * 2 - 1)

/* The scopes in pawl.h must have the codes of the vocabulary. */
#define X(name, code, text) \
    static_assert((int)PAWL_SCOPE_##name == (int)TOKEN_SCOPE_##name, "scopes as in pawl.h");
TOKEN_SCOPES(X)
#undef X

/* ---- create ---- */

static int check_scopes(const struct pawl_token *t, struct err *err)
{
    bool can_restrict = (t->scopes & (PAWL_SCOPE_WORK | PAWL_SCOPE_ADMIN)) == PAWL_SCOPE_WORK;

    if (!t->scopes || t->scopes > ALL_SCOPES)
        return err_set(err, E_INVALID,
                       "the token '%s' needs at least one scope: read, submit, operate, work or "
                       "admin",
                       t->name);
    if (!can_restrict && (t->queues || t->lanes))
        return err_set(
            err, E_INVALID,
            "the token '%s' can't be restricted to queues or lanes: only a token that has "
            "the scope work and not admin can be",
            t->name);
    return 0;
}

static int check_list(const char *what, const char *const *list, size_t max, struct err *err)
{
    size_t n = api_count(list);

    if (list && (!n || n > MAX_LIST))
        return err_set(err, E_INVALID, "a token can be restricted to 1 to %d %ss, not to %zu",
                       MAX_LIST, what, n);
    for (size_t i = 0; i < n; i++)
        TRY(text_check_name(what, list[i], max, err));
    return 0;
}

static int check_token(const struct pawl_token *t, struct err *err)
{
    if (!t->name)
        return err_set(err, E_INVALID, "the name of the token is missing");
    TRY(text_check_name("token's name", t->name, MAX_NAME, err));
    TRY(check_scopes(t, err));
    TRY(check_list("queue", t->queues, STORE_MAX_QUEUE, err));
    TRY(check_list("lane", t->lanes, STORE_MAX_LANE, err));
    if (t->expires_in < 0 || t->expires_in > STORE_MAX_DELAY)
        return err_set(err, E_INVALID, "the token '%s' must expire within 100 years, or never",
                       t->name);
    return 0;
}

/* Writes the list as JSON; NULL if there is no list. The caller frees it. */
static char *list_to_json(const char *const *list)
{
    struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    if (!list)
        return NULL;
    json_write_begin(&w, '[');
    for (; *list; list++)
        json_write_text(&w, *list);
    json_write_end(&w, ']');
    return out.ptr;
}

static int make_secret(struct pawl *p, struct access_token *out, struct err *err)
{
    const char *tenant = store_url(p->store)->tenant;

    if (sodium_init() < 0)
        return err_set(err, E_INTERNAL, "libsodium can't be initialized");
    snprintf(out->tenant, sizeof(out->tenant), "%s", tenant ? tenant : "");
    randombytes_buf(out->secret, sizeof(out->secret));
    return 0;
}

TURN_BODY(create_body, op_create_token)

static int create(struct pawl *p, void *arg, struct err *err)
{
    return store_turn(p->store, create_body, arg, err);
}

struct remote_creation {
    const struct pawl_token *token;
    const char *reason;
    char **text;
};

static int create_remote(struct pawl *p, void *arg, struct err *err)
{
    const struct remote_creation *c = arg;
    AUTO_BUF scopes = BUF_INIT;

    for (unsigned bit = 1; bit <= PAWL_SCOPE_ADMIN; bit <<= 1)
        if (c->token->scopes & bit)
            buf_addf(&scopes, "%s%s", scopes.len ? "," : "", pawl_scope_text(bit));
    return remote_token_create(p->remote, c->token, buf_cstr(&scopes), c->reason, c->text, err);
}

int pawl_token_create(struct pawl *p, const struct pawl_token *t, const char *by,
                      const char *reason, char **text, struct pawl_error *e)
{
    AUTO(access_token_wipe) struct access_token token = {0};
    unsigned char hash[TOKEN_HASH_SIZE];
    AUTO_FREE char *queues = NULL, *lanes = NULL;
    struct new_token k = {.name = t->name,
                          .hash = hash,
                          .scopes = t->scopes,
                          .lifetime = t->expires_in,
                          .by = by,
                          .reason = reason};
    API_ERR(e);

    TRY(check_token(t, err));
    if (p->remote)
        return api_request(p, &k.by, reason, create_remote,
                           &(struct remote_creation){t, reason, text}, e);
    TRY(make_secret(p, &token, err));
    access_token_hash(&token, hash);
    k.queues = queues = list_to_json(t->queues);
    k.lanes = lanes = list_to_json(t->lanes);
    TRY(api_request(p, &k.by, reason, create, &k, e));
    *text = access_token_write(&token);
    return 0;
}

/* ---- revoke ---- */

TURN_BODY(revoke_body, op_revoke_token)

static int revoke(struct pawl *p, void *arg, struct err *err)
{
    const struct token_revocation *r = arg;

    if (!r->name)
        return err_set(err, E_INVALID, "the name of the token to revoke is missing");
    TRY(text_check_name("token's name", r->name, MAX_NAME, err));
    if (p->remote)
        return remote_token_revoke(p->remote, r->name, r->reason, err);
    return store_turn(p->store, revoke_body, arg, err);
}

int pawl_token_revoke(struct pawl *p, const char *name, const char *by, const char *reason,
                      struct pawl_error *e)
{
    struct token_revocation r = {.name = name, .by = by, .reason = reason};

    return api_request(p, &r.by, reason, revoke, &r, e);
}

/* ---- list ---- */

struct token_answer {
    struct token_row k;
    const char *state;
    const struct last_audit *last;
};

#define ROW struct token_answer
static void write_scopes(struct json_writer *w, const void *row)
{
    const struct token_answer *a = row;

    json_write_begin(w, '[');
    for (int scope = 1; scope <= PAWL_SCOPE_ADMIN; scope *= 2)
        if (a->k.scopes & scope)
            json_write_text(w, token_scope_text(scope));
    json_write_end(w, ']');
}

static const struct column columns[] = {
    {"name", TEXT(k.name),
     "the requester (`by`) of all that is done with it; unique among active tokens"},
    {"scopes", CUSTOM(write_scopes, "array"),
     "some of `read`, `submit`, `operate`, `work` and `admin`, which implies the others"},
    {"queues", JSON(k.queues, "array or null"),
     "the queues whose jobs a worker may claim with it; null: any"},
    {"lanes", JSON(k.lanes, "array or null"),
     "the lanes whose jobs a worker may claim with it; null: any"},
    {"created_at", TIME(k.created_at), NULL},
    {"created_by", OPT_TEXT(k.created_by), NULL},
    {"expires_at", OPT_TIME(k.expires_at), "null if it never expires"},
    {"revoked_at", OPT_TIME(k.revoked_at), NULL},
    {"revoked_by", OPT_TEXT(k.revoked_by), NULL},
    {"last_used_at", OPT_TIME(k.last_used_at), "its last use; recorded at most once a minute"},
    {"state", TEXT(state), "`active`, `expired` or `revoked`"},
    {"last_order", OPT_OBJECT(last, last_audit_noun),
     "its creation or, if it was revoked, its revocation"},
};
const struct noun token_noun = {"## A token", NOUN_COLUMNS(columns)};
#undef ROW

int pawl_tokens(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    static const char *const states[] = {
        [TOKEN_ACTIVE] = "active", [TOKEN_EXPIRED] = "expired", [TOKEN_REVOKED] = "revoked"};
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(token_list_release) struct token_list l = {0};
    API_ERR(e);

    if (p->remote)
        return remote_lines(p->remote, "/v1/tokens", NULL, NULL, -1, each, arg, err);
    TRY(query_tokens(p->store, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        lines_add(&lines, &token_noun,
                  &(struct token_answer){.k = l.at[i],
                                         .state = states[token_state(&l.at[i], l.now)],
                                         .last = audit_or_null(&l.at[i].last)});
    return 0;
}
