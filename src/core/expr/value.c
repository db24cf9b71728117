/* value.c - compares JSON values and converts them to text; see value.h. */
#include "core/expr/value.h"

#include "base/json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool work_charge(struct work *work, size_t n)
{
    bool enough = n < work->left;

    work->left -= enough ? n : work->left;
    return enough;
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

const char *value_type_text(const json_t *v)
{
    static const char *const texts[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",  [JSON_NULL] = "null"};

    return texts[json_typeof(v)];
}

/* ---- comparison ---- */

/* Compares a whole number with a real number. The whole number may have more digits than a double
 * can hold, so it is not converted to a double. */
static int compare_mixed(json_int_t whole, double real)
{
    json_int_t truncated;
    double rest;

    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    truncated = (json_int_t)real;
    rest = real - (double)truncated;
    if (whole != truncated)
        return whole < truncated ? -1 : 1;
    return rest > 0 ? -1 : rest < 0;
}

int value_compare_numbers(const json_t *a, const json_t *b)
{
    json_int_t i = json_integer_value(a), k = json_integer_value(b);
    double x = json_real_value(a), y = json_real_value(b);

    if (json_is_integer(a))
        return json_is_integer(b) ? (i > k) - (i < k) : compare_mixed(i, y);
    return json_is_integer(b) ? -compare_mixed(k, x) : (x > y) - (x < y);
}

int value_compare_texts(const json_t *a, const json_t *b)
{
    size_t x = json_string_length(a), y = json_string_length(b);
    int order = memcmp(json_string_value(a), json_string_value(b), x < y ? x : y);

    return order ? (order > 0) - (order < 0) : (x > y) - (x < y);
}

static bool equal_lists(const json_t *a, const json_t *b, struct work *work)
{
    size_t n = json_array_size(a), i;

    if (n != json_array_size(b))
        return false;
    for (i = 0; i < n; i++)
        if (!value_equal(json_array_get(a, i), json_array_get(b, i), work))
            return false;
    return true;
}

static bool equal_objects(const json_t *a, const json_t *b, struct work *work)
{
    json_t *member, *other;
    const char *key;

    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach((json_t *)a, key, member)
    {
        if (!(other = json_object_get(b, key)) || !value_equal(member, other, work))
            return false;
    }
    return true;
}

bool value_equal(const json_t *a, const json_t *b, struct work *work)
{
    if (!work_charge(work, 1))
        return false;
    if (json_is_number(a) && json_is_number(b))
        return !value_compare_numbers(a, b);
    if (json_typeof(a) != json_typeof(b))
        return false;
    switch (json_typeof(a)) {
    case JSON_STRING:
        return work_charge(work, json_string_length(a) / 16) && !value_compare_texts(a, b);
    case JSON_ARRAY:
        return a == b || equal_lists(a, b, work);
    case JSON_OBJECT:
        return a == b || equal_objects(a, b, work);
    default:
        return true;
    }
}

/* ---- values as text ---- */

bool value_write_plain(const json_t *v, size_t max, struct buf *out)
{
    size_t len = json_string_length(v);

    if (!json_is_string(v))
        return json_add_value(out, v, max);
    if (len > max || out->len > max - len)
        return false;
    buf_add(out, json_string_value(v), len);
    return true;
}

json_t *value_as_text(json_t *v)
{
    AUTO_BUF text = BUF_INIT;

    if (json_is_string(v))
        return v;
    (void)!value_write_plain(v, SIZE_MAX, &text);
    json_decref(v);
    return value_need(json_stringn_nocheck(text.ptr, text.len));
}
