/* function.c - the operations of the function executor. Everything here runs on the loop's thread;
 * pool.c has the other threads. */
#include "exec/function/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_THREADS 4
#define QUEUE_FACTOR    4
#define QUEUE_MAX       500
#define DEFAULT_IDLE    10000000
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

/* Copies the list and its texts into one block. */
static const char *const *copy_names(const char *const *names, size_t n)
{
    size_t i, size = (n + 1) * sizeof(char *);
    const char **copy;
    char *text;

    for (i = 0; i < n; i++)
        size += strlen(names[i]) + 1;
    copy = mem_alloc(size);
    text = (char *)(copy + n + 1);
    for (i = 0; i < n; i++) {
        copy[i] = text;
        text = stpcpy(text, names[i]) + 1;
    }
    copy[n] = NULL;
    return copy;
}

static struct function_job *job_new(struct functions *f, const struct entry *entry,
                                    const struct task *t)
{
    size_t name = strlen(t->name) + 1, input = t->input ? strlen(t->input) + 1 : 0;
    struct function_job *j = mem_alloc(sizeof(*j) + name + input);
    char *texts = (char *)(j + 1);

    *j = (struct function_job){.f = f, .entry = entry, .epoch = t->epoch, .defer = -1};
    j->call = (struct function_call){
        .ops = &function_call_ops,
        .name = memcpy(texts, t->name, name),
        .input = input ? memcpy(texts + name, t->input, input) : NULL,
        .execution = t->execution,
        .root = t->root,
        .attempt = t->attempt,
        .max_attempts = t->max_attempts,
    };
    j->grace = t->spec && t->spec->grace ? t->spec->grace : DEFAULT_GRACE;
    if (t->spec) {
        j->timeout = t->spec->timeout;
        if (t->spec->noutputs)
            j->wanted = copy_names(t->spec->outputs, t->spec->noutputs);
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
    free((void *)j->wanted);
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

static int capacity(struct executor *x)
{
    struct functions *f = functions(x);
    int n;

    if (f->closed)
        return 0;
    pthread_mutex_lock(&f->lock);
    n = f->max_threads + f->max_queue - f->running.n - f->queue.n;
    pthread_mutex_unlock(&f->lock);
    return n > 0 ? n : 0;
}

static void end_unrun(struct functions *f, struct function_job *j, enum outcome_kind kind)
{
    pthread_mutex_lock(&f->lock);
    pool_end_unrun(f, j, kind);
    pthread_mutex_unlock(&f->lock);
}

static int start(struct executor *x, const struct task *t, struct err *err)
{
    struct functions *f = functions(x);
    const struct entry *entry = t->function ? function_find(f, t->function) : NULL;
    struct function_job *j;

    if (!entry)
        return err_set(err, E_REFUSED, "this worker has no function %.100s",
                       t->function ? t->function : "without a name");
    if (!capacity(x))
        return err_set(err, E_REFUSED, "this worker has no capacity for another function now");
    j = job_new(f, entry, t);
    if (t->cancel) {
        end_unrun(f, j, OUTCOME_CANCELLED);
    } else if (!pool_push(f, j)) {
        function_job_free(j);
        return err_set(err, E_REFUSED, "this worker can't start a thread for a function");
    }
    return 0;
}

static void cancel(struct executor *x, int64_t execution, int attempt, enum outcome_kind why)
{
    struct functions *f = functions(x);
    struct function_job *j = find_job(f, execution, attempt);

    if (!j)
        return;
    pthread_mutex_lock(&f->lock);
    if (j->state == JOB_RUNNING) {
        pool_request_stop(j, why);
    } else if (j->state == JOB_QUEUED) {
        job_list_remove(&f->queue, j);
        pool_end_unrun(f, j, why);
    }
    pthread_mutex_unlock(&f->lock);
}

/* Functions run inside their worker: an attempt that does not run here is lost. */
static int reattach(struct executor *x, const struct task *t, struct err *err)
{
    struct functions *f = functions(x);
    struct function_job *j = find_job(f, t->execution, t->attempt);

    (void)err;
    if (!j) {
        end_unrun(f, job_new(f, NULL, t), OUTCOME_LOST);
        return 0;
    }
    j->epoch = t->epoch;
    j->forgotten = j->started = false; /* under a new epoch everything is reported again */
    pthread_mutex_lock(&f->lock);
    j->log_sent = 0;
    j->log_due = j->log.head.len > 0;
    if (j->state == JOB_RUNNING)
        pool_set_timer(f, clock_boot_us());
    pthread_mutex_unlock(&f->lock);
    if (t->cancel)
        cancel(x, t->execution, t->attempt, OUTCOME_CANCELLED);
    return 0;
}

static void forget(struct executor *x, int64_t execution, int attempt)
{
    struct functions *f = functions(x);
    struct function_job *j = find_job(f, execution, attempt);
    bool queued;

    if (!j)
        return;
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

/* Queued jobs are refused. Running functions may finish, or are asked to stop if `now`; one that
 * then does not finish is deferred: it runs again elsewhere, and that costs no attempt. */
static void stop(struct executor *x, bool now)
{
    struct functions *f = functions(x);
    struct function_job *j;

    f->closed = true;
    pthread_mutex_lock(&f->lock);
    while ((j = f->queue.first)) {
        job_list_remove(&f->queue, j);
        pool_end_unrun(f, j, OUTCOME_REFUSED);
    }
    for (j = now ? f->running.first : NULL; j; j = j->next)
        pool_request_stop(j, OUTCOME_DEFERRED);
    pthread_mutex_unlock(&f->lock);
}

/* ---- queries of the engine ---- */

int function_count_unresponsive(struct functions *f)
{
    int64_t now = clock_boot_us();
    struct function_job *j;
    int n = 0;

    pthread_mutex_lock(&f->lock);
    for (j = f->running.first; j; j = j->next)
        if (j->why && now - j->stop_requested_at > j->grace)
            n++;
    pthread_mutex_unlock(&f->lock);
    return n;
}

void function_running(struct functions *f, void (*each)(void *arg, int64_t execution, int attempt),
                      void *arg)
{
    struct function_job *j;

    for (j = f->all; j; j = j->all_next) {
        bool runs;

        pthread_mutex_lock(&f->lock);
        runs = j->state == JOB_RUNNING;
        pthread_mutex_unlock(&f->lock);
        if (runs)
            each(arg, j->call.execution, j->call.attempt);
    }
}

static int fd(struct executor *x)
{
    return functions(x)->epoll;
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

static void close_fds(struct functions *f)
{
    if (f->timer >= 0)
        close(f->timer);
    if (f->event >= 0)
        close(f->event);
    if (f->epoll >= 0)
        close(f->epoll);
}

void function_release(struct functions *f)
{
    while (f->all)
        function_job_free(f->all);
    function_registry_release(f);
    close_fds(f);
    pthread_cond_destroy(&f->gone);
    pthread_cond_destroy(&f->work);
    pthread_mutex_destroy(&f->lock);
    free((void *)f->x.key);
    free(f);
}

static void free_executor(struct executor *x)
{
    struct functions *f = functions(x);
    struct env *env = x->env;

    if (pool_stop(f, request_stop_all(f)))
        function_release(f);
    else if (env && env->note)
        env->note(env->arg, "a function does not stop; its thread is abandoned");
}

static const struct executor_ops ops = {
    .kind = "function",
    .outlives_worker = false,
    .start = start,
    .reattach = reattach,
    .cancel = cancel,
    .forget = forget,
    .stop = stop,
    .capacity = capacity,
    .fd = fd,
    .poll = function_poll,
    .free = free_executor,
};

static int open_fds(struct functions *f, struct err *err)
{
    struct epoll_event ready = {.events = EPOLLIN};

    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    f->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (f->epoll < 0 || f->event < 0 || f->timer < 0 ||
        epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->event, &ready) ||
        epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->timer, &ready))
        return err_set(err, E_INTERNAL,
                       "no descriptors for the function executor are available: %s",
                       strerror(errno));
    return 0;
}

static void init_locks(struct functions *f)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;

    /* Adaptive: the lock is never held for long, so spinning is cheaper than sleeping. */
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&f->lock, &mutex);
    pthread_mutexattr_destroy(&mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    pthread_cond_init(&f->work, &cond);
    pthread_cond_init(&f->gone, &cond);
    pthread_condattr_destroy(&cond);
}

int function_new(const struct function_options *o, struct functions **out, struct err *err)
{
    struct functions *f = mem_zalloc(sizeof(*f));
    int rc;

    f->x.ops = &ops;
    f->x.key = mem_strdup(o->key ? o->key : "function");
    f->x.env = o->env;
    f->max_threads = o->threads > 0 ? o->threads : DEFAULT_THREADS;
    f->max_queue =
        f->max_threads < QUEUE_MAX / QUEUE_FACTOR ? f->max_threads * QUEUE_FACTOR : QUEUE_MAX;
    if (o->queue)
        f->max_queue = o->queue > 0 ? o->queue : 0;
    f->idle_time = o->idle > 0 ? o->idle : DEFAULT_IDLE;
    init_locks(f);
    if ((rc = open_fds(f, err)))
        function_release(f);
    else
        *out = f;
    return rc;
}

struct executor *function_executor(struct functions *f)
{
    return &f->x;
}

struct functions *function_from_executor(struct executor *x)
{
    return x->ops == &ops ? functions(x) : NULL;
}
