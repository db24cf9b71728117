/* template.c - text with expressions in it. Compiling splits it into literal pieces and
 * expressions; evaluating copies or evaluates each piece. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A literal, or an expression if e is not NULL. */
struct piece {
    const char *text;
    size_t len;
    const struct expr *e;
};

struct expr_template {
    struct expr_range in; /* the whole text */
    const char *constant; /* the text if it has no expression, else NULL */
    size_t n;
    struct piece pieces[];
};

struct splitter {
    struct expr_range in;
    struct arena *arena;
    struct expr_fault *fault;
    VEC(struct piece) pieces;
    bool constant; /* no expression so far */
};

/* ---- compiling ---- */

static void add_literal(struct splitter *c, size_t from, size_t to)
{
    if (to > from)
        *vec_add(&c->pieces) = (struct piece){.text = c->in.text.at + from, .len = to - from};
}

static int add_expression(struct splitter *c, size_t begin)
{
    struct piece piece = {0};
    int rc;

    c->in.begin = begin;
    if ((rc = expr_parse(&c->in, true, c->arena, &piece.e, c->fault)))
        return rc;
    *vec_add(&c->pieces) = piece;
    c->constant = false;
    return 0;
}

/* Splits the text at each ${{ … }}, and at each $${{, whose first $ is dropped. */
static int split_text(struct splitter *c)
{
    const char *text = c->in.text.at, *dollar;
    size_t from = 0, at = 0;
    int rc;

    while ((dollar = strstr(text + at, "${{"))) {
        at = (size_t)(dollar - text);
        if (at > from && text[at - 1] == '$') {
            add_literal(c, from, at - 1);
            from = at;
            at += 3;
            continue;
        }
        add_literal(c, from, at);
        if ((rc = add_expression(c, at + 3)))
            return rc;
        from = at = c->in.end + 2;
    }
    add_literal(c, from, c->in.text.len);
    return 0;
}

static const char *join_literals(const struct splitter *c)
{
    struct buf all = BUF_INIT;
    const char *text;
    size_t i;

    for (i = 0; i < c->pieces.n; i++)
        buf_add(&all, c->pieces.at[i].text, c->pieces.at[i].len);
    text = arena_memdup0(c->arena, all.ptr, all.len);
    buf_release(&all);
    return text;
}

int expr_template_compile(const struct expr_text *text, struct arena *arena,
                          const struct expr_template **out, struct expr_fault *fault)
{
    struct splitter c = {.arena = arena, .fault = fault, .constant = true};
    struct expr_template *t;
    int rc;

    if ((rc = expr_take_text(text, EXPR_TEMPLATE_MAX, arena, &c.in, fault)) ||
        (rc = split_text(&c)))
        goto done;
    t = arena_alloc(arena, sizeof(*t) + c.pieces.n * sizeof(*c.pieces.at));
    t->in = (struct expr_range){.text = c.in.text, .end = c.in.text.len};
    t->n = c.pieces.n;
    if (t->n)
        memcpy(t->pieces, c.pieces.at, t->n * sizeof(*c.pieces.at));
    t->constant = c.constant ? join_literals(&c) : NULL;
    *out = t;
done:
    vec_release(&c.pieces);
    return rc;
}

/* ---- evaluating ---- */

static int too_long(const struct expr_range *in, struct expr_fault *fault)
{
    return expr_fault_set(fault, in, in->begin,
                          "this makes the text longer than %u bytes: pass a reference instead",
                          EXPR_RESULT_MAX);
}

static int add_value(const struct expr *e, const struct value *v, struct buf *out,
                     struct expr_fault *fault)
{
    if (v->type == VALUE_NULL)
        return expr_fault_set(fault, &e->in, e->in.begin,
                              "this is null, which has no text form; use default()");
    return value_write_plain(v, EXPR_RESULT_MAX, out) ? 0 : too_long(&e->in, fault);
}

static int add_piece(const struct piece *piece, const struct expr_scope *scope, struct work *work,
                     struct buf *out, struct expr_fault *fault)
{
    struct machine m;
    struct value v;
    int rc;

    if (!piece->e) {
        buf_add(out, piece->text, piece->len);
        return 0;
    }
    if (!(rc = expr_compute(piece->e, scope, work, &m, &v, fault)))
        rc = add_value(piece->e, &v, out, fault);
    machine_release(&m);
    return rc;
}

int expr_template_eval(const struct expr_template *t, const struct expr_scope *scope, json_t **out,
                       struct expr_fault *fault)
{
    struct work work = {EXPR_WORK_MAX};
    struct buf text = BUF_INIT;
    size_t i;
    int rc = 0;

    if (t->n == 1 && t->pieces[0].e)
        return expr_eval(t->pieces[0].e, scope, out, fault);
    for (i = 0; !rc && i < t->n; i++)
        rc = add_piece(&t->pieces[i], scope, &work, &text, fault);
    if (!rc && text.len > EXPR_RESULT_MAX)
        rc = too_long(&t->in, fault);
    if (!rc)
        *out = value_need(json_stringn_nocheck(buf_cstr(&text), text.len));
    buf_release(&text);
    return rc;
}

/* ---- static analysis ---- */

const char *expr_template_constant(const struct expr_template *t)
{
    return t->constant;
}

void expr_template_references(const struct expr_template *t, expr_each_ref *each, void *arg)
{
    size_t i;

    for (i = 0; i < t->n; i++)
        if (t->pieces[i].e)
            expr_references(t->pieces[i].e, each, arg);
}

unsigned expr_template_statuses(const struct expr_template *t)
{
    unsigned all = 0;
    size_t i;

    for (i = 0; i < t->n; i++)
        all |= t->pieces[i].e ? expr_statuses(t->pieces[i].e) : 0;
    return all;
}
