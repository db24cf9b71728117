/* test_tenants.c - the contract of tenants: separate databases that are created, listed and dropped
 * by name; on PostgreSQL each has a role that can't reach the others. */
#include "base/buf.h"
#include "own_fixture.h"

#include "store/tenant.h"

#include <dirent.h>

#define COUNT(list_tenants) (sizeof(list_tenants) / sizeof(*(list_tenants)))

/* A database for this test alone, so that no other tenants of the server are listed. */
static const char *own_url(void)
{
    static const char *url;

    return url ? url : (url = own_database());
}

/* Roles belong to the whole server, so each test process uses its own names. */
static const char *name_of_process(const char *name)
{
    static char names[8][64];
    static int n;
    char *out = names[n++ % 8];

    snprintf(out, sizeof(names[0]), "%s_%d", name, (int)getpid());
    return out;
}

static void create(const char *name)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(tenant_create(own_url(), name, NULL, &err), &err);
}

static void drop(const char *name)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(tenant_drop(own_url(), name, NULL, &err), &err);
}

static int try_open(const char *url, const char *name, struct store **s, struct err *err)
{
    *err = (struct err)ERR_INIT;
    *s = NULL;
    return store_open(url, name, NULL, s, err);
}

static struct store *open_tenant(const char *name)
{
    struct store *s;
    struct err err;

    CHECK_OK_ERR(try_open(own_url(), name, &s, &err), &err);
    return s;
}

static void add_name(void *arg, const char *name)
{
    buf_addf(arg, "%s ", name);
}

static const char *list_tenants(void)
{
    static struct buf names;
    struct err err = ERR_INIT;

    buf_reset(&names);
    CHECK_OK_ERR(tenant_list(own_url(), NULL, add_name, &names, &err), &err);
    return buf_cstr(&names);
}

/* ---- by name ---- */

TEST(tenants_are_created_listed_and_dropped)
{
    const char *b = name_of_process("beta"), *a = name_of_process("alpha");
    char both[200], one[100];
    struct store *s;
    struct err err;

    CHECK_STR(list_tenants(), "");
    create(b);
    create(a);
    snprintf(both, sizeof(both), "%s %s ", a, b);
    CHECK_STR(list_tenants(), both); /* sorted by name */
    s = open_tenant(NULL);           /* the default tenant is not listed */
    CHECK_STR(list_tenants(), both);
    store_close(&s);
    drop(a);
    snprintf(one, sizeof(one), "%s ", b);
    CHECK_STR(list_tenants(), one);
    CHECK_EQ(tenant_drop(own_url(), a, NULL, &err), -E_NOT_FOUND);
    CHECK(strstr(err.msg, a));
    drop(b);
    CHECK_STR(list_tenants(), "");
    own_database_drop();
}

TEST(creation_of_an_existing_tenant_is_refused)
{
    const char *a = name_of_process("alpha");
    struct store *s;
    struct err err;

    create(a);
    s = open_tenant(a);
    submit(s, "x");
    CHECK_EQ(tenant_create(own_url(), a, NULL, &err), -E_INVALID);
    CHECK(strstr(err.msg, "already exists"));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    verify_clean(s);
    store_close(&s);
    drop(a);
    own_database_drop();
}

TEST(tenant_name_may_have_only_lower_case_letters_digits_and_underscores)
{
    static const char *const bad[] = {
        "",
        "A",
        "Alpha",
        "1a",
        "_a",
        "a-b",
        "a.b",
        "a b",
        " a",
        "a ",
        "a/b",
        "../a",
        "a;b",
        "a\"b",
        "a'b",
        "a\\b",
        "a%b",
        "a*",
        "a\nb",
        "\xC3\xA4",
        "a\xC3\xA4",
        "public;DROP SCHEMA pawl",
        "a23456789012345678901234567890123456789012", /* 42 */
    };
    static const char *const good[] = {"a", "z9_", "a23456789012345678901234567890123456789_1"};
    struct store *s;
    struct err err;
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        err = (struct err)ERR_INIT;
        if (tenant_create(own_url(), bad[i], NULL, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "\"%s\" was accepted as a name", bad[i]);
        CHECK(strstr(err.msg, "is not a valid tenant name"));
        CHECK_EQ(tenant_drop(own_url(), bad[i], NULL, &err), -E_INVALID);
        CHECK_EQ(try_open(own_url(), bad[i], &s, &err), -E_INVALID);
    }
    CHECK_STR(list_tenants(), "");
    CHECK_EQ(strlen(good[2]), 41);
    for (i = 0; i < COUNT(good); i++)
        CHECK_OK_ERR(tenant_check_name(good[i], &err), &err);
    own_database_drop();
}

TEST(tenant_with_a_name_of_the_maximum_length_works)
{
    char name[TENANT_MAX + 1];
    struct store *s;

    memset(name, 'x', TENANT_MAX);
    name[TENANT_MAX] = '\0';
    snprintf(name, sizeof(name), "t%d", (int)getpid());
    name[strlen(name)] = '_';
    create(name);
    s = open_tenant(name);
    submit(s, "x");
    verify_clean(s);
    store_close(&s);
    drop(name);
    own_database_drop();
}

TEST(open_of_a_missing_tenant_fails_and_does_not_create_it)
{
    const char *missing = name_of_process("missing");
    struct store *s;
    struct err err;

    CHECK_EQ(try_open(own_url(), missing, &s, &err), -E_NOT_FOUND);
    CHECK_EQ(err.code, E_NOT_FOUND);
    CHECK(strstr(err.msg, missing));
    CHECK(!s);
    CHECK_EQ(tenant_drop(own_url(), missing, NULL, &err), -E_NOT_FOUND);
    CHECK(strstr(err.msg, missing));
    CHECK_STR(list_tenants(), "");
    CHECK_EQ(try_open(own_url(), missing, &s, &err), -E_NOT_FOUND);
    own_database_drop();
}

/* ---- isolation ---- */

TEST(tenants_do_not_see_each_other_or_the_default_tenant)
{
    const char *na = name_of_process("alpha"), *nb = name_of_process("beta");
    struct store *a, *b, *none;
    struct held_job j;
    int64_t first;

    create(na);
    create(nb);
    a = open_tenant(na);
    b = open_tenant(nb);
    none = open_tenant(NULL);
    first = submit_with(a, (struct submission){.name = "x", .key = "k"});
    set_limit(a, "queue:default", 1);
    submit(a, "y");
    CHECK(!claim_one(b, 1, &j));
    CHECK(!claim_one(none, 1, &j));
    CHECK_EQ(sql_number(b, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(sql_number(none, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(sql_number(b, "SELECT count(*) FROM limits"), 0);
    CHECK_EQ(cancel(b, first), -E_NOT_FOUND);
    /* each tenant numbers its executions from 1 and has its own keys */
    CHECK_EQ(submit_with(b, (struct submission){.name = "other", .key = "k"}), first);
    CHECK_EQ(submit(none, "third"), first);
    CHECK_EQ(cancel(b, first), 0);
    CHECK_EQ(status_of(a, first), S_READY);
    CHECK_EQ(status_of(none, first), S_READY);
    verify_clean(a);
    verify_clean(b);
    verify_clean(none);
    store_close(&b);
    drop(nb); /* dropping one tenant does not affect the others */
    CHECK_EQ(settle_ok(a, claim_job(a, 1)), 0);
    CHECK_EQ(settle_ok(none, claim_job(none, 1)), 0);
    verify_clean(a);
    verify_clean(none);
    store_close(&a);
    store_close(&none);
    drop(na);
    own_database_drop();
}

TEST(dropped_tenant_is_removed_with_all_its_data_and_can_be_created_again)
{
    const char *a = name_of_process("alpha");
    struct store *s;
    struct err err;

    create(a);
    s = open_tenant(a);
    submit(s, "x");
    store_close(&s);
    drop(a);
    CHECK_EQ(try_open(own_url(), a, &s, &err), -E_NOT_FOUND);
    create(a);
    s = open_tenant(a);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(submit(s, "x"), 1);
    verify_clean(s);
    store_close(&s);
    drop(a);
    own_database_drop();
}

TEST(dropped_tenant_leaves_no_file_behind)
{
    const char *a = name_of_process("alpha");
    struct listener *l = NULL;
    struct dirent *entry;
    struct store *s;
    struct err err;
    DIR *dir;

    if (strcmp(test_db(), "sqlite"))
        SKIP("a schema has no files");
    create(a);
    s = open_tenant(a);
    CHECK_OK_ERR(store_url(s)->driver->listen(store_url(s), store_db(s)->env, 7, &l, &err), &err);
    submit(s, "x"); /* creates a log, a lock file and a wake-up socket */
    l->close(l);
    store_close(&s);
    drop(a);
    dir = opendir(test_dir());
    CHECK(dir);
    while ((entry = readdir(dir)))
        if (strstr(entry->d_name, a))
            test_fail(__FILE__, __LINE__, "%s is left", entry->d_name);
    closedir(dir);
}

/* ---- the role of a tenant, on PostgreSQL ---- */

/* The URL of the test's database with another role. */
static char *url_as(const char *role)
{
    const char *at = strchr(own_url(), '@');

    return mem_printf("postgres://%s%s", role, at);
}

static char *role_of(const char *tenant)
{
    return mem_printf("pawl_%s", tenant);
}

/* Runs a statement as that role; returns 0 or its error. */
static int try_as(const char *role, const char *tenant, const char *sql, struct err *err)
{
    struct stmt *stmt = mem_zalloc(sizeof(*stmt));
    struct args a = {.stmt = stmt};
    struct env env = {0};
    struct db_url *url = NULL;
    struct db *db = NULL;
    char *text = url_as(role);
    int rc;

    *err = (struct err)ERR_INIT;
    stmt->name = "try";
    stmt->sql[DIALECT_POSTGRES] = sql;
    CHECK_OK_ERR(url_parse(text, tenant, &url, err), err);
    if (!(rc = db_open(url, &env, &db, err)) && !(rc = db_begin(db, TX_WRITE, err)) &&
        !(rc = db_send(db, &a, NULL, ANY_ROWS, err)))
        rc = db_commit(db, err);
    if (db)
        db_rollback(db);
    db_close(&db);
    url_free(&url);
    free(text);
    free(stmt);
    return rc;
}

TEST(tenant_role_works_in_its_own_schema)
{
    const char *a = name_of_process("alpha");
    char *role, *text;
    struct store *s;
    struct err err;

    pg_server(); /* skips the test on SQLite */
    create(a);
    role = role_of(a);
    text = url_as(role);
    CHECK_OK_ERR(try_open(text, a, &s, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM pg_roles WHERE rolname = session_user"
                           " AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls)"),
             0);
    submit_with(s, (struct submission){.name = "x", .concurrency = "k", .max_attempts = 2});
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    sql_run(s, "SELECT setval('execution_id', 5000000)"); /* the role creates its own partitions */
    CHECK_EQ(submit(s, "y"), 5000001);
    verify_clean(s);
    store_close(&s);
    s = open_tenant(a); /* an administrator, who switches to that role, sees the same */
    CHECK_EQ(claim_job(s, 1).id, 5000001);
    verify_clean(s);
    store_close(&s);
    free(text);
    free(role);
    drop(a);
    own_database_drop();
}

TEST(tenant_role_is_refused_in_all_other_schemas)
{
    static const char *const attempts[][2] = {
        {"SELECT count(*) FROM ", ".executions"},
        {"INSERT INTO ", ".settings VALUES ('x', 'y')"},
        {"DELETE FROM ", ".task_outbox"},
        {"SELECT nextval('", ".execution_id')"},
        {"SELECT ", ".make_event_partitions(7000000)"},
        {"CREATE TABLE ", ".mine (x int)"},
        {"DROP SCHEMA ", " CASCADE"},
    };
    const char *a = name_of_process("alpha"), *b = name_of_process("beta");
    char *role_a, *role_b, *text;
    struct store *s, *other;
    struct err err;
    size_t i, k;

    pg_server();
    create(a);
    create(b);
    s = open_tenant(NULL);
    submit(s, "of the default one");
    role_a = role_of(a);
    role_b = role_of(b);
    text = url_as(role_a);
    CHECK(try_open(text, b, &other, &err)); /* the role can't switch to the other tenant's role */
    CHECK(strstr(err.msg, "permission denied"));
    CHECK(try_open(text, NULL, &other, &err));
    CHECK(*err.msg);
    for (k = 0; k < 2; k++)
        for (i = 0; i < COUNT(attempts); i++) {
            char sql[200];

            snprintf(sql, sizeof(sql), "%s%s%s", attempts[i][0], k ? DEFAULT_SCHEMA : role_b,
                     attempts[i][1]);
            if (!try_as(role_a, a, sql, &err))
                test_fail(__FILE__, __LINE__, "%s was done by %s", sql, role_a);
            if (!strstr(err.msg, "permission denied") && !strstr(err.msg, "must be owner"))
                test_fail(__FILE__, __LINE__, "%s: %s", sql, err.msg);
        }
    CHECK_OK_ERR(try_as(role_a, a, "SELECT count(*) FROM executions", &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1);
    verify_clean(s);
    store_close(&s);
    free(text);
    free(role_a);
    free(role_b);
    drop(a);
    drop(b);
    own_database_drop();
}

TEST(role_without_rights_on_a_tenant_cannot_open_it)
{
    const char *a = name_of_process("alpha");
    char *stranger = mem_printf("stranger_%d", (int)getpid());
    char *make = mem_printf("CREATE ROLE %s LOGIN", stranger);
    char *end = mem_printf("DROP ROLE %s", stranger);
    char *text;
    struct store *s;
    struct err err;

    pg_server();
    create(a);
    pg_admin(own_url(), make);
    text = url_as(stranger);
    CHECK(try_open(text, a, &s, &err));
    CHECK(strstr(err.msg, "permission denied"));
    CHECK(tenant_create(text, name_of_process("own"), NULL,
                        &err)); /* the stranger can't create a tenant either */
    CHECK(tenant_drop(text, a, NULL, &err));
    pg_admin(own_url(), end);
    s = open_tenant(a);
    verify_clean(s);
    store_close(&s);
    free(make);
    free(end);
    free(text);
    free(stranger);
    drop(a);
    own_database_drop();
}
