/* token_list.h - reads access tokens. */
#ifndef STORE_QUERY_TOKEN_LIST_H
#define STORE_QUERY_TOKEN_LIST_H

#include "core/access_token.h"
#include "store/operator.h"

struct token_row {
    const char *name;
    int scopes; /* bits of enum token_scope */
    /* JSON lists that restrict the token; NULL if not restricted. */
    const char *queues, *lanes;
    int64_t created_at, expires_at, revoked_at, last_used_at; /* times; 0 if never */
    /* Users; NULL if unknown, or if the token was not revoked. */
    const char *created_by, *revoked_by;
    struct last_audit last; /* how the token was created or revoked; not read by query_token */
};
STORE_LIST(token_list, struct token_row, int64_t now)

enum token_state { TOKEN_ACTIVE, TOKEN_EXPIRED, TOKEN_REVOKED };
enum token_state token_state(const struct token_row *k, int64_t now);

/* Lists all tokens, ordered by name and age. */
MUST_USE int query_tokens(struct store *s, struct token_list *out, struct err *err);
/* Reads the token whose secret has this hash, in any state. The list is empty if it does not
 * exist. */
MUST_USE int query_token(struct store *s, const unsigned char *hash, struct token_list *out,
                         struct err *err);

/* Reads the tokens whose secrets have these hashes, in any state, by one statement. Sets active[i]
 * to whether the token i exists and is active. */
MUST_USE int query_tokens_active(struct store *s, const unsigned char (*hashes)[TOKEN_HASH_SIZE],
                                 size_t n, bool *active, struct err *err);

#endif
