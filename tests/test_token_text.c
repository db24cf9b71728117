/* test_token_text.c - the text of an access token: it is read back exactly, and every other text is
 * refused without being repeated. */
#include "api_fixture.h"

#include "base/buf.h"
#include "core/access_token.h"

#include <sodium.h>

TEST_NO_DB;

#define LONGEST_TENANT "a234567890_234567890_234567890_2345678901"

static struct access_token random_token(const char *tenant)
{
    struct access_token t = {0};

    snprintf(t.tenant, sizeof(t.tenant), "%s", tenant);
    randombytes_buf(t.secret, sizeof(t.secret));
    return t;
}

/* Whether the text is a token; the error never contains it. */
static bool is_token(const char *text)
{
    struct access_token t;
    struct err err = ERR_INIT;

    if (!access_token_read(text, &t, &err))
        return true;
    CHECK_EQ(err.code, E_INVALID);
    CHECK(strstr(err.msg, "mistyped"));
    CHECK(!text || strlen(text) < 6 || !strstr(err.msg, text));
    return false;
}

TEST(written_token_text_reads_back_to_its_tenant_and_secret)
{
    static const char *const tenants[] = {"", "a", "acme", "a_", "a__b_9", LONGEST_TENANT};

    for (size_t i = 0; i < sizeof(tenants) / sizeof(*tenants); i++)
        for (int k = 0; k < 200; k++) {
            struct access_token t = random_token(tenants[i]), again;
            struct err err = ERR_INIT;
            char *text = access_token_write(&t);

            CHECK_EQ(strlen(text), 5 + strlen(tenants[i]) + 1 + 43 + 6);
            CHECK_OK_ERR(access_token_read(text, &again, &err), &err);
            CHECK_STR(again.tenant, tenants[i]);
            CHECK(!memcmp(again.secret, t.secret, sizeof(t.secret)));
            free(text);
        }
}

/* Tokens that are in use must stay valid with every later version. */
TEST(token_text_and_hash_of_a_known_secret_never_change)
{
    struct access_token t = {.tenant = "acme"};
    unsigned char hash[TOKEN_HASH_SIZE];
    char hex[2 * TOKEN_HASH_SIZE + 1];
    char *text;

    for (unsigned char i = 0; i < sizeof(t.secret); i++)
        t.secret[i] = i;
    text = access_token_write(&t);
    CHECK_STR(text, "pawl_acme_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8Outu_7");
    access_token_hash(&t, hash);
    CHECK_STR(sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash)),
              "cb2f5160fc1f7e05a55ef49d340b48da2e5a78099d53393351cd579dd42503d6");
    free(text);
}

TEST(token_with_any_changed_character_is_refused)
{
    struct access_token t = random_token("acme");
    char *text = access_token_write(&t);

    CHECK(is_token(text));
    for (char *at = text; *at; at++)
        for (int other = 1; other < 256; other++) {
            char before = *at;

            if (other == (unsigned char)before)
                continue;
            *at = (char)other;
            CHECK(!is_token(text));
            *at = before;
        }
    CHECK(is_token(text));
    free(text);
}

TEST(token_with_a_missing_or_additional_part_is_refused)
{
    struct access_token t = random_token("acme");
    char *text = access_token_write(&t), *longer = mem_printf("%sA", text);
    char *spaced = mem_printf(" %s", text), *twice = mem_printf("%s%s", text, text);

    CHECK(!is_token(longer));
    CHECK(!is_token(spaced));
    CHECK(!is_token(twice));
    for (const char *end = text + 1; *end; end++)
        CHECK(!is_token(end));
    while (*text) {
        text[strlen(text) - 1] = '\0';
        CHECK(!is_token(text));
    }
    free(text);
    free(longer);
    free(spaced);
    free(twice);
}

/* The text with its valid checksum, which anyone can compute. */
static char *forged(const char *head)
{
    unsigned char digest[16];
    char checks[32];

    crypto_generichash(digest, sizeof(digest), (const unsigned char *)head, strlen(head), NULL, 0);
    sodium_bin2base64(checks, sizeof(checks), digest, sizeof(digest),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return mem_printf("%s%.6s", head, checks);
}

TEST(token_text_with_a_valid_checksum_but_an_invalid_tenant_or_secret_is_refused)
{
#define SECRET "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    static const char *const bad[] = {
        "pawl_../../etc_" SECRET,
        "pawl_Acme_" SECRET,
        "pawl_9a_" SECRET,
        "pawl___" SECRET,
        "pawl_a b_" SECRET,
        "pawl_a'b_" SECRET,
        "pawl_a\nb_" SECRET,
        "pawl_\xff_" SECRET,
        "pawl_" LONGEST_TENANT "x_" SECRET,
        "pawl_acme_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9", /* bits beyond the 256th */
        "pawl_acme_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+",
        "pawl_acme_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh=",
        "pawl_acme_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd.h8",
        "pawl_acme_AAECAwSFBgcICQoLD\277\317\260\274xAREMhUFRYXGBkaGxwdHh8",
        "PAWL_acme_" SECRET,
    };
    char *good = forged("pawl_acme_" SECRET);

    CHECK(is_token(good));
    free(good);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char *text = forged(bad[i]);

        if (is_token(text))
            test_fail(__FILE__, __LINE__, "accepted: %s", text);
        free(text);
    }
}

TEST(empty_incomplete_or_huge_token_text_is_refused)
{
    struct buf large = BUF_INIT;

    CHECK(!is_token(NULL));
    CHECK(!is_token(""));
    CHECK(!is_token("pawl_"));
    CHECK(!is_token("pawl__"));
    CHECK(!is_token("Bearer x"));
    buf_addstr(&large, "pawl_");
    for (int i = 0; i < 1000000; i++)
        buf_addch(&large, 'a');
    CHECK(!is_token(buf_cstr(&large)));
    buf_release(&large);
}

TEST(tenant_of_a_token_is_read_from_its_text_without_a_database)
{
    struct access_token t = random_token("acme"), by_default = random_token("");
    char *text = access_token_write(&t), tenant[PAWL_TENANT_SIZE] = "unchanged";

    CHECK_EQ(pawl_token_tenant("nonsense", tenant, &api_err), -PAWL_E_INVALID);
    CHECK_STR(tenant, "unchanged");
    OK(pawl_token_tenant(text, tenant, &api_err));
    CHECK_STR(tenant, "acme");
    free(text);
    text = access_token_write(&by_default);
    OK(pawl_token_tenant(text, tenant, &api_err));
    CHECK_STR(tenant, "");
    free(text);
}

TEST(list_of_scopes_is_parsed_and_a_misspelled_scope_gets_a_suggestion)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "\"\" is not a scope"},
        {NULL, "\"\" is not a scope"},
        {"read,", "\"\" is not a scope"},
        {"read,,work", "\"\" is not a scope"},
        {"raed", "did you mean \"read\"?"},
        {"read,opreate", "did you mean \"operate\"?"},
        {"read submit", "\"read submit\" is not a scope"},
        {"READ", "\"READ\" is not a scope: use one or more of read, submit, operate, work, admin"},
    };
    unsigned scopes = 7;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_EQ(pawl_scopes_parse(bad[i].text, &scopes, &api_err), -PAWL_E_INVALID);
        CHECK(strstr(api_err.message, bad[i].message));
        CHECK_EQ(scopes, 7);
    }
    OK(pawl_scopes_parse("work,read,read", &scopes, &api_err));
    CHECK_EQ(scopes, PAWL_SCOPE_READ | PAWL_SCOPE_WORK);
    OK(pawl_scopes_parse("admin", &scopes, &api_err));
    CHECK_EQ(scopes, PAWL_SCOPE_ADMIN);
    CHECK_STR(pawl_scope_text(PAWL_SCOPE_SUBMIT), "submit");
    CHECK_STR(pawl_scope_text(PAWL_SCOPE_OPERATE), "operate");
    CHECK(!pawl_scope_text(0));
    CHECK(!pawl_scope_text(3));
    CHECK(!pawl_scope_text(32));
    CHECK(!pawl_scope_text(~0u));
}
