/* histogram.h - how long things take: mean exactly, quantiles to within 6 %, in 2.5 kB however many
 * there are. Two histograms add up to one. */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Each power of two up to 2^40 (12 days, in µs) is cut into 8 equal parts; beyond is the last. */
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

void histogram_add(struct histogram *h, int64_t value); /* below 0 counts as 0 */
void histogram_merge(struct histogram *to, const struct histogram *from);
int64_t histogram_mean(const struct histogram *h); /* 0: nothing was added */
/* The value that the part q (0..1) of all does not exceed. */
int64_t histogram_quantile(const struct histogram *h, double q);

#endif
