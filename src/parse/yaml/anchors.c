/* anchors.c - keeps the anchors of a YAML document; see anchors.h. */
#include "parse/yaml/anchors.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct anchor *)a)->name, ((const struct anchor *)b)->name);
}

struct anchor *anchor_find(const struct anchors *as, const char *name)
{
    struct anchor wanted = {.name = (char *)(uintptr_t)name};
    struct anchor **found = tfind(&wanted, &as->tree, compare);

    return found ? *found : NULL;
}

struct anchor *anchor_open(struct anchors *as, const char *name)
{
    struct anchor *a = anchor_find(as, name);

    if (!a) {
        a = mem_zalloc(sizeof(*a));
        a->name = mem_strdup(name);
        if (!tsearch(a, &as->tree, compare))
            abort(); /* out of memory; see base/mem.h */
    }
    a->open = true;
    return a;
}

static void free_anchor(void *p)
{
    struct anchor *a = p;

    free(a->name);
    free(a);
}

void anchors_release(struct anchors *as)
{
    tdestroy(as->tree, free_anchor);
    as->tree = NULL;
}
