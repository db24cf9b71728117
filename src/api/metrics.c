/* metrics.c - metrics as Prometheus text: gauges read from the tables, and the counters of
 * attempts. Histograms are stored as separate buckets and shown as Prometheus expects them: each
 * bucket includes all smaller ones. */
#include "api/api.h"
#include "base/text.h"
#include "store/query/submissions.h"

#include <jansson.h>
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

/* ---- executors ---- */

/* Adds n to the sum of the executor. */
static void add_to(json_t *sums, const char *executor, int64_t n)
{
    n += json_integer_value(json_object_get(sums, executor));
    json_object_set_new(sums, executor, json_integer(n));
}

static void add_gauge(struct buf *b, const char *name, const char *help, json_t *sums)
{
    const char *executor;
    json_t *n;

    family(b, name, "gauge", help);
    json_object_foreach(sums, executor, n)
    {
        buf_addf(b, "%s{executor=\"", name);
        text_label(b, executor);
        buf_addf(b, "\"} %lld\n", (long long)json_integer_value(n));
    }
}

/* Adds the metrics of executors. The counters of claims and outcomes are written in the same
 * transaction as the moves to and from running, so claims minus outcomes is the number of running
 * jobs. */
static void add_executors(struct buf *b, const struct attempt_list *l,
                          const struct worker_list *workers)
{
    json_auto_t *running = json_object(), *room = json_object();
    const char *executor;
    json_t *n;

    for (size_t i = 0; i < l->n; i++)
        add_to(running, l->at[i].executor,
               l->at[i].counts.claimed - attempt_counts_ended(&l->at[i].counts));
    for (size_t i = 0; i < workers->n; i++) {
        json_auto_t *own = api_data(workers->at[i].worker.executors);

        if (worker_is_silent(&workers->at[i], workers->now))
            continue;
        json_object_foreach(own, executor, n) add_to(room, executor, json_integer_value(n));
    }
    add_gauge(b, "pawl_executor_running", "Running jobs, by executor.", running);
    add_gauge(b, "pawl_executor_room",
              "Jobs that the workers seen in the last 30 s can run at once, by executor.", room);
}

/* ---- counters of attempts ---- */

static void add_count(struct buf *b, const char *name, const char *labels, int64_t n)
{
    buf_addf(b, "%s%s%s%s %lld\n", name, *labels ? "{" : "", labels, *labels ? "}" : "",
             (long long)n);
}

/* Adds the counts of each outcome. A series whose count is 0 is left out. */
static void add_outcomes(struct buf *b, const char *labels, const struct attempt_counts *c)
{
    for (int kind = OUTCOME_OK; kind <= OUTCOME_REFUSED; kind++)
        if (c->outcomes[kind])
            buf_addf(b, "pawl_outcomes_total{%s,outcome=\"%s\"} %lld\n", labels, outcome_text(kind),
                     (long long)c->outcomes[kind]);
}

static void add_histogram(struct buf *b, const char *name, const char *labels,
                          const int64_t buckets[TIME_BUCKETS], int64_t sum)
{
    int64_t below = 0;

    for (size_t i = 0; i < TIME_BUCKETS; i++) {
        below += buckets[i];
        buf_addf(b, "%s_bucket{%s,le=\"", name, labels);
        if (i + 1 < TIME_BUCKETS)
            buf_addf(b, "%g", (double)time_bucket_us[i] / 1e6);
        else
            buf_addstr(b, "+Inf");
        buf_addf(b, "\"} %lld\n", (long long)below);
    }
    buf_addf(b, "%s_sum{%s} ", name, labels);
    add_seconds(b, sum);
    buf_addf(b, "%s_count{%s} %lld\n", name, labels, (long long)below);
}

static const char *queue_labels(const struct queue_attempts *q, struct buf *labels)
{
    buf_reset(labels);
    buf_addstr(labels, "queue=\"");
    text_label(labels, q->queue);
    buf_addstr(labels, "\",executor=\"");
    text_label(labels, q->executor);
    buf_addch(labels, '"');
    return labels->ptr;
}

static void add_totals(struct buf *b, const struct attempt_list *l)
{
    int64_t lost = 0, refused = 0, adopted = 0;

    for (size_t i = 0; i < l->n; i++) {
        lost += l->at[i].counts.lease_expired;
        refused += l->at[i].counts.settle_refused;
        adopted += l->at[i].counts.adopted;
    }
    family(b, "pawl_leases_lost_total", "counter",
           "Leases that ran out, or whose worker was found dead.");
    add_count(b, "pawl_leases_lost_total", "", lost);
    family(b, "pawl_outcomes_refused_total", "counter",
           "Outcomes that came after the lease was lost.");
    add_count(b, "pawl_outcomes_refused_total", "", refused);
    family(b, "pawl_adoptions_total", "counter", "Attempts that were adopted from another worker.");
    add_count(b, "pawl_adoptions_total", "", adopted);
}

static void add_attempts(struct buf *b, const struct attempt_list *l)
{
    AUTO_BUF labels = BUF_INIT;

    family(b, "pawl_attempts_total", "counter", "Attempts that were claimed.");
    for (size_t i = 0; i < l->n; i++)
        add_count(b, "pawl_attempts_total", queue_labels(&l->at[i], &labels),
                  l->at[i].counts.claimed);
    family(b, "pawl_outcomes_total", "counter", "Attempts that ended, by their outcome.");
    for (size_t i = 0; i < l->n; i++)
        add_outcomes(b, queue_labels(&l->at[i], &labels), &l->at[i].counts);
    add_totals(b, l);
    family(b, "pawl_wait_seconds", "histogram",
           "How long jobs were claimable: from ready, or the end of a hold, to the claim.");
    for (size_t i = 0; i < l->n; i++)
        add_histogram(b, "pawl_wait_seconds", queue_labels(&l->at[i], &labels),
                      l->at[i].counts.wait, l->at[i].counts.wait_us);
    family(b, "pawl_run_seconds", "histogram", "How long attempts ran.");
    for (size_t i = 0; i < l->n; i++)
        add_histogram(b, "pawl_run_seconds", queue_labels(&l->at[i], &labels), l->at[i].counts.run,
                      l->at[i].counts.run_us);
}

/* Adds the outcomes per worker. All workers of a host that are gone share one series, without a
 * worker id, so that the sum over a host never decreases. */
static void add_worker_outcomes(struct buf *b, const struct worker_outcome_list *l)
{
    family(b, "pawl_worker_outcomes_total", "counter",
           "Attempts that ended, by the worker that reported it, its host, and the outcome.");
    for (size_t i = 0; i < l->n; i++) {
        buf_addstr(b, "pawl_worker_outcomes_total{host=\"");
        text_label(b, l->at[i].host);
        buf_addstr(b, "\",worker=\"");
        if (l->at[i].worker)
            buf_addf(b, "%016llx", (unsigned long long)l->at[i].worker);
        buf_addf(b, "\",outcome=\"%s\"} %lld\n", outcome_text(l->at[i].outcome),
                 (long long)l->at[i].n);
    }
}

/* ---- all metrics ---- */

int pawl_metrics(struct pawl *p, char **text, struct pawl_error *e)
{
    AUTO(queue_list_release) struct queue_list queues = {0};
    AUTO(worker_list_release) struct worker_list workers = {0};
    AUTO(attempt_list_release) struct attempt_list attempts = {0};
    AUTO(worker_outcome_list_release) struct worker_outcome_list by_worker = {0};
    struct lease_totals leases;
    struct submission_totals submissions;
    struct buf b = BUF_INIT;
    API_ERR(e);

    if (p->remote)
        return remote_get(p->remote, "/metrics", text, err);
    TRY(query_queues(p->store, &queues, err));
    TRY(query_workers(p->store, &workers, err));
    TRY(query_lease_totals(p->store, &leases, err));
    TRY(query_submission_totals(p->store, &submissions, err));
    TRY(query_attempt_counts(p->store, &attempts, &by_worker, err));
    queues_merge_foreground(&queues);
    add_queues(&b, &queues);
    add_workers(&b, &workers, &leases);
    add_submissions(&b, &submissions, queues.now);
    add_executors(&b, &attempts, &workers);
    add_attempts(&b, &attempts);
    add_worker_outcomes(&b, &by_worker);
    *text = b.ptr;
    return 0;
}
