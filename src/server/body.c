/* body.c - reads a JSON body and checks it by the rules of the endpoint. Unknown members, wrong
 * types and missing members are refused with a sentence that names them. */
#include "base/json_read.h"
#include "base/suggest.h"
#include "base/text.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX  1000
#define EXACT_REAL 9007199254740992.0 /* 2^53: reals up to here are exact */

static int refuse_member(const struct json_node *object, const struct value_rule *rules,
                         const char *key, struct err *err)
{
    struct suggestion s = suggest_for(key);

    for (size_t i = 0; rules[i].name; i++)
        suggest_try(&s, rules[i].name);
    return json_read_fail(object, err, "can't have a member \"%.60s\"%s%s%s", key,
                          DID_YOU_MEAN(s.best));
}

static int read_texts(const struct json_node *node, struct arena *arena, const char ***out,
                      struct err *err)
{
    struct json_node item;
    const char **list;
    size_t n;

    TRY(json_read_array(node, TEXTS_MAX, &n, err));
    list = arena_zalloc(arena, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        json_read_item(node, i, &item);
        TRY(json_read_text(&item, 0, BODY_MAX, arena, &list[i], err));
    }
    *out = list;
    return 0;
}

/* Reads one word that the rule lists or, for VALUE_WORDS, several with commas between them. */
static int read_word(const struct json_node *node, const struct value_rule *rule,
                     struct arena *arena, const char **out, struct err *err)
{
    const char *word;
    size_t len;

    TRY(json_read_text(node, 1, WORDS_BYTES, arena, out, err));
    for (word = *out;; word += len + 1) {
        len = rule->type == VALUE_WORDS ? strcspn(word, ",") : strlen(word);
        if (!value_is_listed(rule->words, word, len))
            return json_read_fail(node, err, "must be one of %s, not \"%.60s\"", rule->words, word);
        if (!word[len])
            return 0;
    }
}

/* Reads a duration, which is a text such as "5m". */
static int read_duration(const struct json_node *node, struct arena *arena, int64_t *out,
                         struct err *err)
{
    struct err reason = ERR_INIT;
    const char *text;

    TRY(json_read_text(node, 1, 40, arena, &text, err));
    if (!text_parse_duration(text, out, &reason))
        return 0;
    return json_read_fail(node, err, "%s", reason.msg);
}

static int read_time(const struct json_node *node, struct arena *arena, int64_t *out,
                     struct err *err)
{
    struct err reason = ERR_INIT;
    const char *text;

    TRY(json_read_text(node, 1, 40, arena, &text, err));
    if (!text_parse_time(text, out, &reason))
        return 0;
    return json_read_fail(node, err, "%s", reason.msg);
}

static int read_bool(const struct json_node *node, int64_t *out, struct err *err)
{
    if (!json_is_boolean(node->value))
        return json_read_fail(node, err, "must be true or false");
    *out = json_is_true(node->value);
    return 0;
}

static int read_object(const struct json_node *node, const struct value_rule *rules,
                       struct arena *arena, struct value **out, struct err *err);

static int read_list(const struct json_node *node, const struct value_rule *rules,
                     struct arena *arena, struct value *v, struct err *err)
{
    struct json_node item;
    size_t n;

    TRY(json_read_array(node, LIST_MAX, &n, err));
    v->n = (int64_t)n;
    v->objects = arena_zalloc(arena, (n + 1) * sizeof(*v->objects));
    for (size_t i = 0; i < n; i++) {
        json_read_item(node, i, &item);
        v->objects[i].rules = rules;
        TRY(read_object(&item, rules, arena, &v->objects[i].at, err));
    }
    return 0;
}

/* Reads a whole number, which may be written as 1e3. */
static int read_int(const struct json_node *node, const struct value_rule *rule, int64_t *out,
                    struct err *err)
{
    double real = json_real_value(node->value);
    json_auto_t *whole = NULL;
    struct json_node copy = *node;

    if (json_is_real(node->value) && real >= -EXACT_REAL && real <= EXACT_REAL &&
        real == (double)(int64_t)real)
        copy.value = whole = json_integer((int64_t)real);
    return json_read_i64(&copy, rule->min, rule->max ? rule->max : INT64_MAX, out, err);
}

/* The limit is in bytes. The OpenAPI document can only say it in characters, so a text that keeps
 * that limit has the right form: the error is E_REFUSED. */
static int read_text(const struct json_node *node, const struct value_rule *rule,
                     struct arena *arena, const char **out, struct err *err)
{
    size_t max = rule->max ? (size_t)rule->max : BODY_MAX;

    TRY(json_read_text(node, rule->min > 0 ? (size_t)rule->min : 0, BODY_MAX, arena, out, err));
    if (strlen(*out) <= max)
        return 0;
    (void)json_read_fail(node, err, "has %zu bytes; at most %zu are allowed", strlen(*out), max);
    if (text_characters(*out, strlen(*out)) <= max)
        err->code = E_REFUSED;
    return -(int)err->code;
}

static int read_member(const struct json_node *node, const struct value_rule *rule,
                       struct arena *arena, struct value *v, struct err *err)
{
    v->given = true;
    switch (rule->type) {
    case VALUE_TEXT:
        return read_text(node, rule, arena, &v->text, err);
    case VALUE_INT:
        return read_int(node, rule, &v->n, err);
    case VALUE_BOOL:
        return read_bool(node, &v->n, err);
    case VALUE_DURATION:
        return read_duration(node, arena, &v->n, err);
    case VALUE_TIME:
        return read_time(node, arena, &v->n, err);
    case VALUE_WORD:
    case VALUE_WORDS:
        return read_word(node, rule, arena, &v->text, err);
    case VALUE_TEXTS:
        return read_texts(node, arena, &v->list, err);
    case VALUE_OBJECT:
        TRY(json_read_known_keys(node, NULL, err));
        v->text = json_read_raw(node, arena);
        return 0;
    case VALUE_ANY:
        v->text = json_read_raw(node, arena);
        return 0;
    case VALUE_MEMBERS:
        return read_object(node, rule->of, arena, &v->of, err);
    case VALUE_LIST:
        return read_list(node, rule->of, arena, v, err);
    }
    return 0;
}

static int read_object(const struct json_node *node, const struct value_rule *rules,
                       struct arena *arena, struct value **out, struct err *err)
{
    struct json_node member;
    struct value *values;
    size_t n = 0, i;
    void *iter;

    TRY(json_read_known_keys(node, NULL, err));
    while (rules[n].name)
        n++;
    values = arena_zalloc(arena, (n + 1) * sizeof(*values));
    JSON_EACH(node, iter, &member)
    {
        for (i = 0; i < n && strcmp(rules[i].name, member.key); i++)
            ;
        if (i == n)
            return refuse_member(node, rules, member.key, err);
        if (!json_is_null(member.value) || !rules[i].nullable)
            TRY(read_member(&member, &rules[i], arena, &values[i], err));
    }
    for (i = 0; i < n; i++)
        if (rules[i].required && !values[i].given)
            return json_read_fail(node, err, "needs the member \"%s\"", rules[i].name);
    *out = values;
    return 0;
}

/* One of these members must be given. */
static int check_any_of(const struct json_node *object, const char *words, const struct values *v,
                        struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; words && v->rules[i].name; i++)
        n += v->at[i].given && value_is_listed(words, v->rules[i].name, strlen(v->rules[i].name));
    if (!words || n)
        return 0;
    return json_read_fail(object, err, "must have one of %s", words);
}

static int read_objects(struct request *r, const struct json_node *doc, struct values **out,
                        size_t *n, struct err *err)
{
    bool list = r->endpoint->list_body && json_is_array(doc->value);
    struct json_node item = *doc;

    *n = 1;
    if (list)
        TRY(json_read_array(doc, LIST_MAX, n, err));
    *out = arena_zalloc(&r->arena, (*n + 1) * sizeof(**out));
    for (size_t i = 0; i < *n; i++) {
        if (list)
            json_read_item(doc, i, &item);
        (*out)[i].rules = r->endpoint->body;
        TRY(read_object(&item, r->endpoint->body, &r->arena, &(*out)[i].at, err));
        TRY(check_any_of(&item, r->endpoint->any_of, &(*out)[i], err));
    }
    return 0;
}

/* Whether a text that could not be read is JSON nevertheless, with something that can't be stored:
 * NUL in a key, an integer of more than 64 bits, too many levels. The OpenAPI document can't
 * exclude these from values of any form. */
static bool is_json(const char *text, size_t len)
{
    json_error_t at;
    json_auto_t *doc = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &at);

    return doc || json_error_code(&at) == json_error_numeric_overflow ||
           json_error_code(&at) == json_error_null_byte_in_key;
}

bool body_read(struct request *r, struct values **values, size_t *n)
{
    AUTO_JSON_NODE doc = {0};
    struct err err = ERR_INIT;
    const char *text = r->body.len ? r->body.ptr : "{}";
    size_t len = r->body.len ? r->body.len : 2;
    bool formed;

    if (json_read_open(text, len, BODY_MAX, "the body", &doc, &err))
        formed = is_json(text, len);
    else if (read_objects(r, &doc, values, n, &err))
        formed = err.code == E_REFUSED;
    else
        return true;
    answer_problem(r, formed ? 422 : 400, formed ? "not-processable" : "invalid", "%s", err.msg);
    return false;
}
