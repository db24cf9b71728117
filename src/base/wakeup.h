/* wakeup.h - one descriptor to sleep on: readable when another thread signals, at a given time, or
 * when a descriptor that was added is readable. The caller serializes the calls, except
 * wakeup_signal. */
#ifndef BASE_WAKEUP_H
#define BASE_WAKEUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct wakeup {
    int epoll; /* poll this descriptor for reading; its events carry the pointers given to
                  wakeup_add */
    int event, timer;
    int64_t armed; /* when the timer fires (CLOCK_BOOTTIME, µs); 0 if the timer is not set */
};
#define WAKEUP_INIT                           \
    {                                         \
        .epoll = -1, .event = -1, .timer = -1 \
    }

/* Returns 0, or -1 and errno; call wakeup_close in either case. Events of the signal and of the
 * timer carry NULL instead of a pointer given to wakeup_add. */
MUST_USE int wakeup_open(struct wakeup *w);
void wakeup_close(struct wakeup *w);
MUST_USE int wakeup_add(struct wakeup *w, int fd, void *what); /* returns 0, or -1 and errno */
/* Stops watching fd. Call this before you close fd if another process may have a copy of fd. */
void wakeup_remove(struct wakeup *w, int fd);

void wakeup_signal(struct wakeup *w);
void wakeup_at(struct wakeup *w, int64_t when); /* wakes up at the time `when`, or earlier */
/* Clears the signal, and the timer if it is due; returns whether the timer was due. */
bool wakeup_clear(struct wakeup *w, int64_t now);

#endif
