/* webhook.c - checks the signatures of webhook messages, and makes their keys; see webhook.h. */
#include "core/webhook.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX       "whsec_"
#define VERSION      "v1,"
#define HUB_PREFIX   "sha256="
#define BASE64       sodium_base64_VARIANT_ORIGINAL
#define URL_BASE64   sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define MAC_BYTES    crypto_auth_hmacsha256_BYTES
#define MAC_BASE64   44 /* characters */
#define MAC_HEX      64
#define TIME_DIGITS  15
#define MADE_LETTERS 43 /* of a generated text with WEBHOOK_MADE_KEY_BYTES random bytes */

const char *webhook_signature_text(int signature)
{
    switch (signature) {
#define X(name, code, text) \
    case code:              \
        return text;
        WEBHOOK_SIGNATURES(X)
#undef X
    default:
        return "?";
    }
}

int webhook_signature_from_text(const char *text)
{
#define X(name, code, word)  \
    if (!strcmp(text, word)) \
        return code;
    WEBHOOK_SIGNATURES(X)
#undef X
    return 0;
}

/* ---- secrets ---- */

void webhook_make_key(enum webhook_signature signature, struct webhook_key *out)
{
    unsigned char random[WEBHOOK_MADE_KEY_BYTES];

    *out = (struct webhook_key){.len = sizeof(random)};
    randombytes_buf(random, sizeof(random));
    if (signature == WEBHOOK_STANDARD) {
        memcpy(out->bytes, random, sizeof(random));
    } else { /* the text itself is the key */
        sodium_bin2base64((char *)out->bytes, MADE_LETTERS + 1, random, sizeof(random), URL_BASE64);
        out->len = MADE_LETTERS;
    }
    sodium_memzero(random, sizeof(random));
}

void webhook_write_secret(enum webhook_signature signature, const struct webhook_key *key,
                          char out[WEBHOOK_SECRET_SIZE])
{
    _Static_assert(sizeof(PREFIX) + sodium_base64_ENCODED_LEN(WEBHOOK_KEY_MAX, BASE64) <=
                       WEBHOOK_SECRET_SIZE,
                   "room for the longest secret");
    if (signature == WEBHOOK_STANDARD) {
        memcpy(out, PREFIX, sizeof(PREFIX));
        sodium_bin2base64(out + strlen(PREFIX), WEBHOOK_SECRET_SIZE - strlen(PREFIX), key->bytes,
                          key->len, BASE64);
    } else {
        memcpy(out, key->bytes, key->len);
        out[key->len] = '\0';
    }
}

static bool read_standard(const char *text, struct webhook_key *out)
{
    if (!strncmp(text, PREFIX, strlen(PREFIX)))
        text += strlen(PREFIX);
    return !sodium_base642bin(out->bytes, sizeof(out->bytes), text, strlen(text), NULL, &out->len,
                              NULL, BASE64);
}

int webhook_read_secret(enum webhook_signature signature, const char *text, struct webhook_key *out,
                        struct err *err)
{
    size_t len = strlen(text);
    bool ok;

    *out = (struct webhook_key){0};
    if (signature == WEBHOOK_STANDARD) {
        ok = read_standard(text, out);
    } else {
        ok = len <= WEBHOOK_KEY_MAX;
        memcpy(out->bytes, text, ok ? out->len = len : 0);
    }
    if (ok && out->len >= WEBHOOK_KEY_MIN)
        return 0;
    webhook_wipe_key(out);
    return err_set(err, E_INVALID,
                   signature == WEBHOOK_STANDARD ? "the secret must be " PREFIX
                                                   " and the base64 of %d to %d bytes"
                                                 : "the secret must have from %d to %d bytes",
                   WEBHOOK_KEY_MIN, WEBHOOK_KEY_MAX);
}

void webhook_wipe_key(struct webhook_key *key)
{
    sodium_memzero(key, sizeof(*key));
}

/* ---- signatures ---- */

/* The HMAC of the body, after "ID.TIMESTAMP." if there is an id. */
static void compute_mac(const struct webhook_key *key, const char *id, const char *timestamp,
                        const void *body, size_t size, unsigned char out[MAC_BYTES])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, key->bytes, key->len);
    if (id) {
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)timestamp, strlen(timestamp));
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    }
    crypto_auth_hmacsha256_update(&state, body, size);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof(state));
}

void webhook_sign(const struct webhook_key *key, const char *id, const char *timestamp,
                  const void *body, size_t size, char out[WEBHOOK_SIGNED_SIZE])
{
    unsigned char mac[MAC_BYTES];

    _Static_assert(sizeof(VERSION) + MAC_BASE64 <= WEBHOOK_SIGNED_SIZE, "room for a signature");
    compute_mac(key, id, timestamp, body, size, mac);
    memcpy(out, VERSION, sizeof(VERSION));
    sodium_bin2base64(out + strlen(VERSION), WEBHOOK_SIGNED_SIZE - strlen(VERSION), mac, MAC_BYTES,
                      BASE64);
}

/* Compares texts rather than bytes: libsodium decodes more than one text to the same bytes. */
static bool is_listed(const char *list, const char *expected)
{
    size_t want = strlen(expected);
    bool found = false;

    for (size_t len; *list; list += len) {
        list += strspn(list, " ");
        len = strcspn(list, " ");
        if (len == want)
            found |= !sodium_memcmp(list, expected, want);
    }
    return found;
}

static int refuse_signature(struct err *err)
{
    return err_set(err, E_INVALID, "the signature is not that of this message");
}

static int check_time(const char *timestamp, int64_t now, struct err *err)
{
    size_t digits = strspn(timestamp, "0123456789");
    int64_t at;

    if (!digits || digits > TIME_DIGITS || timestamp[digits])
        return err_set(err, E_INVALID,
                       "the header webhook-timestamp must have the seconds since 1970");
    at = strtoll(timestamp, NULL, 10);
    if (at < now - WEBHOOK_TOLERANCE || at > now + WEBHOOK_TOLERANCE)
        return err_set(err, E_INVALID,
                       "the time of the message differs from the present time by more than %d s",
                       WEBHOOK_TOLERANCE);
    return 0;
}

static int verify_standard(const struct webhook_key *key, const struct webhook_message *m,
                           int64_t now, struct err *err)
{
    char expected[WEBHOOK_SIGNED_SIZE];

    if (!m->id || !*m->id || !m->timestamp || !m->signature)
        return err_set(err, E_INVALID,
                       "the headers webhook-id, webhook-timestamp and webhook-signature are "
                       "required");
    TRY(check_time(m->timestamp, now, err));
    webhook_sign(key, m->id, m->timestamp, m->body, m->size, expected);
    return is_listed(m->signature, expected) ? 0 : refuse_signature(err);
}

static int verify_github(const struct webhook_key *key, const struct webhook_message *m,
                         struct err *err)
{
    char expected[sizeof(HUB_PREFIX) + MAC_HEX] = HUB_PREFIX;
    unsigned char mac[MAC_BYTES];

    if (!m->hub_signature)
        return err_set(err, E_INVALID, "the header X-Hub-Signature-256 is required");
    compute_mac(key, NULL, NULL, m->body, m->size, mac);
    sodium_bin2hex(expected + strlen(HUB_PREFIX), MAC_HEX + 1, mac, MAC_BYTES);
    return strlen(m->hub_signature) == strlen(expected) &&
                   !sodium_memcmp(m->hub_signature, expected, strlen(expected))
               ? 0
               : refuse_signature(err);
}

int webhook_verify(enum webhook_signature signature, const struct webhook_key *key,
                   const struct webhook_message *m, int64_t now, struct err *err)
{
    return signature == WEBHOOK_STANDARD ? verify_standard(key, m, now, err)
                                         : verify_github(key, m, err);
}
