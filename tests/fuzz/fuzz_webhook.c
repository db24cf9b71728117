/* fuzz_webhook.c - the headers of a webhook's message and the texts of secrets. The input has
 * lines: secret, id, timestamp, signature, X-Hub-Signature-256; the rest is the body. A message is
 * admitted exactly if its signature is the one that the key makes. */
#include "fuzz.h"

#include "core/webhook.h"

#include <sodium.h>

#define NOW 1700000000

static char *next_line(char **at)
{
    return *at ? strsep(at, "\n") : NULL;
}

static void check_message(enum webhook_signature signature, const struct webhook_key *key,
                          const struct webhook_message *m)
{
    char expected[WEBHOOK_SIGNED_SIZE];
    struct err err = ERR_INIT;
    int rc = webhook_verify(signature, key, m, NOW, &err);

    MUST_HOLD(!rc || (rc == -E_INVALID && *err.msg));
    if (rc || signature != WEBHOOK_STANDARD)
        return;
    webhook_sign(key, m->id, m->timestamp, m->body, m->size, expected);
    MUST_HOLD(strstr(m->signature, expected));
}

/* The message with its right signature is admitted if its time is. */
static void check_signed(const struct webhook_key *key, struct webhook_message m)
{
    char made[WEBHOOK_SIGNED_SIZE];

    if (!m.id || !*m.id)
        return;
    m.timestamp = "1700000123";
    webhook_sign(key, m.id, m.timestamp, m.body, m.size, made);
    m.signature = made;
    MUST_HOLD(!webhook_verify(WEBHOOK_STANDARD, key, &m, NOW, &(struct err){0}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *at = text, *secret = next_line(&at);
    struct webhook_message m = {.id = next_line(&at),
                                .timestamp = next_line(&at),
                                .signature = next_line(&at),
                                .hub_signature = next_line(&at)};

    MUST_HOLD(sodium_init() >= 0);
    m.body = at ? at : "";
    m.size = strlen(m.body);
    for (int s = WEBHOOK_STANDARD; s <= WEBHOOK_GITHUB; s++) {
        enum webhook_signature signature = (enum webhook_signature)s;
        struct webhook_key key;
        char again[WEBHOOK_SECRET_SIZE];

        if (webhook_read_secret(signature, secret, &key, &(struct err){0}))
            webhook_make_key(signature, &key);
        MUST_HOLD(key.len >= WEBHOOK_KEY_MIN && key.len <= WEBHOOK_KEY_MAX);
        webhook_write_secret(signature, &key, again);
        check_message(signature, &key, &m);
        check_signed(&key, m);
    }
    free(text);
    return 0;
}
