/* node_control.c - operator actions on one node of a tree: pause, resume, skip, approve and
 * reject. */
#include "api/verb.h"
#include "core/graph.h"

#define SLICE 1000

struct node_request {
    struct request request;
    const struct verb *verb;
    const char *word; /* the verb, for a server */
    bool more;
};

static int body(struct turn *t, void *arg, struct err *err)
{
    struct node_request *a = arg;

    return a->verb->op(t, &a->request, 1, SLICE, &a->more, err);
}

/* For a decision about a workflow or fan-out in which exactly one task waits for an approval: adds
 * the command that decides it. */
static int add_approval(struct pawl *p, const struct verb *v, const struct execution *e,
                        struct buf *b, struct err *err)
{
    AUTO(arena_release) struct arena arena = {0};
    const char *name = NULL;
    int64_t id = 0;

    if (!v->decision || kind_is_job(e->kind))
        return 0;
    TRY(query_only_approval(p->store, e->id, &arena, &id, &name, err));
    if (id)
        buf_addf(b, "; its task %lld %s does: `pawl %s %lld`", (long long)id, name, v->decision,
                 (long long)id);
    return 0;
}

int verb_explain(struct pawl *p, const struct verb *v, const struct request *r, struct err *err)
{
    AUTO(execution_list_release) struct execution_list one = {0};
    AUTO_BUF text = BUF_INIT;

    if (r->rc != -E_INVALID)
        return query_explain_missing(p->store, r->execution, err);
    TRY(query_execution(p->store, r->execution, &one, err));
    if (status_is_terminal(one.at[0].status))
        return err_set_state(err, "execution %lld has ended; its status is %s",
                             (long long)r->execution, status_text(one.at[0].status));
    buf_addstr(&text, v->refusal(&one.at[0]));
    TRY(add_approval(p, v, &one.at[0], &text, err));
    return err_set_state(err, "execution %lld %s", (long long)r->execution, text.ptr);
}

static int run_slices(struct pawl *p, void *arg, struct err *err)
{
    struct node_request *a = arg;

    if (p->remote)
        return remote_act(p->remote, a->request.execution, a->word, a->request.reason, err);
    for (;; a->request.is_continuation = true) {
        TRY(api_turns(p, body, api_request_busy, a, err));
        if (a->request.rc)
            return verb_explain(p, a->verb, &a->request, err);
        if (!a->more)
            return 0;
        /* Jobs that a claim has locked are left for the next slice: let the claim commit first. */
        clock_sleep_us(1000);
    }
}

/* ---- verbs ---- */

static int do_pause(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                    struct err *err)
{
    return op_pause(t, list, n, slice, more, err);
}

static const char *not_pausable(const struct execution *e)
{
    if (e->flags & FLAG_PAUSED)
        return "is already paused";
    if (e->cancel_requested)
        return "is being cancelled";
    return "is already running, and a pause only prevents a start: pause its parent, or cancel it";
}

static int do_resume(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                     struct err *err)
{
    return op_resume(t, list, n, slice, more, err);
}

static const char *not_resumable(const struct execution *e)
{
    return e->held == HELD_PAUSED ? "is not paused itself: resume its paused ancestor"
                                  : "is not paused";
}

static int do_skip(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                   struct err *err)
{
    (void)slice;
    *more = false;
    return op_skip(t, list, n, err);
}

static const char *not_skippable(const struct execution *e)
{
    (void)e;
    return "has already started: cancel it, or rerun it later";
}

static int do_approve(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                      struct err *err)
{
    (void)slice;
    *more = false;
    return op_approve(t, list, n, true, err);
}

static int do_reject(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                     struct err *err)
{
    (void)slice;
    *more = false;
    return op_approve(t, list, n, false, err);
}

static const char *no_approval(const struct execution *e)
{
    return e->status == S_PENDING ? "does not wait for an approval yet: its needs have not ended"
                                  : "does not wait for an approval";
}

const struct verb verb_pause = {do_pause, not_pausable, true, NULL};
const struct verb verb_resume = {do_resume, not_resumable, true, NULL};
const struct verb verb_skip = {do_skip, not_skippable, false, NULL};
static const struct verb verb_approve = {do_approve, no_approval, false, "approve"};
static const struct verb verb_reject = {do_reject, no_approval, false, "reject"};

/* Defines the function of pawl.h for a verb. */
#define VERB(which)                                                                       \
    int pawl_##which(struct pawl *p, int64_t id, const char *by, const char *reason,      \
                     struct pawl_error *e)                                                \
    {                                                                                     \
        struct node_request a = {                                                         \
            {.execution = id, .by = by, .reason = reason}, &verb_##which, #which, false}; \
                                                                                          \
        return api_request(p, &a.request.by, reason, run_slices, &a, e);                  \
    }

VERB(pause)
VERB(resume)
VERB(skip)
VERB(approve)
VERB(reject)
