/* attempt_counts.h - counters of attempts and histograms of their times, as the metrics show
 * them. */
#ifndef CORE_ATTEMPT_COUNTS_H
#define CORE_ATTEMPT_COUNTS_H

#include "core/vocab.h"

#include <stddef.h>
#include <stdint.h>

#define TIME_BUCKETS 14

/* Upper bounds of the buckets of a histogram, in µs; the last bucket has no bound. The database
 * stores the bounds with the counts. If a release changes the bounds, the count of an older bucket
 * is shown in the first new bucket that includes the older bound. */
static const int64_t time_bucket_us[TIME_BUCKETS] = {
    1000,    5000,     10000,    50000,    100000,    500000,     1000000,
    5000000, 10000000, 30000000, 60000000, 300000000, 1800000000, INT64_MAX};

/* The first bucket that includes this time. */
static inline size_t time_bucket_of(int64_t us)
{
    size_t i = 0;

    while (us > time_bucket_us[i])
        i++;
    return i;
}

struct attempt_counts {
    int64_t claimed, adopted, lease_expired;
    /* Outcomes refused because the worker had lost the lease. */
    int64_t settle_refused;
    /* Number of attempts with each outcome (enum outcome_kind). */
    int64_t outcomes[OUTCOME_REFUSED + 1];
    int64_t wait_us, run_us; /* sums over all attempts */
    int64_t wait[TIME_BUCKETS], run[TIME_BUCKETS];
};

/* The number of attempts that have ended, with any outcome. */
static inline int64_t attempt_counts_ended(const struct attempt_counts *c)
{
    int64_t n = 0;

    for (int kind = OUTCOME_OK; kind <= OUTCOME_REFUSED; kind++)
        n += c->outcomes[kind];
    return n;
}

#endif
