/* json_read.c - reads JSON documents strictly, with errors that name the path; see json_read.h. */
#include "base/json_read.h"

#include "base/json.h"
#include "base/suggest.h"
#include "base/text.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int json_read_open(const char *text, size_t len, size_t max, const char *what,
                   struct json_node *out, struct err *err)
{
    return json_read_deep(text, len, max, JSON_DEPTH_MAX, what, out, err);
}

int json_read_deep(const char *text, size_t len, size_t max, size_t depth, const char *what,
                   struct json_node *out, struct err *err)
{
    json_t *doc;
    int rc;

    if (len > max)
        return err_set(err, E_INVALID, "%s is %zu bytes long; at most %zu are allowed", what, len,
                       max);
    if (!(rc = json_load(text, len, depth, what, &doc, err)))
        *out = (struct json_node){.value = doc, .key = what};
    return rc;
}

void json_read_close(struct json_node *doc)
{
    json_decref(doc->value);
    doc->value = NULL;
}

/* ---- errors ---- */

/* Appends the path for messages, such as "retry.codes[2]". */
static void add_path(const struct json_node *p, struct buf *out)
{
    if (p->up->up)
        add_path(p->up, out);
    if (!p->key)
        buf_addf(out, "[%zu]", p->index);
    else
        buf_addf(out, "%s%.60s", p->up->up ? "." : "", p->key);
}

int json_read_fail(const struct json_node *p, struct err *err, const char *fmt, ...)
{
    const struct json_node *doc = p;
    AUTO_BUF path = BUF_INIT;
    char text[512];
    va_list ap;

    while (doc->up)
        doc = doc->up;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (doc != p) {
        buf_addstr(&path, ": ");
        add_path(p, &path);
    }
    return err_set(err, E_INVALID, "%s%s %s", doc->key, buf_cstr(&path), text);
}

/* Describes a value in a few words, for an error message. */
static const char *describe(const json_t *v, char *out, size_t size)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        snprintf(out, size, "the string \"%.40s\"", json_string_value(v));
        return out;
    case JSON_INTEGER:
        snprintf(out, size, "%lld", (long long)json_integer_value(v));
        return out;
    case JSON_REAL:
        snprintf(out, size, "%g", json_real_value(v));
        return out;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}

static int wrong_type(const struct json_node *p, const char *wanted, struct err *err)
{
    char what[64];

    return json_read_fail(p, err, "must be %s, not %s", wanted,
                          describe(p->value, what, sizeof(what)));
}

/* ---- objects ---- */

static bool is_listed(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(word, *list))
            return true;
    return false;
}

static int unknown_key(const struct json_node *member, const char *const *keys, struct err *err)
{
    const char *meant = suggest_from(member->key, keys);
    AUTO_BUF all = BUF_INIT;

    if (meant)
        return json_read_fail(member, err, "is not a known key; did you mean %s?", meant);
    for (; *keys; keys++)
        buf_addf(&all, "%s%s", all.len ? ", " : "", *keys);
    return json_read_fail(member, err, "is not a known key; the keys are: %s", buf_cstr(&all));
}

int json_read_known_keys(const struct json_node *p, const char *const *keys, struct err *err)
{
    struct json_node member;
    void *iter;

    if (!json_is_object(p->value))
        return wrong_type(p, "an object", err);
    if (keys)
        JSON_EACH(p, iter, &member)
    if (!is_listed(member.key, keys))
        return unknown_key(&member, keys, err);
    return 0;
}

bool json_read_member(const struct json_node *object, const char *key, struct json_node *out)
{
    json_t *value = json_object_get(object->value, key);

    if (!value)
        return false;
    *out = (struct json_node){.value = value, .up = object, .key = key};
    return true;
}

size_t json_read_size(const struct json_node *object)
{
    return json_object_size(object->value);
}

static void *member_at(const struct json_node *object, void *iter, struct json_node *member)
{
    if (iter)
        *member = (struct json_node){
            .value = json_object_iter_value(iter), .up = object, .key = json_object_iter_key(iter)};
    return iter;
}

void *json_read_first(const struct json_node *object, struct json_node *member)
{
    return member_at(object, json_object_iter(object->value), member);
}

void *json_read_next(const struct json_node *object, void *iter, struct json_node *member)
{
    return member_at(object, json_object_iter_next(object->value, iter), member);
}

/* ---- arrays and scalars ---- */

int json_read_array(const struct json_node *p, size_t max, size_t *n, struct err *err)
{
    if (!json_is_array(p->value))
        return wrong_type(p, "a list", err);
    if (json_array_size(p->value) > max)
        return json_read_fail(p, err, "has %zu entries; at most %zu are allowed",
                              json_array_size(p->value), max);
    *n = json_array_size(p->value);
    return 0;
}

void json_read_item(const struct json_node *array, size_t index, struct json_node *out)
{
    *out = (struct json_node){
        .value = json_array_get(array->value, index), .up = array, .index = index};
}

int json_read_text(const struct json_node *p, size_t min, size_t max, struct arena *arena,
                   const char **out, struct err *err)
{
    size_t len = json_string_length(p->value);

    if (!json_is_string(p->value))
        return wrong_type(p, "a string", err);
    if (memchr(json_string_value(p->value), '\0', len))
        return json_read_fail(p, err,
                              "contains a NUL character, which can't be passed to a command");
    if (len < min)
        return json_read_fail(p, err, "is empty");
    if (len > max)
        return json_read_fail(p, err, "is %zu bytes long; at most %zu are allowed", len, max);
    *out = arena_memdup0(arena, json_string_value(p->value), len);
    return 0;
}

int json_read_i64(const struct json_node *p, int64_t min, int64_t max, int64_t *out,
                  struct err *err)
{
    int64_t n = json_integer_value(p->value);

    if (!json_is_integer(p->value))
        return wrong_type(p, "a whole number", err);
    if (n < min || n > max)
        return json_read_fail(p, err, "must be from %lld to %lld, not %lld", (long long)min,
                              (long long)max, (long long)n);
    *out = n;
    return 0;
}

int json_read_double(const struct json_node *p, double min, double max, double *out,
                     struct err *err)
{
    double n = json_number_value(p->value);

    if (!json_is_number(p->value))
        return wrong_type(p, "a number", err);
    if (!(n >= min && n <= max))
        return json_read_fail(p, err, "must be from %g to %g, not %g", min, max, n);
    *out = n;
    return 0;
}

const char *json_read_raw(const struct json_node *p, struct arena *arena)
{
    return json_arena_text(p->value, arena);
}
