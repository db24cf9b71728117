/* buf.h - a growable byte string, NUL-terminated after the first addition. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *ptr;
    size_t len, cap;
};
#define BUF_INIT \
    {            \
        0        \
    }
#define AUTO_BUF AUTO(buf_release) struct buf

void buf_reserve(struct buf *b, size_t more); /* makes room for `more` bytes and the NUL */
void buf_add(struct buf *b, const void *p, size_t len);
void buf_addstr(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addi64(struct buf *b, int64_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends the rest of the file. Stops once `b` is longer than max. False with errno set if the file
 * can't be read. */
bool buf_read(struct buf *b, int fd, size_t max);
void buf_reset(struct buf *b);
void buf_release(struct buf *b);
const char *buf_cstr(const struct buf *b); /* "" when empty, never NULL */

#endif
