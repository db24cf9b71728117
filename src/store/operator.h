/* operator.h - operators' actions on executions, limits, queues, settings and access tokens. They
 * are operations of a turn, like those of store.h; engines use some of them too. */
#ifndef STORE_OPERATOR_H
#define STORE_OPERATOR_H

#include "store/store.h"

/* ---- executions ---- */

/* An action that an operator or an engine requests for one execution. */
struct request {
    int64_t execution;
    int64_t root;         /* the root of its tree; looked up if 0 */
    const char *by;       /* the user, for the event; NULL for the engine */
    const char *reason;   /* NULL if none */
    bool let_finish;      /* cancel: running jobs may finish, but nothing starts after them */
    bool is_continuation; /* pause, resume: a slice after the first */

    /* out */
    int rc;     /* 0, -E_NOT_FOUND, -E_INVALID (wrong status), -E_BUSY */
    int status; /* the execution's status afterwards */
};
/* Pauses an execution: it and its descendants, at any depth, no longer start; running jobs
 * continue. -E_INVALID: it has ended, is already paused, or is a running job. Works in slices:
 * *more requests another turn with is_continuation set. */
#define op_pause(t, list, n, slice, more, err) \
    op_pause_or_resume(t, list, n, slice, more, true, err)
/* Resumes a paused execution. Descendants and ancestors that are paused themselves stay paused. */
#define op_resume(t, list, n, slice, more, err) \
    op_pause_or_resume(t, list, n, slice, more, false, err)
MUST_USE int op_pause_or_resume(struct turn *t, struct request *list, size_t n, size_t slice,
                                bool *more, bool pause, struct err *err);
/* Approves a task that waits for approval, or rejects it. -E_INVALID: the task does not wait for
 * approval. */
MUST_USE int op_approve(struct turn *t, struct request *list, size_t n, bool yes, struct err *err);
/* Skips an execution that has not started: its followers treat it as done. -E_INVALID: it has
 * started. */
MUST_USE int op_skip(struct turn *t, struct request *list, size_t n, struct err *err);
enum rerun_scope { RERUN_WHOLE, RERUN_ONLY_FAILED, RERUN_FROM_TASK };
struct rerun_row {
    int64_t id;
    char *name;
    int status; /* its status before the rerun */
};
/* A rerun of an ended execution in place, together with all its followers; ancestors that have
 * ended are reopened. */
struct rerun {
    struct request request;
    enum rerun_scope what;
    const char *from; /* RERUN_FROM_TASK: the name of a task of the workflow */
    bool dry_run;     /* change nothing: op_rerun returns -E_INVALID and sets `planned` */

    /* out */
    VEC(struct rerun_row) reruns; /* executions that run again; all their descendants do too */
    bool planned;
};
void rerun_release(struct rerun *r);
/* -E_INVALID: it can't be rerun; err has the reason. -E_REFUSED: a limit has no free permit for the
 * workflow. */
MUST_USE int op_rerun(struct turn *t, struct rerun *r, struct err *err);
/* Cancels whole subtrees: pending and ready executions at once; running ones get a durable
 * cancel request. Handles at most `max` executions of each subtree in this turn. *more is set if
 * some are left: a timer continues with them, and a caller that does not want to wait for it may
 * call again. */
MUST_USE int op_cancel(struct turn *t, struct request *list, size_t n, size_t max, bool *more,
                       struct err *err);

/* ---- limits and queues ---- */

/* An operator's action on a queue as a whole. Works in slices: `more` is set if jobs above the
 * limit are left in the outbox, or more jobs may be admitted; another turn continues. A pause is a
 * limit of 0 that keeps the previous limit; resuming restores that limit, or the one that was set
 * during the pause. */
enum queue_verb { QUEUE_SET, QUEUE_PAUSE, QUEUE_RESUME };
struct queue_action {
    enum queue_verb verb;
    const char *queue;
    int max;                 /* QUEUE_SET: the new limit; < 0 for no limit */
    const char *by, *reason; /* NULL if not given */
    size_t slice;
    bool is_continuation; /* a slice after the first */

    /* out */
    bool more;   /* another turn with the same action must continue */
    bool paused; /* whether the queue is paused after this turn */
};
/* E_INVALID: the queue to resume is not paused. */
MUST_USE int op_change_queue(struct turn *t, struct queue_action *q, struct err *err);

/* ---- settings ---- */

/* Settings that all processes of the database share, each a JSON document (core/retention.h,
 * core/route.h). */
#define SETTING_RETENTION "retention"
#define SETTING_ROUTES    "routes"

struct setting_change {
    const char *name, *value;
    const char *by, *reason; /* NULL if not given */
    bool initial;            /* change nothing if the database already has a value */

    const char *found; /* out: the value before the change, valid until the store's next turn; NULL
                          if none */
};
MUST_USE int op_change_setting(struct turn *t, struct setting_change *c, struct err *err);

/* ---- access tokens ---- */

struct new_token {
    const char *name;
    const unsigned char *hash;  /* of its secret: TOKEN_HASH_SIZE bytes */
    unsigned scopes;            /* of enum token_scope */
    const char *queues, *lanes; /* JSON lists that restrict TOKEN_SCOPE_WORK; NULL for any */
    int64_t lifetime;           /* µs; 0 if it never expires */
    const char *by, *reason;    /* NULL if not given */
};
/* E_CONFLICT: a token of this name is valid. A name whose token has expired or was revoked is
 * free. */
MUST_USE int op_create_token(struct turn *t, const struct new_token *k, struct err *err);

struct token_revocation {
    const char *name;
    const char *by, *reason; /* NULL if not given */
};
/* E_NOT_FOUND: no token has this name, or it was revoked before. */
MUST_USE int op_revoke_token(struct turn *t, const struct token_revocation *r, struct err *err);

/* The time of a token's last use is stored with this precision. */
#define TOKEN_USE_PRECISION (60 * 1000000LL)
/* Records that the token with this hash is used now. May be repeated, so a light turn is enough. */
MUST_USE int op_record_token_use(struct turn *t, const unsigned char *hash, struct err *err);

/* ---- audit ---- */

/* The last operator action on a queue, a schedule, a setting or an access token; `at` is 0 if
 * none is stored. */
struct last_audit {
    int64_t at;
    enum audit_action action;
    const char *by, *reason; /* NULL if not given */
    const char *data;        /* JSON, such as {"limit": 2}; NULL if none */
};

#endif
