/* lexer.c - splits an expression into tokens. Numbers and "strings" are JSON and are parsed by
 * jansson. In 'strings' every character is literal, and '' is a quote, as in YAML. */
#include "core/expr/expr_internal.h"

#include <jansson.h>
#include <string.h>

static const struct {
    const char *text;
    int strength;
} operators[OPERATOR_COUNT] = {
#define X(id, text, strength, meaning) [OPERATOR_##id] = {text, strength},
    EXPR_OPERATORS(X)
#undef X
        [OPERATOR_NOT] = {"!", 0},
};

const char *expr_operator_text(enum expr_operator op)
{
    return operators[op].text;
}

int expr_operator_strength(enum expr_operator op)
{
    return operators[op].strength;
}

/* ASCII only, in every locale. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The text ends with NUL, so reading one byte ahead is safe. */
static size_t name_end(const char *text, size_t at, bool dashes)
{
    while (is_letter(text[at]) || is_digit(text[at]) ||
           (dashes && text[at] == '-' && (is_letter(text[at + 1]) || is_digit(text[at + 1]))))
        at++;
    return at;
}

/* Accepts more than valid numbers, so that an error shows the whole malformed number. */
static size_t number_end(const char *text, size_t at)
{
    while (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.' ||
           ((text[at] == '+' || text[at] == '-') && strchr("eE", text[at - 1])))
        at++;
    return at;
}

/* The offset after the closing quote; 0 if none. */
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
    enum expr_operator op;

    for (op = OPERATOR_NONE + 1; op < OPERATOR_COUNT; op++) {
        size_t len = strlen(operators[op].text);

        if (!strncmp(text + t->at, operators[op].text, len)) {
            t->kind = TOKEN_OPERATOR;
            t->op = op;
            t->end = t->at + len;
            return true;
        }
    }
    return false;
}

static int unexpected_character(struct parser *p, size_t at)
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
    return expr_wrong(p, at, "unexpected '%.*s'%s", (int)len, text + at, hint);
}

int lex_next(struct parser *p)
{
    const char *text = p->in.text.at;
    struct token t = {.at = p->now.end};

    p->last_end = p->now.end;
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
            return expr_wrong(p, t.at, "this string has no closing %c", text[t.at]);
    } else if (strchr("()[]{},:.", text[t.at])) {
        t.kind = TOKEN_MARK;
        t.mark = text[t.at];
    } else if (!lex_operator(text, &t)) {
        return unexpected_character(p, t.at);
    }
    p->now = t;
    return 0;
}

int lex_field(struct parser *p)
{
    const char *text = p->in.text.at;
    size_t at = p->now.end;

    if (is_digit(text[at]))
        return expr_wrong(p, at, "write the index of a list item in brackets: [%.*s]",
                          (int)strspn(text + at, "0123456789"), text + at);
    if (!is_letter(text[at]))
        return expr_wrong(p, at, "a name is missing after the dot; write other keys as ['key']");
    p->last_end = at;
    p->now = (struct token){.kind = TOKEN_NAME, .at = at, .end = name_end(text, at, true)};
    return 0;
}

bool lex_is_mark(const struct parser *p, char mark)
{
    return p->now.kind == TOKEN_MARK && p->now.mark == mark;
}

const char *lex_shown(const struct parser *p, struct buf *out)
{
    const char *text = p->in.text.at + p->now.at;
    size_t len = p->now.end - p->now.at;

    if (p->now.kind == TOKEN_END)
        return "the end";
    buf_addf(out, p->now.kind == TOKEN_TEXT ? "%.*s" : "'%.*s'", expr_cut(text, len, 40), text);
    return out->ptr;
}

int lex_take_mark(struct parser *p, char mark, const char *where)
{
    struct buf shown = BUF_INIT;
    int rc;

    if (lex_is_mark(p, mark))
        return lex_next(p);
    rc =
        expr_wrong(p, p->now.at, "'%c' is missing %s: found %s", mark, where, lex_shown(p, &shown));
    buf_release(&shown);
    return rc;
}

int lex_number(struct parser *p, const struct token *t, bool negative, struct value *out)
{
    const char *text = p->in.text.at + t->at - negative;
    size_t len = t->end - t->at + negative;
    json_error_t at;
    json_t *number = json_loadb(text, len, JSON_DECODE_ANY, &at);

    if (!json_is_number(number)) {
        json_decref(number);
        if (strspn(text + negative, "0123456789") == len - negative && text[negative] != '0')
            return expr_wrong(p, t->at, "this whole number does not fit in 64 bits");
        return expr_wrong(p, t->at,
                          "'%.*s' is not a number: write it as in JSON (7, 0.5, 1e6), within the "
                          "range of a double",
                          expr_cut(text, len, 40), text);
    }
    *out = value_of(number);
    json_decref(number);
    return 0;
}

/* Replaces each '' by one quote. */
static struct value single_quoted(struct parser *p, const char *text, size_t len)
{
    struct value v = {.type = VALUE_TEXT};
    char *to = arena_memdup0(p->arena, text, len);
    size_t i;

    v.text.at = to;
    for (i = 0; i < len; i++) {
        if (text[i] == '\'')
            i++;
        *to++ = text[i];
    }
    *to = '\0';
    v.text.len = (size_t)(to - v.text.at);
    return v;
}

int lex_text(struct parser *p, const struct token *t, struct value *out)
{
    const char *text = p->in.text.at + t->at;
    size_t len = t->end - t->at;
    json_error_t at;
    json_t *json;

    if (*text == '\'') {
        *out = single_quoted(p, text + 1, len - 2);
        return 0;
    }
    json = json_loadb(text, len, JSON_DECODE_ANY, &at);
    if (!json)
        return expr_wrong(
            p, t->at,
            "this is not a valid JSON string: \\n, \\t, \\\", \\\\ and \\u0020 are allowed in "
            "it, \\u0000 and line breaks are not; use single quotes for literal text");
    out->type = VALUE_TEXT;
    out->json = NULL;
    out->text.len = json_string_length(json);
    out->text.at = arena_memdup0(p->arena, json_string_value(json), out->text.len);
    json_decref(json);
    return 0;
}
