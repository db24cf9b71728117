/* scalar.c - resolves plain scalars; see scalar.h. The forms are those of the YAML 1.2.2
 * specification, §10.3.2. */
#include "parse/yaml/scalar.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS   "0123456789"
#define CORE_TAG "tag:yaml.org,2002:"

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(text, *list))
            return true;
    return false;
}

static const char *after_sign(const char *p)
{
    return *p == '-' || *p == '+' ? p + 1 : p;
}

/* Whether the string is not empty and all its characters are in the set. */
static bool is_all(const char *p, const char *set)
{
    size_t n = strspn(p, set);

    return n && !p[n];
}

static bool is_int(const char *p)
{
    if (p[0] == '0' && p[1] == 'o')
        return is_all(p + 2, "01234567");
    if (p[0] == '0' && p[1] == 'x')
        return is_all(p + 2, "0123456789abcdefABCDEF");
    return is_all(after_sign(p), DIGITS);
}

static bool is_inf(const char *p)
{
    static const char *const forms[] = {".inf", ".Inf", ".INF", NULL};

    return is_one_of(after_sign(p), forms);
}

static bool is_nan(const char *p)
{
    static const char *const forms[] = {".nan", ".NaN", ".NAN", NULL};

    return is_one_of(p, forms);
}

/* Whether the text matches [-+]? ( . digits | digits ( . digits? )? ) ( [eE] [-+]? digits )? */
static bool is_float(const char *text)
{
    const char *p = after_sign(text);
    size_t whole = strspn(p, DIGITS), part = 0;

    p += whole;
    if (*p == '.') {
        part = strspn(++p, DIGITS);
        p += part;
    }
    if (!whole && !part)
        return false;
    if (*p == 'e' || *p == 'E')
        return is_all(after_sign(p + 1), DIGITS);
    return !*p;
}

enum yaml_kind yaml_scalar_kind(const char *text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};

    if (is_one_of(text, nulls))
        return YAML_NULL;
    if (is_one_of(text, bools))
        return YAML_BOOL;
    if (is_int(text))
        return YAML_INT;
    return is_float(text) || is_inf(text) || is_nan(text) ? YAML_FLOAT : YAML_TEXT;
}

bool yaml_tag_kind(const char *tag, const char *text, enum yaml_kind *kind, char *sentence)
{
    static const char *const names[] = {
        [YAML_NULL] = "null", [YAML_BOOL] = "bool", [YAML_INT] = "int", [YAML_FLOAT] = "float",
        [YAML_TEXT] = "str",  [YAML_LIST] = "seq",  [YAML_MAP] = "map"};
    enum yaml_kind is = text ? yaml_scalar_kind(text) : *kind, wanted = YAML_NULL;

    if (!strcmp(tag, "!")) /* the non-specific tag: the scalar is a string, whatever its form */
        tag = text ? CORE_TAG "str" : is == YAML_LIST ? CORE_TAG "seq" : CORE_TAG "map";
    if (!strncmp(tag, CORE_TAG, strlen(CORE_TAG)))
        while (wanted <= YAML_MAP && strcmp(tag + strlen(CORE_TAG), names[wanted]))
            wanted++;
    else
        wanted = YAML_MAP + 1;
    if (wanted > YAML_MAP) {
        snprintf(sentence, YAML_TAG_SENTENCE,
                 "the tag \"%.80s\" is not allowed: only !!str, !!int and the other tags of YAML's "
                 "core schema are",
                 tag);
        return false;
    }
    if (is != wanted && !(text && wanted == YAML_TEXT) &&
        !(is == YAML_INT && wanted == YAML_FLOAT)) {
        snprintf(sentence, YAML_TAG_SENTENCE, "this value is not of the type !!%s", names[wanted]);
        return false;
    }
    *kind = wanted;
    return true;
}

bool yaml_scalar_int(const char *text, int64_t *out)
{
    int base = 10;
    long long v;

    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x')) {
        base = text[1] == 'o' ? 8 : 16;
        text += 2;
    }
    errno = 0;
    v = strtoll(text, NULL, base);
    if (errno)
        return false;
    *out = v;
    return true;
}

double yaml_scalar_float(const char *text)
{
    locale_t c;
    double v;
    int64_t n;

    if (is_inf(text))
        return *text == '-' ? -(double)INFINITY : (double)INFINITY;
    if (is_nan(text))
        return (double)NAN;
    if (is_int(text) && yaml_scalar_int(text, &n))
        return (double)n;
    /* Use the C locale: the embedder may have set a locale in which 0.25 is written 0,25. */
    c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    v = c ? strtod_l(text, NULL, c) : strtod(text, NULL);
    if (c)
        freelocale(c);
    return v;
}
