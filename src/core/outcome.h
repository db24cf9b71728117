/* outcome.h - what an executor reports about an attempt that ended. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include "core/vocab.h"

#include <stdint.h>

struct outcome {
    enum outcome_kind kind;
    bool has_exit_code;
    int exit_code;
    int signal;          /* 0: none */
    const char *result;  /* JSON of the outputs, for ok; NULL: none */
    const char *error;   /* for all but ok; never empty */
    int64_t duration;    /* µs the attempt ran; -1: unknown */
    int64_t cpu;         /* µs of processor time it used; 0: unknown */
    int64_t peak_memory; /* bytes; 0: unknown */
    int64_t retry_delay; /* µs until the next try; -1: do not retry. Deferred: until then. Refused:
                            back-off */
};

#endif
