/* config_map.c - see config_map.h. */
#include "parse/config/config_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void config_defaults(struct config_reader *r, const struct config_table *t, void *to)
{
    const struct yaml_doc *reading = r->doc;
    size_t i;

    for (i = 0; i < t->n; i++) {
        const char *text = t->keys[i].default_value;
        struct source source = {.name = t->keys[i].path, .text = text, .len = strlen(text)};
        struct diagnostics none = DIAGNOSTICS_INIT;
        struct yaml_doc doc;

        if (*text == '(')
            continue;
        r->doc = &doc;
        if (yaml_read(&source, &none, &doc) ||
            !config_read_value(r, &t->keys[i], &doc.root, source.name, to))
            abort(); /* a programming error: the key's reader refuses its own default */
        yaml_release(&doc);
        diagnostics_release(&none);
    }
    r->doc = reading;
}

/* The names that are allowed directly under the prefix: keys and sections. Ends with NULL. */
static const char *const *names_under(struct config_reader *r, const struct config_table *t,
                                      const char *prefix)
{
    struct arena *a = &r->config->arena;
    const char **names = arena_alloc(a, (t->n + 1) * sizeof(*names));
    size_t i, n = 0, skip = strlen(prefix);

    for (i = 0; i < t->n; i++) {
        const char *rest;
        size_t len;

        if (strncmp(t->keys[i].path, prefix, skip) != 0)
            continue;
        rest = t->keys[i].path + skip;
        len = strcspn(rest, ".");
        if (!n || strlen(names[n - 1]) != len || strncmp(names[n - 1], rest, len) != 0)
            names[n++] = arena_memdup0(a, rest, len);
    }
    names[n] = NULL;
    return names;
}

static void read_pair(struct config_reader *r, const struct config_table *t, const char *path,
                      const char *what, const struct yaml *node, void *to,
                      const struct yaml **nodes)
{
    char longer[160];
    size_t i;

    for (i = 0; i < t->n; i++)
        if (!strcmp(t->keys[i].path, path)) {
            if (config_read_value(r, &t->keys[i], node, what, to))
                nodes[i] = node;
            return;
        }
    snprintf(longer, sizeof(longer), "%s.max", path);
    if (node->kind == YAML_INT && !strcmp(longer, "retry.max"))
        read_pair(r, t, longer, longer, node, to, nodes);
    else if (node->kind != YAML_NULL) { /* null: a section with all its lines commented out */
        snprintf(longer, sizeof(longer), "%s.", path);
        config_read_map(r, t, longer, what, node, to, nodes);
    }
}

void config_read_map(struct config_reader *r, const struct config_table *t, const char *prefix,
                     const char *what, const struct yaml *map, void *to, const struct yaml **nodes)
{
    const char *const *names = names_under(r, t, prefix);
    size_t i, k;

    if (!yaml_is_map(r->doc, map, *what ? what : "the configuration"))
        return;
    (void)yaml_known_keys(r->doc, map, what, names);
    for (i = 0; i < map->n; i++) {
        const struct yaml_pair *p = yaml_pair(map, i);
        char path[160], name[200];

        for (k = 0; names[k] && strcmp(names[k], p->key.text); k++)
            ;
        if (!names[k])
            continue;
        snprintf(path, sizeof(path), "%s%s", prefix, names[k]);
        snprintf(name, sizeof(name), "%s%s%s", what, *what ? "." : "", names[k]);
        read_pair(r, t, path, name, &p->value, to, nodes);
    }
}
