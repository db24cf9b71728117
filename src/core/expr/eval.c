/* eval.c - the stack machine that runs a compiled expression. Values on its stack are borrowed from
 * the scope, from the program, or from values created during the evaluation, which live until its
 * end. So the stack needs no reference counting, and a simple expression allocates only its
 * result. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_STACK 32

/* ---- faults ---- */

int machine_wrong(struct machine *m, const struct expr_instr *i, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    expr_fault_setv(m->fault, &m->e->in, i->at, fmt, ap);
    va_end(ap);
    return -E_INVALID;
}

int machine_charge(struct machine *m, const struct expr_instr *i, size_t work)
{
    if (work_charge(m->work, work))
        return 0;
    return machine_wrong(m, i, "this is too expensive to compute: do it in a task");
}

int machine_too_long(struct machine *m, const struct expr_instr *i)
{
    return machine_wrong(m, i, "the result is longer than %u bytes: pass a reference to it instead",
                         EXPR_RESULT_MAX);
}

/* ---- values created during the evaluation ---- */

struct value machine_keep(struct machine *m, json_t *made)
{
    *vec_add(&m->made) = value_need(made);
    return value_of(made);
}

int machine_text(struct machine *m, const struct expr_instr *i, const char *text, size_t len,
                 struct value *out)
{
    int rc;

    if (len > EXPR_RESULT_MAX)
        return machine_too_long(m, i);
    if ((rc = machine_charge(m, i, len + ITEM_WORK)))
        return rc;
    *out = machine_keep(m, json_stringn_nocheck(text, len));
    return 0;
}

void machine_release(struct machine *m)
{
    while (m->made.n > 0)
        json_decref(m->made.at[--m->made.n]);
    vec_release(&m->made);
}

/* ---- names, lists, objects, calls ---- */

static int name_not_available(struct machine *m, const struct expr_instr *i)
{
    static const char *const names[][2] = {
#define X(id, name, meaning) {#name, meaning},
        EXPR_NAMES(X)
#undef X
    };

    return machine_wrong(m, i, "%s is not known here: it is %s", names[i->arg][0],
                         names[i->arg][1]);
}

static int new_collection(struct machine *m, const struct expr_instr *i, struct value *out)
{
    int rc = machine_charge(m, i, ITEM_WORK);

    if (!rc)
        *out = machine_keep(m, i->op == OP_LIST ? json_array() : json_object());
    return rc;
}

static int add_element(struct machine *m, const struct expr_instr *i, struct value *into,
                       const struct value *v)
{
    int rc = machine_charge(m, i, ITEM_WORK);

    if (rc)
        return rc;
    if (i->op == OP_APPEND)
        value_append(into->json, value_json(v));
    else
        value_put(into->json, m->e->consts[i->arg].text.at, value_json(v));
    return 0;
}

static int call(struct machine *m, const struct expr_instr *i, const struct value *args,
                struct value *out)
{
    static function_body *const bodies[] = {
#define X(name, ...) [FUNCTION_##name] = fn_##name,
        EXPR_FUNCTIONS(X)
#undef X
    };
    struct value made = {0};
    int rc = bodies[i->sub](m, i, args, &made);

    if (!rc)
        *out = made;
    return rc;
}

static int want_boolean(struct machine *m, const struct expr_instr *i, const struct value *v)
{
    if (v->type == VALUE_BOOL)
        return 0;
    return machine_wrong(m, i, "%s takes booleans, not %s: write a comparison",
                         expr_operator_text(i->sub), value_type_text(v->type));
}

/* ---- the loop ---- */

static int step(struct machine *m, const struct expr_instr *i, struct value **top, size_t *next);

/* Handles a failed step: a missing field or item inside default() continues at its second argument.
 */
static int recover(struct machine *m, int rc, struct value **top, size_t *next)
{
    if (rc != EXPR_MISSING)
        return rc;
    m->ntries--;
    *top = m->tries[m->ntries].top;
    *next = m->tries[m->ntries].target;
    return 0;
}

int machine_run(struct machine *m, struct value *out)
{
    struct value small[SMALL_STACK], *large = NULL, *top;
    size_t next = 0;
    int rc = 0;

    if (m->e->stack >= SMALL_STACK)
        large = mem_alloc((m->e->stack + 1) * sizeof(*large));
    top = large ? large : small; /* one below the first value: the stack is empty */
    while (!rc && next < m->e->ncode) {
        const struct expr_instr *i = &m->e->code[next++];

        if (!(rc = machine_charge(m, i, 1)) && (rc = step(m, i, &top, &next)))
            rc = recover(m, rc, &top, &next);
    }
    if (!rc)
        *out = *top;
    free(large);
    return rc;
}

/* && and ||: skips the second operand if the first decides, else pops the first. */
static int logical(struct machine *m, const struct expr_instr *i, struct value **top, size_t *next)
{
    int rc = want_boolean(m, i, *top);

    if (rc)
        return rc;
    if ((*top)->truth == (i->op == OP_OR))
        *next = i->arg;
    else
        --*top;
    return 0;
}

static void start_try(struct machine *m, const struct expr_instr *i, struct value *top)
{
    m->tries[m->ntries].top = top;
    m->tries[m->ntries].target = i->arg;
    m->ntries++;
}

static int push_name(struct machine *m, const struct expr_instr *i, struct value **top)
{
    if (!m->scope->names[i->arg])
        return name_not_available(m, i);
    *++*top = value_of(m->scope->names[i->arg]);
    return 0;
}

static int push_status(struct machine *m, const struct expr_instr *i, struct value **top)
{
    if (!m->scope->status)
        return machine_wrong(
            m, i, "the status of the needs is not known here: use this function in 'if'");
    *++*top = (struct value){.type = VALUE_BOOL,
                             .truth = m->scope->status(m->scope->arg, (enum expr_status)i->arg)};
    return 0;
}

static int step(struct machine *m, const struct expr_instr *i, struct value **top, size_t *next)
{
    int rc = 0;

    switch ((enum expr_op)i->op) {
    case OP_CONST:
        *++*top = m->e->consts[i->arg];
        break;
    case OP_NAME:
        return push_name(m, i, top);
    case OP_FIELD:
        return machine_get(m, i, *top, &m->e->consts[i->arg], *top);
    case OP_INDEX:
        --*top;
        return machine_get(m, i, *top, *top + 1, *top);
    case OP_NOT:
        if (!(rc = want_boolean(m, i, *top)))
            (*top)->truth = !(*top)->truth;
        break;
    case OP_NEGATE:
        return op_negate(m, i, *top, *top);
    case OP_BINARY:
        --*top;
        return op_binary(m, i, *top, *top + 1, *top);
    case OP_AND:
    case OP_OR:
        return logical(m, i, top, next);
    case OP_BOOLEAN:
        return want_boolean(m, i, *top);
    case OP_STATUS:
        return push_status(m, i, top);
    case OP_CALL:
        *top -= i->argc - 1;
        return call(m, i, *top, *top);
    case OP_LIST:
    case OP_OBJECT:
        return new_collection(m, i, ++*top);
    case OP_APPEND:
    case OP_PUT:
        --*top;
        return add_element(m, i, *top, *top + 1);
    case OP_TRY:
        start_try(m, i, *top);
        break;
    case OP_CAUGHT:
        m->ntries--;
        if ((*top)->type != VALUE_NULL)
            *next = i->arg;
        else
            --*top;
        break;
    }
    return rc;
}
