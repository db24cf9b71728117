/* token_list.h - reads access tokens. */
#ifndef STORE_QUERY_TOKEN_LIST_H
#define STORE_QUERY_TOKEN_LIST_H

#include "store/operator.h"

struct token_row {
    const char *name;
    int scopes;                                               /* of enum token_scope */
    const char *queues, *lanes;                               /* JSON lists; NULL for any */
    int64_t created_at, expires_at, revoked_at, last_used_at; /* 0 if never */
    const char *created_by, *revoked_by;                      /* NULL if unknown, or not revoked */
    struct last_audit last; /* its creation or revocation; not read by query_token */
};
STORE_LIST(token_list, struct token_row, int64_t now)

enum token_state { TOKEN_ACTIVE, TOKEN_EXPIRED, TOKEN_REVOKED };
enum token_state token_state(const struct token_row *k, int64_t now);

/* All tokens, ordered by name and age. */
MUST_USE int query_tokens(struct store *s, struct token_list *out, struct err *err);
/* The token whose secret has this hash, in any state; the list is empty if there is none. */
MUST_USE int query_token(struct store *s, const unsigned char *hash, struct token_list *out,
                         struct err *err);

#endif
