/* json.c - see json.h. */
#include "base/json.h"

#include "base/text.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_quote(struct buf *out, const char *s, size_t len)
{
    size_t i, from = 0;

    buf_addch(out, '"');
    for (i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buf_add(out, s + from, i - from);
        from = i + 1;
        if (c == '"' || c == '\\') {
            buf_addch(out, '\\');
            buf_addch(out, (char)c);
        } else if (c == '\n') {
            buf_addstr(out, "\\n");
        } else if (c == '\t') {
            buf_addstr(out, "\\t");
        } else {
            buf_addf(out, "\\u%04x", c);
        }
    }
    buf_add(out, s + from, len - from);
    buf_addch(out, '"');
}

static void add_comma(struct json_writer *w)
{
    if (w->comma)
        buf_addch(w->out, ',');
    w->comma = true;
}

void json_write_begin(struct json_writer *w, char bracket)
{
    add_comma(w);
    buf_addch(w->out, bracket);
    w->comma = false;
}

void json_write_end(struct json_writer *w, char bracket)
{
    buf_addch(w->out, bracket);
    w->comma = true;
}

void json_write_key(struct json_writer *w, const char *key)
{
    add_comma(w);
    json_quote(w->out, key, strlen(key));
    buf_addch(w->out, ':');
    w->comma = false;
}

void json_write_text(struct json_writer *w, const char *s)
{
    if (!s) {
        json_write_null(w);
        return;
    }
    add_comma(w);
    json_quote(w->out, s, strlen(s));
}

void json_write_i64(struct json_writer *w, int64_t n)
{
    add_comma(w);
    buf_addi64(w->out, n);
}

void json_write_bool(struct json_writer *w, bool b)
{
    json_write_raw(w, b ? "true" : "false");
}

void json_write_null(struct json_writer *w)
{
    json_write_raw(w, NULL);
}

void json_write_raw(struct json_writer *w, const char *json)
{
    add_comma(w);
    buf_addstr(w->out, json ? json : "null");
}

size_t json_depth(const char *s, size_t len)
{
    size_t i, depth = 0, deepest = 0;
    bool quoted = false;

    for (i = 0; i < len; i++) {
        if (s[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += s[i] == '\\'; /* an escaped quote does not end the string */
        else if (s[i] == '[' || s[i] == '{')
            deepest = ++depth > deepest ? depth : deepest;
        else if (s[i] == ']' || s[i] == '}')
            depth -= depth > 0;
    }
    return deepest;
}

int json_check_depth(size_t depth, size_t max, const char *what, struct err *err)
{
    if (depth <= max)
        return 0;
    return err_set(err, E_INVALID,
                   "%s nests lists and objects %zu levels deep; at most %zu are allowed", what,
                   depth, max);
}

int json_check(const char *s, size_t len, size_t max, const char *what, struct err *err)
{
    json_error_t at;
    json_t *doc;
    int rc;

    if (len > max)
        return err_set(
            err, E_INVALID,
            "%s has %zu bytes; at most %zu are allowed: store it elsewhere and pass a reference",
            what, len, max);
    if (!text_is_utf8(s, len))
        return err_set(err, E_INVALID, "%s is not valid UTF-8 (or holds a NUL byte)", what);
    if ((rc = json_check_depth(json_depth(s, len), JSON_DEPTH_MAX, what, err)))
        return rc;
    doc = json_loadb(s, len,
                     JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
                         JSON_DECODE_INT_AS_REAL /* of any size: the value is not used */,
                     &at);
    if (!doc)
        return err_set(err, E_INVALID, "%s is not valid JSON: line %d, column %d: %s", what,
                       at.line, at.column, at.text);
    json_decref(doc);
    return 0;
}

void json_write_double(struct json_writer *w, double n)
{
    char text[64], *point;
    int precision;

    for (precision = 1; precision < 17; precision++) {
        snprintf(text, sizeof(text), "%.*g", precision, n);
        if (!(strtod(text, NULL) < n) && !(strtod(text, NULL) > n))
            break;
    }
    snprintf(text, sizeof(text), "%.*g", precision, n);
    point = strstr(text, localeconv()->decimal_point);
    if (point)
        *point = '.';
    json_write_raw(w, text);
}
