/* access.c - finds the field or item that `.name` or `[…]` selects in a value, and reports a
 * missing one. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The two arguments for a %.*s that prints the source text of the current node's operand. */
#define OPERAND(x) operand_length(x), (x)->in.text.at + (x)->node->from

static int operand_length(const struct eval *x)
{
    size_t from = x->node->from, end = x->node->at;

    while (end > from && strchr(". \t\r\n", x->in.text.at[end - 1]))
        end--;
    return expr_cut(x->in.text.at + from, end - from, 80);
}

#define SHOWN_KEYS 12

/* Appends "; did you mean 'b'? its fields are: a, b". */
static void add_keys(json_t *object, const char *wanted, struct buf *out)
{
    size_t n = json_object_size(object), i = 0;
    const char **keys = mem_zalloc((n + 1) * sizeof(*keys)), *key;
    json_t *member;

    json_object_foreach(object, key, member) keys[i++] = key;
    if (!*expr_did_you_mean(wanted, keys, out))
        buf_addch(out, ';');
    buf_addstr(out, n ? " its fields are: " : " it is empty");
    for (i = 0; i < n && i < SHOWN_KEYS; i++)
        buf_addf(out, "%s%.*s", i ? ", " : "", expr_cut(keys[i], strlen(keys[i]), 40), keys[i]);
    if (n > SHOWN_KEYS)
        buf_addf(out, " and %zu more", n - SHOWN_KEYS);
    free(keys);
}

static int no_field(struct eval *x, json_t *object, const char *key, size_t len)
{
    AUTO_BUF hint = BUF_INIT;

    if (x->trying)
        return EXPR_MISSING;
    add_keys(object, key, &hint);
    if (x->node->kind == NODE_FIELD && strchr(key, '-'))
        buf_addstr(&hint, "; to subtract, put spaces around the -");
    return eval_fault(x, "%.*s has no field '%.*s'%s", OPERAND(x), expr_cut(key, len, 60), key,
                      buf_cstr(&hint));
}

static int no_item(struct eval *x, json_t *list, json_int_t index)
{
    if (index < 0)
        return eval_fault(x,
                          "indexes start at 0, so there is no [%lld]; the last of n items is "
                          "[n - 1], see length()",
                          (long long)index);
    if (x->trying)
        return EXPR_MISSING;
    return eval_fault(x, "%.*s has no item [%lld]: its length is %zu, and indexes start at 0",
                      OPERAND(x), (long long)index, json_array_size(list));
}

/* Reports that `from` has no fields or items, or none that a key of this type can select. */
static int wrong_type(struct eval *x, json_t *from, const char *key)
{
    if (json_is_object(from))
        return eval_fault(x, "%.*s is an object: its keys are strings, not %s", OPERAND(x), key);
    if (json_is_array(from))
        return eval_fault(x, "%.*s is a list: its indexes are whole numbers from 0, not %s",
                          OPERAND(x), key);
    if (!json_is_null(from))
        return eval_fault(x, "%.*s is %s and has no fields", OPERAND(x), value_type_text(from));
    if (x->trying)
        return EXPR_MISSING;
    return eval_fault(x, "%.*s is null and has no fields; use default() to supply a value",
                      OPERAND(x));
}

int eval_field(struct eval *x, json_t *from, const char *key, size_t len, json_t **out)
{
    if (!json_is_object(from))
        return wrong_type(x, from, "a string");
    *out = json_object_getn(from, key, len);
    return *out ? 0 : no_field(x, from, key, len);
}

int eval_index(struct eval *x, json_t *from, json_t *key, json_t **out)
{
    if (json_is_string(key))
        return eval_field(x, from, json_string_value(key), json_string_length(key), out);
    if (!json_is_array(from) || !json_is_integer(key))
        return wrong_type(
            x, from, json_is_array(from) && json_is_real(key) ? "fractions" : value_type_text(key));
    /* json_array_get returns NULL for a negative index, too. */
    *out = json_array_get(from, (size_t)json_integer_value(key));
    return *out ? 0 : no_item(x, from, json_integer_value(key));
}
