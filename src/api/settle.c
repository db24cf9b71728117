/* settle.c - what a worker says about the jobs it holds. All of it is fenced by the lease's epoch.
 */
#include "api/worker.h"

#include <stdlib.h>

_Static_assert((int)PAWL_OK == (int)OUTCOME_OK && (int)PAWL_FAILED == (int)OUTCOME_FAILED &&
                   (int)PAWL_TIMED_OUT == (int)OUTCOME_TIMED_OUT &&
                   (int)PAWL_CANCELLED == (int)OUTCOME_CANCELLED &&
                   (int)PAWL_LOST == (int)OUTCOME_LOST &&
                   (int)PAWL_DEFERRED == (int)OUTCOME_DEFERRED &&
                   (int)PAWL_REFUSED == (int)OUTCOME_REFUSED,
               "pawl.h and vocab.h differ");

static struct lease_ref ref(const struct pawl_lease *l)
{
    return (struct lease_ref){.execution = l->execution, .epoch = l->epoch};
}

static void tell(struct pawl_lease *l, const struct lease_ref *r)
{
    l->lost = r->rc == -E_LEASE_LOST;
    l->cancel_requested = r->cancel_requested;
}

/* ---- heartbeat ---- */

struct beating {
    struct pawl_worker *w;
    struct lease_ref *refs;
    size_t n;
};

static int heartbeat_body(struct turn *t, void *arg, struct err *err)
{
    struct beating *b = arg;

    return op_heartbeat(t, b->w->id, b->w->lease, b->refs, b->n, err);
}

int pawl_heartbeat(struct pawl_worker *w, struct pawl_lease *leases, size_t n, struct pawl_error *e)
{
    struct beating b = {.w = w, .refs = mem_zalloc((n + 1) * sizeof(*b.refs)), .n = n};
    struct err err = ERR_INIT;
    size_t i;
    int rc = 0;

    for (i = 0; i < n; i++)
        b.refs[i] = ref(&leases[i]);
    if (n && !(rc = store_light_turn(w->pawl->store, heartbeat_body, &b, &err)))
        for (i = 0; i < n; i++)
            tell(&leases[i], &b.refs[i]);
    free(b.refs);
    return api_end(rc, &err, e);
}

/* ---- started ---- */

/* A list of which some may have to be done again; `from[i]` is the place of list[i] in the
 * caller's. */
struct starting {
    struct pawl_worker *w;
    struct pawl_lease *leases;
    struct start *list;
    size_t *from, n;
};

static int started_body(struct turn *t, void *arg, struct err *err)
{
    struct starting *s = arg;

    return op_started(t, s->w->id, s->list, s->n, err);
}

static size_t started_busy(void *arg)
{
    struct starting *s = arg;
    size_t i, left = 0;

    for (i = 0; i < s->n; i++) {
        if (s->list[i].lease.rc != -E_BUSY) {
            tell(&s->leases[s->from[i]], &s->list[i].lease);
            continue;
        }
        s->list[left] = s->list[i];
        s->from[left++] = s->from[i];
    }
    return s->n = left;
}

int pawl_started(struct pawl_worker *w, struct pawl_lease *leases, size_t n, int64_t ago,
                 struct pawl_error *e)
{
    struct starting s = {.w = w,
                         .leases = leases,
                         .list = mem_zalloc((n + 1) * sizeof(*s.list)),
                         .from = mem_zalloc((n + 1) * sizeof(*s.from)),
                         .n = n};
    struct err err = ERR_INIT;
    size_t i;
    int rc = 0;

    for (i = 0; i < n; i++) {
        s.list[i] = (struct start){.lease = ref(&leases[i]), .ago = ago > 0 ? ago : 0};
        s.from[i] = i;
    }
    if (n)
        rc = api_turns(w->pawl, started_body, started_busy, &s, &err);
    free(s.list);
    free(s.from);
    return api_end(rc, &err, e);
}

/* ---- settle ---- */

struct settling {
    struct pawl_worker *w;
    struct pawl_settlement *given;
    struct settlement *list;
    size_t *from, n;
};

static int settle_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *s = arg;

    return op_settle(t, s->w->id, s->list, s->n, err);
}

static size_t settle_busy(void *arg)
{
    struct settling *s = arg;
    size_t i, left = 0;

    for (i = 0; i < s->n; i++) {
        if (s->list[i].lease.rc != -E_BUSY) {
            struct pawl_settlement *g = &s->given[s->from[i]];

            tell(&g->lease, &s->list[i].lease);
            g->status = g->lease.lost ? NULL : status_text(s->list[i].status);
            continue;
        }
        s->list[left] = s->list[i];
        s->from[left++] = s->from[i];
    }
    return s->n = left;
}

static int take(const struct pawl_settlement *g, struct settlement *out, struct err *err)
{
    if (g->outcome < PAWL_OK || g->outcome > PAWL_REFUSED)
        return err_set(err, E_INVALID, "%d is no outcome of execution %lld", g->outcome,
                       (long long)g->lease.execution);
    *out = (struct settlement){.lease = ref(&g->lease),
                               .outcome = {.kind = (enum outcome_kind)g->outcome,
                                           .has_exit_code = g->has_exit_code,
                                           .exit_code = g->exit_code,
                                           .signal = g->signal,
                                           .result = g->result,
                                           .error = g->error,
                                           .duration = g->duration,
                                           .retry_delay = g->retry_delay}};
    return 0;
}

int pawl_settle(struct pawl_worker *w, struct pawl_settlement *list, size_t n, struct pawl_error *e)
{
    struct settling s = {.w = w,
                         .given = list,
                         .list = mem_zalloc((n + 1) * sizeof(*s.list)),
                         .from = mem_zalloc((n + 1) * sizeof(*s.from)),
                         .n = n};
    struct err err = ERR_INIT;
    size_t i;
    int rc = 0;

    for (i = 0; i < n && !rc; i++) {
        rc = take(&list[i], &s.list[i], &err);
        s.from[i] = i;
    }
    if (n && !rc)
        rc = api_turns(w->pawl, settle_body, settle_busy, &s, &err);
    free(s.list);
    free(s.from);
    return api_end(rc, &err, e);
}
