/* handle_fixture.h - the handles of the attempts that an executor runs in a test, as the engine's
 * table of attempts keeps them. */
#ifndef TESTS_HANDLE_FIXTURE_H
#define TESTS_HANDLE_FIXTURE_H

#include "base/mem.h"
#include "exec/executor.h"

#include <stdlib.h>

struct handle {
    int64_t execution;
    int attempt;
    void *handle; /* the executor's handle; NULL if the executor does not run the attempt */
};

struct handles {
    struct executor *x;
    VEC(struct handle) all;
};

static inline void **handle_of(struct handles *h, int64_t execution, int attempt)
{
    for (size_t i = 0; i < h->all.n; i++)
        if (h->all.at[i].execution == execution && h->all.at[i].attempt == attempt)
            return &h->all.at[i].handle;
    *vec_add(&h->all) = (struct handle){execution, attempt, NULL};
    return &h->all.at[h->all.n - 1].handle;
}

/* Clears the handle of an attempt that has ended: it is no longer valid. */
static inline void handles_report(struct handles *h, const struct report *r)
{
    if (r->kind == REPORT_ENDED)
        *handle_of(h, r->execution, r->attempt) = NULL;
}

static inline int handles_start(struct handles *h, const struct job *j, struct err *err)
{
    return h->x->ops->start(h->x, j, handle_of(h, j->execution, j->attempt), err);
}

static inline int handles_reattach(struct handles *h, const struct job *j, struct err *err)
{
    return h->x->ops->reattach(h->x, j, handle_of(h, j->execution, j->attempt), err);
}

static inline void handles_cancel(struct handles *h, int64_t execution, int attempt,
                                  enum outcome_kind why)
{
    void *handle = *handle_of(h, execution, attempt);

    if (handle)
        h->x->ops->cancel(h->x, handle, why);
}

static inline void handles_renewed(struct handles *h, int64_t execution, int attempt, int64_t until)
{
    void *handle = *handle_of(h, execution, attempt);

    if (handle)
        h->x->ops->renewed(h->x, handle, until);
}

static inline void handles_forget(struct handles *h, int64_t execution, int attempt)
{
    void **handle = handle_of(h, execution, attempt);

    if (*handle)
        h->x->ops->forget(h->x, *handle);
    *handle = NULL;
}

static inline void handles_stop(struct handles *h, bool now)
{
    h->x->ops->stop(h->x, now);
    for (size_t i = 0; h->x->ops->outlives_worker && i < h->all.n; i++)
        handles_forget(h, h->all.at[i].execution, h->all.at[i].attempt);
}

static inline void handles_release(struct handles *h)
{
    h->x->ops->free(h->x);
    vec_release(&h->all);
}

#endif
