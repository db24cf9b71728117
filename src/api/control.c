/* control.c - actions of an operator: cancel executions, limit, pause and resume queues, fence a
 * restored backup. They run in slices, each a whole transaction: an error stops an action between
 * two slices. */
#include "api/api.h"
#include "base/text.h"
#include "store/operator.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE      1000
#define MAX_REASON 1000
#define LOCK_WAIT  10000 /* µs before the rows that others had locked are tried again */

/* ---- user and reason ---- */

/* user@host of this process, for the history. The caller frees it. */
static char *this_user(void)
{
    struct passwd user, *found = NULL;
    char texts[4096], host[256] = "";

    if (gethostname(host, sizeof(host) - 1))
        snprintf(host, sizeof(host), "localhost");
    if (getpwuid_r(geteuid(), &user, texts, sizeof(texts), &found) || !found)
        return mem_printf("%u@%s", (unsigned)geteuid(), host);
    return mem_printf("%s@%s", user.pw_name, host);
}

static int check_text(const char *what, const char *s, size_t max, struct err *err)
{
    size_t len = s ? strlen(s) : 0;

    if (s && !len)
        return err_set(err, E_INVALID, "the %s is empty", what);
    if (len > max)
        return err_set(err, E_INVALID, "the %s has %zu bytes; at most %zu are allowed", what, len,
                       max);
    if (s && !text_is_utf8(s, len))
        return err_set(err, E_INVALID, "the %s is not valid UTF-8", what);
    return 0;
}

int api_request(struct pawl *p, const char **by, const char *reason,
                int (*run)(struct pawl *p, void *arg, struct err *err), void *arg,
                struct pawl_error *e)
{
    char *user = *by ? NULL : this_user();
    struct err err = ERR_INIT;
    int rc;

    *by = user ? user : *by;
    if (!(rc = check_text("requester's name", *by, MAX_REASON, &err)) &&
        !(rc = check_text("reason", reason, MAX_REASON, &err)))
        rc = run(p, arg, &err);
    free(user);
    return api_end(rc, &err, e);
}

/* ---- cancel ---- */

struct cancelling {
    struct request request;
    bool more;
    int64_t left; /* how many have not ended */
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct cancelling *c = arg;

    return op_cancel(t, &c->request, 1, SLICE, &c->more, err);
}

static size_t cancel_busy(void *arg)
{
    const struct cancelling *c = arg;

    return c->request.rc == -E_BUSY;
}

static int refuse_ended(struct pawl *p, int64_t id, struct err *err)
{
    struct execution_list one = {0};
    int64_t open = 1;
    int rc;

    if ((rc = query_execution(p->store, id, &one, err)))
        return rc;
    /* executions that it started may still run after it has ended */
    if (status_is_terminal(one.at[0].status) && !(rc = query_open(p->store, id, &open, err)) &&
        !open)
        rc = err_set(err, E_INVALID, "execution %lld has already ended; its status is %s",
                     (long long)id, status_text(one.at[0].status));
    execution_list_release(&one);
    return rc;
}

static int cancel(struct pawl *p, void *arg, struct err *err)
{
    struct cancelling *c = arg;
    int64_t id = c->request.execution;
    int attempts, rc;

    if ((rc = refuse_ended(p, id, err)))
        return rc;
    do
        rc = api_turns(p, cancel_body, cancel_busy, c, err);
    while (!rc && c->more);
    if (!rc && c->request.rc)
        rc = query_explain_missing(p->store, id, err);
    if (!rc) /* cancelling its last open task may have ended it, too */
        rc = query_attempts(p->store, id, &attempts, &c->request.status, err);
    return rc ? rc : query_open(p->store, id, &c->left, err);
}

static int request_cancel(struct pawl *p, struct request request, struct pawl_cancelled *out,
                          struct pawl_error *e)
{
    struct cancelling c = {.request = request};
    int rc = api_request(p, &c.request.by, request.reason, cancel, &c, e);

    if (!rc && out)
        *out = (struct pawl_cancelled){.status = status_text(c.request.status), .left = c.left};
    return rc;
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

static int queue_body(struct turn *t, void *arg, struct err *err)
{
    return op_change_queue(t, arg, err);
}

static int change_queue(struct pawl *p, void *arg, struct err *err)
{
    struct queue_action *q = arg;
    int rc;

    q->slice = SLICE;
    if (!q->queue)
        return err_set(err, E_INVALID, "no queue was named");
    if ((rc = check_text("queue", q->queue, STORE_MAX_QUEUE, err)))
        return rc;
    for (;; q->is_continuation = true) {
        if ((rc = store_turn(p->store, queue_body, q, err)) || !q->more)
            return rc;
        clock_sleep_us(1000); /* jobs that are being claimed now are left for the next slice */
    }
}

int pawl_queue_limit(struct pawl *p, const char *queue, int max, const char *by, const char *reason,
                     bool *paused, struct pawl_error *e)
{
    struct queue_action q = {
        .verb = QUEUE_SET, .queue = queue, .max = max, .by = by, .reason = reason};
    int rc = api_request(p, &q.by, reason, change_queue, &q, e);

    if (!rc && paused)
        *paused = q.paused;
    return rc;
}

int pawl_queue_pause(struct pawl *p, const char *queue, const char *by, const char *reason,
                     struct pawl_error *e)
{
    struct queue_action q = {.verb = QUEUE_PAUSE, .queue = queue, .by = by, .reason = reason};

    return api_request(p, &q.by, reason, change_queue, &q, e);
}

int pawl_queue_resume(struct pawl *p, const char *queue, const char *by, const char *reason,
                      struct pawl_error *e)
{
    struct queue_action q = {.verb = QUEUE_RESUME, .queue = queue, .by = by, .reason = reason};

    return api_request(p, &q.by, reason, change_queue, &q, e);
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
    struct err err = ERR_INIT;
    int rc;

    do {
        if ((rc = store_turn(p->store, fence_body, &f, &err)))
            break;
        if (f.to.more && f.to.expired == f.from.expired)
            clock_sleep_us(LOCK_WAIT);
        f.from = f.to;
    } while (f.to.more);
    if (!rc && out)
        *out = (struct pawl_fenced){.generation = f.to.generation, .jobs = f.to.expired};
    return api_end(rc, &err, e);
}
