/* thread.c - starts the library's threads; see thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void thread_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

struct timespec thread_time_in(int64_t us)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    us += ts.tv_nsec / 1000;
    ts.tv_sec += us / 1000000;
    ts.tv_nsec = us % 1000000 * 1000;
    return ts;
}
