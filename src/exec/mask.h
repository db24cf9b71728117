/* mask.h - takes secrets out of a stream, also where one is split over two pieces. */
#ifndef EXEC_MASK_H
#define EXEC_MASK_H

#include "base/buf.h"

#include <stdbool.h>

#define MASK_TEXT "***"

struct mask {
    struct mask_word *words; /* longest first */
    size_t n;
    bool first_bytes[256]; /* bytes that some word begins with */
    struct buf pending;    /* may be the beginning of a word */
};
#define MASK_INIT \
    {             \
        0         \
    }

/* Adds a secret, and if it has several lines each of them; what is shorter than MASK_MIN bytes is
 * no secret worth hiding: it would hide half of the text. */
#define MASK_MIN 3
void mask_add(struct mask *m, const char *secret);
/* Appends to `out` what is safe to show of the text so far. */
void mask_feed(struct mask *m, const char *text, size_t len, struct buf *out);
/* The stream ended: appends the rest. */
void mask_end(struct mask *m, struct buf *out);
void mask_release(struct mask *m); /* wipes what it held */

#endif
