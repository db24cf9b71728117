/* webhook.h - signatures of webhooks, and their secrets. Pure: the time is an argument.
 *
 *   standard   Standard Webhooks: the headers webhook-id, webhook-timestamp (seconds since 1970)
 * and webhook-signature, a list of "v1," and the base64 of the HMAC-SHA256 of "ID.TIMESTAMP.BODY".
 * A secret is "whsec_" and the base64 of the key. github     The header X-Hub-Signature-256,
 * "sha256=" and the HMAC-SHA256 of the body in hexadecimal digits. A secret is a text, whose bytes
 * are the key. Nothing signs the time or the id of a delivery, so a message can be sent again by
 * who has seen it.
 */
#ifndef CORE_WEBHOOK_H
#define CORE_WEBHOOK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, code, text; the codes are stored */
#define WEBHOOK_SIGNATURES(X)  \
    X(STANDARD, 1, "standard") \
    X(GITHUB, 2, "github")
#define X(name, code, text) WEBHOOK_##name = code,
enum webhook_signature { WEBHOOK_SIGNATURES(X) };
#undef X
const char *webhook_signature_text(int signature); /* "?" if it is unknown */
int webhook_signature_from_text(const char *text); /* 0 if it is unknown */

#define WEBHOOK_KEY_MIN        16  /* bytes */
#define WEBHOOK_KEY_MAX        128 /* bytes */
#define WEBHOOK_SECRET_SIZE    192 /* of the text of a secret */
#define WEBHOOK_SIGNED_SIZE    48  /* of a value of webhook-signature */
#define WEBHOOK_TOLERANCE      300 /* s that a timestamp may differ from now */
#define WEBHOOK_MADE_KEY_BYTES 32  /* of a key made here */

struct webhook_key {
    unsigned char bytes[WEBHOOK_KEY_MAX];
    size_t len;
};

/* Makes a key and the text of its secret. */
void webhook_make_key(enum webhook_signature signature, struct webhook_key *out);
void webhook_write_secret(enum webhook_signature signature, const struct webhook_key *key,
                          char out[WEBHOOK_SECRET_SIZE]);
/* -E_INVALID if the text is not a secret of this kind. The message does not contain the text. */
MUST_USE int webhook_read_secret(enum webhook_signature signature, const char *text,
                                 struct webhook_key *out, struct err *err);
void webhook_wipe_key(struct webhook_key *key);

/* A message as it was received; a header is NULL if it was not sent. */
struct webhook_message {
    const char *id, *timestamp, *signature; /* webhook-id, webhook-timestamp, webhook-signature */
    const char *hub_signature;              /* X-Hub-Signature-256 */
    const void *body;
    size_t size;
};
/* Checks the signature, in a time that does not depend on how much of it is right; `now` is in s.
 * -E_INVALID if a header is missing or malformed, the time is too far from now, or the signature is
 * not that of the message. */
MUST_USE int webhook_verify(enum webhook_signature signature, const struct webhook_key *key,
                            const struct webhook_message *m, int64_t now, struct err *err);

/* Writes a value of webhook-signature. */
void webhook_sign(const struct webhook_key *key, const char *id, const char *timestamp,
                  const void *body, size_t size, char out[WEBHOOK_SIGNED_SIZE]);

#endif
