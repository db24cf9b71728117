/* sql_submissions.c - accepts SQL submissions (store/ops/sql_submissions.h). A submission that
 * can't be stored is refused, so that it does not stop the engine. */
#include "engine/engine_internal.h"

#include "store/ops/sql_submissions.h"

#define SLICE 500

static int submissions_body(struct turn *t, void *arg, struct err *err)
{
    return op_accept_submissions(t, arg, err);
}

static int accept_submissions(struct engine *e, void *arg, size_t max, struct rows_seen *seen,
                              struct err *err)
{
    struct submission_slice *r = arg;
    size_t i;
    int rc;

    *r = (struct submission_slice){.max = max};
    rc = store_turn(e->store, submissions_body, r, err);
    *seen = (struct rows_seen){r->n, r->first};
    if (rc)
        return rc;
    for (i = 0; i < r->nmessages; i++)
        engine_note(e, r->messages[i]);
    e->next_due_unknown |= (store_last_wake(e->store) & WAKE_TIMERS) != 0;
    if (store_last_wake(e->store) & WAKE_JOBS)
        e->lanes_to_poll = UINT64_MAX;
    return 0;
}

struct refusal {
    int64_t id;
    const char *why;
};

static int refuse_body(struct turn *t, void *arg, struct err *err)
{
    const struct refusal *r = arg;

    return op_refuse_submission(t, r->id, r->why, err);
}

static int refuse_first(struct engine *e, void *arg, const struct err *failed, struct err *err)
{
    const struct submission_slice *r = arg;
    struct err why = *failed;
    int rc;

    err_prefix(&why, "the submission can't be stored");
    rc = store_turn(e->store, refuse_body, &(struct refusal){r->first, why.msg}, err);
    if (rc)
        return rc;
    err_prefix(&why, "submission %lld was refused", (long long)r->first);
    engine_note(e, why.msg);
    return 0;
}

int sql_submissions_take(struct engine *e, struct err *err)
{
    static const struct rows_work submissions = {SLICE, accept_submissions, refuse_first};
    struct submission_slice r;
    int rc = bisect_rows(e, &submissions, &r, &e->bisect_submissions, err);

    if (!rc)
        e->submissions = e->bisect_submissions.more_rows || r.n == r.max;
    return rc;
}
