/* applied.h - the name of an applied workflow: what a caller expects of it, and the explanation of
 * a name that is not applied. For use inside the store only. */
#ifndef STORE_APPLIED_H
#define STORE_APPLIED_H

#include "store/ask.h"

/* Returns -E_NOT_FOUND with a sentence that says who deleted the name or, if nobody did, which
 * applied name is similar; any other code if the database can't be read. */
MUST_USE int applied_missing(struct ask_on on, const char *name, struct err *err);

/* Returns -E_NOT_FOUND for a name that is applied, but whose definition is not stored. */
MUST_USE int applied_definition_missing(const char *name, const char *hash, struct err *err);

/* Compares the definition that a name is bound to (NULL if none) with the one that the caller
 * expects: NULL accepts any, "" accepts only a name that is not applied. E_CONFLICT: they differ.
 */
MUST_USE int applied_check_match(const char *name, const char *expected, const char *hash,
                                 struct err *err);

#endif
