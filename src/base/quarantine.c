/* quarantine.c - see quarantine.h. */
#include "base/quarantine.h"

#include <string.h>

bool quarantine_add(struct quarantine *a, int64_t id, int64_t now)
{
    if (a->n == QUARANTINE_MAX)
        return false;
    a->ids[a->n] = id;
    a->until[a->n++] = now + QUARANTINE_FOR;
    return true;
}

bool quarantine_has(const struct quarantine *a, int64_t id)
{
    for (size_t i = 0; i < quarantine_count(a); i++)
        if (a->ids[i] == id)
            return true;
    return false;
}

size_t quarantine_count(const struct quarantine *a)
{
    return a ? a->n : 0;
}

int64_t quarantine_next(const struct quarantine *a)
{
    return a->n ? a->until[0] : 0;
}

bool quarantine_remove_expired(struct quarantine *a, int64_t now)
{
    size_t over = 0;

    while (over < a->n && a->until[over] <= now)
        over++;
    a->n -= over;
    memmove(a->ids, a->ids + over, a->n * sizeof(*a->ids));
    memmove(a->until, a->until + over, a->n * sizeof(*a->until));
    return over > 0;
}
