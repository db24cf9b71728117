/* attempts_fixture.h - a table of attempts in a test without an engine. */
#ifndef TESTS_ATTEMPTS_FIXTURE_H
#define TESTS_ATTEMPTS_FIXTURE_H

#include "base/mem.h"
#include "dispatch/dispatch.h"

#include <stdlib.h>

/* Adds the attempt of the job; if the table has it already, sets its epoch to the job's. */
static inline struct attempt *attempts_put(struct idmap *table, const struct job *j)
{
    struct attempt *a = attempts_get(table, j->execution, j->attempt);

    if (!a) {
        a = mem_zalloc(sizeof(*a));
        *a = (struct attempt){.execution = j->execution, .root = j->root, .attempt = j->attempt};
        idmap_put(table, j->execution, a);
    }
    a->epoch = j->epoch;
    return a;
}

static inline void attempts_release(struct idmap *table)
{
    for (size_t i = 0; i < table->cap; i++)
        if (table->keys[i])
            free(table->values[i]);
    idmap_release(table);
}

#endif
