/* wakeup.c - one descriptor to sleep on, made of epoll, an eventfd and a timerfd; see wakeup.h. */
#include "base/wakeup.h"

#include "base/fd.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

int wakeup_open(struct wakeup *w)
{
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return wakeup_add(w, w->event, NULL) || wakeup_add(w, w->timer, NULL) ? -1 : 0;
}

void wakeup_close(struct wakeup *w)
{
    fd_close(&w->timer);
    fd_close(&w->event);
    fd_close(&w->epoll);
}

int wakeup_add(struct wakeup *w, int fd, void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e);
}

void wakeup_remove(struct wakeup *w, int fd)
{
    (void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void wakeup_signal(struct wakeup *w)
{
    (void)eventfd_write(w->event, 1); /* fails only if the descriptor is readable already */
}

/* A time of 0 would disarm the timer, so at least one nanosecond is set. */
void wakeup_at(struct wakeup *w, int64_t when)
{
    struct itimerspec t = {.it_value = {when / 1000000, when % 1000000 * 1000 + 1}};

    if (w->armed && w->armed <= when)
        return;
    w->armed = when;
    timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

bool wakeup_clear(struct wakeup *w, int64_t now)
{
    static const struct itimerspec never;
    bool due = w->armed && w->armed <= now;
    eventfd_t n;

    (void)eventfd_read(w->event, &n);
    if (due) {
        /* Disarming also clears an expiration that was not read. */
        timerfd_settime(w->timer, 0, &never, NULL);
        w->armed = 0;
    }
    return due;
}
