/* eval.c - walks the tree of an expression. Values belong to the scope, or were created during the
 * evaluation and live until it ends, so they need no reference counting. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <stdlib.h>

/* ---- work and values ---- */

int eval_charge(struct eval *x, size_t work)
{
    if (work_charge(&x->work, work))
        return 0;
    return eval_fault(x, "this expression is too expensive: compute the value in a task");
}

int eval_too_long(struct eval *x)
{
    return eval_fault(x, "the result is larger than %u bytes: store it in a file and pass the path",
                      EXPR_RESULT_MAX);
}

json_t *eval_keep(struct eval *x, json_t *made)
{
    *vec_add(&x->made) = value_need(made);
    return made;
}

int eval_finish_text(struct eval *x, int rc, struct buf *text, json_t **out)
{
    if (!rc && text->len > EXPR_RESULT_MAX)
        rc = eval_too_long(x);
    if (!rc && !(rc = eval_charge(x, text->len + ITEM_WORK)))
        *out = eval_keep(x, json_stringn_nocheck(buf_cstr(text), text->len));
    buf_release(text);
    return rc;
}

/* ---- operands ---- */

static json_t *eval_literal(struct eval *x, const struct literal *l)
{
    switch (l->type) {
    case JSON_STRING:
        return eval_keep(x, json_stringn_nocheck(l->text, l->len));
    case JSON_INTEGER:
        return eval_keep(x, json_integer(l->whole));
    case JSON_REAL:
        return eval_keep(x, json_real(l->real));
    case JSON_NULL:
        return json_null();
    default:
        return json_boolean(l->type == JSON_TRUE);
    }
}

static int eval_name(struct eval *x, const struct node *n, json_t **out)
{
    static const char *const names[][2] = {
#define X(id, name, meaning) {#name, meaning},
        EXPR_NAMES(X)
#undef X
    };

    *out = x->scope->names[n->which];
    if (!*out)
        return eval_fault(x, "%s is not available here: it is %s", names[n->which][0],
                          names[n->which][1]);
    return 0;
}

static int eval_status(struct eval *x, const struct node *n, json_t **out)
{
    if (!x->scope->status)
        return eval_fault(
            x, "the status of the needs is not available here: use this function in 'if'");
    *out = json_boolean(x->scope->status(x->scope->arg, n->which));
    return 0;
}

static int eval_collection(struct eval *x, const struct node *n, json_t **out)
{
    bool list = n->kind == NODE_LIST;
    json_t *v;
    int rc;

    if ((rc = eval_charge(x, ITEM_WORK)))
        return rc;
    *out = eval_keep(x, list ? json_array() : json_object());
    for (const struct node *c = n->child; c; c = c->next) {
        if ((rc = eval_node(x, list ? c : c->child, &v)))
            return rc;
        x->node = list ? n : c;
        if ((rc = eval_charge(x, ITEM_WORK + 1)))
            return rc;
        if (list)
            value_append(*out, json_incref(v));
        else
            value_put(*out, c->literal.text, json_incref(v));
    }
    return 0;
}

static int eval_default(struct eval *x, const struct node *n, json_t **out)
{
    int rc;

    x->trying++;
    rc = eval_node(x, n->child, out);
    x->trying--;
    return rc == EXPR_MISSING || (!rc && json_is_null(*out)) ? eval_node(x, n->child->next, out)
                                                             : rc;
}

static int eval_call(struct eval *x, const struct node *n, json_t **out)
{
    json_t *few[3], **args = n->n > 3 ? mem_alloc(n->n * sizeof(*args)) : few, **arg = args;
    int rc = 0;

    for (const struct node *c = n->child; !rc && c; c = c->next)
        rc = eval_node(x, c, arg++);
    x->node = n;
    if (!rc)
        rc = eval_function(x, args, out);
    if (args != few)
        free(args);
    return rc;
}

static int want_boolean(struct eval *x, json_t *v)
{
    if (json_is_boolean(v))
        return 0;
    return eval_fault(x, "%s takes booleans, not %s: write a comparison",
                      expr_operators[x->node->which].text, value_type_text(v));
}

static int eval_unary(struct eval *x, const struct node *n, json_t **out)
{
    int rc = eval_node(x, n->child, out);

    x->node = n;
    if (rc)
        return rc;
    if (n->which == OPERATOR_SUB)
        return eval_negate(x, *out, out);
    if (!(rc = want_boolean(x, *out)))
        *out = json_boolean(!json_is_true(*out));
    return rc;
}

static int eval_operand(struct eval *x, const struct node *n, json_t **out)
{
    switch (n->kind) {
    case NODE_NAME:
        return eval_name(x, n, out);
    case NODE_STATUS:
        return eval_status(x, n, out);
    case NODE_CALL:
        return n->which == FUNCTION_default ? eval_default(x, n, out) : eval_call(x, n, out);
    case NODE_LIST:
    case NODE_OBJECT:
        return eval_collection(x, n, out);
    case NODE_UNARY:
        return eval_unary(x, n, out);
    default:
        *out = eval_literal(x, &n->literal);
        return 0;
    }
}

/* ---- steps ---- */

/* && and || evaluate the second operand only if the first does not decide. */
static int eval_logical(struct eval *x, const struct node *n, json_t **v)
{
    int rc = want_boolean(x, *v);

    if (rc || json_is_true(*v) == (n->which == OPERATOR_OR) || (rc = eval_node(x, n->child, v)))
        return rc;
    x->node = n;
    return want_boolean(x, *v);
}

static int eval_step(struct eval *x, const struct node *n, json_t **v)
{
    json_t *second;
    int rc;

    if (n->kind == NODE_FIELD)
        return eval_field(x, *v, n->literal.text, n->literal.len, v);
    if (n->kind == NODE_BINARY && (n->which == OPERATOR_AND || n->which == OPERATOR_OR))
        return eval_logical(x, n, v);
    if ((rc = eval_node(x, n->child, &second)))
        return rc;
    x->node = n;
    return n->kind == NODE_INDEX ? eval_index(x, *v, second, v) : eval_binary(x, *v, second, v);
}

int eval_node(struct eval *x, const struct node *n, json_t **out)
{
    int rc;

    x->node = n;
    if (!(rc = eval_charge(x, 1)))
        rc = eval_operand(x, n, out);
    for (const struct node *step = n->steps; !rc && step; step = step->next) {
        x->node = step;
        if (!(rc = eval_charge(x, 1)))
            rc = eval_step(x, step, out);
    }
    return rc;
}
