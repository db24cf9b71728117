/* json_value.c - converts values of any shape from YAML to JSON, and checks them against params. */
#include "parse/workflow/reader.h"

#include "base/json.h"
#include "base/json_read.h"
#include "base/suggest.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool reader_is_variable(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

    return n && !s[n] && !(*s >= '0' && *s <= '9') && n <= WORKFLOW_NAME_MAX;
}

/* ---- JSON ---- */

static bool write_number(struct reader *r, const struct yaml *node, const char *what,
                         struct json_writer *json)
{
    double n = yaml_float_value(node);
    char text[64], *point;

    if (!isfinite(n))
        return yaml_expected(r->doc, node, what, "a number that JSON can represent");
    snprintf(text, sizeof(text), "%.17e", n); /* the exponent marks it as not an integer */
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
    size_t i;

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
        if (literal && strstr(node->text, "${{")) {
            yaml_error(r->doc, node, "%s can't contain ${{ }}: the value is used as written", what);
            return false;
        }
        if (!literal)
            reader_note_text(r, node, node->text, what);
        json_write_text(json, node->text);
        break;
    case YAML_LIST:
        json_write_begin(json, '[');
        for (i = 0; i < node->n; i++)
            ok = write_value(r, &node->items[i], what, literal, json) && ok;
        json_write_end(json, ']');
        break;
    default:
        json_write_begin(json, '{');
        for (i = 0; i < node->n; i++) {
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

_Static_assert(YAML_MAX_DEPTH <= JSON_DEPTH_MAX, "a value of a file would be refused as JSON");

const char *reader_canonical(struct reader *r, const struct buf *text)
{
    struct json_node doc;
    const char *out;
    struct err err;

    if (json_read_open(text->ptr, text->len, WORKFLOW_MAX_TEXT, "a value", &doc, &err))
        return NULL;
    out = json_read_raw(&doc, r->arena);
    json_read_close(&doc);
    return out;
}

const char *reader_value(struct reader *r, const struct yaml *node, const char *what, bool literal)
{
    struct buf b = BUF_INIT;
    struct json_writer json = JSON_WRITER(&b);
    const char *out = NULL;

    if (write_value(r, node, what, literal, &json)) {
        out = reader_canonical(r, &b);
        /* Duplicate and empty keys, which JSON refuses too, were reported before. */
        if (!out && !r->doc->diagnostics->count)
            yaml_error(r->doc, node, "%s can't be written as JSON", what);
    }
    buf_release(&b);
    return out;
}

/* ---- params ---- */

bool reader_check_type(struct reader *r, const struct yaml *node, const char *what,
                       enum param_type type)
{
    static const struct {
        unsigned kinds;
        const char *wanted;
    } types[] = {
        [PARAM_STRING] = {1u << YAML_TEXT, "a string (put it in quotes)"},
        [PARAM_NUMBER] = {1u << YAML_INT | 1u << YAML_FLOAT, "a number"},
        [PARAM_INTEGER] = {1u << YAML_INT, "a whole number"},
        [PARAM_BOOLEAN] = {1u << YAML_BOOL, "true or false"},
        [PARAM_LIST] = {1u << YAML_LIST, "a list"},
        [PARAM_OBJECT] = {1u << YAML_MAP, "a mapping"},
    };

    return (types[type].kinds & 1u << node->kind) ||
           yaml_expected(r->doc, node, what, types[type].wanted);
}

static const struct workflow_param *find_param(const struct workflow *w, const char *name)
{
    size_t i;

    for (i = 0; i < w->nparams; i++)
        if (!strcmp(w->params[i].name, name))
            return &w->params[i];
    return NULL;
}

static void check_param_value(struct reader *r, const struct workflow *of,
                              const struct yaml_pair *p, const char *what)
{
    const struct workflow_param *param = find_param(of, p->key.text);
    struct suggestion s = suggest_for(p->key.text);
    char name[WHAT_SIZE];
    size_t i;

    if (param) {
        /* The type of a computed value is known only when the workflow runs. */
        if (p->value.kind != YAML_TEXT || !strstr(p->value.text, "${{"))
            (void)reader_check_type(r, &p->value, reader_what(name, what, param->name),
                                    param->type);
        return;
    }
    for (i = 0; i < of->nparams; i++)
        suggest_try(&s, of->params[i].name);
    if (s.best)
        yaml_error(r->doc, &p->key,
                   "%s: the workflow %s has no param \"%.60s\": did you mean \"%s\"?", what,
                   of->name, p->key.text, s.best);
    else
        yaml_error(r->doc, &p->key, "%s: the workflow %s has no param \"%.60s\"", what, of->name,
                   p->key.text);
}

void reader_check_with(struct reader *r, const struct workflow *of, const struct yaml *with,
                       const struct yaml *location, const char *what)
{
    size_t i;

    for (i = 0; with && with->kind == YAML_MAP && i < with->n; i++)
        check_param_value(r, of, yaml_pair(with, i), what);
    for (i = 0; i < of->nparams; i++)
        if (of->params[i].required && !yaml_get(with, of->params[i].name))
            yaml_error(r->doc, location, "%s: the workflow %s requires the param \"%s\"", what,
                       of->name, of->params[i].name);
}
