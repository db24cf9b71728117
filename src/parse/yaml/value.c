/* value.c - typed reading of scalars; see yaml.h. Every error starts with the name of the value and
 * says what to write. */
#include "base/suggest.h"
#include "base/text.h"
#include "parse/yaml/scalar.h"
#include "parse/yaml/yaml.h"

#include <stdio.h>
#include <string.h>

int64_t yaml_int_value(const struct yaml *node)
{
    int64_t n = 0;

    return yaml_scalar_int(node->text, &n) ? n : 0;
}

double yaml_float_value(const struct yaml *node)
{
    return yaml_scalar_float(node->text);
}

bool yaml_bool_value(const struct yaml *node)
{
    return node->text[0] == 't' || node->text[0] == 'T';
}

bool yaml_text(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const char **out)
{
    if (node->kind == YAML_NULL || node->kind >= YAML_LIST)
        return yaml_expected(doc, node, what, "a string");
    *out = node->text;
    return true;
}

bool yaml_bool(const struct yaml_doc *doc, const struct yaml *node, const char *what, bool *out)
{
    if (node->kind != YAML_BOOL)
        return yaml_expected(doc, node, what, "true or false");
    *out = yaml_bool_value(node);
    return true;
}

bool yaml_int(const struct yaml_doc *doc, const struct yaml *node, const char *what, int64_t min,
              int64_t max, int64_t *out)
{
    int64_t n = node->kind == YAML_INT ? yaml_int_value(node) : 0;

    if (node->kind == YAML_INT && n >= min && n <= max) {
        *out = n;
        return true;
    }
    if (max == INT64_MAX)
        return yaml_expected(doc, node, what, "a whole number of at least %lld", (long long)min);
    return yaml_expected(doc, node, what, "a whole number from %lld to %lld", (long long)min,
                         (long long)max);
}

bool yaml_number(const struct yaml_doc *doc, const struct yaml *node, const char *what, double min,
                 double max, double *out)
{
    bool is_number = node->kind == YAML_INT || node->kind == YAML_FLOAT;
    double v = is_number ? yaml_float_value(node) : min - 1;

    if (!(v >= min && v <= max)) /* also if v is NaN */
        return yaml_expected(doc, node, what, "a number from %g to %g", min, max);
    *out = v;
    return true;
}

bool yaml_duration(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                   int64_t min, int64_t max, int64_t *us)
{
    struct err err = ERR_INIT;
    char low[DURATION_TEXT_SIZE], high[DURATION_TEXT_SIZE];
    int64_t v;

    if (node->kind != YAML_TEXT || text_parse_duration(node->text, &v, &err))
        return yaml_expected(doc, node, what, "a duration such as 250ms, 30s, 5m, 2h or 90d");
    if (v < min || v > max)
        return yaml_expected(doc, node, what, "a duration from %s to %s",
                             text_exact_duration(min, low), text_exact_duration(max, high));
    *us = v;
    return true;
}

static bool parse_size(const char *text, int64_t *bytes)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } units[] = {{"", 1},          {"B", 1},           {"kB", 1000},     {"KB", 1000},
                 {"MB", 1000000},  {"GB", 1000000000}, {"KiB", 1 << 10}, {"kiB", 1 << 10},
                 {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    size_t digits = strspn(text, "0123456789"), i;
    int64_t n = 0;

    if (!digits || digits > 15)
        return false;
    for (i = 0; i < digits; i++)
        n = n * 10 + (text[i] - '0');
    for (i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (!strcmp(text + digits, units[i].text) && n <= INT64_MAX / units[i].bytes) {
            *bytes = n * units[i].bytes;
            return true;
        }
    return false;
}

bool yaml_size(const struct yaml_doc *doc, const struct yaml *node, const char *what, int64_t min,
               int64_t max, int64_t *bytes)
{
    int64_t v;

    if ((node->kind != YAML_TEXT && node->kind != YAML_INT) || !parse_size(node->text, &v))
        return yaml_expected(doc, node, what, "a size such as 4096, 64kB, 1MB or 2GiB");
    if (v < min || v > max)
        return yaml_expected(doc, node, what, "a size from %lld to %lld bytes", (long long)min,
                             (long long)max);
    *bytes = v;
    return true;
}

/* Appends a list of words in the form "push, poll or pull". */
static void join_words(struct buf *b, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        buf_addf(b, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

bool yaml_word(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const char *const *words, int *out)
{
    AUTO_BUF wanted = BUF_INIT;
    const char *near;

    for (int i = 0; words[i] && node->kind < YAML_LIST; i++)
        if (!strcmp(node->text, words[i])) {
            *out = i;
            return true;
        }
    join_words(&wanted, words);
    near = node->kind == YAML_TEXT ? suggest_from(node->text, words) : NULL;
    if (near)
        return yaml_error(doc, node, "%s: %s is expected, not '%.60s'%s%s%s", what,
                          buf_cstr(&wanted), node->text, DID_YOU_MEAN(near));
    return yaml_expected(doc, node, what, "%s", buf_cstr(&wanted));
}
