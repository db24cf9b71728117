/* expr_internal.h - what the files of the expression language share. A text is compiled in one pass
 * (lexer.c, parser.c, parse_primary.c, call.c) to instructions for a small stack machine
 * (eval.c) without backward jumps, so that it ends. Fields are found by access.c, operators
 * are in operators.c, functions in functions.c and list_functions.c. */
#ifndef CORE_EXPR_EXPR_INTERNAL_H
#define CORE_EXPR_EXPR_INTERNAL_H

#include "core/expr/expr.h"
#include "core/expr/value.h"

#include <stdarg.h>

/* ---- faults ---- */

/* An expression in its text: all of it, or what stands between ${{ and }}. */
struct expr_range {
    struct expr_text text;
    size_t begin, end;
};

int expr_fault_set(struct expr_fault *fault, const struct expr_range *in, size_t offset,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
int expr_fault_setv(struct expr_fault *fault, const struct expr_range *in, size_t offset,
                    const char *fmt, va_list ap) PRINTF_LIKE(4, 0);
/* The most bytes up to max that end with a whole character. */
int expr_cut(const char *text, size_t len, size_t max);
/* The one of the list (which ends with NULL) that was meant as "; did you mean 'x'?", or "". */
const char *expr_did_you_mean(const char *word, const char *const *list, struct buf *out);

/* ---- words ---- */

enum expr_operator {
    OPERATOR_NONE,
#define X(id, text, strength, meaning) OPERATOR_##id,
    EXPR_OPERATORS(X)
#undef X
        OPERATOR_NOT,
    OPERATOR_COUNT
};
const char *expr_operator_text(enum expr_operator op);
int expr_operator_strength(enum expr_operator op); /* 0: not a binary one */

enum expr_function {
#define X(name, ...) FUNCTION_##name,
    EXPR_FUNCTIONS(X)
#undef X
        FUNCTION_COUNT
};

/* ---- the machine's program ---- */

enum expr_op {
    OP_CONST,   /* push consts[arg] */
    OP_NAME,    /* push names[arg] */
    OP_FIELD,   /* the field consts[arg] of the top */
    OP_INDEX,   /* pop a key; that field or item of the top */
    OP_NOT,     /* of a boolean */
    OP_NEGATE,  /* of a number */
    OP_BINARY,  /* pop the second operand; `sub` is the operator */
    OP_AND,     /* false: go to arg; true: pop */
    OP_OR,      /* true: go to arg; false: pop */
    OP_BOOLEAN, /* the top must be one; `sub` is the operator that says so */
    OP_STATUS,  /* push what the caller says of arg */
    OP_CALL,    /* pop `argc` values, push what function `sub` makes of them */
    OP_LIST,    /* push a new list */
    OP_APPEND,  /* pop a value into the list that is then the top */
    OP_OBJECT,  /* push a new object */
    OP_PUT,     /* pop a value into the object that is then the top, under consts[arg] */
    OP_TRY,     /* from here to OP_CAUGHT, something missing means: go to arg */
    OP_CAUGHT   /* unless the top is null go to arg; else pop */
};

struct expr_instr {
    uint8_t op, sub;
    uint16_t argc;
    uint32_t arg;
    uint32_t from, at; /* where its first operand begins, and what a fault points at */
};

struct expr {
    struct expr_range in;
    const struct expr_instr *code;
    const struct value *consts;
    const struct expr_ref *refs;
    size_t ncode, nrefs;
    size_t stack; /* how many values it ever holds */
    unsigned statuses;
};

/* ---- compiling ---- */

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_TEXT,
    TOKEN_OPERATOR,
    TOKEN_MARK /* one of ( ) [ ] { } , : . */
};

struct token {
    enum token_kind kind;
    enum expr_operator op;
    char mark;
    size_t at, end;
};

struct parser {
    struct expr_range in;
    bool bracketed; /* ends before }}, else with the text */
    struct arena *arena;
    struct expr_fault *fault;
    struct token now; /* the one to be looked at next */
    size_t last_end;  /* of the one before */
    int depth;
    int trying; /* how many default() are around us, in their first arguments */
    VEC(struct expr_instr) code;
    VEC(struct value) consts;
    VEC(struct expr_ref) refs;
    size_t stack, most; /* values on the stack here, and the most so far */
    unsigned statuses;
};

MUST_USE int expr_wrong(struct parser *p, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The next token. */
MUST_USE int lex_next(struct parser *p);
/* The name right behind a point, which may have dashes in it. */
MUST_USE int lex_field(struct parser *p);
bool lex_is_mark(const struct parser *p, char mark);
/* Takes the mark, or says that it is missing `where`. */
MUST_USE int lex_take_mark(struct parser *p, char mark, const char *where);
/* "'foo'", or "the end": for sentences. */
const char *lex_shown(const struct parser *p, struct buf *out);
/* The literals as values; a `negative` number begins one byte before its token. */
MUST_USE int lex_number(struct parser *p, const struct token *t, bool negative, struct value *out);
MUST_USE int lex_text(struct parser *p, const struct token *t, struct value *out);

/* Checks a text and copies it: what is compiled points into the copy. */
MUST_USE int expr_take_text(const struct expr_text *text, size_t max, struct arena *arena,
                            struct expr_range *out, struct expr_fault *fault);
/* Compiles the expression that begins at in->begin; in->end, where it ends, is set. Bracketed: it
 * ends before }}, else with the text. */
MUST_USE int expr_parse(struct expr_range *in, bool bracketed, struct arena *arena,
                        const struct expr **out, struct expr_fault *fault);
MUST_USE int parse_expression(struct parser *p);
MUST_USE int parse_call(struct parser *p, size_t at, const char *word); /* at the parenthesis */
bool parse_is_function(const char *word);
MUST_USE int parse_primary(struct parser *p); /* a literal, a name, a call, something in brackets */
/* One level deeper; parse_leave when it is done. */
MUST_USE int parse_enter(struct parser *p);
void parse_leave(struct parser *p);

/* Adds an instruction that changes the stack by `grows`; its place in the code. */
size_t emit(struct parser *p, int grows, struct expr_instr i);
void emit_const(struct parser *p, struct value v, size_t at);
uint32_t add_const(struct parser *p, struct value v);
void jump_here(struct parser *p, size_t instr); /* its arg becomes the next place */

/* ---- running ---- */

struct machine {
    const struct expr *e;
    const struct expr_scope *scope;
    struct expr_fault *fault;
    struct work *work;
    VEC(struct json_t *) made; /* what lives until the evaluation ends */
    struct {
        struct value *top;
        uint32_t target;
    } tries[EXPR_DEPTH_MAX + 1];
    int ntries;
};

/* Evaluates with a fresh machine, which keeps what *out lies in until machine_release, to be called
 * also if it fails. */
MUST_USE int expr_compute(const struct expr *e, const struct expr_scope *scope, struct work *work,
                          struct machine *m, struct value *out, struct expr_fault *fault);
MUST_USE int machine_run(struct machine *m, struct value *out);
void machine_release(struct machine *m);

/* A fault at the instruction. */
MUST_USE int machine_wrong(struct machine *m, const struct expr_instr *i, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
MUST_USE int machine_charge(struct machine *m, const struct expr_instr *i, size_t work);
/* Takes the reference. */
struct value machine_keep(struct machine *m, struct json_t *made);
MUST_USE int machine_text(struct machine *m, const struct expr_instr *i, const char *text,
                          size_t len, struct value *out);
MUST_USE int machine_too_long(struct machine *m, const struct expr_instr *i);

/* The field or item of that name or number. *out may be *from. EXPR_MISSING, without a fault: there
 * is none, and a default() is around us that goes on with its other argument. */
#define EXPR_MISSING 1
MUST_USE int machine_get(struct machine *m, const struct expr_instr *i, const struct value *from,
                         const struct value *key, struct value *out);

MUST_USE int op_binary(struct machine *m, const struct expr_instr *i, const struct value *a,
                       const struct value *b, struct value *out);
MUST_USE int op_negate(struct machine *m, const struct expr_instr *i, const struct value *a,
                       struct value *out);

/* a[0] … are as many as its entry in EXPR_FUNCTIONS allows. */
typedef int function_body(struct machine *m, const struct expr_instr *i, const struct value *a,
                          struct value *out);
#define X(name, ...) function_body fn_##name;
EXPR_FUNCTIONS(X)
#undef X
/* A fault unless argument k (from 0) is of the type. */
MUST_USE int fn_want(struct machine *m, const struct expr_instr *i, const struct value *a, int k,
                     enum value_type type);
const char *fn_name(const struct expr_instr *i);
/* Each item of a list made is so much work; of a text, each byte one. */
#define ITEM_WORK 8

#endif
