/* access_token.h - the text of an access token, which a client of the HTTP server sends:
 *
 *     pawl_TENANT_SECRETCHECKS
 *
 * TENANT is empty for the default tenant. SECRET is 43 characters of base64url (256 bits), CHECKS
 * is a checksum, in six characters, of all text before it. With the checksum, a mistyped token can
 * be distinguished from an unknown one, and a scanner for leaked secrets can recognize a token.
 * Names of tenants and secrets may contain "_", but the text is read from its end, where all
 * lengths are fixed.
 *
 * The database holds only a hash of the secret. */
#ifndef CORE_ACCESS_TOKEN_H
#define CORE_ACCESS_TOKEN_H

#include "base/err.h"
#include "core/tenant_name.h"

#define TOKEN_SECRET_SIZE 32 /* bytes */
#define TOKEN_HASH_SIZE   32

struct access_token {
    char tenant[TENANT_MAX + 1]; /* the tenant's name; "" for the default tenant */
    unsigned char secret[TOKEN_SECRET_SIZE];
};

/* Returns the text of the token; the caller frees it. */
char *access_token_write(const struct access_token *t);
/* Parses the text of a token; -E_INVALID if it is not a token. The message does not contain the
 * text. */
MUST_USE int access_token_read(const char *text, struct access_token *out, struct err *err);
void access_token_hash(const struct access_token *t, unsigned char out[TOKEN_HASH_SIZE]);
/* Overwrites the secret in memory. */
void access_token_wipe(struct access_token *t);

/* Reads a list of scopes such as "read,submit" as bits of enum token_scope. -E_INVALID if the list
 * is empty or contains an unknown word. */
MUST_USE int token_scopes_parse(const char *text, unsigned *out, struct err *err);

#endif
