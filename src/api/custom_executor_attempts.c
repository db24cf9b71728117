/* custom_executor_attempts.c - the attempts of an embedder's executor, and the reports that it
 * makes about them, on any thread. */
#include "api/custom_executor.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table of runs ---- */

static struct run **bucket(struct pawl_reporter *r, int64_t execution)
{
    return &r->runs[(uint64_t)execution % RUN_BUCKETS];
}

/* Finds a run. Call it on the loop's thread, or with the lock held. */
static struct run *run_get(struct pawl_reporter *r, int64_t execution, int attempt)
{
    struct run *run = *bucket(r, execution);

    while (run && (run->id.execution != execution || run->id.attempt != attempt))
        run = run->next;
    return run;
}

struct run *run_of(struct executor *x, int64_t execution, int attempt)
{
    struct run *run = run_get((struct pawl_reporter *)x, execution, attempt);

    return run && !run->dropped ? run : NULL;
}

struct run *run_new(struct pawl_reporter *r, const struct job *j)
{
    struct run *run = mem_zalloc(sizeof(*run)), **head = bucket(r, j->execution);

    run->id = (struct pawl_attempt){r, j->execution, j->attempt};
    run->timeout = j->spec ? j->spec->timeout : 0;
    run->accepted = clock_boot_us();
    /* a command's outputs are chosen by the executor itself */
    if (j->spec && j->spec->noutputs && !spec_has_command(j->spec))
        run->outputs = mem_copy_list(j->spec->outputs);
    pthread_mutex_lock(&r->lock);
    run->next = *head;
    *head = run;
    pthread_mutex_unlock(&r->lock);
    r->n++;
    return run;
}

static void run_free(struct run *run)
{
    free((char *)run->end.result);
    free((char *)run->end.error);
    capped_log_release(&run->log);
    free(run->outputs);
    free(run);
}

void run_drop(struct run *run)
{
    struct pawl_reporter *r = run->id.to;

    if (run->dropped)
        return;
    run->dropped = r->any_dropped = true;
    r->n--;
}

/* Called with the lock held. */
static void add_news(struct pawl_reporter *r, struct run *run)
{
    if (run->is_news)
        return;
    if (!r->news)
        wakeup_signal(&r->wakeup);
    run->is_news = true;
    run->next_news = NULL;
    *r->news_end = run;
    r->news_end = &run->next_news;
}

void run_repeat_reports(struct run *run)
{
    pthread_mutex_lock(&run->id.to->lock);
    run->reported_started = false;
    capped_log_report_again(&run->log);
    add_news(run->id.to, run);
    pthread_mutex_unlock(&run->id.to->lock);
}

void run_each(struct pawl_reporter *r, void (*each)(struct run *run, int64_t now))
{
    int64_t now = clock_boot_us();

    for (size_t i = 0; i < RUN_BUCKETS; i++)
        for (struct run *run = r->runs[i]; run; run = run->next)
            if (!run->dropped)
                each(run, now);
}

void run_free_all(struct pawl_reporter *r)
{
    size_t i;

    for (i = 0; i < RUN_BUCKETS; i++)
        while (r->runs[i]) {
            struct run *run = r->runs[i];

            r->runs[i] = run->next;
            run_free(run);
        }
}

void run_free_dropped(struct pawl_reporter *r)
{
    bool left = false;

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; r->any_dropped && i < RUN_BUCKETS; i++)
        for (struct run **at = &r->runs[i]; *at;) {
            struct run *run = *at;

            if (run->dropped && !run->is_news) {
                *at = run->next;
                run_free(run);
            } else {
                left |= run->dropped;
                at = &run->next;
            }
        }
    r->any_dropped = left;
    pthread_mutex_unlock(&r->lock);
}

/* ---- reports, on any thread ---- */

/* Called with the lock held. Marks the run as started: any report of an attempt implies that. */
static void mark_started(struct run *run, int64_t at)
{
    if (run->started)
        return;
    run->started = true;
    run->started_at = at;
}

/* Returns the run with the lock held; if the run is unknown or has ended, returns NULL without the
 * lock, and the report is ignored. */
static struct run *lock_run(struct pawl_attempt a)
{
    struct run *run;

    pthread_mutex_lock(&a.to->lock);
    run = run_get(a.to, a.execution, a.attempt);
    if (run && !run->ended)
        return run;
    pthread_mutex_unlock(&a.to->lock);
    return NULL;
}

static void unlock_with_news(struct run *run)
{
    add_news(run->id.to, run);
    pthread_mutex_unlock(&run->id.to->lock);
}

void pawl_report_started(struct pawl_attempt a, int64_t ago)
{
    struct run *run = lock_run(a);

    if (!run)
        return;
    mark_started(run, clock_boot_us() - (ago > 0 ? ago : 0));
    unlock_with_news(run);
}

void pawl_report_log(struct pawl_attempt a, const char *bytes, size_t len)
{
    struct run *run = len ? lock_run(a) : NULL;
    bool is_due;

    if (!run)
        return;
    mark_started(run, clock_boot_us());
    is_due = run->log.due;
    capped_log_add(&run->log, bytes, len);
    if (is_due)
        pthread_mutex_unlock(&a.to->lock);
    else
        unlock_with_news(run);
}

/* Called with the lock held. Stores the end as an outcome of core/vocab.h. An unknown outcome
 * counts as a failure, never as a success. */
static void end_run(struct run *run, const struct pawl_end *e)
{
    struct outcome *o = &run->end;
    bool known = e->outcome >= PAWL_OK && e->outcome <= PAWL_REFUSED;
    int64_t now = clock_boot_us();

    if (e->outcome != PAWL_REFUSED && e->outcome != PAWL_LOST)
        mark_started(run, e->duration > 0 ? now - e->duration : run->accepted);
    *o = (struct outcome){.kind = known ? (enum outcome_kind)e->outcome : OUTCOME_FAILED,
                          .has_exit_code = e->has_exit_code,
                          .exit_code = e->exit_code,
                          .signal = e->signal,
                          .duration = run->started ? now - run->started_at : -1,
                          .cpu = e->cpu,
                          .peak_memory = e->peak_memory,
                          .retry_delay = e->retry_delay > 0 ? e->retry_delay : 0};
    if (e->duration > 0)
        o->duration = e->duration;
    if (o->kind == OUTCOME_OK)
        o->result = mem_strdup(e->result);
    else if (!known)
        o->error = mem_printf("the executor reported the unknown outcome %d", e->outcome);
    else if (e->error && *e->error)
        o->error = mem_strdup(e->error);
    run->ended = true;
}

void pawl_report_ended(struct pawl_attempt a, const struct pawl_end *end)
{
    struct run *run = lock_run(a);

    if (!run)
        return;
    end_run(run, end);
    unlock_with_news(run);
}
