/* api.h - what the files of the public library share: the handle, and how an error gets out. */
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

/* Reads the configuration: `path`, else $PAWL_CONFIG, else where config_load looks. All that is
 * wrong with it is in the sentence, as far as it fits. */
MUST_USE int api_config(const char *path, struct config **out, struct err *err);
/* The value of a secret, from the environment or the file of an executor (a struct
 * config_executor). */
int api_secret(void *executor, const char *name, struct buf *out, struct err *err);

/* A job as the store takes it. Its texts are those of the job and the handle. */
MUST_USE int api_submission(const struct pawl *p, const struct pawl_job *job, struct arena *arena,
                            struct submission *out, struct err *err);
/* The same, where the text of what job->applied means is at hand; NULL: it is none. */
MUST_USE int api_submission_of(const struct pawl *p, const struct pawl_job *job,
                               const char *applied, struct arena *arena, struct submission *out,
                               struct err *err);
/* Where a workflow comes from: the first that is there. */
struct api_source {
    const char *file;
    const char *yaml;            /* what would be in it; nests only by absolute paths */
    struct pawl_workflow *built; /* build.c */
    const char *text;            /* canonical (core/workflow/model.h) */
};
/* A file, a YAML text or one that was built, with all that it nests, in the arena. What is wrong
 * with it is in the problems; or in the sentence, as far as it fits. */
MUST_USE int api_parse_workflow(const struct api_source *from, struct diagnostics *diagnostics,
                                struct arena *arena, const struct workflow **out, struct err *err);
MUST_USE int api_load_workflow(const struct api_source *from, struct arena *arena,
                               const struct workflow **out, struct err *err);
/* Adds what could not even be written into the text of one that was built. */
void api_built_problems(const struct pawl_workflow *w, const struct source *source,
                        struct diagnostics *diagnostics);
void api_describe(const struct workflow *w, struct pawl_definition *out);

/* The executor of a command that names none, by the rules of the configuration. */
const char *api_route(const struct config *c, const char *name, bool container,
                      struct arena *arena);
/* What the store needs of the configuration to advance workflows; both live as long as it. */
void api_set_workflow_options(struct store *s, struct config *c);

/* Where the state is: as given, else $PAWL_STATE (what a task starts belongs into the folder of its
 * worker), else as configured. E_INVALID: nobody says it. */
MUST_USE int api_state(const char *given, const struct config *c, const char **out,
                       struct err *err);

/* Hands the sentence to the caller, if he wants it; returns rc, so that `return api_end(…)` ends a
 * function with whatever happened. */
int api_end(int rc, const struct err *err, struct pawl_error *out);

/* A turn in which some of n may find their tree locked by others: `body` does them all, then
 * `busy(arg)` keeps those that were locked, and says how many are left to be done again. */
MUST_USE int api_turns(struct pawl *p, int (*body)(struct turn *, void *, struct err *),
                       size_t (*busy)(void *), void *arg, struct err *err);

struct moment;
MUST_USE int api_moment(const struct pawl_moment *at, struct moment *out, struct err *err);

/* ---- JSON ---- */

/* The tasks of a workflow that were begun, in the order of its file. */
struct task_names {
    const struct task_name *at;
    size_t n;
};

/* An execution without the closing bracket, so that a tree can add its children. */
void json_execution(struct json_writer *w, const struct execution *e,
                    const struct execution_history *past, struct task_names tasks);
/* Why it waits; due_at: when a delay ends. */
void json_waiting(struct json_writer *w, const struct execution *e, int64_t due_at);
void json_event(struct json_writer *w, const struct event_row *e);

void json_field_text(struct json_writer *w, const char *key, const char *text);
void json_field_i64(struct json_writer *w, const char *key, int64_t n);
void json_field_id(struct json_writer *w, const char *key, int64_t id); /* 0: null */
void json_field_index(struct json_writer *w, int64_t index);            /* "task_index"; -1: null */
void json_field_time(struct json_writer *w, const char *key, int64_t us);      /* 0: null */
void json_field_last_order(struct json_writer *w, const struct last_audit *o); /* last_audit */
void json_field_worker(struct json_writer *w, const char *key, int64_t id);    /* 16 hex digits */
void json_field_raw(struct json_writer *w, const char *key, const char *json); /* on one line */
/* "executor": the lane's first word, "function" of "function:mail". */
void json_field_executor(struct json_writer *w, const char *lane);

/* queues_workers.c */
void json_queue(struct json_writer *w, const struct queue_row *q, int64_t now);
void json_worker(struct json_writer *w, const struct worker_row *r, int64_t now);
/* Each run by itself has a queue of its own, here:ROOT: puts them together as one. */
void queues_fold_foreground(struct queue_list *l);
/* Workers show themselves three times in a usual lease. */
bool worker_is_silent(const struct worker_row *r, int64_t now);

/* submit.c: a workflow, with params on top of those in s->input. */
MUST_USE int api_workflow(const struct api_source *from, const char *const *params,
                          struct submission *s, struct arena *arena, struct err *err);
MUST_USE int api_submit_one(struct pawl *p, struct submission *s, struct err *err);

/* control.c: user@host of this process, for the history; the caller frees it. */
char *api_user(void);
MUST_USE int api_check_who(const char *by, const char *reason, struct err *err);

#endif
