/* histogram.c - see histogram.h. */
#include "base/histogram.h"

/* Values 0 to 7 have a bucket each. Above, the highest bit and the three bits below it select the
 * bucket. */
static size_t bucket_of(int64_t value)
{
    int high;
    size_t at;

    if (value < 8)
        return (size_t)value;
    high = 63 - __builtin_clzll((unsigned long long)value);
    at = (size_t)(high - 2) * 8 + (size_t)(value >> (high - 3) & 7);
    return at < HISTOGRAM_BUCKETS ? at : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket: its error is the same in both directions. */
static int64_t middle_of(size_t bucket)
{
    int shift = (int)(bucket / 8) - 1;

    if (bucket < 8)
        return (int64_t)bucket;
    return ((int64_t)(bucket % 8 + 8) << shift) + (((int64_t)1 << shift) - 1) / 2;
}

void histogram_add(struct histogram *h, int64_t value)
{
    if (value < 0)
        value = 0;
    h->count++;
    h->sum += (double)value;
    if (value > h->max)
        h->max = value;
    h->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    size_t i;

    to->count += from->count;
    to->sum += from->sum;
    if (from->max > to->max)
        to->max = from->max;
    for (i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}

int64_t histogram_mean(const struct histogram *h)
{
    return h->count ? (int64_t)(h->sum / (double)h->count + 0.5) : 0;
}

int64_t histogram_quantile(const struct histogram *h, double q)
{
    double rank = q * (double)h->count;
    uint64_t seen = 0;
    size_t i;

    for (i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
        seen += h->buckets[i];
        if (seen && (double)seen >= rank)
            return middle_of(i) < h->max ? middle_of(i) : h->max;
    }
    return h->max;
}
