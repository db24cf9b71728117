/* tz_fixture.h - time zones for tests: from a rule, which needs no file, or from tzdata. */
#ifndef TESTS_TZ_FIXTURE_H
#define TESTS_TZ_FIXTURE_H

#include "harness.h"

#include "base/buf.h"
#include "base/text.h"
#include "base/tz.h"

#include <string.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char berlin_rule[] = "CET-1CEST,M3.5.0,M10.5.0/3";

static inline void add_big_endian(struct buf *b, uint64_t n, int bytes)
{
    while (bytes--)
        buf_addch(b, (char)(n >> (8 * bytes)));
}

/* One entry of the table: the offset from that time on. */
struct tzif_step {
    int64_t at;
    int32_t offset;
};

/* A block of a TZif file: step i has type i + 1; type 0 applies before the first step. */
static inline void add_tzif_block(struct buf *b, int time_size, int32_t before,
                                  const struct tzif_step *steps, size_t n)
{
    size_t i;

    buf_add(b, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
    add_big_endian(b, n, 4);
    add_big_endian(b, n + 1, 4);
    add_big_endian(b, 4, 4);
    for (i = 0; i < n; i++)
        add_big_endian(b, (uint64_t)steps[i].at, time_size);
    for (i = 0; i < n; i++)
        buf_addch(b, (char)(i + 1));
    for (i = 0; i <= n; i++) {
        add_big_endian(b, (uint32_t)(i ? steps[i - 1].offset : before), 4);
        buf_add(b, "\0\0", 2);
    }
    buf_add(b, "ABC", 4);
}

static inline void make_tzif(struct buf *b, int32_t before, const struct tzif_step *steps, size_t n,
                             const char *rule)
{
    add_tzif_block(b, 4, before, NULL, 0);
    add_tzif_block(b, 8, before, steps, n);
    buf_addf(b, "\n%s\n", rule);
}

static inline struct tz *tz_of_steps(int32_t before, const struct tzif_step *steps, size_t n,
                                     const char *rule)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    struct tz *z = NULL;

    make_tzif(&b, before, steps, n, rule);
    CHECK_OK_ERR(tz_parse("Test/Zone", b.ptr, b.len, &z, &err), &err);
    buf_release(&b);
    return z;
}

static inline struct tz *tz_of_rule(const char *rule)
{
    return tz_of_steps(0, NULL, 0, rule);
}

/* From tzdata; skips the test if it is not installed. */
static inline struct tz *tz_by_name(const char *name)
{
    struct err err = ERR_INIT;
    struct tz *z = NULL;

    if (access(TZ_DIR "/Europe/Berlin", R_OK))
        SKIP("tzdata is not installed");
    CHECK_OK_ERR(tz_load(name, &z, &err), &err);
    return z;
}

/* A time like 2026-03-29T01:00:00Z in seconds. */
static inline int64_t at(const char *text)
{
    struct err err = ERR_INIT;
    int64_t us = 0;

    CHECK_OK_ERR(text_parse_time(text, &us, &err), &err);
    return us / 1000000;
}

#endif
