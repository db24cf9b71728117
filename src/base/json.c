/* json.c - writes JSON, and checks JSON of users strictly; see json.h. */
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

void json_field_text(struct json_writer *w, const char *key, const char *s)
{
    json_write_key(w, key);
    json_write_text(w, s);
}

void json_field_i64(struct json_writer *w, const char *key, int64_t n)
{
    json_write_key(w, key);
    json_write_i64(w, n);
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

const char *json_refusal(const json_error_t *at)
{
    switch (json_error_code(at)) {
    case json_error_numeric_overflow:
        return "has a number that is too large: integers have at most 64 bits";
    case json_error_duplicate_key:
        return "has the same key twice in one object";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "has a NUL character (\\u0000) in a string";
    default:
        return "is not valid JSON";
    }
}

int json_refuse(const char *what, const json_error_t *at, struct err *err)
{
    return err_set(err, E_INVALID, "%s %s (line %d, column %d: %s)", what, json_refusal(at),
                   at->line, at->column, at->text);
}

int json_load(const char *s, size_t len, size_t depth, const char *what, json_t **out,
              struct err *err)
{
    json_error_t at;
    int rc;

    if (!text_is_utf8(s, len))
        return err_set(err, E_INVALID, "%s is not valid UTF-8 (or holds a NUL byte)", what);
    if ((rc = json_check_depth(json_depth(s, len), depth, what, err)))
        return rc;
    *out = json_loadb(s, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at);
    return *out ? 0 : json_refuse(what, &at, err);
}

int json_check(const char *s, size_t len, size_t max, const char *what, struct err *err)
{
    json_auto_t *doc = NULL;

    if (len > max)
        return err_set(err, E_INVALID,
                       "%s is %zu bytes long; at most %zu are allowed: store it elsewhere and pass "
                       "a reference",
                       what, len, max);
    return json_load(s, len, JSON_DEPTH_MAX, what, &doc, err);
}

/* ---- numbers and values ---- */

/* Replaces the locale's decimal separator, which may be a comma or several bytes, with a point. */
static void use_decimal_point(char *text)
{
    const char *point = localeconv()->decimal_point;
    char *at = strstr(text, point);

    if (!at || !strcmp(point, "."))
        return;
    *at = '.';
    memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
}

/* Writes the shortest text of at least `digits` digits that reads back as the same number. */
static void shortest_text(double n, int digits, char text[40])
{
    double again;

    for (; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, n);
        again = strtod(text, NULL);
        if (!(again < n) && !(again > n))
            break;
    }
    use_decimal_point(text);
}

void json_write_double(struct json_writer *w, double n)
{
    char text[40];

    shortest_text(n, 1, text);
    json_write_raw(w, text);
}

/* A whole value gets ".0", so that it stays a real number. */
static void write_real(struct json_writer *w, double n)
{
    char text[40];

    shortest_text(n, 15, text);
    json_write_raw(w, text);
    if (!strpbrk(text, ".e"))
        buf_addstr(w->out, ".0");
}

static bool add_members(struct json_writer *w, const json_t *v, size_t max);

static bool write_value(struct json_writer *w, const json_t *v, size_t max)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return add_members(w, v, max);
    case JSON_STRING:
        add_comma(w);
        json_quote(w->out, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        json_write_i64(w, json_integer_value(v));
        break;
    case JSON_REAL:
        write_real(w, json_real_value(v));
        break;
    default:
        json_write_raw(w, json_is_null(v) ? NULL : json_is_true(v) ? "true" : "false");
    }
    return w->out->len <= max;
}

static bool add_members(struct json_writer *w, const json_t *v, size_t max)
{
    const char *key;
    json_t *inner;
    size_t i;

    json_write_begin(w, json_is_object(v) ? '{' : '[');
    json_array_foreach((json_t *)v, i, inner) if (!write_value(w, inner, max)) return false;
    json_object_foreach((json_t *)v, key, inner)
    {
        json_write_key(w, key);
        if (!write_value(w, inner, max))
            return false;
    }
    json_write_end(w, json_is_object(v) ? '}' : ']');
    return w->out->len <= max;
}

bool json_add_value(struct buf *out, const json_t *v, size_t max)
{
    struct json_writer w = JSON_WRITER(out);

    return write_value(&w, v, max);
}

size_t json_value_depth(const json_t *v)
{
    size_t deepest = 0, depth, i;
    const char *key;
    json_t *inner;

    json_array_foreach((json_t *)v, i, inner)
    {
        depth = json_value_depth(inner);
        deepest = depth > deepest ? depth : deepest;
    }
    json_object_foreach((json_t *)v, key, inner)
    {
        depth = json_value_depth(inner);
        deepest = depth > deepest ? depth : deepest;
    }
    return json_is_array(v) || json_is_object(v) ? deepest + 1 : 0;
}

char *json_text(const json_t *v)
{
    struct buf out = BUF_INIT;

    if (v)
        (void)json_add_value(&out, v, SIZE_MAX);
    return out.ptr;
}

char *json_arena_text(const json_t *v, struct arena *arena)
{
    AUTO_FREE char *text = json_text(v);

    return arena_strdup(arena, text);
}
