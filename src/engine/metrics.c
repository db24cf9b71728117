/* metrics.c - the engine's counters, by queue and executor. The next heartbeat adds them to a
 * table, so that any process can print the totals. */
#include "engine/engine_internal.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(int64_t us)
{
    size_t i = 0;

    while (us > time_bucket_us[i])
        i++;
    return i;
}

struct metrics *metrics_get(struct engine *e, const char *queue, const char *executor)
{
    struct metrics *t;

    for (size_t i = 0; i < e->all_metrics.n; i++)
        if (!strcmp(e->all_metrics.at[i]->queue, queue) &&
            !strcmp(e->all_metrics.at[i]->executor, executor))
            return e->all_metrics.at[i];
    t = mem_zalloc(sizeof(*t));
    t->queue = mem_strdup(strncmp(queue, "here:", 5) ? queue : "here");
    t->executor = mem_strdup(executor);
    *vec_add(&e->all_metrics) = t;
    return t;
}

void metrics_count_claim(struct engine *e, struct leased_job *h, const struct execution *x)
{
    const char *queue = strncmp(h->queue, "here:", 5) ? h->queue : "here";

    h->metrics = metrics_get(e, queue, strncmp(h->lane, "function:", 9) ? h->lane : "function");
    h->metrics->attempts++;
    if (x->attempts == 1) {
        int64_t wait = x->updated_at - x->requested_at;

        h->metrics->wait[bucket_of(wait)]++;
        h->metrics->wait_sum += wait;
    }
}

void metrics_count_outcome(struct leased_job *h, const struct outcome *o)
{
    if (!h->metrics)
        return;
    h->metrics->outcomes[o->kind]++;
    if (o->duration >= 0) {
        h->metrics->run[bucket_of(o->duration)]++;
        h->metrics->run_sum += o->duration;
    }
}

static void add_counter(struct engine *e, const char *metric, const char *labels, int64_t *n)
{
    struct heartbeat *b = &e->heartbeat;

    if (!*n)
        return;
    *vec_add(&b->counters) = (struct counter){.metric = arena_strdup(&b->counter_texts, metric),
                                              .labels = arena_strdup(&b->counter_texts, labels),
                                              .add = *n};
    *n = 0;
}

static void add_histogram(struct engine *e, const char *metric, const char *labels, int64_t *counts,
                          int64_t *sum)
{
    AUTO_BUF name = BUF_INIT, with = BUF_INIT;

    buf_addf(&name, "%s_bucket", metric);
    for (size_t i = 0; i < TIME_BUCKETS; i++) {
        buf_reset(&with);
        if (time_bucket_us[i] == INT64_MAX)
            buf_addf(&with, "%s,le=\"+Inf\"", labels);
        else
            buf_addf(&with, "%s,le=\"%g\"", labels, (double)time_bucket_us[i] / 1e6);
        add_counter(e, name.ptr, with.ptr, &counts[i]);
    }
    buf_reset(&name);
    buf_addf(&name, "%s_sum_us", metric);
    add_counter(e, name.ptr, labels, sum);
}

static void collect_metrics(struct engine *e, struct metrics *t)
{
    AUTO_BUF labels = BUF_INIT, with = BUF_INIT;

    buf_addstr(&labels, "queue=\"");
    text_label(&labels, t->queue);
    buf_addstr(&labels, "\",executor=\"");
    text_label(&labels, t->executor);
    buf_addch(&labels, '"');
    add_counter(e, "pawl_attempts_total", labels.ptr, &t->attempts);
    for (size_t i = 1; i < sizeof(t->outcomes) / sizeof(*t->outcomes); i++) {
        buf_reset(&with);
        buf_addf(&with, "%s,outcome=\"%s\"", labels.ptr, outcome_text((int)i));
        add_counter(e, "pawl_outcomes_total", with.ptr, &t->outcomes[i]);
    }
    add_histogram(e, "pawl_wait_seconds", labels.ptr, t->wait, &t->wait_sum);
    add_histogram(e, "pawl_run_seconds", labels.ptr, t->run, &t->run_sum);
}

void metrics_collect(struct engine *e)
{
    for (size_t i = 0; i < e->all_metrics.n; i++)
        collect_metrics(e, e->all_metrics.at[i]);
    add_counter(e, "pawl_leases_lost_total", "", &e->leases_lost);
    add_counter(e, "pawl_outcomes_refused_total", "", &e->refused_outcomes);
    add_counter(e, "pawl_adoptions_total", "", &e->adoptions);
}

void metrics_release(struct engine *e)
{
    for (size_t i = 0; i < e->all_metrics.n; i++) {
        free(e->all_metrics.at[i]->queue);
        free(e->all_metrics.at[i]->executor);
        free(e->all_metrics.at[i]);
    }
    vec_release(&e->all_metrics);
}
