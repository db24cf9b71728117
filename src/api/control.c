/* control.c - operator actions: cancel executions, limit, pause and resume queues, drain workers,
 * fence a restored backup or a promoted replica. They run in slices, each a whole transaction: an
 * error stops an action between two slices. */
#include "api/api.h"
#include "api/list_filter.h"
#include "base/text.h"
#include "store/generation.h"
#include "store/operator.h"
#include "store/ops/sql_submissions.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE      1000
#define MAX_REASON 1000
#define LOCK_WAIT  10000 /* µs before locked rows are tried again */

/* ---- user and reason ---- */

const char *api_user(struct pawl *p)
{
    struct passwd user, *found = NULL;
    char texts[4096], host[256] = "";

    if (p->user)
        return p->user;
    if (gethostname(host, sizeof(host) - 1))
        snprintf(host, sizeof(host), "localhost");
    if (getpwuid_r(geteuid(), &user, texts, sizeof(texts), &found) || !found)
        p->user = mem_printf("%u@%s", (unsigned)geteuid(), host);
    else
        p->user = mem_printf("%s@%s", user.pw_name, host);
    return p->user;
}

int api_request(struct pawl *p, const char **by, const char *reason,
                int (*run)(struct pawl *p, void *arg, struct err *err), void *arg,
                struct pawl_error *e)
{
    API_ERR(e);

    if (!*by)
        *by = api_user(p);
    TRY(text_check_name("requester's name", *by, MAX_REASON, err));
    TRY(text_check("reason", reason, MAX_REASON, err));
    return run(p, arg, err);
}

/* ---- cancel ---- */

struct cancelling {
    struct request request;
    bool is_submission; /* an SQL submission that no worker has taken yet */
    bool more;
    int64_t left; /* executions that have not ended */
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct cancelling *c = arg;

    if (c->is_submission)
        TRY(op_create_submission(t, c->request.execution, err));
    return op_cancel(t, &c->request, 1, SLICE, &c->more, err);
}

size_t api_request_busy(void *request)
{
    return ((const struct request *)request)->rc == -E_BUSY;
}

static int refuse_ended(struct pawl *p, struct cancelling *c, struct err *err)
{
    AUTO(execution_list_release) struct execution_list one = {0};
    int64_t id = c->request.execution, open;

    TRY(query_execution(p->store, id, &one, err));
    c->is_submission = execution_is_submission(&one.at[0]);
    if (!status_is_terminal(one.at[0].status))
        return 0;
    /* executions that the cancelled one has submitted may still run after it has ended */
    TRY(query_open(p->store, id, &open, err));
    return open ? 0
                : err_set_state(err, "execution %lld has already ended; its status is %s",
                                (long long)id, status_text(one.at[0].status));
}

static int cancel_remote(struct pawl *p, struct cancelling *c, struct err *err)
{
    const struct request *r = &c->request;
    char status[REMOTE_STATUS_SIZE];

    TRY(remote_cancel(p->remote, r->execution, r->let_finish, r->reason, status, &c->left, err));
    c->request.status = status_from_text(status);
    return 0;
}

static int cancel(struct pawl *p, void *arg, struct err *err)
{
    struct cancelling *c = arg;
    int64_t id = c->request.execution;
    int attempts;

    if (p->remote)
        return cancel_remote(p, c, err);
    TRY(refuse_ended(p, c, err));
    do
        TRY(api_turns(p, cancel_body, api_request_busy, c, err));
    while (c->more);
    if (c->request.rc)
        TRY(query_explain_missing(p->store, id, err));
    /* cancelling the last open task of a workflow may have ended the workflow, too */
    TRY(query_attempts(p->store, id, &attempts, &c->request.status, err));
    return query_open(p->store, id, &c->left, err);
}

static int request_cancel(struct pawl *p, struct request request, struct pawl_cancelled *out,
                          struct pawl_error *e)
{
    struct cancelling c = {.request = request};

    TRY(api_request(p, &c.request.by, request.reason, cancel, &c, e));
    if (out)
        *out = (struct pawl_cancelled){.status = status_text(c.request.status), .left = c.left};
    return 0;
}

int pawl_cancel(struct pawl *p, int64_t id, const char *by, const char *reason,
                struct pawl_cancelled *out, struct pawl_error *e)
{
    return request_cancel(p, (struct request){.execution = id, .by = by, .reason = reason}, out, e);
}

int pawl_let_finish(struct pawl *p, int64_t id, const char *by, const char *reason,
                    struct pawl_cancelled *out, struct pawl_error *e)
{
    return request_cancel(
        p, (struct request){.execution = id, .by = by, .reason = reason, .let_finish = true}, out,
        e);
}

/* ---- queues ---- */

TURN_BODY(queue_body, op_change_queue)

static int change_queue(struct pawl *p, void *arg, struct err *err)
{
    static const char *const words[] = {
        [QUEUE_SET] = "limit", [QUEUE_PAUSE] = "pause", [QUEUE_RESUME] = "resume"};
    struct queue_action *q = arg;

    if (!q->queue)
        return err_set(err, E_INVALID, "the name of the queue is missing");
    TRY(text_check_name("queue", q->queue, STORE_MAX_QUEUE, err));
    if (p->remote)
        return remote_queue(p->remote, q->queue, words[q->verb], q->max, q->reason, &q->paused,
                            err);
    q->slice = SLICE;
    for (;; q->is_continuation = true) {
        TRY(store_turn(p->store, queue_body, q, err));
        if (!q->more)
            return 0;
        /* Jobs that a claim has locked are left for the next slice: let the claim commit first. */
        clock_sleep_us(1000);
    }
}

static int request_queue(struct pawl *p, struct queue_action *q, struct pawl_error *e)
{
    return api_request(p, &q->by, q->reason, change_queue, q, e);
}

int pawl_queue_limit(struct pawl *p, const char *queue, int max, const char *by, const char *reason,
                     bool *paused, struct pawl_error *e)
{
    struct queue_action q = {
        .verb = QUEUE_SET, .queue = queue, .max = max, .by = by, .reason = reason};

    TRY(request_queue(p, &q, e));
    if (paused)
        *paused = q.paused;
    return 0;
}

int pawl_queue_pause(struct pawl *p, const char *queue, const char *by, const char *reason,
                     struct pawl_error *e)
{
    struct queue_action q = {.verb = QUEUE_PAUSE, .queue = queue, .by = by, .reason = reason};

    return request_queue(p, &q, e);
}

int pawl_queue_resume(struct pawl *p, const char *queue, const char *by, const char *reason,
                      struct pawl_error *e)
{
    struct queue_action q = {.verb = QUEUE_RESUME, .queue = queue, .by = by, .reason = reason};

    return request_queue(p, &q, e);
}

/* ---- workers ---- */

TURN_BODY(drain_body, op_worker_drain)

struct draining {
    const char *worker;
    struct drain_request d;
};

static int drain_worker(struct pawl *p, void *arg, struct err *err)
{
    struct draining *a = arg;

    TRY(api_parse_worker(a->worker, &a->d.worker, err));
    if (p->remote)
        return remote_worker_drain(p->remote, a->worker, a->d.reason, err);
    return store_turn(p->store, drain_body, &a->d, err);
}

int pawl_worker_drain(struct pawl *p, const char *worker, const char *by, const char *reason,
                      struct pawl_error *e)
{
    struct draining a = {.worker = worker, .d = {.by = by, .reason = reason}};

    return api_request(p, &a.d.by, reason, drain_worker, &a, e);
}

/* ---- the fence ---- */

struct fencing {
    struct fence from, to;
};

static int fence_body(struct turn *t, void *arg, struct err *err)
{
    struct fencing *f = arg;

    return op_fence(t, &f->from, &f->to, err);
}

int pawl_fence(struct pawl *p, struct pawl_fenced *out, struct pawl_error *e)
{
    struct fencing f = {.from = {.slice = SLICE}};
    API_ERR(e);

    TRY(api_needs_database(p, "a fence works", err));
    do {
        TRY(store_light_turn(p->store, fence_body, &f, err));
        if (f.to.more && f.to.expired == f.from.expired)
            clock_sleep_us(LOCK_WAIT);
        f.from = f.to;
    } while (f.to.more);
    if (out)
        *out = (struct pawl_fenced){.generation = f.to.generation, .jobs = f.to.expired};
    return 0;
}

static int accept_body(struct turn *t, void *arg, struct err *err)
{
    const char *timeline;

    TRY(op_accept_timeline(t, &timeline, err));
    snprintf(arg, PAWL_TIMELINE_SIZE, "%s", timeline ? timeline : "");
    return 0;
}

int pawl_accept_timeline(struct pawl *p, char timeline[PAWL_TIMELINE_SIZE], struct pawl_error *e)
{
    char ignored[PAWL_TIMELINE_SIZE], *out = timeline ? timeline : ignored;
    API_ERR(e);

    TRY(api_needs_database(p, "the acceptance of a timeline works", err));
    TRY(store_light_turn(p->store, accept_body, out, err));
    if (*out)
        return 0;
    return err_set(err, E_INVALID,
                   "the server timeline of %s can't be read: that needs PostgreSQL, and a "
                   "role with EXECUTE on pg_control_system, pg_current_wal_insert_lsn and "
                   "pg_walfile_name",
                   store_url(p->store)->safe);
}
