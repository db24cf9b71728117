/* test_hooks.c - webhooks that start workflows: their messages are checked, start one execution for
 * each id, and can't change anything if they are not admitted. */
#include "catalogue_fixture.h"
#include "core/webhook.h"

#include <sodium.h>

#define DEPLOY                                                                                \
    "name: deploy\nparams: {ref: none, event: none, hook: none, n: 0}\non: {webhook: {name: " \
    "push, with: {ref: '${{ trigger.body.ref }}', event: '${{ default(trigger.headers[\"x-"   \
    "github-event\"], trigger.id) }}', hook: '${{ trigger.hook }}'}}}\ntasks: {a: {run: x}}\n"

static char *create_hook(struct catalogue *c, const char *name, const char *signature,
                         const char *secret)
{
    char *text = NULL;

    OK(pawl_hook_create(c->p,
                        &(struct pawl_hook){.name = name, .signature = signature, .secret = secret},
                        "ada", "a test", &text, &api_err));
    return text;
}

struct message {
    const char *secret, *id, *body;
    const char *type;     /* "application/json" if NULL */
    int64_t ago;          /* s */
    const char *delivery; /* of a message for "github"; then id is not used */
    bool github;
};

#define MESSAGE(with, named, text, ...) \
    ((struct message){.secret = (with), .id = (named), .body = (text), ##__VA_ARGS__})

static int64_t wall_seconds(struct catalogue *c)
{
    struct next_due due;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_next_due(c->s, &due, &err), &err);
    return due.wall / 1000000;
}

/* Sends a message; `out` has the execution, or 0. */
static int receive(struct catalogue *c, const char *hook, struct message g,
                   struct pawl_hook_message *out)
{
    enum webhook_signature kind = g.github ? WEBHOOK_GITHUB : WEBHOOK_STANDARD;
    char time[24], standard[WEBHOOK_SIGNED_SIZE], hub[80] = "sha256=";
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    struct webhook_key key;
    struct pawl_hook_header h[8];
    size_t n = 0;

    CHECK(sodium_init() >= 0);
    CHECK_EQ(webhook_read_secret(kind, g.secret, &key, &(struct err){0}), 0);
    h[n++] = (struct pawl_hook_header){"Content-Type", g.type ? g.type : "application/json"};
    h[n++] = (struct pawl_hook_header){"Authorization", "Bearer secret"};
    if (g.github) {
        crypto_auth_hmacsha256_init(&state, key.bytes, key.len);
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)g.body, strlen(g.body));
        crypto_auth_hmacsha256_final(&state, mac);
        sodium_bin2hex(hub + 7, sizeof(hub) - 7, mac, sizeof(mac));
        h[n++] = (struct pawl_hook_header){"X-Hub-Signature-256", hub};
        h[n++] = (struct pawl_hook_header){"X-GitHub-Event", "push"};
        if (g.delivery)
            h[n++] = (struct pawl_hook_header){"X-GitHub-Delivery", g.delivery};
    } else {
        snprintf(time, sizeof(time), "%lld", (long long)(wall_seconds(c) - g.ago));
        webhook_sign(&key, g.id, time, g.body, strlen(g.body), standard);
        h[n++] = (struct pawl_hook_header){"Webhook-Id", g.id};
        h[n++] = (struct pawl_hook_header){"webhook-timestamp", time};
        h[n++] = (struct pawl_hook_header){"WEBHOOK-SIGNATURE", standard};
    }
    *out = (struct pawl_hook_message){
        .hook = hook, .headers = h, .nheaders = n, .body = g.body, .size = strlen(g.body)};
    return pawl_hook_receive(c->p, out, &api_err);
}

static void check_refused(struct catalogue *c, const char *hook, struct message g,
                          const char *words)
{
    struct pawl_hook_message m;

    CHECK_EQ(receive(c, hook, g, &m), -PAWL_E_INVALID);
    CHECK(!m.admitted);
    CHECK(strstr(api_err.message, words));
    CHECK_EQ(sql_number(c->s, "SELECT count(*) FROM executions"), 0);
}

TEST(message_starts_the_workflow_with_values_from_its_body_and_headers)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL);
    struct pawl_hook_message m;

    apply_yaml(&c, DEPLOY);
    OK(receive(&c, "push", MESSAGE(secret, "msg_1", "{\"ref\": \"main\"}"), &m));
    CHECK(m.admitted && !m.existed);
    CHECK_STR(get(c.s, m.id).input, "{\"ref\":\"main\",\"event\":\"msg_1\",\"hook\":\"push\"}");
    CHECK_STR(get(c.s, m.id).name, "deploy");
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM execution_events WHERE data LIKE '%webhook "
                             "push%' AND seq = 1"),
             1);
    run_workflows(c.s, " ");
    CHECK_EQ(status_of(c.s, m.id), S_SUCCEEDED);
    free(secret);
    close_catalogue(&c);
}

TEST(message_that_is_delivered_again_starts_nothing_whatever_changed_meanwhile)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL);
    struct pawl_hook_message m, again;

    apply_yaml(&c, DEPLOY);
    OK(receive(&c, "push", MESSAGE(secret, "msg_1", "{\"ref\": \"main\"}"), &m));
    OK(receive(&c, "push", MESSAGE(secret, "msg_1", "{\"ref\": \"main\"}", .ago = 7), &again));
    CHECK(again.existed);
    CHECK_EQ(again.id, m.id);
    apply_yaml(&c, "name: deploy\non: {webhook: push}\ntasks: {b: {run: y}}\n");
    OK(receive(&c, "push", MESSAGE(secret, "msg_1", "{\"ref\": \"main\"}"), &again));
    CHECK(again.existed);
    CHECK_EQ(again.id, m.id);
    OK(receive(&c, "push", MESSAGE(secret, "msg_2", "{\"ref\": \"main\"}"), &again));
    CHECK(!again.existed);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM executions WHERE parent IS NULL"), 2);
    run_workflows(c.s, " ");
    free(secret);
    close_catalogue(&c);
}

TEST(message_that_is_not_admitted_changes_nothing)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL);
    char *other = create_hook(&c, "other", NULL, NULL);
    char *hub = create_hook(&c, "hub", "github", NULL);

    apply_yaml(&c, DEPLOY);
    check_refused(&c, "push", MESSAGE(other, "m", "{}"), "is not that of this message");
    check_refused(&c, "push", MESSAGE(secret, "m", "{}", .ago = 400), "more than 300 s");
    check_refused(&c, "push", MESSAGE(secret, "m", "{}", .ago = -400), "more than 300 s");
    check_refused(&c, "push", MESSAGE(hub, "m", "{}", .github = true), "are required");
    check_refused(&c, "none", MESSAGE(secret, "m", "{}"), "is not that of this message");
    check_refused(&c, "none", MESSAGE(hub, "m", "{}", .github = true),
                  "is not that of this message");
    check_refused(&c, "hub", MESSAGE(secret, "m", "{}"), "X-Hub-Signature-256");
    OK(pawl_hook_revoke(c.p, "push", "ada", NULL, &api_err));
    check_refused(&c, "push", MESSAGE(secret, "m", "{}"), "is not that of this message");
    free(secret);
    free(other);
    free(hub);
    close_catalogue(&c);
}

TEST(github_message_is_identified_by_its_delivery_or_its_body)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", "github", "It's a Secret to Everybody");
    struct message g = {
        .secret = secret, .body = "{\"ref\": \"main\"}", .github = true, .delivery = "d-1"};
    struct pawl_hook_message m, again;

    CHECK_STR(secret, "It's a Secret to Everybody");
    apply_yaml(&c, DEPLOY);
    OK(receive(&c, "push", g, &m));
    CHECK_STR(get(c.s, m.id).input, "{\"ref\":\"main\",\"event\":\"push\",\"hook\":\"push\"}");
    OK(receive(&c, "push", g, &again));
    CHECK(again.existed && again.id == m.id);
    g.delivery = "d-2";
    OK(receive(&c, "push", g, &again));
    CHECK(!again.existed);
    g.delivery = NULL;
    OK(receive(&c, "push", g, &m));
    OK(receive(&c, "push", g, &again));
    CHECK(!m.existed && again.existed && again.id == m.id);
    run_workflows(c.s, " ");
    free(secret);
    close_catalogue(&c);
}

TEST(message_that_the_workflow_can_not_take_is_refused_with_the_reason)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL);
    struct pawl_hook_message m;
    struct message g = MESSAGE(secret, "m", "{\"ref\": \"main\"}");

    CHECK_EQ(receive(&c, "push", g, &m), -PAWL_E_NOT_FOUND);
    CHECK(m.admitted);
    CHECK(strstr(api_err.message, "no applied workflow has `on: {webhook: push}`"));
    apply_yaml(&c, DEPLOY);
    g.body = "{\"ref\": 7}";
    CHECK_EQ(receive(&c, "push", g, &m), -PAWL_E_INVALID);
    CHECK(m.admitted);
    CHECK(strstr(api_err.message, "ref"));
    g.body = "{}";
    CHECK_EQ(receive(&c, "push", g, &m), -PAWL_E_INVALID);
    g.body = "{";
    CHECK_EQ(receive(&c, "push", g, &m), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "the body"));
    g.body = "\xff";
    g.type = "text/plain";
    CHECK_EQ(receive(&c, "push", g, &m), -PAWL_E_INVALID);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM executions"), 0);
    apply_yaml(&c, "name: deploy\nparams: {t: ''}\non: {webhook: {name: push, with: {t: '${{ "
                   "trigger.body }}'}}}\ntasks: {b: {run: y}}\n");
    g.body = "plain text";
    OK(receive(&c, "push", g, &m)); /* a message that was refused may come again */
    CHECK_STR(get(c.s, m.id).input, "{\"t\":\"plain text\"}");
    run_workflows(c.s, " ");
    free(secret);
    close_catalogue(&c);
}

TEST(long_or_strange_ids_are_told_apart)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL);
    struct pawl_hook_message a, b, again;
    char long_id[400];

    apply_yaml(&c, "name: deploy\non: {webhook: push}\ntasks: {b: {run: y}}\n");
    memset(long_id, 'x', sizeof(long_id));
    long_id[399] = '\0';
    OK(receive(&c, "push", MESSAGE(secret, long_id, "{}"), &a));
    OK(receive(&c, "push", MESSAGE(secret, long_id, "{}"), &again));
    CHECK(again.existed && again.id == a.id);
    long_id[398] = 'y';
    OK(receive(&c, "push", MESSAGE(secret, long_id, "{}"), &b));
    CHECK(b.id != a.id);
    OK(receive(&c, "push", MESSAGE(secret, "\x01\xff", "{}"), &a));
    OK(receive(&c, "push", MESSAGE(secret, "\x01\xfe", "{}"), &b));
    CHECK(b.id != a.id);
    run_workflows(c.s, " ");
    free(secret);
    close_catalogue(&c);
}

TEST(hook_names_and_secrets_are_checked_and_a_name_is_unique)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL), *text;
    static const struct pawl_hook bad[] = {{.name = NULL},
                                           {.name = ""},
                                           {.name = "a/b"},
                                           {.name = "b", .signature = "githbu"},
                                           {.name = "b", .secret = "short"}};

    CHECK(!strncmp(secret, "whsec_", 6));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_EQ(pawl_hook_create(c.p, &bad[i], NULL, NULL, &text, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(
        pawl_hook_create(c.p, &(struct pawl_hook){.name = "push"}, NULL, NULL, &text, &api_err),
        -PAWL_E_CONFLICT);
    CHECK_EQ(pawl_hook_revoke(c.p, "pull", NULL, NULL, &api_err), -PAWL_E_NOT_FOUND);
    OK(pawl_hook_revoke(c.p, "push", "ada", "leaked", &api_err));
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM operator_orders WHERE subject = 'hook:push'"),
             2);
    free(secret);
    close_catalogue(&c);
}

TEST(webhook_starts_at_most_one_workflow)
{
    struct catalogue c = open_catalogue();
    struct pawl_applied_deleted d;

    apply_yaml(&c, "name: one\non: {webhook: [push, pull]}\ntasks: {b: {run: y}}\n");
    CHECK_EQ(pawl_apply_text(c.p, "name: two\non: {webhook: pull}\ntasks: {b: {run: y}}\n", NULL,
                             NULL, &api_err),
             -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "the webhook pull already starts the workflow one"));
    apply_yaml(&c, "name: one\non: {webhook: push}\ntasks: {b: {run: y}}\n");
    apply_yaml(&c, "name: two\non: {webhook: pull}\ntasks: {b: {run: y}}\n");
    OK(pawl_applied_delete(c.p, "one", NULL, NULL, NULL, &d, &api_err));
    apply_yaml(&c, "name: two\non: {webhook: [pull, push]}\ntasks: {b: {run: y}}\n");
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM workflow_webhooks"), 2);
    close_catalogue(&c);
}

/* ---- the same message several times at once ---- */

enum { SENDERS = 4 };
static char sent_secret[WEBHOOK_SECRET_SIZE];

static void send_same(int nth)
{
    struct catalogue c = open_catalogue();
    struct pawl_hook_message m;

    (void)nth;
    for (int i = 0; i < 5; i++) {
        char id[20];

        snprintf(id, sizeof(id), "m%d", i);
        OK(receive(&c, "push", MESSAGE(sent_secret, id, "{\"ref\": \"main\"}"), &m));
    }
    pawl_close(c.p);
    store_close(&c.s);
}

TEST(message_that_several_servers_receive_at_once_starts_one_execution)
{
    struct catalogue c = open_catalogue();
    char *secret = create_hook(&c, "push", NULL, NULL);

    strcpy(sent_secret, secret);
    free(secret);
    apply_yaml(&c, DEPLOY);
    run_processes(SENDERS, send_same);
    CHECK_EQ(sql_number(c.s, "SELECT count(*) FROM executions WHERE parent IS NULL"), 5);
    run_workflows(c.s, " ");
    close_catalogue(&c);
}
