/* hook_receive.c - takes the messages of webhooks: checks the signature, builds the value that
 * expressions see, and starts the workflow. Nothing is written for a message that is not admitted.
 */
#include "api/api.h"
#include "base/text.h"
#include "store/query/hook_list.h"
#include "store/schedule/receive_webhook.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KEY_PREFIX "webhook:"
#define HASH_BYTES 16

static const char *header(const struct pawl_hook_message *m, const char *name)
{
    for (size_t i = 0; i < m->nheaders; i++)
        if (!strcasecmp(m->headers[i].name, name))
            return m->headers[i].value;
    return NULL;
}

/* ---- the signature ---- */

/* A webhook that does not exist costs as much time as one that does. */
static int check_signature(struct pawl *p, struct pawl_hook_message *m, int *signature,
                           struct err *err)
{
    struct webhook_message w = {.id = header(m, "webhook-id"),
                                .timestamp = header(m, "webhook-timestamp"),
                                .signature = header(m, "webhook-signature"),
                                .hub_signature = header(m, "x-hub-signature-256"),
                                .body = m->body ? m->body : "",
                                .size = m->size};
    struct hook_check c;
    struct err why = ERR_INIT;
    int rc;

    if (sodium_init() < 0)
        return err_set(err, E_INTERNAL, "libsodium can't be initialized");
    TRY(query_hook(p->store, m->hook, &c, err));
    if (!c.found) {
        c.signature = w.hub_signature ? WEBHOOK_GITHUB : WEBHOOK_STANDARD;
        webhook_make_key((enum webhook_signature)c.signature, &c.key);
    }
    rc = webhook_verify((enum webhook_signature)c.signature, &c.key, &w, c.wall / 1000000, &why);
    webhook_wipe_key(&c.key);
    m->admitted = c.found && !rc;
    *signature = c.signature;
    if (m->admitted)
        return 0;
    return err_set(err, E_INVALID, "there is no webhook %.100s, or its message was refused: %s",
                   m->hook, rc ? why.msg : "the signature is not that of this message");
}

/* ---- the value ---- */

/* Headers that prove something, or would differ each time the message is delivered. */
static bool is_hidden(const char *name)
{
    static const char *const hidden[] = {"authorization",   "proxy-authorization",
                                         "cookie",          "webhook-signature",
                                         "x-hub-signature", "x-hub-signature-256"};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (!strcasecmp(name, hidden[i]))
            return true;
    return false;
}

static json_t *build_headers(const struct pawl_hook_message *m)
{
    json_t *headers = json_object();

    for (size_t i = 0; i < m->nheaders; i++) {
        AUTO_FREE char *name = mem_strdup(m->headers[i].name);
        AUTO_FREE char *value = mem_strdup(m->headers[i].value);

        for (char *c = name; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
        text_make_utf8(value);
        if (!is_hidden(name) && text_is_utf8(name, strlen(name)))
            json_object_set_new(headers, name, json_string(value));
    }
    return headers;
}

static bool is_json(const char *type)
{
    size_t len = type ? strcspn(type, "; \t") : 0;

    return !type || (len == 16 && !strncasecmp(type, "application/json", len)) ||
           (len > 5 && !strncasecmp(type + len - 5, "+json", 5));
}

static int build_body(const struct pawl_hook_message *m, json_t **out, struct err *err)
{
    const char *text = m->body ? m->body : "";

    *out = NULL;
    if (!m->size) {
        *out = json_null();
    } else if (is_json(header(m, "content-type"))) {
        return json_load(text, m->size, JSON_DEPTH_MAX, "the body", out, err);
    } else {
        *out = text_is_utf8(text, m->size) ? json_stringn(text, m->size) : NULL;
    }
    if (!*out)
        return err_set(err, E_INVALID, "the body must be JSON or UTF-8 text without NUL");
    return 0;
}

/* ---- the idempotency key ---- */

/* "webhook:NAME:ID"; an id that is too long, or has other characters, is replaced by its hash. */
static const char *make_key(const struct pawl_hook_message *m, const char *id, struct arena *arena)
{
    unsigned char hash[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];
    const void *from = id ? (const void *)id : m->body ? m->body : "";
    struct err ignored;

    if (id && !text_check("id", arena_printf(arena, KEY_PREFIX "%s:%s", m->hook, id), STORE_MAX_KEY,
                          &ignored))
        return arena_printf(arena, KEY_PREFIX "%s:%s", m->hook, id);
    crypto_generichash(hash, sizeof(hash), from, id ? strlen(id) : m->size, NULL, 0);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    return arena_printf(arena, KEY_PREFIX "%s:#%s", m->hook, hex);
}

/* ---- all of it ---- */

TURN_BODY(receive_body, op_receive_webhook)

int pawl_hook_receive(struct pawl *p, struct pawl_hook_message *m, struct pawl_error *e)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct webhook_delivery d = {.hook = m->hook};
    json_auto_t *trigger = NULL;
    json_t *body;
    const char *id;
    int signature = 0;
    API_ERR(e);

    m->admitted = false;
    TRY(api_needs_database(p, "a webhook is received", err));
    TRY(check_signature(p, m, &signature, err));
    id = header(m, signature == WEBHOOK_STANDARD ? "webhook-id" : "x-github-delivery");
    TRY(build_body(m, &body, err));
    d.key = make_key(m, id, &arena);
    d.trigger = trigger = json_pack("{s:s, s:s?, s:o, s:o}", "hook", m->hook, "id",
                                    id && text_is_utf8(id, strlen(id)) ? id : NULL, "headers",
                                    build_headers(m), "body", body);
    TRY(store_turn(p->store, receive_body, &d, err));
    m->id = d.id;
    m->existed = d.existed;
    return 0;
}
