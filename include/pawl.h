/* pawl.h - Pawl, a durable workflow and job engine, as a library. This is the only installed
 * header.
 *
 *     struct pawl_error e;
 *     struct pawl *p;
 *     struct pawl_job job = {.name = "exec::hello", .lane = "function:hello", .input = "[1]"};
 *
 *     if (pawl_open(&(struct pawl_options){.url = "sqlite:jobs.db"}, &p, &e) ||
 *         pawl_submit(p, &job, 1, &e))
 *         fprintf(stderr, "%s\n", e.message);
 *
 * Errors: functions return 0 on success, or the negative of an enum pawl_code. On failure the error
 * (which may be NULL if the caller does not need it) holds a sentence for people, and nothing was
 * changed unless the function's comment says otherwise. Output parameters are set only on success.
 *
 * Conventions: a change is durable when the function that made it returns 0. Initialize structures
 * with zeros: a field that is 0 or NULL has its default. Strings are UTF-8. Times are µs since
 * 1970, durations are µs. "The caller frees" means free(3).
 *
 * Threads: a handle and everything made from it may be used by one thread at a time; a process may
 * open several handles. The library prints nothing and has no global state. Its own threads
 * (functions, and on PostgreSQL heartbeats and wake-ups) block all signals and end with the object
 * they belong to. If memory runs out, the library ends the process.
 *
 * JSON has the same form here and on the command line; its fields are listed under "reading" below.
 * JSON passed to the library may nest lists and objects at most 64 levels deep. A key that occurs
 * twice in one object and an integer of more than 64 bits are refused.
 *
 * The parts, in this order:
 *
 *     versions and errors                   codes, and sentences for people
 *     open and close                        a database, its schema, its tenants
 *     submit                                jobs and workflows; idempotency keys
 *     commands                              how a job's command is run
 *     transactions of the embedder          your tables and your submissions, in one
 *     definitions                           workflow files: validate and draw them
 *     workflows built in C                  build a definition by calls instead of a file
 *     functions                             jobs that are C functions; plugins
 *     engines                               a worker: its own loop, or steps in your loop
 *     custom executors                      other ways to run a job
 *     custom workers                        your own loop of claim, heartbeat and settle
 *     listeners                             a descriptor that is readable after a change
 *     operator actions                      cancel, pause, skip, approve, rerun; queues
 *     applied workflows and schedules       workflows by name; cron
 *     settings that all workers share       retention, routes
 *     access tokens                         who may do what through a server
 *     reading                               trees, lists, logs, why, events; pawl_wait; pawl_bulk
 *     maintenance                           verify, and remove old executions */
#ifndef PAWL_H
#define PAWL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions and errors ---- */

#define PAWL_VERSION "0.1.0"
#define PAWL_API     __attribute__((visibility("default")))
#define PAWL_CHECKED PAWL_API __attribute__((warn_unused_result))

enum pawl_code {
    PAWL_E_INTERNAL = 1, /* a bug, or a broken invariant */
    PAWL_E_INVALID,      /* an argument or definition is wrong, or the state does not allow it */
    PAWL_E_CONFLICT,     /* the key or name is used by another job or token; a constraint failed, or
                            if_match does not hold */
    PAWL_E_NOT_FOUND,    /* no such execution, tenant, … */
    PAWL_E_UNAVAILABLE,  /* the database can't be used: down, access denied, not a Pawl database */
    PAWL_E_NO_SPACE,     /* the disk is full; nothing was written */
    PAWL_E_SCHEMA,       /* the database has no schema, or one newer than this library */
    PAWL_E_REFUSED,      /* a limit is reached, or nothing can be started now */
    PAWL_E_LEASE_LOST,   /* another worker may own this attempt by now: do not touch its work */
    PAWL_E_BUSY,         /* locked by another connection for too long */
    PAWL_E_REDO,         /* internal, like the next one: retried by the library */
    PAWL_E_CONN_LOST,
    PAWL_E_COMMIT_UNKNOWN, /* COMMIT was not acknowledged: the change may or may not be stored */
    PAWL_E_VIOLATION,      /* verify found a broken invariant */
};

/* The kind of thing that is missing, in the cases where the program may be able to supply it. */
enum pawl_missing {
    PAWL_MISSING_EXECUTION = 1, /* no execution has this id */
    PAWL_MISSING_PARAM,         /* the workflow requires a value for this param */
};

struct pawl_error {
    int code; /* enum pawl_code */
    char message[1024];
    int missing;    /* enum pawl_missing; 0 if none of these */
    char name[104]; /* the id or param that is missing */
};

PAWL_API const char *pawl_version(void); /* version of the library in use, not of this header */

/* The exit code of the command line for an error code: 2 wrong usage, 5 not found, 6 database
 * not usable, … */
PAWL_API int pawl_exit_code(int code);

/* ---- open and close ---- */

struct pawl;

struct pawl_options {
    const char *url;    /* sqlite:FILE or postgres://USER@HOST/DATABASE; NULL: pawl_default_url */
    const char *tenant; /* NULL: $PAWL_TENANT if $PAWL_DB is set, else as configured, else the
                           default one */
    const char *config; /* path of pawl.yaml; NULL: $PAWL_CONFIG, else ./pawl.yaml (see pawl_trust)
                           or the user's if one exists */
    bool must_exist;    /* for readers: do not create or upgrade the database */
    /* How long to retry while the database is unreachable, and how long pawl_open waits for a
     * PostgreSQL server that accepts no connections at the moment; 0: 30 s */
    int64_t patience;

    /* trace: each statement with its duration and row count. note: sentences for an operator,
     * such as a lost connection. NULL: silent. Both get arg. */
    void (*trace)(void *arg, const char *statement, int64_t took, long rows);
    void (*note)(void *arg, const char *sentence);
    void *arg;

    /* On PostgreSQL, wake-ups for other processes are sent with the next call, or by pawl_close,
     * instead of by a thread with a second connection: for a program that changes little. */
    bool one_connection;
    /* Called, with arg, while pawl_open waits for a connection. Return true to stop waiting. NULL:
     * wait for `patience`. */
    bool (*give_up)(void *arg);
};

/* Sets *url to $PAWL_DB, else the configured database, else a file in $XDG_STATE_HOME or
 * ~/.local/state. The caller frees it. */
PAWL_CHECKED int pawl_default_url(char **url, struct pawl_error *err);

/* A pawl.yaml that others can change is refused. One that is found in the current folder may set
 * the keys that decide what runs (the database, the state folder, plugins, programs, images) only
 * if the user trusts it: pawl_trust stores that with the path and the hash of the content, so trust
 * ends when the file changes. pawl_distrust ends it, and fails with PAWL_E_NOT_FOUND if there was
 * none. A path of NULL means ./pawl.yaml. *file is the absolute path; the caller frees it. */
PAWL_CHECKED int pawl_trust(const char *path, char **file, struct pawl_error *err);
PAWL_CHECKED int pawl_distrust(const char *path, char **file, struct pawl_error *err);

/* Opens a database. Unless must_exist is set, creates it or upgrades its schema if needed. */
PAWL_CHECKED int pawl_open(const struct pawl_options *options, struct pawl **out,
                           struct pawl_error *err);
/* Close everything made from the handle first. NULL is ignored. */
PAWL_API void pawl_close(struct pawl *p);

/* For a program that reads for a long time, such as a monitor, and should leave the connections of
 * a PostgreSQL server to workers and submitters: call it before each read. If few of the server's
 * connections are free, it closes the handle's connection and returns for how many milliseconds the
 * program should not use the handle; then call it again. 0: continue. Listeners of the handle
 * receive nothing meanwhile. The server is asked at most every 5 s. Always 0 on SQLite and behind a
 * pooler. */
PAWL_API int pawl_yield(struct pawl *p);

/* The URL of the database, without its password. */
PAWL_API const char *pawl_url(const struct pawl *p);

/* Creates the database or upgrades its schema. *version (may be NULL) is the resulting schema
 * version. */
PAWL_CHECKED int pawl_migrate(const struct pawl_options *options, int *version,
                              struct pawl_error *err);

/* Tenants are isolated from each other: a schema and role on PostgreSQL, a file on SQLite. Names
 * match [a-z][a-z0-9_]{0,40}. options.tenant is ignored. Dropping a tenant deletes all of its
 * data. */
PAWL_CHECKED int pawl_tenant_create(const struct pawl_options *options, const char *name,
                                    struct pawl_error *err);
PAWL_CHECKED int pawl_tenant_drop(const struct pawl_options *options, const char *name,
                                  struct pawl_error *err);
PAWL_CHECKED int pawl_tenant_list(const struct pawl_options *options,
                                  void (*each)(void *arg, const char *name), void *arg,
                                  struct pawl_error *err);

/* ---- submit ---- */

/* A job: one execution of kind exec, which a worker that serves its lane and queue claims. */
struct pawl_job {
    const char *name;  /* required; conventionally exec::NAME; at most 200 bytes */
    const char *queue; /* NULL: "default" */
    const char *lane;  /* what a worker must offer: an executor's key, or "function:NAME"; NULL: as
                          the routes of the database say for this name */
    const char *input; /* JSON of any type, at most 1 MB; NULL if none */
    /* To run a workflow instead of a command, set one of the next four, and leave the other three
     * NULL. Then name, lane and spec are ignored, and input is an object with the workflow's
     * params, which is refused if they do not fit. */
    const char *workflow; /* a file */
    const char *yaml;    /* the workflow as YAML text; paths of nested workflows must be absolute */
    const char *applied; /* the name of an applied workflow */
    struct pawl_workflow *built; /* built in C, or read with pawl_workflow_load */
    const char *const *params; /* NAME=VALUE, converted to the params' types, in addition to input;
                                  ends with NULL; NULL if none */
    const char *spec;          /* how it is run: see pawl_command_spec; NULL for a function */
    const char *key; /* idempotency key: another submission with it returns the first execution;
                        NULL if none */
    const char *concurrency; /* concurrency key: at most concurrency_max jobs with it are claimable
                                or running at a time; NULL: no limit */
    int concurrency_max;     /* stored when the key is first used; 0: 1 */
    int priority;            /* higher is claimed first */
    int max_attempts;        /* 0: 1 */
    int64_t delay;           /* wait at least this long before it may be claimed */
    int64_t parent;   /* an execution that has not ended; 0: the job is the root of a new tree */
    const char *by;   /* the requesting user, for the history; NULL: user@host of this process */
    bool refuse;      /* fail with PAWL_E_REFUSED instead of waiting if a limit is reached */
    bool shares_slot; /* the calling job waits for this job and lends it its slot, so this job does
                         not count against queue.cap. An engine that runs this job should have one
                         slot */

    int64_t id;   /* out */
    bool existed; /* out: id is that of an earlier execution with the same key */
};

/* Stores all jobs or, on error, none. */
PAWL_CHECKED int pawl_submit(struct pawl *p, struct pawl_job *jobs, size_t n,
                             struct pawl_error *err);

/* ---- commands ---- */

/* A command, for an executor that runs commands. */
struct pawl_command {
    const char *run;            /* a shell script; NULL: use argv */
    const char *const *shell;   /* the program that runs it, with options: the key `shell`; NULL:
                                   /bin/sh -c */
    const char *const *argv;    /* ends with NULL */
    const char *cwd;            /* absolute path; NULL: a folder made for the attempt */
    const char *input;          /* its standard input; NULL if none */
    const char *user;           /* name or number; NULL: the worker's user */
    const char *const *env;     /* NAME=VALUE, ends with NULL; NULL if none */
    const char *const *secrets; /* names; resolved and masked by the worker; ends with NULL */
    const char *const *outputs; /* names allowed in $PAWL_OUTPUT; ends with NULL; NULL: any */
    int64_t timeout;            /* per attempt; 0: as configured, else none */
    int64_t grace;              /* from SIGTERM to SIGKILL; 0: 10 s */
    int64_t memory, cpu;        /* bytes, µs of processor time; 0: no limit */
    int files, pids;
    const char *const *input_files; /* NAME=VALUE, ends with NULL: each value is written to a file,
                                       and the environment variable NAME is its path; NULL if
                                       none */
};
/* The delays between attempts; their number is pawl_job.max_attempts. */
struct pawl_retry {
    int64_t delay;     /* before the second attempt; 0: as configured, else 1 s */
    double backoff;    /* 0: as configured, else 2 */
    int64_t max_delay; /* 0: as configured, else 5 min */
    double jitter;     /* 0..1; 0: as configured, else 0.1; < 0: none */
    const int *codes;  /* retry only on these exit codes; NULL: as configured, else on all */
    size_t ncodes;
};
/* Makes the JSON for pawl_job.spec. command is NULL for a function; retry may be NULL. The
 * caller frees *spec. */
PAWL_CHECKED int pawl_command_spec(struct pawl *p, const struct pawl_command *command,
                                   const struct pawl_retry *retry, char **spec,
                                   struct pawl_error *err);
/* The configured total number of attempts for a job: 1 or more. */
PAWL_API int pawl_default_attempts(struct pawl *p);
/* Whether the configuration queues jobs for workers. If not (queue.enabled is false), a process
 * should run the jobs that it submits itself, at once, on an engine opened with `here`. At most
 * queue.cap jobs may then be claimable or running, in all processes of the database together. When
 * that many are, every function that submits a single job fails with PAWL_E_REFUSED; tasks of
 * workflows wait instead. */
PAWL_API bool pawl_has_queue(const struct pawl *p);

/* ---- transactions of the embedder ---- */

/* On SQLite a program may keep its own tables in Pawl's file and change them in one transaction
 * with its submissions: either all of it is stored or nothing. It does so through the library,
 * under the library's lock. A separate connection of the program may read the file but should not
 * write to it. (On PostgreSQL a program submits with SQL in its own transactions: SELECT
 * pawl_submit(…), see docs/SCHEMA.md.)
 *
 *     static int pay(struct pawl_tx *tx, void *arg)
 *     {
 *         struct pawl_value id = {.type = PAWL_INT, .i = 17};
 *         struct pawl_statement s = {.sql = "UPDATE bills SET paid = 1 WHERE id = ?1",
 *                                    .params = &id, .nparams = 1};
 *         struct pawl_job job = {.applied = "ship", .input = "{\"bill\": 17}"};
 *         int rc = pawl_tx_run(tx, &s, arg);
 *
 *         return rc ? rc : pawl_tx_submit(tx, &job, 1, arg);
 *     }
 *     …  pawl_transaction(p, pay, &e, &e) */
struct pawl_tx;

/* Returns 0 to commit. Any other value rolls back: the error of a call that failed, or a
 * positive number of the caller's choice. The body may be called again from its start if the
 * commit failed in a way that can be retried, so it should depend only on its argument. Every
 * other writer of the database waits meanwhile, so keep it short. The body must not use the
 * handle or an engine. */
typedef int pawl_tx_body(struct pawl_tx *tx, void *arg);

/* Runs the body in a transaction. Returns 0 when it is committed, the body's return value if
 * that is positive, else an error. PAWL_E_INVALID on PostgreSQL. */
PAWL_CHECKED int pawl_transaction(struct pawl *p, pawl_tx_body *body, void *arg,
                                  struct pawl_error *err);

enum pawl_type { PAWL_NULL, PAWL_INT, PAWL_REAL, PAWL_TEXT, PAWL_BLOB };

struct pawl_value {
    int type; /* enum pawl_type */
    int64_t i;
    double d;
    const char *s; /* PAWL_TEXT and PAWL_BLOB */
    size_t len;    /* bytes of s; 0 for a text parameter means: up to its NUL */
};

/* Called with one row; the values are valid until it returns. A nonzero return value stops
 * reading. */
typedef int pawl_row(void *arg, const struct pawl_value *cells, size_t n);

struct pawl_statement {
    const char *sql; /* one statement; ?1, ?2, … are its parameters */
    const struct pawl_value *params;
    size_t nparams;
    pawl_row *row; /* called for each returned row; NULL: discard them */
    void *arg;

    int64_t changed; /* out: number of rows inserted, updated or deleted */
};

/* Runs a statement on the program's own tables. Pawl's tables may be read (through the views of
 * docs/SCHEMA.md) but not changed, nor given indexes, triggers or foreign keys; names that start
 * with pawl_ are reserved. BEGIN, COMMIT and PRAGMA are refused. PAWL_E_CONFLICT: a constraint on
 * your tables failed. After this error and after PAWL_E_INVALID the body may continue. */
PAWL_CHECKED int pawl_tx_run(struct pawl_tx *tx, struct pawl_statement *s, struct pawl_error *err);

/* Like pawl_submit. The executions can be read once the transaction is committed. After an error
 * the transaction can only be rolled back. */
PAWL_CHECKED int pawl_tx_submit(struct pawl_tx *tx, struct pawl_job *jobs, size_t n,
                                struct pawl_error *err);

/* ---- definitions ---- */

/* Workflow files; see docs/WORKFLOWS.md. Functions without a handle need no database. */

struct pawl_problem {
    const char *file;
    unsigned line, column; /* from 1; columns count characters */
    const char *message;   /* one sentence */
    const char *shown;     /* the source line and a caret line, each with a newline */
};
typedef void pawl_problem_fn(void *arg, const struct pawl_problem *problem);

struct pawl_definition {
    char name[101];
    char hash[33]; /* the same for equal definitions in the same folder */
    size_t tasks, nested, schedules;
    size_t executors; /* tasks, at any depth, that name an executor that is not built in: see
                         pawl_check_executors */
};

/* Checks whether a workflow file can run, including the workflows nested in it. On
 * PAWL_E_INVALID `each` (may be NULL) was called for each problem, ordered by file and line, at
 * most 50 times. out may be NULL. */
PAWL_CHECKED int pawl_validate(const char *file, pawl_problem_fn *each, void *arg,
                               struct pawl_definition *out, struct pawl_error *err);
/* Draws the graph of a workflow file. Formats: ascii (NULL), dot, mermaid, svg (a picture that
 * needs nothing outside of it), or json (the same picture as coordinates: "a graph" under
 * "reading"). In ascii, lines have at most `width` columns (0: 80). In svg and json a fan-out is
 * one box; beyond 300 tasks those with the same needs and followers share a box. The caller frees
 * *text. */
PAWL_CHECKED int pawl_graph(const char *file, const char *format, int width, char **text,
                            struct pawl_error *err);
/* Draws the graph of a workflow execution, from the definition stored with it, with the status of
 * the execution and of each of its tasks; in svg and json also with durations and counted items. */
PAWL_CHECKED int pawl_graph_of(struct pawl *p, int64_t id, const char *format, int width,
                               char **text, struct pawl_error *err);
/* The JSON Schema (draft-07) of workflow files. The caller frees it. */
PAWL_API char *pawl_schema(void);

/* ---- workflows built in C ---- */

/* A workflow can be built by calls instead of written as a file. Each key of a file
 * (docs/WORKFLOWS.md explains them) is a field here; a field that is 0 is left out.
 *
 *     struct pawl_workflow *w = pawl_workflow_new(
 *         &(struct pawl_workflow_keys){.name = "report", .timeout = 3600 * 1000000LL});
 *
 *     pawl_workflow_param(w, "day", &(struct pawl_param_keys){.type = "string", .required = true});
 *     pawl_workflow_task(w, "sum", &(struct pawl_task_keys){.function = "sum", .retries = 2});
 *     pawl_workflow_task(w, "mail", &(struct pawl_task_keys){.needs = PAWL_LIST("sum"),
 *                                                            .run = "mail-report \"$day\""});
 *     job.built = w;  …  pawl_submit(p, &job, 1, &e)  …  pawl_workflow_free(w);
 *
 * Strings are copied. Building never fails: the function that uses the workflow reports all of its
 * problems at once, as for a file; their lines and columns refer to pawl_workflow_text. A built
 * workflow has no folder: commands without cwd run in a folder made for the attempt, and paths must
 * be absolute. It belongs to no handle, may be used by one thread at a time, and may be used any
 * number of times. */
struct pawl_workflow;

/* A list of strings: PAWL_LIST("a", "b"). It lives until the end of the enclosing block; after an
 * `if` without braces that is the statement. In C++ such a list would not outlive its expression:
 * define an array instead. */
#ifndef __cplusplus
#define PAWL_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#endif

/* In these structures a list of strings ends with NULL. A field marked "JSON" is the text of a JSON
 * value, whose strings may contain ${{ }} wherever a workflow file allows it. The items of `env`
 * are NAME=VALUE. */

struct pawl_container_keys {
    const char *image, *pull, *network;
    const char *const *volumes, *const *options;
};

struct pawl_approval_keys {
    const char *message;
    int64_t timeout;
};

/* A task; also used for on_failure, on_exit and defaults. */
struct pawl_task_keys {
    const char *run; /* exactly one of run, argv, function and workflow; or only `executor`, the key
                        of a custom executor, which gets `with` as its input */
    const char *const *shell;
    const char *const *argv;
    const char *function;
    const char *workflow;

    const char *description;
    const char *const *needs;
    const char *condition; /* the key `if` */
    int join;              /* 0: all, 1: any */
    const char *foreach;   /* JSON: a list or a number; or one ${{ expression }} */
    int max_parallel;
    bool fail_fast, allow_failure;
    const char *with; /* JSON: an object */
    const char *const *env;
    const char *const *input_files; /* the key `files`; items like those of env */
    const char *cwd;
    const char *input; /* the key `stdin` */
    const char *user;
    int64_t memory, cpu; /* the key `limits` */
    int files, pids;
    const struct pawl_container_keys *container;
    const char *const *secrets;
    int retries;             /* the key `retry.max`; negative: none */
    struct pawl_retry retry; /* the rest of the key `retry` */
    int64_t timeout;
    const char *queue;
    bool has_priority; /* use priority even if it is 0 */
    int priority;
    const char *executor;
    const char *concurrency; /* the key `concurrency`: its key and max */
    int concurrency_max;
    int64_t delay;
    const char *const *outputs;
    const struct pawl_approval_keys *approval;
};

struct pawl_param_keys {
    const char *type;
    const char *value; /* JSON: the key `default` */
    bool required;
    const char *description;
};

struct pawl_schedule_keys {
    const char *name, *cron, *tz;
    int64_t catchup; /* negative: last */
    const char *overlap;
    int64_t jitter;
    int64_t start, end;
    const char *with; /* JSON: an object */
};

/* The keys of a file, except params, schedules and tasks. */
struct pawl_workflow_keys {
    const char *name, *description;
    const char *vars; /* JSON: an object */
    const char *const *env;
    int64_t timeout;
    const char *queue;
    int priority;
    const char *const *shell; /* NULL: /bin/sh -e */
    const char *concurrency;  /* the key `concurrency`: its key and max */
    int concurrency_max;
    const char *const *secrets;
    const char *outputs; /* JSON: an object */
    const struct pawl_task_keys *defaults, *on_failure, *on_exit;
};

/* Creates a workflow without params, schedules and tasks. Free it with pawl_workflow_free. */
PAWL_API struct pawl_workflow *pawl_workflow_new(const struct pawl_workflow_keys *keys);
PAWL_API void pawl_workflow_free(struct pawl_workflow *w); /* NULL is ignored */
/* These add a param, a schedule (which takes effect when the workflow is applied), or a task. */
PAWL_API void pawl_workflow_param(struct pawl_workflow *w, const char *name,
                                  const struct pawl_param_keys *keys);
PAWL_API void pawl_workflow_schedule(struct pawl_workflow *w,
                                     const struct pawl_schedule_keys *keys);
PAWL_API void pawl_workflow_task(struct pawl_workflow *w, const char *name,
                                 const struct pawl_task_keys *keys);
/* The workflow as the text of a file, with each key, param, schedule and task on its own line.
 * Valid until the workflow is changed, used or freed. NULL if it was loaded from a file. */
PAWL_API const char *pawl_workflow_text(struct pawl_workflow *w);
/* Like pawl_validate. */
PAWL_CHECKED int pawl_workflow_check(struct pawl_workflow *w, pawl_problem_fn *each, void *arg,
                                     struct pawl_definition *out, struct pawl_error *err);
/* Reads a workflow file as pawl_validate does, and keeps it: job.built and pawl_apply_built use it
 * any number of times without reading and checking the file again. Nothing can be added to it.
 * Free it with pawl_workflow_free. */
PAWL_CHECKED int pawl_workflow_load(const char *file, pawl_problem_fn *each, void *arg,
                                    struct pawl_workflow **out, struct pawl_error *err);

/* ---- functions ---- */

struct pawl_call;

/* Operations for a running function, to be called only on the thread that runs it. */
struct pawl_call_ops {
    /* Whether the function should return soon: it was cancelled, its deadline passed, its lease is
     * lost, or the worker is stopping. */
    bool (*cancelled)(const struct pawl_call *c);
    int64_t (*remaining)(const struct pawl_call *c); /* µs until the deadline; INT64_MAX if none */
    /* Sets one output, or the whole result, as JSON. A value that can't be stored fails the
     * attempt. */
    int (*set_output)(struct pawl_call *c, const char *key, const char *json);
    int (*set_result)(struct pawl_call *c, const char *json);
    void (*log)(struct pawl_call *c, const char *text); /* adds a newline if missing */
    /* Marks the attempt as failed with this message; the function's return value is the exit
     * code (0 becomes 1). */
    void (*fail)(struct pawl_call *c, const char *message);
    /* If the function returns 0 after this, the job is not done and runs again after `delay` µs. */
    void (*defer)(struct pawl_call *c, int64_t delay);
};

/* A job, as passed to its function. */
struct pawl_call {
    const struct pawl_call_ops *ops;
    const char *name;  /* the job's full name */
    const char *input; /* JSON; NULL if none */
    int64_t execution, root;
    int attempt, max_attempts;
};

/* Runs a job. Returns 0 if it succeeded; any other value is the exit code of a failure. Called
 * on a thread of the engine. */
typedef int pawl_function(struct pawl_call *c, void *arg);

/* A plugin is a shared object with
 *     const int pawl_plugin_abi = PAWL_PLUGIN_ABI;
 *     int pawl_plugin_init(const struct pawl_plugin_host *host) { return host->add(host, …); }
 * It brings functions, and custom executors (see below), to every engine that loads it. It need not
 * be linked with the library: it calls the engine through the pointers that it is given. If
 * pawl_plugin_init does not return 0, nothing of the plugin is added. Version 1 of the interface
 * had no executors; its plugins are still loaded. */
#define PAWL_PLUGIN_ABI 2
struct pawl_executor;
struct pawl_report_ops;
struct pawl_plugin_host {
    int abi; /* the version that the plugin was built for */
    int (*add)(const struct pawl_plugin_host *host, const char *name, pawl_function *fn, void *arg);
    void *data;
    /* From version 2 on. Like pawl_engine_add_executor: on error `free` is not called; after
     * success it is called once, even if the plugin is not loaded. */
    int (*add_executor)(const struct pawl_plugin_host *host, const struct pawl_executor *x);
    const struct pawl_report_ops *report; /* valid as long as the plugin is loaded */
};

/* ---- engines ---- */

struct pawl_engine;

struct pawl_engine_options {
    const char *const *queues;  /* ends with NULL; NULL: as configured, else "default" */
    const char *const *plugins; /* besides the configured ones; ends with NULL; NULL if none */
    const char *state;          /* the state folder; NULL: as configured, else the user's default */
    int slots; /* attempts at a time, across all executors; 0: as configured, else the number of
                  processors */
    /* Concurrent transactions, each on its own connection and thread; 0: as configured, else 1.
     * More than one is refused on SQLite. Ignored with `here`, which uses one. */
    int loops;
    bool here;    /* foreground: run only jobs given to pawl_engine_submit */
    int64_t tree; /* with `here`: resume this tree, which ran with `here` before and was rerun */

    /* Called by any thread of the engine while a step waits for an unreachable database. Return
     * true to stop waiting, so that a requested stop takes effect. NULL: keep waiting. */
    bool (*give_up)(void *arg);
    void *arg;
};

/* Opens a worker on the handle's database. It works inside pawl_engine_step, on the caller's
 * thread, and uses the handle's connection. It has one more for each loop if there are several, and
 * on PostgreSQL one for heartbeats and wake-ups. While the server accepts no connections it waits,
 * until give_up returns true; with `here` at most 30 s. */
PAWL_CHECKED int pawl_engine_open(struct pawl *p, const struct pawl_engine_options *options,
                                  struct pawl_engine **out, struct pawl_error *err);
/* Commands under a shim keep running, and the next worker adopts them; functions are asked to
 * stop. */
PAWL_API void pawl_engine_close(struct pawl_engine *e); /* NULL is ignored */
PAWL_API int64_t pawl_engine_worker(const struct pawl_engine *e);
PAWL_API int pawl_engine_slots(const struct pawl_engine *e);

/* Serves the lane function:NAME. Call it before the first step. */
PAWL_CHECKED int pawl_engine_register(struct pawl_engine *e, const char *name, pawl_function *fn,
                                      void *arg, struct pawl_error *err);

/* Sleeps until there is something to do, at most timeout_ms (negative: no limit), and does it.
 * An error means that this engine can't continue. */
PAWL_CHECKED int pawl_engine_step(struct pawl_engine *e, int timeout_ms, struct pawl_error *err);
PAWL_API int pawl_engine_fd(const struct pawl_engine *e); /* when readable, step */
PAWL_API int pawl_engine_timeout_ms(
    const struct pawl_engine *e); /* step after this time at the latest */

/* Submits a job in the engine's next transaction, and runs it if this engine serves it. `done` is
 * called with the job and its id, or with the error.
 *
 * With `here` an engine takes one job, in a queue that no other worker claims from while this
 * engine lives; if the engine dies, a worker with the same state folder takes the job over. If the
 * configuration disables queues, see pawl_has_queue. */
typedef void pawl_submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err);
PAWL_CHECKED int pawl_engine_submit(struct pawl_engine *e, const struct pawl_job *job,
                                    pawl_submitted *done, void *arg, struct pawl_error *err);

/* Called from pawl_engine_step after the engine stored new output of an execution (status is NULL)
 * or the end of an attempt (status is that of the execution after it). */
typedef void pawl_told(void *arg, int64_t execution, const char *status);
PAWL_API void pawl_engine_watch(struct pawl_engine *e, pawl_told *told, void *arg);

/* Stops claiming, and returns jobs that have not started to their queues. Commands under a shim are
 * left to the next worker; functions may finish. With `now` functions are asked to stop. */
PAWL_API void pawl_engine_stop(struct pawl_engine *e, bool now);
PAWL_API bool pawl_engine_idle(const struct pawl_engine *e); /* it has no jobs left */
/* Whether the engine is idle and its queues hold no job that it could run, that another worker
 * runs, or that waits for a delay to end. Paused jobs do not count. SQL submissions that no worker
 * has taken count, except with `here`. */
PAWL_CHECKED int pawl_engine_drained(struct pawl_engine *e, bool *drained, struct pawl_error *err);
PAWL_API int64_t pawl_engine_drain_grace(const struct pawl_engine *e); /* as configured, µs */

/* Warns of tasks that would wait for an executor that is not known: neither the configuration nor a
 * worker in the database has it, and it has run no attempt yet. Call it before you submit the job;
 * the job need not be valid otherwise. Checks the executors that the tasks of its workflow name, at
 * any depth, and those that the routes choose; or the lane of a job that is not a workflow. `each`
 * is called once for each executor, with the first task that needs it; `file` is NULL if there is
 * no task, `shown` is empty. With `e`, an engine opened with `here`, only the executors of that
 * engine count; otherwise e is NULL. */
PAWL_CHECKED int pawl_check_executors(struct pawl *p, struct pawl_engine *e,
                                      const struct pawl_job *job, pawl_problem_fn *each, void *arg,
                                      struct pawl_error *err);

/* ---- custom executors ---- */

/* An executor is a way to run attempts. An engine has executors for functions and for commands, and
 * takes yours in addition: a structure of functions that serves one lane, its key.
 *
 *     start ──> pawl_report_started ──> pawl_report_log … ──> pawl_report_ended
 *
 * An executor has no access to the database: the engine handles leases, retries and history.
 * pawl_engine_step calls the functions of the structure one at a time; they should not block.
 * Reports may be made at any time from any thread, also from within those functions; the next
 * step processes them. docs/EXECUTORS.md has the details. */
struct pawl_reporter;

/* Identifies an attempt. May be copied and kept, and used for reports until `free` returns;
 * reports about an attempt that has ended or was forgotten are ignored. */
struct pawl_attempt {
    struct pawl_reporter *to;
    int64_t execution;
    int attempt; /* from 1 */
};

/* An attempt that the executor is to run. Strings are valid until the function that got it
 * returns. */
struct pawl_task {
    struct pawl_attempt id;
    int64_t root;
    int epoch; /* rises with each claim and adoption */
    int max_attempts;
    const char *name;  /* full name: workflow::task, workflow::task[3], exec::NAME */
    const char *input; /* JSON; NULL if none. For a task without a command: the object `with`, whose
                          values keep their types, and item and index */
    const char *spec;  /* JSON, as submitted with the job */
    struct pawl_command command; /* the parsed spec; may have neither run nor argv */
    int64_t lease_until;         /* CLOCK_BOOTTIME, µs */

    int64_t parent;            /* the execution above it; 0 if it is the root of its tree */
    int64_t workflow;          /* the nearest workflow execution above it; 0 if none */
    const char *workflow_name; /* NULL, like task_name, unless it is a task of a workflow */
    const char *task_name;
    int index;        /* position of an item in its fan-out, from 0; -1 if it is not an item */
    const char *item; /* JSON: the member `item` of input; NULL if it is not an item, or has a
                         command, which has the item in its environment */
    const char *queue;
    const char *tenant; /* NULL for the default tenant */
    int priority;
    int64_t deadline; /* CLOCK_BOOTTIME, µs: when its timeout ends, if it starts now; 0 if none */
};

/* How an attempt ended. */
struct pawl_end {
    int outcome; /* enum pawl_outcome */
    bool has_exit_code;
    int exit_code, signal;
    const char *result; /* with PAWL_OK: JSON, at most 1 MB; NULL if none */
    const char *error;  /* with any other outcome: a sentence */
    int64_t duration;   /* run time, µs; 0: the engine measures it from the report of the start */
    int64_t cpu, peak_memory; /* µs, bytes; 0 if not known */
    int64_t retry_delay; /* with PAWL_DEFERRED and PAWL_REFUSED: wait this long before it may be
                            claimed again */
};

/* Only key and start are required. */
struct pawl_executor {
    const char *key; /* at most 64 letters, digits, _ . - */
    void *data;      /* passed to the functions */
    int slots;       /* attempts at a time; 0: as configured, else the engine's limit */
    /* Whether an attempt keeps running when this process ends, so that another worker can
     * reattach to it. */
    bool outlives_worker;

    /* Starts an attempt. 0: its end will be reported exactly once. -PAWL_E_REFUSED: nothing was
     * started; the job is returned to its queue without counting an attempt, and the engine offers
     * this executor no jobs for a while. Any other error: the attempt failed. The error's sentence
     * goes into the history. */
    int (*start)(void *data, const struct pawl_task *t, struct pawl_error *err);

    /* Reattaches to an attempt of another worker, or of this one under an older epoch; reports
     * follow as after start. Report PAWL_LOST if the attempt does not exist, once nothing of it
     * is left; never start it again. Errors as for start. NULL: an attempt that does not run in
     * this process is lost. Required if outlives_worker is set. */
    int (*find)(void *data, const struct pawl_task *t, struct pawl_error *err);

    /* Ends an attempt; called once, when it is cancelled, its timeout passed, or the engine
     * stops now. Its end is still reported: as PAWL_CANCELLED, or as it was if it ended first
     * (and may have been reported already). NULL: attempts can't be cancelled. */
    void (*cancel)(void *data, struct pawl_attempt a);

    /* The attempt is no longer this worker's: its lease is lost, or the engine stops and leaves
     * it to the next worker. If it outlives the worker, do not touch it any more, since another
     * worker may own it; otherwise stop it. NULL: cancel is called, unless it outlives the
     * worker. */
    void (*forget)(void *data, struct pawl_attempt a);

    /* The lease was renewed until then (CLOCK_BOOTTIME, µs). May be NULL. */
    void (*renewed)(void *data, struct pawl_attempt a, int64_t until);

    /* The end of the attempt is stored: whatever it left behind may be removed. May be NULL. */
    void (*settled)(void *data, struct pawl_attempt a);

    /* How many more attempts the executor can start now, if that depends on more than its slots.
     * Called in every step. May be NULL. */
    int (*capacity)(void *data);

    /* For an executor without threads: a descriptor, and the function to call when it is
     * readable. May be NULL. */
    int (*fd)(void *data);
    void (*poll)(void *data);

    /* The last call, from pawl_engine_close: ends the executor's threads and every attempt that
     * can't run without them. May be NULL. */
    void (*free)(void *data);
};

/* Adds an executor; call it before the first step. The structure and its key are copied. On error
 * `free` is not called. */
PAWL_CHECKED int pawl_engine_add_executor(struct pawl_engine *e, const struct pawl_executor *x,
                                          struct pawl_error *err);

/* The attempt started `ago` µs ago. Without this report, its first output or its end counts as
 * the start. */
PAWL_API void pawl_report_started(struct pawl_attempt a, int64_t ago);
/* More of the attempt's output, in order. The first and last 512 KiB are kept. */
PAWL_API void pawl_report_log(struct pawl_attempt a, const char *bytes, size_t len);
PAWL_API void pawl_report_ended(struct pawl_attempt a, const struct pawl_end *end);

/* The same three functions, for the executors of plugins. */
struct pawl_report_ops {
    void (*started)(struct pawl_attempt a, int64_t ago);
    void (*log)(struct pawl_attempt a, const char *bytes, size_t len);
    void (*ended)(struct pawl_attempt a, const struct pawl_end *end);
};

/* ---- custom workers ---- */

/* A worker claims jobs, runs them, and settles them. It holds each job under a lease that it must
 * renew; a worker that does not is presumed dead, and another worker with the same folder adopts
 * its jobs. Every write by a worker is fenced by the lease's epoch, so that a worker that has lost
 * the lease changes nothing.
 *
 *     claim -> started -> (heartbeat …) -> settle          tick from time to time */
struct pawl_worker;

struct pawl_worker_options {
    const char *const *lanes;  /* the lanes it serves; ends with NULL; NULL: "process" */
    const char *const *queues; /* ends with NULL; NULL: "default" */
    const char *folder; /* workers with the same folder can adopt each other's jobs; NULL: the
                           host's name */
    int64_t lease;      /* 0: 30 s; call pawl_heartbeat at least three times in it */
    int64_t host_grace; /* how long after the end of its lease a job of another folder is left to
                           the workers of that folder; 0: 5 min */
    int slots;          /* how many jobs it runs at once, as shown by `pawl workers`; 0: 1 */
};

/* Registers a worker on the handle, which must outlive it. */
PAWL_CHECKED int pawl_worker_open(struct pawl *p, const struct pawl_worker_options *options,
                                  struct pawl_worker **out, struct pawl_error *err);
/* Deregisters the worker if possible. Leases that it still holds expire. */
PAWL_API void pawl_worker_close(struct pawl_worker *w);
PAWL_API int64_t pawl_worker_id(const struct pawl_worker *w);

/* A job claimed or adopted by a worker. */
struct pawl_claim {
    int64_t execution, root;
    int attempt; /* from 1 */
    int epoch;
    int max_attempts;
    bool adopted; /* another worker started this attempt: reattach to it, or settle it as lost */
    bool cancel_requested;
    const char *name, *queue, *lane, *input; /* valid until the worker's next claim */
};

/* Adopts orphaned jobs and claims ready ones, by priority and age: at most max in all. Never
 * waits. */
PAWL_CHECKED int pawl_claim(struct pawl_worker *w, struct pawl_claim *out, size_t max, size_t *n,
                            struct pawl_error *err);

/* A lease, as its worker knows it. */
struct pawl_lease {
    int64_t execution;
    int epoch;

    bool lost; /* out: another worker may own it by now; drop it, and do not touch its work */
    bool cancel_requested; /* out: stop the work and settle it */
};

/* Renews the leases. */
PAWL_CHECKED int pawl_heartbeat(struct pawl_worker *w, struct pawl_lease *leases, size_t n,
                                struct pawl_error *err);
/* Records in the history that the work started `ago` µs ago. */
PAWL_CHECKED int pawl_started(struct pawl_worker *w, struct pawl_lease *leases, size_t n,
                              int64_t ago, struct pawl_error *err);

enum pawl_outcome {
    PAWL_OK = 1,
    PAWL_FAILED,
    PAWL_TIMED_OUT,
    PAWL_CANCELLED,
    PAWL_LOST,     /* how it ended is unknown; never a success */
    PAWL_DEFERRED, /* run it again after retry_delay; costs no attempt */
    PAWL_REFUSED,  /* returned to its queue before anything started; costs no attempt */
};

struct pawl_settlement {
    struct pawl_lease lease;
    int outcome; /* enum pawl_outcome */
    bool has_exit_code;
    int exit_code, signal;
    const char *result;  /* with PAWL_OK: JSON, at most 1 MB; NULL if none */
    const char *error;   /* with any other outcome: a sentence */
    int64_t duration;    /* run time of the attempt; -1 if not known */
    int64_t retry_delay; /* delay before the next attempt, if any is left; -1: do not retry */

    const char *status; /* out: the job's status now; "ready" if it will be retried */
};

/* Ends attempts. A result that can't be stored becomes a failure with an error that says so.
 * Items whose lease is lost change nothing; the others are durable when this returns. */
PAWL_CHECKED int pawl_settle(struct pawl_worker *w, struct pawl_settlement *list, size_t n,
                             struct pawl_error *err);

/* Maintenance that some worker must do, ideally three times per lease: renews this worker's own
 * row, clears leases that were not renewed, and ends delays that are over. *next_due (may be
 * NULL) is when the next delay ends (0 if none). */
PAWL_CHECKED int pawl_tick(struct pawl_worker *w, int64_t *next_due, struct pawl_error *err);

/* ---- listeners ---- */

struct pawl_listener;

enum pawl_wake {
    PAWL_WAKE_JOBS = 1,   /* a job may be claimable */
    PAWL_WAKE_CANCEL = 2, /* a running job was asked to cancel */
    PAWL_WAKE_EVENTS = 4, /* there are new events */
    PAWL_WAKE_ENDS = 64,  /* an execution has ended */
};

/* Listens for changes made by this process and by others; `what` is a set of enum pawl_wake
 * bits. On PostgreSQL it uses the handle's connection. */
PAWL_CHECKED int pawl_listen(struct pawl *p, unsigned what, struct pawl_listener **out,
                             struct pawl_error *err);
PAWL_API void pawl_listener_close(struct pawl_listener *l); /* NULL is ignored */
/* A descriptor to poll for POLLIN; it may change after each drain, and is -1 if there is none
 * now. Also check for work every pawl_listener_poll_ms milliseconds, because a wake-up may be
 * lost. */
PAWL_API int pawl_listener_fd(const struct pawl_listener *l);
PAWL_API int pawl_listener_poll_ms(const struct pawl_listener *l);
PAWL_API unsigned pawl_listener_drain(
    struct pawl_listener *l); /* the pending wake-ups; never waits */
/* Waits for a wake-up, at most timeout_ms (and never longer than poll_ms), and drains. */
PAWL_API unsigned pawl_listener_wait(struct pawl_listener *l, int timeout_ms);

/* ---- operator actions ---- */

/* `by` is the user recorded in the history; NULL: user@host of this process. `reason` may be
 * NULL. */

struct pawl_cancelled {
    const char *status; /* its status now: cancelled, or running until its worker ends it */
    int64_t left;       /* number of executions in this tree that still run and were asked to end */
};

/* Cancels an execution and its descendants: waiting ones at once, running ones by a request that
 * their worker, or the worker that adopts them, carries out. PAWL_E_INVALID if all of them have
 * ended. After an error some may be cancelled: call it again. */
PAWL_CHECKED int pawl_cancel(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_cancelled *out, struct pawl_error *err);

/* Like pawl_cancel, but running jobs may finish; no further jobs start. */
PAWL_CHECKED int pawl_let_finish(struct pawl *p, int64_t id, const char *by, const char *reason,
                                 struct pawl_cancelled *out, struct pawl_error *err);

/* When this returns, no job of the execution or of its descendants starts any more, even after
 * restarts; running jobs continue. A workflow's timeout keeps counting. PAWL_E_INVALID: it has
 * ended, is already paused, or is a single running job. */
PAWL_CHECKED int pawl_pause(struct pawl *p, int64_t id, const char *by, const char *reason,
                            struct pawl_error *err);
/* Ends a pause made by pawl_pause. Pauses of ancestors and descendants remain. */
PAWL_CHECKED int pawl_resume(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_error *err);
/* Skips an execution that has not started; its followers treat it as done. */
PAWL_CHECKED int pawl_skip(struct pawl *p, int64_t id, const char *by, const char *reason,
                           struct pawl_error *err);
/* Approve or reject the approval that a task waits for; a rejected task fails. */
PAWL_CHECKED int pawl_approve(struct pawl *p, int64_t id, const char *by, const char *reason,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_reject(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_error *err);

/* Without `failed` and `from`, everything runs again. */
struct pawl_rerun {
    bool failed;      /* rerun what failed or was cancelled, at any depth, and its followers */
    const char *from; /* rerun this task and its followers */
    /* Setting one of these two creates a new execution, linked to the old one by rerun_of. It
     * reuses the results of the tasks that need not run again (`failed`, `from`). */
    const char *const *params; /* NAME=VALUE, ends with NULL: new values; NULL: the old ones */
    const char *file;          /* another definition */
    bool dry_run;              /* report what would run, but change nothing */
    /* If an engine ran the execution with `here`, the new execution is also reserved for such an
     * engine, to be opened with its id as `tree`. Otherwise it waits in the default queue. */
    bool here;
    const char *by, *reason;
};

/* Runs ended executions again, in place: they keep their ids and history, and their ended
 * ancestors reopen. id may be any node of a tree; its followers run again after it. *json (json
 * may be NULL; the caller frees it) is {"id", "rerun_of", "nodes": [{"id", "name", "status"}]},
 * where status is how each node ended before; all descendants of a listed node run again.
 * PAWL_E_INVALID: it has not ended, or an execution that would run again is running.
 * PAWL_E_REFUSED: the limit of its concurrency key is reached. */
PAWL_CHECKED int pawl_rerun(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
                            struct pawl_error *err);

/* Limits how many jobs of a queue may be claimable or running at once; negative: no limit. Jobs
 * above the limit wait; running jobs continue. The limit of a paused queue takes effect when it
 * is resumed: *paused (may be NULL) reports that. After an error, repeat the call; this also
 * holds for the next two functions. `by` (NULL: the user of this process) and `reason` are
 * stored. */
PAWL_CHECKED int pawl_queue_limit(struct pawl *p, const char *queue, int max, const char *by,
                                  const char *reason, bool *paused, struct pawl_error *err);
/* When this returns, no job of the queue is claimed any more; running jobs continue. */
PAWL_CHECKED int pawl_queue_pause(struct pawl *p, const char *queue, const char *by,
                                  const char *reason, struct pawl_error *err);
/* Restores the limit that the queue had. PAWL_E_INVALID if it is not paused. */
PAWL_CHECKED int pawl_queue_resume(struct pawl *p, const char *queue, const char *by,
                                   const char *reason, struct pawl_error *err);

/* ---- applied workflows and schedules ---- */

struct pawl_applied {
    struct pawl_definition definition;
    bool unchanged; /* the name already referred to the same definition */
    size_t kept;    /* schedules whose pattern did not change, so that they continue */
    size_t removed; /* schedules that no longer exist */
};

/* Stores a workflow file under the workflow's name, and replaces that workflow's schedules. Running
 * executions keep their definition. A schedule with the pattern and time zone of an earlier one
 * continues from it, including its pause; a new one starts now. out may be NULL. */
PAWL_CHECKED int pawl_apply(struct pawl *p, const char *file, const char *by,
                            struct pawl_applied *out, struct pawl_error *err);

/* Like pawl_apply, with YAML text; paths of nested workflows must be absolute. */
PAWL_CHECKED int pawl_apply_text(struct pawl *p, const char *yaml, const char *by,
                                 struct pawl_applied *out, struct pawl_error *err);

/* Like pawl_apply, with a workflow that was built in C or loaded. */
PAWL_CHECKED int pawl_apply_built(struct pawl *p, struct pawl_workflow *w, const char *by,
                                  struct pawl_applied *out, struct pawl_error *err);

/* All ways to apply a workflow in one call. */
struct pawl_apply_options {
    /* one of these: */
    const char *file;
    const char *yaml;
    struct pawl_workflow *built;

    const char *by;       /* as in pawl_apply */
    const char *name;     /* the name that the workflow must have; NULL: any */
    const char *if_match; /* the hash of the definition that the name must have; "": the name must
                             not be applied; NULL: no condition */
};
/* Applies a workflow only if if_match holds; else nothing changes, and the code is
 * PAWL_E_CONFLICT. */
PAWL_CHECKED int pawl_apply_with(struct pawl *p, const struct pawl_apply_options *options,
                                 struct pawl_applied *out, struct pawl_error *err);

struct pawl_applied_deleted {
    char hash[33]; /* of the definition that the name had */
    size_t schedules;
    size_t waiting; /* due times that waited for a run to end: they will not be run */
};
/* Deletes the name of an applied workflow and its schedules. Executions continue and keep their
 * definition, and so do SQL submissions that wait. if_match: as for pawl_apply_with, but not "".
 * PAWL_E_NOT_FOUND: no workflow is applied under the name. out may be NULL. */
PAWL_CHECKED int pawl_applied_delete(struct pawl *p, const char *name, const char *if_match,
                                     const char *by, const char *reason,
                                     struct pawl_applied_deleted *out, struct pawl_error *err);

/* A schedule's full name is WORKFLOW/NAME, where NAME is its position in the list, from 1, if
 * the file does not name it. WORKFLOW alone means all of its schedules. Every engine fires
 * schedules, except those opened with `here`. */

/* Due times during the pause are skipped, including one that waits for a run to end. */
PAWL_CHECKED int pawl_schedule_pause(struct pawl *p, const char *name, const char *by,
                                     const char *reason, struct pawl_error *err);
/* Continues with due times from now on. PAWL_E_INVALID if it is not paused. */
PAWL_CHECKED int pawl_schedule_resume(struct pawl *p, const char *name, const char *by,
                                      const char *reason, struct pawl_error *err);
/* Starts a run now with the schedule's values, even if another run is active. The name must match
 * exactly one schedule. */
PAWL_CHECKED int pawl_schedule_run(struct pawl *p, const char *name, const char *by,
                                   const char *reason, int64_t *id, struct pawl_error *err);

/* ---- settings that all workers share ---- */

/* The database stores these settings. A configuration file only provides an initial value: a worker
 * (for routes, also a handle that submits) stores the value of its file if the database has none,
 * and otherwise uses that of the database. */

struct pawl_retention {
    int execution_days; /* after its end an execution is kept this long; 0: forever */
    int log_days;       /* its logs are kept this long; 0: as long as the execution */
};
/* PAWL_E_INVALID: more than 36,500 days, or logs longer than executions. */
PAWL_CHECKED int pawl_retention_set(struct pawl *p, const struct pawl_retention *r, const char *by,
                                    const char *reason, struct pawl_error *err);
/* The retention that applies, as JSON. The caller frees *json. */
PAWL_CHECKED int pawl_retention_get(struct pawl *p, char **json, struct pawl_error *err);

struct pawl_route {
    const char *task;     /* a glob on a full name: * matches any text, ? one character */
    const char *executor; /* the key of the executor that runs the job */
};
struct pawl_routes {
    const char *file; /* a configuration file: take the routes and the default from its `dispatch`,
                         and ignore the other members; NULL for none */
    const struct pawl_route *routes; /* the first one that matches is used */
    size_t n;                        /* 0: no routes */
    const char *default_executor;    /* runs commands that no route matches; NULL: process */
};
/* Replaces all routes. They apply to each job that becomes ready from now on; a job that is ready,
 * held or running keeps its executor. PAWL_E_INVALID: a glob or a key is empty or too long. An
 * executor that no worker has is accepted; pawl_routes_get lists it. */
PAWL_CHECKED int pawl_routes_set(struct pawl *p, const struct pawl_routes *r, const char *by,
                                 const char *reason, struct pawl_error *err);
/* The routes that apply, as JSON. The caller frees *json. */
PAWL_CHECKED int pawl_routes_get(struct pawl *p, char **json, struct pawl_error *err);

struct pawl_fenced {
    int64_t generation; /* the new generation */
    int64_t jobs;       /* jobs that were running and have no worker now */
};

/* To be called after restoring a backup, or after promoting a PostgreSQL replica that may lack
 * commits: jobs that are running in the database may have ended in the time whose commits are lost.
 * Skips the execution ids and event numbers that may have been given out in that time, raises the
 * database's generation, accepts the server's timeline, and orphans all running jobs; the workers
 * that adopt them end what is left of them. */
PAWL_CHECKED int pawl_fence(struct pawl *p, struct pawl_fenced *out, struct pawl_error *err);

#define PAWL_TIMELINE_SIZE 40

/* To be called after promoting a PostgreSQL replica that certainly has every commit: accepts the
 * server's timeline (its system identifier, a slash and the number), on which all changes are
 * refused until then with PAWL_E_UNAVAILABLE, and leaves the jobs with their workers. `timeline`
 * may be NULL. PAWL_E_INVALID if the timeline can't be read. */
PAWL_CHECKED int pawl_accept_timeline(struct pawl *p, char timeline[PAWL_TIMELINE_SIZE],
                                      struct pawl_error *err);

/* ---- access tokens ---- */

/* A token lets its bearer act through a server, such as one that embeds this library. It belongs to
 * the tenant whose handle created it. Its text is
 *
 *     pawl_TENANT_SECRETCHECKS
 *
 * with an empty TENANT for the default tenant, a secret of 43 characters, and six characters that
 * are a checksum. The database stores only the hash of the secret. */

enum pawl_scope {
    PAWL_SCOPE_READ = 1,
    PAWL_SCOPE_SUBMIT = 2,
    PAWL_SCOPE_OPERATE = 4, /* operator actions on executions, queues and schedules */
    PAWL_SCOPE_WORK = 8,    /* claim jobs, as a worker does */
    PAWL_SCOPE_ADMIN = 16,  /* also settings and tokens; implies all other scopes */
};

/* The word of one scope, such as "read"; NULL if there is no such scope. The string is static. */
PAWL_API const char *pawl_scope_text(unsigned scope);
/* Reads a list of words such as "read,submit" as bits of enum pawl_scope. PAWL_E_INVALID: a word is
 * not a scope. */
PAWL_CHECKED int pawl_scopes_parse(const char *text, unsigned *scopes, struct pawl_error *err);

struct pawl_token {
    /* At most 100 bytes. A server passes it as `by` to what it does for the bearer, so the history
     * names it. */
    const char *name;
    unsigned scopes; /* of enum pawl_scope */
    /* With PAWL_SCOPE_WORK: a worker may claim jobs only from these queues, and only of these
     * lanes. Each ends with NULL and has at most 100 entries; NULL: any. */
    const char *const *queues, *const *lanes;
    int64_t expires_in; /* 0: never; at most 100 years */
};

/* Creates a token. *text is its text, which can't be read again later; the caller frees it.
 * PAWL_E_CONFLICT: an active token has this name. The name of a token that has expired or was
 * revoked may be used again. `by` and `reason` are stored, here and by pawl_token_revoke. */
PAWL_CHECKED int pawl_token_create(struct pawl *p, const struct pawl_token *t, const char *by,
                                   const char *reason, char **text, struct pawl_error *err);
/* When this returns, pawl_token_check refuses the token. PAWL_E_NOT_FOUND: no token has this name,
 * or it was revoked before. */
PAWL_CHECKED int pawl_token_revoke(struct pawl *p, const char *name, const char *by,
                                   const char *reason, struct pawl_error *err);

#define PAWL_TENANT_SIZE 42

/* Finds out from its text which tenant a token belongs to, "" for the default one; asks no
 * database, so the token may still be unknown there. PAWL_E_INVALID: the text is not a token, or
 * was mistyped.
 */
PAWL_CHECKED int pawl_token_tenant(const char *text, char tenant[PAWL_TENANT_SIZE],
                                   struct pawl_error *err);

/* What the bearer of a token may do. */
struct pawl_rights {
    const char *name;                         /* of the token */
    unsigned scopes;                          /* with those that PAWL_SCOPE_ADMIN implies */
    const char *const *queues, *const *lanes; /* as in struct pawl_token */
    int64_t expires_at;                       /* 0: never */
};

/* Checks a token of the handle's tenant, by one read. Records the time of its use, at most once a
 * minute and only if the database accepts changes. PAWL_E_INVALID: the text is not a token, or was
 * mistyped. PAWL_E_NOT_FOUND: it is unknown here, has expired or was revoked; the error does not
 * tell these apart. Free *out with pawl_rights_free. */
PAWL_CHECKED int pawl_token_check(struct pawl *p, const char *text, struct pawl_rights **out,
                                  struct pawl_error *err);
PAWL_API void pawl_rights_free(struct pawl_rights *r); /* NULL is ignored */
/* Whether a worker with these rights may claim jobs of this lane from this queue. */
PAWL_API bool pawl_rights_serve(const struct pawl_rights *r, const char *lane, const char *queue);

/* ---- reading ---- */

/* The fields of each object, in this order (docs/JSON.md explains them). A field that is not known
 * or does not apply is null. Times are RFC 3339 in UTC with microseconds. Ids are numbers, except
 * that ids of workers are strings of 16 hexadecimal digits.
 *
 * an execution        id parent root depth kind name status attempt (0 before the first)
 *                     max_attempts queue priority executor worker (the last) host requested_at
 *                     requested_by started_at finished_at duration_us (without the time between an
 *                     end and a rerun) idle_us (that time) exit_code signal (of the last attempt
 *                     that ended) error input outputs result usage waiting (why it waits: a code,
 *                     and text for people) rerun_of workflow_task workflow_execution children (in
 *                     a tree)
 * workflow_task       workflow_execution task_name task_index retry_count max_retries
 * workflow_execution  definition variables current_tasks completed_tasks failed_tasks
 *                     skipped_tasks (names; a fan-out counts as one; the first 1,000, then "…" if
 *                     there are more) paused pause_reason error
 * a line of an outline  id parent depth kind name task_name task_index status attempt max_attempts
 *                     worker requested_at ready_at started_at finished_at duration_us idle_us error
 *                     reason (of a skip or cancel) waiting paused items
 *   items             total pending ready running succeeded failed timed_out cancelled skipped
 * a graph             name status width height nodes edges after_all (x y w h) folded
 *   a node            id name label kind x y w h status execution items description duration_us
 *                     held tasks foreach workflow condition allow_failure approval after_all notes
 *   an edge           from to points
 * an event            sequence_num execution root seq type from to attempt epoch worker host data
 *                     created_at
 * a queue             queue ready held running oldest_ready_at oldest_wait_us paused limit
 *                     last_order submitted
 *   paused            since by reason limit (the one that resume restores)
 *   limit             max used
 *   last_order        action at by reason data
 * a retention         execution_days (null: forever) log_days (null: as the execution)
 *                     source (database file default) last_order
 * routes              routes (task executor) default_executor unknown_executors source last_order
 * a token             name scopes (words) queues lanes (null: any) created_at created_by expires_at
 *                     revoked_at revoked_by last_used_at state (active expired revoked) last_order
 * a schedule          schedule (its full name) workflow cron tz catchup (a duration, or last)
 *                     overlap jitter start end with next_at (when it fires) waiting_at (a due time
 *                     that waits for the last run to end) last_due_at last_run (its id) last_status
 *                     skipped (number of due times) skipped_at missed_at paused (since by
 *                     reason) problem (why it can't be fired) definition applied_at applied_by
 *                     last_order
 * a due time          schedule due_at fires_at
 * an applied workflow  name description definition (its hash) task_count param_count schedule_count
 *                     applied_at applied_by last_run (its id) last_status last_started_at
 *                     last_finished_at
 *   in detail         the same, and current params schedules tasks document (the definition as
 *                     stored) source (the text it was applied from)
 *   params            name type required default description
 *   tasks             name kind (command function workflow executor) description needs if foreach
 *                     approval function workflow executor queue
 * a version           version (its number) definition task_count applied_at applied_by current
 * a submission        id workflow status (waiting, taken, refused) execution (once taken)
 *                     error (why it was refused) key queue priority delay_us params definition
 *                     requested_by requested_at decided_at
 * a worker            id host pid folder version room claim_ahead leases started_at seen_at
 *                     silent_us serves (the queues of each lane; none while the worker is stopping)
 *                     executors (the room of each) state (alive draining silent)
 * an overview         at queues workers running ended
 *   running           id root name queue executor attempt max_attempts worker since elapsed_us
 *                     last_line
 *   ended             queue done failed */

/* Called with one JSON object, without a newline. A nonzero return value ends the reading, which
 * then returns 0. */
typedef int pawl_line(void *arg, const char *json);

/* The objects above as JSON Schema: one object whose members are named after them (Execution,
 * Event, Queue, DueTime, …). The caller frees it. */
PAWL_API char *pawl_answer_schemas(void);

/* One execution, as JSON. The caller frees *json. */
PAWL_CHECKED int pawl_show(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* Only the status of an execution, which is cheaper. The string is static. */
PAWL_CHECKED int pawl_status(struct pawl *p, int64_t id, const char **status,
                             struct pawl_error *err);
/* Waits until an execution has ended, at most timeout_ms (negative: no limit). *status is its
 * status then. Also works for an SQL submission that no engine has accepted yet. Do not call it
 * on the thread that steps the engine which must run the execution: use pawl_engine_watch there. */
PAWL_CHECKED int pawl_wait(struct pawl *p, int64_t id, int timeout_ms, const char **status,
                           struct pawl_error *err);
/* pawl_parent: the parent of an execution. pawl_workflow: the workflow execution that it belongs to
 * as a task, with its state. PAWL_E_NOT_FOUND if there is none. The caller frees *json. */
PAWL_CHECKED int pawl_parent(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
PAWL_CHECKED int pawl_workflow(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* The children of an execution, ordered by requested_at and id. */
PAWL_CHECKED int pawl_children(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                               struct pawl_error *err);
/* The tasks of a workflow execution and the items of its fan-outs, without those of nested
 * workflows. PAWL_E_INVALID if id is not a workflow execution. */
PAWL_CHECKED int pawl_tasks(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                            struct pawl_error *err);
/* An execution and its descendants, as one object with nested children. The caller frees *json. */
PAWL_CHECKED int pawl_tree(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* An execution and its descendants, one object per line, each parent before its children. */
PAWL_CHECKED int pawl_tree_lines(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                                 struct pawl_error *err);
/* A summary of the tree for display, with its own kind of lines: large fields are left out, and
 * the items of fan-outs are counted. Only some running and some failed items (at most 10 each)
 * have lines, with all their descendants. *now (may be NULL) is the database's time. */
PAWL_CHECKED int pawl_outline(struct pawl *p, int64_t id, pawl_line *each, void *arg, int64_t *now,
                              struct pawl_error *err);

/* A moment in the past: the state after all events up to a time or, if `time` is 0, up to an
 * event number. Exactly one of them is set. */
struct pawl_moment {
    int64_t time, event;
};

/* Like pawl_show, pawl_tree and pawl_outline, but as of a moment, computed from the events
 * alone. Executions requested later are missing; if id itself was requested later,
 * PAWL_E_NOT_FOUND says when. Fields that the history does not keep are null: the input of a
 * task that was not ready yet or has been rerun since. *now is the time of the moment. */
PAWL_CHECKED int pawl_show_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_tree_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_outline_at(struct pawl *p, int64_t id, const struct pawl_moment *at,
                                 pawl_line *each, void *arg, int64_t *now, struct pawl_error *err);

/* The critical path: the chain of executions that determined when this one ended (with a moment, or
 * if it has not ended: up to that moment or now), since it was last started or rerun, including the
 * chains inside each workflow and fan-out on it. Each microsecond counts in exactly one step, and
 * there in one of wait_us, held_us, run_us and retry_us. at may be NULL. The caller frees *json.
 *
 * a critical path     id name status from to total_us wait_us held_us run_us retry_us steps
 * a step              id depth kind name status attempt from to total_us wait_us (for a worker,
 *                     or an engine) held_us run_us (of a workflow or fan-out: time that no step
 *                     in it covers) retry_us (failed attempts, and the back-off after them) */
PAWL_CHECKED int pawl_critical(struct pawl *p, int64_t id, const struct pawl_moment *at,
                               char **json, struct pawl_error *err);

/* Compares two executions, in one object. *same (may be NULL) is true if their input and definition
 * are equal, and so are the outcomes of both and of each task; ids, times, workers and the number
 * of attempts do not count. Tasks are those of the whole trees, identified by their paths
 * ("each[1]", "below/one"), in the order in which they ended. The caller frees *json.
 *
 * a difference        a b (id kind name definition requested_at started_at finished_at)
 *                     params (name, null if the input is not an object; a b: left out where it
 *                     does not exist) definition (task, null for the workflow itself; change:
 *                     added removed changed; keys) outcome (of both: as a task) tasks first (the
 *                     first task that differs) same
 * a task of both      task (its path) differs (there status outputs error attempts duration)
 *                     a b (id status attempt duration_us error outputs; null if it does not exist)
 */
PAWL_CHECKED int pawl_diff(struct pawl *p, int64_t a, int64_t b, char **json, bool *same,
                           struct pawl_error *err);

/* Which executions to list. All fields 0: the newest executions without a parent. Strings may be
 * NULL. */
struct pawl_list_query {
    int64_t parent;       /* only children of this execution; not with `all` */
    bool all;             /* at any depth */
    const char *status;   /* "failed", "ready,running" */
    const char *kind;     /* workflow, task, foreach, exec */
    const char *name;     /* a glob on the full name: * matches any text, ? one character */
    const char *workflow; /* executions of the workflow of that name and, with `all` or `parent`,
                             its tasks */
    const char *queue;
    int64_t before; /* only ids smaller than this; 0: any */
    int64_t limit;  /* 0, or more than 1,000: 1,000 */
    int64_t tasks;  /* only what pawl_tasks lists for this workflow execution, in its order and
                       without a limit of 1,000; not with parent, all, workflow or before */
    int64_t since, until; /* since <= requested_at < until; 0: unbounded */
    const char *worker;   /* the last worker that ran it: 16 hexadecimal digits, as in JSON */
    const char *host;     /* the host of that worker */
    const char *by;       /* a glob on requested_by, as for the name; tasks have none */
    /* NAME=VALUE, ends with NULL: only executions whose input is an object with all these members.
     * A member matches if it is the string VALUE, or has the value that VALUE has as JSON: n=5
     * matches 5, 5.0 and "5". NULL if none. */
    const char *const *params;
};

/* Lists executions, newest first, one page. *next (may be NULL) is `before` for the next page; 0
 * if this is the last. since and until are found by an index: ids rise with requested_at, up to a
 * minute of disorder. (If the server's clock was set back by more than that, executions of that
 * time may be missing.) Other filters have no index and examine at most 100,000 executions per
 * call: a page may be short, even empty, before the end. */
PAWL_CHECKED int pawl_list(struct pawl *p, const struct pawl_list_query *query, pawl_line *each,
                           void *arg, int64_t *next, struct pawl_error *err);
/* Counts executions that match, by status: the newest 10,000 at most, or `limit` if that is less.
 * `more` says that older ones may match, too. Not with `tasks`. The caller frees *json.
 *
 * counts              total pending ready running succeeded failed timed_out cancelled skipped
 *                     more */
PAWL_CHECKED int pawl_counts(struct pawl *p, const struct pawl_list_query *query, char **json,
                             struct pawl_error *err);
/* The newest execution that has no parent; PAWL_E_NOT_FOUND if there is none. */
PAWL_CHECKED int pawl_last(struct pawl *p, int64_t *id, struct pawl_error *err);

/* An action on all executions that match a filter. */
struct pawl_bulk {
    const char *action; /* cancel, let_finish, pause, resume, skip, rerun, rerun_failed: like the
                           functions above; rerun_failed is pawl_rerun with `failed` */
    /* At least one filter besides `all`, `before` and `limit` must be set; not `tasks`. limit is
     * the maximum number of executions; 0: no limit. */
    const struct pawl_list_query *filter;
    bool dry_run; /* report the executions that match, but change nothing */
    const char *by, *reason;
};
struct pawl_bulk_result {
    int64_t matched; /* executions that match the filter and whose state allows the action */
    int64_t done;    /* the action was carried out; always 0 in a dry run */
    int64_t refused; /* it was refused; the line has the error */
    int64_t changed; /* it no longer applied: they ended, or another user was faster */
    int code;        /* enum pawl_code of the first refusal; 0 if none */
    int64_t before;  /* as filter->before of another call: only executions that this call saw */
};

/* Carries out an action on many executions, newest first. Executions whose state does not allow the
 * action do not match: those that have ended can't be cancelled, paused ones can't be paused again.
 * So the call can be repeated after an error or an interruption: it continues with the rest. It
 * never acts on executions that are requested while it runs. Each slice of at most 100 executions
 * is a transaction of its own (a rerun: each execution); after an error the completed slices
 * remain, and *result (may be NULL) counts them. A refusal of one execution does not end the call:
 * it is counted, and the others follow.
 *
 * `each` (may be NULL) is called after each slice, once for each of its executions. If it returns
 * nonzero, the call ends between two slices with 0. Memory does not grow with the number of
 * executions.
 *
 * a line of a bulk action  id name status (after the action; in a dry run, now) error (null unless
 *                     it was refused) */
PAWL_CHECKED int pawl_bulk(struct pawl *p, const struct pawl_bulk *bulk, pawl_line *each, void *arg,
                           struct pawl_bulk_result *result, struct pawl_error *err);

/* Why an execution has its status: the exact condition that is not met, and how its attempts ended.
 * {id name status reasons: [{code text …}]}: codes are stable, text is for people, the other fields
 * depend on the code. The caller frees *json.
 *
 * ready    no_worker not_served in_line (lane queue before alive serving room busy)
 * held     approval (since message until) delay retry deferred released (until in_us …)
 *          limit (key max used holders before) queue_paused (queue since by reason)
 * running  running (attempt max_attempts since worker host lease_until) worker_silent (worker
 *          silent_us lease_until) orphan (worker expired_at folder alive_in_folder others_from
 *          alive_elsewhere) children (open) items (total made left max_parallel open)
 * pending  needs (left all join succeeded if needs: the open ones)
 * ended    ended (status at error by reason), and for a skipped task needs: those that did not
 *          succeed
 * all      paused (execution: the paused one, since by reason) cancel_requested let_finish (since
 *          by reason), and for each attempt that did not succeed attempt (attempt outcome
 *          exit_code signal duration_us error at) */
PAWL_CHECKED int pawl_why(struct pawl *p, int64_t id, char **json, struct pawl_error *err);

/* A position in the stored output of an attempt. */
struct pawl_log_place {
    int64_t execution;
    int attempt;  /* 0: the last */
    int64_t from; /* byte offset in its whole output; 0: the start */
};

/* A contiguous part of the output. */
struct pawl_log_page {
    int attempt;  /* the attempt that it belongs to; 0: none was started yet */
    size_t len;   /* number of bytes copied */
    int64_t from; /* offset of the first byte: as requested, or later if bytes are missing there */
    int64_t next; /* offset where the next page starts */
    int64_t dropped; /* number of bytes missing right before this part */
    bool more;       /* another page is available already */
    bool ended;      /* the attempt has ended: unless `more` is set, no further output will come */
};

/* Copies at most `size` bytes of output to `out`, while the attempt runs or after it ended. A page
 * may be shorter than `size` although more output follows. PAWL_E_NOT_FOUND if there is no such
 * execution or attempt. */
PAWL_CHECKED int pawl_log(struct pawl *p, const struct pawl_log_place *at, char *out, size_t size,
                          struct pawl_log_page *page, struct pawl_error *err);

/* Metrics in the Prometheus text format: gauges of queues, workers and executors, and the counters
 * of attempts, which are exact at every commit. The caller frees *text. */
PAWL_CHECKED int pawl_metrics(struct pawl *p, char **text, struct pawl_error *err);

/* Which applied workflows to list. All fields 0: the first ones. */
struct pawl_applied_query {
    const char *name;  /* a glob: * matches any text, ? one character; NULL: all */
    const char *after; /* only names after this one; NULL: from the first */
    int64_t limit;     /* 0, or more than 1,000: 1,000 */
};

/* Lists applied workflows, ordered by name, one page. query may be NULL. *more (may be NULL): there
 * is another page, after the last name of this one. */
PAWL_CHECKED int pawl_applied_list(struct pawl *p, const struct pawl_applied_query *query,
                                   pawl_line *each, void *arg, bool *more, struct pawl_error *err);
/* One applied workflow with its params, schedules, tasks, and the text that it was applied from.
 * version: the hash of an earlier definition; NULL: the current one. A version can be read as long
 * as its definition is kept, also after the name was deleted. The caller frees *json. */
PAWL_CHECKED int pawl_applied_show(struct pawl *p, const char *name, const char *version,
                                   char **json, struct pawl_error *err);
/* The definitions that a name has had, newest first: at most `limit` (0, or more than 1,000: 1,000)
 * with a version number below `before` (0: any). Applying the same definition again adds none.
 * *more (may be NULL): there are others. */
PAWL_CHECKED int pawl_applied_versions(struct pawl *p, const char *name, int64_t before,
                                       int64_t limit, pawl_line *each, void *arg, bool *more,
                                       struct pawl_error *err);

/* Schedules, ordered by name: those of the workflow `name`, or the one schedule of that name; all
 * if name is NULL. */
PAWL_CHECKED int pawl_schedules(struct pawl *p, const char *name, pawl_line *each, void *arg,
                                struct pawl_error *err);
/* The next due times of these schedules: at most n in total, earliest first. Paused ones have
 * none. */
PAWL_CHECKED int pawl_schedule_next(struct pawl *p, const char *name, size_t n, pawl_line *each,
                                    void *arg, struct pawl_error *err);
/* SQL submissions (made with pawl_submit() in a PostgreSQL transaction), newest first. status:
 * waiting, taken or refused; NULL: all. limit: 0, or more than 1,000: 1,000.
 *
 * pawl_show, pawl_status, pawl_tree, pawl_why, pawl_list, pawl_last, pawl_wait and pawl_cancel
 * treat a waiting submission as the execution that it becomes: a pending workflow with the same id,
 * whose `waiting` starts with "submission". Other functions fail with PAWL_E_NOT_FOUND until a
 * worker has taken it. */
PAWL_CHECKED int pawl_submissions(struct pawl *p, const char *status, size_t limit, pawl_line *each,
                                  void *arg, struct pawl_error *err);
/* One object per queue, or per worker. */
PAWL_CHECKED int pawl_queues(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);
PAWL_CHECKED int pawl_workers(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);

/* All access tokens, also expired and revoked ones, ordered by name and age; without secrets. */
PAWL_CHECKED int pawl_tokens(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);

/* Options for an overview; 0 or NULL is the default. */
struct pawl_overview_query {
    const char *part; /* substring of the name or queue of running jobs, ignoring case; NULL: all */
    int64_t limit;    /* how many running jobs to list; 0 means 100; at most 1,000 */
};

/* A snapshot of the whole database, cheap enough to be read every second: queues (those of
 * foreground runs are combined as "here"), workers, running jobs (oldest first, each with its
 * last line of output), and the number of attempts that have ended, as workers count them with
 * each heartbeat. The caller frees *json. */
PAWL_CHECKED int pawl_overview(struct pawl *p, const struct pawl_overview_query *query, char **json,
                               struct pawl_error *err);

/* Which events to read. */
struct pawl_event_query {
    int64_t execution; /* events of this execution and its descendants, oldest first; 0: all events,
                          newest first */
    bool self;         /* without events of its descendants */
    const char *types; /* "task.failed"; "failed" (of tasks and workflows), "failed,timed_out" */
    int64_t since, until; /* since <= created_at < until; 0: unbounded */
    int64_t limit;        /* 0: no limit */
    /* To continue a list. With `execution`: the sequence_num of the last event that was read.
     * Without: its sequence_num and its created_at. 0: start at the beginning. */
    int64_t last, last_time;
};

/* Reads the history, one event per line. */
PAWL_CHECKED int pawl_events(struct pawl *p, const struct pawl_event_query *query, pawl_line *each,
                             void *arg, struct pawl_error *err);

/* Follows events in the order of their numbers, without gaps, including those of transactions that
 * commit late. Starts with the first event of an execution, or from now on if the query names none.
 * limit is ignored. */
struct pawl_follower;

/* Starts following; types, since and until filter the events. */
PAWL_CHECKED int pawl_follow(struct pawl *p, const struct pawl_event_query *query,
                             struct pawl_follower **out, struct pawl_error *err);
/* Reads events that came since the last call, possibly not all of them; never waits. *n is their
 * number. If `each` stops the reading, the remaining events of this call are not delivered
 * again. */
PAWL_CHECKED int pawl_follower_next(struct pawl_follower *f, pawl_line *each, void *arg, size_t *n,
                                    struct pawl_error *err);
PAWL_API void pawl_follower_close(struct pawl_follower *f);

/* ---- maintenance ---- */

struct pawl_verify_options {
    const char *save;  /* write a checkpoint to this file */
    const char *since; /* compare with the checkpoint in this file */
    int64_t lease;     /* the longest lease in use; 0: 30 s */
    bool host;         /* also check this host: compare its state folder with the database */
    const char *state; /* the state folder; NULL: as configured, else the user's default */
    /* Called for each violation: the invariant, the execution (0 if none), and what is wrong. */
    void (*violation)(void *arg, const char *invariant, int64_t execution, const char *detail);
    void *arg;
};

struct pawl_verify_result {
    size_t checks, violations;
    int64_t executions, events;
    int64_t attempts, workers; /* with `host`: how many were found on this host */
};

/* Checks the invariants of the whole database. PAWL_E_VIOLATION if one does not hold; the result is
 * set in that case, too. */
PAWL_CHECKED int pawl_verify(struct pawl *p, const struct pawl_verify_options *options,
                             struct pawl_verify_result *result, struct pawl_error *err);

struct pawl_cleanup_result {
    int64_t trees, executions, events;
};

/* Removes trees that ended more than older_than ago, with everything that belongs to them, in
 * slices that are each atomic; after an error the completed slices remain. With dry_run it only
 * counts. */
PAWL_CHECKED int pawl_cleanup(struct pawl *p, int64_t older_than, bool dry_run,
                              struct pawl_cleanup_result *result, struct pawl_error *err);

#ifdef __cplusplus
}
#endif

#endif
