/* call.c - compiles function calls. The tables in expr.h have the functions' names and arguments.
 * default() compiles to a jump instead of a call. */
#include "core/expr/expr_internal.h"

#include <string.h>

static const char *const statuses[] = {
#define X(id, name, meaning, example, result) #name,
    EXPR_STATUSES(X)
#undef X
        NULL};

static const struct {
    const char *name;
    unsigned fewest, most;
    const char *usage;
} functions[] = {
#define X(name, fewest, most, usage, meaning, example, result) {#name, fewest, most, usage},
    EXPR_FUNCTIONS(X) EXPR_DEFAULT(X)
#undef X
};

/* All words that are allowed before ( . */
static const char *const callable[] = {
#define X(id, name, meaning, example, result) #name,
    EXPR_STATUSES(X)
#undef X
#define X(name, ...) #name,
        EXPR_FUNCTIONS(X) EXPR_DEFAULT(X)
#undef X
            NULL};

bool parse_is_function(const char *word)
{
    size_t i;

    for (i = 0; callable[i]; i++)
        if (!strcmp(callable[i], word))
            return true;
    return false;
}

/* Parses the arguments and the closing parenthesis. */
static int parse_arguments(struct parser *p, unsigned *n)
{
    int rc;

    *n = 0;
    if (lex_is_mark(p, ')'))
        return lex_next(p);
    for (;;) {
        if (*n == EXPR_ARGS_MAX)
            return expr_wrong(p, p->now.at, "a function takes at most %d arguments", EXPR_ARGS_MAX);
        if ((rc = parse_expression(p)))
            return rc;
        ++*n;
        if (!lex_is_mark(p, ','))
            return lex_take_mark(p, ')', "after the arguments");
        if ((rc = lex_next(p)))
            return rc;
    }
}

static int wrong_count(struct parser *p, size_t at, const char *usage)
{
    return expr_wrong(p, at, "wrong number of arguments; the usage is %s", usage);
}

static int parse_status(struct parser *p, size_t at, int which)
{
    unsigned n;
    int rc = parse_arguments(p, &n);

    if (rc)
        return rc;
    if (n)
        return expr_wrong(p, at, "%s() takes no arguments", statuses[which]);
    p->statuses |= 1u << which;
    emit(p, 1,
         (struct expr_instr){
             .op = OP_STATUS, .arg = (uint32_t)which, .from = (uint32_t)at, .at = (uint32_t)at});
    return 0;
}

/* The second argument is evaluated only if the first is null or missing. */
static int parse_default(struct parser *p, size_t at, const char *usage)
{
    struct expr_instr i = {.from = (uint32_t)at, .at = (uint32_t)at};
    size_t try, caught;
    int rc;

    i.op = OP_TRY;
    try = emit(p, 0, i);
    p->trying++;
    if (lex_is_mark(p, ')'))
        return wrong_count(p, at, usage);
    if ((rc = parse_expression(p)))
        return rc;
    p->trying--;
    if (!lex_is_mark(p, ','))
        return lex_is_mark(p, ')') ? wrong_count(p, at, usage)
                                   : lex_take_mark(p, ',', "after the first argument");
    i.op = OP_CAUGHT;
    caught = emit(p, -1, i);
    jump_here(p, try);
    if ((rc = lex_next(p)) || (rc = parse_expression(p)))
        return rc;
    jump_here(p, caught);
    if (lex_is_mark(p, ','))
        return wrong_count(p, at, usage);
    return lex_take_mark(p, ')', "after the arguments");
}

static int parse_function(struct parser *p, size_t at, unsigned which)
{
    unsigned n;
    int rc;

    if (which == FUNCTION_COUNT)
        return parse_default(p, at, functions[which].usage);
    if ((rc = parse_arguments(p, &n)))
        return rc;
    if (n < functions[which].fewest || n > functions[which].most)
        return wrong_count(p, at, functions[which].usage);
    emit(p, 1 - (int)n,
         (struct expr_instr){.op = OP_CALL,
                             .sub = (uint8_t)which,
                             .argc = (uint16_t)n,
                             .from = (uint32_t)at,
                             .at = (uint32_t)at});
    return 0;
}

int parse_call(struct parser *p, size_t at, const char *word)
{
    struct buf meant = BUF_INIT;
    int which, rc = lex_next(p);
    unsigned f;

    if (rc)
        return rc;
    for (which = 0; statuses[which]; which++)
        if (!strcmp(statuses[which], word))
            return parse_status(p, at, which);
    for (f = 0; f < sizeof(functions) / sizeof(*functions); f++)
        if (!strcmp(functions[f].name, word))
            return parse_function(p, at, f);
    rc = expr_wrong(p, at, "there is no function '%s'%s", word,
                    expr_did_you_mean(word, callable, &meant));
    buf_release(&meant);
    return rc;
}
