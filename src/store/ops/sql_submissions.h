/* sql_submissions.h - SQL submissions, which other programs make in their own transactions:
 * pawl_submit() writes a row into `submissions` (migrations/0007_sql.sql), and an engine creates an
 * execution from it.
 *
 *   waiting --op_accept_submissions--> taken (it has an execution) | refused (it has an error)
 *
 * The row and the execution change in one transaction, under the row's lock, so a submission is
 * taken exactly once, even if many engines run or one of them dies. */
#ifndef STORE_OPS_SQL_SUBMISSIONS_H
#define STORE_OPS_SQL_SUBMISSIONS_H

#include "store/store.h"

struct submission_slice {
    size_t max; /* how many submissions to take at most in this turn */

    /* out */
    size_t n;      /* result: how many waiting submissions were found */
    int64_t first; /* result: id of the first submission found; 0 if none */
    /* Result: one message for each refused submission; live until the store's next turn. */
    const char **messages;
    size_t nmessages;
};
/* Accepts or refuses waiting submissions. The reason for a refusal is stored in its row. If the
 * whole turn fails, `n` and `first` show which submissions it was processing. */
MUST_USE int op_accept_submissions(struct turn *t, struct submission_slice *r, struct err *err);

/* Creates the execution of a waiting submission, but does not start it: the caller cancels it in
 * this turn. Does nothing if the submission was already taken or refused. */
MUST_USE int op_create_submission(struct turn *t, int64_t id, struct err *err);

/* Refuses a waiting submission that can't be stored. */
MUST_USE int op_refuse_submission(struct turn *t, int64_t id, const char *why, struct err *err);

#endif
