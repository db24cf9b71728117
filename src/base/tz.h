/* tz.h - time zones, read from the files of the package tzdata. libc supports one zone per process
 * (TZ); here a zone is a value. A loaded zone never changes, so threads may share it; the caller of
 * tz_load or tz_parse owns it and frees it with tz_free.
 *
 * Times are seconds since 1970. A "local" time is the zone's clock reading taken as if it were UTC:
 * UTC plus the offset. When clocks go forward, some local times do not exist; when they go back,
 * some occur twice. */
#ifndef BASE_TZ_H
#define BASE_TZ_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TZ_DIR        "/usr/share/zoneinfo"
#define TZ_NAME_SIZE  64
/* The most seconds that any zone is ahead of UTC or behind it. */
#define TZ_MAX_OFFSET (26 * 3600)

/* All times that the functions of tz.h accept or return lie within ±TZ_FOREVER. */
#define TZ_FOREVER    (INT64_C(1) << 59)

struct tz;

/* Reads a zone by its name, such as Europe/Berlin. A name consists of letters, digits, '_', '+' and
 * '-', with single '/' between its parts, so its file is always below TZ_DIR. "UTC" needs no
 * file. */
MUST_USE int tz_load(const char *name, struct tz **out, struct err *err);

/* Makes a zone from the bytes of a TZif file (RFC 8536, version 2 or later). */
MUST_USE int tz_parse(const char *name, const void *data, size_t len, struct tz **out,
                      struct err *err);
void tz_free(struct tz **z);

/* A period (from <= t < until) in which the zone has one offset. Adjacent periods may have the same
 * offset. */
struct tz_period {
    int64_t from, until;
    int32_t offset; /* seconds to add to UTC: east is positive */
};

/* The period that contains t, which must lie within ±TZ_FOREVER. */
struct tz_period tz_period(const struct tz *z, int64_t t);

int64_t tz_to_local(const struct tz *z, int64_t t);

/* The time at which the zone's clocks first show this local time, or jump over it. A later local
 * time never gives an earlier result. */
int64_t tz_from_local(const struct tz *z, int64_t local);

#endif
