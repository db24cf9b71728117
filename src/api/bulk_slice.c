/* bulk_slice.c - carries out one slice of an action on many executions: in one turn, or one by one
 * where the operation takes no sets. One refused execution does not keep the others from being
 * changed. */
#include "api/bulk.h"

#include <string.h>

/* Descendants of each execution that the turn of a slice changes; the rest follows in turns of its
 * own, with larger slices. */
#define BELOW       100
#define BELOW_ALONE 1000

static bool concerns_one_execution(enum error_code code)
{
    return code == E_INVALID || code == E_CONFLICT || code == E_NOT_FOUND || code == E_REFUSED ||
           code == E_BUSY;
}

/* Records the error of one execution, or returns it if it concerns all of them. */
static int record(struct bulk_slice *s, size_t i, const struct err *why, struct err *err)
{
    if (concerns_one_execution(why->code)) {
        s->errors[i] = *why;
        return 0;
    }
    *err = *why;
    return -(int)why->code;
}

/* Whether the execution can't be in a set: a rerun, or an SQL submission that must be taken before
 * it can be cancelled. */
static bool is_done_alone(const struct bulk_slice *s, size_t i)
{
    return !s->action->verb || (s->at[i].is_submission && s->action->cancels);
}

/* ---- in one turn ---- */

struct bulk_turn {
    struct bulk_slice *s;
    struct request requests[BULK_SLICE];
    size_t index[BULK_SLICE]; /* index[i]: the index of request i's execution in the slice */
    size_t n, below;
    bool more;              /* descendants are left */
    bool added[BULK_SLICE]; /* whether an execution of the slice was added to this turn or an
                               earlier one */
};

static void add_request(struct bulk_turn *k, size_t i, bool is_continuation)
{
    k->index[k->n] = i;
    k->requests[k->n++] = (struct request){.execution = k->s->at[i].id,
                                           .root = k->s->at[i].root,
                                           .by = k->s->by,
                                           .reason = k->s->reason,
                                           .let_finish = k->s->action->let_finish,
                                           .is_continuation = is_continuation};
}

static int turn_body(struct turn *t, void *arg, struct err *err)
{
    struct bulk_turn *k = arg;
    bool more;

    TRY(k->s->action->verb->op(t, k->requests, k->n, k->below, &more, err));
    k->more |= more;
    return 0;
}

/* Keeps the requests whose tree was locked, and notes the codes of those that were refused. */
static size_t keep_busy(void *arg)
{
    struct bulk_turn *k = arg;
    size_t left = 0;

    for (size_t i = 0; i < k->n; i++) {
        if (k->requests[i].rc == -E_BUSY) {
            k->index[left] = k->index[i];
            k->requests[left++] = k->requests[i];
        } else if (k->requests[i].rc) {
            k->s->errors[k->index[i]].code = (enum error_code) - k->requests[i].rc;
        }
    }
    return k->n = left;
}

static int make_turns(struct pawl *p, struct bulk_turn *k, struct err *err)
{
    struct err why = ERR_INIT;

    k->more = false;
    if (!k->n || !api_turns(p, turn_body, keep_busy, k, &why))
        return 0;
    if (why.code != E_BUSY) {
        *err = why;
        return -(int)why.code;
    }
    for (size_t i = 0; i < k->n; i++)
        k->s->errors[k->index[i]] = why;
    return 0;
}

/* Continues with the descendants of one execution. If this process dies, a timer continues. */
static int continue_below(struct pawl *p, struct bulk_turn *k, size_t i, struct err *err)
{
    k->below = BELOW_ALONE;
    do {
        k->n = 0;
        add_request(k, i, true);
        TRY(make_turns(p, k, err));
        /* Jobs that a claim has locked are left for the next turn: let the claim commit first. */
        if (k->more)
            clock_sleep_us(1000);
    } while (k->more && !k->s->errors[i].code);
    return 0;
}

/* Completes the errors of which only the code is known. */
static int explain_refusals(struct pawl *p, struct bulk_slice *s, struct err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        struct request r = {.execution = s->at[i].id, .rc = -(int)s->errors[i].code};
        struct err why = ERR_INIT;

        if (!r.rc || *s->errors[i].msg)
            continue;
        (void)verb_explain(p, s->action->verb, &r, &why);
        TRY(record(s, i, &why, err));
    }
    return 0;
}

static bool has_tree(const struct bulk_turn *k, int64_t root)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->requests[i].root == root)
            return true;
    return false;
}

/* Adds the requests of the next turn, in the order of the slice. Returns false if none is left. */
static bool add_requests(struct bulk_turn *k)
{
    const struct bulk_slice *s = k->s;

    k->n = 0;
    k->below = BELOW;
    for (size_t i = 0; i < s->n; i++)
        if (!k->added[i] && !is_done_alone(s, i) &&
            !(s->action->verb->one_per_tree && has_tree(k, s->at[i].root))) {
            k->added[i] = true;
            add_request(k, i, false);
        }
    return k->n;
}

static int act_on_set(struct pawl *p, struct bulk_slice *s, struct err *err)
{
    struct bulk_turn k = {.s = s};
    bool more = false;

    while (add_requests(&k)) {
        TRY(make_turns(p, &k, err));
        more |= k.more;
    }
    if (more)
        for (size_t i = 0; i < s->n; i++)
            if (!s->errors[i].code && !is_done_alone(s, i))
                TRY(continue_below(p, &k, i, err));
    return explain_refusals(p, s, err);
}

/* ---- actions without sets: reruns, cancels of SQL submissions ---- */

static int rerun_one(struct pawl *p, const struct bulk_slice *s, const struct found_execution *e,
                     struct pawl_error *error)
{
    struct pawl_rerun how = {.failed = s->action->failed, .by = s->by, .reason = s->reason};

    return pawl_rerun(p, e->id, &how, NULL, error);
}

static void act_alone(struct pawl *p, const struct bulk_slice *s, const struct found_execution *e,
                      struct err *why)
{
    struct pawl_error error;
    int rc;

    if (!s->action->verb && !strncmp(e->queue, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND))) {
        err_set(why, E_INVALID,
                "execution %lld ran in the foreground, so no worker serves its queue: rerun it "
                "alone with `pawl rerun %lld`",
                (long long)e->id, (long long)e->id);
        return;
    }
    rc = !s->action->verb        ? rerun_one(p, s, e, &error)
         : s->action->let_finish ? pawl_let_finish(p, e->id, s->by, s->reason, NULL, &error)
                                 : pawl_cancel(p, e->id, s->by, s->reason, NULL, &error);
    if (rc)
        err_set(why, (enum error_code)error.code, "%s", error.message);
}

int bulk_act(struct pawl *p, struct bulk_slice *s, struct err *err)
{
    if (s->action->verb)
        TRY(act_on_set(p, s, err));
    for (size_t i = 0; i < s->n; i++) {
        struct err why = ERR_INIT;

        if (!is_done_alone(s, i))
            continue;
        act_alone(p, s, &s->at[i], &why);
        if (why.code)
            TRY(record(s, i, &why, err));
    }
    return 0;
}
