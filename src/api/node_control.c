/* node_control.c - operator actions on one node of a tree: pause, resume, skip, approve and
 * reject. */
#include "api/api.h"
#include "core/graph.h"
#include "store/operator.h"

#define SLICE 1000

struct node_request;
struct verb {
    int (*op)(struct turn *, struct node_request *, struct err *);
    const char *(*refusal)(const struct execution *); /* why op refused it */
};

struct node_request {
    struct request request;
    const struct verb *verb;
    bool more;
};

static int body(struct turn *t, void *arg, struct err *err)
{
    struct node_request *a = arg;

    return a->verb->op(t, a, err);
}

static int explain_refusal(struct pawl *p, const struct node_request *a, struct err *err)
{
    AUTO(execution_list_release) struct execution_list one = {0};

    TRY(query_execution(p->store, a->request.execution, &one, err));
    if (status_is_terminal(one.at[0].status))
        return err_set(err, E_INVALID, "execution %lld has ended; its status is %s",
                       (long long)a->request.execution, status_text(one.at[0].status));
    return err_set(err, E_INVALID, "execution %lld %s", (long long)a->request.execution,
                   a->verb->refusal(&one.at[0]));
}

static int run_slices(struct pawl *p, void *arg, struct err *err)
{
    struct node_request *a = arg;

    for (;; a->request.is_continuation = true) {
        TRY(api_turns(p, body, api_request_busy, a, err));
        if (a->request.rc == -E_INVALID)
            return explain_refusal(p, a, err);
        if (a->request.rc)
            return query_explain_missing(p->store, a->request.execution, err);
        if (!a->more)
            return 0;
        clock_sleep_us(1000); /* jobs that are being claimed now are left for the next slice */
    }
}

/* ---- verbs ---- */

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

static int do_resume(struct turn *t, struct node_request *a, struct err *err)
{
    return op_resume(t, &a->request, 1, SLICE, &a->more, err);
}

static const char *not_resumable(const struct execution *e)
{
    return e->held == HELD_PAUSED ? "is not paused itself: resume its paused ancestor"
                                  : "is not paused";
}

static int do_skip(struct turn *t, struct node_request *a, struct err *err)
{
    return op_skip(t, &a->request, 1, err);
}

static const char *not_skippable(const struct execution *e)
{
    (void)e;
    return "has already started: cancel it, or rerun it later";
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

/* Defines the function of pawl.h for a verb. */
#define VERB(name, op, refusal)                                                                    \
    int name(struct pawl *p, int64_t id, const char *by, const char *reason, struct pawl_error *e) \
    {                                                                                              \
        static const struct verb verb = {op, refusal};                                             \
        struct node_request a = {{.execution = id, .by = by, .reason = reason}, &verb, false};     \
                                                                                                   \
        return api_request(p, &a.request.by, reason, run_slices, &a, e);                           \
    }

VERB(pawl_pause, do_pause, not_pausable)
VERB(pawl_resume, do_resume, not_resumable)
VERB(pawl_skip, do_skip, not_skippable)
VERB(pawl_approve, do_approve, no_approval)
VERB(pawl_reject, do_reject, no_approval)
