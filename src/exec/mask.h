/* mask.h - replaces secrets in a stream of text, including those that are split across pieces. */
#ifndef EXEC_MASK_H
#define EXEC_MASK_H

#include "base/buf.h"

#include <stdbool.h>

#define MASK_TEXT "***"

struct mask {
    struct mask_word {
        char *text;
        size_t len;
    } * words; /* sorted, the longest first */
    size_t n;
    bool first_bytes[256]; /* the first bytes of all words */
    struct buf pending;    /* input that may be the start of a word */
};
#define MASK_INIT \
    {             \
        0         \
    }

/* Adds a secret, and each line of a secret that has several. Words shorter than MASK_MIN bytes are
 * ignored: masking them would hide half of the text. */
#define MASK_MIN 3
void mask_add(struct mask *m, const char *secret);
/* Appends to `out` the masked text, except for a last part that may be the start of a secret. */
void mask_feed(struct mask *m, const char *text, size_t len, struct buf *out);
/* The stream ended: appends the rest. */
void mask_end(struct mask *m, struct buf *out);

/* Appends the text, with secrets masked that its JSON strings contain once their escape sequences
 * are decoded. Any text may be given; only strings that contain a secret are changed. */
void mask_json_strings(const struct mask *m, const char *text, size_t len, struct buf *out);

#endif
