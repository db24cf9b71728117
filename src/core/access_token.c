/* access_token.c - writes and reads the text of access tokens; see access_token.h. */
#include "core/access_token.h"

#include "base/mem.h"
#include "base/suggest.h"
#include "core/vocab.h"

#include <sodium.h>
#include <stdlib.h>

#define PREFIX        "pawl_"
#define PREFIX_LENGTH (sizeof(PREFIX) - 1)
#define SECRET_LENGTH 43
#define CHECKS_LENGTH 6
/* The text after the tenant: "_", the secret and the checksum. */
#define TAIL_LENGTH   (1 + SECRET_LENGTH + CHECKS_LENGTH)

#define BASE64        sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define DIGEST_SIZE   16
#define DIGEST_TEXT   sodium_base64_ENCODED_LEN(DIGEST_SIZE, BASE64)

/* The checksum: the first characters of the BLAKE2b-128 of the text, in base64url. */
static void compute_checks(const char *text, size_t len, char out[CHECKS_LENGTH])
{
    unsigned char digest[DIGEST_SIZE];
    char encoded[DIGEST_TEXT];

    crypto_generichash(digest, sizeof(digest), (const unsigned char *)text, len, NULL, 0);
    sodium_bin2base64(encoded, sizeof(encoded), digest, sizeof(digest), BASE64);
    memcpy(out, encoded, CHECKS_LENGTH);
}

char *access_token_write(const struct access_token *t)
{
    size_t tenant = strlen(t->tenant), len = PREFIX_LENGTH + tenant + TAIL_LENGTH;
    char *text = mem_alloc(len + 1), *at = text;

    memcpy(at, PREFIX, PREFIX_LENGTH);
    at += PREFIX_LENGTH;
    memcpy(at, t->tenant, tenant);
    at += tenant;
    *at++ = '_';
    sodium_bin2base64(at, SECRET_LENGTH + 1, t->secret, sizeof(t->secret), BASE64);
    at += SECRET_LENGTH;
    compute_checks(text, (size_t)(at - text), at);
    at[CHECKS_LENGTH] = '\0';
    return text;
}

/* Whether the text has the form of a token; sets *tenant to the length of the tenant's name in
 * it. */
static bool has_form(const char *text, size_t *tenant)
{
    size_t len = strnlen(text, PREFIX_LENGTH + TENANT_MAX + TAIL_LENGTH + 1);

    if (len < PREFIX_LENGTH + TAIL_LENGTH || len > PREFIX_LENGTH + TENANT_MAX + TAIL_LENGTH ||
        strncmp(text, PREFIX, PREFIX_LENGTH) || text[len - TAIL_LENGTH] != '_')
        return false;
    *tenant = len - PREFIX_LENGTH - TAIL_LENGTH;
    return true;
}

/* libsodium 1.0.18 also decodes some texts with characters outside of base64url. They are refused,
 * because a secret must have only one text. */
static bool decode_secret(const char *text, unsigned char out[TOKEN_SECRET_SIZE])
{
    char again[SECRET_LENGTH + 1];
    bool same;
    size_t n;

    if (sodium_base642bin(out, TOKEN_SECRET_SIZE, text, SECRET_LENGTH, NULL, &n, NULL, BASE64) ||
        n != TOKEN_SECRET_SIZE)
        return false;
    sodium_bin2base64(again, sizeof(again), out, TOKEN_SECRET_SIZE, BASE64);
    same = !memcmp(again, text, SECRET_LENGTH);
    sodium_memzero(again, sizeof(again));
    return same;
}

static bool read_parts(const char *text, struct access_token *out)
{
    const char *secret, *checks;
    char expected[CHECKS_LENGTH];
    size_t tenant;

    if (!has_form(text, &tenant))
        return false;
    secret = text + PREFIX_LENGTH + tenant + 1;
    checks = secret + SECRET_LENGTH;
    compute_checks(text, (size_t)(checks - text), expected);
    if (memcmp(expected, checks, CHECKS_LENGTH))
        return false;
    memcpy(out->tenant, text + PREFIX_LENGTH, tenant);
    out->tenant[tenant] = '\0';
    return (!tenant || tenant_is_name(out->tenant)) && decode_secret(secret, out->secret);
}

int access_token_read(const char *text, struct access_token *out, struct err *err)
{
    if (text && read_parts(text, out))
        return 0;
    access_token_wipe(out);
    return err_set(err, E_INVALID,
                   "this is not a Pawl access token, or it was mistyped or cut off: copy all of "
                   "the text that starts with " PREFIX);
}

void access_token_hash(const struct access_token *t, unsigned char out[TOKEN_HASH_SIZE])
{
    crypto_generichash(out, TOKEN_HASH_SIZE, t->secret, sizeof(t->secret), NULL, 0);
}

void access_token_wipe(struct access_token *t)
{
    sodium_memzero(t, sizeof(*t));
}

/* ---- scopes ---- */

#define X(name, code, text) text,
static const char *const scope_words[] = {TOKEN_SCOPES(X) NULL};
#undef X

int token_scopes_parse(const char *text, unsigned *out, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(text ? text : "");
    unsigned scopes = 0;
    char *rest = copy, *word;

    while ((word = strsep(&rest, ","))) {
        int scope = token_scope_from_text(word);
        const char *best = suggest_from(word, scope_words);

        if (!scope)
            return err_set(
                err, E_INVALID,
                "\"%.60s\" is not a scope: use one or more of read, submit, operate, work, "
                "admin, separated by commas%s%s%s",
                word, DID_YOU_MEAN(best));
        scopes |= (unsigned)scope;
    }
    *out = scopes;
    return 0;
}
