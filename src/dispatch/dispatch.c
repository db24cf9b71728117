/* dispatch.c - the dispatcher's registry of executors, and reads of its state; see dispatch.h. */
#include "dispatch/dispatch_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int dispatch_new(const struct dispatch_options *o, struct dispatch **out, struct err *err)
{
    struct dispatch *d = mem_zalloc(sizeof(*d));
    struct epoll_event ready = {.events = EPOLLIN, .data.ptr = NULL};

    d->env = o->env;
    d->slots = o->slots > 0 ? o->slots : INT_MAX;
    d->report = o->report;
    d->arg = o->arg;
    routes_init(&d->routes, o->routes, o->nroutes, o->command, o->container);
    d->epoll = epoll_create1(EPOLL_CLOEXEC);
    d->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (d->epoll < 0 || d->timer < 0 || epoll_ctl(d->epoll, EPOLL_CTL_ADD, d->timer, &ready)) {
        err_set(err, E_INTERNAL, "can't create the descriptors of the dispatcher: %s",
                strerror(errno));
        dispatch_free(d);
        return -E_INTERNAL;
    }
    *out = d;
    return 0;
}

void dispatch_free(struct dispatch *d)
{
    size_t i;

    if (!d)
        return;
    for (i = 0; i < d->executors.n; i++) {
        d->executors.at[i]->x->ops->free(d->executors.at[i]->x);
        free(d->executors.at[i]);
    }
    vec_release(&d->executors);
    for (i = 0; i < d->known_keys.n; i++)
        free(d->known_keys.at[i]);
    vec_release(&d->known_keys);
    vec_release(&d->groups);
    for (i = 0; i < d->rejected.n; i++)
        free(d->rejected.at[i].error);
    vec_release(&d->rejected);
    attempts_release(&d->attempts);
    routes_release(&d->routes);
    if (d->timer >= 0)
        close(d->timer);
    if (d->epoll >= 0)
        close(d->epoll);
    free(d);
}

int dispatch_add_executor(struct dispatch *d, struct executor *x, int slots, struct err *err)
{
    struct epoll_event ready = {.events = EPOLLIN};
    struct executor_entry *m;
    size_t i;

    for (i = 0; i < d->executors.n; i++)
        if (!strcmp(d->executors.at[i]->x->key, x->key))
            return err_set(err, E_CONFLICT, "there are two executors \"%.60s\"", x->key);
    m = mem_zalloc(sizeof(*m));
    m->d = d;
    m->x = x;
    m->functions = function_from_executor(x);
    m->fd = x->ops->fd(x);
    m->slots = slots > 0 ? slots : INT_MAX;
    ready.data.ptr = m;
    if (m->fd >= 0 && epoll_ctl(d->epoll, EPOLL_CTL_ADD, m->fd, &ready)) {
        free(m);
        return err_set(err, E_INTERNAL, "can't watch the descriptor of the executor \"%.60s\": %s",
                       x->key, strerror(errno));
    }
    x->report = dispatch_on_report;
    x->arg = m;
    *vec_add(&d->executors) = m;
    return 0;
}

void dispatch_add_known_key(struct dispatch *d, const char *key)
{
    *vec_add(&d->known_keys) = mem_strdup(key);
}

int dispatch_check_routes(const struct dispatch *d, struct err *err)
{
    VEC(const char *) keys = {0};
    size_t i;
    int rc;

    for (i = 0; i < d->executors.n; i++)
        if (!d->executors.at[i]->functions)
            *vec_add(&keys) = d->executors.at[i]->x->key;
    for (i = 0; i < d->known_keys.n; i++)
        *vec_add(&keys) = d->known_keys.at[i];
    rc = routes_check(&d->routes, keys.at, keys.n, err);
    vec_release(&keys);
    return rc;
}

const char *dispatch_route(const struct dispatch *d, const struct route_query *q,
                           struct arena *arena)
{
    return routes_lane(&d->routes, q, arena);
}

/* ---- state ---- */

void dispatch_each(const struct dispatch *d, void (*each)(void *arg, const struct held_attempt *a),
                   void *arg)
{
    const struct attempt *a;
    size_t i;

    for (i = 0; i < d->attempts.cap; i++)
        for (a = d->attempts.slots[i]; a; a = a->next) {
            struct held_attempt h = {.execution = a->execution,
                                     .root = a->root,
                                     .attempt = a->attempt,
                                     .epoch = a->epoch,
                                     .ended = a->ended,
                                     .executor = a->holder ? a->holder->x->key : ""};

            each(arg, &h);
        }
}

size_t dispatch_in_flight(const struct dispatch *d)
{
    return (size_t)d->in_flight;
}

const char *dispatch_stats(const struct dispatch *d, size_t index, struct executor_stats *out)
{
    const struct executor_entry *m;

    if (index >= d->executors.n)
        return NULL;
    m = d->executors.at[index];
    *out = (struct executor_stats){
        .running = m->in_flight,
        .done = m->done,
        .failed = m->failed,
        .mean = histogram_mean(&m->times),
        .p99 = histogram_quantile(&m->times, 0.99),
    };
    return m->x->key;
}

int dispatch_count_unresponsive(const struct dispatch *d)
{
    size_t i;
    int n = 0;

    for (i = 0; i < d->executors.n; i++)
        if (d->executors.at[i]->functions)
            n += function_count_unresponsive(d->executors.at[i]->functions);
    return n;
}

void dispatch_functions(const struct dispatch *d,
                        void (*each)(void *arg, int64_t execution, int attempt), void *arg)
{
    size_t i;

    for (i = 0; i < d->executors.n; i++)
        if (d->executors.at[i]->functions)
            function_running(d->executors.at[i]->functions, each, arg);
}
