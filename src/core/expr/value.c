/* value.c - see value.h. */
#include "core/expr/value.h"

#include "base/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool work_charge(struct work *work, size_t n)
{
    if (n >= work->left) {
        work->left = 0;
        return false;
    }
    work->left -= n;
    return true;
}

static void abort_unless(bool done)
{
    if (!done) {
        fputs("pawl: out of memory (a JSON value)\n", stderr);
        abort();
    }
}

json_t *value_need(json_t *json)
{
    abort_unless(json);
    return json;
}

void value_append(json_t *list, json_t *item)
{
    abort_unless(!json_array_append_new(list, value_need(item)));
}

void value_put(json_t *object, const char *key, json_t *item)
{
    abort_unless(!json_object_set_new_nocheck(object, key, value_need(item)));
}

struct value value_of(json_t *json)
{
    struct value v = {.json = json};

    switch (json_typeof(json)) {
    case JSON_TRUE:
    case JSON_FALSE:
        v = (struct value){.type = VALUE_BOOL, .truth = json_is_true(json)};
        break;
    case JSON_INTEGER:
        v = (struct value){.type = VALUE_INT, .whole = json_integer_value(json)};
        break;
    case JSON_REAL:
        v = (struct value){.type = VALUE_REAL, .real = json_real_value(json)};
        break;
    case JSON_STRING:
        v.type = VALUE_TEXT;
        v.text.at = json_string_value(json);
        v.text.len = json_string_length(json);
        break;
    case JSON_ARRAY:
        v.type = VALUE_LIST;
        break;
    case JSON_OBJECT:
        v.type = VALUE_OBJECT;
        break;
    default:
        v = (struct value){.type = VALUE_NULL};
    }
    return v;
}

json_t *value_json(const struct value *v)
{
    switch (v->type) {
    case VALUE_BOOL:
        return json_boolean(v->truth);
    case VALUE_INT:
        return value_need(json_integer(v->whole));
    case VALUE_REAL:
        return value_need(json_real(v->real));
    case VALUE_TEXT:
        if (!v->json)
            return value_need(json_stringn_nocheck(v->text.at, v->text.len));
        return json_incref(v->json);
    case VALUE_LIST:
    case VALUE_OBJECT:
        return json_incref(v->json);
    default:
        return json_null();
    }
}

const char *value_type_text(enum value_type type)
{
    static const char *const texts[] = {
        [VALUE_NULL] = "null",       [VALUE_BOOL] = "a boolean", [VALUE_INT] = "a number",
        [VALUE_REAL] = "a number",   [VALUE_TEXT] = "a string",  [VALUE_LIST] = "a list",
        [VALUE_OBJECT] = "an object"};

    return texts[type];
}

bool value_is_number(const struct value *v)
{
    return v->type == VALUE_INT || v->type == VALUE_REAL;
}

/* ---- comparison ---- */

/* A whole number may have more digits than a double can hold, so it is not converted to one. */
static int compare_mixed(int64_t whole, double real)
{
    int64_t truncated;
    double rest;

    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    truncated = (int64_t)real;
    rest = real - (double)truncated;
    if (whole != truncated)
        return whole < truncated ? -1 : 1;
    return rest > 0 ? -1 : rest < 0;
}

int value_compare_numbers(const struct value *a, const struct value *b)
{
    if (a->type == VALUE_INT && b->type == VALUE_INT)
        return a->whole < b->whole ? -1 : a->whole > b->whole;
    if (a->type == VALUE_INT)
        return compare_mixed(a->whole, b->real);
    if (b->type == VALUE_INT)
        return -compare_mixed(b->whole, a->real);
    return a->real < b->real ? -1 : a->real > b->real;
}

int value_compare_texts(const struct value *a, const struct value *b)
{
    size_t n = a->text.len < b->text.len ? a->text.len : b->text.len;
    int order = n ? memcmp(a->text.at, b->text.at, n) : 0;

    if (order)
        return order < 0 ? -1 : 1;
    return a->text.len < b->text.len ? -1 : a->text.len > b->text.len;
}

static bool equal_lists(const json_t *a, const json_t *b, struct work *work)
{
    size_t n = json_array_size(a), i;

    if (n != json_array_size(b))
        return false;
    for (i = 0; i < n; i++) {
        struct value x = value_of(json_array_get(a, i)), y = value_of(json_array_get(b, i));

        if (!value_equal(&x, &y, work))
            return false;
    }
    return true;
}

static bool equal_objects(json_t *a, json_t *b, struct work *work)
{
    const char *key;
    json_t *member, *other;

    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach(a, key, member)
    {
        struct value x = value_of(member), y;

        if (!(other = json_object_get(b, key)))
            return false;
        y = value_of(other);
        if (!value_equal(&x, &y, work))
            return false;
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b, struct work *work)
{
    if (!work_charge(work, 1))
        return false;
    if (value_is_number(a) && value_is_number(b))
        return !value_compare_numbers(a, b);
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case VALUE_BOOL:
        return a->truth == b->truth;
    case VALUE_TEXT:
        return work_charge(work, a->text.len / 16) && !value_compare_texts(a, b);
    case VALUE_LIST:
        return a->json == b->json || equal_lists(a->json, b->json, work);
    case VALUE_OBJECT:
        return a->json == b->json || equal_objects(a->json, b->json, work);
    default:
        return true;
    }
}

/* ---- writing ---- */

static bool write_list(const json_t *list, size_t max, struct buf *out)
{
    size_t i;

    buf_addch(out, '[');
    for (i = 0; i < json_array_size(list); i++) {
        struct value v = value_of(json_array_get(list, i));

        if (i)
            buf_addch(out, ',');
        if (!value_write(&v, max, out))
            return false;
    }
    buf_addch(out, ']');
    return true;
}

static bool write_object(json_t *object, size_t max, struct buf *out)
{
    const char *key;
    json_t *member;
    bool comma = false;

    buf_addch(out, '{');
    json_object_foreach(object, key, member)
    {
        struct value v = value_of(member);

        if (comma)
            buf_addch(out, ',');
        comma = true;
        json_quote(out, key, strlen(key));
        buf_addch(out, ':');
        if (!value_write(&v, max, out))
            return false;
    }
    buf_addch(out, '}');
    return true;
}

bool value_write(const struct value *v, size_t max, struct buf *out)
{
    if (out->len > max)
        return false;
    switch (v->type) {
    case VALUE_BOOL:
        buf_addstr(out, v->truth ? "true" : "false");
        break;
    case VALUE_INT:
        buf_addi64(out, v->whole);
        break;
    case VALUE_REAL:
        json_real_text(out, v->real);
        break;
    case VALUE_TEXT:
        if (v->text.len > max)
            return false;
        json_quote(out, v->text.at, v->text.len);
        break;
    case VALUE_LIST:
        if (!write_list(v->json, max, out))
            return false;
        break;
    case VALUE_OBJECT:
        if (!write_object(v->json, max, out))
            return false;
        break;
    default:
        buf_addstr(out, "null");
    }
    return out->len <= max;
}

bool value_write_plain(const struct value *v, size_t max, struct buf *out)
{
    if (v->type != VALUE_TEXT)
        return value_write(v, max, out);
    if (v->text.len > max || out->len > max - v->text.len)
        return false;
    buf_add(out, v->text.at, v->text.len);
    return true;
}
