/* test_tokens.c - access tokens in the database: created, checked, expired, revoked. */
#include "token_fixture.h"

#include "core/access_token.h"

/* ---- create and check ---- */

TEST(token_has_the_rights_that_it_was_created_with)
{
    static const char *const queues[] = {"mail", "reports", NULL};
    static const char *const lanes[] = {"function:send", NULL};
    struct pawl *p = open_counting();
    char *text = create(p, (struct pawl_token){.name = "mailer",
                                               .scopes = PAWL_SCOPE_READ | PAWL_SCOPE_WORK,
                                               .queues = queues,
                                               .lanes = lanes});
    struct pawl_rights *r;

    OK(pawl_token_check(p, text, &r, &api_err));
    CHECK_STR(r->name, "mailer");
    CHECK_EQ(r->scopes, PAWL_SCOPE_READ | PAWL_SCOPE_WORK);
    CHECK_STR(r->queues[1], "reports");
    CHECK(!r->queues[2]);
    CHECK_STR(r->lanes[0], "function:send");
    CHECK(!r->lanes[1]);
    CHECK_EQ(r->expires_at, 0);
    CHECK(pawl_rights_serve(r, "function:send", "mail"));
    CHECK(!pawl_rights_serve(r, "function:send", "default"));
    CHECK(!pawl_rights_serve(r, "function:sen", "mail"));
    CHECK(!pawl_rights_serve(r, "process", "mail"));
    pawl_rights_free(r);
    free(text);
    close_clean(p);
}

TEST(token_without_queues_and_lanes_may_serve_every_queue_if_it_has_the_scope_work)
{
    struct pawl *p = open_counting();
    char *worker = create(p, (struct pawl_token){.name = "w", .scopes = PAWL_SCOPE_WORK});
    char *reader = create_reader(p, "r", 0);
    struct pawl_rights *r;

    OK(pawl_token_check(p, worker, &r, &api_err));
    CHECK(!r->queues && !r->lanes);
    CHECK(pawl_rights_serve(r, "process", "default"));
    pawl_rights_free(r);
    OK(pawl_token_check(p, reader, &r, &api_err));
    CHECK(!pawl_rights_serve(r, "process", "default"));
    pawl_rights_free(r);
    pawl_rights_free(NULL);
    free(worker);
    free(reader);
    close_clean(p);
}

TEST(scope_admin_implies_all_other_scopes_but_is_listed_alone)
{
    struct pawl *p = open_counting();
    char *text = create(p, (struct pawl_token){.name = "root", .scopes = PAWL_SCOPE_ADMIN});
    json_auto_t *list = list_tokens(p), *scopes = NULL;
    struct pawl_rights *r;

    OK(pawl_token_check(p, text, &r, &api_err));
    CHECK_EQ(r->scopes, PAWL_SCOPE_READ | PAWL_SCOPE_SUBMIT | PAWL_SCOPE_OPERATE | PAWL_SCOPE_WORK |
                            PAWL_SCOPE_ADMIN);
    CHECK(pawl_rights_serve(r, "process", "default"));
    scopes = json_incref(json_object_get(json_array_get(list, 0), "scopes"));
    CHECK_EQ(json_array_size(scopes), 1);
    CHECK_STR(json_string_value(json_array_get(scopes, 0)), "admin");
    pawl_rights_free(r);
    free(text);
    close_clean(p);
}

TEST(secret_of_a_token_is_stored_only_as_a_hash)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", 0), *listing;
    json_auto_t *list = list_tokens(p);

    CHECK_EQ(sql_number(p->store, "SELECT count(*) FROM access_tokens WHERE length(hash) = 32"), 1);
    listing = json_dumps(list, 0);
    CHECK(!strstr(listing, text + strlen(text) - 49));
    CHECK(!strstr(listing, "hash"));
    free(listing);
    free(text);
    close_clean(p);
}

TEST(token_with_an_invalid_name_scope_restriction_or_expiry_is_refused)
{
    static const char *const none[] = {NULL}, *const queues[] = {"mail", NULL};
    static const char *const empty[] = {"", NULL}, *const hidden[] = {"a\nb", NULL};
    static char name[102];
    const char *many[102] = {NULL};
    const struct {
        struct pawl_token token;
        const char *message;
    } bad[] = {
        {{.scopes = 1}, "name of the token is missing"},
        {{.name = "", .scopes = 1}, "empty"},
        {{.name = name, .scopes = 1}, "100"},
        {{.name = "a\x1b[31m", .scopes = 1}, "token's name"},
        {{.name = "\xff", .scopes = 1}, "token's name"},
        {{.name = "x"}, "needs at least one scope"},
        {{.name = "x", .scopes = 32}, "needs at least one scope"},
        {{.name = "x", .scopes = 1, .queues = queues}, "can't be restricted"},
        {{.name = "x", .scopes = 8 | 16, .lanes = queues}, "can't be restricted"},
        {{.name = "x", .scopes = 8, .queues = none}, "1 to 100 queues, not to 0"},
        {{.name = "x", .scopes = 8, .lanes = many}, "1 to 100 lanes, not to 101"},
        {{.name = "x", .scopes = 8, .queues = empty}, "queue"},
        {{.name = "x", .scopes = 8, .lanes = hidden}, "lane"},
        {{.name = "x", .scopes = 1, .expires_in = -1}, "100 years"},
        {{.name = "x", .scopes = 1, .expires_in = INT64_MAX}, "100 years"},
    };
    struct pawl *p = open_counting();
    char *text = NULL;

    memset(name, 'n', sizeof(name) - 1);
    for (int i = 0; i < 101; i++)
        many[i] = "process";
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        FAILS(pawl_token_create(p, &bad[i].token, NULL, NULL, &text, &api_err), PAWL_E_INVALID);
        if (!strstr(api_err.message, bad[i].message))
            test_fail(__FILE__, __LINE__, "%zu: %s", i, api_err.message);
        CHECK(!text);
    }
    FAILS(pawl_token_revoke(p, NULL, NULL, NULL, &api_err), PAWL_E_INVALID);
    FAILS(pawl_token_revoke(p, "", NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK_EQ(count_tokens(p), 0);
    name[100] = '\0';
    text = create_reader(p, name, 0);
    CHECK(is_valid(p, text));
    free(text);
    close_clean(p);
}

TEST(text_that_is_not_a_token_is_distinguished_from_an_unknown_token)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", 0);
    struct access_token other;
    struct err err = ERR_INIT;
    struct pawl_rights *r = NULL;

    FAILS(pawl_token_check(p, NULL, &r, &api_err), PAWL_E_INVALID);
    FAILS(pawl_token_check(p, "' OR 1=1 --", &r, &api_err), PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "mistyped"));
    CHECK_OK_ERR(access_token_read(text, &other, &err), &err);
    text[strlen(text) - 20] ^= 1;
    FAILS(pawl_token_check(p, text, &r, &api_err), PAWL_E_INVALID);
    free(text);
    other.secret[0] ^= 1;
    text = access_token_write(&other);
    CHECK(!is_valid(p, text));
    CHECK(!r);
    free(text);
    close_clean(p);
}

TEST(token_whose_stored_restriction_cannot_be_read_is_refused)
{
    static const char *const queues[] = {"mail", NULL};
    static const char *const broken[] = {"nonsense", "{}", "\"mail\"", "[1]", "[\"\"]", ""};
    struct pawl *p = open_counting();
    char *text =
        create(p, (struct pawl_token){.name = "w", .scopes = PAWL_SCOPE_WORK, .queues = queues});
    struct pawl_rights *r = NULL;
    char sql[200];

    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        snprintf(sql, sizeof(sql), "UPDATE access_tokens SET queues = '%s'", broken[i]);
        sql_run(p->store, sql);
        CHECK(pawl_token_check(p, text, &r, &api_err) < 0);
        CHECK(!r);
    }
    free(text);
    pawl_close(p);
}

/* ---- names ---- */

TEST(second_token_with_the_name_of_an_active_token_is_refused)
{
    struct pawl *p = open_counting();
    char *first = create_reader(p, "ci", DAY), *second = NULL;
    struct pawl_token again = {.name = "ci", .scopes = PAWL_SCOPE_ADMIN};

    FAILS(pawl_token_create(p, &again, NULL, NULL, &second, &api_err), PAWL_E_CONFLICT);
    CHECK(strstr(api_err.message, "already a valid token 'ci'"));
    CHECK(!second);
    CHECK_EQ(count_tokens(p), 1);
    CHECK(is_valid(p, first));
    free(first);
    close_clean(p);
}

TEST(name_of_a_revoked_token_can_be_used_again)
{
    struct pawl *p = open_counting();
    char *first = create_reader(p, "ci", 0), *second;

    OK(pawl_token_revoke(p, "ci", "bob", "leaked", &api_err));
    second = create_reader(p, "ci", 0);
    CHECK(!is_valid(p, first));
    CHECK(is_valid(p, second));
    CHECK_EQ(count_tokens(p), 2);
    CHECK_STR(listed(p, 0, "state"), "revoked");
    CHECK_STR(listed(p, 1, "state"), "active");
    OK(pawl_token_revoke(p, "ci", "bob", NULL, &api_err));
    CHECK(!is_valid(p, second));
    free(first);
    free(second);
    close_clean(p);
}

TEST(name_of_an_expired_token_can_be_used_again)
{
    struct pawl *p = open_counting();
    char *first = create_reader(p, "ci", DAY), *second;

    advance(p, DAY + SECOND);
    second = create_reader(p, "ci", DAY);
    CHECK(!is_valid(p, first));
    CHECK(is_valid(p, second));
    CHECK_STR(listed(p, 0, "state"), "expired");
    CHECK_STR(listed(p, 1, "state"), "active");
    OK(pawl_token_revoke(p, "ci", NULL, NULL, &api_err));
    CHECK_STR(listed(p, 0, "state"), "expired");
    CHECK_STR(listed(p, 1, "state"), "revoked");
    free(first);
    free(second);
    close_clean(p);
}

static int *created;

static void create_same_name(int nth)
{
    struct pawl *p = open_pawl();
    struct pawl_token t = {.name = "ci", .scopes = PAWL_SCOPE_READ};
    char *text;
    int rc = pawl_token_create(p, &t, NULL, NULL, &text, &api_err);

    CHECK(rc == 0 || rc == -PAWL_E_CONFLICT);
    created[nth] = !rc;
    if (!rc)
        free(text);
    pawl_close(p);
}

TEST(one_of_many_simultaneous_creations_of_a_token_with_one_name_succeeds)
{
    struct store *s = fixture_store();
    int n = 0;

    created = shared_memory(6 * sizeof(*created));
    run_processes(6, create_same_name);
    for (int i = 0; i < 6; i++)
        n += created[i];
    CHECK_EQ(n, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM access_tokens"), 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM operator_orders"), 1);
    verify_clean(s);
    store_close(&s);
}

/* ---- expiry and revocation ---- */

TEST(token_expires_by_the_clock_of_the_database)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", 90 * DAY), *forever = create_reader(p, "ever", 0);
    struct pawl_rights *r;

    OK(pawl_token_check(p, text, &r, &api_err));
    CHECK(r->expires_at > 0);
    pawl_rights_free(r);
    advance(p, 90 * DAY - 10 * MINUTE);
    CHECK(is_valid(p, text));
    CHECK_STR(listed(p, 0, "state"), "active");
    advance(p, 10 * MINUTE);
    CHECK(!is_valid(p, text));
    CHECK_STR(listed(p, 0, "state"), "expired");
    advance(p, 36000 * DAY);
    CHECK(is_valid(p, forever));
    free(text);
    free(forever);
    close_clean(p);
}

TEST(revoked_token_is_refused_at_once_by_every_handle)
{
    struct pawl *p = open_counting(), *server = open_counting();
    char *text = create_reader(p, "ci", 0);

    CHECK(is_valid(server, text));
    OK(pawl_token_revoke(p, "ci", "bob", "leaked", &api_err));
    CHECK(!is_valid(server, text));
    FAILS(pawl_token_revoke(p, "ci", NULL, NULL, &api_err), PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, "there is no token 'ci' to revoke"));
    FAILS(pawl_token_revoke(p, "other", NULL, NULL, &api_err), PAWL_E_NOT_FOUND);
    CHECK_STR(listed(p, 0, "revoked_by"), "bob");
    free(text);
    pawl_close(server);
    close_clean(p);
}

TEST(check_of_many_tokens_reports_for_each_whether_it_is_active)
{
    struct pawl *p = open_counting();
    char *expires = create_reader(p, "a", DAY), *revoked = create_reader(p, "b", 0);
    char *kept = create_reader(p, "c", 0), *mistyped = create_reader(p, "d", 0);
    const char *texts[] = {expires, revoked, kept, mistyped, "nonsense", kept};
    bool active[6];

    OK(pawl_tokens_check(p, texts, 0, NULL, &api_err));
    mistyped[strlen(mistyped) - 1] ^= 1;
    uses_written = 0;
    OK(pawl_tokens_check(p, texts, 6, active, &api_err));
    CHECK(active[0] && active[1] && active[2] && !active[3] && !active[4] && active[5]);
    OK(pawl_token_revoke(p, "b", "bob", "leaked", &api_err));
    advance(p, DAY + SECOND);
    OK(pawl_tokens_check(p, texts, 6, active, &api_err));
    CHECK(!active[0] && !active[1] && active[2] && !active[3] && !active[4] && active[5]);
    CHECK_EQ(uses_written, 0);
    free(expires);
    free(revoked);
    free(kept);
    free(mistyped);
    close_clean(p);
}
