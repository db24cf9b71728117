/* tz.h - time zones, read from the files of the package tzdata. libc knows one zone a process
 * (TZ); here a zone is a value. A zone never changes once it is read, so threads may share it;
 * whoever reads one keeps it.
 *
 * Times are seconds since 1970. A "local" time is what the zone's clocks show, as if they stood in
 * Greenwich: UTC plus the offset. Clocks that are put forward leave local times out, clocks that
 * are put back show some twice; tz_from_local says so instead of choosing. */
#ifndef BASE_TZ_H
#define BASE_TZ_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TZ_DIR        "/usr/share/zoneinfo"
#define TZ_NAME_SIZE  64
#define TZ_MAX_OFFSET (26 * 3600) /* no zone is further from UTC, either way */

/* Before and after all times that this module knows. */
#define TZ_FOREVER    (INT64_C(1) << 59)

struct tz;

/* Reads a zone by its name, such as Europe/Berlin. A name is letters, digits, '_', '+', '-' and
 * single '/' between them, so that it stays below TZ_DIR. "UTC" needs no file. */
MUST_USE int tz_load(const char *name, struct tz **out, struct err *err);

/* The same from the bytes of a TZif file (RFC 8536, version 2 or later); nothing is read. */
MUST_USE int tz_parse(const char *name, const void *data, size_t len, struct tz **out,
                      struct err *err);
void tz_free(struct tz **z);

const char *tz_name(const struct tz *z);

/* A stretch of time, from <= t < until, in which the offset stays the same. Neighbours may have the
 * same offset. */
struct tz_period {
    int64_t from, until;
    int32_t offset; /* seconds to add to UTC: east is positive */
};

/* The stretch around t, which lies within ±TZ_FOREVER. */
struct tz_period tz_period(const struct tz *z, int64_t t);

int64_t tz_to_local(const struct tz *z, int64_t t);

enum tz_fit {
    TZ_ONCE,  /* an ordinary local time: first == last */
    TZ_GAP,   /* left out when clocks went forward: first == last, the moment of the jump */
    TZ_TWICE, /* shown again after clocks went back */
};

struct tz_moment {
    enum tz_fit fit;
    int64_t first; /* when the clocks first show this local time, or jump over it */
    int64_t last;  /* when they last show it */
};

/* `first` never falls from one local time to a later one. */
struct tz_moment tz_from_local(const struct tz *z, int64_t local);

#endif
