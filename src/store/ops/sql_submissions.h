/* sql_submissions.h - SQL submissions, made by other programs in their own transactions:
 * pawl_submit() writes a row into `submissions` (migrations/0007_sql.sql), and an engine creates an
 * execution from it.
 *
 *   waiting --op_accept_submissions--> taken (it has an execution) | refused (it has an error)
 *
 * The row and the execution change in one transaction, under the row's lock, so a submission is
 * taken once, however many engines run and whenever one of them dies. */
#ifndef STORE_OPS_SQL_SUBMISSIONS_H
#define STORE_OPS_SQL_SUBMISSIONS_H

#include "store/store.h"

struct submission_slice {
    size_t max; /* at most this many in one turn */

    /* out */
    size_t n;              /* how many waiting submissions were found */
    int64_t first;         /* the id of the first of them; 0 if none */
    const char **messages; /* one for each refused submission; live until the store's next turn */
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
