/* listen.c - wake-ups for an embedder that runs its own loop. */
#include "api/api.h"

#include <poll.h>
#include <stdlib.h>

_Static_assert((int)PAWL_WAKE_JOBS == (int)WAKE_JOBS && (int)PAWL_WAKE_CANCEL == (int)WAKE_CANCEL &&
                   (int)PAWL_WAKE_EVENTS == (int)WAKE_EVENTS &&
                   (int)PAWL_WAKE_ENDS == (int)WAKE_ENDS,
               "pawl.h and store/driver/db.h differ");

struct pawl_listener {
    struct listener *listener;
};

int pawl_listen(struct pawl *p, unsigned what, struct pawl_listener **out, struct pawl_error *e)
{
    const struct db_url *url = store_url(p->store);
    struct pawl_listener *l = mem_zalloc(sizeof(*l));
    struct err err = ERR_INIT;
    int rc = url->driver->listen(url, &p->env, what, &l->listener, &err);

    if (rc)
        free(l);
    else
        *out = l;
    return api_end(rc, &err, e);
}

void pawl_listener_close(struct pawl_listener *l)
{
    if (!l)
        return;
    l->listener->close(l->listener);
    free(l);
}

int pawl_listener_fd(const struct pawl_listener *l)
{
    return l->listener->fd;
}

int pawl_listener_poll_ms(const struct pawl_listener *l)
{
    return l->listener->poll_ms;
}

unsigned pawl_listener_drain(struct pawl_listener *l)
{
    return l->listener->drain(l->listener);
}

unsigned pawl_listener_wait(struct pawl_listener *l, int timeout_ms)
{
    struct pollfd fd = {.fd = l->listener->fd, .events = POLLIN};

    if (timeout_ms < 0 || timeout_ms > l->listener->poll_ms)
        timeout_ms = l->listener->poll_ms;
    poll(&fd, 1, timeout_ms); /* a signal counts as a wake-up */
    return pawl_listener_drain(l);
}
