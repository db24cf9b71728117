/* openapi.c - the OpenAPI document, made from the table of endpoints and the schemas of the
 * library's answers. */
#include "base/json.h"
#include "server/server.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

#define NO_NUL "^[^\\\\u0000]*$" /* as JSON */

static void write_words(struct json_writer *w, const char *words)
{
    json_write_key(w, "enum");
    json_write_begin(w, '[');
    while (*words) {
        size_t n = strcspn(words, "|");
        AUTO_FREE char *word = mem_printf("%.*s", (int)n, words);

        json_write_text(w, word);
        words += n + (words[n] == '|');
    }
    json_write_end(w, ']');
}

/* Writes a pattern for a list of words, which has the form "ready,running" in a query. */
static void write_words_pattern(struct json_writer *w, const char *words)
{
    AUTO_BUF pattern = BUF_INIT;

    buf_addf(&pattern, "^(%s)(,(%s))*$", words, words);
    json_field_text(w, "pattern", pattern.ptr);
}

static void write_members(struct json_writer *w, const struct value_rule *rules);

static void write_range(struct json_writer *w, const char *least, const char *most,
                        const struct value_rule *rule)
{
    if (rule->min || rule->type == VALUE_INT)
        json_field_i64(w, least, rule->min);
    if (rule->max || rule->type == VALUE_INT)
        json_field_i64(w, most, rule->max ? rule->max : INT64_MAX);
}

/* Writes the members of the schema of a value. */
static void write_value(struct json_writer *w, const struct value_rule *rule, bool in_query)
{
    switch (rule->type) {
    case VALUE_INT:
        json_field_text(w, "type", "integer");
        write_range(w, "minimum", "maximum", rule);
        break;
    case VALUE_BOOL:
        json_field_text(w, "type", "boolean");
        break;
    case VALUE_TIME:
        json_field_text(w, "type", "string");
        json_field_text(w, "format", "date-time");
        break;
    case VALUE_DURATION:
        json_field_text(w, "type", "string");
        json_field_text(w, "pattern", "^[0-9]{1,6}(ms|s|m|h|d)$");
        break;
    case VALUE_WORD:
        json_field_text(w, "type", "string");
        write_words(w, rule->words);
        break;
    case VALUE_WORDS:
        json_field_text(w, "type", "string");
        write_words_pattern(w, rule->words);
        if (!in_query)
            json_field_i64(w, "maxLength", WORDS_BYTES);
        break;
    case VALUE_TEXTS:
        json_field_text(w, "type", "array");
        json_write_key(w, "items");
        json_write_raw(w, "{\"type\":\"string\",\"pattern\":\"" NO_NUL "\"}");
        break;
    case VALUE_TEXT:
        json_field_text(w, "type", "string");
        json_field_text(w, "pattern", rule->pattern ? rule->pattern : "^[^\\u0000]*$");
        if (in_query && !rule->min)
            json_field_i64(w, "minLength", 1);
        write_range(w, "minLength", "maxLength", rule);
        break;
    case VALUE_OBJECT:
        json_field_text(w, "type", "object");
        break;
    case VALUE_ANY:
        break;
    case VALUE_MEMBERS:
        write_members(w, rule->of);
        break;
    case VALUE_LIST:
        json_field_text(w, "type", "array");
        json_field_i64(w, "maxItems", LIST_MAX);
        json_write_key(w, "items");
        json_write_begin(w, '{');
        write_members(w, rule->of);
        json_write_end(w, '}');
        break;
    }
}

static void write_nullable(struct json_writer *w, const struct value_rule *rule)
{
    json_write_key(w, "oneOf");
    json_write_begin(w, '[');
    json_write_begin(w, '{');
    write_value(w, rule, false);
    json_write_end(w, '}');
    json_write_raw(w, "{\"type\":\"null\"}");
    json_write_end(w, ']');
}

static void write_members(struct json_writer *w, const struct value_rule *rules)
{
    json_field_text(w, "type", "object");
    json_write_key(w, "additionalProperties");
    json_write_bool(w, false);
    json_write_key(w, "properties");
    json_write_begin(w, '{');
    for (size_t i = 0; rules[i].name; i++) {
        json_write_key(w, rules[i].name);
        json_write_begin(w, '{');
        if (rules[i].nullable)
            write_nullable(w, &rules[i]);
        else
            write_value(w, &rules[i], false);
        json_field_text(w, "description", rules[i].text);
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
    json_write_key(w, "required");
    json_write_begin(w, '[');
    for (size_t i = 0; rules[i].name; i++)
        if (rules[i].required)
            json_write_text(w, rules[i].name);
    json_write_end(w, ']');
}

/* ---- operations ---- */

static void write_parameter(struct json_writer *w, const char *name, const char *in,
                            const char *text, bool required)
{
    json_field_text(w, "name", name);
    json_field_text(w, "in", in);
    json_write_key(w, "required");
    json_write_bool(w, required);
    if (text)
        json_field_text(w, "description", text);
    json_write_key(w, "schema");
}

static void write_path_parameters(struct json_writer *w, const char *path)
{
    for (const char *at = path; (at = strchr(at, '{')); at++) {
        AUTO_FREE char *name = mem_printf("%.*s", (int)strcspn(at + 1, "}"), at + 1);
        bool number = !strcmp(name, "id") || !strcmp(name, "other");

        json_write_begin(w, '{');
        write_parameter(w, name, "path", NULL, true);
        json_write_raw(w, number ? "{\"type\":\"integer\",\"minimum\":1}"
                                 : "{\"type\":\"string\",\"minLength\":1}");
        json_write_end(w, '}');
    }
}

static void write_parameters(struct json_writer *w, const struct endpoint *e)
{
    json_write_key(w, "parameters");
    json_write_begin(w, '[');
    write_path_parameters(w, e->path);
    for (const struct value_rule *a = e->args; a && a->name; a++) {
        json_write_begin(w, '{');
        write_parameter(w, a->name, "query", a->text, a->required);
        json_write_begin(w, '{');
        write_value(w, a, true);
        json_write_end(w, '}');
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

static bool needs_body(const struct endpoint *e)
{
    bool needed = (e->body_type && strcmp(e->body_type, "*/*")) || e->any_of;

    for (const struct value_rule *m = e->body; m && m->name; m++)
        needed |= m->required;
    return needed;
}

/* A schema for each word, in which the member of this name is required. */
static void write_any_of(struct json_writer *w, const char *words)
{
    json_write_key(w, "anyOf");
    json_write_begin(w, '[');
    for (size_t len; *words; words += len + (words[len] == '|')) {
        AUTO_FREE char *schema = NULL;

        len = strcspn(words, "|");
        schema = mem_printf("{\"required\":[\"%.*s\"]}", (int)len, words);
        json_write_raw(w, schema);
    }
    json_write_end(w, ']');
}

static void write_object(struct json_writer *w, const struct endpoint *e)
{
    write_members(w, e->body);
    if (e->any_of)
        write_any_of(w, e->any_of);
}

static void write_one_or_list(struct json_writer *w, const struct endpoint *e)
{
    json_write_key(w, "oneOf");
    json_write_begin(w, '[');
    json_write_begin(w, '{');
    write_object(w, e);
    json_write_end(w, '}');
    json_write_begin(w, '{');
    json_field_text(w, "type", "array");
    json_field_i64(w, "maxItems", LIST_MAX);
    json_write_key(w, "items");
    json_write_begin(w, '{');
    write_object(w, e);
    json_write_end(w, '}');
    json_write_end(w, '}');
    json_write_end(w, ']');
}

static void write_body(struct json_writer *w, const struct endpoint *e)
{
    if (!e->body && !e->body_type)
        return;
    json_write_key(w, "requestBody");
    json_write_begin(w, '{');
    json_write_key(w, "required");
    json_write_bool(w, needs_body(e));
    json_write_key(w, "content");
    json_write_begin(w, '{');
    json_write_key(w, e->body_type ? e->body_type : "application/json");
    json_write_begin(w, '{');
    json_write_key(w, "schema");
    json_write_begin(w, '{');
    if (e->body_type && strcmp(e->body_type, "*/*"))
        json_field_text(w, "type", "string");
    else if (e->list_body)
        write_one_or_list(w, e);
    else if (!e->body_type)
        write_object(w, e);
    for (int i = 0; i < 4; i++)
        json_write_end(w, '}');
}

static void write_schema_of_answer(struct json_writer *w, const struct endpoint *e)
{
    AUTO_FREE char *ref = mem_printf("{\"$ref\":\"#/components/schemas/%s\"}", e->answer);

    if (!e->page) {
        json_write_raw(w, ref);
        return;
    }
    json_write_begin(w, '{');
    json_field_text(w, "type", "object");
    json_write_key(w, "properties");
    json_write_begin(w, '{');
    json_write_key(w, "items");
    json_write_begin(w, '{');
    json_field_text(w, "type", "array");
    json_write_key(w, "items");
    json_write_raw(w, ref);
    json_write_end(w, '}');
    json_write_key(w, "next");
    json_write_raw(
        w, "{\"type\":[\"string\",\"null\"],\"description\":\"the cursor of the next page\"}");
    json_write_end(w, '}');
    json_write_key(w, "required");
    json_write_raw(w, "[\"items\",\"next\"]");
    json_write_end(w, '}');
}

static void write_response(struct json_writer *w, const struct endpoint *e, unsigned status)
{
    AUTO_FREE char *code = mem_printf("%u", status);

    json_write_key(w, code);
    json_write_begin(w, '{');
    json_field_text(w, "description", status == 204 ? "done" : "the answer");
    if (*e->answer || e->answer_type) {
        json_write_key(w, "content");
        json_write_begin(w, '{');
        json_write_key(w, e->answer_type ? e->answer_type : "application/json");
        json_write_begin(w, '{');
        if (*e->answer) {
            json_write_key(w, "schema");
            write_schema_of_answer(w, e);
        }
        json_write_end(w, '}');
        for (size_t i = 0; e->texts && e->texts[i]; i++) {
            json_write_key(w, e->texts[i]);
            json_write_raw(w, "{}");
        }
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
}

static void write_operation(struct json_writer *w, const struct endpoint *e)
{
    AUTO_FREE char *method = mem_strdup(e->method);

    for (char *c = method; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    json_write_key(w, method);
    json_write_begin(w, '{');
    json_field_text(w, "operationId", e->id);
    json_field_text(w, "summary", e->text);
    write_parameters(w, e);
    write_body(w, e);
    json_write_key(w, "responses");
    json_write_begin(w, '{');
    write_response(w, e, e->status);
    if (e->status == 201)
        write_response(w, e, 200);
    json_write_key(w, "default");
    json_write_raw(w, "{\"$ref\":\"#/components/responses/Problem\"}");
    json_write_end(w, '}');
    if (e->scope)
        json_field_text(w, "x-scope", pawl_scope_text(e->scope));
    json_write_key(w, "security");
    json_write_raw(w, e->scope ? "[{\"token\":[]}]" : "[]");
    json_write_end(w, '}');
}

/* ---- the document ---- */

/* Whether an earlier endpoint of the table has the same path. */
static bool is_repeated(const struct endpoint *e)
{
    for (size_t i = 0; endpoint_lists[i]; i++)
        for (const struct endpoint *o = endpoint_lists[i]; o->method; o++) {
            if (o == e)
                return false;
            if (!strcmp(o->path, e->path))
                return true;
        }
    return false;
}

static void write_path(struct json_writer *w, const char *path)
{
    json_write_key(w, path);
    json_write_begin(w, '{');
    for (size_t i = 0; endpoint_lists[i]; i++)
        for (const struct endpoint *o = endpoint_lists[i]; o->method; o++)
            if (!strcmp(o->path, path))
                write_operation(w, o);
    json_write_end(w, '}');
}

static const char problem_schema[] =
    "{\"type\":\"object\",\"required\":[\"type\",\"title\",\"status\",\"detail\"],\"properties\":{"
    "\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
    "\"detail\":{\"type\":\"string\",\"description\":\"one sentence: what is wrong and what to do\"},\"code\":{\"type\":\"string\","
    "\"description\":\"the code of pawl.h without PAWL_E_, if the library refused it\"},\"missing\":{\"type\":\"string\",\"enum\":"
    "[\"execution\",\"param\",\"submitted\"]},\"name\":{\"type\":\"string\",\"description\":\"the id or the param that is missing\"}}}";

/* The schemas of answers that come from the server and not from the library. */
static const char own_schemas[] =
    "\"Receipt\":{\"oneOf\":[{\"$ref\":\"#/components/schemas/Submitted\"},{\"type\":\"array\",\"items\":{\"$ref\":"
    "\"#/components/schemas/Submitted\"}}]},\"Submitted\":{\"type\":\"object\",\"required\":[\"id\",\"existed\"],"
    "\"properties\":{\"id\":{\"type\":\"integer\"},\"existed\":{\"type\":\"boolean\",\"description\":\"an execution with "
    "the same idempotency key existed\"}}},\"Identity\":{\"type\":\"object\",\"required\":[\"by\",\"scopes\","
    "\"read_only\",\"version\",\"database\"],\"properties\":{\"by\":{\"type\":\"string\"},\"scopes\":{\"type\":\"array\",\"items\":"
    "{\"type\":\"string\"}},\"read_only\":{\"type\":\"boolean\"},\"version\":{\"type\":\"string\"},\"database\":{\"type\":[\"string\","
    "\"null\"],\"description\":\"without its password; null without the scope admin\"}}},\"Health\":{\"type\":"
    "\"object\",\"required\":[\"status\"],\"properties\":{\"status\":{\"type\":\"string\"}}},\"Applied\":{\"type\":\"object\",\"required\":[\"name\",\"definition\",\"unchanged\",\"tasks\",\"schedules\"],"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"definition\":{\"type\":\"string\",\"description\":\"its hash\"},"
    "\"unchanged\":{\"type\":\"boolean\"},\"tasks\":{\"type\":\"integer\"},\"nested\":{\"type\":\"integer\"},\"schedules\":{\"type\":"
    "\"integer\"},\"kept\":{\"type\":\"integer\",\"description\":\"schedules that continue\"},\"removed\":{\"type\":\"integer\","
    "\"description\":\"schedules that no longer exist\"}}},\"Deleted\":{\"type\":\"object\",\"required\":[\"name\",\"definition\","
    "\"schedules\",\"waiting\"],\"properties\":{\"name\":{\"type\":\"string\"},\"definition\":{\"type\":\"string\",\"description\":\"the "
    "hash that the name had\"},\"schedules\":{\"type\":\"integer\"},\"waiting\":{\"type\":\"integer\",\"description\":\"due times that "
    "waited for a run to end: they will not be run\"}}},"
    "\"BulkResult\":{\"type\":\"object\",\"required\":[\"matched\",\"done\",\"refused\",\"changed\",\"before\",\"code\",\"items\"],\"properties\":{"
    "\"matched\":{\"type\":\"integer\"},\"done\":{\"type\":\"integer\"},\"refused\":{\"type\":\"integer\"},\"changed\":{\"type\":"
    "\"integer\",\"description\":\"it no longer applied\"},\"before\":{\"type\":\"integer\",\"description\":\"as `before` of another "
    "request's filter: only executions that this one saw\"},\"code\":{\"type\":\"integer\",\"description\":\"the number of the first "
    "refusal's code in pawl.h; 0 if none\"},\"items\":{\"type\":\"array\",\"description\":\"the first 1,000\",\"items\":"
    "{\"$ref\":\"#/components/schemas/ActionOnManyExecutions\"}}}},\"FoundLines\":{\"type\":"
    "\"object\",\"required\":[\"attempt\",\"items\",\"next\"],\"properties\":{\"attempt\":{\"type\":\"integer\"},\"items\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"byte\",\"text\"],\"properties\":{\"byte\":{\"type\":\"integer\","
    "\"description\":\"offset of the line in the whole output\"},\"text\":{\"type\":\"string\",\"description\":\"its first 400 bytes"
    "\"}}}},\"next\":{\"type\":[\"integer\",\"null\"],\"description\":\"where to continue; null at the end\"}}},"
    "\"Verified\":{\"type\":\"object\",\"required\":[\"checks\",\"violations\",\"executions\",\"events\",\"items\"],\"properties\":{"
    "\"checks\":{\"type\":\"integer\"},\"violations\":{\"type\":\"integer\"},\"executions\":{\"type\":\"integer\"},\"events\":{"
    "\"type\":\"integer\"},\"items\":{\"type\":\"array\",\"description\":\"at most 20 violations of each invariant\",\"items\":{\"type\":\"object\","
    "\"required\":[\"invariant\",\"execution\",\"detail\"],\"properties\":{\"invariant\":{\"type\":\"string\"},\"execution\":{\"type\":["
    "\"integer\",\"null\"]},\"detail\":{\"type\":\"string\"}}}}}},\"NewToken\":{\"type\":"
    "\"object\",\"required\":[\"token\"],\"properties\":{\"token\":{\"type\":\"string\",\"description\":\"shown once\"}}},"
    "\"NewHook\":{\"type\":\"object\",\"required\":[\"secret\"],\"properties\":{\"secret\":{\"type\":\"string\","
    "\"description\":\"shown once\"}}}";

static void write_components(struct json_writer *w)
{
    AUTO_FREE char *answers = pawl_answer_schemas();
    AUTO_BUF schemas = BUF_INIT;

    answers[strlen(answers) - 1] = '\0'; /* removes the closing brace, to append further schemas */
    buf_addf(&schemas, "%s,%s,\"Problem\":%s}", answers, own_schemas, problem_schema);
    json_write_key(w, "components");
    json_write_begin(w, '{');
    json_write_key(w, "schemas");
    json_write_raw(w, schemas.ptr);
    json_write_key(w, "responses");
    json_write_raw(
        w,
        "{\"Problem\":{\"description\":\"a problem (RFC 9457); 409: the state does not allow the action now, 422: the request is well-formed, but wrong\",\"content\":{\"application/problem+json\":"
        "{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}}}}}");
    json_write_key(w, "securitySchemes");
    json_write_raw(w, "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}");
    json_write_end(w, '}');
}

char *openapi_text(void)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_text(&w, "openapi", "3.1.0");
    json_write_key(&w, "info");
    json_write_begin(&w, '{');
    json_field_text(&w, "title", "Pawl");
    json_field_text(&w, "version", "1");
    json_field_text(&w, "description", "Durable workflows and jobs. docs/API.md explains it.");
    json_write_end(&w, '}');
    json_write_key(&w, "paths");
    json_write_begin(&w, '{');
    for (size_t i = 0; endpoint_lists[i]; i++)
        for (const struct endpoint *o = endpoint_lists[i]; o->method; o++)
            if (o->id && !is_repeated(o))
                write_path(&w, o->path);
    json_write_end(&w, '}');
    write_components(&w);
    json_write_end(&w, '}');
    return b.ptr;
}
