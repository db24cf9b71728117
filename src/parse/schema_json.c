/* schema_json.c - writes the JSON Schema (draft-07) of a workflow file from the key table, for
 * completion and checks in editors. The schema describes the form of a file; `pawl validate` checks
 * whether it can run. */
#include "base/json.h"
#include "parse/workflow/keys.h"

#include <stdio.h>
#include <string.h>

#define NAME_PATTERN     "^[A-Za-z_][A-Za-z0-9_-]{0,99}$"
#define VARIABLE_PATTERN "^[A-Za-z_][A-Za-z0-9_]{0,99}$"
#define DURATION_PATTERN "^[0-9]+(ms|s|m|h|d)$"
#define SIZE_PATTERN     "^[0-9]+([kKMG]i?)?B?$"
/* Any scalar is accepted where a string is expected, as it is written. */
#define TEXT_SCHEMA      "{\"type\":[\"string\",\"number\",\"boolean\"]}"

static void add_pair(struct json_writer *w, const char *key, const char *text)
{
    json_write_key(w, key);
    json_write_text(w, text);
}

static void add_raw_pair(struct json_writer *w, const char *key, const char *json)
{
    json_write_key(w, key);
    json_write_raw(w, json);
}

static void write_reference(struct json_writer *w, const char *name)
{
    char path[80];

    snprintf(path, sizeof(path), "#/definitions/%s", name);
    json_write_begin(w, '{');
    add_pair(w, "$ref", path);
    json_write_end(w, '}');
}

/* ---- types ---- */

static void add_words(struct json_writer *w, const char *const *words)
{
    json_write_key(w, "enum");
    json_write_begin(w, '[');
    for (; *words; words++)
        json_write_text(w, *words);
    json_write_end(w, ']');
}

static void add_range(struct json_writer *w, const char *type, const struct key *k)
{
    add_pair(w, "type", type);
    json_write_key(w, "minimum");
    json_write_i64(w, k->min);
    json_write_key(w, "maximum");
    json_write_i64(w, k->max);
}

/* An item, or a list of items. */
static void add_list(struct json_writer *w, const char *item)
{
    json_write_key(w, "anyOf");
    json_write_begin(w, '[');
    json_write_raw(w, item);
    json_write_begin(w, '{');
    add_pair(w, "type", "array");
    add_raw_pair(w, "items", item);
    json_write_end(w, '}');
    json_write_end(w, ']');
}

/* A short form, or the full mapping. */
static void add_group(struct json_writer *w, const char *shorter, const char *name)
{
    json_write_key(w, "anyOf");
    json_write_begin(w, '[');
    json_write_raw(w, shorter);
    write_reference(w, name);
    json_write_end(w, ']');
}

static void add_map(struct json_writer *w, const char *pattern, const char *value)
{
    add_pair(w, "type", "object");
    json_write_key(w, "propertyNames");
    json_write_begin(w, '{');
    add_pair(w, "pattern", pattern);
    json_write_end(w, '}');
    add_raw_pair(w, "additionalProperties", value);
}

static void add_ref(struct json_writer *w, const char *name)
{
    json_write_key(w, "allOf"); /* a validator ignores a description next to a bare $ref */
    json_write_begin(w, '[');
    write_reference(w, name);
    json_write_end(w, ']');
}

static void add_tasks(struct json_writer *w)
{
    json_write_key(w, "anyOf");
    json_write_begin(w, '[');
    json_write_begin(w, '{');
    add_map(w, NAME_PATTERN, "{\"$ref\":\"#/definitions/task\"}");
    json_write_end(w, '}');
    json_write_raw(
        w, "{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#/definitions/task\"}}");
    json_write_end(w, ']');
}

/* The schema of a type that does not depend on the key; NULL if it does. */
static const char *fixed_schema(enum key_type type)
{
    static const char *const schemas[] = {
        [KEY_NAME] = "\"type\":\"string\",\"pattern\":\"" NAME_PATTERN "\"",
        [KEY_TEXT] = "\"type\":[\"string\",\"number\",\"boolean\"]",
        [KEY_TEMPLATE] = "\"type\":[\"string\",\"number\",\"boolean\"]",
        [KEY_SHELL] = "\"type\":[\"string\",\"number\",\"boolean\"]",
        [KEY_CONDITION] = "\"type\":[\"string\",\"boolean\"]",
        [KEY_BOOL] = "\"type\":\"boolean\"",
        [KEY_DURATION] = "\"type\":\"string\",\"pattern\":\"" DURATION_PATTERN "\"",
        [KEY_SIZE] = "\"anyOf\":[{\"type\":\"integer\",\"minimum\":0},"
                     "{\"type\":\"string\",\"pattern\":\"" SIZE_PATTERN "\"}]",
        [KEY_QUEUE] = "\"type\":[\"string\",\"number\",\"boolean\"]",
        [KEY_CRON] = "\"type\":\"string\"",
        [KEY_ZONE] = "\"type\":\"string\"",
        [KEY_TIME] = "\"type\":\"string\"",
        [KEY_CATCHUP] = "\"anyOf\":[{\"const\":\"last\"},{\"type\":\"string\",\"pattern\":"
                        "\"" DURATION_PATTERN "\"}]",
        [KEY_FILE] = "\"type\":\"string\"",
        [KEY_JOIN] =
            "\"anyOf\":[{\"enum\":[\"all\",\"any\"]},{\"type\":\"integer\",\"minimum\":1}]",
        [KEY_FOREACH] = "\"anyOf\":[{\"type\":\"array\"},{\"type\":\"integer\",\"minimum\":0},"
                        "{\"type\":\"string\",\"pattern\":\"^\\\\$\\\\{\\\\{\"}]",
        [KEY_VALUES] = "\"type\":\"object\"",
        [KEY_LITERALS] = "\"type\":\"object\"",
    };

    return type < sizeof(schemas) / sizeof(*schemas) ? schemas[type] : NULL;
}

static void add_type(struct json_writer *w, const struct key *k)
{
    const char *schema = fixed_schema(k->type);

    if (schema) {
        buf_addf(w->out, "%s%s", w->comma ? "," : "", schema);
        w->comma = true;
        return;
    }
    switch (k->type) {
    case KEY_INT:
        add_range(w, "integer", k);
        break;
    case KEY_NUMBER:
        add_range(w, "number", k);
        break;
    case KEY_WORD:
        add_words(w, k->words);
        break;
    case KEY_NEEDS:
    case KEY_OUTPUTS:
    case KEY_TEMPLATES:
    case KEY_VARIABLES:
        add_list(w, TEXT_SCHEMA);
        break;
    case KEY_CODES:
        add_list(w, "{\"type\":\"integer\",\"minimum\":1,\"maximum\":255}");
        break;
    case KEY_ENV:
        add_map(w, VARIABLE_PATTERN, TEXT_SCHEMA);
        break;
    case KEY_RETRY:
        add_group(w, "{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000}", "retry");
        break;
    case KEY_LIMITS:
        add_ref(w, "limits");
        break;
    case KEY_CONTAINER:
        add_group(w, TEXT_SCHEMA, "container");
        break;
    case KEY_CONCURRENCY:
        add_group(w, TEXT_SCHEMA, "concurrency");
        break;
    case KEY_APPROVAL:
        add_group(w, TEXT_SCHEMA, "approval");
        break;
    case KEY_PARAMS:
        add_map(w, VARIABLE_PATTERN,
                "{\"anyOf\":[{\"type\":[\"string\",\"number\",\"boolean\","
                "\"array\",\"null\"]},{\"$ref\":\"#/definitions/param\"}]}");
        break;
    case KEY_DEFAULTS:
        add_ref(w, "defaults");
        break;
    case KEY_TRIGGERS:
        add_ref(w, "on");
        break;
    case KEY_SCHEDULES:
        add_list(w, "{\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#/definitions/schedule\"}]}");
        break;
    case KEY_TASK:
        add_ref(w, "hook");
        break;
    case KEY_TASKS:
        add_tasks(w);
        break;
    default: /* KEY_LITERAL: anything */
        break;
    }
}

/* ---- mappings ---- */

static void add_keys(struct json_writer *w, const struct keys *keys, unsigned places)
{
    const struct key *k;

    add_pair(w, "type", "object");
    json_write_key(w, "additionalProperties");
    json_write_bool(w, false);
    json_write_key(w, "properties");
    json_write_begin(w, '{');
    for (k = keys->at; k->name; k++) {
        if ((k->places & places) != places)
            continue;
        json_write_key(w, k->name);
        json_write_begin(w, '{');
        add_type(w, k);
        add_pair(w, "description", k->sentence);
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
}

static void add_definition(struct json_writer *w, const char *name, const struct keys *keys,
                           unsigned places, const char *more)
{
    json_write_key(w, name);
    json_write_begin(w, '{');
    add_keys(w, keys, places);
    if (more) {
        buf_addf(w->out, ",%s", more);
        w->comma = true;
    }
    json_write_end(w, '}');
}

/* A task as a mapping, or only its shell command. */
static void add_task_definition(struct json_writer *w, const char *name, unsigned places)
{
    json_write_key(w, name);
    json_write_begin(w, '{');
    json_write_key(w, "anyOf");
    json_write_begin(w, '[');
    json_write_raw(w, TEXT_SCHEMA);
    json_write_begin(w, '{');
    add_keys(w, &keys_task, places);
    add_raw_pair(w, "oneOf",
                 "[{\"required\":[\"run\"]},{\"required\":[\"argv\"]},"
                 "{\"required\":[\"function\"]},{\"required\":[\"workflow\"]}]");
    json_write_end(w, '}');
    json_write_end(w, ']');
    json_write_end(w, '}');
}

void keys_schema(struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    json_write_begin(&w, '{');
    add_pair(&w, "$schema", "http://json-schema.org/draft-07/schema#");
    add_pair(&w, "title", "Pawl workflow");
    add_keys(&w, &keys_workflow, 0);
    add_raw_pair(&w, "required", "[\"tasks\"]");
    json_write_key(&w, "definitions");
    json_write_begin(&w, '{');
    add_task_definition(&w, "task", 0);
    add_task_definition(&w, "hook", KEY_HOOKS);
    add_definition(&w, "defaults", &keys_task, KEY_COMMON, NULL);
    add_definition(&w, "param", &keys_param, 0, NULL);
    add_definition(&w, "on", &keys_triggers, 0, NULL);
    add_definition(&w, "schedule", &keys_schedule, 0, "\"required\":[\"cron\"]");
    add_definition(&w, "retry", &keys_retry, 0, NULL);
    add_definition(&w, "limits", &keys_limits, 0, NULL);
    add_definition(&w, "concurrency", &keys_concurrency, 0, "\"required\":[\"key\"]");
    add_definition(&w, "approval", &keys_approval, 0, NULL);
    add_definition(&w, "container", &keys_container, 0, NULL);
    json_write_end(&w, '}');
    json_write_end(&w, '}');
}
