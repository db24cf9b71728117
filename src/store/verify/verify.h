/* verify.h - checks a whole database against its invariants; each is a query that must return no
 * row. */
#ifndef STORE_VERIFY_VERIFY_H
#define STORE_VERIFY_VERIFY_H

#include "store/store.h"

struct breach {
    const char *invariant; /* "I06" */
    int64_t execution;     /* 0: none in particular */
    const char *detail;    /* one sentence: what is, and what should be */
};

struct verify_options {
    int64_t lease;        /* the longest lease in use, µs; 0: 30 s */
    const char *save;     /* write a checkpoint to this file afterwards */
    const char *since;    /* compare with this checkpoint */
    size_t max_per_check; /* breaches reported of each invariant; 0: 20 */
    void (*report)(void *arg, const struct breach *b);
    void *arg;
};

struct verify_result {
    size_t checks;   /* invariants looked at */
    size_t breaches; /* found, at most max_per_check of each */
    int64_t executions, events;
};

/* 0 also when breaches were found: the result counts them. One snapshot, no locks; inside a
 * transaction that the caller has begun it looks at what that one sees. */
MUST_USE int store_verify(struct store *s, const struct verify_options *o,
                          struct verify_result *out, struct err *err);

/* The list, for docs and the self-test: code and what must hold. */
struct invariant {
    const char *code, *text;
};
extern const struct invariant invariants[];
extern const size_t invariant_count;

#endif
