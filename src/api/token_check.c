/* token_check.c - checks the access tokens that a server receives: their tenant, and what they
 * allow. The errors for an unknown, an expired and a revoked token are equal, so that the sender
 * does not learn which tokens exist. */
#include "api/api.h"
#include "base/json_read.h"
#include "core/access_token.h"
#include "store/query/token_list.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STORED_LIST 65536 /* bytes */

/* ---- words and text ---- */

const char *pawl_scope_text(unsigned scope)
{
    const char *text = scope <= PAWL_SCOPE_ADMIN ? token_scope_text((int)scope) : "?";

    return *text == '?' ? NULL : text;
}

int pawl_scopes_parse(const char *text, unsigned *scopes, struct pawl_error *e)
{
    API_ERR(e);

    return token_scopes_parse(text, scopes, err);
}

int pawl_token_tenant(const char *text, char tenant[PAWL_TENANT_SIZE], struct pawl_error *e)
{
    AUTO(access_token_wipe) struct access_token token;
    API_ERR(e);

    _Static_assert(PAWL_TENANT_SIZE == TENANT_MAX + 1, "as pawl.h says");
    TRY(access_token_read(text, &token, err));
    memcpy(tenant, token.tenant, sizeof(token.tenant));
    return 0;
}

/* ---- rights ---- */

struct rights {
    struct pawl_rights rights; /* must be first: pointers to it are cast */
    struct arena arena;
};

void pawl_rights_free(struct pawl_rights *r)
{
    struct rights *own = (struct rights *)(void *)r;

    if (own)
        arena_release(&own->arena);
    free(own);
}

static bool is_listed(const char *const *list, const char *word)
{
    if (!list)
        return true;
    for (; *list; list++)
        if (!strcmp(*list, word))
            return true;
    return false;
}

bool pawl_rights_serve(const struct pawl_rights *r, const char *lane, const char *queue)
{
    return r->scopes & PAWL_SCOPE_WORK && is_listed(r->lanes, lane) && is_listed(r->queues, queue);
}

/* Reads a stored list; NULL stays NULL. */
static int read_list(const char *json, struct arena *arena, const char *const **out,
                     struct err *err)
{
    AUTO_JSON_NODE doc = {0};
    struct json_node item;
    const char **list;
    size_t n;

    *out = NULL;
    if (!json)
        return 0;
    TRY(json_read_open(json, strlen(json), MAX_STORED_LIST, "a stored list of an access token",
                       &doc, err));
    TRY(json_read_array(&doc, MAX_STORED_LIST, &n, err));
    list = arena_zalloc(arena, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        json_read_item(&doc, i, &item);
        TRY(json_read_text(&item, 1, STORE_MAX_LANE, arena, &list[i], err));
    }
    *out = list;
    return 0;
}

static int read_rights(const struct token_row *k, struct rights *out, struct err *err)
{
    struct pawl_rights *r = &out->rights;

    r->name = arena_strdup(&out->arena, k->name);
    r->scopes = (unsigned)k->scopes;
    if (r->scopes & PAWL_SCOPE_ADMIN)
        r->scopes |= PAWL_SCOPE_ADMIN - 1;
    r->expires_at = k->expires_at;
    TRY(read_list(k->queues, &out->arena, &r->queues, err));
    return read_list(k->lanes, &out->arena, &r->lanes, err);
}

static int make_rights(const struct token_row *k, struct pawl_rights **out, struct err *err)
{
    struct rights *r = mem_zalloc(sizeof(*r));
    int rc = read_rights(k, r, err);

    if (rc)
        pawl_rights_free(&r->rights);
    else
        *out = &r->rights;
    return rc;
}

/* ---- check ---- */

/* Whether the token was made for this tenant. A copy of a tenant's database has the hashes of its
 * tokens, but belongs to another tenant. */
static bool belongs_to(const struct access_token *token, const struct pawl *p)
{
    const char *tenant = store_url(p->store)->tenant;

    return !strcmp(token->tenant, tenant ? tenant : "");
}

TURN_BODY(use_body, op_record_token_use)

/* Records the use, at most once a minute. The token is valid even if the database accepts no change
 * now: recording is tried again a minute later, so that checks stay cheap meanwhile. */
static void record_use(struct pawl *p, const struct token_row *k, int64_t now,
                       unsigned char hash[TOKEN_HASH_SIZE])
{
    struct err ignored = ERR_INIT;

    if (k->last_used_at && now - k->last_used_at <= TOKEN_USE_PRECISION)
        return;
    if (clock_boot_us() < p->record_uses_from)
        return;
    if (store_light_turn(p->store, use_body, hash, &ignored))
        p->record_uses_from = clock_boot_us() + TOKEN_USE_PRECISION;
}

int pawl_token_check(struct pawl *p, const char *text, struct pawl_rights **out,
                     struct pawl_error *e)
{
    AUTO(access_token_wipe) struct access_token token;
    AUTO(token_list_release) struct token_list l = {0};
    unsigned char hash[TOKEN_HASH_SIZE];
    API_ERR(e);

    TRY(api_needs_database(p, "a check of a token works", err));
    TRY(access_token_read(text, &token, err));
    access_token_hash(&token, hash);
    TRY(query_token(p->store, hash, &l, err));
    if (!l.n || !belongs_to(&token, p) || token_state(&l.at[0], l.now) != TOKEN_ACTIVE)
        return err_set(err, E_NOT_FOUND,
                       "this access token is not valid: it is unknown, has expired or was revoked; "
                       "`pawl admin token create` creates another");
    record_use(p, &l.at[0], l.now, hash);
    return make_rights(&l.at[0], out, err);
}

int pawl_tokens_check(struct pawl *p, const char *const *texts, size_t n, bool *active,
                      struct pawl_error *e)
{
    AUTO_FREE unsigned char(*hashes)[TOKEN_HASH_SIZE] = NULL;
    AUTO_FREE bool *ours = NULL;
    struct err ignored = ERR_INIT;
    API_ERR(e);

    TRY(api_needs_database(p, "a check of tokens works", err));
    if (!n)
        return 0;
    hashes = mem_zalloc(n * sizeof(*hashes));
    ours = mem_zalloc(n * sizeof(*ours));
    for (size_t i = 0; i < n; i++) {
        AUTO(access_token_wipe) struct access_token token;

        ours[i] = !access_token_read(texts[i], &token, &ignored) && belongs_to(&token, p);
        if (ours[i])
            access_token_hash(&token, hashes[i]);
    }
    TRY(query_tokens_active(p->store, (const unsigned char(*)[TOKEN_HASH_SIZE])hashes, n, active,
                            err));
    for (size_t i = 0; i < n; i++)
        active[i] &= ours[i];
    return 0;
}
