/* expr_internal.h - declarations shared by the files of the expression language. lexer.c and
 * parser.c turn a source text into a tree, expr.c stores the tree, and eval.c walks it: access.c
 * finds fields and items, operators.c has the operators, functions.c and list_functions.c the
 * functions. */
#ifndef CORE_EXPR_EXPR_INTERNAL_H
#define CORE_EXPR_EXPR_INTERNAL_H

#include "core/expr/expr.h"
#include "core/expr/value.h"

#include <jansson.h>

/* ---- faults ---- */

/* A source text that is an expression, or the part of it between ${{ and }}. */
struct expr_range {
    struct expr_text text;
    size_t begin, end;
};

/* Returns -E_INVALID. */
int expr_fault_set(struct expr_fault *fault, const struct expr_range *in, size_t offset,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Returns `len`, or a smaller length of at most `max` bytes at which `text` can be cut without
 * splitting a character. */
int expr_cut(const char *text, size_t len, size_t max);
/* Appends "; did you mean 'x'?", where x is the nearest word in the list (which ends with NULL).
 * Appends nothing if no word is near. Returns the text of `out`. */
const char *expr_did_you_mean(const char *word, const char *const *list, struct buf *out);

/* ---- the tree ---- */

enum expr_operator {
    OPERATOR_NONE,
#define X(id, text, precedence, meaning) OPERATOR_##id,
    EXPR_OPERATORS(X)
#undef X
        OPERATOR_NOT,
    OPERATOR_COUNT
};
extern const struct expr_operator_info {
    const char *text;
    int precedence; /* 0 if the operator is not binary */
} expr_operators[];

enum expr_function {
#define X(name, ...) FUNCTION_##name,
    EXPR_FUNCTIONS(X) EXPR_DEFAULT(X)
#undef X
};
const char *expr_function_name(enum expr_function which);

/* The kinds of nodes of the tree. An operand is followed by steps; each step computes a new value
 * from the value before it: a.b + c is the operand a with the steps .b and + c. So the depth of the
 * tree is the nesting depth of the text, which is limited, not the length of a chain such as 1 + 1
 * + 1 …. */
enum node_kind {
    /* operands */
    NODE_CONST,  /* the literal */
    NODE_NAME,   /* the value of the name `which` */
    NODE_STATUS, /* the result of the status function `which` */
    NODE_CALL,   /* the function `which`; the children are its arguments */
    NODE_LIST,   /* the list whose items are the children */
    NODE_OBJECT, /* the object whose members are the children */
    NODE_MEMBER, /* a member of an object: the literal is the key, the child the value */
    NODE_UNARY,  /* the operator `which`, applied to the child */
    /* steps */
    NODE_FIELD, /* step: selects the field that the literal names */
    NODE_INDEX, /* step: selects the field or item that the child names */
    NODE_BINARY /* step: applies the operator `which`, with the child as second operand */
};

/* A constant in the source text. */
struct literal {
    json_type type;
    union {
        struct {
            const char *text;
            size_t len;
        };
        json_int_t whole;
        double real;
    };
};

struct node {
    enum node_kind kind;
    unsigned which;
    unsigned n; /* number of children */
    /* For a field or an index: the start offset of the operand that it selects from. */
    uint32_t from;
    uint32_t at; /* the offset to show in a fault of this node */
    struct literal literal;
    struct node *child, *steps;
    struct node *next; /* the next child or step */
};

/* A part of a template: literal text if node is NULL, otherwise an expression. */
struct piece {
    size_t begin, end; /* offsets in the text */
    const struct node *node;
};

struct expr {
    struct expr_text text; /* a copy */
    size_t n;
    struct piece pieces[];
};

/* ---- parsing: functions return NULL or false after they set the fault ---- */

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
    enum expr_operator op; /* OPERATOR_NONE if the token is not an operator */
    char mark;             /* 0 if the token is not a mark */
    size_t at, end;
};

struct parser {
    struct expr_range in;
    bool bracketed; /* true if the expression ends at }}, false if it ends at the end of the text */
    struct arena *arena;
    struct expr_fault *fault;
    struct token now; /* the current token */
    int depth;
};

/* The part of the text to show in a fault at `at`. */
const struct expr_range *parser_range(struct parser *p, size_t at);
#define parser_fault(p, at, ...) \
    ((void *)(expr_fault_set((p)->fault, parser_range((p), (at)), (at), __VA_ARGS__), NULL))
/* Sets the fault "<expected> found <token><hint>" at the current token; returns NULL. */
void *parser_unexpected(struct parser *p, const char *expected, const char *hint);

/* Reads the next token into p->now. */
bool lex_next(struct parser *p);
/* Reads the field name directly after a dot. It may contain dashes. */
bool lex_field(struct parser *p);
/* Skips the mark. If the current token is another one, sets the fault that the mark is missing;
 * `where` ends its sentence. */
bool lex_expect_mark(struct parser *p, char mark, const char *where);
/* lex_number and the functions below convert the current token to a literal. If `negative`, the
 * number starts with a minus sign one byte before its token. */
bool lex_number(struct parser *p, bool negative, struct literal *out);
bool lex_text(struct parser *p, struct literal *out);
bool lex_name(struct parser *p, struct literal *out);

/* Parses the expression that starts at in->begin and sets in->end. A bracketed expression ends at
 * }}, any other at the end of the text. */
const struct node *expr_parse(struct expr_range *in, bool bracketed, struct arena *arena,
                              struct expr_fault *fault);

/* ---- evaluating ---- */

struct eval {
    struct expr_range in; /* the expression being evaluated */
    const struct expr_scope *scope;
    struct expr_fault *fault;
    const struct node *node; /* the current node, for faults */
    struct work work;
    VEC(json_t *) made; /* values created during the evaluation, freed at its end */
    int trying;         /* the nesting of default() calls whose first argument is being evaluated */
};

/* Returned without a fault if a field or item in the first argument of default() does not exist;
 * default() then evaluates its second argument. */
#define EXPR_MISSING 1

/* Evaluates a node. *out is borrowed from the scope or x->made. */
MUST_USE int eval_node(struct eval *x, const struct node *n, json_t **out);

/* Sets a fault at the current node. */
#define eval_fault(x, ...) expr_fault_set((x)->fault, &(x)->in, (x)->node->at, __VA_ARGS__)
/* Counts work; sets a fault if the evaluation exceeds its limit. */
MUST_USE int eval_charge(struct eval *x, size_t work);
/* Takes over the reference to a value created during the evaluation, and releases it when the
 * evaluation ends. Returns its argument. */
json_t *eval_keep(struct eval *x, json_t *made);
/* Makes a string from the buffer, or only returns `rc` if it is not 0. Releases the buffer in both
 * cases. */
MUST_USE int eval_finish_text(struct eval *x, int rc, struct buf *text, json_t **out);
int eval_too_long(struct eval *x);

/* eval_field finds a field by its name, eval_index the field or item that `key` selects. */
MUST_USE int eval_field(struct eval *x, json_t *from, const char *key, size_t len, json_t **out);
MUST_USE int eval_index(struct eval *x, json_t *from, json_t *key, json_t **out);
/* Apply the current node's operator. */
MUST_USE int eval_binary(struct eval *x, json_t *a, json_t *b, json_t **out);
MUST_USE int eval_negate(struct eval *x, json_t *a, json_t **out);

/* Calls the current node's function. The parser has checked the number of arguments in `a`. */
typedef int function_body(struct eval *x, json_t *const *a, json_t **out);
function_body eval_function;
/* Declares the C functions for EXPR_FUNCTIONS. They are called only with arguments of the types
 * listed there. */
#define X(name, ...) function_body fn_##name;
EXPR_FUNCTIONS(X)
#undef X
/* The work units for a new list item. A byte of a string costs one. */
#define ITEM_WORK 8

#endif
