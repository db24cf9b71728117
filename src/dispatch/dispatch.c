/* dispatch.c - the dispatcher's registry of executors, and reads of its state; see dispatch.h. */
#include "dispatch/dispatch_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int dispatch_new(const struct dispatch_options *o, struct dispatch **out, struct err *err)
{
    struct dispatch *d = mem_zalloc(sizeof(*d));

    d->attempts = o->attempts;
    d->slots = o->slots > 0 ? o->slots : INT_MAX;
    d->report = o->report;
    d->arg = o->arg;
    d->wakeup = (struct wakeup)WAKEUP_INIT;
    if (wakeup_open(&d->wakeup)) {
        err_set(err, E_INTERNAL, "can't create the dispatcher's descriptors: %s", strerror(errno));
        dispatch_free(d);
        return -E_INTERNAL;
    }
    *out = d;
    return 0;
}

void dispatch_free(struct dispatch *d)
{
    if (!d)
        return;
    /* Functions stop first, because a function and an executor of the same plugin may share
     * data. */
    for (size_t i = 0; i < d->executors.n; i++)
        if (d->executors.at[i]->functions)
            function_stop(d->executors.at[i]->functions);
    /* In reverse: an executor of a plugin needs the plugin's code, which is unloaded with the
     * executor of functions, and that was added before. */
    for (size_t i = d->executors.n; i-- > 0;) {
        d->executors.at[i]->x->ops->free(d->executors.at[i]->x);
        free(d->executors.at[i]);
    }
    vec_release(&d->executors);
    vec_release(&d->groups);
    wakeup_close(&d->wakeup);
    free(d);
}

int dispatch_check_key(const struct dispatch *d, const char *key, struct err *err)
{
    for (size_t i = 0; i < d->executors.n; i++)
        if (!strcmp(d->executors.at[i]->x->key, key))
            return err_set(err, E_CONFLICT, "there are two executors named \"%.60s\"", key);
    return 0;
}

int dispatch_add_executor(struct dispatch *d, struct executor *x, int slots, struct err *err)
{
    struct executor_entry *m;

    TRY(dispatch_check_key(d, x->key, err));
    m = mem_zalloc(sizeof(*m));
    m->d = d;
    m->x = x;
    m->functions = function_from_executor(x);
    m->fd = x->ops->fd(x);
    m->slots = slots > 0 ? slots : INT_MAX;
    if (m->fd >= 0 && wakeup_add(&d->wakeup, m->fd, m)) {
        free(m);
        return err_set(err, E_INTERNAL, "can't watch the descriptor of the executor \"%.60s\": %s",
                       x->key, strerror(errno));
    }
    x->report = dispatch_on_report;
    x->arg = m;
    *vec_add(&d->executors) = m;
    return 0;
}

/* ---- state ---- */

size_t dispatch_in_flight(const struct dispatch *d)
{
    return (size_t)d->in_flight;
}

int dispatch_count_unresponsive(const struct dispatch *d)
{
    int n = 0;

    for (size_t i = 0; i < d->executors.n; i++)
        if (d->executors.at[i]->functions)
            n += function_count_unresponsive(d->executors.at[i]->functions);
    return n;
}
