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

void submission_list_release(struct submission_list *l)
{
    arena_release(&l->arena);
    *l = (struct submission_list){0};
}

static void add_submission(struct submission_list *out, const struct rows *r, size_t row)
{
    struct arena *a = &out->arena;

    out->at[out->n++] = (struct submission_row){
        .id = rows_int(r, row, 0),
        .requested_at = rows_int(r, row, 1),
        .decided_at = rows_int(r, row, 2),
        .execution = rows_int(r, row, 3),
        .delay = rows_int(r, row, 4),
        .priority = (int)rows_int(r, row, 5),
        .workflow = arena_strdup(a, rows_text(r, row, 6)),
        .definition = arena_strdup(a, rows_text(r, row, 7)),
        .params = arena_strdup(a, rows_text(r, row, 8)),
        .queue = arena_strdup(a, rows_text(r, row, 9)),
        .key = arena_strdup(a, rows_text(r, row, 10)),
        .by = arena_strdup(a, rows_text(r, row, 11)),
        .error = arena_strdup(a, rows_text(r, row, 12)),
    };
}

static int read_submissions(struct store *s, enum stmt_id q, int64_t number,
                            struct submission_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&a, q);
    args_int(&a, number);
    if (!(rc = query_run(s, &a, &r, err))) {
        *out = (struct submission_list){0};
        out->at = arena_zalloc(&out->arena, (r.n + 1) * sizeof(*out->at));
        for (i = 0; i < r.n; i++)
            add_submission(out, &r, i);
    }
    rows_release(&r);
    args_release(&a);
    return rc;
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
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_SUBMISSION_TOTALS);
    args_int(&a, SUBMISSION_TOTAL_MOST);
    if (!(rc = query_run(s, &a, &r, err)))
        *out = (struct submission_totals){.waiting = rows_int(&r, 0, 0),
                                          .refused = rows_int(&r, 0, 1),
                                          .oldest = rows_int(&r, 0, 2)};
    rows_release(&r);
    args_release(&a);
    return rc;
}
