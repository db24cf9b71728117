/* settle.c - the reports of an embedder's worker about its leased jobs: heartbeat, started and
 * settle. Each is fenced by the epoch of the lease. */
#include "api/worker.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)PAWL_OK == (int)OUTCOME_OK && (int)PAWL_FAILED == (int)OUTCOME_FAILED &&
                   (int)PAWL_TIMED_OUT == (int)OUTCOME_TIMED_OUT &&
                   (int)PAWL_CANCELLED == (int)OUTCOME_CANCELLED &&
                   (int)PAWL_LOST == (int)OUTCOME_LOST &&
                   (int)PAWL_DEFERRED == (int)OUTCOME_DEFERRED &&
                   (int)PAWL_REFUSED == (int)OUTCOME_REFUSED,
               "pawl.h and core/vocab.h differ");

static struct lease_ref ref(const struct pawl_lease *l)
{
    return (struct lease_ref){.execution = l->execution, .epoch = l->epoch};
}

static void report_result(struct pawl_lease *l, const struct lease_ref *r)
{
    l->lost = r->rc == -E_LEASE_LOST;
    l->cancel_requested = r->cancel_requested;
}

/* ---- heartbeat ---- */

struct heartbeat_args {
    struct pawl_worker *w;
    struct lease_ref *refs;
    size_t n;
};

static int heartbeat_body(struct turn *t, void *arg, struct err *err)
{
    struct heartbeat_args *b = arg;

    return op_heartbeat(t, b->w->id, b->w->lease, b->refs, b->n, err);
}

int pawl_heartbeat(struct pawl_worker *w, struct pawl_lease *leases, size_t n, struct pawl_error *e)
{
    struct heartbeat_args b = {.w = w, .refs = mem_zalloc((n + 1) * sizeof(*b.refs)), .n = n};
    struct err err = ERR_INIT;
    size_t i;
    int rc = 0;

    for (i = 0; i < n; i++)
        b.refs[i] = ref(&leases[i]);
    if (n && !(rc = store_light_turn(w->pawl->store, heartbeat_body, &b, &err)))
        for (i = 0; i < n; i++)
            report_result(&leases[i], &b.refs[i]);
    free(b.refs);
    return api_end(rc, &err, e);
}

/* ---- repeated reports ---- */

/* A list of entries that start with their lease. Entries whose tree was locked are reported again;
 * `from[i]` is the index of entry i in the caller's list. */
struct reporting {
    struct pawl_worker *w;
    void *list;
    size_t size, *from, n; /* size: of an entry */
    void *given;           /* the caller's list */
    void (*answer)(void *given, size_t index, const void *entry);
};

static void reporting_open(struct reporting *s, struct pawl_worker *w, void *given, size_t size,
                           size_t n)
{
    size_t i;

    s->w = w;
    s->given = given;
    s->list = mem_zalloc((n + 1) * size);
    s->from = mem_zalloc((n + 1) * sizeof(*s->from));
    s->size = size;
    s->n = n;
    for (i = 0; i < n; i++)
        s->from[i] = i;
}

static void reporting_close(struct reporting *s)
{
    free(s->list);
    free(s->from);
}

/* Passes accepted and refused entries to `answer`, and keeps the busy ones. */
static size_t still_busy(void *arg)
{
    struct reporting *s = arg;
    size_t i, left = 0;

    for (i = 0; i < s->n; i++) {
        char *entry = (char *)s->list + i * s->size;

        if (((const struct lease_ref *)(void *)entry)->rc != -E_BUSY) {
            s->answer(s->given, s->from[i], entry);
            continue;
        }
        memmove((char *)s->list + left * s->size, entry, s->size);
        s->from[left++] = s->from[i];
    }
    return s->n = left;
}

_Static_assert(offsetof(struct start, lease) == 0 && offsetof(struct settlement, lease) == 0,
               "an entry must start with its lease");

/* ---- started ---- */

static int started_body(struct turn *t, void *arg, struct err *err)
{
    struct reporting *s = arg;

    return op_record_starts(t, s->w->id, s->list, s->n, err);
}

static void answer_start(void *given, size_t index, const void *entry)
{
    report_result(&((struct pawl_lease *)given)[index], &((const struct start *)entry)->lease);
}

int pawl_started(struct pawl_worker *w, struct pawl_lease *leases, size_t n, int64_t ago,
                 struct pawl_error *e)
{
    struct reporting s = {.answer = answer_start};
    struct err err = ERR_INIT;
    size_t i;
    int rc = 0;

    reporting_open(&s, w, leases, sizeof(struct start), n);
    for (i = 0; i < n; i++)
        ((struct start *)s.list)[i] =
            (struct start){.lease = ref(&leases[i]), .ago = ago > 0 ? ago : 0};
    if (n)
        rc = api_turns(w->pawl, started_body, still_busy, &s, &err);
    reporting_close(&s);
    return api_end(rc, &err, e);
}

/* ---- settle ---- */

static int settle_body(struct turn *t, void *arg, struct err *err)
{
    struct reporting *s = arg;

    return op_settle(t, s->w->id, s->list, s->n, err);
}

static void answer_settlement(void *given, size_t index, const void *entry)
{
    struct pawl_settlement *g = &((struct pawl_settlement *)given)[index];
    const struct settlement *s = entry;

    report_result(&g->lease, &s->lease);
    g->status = g->lease.lost ? NULL : status_text(s->status);
}

static int convert_settlement(const struct pawl_settlement *g, struct settlement *out,
                              struct err *err)
{
    if (g->outcome < PAWL_OK || g->outcome > PAWL_REFUSED)
        return err_set(err, E_INVALID, "%d is not a valid outcome of execution %lld", g->outcome,
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
    struct reporting s = {.answer = answer_settlement};
    struct err err = ERR_INIT;
    size_t i;
    int rc = 0;

    reporting_open(&s, w, list, sizeof(struct settlement), n);
    for (i = 0; i < n && !rc; i++)
        rc = convert_settlement(&list[i], &((struct settlement *)s.list)[i], &err);
    if (n && !rc)
        rc = api_turns(w->pawl, settle_body, still_busy, &s, &err);
    reporting_close(&s);
    return api_end(rc, &err, e);
}
