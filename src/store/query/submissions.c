/* submissions.c - reads SQL submissions; see submissions.h. */
#include "store/query/submissions.h"
#include "store/query/query_internal.h"

#define X(name, text) [SUBMISSION_##name] = text,
const char *const submission_states[SUBMISSION_STATE_COUNT] = {[SUBMISSION_ANY] = "",
                                                               SUBMISSION_STATES(X)};
#undef X

enum submission_state submission_state(const struct submission_row *r)
{
    return r->error ? SUBMISSION_REFUSED : r->execution ? SUBMISSION_TAKEN : SUBMISSION_WAITING;
}

static int read_submissions(struct store *s, enum stmt_id q, int64_t number,
                            struct submission_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, q, number));
    LIST_ALLOC(out, r.n);
    for (size_t i = 0; i < r.n; i++) {
        struct submission_row *o = &out->at[i];

        rows_read(&r, i, 0, &out->arena, &o->id, &o->requested_at, &o->decided_at, &o->execution,
                  &o->delay, &o->priority, &o->workflow, &o->definition, &o->params, &o->queue,
                  &o->key, &o->by, &o->error, &o->source);
    }
    return 0;
}

int query_submissions(struct store *s, enum submission_state state, size_t n,
                      struct submission_list *out, struct err *err)
{
    static const enum stmt_id by_state[] = {[SUBMISSION_ANY] = Q_QUERY_SUBMISSIONS,
                                            [SUBMISSION_WAITING] = Q_QUERY_SUBMISSIONS_WAITING,
                                            [SUBMISSION_TAKEN] = Q_QUERY_SUBMISSIONS_TAKEN,
                                            [SUBMISSION_REFUSED] = Q_QUERY_SUBMISSIONS_REFUSED};

    return read_submissions(s, by_state[state], (int64_t)n, out, err);
}

int query_submission(struct store *s, int64_t id, struct submission_list *out, struct err *err)
{
    return read_submissions(s, Q_QUERY_SUBMISSION, id, out, err);
}

int query_submission_totals(struct store *s, struct submission_totals *out, struct err *err)
{
    return ask_one(s, INTO(&out->waiting, &out->refused, &out->oldest), err,
                   Q_QUERY_SUBMISSION_TOTALS, SUBMISSION_TOTAL_MOST);
}
