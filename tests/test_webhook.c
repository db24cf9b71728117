/* test_webhook.c - signatures of webhooks: known values, everything that must be refused, secrets.
 */
#include "core/webhook.h"
#include "harness.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define NOW 1700000000

static struct webhook_key key_of(enum webhook_signature signature, const char *text)
{
    struct webhook_key key;
    struct err err = ERR_INIT;

    CHECK(sodium_init() >= 0);
    CHECK_OK_ERR(webhook_read_secret(signature, text, &key, &err), &err);
    return key;
}

static const char *verify(enum webhook_signature signature, const struct webhook_key *key,
                          struct webhook_message m)
{
    static struct err err;
    int rc;

    err = (struct err)ERR_INIT;
    m.body = m.body ? m.body : "{}";
    m.size = m.size ? m.size : strlen(m.body);
    rc = webhook_verify(signature, key, &m, NOW, &err);
    CHECK(!rc || rc == -E_INVALID);
    return rc ? err.msg : "ok";
}

/* The example of the specification of Standard Webhooks, and the one of GitHub's documentation. */
TEST(signatures_are_those_of_published_examples)
{
    struct webhook_key key = key_of(WEBHOOK_STANDARD, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    char text[WEBHOOK_SIGNED_SIZE];
    struct webhook_message hub = {
        .body = "Hello, World!",
        .hub_signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"};

    webhook_sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "{\"test\": 2432232314}", 20,
                 text);
    CHECK_STR(text, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    key = key_of(WEBHOOK_GITHUB, "It's a Secret to Everybody");
    CHECK_STR(verify(WEBHOOK_GITHUB, &key, hub), "ok");
}

TEST(standard_signature_is_refused_if_anything_differs)
{
    struct webhook_key key = key_of(WEBHOOK_STANDARD, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    struct webhook_key other = key_of(WEBHOOK_STANDARD, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx");
    char good[WEBHOOK_SIGNED_SIZE], list[300];
    struct webhook_message m = {.id = "a", .timestamp = "1700000000", .signature = good}, n;

    webhook_sign(&key, "a", "1700000000", "{}", 2, good);
    CHECK_STR(verify(WEBHOOK_STANDARD, &key, m), "ok");
    snprintf(list, sizeof(list), "v1a,xyz v1,AAAA  %s v2,zzz", good);
    n = m, n.signature = list;
    CHECK_STR(verify(WEBHOOK_STANDARD, &key, n), "ok");
    CHECK(strstr(verify(WEBHOOK_STANDARD, &other, m), "the signature is not"));
    n = m, n.id = "b";
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, n), "the signature is not"));
    n = m, n.body = "{ }";
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, n), "the signature is not"));
    n = m, n.timestamp = "1700000001";
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, n), "the signature is not"));
    good[10] ^= 1;
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, m), "the signature is not"));
    good[10] ^= 1;
    good[strlen(good) - 1] = '\0';
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, m), "the signature is not"));
    n = m, n.signature = "";
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, n), "the signature is not"));
    n = m, n.signature = NULL;
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, n), "are required"));
    n = m, n.id = NULL;
    CHECK(strstr(verify(WEBHOOK_STANDARD, &key, n), "are required"));
}

static const struct time_case {
    const char *timestamp, *result;
} times[] = {
    {"1699999700", "ok"},
    {"1700000300", "ok"},
    {"1699999699", "differs"},
    {"1700000301", "differs"},
    {"0", "differs"},
    {"", "seconds since 1970"},
    {"-1700000000", "seconds"},
    {"1700000000.5", "seconds"},
    {" 1700000000", "seconds"},
    {"1700000000 ", "seconds"},
    {"9999999999999999", "seconds"},
    {"999999999999999", "differs"},
};

TEST(timestamp_may_differ_by_five_minutes)
{
    struct webhook_key key = key_of(WEBHOOK_STANDARD, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        char text[WEBHOOK_SIGNED_SIZE];
        struct webhook_message m = {.id = "a", .timestamp = times[i].timestamp, .signature = text};

        webhook_sign(&key, "a", times[i].timestamp, "{}", 2, text);
        CHECK(strstr(verify(WEBHOOK_STANDARD, &key, m), times[i].result));
    }
}

TEST(github_signature_is_refused_if_anything_differs)
{
    struct webhook_key key = key_of(WEBHOOK_GITHUB, "It's a Secret to Everybody");
    char text[] = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    struct webhook_message m = {.body = "Hello, World!", .hub_signature = text};

    m.body = "Hello, World?";
    CHECK(strstr(verify(WEBHOOK_GITHUB, &key, m), "the signature is not"));
    m.body = "Hello, World!";
    m.hub_signature = text + 7;
    CHECK(strstr(verify(WEBHOOK_GITHUB, &key, m), "the signature is not"));
    m.hub_signature = NULL;
    CHECK(strstr(verify(WEBHOOK_GITHUB, &key, m), "X-Hub-Signature-256 is required"));
    m.hub_signature = text;
    text[70] ^= 1;
    CHECK(strstr(verify(WEBHOOK_GITHUB, &key, m), "the signature is not"));
}

TEST(made_secrets_are_read_as_the_same_key)
{
    for (int signature = WEBHOOK_STANDARD; signature <= WEBHOOK_GITHUB; signature++) {
        struct webhook_key key, again, other;
        char text[WEBHOOK_SECRET_SIZE];

        CHECK(sodium_init() >= 0);
        webhook_make_key((enum webhook_signature)signature, &key);
        webhook_make_key((enum webhook_signature)signature, &other);
        webhook_write_secret((enum webhook_signature)signature, &key, text);
        again = key_of((enum webhook_signature)signature, text);
        CHECK_EQ(again.len, key.len);
        CHECK(!memcmp(again.bytes, key.bytes, key.len));
        CHECK(memcmp(other.bytes, key.bytes, key.len));
    }
}

TEST(secret_that_is_too_short_or_malformed_is_refused_without_showing_it)
{
    static const char *const standard[] = {
        "",      "whsec_",         "whsec_c2hvcnQ=",
        "short", "whsec_????????", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZI o2L"};
    struct webhook_key key;
    char longest[300];

    for (size_t i = 0; i < sizeof(standard) / sizeof(*standard); i++) {
        struct err err = ERR_INIT;

        CHECK_EQ(webhook_read_secret(WEBHOOK_STANDARD, standard[i], &key, &err), -E_INVALID);
        CHECK(strstr(err.msg, "the secret must be whsec_ and the base64 of 16 to 128 bytes"));
    }
    memset(longest, 'x', sizeof(longest));
    longest[WEBHOOK_KEY_MAX + 1] = '\0';
    CHECK_EQ(webhook_read_secret(WEBHOOK_GITHUB, longest, &key, &(struct err){0}), -E_INVALID);
    longest[WEBHOOK_KEY_MAX] = '\0';
    key_of(WEBHOOK_GITHUB, longest);
    CHECK_EQ(webhook_read_secret(WEBHOOK_GITHUB, "fifteen letters", &key, &(struct err){0}),
             -E_INVALID);
}
