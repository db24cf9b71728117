/* quarantine.c - a short list of ids that are left alone for a time; see quarantine.h. */
#include "base/quarantine.h"

#include <string.h>

bool quarantine_add(struct quarantine *q, int64_t id, int64_t now)
{
    if (q->n == QUARANTINE_MAX)
        return false;
    q->ids[q->n] = id;
    q->until[q->n++] = now + QUARANTINE_FOR;
    return true;
}

bool quarantine_has(const struct quarantine *q, int64_t id)
{
    for (size_t i = 0; i < quarantine_count(q); i++)
        if (q->ids[i] == id)
            return true;
    return false;
}

size_t quarantine_count(const struct quarantine *q)
{
    return q ? q->n : 0;
}

int64_t quarantine_next(const struct quarantine *q)
{
    return q->n ? q->until[0] : 0;
}

bool quarantine_remove_expired(struct quarantine *q, int64_t now)
{
    size_t over = 0;

    while (over < q->n && q->until[over] <= now)
        over++;
    q->n -= over;
    memmove(q->ids, q->ids + over, q->n * sizeof(*q->ids));
    memmove(q->until, q->until + over, q->n * sizeof(*q->until));
    return over > 0;
}
