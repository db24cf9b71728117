/* lists.c - reads keys that hold a list, or a mapping with arbitrary keys. */
#include "parse/workflow/reader.h"

#include <string.h>

#define MAX_LIST 100000

/* ---- lists ---- */

/* Returns NULL if the text is valid, else what is expected instead. */
typedef const char *text_check(const char *text);

static const char *bad_variable(const char *text)
{
    if (!strncmp(text, "PAWL_", 5))
        return "a name that does not start with PAWL_";
    return reader_is_variable(text) ? NULL : "a variable name (letters, digits and _)";
}

static const char *bad_name(const char *text)
{
    return reader_is_variable(text) ? NULL : "a name (letters, digits and _)";
}

/* An output is set by a line KEY=VALUE. */
static const char *bad_output(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c >= 0x20 && *c != 0x7F && *c != '=')
        c++;
    return *text && !*c && c - (const unsigned char *)text <= 255
               ? NULL
               : "an output name (without = or control characters)";
}

/* Lists of names are short enough for a linear search for duplicates. */
#define MAX_NAMES 200

static bool add_text(struct reader *r, const struct yaml *node, const char *what, text_check *check,
                     const char **texts, size_t n)
{
    const char *wanted, *text;
    size_t i;

    if (!yaml_text(r->doc, node, what, &text))
        return false;
    if ((wanted = check(text)))
        return yaml_expected(r->doc, node, what, wanted);
    for (i = 0; i < n; i++)
        if (texts[i] && !strcmp(texts[i], text)) {
            yaml_error(r->doc, node, "%s: \"%.60s\" is listed twice", what, text);
            return false;
        }
    texts[n] = reader_keep(r, node, text);
    return true;
}

static bool read_names(struct reader *r, const struct yaml *node, const char *what,
                       text_check *check, struct workflow_texts *out)
{
    const struct yaml *items;
    const char **texts;
    bool ok = true;
    size_t n, i;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (n > MAX_NAMES)
        return yaml_expected(r->doc, node, what, "a list of at most 200 names");
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++)
        ok = add_text(r, &items[i], what, check, texts, i) && ok;
    if (ok)
        *out = (struct workflow_texts){texts, n};
    return ok;
}

bool reader_type_variables(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to)
{
    (void)k;
    return read_names(r, node, what, bad_variable, to);
}

bool reader_type_outputs(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, void *to)
{
    (void)k;
    return read_names(r, node, what, bad_output, to);
}

/* Each text may contain ${{ }}. The first of argv names the program and must not be empty. */
bool reader_type_templates(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to)
{
    const struct key item = {.min = k->min, .max = k->max};
    const struct yaml *items;
    const char **texts;
    bool ok = true;
    size_t n, i;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (!n || n > MAX_LIST) {
        yaml_error(r->doc, node,
                   n ? "%s: the list has more than 100000 items" : "%s: the list is empty", what);
        return false;
    }
    if (!strcmp(k->name, "argv") && items[0].kind == YAML_TEXT && !items[0].n)
        return yaml_expected(r->doc, items, what, "the name of a program");
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++)
        ok = reader_type_template(r, &item, &items[i], what, &texts[i]) && ok;
    if (ok)
        *(struct workflow_texts *)to = (struct workflow_texts){texts, n};
    return ok;
}

bool reader_type_codes(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    const struct yaml *items;
    size_t n, i;
    int64_t code = 0;
    bool ok = true;
    int *codes;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (n > (size_t)k->max)
        return yaml_expected(r->doc, node, what, "a list of at most 255 exit codes");
    codes = arena_alloc(r->arena, (n + 1) * sizeof(*codes));
    for (i = 0; i < n; i++) {
        ok = yaml_int(r->doc, &items[i], what, 1, 255, &code) && ok;
        codes[i] = (int)code;
    }
    if (ok) {
        ((struct retry_policy *)to)->codes = codes;
        ((struct retry_policy *)to)->ncodes = n;
    }
    return ok;
}

/* ---- mappings with arbitrary keys ---- */

static bool read_pairs(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, text_check *check, reader_reader *read,
                       struct workflow_pairs *out)
{
    struct spec_pair *pairs;
    char name[WHAT_SIZE];
    const char *wanted;
    bool ok = true;
    size_t i;

    if (!yaml_is_map(r->doc, node, what))
        return false;
    pairs = arena_zalloc(r->arena, (node->n + 1) * sizeof(*pairs));
    for (i = 0; i < node->n; i++) {
        const struct yaml_pair *p = yaml_pair(node, i);

        if ((wanted = check(p->key.text)))
            ok = yaml_expected(r->doc, &p->key, what, wanted);
        pairs[i].key = reader_keep(r, &p->key, p->key.text);
        ok = read(r, k, &p->value, reader_what(name, what, p->key.text), &pairs[i].value) && ok;
    }
    if (ok)
        *out = (struct workflow_pairs){pairs, node->n};
    return ok;
}

bool reader_type_env(struct reader *r, const struct key *k, const struct yaml *node,
                     const char *what, void *to)
{
    return read_pairs(r, k, node, what, bad_variable, reader_type_template, to);
}

static bool read_value(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to)
{
    return (*(const char **)to = reader_value(r, node, what, k->type == KEY_LITERALS)) != NULL;
}

bool reader_type_values(struct reader *r, const struct key *k, const struct yaml *node,
                        const char *what, void *to)
{
    return read_pairs(r, k, node, what, bad_name, read_value, to);
}

bool reader_type_literal(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, void *to)
{
    const char *value = reader_value(r, node, what, true);

    (void)k;
    if (value)
        *(const char **)to = value;
    return value;
}

bool reader_type_foreach(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, void *to)
{
    int64_t n;

    if (node->kind == YAML_INT && !yaml_int(r->doc, node, what, k->min, k->max, &n))
        return false;
    if (node->kind == YAML_LIST && node->n > (uint64_t)k->max)
        return yaml_expected(r->doc, node, what, "a list of at most 100000 items");
    if (node->kind != YAML_INT && node->kind != YAML_LIST &&
        (node->kind != YAML_TEXT || strncmp(node->text, "${{", 3) != 0 || node->n < 5 ||
         strcmp(node->text + node->n - 2, "}}") != 0))
        return yaml_expected(r->doc, node, what, "a list, a number or a single ${{ expression }}");
    *(const char **)to = reader_value(r, node, what, false);
    if (node->kind == YAML_TEXT && *(const char **)to) /* the text is one expression */
        r->texts.at[r->texts.n - 1].condition = true;
    return *(const char **)to;
}
