/* token_list.c - reads access tokens; see token_list.h. */
#include "store/query/token_list.h"

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

/* ---- whether tokens are active ---- */

struct active_query {
    const unsigned char (*hashes)[TOKEN_HASH_SIZE];
    size_t n;
    bool *active;
};

static int read_active(struct db *db, void *arg, struct err *err)
{
    struct active_query *q = arg;
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    struct token_row k = {0};
    int64_t now, i;

    args_begin(&a, Q_QUERY_TOKEN_ENDS);
    for (size_t at = 0; at < q->n; at++) {
        args_row(&a, (int64_t)at, val_bytes(q->hashes[at], TOKEN_HASH_SIZE));
        q->active[at] = false;
    }
    TRY(db_send(db, &a, &r, ANY_ROWS, err));
    TRY(db->driver->send_now(db, &now, err));
    TRY(db_flush(db, err));
    now += db->env->clock_offset;
    for (size_t row = 0; row < r.n; row++) {
        rows_read(&r, row, 0, NULL, &i, &k.expires_at, &k.revoked_at);
        q->active[i] = token_state(&k, now) == TOKEN_ACTIVE;
    }
    return 0;
}

int query_tokens_active(struct store *s, const unsigned char (*hashes)[TOKEN_HASH_SIZE], size_t n,
                        bool *active, struct err *err)
{
    return query_read(s, read_active, &(struct active_query){hashes, n, active}, err);
}
