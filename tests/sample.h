/* sample.h - bytes with their length, which may contain a NUL. */
#ifndef TESTS_SAMPLE_H
#define TESTS_SAMPLE_H

#include <stddef.h>

struct sample {
    const char *bytes;
    size_t len;
};
#define BYTES(s)         \
    {                    \
        s, sizeof(s) - 1 \
    }

#endif
