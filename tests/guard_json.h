/* guard_json.h - makes a use of freed JSON end the test. jansson is not built with the sanitizers,
 * so reading a freed value would go unnoticed and return whatever its memory was reused for. Here
 * each value gets its own pages, which become inaccessible for good when it is freed. It costs two
 * system calls per value, so it is for tests that create some thousands of them. */
#ifndef TESTS_GUARD_JSON_H
#define TESTS_GUARD_JSON_H

#include "harness.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/mman.h>

#define GUARD_PAGE  ((size_t)4096)
#define GUARD_SPACE ((size_t)8 << 30) /* address space, not memory; no address is used twice */
#define GUARD_ALIGN ((size_t)16)

static char *guard_next, *guard_end;

/* A block ends at the end of its pages, and the number of pages is stored at their start. */
static void *guard_alloc(size_t size)
{
    size_t rounded = (size + GUARD_ALIGN - 1) & ~(GUARD_ALIGN - 1);
    size_t bytes = (sizeof(size_t) + rounded + GUARD_PAGE - 1) & ~(GUARD_PAGE - 1);
    char *at = guard_next;

    if (bytes > (size_t)(guard_end - guard_next))
        test_fail(__FILE__, __LINE__, "this test makes more JSON than can be guarded");
    guard_next += bytes;
    if (mprotect(at, bytes, PROT_READ | PROT_WRITE))
        test_fail(__FILE__, __LINE__, "the pages of a JSON value can't be made accessible: %m");
    *(size_t *)(void *)at = bytes;
    return at + bytes - rounded;
}

static void guard_free(void *block)
{
    char *at = (char *)((uintptr_t)block & ~(GUARD_PAGE - 1));
    size_t bytes;

    if (!block)
        return;
    bytes = *(size_t *)(void *)at;
    if (madvise(at, bytes, MADV_DONTNEED) || mprotect(at, bytes, PROT_NONE))
        test_fail(__FILE__, __LINE__, "the pages of a JSON value can't be taken back: %m");
}

/* In effect until the process of the test ends. No JSON may exist yet. */
static void guard_json(void)
{
    guard_next =
        mmap(NULL, GUARD_SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (guard_next == MAP_FAILED)
        test_fail(__FILE__, __LINE__, "there is no address space for guarded JSON: %m");
    guard_end = guard_next + GUARD_SPACE;
    json_set_alloc_funcs(guard_alloc, guard_free);
}

#endif
