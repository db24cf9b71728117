/* wakeup.h - one descriptor to sleep on: readable when another thread signals, at a given time, or
 * when a descriptor that was added is readable. The caller serializes the calls, except
 * wakeup_signal. */
#ifndef BASE_WAKEUP_H
#define BASE_WAKEUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct wakeup {
    int epoll; /* to poll for reading; its events carry the pointer given to wakeup_add */
    int event, timer;
    int64_t armed; /* when the timer fires, CLOCK_BOOTTIME, µs; 0 if it is not set */
};
#define WAKEUP_INIT                           \
    {                                         \
        .epoll = -1, .event = -1, .timer = -1 \
    }

/* Returns 0, or -1 and errno; close it in either case. The events of its signal and its timer carry
 * NULL. */
MUST_USE int wakeup_open(struct wakeup *w);
void wakeup_close(struct wakeup *w);
MUST_USE int wakeup_add(struct wakeup *w, int fd, void *what); /* 0, or -1 and errno */
/* Call it before you close fd, if another process may have a copy of it. */
void wakeup_remove(struct wakeup *w, int fd);

void wakeup_signal(struct wakeup *w);
void wakeup_at(struct wakeup *w, int64_t when); /* wakes up at that time at the latest */
/* Clears the signal, and the timer if it is due; returns whether the timer was due. */
bool wakeup_clear(struct wakeup *w, int64_t now);

#endif
