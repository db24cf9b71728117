/* functions.c - calls functions, and implements those for strings; list_functions.c implements
 * those for lists and objects. EXPR_FUNCTIONS in expr.h lists the arguments of each function. */
#include "core/expr/expr_internal.h"

#include "base/json.h"

#include <jansson.h>
#include <string.h>

/* Fails unless argument k (from 0) has the type of the letter: s, n, l or o as in
 * EXPR_FUNCTIONS. */
static int check_type(struct eval *x, json_t *v, unsigned k, char letter)
{
    static const struct {
        char letter;
        json_type type;
        const char *text;
    } types[] = {{'s', JSON_STRING, "a string"},
                 {'n', JSON_INTEGER, "a whole number"},
                 {'l', JSON_ARRAY, "a list"},
                 {'o', JSON_OBJECT, "an object"}};
    static const char *const ordinals[] = {"first", "second", "third"};
    size_t i = 0;

    while (types[i].letter != letter)
        i++;
    if (json_typeof(v) == types[i].type)
        return 0;
    return eval_fault(x, "the %s argument of %s() must be %s, not %s", ordinals[k],
                      expr_function_name(x->node->which), types[i].text,
                      letter == 'n' && json_is_real(v) ? "a fraction" : value_type_text(v));
}

int eval_function(struct eval *x, json_t *const *a, json_t **out)
{
    static const struct {
        const char *types;
        function_body *body;
    } functions[] = {
#define X(name, types, ...) {types, fn_##name},
        EXPR_FUNCTIONS(X)
#undef X
    };
    const char *types = functions[x->node->which].types;
    int rc;

    for (unsigned k = 0; k < x->node->n && types[k]; k++)
        if ((rc = check_type(x, a[k], k, types[k])))
            return rc;
    return functions[x->node->which].body(x, a, out);
}

/* ---- searching ---- */

static int list_contains(struct eval *x, json_t *const *a, json_t **out)
{
    size_t n = json_array_size(a[0]), k;
    bool found = false;

    for (k = 0; k < n && !found; k++)
        found = value_equal(json_array_get(a[0], k), a[1], &x->work);
    *out = json_boolean(found);
    return eval_charge(x, 1); /* fails if the comparisons used up the work that is left */
}

int fn_contains(struct eval *x, json_t *const *a, json_t **out)
{
    int rc;

    if (json_is_array(a[0]))
        return list_contains(x, a, out);
    if (!json_is_string(a[0]) && !json_is_object(a[0]))
        return eval_fault(x,
                          "the first argument of contains() must be a string, a list or an object, "
                          "not %s",
                          value_type_text(a[0]));
    if ((rc = check_type(x, a[1], 1, 's')))
        return rc;
    if (json_is_object(a[0])) {
        *out =
            json_boolean(json_object_getn(a[0], json_string_value(a[1]), json_string_length(a[1])));
        return 0;
    }
    *out = json_boolean(memmem(json_string_value(a[0]), json_string_length(a[0]),
                               json_string_value(a[1]), json_string_length(a[1])));
    return eval_charge(x, json_string_length(a[0]));
}

static int starts_or_ends_with(struct eval *x, json_t *const *a, bool ends, json_t **out)
{
    size_t len = json_string_length(a[0]), part = json_string_length(a[1]);
    const char *from = json_string_value(a[0]) + (ends && len > part ? len - part : 0);

    *out = json_boolean(part <= len && !memcmp(from, json_string_value(a[1]), part));
    return eval_charge(x, part / 16);
}

int fn_startsWith(struct eval *x, json_t *const *a, json_t **out)
{
    return starts_or_ends_with(x, a, false, out);
}

int fn_endsWith(struct eval *x, json_t *const *a, json_t **out)
{
    return starts_or_ends_with(x, a, true, out);
}

/* ---- building strings ---- */

/* Appends a value as text. null is a fault, whose sentence names the value by `what` and `n`. */
static int add_plain(struct eval *x, json_t *v, const char *what, size_t n, struct buf *out)
{
    if (json_is_null(v))
        return eval_fault(
            x, "%s %zu of %s() is null, which can't be inserted into text; use default()", what, n,
            expr_function_name(x->node->which));
    return value_write_plain(v, EXPR_RESULT_MAX, out) ? 0 : eval_too_long(x);
}

/* Appends the argument for a placeholder such as {7}, which starts at `at`; sets *end to the
 * position after its closing brace. */
static int add_numbered(struct eval *x, json_t *const *a, size_t at, size_t *end, struct buf *out)
{
    const char *text = json_string_value(a[0]);
    size_t k = 0, digit = at + 1;

    while (digit < json_string_length(a[0]) && digit < at + 4 && text[digit] >= '0' &&
           text[digit] <= '9')
        k = k * 10 + (size_t)(text[digit++] - '0');
    if (digit == at + 1 || digit >= json_string_length(a[0]) || text[digit] != '}')
        return eval_fault(x,
                          "the string of format() has a { without a number and }; write {{ for a "
                          "literal brace");
    if (k + 1 >= x->node->n)
        return eval_fault(x, "the string of format() uses {%zu}, but the number of values is %u", k,
                          x->node->n - 1);
    *end = digit + 1;
    return add_plain(x, a[k + 1], "value", k, out);
}

static int add_formatted(struct eval *x, json_t *const *a, struct buf *out)
{
    const char *text = json_string_value(a[0]);
    size_t at = 0, len = json_string_length(a[0]);
    int rc = 0;

    while (!rc && at < len) {
        bool doubled = at + 1 < len && text[at + 1] == text[at];

        if (out->len > EXPR_RESULT_MAX)
            return eval_too_long(x);
        if (text[at] == '{' && !doubled) {
            rc = add_numbered(x, a, at, &at, out);
        } else if (text[at] == '}' && !doubled) {
            return eval_fault(x, "the string of format() has a } without {; write }} for a "
                                 "literal brace");
        } else {
            buf_addch(out, text[at]);
            at += text[at] == '{' || text[at] == '}' ? 2 : 1;
        }
    }
    return rc;
}

int fn_format(struct eval *x, json_t *const *a, json_t **out)
{
    struct buf text = BUF_INIT;
    int rc = eval_charge(x, json_string_length(a[0]));

    return eval_finish_text(x, rc ? rc : add_formatted(x, a, &text), &text, out);
}

int fn_join(struct eval *x, json_t *const *a, json_t **out)
{
    struct buf text = BUF_INIT;
    size_t n = json_array_size(a[0]), k;
    int rc = 0;

    for (k = 0; !rc && k < n; k++) {
        if (k && !value_write_plain(a[1], EXPR_RESULT_MAX, &text))
            rc = eval_too_long(x);
        else if (!(rc = eval_charge(x, 1)))
            rc = add_plain(x, json_array_get(a[0], k), "item", k, &text);
    }
    return eval_finish_text(x, rc, &text, out);
}

int fn_toJSON(struct eval *x, json_t *const *a, json_t **out)
{
    struct buf text = BUF_INIT;
    int rc = json_add_value(&text, a[0], EXPR_RESULT_MAX) ? 0 : eval_too_long(x);

    return eval_finish_text(x, rc, &text, out);
}
