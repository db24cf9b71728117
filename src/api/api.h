/* api.h - declarations shared by the files of the public library: the handle, error reporting,
 * workflow sources, and the JSON nouns that several files write. */
#ifndef API_API_H
#define API_API_H

#include "api/noun.h"
#include "base/buf.h"
#include "base/json.h"
#include "core/workflow/model.h"
#include "parse/config/config.h"
#include "parse/diagnostics.h"
#include "pawl.h"
#include "remote/remote.h"
#include "store/driver/url.h"
#include "store/query/query.h"

struct pawl {
    struct store *store;   /* NULL if it is a handle on a server */
    struct remote *remote; /* NULL if it is a handle on a database */
    struct env env;
    struct config *config;
    char *user;           /* the result of api_user; NULL until it is needed */
    bool routes_followed; /* true once api_follow_routes has succeeded */
    struct {
        int64_t checked_at; /* when pawl_yield last checked, by clock_boot_us; 0 if never */
        int pause_ms;       /* the next pause; 0 while the handle keeps its connection */
    } yielding;             /* see pawl_yield */
    /* After a failure to record the use of an access token, no use is recorded before this time
     * (clock_boot_us). */
    int64_t record_uses_from;
};

/* Reads the configuration from `path`, else from $PAWL_CONFIG, else from the default locations of
 * config_load. The error message lists as many of the file's problems as fit. */
MUST_USE int api_config(const char *path, struct config **out, struct err *err);
/* Appends the value of a secret, from the environment or from the secrets_file of `executor`
 * (a struct config_executor). */
int api_secret(void *executor, const char *name, struct buf *out, struct err *err);

/* Converts a job to a submission of the store. Its strings belong to the job, the handle or the
 * arena. */
MUST_USE int api_submission(struct pawl *p, const struct pawl_job *job, struct arena *arena,
                            struct submission *out, struct err *err);
/* Like api_submission, but the caller has already read the definition that job->applied names;
 * `applied` is its text, NULL if job->applied is NULL. */
MUST_USE int api_submission_of(struct pawl *p, const struct pawl_job *job, const char *applied,
                               struct arena *arena, struct submission *out, struct err *err);
/* The source of a workflow. Only the first field that is not NULL is used. */
struct api_source {
    const char *file;
    const char *yaml; /* the text of a file; can nest other files by absolute path only */
    struct pawl_workflow *built; /* a builder (build.c), or a file that was read before */
    const char *text;            /* canonical JSON (core/workflow/model.h) */
    const char
        *source; /* with text: the text of the file that it was applied from; NULL if unknown */
};
/* api_parse_workflow and api_load_workflow read a workflow from a file, a YAML string or a builder,
 * with all workflows that it nests. *out lives in the arena, or in the builder until it is changed.
 * api_parse_workflow adds its errors to `diagnostics`; api_load_workflow puts as many as fit into
 * the error message. */
MUST_USE int api_parse_workflow(const struct api_source *from, struct diagnostics *diagnostics,
                                struct arena *arena, const struct workflow **out, struct err *err);
MUST_USE int api_load_workflow(const struct api_source *from, struct arena *arena,
                               const struct workflow **out, struct err *err);
/* build.c: parses the workflow unless it was parsed since its last change. */
MUST_USE int api_parse_built(struct pawl_workflow *w, struct diagnostics *diagnostics,
                             const struct workflow **out, struct err *err);
/* A workflow that is read from this file when it is first used. */
struct pawl_workflow *api_built_of_file(const char *file);
void api_describe(const struct workflow *w, struct pawl_definition *out);

/* Gives the store the settings that it needs to advance workflows. The configuration must outlive
 * the store. */
void api_set_workflow_options(struct store *s, const struct config *c);

/* The state folder: as given, else $PAWL_STATE (a command that a task starts uses the folder of
 * the task's worker), else as configured. -E_INVALID if none of them is set. */
MUST_USE int api_state(const char *given, const struct config *c, const char **out,
                       struct err *err);

/* Declares `err` in a public function. When the function returns, an error that was set is copied
 * to the caller's `to`, which may be NULL. */
#define API_ERR(to)                                              \
    AUTO(api_err_report) struct api_err reported_ = {{0}, (to)}; \
    struct err *err = &reported_.err
struct api_err {
    struct err err;
    struct pawl_error *to;
};
void api_err_report(struct api_err *e);
void api_err_copy(const struct err *err, struct pawl_error *to);

/* Refuses a handle on a server: -E_INVALID. `what` begins the sentence: "an engine works". */
MUST_USE int api_needs_database(const struct pawl *p, const char *what, struct err *err);

/* Defines the body of a turn that passes its argument to an operation of the store. */
#define TURN_BODY(name, op)                                     \
    static int name(struct turn *t, void *arg, struct err *err) \
    {                                                           \
        return op(t, arg, err);                                 \
    }
/* Makes a turn, and repeats it for the requests whose tree was locked by another turn. `body`
 * handles all requests; then `busy(arg)` keeps only the requests whose tree was locked, and returns
 * how many they are. */
MUST_USE int api_turns(struct pawl *p, int (*body)(struct turn *, void *, struct err *),
                       size_t (*busy)(void *), void *arg, struct err *err);

struct moment;
MUST_USE int api_moment(const struct pawl_moment *at, struct moment *out, struct err *err);

/* ---- JSON ---- */

/* The tasks of a workflow that have an execution, in the order of its file. */
struct task_names {
    const struct task_name *at;
    size_t n;
};

/* Writes the fields of an execution without the braces around them, so that a tree can add its
 * children. */
void execution_fields(struct json_writer *w, const struct execution *e,
                      const struct execution_history *history, struct task_names tasks);
/* Writes the reason why the execution waits into the empty buffer and returns it; NULL if it does
 * not wait. due_at is when its delay ends, 0 if unknown. */
const char *execution_waiting(const struct execution *e, int64_t due_at, struct buf *out);

/* Writes the user who requested the execution, or the schedule that fired it, into the empty buffer
 * and returns it; NULL if unknown, and for a task of a workflow. */
const char *execution_requester(const struct execution_history *history, struct buf *out);

/* Parses the data of an event or another stored document; NULL if `text` is NULL or not JSON. The
 * caller releases it. */
struct json_t *api_data(const char *text);
const char *api_data_text(const struct json_t *data, const char *key); /* NULL if the key is
                                                                          missing */
const struct json_t *api_data_integer(const struct json_t *data, const char *key); /* likewise */

/* The column tables that more than one file uses. */
extern const struct noun execution_noun, workflow_task_noun, workflow_execution_noun, event_noun;
extern const struct noun queue_noun, worker_noun, last_audit_noun;

/* Columns of a row that has an execution `e`. */
#define E_ID     "id", INT(e.id), "increases over time"
#define E_PARENT "parent", ID(e.parent), "the execution that created it; null for a root"
#define E_ROOT   "root", INT(e.root), "the top of its tree"
#define E_DEPTH  "depth", INT(e.depth), "0 at the top"
#define E_KIND                                                                              \
    "kind", WORD(e.kind, kind_text),                                                        \
        "`workflow`, `task`, `foreach` (a fan-out; its items are its children), `exec` (a " \
        "single command)"
#define E_NAME            \
    "name", TEXT(e.name), \
        "its full name: `workflow`, `workflow::task`, `workflow::task[3]`, `exec::NAME`"
#define E_STATUS                                                                           \
    "status", WORD(e.status, status_text),                                                 \
        "`pending`, `ready`, `running`, `succeeded`, `failed`, `timed_out`, `cancelled`, " \
        "`skipped`: see [STATES.md](STATES.md)"
#define E_ATTEMPT      "attempt", INT(e.attempts), "the number of claims; 0 before the first one"
#define E_MAX_ATTEMPTS "max_attempts", INT(e.max_attempts), "the maximum number of attempts"
#define E_TASK_INDEX   "task_index", OPT_INT(e.task_index), "an item's index, from 0"
#define E_REQUESTED    "requested_at", TIME(e.requested_at), NULL
#define E_STARTED \
    "started_at", OPT_TIME(e.started_at), "its first claim; for a workflow or fan-out its start"
#define E_FINISHED "finished_at", OPT_TIME(e.finished_at), "null until it has ended"
/* The column `duration` of a row that has an execution `e` and a field `duration`. */
#define E_DURATION                                                                            \
    "duration_us", OPT_INT(duration),                                                         \
        "how long it ran: its attempts and the waits between them, without the time between " \
        "an end and the start of the rerun that followed; null while it runs, and if it never did"
#define E_IDLE                                                                              \
    "idle_us", OPT_INT(e.idle),                                                             \
        "the time between an end and the start of the rerun that followed, for all reruns " \
        "together; null until the last one has started"
#define E_ERROR "error", OPT_TEXT(e.error), "the error message"

/* The value of E_DURATION: how long an execution ran; -1 while it runs. */
static inline int64_t final_duration(const struct execution *e)
{
    return e->finished_at || e->idle < 0 ? execution_duration(&e->state, 0) : -1;
}

/* executions.c: the status that a server has for an execution; waits for its end, at most
 * timeout_ms (0: not at all, negative: no limit). */
MUST_USE int api_remote_status(struct pawl *p, int64_t id, int timeout_ms, const char **status,
                               struct err *err);
/* executions.c: returns -E_NOT_FOUND for an unknown id, for callers that would otherwise return an
 * empty list. */
MUST_USE int api_check_exists(struct pawl *p, int64_t id, struct err *err);

/* command_spec.c: the length of a list that ends with NULL; 0 if the list is NULL. */
size_t api_count(const char *const *list);

/* queues_workers.c: the rows from which queue_noun and worker_noun are written. */
struct queue_answer {
    struct queue_row q;
    int64_t oldest_wait;
    const struct queue_row *paused, *limit; /* NULL if the queue is not paused, or not limited */
    const struct last_audit *last;
};
struct worker_answer {
    struct worker_row row;
    int64_t silent;
    const char *state;
    const struct worker_drain *drain; /* NULL if nobody requests that it drains */
};
void queue_answer(struct queue_answer *out, const struct queue_row *q, int64_t now);
void worker_answer(struct worker_answer *out, const struct worker_row *r, int64_t now);
/* Returns `o`, or NULL if no action was recorded. */
const struct last_audit *audit_or_null(const struct last_audit *o);
/* Every foreground run has its own queue, here:ROOT. Merges them into one row named "here". */
void queues_merge_foreground(struct queue_list *l);
/* Returns NULL if there is no worker with this id. */
const struct worker_row *worker_find(const struct worker_list *l, int64_t id);
/* Whether the worker has not been seen for 30 s, the default lease. Workers send three heartbeats
 * in that time. */
bool worker_is_silent(const struct worker_row *r, int64_t now);
/* Whether the worker claims nothing more, because it was asked to drain or is stopping. */
bool worker_is_draining(const struct worker_row *r);

/* submit.c: makes `s` the submission of a workflow; `params` override those in s->input. */
MUST_USE int api_workflow(const struct api_source *from, const char *const *params,
                          struct submission *s, struct arena *arena, struct err *err);
MUST_USE int api_submit_one(struct pawl *p, struct submission *s, struct err *err);

/* apply.c: refuses a text that can't be the name of an applied workflow. */
MUST_USE int api_check_applied_name(const char *name, struct err *err);

/* settings.c: the retention that the configuration file asks for. */
struct retention_policy api_file_retention(const struct config *c);
/* settings.c: called when an engine is opened. Stores the settings of the configuration file that
 * the database does not have yet, and reports those that differ from the database's. */
MUST_USE int api_follow_settings(struct pawl *p, bool foreground, struct err *err);
/* Like api_follow_settings, but only for the routes. Called before a submission; only the first
 * call for a handle does anything. */
MUST_USE int api_follow_routes(struct pawl *p, bool report, struct err *err);

/* control.c: the `busy` function of api_turns for an argument whose first member is a struct
 * request. */
size_t api_request_busy(void *request);
/* control.c: user@host of this process, for the history; valid as long as the handle. */
const char *api_user(struct pawl *p);
/* control.c: carries out an operator's request. If *by is NULL, it is set to api_user(). Returns
 * the public error code. */
int api_request(struct pawl *p, const char **by, const char *reason,
                int (*run)(struct pawl *p, void *arg, struct err *err), void *arg,
                struct pawl_error *e);

#endif
