/* answer_schema.c - writes the JSON Schema of the JSON objects that the library returns, from their
 * column tables. */
#include "api/noun.h"
#include "base/buf.h"

#include <ctype.h>
#include <string.h>

/* Derives the schema's name from the heading of the noun: "## A due time" becomes DueTime. NULL if
 * the noun has no heading, because it is only a part of others. */
static const char *schema_name(const struct noun *noun, struct buf *out)
{
    const char *word = noun->heading;

    if (!word || strncmp(word, "## ", 3))
        return NULL;
    word += 3;
    word += !strncmp(word, "A ", 2) ? 2 : !strncmp(word, "An ", 3) ? 3 : 0;
    buf_reset(out);
    for (bool upper = true; *word; word++) {
        if (*word != ' ')
            buf_addch(out, (char)(upper ? toupper((unsigned char)*word) : *word));
        upper = *word == ' ';
    }
    return out->ptr;
}

static bool starts(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* The JSON type of a type in the documentation, such as "text or null"; NULL if it is any type. */
static const char *json_type(const char *of)
{
    return starts(of, "number")          ? "integer"
           : starts(of, "true or false") ? "boolean"
           : starts(of, "array")         ? "array"
           : starts(of, "object")        ? "object"
           : starts(of, "text")          ? "string"
           : starts(of, "time")          ? "string"
                                         : NULL;
}

static void write_noun(struct json_writer *w, const struct noun *noun);

/* Writes what the values of a column contain: the members of an object, the items of an array. */
static void write_contents(struct json_writer *w, const struct column *c)
{
    if (c->noun && c->type == COLUMN_OBJECT) {
        write_noun(w, c->noun);
    } else if (c->noun) {
        json_write_key(w, "items");
        json_write_begin(w, '{');
        json_field_text(w, "type", "object");
        write_noun(w, c->noun);
        json_write_end(w, '}');
    } else if (!strcmp(c->of_type, "array of texts")) {
        json_write_key(w, "items");
        json_write_raw(w, "{\"type\":\"string\"}");
    } else if (starts(c->of_type, "time")) {
        json_field_text(w, "format", "date-time");
    }
}

static void write_column(struct json_writer *w, const struct column *c)
{
    const char *type = json_type(c->of_type);

    json_write_key(w, c->name);
    json_write_begin(w, '{');
    if (type) {
        json_write_key(w, "type");
        if (strstr(c->of_type, "or null")) {
            json_write_begin(w, '[');
            json_write_text(w, type);
            json_write_text(w, "null");
            json_write_end(w, ']');
        } else {
            json_write_text(w, type);
        }
        write_contents(w, c);
    }
    if (c->text)
        json_field_text(w, "description", c->text);
    json_write_end(w, '}');
}

/* Writes the members of an object's schema that follow its type. */
static void write_noun(struct json_writer *w, const struct noun *noun)
{
    json_write_key(w, "properties");
    json_write_begin(w, '{');
    for (size_t i = 0; i < noun->n; i++)
        write_column(w, &noun->columns[i]);
    json_write_end(w, '}');
    json_write_key(w, "required");
    json_write_begin(w, '[');
    for (size_t i = 0; i < noun->n; i++)
        if (noun->columns[i].type != COLUMN_LATER)
            json_write_text(w, noun->columns[i].name);
    json_write_end(w, ']');
}

char *pawl_answer_schemas(void)
{
    struct buf b = BUF_INIT;
    AUTO_BUF name = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    for (size_t i = 0; nouns[i]; i++) {
        if (!schema_name(nouns[i], &name))
            continue;
        json_write_key(&w, name.ptr);
        json_write_begin(&w, '{');
        json_field_text(&w, "type", "object");
        write_noun(&w, nouns[i]);
        json_write_end(&w, '}');
    }
    json_write_end(&w, '}');
    return b.ptr;
}
