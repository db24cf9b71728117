/* submissions.h - SQL submissions as readers see them: waiting, taken, refused. */
#ifndef STORE_QUERY_SUBMISSIONS_H
#define STORE_QUERY_SUBMISSIONS_H

#include "store/store.h"

struct submission_list {
    struct submission_row {
        int64_t id, requested_at, decided_at; /* decided_at 0: it waits */
        int64_t execution;                    /* 0: it has none */
        int64_t delay;
        int priority;
        const char *workflow, *definition, *params;
        const char *queue, *key, *by; /* NULL: not told */
        const char *error;            /* NULL: it was not refused */
    } * at;
    size_t n;
    struct arena arena;
};
void submission_list_release(struct submission_list *l);

/* Which of them; the words are those of the view and the command line. */
#define SUBMISSION_STATES(X) X(WAITING, "waiting") X(TAKEN, "taken") X(REFUSED, "refused")
#define X(name, text)        SUBMISSION_##name,
enum submission_state { SUBMISSION_ANY, SUBMISSION_STATES(X) SUBMISSION_STATE_COUNT };
#undef X
extern const char *const submission_states[SUBMISSION_STATE_COUNT]; /* [SUBMISSION_ANY]: "" */
enum submission_state submission_state(const struct submission_row *r);

/* At most n: the newest first, those that wait in the order in which they are taken. */
MUST_USE int query_submissions(struct store *s, enum submission_state state, size_t n,
                               struct submission_list *out, struct err *err);
#define SUBMISSION_TOTAL_MOST 100000
/* How many wait, and how many were refused and not forgotten yet; more are not counted. */
struct submission_totals {
    int64_t waiting, refused;
    int64_t oldest; /* when the first that waits was requested; 0: none waits */
};
MUST_USE int query_submission_totals(struct store *s, struct submission_totals *out,
                                     struct err *err);
/* One; an empty list if there is none of this id. */
MUST_USE int query_submission(struct store *s, int64_t id, struct submission_list *out,
                              struct err *err);

#endif
