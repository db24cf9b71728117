/* custom_executor_poll.c - polls an embedder's executor: passes its reports on to the dispatcher,
 * and cancels attempts that have reached their timeout. */
#include "api/custom_executor.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define LOG_EVERY 1000000 /* µs between two reports of a growing log */

static void forward_report(void *arg, struct report *report)
{
    struct run *run = arg;
    struct executor *x = &run->id.to->x;

    report->execution = run->id.execution;
    report->attempt = run->id.attempt;
    if (!run->dropped)
        x->report(x->arg, x, report);
}

static void report_started(struct run *run)
{
    struct report report = {.kind = REPORT_STARTED};
    bool started;
    int64_t started_at;

    pthread_mutex_lock(&run->id.to->lock);
    started = run->started;
    started_at = run->started_at;
    pthread_mutex_unlock(&run->id.to->lock);
    if (!started || run->reported_started)
        return;
    run->reported_started = true;
    run->deadline = run->timeout ? started_at + run->timeout : 0;
    report.ago = clock_boot_us() - started_at;
    forward_report(run, &report);
}

static void report_log(struct run *run, bool last)
{
    capped_log_report(&run->log, &run->id.to->lock, last, forward_report, run);
    run->log_at = clock_boot_us();
}

/* Returns why the attempt did not succeed: the executor's own error if it reported this kind of
 * outcome, else the reason for which the attempt was cancelled. */
static char *describe_reason(const struct run *run, enum outcome_kind kind)
{
    char span[DURATION_TEXT_SIZE];

    if (run->end.error && kind == run->end.kind)
        return mem_strdup(run->end.error);
    switch (kind) {
    case OUTCOME_TIMED_OUT:
        return mem_printf("ran longer than its timeout of %s", text_duration(run->timeout, span));
    case OUTCOME_CANCELLED:
        return mem_strdup("cancelled");
    case OUTCOME_DEFERRED:
        return mem_strdup("stopped with its worker");
    case OUTCOME_LOST:
        return mem_strdup("stopped, because its worker had lost the lease");
    default:
        return mem_printf("the executor %s reported no error message", run->id.to->x.key);
    }
}

static bool is_kept(const struct run *run, const char *key)
{
    for (size_t i = 0; run->outputs[i]; i++)
        if (!strcmp(run->outputs[i], key))
            return true;
    return false;
}

/* Returns the members of the result that the task keeps; the caller frees them. NULL if the result
 * stays as it is: all of it is kept, it is not an object, or it can't be read. In the last case the
 * settlement, which reads it by the same rules, refuses it. */
static char *kept_outputs(const struct run *run, const char *result)
{
    json_auto_t *all = NULL;
    AUTO_BUF out = BUF_INIT;
    struct err refusal = ERR_INIT;
    const char *key;
    json_t *v;
    void *next;

    if (!run->outputs || !result ||
        json_load(result, strlen(result), JSON_DEPTH_MAX, "the result", &all, &refusal) ||
        !json_is_object(all))
        return NULL;
    json_object_foreach_safe(all, next, key, v)
    {
        if (!is_kept(run, key))
            json_object_del(all, key);
    }
    (void)json_add_value(&out, all, SIZE_MAX);
    return mem_strdup(buf_cstr(&out));
}

/* Passes on the end of a run. For a cancelled run, the executor reports only that it was cancelled;
 * run->why holds the reason. */
static void report_end(struct run *run)
{
    struct report report = {.kind = REPORT_ENDED, .outcome = run->end};
    struct outcome *o = &report.outcome;
    AUTO_FREE char *why = NULL, *kept = NULL;

    report_started(run);
    report_log(run, true);
    if (o->kind == OUTCOME_CANCELLED && run->why)
        o->kind = run->why;
    if (o->kind != OUTCOME_OK)
        o->error = why = describe_reason(run, o->kind);
    else if ((kept = kept_outputs(run, o->result)))
        o->result = kept;
    forward_report(run, &report);
    run_drop(run);
}

static void send_report(struct run *run, int64_t now)
{
    bool ended, due;

    pthread_mutex_lock(&run->id.to->lock);
    ended = run->ended;
    due = run->log.due;
    pthread_mutex_unlock(&run->id.to->lock);
    if (ended) {
        report_end(run);
        return;
    }
    report_started(run);
    if (due && now - run->log_at >= LOG_EVERY)
        report_log(run, false);
    else if (due)
        wakeup_at(&run->id.to->wakeup, run->log_at + LOG_EVERY);
    if (run->deadline)
        wakeup_at(&run->id.to->wakeup, run->deadline);
}

static void report_news(struct pawl_reporter *r, int64_t now)
{
    struct run *run, *next;

    pthread_mutex_lock(&r->lock);
    run = r->news;
    r->news = NULL;
    r->news_end = &r->news;
    pthread_mutex_unlock(&r->lock);
    for (; run; run = next) {
        pthread_mutex_lock(&r->lock);
        next = run->next_news;
        run->is_news = false; /* from now on, another report may add the run again */
        pthread_mutex_unlock(&r->lock);
        if (!run->dropped)
            send_report(run, now);
    }
}

/* ---- poll ---- */

/* Asks the executor to cancel the run. If `why` was a cancel or a timeout, it stays the reason; any
 * other reason is replaced. */
void run_cancel(struct run *run, enum outcome_kind why)
{
    const struct pawl_executor *own = &run->id.to->own;

    if (run->why != OUTCOME_CANCELLED && run->why != OUTCOME_TIMED_OUT)
        run->why = why;
    if (!run->cancel_called && own->cancel) {
        run->cancel_called = true;
        own->cancel(own->data, run->id);
    }
}

static void poll_run(struct run *run, int64_t now)
{
    if (run->deadline && run->deadline <= now) {
        run->deadline = 0;
        run_cancel(run, OUTCOME_TIMED_OUT);
    }
    send_report(run, now);
}

void custom_executor_poll(struct executor *x)
{
    struct pawl_reporter *r = (struct pawl_reporter *)x;
    struct epoll_event ready[3];
    int i, n = epoll_wait(r->wakeup.epoll, ready, 3, 0);

    for (i = 0; i < n; i++)
        if (ready[i].data.ptr)
            r->own.poll(r->own.data);
    if (wakeup_clear(&r->wakeup, clock_boot_us()))
        run_each(r, poll_run);
    report_news(r, clock_boot_us());
    run_free_dropped(r);
}
