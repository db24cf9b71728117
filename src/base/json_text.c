/* json_text.c - writes jansson values as text; see json.h. */
#include "base/json.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the locale's decimal separator, which may be a comma or several bytes, by a point. */
static void use_decimal_point(char *text)
{
    const char *point = localeconv()->decimal_point;
    char *at = strstr(text, point);

    if (!at || !strcmp(point, "."))
        return;
    *at = '.';
    memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
}

void json_real_text(struct buf *out, double n)
{
    char text[40];
    int digits;

    for (digits = 15; digits <= 17; digits++) {
        double again;

        snprintf(text, sizeof(text), "%.*g", digits, n);
        again = strtod(text, NULL);
        if (!(again < n) && !(again > n))
            break;
    }
    use_decimal_point(text);
    buf_addstr(out, text);
    if (!strpbrk(text, ".e"))
        buf_addstr(out, ".0");
}

static void add_value(struct buf *out, const json_t *v);

static void add_object(struct buf *out, const json_t *v)
{
    const char *key;
    json_t *member;
    bool comma = false;

    buf_addch(out, '{');
    json_object_foreach((json_t *)v, key, member)
    {
        if (comma)
            buf_addch(out, ',');
        comma = true;
        json_quote(out, key, strlen(key));
        buf_addch(out, ':');
        add_value(out, member);
    }
    buf_addch(out, '}');
}

static void add_list(struct buf *out, const json_t *v)
{
    size_t i;

    buf_addch(out, '[');
    for (i = 0; i < json_array_size(v); i++) {
        if (i)
            buf_addch(out, ',');
        add_value(out, json_array_get(v, i));
    }
    buf_addch(out, ']');
}

static void add_value(struct buf *out, const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        add_object(out, v);
        break;
    case JSON_ARRAY:
        add_list(out, v);
        break;
    case JSON_STRING:
        json_quote(out, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        buf_addi64(out, json_integer_value(v));
        break;
    case JSON_REAL:
        json_real_text(out, json_real_value(v));
        break;
    case JSON_TRUE:
        buf_addstr(out, "true");
        break;
    case JSON_FALSE:
        buf_addstr(out, "false");
        break;
    case JSON_NULL:
        buf_addstr(out, "null");
        break;
    }
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
        add_value(&out, v);
    return out.ptr;
}
