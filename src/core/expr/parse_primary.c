/* parse_primary.c - parses the operands of an expression: literals, names, calls, and bracketed
 * expressions. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name, meaning) #name,
    EXPR_NAMES(X)
#undef X
        NULL};

/* All words that are allowed where no ( follows. */
static const char *const words[] = {
#define X(id, name, meaning) #name,
    EXPR_NAMES(X)
#undef X
        "true",
    "false", "null", NULL};

/* The index of the word in the list; -1 if not found. */
static int find_word(const char *const *list, const char *word)
{
    int i;

    for (i = 0; list[i]; i++)
        if (!strcmp(list[i], word))
            return i;
    return -1;
}

/* ---- words ---- */

static int unknown_word(struct parser *p, size_t at, const char *word)
{
    struct buf hint = BUF_INIT;
    int rc, i;

    if (parse_is_function(word))
        return expr_wrong(p, at, "%s is a function: write %s(…)", word, word);
    if (!*expr_did_you_mean(word, words, &hint)) {
        buf_addstr(&hint, "; the names are: ");
        for (i = 0; names[i]; i++)
            buf_addf(&hint, "%s%s", i ? ", " : "", names[i]);
        buf_addstr(&hint, "; strings are written in quotes");
    }
    rc = expr_wrong(p, at, "unknown name '%s'%s", word, buf_cstr(&hint));
    buf_release(&hint);
    return rc;
}

static void emit_name(struct parser *p, size_t at, int which)
{
    emit(p, 1,
         (struct expr_instr){
             .op = OP_NAME, .arg = (uint32_t)which, .from = (uint32_t)at, .at = (uint32_t)at});
    *vec_add(&p->refs) =
        (struct expr_ref){.name = (enum expr_name)which, .optional = p->trying > 0, .offset = at};
}

#define WORD_MAX 40 /* longer than any known word */

static int parse_word(struct parser *p)
{
    static const struct value yes = {.type = VALUE_BOOL, .truth = true}, no = {.type = VALUE_BOOL},
                              null = {.type = VALUE_NULL};
    size_t at = p->now.at, len = p->now.end - at;
    char word[WORD_MAX + 1];
    int rc, which;

    if (len > WORD_MAX)
        len = WORD_MAX;
    memcpy(word, p->in.text.at + at, len);
    word[len] = '\0';
    if ((rc = lex_next(p)))
        return rc;
    if (lex_is_mark(p, '('))
        return parse_call(p, at, word);
    if (!strcmp(word, "true") || !strcmp(word, "false"))
        emit_const(p, *word == 't' ? yes : no, at);
    else if (!strcmp(word, "null"))
        emit_const(p, null, at);
    else if ((which = find_word(names, word)) >= 0)
        emit_name(p, at, which);
    else
        return unknown_word(p, at, word);
    return 0;
}

/* ---- brackets ---- */

static int parse_list(struct parser *p)
{
    struct expr_instr i = {.op = OP_LIST, .from = (uint32_t)p->now.at, .at = (uint32_t)p->now.at};
    int rc;

    emit(p, 1, i);
    i.op = OP_APPEND;
    if ((rc = lex_next(p)))
        return rc;
    if (lex_is_mark(p, ']'))
        return lex_next(p);
    for (;;) {
        if ((rc = parse_expression(p)))
            return rc;
        emit(p, -1, i);
        if (!lex_is_mark(p, ','))
            return lex_take_mark(p, ']', "after the list");
        if ((rc = lex_next(p)))
            return rc;
    }
}

/* Parses a key, which is a name or a string, and its colon. */
static int parse_key(struct parser *p, struct value *key)
{
    size_t at = p->now.at;
    struct buf shown = BUF_INIT;
    int rc;

    if (p->now.kind == TOKEN_NAME) {
        *key = (struct value){.type = VALUE_TEXT};
        key->text.len = p->now.end - at;
        key->text.at = arena_memdup0(p->arena, p->in.text.at + at, key->text.len);
        rc = lex_next(p);
    } else if (p->now.kind == TOKEN_TEXT) {
        if (!(rc = lex_text(p, &p->now, key)))
            rc = lex_next(p);
    } else {
        rc = expr_wrong(p, at, "expected a key (a name or a string), found %s",
                        lex_shown(p, &shown));
        buf_release(&shown);
    }
    return rc ? rc : lex_take_mark(p, ':', "after the key");
}

static int parse_member(struct parser *p, size_t from, json_t *seen)
{
    size_t at = p->now.at;
    struct value key;
    int rc;

    if ((rc = parse_key(p, &key)))
        return rc;
    if (json_object_get(seen, key.text.at))
        return expr_wrong(p, at, "the key '%.*s' is given twice",
                          expr_cut(key.text.at, key.text.len, 40), key.text.at);
    value_put(seen, key.text.at, json_true());
    if ((rc = parse_expression(p)))
        return rc;
    emit(p, -1,
         (struct expr_instr){
             .op = OP_PUT, .arg = add_const(p, key), .from = (uint32_t)from, .at = (uint32_t)at});
    return 0;
}

static int parse_object(struct parser *p)
{
    size_t from = p->now.at;
    json_t *seen = value_need(json_object());
    int rc = lex_next(p);

    emit(p, 1, (struct expr_instr){.op = OP_OBJECT, .from = (uint32_t)from, .at = (uint32_t)from});
    if (!rc && !lex_is_mark(p, '}'))
        rc = parse_member(p, from, seen);
    while (!rc && lex_is_mark(p, ','))
        if (!(rc = lex_next(p)))
            rc = parse_member(p, from, seen);
    if (!rc)
        rc = lex_take_mark(p, '}', "after the object");
    json_decref(seen);
    return rc;
}

static int parse_parentheses(struct parser *p)
{
    int rc;

    if ((rc = lex_next(p)) || (rc = parse_expression(p)))
        return rc;
    return lex_take_mark(p, ')', "after the expression in parentheses");
}

static int parse_literal(struct parser *p)
{
    size_t at = p->now.at;
    struct value v;
    int rc =
        p->now.kind == TOKEN_NUMBER ? lex_number(p, &p->now, false, &v) : lex_text(p, &p->now, &v);

    if (rc)
        return rc;
    emit_const(p, v, at);
    return lex_next(p);
}

int parse_primary(struct parser *p)
{
    struct buf shown = BUF_INIT;
    int rc;

    if (p->now.kind == TOKEN_NAME)
        return parse_word(p);
    if (p->now.kind == TOKEN_NUMBER || p->now.kind == TOKEN_TEXT)
        return parse_literal(p);
    if (lex_is_mark(p, '('))
        return parse_parentheses(p);
    if (lex_is_mark(p, '['))
        return parse_list(p);
    if (lex_is_mark(p, '{'))
        return parse_object(p);
    rc = expr_wrong(p, p->now.at, "expected a value, found %s", lex_shown(p, &shown));
    buf_release(&shown);
    return rc;
}
