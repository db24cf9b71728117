/* node_control.c - actions of an operator on one node of a tree: pause, resume, skip, approve and
 * reject. */
#include "api/api.h"
#include "core/graph.h"
#include "store/operator.h"

#include <stdlib.h>

#define SLICE 1000

struct node_request {
    struct request request;
    int (*op)(struct turn *, struct node_request *, struct err *);
    const char *(*refusal)(const struct execution *); /* why op refused it */
    bool more;
};

static int body(struct turn *t, void *arg, struct err *err)
{
    struct node_request *a = arg;

    return a->op(t, a, err);
}

static size_t is_busy(void *arg)
{
    const struct node_request *a = arg;

    return a->request.rc == -E_BUSY;
}

static int explain_refusal(struct pawl *p, const struct node_request *a, struct err *err)
{
    struct execution_list one = {0};
    int rc = query_execution(p->store, a->request.execution, &one, err);

    if (rc)
        return rc;
    if (status_is_terminal(one.at[0].status))
        rc = err_set(err, E_INVALID, "execution %lld has ended; its status is %s",
                     (long long)a->request.execution, status_text(one.at[0].status));
    else
        rc = err_set(err, E_INVALID, "execution %lld %s", (long long)a->request.execution,
                     a->refusal(&one.at[0]));
    execution_list_release(&one);
    return rc;
}

static int run_slices(struct pawl *p, struct node_request *a, struct err *err)
{
    int rc = api_check_who(a->request.by, a->request.reason, err);

    while (!rc) {
        if ((rc = api_turns(p, body, is_busy, a, err)))
            break;
        if (a->request.rc == -E_INVALID)
            return explain_refusal(p, a, err);
        if (a->request.rc)
            return query_explain_missing(p->store, a->request.execution, err);
        if (!a->more)
            break;
        a->request.is_continuation = true;
        clock_sleep_us(1000); /* jobs that are being claimed now are left for the next slice */
    }
    return rc;
}

static int send_request(struct pawl *p, struct node_request *a, struct pawl_error *e)
{
    char *user = a->request.by ? NULL : api_user();
    struct err err = ERR_INIT;
    int rc;

    if (user)
        a->request.by = user;
    rc = run_slices(p, a, &err);
    free(user);
    return api_end(rc, &err, e);
}

/* ---- pause and resume ---- */

static int do_pause(struct turn *t, struct node_request *a, struct err *err)
{
    return op_pause(t, &a->request, 1, SLICE, &a->more, err);
}

static const char *not_pausable(const struct execution *e)
{
    if (e->flags & FLAG_PAUSED)
        return "is already paused";
    if (e->cancel_requested)
        return "is being cancelled";
    return "is already running, and a pause only prevents a start: pause its parent, or cancel it";
}

int pawl_pause(struct pawl *p, int64_t id, const char *by, const char *reason, struct pawl_error *e)
{
    struct node_request a = {.request = {.execution = id, .by = by, .reason = reason},
                             .op = do_pause,
                             .refusal = not_pausable};

    return send_request(p, &a, e);
}

static int do_resume(struct turn *t, struct node_request *a, struct err *err)
{
    return op_resume(t, &a->request, 1, SLICE, &a->more, err);
}

static const char *not_resumable(const struct execution *e)
{
    return e->held == HELD_PAUSED ? "is not paused itself: resume its paused ancestor"
                                  : "is not paused";
}

int pawl_resume(struct pawl *p, int64_t id, const char *by, const char *reason,
                struct pawl_error *e)
{
    struct node_request a = {.request = {.execution = id, .by = by, .reason = reason},
                             .op = do_resume,
                             .refusal = not_resumable};

    return send_request(p, &a, e);
}

/* ---- one task ---- */

static int do_skip(struct turn *t, struct node_request *a, struct err *err)
{
    return op_skip(t, &a->request, 1, err);
}

static const char *not_skippable(const struct execution *e)
{
    (void)e;
    return "has already started: cancel it, or rerun it later";
}

int pawl_skip(struct pawl *p, int64_t id, const char *by, const char *reason, struct pawl_error *e)
{
    struct node_request a = {.request = {.execution = id, .by = by, .reason = reason},
                             .op = do_skip,
                             .refusal = not_skippable};

    return send_request(p, &a, e);
}

static int do_approve(struct turn *t, struct node_request *a, struct err *err)
{
    return op_approve(t, &a->request, 1, true, err);
}

static int do_reject(struct turn *t, struct node_request *a, struct err *err)
{
    return op_approve(t, &a->request, 1, false, err);
}

static const char *no_approval(const struct execution *e)
{
    return e->status == S_PENDING ? "does not wait for an approval yet: its needs have not ended"
                                  : "does not wait for an approval";
}

int pawl_approve(struct pawl *p, int64_t id, const char *by, const char *reason,
                 struct pawl_error *e)
{
    struct node_request a = {.request = {.execution = id, .by = by, .reason = reason},
                             .op = do_approve,
                             .refusal = no_approval};

    return send_request(p, &a, e);
}

int pawl_reject(struct pawl *p, int64_t id, const char *by, const char *reason,
                struct pawl_error *e)
{
    struct node_request a = {.request = {.execution = id, .by = by, .reason = reason},
                             .op = do_reject,
                             .refusal = no_approval};

    return send_request(p, &a, e);
}
