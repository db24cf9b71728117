/* functions.c - the string functions; list_functions.c has those of lists and objects. The table
 * EXPR_FUNCTIONS in expr.h has the number of arguments of each. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <string.h>

const char *fn_name(const struct expr_instr *i)
{
    static const char *const names[] = {
#define X(name, ...) #name,
        EXPR_FUNCTIONS(X)
#undef X
    };

    return names[i->sub];
}

int fn_want(struct machine *m, const struct expr_instr *i, const struct value *a, int k,
            enum value_type type)
{
    static const char *const ordinals[] = {"first", "second", "third"};
    bool fraction = type == VALUE_INT && a[k].type == VALUE_REAL;

    if (a[k].type == type)
        return 0;
    return machine_wrong(m, i, "the %s argument of %s() must be %s, not %s", ordinals[k],
                         fn_name(i), type == VALUE_INT ? "a whole number" : value_type_text(type),
                         fraction ? "a fraction" : value_type_text(a[k].type));
}

static struct value boolean(bool truth)
{
    return (struct value){.type = VALUE_BOOL, .truth = truth};
}

/* ---- searching ---- */

static int list_contains(struct machine *m, const struct expr_instr *i, const struct value *a,
                         struct value *out)
{
    size_t n = json_array_size(a[0].json), k;
    bool found = false;

    for (k = 0; k < n && !found; k++) {
        struct value item = value_of(json_array_get(a[0].json, k));

        found = value_equal(&item, &a[1], m->work);
    }
    *out = boolean(found);
    return machine_charge(m, i, 1); /* a fault if the comparisons used up the work */
}

int fn_contains(struct machine *m, const struct expr_instr *i, const struct value *a,
                struct value *out)
{
    int rc;

    if (a[0].type == VALUE_LIST)
        return list_contains(m, i, a, out);
    if (a[0].type != VALUE_TEXT && a[0].type != VALUE_OBJECT)
        return machine_wrong(
            m, i,
            "the first argument of contains() must be a string, a list or an object, "
            "not %s",
            value_type_text(a[0].type));
    if ((rc = fn_want(m, i, a, 1, VALUE_TEXT)))
        return rc;
    if (a[0].type == VALUE_OBJECT) {
        *out = boolean(json_object_getn(a[0].json, a[1].text.at, a[1].text.len));
        return 0;
    }
    *out = boolean(memmem(a[0].text.at, a[0].text.len, a[1].text.at, a[1].text.len));
    return machine_charge(m, i, a[0].text.len);
}

static int starts_or_ends_with(struct machine *m, const struct expr_instr *i, const struct value *a,
                               bool ends, struct value *out)
{
    const char *from;
    int rc;

    if ((rc = fn_want(m, i, a, 0, VALUE_TEXT)) || (rc = fn_want(m, i, a, 1, VALUE_TEXT)))
        return rc;
    *out = boolean(false);
    if (a[1].text.len > a[0].text.len)
        return 0;
    from = a[0].text.at + (ends ? a[0].text.len - a[1].text.len : 0);
    *out = boolean(!a[1].text.len || !memcmp(from, a[1].text.at, a[1].text.len));
    return machine_charge(m, i, a[1].text.len / 16);
}

int fn_startsWith(struct machine *m, const struct expr_instr *i, const struct value *a,
                  struct value *out)
{
    return starts_or_ends_with(m, i, a, false, out);
}

int fn_endsWith(struct machine *m, const struct expr_instr *i, const struct value *a,
                struct value *out)
{
    return starts_or_ends_with(m, i, a, true, out);
}

/* ---- building strings ---- */

/* Appends a value as text; null is a fault, in which `what` and `n` name the value. */
static int add_plain(struct machine *m, const struct expr_instr *i, const struct value *v,
                     const char *what, size_t n, struct buf *out)
{
    if (v->type == VALUE_NULL)
        return machine_wrong(m, i, "%s %zu of %s() is null, which has no text form; use default()",
                             what, n, fn_name(i));
    return value_write_plain(v, EXPR_RESULT_MAX, out) ? 0 : machine_too_long(m, i);
}

/* Appends value 7 for the {7} at `at`; sets *end to the position after the brace. */
static int add_numbered(struct machine *m, const struct expr_instr *i, const struct value *a,
                        size_t at, size_t *end, struct buf *out)
{
    const char *text = a[0].text.at;
    size_t k = 0, digit = at + 1;

    while (digit < a[0].text.len && digit < at + 4 && text[digit] >= '0' && text[digit] <= '9')
        k = k * 10 + (size_t)(text[digit++] - '0');
    if (digit == at + 1 || digit >= a[0].text.len || text[digit] != '}')
        return machine_wrong(
            m, i,
            "the string of format() has a { without a number and }; write {{ for a "
            "literal brace");
    if (k + 1 >= i->argc)
        return machine_wrong(m, i,
                             "the string of format() uses {%zu}, but the number of values is %d", k,
                             i->argc - 1);
    *end = digit + 1;
    return add_plain(m, i, &a[k + 1], "value", k, out);
}

static int add_formatted(struct machine *m, const struct expr_instr *i, const struct value *a,
                         struct buf *out)
{
    const char *text = a[0].text.at;
    size_t at = 0, len = a[0].text.len;
    int rc = 0;

    while (!rc && at < len) {
        bool doubled = at + 1 < len && text[at + 1] == text[at];

        if (out->len > EXPR_RESULT_MAX)
            return machine_too_long(m, i);
        if (text[at] == '{' && !doubled) {
            rc = add_numbered(m, i, a, at, &at, out);
        } else if (text[at] == '}' && !doubled) {
            return machine_wrong(m, i,
                                 "the string of format() has a } without {; write }} for a "
                                 "literal brace");
        } else {
            buf_addch(out, text[at]);
            at += text[at] == '{' || text[at] == '}' ? 2 : 1;
        }
    }
    return rc;
}

int fn_format(struct machine *m, const struct expr_instr *i, const struct value *a,
              struct value *out)
{
    struct buf text = BUF_INIT;
    int rc = fn_want(m, i, a, 0, VALUE_TEXT);

    if (!rc && !(rc = machine_charge(m, i, a[0].text.len)) && !(rc = add_formatted(m, i, a, &text)))
        rc = machine_text(m, i, buf_cstr(&text), text.len, out);
    buf_release(&text);
    return rc;
}

int fn_join(struct machine *m, const struct expr_instr *i, const struct value *a, struct value *out)
{
    struct buf text = BUF_INIT;
    size_t n, k;
    int rc;

    if ((rc = fn_want(m, i, a, 0, VALUE_LIST)) || (rc = fn_want(m, i, a, 1, VALUE_TEXT)))
        return rc;
    n = json_array_size(a[0].json);
    for (k = 0; !rc && k < n; k++) {
        struct value item = value_of(json_array_get(a[0].json, k));

        if (k && !value_write_plain(&a[1], EXPR_RESULT_MAX, &text))
            rc = machine_too_long(m, i);
        else if (!(rc = machine_charge(m, i, 1)))
            rc = add_plain(m, i, &item, "item", k, &text);
    }
    if (!rc)
        rc = machine_text(m, i, buf_cstr(&text), text.len, out);
    buf_release(&text);
    return rc;
}

int fn_toJSON(struct machine *m, const struct expr_instr *i, const struct value *a,
              struct value *out)
{
    struct buf text = BUF_INIT;
    int rc;

    if (value_write(&a[0], EXPR_RESULT_MAX, &text))
        rc = machine_text(m, i, text.ptr, text.len, out);
    else
        rc = machine_too_long(m, i);
    buf_release(&text);
    return rc;
}
