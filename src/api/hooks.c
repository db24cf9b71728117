/* hooks.c - webhooks: create, revoke, list. hook_receive.c takes their messages, hook_deliver.c
 * sends them. */
#include "api/api.h"
#include "base/text.h"
#include "store/operator.h"
#include "store/query/hook_list.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- create and revoke ---- */

static int check_name(const char *name, struct err *err)
{
    if (name && workflow_is_name(name))
        return 0;
    return err_set(err, E_INVALID,
                   "the name of a webhook must be a letter or _ followed by up to 99 letters, "
                   "digits, _ or -, not '%.110s'",
                   name ? name : "");
}

static int find_key(const struct pawl_hook *h, int *signature, struct webhook_key *key,
                    struct err *err)
{
    if (sodium_init() < 0)
        return err_set(err, E_INTERNAL, "libsodium can't be initialized");
    *signature = h->signature ? webhook_signature_from_text(h->signature) : WEBHOOK_STANDARD;
    if (!*signature)
        return err_set(err, E_INVALID,
                       "'%.60s' is not a signature of webhooks: use standard or github",
                       h->signature);
    if (h->secret)
        return webhook_read_secret((enum webhook_signature) * signature, h->secret, key, err);
    webhook_make_key((enum webhook_signature) * signature, key);
    return 0;
}

/* ---- where and what to report ---- */

#define MAX_URL     2000
#define ALL_REPORTS (1 << S_SUCCEEDED | 1 << S_FAILED | 1 << S_TIMED_OUT | 1 << S_CANCELLED)

static int check_url(const char *url, struct err *err)
{
    const char *host = strstr(url, "://");

    TRY(text_check_name("URL", url, MAX_URL, err));
    if (!host || (strncasecmp(url, "http://", 7) && strncasecmp(url, "https://", 8)) || !host[3] ||
        strpbrk(url, " \\\""))
        return err_set(err, E_INVALID,
                       "'%.200s' is not a URL that a webhook can report to: it must start with "
                       "https:// or http://",
                       url);
    if (memchr(host + 3, '@', strcspn(host + 3, "/?#")))
        return err_set(err, E_INVALID,
                       "the URL of a webhook must not contain a user or password: everybody who "
                       "lists webhooks would see it");
    return 0;
}

static int read_statuses(const char *text, int *out, struct err *err)
{
    *out = text ? 0 : ALL_REPORTS;
    while (text && *text) {
        char word[64];
        int status;

        snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, ","), text);
        status = status_from_text(word);
        if (!status_is_terminal(status))
            return err_set(err, E_INVALID,
                           "'%.60s' is not a final status: use succeeded, failed, timed_out, "
                           "cancelled or skipped",
                           word);
        *out |= 1 << status;
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return *out ? 0 : err_set(err, E_INVALID, "the list of statuses is empty");
}

/* Checks what belongs to webhooks that report, and copies it. */
static int find_report(const struct pawl_hook *h, struct new_hook *k, struct err *err)
{
    if (!h->url && (h->statuses || h->workflow || h->queue || h->tasks))
        return err_set(err, E_INVALID,
                       "a webhook without a URL starts a workflow and reports nothing: statuses, "
                       "a workflow, a queue or tasks need a URL");
    if (!h->url)
        return 0;
    if (k->signature != WEBHOOK_STANDARD)
        return err_set(err, E_INVALID,
                       "a webhook with a URL must have the signature standard, not %s",
                       h->signature);
    TRY(check_url(h->url, err));
    TRY(read_statuses(h->statuses, &k->statuses, err));
    if (h->workflow && !workflow_is_name(h->workflow))
        return err_set(err, E_INVALID, "'%.110s' is not the name of a workflow", h->workflow);
    TRY(text_check_name("queue", h->queue, STORE_MAX_QUEUE, err));
    k->url = h->url;
    k->workflow = h->workflow;
    k->queue = h->queue;
    k->tasks = h->tasks;
    return 0;
}

TURN_BODY(create_body, op_create_hook)

static int create(struct pawl *p, void *arg, struct err *err)
{
    return store_turn(p->store, create_body, arg, err);
}

struct remote_creation {
    const struct pawl_hook *hook;
    const char *reason;
    char **secret;
};

static int create_remote(struct pawl *p, void *arg, struct err *err)
{
    const struct remote_creation *c = arg;

    return remote_hook_create(p->remote, c->hook, c->reason, c->secret, err);
}

int pawl_hook_create(struct pawl *p, const struct pawl_hook *h, const char *by, const char *reason,
                     char **secret, struct pawl_error *e)
{
    AUTO(webhook_wipe_key) struct webhook_key key = {0};
    struct new_hook k = {.name = h->name, .key = &key, .by = by, .reason = reason};
    API_ERR(e);

    TRY(check_name(h->name, err));
    if (p->remote)
        return api_request(p, &k.by, reason, create_remote,
                           &(struct remote_creation){h, reason, secret}, e);
    TRY(find_key(h, &k.signature, &key, err));
    TRY(find_report(h, &k, err));
    TRY(api_request(p, &k.by, reason, create, &k, e));
    *secret = mem_alloc(WEBHOOK_SECRET_SIZE);
    webhook_write_secret((enum webhook_signature)k.signature, &key, *secret);
    return 0;
}

TURN_BODY(revoke_body, op_revoke_hook)

static int revoke(struct pawl *p, void *arg, struct err *err)
{
    const struct hook_revocation *r = arg;

    TRY(check_name(r->name, err));
    if (p->remote)
        return remote_hook_revoke(p->remote, r->name, r->reason, err);
    return store_turn(p->store, revoke_body, arg, err);
}

int pawl_hook_revoke(struct pawl *p, const char *name, const char *by, const char *reason,
                     struct pawl_error *e)
{
    struct hook_revocation r = {.name = name, .by = by, .reason = reason};

    return api_request(p, &r.by, reason, revoke, &r, e);
}

/* ---- list ---- */

#define ROW struct hook_row
static void write_direction(struct json_writer *w, const void *row)
{
    json_write_text(w, ((const struct hook_row *)row)->url ? "out" : "in");
}

static void write_statuses(struct json_writer *w, const void *row)
{
    json_write_begin(w, '[');
    for (int s = S_SUCCEEDED; s < S_COUNT; s++)
        if (((const struct hook_row *)row)->statuses & 1 << s)
            json_write_text(w, status_text(s));
    json_write_end(w, ']');
}

static void write_tasks(struct json_writer *w, const void *row)
{
    json_write_bool(w, ((const struct hook_row *)row)->tasks);
}

static const struct column columns[] = {
    {"name", TEXT(name), NULL},
    {"direction", CUSTOM(write_direction, "text"),
     "`in`: it starts a workflow; `out`: it reports ends of executions"},
    {"url", OPT_TEXT(url), "`out`: where to"},
    {"signature", WORD(signature, webhook_signature_text),
     "how its messages are signed: `standard` or `github`"},
    {"workflow", OPT_TEXT(workflow),
     "`in`: the applied workflow that it starts; null if none has `on: webhook` with its name. "
     "`out`: only its runs are reported; null: all"},
    {"queue", OPT_TEXT(queue), "`out`: only executions of this queue are reported; null: all"},
    {"statuses", CUSTOM(write_statuses, "array of texts"), "`out`: the ends that are reported"},
    {"tasks", CUSTOM(write_tasks, "true or false"),
     "`out`: also executions with a parent are reported"},
    {"created_at", TIME(created_at), NULL},
    {"created_by", OPT_TEXT(created_by), NULL},
};
const struct noun hook_noun = {"## A webhook", NOUN_COLUMNS(columns)};
#undef ROW

int pawl_hooks(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(hook_list_release) struct hook_list l = {0};
    API_ERR(e);

    if (p->remote)
        return remote_lines(p->remote, "/v1/hooks", NULL, NULL, -1, each, arg, err);
    TRY(query_hooks(p->store, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        lines_add(&lines, &hook_noun, &l.at[i]);
    return 0;
}
