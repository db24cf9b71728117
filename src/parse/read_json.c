/* read_json.c - converts values of any shape from YAML to JSON; see read_key.h. */
#include "parse/read_key.h"

#include "base/json.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool write_number(struct reader *r, const struct yaml *node, const char *what,
                         struct json_writer *json)
{
    double n = yaml_float_value(node);
    char text[64], *point;

    if (!isfinite(n))
        return yaml_expected(r->doc, node, what, "a number that JSON can represent");
    /* The exponent shows that the number is not an integer. */
    snprintf(text, sizeof(text), "%.17e", n);
    point = strstr(text, localeconv()->decimal_point);
    if (point)
        *point = '.';
    json_write_raw(json, text);
    return true;
}

static bool write_value(struct reader *r, const struct yaml *node, const char *what, bool literal,
                        struct json_writer *json)
{
    char inner[WHAT_SIZE];
    bool ok = true;

    switch (node->kind) {
    case YAML_NULL:
        json_write_null(json);
        break;
    case YAML_BOOL:
        json_write_bool(json, yaml_bool_value(node));
        break;
    case YAML_INT:
        json_write_i64(json, yaml_int_value(node));
        break;
    case YAML_FLOAT:
        return write_number(r, node, what, json);
    case YAML_TEXT:
        if (!reader_spend(r, node, node->n))
            return false;
        if (literal && strstr(node->text, "${{"))
            return yaml_error(r->doc, node, "%s can't contain ${{ }}: the value is used as written",
                              what);
        if (!literal)
            reader_note_text(r, node, node->text, what, false);
        json_write_text(json, node->text);
        break;
    case YAML_LIST:
        json_write_begin(json, '[');
        for (size_t i = 0; i < node->n; i++)
            ok = write_value(r, &node->items[i], what, literal, json) && ok;
        json_write_end(json, ']');
        break;
    default:
        json_write_begin(json, '{');
        for (size_t i = 0; i < node->n; i++) {
            const struct yaml_pair *p = yaml_pair(node, i);

            if (!reader_spend(r, &p->key, p->key.n))
                return false;
            json_write_key(json, p->key.text);
            ok = write_value(r, &p->value, reader_what(inner, what, p->key.text), literal, json) &&
                 ok;
        }
        json_write_end(json, '}');
    }
    return ok;
}

_Static_assert(YAML_MAX_DEPTH <= JSON_DEPTH_MAX, "a value in a file would be refused as JSON");

const char *reader_canonical(struct reader *r, const struct buf *text)
{
    AUTO_JSON_NODE doc = {0};
    struct err err;

    if (json_read_open(text->ptr, text->len, WORKFLOW_MAX_TEXT, "a value", &doc, &err))
        return NULL;
    return json_read_raw(&doc, r->arena);
}

const char *reader_value(struct reader *r, const struct yaml *node, const char *what, bool literal)
{
    AUTO_BUF b = BUF_INIT;
    struct json_writer json = JSON_WRITER(&b);
    const char *out = NULL;

    if (write_value(r, node, what, literal, &json)) {
        out = reader_canonical(r, &b);
        /* JSON also refuses duplicate and empty keys; the YAML reader has reported these. */
        if (!out && !r->doc->diagnostics->count)
            yaml_error(r->doc, node, "%s can't be written as JSON", what);
    }
    return out;
}
