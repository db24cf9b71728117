/* buf.c - a growable byte string; see buf.h. */
#include "base/buf.h"

#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void buf_reserve(struct buf *b, size_t more)
{
    size_t need = b->len + more + 1;

    if (need <= b->cap)
        return;
    if (need < b->cap * 2)
        need = b->cap * 2;
    if (need < 64)
        need = 64;
    b->ptr = mem_realloc(b->ptr, need);
    b->cap = need;
}

void buf_add(struct buf *b, const void *p, size_t len)
{
    buf_reserve(b, len);
    if (len)
        memcpy(b->ptr + b->len, p, len);
    b->len += len;
    b->ptr[b->len] = '\0';
}

void buf_addstr(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addch(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_addi64(struct buf *b, int64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do {
        digits[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (n < 0)
        buf_addch(b, '-');
    buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    buf_reserve(b, (size_t)n);
    va_start(ap, fmt);
    vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

#define READ_SIZE 65536

bool buf_read(struct buf *b, int fd, size_t max)
{
    ssize_t n;

    do {
        buf_reserve(b, READ_SIZE);
        n = read(fd, b->ptr + b->len, READ_SIZE);
        b->len += n > 0 ? (size_t)n : 0;
        b->ptr[b->len] = '\0';
    } while ((n > 0 && b->len <= max) || (n < 0 && errno == EINTR));
    return n >= 0;
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    if (b->ptr)
        b->ptr[0] = '\0';
}

void buf_release(struct buf *b)
{
    free(b->ptr);
    *b = (struct buf)BUF_INIT;
}

const char *buf_cstr(const struct buf *b)
{
    return b->ptr ? b->ptr : "";
}
