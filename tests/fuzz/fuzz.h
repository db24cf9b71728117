/* fuzz.h - shared by the fuzzers. Each is a separate libFuzzer program: it parses any bytes as one
 * kind of input, and stops with a message if a property does not hold. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "base/mem.h"
#include "parse/diagnostics.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST_HOLD(cond)                                                               \
    do {                                                                              \
        if (!(cond)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

/* The bytes as a NUL-terminated text, which the caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *s = mem_alloc(size + 1);

    memcpy(s, data, size);
    s[size] = '\0';
    return s;
}

/* A refused input has a message with a location for each diagnostic. */
static inline void fuzz_diagnostics(struct diagnostics *ps, int rc, const struct err *err)
{
    struct buf shown = BUF_INIT;
    char place[100];
    size_t i;

    MUST_HOLD(rc == 0 || rc == -E_INVALID);
    MUST_HOLD((rc == 0) == (ps->count == 0));
    if (rc) {
        MUST_HOLD(ps->list.n > 0);
        diagnostics_show(ps, &shown); /* also sorts them */
        MUST_HOLD(shown.len > 0);
        snprintf(place, sizeof(place), "f.yaml:%u:%u: ", ps->list.at[0].line,
                 ps->list.at[0].column);
        MUST_HOLD(!strncmp(err->msg, place, strlen(place)));
    }
    for (i = 0; i < ps->list.n; i++)
        MUST_HOLD(ps->list.at[i].line > 0 && ps->list.at[i].column > 0 && *ps->list.at[i].sentence);
    buf_release(&shown);
}

#endif
