/* sql_submissions.h - what other programs submit by SQL, in transactions of their own:
 * pawl_submit() writes a row into `submissions` (migrations/0007_sql.sql), and an engine makes an
 * execution of it.
 *
 *   waiting --op_accept_submissions--> taken (it has an execution) | refused (it has an error)
 *
 * The row and the execution change in one transaction, under the row's lock: it is taken once,
 * however many engines look and whenever one of them dies. */
#ifndef STORE_OPS_SQL_SUBMISSIONS_H
#define STORE_OPS_SQL_SUBMISSIONS_H

#include "store/store.h"

struct submission_slice {
    size_t max; /* so many in this turn */

    /* out */
    size_t n;              /* as many were there to be taken */
    int64_t first;         /* the first of them; 0: there was none */
    const char **messages; /* of those that were refused; live until the store's next turn */
    size_t nmessages;
};
/* Takes those that wait. What is wrong with one is kept in its row. An error is that of the whole
 * turn; `n` and `first` tell then what it was about. */
MUST_USE int op_accept_submissions(struct turn *t, struct submission_slice *r, struct err *err);

/* Refuses one that waits, because nobody could store it. */
MUST_USE int op_refuse_submission(struct turn *t, int64_t id, const char *why, struct err *err);

#endif
