/* submissions.c - takes what other programs submitted by SQL (store/submissions.h). None of them
 * may stop the loop: what can't be stored is narrowed down until it is alone, tried once more, as
 * the fault may have been of that moment, and refused. */
#include "engine/internal.h"

#include "store/submissions.h"

#define SLICE 500

static int body(struct turn *t, void *arg, struct err *err)
{
    return op_submissions(t, arg, err);
}

struct refusal {
    int64_t id;
    const char *why;
};

static int refuse_body(struct turn *t, void *arg, struct err *err)
{
    const struct refusal *r = arg;

    return op_submission_refuse(t, r->id, r->why, err);
}

static void tell(const struct engine *e, const struct submission_round *r)
{
    size_t i;

    for (i = 0; e->env->note && i < r->nsaid; i++)
        e->env->note(e->env->arg, r->said[i]);
}

/* The turn failed, and not because of the database. */
static int narrow_down(struct engine *e, const struct submission_round *r, struct err *err)
{
    struct err why = *err, said;
    int rc;

    if (r->n > 1) {
        e->submission_slice = r->n / 2;
        return 0;
    }
    if (e->submission_failed != r->first) {
        e->submission_failed = r->first;
        e->submission_slice = 1;
        return 0;
    }
    err_prefix(&why, "it can't be stored");
    rc = store_turn(e->store, refuse_body, &(struct refusal){r->first, why.msg}, err);
    said = why;
    err_prefix(&said, "submission %lld was refused", (long long)r->first);
    if (!rc && e->env->note)
        e->env->note(e->env->arg, said.msg);
    return rc;
}

int submissions_take(struct engine *e, struct err *err)
{
    struct submission_round r = {.max = e->submission_slice ? e->submission_slice : SLICE};
    int rc = store_turn(e->store, body, &r, err);

    if (rc && (is_for_later(rc) || rc == -E_COMMIT_UNKNOWN || !r.n))
        return rc;
    if (rc)
        return narrow_down(e, &r, err);
    tell(e, &r);
    e->submission_slice = 0;
    e->submissions = r.n == r.max;
    e->look_for_timer |= (store_woke(e->store) & WAKE_TIMERS) != 0;
    if (store_woke(e->store) & WAKE_JOBS)
        e->hungry = UINT64_MAX;
    return 0;
}
