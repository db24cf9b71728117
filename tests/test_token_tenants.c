/* test_token_tenants.c - an access token is valid only in the database of its tenant. */
#include "api_fixture.h"
#include "core/access_token.h"
#include "own_fixture.h"

static const char *own_url;

/* Roles belong to the whole server, so each test process uses its own names. */
static const char *name_of_process(const char *name)
{
    static char names[2][PAWL_TENANT_SIZE];
    static int n;
    char *out = names[n++ % 2];

    snprintf(out, sizeof(names[0]), "%s_%d", name, (int)getpid());
    return out;
}

static struct pawl_options options_of(const char *tenant)
{
    return (struct pawl_options){.url = own_url, .tenant = tenant};
}

static struct pawl *open_tenant(const char *tenant)
{
    struct pawl_options o = options_of(tenant);
    struct pawl *p;

    OK(pawl_open(&o, &p, &api_err));
    return p;
}

static struct pawl *create_tenant(const char *tenant)
{
    struct pawl_options o = options_of(NULL);

    OK(pawl_tenant_create(&o, tenant, &api_err));
    return open_tenant(tenant);
}

static void drop_tenant(struct pawl *p, const char *tenant)
{
    struct pawl_options o = options_of(NULL);
    struct pawl_verify_result r;

    OK(pawl_verify(p, &(struct pawl_verify_options){0}, &r, &api_err));
    pawl_close(p);
    if (tenant)
        OK(pawl_tenant_drop(&o, tenant, &api_err));
}

static char *create_token(struct pawl *p)
{
    struct pawl_token t = {.name = "ci", .scopes = PAWL_SCOPE_ADMIN};
    char *text;

    OK(pawl_token_create(p, &t, NULL, NULL, &text, &api_err));
    return text;
}

static int check(struct pawl *p, const char *text)
{
    struct pawl_rights *r = NULL;
    int rc = pawl_token_check(p, text, &r, &api_err);

    pawl_rights_free(r);
    return rc;
}

/* The text of a token with the same secret for another tenant. */
static char *move_token(const char *text, const char *tenant)
{
    struct access_token t;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(access_token_read(text, &t, &err), &err);
    snprintf(t.tenant, sizeof(t.tenant), "%s", tenant);
    return access_token_write(&t);
}

static int count_line(void *arg, const char *json)
{
    (void)json;
    ++*(int *)arg;
    return 0;
}

TEST(token_is_valid_only_in_the_database_of_its_tenant)
{
    const char *alpha = name_of_process("alpha"), *beta = name_of_process("beta");
    char tenant[PAWL_TENANT_SIZE];
    struct pawl *a, *b, *all;
    char *text, *moved, *by_default;
    int n = 0;

    own_url = own_database();
    all = open_tenant(NULL);
    a = create_tenant(alpha);
    b = create_tenant(beta);
    text = create_token(a);
    OK(pawl_token_tenant(text, tenant, &api_err));
    CHECK_STR(tenant, alpha);
    CHECK_EQ(check(a, text), 0);
    CHECK_EQ(check(b, text), -PAWL_E_NOT_FOUND);
    CHECK_EQ(check(all, text), -PAWL_E_NOT_FOUND);
    moved = move_token(text, beta); /* the text says beta, and its checksum is right */
    CHECK_EQ(check(b, moved), -PAWL_E_NOT_FOUND);
    CHECK_EQ(check(a, moved), -PAWL_E_NOT_FOUND);
    by_default = create_token(all); /* the same name in another tenant */
    OK(pawl_token_tenant(by_default, tenant, &api_err));
    CHECK_STR(tenant, "");
    CHECK_EQ(check(all, by_default), 0);
    CHECK_EQ(check(a, by_default), -PAWL_E_NOT_FOUND);
    OK(pawl_token_revoke(all, "ci", NULL, NULL, &api_err));
    CHECK_EQ(check(a, text), 0);
    OK(pawl_tokens(b, count_line, &n, &api_err));
    CHECK_EQ(n, 0);
    free(text);
    free(moved);
    free(by_default);
    drop_tenant(a, alpha);
    drop_tenant(b, beta);
    drop_tenant(all, NULL);
    own_database_drop();
}
