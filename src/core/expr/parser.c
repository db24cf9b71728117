/* parser.c - compiles an expression in one pass by precedence climbing: operators, then fields and
 * indexes. parse_primary.c parses the operands. */
#include "core/expr/expr_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int expr_wrong(struct parser *p, size_t at, const char *fmt, ...)
{
    struct expr_range in = p->in;
    const char *close = p->bracketed ? memmem(in.text.at + at, in.text.len - at, "}}", 2) : NULL;
    va_list ap;

    /* The end of the expression is not known yet: use the next }}, or the end of the text. */
    in.end = close ? (size_t)(close - in.text.at) : in.text.len;
    va_start(ap, fmt);
    expr_fault_setv(p->fault, &in, at, fmt, ap);
    va_end(ap);
    return -E_INVALID;
}

/* ---- instructions ---- */

size_t emit(struct parser *p, int grows, struct expr_instr i)
{
    p->stack = (size_t)((long)p->stack + grows);
    if (p->stack > p->most)
        p->most = p->stack;
    *vec_add(&p->code) = i;
    return p->code.n - 1;
}

uint32_t add_const(struct parser *p, struct value v)
{
    *vec_add(&p->consts) = v;
    return (uint32_t)(p->consts.n - 1);
}

void emit_const(struct parser *p, struct value v, size_t at)
{
    emit(p, 1,
         (struct expr_instr){
             .op = OP_CONST, .arg = add_const(p, v), .from = (uint32_t)at, .at = (uint32_t)at});
}

void jump_here(struct parser *p, size_t instr)
{
    p->code.at[instr].arg = (uint32_t)p->code.n;
}

int parse_enter(struct parser *p)
{
    if (p->depth == EXPR_DEPTH_MAX)
        return expr_wrong(p, p->now.at, "this is nested more than %d levels deep", EXPR_DEPTH_MAX);
    p->depth++;
    return 0;
}

void parse_leave(struct parser *p)
{
    p->depth--;
}

/* ---- fields and items ---- */

/* Appends a key to the reference's path; *open turns false once the path can't grow any more. */
static void extend_ref(struct expr_ref *ref, const char *key, bool *open)
{
    if (ref && *open && ref->n < EXPR_PATH_MAX)
        ref->path[ref->n++] = key;
    else
        *open = false;
}

static int parse_dot(struct parser *p, size_t from, struct value *key)
{
    int rc = lex_field(p);
    size_t at = p->now.at, len = p->now.end - p->now.at;

    if (rc)
        return rc;
    *key = (struct value){.type = VALUE_TEXT};
    key->text.at = arena_memdup0(p->arena, p->in.text.at + at, len);
    key->text.len = len;
    emit(
        p, 0,
        (struct expr_instr){
            .op = OP_FIELD, .arg = add_const(p, *key), .from = (uint32_t)from, .at = (uint32_t)at});
    return lex_next(p);
}

/* *key is the value of a constant key, or null if the key is computed. */
static int parse_bracket(struct parser *p, size_t from, struct value *key)
{
    size_t before = p->code.n, at = p->now.at;
    int rc;

    if ((rc = lex_next(p)) || (rc = parse_expression(p)) ||
        (rc = lex_take_mark(p, ']', "after the index")))
        return rc;
    *key = (struct value){.type = VALUE_NULL};
    if (p->code.n == before + 1 && p->code.at[before].op == OP_CONST)
        *key = p->consts.at[p->code.at[before].arg];
    emit(p, -1, (struct expr_instr){.op = OP_INDEX, .from = (uint32_t)from, .at = (uint32_t)at});
    return 0;
}

static int parse_postfix(struct parser *p)
{
    size_t from = p->now.at, refs = p->refs.n, code = p->code.n;
    bool open;
    int rc = parse_primary(p);

    if (rc)
        return rc;
    open = p->code.n == code + 1 && p->code.at[code].op == OP_NAME;
    while (lex_is_mark(p, '.') || lex_is_mark(p, '[')) {
        struct value key;

        rc = lex_is_mark(p, '.') ? parse_dot(p, from, &key) : parse_bracket(p, from, &key);
        if (rc)
            return rc;
        open = open && key.type == VALUE_TEXT;
        /* Index p->refs every time: the expression in the brackets may have grown the array. */
        extend_ref(open ? &p->refs.at[refs] : NULL, key.type == VALUE_TEXT ? key.text.at : NULL,
                   &open);
    }
    return 0;
}

/* ---- operators ---- */

static int parse_unary(struct parser *p)
{
    struct token t = p->now;
    bool negate = t.kind == TOKEN_OPERATOR && t.op == OPERATOR_SUB;
    int rc;

    if (!negate && !(t.kind == TOKEN_OPERATOR && t.op == OPERATOR_NOT))
        return parse_postfix(p);
    if ((rc = parse_enter(p)) || (rc = lex_next(p)))
        return rc;
    /* -9223372036854775808 fits in 64 bits although 9223372036854775808 does not. */
    if (negate && p->now.kind == TOKEN_NUMBER && p->now.at == t.end) {
        struct value v;

        if ((rc = lex_number(p, &p->now, true, &v)))
            return rc;
        emit_const(p, v, t.at);
        rc = lex_next(p);
    } else if (!(rc = parse_unary(p))) {
        emit(p, 0,
             (struct expr_instr){.op = negate ? OP_NEGATE : OP_NOT,
                                 .sub = OPERATOR_NOT,
                                 .from = (uint32_t)t.at,
                                 .at = (uint32_t)t.at});
    }
    parse_leave(p);
    return rc;
}

static int strength(const struct parser *p)
{
    return p->now.kind == TOKEN_OPERATOR ? expr_operator_strength(p->now.op) : 0;
}

static int parse_binary(struct parser *p, int weakest);

/* Parses the second operand of && or ||. */
static int parse_logical(struct parser *p, struct expr_instr i)
{
    bool both = i.sub == OPERATOR_AND;
    size_t jump;
    int rc;

    i.op = both ? OP_AND : OP_OR;
    jump = emit(p, -1, i);
    if ((rc = parse_binary(p, expr_operator_strength(i.sub) + 1)))
        return rc;
    i.op = OP_BOOLEAN;
    emit(p, 0, i);
    jump_here(p, jump);
    return 0;
}

static int parse_operator(struct parser *p, size_t from)
{
    struct expr_instr i = {.op = OP_BINARY,
                           .sub = (uint8_t)p->now.op,
                           .from = (uint32_t)from,
                           .at = (uint32_t)p->now.at};
    int mine = strength(p), rc;
    bool compares =
        mine == expr_operator_strength(OPERATOR_EQ) || mine == expr_operator_strength(OPERATOR_LT);

    if ((rc = lex_next(p)))
        return rc;
    if (i.sub == OPERATOR_AND || i.sub == OPERATOR_OR)
        return parse_logical(p, i);
    if ((rc = parse_binary(p, mine + 1)))
        return rc;
    emit(p, -1, i);
    if (compares && strength(p) == mine)
        return expr_wrong(p, p->now.at,
                          "comparisons can't be chained: join them with &&, or put one of them "
                          "in parentheses");
    return 0;
}

/* Parses operators whose precedence is at least `weakest`, from left to right. */
static int parse_binary(struct parser *p, int weakest)
{
    size_t from = p->now.at;
    int rc = parse_unary(p);

    while (!rc && strength(p) >= weakest)
        rc = parse_operator(p, from);
    return rc;
}

int parse_expression(struct parser *p)
{
    int rc = parse_enter(p);

    if (rc || (rc = parse_binary(p, 1)))
        return rc;
    parse_leave(p);
    return 0;
}

/* ---- complete expressions ---- */

/* Checks that nothing follows the expression. */
static int parse_end(struct parser *p)
{
    static const char *const words[][2] = {{"and", "&&"}, {"or", "||"}, {"is", "=="}, {"eq", "=="}};
    const char *text = p->in.text.at + p->now.at, *hint = "", *word = "";
    size_t len = p->now.end - p->now.at, i;
    struct buf shown = BUF_INIT;
    int rc;

    if (p->bracketed ? !strncmp(text, "}}", 2) : p->now.kind == TOKEN_END)
        return 0;
    if (p->bracketed && p->now.kind == TOKEN_END)
        return expr_wrong(p, p->in.begin, "this expression is not closed: }} is missing");
    for (i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (len == strlen(words[i][0]) && !strncmp(text, words[i][0], len)) {
            hint = "; write ";
            word = words[i][1];
        }
    rc = expr_wrong(p, p->now.at, "expected an operator or the end, found %s%s%s",
                    lex_shown(p, &shown), hint, word);
    buf_release(&shown);
    return rc;
}

static void *copy_to_arena(struct arena *arena, const void *from, size_t size)
{
    return size ? memcpy(arena_alloc(arena, size), from, size) : NULL;
}

static const struct expr *finish(struct parser *p)
{
    struct expr *e = arena_alloc(p->arena, sizeof(*e));

    *e = (struct expr){
        .in = p->in,
        .code = copy_to_arena(p->arena, p->code.at, p->code.n * sizeof(*p->code.at)),
        .consts = copy_to_arena(p->arena, p->consts.at, p->consts.n * sizeof(*p->consts.at)),
        .refs = copy_to_arena(p->arena, p->refs.at, p->refs.n * sizeof(*p->refs.at)),
        .ncode = p->code.n,
        .nrefs = p->refs.n,
        .stack = p->most,
        .statuses = p->statuses,
    };
    return e;
}

int expr_parse(struct expr_range *in, bool bracketed, struct arena *arena, const struct expr **out,
               struct expr_fault *fault)
{
    struct parser p = {.in = *in,
                       .bracketed = bracketed,
                       .arena = arena,
                       .fault = fault,
                       .now = {.end = in->begin}};
    int rc;

    if ((rc = lex_next(&p)) || (rc = parse_expression(&p)) || (rc = parse_end(&p)))
        goto done;
    p.in.end = bracketed ? p.now.at : p.in.text.len;
    if (p.in.end - p.in.begin > EXPR_TEXT_MAX) {
        rc = expr_wrong(&p, p.in.begin, "this expression has %zu bytes; at most %d are allowed",
                        p.in.end - p.in.begin, EXPR_TEXT_MAX);
        goto done;
    }
    *in = p.in;
    *out = finish(&p);
done:
    vec_release(&p.code);
    vec_release(&p.consts);
    vec_release(&p.refs);
    return rc;
}
