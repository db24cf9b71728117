/* capped_log.h - the log of an attempt that reports its output from threads of this process: the
 * first and the last 512 kB are kept. */
#ifndef EXEC_CAPPED_LOG_H
#define EXEC_CAPPED_LOG_H

#include "exec/executor.h"

#include "base/buf.h"

#include <pthread.h>

/* Starts zeroed. All fields are accessed under the lock of the executor. */
struct capped_log {
    struct buf head, tail;
    int64_t dropped; /* bytes between head and tail */
    int64_t sent;    /* bytes of the head that were reported */
    bool due;        /* some of its bytes were not reported yet */
};

void capped_log_add(struct capped_log *l, const char *bytes, size_t len); /* sets `due` */
void capped_log_report_again(struct capped_log *l); /* the next report starts at the first byte
                                                       again */
/* Reports the new bytes of the head. With `last`, which requires that no thread adds to the log any
 * more, also the tail. Takes the lock, but not while it calls `send`. */
void capped_log_report(struct capped_log *l, pthread_mutex_t *lock, bool last,
                       void (*send)(void *arg, struct report *r), void *arg);
void capped_log_release(struct capped_log *l);

#endif
