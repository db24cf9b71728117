/* verify.h - checks a whole database against its invariants. Most are queries that must return no
 * row. */
#ifndef STORE_VERIFY_VERIFY_H
#define STORE_VERIFY_VERIFY_H

#include "store/store.h"

struct violation {
    const char *invariant; /* "I06" */
    /* The execution that violates the invariant; 0 if there is no such single execution. */
    int64_t execution;
    const char *detail; /* a sentence with the actual and the expected state */
};

struct verify_options {
    int64_t lease;     /* the longest lease in use, in µs; 0 for the default, 30 s */
    const char *save;  /* file to which a checkpoint is written afterwards; NULL for none */
    const char *since; /* checkpoint file with which to compare; NULL for none */
    /* How many violations are reported per invariant; 0 for the default, 20. */
    size_t max_per_check;
    void (*report)(void *arg, const struct violation *b);
    void *arg;
};

struct verify_result {
    size_t checks; /* invariants checked */
    /* How many violations were found, at most max_per_check for each invariant. */
    size_t violations;
    int64_t executions, events;
};

/* Checks the whole database. Returns 0 even if violations were found: the result counts them. Reads
 * one snapshot and takes no locks. If the caller has started a transaction, checks the database as
 * that transaction sees it. */
MUST_USE int store_verify(struct store *s, const struct verify_options *o,
                          struct verify_result *out, struct err *err);

/* All invariants, for the documentation and the self-test: code, and the condition that must
 * hold. */
struct invariant {
    const char *code, *text;
};
extern const struct invariant invariants[];
extern const size_t invariant_count;

#endif
