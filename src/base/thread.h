/* thread.h - starts threads of the library inside the program of an embedder. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked: they are for the threads of the embedder. Returns 0 or
 * an errno. */
int thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

#endif
