/* token_fixture.h - access tokens in a test, on a handle that follows the test's clock. */
#ifndef TESTS_TOKEN_FIXTURE_H
#define TESTS_TOKEN_FIXTURE_H

#include "api/api.h"
#include "api_fixture.h"

#include <string.h>

#define FAILS(call, code) CHECK_EQ(call, -(code))
#define MINUTE            (60 * SECOND)
#define DAY               (24 * 60 * MINUTE)

/* ---- a handle that follows the test's clock, and counts its attempts to record a use ---- */

static int uses_written;

static inline void count_uses(void *arg, const char *where)
{
    (void)arg;
    uses_written += !strcmp(where, "token_use");
}

static inline struct pawl *open_counting(void)
{
    struct pawl *p = open_pawl();

    p->env.point = count_uses;
    p->env.clock_offset = fixture_env()->clock_offset;
    return p;
}

static inline void advance(struct pawl *p, int64_t us)
{
    clock_advance(us);
    p->env.clock_offset = fixture_env()->clock_offset;
}

static inline void close_clean(struct pawl *p)
{
    verify_clean(p->store);
    pawl_close(p);
}

/* ---- tokens; the caller frees their texts ---- */

static inline char *create(struct pawl *p, struct pawl_token t)
{
    char *text;

    OK(pawl_token_create(p, &t, "ann", "for a test", &text, &api_err));
    return text;
}

static inline char *create_reader(struct pawl *p, const char *name, int64_t expires_in)
{
    return create(
        p, (struct pawl_token){.name = name, .scopes = PAWL_SCOPE_READ, .expires_in = expires_in});
}

/* Whether the token is valid. */
static inline bool is_valid(struct pawl *p, const char *text)
{
    struct pawl_rights *r = NULL;
    int rc = pawl_token_check(p, text, &r, &api_err);

    if (!rc) {
        pawl_rights_free(r);
        return true;
    }
    CHECK_EQ(rc, -PAWL_E_NOT_FOUND);
    CHECK_STR(api_err.message,
              "this access token is not valid: it is unknown, has expired or was revoked; "
              "`pawl admin token create` creates another");
    return false;
}

static inline int add_token(void *arg, const char *json)
{
    json_array_append_new(arg, json_loads(json, 0, NULL));
    return 0;
}

static inline json_t *list_tokens(struct pawl *p)
{
    json_t *list = json_array();

    OK(pawl_tokens(p, add_token, list, &api_err));
    return list;
}

/* A field of the nth token of the list; valid until the next call. */
static inline const char *listed(struct pawl *p, size_t nth, const char *key)
{
    static json_t *list;

    json_decref(list);
    list = list_tokens(p);
    return text_in(json_array_get(list, nth), key);
}

static inline size_t count_tokens(struct pawl *p)
{
    json_auto_t *list = list_tokens(p);

    return json_array_size(list);
}

#endif
