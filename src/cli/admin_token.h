/* admin_token.h - `pawl admin token`: create, list and revoke access tokens. */
#ifndef CLI_ADMIN_TOKEN_H
#define CLI_ADMIN_TOKEN_H

#include "cli/cli.h"

/* The values of the options of `pawl admin token`. */
struct admin_token {
    const char *scope;          /* NULL if not given */
    struct texts queues, lanes; /* empty: any */
    int64_t expires;            /* -1 if not given */
};
#define NO_EXPIRY (-1)

int admin_token(struct cli *c, const struct admin_token *o, const char *reason);

#endif
