/* thread.h - starts the library's threads inside the embedder's program. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread with all signals blocked: signals are for the embedder's threads. Returns 0 or an
 * errno. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

/* A condition whose waits end by CLOCK_MONOTONIC, and the time for pthread_cond_timedwait in `us`
 * µs.
 */
void thread_cond_init(pthread_cond_t *c);
struct timespec thread_time_in(int64_t us);

#endif
