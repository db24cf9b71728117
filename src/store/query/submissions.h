/* submissions.h - reads SQL submissions: waiting, taken or refused. */
#ifndef STORE_QUERY_SUBMISSIONS_H
#define STORE_QUERY_SUBMISSIONS_H

#include "store/store.h"

struct submission_row {
    int64_t id, requested_at, decided_at; /* decided_at is 0 while the submission waits */
    int64_t execution;                    /* execution that was created; 0 if none */
    int64_t delay;
    int priority;
    const char *workflow, *definition, *params;
    const char *queue, *key, *by; /* each is NULL if not given */
    const char *error;            /* reason of the refusal; NULL if it was not refused */
    int64_t source;               /* the run whose end submitted it; 0 for pawl_submit() */
};
STORE_LIST(submission_list, struct submission_row)

/* The states of submissions. Their texts are used by the view of the database and by the command
 * line. */
#define SUBMISSION_STATES(X) X(WAITING, "waiting") X(TAKEN, "taken") X(REFUSED, "refused")
#define X(name, text)        SUBMISSION_##name,
enum submission_state { SUBMISSION_ANY, SUBMISSION_STATES(X) SUBMISSION_STATE_COUNT };
#undef X
extern const char *const submission_states[SUBMISSION_STATE_COUNT]; /* the text of SUBMISSION_ANY is
                                                                       "" */
enum submission_state submission_state(const struct submission_row *r);

/* The place of a submission in the list of its state: those that were taken are ordered by
 * execution, those that were refused by decided_at. */
struct submission_place {
    int64_t at, id;
};
struct submission_place submission_place(const struct submission_row *r,
                                         enum submission_state list);
/* Lists at most n submissions that follow `after` (NULL: from the beginning), newest first; waiting
 * ones in the order in which workers take them. */
MUST_USE int query_submissions(struct store *s, enum submission_state state,
                               const struct submission_place *after, size_t n,
                               struct submission_list *out, struct err *err);
#define SUBMISSION_TOTAL_MOST 100000
/* Numbers of stored submissions that wait or were refused; each is counted up to
 * SUBMISSION_TOTAL_MOST. */
struct submission_totals {
    int64_t waiting, refused;
    int64_t oldest; /* when the oldest waiting submission was requested; 0 if none waits */
};
MUST_USE int query_submission_totals(struct store *s, struct submission_totals *out,
                                     struct err *err);
/* Reads one submission; the list is empty if the id does not exist. */
MUST_USE int query_submission(struct store *s, int64_t id, struct submission_list *out,
                              struct err *err);

#endif
