/* verify.h - checks a whole database against its invariants. Most are queries that must return no
 * row. */
#ifndef STORE_VERIFY_VERIFY_H
#define STORE_VERIFY_VERIFY_H

#include "store/store.h"

struct violation {
    const char *invariant; /* "I06" */
    int64_t execution;     /* 0 if the violation concerns no single execution */
    const char *detail;    /* one sentence: the actual and the expected state */
};

struct verify_options {
    int64_t lease;        /* the longest lease in use, µs; 0 for the default, 30 s */
    const char *save;     /* write a checkpoint to this file afterwards */
    const char *since;    /* compare with this checkpoint */
    size_t max_per_check; /* violations reported per invariant; 0 for the default, 20 */
    void (*report)(void *arg, const struct violation *b);
    void *arg;
};

struct verify_result {
    size_t checks;     /* invariants checked */
    size_t violations; /* how many were found, at most max_per_check of each */
    int64_t executions, events;
};

/* Returns 0 even if violations were found: the result counts them. Reads one snapshot and takes no
 * locks; inside a transaction that the caller has started it checks what that transaction sees. */
MUST_USE int store_verify(struct store *s, const struct verify_options *o,
                          struct verify_result *out, struct err *err);

/* All invariants, for docs and the self-test: the code, and the condition that must hold. */
struct invariant {
    const char *code, *text;
};
extern const struct invariant invariants[];
extern const size_t invariant_count;

#endif
