/* queues_workers.c - reads queues and workers. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#define SILENT 30000000LL /* µs without a heartbeat after which a worker is shown as silent */

/* ---- queues: last audit entry, pause, limit, queue ---- */

#define ROW    struct last_audit
static const struct column audit_columns[] = {
    {"action", WORD(action, audit_action_text),
     "`limited`, `paused`, `resumed`, `changed`, `created` or `revoked`"},
    {"at", TIME(at), NULL},
    {"by", OPT_TEXT(by), NULL},
    {"reason", OPT_TEXT(reason), NULL},
    {"data", JSON(data, "object or null"),
     "for `limited`: `limit`, a number or null; for `changed`: the new setting"},
};
const struct noun last_audit_noun = {"### last_order", NOUN_COLUMNS(audit_columns)};
#undef ROW

#define ROW struct queue_row
static const struct column pause_columns[] = {
    {"since", TIME(paused_at), NULL},
    {"by", OPT_TEXT(paused_by), NULL},
    {"reason", OPT_TEXT(pause_reason), NULL},
    {"limit", OPT_INT(resume_max), "the limit that `resume` restores"},
};
const struct noun queue_pause_noun = {"### paused", NOUN_COLUMNS(pause_columns)};

static const struct column limit_columns[] = {
    {"max", INT(limit_max), NULL},
    {"used", INT(limit_used), NULL},
};
const struct noun queue_limit_noun = {"### limit", NOUN_COLUMNS(limit_columns)};
#undef ROW

#define ROW struct queue_answer
static const struct column queue_columns[] = {
    {"queue", TEXT(q.name), NULL},
    {"ready", INT(q.ready), "may be claimed"},
    {"held", INT(q.held), "ready but held"},
    {"running", INT(q.running), NULL},
    {"oldest_ready_at", OPT_TIME(q.oldest_ready_at), NULL},
    {"oldest_wait_us", INT(oldest_wait), NULL},
    {"paused", OPT_OBJECT(paused, queue_pause_noun), NULL},
    {"limit", OPT_OBJECT(limit, queue_limit_noun), "null if none"},
    {"last_order", OPT_OBJECT(last, last_audit_noun), "the last operator action"},
    {"submitted", INT(q.submitted), "SQL submissions that wait for a worker to take them"},
};
const struct noun queue_noun = {"## A queue", NOUN_COLUMNS(queue_columns)};
#undef ROW

const struct last_audit *audit_or_null(const struct last_audit *o)
{
    return o->at ? o : NULL;
}

void queue_answer(struct queue_answer *out, const struct queue_row *q, int64_t now)
{
    *out = (struct queue_answer){.q = *q,
                                 .oldest_wait = q->oldest_ready_at ? now - q->oldest_ready_at : 0,
                                 .paused = q->paused ? q : NULL,
                                 .limit = q->limit_max < 0 ? NULL : q,
                                 .last = audit_or_null(&q->last)};
}

void queues_merge_foreground(struct queue_list *l)
{
    struct queue_row here = {.name = "here", .limit_max = -1};
    size_t n = 0;
    bool any = false;

    for (size_t i = 0; i < l->n; i++) {
        const struct queue_row *q = &l->at[i];

        if (strncmp(q->name, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND))) {
            l->at[n++] = *q;
            continue;
        }
        any = true;
        here.ready += q->ready;
        here.held += q->held;
        here.running += q->running;
        if (q->oldest_ready_at &&
            (!here.oldest_ready_at || q->oldest_ready_at < here.oldest_ready_at))
            here.oldest_ready_at = q->oldest_ready_at;
    }
    if (any)
        l->at[n++] = here;
    l->n = n;
}

int pawl_queues(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(queue_list_release) struct queue_list l = {0};
    struct queue_answer a;
    API_ERR(e);

    if (p->remote)
        return remote_lines(p->remote, "/v1/queues", NULL, NULL, -1, each, arg, err);
    TRY(query_queues(p->store, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++) {
        queue_answer(&a, &l.at[i], l.now);
        lines_add(&lines, &queue_noun, &a);
    }
    return 0;
}

/* ---- a worker ---- */

#define ROW struct worker_drain
static const struct column drain_columns[] = {
    {"since", TIME(at), NULL},
    {"by", OPT_TEXT(by), NULL},
    {"reason", OPT_TEXT(reason), NULL},
};
const struct noun worker_drain_noun = {"### drain", NOUN_COLUMNS(drain_columns)};
#undef ROW

#define ROW struct worker_answer
static const struct column worker_columns[] = {
    {"id", WORKER(row.worker.id), "new with each start"},
    {"host", TEXT(row.worker.host), NULL},
    {"pid", INT(row.worker.pid), NULL},
    {"folder", TEXT(row.worker.folder), "its state folder"},
    {"version", TEXT(row.worker.version), NULL},
    {"room", INT(row.worker.capacity), "how many jobs it can run at once"},
    {"claim_ahead", INT(row.worker.claim_ahead),
     "how many more it may claim ahead: short functions, which wait for a thread for some 100 ms"},
    {"leases", INT(row.leases), "how many jobs it holds, including those claimed ahead"},
    {"started_at", TIME(row.worker.started_at), NULL},
    {"seen_at", TIME(row.worker.seen_at), NULL},
    {"silent_us", INT(silent), "the time since `seen_at`"},
    {"serves", JSON(row.worker.serves, "object or null"),
     "the queues of each lane; a worker that drains or stops serves none"},
    {"executors", JSON(row.worker.executors, "object or null"),
     "how many jobs each of its executors can run at once; null if unknown"},
    {"state", TEXT(state),
     "`alive`; `draining`: it was asked to drain or is stopping, and claims nothing more; `silent`: no "
     "heartbeat for 30 s"},
    {"drain", OPT_OBJECT(drain, worker_drain_noun),
     "the request of an operator that it drains; null if there is none"},
};
const struct noun worker_noun = {"## A worker", NOUN_COLUMNS(worker_columns)};
#undef ROW

const struct worker_row *worker_find(const struct worker_list *l, int64_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].worker.id == id)
            return &l->at[i];
    return NULL;
}

bool worker_is_silent(const struct worker_row *r, int64_t now)
{
    return now - r->worker.seen_at > SILENT;
}

/* A worker that stops announces that it serves no lane. A worker that was asked to drain does so
 * with its next heartbeat. */
bool worker_is_draining(const struct worker_row *r)
{
    const struct worker *w = &r->worker;

    return w->drain.at || (w->serves && !strcmp(w->serves, "{}") && !worker_is_foreground(w));
}

void worker_answer(struct worker_answer *out, const struct worker_row *r, int64_t now)
{
    *out = (struct worker_answer){.row = *r,
                                  .silent = now - r->worker.seen_at,
                                  .state = worker_is_silent(r, now) ? "silent"
                                           : worker_is_draining(r)  ? "draining"
                                                                    : "alive"};
    out->drain = r->worker.drain.at ? &out->row.worker.drain : NULL;
}

int pawl_workers(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(worker_list_release) struct worker_list l = {0};
    struct worker_answer a;
    API_ERR(e);

    if (p->remote)
        return remote_lines(p->remote, "/v1/workers", NULL, NULL, -1, each, arg, err);
    TRY(query_workers(p->store, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++) {
        worker_answer(&a, &l.at[i], l.now);
        lines_add(&lines, &worker_noun, &a);
    }
    return 0;
}
