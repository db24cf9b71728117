/* outcome.h - how an attempt ended, as its executor reports it. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include "core/vocab.h"

#include <stdint.h>

struct outcome {
    enum outcome_kind kind;
    bool has_exit_code;
    int exit_code;
    int signal;          /* signal that ended the attempt; 0 if none */
    const char *result;  /* outputs as JSON, if the outcome is ok; NULL if none */
    const char *error;   /* never empty, unless the outcome is ok */
    int64_t duration;    /* µs that the attempt ran; -1 if unknown */
    int64_t cpu;         /* µs of processor time used; 0 if unknown */
    int64_t peak_memory; /* bytes; 0 if unknown */
    /* For a refused attempt: not 0 if it is proved that the attempt never started; settling sets
     * it to the number of such attempts in a row. */
    int unstarted;
    /* µs until the next attempt, -1 for no retry; for a deferred attempt, µs until the requested
     * time; for a refused one, the back-off. */
    int64_t retry_delay;
};

#endif
