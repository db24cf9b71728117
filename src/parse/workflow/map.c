/* map.c - reads a mapping by its key table. */
#include "base/suggest.h"
#include "parse/workflow/reader.h"

#include <string.h>

static bool is_allowed(const struct key *k, unsigned places)
{
    return !places || (k->places & places) == places;
}

void reader_unknown_key(struct reader *r, const struct keys *keys, const struct yaml *key,
                        const char *what, unsigned places)
{
    struct suggestion s = suggest_for(key->text);
    const char *in = *what ? " in " : "", *meant = NULL;
    const struct key *k;

    for (k = keys->at; k->name && !diagnostics_full(r->doc->diagnostics); k++)
        if (is_allowed(k, places)) {
            suggest_try(&s, k->name);
            meant = key_is_elsewhere(k, key->text) ? k->name : meant;
        }
    meant = meant ? meant : s.best;
    if (meant)
        yaml_error(r->doc, key, "there is no key \"%.60s\"%s%s: did you mean \"%s\"?", key->text,
                   in, what, meant);
    else
        yaml_error(r->doc, key, "there is no key \"%.60s\"%s%s", key->text, in, what);
}

static void misplaced_key(struct reader *r, const struct key *k, const struct yaml *key,
                          const char *what, unsigned places)
{
    const char *where = "with a function";

    if (places & KEY_COMMON)
        where = "in defaults";
    else if (places & KEY_HOOKS && !(k->places & KEY_HOOKS))
        where = "in a task that runs after all others";
    else if (places & KEY_NESTED)
        where = strcmp(k->name, "env") ? "with a nested workflow"
                                       : "with a nested workflow: pass values in with";

    yaml_error(r->doc, key, "%s.%s can't be used %s", what, k->name, where);
}

void reader_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                 const char *what, unsigned places, void *to)
{
    enum scope outer = r->scope;
    char name[WHAT_SIZE];
    size_t i;

    if (!yaml_is_map(r->doc, map, *what ? what : "the workflow"))
        return;
    for (i = 0; i < map->n; i++) {
        const struct yaml_pair *p = yaml_pair(map, i);
        const struct key *k = key_find(keys, p->key.text);

        if (!k && p->key.n)
            reader_unknown_key(r, keys, &p->key, what, places);
        else if (k && !is_allowed(k, places))
            misplaced_key(r, k, &p->key, what, places);
        else if (k) {
            r->scope = k->scope ? k->scope : outer;
            (void)reader_key(r, k, &p->value, reader_what(name, what, k->name), to);
        }
    }
    r->scope = outer;
}
