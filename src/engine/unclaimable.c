/* unclaimable.c - a job that waits, or an orphan, and that the database refuses to give out, must
 * not keep others from theirs, nor end one worker after the other. A turn that fails with nothing
 * of its own to write is made again and takes less, until the culprit is alone; that one is set
 * aside. */
#include "engine/plan.h"

static bool is_blamable(int rc)
{
    return is_of_a_row(rc) && !is_hopeless(rc);
}

int find_unclaimable(struct loop *l, int rc, struct err *err)
{
    const struct taken *taken = &l->taken;
    size_t n = taken->n;
    bool alone = false;

    while (n && is_blamable(rc) && !alone) { /* at least once: it may have been of that moment */
        alone = n == 1;
        n = alone ? 1 : n / 2;
        rc = turn_run(l, (struct manner){.takes = n}, err);
    }
    if (!is_blamable(rc) || taken->n != 1 ||
        !aside_add(&l->e->unclaimable, taken->first, engine_now(l->e))) /* many: none of them */
        return rc;
    err_prefix(err, "execution %lld can't be %s, which is tried again in a minute",
               (long long)taken->first, taken->adopted ? "adopted" : "claimed");
    engine_note(l->e, err->msg);
    return 0;
}

void try_unclaimable_again(struct engine *e)
{
    if (aside_return(&e->unclaimable, engine_now(e))) {
        e->hungry = UINT64_MAX;
        e->adopt = true;
    }
}
