/* submissions.c - takes what other programs submitted by SQL (store/submissions.h). None of them
 * may stop the loop: what can't be stored is refused. */
#include "engine/internal.h"

#include "store/submissions.h"

#define SLICE 500

static int body(struct turn *t, void *arg, struct err *err)
{
    return op_submissions(t, arg, err);
}

static int take(struct engine *e, void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct submission_round *r = arg;
    size_t i;
    int rc;

    *r = (struct submission_round){.max = max};
    rc = store_turn(e->store, body, r, err);
    *seen = (struct rows_seen){r->n, r->first};
    if (rc)
        return rc;
    for (i = 0; i < r->nsaid; i++)
        engine_note(e, r->said[i]);
    e->look_for_timer |= (store_woke(e->store) & WAKE_TIMERS) != 0;
    if (store_woke(e->store) & WAKE_JOBS)
        e->hungry = UINT64_MAX;
    return 0;
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

static int refuse(struct engine *e, void *arg, const struct err *failed, struct err *err)
{
    const struct submission_round *r = arg;
    struct err why = *failed;
    int rc;

    err_prefix(&why, "it can't be stored");
    rc = store_turn(e->store, refuse_body, &(struct refusal){r->first, why.msg}, err);
    if (rc)
        return rc;
    err_prefix(&why, "submission %lld was refused", (long long)r->first);
    engine_note(e, why.msg);
    return 0;
}

int submissions_take(struct engine *e, struct err *err)
{
    static const struct rows_work submissions = {SLICE, take, refuse};
    struct submission_round r;
    int rc = narrow_down(e, &submissions, &r, &e->taken, err);

    if (!rc)
        e->submissions = e->taken.again || r.n == r.max;
    return rc;
}
