/* sql_submissions.c - accepts SQL submissions (store/ops/sql_submissions.h). A submission that
 * can't be stored is refused, so that it does not stop the engine. */
#include "engine/engine_internal.h"

#include "store/ops/sql_submissions.h"

#define SLICE 500

struct waiting {
    struct engine *e;
    struct submission_slice r;
    const char *why; /* to refuse the first */
};

static int submissions_body(struct turn *t, void *arg, struct err *err)
{
    return op_accept_submissions(t, &((struct waiting *)arg)->r, err);
}

static int accept_submissions(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct waiting *w = arg;
    struct submission_slice *r = &w->r;
    struct engine *e = w->e;
    size_t i;
    int rc;

    *r = (struct submission_slice){.max = max};
    rc = store_turn(e->store, submissions_body, w, err);
    *seen = (struct rows_seen){r->n, r->first};
    if (rc)
        return rc;
    for (i = 0; i < r->nmessages; i++)
        engine_note(e, r->messages[i]);
    e->next_due_unknown |= (store_last_wake(e->store) & WAKE_TIMERS) != 0;
    if (store_last_wake(e->store) & WAKE_JOBS)
        e->groups_to_poll = UINT64_MAX;
    return 0;
}

static int refuse_body(struct turn *t, void *arg, struct err *err)
{
    const struct waiting *w = arg;

    return op_refuse_submission(t, w->r.first, w->why, err);
}

static int refuse_first(void *arg, struct err *err)
{
    struct waiting *w = arg;
    struct err why = *err;
    int rc;

    err_prefix(&why, "the submission can't be stored");
    w->why = why.msg;
    if ((rc = store_turn(w->e->store, refuse_body, w, err)))
        return rc;
    err_prefix(&why, "submission %lld was refused", (long long)w->r.first);
    engine_note(w->e, why.msg);
    return 0;
}

int sql_submissions_take(struct engine *e, struct err *err)
{
    static const struct bisect_work submissions = {accept_submissions, refuse_first};
    struct waiting w = {.e = e};
    int rc = bisect(&submissions, &w, SLICE, &e->bisect_submissions, err);

    if (!rc)
        e->submissions = e->bisect_submissions.more_rows || w.r.n == w.r.max;
    return rc;
}
