/* expr.c - the public functions of expr.h for a single expression. */
#include "core/expr/expr_internal.h"

#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- compiling ---- */

int expr_take_text(const struct expr_text *text, size_t max, struct arena *arena,
                   struct expr_range *out, struct expr_fault *fault)
{
    *out = (struct expr_range){.text = *text, .end = text->len};
    if (text->len > max) {
        out->end = 0;
        return expr_fault_set(fault, out, 0, "this text has %zu bytes; at most %zu are allowed",
                              text->len, max);
    }
    if (!text_is_utf8(text->at, text->len)) {
        out->end = 0;
        return expr_fault_set(fault, out, 0, "this text is not valid UTF-8 (or holds a NUL byte)");
    }
    out->text.at = arena_memdup0(arena, text->at, text->len);
    return 0;
}

int expr_compile(const struct expr_text *text, struct arena *arena, const struct expr **out,
                 struct expr_fault *fault)
{
    struct expr_range in;
    int rc = expr_take_text(text, EXPR_TEXT_MAX, arena, &in, fault);

    return rc ? rc : expr_parse(&in, false, arena, out, fault);
}

int expr_compile_condition(const struct expr_text *text, struct arena *arena,
                           const struct expr **out, struct expr_fault *fault)
{
    const struct expr *e;
    struct expr_range in;
    size_t begin, end;
    int rc = expr_take_text(text, EXPR_TEXT_MAX, arena, &in, fault);

    if (rc)
        return rc;
    begin = strspn(in.text.at, " \t\r\n");
    if (strncmp(in.text.at + begin, "${{", 3))
        return expr_parse(&in, false, arena, out, fault);
    in.begin = begin + 3;
    if ((rc = expr_parse(&in, true, arena, &e, fault)))
        return rc;
    end = in.end + 2;
    end += strspn(in.text.at + end, " \t\r\n");
    if (end < in.text.len)
        return expr_fault_set(
            fault, &in, end,
            "only one expression is allowed here: there is more text after its }}");
    *out = e;
    return 0;
}

/* ---- evaluating ---- */

int expr_compute(const struct expr *e, const struct expr_scope *scope, struct work *work,
                 struct machine *m, struct value *out, struct expr_fault *fault)
{
    m->e = e;
    m->scope = scope;
    m->fault = fault;
    m->work = work;
    m->made.at = NULL;
    m->made.n = m->made.cap = 0;
    m->ntries = 0;
    return machine_run(m, out);
}

/* Checks that the result's JSON is short enough to be stored. */
static int check_size(const struct expr *e, const struct value *v, struct expr_fault *fault)
{
    struct buf text = BUF_INIT;
    bool fits = true;

    if (v->type == VALUE_TEXT)
        fits = v->text.len <= EXPR_RESULT_MAX;
    else if (v->type == VALUE_LIST || v->type == VALUE_OBJECT)
        fits = value_write(v, EXPR_RESULT_MAX, &text);
    buf_release(&text);
    if (fits)
        return 0;
    return expr_fault_set(fault, &e->in, e->in.begin,
                          "the result has more than %u bytes: pass a reference to it instead",
                          EXPR_RESULT_MAX);
}

int expr_eval(const struct expr *e, const struct expr_scope *scope, json_t **out,
              struct expr_fault *fault)
{
    struct work work = {EXPR_WORK_MAX};
    struct machine m;
    struct value v;
    int rc;

    if (!(rc = expr_compute(e, scope, &work, &m, &v, fault)) && !(rc = check_size(e, &v, fault)))
        *out = value_json(&v);
    machine_release(&m);
    return rc;
}

int expr_eval_bool(const struct expr *e, const struct expr_scope *scope, bool *out,
                   struct expr_fault *fault)
{
    struct work work = {EXPR_WORK_MAX};
    struct machine m;
    struct value v;
    int rc = expr_compute(e, scope, &work, &m, &v, fault);

    if (!rc && v.type != VALUE_BOOL)
        rc = expr_fault_set(fault, &e->in, e->in.begin,
                            "a condition must be true or false, not %s: write a comparison",
                            value_type_text(v.type));
    if (!rc)
        *out = v.truth;
    machine_release(&m);
    return rc;
}

/* ---- static analysis ---- */

void expr_references(const struct expr *e, expr_each_ref *each, void *arg)
{
    size_t i;

    for (i = 0; i < e->nrefs; i++)
        each(arg, &e->refs[i]);
}

unsigned expr_statuses(const struct expr *e)
{
    return e->statuses;
}
