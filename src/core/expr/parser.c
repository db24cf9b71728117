/* parser.c - parses an expression to a tree by precedence climbing; see struct node. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <string.h>

/* All words that an expression may contain where no ( follows; the names come first. */
static const char *const words[] = {
#define X(id, name, meaning) #name,
    EXPR_NAMES(X)
#undef X
        "true",
    "false", "null", NULL};

/* All words that an expression may contain before a ( ; the status functions come first. */
static const char *const callable[] = {
#define X(id, name, meaning, example, result) #name,
    EXPR_STATUSES(X)
#undef X
#define X(name, ...) #name,
        EXPR_FUNCTIONS(X) EXPR_DEFAULT(X)
#undef X
            NULL};

static const struct {
    unsigned fewest, most;
    const char *usage;
} arguments[] = {
#define X(name, types, fewest, most, usage, meaning, example, result) {fewest, most, usage},
    EXPR_FUNCTIONS(X) EXPR_DEFAULT(X)
#undef X
};

const char *expr_function_name(enum expr_function which)
{
    return callable[EXPR_STATUS_COUNT + which];
}

/* The index of the word in the list; -1 if it is not in the list. */
static int find_word(const char *const *list, const char *word)
{
    for (int i = 0; list[i]; i++)
        if (!strcmp(list[i], word))
            return i;
    return -1;
}

/* ---- faults and nodes ---- */

/* The part of the text to show in a fault. The end of the expression is not known yet, so the part
 * ends at the next }} or at the end of the text. */
const struct expr_range *parser_range(struct parser *p, size_t at)
{
    const struct expr_text *text = &p->in.text;
    const char *close = p->bracketed ? memmem(text->at + at, text->len - at, "}}", 2) : NULL;

    p->in.end = close ? (size_t)(close - text->at) : text->len;
    return &p->in;
}

void *parser_unexpected(struct parser *p, const char *expected, const char *hint)
{
    const char *text = p->in.text.at + p->now.at, *quote = p->now.kind == TOKEN_TEXT ? "" : "'";

    if (p->now.kind == TOKEN_END)
        return parser_fault(p, p->now.at, "%s found the end%s", expected, hint);
    return parser_fault(p, p->now.at, "%s found %s%.*s%s%s", expected, quote,
                        expr_cut(text, p->now.end - p->now.at, 40), text, quote, hint);
}

static struct node *new_node(struct parser *p, enum node_kind kind, unsigned which, size_t at)
{
    struct node *n = arena_zalloc(p->arena, sizeof(*n));

    n->kind = kind;
    n->which = which;
    n->at = (uint32_t)at;
    return n;
}

static struct node **end_of(struct node **list)
{
    while (*list)
        list = &(*list)->next;
    return list;
}

static bool enter_level(struct parser *p)
{
    if (p->depth++ < EXPR_DEPTH_MAX)
        return true;
    return parser_fault(p, p->now.at, "this expression is nested more than %d levels deep",
                        EXPR_DEPTH_MAX);
}

static struct node *parse_expression(struct parser *p);

/* ---- calls ---- */

/* Parses the arguments of a call and the closing parenthesis. */
static bool parse_arguments(struct parser *p, struct node *call)
{
    bool is_default = call->kind == NODE_CALL && call->which == FUNCTION_default;
    struct node **end = &call->child;

    if (p->now.mark == ')')
        return lex_next(p);
    for (;;) {
        if (call->n == EXPR_ARGS_MAX)
            return parser_fault(p, p->now.at, "a function takes at most %d arguments",
                                EXPR_ARGS_MAX);
        if (!(*end = parse_expression(p)))
            return false;
        end = &(*end)->next;
        call->n++;
        if (p->now.mark == ',') {
            if (!lex_next(p))
                return false;
        } else if (is_default && call->n == 1 && p->now.mark != ')') {
            return lex_expect_mark(p, ',', "after the first argument");
        } else {
            return lex_expect_mark(p, ')', "after the arguments");
        }
    }
}

/* Parses a call; the current token is its opening parenthesis. */
static struct node *parse_call(struct parser *p, size_t at, const char *word)
{
    AUTO_BUF meant = BUF_INIT;
    int which = find_word(callable, word);
    struct node *n;

    if (!lex_next(p))
        return NULL;
    if (which < 0)
        return parser_fault(p, at, "there is no function '%s'%s", word,
                            expr_did_you_mean(word, callable, &meant));
    n = which < EXPR_STATUS_COUNT ? new_node(p, NODE_STATUS, (unsigned)which, at)
                                  : new_node(p, NODE_CALL, (unsigned)which - EXPR_STATUS_COUNT, at);
    if (!parse_arguments(p, n))
        return NULL;
    if (n->kind == NODE_STATUS && n->n)
        return parser_fault(p, at, "%s() takes no arguments", word);
    if (n->kind == NODE_CALL &&
        (n->n < arguments[n->which].fewest || n->n > arguments[n->which].most))
        return parser_fault(p, at, "wrong number of arguments; the usage is %s",
                            arguments[n->which].usage);
    return n;
}

/* ---- words and literals ---- */

static void *unknown_word(struct parser *p, size_t at, const char *word)
{
    AUTO_BUF hint = BUF_INIT;

    if (find_word(callable, word) >= 0)
        return parser_fault(p, at, "%s is a function: write %s(…)", word, word);
    if (!*expr_did_you_mean(word, words, &hint)) {
        buf_addstr(&hint, "; the names are: ");
        for (int i = 0; i < EXPR_NAME_COUNT; i++)
            buf_addf(&hint, "%s%s", i ? ", " : "", words[i]);
        buf_addstr(&hint, "; strings are written in quotes");
    }
    return parser_fault(p, at, "unknown name '%s'%s", word, buf_cstr(&hint));
}

#define WORD_MAX 40 /* longer than any known word */

static struct node *parse_word(struct parser *p)
{
    size_t at = p->now.at, len = p->now.end - at;
    struct node *n;
    char word[WORD_MAX + 1];
    int which;

    if (len > WORD_MAX)
        len = WORD_MAX;
    memcpy(word, p->in.text.at + at, len);
    word[len] = '\0';
    if (!lex_next(p))
        return NULL;
    if (p->now.mark == '(')
        return parse_call(p, at, word);
    if ((which = find_word(words, word)) < 0)
        return unknown_word(p, at, word);
    if (which < EXPR_NAME_COUNT)
        return new_node(p, NODE_NAME, (unsigned)which, at);
    n = new_node(p, NODE_CONST, 0, at);
    n->literal.type = *word == 't' ? JSON_TRUE : *word == 'f' ? JSON_FALSE : JSON_NULL;
    return n;
}

static struct node *parse_literal(struct parser *p, bool negative)
{
    struct node *n = new_node(p, NODE_CONST, 0, p->now.at - negative);
    bool number = p->now.kind == TOKEN_NUMBER;

    return (number ? lex_number(p, negative, &n->literal) : lex_text(p, &n->literal)) && lex_next(p)
               ? n
               : NULL;
}

/* ---- brackets ---- */

/* Parses a key, which is a name or a string, and its value. */
static struct node *parse_member(struct parser *p, json_t *seen)
{
    struct node *n = new_node(p, NODE_MEMBER, 0, p->now.at);
    struct literal *key = &n->literal;

    if (p->now.kind != TOKEN_NAME && p->now.kind != TOKEN_TEXT)
        return parser_unexpected(p, "expected a key (a name or a string),", "");
    if (!(p->now.kind == TOKEN_NAME ? lex_name(p, key) : lex_text(p, key)) || !lex_next(p) ||
        !lex_expect_mark(p, ':', "after the key"))
        return NULL;
    if (json_object_get(seen, key->text))
        return parser_fault(p, n->at, "the key '%.*s' is given twice",
                            expr_cut(key->text, key->len, 40), key->text);
    value_put(seen, key->text, json_true());
    return (n->child = parse_expression(p)) ? n : NULL;
}

/* Parses a list, or an object if `seen` is not NULL. `seen` collects the object's keys, to find
 * duplicates. */
static struct node *parse_collection(struct parser *p, json_t *seen)
{
    struct node *n = new_node(p, seen ? NODE_OBJECT : NODE_LIST, 0, p->now.at), **end = &n->child;
    char close = seen ? '}' : ']';
    bool more;

    if (!lex_next(p))
        return NULL;
    for (more = p->now.mark != close; more; end = &(*end)->next) {
        if (!(*end = seen ? parse_member(p, seen) : parse_expression(p)))
            return NULL;
        more = p->now.mark == ',';
        if (more && !lex_next(p))
            return NULL;
    }
    return lex_expect_mark(p, close, seen ? "after the object" : "after the list") ? n : NULL;
}

static struct node *parse_object(struct parser *p)
{
    json_auto_t *seen = value_need(json_object());

    return parse_collection(p, seen);
}

static struct node *parse_parentheses(struct parser *p)
{
    struct node *n;

    return lex_next(p) && (n = parse_expression(p)) &&
                   lex_expect_mark(p, ')', "after the expression in parentheses")
               ? n
               : NULL;
}

static struct node *parse_operand(struct parser *p)
{
    if (p->now.kind == TOKEN_NAME)
        return parse_word(p);
    if (p->now.kind == TOKEN_NUMBER || p->now.kind == TOKEN_TEXT)
        return parse_literal(p, false);
    if (p->now.mark == '(')
        return parse_parentheses(p);
    if (p->now.mark == '[')
        return parse_collection(p, NULL);
    if (p->now.mark == '{')
        return parse_object(p);
    return parser_unexpected(p, "expected a value,", "");
}

/* ---- fields and items ---- */

/* Parses a field or an index; the current token is . or [ . */
static struct node *parse_access(struct parser *p, size_t from)
{
    bool field = p->now.mark == '.';
    struct node *n;

    if (field && !lex_field(p))
        return NULL;
    n = new_node(p, field ? NODE_FIELD : NODE_INDEX, 0, p->now.at);
    n->from = (uint32_t)from;
    if (field)
        return lex_name(p, &n->literal) && lex_next(p) ? n : NULL;
    return lex_next(p) && (n->child = parse_expression(p)) &&
                   lex_expect_mark(p, ']', "after the index")
               ? n
               : NULL;
}

/* An operand in parentheses may have steps already; fields after the parenthesis are added to these
 * steps. */
static struct node *parse_accesses(struct parser *p)
{
    size_t from = p->now.at;
    struct node *n = parse_operand(p), **end = n ? end_of(&n->steps) : NULL;

    while (n && (p->now.mark == '.' || p->now.mark == '[')) {
        if (!(*end = parse_access(p, from)))
            return NULL;
        end = &(*end)->next;
    }
    return n;
}

/* ---- operators ---- */

static struct node *parse_unary(struct parser *p)
{
    struct token t = p->now;
    struct node *n;

    if (t.op != OPERATOR_SUB && t.op != OPERATOR_NOT)
        return parse_accesses(p);
    if (!enter_level(p) || !lex_next(p))
        return NULL;
    /* -9223372036854775808 fits in 64 bits although 9223372036854775808 does not. */
    if (t.op == OPERATOR_SUB && p->now.kind == TOKEN_NUMBER && p->now.at == t.end) {
        n = parse_literal(p, true);
    } else {
        n = new_node(p, NODE_UNARY, t.op, t.at);
        if (!(n->child = parse_unary(p)))
            return NULL;
    }
    p->depth--;
    return n;
}

static int precedence(const struct parser *p)
{
    return expr_operators[p->now.op].precedence;
}

static struct node *parse_binary(struct parser *p, int lowest);

/* Parses a binary operator and its second operand, as a step. */
static struct node *parse_operator(struct parser *p)
{
    struct node *n = new_node(p, NODE_BINARY, p->now.op, p->now.at);
    int mine = precedence(p);
    bool compares = mine == expr_operators[OPERATOR_EQ].precedence ||
                    mine == expr_operators[OPERATOR_LT].precedence;

    if (!lex_next(p) || !(n->child = parse_binary(p, mine + 1)))
        return NULL;
    if (compares && precedence(p) == mine)
        return parser_fault(p, p->now.at,
                            "comparisons can't be chained: join them with &&, or put one of them "
                            "in parentheses");
    return n;
}

/* Parses operators whose precedence is at least `lowest`, from left to right. */
static struct node *parse_binary(struct parser *p, int lowest)
{
    struct node *n = parse_unary(p), **end = n ? end_of(&n->steps) : NULL;

    while (n && precedence(p) >= lowest) {
        if (!(*end = parse_operator(p)))
            return NULL;
        end = &(*end)->next;
    }
    return n;
}

static struct node *parse_expression(struct parser *p)
{
    struct node *n = enter_level(p) ? parse_binary(p, 1) : NULL;

    p->depth--;
    return n;
}

/* ---- complete expressions ---- */

/* Checks that nothing follows the end of the expression. */
static bool parse_end(struct parser *p)
{
    static const char *const hints[][2] = {
        {"and", "; write &&"}, {"or", "; write ||"}, {"is", "; write =="}, {"eq", "; write =="}};
    const char *text = p->in.text.at + p->now.at, *hint = "";
    size_t len = p->now.end - p->now.at, i;

    if (p->bracketed ? !strncmp(text, "}}", 2) : p->now.kind == TOKEN_END)
        return true;
    if (p->bracketed && p->now.kind == TOKEN_END)
        return parser_fault(p, p->in.begin, "this expression is not closed: }} is missing");
    for (i = 0; i < sizeof(hints) / sizeof(*hints); i++)
        if (len == strlen(hints[i][0]) && !strncmp(text, hints[i][0], len))
            hint = hints[i][1];
    return parser_unexpected(p, "expected an operator or the end,", hint);
}

const struct node *expr_parse(struct expr_range *in, bool bracketed, struct arena *arena,
                              struct expr_fault *fault)
{
    struct parser p = {.in = *in,
                       .bracketed = bracketed,
                       .arena = arena,
                       .fault = fault,
                       .now = {.end = in->begin}};
    struct node *n;

    if (!lex_next(&p) || !(n = parse_expression(&p)) || !parse_end(&p))
        return NULL;
    in->end = bracketed ? p.now.at : in->text.len;
    if (in->end - in->begin > EXPR_TEXT_MAX)
        return parser_fault(&p, in->begin,
                            "this expression is %zu bytes long; at most %d are allowed",
                            in->end - in->begin, EXPR_TEXT_MAX);
    return n;
}
