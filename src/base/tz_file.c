/* tz_file.c - reads a zone from a TZif file (RFC 8536). The file is not trusted: any zone that is
 * returned has ascending times and offsets within TZ_MAX_OFFSET. */
#include "base/mem.h"
#include "base/tz_internal.h"

#include <string.h>

#define MAX_STEPS   4096 /* the longest table in tzdata has 240 steps */
#define HEADER_SIZE 44

/* The counts in a TZif header, in their order there. The block after the header holds the times,
 * the type index of each time, the types, the abbreviations, the leap seconds, and flags that
 * matter only where TZ has no rule for summer time. */
struct counts {
    uint32_t utc_flags, std_flags, leaps, times, types, chars;
};

struct reader {
    const unsigned char *at;
    size_t left;
    const char *name;
    struct err *err;
};

static int unusable(const struct reader *r, const char *why)
{
    return err_set(r->err, E_INVALID, "the file of time zone %s can't be used: %s", r->name, why);
}

static uint64_t big_endian(const unsigned char *p, size_t bytes)
{
    uint64_t n = 0;

    while (bytes--)
        n = n << 8 | *p++;
    return n;
}

static void skip(struct reader *r, size_t bytes)
{
    r->at += bytes;
    r->left -= bytes;
}

/* Reads a header and checks that the block after it is complete. A time in the block has
 * `time_size` bytes. *block is set to the size of the block. */
static int read_header(struct reader *r, size_t time_size, struct counts *c, size_t *block)
{
    uint32_t *const counts[] = {&c->utc_flags, &c->std_flags, &c->leaps,
                                &c->times,     &c->types,     &c->chars};
    uint64_t size;

    if (r->left < HEADER_SIZE || memcmp(r->at, "TZif", 4) != 0)
        return unusable(r, "it is not a TZif file");
    if (r->at[4] < '2')
        return unusable(r, "it has no 64-bit times (version 1)");
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        *counts[i] = (uint32_t)big_endian(r->at + 20 + 4 * i, 4);
    skip(r, HEADER_SIZE);
    size = c->times * (uint64_t)(time_size + 1) + c->types * UINT64_C(6) + c->chars +
           c->leaps * (uint64_t)(time_size + 4) + c->std_flags + (uint64_t)c->utc_flags;
    if (size > r->left)
        return unusable(r, "it is truncated");
    *block = (size_t)size;
    return 0;
}

static int read_offset(const struct reader *r, const struct counts *c, uint32_t type, int32_t *out)
{
    const unsigned char *types = r->at + c->times * (size_t)9;
    int64_t offset;

    if (type >= c->types)
        return unusable(r, "it refers to a type that does not exist");
    offset = (int32_t)big_endian(types + type * (size_t)6, 4);
    if (offset <= -TZ_MAX_OFFSET || offset >= TZ_MAX_OFFSET)
        return unusable(r, "an offset is 26 hours or more");
    *out = (int32_t)offset;
    return 0;
}

static int read_table(const struct reader *r, const struct counts *c, struct tz *z)
{
    int rc;

    if (c->leaps)
        return unusable(r, "it counts leap seconds; use the zone without right/ in its name");
    if (c->times > MAX_STEPS)
        return unusable(r, "it has too many transitions");
    if ((rc = read_offset(r, c, 0, &z->before)))
        return rc;
    z->steps = mem_alloc((c->times + (size_t)1) * sizeof(*z->steps));
    for (size_t i = 0; i < c->times; i++) {
        struct tz_step *step = &z->steps[i];

        step->at = (int64_t)big_endian(r->at + 8 * i, 8);
        if (step->at < -TZ_FOREVER || step->at >= TZ_FOREVER || (i && step->at <= step[-1].at))
            return unusable(r, "its times are not in ascending order");
        if ((rc = read_offset(r, c, r->at[c->times * (size_t)8 + i], &step->offset)))
            return rc;
    }
    z->n = c->times;
    return 0;
}

/* Reads the footer: a line feed, the rule (which may be empty), and a line feed. */
static int read_footer(const struct reader *r, struct tz *z)
{
    const char *text = (const char *)r->at;
    const char *end = r->left > 1 ? memchr(text + 1, '\n', r->left - 1) : NULL;
    char rule[128];
    size_t len;

    if (!end || *text != '\n')
        return unusable(r, "it has no footer");
    len = (size_t)(end - text) - 1;
    if (!len)
        return 0;
    if (len >= sizeof(rule) || memchr(text, '\0', len + 1))
        return unusable(r, "its footer is not a valid rule");
    memcpy(rule, text + 1, len);
    rule[len] = '\0';
    if (!tz_rule_parse(rule, &z->rule))
        return unusable(r, "its footer is not a valid rule");
    z->has_rule = true;
    return 0;
}

int tz_parse(const char *name, const void *data, size_t len, struct tz **out, struct err *err)
{
    struct reader r = {data, len, name, err};
    AUTO(tz_free) struct tz *z = mem_zalloc(sizeof(*z));
    struct counts c;
    size_t block;
    int rc;

    if ((rc = read_header(&r, 4, &c, &block)))
        return rc;
    skip(&r, block); /* the 32-bit block, which only old readers need */
    if ((rc = read_header(&r, 8, &c, &block)) || (rc = read_table(&r, &c, z)))
        return rc;
    skip(&r, block);
    if ((rc = read_footer(&r, z)))
        return rc;
    *out = z;
    z = NULL;
    return 0;
}
