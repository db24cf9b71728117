/* schema_json.c - writes the JSON Schema (draft-07) of a workflow file from the key table, for
 * completion and checks in editors. The schema describes only the form of a file; `pawl validate`
 * also checks whether the workflow can run. */
#include "base/json.h"
#include "core/workflow/keys.h"

#include <string.h>

#define NAME_PATTERN     "^[A-Za-z_][A-Za-z0-9_-]{0,99}$"
#define VARIABLE_PATTERN "^[A-Za-z_][A-Za-z0-9_]{0,99}$"
#define DURATION_PATTERN "^[0-9]+(ms|s|m|h|d)$"
#define SIZE_PATTERN     "^[0-9]+([kKMG]i?)?B?$"
/* The type of a string. Any scalar is accepted, because the reader takes it as it is written. */
#define SCALAR           "\"type\":[\"string\",\"number\",\"boolean\"]"
#define TEXT_SCHEMA      "{" SCALAR "}"
#define STRING           "\"type\":\"string\""
#define DURATION         STRING ",\"pattern\":\"" DURATION_PATTERN "\""
#define REF(name)        "{\"$ref\":\"#/definitions/" name "\"}"
#define ANY_OF(a, b)     "\"anyOf\":[" a "," b "]"
/* The type of a list. A single item may stand for a list of one item. */
#define LIST(item)       ANY_OF(item, "{\"type\":\"array\",\"items\":" item "}")
#define MAPPING(pattern, value)                                     \
    "\"type\":\"object\",\"propertyNames\":{\"pattern\":\"" pattern \
    "\"},\"additionalProperties\":" value
/* Refers to a definition. The allOf is needed because a validator ignores a description next to a
 * bare $ref. */
#define ONLY(name) "\"allOf\":[" REF(name) "]"

/* The keys of which a task must have exactly one, or only a custom executor. */
#define KINDS                                             \
    "{\"required\":[\"run\"]},{\"required\":[\"argv\"]}," \
    "{\"required\":[\"function\"]},{\"required\":[\"workflow\"]}"

/* The schema of each type. <min>, <max> and <words> are replaced with those of the key. */
static const char *const schemas[] = {
#define X(name, stored, text, schema) [KEY_##name] = schema,
    KEY_TYPES(X)
#undef X
};

static void add_words(struct buf *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        buf_addf(out, "%s\"%s\"", i ? "," : "", words[i]);
}

/* Adds the members that describe the type of a key's value. */
static void add_type(struct json_writer *w, const struct key *k)
{
    const char *p = schemas[k->type];
    size_t n;

    for (; *p; p += n) {
        n = 5;
        if (!strncmp(p, "<min>", n)) {
            buf_addi64(w->out, k->min);
        } else if (!strncmp(p, "<max>", n)) {
            buf_addi64(w->out, k->max);
        } else if (!strncmp(p, "<words>", n = 7)) {
            add_words(w->out, k->words);
        } else {
            n = 1 + strcspn(p + 1, "<");
            buf_add(w->out, p, n);
        }
        w->comma = true;
    }
}

/* ---- mappings ---- */

static void add_keys(struct json_writer *w, const struct keys *keys, unsigned places)
{
    const struct key *k;

    json_field_text(w, "type", "object");
    json_write_key(w, "additionalProperties");
    json_write_bool(w, false);
    json_write_key(w, "properties");
    json_write_begin(w, '{');
    KEYS_EACH(keys, k)
    {
        if ((k->places & places) != places)
            continue;
        json_write_key(w, k->name);
        json_write_begin(w, '{');
        add_type(w, k);
        json_field_text(w, "description", k->sentence);
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
}

static void add_more(struct json_writer *w, const char *members)
{
    buf_addf(w->out, "%s", members);
    w->comma = true;
}

/* Adds the definition of a task: a mapping, or only the task's shell command. */
static void add_task_definition(struct json_writer *w, const char *name, unsigned places)
{
    json_write_key(w, name);
    json_write_begin(w, '{');
    json_write_key(w, "anyOf");
    json_write_begin(w, '[');
    json_write_raw(w, TEXT_SCHEMA);
    json_write_begin(w, '{');
    add_keys(w, &keys_task, places);
    add_more(w,
             ",\"oneOf\":[" KINDS ",{\"required\":[\"executor\"],\"not\":{\"anyOf\":[" KINDS "]},"
             "\"properties\":{\"executor\":{\"not\":{\"enum\":[\"process\",\"container\","
             "\"function\"]}}}}]");
    json_write_end(w, '}');
    json_write_end(w, ']');
    json_write_end(w, '}');
}

void keys_schema(struct buf *out)
{
    static const struct {
        const char *name;
        const struct keys *keys;
        unsigned places;
        const char *more;
    } definitions[] = {
        {"defaults", &keys_task, KEY_COMMON, ""},
        {"param", &keys_param, 0, ""},
        {"on", &keys_triggers, 0, ""},
        {"schedule", &keys_schedule, 0, ",\"required\":[\"cron\"]"},
        {"webhook", &keys_webhook, 0, ",\"required\":[\"name\"]"},
        {"follow", &keys_follow, 0, ",\"required\":[\"name\"]"},
        {"retry", &keys_retry, 0, ""},
        {"limits", &keys_limits, 0, ""},
        {"concurrency", &keys_concurrency, 0, ",\"required\":[\"key\"]"},
        {"approval", &keys_approval, 0, ""},
        {"container", &keys_container, 0, ""},
    };
    struct json_writer w = JSON_WRITER(out);

    json_write_begin(&w, '{');
    json_field_text(&w, "$schema", "http://json-schema.org/draft-07/schema#");
    json_field_text(&w, "title", "Pawl workflow");
    add_keys(&w, &keys_workflow, 0);
    add_more(&w, ",\"required\":[\"tasks\"]");
    json_write_key(&w, "definitions");
    json_write_begin(&w, '{');
    add_task_definition(&w, "task", 0);
    add_task_definition(&w, "hook", KEY_HOOKS);
    for (size_t i = 0; i < sizeof(definitions) / sizeof(*definitions); i++) {
        json_write_key(&w, definitions[i].name);
        json_write_begin(&w, '{');
        add_keys(&w, definitions[i].keys, definitions[i].places);
        add_more(&w, definitions[i].more);
        json_write_end(&w, '}');
    }
    json_write_end(&w, '}');
    json_write_end(&w, '}');
}
