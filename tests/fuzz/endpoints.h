/* endpoints.h - for the fuzzers of what the server reads: endpoints whose arguments and bodies have
 * values of every type, and checks of what was read. The server's own endpoints need all of it. */
#ifndef TESTS_FUZZ_ENDPOINTS_H
#define TESTS_FUZZ_ENDPOINTS_H

#include "fuzz.h"

#include "base/text.h"
#include "server/server.h"

#define WORDS "ready|running|ended"

static const struct value_rule inner_rules[] = {
    RULE("key", TEXT, "", .min = 1, .max = 20, .required = true),
    RULE("max", INT, "", .min = 1, .max = INT32_MAX),
    {0}};

/* Arguments are of the first types only. */
#define COMMON_RULES                                                                      \
    RULE("text", TEXT, "", .min = 1, .max = 20), RULE("any_text", TEXT, "", .min = 1),    \
        RULE("limit", INT, "", .min = -3, .max = 1000), RULE("id", INT, "", .min = 1),    \
        RULE("all", BOOL, ""), RULE("since", TIME, ""), RULE("delay", DURATION, ""),      \
        RULE("status", WORDS, "", .words = WORDS), RULE("one", WORD, "", .words = WORDS), \
        RULE("param", TEXTS, "")

static const struct value_rule args[] = {COMMON_RULES, {0}};
static const struct value_rule body[] = {COMMON_RULES,
                                         RULE("nothing", INT, "", .nullable = true, .max = 5),
                                         RULE("must", TEXT, "", .required = true),
                                         RULE("object", OBJECT, ""),
                                         RULE("value", ANY, ""),
                                         RULE("inner", MEMBERS, "", .of = inner_rules),
                                         {0}};

/* Each resource has these paths. */
#define X(name)                                                             \
    const struct endpoint name##_endpoints[] = {                            \
        {"GET", "/v1/" #name, #name, .args = args},                         \
        {"POST", "/v1/" #name, #name, .body = body, .list_body = true},     \
        {"GET", "/v1/" #name "/{id}", #name, .args = args},                 \
        {"PUT", "/v1/" #name "/{id}", #name, .body = body},                 \
        {"DELETE", "/v1/" #name "/{id}/part/{other}", #name, .args = args}, \
        {"GET", "/v1/" #name "/fixed", #name, .args = args},                \
        {0}};
RESOURCES(X)
#undef X

static inline size_t count_texts(const char *const *list)
{
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

static inline void check_value(const struct value_rule *rule, const struct value *v)
{
    size_t len = v->text ? strlen(v->text) : 0;

    switch (rule->type) {
    case VALUE_TEXT:
        MUST_HOLD(len >= (size_t)rule->min && (!rule->max || len <= (size_t)rule->max));
        MUST_HOLD(text_is_utf8(v->text, len));
        break;
    case VALUE_INT:
        MUST_HOLD(v->n >= rule->min && (!rule->max || v->n <= rule->max));
        break;
    case VALUE_BOOL:
        MUST_HOLD(v->n == 0 || v->n == 1);
        break;
    case VALUE_DURATION:
        MUST_HOLD(v->n >= 0);
        break;
    case VALUE_WORD:
        MUST_HOLD(value_is_listed(WORDS, v->text, len) && !strchr(v->text, ','));
        break;
    case VALUE_WORDS:
        MUST_HOLD(len > 0 && v->text[0] != ',' && v->text[len - 1] != ',');
        break;
    case VALUE_TEXTS:
        for (size_t i = 0; i < count_texts(v->list); i++)
            MUST_HOLD(text_is_utf8(v->list[i], strlen(v->list[i])));
        break;
    case VALUE_OBJECT:
    case VALUE_ANY: {
        json_t *json = json_loadb(v->text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        MUST_HOLD(json && (rule->type == VALUE_ANY || json_is_object(json)));
        json_decref(json);
        break;
    }
    case VALUE_MEMBERS:
        MUST_HOLD(v->of && v->of[0].given);
        break;
    default:
        break;
    }
}

static inline void check_values(const struct values *v)
{
    for (size_t i = 0; v->rules && v->rules[i].name; i++) {
        MUST_HOLD(!v->rules[i].required || v->at[i].given);
        if (v->at[i].given)
            check_value(&v->rules[i], &v->at[i]);
    }
}

/* A refused request was answered with a problem that has a sentence. */
static inline void check_refused(const struct request *r)
{
    json_t *problem = json_loadb(r->answer.ptr, r->answer.len, 0, NULL);

    MUST_HOLD(r->answered && (r->status == 400 || r->status == 422));
    MUST_HOLD(problem && *json_string_value(json_object_get(problem, "detail")));
    json_decref(problem);
}

static inline void release_request(struct request *r)
{
    buf_release(&r->body);
    buf_release(&r->answer);
    vec_release(&r->headers);
    arena_release(&r->arena);
}

#endif
