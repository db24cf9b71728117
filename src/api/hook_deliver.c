/* hook_deliver.c - delivers messages of webhooks: the function that an engine runs for jobs of the
 * queue pawl:hooks, which store/workflow/deliveries.c submits. It reads the URL and the secret when
 * it runs, signs the message with the time of this attempt, and sends it. */
#include "api/engine_handle.h"
#include "remote/post.h"
#include "store/deliveries.h"
#include "store/query/hook_list.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS      5000L
#define TOTAL_MS        20000L
#define HEADER_SIZE     200
#define FAILED_FOR_GOOD 1 /* exit code of a delivery that is not retried */

/* Lives until the engine is closed and the last call has returned: an unresponsive call is
 * abandoned by its engine. */
struct hook_sender {
    char *url, *tenant; /* of the database */
    atomic_int users;
};

static void release(struct hook_sender *s)
{
    if (!s || atomic_fetch_sub(&s->users, 1) > 1)
        return;
    free(s->url);
    free(s->tenant);
    free(s);
}

/* ---- the message ---- */

/* Each call has a connection of its own, only while it reads. */
static int read_target(const struct hook_sender *s, const char *hook, struct hook_target *out,
                       struct err *err)
{
    struct store_options o = {.no_migrate = true, .is_checked = true};
    struct store *store;
    int rc;

    TRY(store_open(s->url, s->tenant, &o, &store, err));
    rc = query_hook_target(store, hook, out, err);
    store_close(&store);
    return rc;
}

static bool should_stop(void *call)
{
    const struct pawl_call *c = call;

    return c->ops->cancelled(c);
}

static int send_message(struct pawl_call *c, const struct hook_target *t, const char *body,
                        long *status, struct err *err)
{
    char id[HEADER_SIZE], at[HEADER_SIZE], signature[HEADER_SIZE], text[WEBHOOK_SIGNED_SIZE];
    const char *const headers[] = {"Content-Type: application/cloudevents+json; charset=utf-8",
                                   "User-Agent: pawl/" PAWL_VERSION,
                                   "Expect:",
                                   id,
                                   at,
                                   signature,
                                   NULL};
    struct post p = {.url = t->url,
                     .headers = headers,
                     .body = body,
                     .size = strlen(body),
                     .connect_ms = CONNECT_MS,
                     .total_ms = TOTAL_MS,
                     .stop = should_stop,
                     .arg = c};
    int rc;

    snprintf(id, sizeof(id), "webhook-id: msg_%lld", (long long)c->execution);
    snprintf(at, sizeof(at), "webhook-timestamp: %lld", (long long)(t->wall / 1000000));
    webhook_sign(&t->key, strchr(id, ' ') + 1, strchr(at, ' ') + 1, body, p.size, text);
    snprintf(signature, sizeof(signature), "webhook-signature: %s", text);
    rc = post_send(&p, err);
    *status = p.status;
    return rc;
}

/* ---- one attempt ---- */

static int fail(struct pawl_call *c, int code, const char *message)
{
    c->ops->fail(c, message);
    return code;
}

/* Returns the exit code of the attempt. */
static int deliver_to(struct pawl_call *c, const struct hook_target *t, const char *body)
{
    struct err err = ERR_INIT;
    char message[200];
    long status;

    if (send_message(c, t, body, &status, &err))
        return fail(c, DELIVERY_RETRIED, err.msg);
    if (status >= 200 && status < 300) {
        snprintf(message, sizeof(message), "{\"status\":%ld}", status);
        return c->ops->set_result(c, message);
    }
    snprintf(message, sizeof(message), "the receiver answered %ld%s", status,
             status >= 300 && status < 400 ? "; redirects are not followed" : "");
    return fail(c, DELIVERY_RETRIED, message);
}

static int deliver_event(struct pawl_call *c, const struct hook_sender *s, json_t *input)
{
    const char *hook = json_string_value(json_object_get(input, "hook"));
    AUTO(hook_target_release) struct hook_target t = {0};
    struct err err = ERR_INIT;
    AUTO_FREE char *body = json_dumps(json_object_get(input, "event"), JSON_COMPACT);

    if (!hook || !body)
        return fail(c, FAILED_FOR_GOOD, "this job was not submitted for a webhook");
    if (read_target(s, hook, &t, &err))
        return fail(c, DELIVERY_RETRIED, err.msg);
    if (!t.url)
        return fail(c, FAILED_FOR_GOOD, "the webhook was revoked");
    return deliver_to(c, &t, body);
}

static int deliver(struct pawl_call *c, void *sender)
{
    struct hook_sender *s = sender;
    json_auto_t *input = json_loads(c->input ? c->input : "", 0, NULL);
    int code;

    atomic_fetch_add(&s->users, 1);
    code = deliver_event(c, s, input);
    release(s);
    return code;
}

/* ---- the engine ---- */

const char *const *api_hook_queues(const struct pawl_engine_options *o, const struct config *c,
                                   bool *serves)
{
    const char *const *given = o->queues ? o->queues : c->worker.queues.at;
    size_t n = api_count(given);
    const char **list = mem_zalloc((n + 3) * sizeof(*list));

    *serves = o->hooks;
    for (size_t i = 0; i < n; i++) {
        list[i] = given[i];
        if (!strcmp(given[i], QUEUE_HOOKS)) {
            *serves = true;
            return memcpy(list, given, n * sizeof(*list)), list;
        }
    }
    if (!n)
        list[n++] = "default";
    if (o->hooks)
        list[n] = QUEUE_HOOKS;
    return list;
}

int api_hooks_serve(struct pawl_engine *e, bool must, struct err *err)
{
    const struct db_url *url = store_url(e->p->store);
    struct pawl_error why = {0};
    int rc;

    if ((rc = post_load(err)) && !must) { /* deliveries wait for another worker */
        env_note(&e->env, "%s", err->msg);
        return 0;
    }
    if (rc)
        return rc;
    e->sender = mem_zalloc(sizeof(*e->sender));
    e->sender->url = mem_strdup(url->text);
    e->sender->tenant = url->tenant ? mem_strdup(url->tenant) : NULL;
    e->sender->users = 1;
    if ((rc = pawl_engine_register(e, FUNCTION_HOOKS, deliver, e->sender, &why)))
        return err_set(err, (enum error_code) - rc, "%s", why.message);
    return 0;
}

void api_hooks_release(struct pawl_engine *e)
{
    release(e->sender);
    e->sender = NULL;
}
