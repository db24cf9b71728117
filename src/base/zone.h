/* zone.h - time zones, read from the files of the package tzdata. libc knows one zone a process
 * (TZ); here a zone is a value. A zone never changes once it is read, so threads may share it;
 * whoever reads one keeps it.
 *
 * Times are seconds since 1970. A "local" time is what the zone's clocks show, as if they stood in
 * Greenwich: UTC plus the offset. Clocks that are put forward leave local times out, clocks that
 * are put back show some twice; zone_from_local says so instead of choosing. */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_DIR        "/usr/share/zoneinfo"
#define ZONE_NAME_SIZE  64
#define ZONE_MAX_OFFSET (26 * 3600) /* no zone is further from UTC, either way */

/* Before and after all times that this module knows. */
#define ZONE_FOREVER    (INT64_C(1) << 59)

struct zone;

/* Reads a zone by its name, such as Europe/Berlin. A name is letters, digits, '_', '+', '-' and
 * single '/' between them, so that it stays below ZONE_DIR. "UTC" needs no file. */
MUST_USE int zone_load(const char *name, struct zone **out, struct err *err);

/* The same from the bytes of a TZif file (RFC 8536, version 2 or later); nothing is read. */
MUST_USE int zone_parse(const char *name, const void *data, size_t len, struct zone **out,
                        struct err *err);
void zone_free(struct zone **z);

const char *zone_name(const struct zone *z);

/* A stretch of time, from <= t < until, in which the offset stays the same. Neighbours may have the
 * same offset. */
struct zone_period {
    int64_t from, until;
    int32_t offset; /* seconds to add to UTC: east is positive */
};

/* The stretch around t, which lies within ±ZONE_FOREVER. */
struct zone_period zone_period(const struct zone *z, int64_t t);

int64_t zone_to_local(const struct zone *z, int64_t t);

enum zone_fit {
    ZONE_ONCE,  /* an ordinary local time: first == last */
    ZONE_GAP,   /* left out when clocks went forward: first == last, the moment of the jump */
    ZONE_TWICE, /* shown again after clocks went back */
};

struct zone_moment {
    enum zone_fit fit;
    int64_t first; /* when the clocks first show this local time, or jump over it */
    int64_t last;  /* when they last show it */
};

/* `first` never falls from one local time to a later one. */
struct zone_moment zone_from_local(const struct zone *z, int64_t local);

#endif
