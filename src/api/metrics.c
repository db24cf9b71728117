/* metrics.c - metrics as Prometheus text: gauges read from the tables, and the sums of the counters
 * of all workers. Histograms are stored as separate buckets and shown as Prometheus expects them:
 * each bucket includes all smaller ones. */
#include "api/api.h"
#include "base/text.h"
#include "core/time_buckets.h"
#include "store/query/submissions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

static void family(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_seconds(struct buf *b, int64_t us)
{
    buf_addf(b, "%lld.%06lld\n", (long long)(us / 1000000), (long long)(us % 1000000));
}

/* ---- queues ---- */

static void queue_label(struct buf *b, const char *name, const char *queue, const char *more)
{
    buf_addf(b, "%s{queue=\"", name);
    text_label(b, queue);
    buf_addf(b, "\"%s} ", more);
}

static void add_queues(struct buf *b, const struct queue_list *l)
{
    family(b, "pawl_queue_jobs", "gauge", "Jobs that have not ended, by queue and state.");
    for (size_t i = 0; i < l->n; i++) {
        const struct queue_row *q = &l->at[i];

        queue_label(b, "pawl_queue_jobs", q->name, ",state=\"ready\"");
        buf_addf(b, "%lld\n", (long long)q->ready);
        queue_label(b, "pawl_queue_jobs", q->name, ",state=\"held\"");
        buf_addf(b, "%lld\n", (long long)q->held);
        queue_label(b, "pawl_queue_jobs", q->name, ",state=\"running\"");
        buf_addf(b, "%lld\n", (long long)q->running);
    }
    family(b, "pawl_queue_oldest_wait_seconds", "gauge",
           "How long the oldest claimable job has waited; 0 if none waits.");
    for (size_t i = 0; i < l->n; i++) {
        int64_t wait = l->at[i].oldest_ready_at ? l->now - l->at[i].oldest_ready_at : 0;

        queue_label(b, "pawl_queue_oldest_wait_seconds", l->at[i].name, "");
        add_seconds(b, wait > 0 ? wait : 0);
    }
    family(b, "pawl_queue_paused", "gauge", "1 while the queue is paused.");
    for (size_t i = 0; i < l->n; i++) {
        queue_label(b, "pawl_queue_paused", l->at[i].name, "");
        buf_addf(b, "%d\n", l->at[i].paused);
    }
}

/* ---- workers and leases ---- */

static void add_workers(struct buf *b, const struct worker_list *l, const struct lease_totals *t)
{
    size_t alive = 0;

    for (size_t i = 0; i < l->n; i++)
        alive += !worker_is_silent(&l->at[i], l->now);
    family(b, "pawl_workers", "gauge", "Workers, by whether they were seen in the last 30 s.");
    buf_addf(b, "pawl_workers{state=\"alive\"} %zu\npawl_workers{state=\"silent\"} %zu\n", alive,
             l->n - alive);
    family(b, "pawl_leases", "gauge", "Running jobs.");
    buf_addf(b, "pawl_leases %lld\n", (long long)t->all);
    family(b, "pawl_orphans", "gauge",
           "Running jobs whose worker is gone: they wait for adoption.");
    buf_addf(b, "pawl_orphans %lld\n", (long long)t->orphans);
}

/* ---- SQL submissions ---- */

static void add_submissions(struct buf *b, const struct submission_totals *t, int64_t now)
{
    int64_t wait = t->oldest ? now - t->oldest : 0;

    family(b, "pawl_submissions", "gauge",
           "SQL submissions that no worker has taken yet, and those that were refused; at most "
           "100000 are counted.");
    buf_addf(b,
             "pawl_submissions{state=\"waiting\"} %lld\npawl_submissions{state=\"refused\"} %lld\n",
             (long long)t->waiting, (long long)t->refused);
    family(b, "pawl_submissions_oldest_wait_seconds", "gauge",
           "How long the oldest SQL submission has waited to be taken; 0 if none waits.");
    buf_addstr(b, "pawl_submissions_oldest_wait_seconds ");
    add_seconds(b, wait > 0 ? wait : 0);
}

/* ---- counters of workers ---- */

static const struct {
    const char *name, *help;
    bool plain; /* it has no labels, so that 0 can be shown before anything was counted */
} counters[] = {
    {"pawl_attempts_total", "Attempts that were started.", false},
    {"pawl_outcomes_total", "Attempts that ended, by their outcome.", false},
    {"pawl_leases_lost_total", "Leases that their worker could not renew in time.", true},
    {"pawl_outcomes_refused_total", "Outcomes that came after the lease was lost.", true},
    {"pawl_adoptions_total", "Attempts that were adopted from another worker.", true},
};

static const struct {
    const char *name, *help;
} histograms[] = {
    {"pawl_wait_seconds", "From the request to the first claim."},
    {"pawl_run_seconds", "How long attempts ran."},
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static int by_name(const void *a, const void *b)
{
    const struct counter_row *x = a, *y = b;
    int order = strcmp(x->metric, y->metric);

    return order ? order : strcmp(x->labels, y->labels);
}

static void add_counter(struct buf *b, const struct counter_list *l, size_t which)
{
    const char *name = counters[which].name;
    bool any = false;

    family(b, name, "counter", counters[which].help);
    for (size_t i = 0; i < l->n; i++) {
        const struct counter_row *c = &l->at[i];

        if (strcmp(c->metric, name))
            continue;
        any = true;
        buf_addstr(b, name);
        if (*c->labels)
            buf_addf(b, "{%s}", c->labels);
        buf_addf(b, " %lld\n", (long long)c->value);
    }
    if (!any && counters[which].plain)
        buf_addf(b, "%s 0\n", name);
}

/* ---- histograms ---- */

struct bucket {
    double le;
    int64_t n;
};

struct series {
    const char *metric;
    const char *labels; /* without le */
    size_t labels_len;
    VEC(struct bucket) buckets;
};

static int by_bound(const void *a, const void *b)
{
    const struct bucket *x = a, *y = b;

    return (x->le > y->le) - (x->le < y->le);
}

/* Adds the bounds that workers use, with a count of 0, so that empty buckets are shown and the set
 * of buckets never changes. */
static void add_default_bounds(struct series *s)
{
    for (size_t i = 0; i < TIME_BUCKETS; i++) {
        int64_t us = time_bucket_us[i];

        *vec_add(&s->buckets) = (struct bucket){us == INT64_MAX ? INFINITY : (double)us / 1e6, 0};
    }
}

static int64_t sum_of(const struct counter_list *l, const struct series *s)
{
    size_t i, len = strlen(s->metric);

    for (i = 0; i < l->n; i++)
        if (!strncmp(l->at[i].metric, s->metric, len) &&
            !strcmp(l->at[i].metric + len, "_sum_us") && strlen(l->at[i].labels) == s->labels_len &&
            !memcmp(l->at[i].labels, s->labels, s->labels_len))
            return l->at[i].value;
    return 0;
}

static void add_labels(struct buf *b, const struct series *s, const char *suffix, const char *le)
{
    buf_addf(b, "%s%s", s->metric, suffix);
    if (s->labels_len || le)
        buf_addf(b, "{%.*s", (int)s->labels_len, s->labels);
    if (le)
        buf_addf(b, "%sle=\"%s\"", s->labels_len ? "," : "", le);
    buf_addstr(b, s->labels_len || le ? "} " : " ");
}

static void add_series(struct buf *b, const struct counter_list *l, struct series *s)
{
    int64_t below = 0;
    char le[32];

    add_default_bounds(s);
    qsort(s->buckets.at, s->buckets.n, sizeof(*s->buckets.at), by_bound);
    for (size_t i = 0; i < s->buckets.n; i++) {
        below += s->buckets.at[i].n;
        if (i + 1 < s->buckets.n && !(s->buckets.at[i].le < s->buckets.at[i + 1].le))
            continue;
        snprintf(le, sizeof(le), "%g", s->buckets.at[i].le);
        add_labels(b, s, "_bucket", isinf(s->buckets.at[i].le) ? "+Inf" : le);
        buf_addf(b, "%lld\n", (long long)below);
    }
    add_labels(b, s, "_sum", NULL);
    add_seconds(b, sum_of(l, s));
    add_labels(b, s, "_count", NULL);
    buf_addf(b, "%lld\n", (long long)below);
    vec_release(&s->buckets);
}

/* Returns the end of a bucket's labels before le="…", which comes last; NULL if there is no le. */
static const char *find_bound(const char *labels, double *le)
{
    const char *at = strstr(labels, "le=\""), *last = NULL;

    for (; at; at = strstr(at + 1, "le=\""))
        if (at == labels || at[-1] == ',')
            last = at;
    if (!last)
        return NULL;
    *le = strtod(last + 4, NULL);
    return last > labels ? last - 1 : last;
}

static void add_histogram(struct buf *b, const struct counter_list *l, size_t which)
{
    struct series s = {.metric = histograms[which].name};
    size_t i, len = strlen(s.metric);

    family(b, s.metric, "histogram", histograms[which].help);
    for (i = 0; i < l->n; i++) {
        const struct counter_row *c = &l->at[i];
        const char *end;
        double le = INFINITY;

        if (strncmp(c->metric, s.metric, len) || strcmp(c->metric + len, "_bucket") ||
            !(end = find_bound(c->labels, &le)))
            continue;
        if (s.buckets.n && (s.labels_len != (size_t)(end - c->labels) ||
                            memcmp(s.labels, c->labels, s.labels_len)))
            add_series(b, l, &s);
        s.labels = c->labels;
        s.labels_len = (size_t)(end - c->labels);
        *vec_add(&s.buckets) = (struct bucket){le, c->value};
    }
    if (s.buckets.n)
        add_series(b, l, &s);
}

/* ---- all metrics ---- */

int pawl_metrics(struct pawl *p, char **text, struct pawl_error *e)
{
    AUTO(queue_list_release) struct queue_list queues = {0};
    AUTO(worker_list_release) struct worker_list workers = {0};
    AUTO(counter_list_release) struct counter_list counted = {0};
    struct lease_totals leases;
    struct submission_totals submissions;
    struct buf b = BUF_INIT;
    API_ERR(e);

    TRY(query_queues(p->store, &queues, err));
    TRY(query_workers(p->store, &workers, err));
    TRY(query_lease_totals(p->store, &leases, err));
    TRY(query_submission_totals(p->store, &submissions, err));
    TRY(query_counters(p->store, false, &counted, err));
    queues_fold_foreground(&queues);
    add_queues(&b, &queues);
    add_workers(&b, &workers, &leases);
    add_submissions(&b, &submissions, queues.now);
    if (counted.n)
        qsort(counted.at, counted.n, sizeof(*counted.at), by_name);
    for (size_t i = 0; i < COUNT(counters); i++)
        add_counter(&b, &counted, i);
    for (size_t i = 0; i < COUNT(histograms); i++)
        add_histogram(&b, &counted, i);
    *text = b.ptr;
    return 0;
}
