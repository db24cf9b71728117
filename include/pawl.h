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
 *     operator actions                      cancel, pause, skip, approve, rerun; queues, workers
 *     webhooks                              messages from and to other programs
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
    PAWL_E_INTERNAL = 1, /* a bug, or an invariant that does not hold */
    /* An argument or definition is wrong, or the status does not allow the call. */
    PAWL_E_INVALID,
    /* The key or name is used by another job or token; a constraint failed; or if_match does not
     * hold. */
    PAWL_E_CONFLICT,
    PAWL_E_NOT_FOUND, /* the execution, tenant, … does not exist */
    /* The database can't be used: it is down, denies access, or is not Pawl's. */
    PAWL_E_UNAVAILABLE,
    PAWL_E_NO_SPACE, /* the disk is full; nothing was written */
    PAWL_E_SCHEMA,   /* the database has no schema, or one newer than this library */
    PAWL_E_REFUSED,  /* a limit is reached, or nothing can be started now */
    /* The worker may no longer own this attempt: it must leave the work alone. */
    PAWL_E_LEASE_LOST,
    PAWL_E_BUSY, /* another connection has held a lock for too long */
    PAWL_E_REDO, /* internal, like the next code: the library retries */
    PAWL_E_CONN_LOST,
    PAWL_E_COMMIT_UNKNOWN, /* COMMIT was not acknowledged: the change may or may not be stored */
    PAWL_E_VIOLATION,      /* verify found an invariant that does not hold */
};

/* What an error reports as missing, if the program may be able to supply it or to wait for it. */
enum pawl_missing {
    PAWL_MISSING_EXECUTION = 1, /* no execution has this id */
    PAWL_MISSING_PARAM,         /* the workflow requires a value for this param */
    PAWL_MISSING_SUBMITTED,     /* the SQL submission with this id is no execution yet */
    /* The call is right, but the state of the execution, queue or schedule does not allow it now:
     * tells this case of PAWL_E_INVALID from a wrong argument. There is no name. */
    PAWL_MISSING_STATE,
};

struct pawl_error {
    int code; /* enum pawl_code */
    char message[1024];
    int missing;    /* enum pawl_missing; 0 for any other error */
    char name[104]; /* the id or the param that is missing */
};

PAWL_API const char *pawl_version(void); /* version of the library in use, not of this header */

/* The exit code of the command line for an error code: 2 wrong usage, 5 not found, 6 database
 * not usable, … */
PAWL_API int pawl_exit_code(int code);

/* ---- open and close ---- */

struct pawl;

struct pawl_options {
    /* Database: sqlite:FILE or postgres://USER@HOST/DATABASE; or a server: see pawl_open; NULL for
     * pawl_default_url. */
    const char *url;
    /* NULL for $PAWL_TENANT if $PAWL_DB is set, else the configured tenant, else the default
     * tenant. */
    const char *tenant;
    const char *token; /* access token for a server; NULL for $PAWL_TOKEN, else none */
    /* Path of pawl.yaml; NULL for $PAWL_CONFIG, else ./pawl.yaml (see pawl_trust) or the user's
     * pawl.yaml, if one exists. */
    const char *config;
    bool must_exist; /* for programs that only read: do not create or upgrade the database */
    /* How long to retry while the database is unreachable, and how long pawl_open waits for a
     * PostgreSQL server that is not accepting connections; 0 for 30 s. */
    int64_t patience;

    /* `trace` is called with each statement, its duration and its row count; `note` with sentences
     * for an operator, such as a lost connection. Both also get arg. NULL for no call. */
    void (*trace)(void *arg, const char *statement, int64_t took, long rows);
    void (*note)(void *arg, const char *sentence);
    void *arg;

    /* On PostgreSQL, sends wake-ups for other processes with the next call, or in pawl_close,
     * instead of by a thread with a second connection. For a program that makes few changes. */
    bool one_connection;
    /* Called with arg while pawl_open waits for a connection. Returning true ends the wait. NULL to
     * wait as long as `patience` says. */
    bool (*give_up)(void *arg);
};

/* Sets *url to $PAWL_DB, else to the configured database, else to a file in $XDG_STATE_HOME or
 * ~/.local/state. The caller frees *url. */
PAWL_CHECKED int pawl_default_url(char **url, struct pawl_error *err);

/* pawl_trust trusts a pawl.yaml, pawl_distrust ends that. A pawl.yaml that other users can change
 * is always refused. One that is found in the current folder may set the keys that decide what runs
 * (the database, the state folder, plugins, programs, images) only if the user trusts it. Trust is
 * stored with the path and the hash of the content, so it ends when the file changes. pawl_distrust
 * fails with PAWL_E_NOT_FOUND if the file was not trusted. A path of NULL means ./pawl.yaml. *file
 * is the absolute path; the caller frees it. */
PAWL_CHECKED int pawl_trust(const char *path, char **file, struct pawl_error *err);
PAWL_CHECKED int pawl_distrust(const char *path, char **file, struct pawl_error *err);

/* Opens a database. Unless must_exist is set, creates the database or upgrades its schema if
 * necessary.
 *
 * The URL http://HOST:PORT, https://HOST or unix:PATH opens a handle on a server (`pawl serve`)
 * instead: submissions, operator actions, applied workflows, schedules, settings, tokens and
 * everything under "reading" then ask the server, and return what it returns. A token decides the
 * tenant, and the history names the token as the one who asked: `by` has no effect. Opening asks
 * the server nothing yet. Functions that need the database itself, such as pawl_engine_open,
 * pawl_transaction and pawl_cleanup, fail with PAWL_E_INVALID. PAWL_E_COMMIT_UNKNOWN: the server
 * did not answer to a change. PAWL_E_UNAVAILABLE: the server can't be reached, or refuses the
 * token. */
PAWL_CHECKED int pawl_open(const struct pawl_options *options, struct pawl **out,
                           struct pawl_error *err);
/* Closes a handle. Close everything made from the handle first. NULL is ignored. */
PAWL_API void pawl_close(struct pawl *p);

/* Gives up the handle's connection if connections are scarce. For a program that reads for a long
 * time, such as a monitor, and should leave the connections of a PostgreSQL server to workers and
 * submitters; call this before each read. If few of the server's connections are free, closes the
 * handle's connection and returns for how many milliseconds the program must not use the handle,
 * before it calls this again. Returns 0 if the program can continue. While the connection is
 * closed, listeners of the handle receive nothing. The server is asked at most every 5 s. Always 0
 * on SQLite and behind a pooler. */
PAWL_API int pawl_yield(struct pawl *p);

/* The URL of the database, without its password. */
PAWL_API const char *pawl_url(const struct pawl *p);

/* Creates the database or upgrades its schema. *version (may be NULL) is the resulting schema
 * version. */
PAWL_CHECKED int pawl_migrate(const struct pawl_options *options, int *version,
                              struct pawl_error *err);

/* Create, drop and list tenants. Tenants are isolated from each other: a tenant is a schema and a
 * role on PostgreSQL, a file on SQLite. Names match [a-z][a-z0-9_]{0,40}. options.tenant is
 * ignored. Dropping a tenant deletes all of its data. */
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
    const char *queue; /* NULL for "default" */
    /* Lane, which a worker must offer: an executor's key, or "function:NAME"; NULL if the routes
     * of the database choose it by the name. */
    const char *lane;
    const char *input; /* JSON of any type, at most 1 MB; NULL if none */
    /* To run a workflow instead of a command, set one of the next five members. Then name, lane and
     * spec are ignored, and input is an object with the workflow's params; input that does not fit
     * the params is refused. */
    const char *workflow; /* path of a workflow file */
    const char *yaml;    /* the workflow as YAML text; paths of nested workflows must be absolute */
    const char *applied; /* name of an applied workflow */
    struct pawl_workflow *built; /* a workflow built in C, or read with pawl_workflow_load */
    /* Definition as it is stored: the field `document` of an applied workflow in detail. */
    const char *document;
    /* Params of a workflow in addition to input: NAME=VALUE, converted to the params' types;
     * ends with NULL; NULL if none. */
    const char *const *params;
    /* How the job is run, as JSON (pawl_command_spec); NULL for a function. */
    const char *spec;
    /* Idempotency key: a later submission with this key returns the execution of the first; NULL
     * if none. */
    const char *key;
    /* Concurrency key: at most concurrency_max jobs with this key are claimable or running at a
     * time; NULL for no limit. */
    const char *concurrency;
    int concurrency_max; /* limit of the key, stored when the key is first used; 0 for 1 */
    int priority;        /* jobs with a higher priority are claimed first */
    int max_attempts;    /* 0 for 1 */
    int64_t delay;       /* wait at least this long before the job may be claimed */
    /* Parent, an execution that has not ended; 0 if the job is the root of a new tree. */
    int64_t parent;
    /* User who requests the job, for the history; NULL for user@host of this process. */
    const char *by;
    bool refuse; /* if a limit is reached, fail with PAWL_E_REFUSED instead of waiting */
    /* The job that submits this job waits for it and lends it its slot, so this job does not
     * count against queue.cap. An engine that runs this job should have one slot. */
    bool shares_slot;

    int64_t id;   /* result */
    bool existed; /* result: whether the key was used before, and id is the earlier execution */
};

/* Submits jobs. Stores all of them or, on error, none. */
PAWL_CHECKED int pawl_submit(struct pawl *p, struct pawl_job *jobs, size_t n,
                             struct pawl_error *err);

/* ---- commands ---- */

/* A command that an executor for commands runs. */
struct pawl_command {
    const char *run; /* a shell script; NULL if argv is set */
    /* The program that runs the script, with options (the key `shell`); NULL for /bin/sh -c. */
    const char *const *shell;
    const char *const *argv; /* the program and its arguments; ends with NULL */
    /* Working folder, an absolute path; NULL for a folder made for the attempt. */
    const char *cwd;
    const char *input; /* standard input; NULL if none */
    /* Name or number of the user to run as; NULL for the worker's user. */
    const char *user;
    const char *const *env; /* NAME=VALUE, ends with NULL; NULL if none */
    /* Names of secrets, which the worker resolves, and masks in output; ends with NULL. */
    const char *const *secrets;
    /* Names of outputs that may be written to $PAWL_OUTPUT; ends with NULL; NULL for any. */
    const char *const *outputs;
    /* Time limit of an attempt; 0 for the configured limit, else none. */
    int64_t timeout;
    int64_t grace;       /* time between SIGTERM and SIGKILL; 0 for 10 s */
    int64_t memory, cpu; /* limits: bytes, and µs of processor time; 0 for no limit */
    int files, pids;
    const char *const *input_files; /* NAME=VALUE, ends with NULL; each value is written to a file,
                                       and the environment variable NAME is its path; NULL if
                                       none */
};
/* How attempts are repeated. Their number is pawl_job.max_attempts. */
struct pawl_retry {
    int64_t delay;     /* delay before the second attempt; 0 for the configured delay, else 1 s */
    double backoff;    /* factor by which the delay grows; 0 for the configured factor, else 2 */
    int64_t max_delay; /* the longest delay; 0 for the configured one, else 5 min */
    /* The random fraction of the delay, 0 to 1; 0 for the configured one, else 0.1; negative for
     * none. */
    double jitter;
    const int *codes; /* exit codes that are retried; NULL for the configured ones, else all */
    size_t ncodes;
};
/* Makes the JSON for pawl_job.spec. `command` is NULL for a function; `retry` may be NULL. The
 * caller frees *spec. */
PAWL_CHECKED int pawl_command_spec(struct pawl *p, const struct pawl_command *command,
                                   const struct pawl_retry *retry, char **spec,
                                   struct pawl_error *err);
/* The configured number of attempts of a job, in total: 1 or more. */
PAWL_API int pawl_default_attempts(struct pawl *p);
/* Whether the configuration queues jobs for workers. If it does not (queue.enabled is false), a
 * process should itself run each job that it submits, at once, on an engine opened with `here`. At
 * most queue.cap jobs may then be claimable or running, in all processes of the database together.
 * When that number is reached, every function that submits a single job fails with PAWL_E_REFUSED,
 * while tasks of workflows wait. */
PAWL_API bool pawl_has_queue(const struct pawl *p);

/* ---- transactions of the embedder ---- */

/* On SQLite a program may keep its own tables in Pawl's file and change them in one transaction
 * with its submissions: either all of these changes are stored or none. The program makes them
 * through the library, under the library's lock. A separate connection of the program may read the
 * file but should not write to it. (On PostgreSQL a program submits with SQL in its own
 * transactions: SELECT pawl_submit(…), see docs/SCHEMA.md.)
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

/* The body of a transaction. It returns 0 to commit. Any other value rolls back: the error of a
 * call that failed, or a positive number of the caller's choice. The body may be called again from
 * its start if the commit failed in a way that can be retried, so it should depend only on its
 * argument. All other writers of the database wait until the body returns, so keep it short. The
 * body must not use the handle or an engine. */
typedef int pawl_tx_body(struct pawl_tx *tx, void *arg);

/* Runs the body in a transaction. Returns 0 when the transaction is committed, the body's return
 * value if that is positive, otherwise an error. PAWL_E_INVALID on PostgreSQL. */
PAWL_CHECKED int pawl_transaction(struct pawl *p, pawl_tx_body *body, void *arg,
                                  struct pawl_error *err);

enum pawl_type { PAWL_NULL, PAWL_INT, PAWL_REAL, PAWL_TEXT, PAWL_BLOB };

struct pawl_value {
    int type; /* enum pawl_type */
    int64_t i;
    double d;
    const char *s; /* value, for PAWL_TEXT and PAWL_BLOB */
    size_t len;    /* bytes of s; for a text parameter, 0 means up to the NUL of s */
};

/* Called with one row. The values are valid until the function returns. Returning a value other
 * than 0 ends the reading. */
typedef int pawl_row(void *arg, const struct pawl_value *cells, size_t n);

struct pawl_statement {
    const char *sql; /* the text of one statement, with parameters ?1, ?2, … */
    const struct pawl_value *params;
    size_t nparams;
    pawl_row *row; /* called for each row of the result; NULL to drop the rows */
    void *arg;

    int64_t changed; /* result: number of rows inserted, updated or deleted */
};

/* Runs a statement on the program's own tables. Pawl's tables may be read (through the views of
 * docs/SCHEMA.md) but not changed, nor given indexes, triggers or foreign keys; names that start
 * with pawl_ are reserved. BEGIN, COMMIT and PRAGMA are refused. PAWL_E_CONFLICT if a constraint on
 * the program's tables failed. After this error and after PAWL_E_INVALID, the body may continue. */
PAWL_CHECKED int pawl_tx_run(struct pawl_tx *tx, struct pawl_statement *s, struct pawl_error *err);

/* Like pawl_submit, inside the transaction. The executions can be read once the transaction is
 * committed. After an error the transaction can only be rolled back. */
PAWL_CHECKED int pawl_tx_submit(struct pawl_tx *tx, struct pawl_job *jobs, size_t n,
                                struct pawl_error *err);

/* ---- definitions ---- */

/* Workflow files are described in docs/WORKFLOWS.md. The functions below that take no handle need
 * no database. */

/* An error in a workflow file. */

struct pawl_problem {
    const char *file;
    unsigned line, column; /* location, from 1; columns count characters */
    const char *message;   /* one sentence */
    const char *shown;     /* the line of the file, and a line with a caret, each with a newline */
};
typedef void pawl_problem_fn(void *arg, const struct pawl_problem *problem);

struct pawl_definition {
    char name[101];
    char hash[33]; /* hash of the definition; equal for equal definitions in the same folder */
    size_t tasks, nested, schedules;
    /* How many tasks, at any depth, name an executor that is not built in: see
     * pawl_check_executors. */
    size_t executors;
};

/* Checks whether a workflow file can run, including the workflows nested in it. If the result is
 * PAWL_E_INVALID, `each` (may be NULL) was called for each problem, ordered by file and line, at
 * most 50 times. `out` may be NULL. */
PAWL_CHECKED int pawl_validate(const char *file, pawl_problem_fn *each, void *arg,
                               struct pawl_definition *out, struct pawl_error *err);
/* Draws the graph of a workflow file. Formats: ascii (also NULL), dot, mermaid, svg (a picture
 * without references to other files), or json (the coordinates of that picture: "a graph" under
 * "reading"). In ascii, lines have at most `width` columns (0 for 80). In svg and json a fan-out is
 * one box; if there are more than 300 tasks, those with the same needs and followers share a box.
 * The caller frees *text. */
PAWL_CHECKED int pawl_graph(const char *file, const char *format, int width, char **text,
                            struct pawl_error *err);
/* The definition that a workflow execution runs, whatever its name refers to by now.
 * PAWL_E_INVALID if id is not a workflow execution. The caller frees *json. */
PAWL_CHECKED int pawl_definition_of(struct pawl *p, int64_t id, char **json,
                                    struct pawl_error *err);
/* Draws the graph of a workflow execution, from the definition stored with it, with the status of
 * the execution and of each of its tasks; in svg and json also with durations and counted items. */
PAWL_CHECKED int pawl_graph_of(struct pawl *p, int64_t id, const char *format, int width,
                               char **text, struct pawl_error *err);
/* Returns the JSON Schema (draft-07) of workflow files. The caller frees it. */
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

/* A list of strings: PAWL_LIST("a", "b"). The list lives until the end of the enclosing block, or,
 * after an `if` without braces, until the end of the statement. In C++ such a list would not
 * outlive its expression: define an array instead. */
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

/* The keys of a task. Also used for on_failure, on_exit and defaults. */
struct pawl_task_keys {
    /* Exactly one of run, argv, function and workflow; or none of them and `executor`, the key
     * of a custom executor, which gets `with` as its input. */
    const char *run;
    const char *const *shell;
    const char *const *argv;
    const char *function;
    const char *workflow;

    const char *description;
    const char *const *needs;
    const char *condition; /* the key `if` */
    int join;              /* 0 for all, 1 for any */
    const char *foreach;   /* JSON: a list or a number; or a single ${{ expression }} */
    int max_parallel;
    bool fail_fast, allow_failure;
    const char *with; /* JSON: an object */
    const char *const *env;
    const char *const *input_files; /* the key `files`; each item is NAME=VALUE */
    const char *cwd;
    const char *input; /* the key `stdin` */
    const char *user;
    int64_t memory, cpu; /* the key `limits` */
    int files, pids;
    const struct pawl_container_keys *container;
    const char *const *secrets;
    int retries;             /* the key `retry.max`; negative for none */
    struct pawl_retry retry; /* the other keys of `retry` */
    int64_t timeout;
    const char *queue;
    bool has_priority; /* whether to use priority even if it is 0 */
    int priority;
    const char *executor;
    const char *concurrency; /* concurrency.key */
    int concurrency_max;     /* concurrency.max */
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
    int64_t catchup; /* negative for `last` */
    const char *overlap;
    int64_t jitter;
    int64_t start, end;
    const char *with; /* JSON: an object */
};

/* A webhook that starts the workflow (`on.webhook`). */
struct pawl_webhook_keys {
    const char *name;
    const char *with; /* JSON: an object; its strings may use `trigger` */
};

/* A workflow whose runs start this one when they end (`on.workflow`). */
struct pawl_follow_keys {
    const char *name;
    const char *status; /* succeeded, failed, timed_out, cancelled, any; NULL for succeeded */
    const char *with;   /* JSON: an object; its strings may use `trigger` */
};

/* The keys of a workflow file, except params, triggers and tasks. */
struct pawl_workflow_keys {
    const char *name, *description;
    const char *vars; /* JSON: an object */
    const char *const *env;
    int64_t timeout;
    const char *queue;
    int priority;
    const char *const *shell; /* the key `shell`; NULL for /bin/sh -e */
    const char *concurrency;  /* concurrency.key */
    int concurrency_max;      /* concurrency.max */
    const char *const *secrets;
    const char *outputs; /* JSON: an object */
    const struct pawl_task_keys *defaults, *on_failure, *on_exit;
};

/* Creates a workflow without params, triggers and tasks. Free it with pawl_workflow_free. */
PAWL_API struct pawl_workflow *pawl_workflow_new(const struct pawl_workflow_keys *keys);
PAWL_API void pawl_workflow_free(struct pawl_workflow *w); /* NULL is ignored */
/* The functions below add a param, a trigger (which takes effect when the workflow is applied), or
 * a task. */
PAWL_API void pawl_workflow_param(struct pawl_workflow *w, const char *name,
                                  const struct pawl_param_keys *keys);
PAWL_API void pawl_workflow_schedule(struct pawl_workflow *w,
                                     const struct pawl_schedule_keys *keys);
PAWL_API void pawl_workflow_webhook(struct pawl_workflow *w, const struct pawl_webhook_keys *keys);
PAWL_API void pawl_workflow_follow(struct pawl_workflow *w, const struct pawl_follow_keys *keys);
PAWL_API void pawl_workflow_task(struct pawl_workflow *w, const char *name,
                                 const struct pawl_task_keys *keys);
/* The workflow as the text of a file, with each key, param, trigger and task on its own line.
 * Valid until the workflow is changed, used or freed. NULL if the workflow was loaded from a
 * file. */
PAWL_API const char *pawl_workflow_text(struct pawl_workflow *w);
/* Like pawl_validate. */
PAWL_CHECKED int pawl_workflow_check(struct pawl_workflow *w, pawl_problem_fn *each, void *arg,
                                     struct pawl_definition *out, struct pawl_error *err);
/* Reads a workflow file as pawl_validate does, and keeps the workflow: job.built and
 * pawl_apply_built can use it any number of times, without reading and checking the file again. No
 * param, schedule or task can be added. Free the workflow with pawl_workflow_free. */
PAWL_CHECKED int pawl_workflow_load(const char *file, pawl_problem_fn *each, void *arg,
                                    struct pawl_workflow **out, struct pawl_error *err);

/* ---- functions ---- */

struct pawl_call;

/* Operations for a running function, to be called only on the thread that runs it. */
struct pawl_call_ops {
    /* Whether the function should return soon, because it was cancelled, its deadline passed, its
     * lease is lost, or the worker is stopping. */
    bool (*cancelled)(const struct pawl_call *c);
    int64_t (*remaining)(const struct pawl_call *c); /* µs until the deadline; INT64_MAX if none */
    /* set_output sets one output, set_result the whole result, as JSON. A value that can't be
     * stored fails the attempt. */
    int (*set_output)(struct pawl_call *c, const char *key, const char *json);
    int (*set_result)(struct pawl_call *c, const char *json);
    /* Adds a line to the attempt's output; adds a newline if it is missing. */
    void (*log)(struct pawl_call *c, const char *text);
    /* Marks the attempt as failed with this message. The function's return value is then the exit
     * code, where 0 becomes 1. */
    void (*fail)(struct pawl_call *c, const char *message);
    /* If the function returns 0 after calling this, the job is not done and runs again after
     * `delay` µs. */
    void (*defer)(struct pawl_call *c, int64_t delay);
};

/* A job, as passed to its function. */
struct pawl_call {
    const struct pawl_call_ops *ops;
    const char *name;  /* the job's full name */
    const char *input; /* input as JSON; NULL if none */
    int64_t execution, root;
    int attempt, max_attempts;
};

/* A function that runs a job. Returns 0 if the job succeeded; any other value is the exit code of a
 * failure. Called on a thread of the engine. */
typedef int pawl_function(struct pawl_call *c, void *arg);

/* A plugin is a shared object with
 *     const int pawl_plugin_abi = PAWL_PLUGIN_ABI;
 *     int pawl_plugin_init(const struct pawl_plugin_host *host) { return host->add(host, …); }
 * It adds functions, and custom executors (see below), to every engine that loads it. It need not
 * be linked with the library: it calls the engine through the pointers in the structure. If
 * pawl_plugin_init does not return 0, no function or executor of the plugin is added. Version 1 of
 * the interface had no executors; its plugins are still loaded. */
#define PAWL_PLUGIN_ABI 2
struct pawl_executor;
struct pawl_report_ops;
struct pawl_plugin_host {
    int abi; /* the version that the plugin was built for */
    int (*add)(const struct pawl_plugin_host *host, const char *name, pawl_function *fn, void *arg);
    void *data;
    /* Exists from version 2 on. Like pawl_engine_add_executor: on error, `free` of the executor is
     * not called; after success it is called once, even if the plugin is not loaded. */
    int (*add_executor)(const struct pawl_plugin_host *host, const struct pawl_executor *x);
    const struct pawl_report_ops *report; /* valid as long as the plugin is loaded */
};

/* ---- engines ---- */

struct pawl_engine;

struct pawl_engine_options {
    /* Queues to serve; ends with NULL; NULL for the configured ones, else "default". */
    const char *const *queues;
    /* Paths of plugins, besides the configured ones; ends with NULL; NULL if none. */
    const char *const *plugins;
    /* The state folder; NULL for the configured one, else the user's default. */
    const char *state;
    /* How many attempts run at a time, in all executors together; 0 for the configured number,
     * else the number of processors. */
    int slots;
    /* How many transactions run at a time, each on its own connection and thread; 0 for the
     * configured number, else 1. More than one is refused on SQLite. Ignored with `here`, which
     * uses one. */
    int loops;
    /* Serve the queue "pawl:hooks" in addition, and so deliver messages of webhooks, if libcurl can
     * be loaded. An engine that has this queue among its queues must deliver: without libcurl it is
     * not opened. */
    bool hooks;
    bool here; /* foreground: run only jobs that are given to pawl_engine_submit */
    /* With `here`: a tree to continue, which was run with `here` before and is rerun. */
    int64_t tree;

    /* Called by any thread of the engine while a step waits for an unreachable database. Returning
     * true ends the wait, so that a requested stop takes effect. NULL to keep waiting. */
    bool (*give_up)(void *arg);
    void *arg;
};

/* Opens an engine, which is a worker on the handle's database. It works inside pawl_engine_step, on
 * the caller's thread, and uses the handle's connection. If there are several loops, each has a
 * further connection, and on PostgreSQL there is one for heartbeats and wake-ups. While the server
 * is not accepting connections, pawl_engine_open waits until give_up returns true; with `here` at
 * most 30 s. */
PAWL_CHECKED int pawl_engine_open(struct pawl *p, const struct pawl_engine_options *options,
                                  struct pawl_engine **out, struct pawl_error *err);
/* Closes an engine. Its commands under a shim keep running, and the next worker adopts them; its
 * functions are asked to stop. */
PAWL_API void pawl_engine_close(struct pawl_engine *e); /* NULL is ignored */
PAWL_API int64_t pawl_engine_worker(const struct pawl_engine *e);
PAWL_API int pawl_engine_slots(const struct pawl_engine *e);

/* Registers a function, so that the engine serves the lane function:NAME. Call this before the
 * first step. */
PAWL_CHECKED int pawl_engine_register(struct pawl_engine *e, const char *name, pawl_function *fn,
                                      void *arg, struct pawl_error *err);

/* Sleeps until the engine has something to do, but at most timeout_ms (negative for no limit), and
 * does it. An error means that the engine can't continue. */
PAWL_CHECKED int pawl_engine_step(struct pawl_engine *e, int timeout_ms, struct pawl_error *err);
/* Call pawl_engine_step when this descriptor is readable. */
PAWL_API int pawl_engine_fd(const struct pawl_engine *e);
PAWL_API int pawl_engine_timeout_ms(
    const struct pawl_engine *e); /* call pawl_engine_step at this time at the latest */

/* Submits a job in the engine's next transaction, and runs it if this engine serves it. `done` is
 * called with the job and its id, or with the error.
 *
 * With `here`, an engine accepts only one job, which is in a queue that no other worker claims from
 * while this engine lives; if the engine dies, a worker with the same state folder takes the job
 * over. If the configuration disables queues, see pawl_has_queue. */
typedef void pawl_submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err);
PAWL_CHECKED int pawl_engine_submit(struct pawl_engine *e, const struct pawl_job *job,
                                    pawl_submitted *done, void *arg, struct pawl_error *err);

/* Called from pawl_engine_step after the engine has stored new output of an execution (`status` is
 * NULL) or the end of an attempt (`status` is the execution's status afterwards). */
typedef void pawl_stored(void *arg, int64_t execution, const char *status);
PAWL_API void pawl_engine_watch(struct pawl_engine *e, pawl_stored *stored, void *arg);

/* Makes the engine stop claiming, and return jobs that have not started to their queues. Commands
 * under a shim are left to the next worker. Functions may finish; if `now` is true, they are asked
 * to stop. */
PAWL_API void pawl_engine_stop(struct pawl_engine *e, bool now);
/* Whether the engine drains, because an operator has asked for it (pawl_worker_drain): it claims
 * and adopts nothing more, returns jobs that have not started to their queues, and goes on running
 * the others, commands too. Step it until pawl_engine_idle, then close it. *by is the user who
 * asked, *reason the reason (NULL if not given); both may be NULL, and are valid until the engine
 * is closed. */
PAWL_API bool pawl_engine_is_draining(const struct pawl_engine *e, const char **by,
                                      const char **reason);
/* Whether the engine has no jobs left. */
PAWL_API bool pawl_engine_idle(const struct pawl_engine *e);
/* Reads whether the engine is idle, and no job in its queues could be run by it, is being run by
 * another worker, or waits for a delay to end. Paused jobs do not count. SQL submissions that no
 * worker has taken count, except with `here`. */
PAWL_CHECKED int pawl_engine_drained(struct pawl_engine *e, bool *drained, struct pawl_error *err);
/* The configured worker.drain_grace, in µs. */
PAWL_API int64_t pawl_engine_drain_grace(const struct pawl_engine *e);

/* Warns of tasks that would wait for an executor that is not known, or fail because their executor
 * runs commands and they have none. An executor is not known if neither the configuration nor a
 * worker in the database has it, and it has run no attempt yet. Call this before you submit the
 * job; other errors in the job are not checked. Checks the executors that the tasks of its workflow
 * name, at any depth, and those that the routes choose; or the lane of a job that is not a
 * workflow. `each` is called once for each executor and kind of problem, with the first task
 * concerned. In the problem, `file` is NULL if the job is not a workflow; `shown` is always empty.
 * `e` is an engine opened with `here`, of which only the executors count, or NULL. */
PAWL_CHECKED int pawl_check_executors(struct pawl *p, struct pawl_engine *e,
                                      const struct pawl_job *job, pawl_problem_fn *each, void *arg,
                                      struct pawl_error *err);

/* ---- custom executors ---- */

/* An executor is a way to run attempts. An engine has executors for functions and for commands, and
 * accepts executors of the program in addition. Such an executor is a structure of functions that
 * serves one lane, named by its key.
 *
 *     start ──> pawl_report_started ──> pawl_report_log … ──> pawl_report_ended
 *
 * An executor has no access to the database: the engine handles leases, retries and history.
 * pawl_engine_step calls the functions of the structure one at a time; they should not block.
 * Reports may be made at any time from any thread, also from within the executor's functions; the
 * next step processes them. docs/EXECUTORS.md has the details. */
struct pawl_reporter;

/* Identifies an attempt. May be copied and kept, and used for reports until `free` returns;
 * reports about an attempt that has ended or was forgotten are ignored. */
struct pawl_attempt {
    struct pawl_reporter *to;
    int64_t execution;
    int attempt; /* from 1 */
};

/* An attempt that the executor is to run. Strings are valid until the executor's function
 * returns. */
struct pawl_task {
    struct pawl_attempt id;
    int64_t root;
    int epoch; /* fencing number, which rises with each claim and adoption */
    int max_attempts;
    const char *name; /* full name, such as workflow::task, workflow::task[3] or exec::NAME */
    /* Input as JSON; NULL if none. For a task without a command: the object `with`, whose values
     * keep their types, and item and index. */
    const char *input;
    const char *spec;            /* spec as JSON, as submitted with the job */
    struct pawl_command command; /* the parsed spec; may have neither run nor argv */
    int64_t lease_until;         /* CLOCK_BOOTTIME, µs */

    int64_t parent;            /* id of the execution's parent; 0 if it is the root of its tree */
    int64_t workflow;          /* id of the nearest workflow execution above; 0 if none */
    const char *workflow_name; /* for a task of a workflow; otherwise NULL, like task_name */
    const char *task_name;
    int index; /* position of an item in its fan-out, from 0; -1 for other executions */
    /* The item as JSON, as in the member `item` of input; NULL if it is not an item, or is a
     * command, which has the item in its environment. */
    const char *item;
    const char *queue;
    const char *tenant; /* name of the tenant; NULL for the default tenant */
    int priority;
    /* When the timeout ends if the attempt starts now (CLOCK_BOOTTIME, µs); 0 if none. */
    int64_t deadline;
};

/* How an attempt ended. */
struct pawl_end {
    int outcome; /* enum pawl_outcome */
    bool has_exit_code;
    int exit_code, signal;
    const char *result; /* for PAWL_OK: outputs as JSON, at most 1 MB; NULL if none */
    const char *error;  /* for any other outcome: a sentence */
    /* Run time in µs; 0 if the engine must measure it from the report of the start. */
    int64_t duration;
    int64_t cpu, peak_memory; /* µs, bytes; 0 if not known */
    /* For PAWL_DEFERRED and PAWL_REFUSED: wait this long before the job may be claimed again. */
    int64_t retry_delay;
};

/* A custom executor. Only key and start are required. */
struct pawl_executor {
    const char *key; /* its key: at most 64 letters, digits, _ . - */
    void *data;      /* first argument of the functions */
    /* How many attempts run at a time; 0 for the configured number, else the engine's limit. */
    int slots;
    /* Whether an attempt keeps running when this process ends, so that another worker can
     * reattach to it. */
    bool outlives_worker;

    /* Starts an attempt. After it returns 0, the end of the attempt must be reported exactly once.
     * -PAWL_E_REFUSED means that nothing was started: the job is returned to its queue without
     * counting an attempt, and the engine offers this executor no jobs for a while. Any other error
     * means that the attempt failed. The history keeps the error's sentence. */
    int (*start)(void *data, const struct pawl_task *t, struct pawl_error *err);

    /* Reattaches to an attempt that another worker started, or this worker under an older epoch;
     * reports follow as after `start`. If the attempt does not exist any more, report PAWL_LOST
     * once nothing of it is left; never start it again. Errors are those of `start`. If NULL, an
     * attempt that does not run in this process is lost. Required if outlives_worker is set. */
    int (*find)(void *data, const struct pawl_task *t, struct pawl_error *err);

    /* Ends an attempt. Called once, when the attempt is cancelled, its timeout has passed, or the
     * engine must stop at once. The end must be reported as usual: as PAWL_CANCELLED, or with the
     * real outcome if the attempt ended before (it may have been reported already). NULL if
     * attempts can't be cancelled. */
    void (*cancel)(void *data, struct pawl_attempt a);

    /* Forgets an attempt that no longer belongs to this worker: its lease is lost, or the engine
     * stops and leaves the attempt to the next worker. If attempts outlive the worker, leave it
     * alone, since another worker may own it; otherwise stop it. If NULL, `cancel` is called
     * instead, unless attempts outlive the worker. */
    void (*forget)(void *data, struct pawl_attempt a);

    /* Called when the attempt's lease was renewed until this time (CLOCK_BOOTTIME, µs). May be
     * NULL. */
    void (*renewed)(void *data, struct pawl_attempt a, int64_t until);

    /* Called when the end of the attempt is stored: what the attempt left on the disk may be
     * removed. May be NULL. */
    void (*settled)(void *data, struct pawl_attempt a);

    /* Returns how many further attempts the executor can start now, if that depends on more than
     * its slots. Called in every step. May be NULL. */
    int (*capacity)(void *data);

    /* For an executor without threads: fd returns a descriptor, and ready is called when it is
     * readable. May be NULL. */
    int (*fd)(void *data);
    void (*poll)(void *data);

    /* Called last, from pawl_engine_close: ends the executor's threads, and every attempt that
     * can't run without them. May be NULL. */
    void (*free)(void *data);
};

/* Adds an executor. Call this before the first step. The structure and its key are copied. On
 * error, `free` of the executor is not called. */
PAWL_CHECKED int pawl_engine_add_executor(struct pawl_engine *e, const struct pawl_executor *x,
                                          struct pawl_error *err);

/* Reports that the attempt started `ago` µs ago. Without this report, the first output or the end
 * of the attempt counts as its start. */
PAWL_API void pawl_report_started(struct pawl_attempt a, int64_t ago);
/* Reports further output of the attempt, in order. The first and last 512 KiB are kept. */
PAWL_API void pawl_report_log(struct pawl_attempt a, const char *bytes, size_t len);
PAWL_API void pawl_report_ended(struct pawl_attempt a, const struct pawl_end *end);

/* The functions pawl_report_*, for the executors of plugins. */
struct pawl_report_ops {
    void (*started)(struct pawl_attempt a, int64_t ago);
    void (*log)(struct pawl_attempt a, const char *bytes, size_t len);
    void (*ended)(struct pawl_attempt a, const struct pawl_end *end);
};

/* ---- custom workers ---- */

/* A worker claims jobs, runs them, and settles them. It has a lease for each job, which it must
 * renew; a worker that does not is presumed dead, and another worker with the same folder adopts
 * its jobs. Every write by a worker is fenced by the lease's epoch, so that a worker that has lost
 * the lease changes nothing.
 *
 *     claim -> started -> (heartbeat …) -> settle          tick from time to time */
struct pawl_worker;

struct pawl_worker_options {
    const char *const *lanes;  /* lanes to serve; ends with NULL; NULL for "process" */
    const char *const *queues; /* queues to serve; ends with NULL; NULL for "default" */
    /* Workers with the same folder can adopt each other's jobs; NULL for the host's name. */
    const char *folder;
    /* Length of a lease; 0 for 30 s; call pawl_heartbeat at least three times in this time. */
    int64_t lease;
    /* How long after the end of its lease a job of another folder is left to the workers of that
     * folder; 0 for 5 min. */
    int64_t host_grace;
    /* How many jobs the worker runs at once, as shown by `pawl workers`; 0 for 1. */
    int slots;
};

/* Registers a worker on the handle. Close the worker before the handle. */
PAWL_CHECKED int pawl_worker_open(struct pawl *p, const struct pawl_worker_options *options,
                                  struct pawl_worker **out, struct pawl_error *err);
/* Deregisters the worker if possible. Leases that the worker still holds will expire. */
PAWL_API void pawl_worker_close(struct pawl_worker *w);
PAWL_API int64_t pawl_worker_id(const struct pawl_worker *w);

/* A job claimed or adopted by a worker. */
struct pawl_claim {
    int64_t execution, root;
    int attempt; /* from 1 */
    int epoch;
    int max_attempts;
    /* Whether another worker started this attempt: reattach to it, or settle it as lost. */
    bool adopted;
    bool cancel_requested;
    const char *name, *queue, *lane, *input; /* valid until the worker's next call of pawl_claim */
};

/* Adopts orphaned jobs and claims ready ones, by priority and age, at most max jobs in total. Never
 * waits. */
PAWL_CHECKED int pawl_claim(struct pawl_worker *w, struct pawl_claim *out, size_t max, size_t *n,
                            struct pawl_error *err);

/* A lease of a worker. */
struct pawl_lease {
    int64_t execution;
    int epoch;

    bool lost; /* result: another worker may own the attempt: drop it, and leave its work alone */
    bool cancel_requested; /* result: stop the work and settle the attempt */
};

/* Renews leases. */
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
    PAWL_LOST,     /* how the attempt ended is unknown; never a success */
    PAWL_DEFERRED, /* run the job again after retry_delay; the attempt does not count */
    /* The job returned to its queue before anything started; the attempt does not count. */
    PAWL_REFUSED,
};

struct pawl_settlement {
    struct pawl_lease lease;
    int outcome; /* enum pawl_outcome */
    bool has_exit_code;
    int exit_code, signal;
    const char *result;  /* for PAWL_OK: outputs as JSON, at most 1 MB; NULL if none */
    const char *error;   /* for any other outcome: a sentence */
    int64_t duration;    /* run time of the attempt; -1 if not known */
    int64_t retry_delay; /* delay before the next attempt, if any is left; -1 for no retry */

    const char *status; /* result: the job's status afterwards; "ready" if it will be retried */
};

/* Ends attempts. A result that can't be stored becomes a failure with an error that says so.
 * Entries whose lease is lost change nothing; all others are durable when this returns. */
PAWL_CHECKED int pawl_settle(struct pawl_worker *w, struct pawl_settlement *list, size_t n,
                             struct pawl_error *err);

/* Whether an operator has asked this worker to drain (pawl_worker_drain), as of the last pawl_tick:
 * pawl_claim returns no job any more. Settle the jobs that it has, then close it. */
PAWL_API bool pawl_worker_is_draining(const struct pawl_worker *w);

/* Does the maintenance that one of the workers must do, ideally three times per lease: renews this
 * worker's own row, clears leases that were not renewed, and ends delays that are over. *next_due
 * (may be NULL) is the time at which the next delay ends, 0 if none. */
PAWL_CHECKED int pawl_tick(struct pawl_worker *w, int64_t *next_due, struct pawl_error *err);

/* ---- listeners ---- */

struct pawl_listener;

enum pawl_wake {
    PAWL_WAKE_JOBS = 1,   /* a job may be claimable */
    PAWL_WAKE_CANCEL = 2, /* a running job was asked to cancel */
    PAWL_WAKE_EVENTS = 4, /* there are new events */
    PAWL_WAKE_ENDS = 64,  /* an execution has ended */
};

/* Opens a listener for changes that this process and others make. `what` is a set of enum pawl_wake
 * bits. On PostgreSQL the listener uses the handle's connection. */
PAWL_CHECKED int pawl_listen(struct pawl *p, unsigned what, struct pawl_listener **out,
                             struct pawl_error *err);
PAWL_API void pawl_listener_close(struct pawl_listener *l); /* NULL is ignored */
/* A descriptor to poll for POLLIN; it may change after each drain, and is -1 while there is none.
 * Also check for work every pawl_listener_poll_ms milliseconds, because a wake-up may be lost. */
PAWL_API int pawl_listener_fd(const struct pawl_listener *l);
PAWL_API int pawl_listener_poll_ms(const struct pawl_listener *l);
PAWL_API unsigned pawl_listener_drain(
    struct pawl_listener *l); /* returns the wake-ups that have arrived; never waits */
/* Returns whether each event wakes the listener. On PostgreSQL only submissions and ends do: a
 * program that wants other events soon also looks for them. */
PAWL_API bool pawl_listener_is_complete(const struct pawl_listener *l);
/* Waits for a wake-up, at most timeout_ms (and never longer than pawl_listener_poll_ms), and
 * drains. */
PAWL_API unsigned pawl_listener_wait(struct pawl_listener *l, int timeout_ms);

/* ---- operator actions ---- */

/* In all functions below, `by` is the user recorded in the history; NULL for user@host of this
 * process. `reason` may be NULL. */

struct pawl_cancelled {
    /* Status of the execution now: cancelled, or running until its worker ends it. */
    const char *status;
    /* Number of executions in this tree that are still running and were asked to end. */
    int64_t left;
};

/* Cancels an execution and its descendants: waiting ones at once, running ones by a request that
 * their worker, or the worker that adopts them, carries out. PAWL_E_INVALID if all of them have
 * ended. After an error, some of them may be cancelled: call this again. */
PAWL_CHECKED int pawl_cancel(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_cancelled *out, struct pawl_error *err);

/* Like pawl_cancel, but running jobs may finish; no further jobs start. */
PAWL_CHECKED int pawl_let_finish(struct pawl *p, int64_t id, const char *by, const char *reason,
                                 struct pawl_cancelled *out, struct pawl_error *err);

/* Pauses an execution. When this returns, no job of the execution or of its descendants starts any
 * more, even after restarts; running jobs continue. A workflow's timeout keeps counting.
 * PAWL_E_INVALID if the execution has ended, is already paused, or is a single running job. */
PAWL_CHECKED int pawl_pause(struct pawl *p, int64_t id, const char *by, const char *reason,
                            struct pawl_error *err);
/* Ends a pause made by pawl_pause. Pauses of ancestors and of descendants remain. */
PAWL_CHECKED int pawl_resume(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_error *err);
/* Skips an execution that has not started. Its followers treat it as if it had succeeded. */
PAWL_CHECKED int pawl_skip(struct pawl *p, int64_t id, const char *by, const char *reason,
                           struct pawl_error *err);
/* Approve or reject the approval that a task waits for; a rejected task fails. */
PAWL_CHECKED int pawl_approve(struct pawl *p, int64_t id, const char *by, const char *reason,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_reject(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_error *err);

/* How to rerun. If neither `failed` nor `from` is set, everything runs again. */
struct pawl_rerun {
    /* Rerun tasks that failed or were cancelled, at any depth, and their followers. */
    bool failed;
    const char *from; /* rerun the task with this name and its followers */
    /* Setting params, file or document creates a new execution, linked to the old one by rerun_of.
     * It reuses the results of the tasks that need not run again (`failed`, `from`). */
    const char *const *params; /* new values, NAME=VALUE, ends with NULL; NULL for the old ones */
    const char *file;          /* another definition */
    const char *document;      /* another definition, as it is stored */
    bool dry_run;              /* only report what would run, and change nothing */
    /* If true, and an engine ran the execution with `here`, the new execution is reserved for such
     * an engine, too, which must be opened with the new id as `tree`. Otherwise the new execution
     * waits in the default queue. */
    bool here;
    const char *by, *reason;
};

/* Runs ended executions again, in place: they keep their ids and history, and their ended ancestors
 * reopen. `id` may be any node of a tree; its followers run again after it. *json (json may be
 * NULL; the caller frees it) is {"id", "rerun_of", "nodes": [{"id", "name", "status"}]}, where
 * status is how each node ended before; all descendants of a listed node run again. PAWL_E_INVALID
 * if the execution has not ended, or an execution that would run again is running. PAWL_E_REFUSED
 * if the limit of its concurrency key is reached. */
PAWL_CHECKED int pawl_rerun(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
                            struct pawl_error *err);

/* Limits how many jobs of a queue may be claimable or running at once; negative for no limit. Jobs
 * above the limit wait; running jobs continue. The limit of a paused queue takes effect when the
 * queue is resumed; *paused (may be NULL) is then true. If this function or one of the next two
 * fails, repeat the call. `by` (NULL for the user of this process) and `reason` are stored. */
PAWL_CHECKED int pawl_queue_limit(struct pawl *p, const char *queue, int max, const char *by,
                                  const char *reason, bool *paused, struct pawl_error *err);
/* Pauses a queue. When this returns, no job of the queue is claimed any more; running jobs
 * continue. */
PAWL_CHECKED int pawl_queue_pause(struct pawl *p, const char *queue, const char *by,
                                  const char *reason, struct pawl_error *err);
/* Resumes a queue: restores the limit that it had. PAWL_E_INVALID if the queue is not paused. */
PAWL_CHECKED int pawl_queue_resume(struct pawl *p, const char *queue, const char *by,
                                   const char *reason, struct pawl_error *err);

/* Asks a worker (16 hexadecimal digits) to drain: it claims nothing more, finishes the jobs that it
 * runs, commands too, and `pawl worker` then exits. The worker learns of it with its next
 * heartbeat, at the latest; there is no way to undo it. A repeated request changes nothing but `by`
 * and `reason`. PAWL_E_NOT_FOUND if there is no such worker, PAWL_E_INVALID if it runs in the
 * foreground. `by` is NULL for the user of this process, `reason` if there is none. */
PAWL_CHECKED int pawl_worker_drain(struct pawl *p, const char *worker, const char *by,
                                   const char *reason, struct pawl_error *err);

/* ---- webhooks ---- */

/* Without `url` a webhook is a URL of a server, POST /v1/hooks/NAME, that starts the applied
 * workflow whose `on: webhook` names it. Its messages are signed, so the URL needs no token.
 *
 * With `url` it reports ends of executions there, as signed messages. The transaction of an end
 * submits a job for each webhook that wants to know, in the queue "pawl:hooks"; an engine that
 * serves this queue delivers it, and repeats that for about 23 hours. */
struct pawl_hook {
    const char *name;      /* letters, digits, _ and -, like the name of a workflow */
    const char *signature; /* "standard" (Standard Webhooks) or "github"; NULL for standard. With
                              `url`, only standard */
    const char *secret;    /* the text that the other side gave; NULL to make one */

    const char *url;      /* http:// or https://, without a user and password */
    const char *statuses; /* with `url`: a list of final statuses, such as "failed,timed_out";
                             NULL for all but skipped */
    const char *workflow; /* with `url`: only runs of this workflow; NULL for all executions */
    const char *queue;    /* with `url`: only executions of this queue */
    bool tasks;           /* with `url`: also executions with a parent, such as tasks */
};

/* Creates a webhook. *secret is the text of its secret, which can't be read again later; the caller
 * frees it. The secret is stored, since messages can't be checked without it. PAWL_E_CONFLICT: a
 * webhook of this name exists; PAWL_E_INVALID: the secret is not one of this kind of signature. */
PAWL_CHECKED int pawl_hook_create(struct pawl *p, const struct pawl_hook *h, const char *by,
                                  const char *reason, char **secret, struct pawl_error *err);
/* Deletes a webhook. When this returns, its messages are refused. PAWL_E_NOT_FOUND: it does not
 * exist. */
PAWL_CHECKED int pawl_hook_revoke(struct pawl *p, const char *name, const char *by,
                                  const char *reason, struct pawl_error *err);

struct pawl_hook_header {
    const char *name, *value;
};
/* A message that a server received for a webhook. */
struct pawl_hook_message {
    const char *hook;
    const struct pawl_hook_header *headers; /* all of them, in any case of letters */
    size_t nheaders;
    const void *body;
    size_t size;

    /* out */
    bool admitted; /* the webhook exists, and the signature is right */
    int64_t id;    /* the execution */
    bool existed;  /* an earlier delivery of this message has created it */
};
/* Checks the signature of a message, and starts the workflow that the webhook triggers. Messages
 * with the same webhook-id (X-GitHub-Delivery for "github"; without it, with the same body) start
 * one execution. If the message is not admitted, the error does not tell whether the webhook
 * exists. PAWL_E_NOT_FOUND: no applied workflow names the webhook; PAWL_E_INVALID: the message is
 * not valid, or does not give valid params. */
PAWL_CHECKED int pawl_hook_receive(struct pawl *p, struct pawl_hook_message *m,
                                   struct pawl_error *err);

/* ---- applied workflows and schedules ---- */

struct pawl_applied {
    struct pawl_definition definition;
    bool unchanged; /* the name already had this definition */
    size_t kept;    /* schedules whose pattern did not change, so that they continue */
    size_t removed; /* schedules that the file no longer contains */
};

/* Stores a workflow file under the workflow's name, and replaces that workflow's schedules. Running
 * executions keep their definition. A schedule with the pattern and time zone of an earlier
 * schedule continues its state, including a pause; a new schedule starts now. `out` may be NULL. */
PAWL_CHECKED int pawl_apply(struct pawl *p, const char *file, const char *by,
                            struct pawl_applied *out, struct pawl_error *err);

/* Like pawl_apply, with YAML text; paths of nested workflows must be absolute. */
PAWL_CHECKED int pawl_apply_text(struct pawl *p, const char *yaml, const char *by,
                                 struct pawl_applied *out, struct pawl_error *err);

/* Like pawl_apply, with a workflow that was built in C or loaded. */
PAWL_CHECKED int pawl_apply_built(struct pawl *p, struct pawl_workflow *w, const char *by,
                                  struct pawl_applied *out, struct pawl_error *err);

/* How to apply a workflow, for pawl_apply_with. */
struct pawl_apply_options {
    /* The workflow: set one of these four. */
    const char *file;
    const char *yaml;
    struct pawl_workflow *built;
    const char *document; /* a definition as it is stored */

    const char *source; /* with document: the text that it was made from; NULL if not known */
    const char *by;     /* user, as in pawl_apply */
    const char *name;   /* the name that the workflow must have; NULL for any */
    /* The hash of the definition that the name must have; "" if the name must not be applied;
     * NULL for no condition. */
    const char *if_match;
};
/* Applies a workflow if if_match holds. If it does not hold, nothing changes, and the code is
 * PAWL_E_CONFLICT. */
PAWL_CHECKED int pawl_apply_with(struct pawl *p, const struct pawl_apply_options *options,
                                 struct pawl_applied *out, struct pawl_error *err);

struct pawl_applied_deleted {
    char hash[33]; /* hash of the definition that the name had */
    size_t schedules;
    size_t waiting; /* due times that waited for a run to end, and are dropped */
};
/* Deletes the name of an applied workflow and its schedules. Executions and waiting SQL submissions
 * continue and keep their definition. if_match is as in pawl_apply_with, but can't be "".
 * PAWL_E_NOT_FOUND if no workflow is applied under the name. `out` may be NULL. */
PAWL_CHECKED int pawl_applied_delete(struct pawl *p, const char *name, const char *if_match,
                                     const char *by, const char *reason,
                                     struct pawl_applied_deleted *out, struct pawl_error *err);

/* A schedule's full name is WORKFLOW/NAME, where NAME is its position in the list, from 1, if
 * the file does not name it. WORKFLOW alone means all of its schedules. Every engine fires
 * schedules, except those opened with `here`. */

/* Pauses schedules. Due times during the pause are skipped, including a due time that waits for a
 * run to end. */
PAWL_CHECKED int pawl_schedule_pause(struct pawl *p, const char *name, const char *by,
                                     const char *reason, struct pawl_error *err);
/* Resumes schedules: they continue with the due times from now on. PAWL_E_INVALID if none is
 * paused. */
PAWL_CHECKED int pawl_schedule_resume(struct pawl *p, const char *name, const char *by,
                                      const char *reason, struct pawl_error *err);
/* Starts a run now with the schedule's params, even if another run is active. The name must match
 * exactly one schedule. */
PAWL_CHECKED int pawl_schedule_run(struct pawl *p, const char *name, const char *by,
                                   const char *reason, int64_t *id, struct pawl_error *err);

/* ---- settings that all workers share ---- */

/* The database stores these settings. A configuration file only provides an initial value: a worker
 * (for routes, also a handle that submits) stores the value of its file if the database has none,
 * and otherwise uses the value of the database. */

struct pawl_retention {
    int execution_days; /* an execution is kept this long after its end; 0 for forever */
    /* The logs of an execution are kept this long; 0 for as long as the execution. */
    int log_days;
};
/* Sets the retention. PAWL_E_INVALID for more than 36,500 days, or if logs would be kept longer
 * than executions. */
PAWL_CHECKED int pawl_retention_set(struct pawl *p, const struct pawl_retention *r, const char *by,
                                    const char *reason, struct pawl_error *err);
/* Reads the retention that applies, as JSON. The caller frees *json. */
PAWL_CHECKED int pawl_retention_get(struct pawl *p, char **json, struct pawl_error *err);

struct pawl_route {
    const char *task;     /* a glob on a full name: * matches any text, ? one character */
    const char *executor; /* the key of the executor that runs the job */
};
struct pawl_routes {
    /* Path of a configuration file: take the routes and the default from its `dispatch`, and
     * ignore the other members below; NULL for none. */
    const char *file;
    const struct pawl_route *routes; /* the first route that matches is used */
    size_t n;                        /* number of routes; 0 for none */
    /* Executor of commands that no route matches; NULL for process. */
    const char *default_executor;
};
/* Replaces all routes. They apply to each job that becomes ready from now on; a job that is ready,
 * held or running keeps its executor. PAWL_E_INVALID if a glob or a key is empty or too long. An
 * executor that no worker has is accepted; pawl_routes_get lists it as unknown. */
PAWL_CHECKED int pawl_routes_set(struct pawl *p, const struct pawl_routes *r, const char *by,
                                 const char *reason, struct pawl_error *err);
/* Reads the routes that apply, as JSON. The caller frees *json. */
PAWL_CHECKED int pawl_routes_get(struct pawl *p, char **json, struct pawl_error *err);

struct pawl_fenced {
    int64_t generation; /* the new generation */
    int64_t jobs;       /* jobs that were running and have no worker now */
};

/* Fences the database. Call this after restoring a backup, or after promoting a PostgreSQL replica
 * that may lack commits: jobs that are running in the database may have ended in the time whose
 * commits are lost. Skips the execution ids and event numbers that may have been given out in that
 * time, raises the database's generation, accepts the server's timeline, and turns all running jobs
 * into orphans; the workers that adopt them end what is left of the attempts. */
PAWL_CHECKED int pawl_fence(struct pawl *p, struct pawl_fenced *out, struct pawl_error *err);

#define PAWL_TIMELINE_SIZE 40

/* Accepts the server's timeline (its system identifier, a slash and the number), and leaves the
 * jobs with their workers. Call this after promoting a PostgreSQL replica that certainly has every
 * commit. Until then, all changes on the new timeline fail with PAWL_E_UNAVAILABLE. `timeline` may
 * be NULL. PAWL_E_INVALID if the timeline can't be read. */
PAWL_CHECKED int pawl_accept_timeline(struct pawl *p, char timeline[PAWL_TIMELINE_SIZE],
                                      struct pawl_error *err);

/* ---- access tokens ---- */

/* A token lets its bearer act through a server, such as one that embeds this library. A token
 * belongs to the tenant whose handle created it. Its text is
 *
 *     pawl_TENANT_SECRETCHECKS
 *
 * with an empty TENANT for the default tenant, a secret of 43 characters, and six characters that
 * are a checksum. The database stores only the hash of the secret. */

enum pawl_scope {
    PAWL_SCOPE_READ = 1,
    PAWL_SCOPE_SUBMIT = 2,
    PAWL_SCOPE_OPERATE = 4, /* do operator actions on executions, queues and schedules */
    PAWL_SCOPE_WORK = 8,    /* claim jobs, as workers do */
    PAWL_SCOPE_ADMIN = 16,  /* change settings and tokens; implies all other scopes */
};

/* The word for one scope, such as "read"; NULL if the scope does not exist. The string is
 * static. */
PAWL_API const char *pawl_scope_text(unsigned scope);
/* Reads a list of words such as "read,submit" as bits of enum pawl_scope. PAWL_E_INVALID if a word
 * is not a scope. */
PAWL_CHECKED int pawl_scopes_parse(const char *text, unsigned *scopes, struct pawl_error *err);

struct pawl_token {
    /* Name, at most 100 bytes. A server passes it as `by` to the functions that it calls for the
     * bearer, so that the history contains it. */
    const char *name;
    unsigned scopes; /* bits of enum pawl_scope */
    /* With PAWL_SCOPE_WORK: the queues from which a worker may claim jobs, and the lanes of these
     * jobs. Each list ends with NULL and has at most 100 entries; NULL for any. */
    const char *const *queues, *const *lanes;
    int64_t expires_in; /* time until the token expires, at most 100 years; 0 for never */
};

/* Creates a token. *text is its text, which can't be read again later; the caller frees it.
 * PAWL_E_CONFLICT if an active token has this name. The name of a token that has expired or was
 * revoked may be used again. `by` and `reason` are stored, as in pawl_token_revoke. */
PAWL_CHECKED int pawl_token_create(struct pawl *p, const struct pawl_token *t, const char *by,
                                   const char *reason, char **text, struct pawl_error *err);
/* Revokes a token. When this returns, pawl_token_check refuses the token. PAWL_E_NOT_FOUND if no
 * token has this name, or it was revoked before. */
PAWL_CHECKED int pawl_token_revoke(struct pawl *p, const char *name, const char *by,
                                   const char *reason, struct pawl_error *err);

#define PAWL_TENANT_SIZE 42

/* Reads the name of a token's tenant, "" for the default tenant, from the token's text. Does not
 * use a database, so the token may not exist there. PAWL_E_INVALID if the text is not a token, or
 * was mistyped.
 * */
PAWL_CHECKED int pawl_token_tenant(const char *text, char tenant[PAWL_TENANT_SIZE],
                                   struct pawl_error *err);

/* The rights of a token's bearer. */
struct pawl_rights {
    const char *name; /* name of the token */
    /* Bits of enum pawl_scope, including those that PAWL_SCOPE_ADMIN implies. */
    unsigned scopes;
    const char *const *queues, *const *lanes; /* see struct pawl_token */
    int64_t expires_at;                       /* 0 for never */
};

/* Checks a token of the handle's tenant, by one read. Also records the time of use, at most once a
 * minute and only if the database accepts changes. PAWL_E_INVALID if the text is not a token, or
 * was mistyped. PAWL_E_NOT_FOUND if the token is unknown to this tenant, has expired or was
 * revoked; the error does not say which. Free *out with pawl_rights_free. */
PAWL_CHECKED int pawl_token_check(struct pawl *p, const char *text, struct pawl_rights **out,
                                  struct pawl_error *err);
PAWL_API void pawl_rights_free(struct pawl_rights *r); /* NULL is ignored */
/* Checks n tokens of the handle's tenant again, by one read, for a server whose clients stay
 * connected. Sets active[i] to whether pawl_token_check would accept texts[i]; records no use. */
PAWL_CHECKED int pawl_tokens_check(struct pawl *p, const char *const *texts, size_t n, bool *active,
                                   struct pawl_error *err);
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
 *                     and text for people) paused (itself, not only an ancestor) rerun_of
 *                     workflow_task workflow_execution children (in a tree)
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
 * a webhook           name direction (in out) url signature (standard github) workflow (that it
 *                     starts or reports) queue statuses tasks created_at created_by
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
 * a definition        definition (its hash) params document source
 * a submission        id workflow status (waiting, taken, refused) execution (once taken)
 *                     error (why it was refused) key queue priority delay_us params definition
 *                     requested_by source (the run that ended) requested_at decided_at
 * a worker            id host pid folder version room claim_ahead leases started_at seen_at
 *                     silent_us serves (the queues of each lane; none while the worker drains or
 *                     stops) executors (the room of each) state (alive draining silent) drain
 *   drain             since by reason
 * an overview         at queues workers running ended
 *   running           id root name queue executor attempt max_attempts worker since elapsed_us
 *                     last_line
 *   ended             queue done failed */

/* Called with one JSON object, without a newline. Returning a value other than 0 ends the reading;
 * the function that reads then returns 0. */
typedef int pawl_line(void *arg, const char *json);

/* Returns the JSON Schema of the objects above: one object whose members are named after them
 * (Execution, Event, Queue, DueTime, …). The caller frees it. */
PAWL_API char *pawl_answer_schemas(void);

/* Reads one execution, as JSON. The caller frees *json. */
PAWL_CHECKED int pawl_show(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* Reads only the status of an execution, which is cheaper. The string is static. */
PAWL_CHECKED int pawl_status(struct pawl *p, int64_t id, const char **status,
                             struct pawl_error *err);
/* Waits until an execution has ended, at most timeout_ms (negative for no limit). *status is its
 * status after the wait. Also works for a SQL submission that no engine has accepted yet. Do not
 * call it on the thread that steps the engine which must run the execution: use pawl_engine_watch
 * there. */
PAWL_CHECKED int pawl_wait(struct pawl *p, int64_t id, int timeout_ms, const char **status,
                           struct pawl_error *err);
/* pawl_parent reads the parent of an execution; pawl_workflow reads the workflow execution of which
 * it is a task. PAWL_E_NOT_FOUND if there is none. The caller frees *json. */
PAWL_CHECKED int pawl_parent(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
PAWL_CHECKED int pawl_workflow(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* Reads the children of an execution, ordered by requested_at and id. */
PAWL_CHECKED int pawl_children(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                               struct pawl_error *err);
/* Reads the tasks of a workflow execution and the items of its fan-outs, without the tasks of
 * nested workflows. PAWL_E_INVALID if id is not a workflow execution. */
PAWL_CHECKED int pawl_tasks(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                            struct pawl_error *err);
/* Reads an execution and its descendants, as one object with nested children. The caller frees
 * *json. */
PAWL_CHECKED int pawl_tree(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* Counts an execution and its descendants, up to `most`, by reading no more than an index of them;
 * 0 if the execution does not exist. For a program that must not read a tree of any size. */
PAWL_CHECKED int pawl_tree_size(struct pawl *p, int64_t id, int64_t most, int64_t *n,
                                struct pawl_error *err);
/* Reads an execution and its descendants, one object per line, each parent before its children. */
PAWL_CHECKED int pawl_tree_lines(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                                 struct pawl_error *err);
/* Reads a summary of a tree for display, as lines of a kind of their own ("a line of an outline"):
 * large fields are left out, and the items of fan-outs are counted. Only some running and some
 * failed items (at most 10 each) have lines, with all their descendants. *now (may be NULL) is the
 * database's time. */
PAWL_CHECKED int pawl_outline(struct pawl *p, int64_t id, pawl_line *each, void *arg, int64_t *now,
                              struct pawl_error *err);

/* A moment in the past: the state after all events up to a time or, if `time` is 0, up to an
 * event number. Exactly one of them is set. */
struct pawl_moment {
    int64_t time, event;
};

/* Like pawl_show, pawl_tree and pawl_outline, but as of a moment: the state is computed from the
 * events alone. Executions requested later are missing; if the execution `id` itself was requested
 * later, the error is PAWL_E_NOT_FOUND and says when. Fields that events do not contain are null:
 * the input of a task that was not ready yet or has been rerun since. *now is the time of the
 * moment. */
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

/* A filter for executions. If all members are 0, it selects the newest executions without a parent.
 * Strings may be NULL. */
struct pawl_list_query {
    int64_t parent;     /* list only children of this execution; not with `all` */
    bool all;           /* list executions at any depth, not only those without a parent */
    const char *status; /* "failed", "ready,running" */
    const char *kind;   /* kind: workflow, task, foreach or exec */
    const char *name;   /* glob for the full name: * matches any text, ? one character */
    /* Name of a workflow: list its executions and, with `all` or `parent`, its tasks. */
    const char *workflow;
    const char *queue;
    int64_t before; /* list only ids smaller than this; 0 for any */
    int64_t limit;  /* number of executions; 0, or more than 1,000, for 1,000 */
    /* List only what pawl_tasks lists for this workflow execution, in the order of pawl_tasks
     * and without a limit of 1,000; not with parent, all, workflow or before. */
    int64_t tasks;
    int64_t since, until; /* since <= requested_at < until; 0 for no bound */
    /* Last worker that ran the execution: 16 hexadecimal digits, as in JSON. */
    const char *worker;
    const char *host; /* host of that worker */
    const char *by;   /* glob for requested_by, as for the name; tasks have no requested_by */
    /* A list of NAME=VALUE, ends with NULL: list only executions whose input is an object with all
     * these members. A member matches if it is the string VALUE, or has the value that VALUE has as
     * JSON: n=5 matches 5, 5.0 and "5". NULL if none. */
    const char *const *params;
};

/* Lists executions, newest first, one page. *next (may be NULL) is the `before` of the next page, 0
 * if this page is the last. since and until use an index: ids rise with requested_at, except that
 * they may be out of order by up to a minute. (If the server's clock was set back by more than
 * that, executions of that time may be missing.) Other filters have no index and examine at most
 * 100,000 executions per call: a page may be short, even empty, before the end. */
PAWL_CHECKED int pawl_list(struct pawl *p, const struct pawl_list_query *query, pawl_line *each,
                           void *arg, int64_t *next, struct pawl_error *err);
/* Counts executions that match, by status: the newest 10,000 at most, or `limit` if that is less.
 * If `more` is true, older ones may match, too. `tasks` can't be set. The caller frees *json.
 *
 * counts              total pending ready running succeeded failed timed_out cancelled skipped
 *                     more */
PAWL_CHECKED int pawl_counts(struct pawl *p, const struct pawl_list_query *query, char **json,
                             struct pawl_error *err);
/* Finds the newest execution that has no parent; PAWL_E_NOT_FOUND if there is none. */
PAWL_CHECKED int pawl_last(struct pawl *p, int64_t *id, struct pawl_error *err);

/* An action on all executions that match a filter. */
struct pawl_bulk {
    /* Name of the action: cancel, let_finish, pause, resume, skip or rerun, like the functions
     * above; or rerun_failed, which is pawl_rerun with `failed`. */
    const char *action;
    /* At least one filter besides `all`, `before` and `limit` must be set; `tasks` can't be set.
     * limit is the maximum number of executions; 0 for no limit. */
    const struct pawl_list_query *filter;
    bool dry_run; /* only report the executions that match, and change nothing */
    const char *by, *reason;
};
struct pawl_bulk_result {
    int64_t matched; /* executions that match the filter and whose state allows the action */
    int64_t done;    /* executions for which the action was carried out; always 0 in a dry run */
    /* Executions for which the action was refused; the line of each has the error. */
    int64_t refused;
    /* Executions to which the action no longer applied: they ended, or another user was faster. */
    int64_t changed;
    int code; /* enum pawl_code of the first refusal; 0 if none */
    /* If used as filter->before of another call, that call handles only executions that this
     * call saw. */
    int64_t before;
};

/* Carries out an action on many executions, newest first. Executions whose state does not allow the
 * action do not match: for example, ended executions do not match a cancel, and paused ones do not
 * match a pause. So the call can be repeated after an error or an interruption, and continues with
 * the rest. It never acts on executions that are requested while it runs. Each slice of at most 100
 * executions is a transaction of its own (in a rerun, each execution is); after an error the
 * completed slices remain, and *result (may be NULL) counts them. A refusal of one execution does
 * not end the call: it is counted, and the others follow.
 *
 * `each` (may be NULL) is called after each slice, once for each of its executions. If it returns
 * nonzero, the call ends between two slices with 0. Memory does not grow with the number of
 * executions.
 *
 * a line of a bulk action  id name status (after the action; in a dry run, now) error (null unless
 *                     it was refused) */
PAWL_CHECKED int pawl_bulk(struct pawl *p, const struct pawl_bulk *bulk, pawl_line *each, void *arg,
                           struct pawl_bulk_result *result, struct pawl_error *err);

/* Explains why an execution has its status: the exact condition that is not met, and how its
 * attempts ended. {id name status reasons: [{code text …}]}: codes are stable, text is for people,
 * the other fields depend on the code. The caller frees *json.
 *
 * ready    no_worker not_served in_line (lane queue before alive serving room busy)
 * held     approval (since message until) delay retry deferred released (until in_us …)
 *          limit (key max used holders before) queue_paused (queue since by reason)
 * running  running (attempt max_attempts since worker host lease_until) worker_silent (worker
 *          silent_us lease_until) orphan (worker expired_at folder alive_in_folder others_from
 *          alive_elsewhere) children (open) items (total made left max_parallel open)
 *          for a workflow or fan-out also why its first ready task waits (task: its id)
 * pending  needs (left all join succeeded if needs: the open ones)
 * ended    ended (status at error by reason failed: the first job that failed in a workflow), and
 *          for a skipped task needs: those that did not succeed
 * all      paused (execution: the paused one, since by reason) cancel_requested let_finish (since
 *          by reason), and for each attempt that did not succeed attempt (attempt outcome
 *          exit_code signal duration_us error at) */
PAWL_CHECKED int pawl_why(struct pawl *p, int64_t id, char **json, struct pawl_error *err);

/* A position in the stored output of an attempt. */
struct pawl_log_place {
    int64_t execution;
    int attempt;  /* number of the attempt; 0 for the last one */
    int64_t from; /* offset in the attempt's whole output, in bytes; 0 for the start */
};

/* A part of the output of an attempt, without gaps. */
struct pawl_log_page {
    int attempt; /* the attempt that wrote the output; 0 if no attempt was started yet */
    size_t len;  /* number of bytes copied */
    /* Offset of the first byte: the requested one, or a greater one if bytes are missing there. */
    int64_t from;
    int64_t next;    /* offset where the next page starts */
    int64_t dropped; /* number of bytes that are missing right before this part */
    bool more;       /* whether another page can be read at once */
    /* Whether the attempt has ended: then no further output will come, unless `more` is set. */
    bool ended;
};

/* Reads a page of an attempt's output, while the attempt runs or after it has ended: copies at most
 * `size` bytes to `out`. A page may be shorter than `size` although more output follows.
 * PAWL_E_NOT_FOUND if there is no such execution or attempt. */
PAWL_CHECKED int pawl_log(struct pawl *p, const struct pawl_log_place *at, char *out, size_t size,
                          struct pawl_log_page *page, struct pawl_error *err);

/* Returns metrics in the Prometheus text format: gauges of queues, workers and executors, and the
 * counters of attempts, which are exact at every commit. The caller frees *text. */
PAWL_CHECKED int pawl_metrics(struct pawl *p, char **text, struct pawl_error *err);

/* A filter for applied workflows. If all members are 0, it selects all names, from the first on. */
struct pawl_applied_query {
    const char *name;  /* glob for the name: * matches any text, ? one character; NULL for all */
    const char *after; /* list only names after this one; NULL to begin with the first */
    int64_t limit;     /* number of names; 0, or more than 1,000, for 1,000 */
};

/* Lists applied workflows, ordered by name, one page. `query` may be NULL. If *more (may be NULL)
 * is true, there is another page, which starts after the last name of this one. */
PAWL_CHECKED int pawl_applied_list(struct pawl *p, const struct pawl_applied_query *query,
                                   pawl_line *each, void *arg, bool *more, struct pawl_error *err);
/* Reads one applied workflow with its params, schedules, tasks, and the text that it was applied
 * from. `version` is the hash of an earlier definition; NULL for the current one. A version can be
 * read as long as its definition is kept, also after the name was deleted. The caller frees
 * *json. */
PAWL_CHECKED int pawl_applied_show(struct pawl *p, const char *name, const char *version,
                                   char **json, struct pawl_error *err);
/* Lists the definitions that a name has had, newest first: at most `limit` (0, or more than 1,000,
 * for 1,000) with a version number below `before` (0 for any). Applying the current definition
 * again does not add a version. If *more (may be NULL) is true, there are others. */
PAWL_CHECKED int pawl_applied_versions(struct pawl *p, const char *name, int64_t before,
                                       int64_t limit, pawl_line *each, void *arg, bool *more,
                                       struct pawl_error *err);

/* Lists schedules, ordered by name: those of the workflow `name`, or the one schedule with this
 * full name; all if name is NULL. */
PAWL_CHECKED int pawl_schedules(struct pawl *p, const char *name, pawl_line *each, void *arg,
                                struct pawl_error *err);
/* Lists the next due times of the schedules that the name selects: at most n in total, earliest
 * first. Paused schedules have none. */
PAWL_CHECKED int pawl_schedule_next(struct pawl *p, const char *name, size_t n, pawl_line *each,
                                    void *arg, struct pawl_error *err);
struct pawl_submission_query {
    const char *status; /* waiting, taken or refused; NULL for all */
    int64_t limit;      /* 0, or more than 1,000, for 1,000 */
    const char *cursor; /* *next of the page before; NULL for the first page */
};
/* Lists SQL submissions (made with pawl_submit() in a PostgreSQL transaction), newest first; with
 * the status waiting, in the order in which workers take them. *next (may be NULL) is set to the
 * cursor of the next page, which the caller frees; NULL if there is none.
 *
 * pawl_show, pawl_status, pawl_tree, pawl_why, pawl_list, pawl_last, pawl_wait and pawl_cancel
 * treat a waiting submission as the execution that it becomes: a pending workflow with the same id,
 * whose `waiting` starts with "submission". Other functions fail with PAWL_E_NOT_FOUND until a
 * worker has taken it. */
PAWL_CHECKED int pawl_submissions(struct pawl *p, const struct pawl_submission_query *query,
                                  pawl_line *each, void *arg, char **next, struct pawl_error *err);
/* List queues or workers, one object each. */
PAWL_CHECKED int pawl_queues(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);
PAWL_CHECKED int pawl_workers(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);

/* Lists all access tokens, also expired and revoked ones, ordered by name and age; without
 * secrets. */
PAWL_CHECKED int pawl_tokens(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);

/* All webhooks, ordered by name; without secrets. */
PAWL_CHECKED int pawl_hooks(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);

/* Options for an overview; 0 or NULL for the default. */
struct pawl_overview_query {
    /* Text that the name or queue of the listed running jobs contains, ignoring case; NULL for
     * all. */
    const char *part;
    int64_t limit; /* how many running jobs to list, at most 1,000; 0 for 100 */
};

/* Reads a snapshot of the whole database, which is cheap enough to be read every second: queues
 * (those of foreground runs are combined as "here"), workers, running jobs (oldest first, each with
 * its last line of output), and the number of attempts that have ended, as workers count them with
 * each heartbeat. The caller frees *json. */
PAWL_CHECKED int pawl_overview(struct pawl *p, const struct pawl_overview_query *query, char **json,
                               struct pawl_error *err);

/* A filter for events. */
struct pawl_event_query {
    /* Read events of this execution and its descendants, oldest first; 0 for all events, newest
     * first. */
    int64_t execution;
    bool self; /* leave out events of the execution's descendants */
    /* Types, such as "task.failed"; "failed" (for tasks and workflows) or "failed,timed_out". */
    const char *types;
    int64_t since, until; /* since <= created_at < until; 0 for no bound */
    int64_t limit;        /* number of events; 0 for no limit */
    /* The position from which to continue a list. With `execution`: the sequence_num of the last
     * event that was read. Without: the sequence_num and the created_at of that event. 0 to begin
     * at the start. */
    int64_t last, last_time;
    /* For pawl_follow: continue at this position of another follower, with the same filters. */
    const char *position;
};

/* Reads the history, one event per line. */
PAWL_CHECKED int pawl_events(struct pawl *p, const struct pawl_event_query *query, pawl_line *each,
                             void *arg, struct pawl_error *err);

/* A follower returns events in the order of their numbers, without gaps, including those of
 * transactions that commit late. It starts with the first event of the query's execution or, if the
 * query has none, with new events. `limit` of the query is ignored. */
struct pawl_follower;

/* Opens a follower. types, since and until of the query filter the events. */
PAWL_CHECKED int pawl_follow(struct pawl *p, const struct pawl_event_query *query,
                             struct pawl_follower **out, struct pawl_error *err);
/* Reads events that were added since the last call, but perhaps not all of them; never waits. *n is
 * the number of events read. If `each` stops the reading, the remaining events of this call are not
 * delivered again. */
PAWL_CHECKED int pawl_follower_next(struct pawl_follower *f, pawl_line *each, void *arg, size_t *n,
                                    struct pawl_error *err);
/* Where the follower is, as a text: another one that starts there, even in another process, returns
 * the events that this one has not returned. Valid until the next call; NULL before the first call
 * of pawl_follower_next by a follower of all events. */
PAWL_API const char *pawl_follower_position(struct pawl_follower *f);
/* Whether everything up to its position is known: no transaction is open that may still commit an
 * earlier event. What other functions read afterwards includes all events up to the position. */
PAWL_API bool pawl_follower_is_complete(const struct pawl_follower *f);
PAWL_API void pawl_follower_close(struct pawl_follower *f);

/* ---- maintenance ---- */

struct pawl_verify_options {
    const char *save;  /* path of a file to write a checkpoint to; NULL for none */
    const char *since; /* path of a checkpoint to compare with; NULL for none */
    int64_t lease;     /* the longest lease in use; 0 for 30 s */
    /* Whether to check this host, too: compare its state folder with the database. */
    bool host;
    const char *state; /* the state folder; NULL for the configured one, else the user's default */
    /* Called for each violation: the invariant, the execution (0 if none), and what is wrong. */
    void (*violation)(void *arg, const char *invariant, int64_t execution, const char *detail);
    void *arg;
};

struct pawl_verify_result {
    size_t checks, violations;
    int64_t executions, events;
    /* For `host`: how many attempts and workers were found on this host. */
    int64_t attempts, workers;
};

/* Checks the invariants of the whole database. PAWL_E_VIOLATION if one does not hold; the result is
 * set in that case, too. Through a server without save, since and host, with the scope admin;
 * PAWL_E_REFUSED if the server is checking already. */
PAWL_CHECKED int pawl_verify(struct pawl *p, const struct pawl_verify_options *options,
                             struct pawl_verify_result *result, struct pawl_error *err);

struct pawl_cleanup_result {
    int64_t trees, executions, events;
};

/* Removes trees that ended more than older_than ago, with all their rows. Works in slices, each of
 * which is atomic; after an error, slices that were completed stay removed. With dry_run, trees are
 * only counted. */
PAWL_CHECKED int pawl_cleanup(struct pawl *p, int64_t older_than, bool dry_run,
                              struct pawl_cleanup_result *result, struct pawl_error *err);

#ifdef __cplusplus
}
#endif

#endif
