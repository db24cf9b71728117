/* settle.c - the reports of an embedder's worker about its leased jobs: heartbeat, started and
 * settle. Each is fenced by the epoch of the lease. */
#include "api/worker.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define X(name, code, text) \
    _Static_assert((int)PAWL_##name == (int)OUTCOME_##name, "pawl.h and core/vocab.h differ");
OUTCOMES(X)
#undef X

static struct lease_ref lease_ref_of(const struct pawl_lease *l)
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
    AUTO_FREE struct lease_ref *refs = mem_zalloc((n + 1) * sizeof(*refs));
    struct heartbeat_args b = {.w = w, .refs = refs, .n = n};
    API_ERR(e);

    for (size_t i = 0; i < n; i++)
        refs[i] = lease_ref_of(&leases[i]);
    if (n)
        TRY(store_light_turn(w->pawl->store, heartbeat_body, &b, err));
    for (size_t i = 0; i < n; i++)
        report_result(&leases[i], &refs[i]);
    return 0;
}

/* ---- repeated reports ---- */

/* A list of entries that start with their lease. Entries whose tree was locked are tried again;
 * `from[i]` is the index of entry i in the caller's list. */
struct reporting {
    struct pawl_worker *w;
    void *list;
    size_t size, *from, n; /* size: bytes of an entry */
    void *given;           /* the caller's list */
    void (*answer)(void *given, size_t index, const void *entry);
};

static void reporting_open(struct reporting *s, struct pawl_worker *w, void *given, size_t size,
                           size_t n)
{
    s->w = w;
    s->given = given;
    s->list = mem_zalloc((n + 1) * size);
    s->from = mem_zalloc((n + 1) * sizeof(*s->from));
    s->size = size;
    s->n = n;
    for (size_t i = 0; i < n; i++)
        s->from[i] = i;
}

static void reporting_close(struct reporting *s)
{
    free(s->list);
    free(s->from);
}

/* Passes accepted and refused entries to `answer`, and keeps the busy ones. */
static size_t keep_busy(void *arg)
{
    struct reporting *s = arg;
    size_t left = 0;

    for (size_t i = 0; i < s->n; i++) {
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
    AUTO(reporting_close) struct reporting s = {.answer = answer_start};
    API_ERR(e);

    reporting_open(&s, w, leases, sizeof(struct start), n);
    for (size_t i = 0; i < n; i++)
        ((struct start *)s.list)[i] =
            (struct start){.lease = lease_ref_of(&leases[i]), .ago = ago > 0 ? ago : 0};
    return n ? api_turns(w->pawl, started_body, keep_busy, &s, err) : 0;
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
        return err_set(err, E_INVALID, "%d is not a valid outcome for execution %lld", g->outcome,
                       (long long)g->lease.execution);
    *out = (struct settlement){.lease = lease_ref_of(&g->lease),
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
    AUTO(reporting_close) struct reporting s = {.answer = answer_settlement};
    API_ERR(e);

    reporting_open(&s, w, list, sizeof(struct settlement), n);
    for (size_t i = 0; i < n; i++)
        TRY(convert_settlement(&list[i], &((struct settlement *)s.list)[i], err));
    return n ? api_turns(w->pawl, settle_body, keep_busy, &s, err) : 0;
}
