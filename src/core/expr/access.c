/* access.c - finds the field or item that `.name` or `[…]` selects, and reports a missing one. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The source text of the instruction's operand, for messages; returns its length. */
static int operand(const struct machine *m, const struct expr_instr *i, const char **text)
{
    size_t end = i->at;

    *text = m->e->in.text.at + i->from;
    while (end > i->from && strchr(". \t\r\n", m->e->in.text.at[end - 1]))
        end--;
    return expr_cut(*text, end - i->from, 80);
}

#define SHOWN_KEYS 12

/* Appends "; did you mean 'b'? its fields are: a, b". */
static void add_keys(json_t *object, const char *wanted, struct buf *out)
{
    size_t n = json_object_size(object), i = 0;
    const char **keys = mem_alloc((n + 1) * sizeof(*keys));
    const char *key;
    json_t *member;

    json_object_foreach(object, key, member)
    {
        keys[i++] = key;
    }
    keys[i] = NULL;
    if (!*expr_did_you_mean(wanted, keys, out))
        buf_addch(out, ';');
    buf_addstr(out, n ? " its fields are: " : " it is empty");
    for (i = 0; i < n && i < SHOWN_KEYS; i++)
        buf_addf(out, "%s%.*s", i ? ", " : "", expr_cut(keys[i], strlen(keys[i]), 40), keys[i]);
    if (n > SHOWN_KEYS)
        buf_addf(out, " and %zu more", n - SHOWN_KEYS);
    free(keys);
}

static int no_field(struct machine *m, const struct expr_instr *i, json_t *object,
                    const struct value *key)
{
    const char *of;
    struct buf hint = BUF_INIT;
    int len = operand(m, i, &of), rc;

    if (m->ntries)
        return EXPR_MISSING;
    add_keys(object, key->text.at, &hint);
    if (i->op == OP_FIELD && strchr(key->text.at, '-'))
        buf_addstr(&hint, "; to subtract, put spaces around the -");
    rc = machine_wrong(m, i, "%.*s has no field '%.*s'%s", len, of,
                       expr_cut(key->text.at, key->text.len, 60), key->text.at, buf_cstr(&hint));
    buf_release(&hint);
    return rc;
}

static int no_item(struct machine *m, const struct expr_instr *i, json_t *list, int64_t index)
{
    const char *of;
    int len = operand(m, i, &of);

    if (index < 0)
        return machine_wrong(m, i,
                             "indexes start at 0, so there is no [%lld]; the last of n items is "
                             "[n - 1], see length()",
                             (long long)index);
    if (m->ntries)
        return EXPR_MISSING;
    return machine_wrong(m, i, "%.*s has no item [%lld]: its length is %zu, and indexes start at 0",
                         len, of, (long long)index, json_array_size(list));
}

static int wrong_type(struct machine *m, const struct expr_instr *i, const struct value *from,
                      const struct value *key)
{
    const char *of, *type = value_type_text(key->type);
    int len = operand(m, i, &of);

    switch (from->type) {
    case VALUE_OBJECT:
        return machine_wrong(m, i, "%.*s is an object: its keys are strings, not %s", len, of,
                             type);
    case VALUE_LIST:
        return machine_wrong(m, i, "%.*s is a list: its indexes are whole numbers from 0, not %s",
                             len, of, key->type == VALUE_REAL ? "fractions" : type);
    case VALUE_NULL:
        if (m->ntries)
            return EXPR_MISSING;
        return machine_wrong(
            m, i, "%.*s is null and has no fields; use default() to supply a value", len, of);
    default:
        return machine_wrong(m, i, "%.*s is %s and has no fields", len, of,
                             value_type_text(from->type));
    }
}

int machine_get(struct machine *m, const struct expr_instr *i, const struct value *from,
                const struct value *key, struct value *out)
{
    json_t *found;

    if (from->type == VALUE_OBJECT && key->type == VALUE_TEXT) {
        if (!(found = json_object_getn(from->json, key->text.at, key->text.len)))
            return no_field(m, i, from->json, key);
    } else if (from->type == VALUE_LIST && key->type == VALUE_INT) {
        if ((uint64_t)key->whole >=
            json_array_size(from->json)) /* a negative index becomes a large one */
            return no_item(m, i, from->json, key->whole);
        found = json_array_get(from->json, (size_t)key->whole);
    } else {
        return wrong_type(m, i, from, key);
    }
    *out = value_of(found);
    return 0;
}
