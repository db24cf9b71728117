/* unclaimable.c - a job that waits, and that the database refuses to give out, must not keep others
 * from theirs, nor end one worker after the other. A turn that fails with nothing of its own to
 * write is made again with fewer claims, until the culprit is alone; that one is passed by for a
 * while. */
#include "engine/plan.h"

#define PASS_BY_FOR 60000000LL /* µs */

static bool is_blamable(int rc)
{
    return is_of_a_row(rc) && !is_hopeless(rc);
}

int pass_by(struct loop *l, int rc, struct err *err)
{
    struct unclaimable *u = &l->e->unclaimable;
    size_t n = l->claimed.n;
    bool alone = false;

    while (n && is_blamable(rc) && !alone) { /* at least once: it may have been of that moment */
        alone = n == 1;
        n = alone ? 1 : n / 2;
        rc = turn_run(l, (struct manner){.claims = n}, err);
    }
    if (!is_blamable(rc) || l->claimed.n != 1 || u->n == UNCLAIMABLE) /* many: none of them */
        return rc;
    err_prefix(err, "execution %lld can't be claimed, which is tried again in a minute",
               (long long)l->claimed.first);
    engine_note(l->e, err->msg);
    u->jobs[u->n] = l->claimed.first;
    u->until[u->n++] = engine_now(l->e) + PASS_BY_FOR;
    return 0;
}

int64_t passed_by_until(const struct engine *e)
{
    return e->unclaimable.n ? e->unclaimable.until[0] : 0; /* the first came first */
}

void pass_by_no_longer(struct engine *e)
{
    struct unclaimable *u = &e->unclaimable;
    int64_t now = engine_now(e);
    size_t i, kept = 0;

    for (i = 0; i < u->n; i++)
        if (u->until[i] > now) {
            u->jobs[kept] = u->jobs[i];
            u->until[kept++] = u->until[i];
        } else {
            e->hungry = UINT64_MAX;
        }
    u->n = kept;
}
