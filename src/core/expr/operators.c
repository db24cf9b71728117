/* operators.c - the operators of expressions. Overflow of whole numbers is a fault. A whole number
 * can be combined with a real number only if a double represents it exactly. An infinite result or
 * NaN is a fault. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <math.h>

#define EXACT_MAX (1LL << 53) /* every whole number up to this one is exact as a double */

static const char *operator_text(const struct eval *x)
{
    return expr_operators[x->node->which].text;
}

static int type_fault(struct eval *x, json_t *a, json_t *b, const char *takes)
{
    return eval_fault(x, "%s takes %s, not %s and %s", operator_text(x), takes, value_type_text(a),
                      value_type_text(b));
}

/* ---- comparison ---- */

static int equality(struct eval *x, json_t *a, json_t *b, json_t **out)
{
    bool comparable = json_is_null(a) || json_is_null(b) || json_typeof(a) == json_typeof(b) ||
                      (json_is_number(a) && json_is_number(b)) ||
                      (json_is_boolean(a) && json_is_boolean(b));

    if (!comparable)
        return eval_fault(x, "%s can't be compared with %s: they are never equal",
                          value_type_text(a), value_type_text(b));
    *out = json_boolean(value_equal(a, b, &x->work) == (x->node->which == OPERATOR_EQ));
    return eval_charge(x, 1);
}

static int ordering(struct eval *x, json_t *a, json_t *b, json_t **out)
{
    unsigned op = x->node->which;
    int order, rc = 0;

    if (json_is_number(a) && json_is_number(b)) {
        order = value_compare_numbers(a, b);
    } else if (json_is_string(a) && json_is_string(b)) {
        order = value_compare_texts(a, b);
        rc = eval_charge(x, json_string_length(a) / 16);
    } else {
        return type_fault(x, a, b, "two numbers or two strings");
    }
    *out = json_boolean(order ? (order < 0) == (op == OPERATOR_LT || op == OPERATOR_LE)
                              : op == OPERATOR_LE || op == OPERATOR_GE);
    return rc;
}

/* ---- arithmetic ---- */

static int whole_arithmetic(struct eval *x, json_int_t a, json_int_t b, json_t **out)
{
    unsigned op = x->node->which;
    bool overflow = false;
    json_int_t result = 0;

    if ((op == OPERATOR_DIV || op == OPERATOR_MOD) && !b)
        return eval_fault(x, "division by 0");
    if (op == OPERATOR_ADD)
        overflow = __builtin_add_overflow(a, b, &result);
    else if (op == OPERATOR_SUB)
        overflow = __builtin_sub_overflow(a, b, &result);
    else if (op == OPERATOR_MUL)
        overflow = __builtin_mul_overflow(a, b, &result);
    else if (op == OPERATOR_DIV && b == -1)
        overflow = __builtin_sub_overflow(0, a, &result);
    else if (op == OPERATOR_DIV)
        result = a / b;
    else if (b != -1)
        result = a % b;
    if (overflow)
        return eval_fault(x, "the result of %s does not fit in 64 bits", operator_text(x));
    *out = eval_keep(x, json_integer(result));
    return 0;
}

static int as_real(struct eval *x, json_t *v, double *out)
{
    json_int_t n = json_integer_value(v);

    if (n > EXACT_MAX || n < -EXACT_MAX)
        return eval_fault(
            x, "%lld is too large for exact arithmetic with a number that has a fraction",
            (long long)n);
    *out = json_number_value(v);
    return 0;
}

static int real_arithmetic(struct eval *x, json_t *a, json_t *b, json_t **out)
{
    double first = 0, second = 0, result;
    int rc;

    if ((rc = as_real(x, a, &first)) || (rc = as_real(x, b, &second)))
        return rc;
    switch (x->node->which) {
    case OPERATOR_ADD:
        result = first + second;
        break;
    case OPERATOR_SUB:
        result = first - second;
        break;
    case OPERATOR_MUL:
        result = first * second;
        break;
    default:
        if (fpclassify(second) == FP_ZERO)
            return eval_fault(x, "division by 0");
        result = x->node->which == OPERATOR_DIV ? first / second : fmod(first, second);
    }
    if (!isfinite(result))
        return eval_fault(x, "the result of %s is out of range", operator_text(x));
    *out = eval_keep(x, json_real(result));
    return 0;
}

static int join_texts(struct eval *x, json_t *a, json_t *b, json_t **out)
{
    struct buf both = BUF_INIT;

    if (json_string_length(a) + json_string_length(b) > EXPR_RESULT_MAX)
        return eval_too_long(x);
    buf_add(&both, json_string_value(a), json_string_length(a));
    buf_add(&both, json_string_value(b), json_string_length(b));
    return eval_finish_text(x, 0, &both, out);
}

static int arithmetic(struct eval *x, json_t *a, json_t *b, json_t **out)
{
    bool add = x->node->which == OPERATOR_ADD;

    if (json_is_integer(a) && json_is_integer(b))
        return whole_arithmetic(x, json_integer_value(a), json_integer_value(b), out);
    if (json_is_number(a) && json_is_number(b))
        return real_arithmetic(x, a, b, out);
    if (add && json_is_string(a) && json_is_string(b))
        return join_texts(x, a, b, out);
    return type_fault(x, a, b, add ? "two numbers or two strings" : "two numbers");
}

int eval_binary(struct eval *x, json_t *a, json_t *b, json_t **out)
{
    switch (x->node->which) {
    case OPERATOR_EQ:
    case OPERATOR_NE:
        return equality(x, a, b, out);
    case OPERATOR_LT:
    case OPERATOR_LE:
    case OPERATOR_GT:
    case OPERATOR_GE:
        return ordering(x, a, b, out);
    default:
        return arithmetic(x, a, b, out);
    }
}

int eval_negate(struct eval *x, json_t *a, json_t **out)
{
    if (json_is_integer(a))
        return whole_arithmetic(x, 0, json_integer_value(a), out); /* computes 0 - a */
    if (!json_is_real(a))
        return eval_fault(x, "- takes a number, not %s", value_type_text(a));
    *out = eval_keep(x, json_real(-json_real_value(a)));
    return 0;
}
