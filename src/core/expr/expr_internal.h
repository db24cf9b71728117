/* expr_internal.h - declarations shared by the files of the expression language. Source is compiled
 * in one pass (lexer.c, parser.c, parse_primary.c, call.c) to instructions for a small stack
 * machine (eval.c). The code has no backward jumps, so every evaluation ends. access.c finds fields
 * and items, operators.c has the operators, functions.c and list_functions.c the functions. */
#ifndef CORE_EXPR_EXPR_INTERNAL_H
#define CORE_EXPR_EXPR_INTERNAL_H

#include "core/expr/expr.h"
#include "core/expr/value.h"

#include <stdarg.h>

/* ---- faults ---- */

/* An expression within its source text: all of it, or the part between ${{ and }}. */
struct expr_range {
    struct expr_text text;
    size_t begin, end;
};

int expr_fault_set(struct expr_fault *fault, const struct expr_range *in, size_t offset,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
int expr_fault_setv(struct expr_fault *fault, const struct expr_range *in, size_t offset,
                    const char *fmt, va_list ap) PRINTF_LIKE(4, 0);
/* The length of the text cut to at most max bytes, without splitting a character. */
int expr_cut(const char *text, size_t len, size_t max);
/* Appends "; did you mean 'x'?" with the nearest word of the list (which ends with NULL), or
 * nothing. Returns out's text. */
const char *expr_did_you_mean(const char *word, const char *const *list, struct buf *out);

/* ---- operators and functions ---- */

enum expr_operator {
    OPERATOR_NONE,
#define X(id, text, strength, meaning) OPERATOR_##id,
    EXPR_OPERATORS(X)
#undef X
        OPERATOR_NOT,
    OPERATOR_COUNT
};
const char *expr_operator_text(enum expr_operator op);
int expr_operator_strength(enum expr_operator op); /* its precedence; 0 if not binary */

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
    OP_FIELD,   /* replace the top by its field consts[arg] */
    OP_INDEX,   /* pop a key; replace the top by that field or item */
    OP_NOT,     /* negate the boolean on top */
    OP_NEGATE,  /* negate the number on top */
    OP_BINARY,  /* pop the second operand; `sub` is the operator */
    OP_AND,     /* jump to arg if the top is false, else pop */
    OP_OR,      /* jump to arg if the top is true, else pop */
    OP_BOOLEAN, /* check that the top is a boolean; `sub` is the operator */
    OP_STATUS,  /* push the result of status function arg */
    OP_CALL,    /* pop `argc` arguments, push the result of function `sub` */
    OP_LIST,    /* push a new list */
    OP_APPEND,  /* pop a value and append it to the list on top */
    OP_OBJECT,  /* push a new object */
    OP_PUT,     /* pop a value and put it into the object on top as consts[arg] */
    OP_TRY,     /* until OP_CAUGHT, jump to arg if a field or item is missing */
    OP_CAUGHT   /* pop if the top is null, else jump to arg */
};

struct expr_instr {
    uint8_t op, sub;
    uint16_t argc;
    uint32_t arg;
    uint32_t from, at; /* offset of its first operand, and of a fault */
};

struct expr {
    struct expr_range in;
    const struct expr_instr *code;
    const struct value *consts;
    const struct expr_ref *refs;
    size_t ncode, nrefs;
    size_t stack; /* the most values on the stack */
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
    bool bracketed; /* the expression ends before }}, else with the text */
    struct arena *arena;
    struct expr_fault *fault;
    struct token now; /* the current token */
    size_t last_end;  /* the end of the previous token */
    int depth;
    int trying; /* how many first arguments of default() enclose the current token */
    VEC(struct expr_instr) code;
    VEC(struct value) consts;
    VEC(struct expr_ref) refs;
    size_t stack, most; /* values on the stack at this point, and the most so far */
    unsigned statuses;
};

MUST_USE int expr_wrong(struct parser *p, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Reads the next token into p->now. */
MUST_USE int lex_next(struct parser *p);
/* Reads the name directly after a dot, which may contain dashes. */
MUST_USE int lex_field(struct parser *p);
bool lex_is_mark(const struct parser *p, char mark);
/* Skips the mark; a fault that it is missing `where` if another token is there. */
MUST_USE int lex_take_mark(struct parser *p, char mark, const char *where);
/* The current token for messages: "'foo'" or "the end". */
const char *lex_shown(const struct parser *p, struct buf *out);
/* Converts a literal to a value; a `negative` number starts one byte before its token. */
MUST_USE int lex_number(struct parser *p, const struct token *t, bool negative, struct value *out);
MUST_USE int lex_text(struct parser *p, const struct token *t, struct value *out);

/* Checks a source text and copies it; compiled code points into the copy. */
MUST_USE int expr_take_text(const struct expr_text *text, size_t max, struct arena *arena,
                            struct expr_range *out, struct expr_fault *fault);
/* Compiles the expression that starts at in->begin and sets in->end. A bracketed expression ends
 * before }}, any other with the text. */
MUST_USE int expr_parse(struct expr_range *in, bool bracketed, struct arena *arena,
                        const struct expr **out, struct expr_fault *fault);
MUST_USE int parse_expression(struct parser *p);
MUST_USE int parse_call(struct parser *p, size_t at, const char *word); /* the current token is ( */
bool parse_is_function(const char *word);
MUST_USE int parse_primary(struct parser *p); /* a literal, name, call, or bracketed expression */
/* Enters a nesting level, with a fault if it is too deep; parse_leave leaves it. */
MUST_USE int parse_enter(struct parser *p);
void parse_leave(struct parser *p);

/* Adds an instruction that changes the stack size by `grows`; returns its index in the code. */
size_t emit(struct parser *p, int grows, struct expr_instr i);
void emit_const(struct parser *p, struct value v, size_t at);
uint32_t add_const(struct parser *p, struct value v);
void jump_here(struct parser *p, size_t instr); /* sets its arg to the next instruction */

/* ---- running ---- */

struct machine {
    const struct expr *e;
    const struct expr_scope *scope;
    struct expr_fault *fault;
    struct work *work;
    VEC(struct json_t *) made; /* values created during the evaluation, freed at its end */
    struct {
        struct value *top;
        uint32_t target;
    } tries[EXPR_DEPTH_MAX + 1];
    int ntries;
};

/* Initializes the machine and evaluates. *out borrows from the machine until machine_release, which
 * the caller must also call after a fault. */
MUST_USE int expr_compute(const struct expr *e, const struct expr_scope *scope, struct work *work,
                          struct machine *m, struct value *out, struct expr_fault *fault);
MUST_USE int machine_run(struct machine *m, struct value *out);
void machine_release(struct machine *m);

/* Sets a fault at the instruction. */
MUST_USE int machine_wrong(struct machine *m, const struct expr_instr *i, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Counts work; a fault if the limit is exceeded. */
MUST_USE int machine_charge(struct machine *m, const struct expr_instr *i, size_t work);
/* Keeps `made` until the evaluation ends; takes over the reference. */
struct value machine_keep(struct machine *m, struct json_t *made);
MUST_USE int machine_text(struct machine *m, const struct expr_instr *i, const char *text,
                          size_t len, struct value *out);
MUST_USE int machine_too_long(struct machine *m, const struct expr_instr *i);

/* Finds the field or item `key` of *from. *out may be *from. Returns EXPR_MISSING, without a fault,
 * if it does not exist inside default(), which then evaluates its second argument. */
#define EXPR_MISSING 1
MUST_USE int machine_get(struct machine *m, const struct expr_instr *i, const struct value *from,
                         const struct value *key, struct value *out);

MUST_USE int op_binary(struct machine *m, const struct expr_instr *i, const struct value *a,
                       const struct value *b, struct value *out);
MUST_USE int op_negate(struct machine *m, const struct expr_instr *i, const struct value *a,
                       struct value *out);

/* The parser has checked the number of arguments in `a` against EXPR_FUNCTIONS. */
typedef int function_body(struct machine *m, const struct expr_instr *i, const struct value *a,
                          struct value *out);
#define X(name, ...) function_body fn_##name;
EXPR_FUNCTIONS(X)
#undef X
/* A fault unless argument k (from 0) has the type. */
MUST_USE int fn_want(struct machine *m, const struct expr_instr *i, const struct value *a, int k,
                     enum value_type type);
const char *fn_name(const struct expr_instr *i);
/* The work of creating a list item. A byte of a string costs one. */
#define ITEM_WORK 8

#endif
