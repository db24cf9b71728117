/* outcome.h - how an attempt ended, as its executor reports it. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H

#include "core/vocab.h"

#include <stdint.h>

struct outcome {
    enum outcome_kind kind;
    bool has_exit_code;
    int exit_code;
    int signal;          /* 0 if none */
    const char *result;  /* if ok: JSON of the outputs; NULL if none */
    const char *error;   /* if not ok: never empty */
    int64_t duration;    /* µs that the attempt ran; -1 if unknown */
    int64_t cpu;         /* µs of processor time used; 0 if unknown */
    int64_t peak_memory; /* bytes; 0 if unknown */
    int unstarted; /* if refused: not 0 if it is proved that the attempt never started; settling the
                      attempt sets it to the number of such attempts in a row */
    int64_t retry_delay; /* µs until the next attempt, -1 for no retry; if deferred: µs until the
                            requested time; if refused: back-off */
};

#endif
