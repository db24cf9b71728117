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

struct submission_place submission_place(const struct submission_row *r, enum submission_state list)
{
    return (struct submission_place){.at = list == SUBMISSION_TAKEN     ? r->execution
                                           : list == SUBMISSION_REFUSED ? r->decided_at
                                                                        : 0,
                                     .id = r->id};
}

static int read_rows(const struct rows *r, struct submission_list *out)
{
    LIST_ALLOC(out, r->n);
    for (size_t i = 0; i < r->n; i++) {
        struct submission_row *o = &out->at[i];

        rows_read(r, i, 0, &out->arena, &o->id, &o->requested_at, &o->decided_at, &o->execution,
                  &o->delay, &o->priority, &o->workflow, &o->definition, &o->params, &o->queue,
                  &o->key, &o->by, &o->error, &o->source);
    }
    return 0;
}

int query_submissions(struct store *s, enum submission_state state,
                      const struct submission_place *after, size_t n, struct submission_list *out,
                      struct err *err)
{
    struct submission_place p = after ? *after : (struct submission_place){END_OF_TIME, INT64_MAX};
    AUTO_ROWS r = ROWS_INIT;

    p.at = p.at < END_OF_TIME ? p.at : END_OF_TIME;
    switch (state) {
    case SUBMISSION_WAITING:
        TRY(ask(s, &r, err, Q_QUERY_SUBMISSIONS_WAITING, after ? p.id : 0, (int64_t)n));
        break;
    case SUBMISSION_TAKEN:
        TRY(ask(s, &r, err, Q_QUERY_SUBMISSIONS_TAKEN, p.at, p.id, (int64_t)n));
        break;
    case SUBMISSION_REFUSED:
        TRY(ask(s, &r, err, Q_QUERY_SUBMISSIONS_REFUSED, p.at, p.id, (int64_t)n));
        break;
    default:
        TRY(ask(s, &r, err, Q_QUERY_SUBMISSIONS, p.id, (int64_t)n));
    }
    return read_rows(&r, out);
}

int query_submission(struct store *s, int64_t id, struct submission_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_SUBMISSION, id));
    return read_rows(&r, out);
}

int query_submission_totals(struct store *s, struct submission_totals *out, struct err *err)
{
    return ask_one(s, INTO(&out->waiting, &out->refused, &out->oldest), err,
                   Q_QUERY_SUBMISSION_TOTALS, SUBMISSION_TOTAL_MOST);
}
