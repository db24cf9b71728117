/* histogram.h - a histogram of durations in a fixed 2.5 kB: an exact mean, and quantiles to within
 * 6 %. Two histograms can be merged. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Each power of two up to 2^40 (12 days, in µs) is divided into 8 equal buckets; larger values
 * count in the last one. */
#define HISTOGRAM_BUCKETS (8 * 39)

struct histogram {
    uint64_t count;
    double sum;
    int64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};
#define HISTOGRAM_INIT \
    {                  \
        0              \
    }

void histogram_add(struct histogram *h, int64_t value); /* a negative value counts as 0 */
void histogram_merge(struct histogram *to, const struct histogram *from);
int64_t histogram_mean(const struct histogram *h); /* 0 if empty */
/* The value that a fraction q (0 to 1) of all values does not exceed. */
int64_t histogram_quantile(const struct histogram *h, double q);

#endif
