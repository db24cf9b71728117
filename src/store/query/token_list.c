/* token_list.c - reads access tokens; see token_list.h. */
#include "store/query/token_list.h"

#include "core/access_token.h"
#include "store/query/query_internal.h"

#define TOKEN_COLUMNS 10 /* number of columns of the SQL macro @token@ */

enum token_state token_state(const struct token_row *k, int64_t now)
{
    if (k->revoked_at)
        return TOKEN_REVOKED;
    return k->expires_at && k->expires_at <= now ? TOKEN_EXPIRED : TOKEN_ACTIVE;
}

static void read_tokens(const struct rows *r, int64_t now, struct token_list *out)
{
    LIST_ALLOC(out, r->n);
    out->now = now;
    for (size_t i = 0; i < out->n; i++) {
        struct token_row *k = &out->at[i];

        rows_read(r, i, 0, &out->arena, &k->name, &k->scopes, &k->queues, &k->lanes, &k->created_at,
                  &k->created_by, &k->expires_at, &k->revoked_at, &k->revoked_by, &k->last_used_at);
        if (r->ncols > TOKEN_COLUMNS)
            audit_read_last(&k->last, r, i, TOKEN_COLUMNS, &out->arena);
    }
}

int query_tokens(struct store *s, struct token_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_TOKENS)));
    read_tokens(&r, now, out);
    return 0;
}

int query_token(struct store *s, const unsigned char *hash, struct token_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_TOKEN, val_bytes(hash, TOKEN_HASH_SIZE))));
    read_tokens(&r, now, out);
    return 0;
}
