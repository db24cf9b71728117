/* why.c - explains the state of an execution, for people and for programs: the exact condition that
 * is not met, and how its attempts ended. Each reason has a code that never changes, a text for
 * people, and the facts that the text is made of. */
#include "api/why.h"

#include "api/known_executors.h"
#include "base/text.h"
#include "core/graph.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reasons ---- */

struct answer {
    int64_t id;
    const char *name, *reasons;
    int status;
};

#define ROW struct answer
static const struct column why_columns[] = {
    {"id", INT(id), NULL},
    {"name", TEXT(name), NULL},
    {"status", WORD(status, status_text), NULL},
    {"reasons", JSON(reasons, "array"), "of objects that start with `code` and `text`"},
};
const struct noun why_noun = {"## Why", NOUN_COLUMNS(why_columns)};

static void write_fact(struct json_writer *w, const struct fact *f)
{
    struct column c = {.name = f->name,
                       .type = f->type,
                       .at = f->type <= COLUMN_WORD   ? offsetof(struct fact, n)
                             : f->type == COLUMN_LIST ? offsetof(struct fact, rows)
                                                      : offsetof(struct fact, pointer),
                       .size = sizeof(f->n),
                       .noun = f->noun};

    column_write(w, &c, f);
}

void why_reason(struct reasons *r, const char *code, const struct fact *facts, size_t n)
{
    json_write_begin(&r->w, '{');
    write_fact(&r->w, &FACT_TEXT("code", code));
    write_fact(&r->w, &FACT_TEXT("text", buf_cstr(r->text)));
    if (r->task)
        write_fact(&r->w, &FACT_INT("task", r->task));
    for (size_t i = 0; i < n; i++)
        write_fact(&r->w, &facts[i]);
    json_write_end(&r->w, '}');
    buf_reset(r->text);
}

static void add_at(struct buf *b, const char *word, int64_t us)
{
    char at[TIME_TEXT_SIZE];

    buf_addf(b, "%s%s", word, text_time(us, at));
}

static void add_span(struct buf *b, const char *word, int64_t us)
{
    char span[DURATION_TEXT_SIZE];

    buf_addf(b, "%s%s", word, text_duration(us, span));
}

/* Returns the newest event with one of these actions, and with data that begins with `data`
 * if that is not NULL; NULL if none was read. */
static const struct event_row *newest_event(const struct why *y, uint64_t actions, const char *data)
{
    for (size_t i = 0; i < y->events.n; i++) {
        const struct event_row *v = &y->events.at[i];

        if ((EVENT_BIT(v->type % WORKFLOW_EVENT) & actions) &&
            (!data || (v->data && !strncmp(v->data, data, strlen(data)))))
            return v;
    }
    return NULL;
}

/* Returns the newest `held` event with this reason; NULL if none was read. */
static const struct event_row *newest_hold(const struct why *y, enum hold why)
{
    char begin[32];

    snprintf(begin, sizeof(begin), "{\"why\":\"%s\"", hold_text((int)why));
    return newest_event(y, EVENT_BIT(EV_HELD), begin);
}

static json_t *data_of(const struct event_row *v)
{
    return api_data(v ? v->data : NULL);
}

void why_add_who(struct buf *b, const char *by, const char *reason)
{
    if (by)
        buf_addf(b, ", by %s", by);
    if (reason)
        buf_addf(b, ": %s", reason);
}

/* Adds a reason that a user caused, such as a pause or a cancel. `sentence` ends such that "at
 * TIME" can follow. */
static void add_requested(struct reasons *r, const char *code, const char *sentence,
                          const struct event_row *v)
{
    json_auto_t *data = data_of(v);

    buf_addstr(r->text, sentence);
    if (v)
        add_at(r->text, " at ", v->created_at);
    why_add_who(r->text, api_data_text(data, "by"), api_data_text(data, "reason"));
    WHY_REASON(r, code,
               FACTS_REQUEST(v ? v->created_at : 0, api_data_text(data, "by"),
                             api_data_text(data, "reason")));
}

/* ---- how attempts ended ---- */

#define BITS_ENDED                                                                    \
    (EVENT_BIT(EV_RETRY_SCHEDULED) | EVENT_BIT(EV_FAILED) | EVENT_BIT(EV_TIMED_OUT) | \
     EVENT_BIT(EV_ABANDONED))
#define BITS_AGAIN (EVENT_BIT(EV_RETRY_SCHEDULED) | EVENT_BIT(EV_DEFERRED) | EVENT_BIT(EV_RELEASED))

static void add_number(struct buf *b, const json_t *data, const char *key, const char *words)
{
    const json_t *n = json_object_get(data, key);

    if (json_is_integer(n))
        buf_addf(b, "%s%lld", words, (long long)json_integer_value(n));
}

/* Adds a text such as "failed after 3.0 s with exit code 75: no route to host". */
static void add_outcome(struct buf *b, const json_t *data)
{
    const char *outcome = api_data_text(data, "outcome"), *error = api_data_text(data, "error");
    const json_t *took = json_object_get(data, "duration_us");

    buf_addstr(b, !outcome                        ? "ended"
                  : !strcmp(outcome, "timed_out") ? "timed out"
                  : !strcmp(outcome, "lost")      ? "was lost"
                  : !strcmp(outcome, "refused")   ? "was refused"
                                                  : outcome);
    if (json_is_integer(took))
        add_span(b, " after ", json_integer_value(took));
    add_number(b, data, "exit_code", " with exit code ");
    add_number(b, data, "signal", " by signal ");
    if (error)
        buf_addf(b, ": %s", error);
}

/* The facts about the end of an attempt, from its event. */
#define FACTS_OUTCOME(v, data)                                                               \
    FACT_INT("attempt", (v)->attempt), FACT_TEXT("outcome", api_data_text(data, "outcome")), \
        FACT_VALUE("exit_code", api_data_integer(data, "exit_code")),                        \
        FACT_VALUE("signal", api_data_integer(data, "signal")),                              \
        FACT_VALUE("duration_us", api_data_integer(data, "duration_us")),                    \
        FACT_TEXT("error", api_data_text(data, "error")), FACT_TIME("at", (v)->created_at)

/* Adds one reason for each attempt that did not succeed, oldest first. */
static void add_attempts(struct reasons *r)
{
    for (size_t i = r->y->events.n; i-- > 0;) {
        const struct event_row *v = &r->y->events.at[i];
        json_auto_t *data = NULL;

        if (!v->attempt || !(EVENT_BIT(v->type % WORKFLOW_EVENT) & BITS_ENDED))
            continue;
        data = data_of(v);
        buf_addf(r->text, "attempt %d ", v->attempt);
        add_outcome(r->text, data);
        WHY_REASON(r, "attempt", FACTS_OUTCOME(v, data));
    }
}

/* ---- held ---- */

#define FACTS_UNTIL(r)                          \
    FACT_TIME("until", (r)->y->history.due_at), \
        FACT_INT("in_us", (r)->y->history.due_at - (r)->y->now)

static void add_when(struct reasons *r)
{
    int64_t in = r->y->history.due_at - r->y->now;

    if (in > 0)
        add_span(r->text, " in ", in);
    else
        buf_addstr(r->text, " now, as soon as a worker fires its timer");
}

/* Explains a delay: the wait before a retry, or a delay that was requested. */
static void add_delay(struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    const struct event_row *v = e->attempts ? newest_event(r->y, BITS_AGAIN, NULL) : NULL;
    json_auto_t *data = data_of(v);

    if (!v) {
        buf_addstr(r->text, "its start is delayed: it may be claimed");
        add_when(r);
        WHY_REASON(r, "delay", FACTS_UNTIL(r));
    } else {
        if (v->type == EV_RETRY_SCHEDULED)
            buf_addf(r->text, "retry %d of %d", e->attempts, e->max_attempts - 1);
        else
            buf_addf(r->text, "it runs again");
        add_when(r);
        buf_addf(r->text, " because attempt %d ", v->attempt);
        add_outcome(r->text, data);
        WHY_REASON(r, v->type == EV_RETRY_SCHEDULED ? "retry" : action_text(v->type),
                   FACTS_UNTIL(r), FACTS_OUTCOME(v, data));
    }
}

/* For a claimable job that was returned to its queue: adds the reason, which may still apply. */
static void add_last_release(struct reasons *r)
{
    const struct event_row *v =
        newest_event(r->y, EVENT_BIT(EV_CLAIMED) | EVENT_BIT(EV_RESUMED) | BITS_AGAIN, NULL);
    json_auto_t *data = data_of(v);

    if (!v || v->type != EV_RELEASED)
        return;
    buf_addf(r->text, "attempt %d ", v->attempt);
    add_outcome(r->text, data);
    WHY_REASON(r, "released", FACTS_OUTCOME(v, data));
}

static void add_limit(struct reasons *r)
{
    const struct why *y = r->y;
    const char *key = y->execution.held_key;

    if (y->queue_paused) {
        buf_addf(r->text, "the queue %s has been paused", strchr(key, ':') + 1);
        add_at(r->text, " since ", y->paused_at);
        why_add_who(r->text, y->paused_by, y->pause_reason);
        buf_addf(r->text, "; resume it with `pawl queue resume %s`", strchr(key, ':') + 1);
        WHY_REASON(r, "queue_paused", FACT_TEXT("queue", strchr(key, ':') + 1),
                   FACTS_REQUEST(y->paused_at, y->paused_by, y->pause_reason));
    } else {
        if (y->limit_is_cap)
            buf_addf(r->text, "queues are disabled, and queue.cap is reached");
        else
            buf_addf(r->text, "the limit %s is full", key);
        buf_addf(r->text, ": %lld of %lld in use", (long long)y->limit_used,
                 (long long)y->limit_max);
        if (y->nothers) {
            buf_addstr(r->text, ", by ");
            why_add_others(r);
        }
        why_add_before(r, "; ");
        if (!strncmp(key, "queue:", 6))
            buf_addf(r->text, "; change it with `pawl queue set %s --limit N`", key + 6);
        WHY_REASON(r, "limit", FACT_TEXT("key", key), FACT_INT("max", y->limit_max),
                   FACT_INT("used", y->limit_used), why_others(r, "holders"),
                   FACT_INT("before", y->before));
    }
}

static void add_hold(struct reasons *r)
{
    switch (r->y->execution.held) {
    case HELD_APPROVAL:
        why_approval(r, newest_hold(r->y, HELD_APPROVAL));
        break;
    case HELD_PAUSED:
        if (!r->y->pause.id) /* the execution was resumed, and its hold is about to be lifted */
            add_requested(r, "paused", "it was paused", newest_hold(r->y, HELD_PAUSED));
        break;
    case HELD_DELAY:
        add_delay(r);
        break;
    default:
        add_limit(r);
    }
}

/* ---- the rest ---- */

/* Returns the data of the event that names the requester of a cancel or skip. A running job has a
 * cancel_requested event; a waiting one was ended by the request itself. */
static json_t *requested_by(const struct why *y)
{
    const struct event_row *v = newest_event(y, EVENT_BIT(EV_CANCEL_REQUESTED), NULL);

    return data_of(v ? v : newest_event(y, EVENT_BIT(EV_CANCELLED) | EVENT_BIT(EV_SKIPPED), NULL));
}

/* Names the command that shows more about a failure. */
static void add_next_command(struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    const struct why_failed *f = &r->y->failed;

    if (f->id)
        buf_addf(r->text, "; `pawl logs %lld` shows the output of %s", (long long)f->id, f->name);
    if (f->id && !f->is_only)
        buf_addf(r->text, ", and `pawl tree %lld` all that failed", (long long)e->id);
    else if (!f->id && !kind_is_job(e->kind))
        buf_addf(r->text, "; `pawl tree %lld` shows what failed", (long long)e->id);
    else if (!f->id && e->attempts)
        buf_addf(r->text, "; `pawl logs %lld` shows its output", (long long)e->id);
}

static void add_end(struct reasons *r)
{
    static const char *const words[S_COUNT] = {[S_SUCCEEDED] = "succeeded",
                                               [S_FAILED] = "failed",
                                               [S_TIMED_OUT] = "timed out",
                                               [S_CANCELLED] = "was cancelled",
                                               [S_SKIPPED] = "was skipped"};
    const struct execution *e = &r->y->execution;
    json_auto_t *data =
        e->status == S_CANCELLED || e->status == S_SKIPPED ? requested_by(r->y) : NULL;
    const char *by = api_data_text(data, "by"), *reason = api_data_text(data, "reason");

    buf_addf(r->text, "it %s", words[e->status]);
    add_at(r->text, " at ", e->finished_at);
    if (e->attempts)
        buf_addf(r->text, " in attempt %d of %d", e->attempts, e->max_attempts);
    why_add_who(r->text, by, reason);
    if (e->error &&
        strcmp(e->error, status_text(e->status))) /* unless the error only repeats the status */
        buf_addf(r->text, ": %s", e->error);
    if (e->status == S_FAILED || e->status == S_TIMED_OUT)
        add_next_command(r);
    WHY_REASON(r, "ended", FACT_TEXT("status", status_text(e->status)),
               FACT_TIME("at", e->finished_at), FACT_TEXT("error", e->error), FACT_TEXT("by", by),
               FACT_TEXT("reason", reason), FACT_ID("failed", r->y->failed.id));
}

/* Adds why the first ready task of a running workflow or fan-out waits. */
static void add_ready(struct reasons *r)
{
    const struct why *whole = r->y, *y = whole->ready;

    if (!y || whole->pause.id || (!y->execution.held && !execution_is_claimable(&y->execution)))
        return;
    buf_addf(r->text, "%s (%lld): ", y->execution.name, (long long)y->execution.id);
    r->y = y;
    r->task = y->execution.id;
    if (y->pause.id)
        why_paused(r);
    else if (y->execution.held)
        add_hold(r);
    else
        why_claimable(r);
    r->y = whole;
    r->task = 0;
}

static void write_reasons(struct reasons *r)
{
    const struct execution *e = &r->y->execution;

    if (r->y->pause.id && !(kind_is_job(e->kind) && e->status == S_RUNNING))
        why_paused(r);
    if (status_is_terminal(e->status)) {
        add_end(r);
        if (e->status == S_SKIPPED)
            why_skipped(r);
    } else if (execution_is_submission(e)) {
        why_submission(r);
    } else if (e->held) {
        add_hold(r);
    } else if (e->status == S_PENDING) {
        why_needs(r);
    } else if (execution_is_claimable(e)) {
        why_claimable(r);
        add_last_release(r);
    } else if (!kind_is_job(e->kind)) {
        why_workflow_runs(r);
        add_ready(r);
    } else {
        why_running(r);
    }
    if (e->cancel_requested && !status_is_terminal(e->status))
        add_requested(r, "cancel_requested", "it has not ended yet: its cancellation was requested",
                      newest_event(r->y, EVENT_BIT(EV_CANCEL_REQUESTED), NULL));
    else if (e->status == S_RUNNING && (e->flags & FLAG_LET_FINISH))
        add_requested(r, "let_finish",
                      "it may finish, but is not retried: its cancellation was requested",
                      newest_event(r->y, EVENT_BIT(EV_CANCEL_REQUESTED), NULL));
    add_attempts(r);
}

/* Whether the execution is a ready job whose executor is offered by no worker. */
static bool waits_for_executor(const struct execution *e, const struct worker_list *workers)
{
    if (!execution_is_claimable(e) || !e->lane || strchr(e->lane, ':'))
        return false;
    for (size_t i = 0; i < workers->n; i++)
        if (worker_serves(&workers->at[i].worker, e->lane, NULL))
            return false;
    return true;
}

int pawl_why(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    AUTO(why_release) struct why y = {0};
    AUTO(worker_list_release) struct worker_list workers = {0};
    AUTO(known_executors_release) struct known_executors known = {0};
    AUTO_BUF reasons = BUF_INIT, text = BUF_INIT;
    struct reasons r = {.w = JSON_WRITER(&reasons),
                        .text = &text,
                        .y = &y,
                        .workers = &workers,
                        .host_grace = p->config->worker.host_grace};
    struct answer a = {.id = id};
    API_ERR(e);

    if (p->remote)
        return remote_show(p->remote, id, "/why", NULL, json, err);
    TRY(query_why(p->store, id, &y, err));
    TRY(query_workers(p->store, &workers, err));
    if (waits_for_executor(&y.execution, &workers) ||
        (y.ready && waits_for_executor(&y.ready->execution, &workers))) {
        TRY(known_executors_read(p, &known, err));
        TRY(known_executors_read_past(p, &known, err));
        r.known = &known;
    }
    json_write_begin(&r.w, '[');
    write_reasons(&r);
    json_write_end(&r.w, ']');
    a.name = y.execution.name;
    a.status = y.execution.status;
    a.reasons = reasons.ptr;
    *json = noun_text(&why_noun, &a);
    return 0;
}
