/* api_fixture.h - the public library in a test, on the test's own database: pawl.h as an embedder
 * uses it, and the JSON that it returns. */
#ifndef TESTS_API_FIXTURE_H
#define TESTS_API_FIXTURE_H

#include "fixture.h"
#include "pawl.h"

#include <jansson.h>
#include <stdlib.h>

static struct pawl_error api_err; /* the error of the last call */

#define OK(call) test_check_ok(__FILE__, __LINE__, #call, call, api_err.message)

static inline struct pawl *open_pawl(void)
{
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant()};
    struct pawl *p = NULL;

    OK(pawl_open(&o, &p, &api_err));
    return p;
}

/* Parses JSON text of the library and frees the text; the caller owns the object. */
static inline json_t *json_parse_and_free(char *text)
{
    json_t *o = json_loads(text, 0, NULL);

    if (!o)
        test_fail(__FILE__, __LINE__, "this is no JSON: %s", text);
    free(text);
    return o;
}

static inline const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "(none)";
}

#endif
