/* read_list.c - reads keys that hold a list, or a mapping with arbitrary keys; see read_key.h. */
#include "base/text.h"
#include "parse/read_key.h"

#include <stdio.h>
#include <string.h>

#define MAX_LIST 100000

/* ---- lists ---- */

bool reader_is_variable(const char *s)
{
    return text_is_variable(s, WORKFLOW_NAME_MAX);
}

static const char *bad_any_variable(const char *text)
{
    return reader_is_variable(text)
               ? NULL
               : "a variable name (letters, digits and _, not starting with a digit)";
}

const char *bad_variable(const char *text)
{
    if (!strncmp(text, "PAWL_", 5))
        return "a name that does not start with PAWL_";
    return bad_any_variable(text);
}

static const char *bad_value_name(const char *text)
{
    return reader_is_variable(text) ? NULL
                                    : "a name (letters, digits and _, not starting with a digit)";
}

static const char *bad_output(const char *text)
{
    return spec_is_output(text) ? NULL : "an output name (without = or control characters)";
}

/* The types whose values are lists of distinct strings. The lists are short enough for a linear
 * search for duplicates. */
static const struct names {
    enum key_type type;
    const char *(*bad)(const char *text);
    size_t max;
} names[] = {{KEY_VARIABLES, bad_variable, 200}, {KEY_OUTPUTS, bad_output, 200},
             {KEY_QUEUES, bad_queue, 1000},      {KEY_NAMES, bad_any_variable, 1000},
             {KEY_PATHS, bad_path, 1000},        {.bad = NULL}};

static bool add_name(struct reader *r, const struct names *kind, const struct yaml *node,
                     const char *what, const char **texts, size_t n)
{
    const char *wanted, *text;

    if (!yaml_text(r->doc, node, what, &text))
        return false;
    if ((wanted = kind->bad(text)))
        return yaml_expected(r->doc, node, what, "%s", wanted);
    texts[n] = kind->type == KEY_PATHS ? reader_path(r, text) : reader_keep(r, node, text);
    for (size_t i = 0; i < n; i++)
        if (texts[i] && !strcmp(texts[i], texts[n]))
            return yaml_error(r->doc, node, "%s: \"%.60s\" is listed twice", what, text);
    return true;
}

static bool read_names(struct reader *r, const struct names *kind, const struct yaml *node,
                       const char *what, void *out)
{
    const struct yaml *items;
    const char **texts;
    bool ok = true;
    size_t n, i;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (!n && kind->type == KEY_QUEUES)
        return yaml_expected(r->doc, node, what, "at least one queue");
    if (n > kind->max)
        return yaml_expected(r->doc, node, what, "a list of at most %zu items", kind->max);
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++)
        ok = add_name(r, kind, &items[i], what, texts, i) && ok;
    if (ok)
        key_set_list(out, texts, n);
    return ok;
}

/* Reads a list of strings that may contain ${{ }}. The first string in argv names the program and
 * must not be empty. */
static bool read_templates(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *out)
{
    const struct yaml *items;
    const char **texts;
    bool ok = true;
    size_t n, i;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (!n || n > MAX_LIST)
        return yaml_error(r->doc, node,
                          n ? "%s: the list has more than 100000 items" : "%s: the list is empty",
                          what);
    if (!strcmp(k->name, "argv") && items[0].kind == YAML_TEXT && !items[0].n)
        return yaml_expected(r->doc, items, what, "the name of a program");
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++)
        ok = reader_template(r, k, &items[i], what, &texts[i]) && ok;
    if (ok)
        key_set_list(out, texts, n);
    return ok;
}

/* Adds one word of a command line to a list. */
static bool add_word(struct reader *r, const struct key *k, const struct yaml *node,
                     const char *what, const char *word, size_t len, const char **to)
{
    if (len > (size_t)k->max)
        return yaml_error(r->doc, node,
                          "%s has a word that is %zu bytes long; at most %lld are allowed", what,
                          len, (long long)k->max);
    if (len == 3 && !memcmp(word, "{0}", 3))
        return yaml_error(r->doc, node,
                          "%s: {0} is not supported, because the script is not in a file; write "
                          "{} where its text belongs",
                          what);
    *to = arena_memdup0(r->arena, word, len);
    return reader_spend(r, node, len + 1);
}

/* Reads a program and its options: a list, or a string that is split at spaces. The word {} stands
 * for text that is added later, and may occur at most once. */
static bool read_words(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *out)
{
    bool is_list = node->kind == YAML_LIST, ok = true;
    size_t n = 0, i, len, holes = 0, max = is_list ? node->n : node->n / 2 + 1;
    const char **words, *p = is_list ? "" : node->text;

    if (!is_list && (node->kind == YAML_NULL || node->kind == YAML_MAP))
        return yaml_expected(r->doc, node, what, "a string, or a list of strings,");
    words = arena_zalloc(r->arena, (max + 1) * sizeof(*words));
    for (i = 0; is_list && i < node->n && ok; i++)
        ok = yaml_text(r->doc, &node->items[i], what, &p) &&
             add_word(r, k, &node->items[i], what, p, strlen(p), &words[n++]);
    for (; !is_list && ok; p += len) {
        p += strspn(p, " ");
        if (!(len = strcspn(p, " ")))
            break;
        ok = add_word(r, k, node, what, p, len, &words[n++]);
    }
    for (i = 0; ok && i < n; i++) {
        if (strstr(words[i], "${{"))
            return yaml_error(r->doc, node, "%s can't contain ${{ }}: the value is used as written",
                              what);
        holes += !strcmp(words[i], "{}");
    }
    if (ok && (!n || !*words[0] || !strcmp(words[0], "{}")))
        return yaml_expected(r->doc, node, what, "a program such as bash, with its options,");
    if (ok && holes > 1)
        yaml_error(r->doc, node, "%s: {} stands for the text of run, so it can occur only once",
                   what);
    if (ok)
        key_set_list(out, words, n);
    return ok && holes < 2;
}

static bool read_codes(struct reader *r, const struct key *k, const struct yaml *node,
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
        ok = yaml_int(r->doc, &items[i], what, k->min, k->max, &code) && ok;
        codes[i] = (int)code;
    }
    if (ok)
        key_set_list(to, codes, n);
    return ok;
}

/* ---- mappings with arbitrary keys ---- */

static bool read_pair(struct reader *r, const struct key *k, const struct yaml *node,
                      const char *what, const char **to)
{
    if (k->type == KEY_ENV)
        return reader_template(r, k, node, what, to);
    return (*to = reader_value(r, node, what, k->type == KEY_LITERALS)) != NULL;
}

static bool read_pairs(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *out)
{
    struct spec_pair *pairs;
    char name[WHAT_SIZE];
    const char *wanted;
    bool ok = true;

    if (!yaml_is_map(r->doc, node, what))
        return false;
    pairs = arena_zalloc(r->arena, (node->n + 1) * sizeof(*pairs));
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_pair *p = yaml_pair(node, i);

        if ((wanted = (k->type == KEY_ENV ? bad_variable : bad_value_name)(p->key.text)))
            ok = yaml_expected(r->doc, &p->key, what, "%s", wanted);
        pairs[i].key = reader_keep(r, &p->key, p->key.text);
        ok =
            read_pair(r, k, &p->value, reader_what(name, what, p->key.text), &pairs[i].value) && ok;
    }
    if (ok)
        key_set_list(out, pairs, node->n);
    return ok;
}

bool reader_list(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                 void *to)
{
    const struct names *kind = names;

    while (kind->bad && kind->type != k->type)
        kind++;
    if (kind->bad)
        return read_names(r, kind, node, what, to);
    if (k->type == KEY_TEMPLATES)
        return read_templates(r, k, node, what, to);
    if (k->type == KEY_WORDS)
        return read_words(r, k, node, what, to);
    return k->type == KEY_CODES ? read_codes(r, k, node, what, to)
                                : read_pairs(r, k, node, what, to);
}
