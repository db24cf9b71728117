/* thread.h - starts the library's threads inside the embedder's program. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread with all signals blocked: signals are for the embedder's threads. Returns 0 or an
 * errno. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

/* thread_cond_init makes a condition variable whose timed waits use CLOCK_MONOTONIC. thread_time_in
 * returns the time `us` µs from now, as pthread_cond_timedwait expects it. */
void thread_cond_init(pthread_cond_t *c);
struct timespec thread_time_in(int64_t us);

#endif
