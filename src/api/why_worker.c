/* why_worker.c - the reasons of `pawl why` that concern workers: which workers could claim a job
 * that waits, and whether the worker that runs a job is still alive. */
#include "api/why.h"

#include "api/known_executors.h"
#include "base/suggest.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static bool is_alive(const struct reasons *r, const struct worker_row *w)
{
    return !worker_is_silent(w, r->workers->now);
}

/* ---- claimable jobs ---- */

void why_add_before(struct reasons *r, const char *words)
{
    int64_t n = r->y->before;

    if (n)
        buf_addf(r->text, "%s%lld%s %s ahead of it", words, (long long)n,
                 n == WHY_MAX_AHEAD ? " or more" : "", n == 1 ? "is" : "are");
}

/* How many workers are alive, how many of them drain, and how many serve the job, with their
 * slots. */
struct worker_counts {
    int64_t alive, draining, serving, capacity, busy;
};

static struct worker_counts count_workers(const struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    struct worker_counts c = {0};

    for (size_t i = 0; i < r->workers->n; i++) {
        const struct worker_row *w = &r->workers->at[i];

        if (!is_alive(r, w))
            continue;
        c.alive++;
        c.draining += worker_is_draining(w);
        if (worker_is_draining(w) || !e->lane || !worker_serves(&w->worker, e->lane, e->queue))
            continue;
        c.serving++;
        c.capacity += w->worker.capacity;
        c.busy += w->leases < w->worker.capacity ? w->leases : w->worker.capacity;
    }
    return c;
}

/* Adds what to do: for a container job, what a worker's host needs; for a process job, the command
 * that starts a worker, between `before` and `after`. */
static void add_remedy(struct reasons *r, const struct execution *e, const char *before,
                       const char *after)
{
    bool is_default = !strcmp(e->queue, "default");

    if (!strcmp(e->lane, "container"))
        buf_addstr(r->text, "; the worker's host needs podman or docker");
    if (strcmp(e->lane, "process") != 0 ||
        !strncmp(e->queue, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND)))
        return;
    buf_addf(r->text, "%s`pawl worker%s%s`%s", before, is_default ? "" : " --queue ",
             is_default ? "" : e->queue, after);
}

void why_submission(struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    int64_t alive = count_workers(r).alive;
    char at[TIME_TEXT_SIZE];

    buf_addf(r->text, "it was submitted at %s, and no worker has taken it yet",
             text_time(e->requested_at, at));
    if (alive)
        buf_addf(r->text, ": %lld live worker%s will find it within ten seconds", (long long)alive,
                 alive == 1 ? "" : "s");
    else
        buf_addstr(r->text, ": no worker is alive (`pawl worker`)");
    WHY_REASON(r, "submission", FACT_TIME("requested_at", e->requested_at),
               FACT_TEXT("queue", e->queue), FACT_INT("workers", alive));
}

/* Adds a hint if the job's executor is unknown. The job may wait forever if its executor is
 * mistyped: jobs that are submitted by SQL are not checked for that. */
static void add_unknown_executor(struct reasons *r)
{
    const char *key = r->y->execution.lane, *best;

    if (!r->known || known_executors_have(r->known, key))
        return;
    best = known_executors_suggest(r->known, key);
    buf_addf(r->text, "no worker has served the executor \"%s\" yet%s%s%s", key,
             DID_YOU_MEAN(best));
    WHY_REASON(r, "unknown_executor", FACT_TEXT("executor", key), FACT_TEXT("similar", best));
}

/* Adds how many workers are alive, none of which serves the job, and how many of them drain. */
static void add_alive(struct buf *b, const struct worker_counts *c)
{
    if (c->draining && c->alive == 1)
        buf_addstr(b, "the only one drains");
    else if (c->draining == c->alive)
        buf_addf(b, "all %lld drain", (long long)c->alive);
    else
        buf_addf(b, "%lld %s alive", (long long)c->alive, c->alive == 1 ? "is" : "are");
    if (c->draining && c->draining < c->alive)
        buf_addf(b, ", %lld of which drain%s", (long long)c->draining, c->draining == 1 ? "s" : "");
}

void why_claimable(struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    struct worker_counts c = count_workers(r);
    const char *code;

    if (!c.alive) {
        code = "no_worker";
        buf_addf(r->text, "no worker is alive: one that serves lane %s in queue %s is needed",
                 e->lane, e->queue);
        add_remedy(r, e, " (", ")");
    } else if (!c.serving) {
        code = "not_served";
        buf_addf(r->text, "no live worker serves lane %s in queue %s (", e->lane, e->queue);
        add_alive(r->text, &c);
        buf_addch(r->text, ')');
        add_remedy(r, e, "; start one: ", "");
    } else {
        code = "in_line";
        buf_addf(r->text,
                 "it waits in line: %lld live worker%s serve%s it, with %lld of %lld slots in use",
                 (long long)c.serving, c.serving == 1 ? "" : "s", c.serving == 1 ? "s" : "",
                 (long long)c.busy, (long long)c.capacity);
    }
    why_add_before(r, "; ");
    WHY_REASON(r, code, FACT_TEXT("lane", e->lane), FACT_TEXT("queue", e->queue),
               FACT_INT("before", r->y->before), FACT_INT("alive", c.alive),
               FACT_INT("serving", c.serving), FACT_INT("room", c.capacity),
               FACT_INT("busy", c.busy), FACT_INT("draining", c.draining));
    add_unknown_executor(r);
}

/* ---- running jobs ---- */

static int64_t claimed_at(const struct why *y)
{
    for (size_t i = 0; i < y->events.n; i++)
        if (y->events.at[i].type == EV_CLAIMED || y->events.at[i].type == EV_RESUMED)
            return y->events.at[i].created_at;
    return y->execution.started_at;
}

static void add_attempt(struct reasons *r, const struct worker_row *w)
{
    const struct execution *e = &r->y->execution;
    int64_t since = claimed_at(r->y);
    char at[TIME_TEXT_SIZE], span[DURATION_TEXT_SIZE];

    buf_addf(r->text, "attempt %d of %d has been running since %s (%s)", e->attempts,
             e->max_attempts, text_time(since, at), text_duration(r->y->now - since, span));
    if (e->worker)
        buf_addf(r->text, " on worker %016llx", (unsigned long long)e->worker);
    if (w)
        buf_addf(r->text, " (%s, pid %d)", w->worker.host, w->worker.pid);
    if (e->worker)
        buf_addf(r->text, ", lease until %s", text_time(e->until, at));
    WHY_REASON(r, "running", FACT_INT("attempt", e->attempts),
               FACT_INT("max_attempts", e->max_attempts), FACT_TIME("since", since),
               FACT_WORKER("worker", e->worker), FACT_TEXT("host", w ? w->worker.host : NULL),
               FACT_TIME("lease_until", e->until));
}

/* Explains that the worker that holds the lease no longer sends heartbeats. */
static void add_silent_worker(struct reasons *r, const struct worker_row *w)
{
    const struct execution *e = &r->y->execution;
    int64_t silent = w ? r->workers->now - w->worker.seen_at : 0;
    char at[TIME_TEXT_SIZE], span[DURATION_TEXT_SIZE];

    if (w)
        buf_addf(r->text, "its worker was last seen %s ago", text_duration(silent, span));
    else
        buf_addstr(r->text, "its worker is gone");
    buf_addf(r->text,
             e->until < r->y->now ? "; its lease expired at %s and has not been cleared yet"
                                  : "; another worker may adopt it after its lease expires at %s",
             text_time(e->until, at));
    WHY_REASON(r, "worker_silent", FACT_WORKER("worker", e->worker),
               w ? FACT_INT("silent_us", silent) : FACT_TEXT("silent_us", NULL),
               FACT_TIME("lease_until", e->until));
}

static void add_adoption(struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    int64_t free_at = e->expired_at + r->host_grace, near = 0, far = 0;
    char at[TIME_TEXT_SIZE], later[TIME_TEXT_SIZE];

    for (size_t i = 0; i < r->workers->n; i++) {
        const struct worker_row *w = &r->workers->at[i];

        if (!is_alive(r, w) || worker_is_draining(w) || !worker_serves(&w->worker, e->lane, NULL))
            continue;
        if (e->folder && !strcmp(w->worker.folder, e->folder))
            near++;
        else
            far++;
    }
    buf_addf(r->text,
             "its lease expired at %s: a worker of the state folder %s may adopt it now (%lld "
             "alive), any other worker from %s on (%lld alive)",
             text_time(e->expired_at, at), e->folder ? e->folder : "?", (long long)near,
             text_time(free_at, later), (long long)far);
    WHY_REASON(r, "orphan", FACT_WORKER("worker", r->y->history.worker),
               FACT_TIME("expired_at", e->expired_at), FACT_TEXT("folder", e->folder),
               FACT_INT("alive_in_folder", near), FACT_TIME("others_from", free_at),
               FACT_INT("alive_elsewhere", far));
}

void why_running(struct reasons *r)
{
    const struct execution *e = &r->y->execution;
    const struct worker_row *w = worker_find(r->workers, e->worker);

    add_attempt(r, w);
    if (!e->worker)
        add_adoption(r);
    else if (!w || !is_alive(r, w) || e->until < r->y->now)
        add_silent_worker(r, w);
}
