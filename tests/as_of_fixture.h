/* as_of_fixture.h - compares rows that were read earlier with the replay of their events as of the
 * moment when they were read. */
#ifndef TESTS_AS_OF_FIXTURE_H
#define TESTS_AS_OF_FIXTURE_H

#include "base/buf.h"
#include "core/graph.h"
#include "harness.h"
#include "store/query/as_of.h"

#include <jansson.h>
#include <string.h>

static inline bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* A result that was stored in the event of a rerun is equal as JSON, but may be formatted
 * differently. */
static inline bool is_same_json(const char *a, const char *b)
{
    json_t *x, *y;
    bool same;

    if (is_same_text(a, b) || !a || !b)
        return is_same_text(a, b);
    x = json_loads(a, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    y = json_loads(b, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    same = json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

#define PAST_NUMBER(what, a, b)                                                             \
    if ((a) != (b))                                                                         \
    buf_addf(wrong, "%s (%lld): " what " was %lld, and is %lld by its events\n", was->name, \
             (long long)was->id, (long long)(a), (long long)(b))
#define PAST_TEXT(what, same, a, b)                                                     \
    if (!same(a, b))                                                                    \
    buf_addf(wrong, "%s (%lld): " what " was %s, and is %s by its events\n", was->name, \
             (long long)was->id, (a) ? (a) : "nothing", (b) ? (b) : "nothing")

static inline void as_of_compare_one(const struct execution *was, const struct execution_history *p,
                                     const struct execution *is, const struct execution_history *q,
                                     struct buf *wrong)
{
    PAST_NUMBER("status", was->status, is->status);
    PAST_NUMBER("held", was->held, is->held);
    PAST_NUMBER("attempts", was->attempts, is->attempts);
    PAST_NUMBER("max_attempts", was->max_attempts, is->max_attempts);
    PAST_NUMBER("epoch", was->epoch, is->epoch);
    PAST_NUMBER("seq", was->seq, is->seq);
    PAST_NUMBER("started_at", was->started_at, is->started_at);
    PAST_NUMBER("finished_at", was->finished_at, is->finished_at);
    PAST_NUMBER("idle", was->idle, is->idle);
    PAST_NUMBER("updated_at", was->updated_at, is->updated_at);
    PAST_NUMBER("deferred", was->deferred, is->deferred);
    PAST_NUMBER("cancel_requested", was->cancel_requested, is->cancel_requested);
    PAST_NUMBER("worker", was->worker, is->worker);
    PAST_NUMBER("the last worker", p->worker, q->worker);
    if (was->held == HELD_DELAY)
        PAST_NUMBER("due_at", p->due_at, q->due_at);
    if (!kind_is_job(was->kind))
        PAST_NUMBER("paused", (was->flags & FLAG_PAUSED) != 0, (is->flags & FLAG_PAUSED) != 0);
    PAST_TEXT("held_key", is_same_text, was->held_key, is->held_key);
    PAST_TEXT("error", is_same_text, was->error, is->error);
    PAST_TEXT("result", is_same_json, was->result, is->result);
    PAST_TEXT("outcome", is_same_text, p->outcome, q->outcome);
    if (was->kind == KIND_WORKFLOW)
        PAST_TEXT("pause", is_same_text, p->pause, q->pause);
}

/* `was` is the tree as it was read at that moment. */
static inline void as_of_compare(struct store *s, const struct execution_list *was,
                                 const struct moment *at, struct buf *wrong)
{
    struct execution_list is = {0};
    struct err err = ERR_INIT;
    size_t i;

    if (execution_is_submission(&was->at[0]))
        return; /* a waiting submission has no event yet */
    CHECK_OK_ERR(query_tree_at(s, was->at[0].id, at, &is, &err), &err);
    if (is.n != was->n)
        buf_addf(wrong, "there were %zu executions, and are %zu by their events\n", was->n, is.n);
    for (i = 0; i < was->n && is.n == was->n; i++) {
        CHECK_EQ(was->at[i].id, is.at[i].id);
        as_of_compare_one(&was->at[i], &was->history[i], &is.at[i], &is.history[i], wrong);
    }
    execution_list_release(&is);
}

#endif
