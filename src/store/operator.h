/* operator.h - operators' actions on executions, limits, queues, settings and access tokens. They
 * run inside a turn, like the operations of store.h; engines use some of them, too. */
#ifndef STORE_OPERATOR_H
#define STORE_OPERATOR_H

#include "store/store.h"

/* ---- executions ---- */

/* An action that an operator or an engine requests for one execution. */
struct request {
    int64_t execution;
    int64_t root; /* root of the execution's tree; 0 if the operation must look it up */
    /* The user who requested the action, for the event; NULL for the engine. */
    const char *by;
    const char *reason; /* the user's reason; NULL if none */
    /* Cancel: if true, running jobs may finish, but nothing starts after them. */
    bool let_finish;
    bool is_continuation; /* pause, resume: whether this is a slice after the first */

    /* out */
    int rc;     /* result: 0, -E_NOT_FOUND, -E_INVALID (wrong status) or -E_BUSY */
    int status; /* result: the execution's status afterwards */
};
/* Pauses the executions: they and their descendants, at any depth, no longer start; running jobs
 * continue. A request gets rc -E_INVALID if its execution has ended, is already paused or to be
 * cancelled, or is a running job. Works in slices: if *more is set, the caller continues in another
 * turn, with is_continuation set. */
#define op_pause(t, list, n, slice, more, err) \
    op_pause_or_resume(t, list, n, slice, more, true, err)
/* Resumes the paused executions. Descendants and ancestors that were paused by requests of their
 * own stay paused. A request whose execution is not paused gets rc -E_INVALID. */
#define op_resume(t, list, n, slice, more, err) \
    op_pause_or_resume(t, list, n, slice, more, false, err)
MUST_USE int op_pause_or_resume(struct turn *t, struct request *list, size_t n, size_t slice,
                                bool *more, bool pause, struct err *err);
/* Approves the tasks that wait for approval, or rejects them. A request whose task does not wait
 * for approval gets rc -E_INVALID. */
MUST_USE int op_approve(struct turn *t, struct request *list, size_t n, bool yes, struct err *err);
/* Skips the executions that have not started: their followers treat them as if they had succeeded.
 * A request whose execution has started gets rc -E_INVALID. */
MUST_USE int op_skip(struct turn *t, struct request *list, size_t n, struct err *err);
enum rerun_scope { RERUN_WHOLE, RERUN_ONLY_FAILED, RERUN_FROM_TASK };
struct rerun_row {
    int64_t id;
    char *name;
    int status; /* status of the execution before the rerun */
};
/* A rerun, under the same id, of an ended execution and of all its followers; ancestors that have
 * ended are reopened. */
struct rerun {
    struct request request;
    enum rerun_scope what;
    const char *from; /* for RERUN_FROM_TASK: the name of a task of the workflow */
    bool dry_run;     /* if true, nothing changes: op_rerun returns -E_INVALID and sets `planned` */

    /* out */
    VEC(struct rerun_row) reruns; /* executions that run again, with all their descendants */
    bool planned;
};
void rerun_release(struct rerun *r);
/* -E_INVALID if the execution can't be rerun; err has the reason. -E_REFUSED if a limit has no free
 * permit for the workflow. */
MUST_USE int op_rerun(struct turn *t, struct rerun *r, struct err *err);
/* Cancels whole subtrees: pending and ready executions at once; running ones get a durable cancel
 * request. Handles at most `max` executions of each subtree in this turn. *more is set if some are
 * left: a timer continues with these, and a caller that does not want to wait for the timer may
 * call again. */
MUST_USE int op_cancel(struct turn *t, struct request *list, size_t n, size_t max, bool *more,
                       struct err *err);

/* ---- limits and queues ---- */

/* An operator's action on a queue as a whole. Works in slices: `more` is set if jobs above the
 * limit are left in the outbox, or further jobs may be admitted; another turn must continue. A
 * pause is a limit of 0 that keeps the previous limit; resuming restores that limit, or the limit
 * that was set during the pause. */
enum queue_verb { QUEUE_SET, QUEUE_PAUSE, QUEUE_RESUME };
struct queue_action {
    enum queue_verb verb;
    const char *queue;
    int max;                 /* for QUEUE_SET: the new limit; negative for no limit */
    const char *by, *reason; /* user and reason; NULL if not given */
    size_t slice;
    bool is_continuation; /* whether this is a slice after the first */

    /* out */
    bool more;   /* result: another turn with the same action must continue */
    bool paused; /* result: the queue is paused after this turn */
};
/* -E_INVALID if the queue to resume is not paused. */
MUST_USE int op_change_queue(struct turn *t, struct queue_action *q, struct err *err);

/* ---- workers ---- */

struct drain_request {
    int64_t worker;
    const char *by, *reason; /* user and reason; NULL if not given */
};
/* Requests that a worker drains; it learns of the request with its next heartbeat. -E_NOT_FOUND if
 * there is no such worker; -E_INVALID if it runs in the foreground, and ends with its tree. */
MUST_USE int op_worker_drain(struct turn *t, const struct drain_request *d, struct err *err);

/* ---- settings ---- */

/* Settings that all processes of the database share, each a JSON document (core/retention.h,
 * core/route.h). */
#define SETTING_RETENTION "retention"
#define SETTING_ROUTES    "routes"

struct setting_change {
    const char *name, *value;
    const char *by, *reason; /* user and reason; NULL if not given */
    bool initial;            /* if true, nothing changes if the database already has a value */

    /* Result: the value before the change, which is valid until the store's next turn; NULL if
     * none. */
    const char *found;
};
MUST_USE int op_change_setting(struct turn *t, struct setting_change *c, struct err *err);

/* ---- access tokens ---- */

struct new_token {
    const char *name;
    const unsigned char *hash; /* hash of the token's secret: TOKEN_HASH_SIZE bytes */
    unsigned scopes;           /* bits of enum token_scope */
    /* JSON lists that restrict TOKEN_SCOPE_WORK; NULL if not restricted. */
    const char *queues, *lanes;
    int64_t lifetime;        /* µs until the token expires; 0 if never */
    const char *by, *reason; /* user and reason; NULL if not given */
};
/* -E_CONFLICT if a valid token has this name. The name of a token that has expired or was revoked
 * may be used again. */
MUST_USE int op_create_token(struct turn *t, const struct new_token *k, struct err *err);

struct token_revocation {
    const char *name;
    const char *by, *reason; /* user and reason; NULL if not given */
};
/* -E_NOT_FOUND if no token has this name, or the token was revoked before. */
MUST_USE int op_revoke_token(struct turn *t, const struct token_revocation *r, struct err *err);

/* µs: the time of a token's last use is stored with this precision. */
#define TOKEN_USE_PRECISION (60 * 1000000LL)
/* Records that the token with this hash is used now. Doing this twice is harmless, so a light turn
 * is enough. */
MUST_USE int op_record_token_use(struct turn *t, const unsigned char *hash, struct err *err);

/* ---- webhooks ---- */

struct webhook_key;
struct new_hook {
    const char *name;
    int signature; /* enum webhook_signature */
    const struct webhook_key *key;
    /* One that reports ends of executions: where to, and which (bits 1 << S_...); NULL and 0 for
     * one that starts a workflow. */
    const char *url;
    int statuses;
    const char *workflow, *queue; /* report only those; NULL for any */
    bool tasks;                   /* also report executions with a parent */
    const char *by, *reason;      /* NULL if not given */
};
/* -E_CONFLICT: a webhook of this name exists. */
MUST_USE int op_create_hook(struct turn *t, const struct new_hook *h, struct err *err);

struct hook_revocation {
    const char *name;
    const char *by, *reason; /* NULL if not given */
};
/* Deletes the webhook; workflows that name it keep doing so. -E_NOT_FOUND: it does not exist. */
MUST_USE int op_revoke_hook(struct turn *t, const struct hook_revocation *r, struct err *err);

/* ---- audit ---- */

/* The last operator action on a queue, a schedule, a setting or an access token; `at` is 0 if
 * none is stored. */
struct last_audit {
    int64_t at;
    enum audit_action action;
    const char *by, *reason; /* user and reason; NULL if not given */
    const char *data;        /* details as JSON, such as {"limit": 2}; NULL if none */
};

#endif
