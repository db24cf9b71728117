/* fuzz_token.c - the text of an access token, which anyone may send to a server, and lists of
 * scopes. A text that is accepted is exactly the one that its parts are written as. */
#include "fuzz.h"

#include "core/access_token.h"

#include <sodium.h>

/* Replaces the end of the text with the right checksum: without it, hardly any text gets further.
 */
static void correct_checksum(char *text, size_t len)
{
    unsigned char digest[16];
    char encoded[32];

    if (len < 6)
        return;
    crypto_generichash(digest, sizeof(digest), (unsigned char *)text, len - 6, NULL, 0);
    sodium_bin2base64(encoded, sizeof(encoded), digest, sizeof(digest),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    memcpy(text + len - 6, encoded, 6);
}

static void check_text(const char *text)
{
    struct access_token t;
    struct err err = ERR_INIT;
    char *again;

    if (access_token_read(text, &t, &err)) {
        MUST_HOLD(err.code == E_INVALID && *err.msg);
        return;
    }
    MUST_HOLD(!*t.tenant || tenant_is_name(t.tenant));
    again = access_token_write(&t);
    MUST_HOLD(!strcmp(again, text));
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct err err = ERR_INIT;
    unsigned scopes = 0;

    check_text(text);
    correct_checksum(text, strlen(text));
    check_text(text);
    if (token_scopes_parse(text, &scopes, &err))
        MUST_HOLD(err.code == E_INVALID && !scopes);
    else
        MUST_HOLD(scopes && scopes < 32);
    free(text);
    return 0;
}
