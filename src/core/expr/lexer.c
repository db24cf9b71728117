/* lexer.c - splits an expression into tokens. Numbers and "strings" are JSON and are parsed by
 * jansson. In 'strings' every character is literal, and '' is a quote, as in YAML. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

const struct expr_operator_info expr_operators[OPERATOR_COUNT] = {
#define X(id, text, strength, meaning) [OPERATOR_##id] = {text, strength},
    EXPR_OPERATORS(X)
#undef X
        [OPERATOR_NOT] = {"!", 0},
};

/* Unlike isalpha(), accepts only ASCII in every locale. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The end of the name that starts at `at`. The text ends with NUL, so reading one byte ahead is
 * safe. */
static size_t name_end(const char *text, size_t at, bool dashes)
{
    while (is_letter(text[at]) || is_digit(text[at]) ||
           (dashes && text[at] == '-' && (is_letter(text[at + 1]) || is_digit(text[at + 1]))))
        at++;
    return at;
}

/* The end of the number that starts at `at`. Malformed numbers are accepted, so that the error
 * shows all of them. */
static size_t number_end(const char *text, size_t at)
{
    while (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.' ||
           ((text[at] == '+' || text[at] == '-') && strchr("eE", text[at - 1])))
        at++;
    return at;
}

/* The offset after the closing quote of the string that starts at `at`; 0 if there is no closing
 * quote. */
static size_t text_end(const struct parser *p, size_t at)
{
    const char *text = p->in.text.at;
    char quote = text[at++];

    while (at < p->in.text.len) {
        if (text[at] == quote) {
            if (quote == '"' || text[at + 1] != quote)
                return at + 1;
            at++;
        } else if (quote == '"' && text[at] == '\\') {
            at++;
        }
        at++;
    }
    return 0;
}

static bool lex_operator(const char *text, struct token *t)
{
    t->kind = TOKEN_OPERATOR;
    for (t->op = OPERATOR_NONE + 1; t->op < OPERATOR_COUNT; t->op++) {
        t->end = t->at + strlen(expr_operators[t->op].text);
        if (!strncmp(text + t->at, expr_operators[t->op].text, t->end - t->at))
            return true;
    }
    return false;
}

static void *unexpected_character(struct parser *p, size_t at)
{
    static const char *const hints[][2] = {
        {"=", "; write == to compare"},
        {"&", "; write && for and"},
        {"|", "; write || for or"},
        {"?", "; there is no ?: operator: use default() or two tasks"},
        {"\\", "; a backslash is allowed only in strings"},
    };
    const char *text = p->in.text.at, *hint = "";
    size_t i, len = 1;

    while (((unsigned char)text[at + len] & 0xC0) == 0x80)
        len++;
    for (i = 0; i < sizeof(hints) / sizeof(*hints); i++)
        if (text[at] == *hints[i][0])
            hint = hints[i][1];
    return parser_fault(p, at, "unexpected '%.*s'%s", (int)len, text + at, hint);
}

bool lex_next(struct parser *p)
{
    const char *text = p->in.text.at;
    struct token t = {.at = p->now.end};

    while (t.at < p->in.text.len && strchr(" \t\r\n", text[t.at]))
        t.at++;
    t.end = t.at + 1;
    if (t.at >= p->in.text.len) {
        t.at = t.end = p->in.text.len;
    } else if (is_letter(text[t.at])) {
        t.kind = TOKEN_NAME;
        t.end = name_end(text, t.at, false);
    } else if (is_digit(text[t.at])) {
        t.kind = TOKEN_NUMBER;
        t.end = number_end(text, t.at + 1);
    } else if (text[t.at] == '\'' || text[t.at] == '"') {
        t.kind = TOKEN_TEXT;
        t.end = text_end(p, t.at);
        if (!t.end)
            return parser_fault(p, t.at, "this string has no closing %c", text[t.at]);
    } else if (strchr("()[]{},:.", text[t.at])) {
        t.kind = TOKEN_MARK;
        t.mark = text[t.at];
    } else if (!lex_operator(text, &t)) {
        return unexpected_character(p, t.at);
    }
    p->now = t;
    return true;
}

bool lex_field(struct parser *p)
{
    const char *text = p->in.text.at;
    size_t at = p->now.end;

    if (is_digit(text[at]))
        return parser_fault(p, at, "write the index of a list item in brackets: [%.*s]",
                            (int)strspn(text + at, "0123456789"), text + at);
    if (!is_letter(text[at]))
        return parser_fault(
            p, at, "a name is missing after the dot; write a key that is not a name as ['key']");
    p->now = (struct token){.kind = TOKEN_NAME, .at = at, .end = name_end(text, at, true)};
    return true;
}

bool lex_expect_mark(struct parser *p, char mark, const char *where)
{
    char expected[80];

    if (p->now.mark == mark)
        return lex_next(p);
    snprintf(expected, sizeof(expected), "'%c' is missing %s:", mark, where);
    return parser_unexpected(p, expected, "");
}

/* ---- values of tokens ---- */

bool lex_number(struct parser *p, bool negative, struct literal *out)
{
    const char *text = p->in.text.at + p->now.at - negative;
    size_t len = p->now.end - p->now.at + negative;
    json_auto_t *number = json_loadb(text, len, JSON_DECODE_ANY, NULL);

    if (json_is_integer(number))
        *out = (struct literal){.type = JSON_INTEGER, .whole = json_integer_value(number)};
    else if (json_is_real(number))
        *out = (struct literal){.type = JSON_REAL, .real = json_real_value(number)};
    else if (strspn(text + negative, "0123456789") == len - negative && text[negative] != '0')
        return parser_fault(p, p->now.at, "this whole number does not fit in 64 bits");
    else
        return parser_fault(p, p->now.at,
                            "'%.*s' is not a number: write it as in JSON (7, 0.5, 1e6), within the "
                            "range of a double",
                            expr_cut(text, len, 40), text);
    return true;
}

static bool copy_text(struct parser *p, const char *text, size_t len, struct literal *out)
{
    *out = (struct literal){.type = JSON_STRING};
    out->text = arena_memdup0(p->arena, text, len);
    out->len = len;
    return true;
}

bool lex_name(struct parser *p, struct literal *out)
{
    return copy_text(p, p->in.text.at + p->now.at, p->now.end - p->now.at, out);
}

/* Replaces each '' with one quote. */
static bool single_quoted(struct parser *p, const char *text, size_t len, struct literal *out)
{
    char *copy = arena_alloc(p->arena, len + 1);
    size_t i, n = 0;

    for (i = 0; i < len; i++, n++)
        copy[n] = text[i += text[i] == '\''];
    copy[n] = '\0';
    *out = (struct literal){.type = JSON_STRING};
    out->text = copy;
    out->len = n;
    return true;
}

bool lex_text(struct parser *p, struct literal *out)
{
    const char *text = p->in.text.at + p->now.at;
    size_t len = p->now.end - p->now.at;
    json_t *json;

    if (*text == '\'')
        return single_quoted(p, text + 1, len - 2, out);
    if (!(json = json_loadb(text, len, JSON_DECODE_ANY, NULL)))
        return parser_fault(
            p, p->now.at,
            "this is not a valid JSON string: \\n, \\t, \\\", \\\\ and \\u0020 are allowed in "
            "it, \\u0000 and line breaks are not; use single quotes for literal text");
    copy_text(p, json_string_value(json), json_string_length(json), out);
    json_decref(json);
    return true;
}
