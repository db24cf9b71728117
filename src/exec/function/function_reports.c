/* function_reports.c - the poll of the function executor, which reports what its threads did. */
#include "exec/function/pool.h"

#include "base/text.h"

#include <string.h>

#define REFUSED_DELAY 1000000 /* µs; the dispatcher lengthens it after each further refusal */

static void send_report(void *job, struct report *r)
{
    const struct function_job *j = job;
    struct executor *x = &j->f->x;

    r->execution = j->call.execution;
    r->attempt = j->call.attempt;
    if (!j->forgotten && x->report)
        x->report(x->arg, x, r);
}

static bool has_run(const struct function_job *j)
{
    return j->begun && !j->mark_error;
}

static void report_started(struct function_job *j)
{
    struct report r = {.kind = REPORT_STARTED, .ago = clock_boot_us() - j->begun};

    if (!j->started) {
        j->started = true;
        send_report(j, &r);
    }
}

static void describe_outcome(const struct function_job *j, struct buf *out)
{
    const char *name = j->entry ? j->entry->name : "";
    char span[DURATION_TEXT_SIZE];

    switch (j->kind) {
    case OUTCOME_OK:
        return;
    case OUTCOME_FAILED:
        if (j->failure)
            buf_addstr(out, j->failure);
        else
            buf_addf(out, "function %s returned %d", name, j->rc);
        return;
    case OUTCOME_TIMED_OUT:
        if (j->deadline && j->stop_requested_at >= j->deadline)
            buf_addf(out, "function %s ran longer than its timeout of %s", name,
                     text_duration(j->timeout, span));
        else
            buf_addf(out, "function %s was stopped by a timeout", name);
        break;
    case OUTCOME_CANCELLED:
        buf_addf(out,
                 j->begun ? "function %s was cancelled" : "cancelled before function %s started",
                 name);
        break;
    case OUTCOME_LOST:
        if (j->begun)
            buf_addf(out, "function %s was stopped: its worker lost the lease", name);
        else
            buf_addstr(out, "the worker that ran this function ended, and the function with it");
        break;
    case OUTCOME_DEFERRED:
        if (j->why)
            buf_addf(out, "function %s was stopped with its worker", name);
        else
            buf_addf(out, "function %s asked to be run again in %s", name,
                     text_duration(j->defer, span));
        break;
    case OUTCOME_REFUSED:
        if (j->unstarted)
            buf_addstr(out, "its worker ended before the function started");
        else if (j->mark_error)
            buf_addf(out,
                     "the start of function %s can't be recorded in the worker's file: %s; "
                     "free disk space or check the state folder",
                     name, strerror(j->mark_error));
        else if (!j->f->closed)
            buf_addf(out,
                     "function %s was returned to its queue, because it waited for a thread of its "
                     "worker",
                     name);
        else
            buf_addf(out, "function %s was not started, because its worker accepts no more jobs",
                     name);
    }
    if (j->failure)
        buf_addf(out, ": %s", j->failure);
}

static void report_ended(struct function_job *j)
{
    struct report r = {.kind = REPORT_ENDED};
    struct outcome *o = &r.outcome;
    AUTO_BUF result = BUF_INIT, error = BUF_INIT;

    if (has_run(j)) {
        report_started(j);
        capped_log_report(&j->log, &j->f->lock, true, send_report, j);
    }
    describe_outcome(j, &error);
    o->kind = j->kind;
    o->error = error.len ? error.ptr : NULL;
    o->duration = has_run(j) ? j->ended - j->begun : -1;
    o->cpu = j->cpu;
    o->unstarted = j->unstarted;
    if (j->kind == OUTCOME_OK) {
        o->result = call_result(j, &result);
    } else if (j->kind == OUTCOME_FAILED) {
        o->has_exit_code = true;
        o->exit_code = j->rc ? j->rc : 1;
    } else if (j->kind == OUTCOME_DEFERRED && !j->why) {
        o->retry_delay = j->defer;
    } else if (j->mark_error) {
        o->retry_delay = REFUSED_DELAY;
    }
    send_report(j, &r);
}

/* Keeps the start mark of a function that has run until the engine has settled the attempt or lost
 * its lease. */
static void keep_mark(struct function_job *j)
{
    if (j->mark < 0 || !has_run(j) || j->forgotten)
        return;
    start_marks_keep(j->f->marks, j->mark, j->call.execution, j->call.attempt);
    j->mark = -1;
}

/* ---- the poll ---- */

/* Called under the lock. Asks functions whose deadline has passed to stop, and sets the timer to
 * the next deadline. */
static void check_deadlines(struct functions *f, int64_t now)
{
    for (struct function_job *j = f->running.first; j; j = j->next) {
        if (!j->deadline || j->why == OUTCOME_CANCELLED || j->why == OUTCOME_TIMED_OUT)
            continue;
        if (j->deadline <= now)
            pool_request_stop(j, OUTCOME_TIMED_OUT);
        else
            wakeup_at(&f->wakeup, j->deadline);
    }
}

/* Collects the jobs under the lock and reports them without it: only the poll, on this same thread,
 * frees jobs that ran. */
static void report_running(struct functions *f)
{
    AUTO_VEC(struct function_job *) news = {0};

    pthread_mutex_lock(&f->lock);
    check_deadlines(f, clock_boot_us());
    for (struct function_job *j = f->running.first; j; j = j->next)
        if (!j->started || j->log.due)
            *vec_add(&news) = j;
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < news.n; i++) {
        report_started(news.at[i]);
        capped_log_report(&news.at[i]->log, &f->lock, false, send_report, news.at[i]);
    }
}

/* Called under the lock. Returns to their queues the jobs that have waited too long, so that a
 * worker with a free thread can start them. */
static void give_back_waiting(struct functions *f, int64_t now)
{
    struct function_job *j;

    while ((j = f->queue.first) && j->queued_at + f->patience <= now) {
        job_list_remove(&f->queue, j);
        pool_end_unrun(f, j, OUTCOME_REFUSED);
        f->typical = 2 * QUEUE_TIME; /* large enough that no job is claimed ahead until short
                                        functions end again */
    }
    if (j)
        wakeup_at(&f->wakeup, j->queued_at + f->patience);
}

void function_poll(struct executor *x)
{
    struct functions *f = (struct functions *)x;
    struct function_job_list ended;
    struct function_job *j;
    bool due;

    pthread_mutex_lock(&f->lock);
    due = wakeup_clear(&f->wakeup, clock_boot_us());
    pthread_mutex_unlock(&f->lock);
    if (due)
        report_running(f);

    pthread_mutex_lock(&f->lock);
    if (due)
        give_back_waiting(f, clock_boot_us());
    ended = f->ended;
    f->ended = (struct function_job_list){0};
    pthread_mutex_unlock(&f->lock);
    while ((j = ended.first)) {
        job_list_remove(&ended, j);
        report_ended(j);
        keep_mark(j);
        function_job_free(j);
    }
    pool_join_finished(f);
}
