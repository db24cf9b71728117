/* applied.h - names of applied workflows: checks that a name is bound to the definition that a
 * caller expects, and explains why a name is not applied. For use inside the store only. */
#ifndef STORE_APPLIED_H
#define STORE_APPLIED_H

#include "store/ask.h"

/* Returns -E_NOT_FOUND for a name that is not applied. The sentence says who deleted the name or,
 * if nobody did, which applied name is similar. Returns another code if the database can't be
 * read. */
MUST_USE int applied_missing(struct ask_on on, const char *name, struct err *err);

/* Returns -E_NOT_FOUND for a name that is applied, but whose definition is not stored. */
MUST_USE int applied_definition_missing(const char *name, const char *hash, struct err *err);

/* Compares the definition that a name is bound to (NULL if none) with the definition that the
 * caller expects. An `expected` of NULL accepts any definition, "" accepts only a name that is not
 * applied. -E_CONFLICT if they differ. */
MUST_USE int applied_check_match(const char *name, const char *expected, const char *hash,
                                 struct err *err);

#endif
