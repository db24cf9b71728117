/* mem.h - memory. Running out of memory aborts the process with a message: the engine is built to
 * be killed at any moment, so code that handles a failed malloc would only be untested code. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size);  /* never returns NULL; the memory is not cleared */
void *mem_zalloc(size_t size); /* never returns NULL; the memory is cleared */
void *mem_realloc(void *p, size_t size);
char *mem_strdup(const char *s); /* returns NULL for NULL */
/* Copies a list that ends with NULL, and its strings, into one block. NULL gives an empty list. */
char **mem_copy_list(const char *const *list);
char *mem_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* AUTO(release) declares a local variable for which release(&variable) is called at the end of its
 * scope. */
#define AUTO(release) __attribute__((cleanup(release)))
#define AUTO_FREE     AUTO(mem_free_at)
void mem_free_at(void *p); /* frees the memory that the pointer at p points to */

/* An arena holds many small allocations that live exactly as long as one request or one turn. */
struct arena {
    struct arena_block *head;
    size_t used;
};
#define ARENA_INIT \
    {              \
        0          \
    }

/* The memory is aligned for any type and not cleared. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s); /* returns NULL for NULL */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A copy with a NUL added at the end. */
char *arena_memdup0(struct arena *a, const void *p, size_t len);
/* Drops all allocations, keeps one block for the next request. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a); /* frees everything */
#define AUTO_ARENA AUTO(arena_release) struct arena

/* A growable array of T: VEC(int) v = {0}; *vec_add(&v) = 7; … vec_release(&v). */
#define VEC(T)         \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }
#define vec_add(v)                                                                           \
    ((v)->n == (v)->cap                                                                      \
         ? ((v)->cap = (v)->cap ? (v)->cap * 2 : 16,                                         \
            (v)->at = mem_realloc((v)->at, (v)->cap * sizeof(*(v)->at)), &(v)->at[(v)->n++]) \
         : &(v)->at[(v)->n++])
#define vec_release(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
/* A VEC that is freed at the end of its scope; `at`, its array, is its first member. */
#define AUTO_VEC(T)    AUTO_FREE VEC(T)

#endif
