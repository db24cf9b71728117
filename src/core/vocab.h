/* vocab.h - the vocabulary of the domain. Each list defines the code that is stored in the database
 * and the text that people see. Never change or reuse a code. */
#ifndef CORE_VOCAB_H
#define CORE_VOCAB_H

#include <stdbool.h>

#define KINDS(X)                                               \
    X(TASK, 1, "task")         /* a task that a worker runs */ \
    X(EXEC, 2, "exec")         /* a single command */          \
    X(WORKFLOW, 3, "workflow") /* a graph of tasks */          \
    X(FOREACH, 4, "foreach")   /* a fan-out; its items are its children */

#define STATUSES(X)                                                                                \
    X(PENDING, 1, "pending")     /* waits for its needs */                                         \
    X(READY, 2, "ready")         /* may run: in the outbox, unless held */                         \
    X(RUNNING, 3, "running")     /* a running job has a lease row */                               \
    X(SUCCEEDED, 4, "succeeded") /* this and all later ones are terminal: no descendant is open */ \
    X(FAILED, 5, "failed")                                                                         \
    X(TIMED_OUT, 6, "timed_out")                                                                   \
    X(CANCELLED, 7, "cancelled")                                                                   \
    X(SKIPPED, 8, "skipped")

/* The reasons why a ready job may not be claimed. If several apply, the first of them in this list
 * is stored. */
#define HOLDS(X)                               \
    X(NONE, 0, "")                             \
    X(APPROVAL, 1, "approval")                 \
    X(PAUSED, 2, "paused")                     \
    X(DELAY, 3, "delay") /* a timer ends it */ \
    X(LIMIT, 4, "limit") /* a permit ends it; held_key names the limit */

#define TIMERS(X)                                                                                  \
    X(DELAY, 1, "delay")       /* ends the delay of a job: a retry, a deferral, a delayed start */ \
    X(HANDOVER, 2, "handover") /* offers a permit again that no job could take */                  \
    X(CONTINUE, 3, "continue") /* continues large work of a workflow in slices */                  \
    X(TIMEOUT, 4, "timeout")   /* ends a workflow that takes too long */

#define OUTCOMES(X)                                                                    \
    X(OK, 1, "ok")                                                                     \
    X(FAILED, 2, "failed")                                                             \
    X(TIMED_OUT, 3, "timed_out")                                                       \
    X(CANCELLED, 4, "cancelled")                                                       \
    X(LOST, 5, "lost")         /* how the attempt ended is unknown; never a success */ \
    X(DEFERRED, 6, "deferred") /* the job is to be run again at a later time */        \
    X(REFUSED, 7, "refused")   /* the job was returned to its queue before anything started */

/* Operator actions on a whole queue or schedule, on a setting, an access token or an applied
 * workflow. */
#define AUDIT_ACTIONS(X)                                            \
    X(LIMITED, 1, "limited") /* the limit of a queue was changed */ \
    X(PAUSED, 2, "paused")                                          \
    X(RESUMED, 3, "resumed")                                        \
    X(CHANGED, 4, "changed") /* a setting was changed */            \
    X(CREATED, 5, "created") /* an access token was created */      \
    X(REVOKED, 6, "revoked")                                        \
    X(DELETED, 7, "deleted") /* the name of an applied workflow was removed */

/* The scopes of access tokens. The codes are bits, so that a token can have several. */
#define TOKEN_SCOPES(X)                                                             \
    X(READ, 1, "read")                                                              \
    X(SUBMIT, 2, "submit")                                                          \
    X(OPERATE, 4, "operate") /* may do operator actions on executions and queues */ \
    X(WORK, 8, "work")       /* may claim and settle jobs */                        \
    X(ADMIN, 16, "admin")    /* may do everything, also manage tokens and settings */

/* Events of the history. Jobs (task, exec) and workflows (workflow, foreach) have the same actions.
 * If the event belongs to a workflow or fan-out, WORKFLOW_EVENT is added to its code, and its text
 * starts with "workflow." instead of "task.". event_effect.h defines what each event changes. */
#define EVENTS(X)                                                                                 \
    X(CREATED, 1, "created")                                                                      \
    X(MARKED_READY, 2, "marked_ready")                                                            \
    X(HELD, 3, "held")                                                                            \
    X(UNHELD, 4, "unheld")                                                                        \
    X(CLAIMED, 5, "claimed")                                                                      \
    X(STARTED, 6, "started")                                                                      \
    X(DEFERRED, 7, "deferred")                                                                    \
    X(RESUMED, 8, "resumed") /* for a job: it was deferred and is claimed again; of a workflow: a \
                                pause ended */                                                    \
    X(RELEASED, 9, "released")                                                                    \
    X(RETRY_SCHEDULED, 10, "retry_scheduled")                                                     \
    X(LEASE_EXPIRED, 11, "lease_expired")                                                         \
    X(ADOPTED, 12, "adopted")                                                                     \
    X(CANCEL_REQUESTED, 13, "cancel_requested")                                                   \
    X(COMPLETED, 14, "completed")                                                                 \
    X(FAILED, 15, "failed")                                                                       \
    X(TIMED_OUT, 16, "timed_out")                                                                 \
    X(CANCELLED, 17, "cancelled")                                                                 \
    X(SKIPPED, 18, "skipped")                                                                     \
    X(ABANDONED, 19, "abandoned")                                                                 \
    X(RERUN, 20, "rerun")                                                                         \
    X(REUSED, 21, "reused")                                                                       \
    X(PAUSED, 22, "paused")

#define WORKFLOW_EVENT      32

#define X(name, code, text) KIND_##name = code,
enum kind { KINDS(X) };
#undef X
#define X(name, code, text) S_##name = code,
enum status { S_NONE = 0, STATUSES(X) S_COUNT };
#undef X
#define X(name, code, text) HELD_##name = code,
enum hold { HOLDS(X) };
#undef X
#define X(name, code, text) TIMER_##name = code,
enum timer_kind { TIMERS(X) };
#undef X
#define X(name, code, text) OUTCOME_##name = code,
enum outcome_kind { OUTCOMES(X) };
#undef X
#define X(name, code, text) AUDIT_##name = code,
enum audit_action { AUDIT_ACTIONS(X) };
#undef X
#define X(name, code, text) TOKEN_SCOPE_##name = code,
enum token_scope { TOKEN_SCOPES(X) };
#undef X
#define X(name, code, text) EV_##name = code,
enum event_action { EVENTS(X) EV_COUNT };
#undef X

/* The text for a code; "?" if the code is unknown. */
const char *kind_text(int kind);
const char *status_text(int status);
const char *hold_text(int hold);
const char *timer_text(int kind);
const char *outcome_text(int kind);
const char *audit_action_text(int action);
const char *token_scope_text(int scope); /* of a single scope */
const char *action_text(int action);
const char *event_text(int type); /* "task.claimed", "workflow.paused" */

/* The code for a text; 0 if the text is unknown. */
int status_from_text(const char *text);
int kind_from_text(const char *text);
int event_from_text(const char *text);
int token_scope_from_text(const char *text);

static inline bool kind_is_job(int kind)
{
    return kind == KIND_TASK || kind == KIND_EXEC;
}

static inline int event_type(int kind, enum event_action action)
{
    return kind_is_job(kind) ? (int)action : (int)action + WORKFLOW_EVENT;
}

static inline bool status_is_terminal(int status)
{
    return status >= S_SUCCEEDED;
}

#endif
