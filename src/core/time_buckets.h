/* time_buckets.h - the bounds of every histogram of times that workers keep and metrics show.
 * Stored with what was counted, so a change of them shows as new buckets beside the old. */
#ifndef CORE_TIME_BUCKETS_H
#define CORE_TIME_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#define TIME_BUCKETS 14

/* µs; the last holds all that is longer. */
static const int64_t time_bucket_us[TIME_BUCKETS] = {
    1000,    5000,     10000,    50000,    100000,    500000,     1000000,
    5000000, 10000000, 30000000, 60000000, 300000000, 1800000000, INT64_MAX};

#endif
