/* get.c - reads lists and mappings of a tree, and reports errors; see yaml.h. value.c reads the
 * scalars. */
#include "parse/yaml/scalar.h"
#include "parse/yaml/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- mappings ---- */

const struct yaml_pair *yaml_pair(const struct yaml *map, size_t i)
{
    return &map->map->pairs[i];
}

/* The first pair, ordered by key and then by position, whose key is not less than `key`. */
static const struct yaml_pair *lower_bound(const struct yaml *map, const char *key)
{
    size_t low = 0, high = map->n, mid;

    while (low < high) {
        mid = low + (high - low) / 2;
        if (strcmp(yaml_pair(map, map->map->order[mid])->key.text, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < map->n ? yaml_pair(map, map->map->order[low]) : NULL;
}

const struct yaml *yaml_get(const struct yaml *map, const char *key)
{
    const struct yaml_pair *p;

    if (!map || map->kind != YAML_MAP)
        return NULL;
    if (map->map->order) {
        p = lower_bound(map, key);
        return p && !strcmp(p->key.text, key) ? &p->value : NULL;
    }
    for (size_t i = 0; i < map->n; i++)
        if (!strcmp(yaml_pair(map, i)->key.text, key))
            return &yaml_pair(map, i)->value;
    return NULL;
}

/* ---- errors ---- */

bool yaml_error(const struct yaml_doc *doc, const struct yaml *node, const char *fmt, ...)
{
    char sentence[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sentence, sizeof(sentence), fmt, ap);
    va_end(ap);
    diagnostics_add(doc->diagnostics, doc->source, node->line, node->column, "%s", sentence);
    return false;
}

const char *yaml_report(const struct yaml *node, char *out)
{
    const char *quote = node->kind == YAML_TEXT ? "'" : "";
    AUTO_BUF visible = BUF_INIT;

    if (node->kind >= YAML_LIST) {
        snprintf(out, YAML_MESSAGE_SIZE, "a %s", node->kind == YAML_LIST ? "list" : "mapping");
    } else if (node->kind == YAML_NULL) {
        snprintf(out, YAML_MESSAGE_SIZE, "null");
    } else { /* passwords must be hidden before the text is cut: a cut URL could show a password */
        source_add_visible(&visible, node->text, node->n < 1000 ? node->n : 1000);
        snprintf(out, YAML_MESSAGE_SIZE, "%s%.60s%s%s", quote, buf_cstr(&visible),
                 visible.len > 60 ? "…" : "", quote);
    }
    return out;
}

bool yaml_expected(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                   const char *fmt, ...)
{
    char wanted[512], is[YAML_MESSAGE_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(wanted, sizeof(wanted), fmt, ap);
    va_end(ap);
    return yaml_error(doc, node, "%s: %s is expected, not %s", what, wanted, yaml_report(node, is));
}

/* ---- lists and mappings ---- */

bool yaml_list(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const struct yaml **items, size_t *n)
{
    if (node->kind == YAML_NULL)
        return yaml_expected(doc, node, what, "a list, or a single value,");
    *items = node->kind == YAML_LIST ? node->items : node;
    *n = node->kind == YAML_LIST ? node->n : 1;
    return true;
}

bool yaml_is_map(const struct yaml_doc *doc, const struct yaml *node, const char *what)
{
    return node->kind == YAML_MAP || yaml_expected(doc, node, what, "a mapping (key: value)");
}
