/* time_buckets.h - the bucket bounds of all histograms of times in workers' counters and metrics.
 * They are stored with the counts, so changed bounds appear as new buckets beside the old ones. */
#ifndef CORE_TIME_BUCKETS_H
#define CORE_TIME_BUCKETS_H

#include <stdint.h>

#define TIME_BUCKETS 14

/* Upper bounds in µs; the last bucket has no bound. */
static const int64_t time_bucket_us[TIME_BUCKETS] = {
    1000,    5000,     10000,    50000,    100000,    500000,     1000000,
    5000000, 10000000, 30000000, 60000000, 300000000, 1800000000, INT64_MAX};

#endif
