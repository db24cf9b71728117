/* args.c - reads the query string and checks it by the rules of the endpoint. An unknown name and a
 * wrong value are refused with a sentence that names them. */
#include "base/suggest.h"
#include "base/text.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

static const struct value absent;

const struct value *value_of(const struct values *v, const char *name)
{
    for (size_t i = 0; v->rules && v->rules[i].name; i++)
        if (!strcmp(v->rules[i].name, name))
            return &v->at[i];
    return &absent;
}

const char *value_text(const struct values *v, const char *name)
{
    return value_of(v, name)->text;
}

int64_t value_int(const struct values *v, const char *name)
{
    return value_of(v, name)->n;
}

bool value_bool(const struct values *v, const char *name)
{
    return value_of(v, name)->n != 0;
}

/* Whether `word` is one of `words` ("a|b|c"). */
bool value_is_listed(const char *words, const char *word, size_t len)
{
    while (*words) {
        size_t n = strcspn(words, "|");

        if (n == len && !memcmp(words, word, len))
            return true;
        words += n + (words[n] == '|');
    }
    return false;
}

static bool refuse_word(struct request *r, const struct value_rule *rule, const char *word,
                        size_t len)
{
    answer_problem(r, 400, "invalid", "%s: '%.*s' is not one of %s", rule->name,
                   len > 60 ? 60 : (int)len, word, rule->words);
    return false;
}

static bool check_words(struct request *r, const struct value_rule *rule, const char *text)
{
    size_t len;

    for (;; text += len + 1) {
        len = rule->type == VALUE_WORDS ? strcspn(text, ",") : strlen(text);
        if (!value_is_listed(rule->words, text, len))
            return refuse_word(r, rule, text, len);
        if (!text[len])
            return true;
    }
}

static bool refuse_value(struct request *r, const struct value_rule *rule, const char *what,
                         const char *text)
{
    answer_problem(r, 400, "invalid", "%s needs %s, not '%.60s'", rule->name, what, text);
    return false;
}

static bool read_int(struct request *r, const struct value_rule *rule, const char *text, int64_t *n)
{
    if (text_parse_i64(text, n))
        return refuse_value(r, rule, "a whole number", text);
    if (*n < rule->min || (rule->max && *n > rule->max)) {
        answer_problem(r, 400, "invalid", "%s must be from %lld to %lld", rule->name,
                       (long long)rule->min, (long long)(rule->max ? rule->max : INT64_MAX));
        return false;
    }
    return true;
}

/* The limit is in bytes. The OpenAPI document can only say it in characters, so a text that keeps
 * that limit has the right form. */
static bool check_text(struct request *r, const struct value_rule *rule, const char *text)
{
    size_t len = strlen(text), max = rule->max ? (size_t)rule->max : BODY_MAX;
    bool formed = len && text_characters(text, len) <= max;

    if (formed && len <= max)
        return true;
    answer_problem(r, formed ? 422 : 400, formed ? "not-processable" : "invalid",
                   "%s must have from 1 to %zu bytes", rule->name, max);
    return false;
}

static bool read_value(struct request *r, const struct value_rule *rule, const char *text,
                       struct value *v)
{
    struct err err = ERR_INIT;

    switch (rule->type) {
    case VALUE_INT:
        return read_int(r, rule, text, &v->n);
    case VALUE_BOOL:
        v->n = !strcmp(text, "true");
        return v->n || !strcmp(text, "false") || refuse_value(r, rule, "true or false", text);
    case VALUE_TIME:
        return !text_parse_time(text, &v->n, &err) ||
               refuse_value(r, rule, "a time such as 2026-01-31T14:00:00Z", text);
    case VALUE_DURATION:
        return !text_parse_duration(text, &v->n, &err) ||
               refuse_value(r, rule, "a duration such as 30s or 5m", text);
    case VALUE_WORD:
    case VALUE_WORDS:
        v->text = text;
        return check_words(r, rule, text);
    default:
        v->text = text;
        return check_text(r, rule, text);
    }
}

static void add_text(struct request *r, struct value *v, const char *text)
{
    size_t n = 0;
    const char **list;

    while (v->list && v->list[n])
        n++;
    list = arena_zalloc(&r->arena, (n + 2) * sizeof(*list));
    if (n)
        memcpy(list, v->list, n * sizeof(*list));
    list[n] = text;
    v->list = list;
    v->given = true;
}

static bool refuse_unknown(struct request *r, const char *name)
{
    struct suggestion s = suggest_for(name);

    for (size_t i = 0; r->args.rules && r->args.rules[i].name; i++)
        suggest_try(&s, r->args.rules[i].name);
    answer_problem(r, 400, "invalid", "this path has no argument '%.60s'%s%s%s", name,
                   DID_YOU_MEAN(s.best));
    return false;
}

static bool read_pair(struct request *r, char *name, char *text)
{
    const struct value_rule *rules = r->args.rules;

    if (!percent_decode(name, true) || !percent_decode(text, true)) {
        answer_problem(r, 400, "invalid", "the query string is not valid percent-encoded UTF-8");
        return false;
    }
    for (size_t i = 0; rules && rules[i].name; i++) {
        if (strcmp(rules[i].name, name))
            continue;
        if (rules[i].type == VALUE_TEXTS) {
            add_text(r, &r->args.at[i], text);
            return true;
        }
        if (r->args.at[i].given) {
            answer_problem(r, 400, "invalid", "%s was given twice", name);
            return false;
        }
        r->args.at[i].given = true;
        return read_value(r, &rules[i], text, &r->args.at[i]);
    }
    return refuse_unknown(r, name);
}

static bool has_required(struct request *r)
{
    for (size_t i = 0; r->args.rules && r->args.rules[i].name; i++)
        if (r->args.rules[i].required && !r->args.at[i].given) {
            answer_problem(r, 400, "invalid", "the argument '%s' is missing: %s",
                           r->args.rules[i].name, r->args.rules[i].text);
            return false;
        }
    return true;
}

bool args_read(struct request *r, char *query)
{
    size_t n = 0;
    char *pair;

    r->args.rules = r->endpoint->args;
    while (r->args.rules && r->args.rules[n].name)
        n++;
    r->args.at = arena_zalloc(&r->arena, (n + 1) * sizeof(*r->args.at));
    while ((pair = strsep(&query, "&"))) {
        char *text = strchr(pair, '=');

        if (!*pair)
            continue;
        if (text)
            *text++ = '\0';
        else
            text = pair + strlen(pair);
        if (!read_pair(r, pair, text))
            return false;
    }
    return has_required(r);
}

bool path_id(struct request *r, int64_t *id)
{
    if (!text_parse_i64(r->path_args[0], id) && *id > 0)
        return true;
    answer_problem(r, 404, "not-found",
                   "there is no execution '%.60s': ids are whole numbers from 1", r->path_args[0]);
    return false;
}
