/* map.c - reads a mapping by the table of keys. */
#include "base/suggest.h"
#include "parse/workflow/reader.h"

#include <string.h>

static bool fits(const struct key *k, unsigned places)
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
        if (fits(k, places)) {
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
    const char *why = places & KEY_COMMON                              ? "in defaults"
                      : places & KEY_HOOKS && !(k->places & KEY_HOOKS) ? "after all other tasks"
                      : places & KEY_NESTED && !strcmp(k->name, "env") ? "for a nested workflow: "
                                                                         "pass values by with"
                      : places & KEY_NESTED                            ? "for a nested workflow"
                                                                       : "for a function";

    yaml_error(r->doc, key, "%s.%s has no meaning %s", what, k->name, why);
}

void reader_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                 const char *what, unsigned places, void *to)
{
    enum scope around = r->scope;
    char name[WHAT_SIZE];
    size_t i;

    if (!yaml_is_map(r->doc, map, *what ? what : "a workflow"))
        return;
    for (i = 0; i < map->n; i++) {
        const struct yaml_pair *p = yaml_pair(map, i);
        const struct key *k = key_find(keys, p->key.text);

        if (!k && p->key.n)
            reader_unknown_key(r, keys, &p->key, what, places);
        else if (k && !fits(k, places))
            misplaced_key(r, k, &p->key, what, places);
        else if (k) {
            r->scope = k->scope ? k->scope : around;
            (void)reader_key(r, k, &p->value, reader_what(name, what, k->name), to);
        }
    }
    r->scope = around;
}
