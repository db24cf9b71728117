/* syntax.c - explains syntax errors in YAML; see syntax.h. libyaml reports which grammar rule
 * failed; these messages say what to change. */
#include "parse/yaml/syntax.h"

#include "base/text.h"

#include <string.h>

#define KEY_MAX 1024 /* the most bytes that YAML allows for a key on one line */

/* ---- characters ---- */

static bool is_bad_control(char ch)
{
    unsigned char c = (unsigned char)ch;

    return c == 0x7F || (c < 0x20 && c != '\t' && c != '\n' && c != '\r');
}

static void bad_character(const struct source *s, size_t at, struct diagnostics *diagnostics)
{
    unsigned char c = (unsigned char)s->text[at];
    uint32_t line, column;

    source_location(s, at, &line, &column);
    if (!c)
        diagnostics_add(diagnostics, s, line, column, "a NUL character can't be part of YAML");
    else if (c < 0x80)
        diagnostics_add(
            diagnostics, s, line, column,
            "the control character 0x%02X can't be part of YAML: write it as \"\\x%02X\"", c, c);
    else
        diagnostics_add(diagnostics, s, line, column,
                        "the byte 0x%02X is not valid UTF-8: save the file as UTF-8", c);
}

bool syntax_check_text(const struct source *s, struct diagnostics *diagnostics)
{
    size_t at = 0, n;

    if (s->len > SOURCE_MAX) {
        diagnostics_add(diagnostics, s, 1, 1, "the text is longer than %d MB", SOURCE_MAX_MB);
        return false;
    }
    for (; at < s->len; at += n) {
        n = text_step(s->text + at, s->len - at);
        if (!n || is_bad_control(s->text[at])) {
            bad_character(s, at, diagnostics);
            return false;
        }
    }
    return true;
}

/* ---- grammar ---- */

/* Messages of libyaml, and the messages that replace them. */
static const struct {
    const char *theirs, *ours;
} sentences[] = {
    {"mapping values are not allowed in this context",
     "a \": \" is not expected here: put the text in quotes or below a \"|\", or check the indentation"},
    {"could not find expected ':'",
     "this key has no \":\": write \"key: value\", or put the text in "
     "quotes if it belongs to the line above"},
    {"did not find expected key", "a key is expected here: check the indentation, and that the "
                                  "lines above are complete"},
    {"did not find expected '-' indicator",
     "an item of the list above is expected here: start it with \"- \", or check the indentation"},
    {"block sequence entries are not allowed in this context",
     "a list can't start here: put \"- \" on its own line"},
    {"did not find expected ',' or ']'", "a \",\" or \"]\" is missing before this"},
    {"did not find expected ',' or '}'", "a \",\" or \"}\" is missing before this"},
    {"found unexpected end of stream", "the closing quote is missing"},
    {"found unexpected document indicator", "the closing quote is missing"},
    {"found unknown escape character",
     "this escape is unknown: in \"…\" a backslash is written \\\\, or use '…'"},
    {"did not find expected node content", "a value is missing here"},
    {"did not find expected <document start>",
     "the document ended above: check the indentation; a second document is not allowed"},
    {"found incompatible YAML document", "only YAML 1.2 and 1.1 are read"},
    {"found undefined tag handle", "this tag is unknown: put the text in quotes"},
};

static const char *plain_message(const char *theirs)
{
    for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
        if (!strcmp(theirs, sentences[i].theirs))
            return sentences[i].ours;
    return theirs;
}

/* The length of the scalar at p: to its closing quote, or to the end of a plain scalar. */
static size_t scalar_length(const char *p, size_t left)
{
    char quote = *p == '"' || *p == '\'' ? *p : '\0';

    for (size_t n = 1; n < left; n++) {
        if (quote ? p[n] == quote : p[n] == ':' && (n + 1 == left || p[n + 1] == ' '))
            return n;
        n += quote == '"' && p[n] == '\\';
    }
    return left;
}

/* Whether the cause of the error is a key that is too long. libyaml accepts the ":" only within
 * KEY_MAX characters after the start of a key, and otherwise reports the ":" as unexpected; the
 * parser still has the position where the key started. */
static bool is_long_key(const yaml_parser_t *p, const struct source *s)
{
    const yaml_mark_t *from, *to = &p->problem_mark;
    const char *text;
    size_t left;

    if (p->simple_keys.top == p->simple_keys.start)
        return false;
    from = &p->simple_keys.top[-1].mark;
    if (from->line != to->line || from->index + KEY_MAX >= to->index)
        return false;
    text = source_at(s, (uint32_t)to->line + 1, (uint32_t)to->column + 1, &left);
    if (!left || *text != ':')
        return false;
    text = source_at(s, (uint32_t)from->line + 1, (uint32_t)from->column + 1, &left);
    return scalar_length(text, left) >= KEY_MAX;
}

/* Reports a character that a scalar can't start with: usually a tab, or a character that YAML
 * reserves. */
static void bad_first_character(const yaml_parser_t *p, const struct source *s,
                                struct diagnostics *diagnostics, uint32_t line, uint32_t column)
{
    const char *at = (const char *)p->buffer.pointer;

    if (*at == '\t')
        diagnostics_add(diagnostics, s, line, column, "a tab can't indent YAML: use spaces");
    else
        diagnostics_add(diagnostics, s, line, column,
                        "a string can't start with \"%c\": put it in quotes", *at);
}

void syntax_error(const yaml_parser_t *p, const struct source *s, struct diagnostics *diagnostics)
{
    uint32_t line = (uint32_t)p->problem_mark.line + 1, column;
    const char *problem = p->problem ? p->problem : "it can't be read";

    column = (uint32_t)p->problem_mark.column + 1;
    if (p->error == YAML_READER_ERROR) {
        source_location(s, p->problem_offset, &line, &column);
        diagnostics_add(diagnostics, s, line, column, "this character can't be part of YAML: %s",
                        problem);
    } else if (is_long_key(p, s)) {
        column = (uint32_t)p->simple_keys.top[-1].mark.column + 1;
        diagnostics_add(diagnostics, s, line, column,
                        "this key is longer than %d characters, the most that YAML allows",
                        KEY_MAX);
    } else if (!strcmp(problem, "found character that cannot start any token")) {
        bad_first_character(p, s, diagnostics, line, column);
    } else if (p->context && p->context_mark.line + 1 < line) {
        diagnostics_add(diagnostics, s, line, column, "%s (%s from line %zu)",
                        plain_message(problem), p->context, p->context_mark.line + 1);
    } else {
        diagnostics_add(diagnostics, s, line, column, "%s", plain_message(problem));
    }
}
