/* mem.c - memory, strings and arenas that abort the process if memory runs out; see mem.h. */
#include "base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *abort_if_null(void *p, size_t size)
{
    if (!p && size) {
        fprintf(stderr, "pawl: out of memory (%zu bytes)\n", size);
        abort();
    }
    return p;
}

void *mem_alloc(size_t size)
{
    return abort_if_null(malloc(size ? size : 1), size);
}

void *mem_zalloc(size_t size)
{
    return abort_if_null(calloc(1, size ? size : 1), size);
}

void *mem_realloc(void *p, size_t size)
{
    return abort_if_null(realloc(p, size ? size : 1), size);
}

char *mem_strdup(const char *s)
{
    return s ? abort_if_null(strdup(s), strlen(s) + 1) : NULL;
}

char **mem_copy_list(const char *const *list)
{
    size_t n = 0, size = sizeof(char *);
    char **copy, *text;

    for (; list && list[n]; n++)
        size += sizeof(char *) + strlen(list[n]) + 1;
    copy = mem_alloc(size);
    text = (char *)(copy + n + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = text;
        text = stpcpy(text, list[i]) + 1;
    }
    copy[n] = NULL;
    return copy;
}

char *mem_vprintf(const char *fmt, va_list ap)
{
    char *s = NULL;

    return abort_if_null(vasprintf(&s, fmt, ap) < 0 ? NULL : s, 1);
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    s = mem_vprintf(fmt, ap);
    va_end(ap);
    return s;
}

void mem_free_at(void *p)
{
    void *memory;

    memcpy(&memory, p, sizeof(memory));
    free(memory);
}

/* The first block is small, since many arenas hold only a few names; each further block is twice as
 * large as the one before. */
#define BLOCK_MIN 512
#define BLOCK_MAX 65536

struct arena_block {
    struct arena_block *next;
    size_t cap;
    alignas(max_align_t) char bytes[];
};

void *arena_alloc(struct arena *a, size_t size)
{
    size_t need = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    void *p;

    if (!a->head || a->head->cap - a->used < need) {
        size_t cap = !a->head                       ? BLOCK_MIN
                     : a->head->cap < BLOCK_MAX / 2 ? a->head->cap * 2
                                                    : BLOCK_MAX;
        struct arena_block *b;

        if (cap < need)
            cap = need;
        b = mem_alloc(sizeof(*b) + cap);
        b->cap = cap;
        b->next = a->head;
        a->head = b;
        a->used = 0;
    }
    p = a->head->bytes + a->used;
    a->used += need;
    return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    size_t size;
    char *s;

    va_start(ap, fmt);
    va_copy(again, ap);
    size = (size_t)vsnprintf(NULL, 0, fmt, ap) + 1;
    s = arena_alloc(a, size);
    vsnprintf(s, size, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}

char *arena_memdup0(struct arena *a, const void *p, size_t len)
{
    char *copy = arena_alloc(a, len + 1);

    if (len)
        memcpy(copy, p, len);
    copy[len] = '\0';
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_memdup0(a, s, strlen(s)) : NULL;
}

/* Keeps the newest block for reuse, unless it was made for one large allocation. */
void arena_reset(struct arena *a)
{
    struct arena_block *b = a->head, *next, *kept = NULL;

    for (; b; b = next) {
        next = b->next;
        if (kept || b->cap > BLOCK_MAX)
            free(b);
        else
            kept = b;
    }
    if (kept)
        kept->next = NULL;
    a->head = kept;
    a->used = 0;
}

void arena_release(struct arena *a)
{
    arena_reset(a);
    free(a->head);
    a->head = NULL;
}
