/* api.h - declarations shared by the files of the public library: the handle, error reporting,
 * workflow sources and JSON fields. */
#ifndef API_API_H
#define API_API_H

#include "base/buf.h"
#include "base/json.h"
#include "core/workflow/model.h"
#include "parse/config/config.h"
#include "parse/diagnostics.h"
#include "pawl.h"
#include "store/driver/url.h"
#include "store/query/query.h"

struct pawl {
    struct store *store;
    struct env env;
    struct config *config;
};

/* Reads the configuration from `path`, else from $PAWL_CONFIG, else from the default locations of
 * config_load. The error message lists all problems of the file, as far as they fit. */
MUST_USE int api_config(const char *path, struct config **out, struct err *err);
/* Appends the value of a secret, from the environment or from the secrets_file of `executor`
 * (a struct config_executor). */
int api_secret(void *executor, const char *name, struct buf *out, struct err *err);

/* Converts a job to a submission of the store. Its texts belong to the job, the handle or the
 * arena. */
MUST_USE int api_submission(const struct pawl *p, const struct pawl_job *job, struct arena *arena,
                            struct submission *out, struct err *err);
/* Like api_submission, but the caller has already read the definition that job->applied names;
 * `applied` is its text, NULL if job->applied is NULL. */
MUST_USE int api_submission_of(const struct pawl *p, const struct pawl_job *job,
                               const char *applied, struct arena *arena, struct submission *out,
                               struct err *err);
/* Where a workflow comes from: the first field that is not NULL counts. */
struct api_source {
    const char *file;
    const char *yaml;            /* the text of a file; nests other files by absolute paths only */
    struct pawl_workflow *built; /* build.c */
    const char *text;            /* canonical JSON (core/workflow/model.h) */
};
/* Both read a workflow from a file, a YAML text or a builder, with all workflows that it nests,
 * into the arena. api_parse_workflow adds its errors to `diagnostics`; api_load_workflow puts them
 * into the error message, as far as they fit. */
MUST_USE int api_parse_workflow(const struct api_source *from, struct diagnostics *diagnostics,
                                struct arena *arena, const struct workflow **out, struct err *err);
MUST_USE int api_load_workflow(const struct api_source *from, struct arena *arena,
                               const struct workflow **out, struct err *err);
/* Adds the errors of a built workflow's values that could not be written into its text. */
void api_built_problems(const struct pawl_workflow *w, const struct source *source,
                        struct diagnostics *diagnostics);
void api_describe(const struct workflow *w, struct pawl_definition *out);

/* The lane of a command that names no executor, by the routes of the configuration; NULL if `name`
 * is NULL. */
const char *api_route(const struct config *c, const char *name, bool container,
                      struct arena *arena);
/* Gives the store the settings that it needs to advance workflows. The configuration must outlive
 * the store. */
void api_set_workflow_options(struct store *s, struct config *c);

/* The state folder: as given, else $PAWL_STATE (a command that a task starts uses the folder of
 * the task's worker), else as configured. E_INVALID if none of them is set. */
MUST_USE int api_state(const char *given, const struct config *c, const char **out,
                       struct err *err);

/* Copies the error to `out` if rc is not 0 and `out` is not NULL; returns rc, so that a public
 * function can end with `return api_end(…)`. */
int api_end(int rc, const struct err *err, struct pawl_error *out);

/* Makes a turn, and repeats it for the requests whose tree another turn had locked. `body` handles
 * all requests; then `busy(arg)` keeps those that were locked and returns how many are left. */
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

/* Writes an execution without the closing bracket, so that a tree can add its children. */
void json_execution(struct json_writer *w, const struct execution *e,
                    const struct execution_history *past, struct task_names tasks);
/* Writes why the execution waits; due_at is when its delay ends, 0 if unknown. */
void json_waiting(struct json_writer *w, const struct execution *e, int64_t due_at);
void json_event(struct json_writer *w, const struct event_row *e);

void json_field_text(struct json_writer *w, const char *key, const char *text);
void json_field_i64(struct json_writer *w, const char *key, int64_t n);
void json_field_id(struct json_writer *w, const char *key, int64_t id); /* null if 0 */
void json_field_index(struct json_writer *w, int64_t index); /* "task_index"; null if -1 */
void json_field_time(struct json_writer *w, const char *key, int64_t us); /* null if 0 */
void json_field_last_order(struct json_writer *w, const struct last_audit *o);
void json_field_worker(struct json_writer *w, const char *key, int64_t id);    /* 16 hex digits */
void json_field_raw(struct json_writer *w, const char *key, const char *json); /* on one line */
/* Writes "executor": the lane up to the colon, such as "function" for "function:mail". */
void json_field_executor(struct json_writer *w, const char *lane);

/* queues_workers.c */
void json_queue(struct json_writer *w, const struct queue_row *q, int64_t now);
void json_worker(struct json_writer *w, const struct worker_row *r, int64_t now);
/* Every foreground run has its own queue, here:ROOT. Merges them into one row named "here". */
void queues_fold_foreground(struct queue_list *l);
/* Whether the worker has not been seen for 30 s, the default lease. Workers heartbeat three times
 * in that time. */
bool worker_is_silent(const struct worker_row *r, int64_t now);

/* submit.c: makes `s` the submission of a workflow; `params` override those in s->input. */
MUST_USE int api_workflow(const struct api_source *from, const char *const *params,
                          struct submission *s, struct arena *arena, struct err *err);
MUST_USE int api_submit_one(struct pawl *p, struct submission *s, struct err *err);

/* control.c: user@host of this process, for the history. The caller frees it. */
char *api_user(void);
MUST_USE int api_check_who(const char *by, const char *reason, struct err *err);

#endif
