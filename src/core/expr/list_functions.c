/* list_functions.c - the functions that take or return lists and objects. */
#include "core/expr/expr_internal.h"

#include "base/json.h"
#include "base/text.h"

#include <jansson.h>
#include <string.h>

int fn_length(struct eval *x, json_t *const *a, json_t **out)
{
    size_t n = 0;
    int rc = 0;

    switch (json_typeof(a[0])) {
    case JSON_STRING:
        if (!(rc = eval_charge(x, json_string_length(a[0]))))
            n = text_characters(json_string_value(a[0]), json_string_length(a[0]));
        break;
    case JSON_ARRAY:
        n = json_array_size(a[0]);
        break;
    case JSON_OBJECT:
        n = json_object_size(a[0]);
        break;
    default:
        return eval_fault(x, "length() takes a string, a list or an object, not %s",
                          value_type_text(a[0]));
    }
    *out = eval_keep(x, json_integer((json_int_t)n));
    return rc;
}

/* ---- range ---- */

/* The number of items in a range. The difference may not fit in an int64_t, so it is unsigned. */
static uint64_t range_length(int64_t from, int64_t to, int64_t by)
{
    uint64_t span = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t stride = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;

    if (by > 0 ? to <= from : to >= from)
        return 0;
    return (span - 1) / stride + 1;
}

int fn_range(struct eval *x, json_t *const *a, json_t **out)
{
    unsigned argc = x->node->n;
    int64_t from = argc > 1 ? json_integer_value(a[0]) : 0, to = json_integer_value(a[argc > 1]),
            by = argc > 2 ? json_integer_value(a[2]) : 1;
    uint64_t n, k;
    int rc;

    if (!by)
        return eval_fault(x, "the step of range() must not be 0");
    n = range_length(from, to, by);
    if (n > EXPR_RANGE_MAX)
        return eval_fault(x, "range() would return %llu items; at most %d are allowed",
                          (unsigned long long)n, EXPR_RANGE_MAX);
    if ((rc = eval_charge(x, (n + 1) * ITEM_WORK)))
        return rc;
    *out = eval_keep(x, json_array());
    for (k = 0; k < n; k++)
        value_append(*out, json_integer((int64_t)((uint64_t)from + k * (uint64_t)by)));
    return 0;
}

/* ---- split, keys, values ---- */

static int add_part(struct eval *x, json_t *list, const char *text, size_t len)
{
    int rc = eval_charge(x, len + ITEM_WORK);

    if (!rc)
        value_append(list, json_stringn_nocheck(text, len));
    return rc;
}

int fn_split(struct eval *x, json_t *const *a, json_t **out)
{
    const char *at = json_string_value(a[0]), *end = at + json_string_length(a[0]), *found;
    size_t separator = json_string_length(a[1]);
    int rc = 0;

    if (!separator)
        return eval_fault(x, "the second argument of split() must not be empty");
    *out = eval_keep(x, json_array());
    while (!rc && (found = memmem(at, (size_t)(end - at), json_string_value(a[1]), separator))) {
        rc = add_part(x, *out, at, (size_t)(found - at));
        at = found + separator;
    }
    return rc ? rc : add_part(x, *out, at, (size_t)(end - at));
}

static int keys_or_values(struct eval *x, json_t *const *a, bool want_keys, json_t **out)
{
    const char *key;
    json_t *member;
    int rc;

    *out = eval_keep(x, json_array());
    json_object_foreach(a[0], key, member)
    {
        if (want_keys)
            rc = add_part(x, *out, key, strlen(key));
        else if (!(rc = eval_charge(x, ITEM_WORK)))
            value_append(*out, json_incref(member));
        if (rc)
            return rc;
    }
    return 0;
}

int fn_keys(struct eval *x, json_t *const *a, json_t **out)
{
    return keys_or_values(x, a, true, out);
}

int fn_values(struct eval *x, json_t *const *a, json_t **out)
{
    return keys_or_values(x, a, false, out);
}

/* ---- JSON ---- */

int fn_fromJSON(struct eval *x, json_t *const *a, json_t **out)
{
    const char *text = json_string_value(a[0]);
    size_t len = json_string_length(a[0]), depth;
    json_error_t at;
    json_t *json;
    int rc;

    if (len > EXPR_RESULT_MAX)
        return eval_fault(x, "fromJSON() takes at most %u bytes, not %zu", EXPR_RESULT_MAX, len);
    depth = json_depth(text, len);
    if (depth > JSON_DEPTH_MAX)
        return eval_fault(
            x, "this string nests lists and objects %zu levels deep; at most %d are allowed", depth,
            JSON_DEPTH_MAX);
    /* At worst, every second byte of the text becomes a value. */
    if ((rc = eval_charge(x, len * 2 + ITEM_WORK)))
        return rc;
    json = json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &at);
    if (!json) /* the message does not quote the string, which may be a secret */
        return eval_fault(x, "this string %s: error at its line %d, column %d", json_refusal(&at),
                          at.line, at.column);
    *out = eval_keep(x, json);
    return 0;
}
