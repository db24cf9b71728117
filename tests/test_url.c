/* test_url.c - database URLs: which are accepted, which are refused, and that no message contains a
 * password. */
#include "harness.h"

#include "base/mem.h"
#include "store/driver/url.h"

#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

static struct db_url *parse(const char *text, const char *tenant)
{
    struct err err = ERR_INIT;
    struct db_url *u = NULL;

    CHECK_OK_ERR(url_parse(text, tenant, &u, &err), &err);
    CHECK_STR(u->text, text);
    CHECK_STR(u->tenant, tenant);
    return u;
}

TEST(sqlite_url_names_a_file)
{
    static const struct {
        const char *text, *tenant, *file;
    } cases[] = {
        {"sqlite:pawl.db", NULL, "pawl.db"},
        {"sqlite:/var/lib/pawl.db", NULL, "/var/lib/pawl.db"},
        {"sqlite:///var/lib/pawl.db", NULL, "/var/lib/pawl.db"},
        {"sqlite:a b?synchronous=normal", NULL, "a b"},
        {"sqlite:pawl.db", "t1", "pawl.t1.db"},
        {"sqlite:/a.b/pawl?synchronous=full", "t1", "/a.b/pawl.t1"},
        {"sqlite:.pawl", "t1", ".pawl.t1"},
        {"sqlite:x/a.b.db", "t_1", "x/a.b.t_1.db"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct db_url *u = parse(cases[i].text, cases[i].tenant);

        CHECK(u->driver == &db_sqlite);
        CHECK_STR(u->file, cases[i].file);
        CHECK_STR(u->safe, cases[i].text);
        CHECK_STR(u->schema, NULL);
        url_free(&u);
        CHECK(!u);
    }
}

TEST(postgres_url_is_shown_without_its_password)
{
    static const struct {
        const char *text, *safe;
    } cases[] = {
        {"postgres://", "postgres://"},
        {"postgresql:///db", "postgresql:///db"},
        {"postgres://me@host:5433/db", "postgres://me@host:5433/db"},
        {"postgres://me:secret@host/db", "postgres://me:***@host/db"},
        {"postgres://me:se?c:ret@host/db", "postgres://me:***@host/db"},
        {"postgres://me:s%40ecret@h1,h2:5433/db?sslmode=disable",
         "postgres://me:***@h1,h2:5433/db?sslmode=disable"},
        {"postgres://host/db?user=me&password=secret&port=1",
         "postgres://host/db?user=me&password=***&port=1"},
        {"postgres://host/db?passw%6Frd=secret", "postgres://host/db?passw%6Frd=***"},
        {"postgres://host/db?sslpassword=secret", "postgres://host/db?sslpassword=***"},
        {"postgres://[::1]:5433/db", "postgres://[::1]:5433/db"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct db_url *u = parse(cases[i].text, NULL);

        CHECK(u->driver == &db_postgres);
        CHECK_STR(u->safe, cases[i].safe);
        CHECK_STR(u->schema, "pawl");
        CHECK_STR(u->file, NULL);
        url_free(&u);
    }
}

TEST(url_with_a_tenant_selects_the_schema_of_the_tenant)
{
    struct db_url *u = parse("postgres://host/db", "t1");

    CHECK_STR(u->schema, "pawl_t1");
    url_free(&u);
}

TEST(invalid_url_is_refused_with_advice)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "write sqlite:FILE"},
        {"pawl.db", "did you mean sqlite:pawl.db"},
        {"/var/lib/pawl.db", "did you mean sqlite:/var/lib/pawl.db"},
        {"mysql://me:secret@host/db", "\"mysql\""},
        {"POSTGRES://host", "\"POSTGRES\""},
        {"host=h password=secret", "as a URL"},
        {"sqlite:", "has no file name"},
        {"sqlite:?x", "has no file name"},
        {"sqlite://host/file", "sqlite:///"},
        {"sqlite::memory:", "memory"},
        {"postgres://me:a@secret@host/db", "%40"},
        {"postgres://me:a/secret@host/db", "%2F"},
        {"postgres://me:%zzsecret@host/db", "postgres://me:***@host/db"},
        {"postgres://host/db?nonsense=1", "nonsense"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct err err = ERR_INIT;
        struct db_url *u = NULL;

        CHECK_EQ(url_parse(cases[i].text, NULL, &u, &err), -E_INVALID);
        CHECK(!u);
        if (!strstr(err.msg, cases[i].says) || strstr(err.msg, "secret"))
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].text, err.msg);
    }
}

TEST(tenant_name_in_a_url_may_have_only_lower_case_letters_digits_and_underscores)
{
    static const char *const good[] = {"a", "t1", "a_b",
                                       "a23456789012345678901234567890123456789_0"};
    static const char *const bad[] = {
        "",    "1a", "_a",  "A",   "a-b",  "a.b",
        "a/b", "ä",  "a\n", "a b", "a\"b", "a2345678901234567890123456789012345678901_"};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        CHECK_OK_ERR(tenant_check_name(good[i], &err), &err);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_EQ(tenant_check_name(bad[i], &err), -E_INVALID);
}
