/* access_token.h - the text of an access token, which a client of the HTTP server sends:
 *
 *     pawl_TENANT_SECRETCHECKS
 *
 * TENANT is empty for the default tenant. SECRET is 43 characters of base64url (256 bits), CHECKS
 * six characters that are a checksum of all that is before them: a mistyped token is told apart
 * from an unknown one, and a scanner for leaked secrets can recognize a token. Names of tenants and
 * secrets may contain "_", but the text is read from its end, where all lengths are fixed.
 *
 * The store has the hash of the secret only. */
#ifndef CORE_ACCESS_TOKEN_H
#define CORE_ACCESS_TOKEN_H

#include "base/err.h"
#include "core/tenant_name.h"

#define TOKEN_SECRET_SIZE 32 /* bytes */
#define TOKEN_HASH_SIZE   32

struct access_token {
    char tenant[TENANT_MAX + 1]; /* "" for the default tenant */
    unsigned char secret[TOKEN_SECRET_SIZE];
};

/* The caller frees the text. */
char *access_token_write(const struct access_token *t);
/* E_INVALID if the text is not a token. The message does not contain the text. */
MUST_USE int access_token_read(const char *text, struct access_token *out, struct err *err);
void access_token_hash(const struct access_token *t, unsigned char out[TOKEN_HASH_SIZE]);
/* Overwrites the secret. */
void access_token_wipe(struct access_token *t);

/* Reads a list of scopes such as "read,submit" as bits of enum token_scope. E_INVALID: it is empty
 * or has an unknown word. */
MUST_USE int token_scopes_parse(const char *text, unsigned *out, struct err *err);

#endif
