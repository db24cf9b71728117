/* applied.c - checks the names of applied workflows; see applied.h. */
#include "store/applied.h"

#include "base/suggest.h"
#include "base/text.h"

#include <string.h>

#define NAMES_COMPARED 1000 /* number of applied names that are searched for a similar one */

/* Sets an error that says who deleted the name. Returns 0 if no deletion is recorded. */
static int explain_deletion(struct ask_on on, const char *name, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    char at[TIME_TEXT_SIZE];
    const char *reason;

    TRY(ask_rows(on, &r, err, Q_APPLIED_DELETED, VALS(name)));
    if (!r.n)
        return 0;
    text_time(rows_int(&r, 0, 0), at);
    reason = rows_text(&r, 0, 2);
    return err_set(err, E_NOT_FOUND,
                   "no workflow is applied under the name %.100s: %.100s deleted it at %.19sZ"
                   "%s%.200s%s; `pawl workflow versions %.100s` lists the definitions that it had",
                   name, rows_null(&r, 0, 1) ? "somebody" : rows_text(&r, 0, 1), at,
                   reason ? " (" : "", reason ? reason : "", reason ? ")" : "", name);
}

int applied_missing(struct ask_on on, const char *name, struct err *err)
{
    struct suggestion s = suggest_for(name);
    AUTO_ROWS r = ROWS_INIT;

    TRY(explain_deletion(on, name, err));
    TRY(ask_rows(on, &r, err, Q_APPLIED_NAMES, VALS(NAMES_COMPARED)));
    for (size_t i = 0; i < r.n; i++)
        suggest_try(&s, rows_text(&r, i, 0));
    if (s.best)
        return err_set(err, E_NOT_FOUND,
                       "no workflow is applied under the name %.100s; did you mean %s?", name,
                       s.best);
    return err_set(err, E_NOT_FOUND,
                   "no workflow is applied under the name %.100s: `pawl workflow` lists those that "
                   "are, `pawl apply FILE` adds one",
                   name);
}

int applied_definition_missing(const char *name, const char *hash, struct err *err)
{
    return err_set(err, E_NOT_FOUND,
                   "the definition of the workflow %.100s, %s, is missing from the database: apply "
                   "the workflow again",
                   name, hash);
}

int applied_check_match(const char *name, const char *expected, const char *hash, struct err *err)
{
    if (!expected || !strcmp(expected, hash ? hash : ""))
        return 0;
    if (!hash)
        return err_set(err, E_CONFLICT,
                       "the workflow %.100s is not applied, but its definition was expected to be "
                       "%.40s: somebody has deleted it",
                       name, expected);
    if (!*expected)
        return err_set(err, E_CONFLICT,
                       "the workflow %.100s is already applied; its definition is %s", name, hash);
    return err_set(err, E_CONFLICT,
                   "the definition of the workflow %.100s is %s, not %.40s: somebody has changed "
                   "it, so read it again",
                   name, hash, expected);
}
