/* operators.c - the operators. Overflow of whole numbers is a fault. A whole number is combined
 * with a real number only if a double represents it exactly. An infinite result or NaN is a fault.
 */
#include "core/expr/expr_internal.h"

#include <math.h>

#define EXACT_MAX (1LL << 53) /* every whole number up to this is exact as a double */

static int type_fault(struct machine *m, const struct expr_instr *i, const struct value *a,
                      const struct value *b, const char *takes)
{
    return machine_wrong(m, i, "%s takes %s, not %s and %s", expr_operator_text(i->sub), takes,
                         value_type_text(a->type), value_type_text(b->type));
}

/* ---- comparison ---- */

static int equality(struct machine *m, const struct expr_instr *i, const struct value *a,
                    const struct value *b, struct value *out)
{
    bool numbers = value_is_number(a) && value_is_number(b);
    bool equal;

    if (a->type != b->type && !numbers && a->type != VALUE_NULL && b->type != VALUE_NULL)
        return machine_wrong(m, i, "%s can't be compared with %s: they are never equal",
                             value_type_text(a->type), value_type_text(b->type));
    equal = value_equal(a, b, m->work);
    *out = (struct value){.type = VALUE_BOOL, .truth = equal == (i->sub == OPERATOR_EQ)};
    return machine_charge(m, i, 1);
}

static int ordering(struct machine *m, const struct expr_instr *i, const struct value *a,
                    const struct value *b, struct value *out)
{
    bool truth;
    int order, rc = 0;

    if (value_is_number(a) && value_is_number(b)) {
        order = value_compare_numbers(a, b);
    } else if (a->type == VALUE_TEXT && b->type == VALUE_TEXT) {
        order = value_compare_texts(a, b);
        rc = machine_charge(m, i, a->text.len / 16);
    } else {
        return type_fault(m, i, a, b, "two numbers or two strings");
    }
    switch (i->sub) {
    case OPERATOR_LT:
        truth = order < 0;
        break;
    case OPERATOR_LE:
        truth = order <= 0;
        break;
    case OPERATOR_GT:
        truth = order > 0;
        break;
    default:
        truth = order >= 0;
    }
    *out = (struct value){.type = VALUE_BOOL, .truth = truth};
    return rc;
}

/* ---- arithmetic ---- */

static int divide(struct machine *m, const struct expr_instr *i, int64_t a, int64_t b,
                  int64_t *result, bool *overflow)
{
    if (!b)
        return machine_wrong(m, i, "division by 0");
    if (b != -1)
        *result = i->sub == OPERATOR_DIV ? a / b : a % b;
    else if (i->sub == OPERATOR_DIV)
        *overflow = __builtin_sub_overflow(0, a, result);
    else
        *result = 0;
    return 0;
}

static int whole(struct machine *m, const struct expr_instr *i, int64_t a, int64_t b,
                 struct value *out)
{
    bool overflow = false;
    int64_t result = 0;
    int rc = 0;

    if (i->sub == OPERATOR_ADD)
        overflow = __builtin_add_overflow(a, b, &result);
    else if (i->sub == OPERATOR_SUB)
        overflow = __builtin_sub_overflow(a, b, &result);
    else if (i->sub == OPERATOR_MUL)
        overflow = __builtin_mul_overflow(a, b, &result);
    else
        rc = divide(m, i, a, b, &result, &overflow);
    if (rc)
        return rc;
    if (overflow)
        return machine_wrong(m, i, "the result of %s does not fit in 64 bits",
                             expr_operator_text(i->sub));
    *out = (struct value){.type = VALUE_INT, .whole = result};
    return 0;
}

static int as_real(struct machine *m, const struct expr_instr *i, const struct value *v,
                   double *out)
{
    if (v->type == VALUE_INT && (v->whole > EXACT_MAX || v->whole < -EXACT_MAX))
        return machine_wrong(m, i, "%lld is too large to be combined exactly with a fraction",
                             (long long)v->whole);
    *out = v->type == VALUE_INT ? (double)v->whole : v->real;
    return 0;
}

static int real(struct machine *m, const struct expr_instr *i, const struct value *a,
                const struct value *b, struct value *out)
{
    double x = 0, y = 0, result;
    int rc;

    if ((rc = as_real(m, i, a, &x)) || (rc = as_real(m, i, b, &y)))
        return rc;
    if (i->sub == OPERATOR_ADD)
        result = x + y;
    else if (i->sub == OPERATOR_SUB)
        result = x - y;
    else if (i->sub == OPERATOR_MUL)
        result = x * y;
    else if (fpclassify(y) == FP_ZERO)
        return machine_wrong(m, i, "division by 0");
    else
        result = i->sub == OPERATOR_DIV ? x / y : fmod(x, y);
    if (!isfinite(result))
        return machine_wrong(m, i, "the result of %s is out of range", expr_operator_text(i->sub));
    *out = (struct value){.type = VALUE_REAL, .real = result};
    return 0;
}

static int join_texts(struct machine *m, const struct expr_instr *i, const struct value *a,
                      const struct value *b, struct value *out)
{
    struct buf both = BUF_INIT;
    int rc;

    if (a->text.len + b->text.len > EXPR_RESULT_MAX)
        return machine_too_long(m, i);
    buf_reserve(&both, a->text.len + b->text.len);
    buf_add(&both, a->text.at, a->text.len);
    buf_add(&both, b->text.at, b->text.len);
    rc = machine_text(m, i, both.ptr, both.len, out);
    buf_release(&both);
    return rc;
}

static int arithmetic(struct machine *m, const struct expr_instr *i, const struct value *a,
                      const struct value *b, struct value *out)
{
    if (a->type == VALUE_INT && b->type == VALUE_INT)
        return whole(m, i, a->whole, b->whole, out);
    if (value_is_number(a) && value_is_number(b))
        return real(m, i, a, b, out);
    if (i->sub != OPERATOR_ADD)
        return type_fault(m, i, a, b, "two numbers");
    if (a->type == VALUE_TEXT && b->type == VALUE_TEXT)
        return join_texts(m, i, a, b, out);
    return type_fault(m, i, a, b, "two numbers or two strings");
}

int op_binary(struct machine *m, const struct expr_instr *i, const struct value *a,
              const struct value *b, struct value *out)
{
    switch (i->sub) {
    case OPERATOR_EQ:
    case OPERATOR_NE:
        return equality(m, i, a, b, out);
    case OPERATOR_LT:
    case OPERATOR_LE:
    case OPERATOR_GT:
    case OPERATOR_GE:
        return ordering(m, i, a, b, out);
    default:
        return arithmetic(m, i, a, b, out);
    }
}

int op_negate(struct machine *m, const struct expr_instr *i, const struct value *a,
              struct value *out)
{
    int64_t result;

    if (a->type == VALUE_REAL) {
        *out = (struct value){.type = VALUE_REAL, .real = -a->real};
        return 0;
    }
    if (a->type != VALUE_INT)
        return machine_wrong(m, i, "- takes a number, not %s", value_type_text(a->type));
    if (__builtin_sub_overflow(0, a->whole, &result))
        return machine_wrong(m, i, "the result of - does not fit in 64 bits");
    *out = (struct value){.type = VALUE_INT, .whole = result};
    return 0;
}
