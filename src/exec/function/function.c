/* function.c - the operations of the function executor. Everything here runs on the loop's thread;
 * pool.c has the other threads. */
#include "exec/function/pool.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_THREADS 4
#define QUEUE_FACTOR    4
#define QUEUE_MAX       500
#define DEFAULT_IDLE    10000000
#define PATIENCE        250000
#define DEFAULT_GRACE   10000000

static struct functions *functions(struct executor *x)
{
    return (struct functions *)x;
}

/* ---- jobs ---- */

static struct function_job *find_job(const struct functions *f, int64_t execution, int attempt)
{
    struct function_job *j = f->all;

    while (j && (j->call.execution != execution || j->call.attempt != attempt))
        j = j->all_next;
    return j;
}

static struct function_job *job_new(struct functions *f, const struct entry *entry,
                                    const struct job *from)
{
    size_t name = strlen(from->name) + 1, input = from->input ? strlen(from->input) + 1 : 0;
    struct function_job *j = mem_alloc(sizeof(*j) + name + input);
    char *texts = (char *)(j + 1);

    *j = (struct function_job){
        .f = f, .entry = entry, .grace = DEFAULT_GRACE, .mark = -1, .defer = -1};
    j->call = (struct function_call){
        .ops = &function_call_ops,
        .name = memcpy(texts, from->name, name),
        .input = input ? memcpy(texts + name, from->input, input) : NULL,
        .execution = from->execution,
        .root = from->root,
        .attempt = from->attempt,
        .max_attempts = from->max_attempts,
    };
    if (from->spec) {
        j->grace = from->spec->grace ? from->spec->grace : DEFAULT_GRACE;
        j->timeout = from->spec->timeout;
        if (from->spec->noutputs)
            j->wanted = mem_copy_list(from->spec->outputs);
    }
    j->all_next = f->all;
    if (f->all)
        f->all->all_prev = j;
    f->all = j;
    return j;
}

void function_job_free(struct function_job *j)
{
    *(j->all_prev ? &j->all_prev->all_next : &j->f->all) = j->all_next;
    if (j->all_next)
        j->all_next->all_prev = j->all_prev;
    if (j->mark >= 0 && j->f->marks)
        start_marks_unreserve(j->f->marks, j->mark);
    free(j->wanted);
    call_free(j);
    free(j);
}

/* ---- start, reattach, stop ---- */

int function_max_threads(const struct functions *f)
{
    return f->max_threads;
}

int function_free_threads(struct functions *f)
{
    int n;

    pthread_mutex_lock(&f->lock);
    n = f->max_threads - f->running.n - f->queue.n;
    pthread_mutex_unlock(&f->lock);
    return n > 0 ? n : 0;
}

int function_max_queue(const struct functions *f)
{
    return f->max_queue;
}

/* Called under the lock. How many jobs may wait for a thread now. */
static int queue_limit(const struct functions *f)
{
    int64_t n;

    if (f->typical < 0 || f->typical >= QUEUE_TIME)
        return 0;
    n = f->max_threads * QUEUE_TIME / (f->typical + 1);
    return n < f->max_queue ? (int)n : f->max_queue;
}

static int capacity(struct executor *x)
{
    struct functions *f = functions(x);
    int n;

    if (f->closed)
        return 0;
    pthread_mutex_lock(&f->lock);
    n = f->max_threads + queue_limit(f) - f->running.n - f->queue.n;
    pthread_mutex_unlock(&f->lock);
    return n > 0 ? n : 0;
}

/* Whether a job can be accepted. It accepts more jobs than `capacity` offers, because functions may
 * have become slower since the job was claimed. */
static bool can_accept_job(struct functions *f)
{
    bool yes;

    pthread_mutex_lock(&f->lock);
    yes = !f->closed && f->running.n + f->queue.n < f->max_threads + f->max_queue;
    pthread_mutex_unlock(&f->lock);
    return yes;
}

static void end_unrun(struct functions *f, struct function_job *j, enum outcome_kind kind)
{
    pthread_mutex_lock(&f->lock);
    pool_end_unrun(f, j, kind);
    pthread_mutex_unlock(&f->lock);
}

static int start(struct executor *x, const struct job *from, void **handle, struct err *err)
{
    struct functions *f = functions(x);
    const struct entry *entry = from->function ? function_find(f, from->function) : NULL;
    struct function_job *j;

    if (!from->function)
        return err_set(err, E_REFUSED, "the job does not name a function");
    if (!entry)
        return err_set(err, E_REFUSED, "this worker has no function %.100s", from->function);
    if (!can_accept_job(f))
        return err_set(err, E_REFUSED, "this worker has no capacity for another function now");
    j = job_new(f, entry, from);
    if (f->marks)
        j->mark = start_marks_reserve(f->marks);
    if (from->cancel) {
        end_unrun(f, j, OUTCOME_CANCELLED);
    } else if (!pool_push(f, j)) {
        function_job_free(j);
        return err_set(err, E_REFUSED, "this worker can't start a thread for a function");
    }
    *handle = j;
    return 0;
}

static void cancel(struct executor *x, void *handle, enum outcome_kind why)
{
    struct functions *f = functions(x);
    struct function_job *j = handle;

    pthread_mutex_lock(&f->lock);
    if (j->state == JOB_RUNNING) {
        pool_request_stop(j, why);
    } else if (j->state == JOB_QUEUED) {
        job_list_remove(&f->queue, j);
        pool_end_unrun(f, j, why);
    }
    pthread_mutex_unlock(&f->lock);
}

/* Functions run inside their worker: an attempt that this worker does not run is lost, unless it
 * never started. This worker may still run an attempt that it has forgotten. */
static int reattach(struct executor *x, const struct job *from, void **handle, struct err *err)
{
    struct functions *f = functions(x);
    struct function_job *j = *handle ? *handle : find_job(f, from->execution, from->attempt);

    (void)err;
    if (!j) {
        *handle = j = job_new(f, NULL, from);
        j->unstarted = from->unstarted;
        end_unrun(f, j, j->unstarted ? OUTCOME_REFUSED : OUTCOME_LOST);
        return 0;
    }
    *handle = j;
    j->forgotten = j->started = false; /* under a new epoch everything is reported again */
    pthread_mutex_lock(&f->lock);
    capped_log_report_again(&j->log);
    if (j->state == JOB_RUNNING)
        wakeup_at(&f->wakeup, clock_boot_us());
    pthread_mutex_unlock(&f->lock);
    if (from->cancel)
        cancel(x, j, OUTCOME_CANCELLED);
    return 0;
}

static void forget(struct executor *x, void *handle)
{
    struct functions *f = functions(x);
    struct function_job *j = handle;
    bool queued;

    j->forgotten = true;
    pthread_mutex_lock(&f->lock);
    queued = j->state == JOB_QUEUED;
    if (queued)
        job_list_remove(&f->queue, j);
    else if (j->state == JOB_RUNNING)
        pool_request_stop(j, OUTCOME_LOST);
    pthread_mutex_unlock(&f->lock);
    if (queued)
        function_job_free(j);
}

/* Refuses the queued jobs. Running functions may finish. */
static void drain(struct executor *x)
{
    struct functions *f = functions(x);
    struct function_job *j;

    f->closed = true;
    pthread_mutex_lock(&f->lock);
    while ((j = f->queue.first)) {
        job_list_remove(&f->queue, j);
        pool_end_unrun(f, j, OUTCOME_REFUSED);
    }
    pthread_mutex_unlock(&f->lock);
}

/* Drains; if `now`, also asks running functions to stop. One that then returns without having
 * finished is deferred: it runs again on another worker, which does not count as an attempt. */
static void stop(struct executor *x, bool now)
{
    struct functions *f = functions(x);
    struct function_job *j;

    drain(x);
    pthread_mutex_lock(&f->lock);
    for (j = now ? f->running.first : NULL; j; j = j->next)
        pool_request_stop(j, OUTCOME_DEFERRED);
    pthread_mutex_unlock(&f->lock);
}

/* ---- queries by the engine ---- */

int function_count_unresponsive(struct functions *f)
{
    int64_t now = clock_boot_us();
    int n = 0;

    pthread_mutex_lock(&f->lock);
    for (struct function_job *j = f->running.first; j; j = j->next)
        if (j->why && now - j->stop_requested_at > j->grace)
            n++;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static int fd(struct executor *x)
{
    return functions(x)->wakeup.epoll;
}

/* ---- create and free ---- */

/* Asks all running functions to stop and returns the longest grace among them. */
static int64_t request_stop_all(struct functions *f)
{
    int64_t longest = 0;
    struct function_job *j;

    pthread_mutex_lock(&f->lock);
    while ((j = f->queue.first))
        job_list_remove(&f->queue, j);
    for (j = f->running.first; j; j = j->next) {
        pool_request_stop(j, OUTCOME_LOST);
        if (j->grace > longest)
            longest = j->grace;
    }
    pthread_mutex_unlock(&f->lock);
    return longest;
}

void function_release(struct functions *f)
{
    f->marks = NULL; /* the worker may have freed them: the last thread of an abandoned pool calls
                        this function late */
    while (f->all)
        function_job_free(f->all);
    function_registry_release(f);
    wakeup_close(&f->wakeup);
    pthread_cond_destroy(&f->gone);
    pthread_cond_destroy(&f->work);
    pthread_mutex_destroy(&f->lock);
    free((void *)f->x.key);
    free(f);
}

void function_stop(struct functions *f)
{
    if (f->stopped)
        return;
    f->stopped = f->closed = true;
    pool_stop(f, request_stop_all(f));
}

static void free_executor(struct executor *x)
{
    struct functions *f = functions(x);
    struct env *env = x->env;

    function_stop(f);
    if (pool_abandon(f))
        env_note(env, "a function did not stop in time; its thread is abandoned");
    else
        function_release(f);
}

static const struct executor_ops ops = {
    .outlives_worker = false,
    .marks_starts = true,
    .start = start,
    .reattach = reattach,
    .cancel = cancel,
    .forget = forget,
    .drain = drain,
    .stop = stop,
    .capacity = capacity,
    .fd = fd,
    .poll = function_poll,
    .free = free_executor,
};

static void init_locks(struct functions *f)
{
    pthread_mutexattr_t mutex;

    /* Adaptive: the lock is never held for long, so spinning is cheaper than sleeping. */
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&f->lock, &mutex);
    pthread_mutexattr_destroy(&mutex);
    thread_cond_init(&f->work);
    thread_cond_init(&f->gone);
}

int function_new(const struct function_options *o, struct functions **out, struct err *err)
{
    struct functions *f = mem_zalloc(sizeof(*f));

    f->x.ops = &ops;
    f->x.key = mem_strdup(o->key ? o->key : "function");
    f->x.env = o->env;
    f->max_threads = o->threads > 0 ? o->threads : DEFAULT_THREADS;
    f->max_queue =
        f->max_threads < QUEUE_MAX / QUEUE_FACTOR ? f->max_threads * QUEUE_FACTOR : QUEUE_MAX;
    if (o->queue)
        f->max_queue = o->queue > 0 ? o->queue : 0;
    f->idle_time = o->idle > 0 ? o->idle : DEFAULT_IDLE;
    f->marks = o->marks;
    f->typical = -1;
    f->patience = o->patience > 0 ? o->patience : PATIENCE;
    init_locks(f);
    f->wakeup = (struct wakeup)WAKEUP_INIT;
    if (wakeup_open(&f->wakeup)) {
        err_set(err, E_INTERNAL, "can't create the files of the function executor: %s",
                strerror(errno));
        function_release(f);
        return -E_INTERNAL;
    }
    *out = f;
    return 0;
}

struct executor *function_executor(struct functions *f)
{
    return &f->x;
}

struct functions *function_from_executor(struct executor *x)
{
    return x->ops == &ops ? functions(x) : NULL;
}
