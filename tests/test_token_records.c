/* test_token_records.c - the records that access tokens leave: their use, and who created and
 * revoked them. */
#include "token_fixture.h"

/* ---- use ---- */

TEST(use_of_a_token_is_recorded_at_most_once_a_minute)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", 0), first[40];

    CHECK_STR(listed(p, 0, "last_used_at"), "(none)");
    CHECK(is_valid(p, text));
    snprintf(first, sizeof(first), "%s", listed(p, 0, "last_used_at"));
    CHECK(strcmp(first, "(none)"));
    CHECK_EQ(uses_written, 1);
    p->env.clock_offset -= 2 * MINUTE; /* no matter how long the test takes */
    for (int i = 0; i < 20; i++)
        CHECK(is_valid(p, text));
    CHECK_EQ(uses_written, 1);
    CHECK_STR(listed(p, 0, "last_used_at"), first);
    advance(p, 2 * MINUTE);
    CHECK(is_valid(p, text));
    CHECK_EQ(uses_written, 2);
    CHECK(strcmp(listed(p, 0, "last_used_at"), first) > 0);
    free(text);
    close_clean(p);
}

TEST(use_of_a_token_that_is_not_valid_is_not_recorded)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", 0);

    OK(pawl_token_revoke(p, "ci", NULL, NULL, &api_err));
    CHECK(!is_valid(p, text));
    CHECK_EQ(uses_written, 0);
    free(text);
    close_clean(p);
}

TEST(token_is_accepted_while_its_use_cannot_be_recorded)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", 0);

    if (!strcmp(test_db(), "sqlite")) {
        sql_run(p->store, "CREATE TRIGGER no BEFORE UPDATE ON access_tokens "
                          "BEGIN SELECT RAISE(ABORT, 'no'); END");
    } else {
        sql_run(p->store,
                "ALTER TABLE access_tokens ADD CONSTRAINT no CHECK (last_used_at IS NULL)");
    }
    for (int i = 0; i < 5; i++)
        CHECK(is_valid(p, text));
    CHECK_EQ(uses_written, 1); /* it is not tried again at each check */
    CHECK_STR(listed(p, 0, "last_used_at"), "(none)");
    free(text);
    pawl_close(p);
}

/* ---- audit ---- */

/* The last action on the nth token of the list, as "ACTION BY REASON". */
static const char *last_audit(struct pawl *p, size_t nth)
{
    static char text[200];
    json_auto_t *list = list_tokens(p);
    json_t *o = json_object_get(json_array_get(list, nth), "last_order");

    snprintf(text, sizeof(text), "%s %s %s", text_in(o, "action"), text_in(o, "by"),
             text_in(o, "reason"));
    return text;
}

TEST(creation_and_revocation_of_tokens_with_the_same_name_are_recorded_for_each_token)
{
    struct pawl *p = open_counting();
    struct pawl_token t = {.name = "ci", .scopes = PAWL_SCOPE_READ};
    char *text;

    OK(pawl_token_create(p, &t, "ann", "the first", &text, &api_err));
    free(text);
    CHECK_STR(last_audit(p, 0), "created ann the first");
    OK(pawl_token_revoke(p, "ci", "bob", "leaked", &api_err));
    CHECK_STR(last_audit(p, 0), "revoked bob leaked");
    advance(p, DAY);
    OK(pawl_token_create(p, &t, "eve", NULL, &text, &api_err));
    free(text);
    CHECK_STR(last_audit(p, 0), "revoked bob leaked");
    CHECK_STR(last_audit(p, 1), "created eve (none)");
    CHECK_STR(listed(p, 0, "created_by"), "ann");
    CHECK_STR(listed(p, 1, "created_by"), "eve");
    CHECK_EQ(sql_number(p->store, "SELECT count(*) FROM operator_orders"), 3);
    close_clean(p);
}

TEST(retention_removes_the_audit_records_of_a_token_but_not_the_token)
{
    struct pawl *p = open_counting();
    char *text = create_reader(p, "ci", DAY);
    struct pawl_cleanup_result r;

    OK(pawl_token_revoke(p, "ci", "bob", "leaked", &api_err));
    advance(p, 100 * DAY);
    OK(pawl_cleanup(p, DAY, false, &r, &api_err));
    CHECK_EQ(sql_number(p->store, "SELECT count(*) FROM operator_orders"), 0);
    CHECK_STR(listed(p, 0, "revoked_by"), "bob");
    CHECK_STR(last_audit(p, 0), "(none) (none) (none)");
    CHECK(!is_valid(p, text));
    free(text);
    close_clean(p);
}
