/* list_functions.c - the functions that take or return lists and objects. */
#include "core/expr/expr_internal.h"

#include "base/json.h"

#include <jansson.h>
#include <string.h>

int fn_length(struct machine *m, const struct expr_instr *i, const struct value *a,
              struct value *out)
{
    size_t n = 0, k;
    int rc = 0;

    switch (a[0].type) {
    case VALUE_TEXT:
        rc = machine_charge(m, i, a[0].text.len);
        for (k = 0; !rc && k < a[0].text.len; k++)
            n += ((unsigned char)a[0].text.at[k] & 0xC0) != 0x80;
        break;
    case VALUE_LIST:
        n = json_array_size(a[0].json);
        break;
    case VALUE_OBJECT:
        n = json_object_size(a[0].json);
        break;
    default:
        return machine_wrong(m, i, "length() takes a string, a list or an object, not %s",
                             value_type_text(a[0].type));
    }
    *out = (struct value){.type = VALUE_INT, .whole = (int64_t)n};
    return rc;
}

/* ---- range ---- */

/* The number of items of a range. The difference may not fit in an int64_t, so it is unsigned. */
static uint64_t range_length(int64_t from, int64_t to, int64_t by)
{
    uint64_t span = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t stride = by > 0 ? (uint64_t)by : 0 - (uint64_t)by;

    if (by > 0 ? to <= from : to >= from)
        return 0;
    return (span - 1) / stride + 1;
}

int fn_range(struct machine *m, const struct expr_instr *i, const struct value *a,
             struct value *out)
{
    int64_t from = 0, to, by = 1;
    uint64_t n, k;
    int rc = 0, argument;

    for (argument = 0; argument < i->argc; argument++)
        if ((rc = fn_want(m, i, a, argument, VALUE_INT)))
            return rc;
    if (i->argc > 1)
        from = a[0].whole;
    to = a[i->argc > 1].whole;
    if (i->argc > 2)
        by = a[2].whole;
    if (!by)
        return machine_wrong(m, i, "the step of range() must not be 0");
    n = range_length(from, to, by);
    if (n > EXPR_RANGE_MAX)
        return machine_wrong(m, i, "range() would return %llu items; at most %d are allowed",
                             (unsigned long long)n, EXPR_RANGE_MAX);
    if ((rc = machine_charge(m, i, (n + 1) * ITEM_WORK)))
        return rc;
    *out = machine_keep(m, json_array());
    for (k = 0; k < n; k++)
        value_append(out->json, json_integer((int64_t)((uint64_t)from + k * (uint64_t)by)));
    return 0;
}

/* ---- split, keys, values ---- */

static int add_part(struct machine *m, const struct expr_instr *i, json_t *list, const char *text,
                    size_t len)
{
    int rc = machine_charge(m, i, len + ITEM_WORK);

    if (!rc)
        value_append(list, json_stringn_nocheck(text, len));
    return rc;
}

int fn_split(struct machine *m, const struct expr_instr *i, const struct value *a,
             struct value *out)
{
    const char *at, *end, *found;
    int rc;

    if ((rc = fn_want(m, i, a, 0, VALUE_TEXT)) || (rc = fn_want(m, i, a, 1, VALUE_TEXT)))
        return rc;
    if (!a[1].text.len)
        return machine_wrong(m, i, "the second argument of split() must not be empty");
    *out = machine_keep(m, json_array());
    at = a[0].text.at;
    end = at + a[0].text.len;
    while (!rc && (found = memmem(at, (size_t)(end - at), a[1].text.at, a[1].text.len))) {
        rc = add_part(m, i, out->json, at, (size_t)(found - at));
        at = found + a[1].text.len;
    }
    return rc ? rc : add_part(m, i, out->json, at, (size_t)(end - at));
}

static int keys_or_values(struct machine *m, const struct expr_instr *i, const struct value *a,
                          bool want_keys, struct value *out)
{
    const char *key;
    json_t *member;
    int rc;

    if ((rc = fn_want(m, i, a, 0, VALUE_OBJECT)))
        return rc;
    *out = machine_keep(m, json_array());
    json_object_foreach(a[0].json, key, member)
    {
        if (want_keys)
            rc = add_part(m, i, out->json, key, strlen(key));
        else if (!(rc = machine_charge(m, i, ITEM_WORK)))
            value_append(out->json, json_incref(member));
        if (rc)
            return rc;
    }
    return 0;
}

int fn_keys(struct machine *m, const struct expr_instr *i, const struct value *a, struct value *out)
{
    return keys_or_values(m, i, a, true, out);
}

int fn_values(struct machine *m, const struct expr_instr *i, const struct value *a,
              struct value *out)
{
    return keys_or_values(m, i, a, false, out);
}

/* ---- JSON ---- */

int fn_fromJSON(struct machine *m, const struct expr_instr *i, const struct value *a,
                struct value *out)
{
    json_error_t at;
    json_t *json;
    size_t depth;
    int rc;

    if ((rc = fn_want(m, i, a, 0, VALUE_TEXT)))
        return rc;
    if (a[0].text.len > EXPR_RESULT_MAX)
        return machine_wrong(m, i, "fromJSON() takes at most %u bytes, not %zu", EXPR_RESULT_MAX,
                             a[0].text.len);
    depth = json_depth(a[0].text.at, a[0].text.len);
    if (depth > JSON_DEPTH_MAX)
        return machine_wrong(
            m, i, "this string nests lists and objects %zu levels deep; at most %d are allowed",
            depth, JSON_DEPTH_MAX);
    /* Up to every second byte becomes a value. */
    if ((rc = machine_charge(m, i, a[0].text.len * 2 + ITEM_WORK)))
        return rc;
    json = json_loadb(a[0].text.at, a[0].text.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &at);
    if (!json) /* does not quote the string, which may be a secret */
        return machine_wrong(m, i, "this string is not valid JSON: error at its line %d, column %d",
                             at.line, at.column);
    *out = machine_keep(m, json);
    return 0;
}
