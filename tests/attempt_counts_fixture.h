/* attempt_counts_fixture.h - counts attempts by their events, and compares with the counters. It
 * shares no code with the store that counts. */
#ifndef TESTS_ATTEMPT_COUNTS_FIXTURE_H
#define TESTS_ATTEMPT_COUNTS_FIXTURE_H

#include "base/idmap.h"
#include "fixture.h"
#include "store/query/query.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define TALLIES 20

/* The counts of one queue and executor, or the outcomes of one host. */
struct tally {
    char key[200];
    struct attempt_counts counts;
};

struct tallies {
    struct tally at[TALLIES];
};

static inline struct attempt_counts *tally_of(struct tallies *l, const char *a, const char *b)
{
    char key[200];

    snprintf(key, sizeof(key), "%s/%s", a, b);
    for (size_t i = 0; i < TALLIES; i++) {
        if (!*l->at[i].key)
            snprintf(l->at[i].key, sizeof(key), "%s", key);
        if (!strcmp(l->at[i].key, key))
            return &l->at[i].counts;
    }
    test_fail(__FILE__, __LINE__, "more than %d queues", TALLIES);
    return NULL;
}

static inline void tally_time(int64_t *buckets, int64_t *sum, int64_t us)
{
    size_t i;

    for (i = 0; us > time_bucket_us[i]; i++)
        ;
    buckets[i]++;
    *sum += us;
}

static inline int tally_outcome(const char *text)
{
    for (int kind = OUTCOME_OK; kind <= OUTCOME_REFUSED; kind++)
        if (!strcmp(outcome_text(kind), text))
            return kind;
    test_fail(__FILE__, __LINE__, "an attempt ended without an outcome: %s", text);
    return 0;
}

static inline void tally_end(const struct event_row *e, struct attempt_counts *c,
                             struct attempt_counts *of_host)
{
    json_t *data = json_loads(e->data ? e->data : "{}", 0, NULL);
    json_t *duration = json_object_get(data, "duration_us");
    int kind = tally_outcome(json_string_value(json_object_get(data, "outcome")));

    c->outcomes[kind]++;
    of_host->outcomes[kind]++;
    if (duration)
        tally_time(c->run, &c->run_us, json_integer_value(duration));
    json_decref(data);
}

/* The events of all jobs, newest first. */
struct tallying {
    struct store *s;
    struct tallies queues, hosts;
    struct idmap counts; /* execution -> the counts of its queue and executor */
    struct idmap claims; /* execution -> the time of its claim, until the event before it is read */
};

static inline struct attempt_counts *tally_counts(struct tallying *y, int64_t execution)
{
    struct attempt_counts *c = idmap_get(&y->counts, execution);

    if (!c) {
        struct execution x = get(y->s, execution);

        c = tally_of(&y->queues, strncmp(x.queue, "here:", 5) ? x.queue : "here",
                     strncmp(x.lane, "function:", 9) ? x.lane : "function");
        idmap_put(&y->counts, execution, c);
    }
    return c;
}

static inline void tally_event(struct tallying *y, const struct event_row *e)
{
    struct attempt_counts *c;
    int64_t claimed_at;

    if (e->type > WORKFLOW_EVENT)
        return;
    c = tally_counts(y, e->execution);
    claimed_at = (int64_t)(intptr_t)idmap_get(&y->claims, e->execution);
    if (claimed_at)
        tally_time(c->wait, &c->wait_us, claimed_at - e->created_at);
    idmap_put(&y->claims, e->execution, NULL);
    c->adopted += e->type == EV_ADOPTED;
    c->lease_expired += e->type == EV_LEASE_EXPIRED;
    if (e->type == EV_CLAIMED || e->type == EV_RESUMED) {
        c->claimed++;
        idmap_put(&y->claims, e->execution, (void *)(intptr_t)e->created_at);
    }
    if (e->from == S_RUNNING && e->to != S_RUNNING)
        tally_end(e, c, tally_of(&y->hosts, e->host ? e->host : "", ""));
}

static inline void tally_events(struct tallying *y)
{
    struct event_filter all = {0};
    struct event_cursor from = {0};
    struct err err = ERR_INIT;

    while (!from.end) {
        AUTO(event_list_release) struct event_list l = {0};

        CHECK_OK_ERR(query_events(y->s, &all, 1000, &from, &l, &err), &err);
        for (size_t i = 0; i < l.n; i++)
            tally_event(y, &l.at[i]);
    }
    idmap_release(&y->counts);
    idmap_release(&y->claims);
}

#define TALLY_NUMBERS (sizeof(struct attempt_counts) / sizeof(int64_t))

static inline int64_t tally_number(const struct attempt_counts *c, size_t nth)
{
    return ((const int64_t *)c)[nth];
}

/* Outcomes that were refused leave no event: they are not compared. */
static inline void check_same_tallies(struct tallies *counted, struct tallies *events)
{
    for (size_t i = 0; i < TALLIES && *counted->at[i].key; i++) {
        struct tally *c = &counted->at[i];
        char *slash = strrchr(c->key, '/');
        struct attempt_counts *e;

        *slash = '\0';
        e = tally_of(events, c->key, slash + 1);
        c->counts.settle_refused = 0;
        for (size_t k = 0; k < TALLY_NUMBERS; k++)
            if (tally_number(&c->counts, k) != tally_number(e, k))
                test_fail(__FILE__, __LINE__, "%s/%s: count %zu is %lld, by the events %lld",
                          c->key, slash + 1, k, (long long)tally_number(&c->counts, k),
                          (long long)tally_number(e, k));
        *e = (struct attempt_counts){0};
    }
    for (size_t i = 0; i < TALLIES; i++)
        for (size_t k = 0; k < TALLY_NUMBERS; k++)
            if (tally_number(&events->at[i].counts, k))
                test_fail(__FILE__, __LINE__, "%s: nothing was counted", events->at[i].key);
}

/* Checks that the counters equal the counts of all events, none of which may have been deleted. */
static inline void check_counts_match_events(struct store *s)
{
    struct tallies counted = {0}, by_host = {0};
    struct tallying y = {.s = s};
    AUTO(attempt_list_release) struct attempt_list queues = {0};
    AUTO(worker_outcome_list_release) struct worker_outcome_list workers = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(query_attempt_counts(s, &queues, &workers, &err), &err);
    for (size_t i = 0; i < queues.n; i++)
        *tally_of(&counted, queues.at[i].queue, queues.at[i].executor) = queues.at[i].counts;
    for (size_t i = 0; i < workers.n; i++)
        tally_of(&by_host, workers.at[i].host, "")->outcomes[workers.at[i].outcome] +=
            workers.at[i].n;
    tally_events(&y);
    check_same_tallies(&counted, &y.queues);
    check_same_tallies(&by_host, &y.hosts);
}

#endif
