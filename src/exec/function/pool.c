/* pool.c - the threads that run functions. A thread takes the lock once per job: to return the
 * ended job and to take the next one. */
#include "exec/function/pool.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

void job_list_add(struct function_job_list *l, struct function_job *j)
{
    j->prev = l->last;
    j->next = NULL;
    *(l->last ? &l->last->next : &l->first) = j;
    l->last = j;
    l->n++;
}

void job_list_remove(struct function_job_list *l, struct function_job *j)
{
    *(j->prev ? &j->prev->next : &l->first) = j->next;
    *(j->next ? &j->next->prev : &l->last) = j->prev;
    l->n--;
}

void pool_request_stop(struct function_job *j, enum outcome_kind why)
{
    if (!j->why)
        j->stop_requested_at = clock_boot_us();
    if (j->why != OUTCOME_CANCELLED && j->why != OUTCOME_TIMED_OUT)
        j->why = why;
    atomic_store_explicit(&j->stop_flag, true, memory_order_relaxed);
}

void pool_end_unrun(struct functions *f, struct function_job *j, enum outcome_kind kind)
{
    j->state = JOB_ENDED;
    j->kind = kind;
    job_list_add(&f->ended, j);
    if (f->ended.n == 1)
        wakeup_signal(&f->wakeup);
}

/* ---- one job ---- */

static struct function_job *take_job(struct functions *f)
{
    struct function_job *j = f->queue.first;

    if (!j)
        return NULL;
    job_list_remove(&f->queue, j);
    job_list_add(&f->running, j);
    j->state = JOB_RUNNING;
    j->begun = clock_boot_us();
    if (j->timeout) {
        j->deadline = j->begun + j->timeout;
        wakeup_at(&f->wakeup, j->deadline);
    }
    wakeup_at(&f->wakeup, j->begun + STARTED_AFTER);
    return j;
}

/* The outcome of a call that has returned. A cancel or timeout decides it. A function that was
 * asked to stop for another reason (the worker stops, the lease is lost) may still have
 * succeeded. */
static enum outcome_kind decide_outcome(const struct function_job *j)
{
    if (j->mark_error)
        return OUTCOME_REFUSED;
    if (j->why == OUTCOME_CANCELLED || j->why == OUTCOME_TIMED_OUT)
        return j->why;
    if (j->rc || j->failure)
        return j->why ? j->why : OUTCOME_FAILED;
    return j->defer >= 0 ? OUTCOME_DEFERRED : OUTCOME_OK;
}

/* Called under the lock. A moving average, so that one very long function does not outweigh many
 * short ones. */
static void learn_typical(struct functions *f, const struct function_job *j)
{
    int64_t span = j->ended - j->begun;

    if (j->mark_error)
        return;
    if (span > 4 * QUEUE_TIME)
        span = 4 * QUEUE_TIME;
    f->typical = f->typical < 0 ? span : f->typical + (span - f->typical) / 8;
}

static int64_t thread_cpu(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void run_job(struct function_job *j, int64_t *cpu)
{
    int64_t before = *cpu;

    if (j->mark >= 0 &&
        start_marks_write(j->f->marks, j->mark, j->call.execution, j->call.attempt)) {
        j->mark_error = errno;
        return;
    }
    j->rc = j->entry->fn(&j->call, j->entry->arg);
    j->ended = clock_boot_us();
    *cpu = thread_cpu(); /* a thread uses almost no CPU time between two jobs */
    j->cpu = *cpu - before;
}

/* ---- the threads ---- */

/* False if no work came for the idle time, or the pool stops: the thread ends. */
static bool wait_for_work(struct functions *f)
{
    struct timespec until = thread_time_in(f->idle_time);
    int rc = 0;

    f->idle++;
    while (!f->queue.first && !f->stopping && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&f->work, &f->lock, &until);
        if (f->waking)
            f->waking--;
    }
    f->idle--;
    return f->queue.first != NULL;
}

/* Called under the lock. Registers an ending thread to be joined. In an abandoned pool the thread
 * is detached instead; true if it is the last one of that pool and must free the pool. */
static bool register_thread_end(struct functions *f, struct pool_thread *t)
{
    f->threads--;
    if (f->abandoned) {
        pthread_detach(t->id);
        free(t);
        return !f->threads;
    }
    t->next = f->finished;
    f->finished = t;
    pthread_cond_signal(&f->gone);
    return false;
}

/* Waits for the next job; NULL if the thread must end. */
static struct function_job *await_job(struct pool_thread *t)
{
    struct functions *f = t->f;
    struct function_job *j;
    bool last;

    pthread_mutex_lock(&f->lock);
    while (!(j = take_job(f)) && wait_for_work(f))
        ;
    last = !j && register_thread_end(f, t);
    pthread_mutex_unlock(&f->lock);
    if (last)
        function_release(f);
    return j;
}

/* Returns an ended job to the pool and takes the next one; NULL if none is queued. */
static struct function_job *swap_job(struct functions *f, struct function_job *j)
{
    struct function_job *next;
    bool wake;

    pthread_mutex_lock(&f->lock);
    job_list_remove(&f->running, j);
    j->state = JOB_ENDED;
    j->kind = decide_outcome(j);
    learn_typical(f, j);
    job_list_add(&f->ended, j);
    wake = f->ended.n == 1;
    next = take_job(f);
    pthread_mutex_unlock(&f->lock);
    if (wake)
        wakeup_signal(&f->wakeup);
    return next;
}

static void *thread_main(void *arg)
{
    struct pool_thread *t = arg;
    int64_t cpu = thread_cpu();
    struct function_job *j;

    while ((j = await_job(t)))
        for (; j; j = swap_job(t->f, j))
            run_job(j, &cpu);
    return NULL;
}

/* Called under the lock. Starts a thread; false if that fails. */
static bool add_thread(struct functions *f)
{
    struct pool_thread *t = mem_zalloc(sizeof(*t));
    int rc;

    t->f = f;
    rc = thread_start(&t->id, thread_main, t);
    if (rc) {
        free(t);
        return false;
    }
    pthread_setname_np(t->id, "pawl-function");
    f->threads++;
    return true;
}

bool pool_push(struct functions *f, struct function_job *j)
{
    bool taken = true;

    pthread_mutex_lock(&f->lock);
    j->queued_at = clock_boot_us();
    job_list_add(&f->queue, j);
    if (f->idle > f->waking) {
        f->waking++;
        pthread_cond_signal(&f->work);
    } else if (f->threads == f->max_threads || !add_thread(f)) {
        taken = f->threads > 0;
        if (taken)
            wakeup_at(&f->wakeup, j->queued_at + f->patience);
        else
            job_list_remove(&f->queue, j);
    }
    pthread_mutex_unlock(&f->lock);
    return taken;
}

static void join_threads(struct pool_thread *t)
{
    while (t) {
        struct pool_thread *next = t->next;

        pthread_join(t->id, NULL);
        free(t);
        t = next;
    }
}

/* Called under the lock. */
static struct pool_thread *take_finished(struct functions *f)
{
    struct pool_thread *t = f->finished;

    f->finished = NULL;
    return t;
}

void pool_join_finished(struct functions *f)
{
    struct pool_thread *t;

    pthread_mutex_lock(&f->lock);
    t = take_finished(f);
    pthread_mutex_unlock(&f->lock);
    join_threads(t);
}

void pool_stop(struct functions *f, int64_t patience)
{
    struct timespec until = thread_time_in(patience);
    int rc = 0;

    pthread_mutex_lock(&f->lock);
    f->stopping = true;
    pthread_cond_broadcast(&f->work);
    while (f->threads && !(f->running.n && rc == ETIMEDOUT))
        if (f->running.n)
            rc = pthread_cond_timedwait(&f->gone, &f->lock, &until);
        else
            pthread_cond_wait(&f->gone, &f->lock); /* idle threads end soon and signal it */
    pthread_mutex_unlock(&f->lock);
    pool_join_finished(f);
}

bool pool_abandon(struct functions *f)
{
    struct pool_thread *finished;
    bool any;

    pthread_mutex_lock(&f->lock);
    any = f->threads > 0;
    f->abandoned = any;
    finished = take_finished(f);
    pthread_mutex_unlock(&f->lock); /* from here on, the last thread may have freed `f` */
    join_threads(finished);
    return any;
}
