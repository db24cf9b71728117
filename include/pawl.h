/* pawl.h - Pawl, a durable workflow and job engine, as a library: the only installed header.
 *
 *     struct pawl_error e;
 *     struct pawl *p;
 *     struct pawl_job job = {.name = "exec::hello", .lane = "function:hello", .input = "[1]"};
 *
 *     if (pawl_open(&(struct pawl_options){.url = "sqlite:jobs.db"}, &p, &e) ||
 *         pawl_submit(p, &job, 1, &e))
 *         fprintf(stderr, "%s\n", e.message);
 *
 * All functions return 0, or one of enum pawl_code made negative; then the error holds a sentence
 * for people (it may be NULL if nobody wants it), and nothing was changed unless the function says
 * otherwise. Results are set on success only. What was accepted is durable. Structures start as
 * zeroes: a field that is 0 has its default. Texts are UTF-8. Times are µs since 1970, spans of
 * time are µs.
 *
 * A handle and everything made from it belong to one thread at a time; several may be open. The
 * library prints nothing and has no global state. Its threads (functions, heartbeats and wake-ups
 * on PostgreSQL) take no signals and end with what they belong to. A process that may run out of
 * memory should know that the library ends it in that case.
 *
 * JSON is the same here and on the command line; the table is at "reading" below. JSON that is
 * given to the library nests lists and objects at most 64 levels deep.
 *
 * The parts, in this order:
 *
 *     versions and errors                   codes, and sentences for people
 *     open and close                        a database, its schema, its tenants
 *     submit                                jobs, and workflows; idempotency keys
 *     commands                              how the command of a job is run
 *     a transaction of your own             your tables and what you submit, together
 *     definitions                           workflow files: checked and drawn
 *     workflows built in C                  the same, put together by calls
 *     functions                             jobs that are C functions; plugins
 *     an engine: a worker that runs things  the loop, or steps in a loop of yours
 *     executors of your own                 other ways to run a job
 *     a worker of your own                  claim, heartbeat and settle by hand
 *     waiting for others                    a descriptor that wakes you
 *     an operator's hand                    cancel, pause, skip, approve, rerun; queues
 *     workflows by name, and by the clock   apply, and schedules
 *     reading                               trees, lists, logs, why, events; pawl_wait
 *     keeping in order                      verify, and cleaning up */
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
    PAWL_E_INTERNAL = 1, /* a bug, or something that must hold does not */
    PAWL_E_INVALID,      /* what was given can't be taken */
    PAWL_E_CONFLICT,     /* the same key was used for something else */
    PAWL_E_NOT_FOUND,    /* no such execution, tenant, … */
    PAWL_E_UNAVAILABLE,  /* the database can't be used: down, locked out, not one of ours */
    PAWL_E_NO_SPACE,     /* the disk is full: nothing was written */
    PAWL_E_SCHEMA,       /* the database's schema is missing, or newer than this library */
    PAWL_E_REFUSED,      /* at capacity */
    PAWL_E_LEASE_LOST,   /* another worker may own this attempt by now: touch nothing */
    PAWL_E_BUSY,         /* locked by somebody else for too long */
    PAWL_E_REDO,         /* (these two are met inside, and tried again) */
    PAWL_E_CONN_LOST,
    PAWL_E_COMMIT_UNKNOWN, /* the database went away while it committed: it may be stored or not */
    PAWL_E_BREACH,         /* verify found something that does not hold */
};

/* What is missing, of that which a program may know how to come by. */
enum pawl_missing {
    PAWL_MISSING_EXECUTION = 1, /* there is none with this id */
    PAWL_MISSING_PARAM,         /* the workflow has it, and wants a value */
};

struct pawl_error {
    int code; /* enum pawl_code */
    char message[1024];
    int missing;    /* enum pawl_missing; 0: none of these */
    char name[104]; /* of what is missing: the id, the param */
};

PAWL_API const char *pawl_version(void); /* of the library that is in use */

/* What a command line exits with for such a code: 2 wrong use, 5 not found, 6 no database … */
PAWL_API int pawl_exit_code(int code);

/* ---- open and close ---- */

struct pawl;

struct pawl_options {
    const char *url;    /* sqlite:FILE, postgres://USER@HOST/DATABASE; NULL: pawl_default_url */
    const char *tenant; /* NULL: $PAWL_TENANT beside $PAWL_DB, as configured, or the default one */
    const char *config; /* pawl.yaml; NULL: $PAWL_CONFIG, ./pawl.yaml or the user's, if there */
    bool must_exist;    /* for readers: create nothing, upgrade nothing */
    int64_t patience;   /* how long to go on trying while the database is away; 0: 30 s */

    /* Each statement with its time, and sentences for an operator (a lost connection). NULL:
     * silent. */
    void (*trace)(void *arg, const char *statement, int64_t took, long rows);
    void (*note)(void *arg, const char *sentence);
    void *arg;
};

/* $PAWL_DB, else what the configuration says, else a file below $XDG_STATE_HOME or ~/.local/state.
 * The caller frees *url. */
PAWL_CHECKED int pawl_default_url(char **url, struct pawl_error *err);

/* Opens a database. Unless it must exist, it is created, or its schema brought up to date. */
PAWL_CHECKED int pawl_open(const struct pawl_options *options, struct pawl **out,
                           struct pawl_error *err);
PAWL_API void pawl_close(struct pawl *p); /* NULL is fine */

/* Where it is, without a password. */
PAWL_API const char *pawl_url(const struct pawl *p);

/* Creates the database, or brings its schema up to date; *version, if wanted, is what it has then.
 */
PAWL_CHECKED int pawl_migrate(const struct pawl_options *options, int *version,
                              struct pawl_error *err);

/* Tenants are worlds of their own in one place; names are [a-z][a-z0-9_]{0,40}. options.tenant is
 * not looked at. Dropping one removes all that it has. */
PAWL_CHECKED int pawl_tenant_create(const struct pawl_options *options, const char *name,
                                    struct pawl_error *err);
PAWL_CHECKED int pawl_tenant_drop(const struct pawl_options *options, const char *name,
                                  struct pawl_error *err);
PAWL_CHECKED int pawl_tenant_list(const struct pawl_options *options,
                                  void (*each)(void *arg, const char *name), void *arg,
                                  struct pawl_error *err);

/* ---- submit ---- */

/* A job: one execution of kind exec, to be claimed by a worker that serves its lane and queue. */
struct pawl_job {
    const char *name;  /* needed; by habit exec::NAME; at most 200 bytes */
    const char *queue; /* NULL: "default" */
    const char *lane;  /* what a worker must have: an executor's key, or "function:NAME"; NULL: as
                          the configuration routes commands of that name */
    const char *input; /* JSON of any type, at most 1 MB; NULL: none */
    /* A workflow file instead of a command: name, lane and spec are not looked at then, input is
     * the object of its params, and refused if they do not fit. NULL: it is none. */
    const char *workflow;
    const char *yaml; /* the same as a text: what it nests has an absolute path; NULL: it is none */
    const char *applied; /* the same by the name of a workflow that was applied; NULL: it is none */
    struct pawl_workflow *built; /* the same as it was built in C; NULL: it is none */
    const char *const *params;   /* NAME=VALUE beside input, read as the workflow types them; ends
                                    with NULL; NULL: none */
    const char *spec;            /* how it is run: see pawl_command_spec; NULL: as functions are */
    const char *key;             /* the same key gives the same execution; NULL: none */
    const char *
        concurrency; /* at most concurrency_max jobs of this key are claimed at a time; NULL: any */
    int concurrency_max; /* taken when the key is seen first; 0: 1 */
    int priority;        /* the higher goes first */
    int max_attempts;    /* 0: 1 */
    int64_t delay;       /* until it may be claimed */
    int64_t parent;      /* an execution that has not ended; 0: it is a tree of its own */
    bool refuse;         /* PAWL_E_REFUSED instead of waiting for a limit that has no room */

    int64_t id;   /* out */
    bool existed; /* out: id is an earlier one, by the key */
};

/* Stores all of them or, with an error, none. */
PAWL_CHECKED int pawl_submit(struct pawl *p, struct pawl_job *jobs, size_t n,
                             struct pawl_error *err);

/* ---- commands ---- */

/* A command, to be run under the lane of an executor for commands. */
struct pawl_command {
    const char *run;         /* shell text for /bin/sh -c; NULL: argv */
    const char *const *argv; /* ends with NULL */
    const char *cwd;         /* absolute; NULL: a folder of the attempt's own */
    const char *input;       /* its standard input; NULL: none */
    const char *user;        /* name or number; NULL: the worker's */
    const char *const *env;  /* NAME=VALUE, ends with NULL; NULL: none */
    const char *const
        *secrets; /* names, ends with NULL: resolved where it runs, masked in its output */
    const char *const
        *outputs;        /* the names that count in $PAWL_OUTPUT, ends with NULL; NULL: all */
    int64_t timeout;     /* per attempt; 0: as configured, else none */
    int64_t grace;       /* between TERM and KILL; 0: 10 s */
    int64_t memory, cpu; /* bytes, µs of processor time; 0: no limit */
    int files, pids;
};
/* When a failed attempt is tried again; how often is pawl_job.max_attempts. */
struct pawl_retry {
    int64_t delay;     /* before the second attempt; 0: as configured, else 1 s */
    double backoff;    /* 0: as configured, else 2 */
    int64_t max_delay; /* 0: as configured, else 5 min */
    double jitter;     /* 0..1; 0: as configured, else 0.1; < 0: none */
    const int *codes;  /* only these exit codes; NULL: as configured, else all */
    size_t ncodes;
};
/* The JSON for pawl_job.spec. command is NULL for a function; retry may be NULL. The caller frees
 * *spec. */
PAWL_CHECKED int pawl_command_spec(struct pawl *p, const struct pawl_command *command,
                                   const struct pawl_retry *retry, char **spec,
                                   struct pawl_error *err);
/* How often the configuration wants a failed job to be tried in all: 1 or more. */
PAWL_API int pawl_default_attempts(struct pawl *p);
/* Whether the configuration wants work to wait in queues for workers; else it is to be run at once
 * where it is submitted, by an engine that works `here`, or refused. */
PAWL_API bool pawl_has_queue(const struct pawl *p);

/* ---- a transaction of your own ---- */

/* With SQLite a program may keep tables of its own in the same file, and change them together with
 * what it submits: all of it is stored, or nothing. It does so through the library, under its lock;
 * a connection of the program's own beside it may read, but should not write. (On PostgreSQL a
 * program has a connection of its own, and submits in its transactions by SQL: SELECT
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

/* 0: it is to be stored. Anything else takes it back, and nothing was done: the error of what
 * failed in it, or a number above 0 for reasons of its own. It may be called again, from its
 * beginning, if the database could not store it at first: so it should depend on its argument
 * alone. Meanwhile all who write to this database wait: it should be short. Neither the handle nor
 * an engine may be used in it. */
typedef int pawl_tx_body(struct pawl_tx *tx, void *arg);

/* Runs the body in a transaction. Returns 0 when it is stored; what the body returned if that is
 * above 0; else an error. PAWL_E_INVALID with PostgreSQL. */
PAWL_CHECKED int pawl_transaction(struct pawl *p, pawl_tx_body *body, void *arg,
                                  struct pawl_error *err);

enum pawl_type { PAWL_NULL, PAWL_INT, PAWL_REAL, PAWL_TEXT, PAWL_BLOB };

struct pawl_value {
    int type; /* enum pawl_type */
    int64_t i;
    double d;
    const char *s; /* of a text or blob */
    size_t len;    /* of s, in bytes; of a parameter that is a text 0 will do: up to its NUL */
};

/* One row; the values live until it returns. Anything but 0: no more rows. */
typedef int pawl_row(void *arg, const struct pawl_value *cells, size_t n);

struct pawl_statement {
    const char *sql; /* one statement; ?1, ?2, … are its parameters */
    const struct pawl_value *params;
    size_t nparams;
    pawl_row *row; /* of those that it returns; NULL: not wanted */
    void *arg;

    int64_t changed; /* out: how many rows it inserted, updated or deleted */
};

/* Runs a statement on tables of your own. Pawl's may be read (the views, docs/SCHEMA.md), but not
 * changed, nor be given indexes, triggers or foreign keys; names that begin with pawl_ are its own,
 * too. No BEGIN, COMMIT or PRAGMA. PAWL_E_CONFLICT: a rule of your tables refused it. After this
 * and PAWL_E_INVALID the body may go on. */
PAWL_CHECKED int pawl_tx_run(struct pawl_tx *tx, struct pawl_statement *s, struct pawl_error *err);

/* As pawl_submit; the executions can be read once it is stored. After an error the transaction can
 * only be taken back. */
PAWL_CHECKED int pawl_tx_submit(struct pawl_tx *tx, struct pawl_job *jobs, size_t n,
                                struct pawl_error *err);

/* ---- definitions ---- */

/* Workflow files; see docs/WORKFLOWS.md. What takes no handle needs no database. */

struct pawl_problem {
    const char *file;
    unsigned line, column; /* from 1; a column is a character */
    const char *message;   /* one sentence */
    const char *shown;     /* the line and a caret below the place, each with a line end */
};
typedef void pawl_problem_fn(void *arg, const struct pawl_problem *problem);

struct pawl_definition {
    char name[101];
    char hash[33]; /* the same text in the same place has the same */
    size_t tasks, nested, schedules;
};

/* Whether a workflow file can run, with all that it nests. PAWL_E_INVALID: `each` (may be NULL) was
 * called for what is wrong, in the order of files and lines, at most 50 times. *out may be NULL. */
PAWL_CHECKED int pawl_validate(const char *file, pawl_problem_fn *each, void *arg,
                               struct pawl_definition *out, struct pawl_error *err);
/* The graph of a workflow file as ascii (NULL), dot, mermaid or svg (by the program dot). Lines of
 * ascii have at most `width` columns (0: 80). The caller frees *text. */
PAWL_CHECKED int pawl_graph(const char *file, const char *format, int width, char **text,
                            struct pawl_error *err);
/* The same of a workflow execution, by the snapshot that it runs by. */
PAWL_CHECKED int pawl_graph_of(struct pawl *p, int64_t id, const char *format, int width,
                               char **text, struct pawl_error *err);
/* The JSON Schema (draft-07) of workflow files. The caller frees it. */
PAWL_API char *pawl_schema(void);

/* ---- workflows built in C ---- */

/* A workflow need not be a text: it can be put together by calls. A key of a file
 * (docs/WORKFLOWS.md tells what each means) is a field here, and what is 0 is left out.
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
 * Texts are copied. Nothing fails while it is built: what is wrong with it is told by whoever takes
 * it, all at once, as of a file; lines and columns are those of pawl_workflow_text. It has no
 * folder: commands run in one of their attempt's own unless cwd says otherwise, and paths must be
 * absolute. It belongs to no handle and to one thread at a time, and may be used any number of
 * times. */
struct pawl_workflow;

/* A list of texts: PAWL_LIST("a", "b"). It lives to the end of the block in which it stands, which
 * after an `if` without braces is the statement; in C++, where that is always so, name an array. */
#ifndef __cplusplus
#define PAWL_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#endif

/* Lists end with NULL. "JSON" is a value as JSON; the texts in it may hold ${{ }} where those of a
 * file may. env is NAME=VALUE. */

struct pawl_container_keys {
    const char *image, *pull, *network;
    const char *const *volumes, *const *options;
};

struct pawl_approval_keys {
    const char *message;
    int64_t timeout;
};

/* A task; also on_failure, on_exit and defaults. */
struct pawl_task_keys {
    const char *run; /* one of these four */
    const char *const *argv;
    const char *function;
    const char *workflow;

    const char *description;
    const char *const *needs;
    const char *condition; /* the key `if` */
    int join;              /* 1: any */
    const char *foreach;   /* JSON: a list or a number; or one ${{ expression }} */
    int max_parallel;
    bool fail_fast, allow_failure;
    const char *with; /* JSON: an object */
    const char *const *env;
    const char *cwd;
    const char *input; /* the key `stdin` */
    const char *user;
    int64_t memory, cpu; /* the key `limits` */
    int files, pids;
    const struct pawl_container_keys *container;
    const char *const *secrets;
    int retries;             /* the key `retry`, its max; below 0: none */
    struct pawl_retry retry; /* and the rest of it */
    int64_t timeout;
    const char *queue;
    bool has_priority; /* priority counts also if it is 0 */
    int priority;
    const char *executor;
    const char *concurrency; /* the key of `concurrency`, and its max */
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
    int64_t catchup; /* below 0: last */
    const char *overlap;
    int64_t jitter;
    int64_t start, end;
    const char *with; /* JSON: an object */
};

/* What a file has beside params, schedules and tasks. */
struct pawl_workflow_keys {
    const char *name, *description;
    const char *vars; /* JSON: an object */
    const char *const *env;
    int64_t timeout;
    const char *queue;
    int priority;
    const char *concurrency; /* the key of `concurrency`, and its max */
    int concurrency_max;
    const char *const *secrets;
    const char *outputs; /* JSON: an object */
    const struct pawl_task_keys *defaults, *on_failure, *on_exit;
};

/* Begins one, to be freed. */
PAWL_API struct pawl_workflow *pawl_workflow_new(const struct pawl_workflow_keys *keys);
PAWL_API void pawl_workflow_free(struct pawl_workflow *w); /* NULL is fine */
/* One more value that it is started with; one more schedule, for when it is applied; one more task.
 */
PAWL_API void pawl_workflow_param(struct pawl_workflow *w, const char *name,
                                  const struct pawl_param_keys *keys);
PAWL_API void pawl_workflow_schedule(struct pawl_workflow *w,
                                     const struct pawl_schedule_keys *keys);
PAWL_API void pawl_workflow_task(struct pawl_workflow *w, const char *name,
                                 const struct pawl_task_keys *keys);
/* As it would stand in a file: a key, a param, a schedule, a task a line. Lives until the workflow
 * is changed, used or freed. */
PAWL_API const char *pawl_workflow_text(struct pawl_workflow *w);
/* As pawl_validate. */
PAWL_CHECKED int pawl_workflow_check(struct pawl_workflow *w, pawl_problem_fn *each, void *arg,
                                     struct pawl_definition *out, struct pawl_error *err);

/* ---- functions ---- */

struct pawl_call;

/* All of it for the function's own thread, while it runs. */
struct pawl_call_ops {
    /* It should return soon: a cancel, its deadline, a lost lease or the worker's stop. */
    bool (*cancelled)(const struct pawl_call *c);
    int64_t (*remaining)(const struct pawl_call *c); /* µs to its deadline; INT64_MAX: none */
    /* One output, or the whole result, as JSON. What can't be taken fails the attempt. */
    int (*set_output)(struct pawl_call *c, const char *key, const char *json);
    int (*set_result)(struct pawl_call *c, const char *json);
    void (*log)(struct pawl_call *c, const char *text); /* a line end is added if missing */
    /* It has failed, and this is why; what it returns is the exit code (0: 1). */
    void (*fail)(struct pawl_call *c, const char *message);
    /* If it returns 0 now: it is not done, and wants to be run again so many µs later. */
    void (*defer)(struct pawl_call *c, int64_t delay);
};

/* A job as its function sees it. */
struct pawl_call {
    const struct pawl_call_ops *ops;
    const char *name;  /* the job's full name */
    const char *input; /* JSON; NULL: none */
    int64_t execution, root;
    int attempt, max_attempts;
};

/* 0: done. Anything else: failed, with that exit code. Called on a thread of the engine's. */
typedef int pawl_function(struct pawl_call *c, void *arg);

/* A plugin is a shared object with
 *     const int pawl_plugin_abi = PAWL_PLUGIN_ABI;
 *     int pawl_plugin_init(const struct pawl_plugin_host *host) { return host->add(host, …); } */
#define PAWL_PLUGIN_ABI 1
struct pawl_plugin_host {
    int abi;
    int (*add)(const struct pawl_plugin_host *host, const char *name, pawl_function *fn, void *arg);
    void *data;
};

/* ---- an engine: a worker that runs things ---- */

struct pawl_engine;

struct pawl_engine_options {
    const char *const *queues;  /* ends with NULL; NULL: as configured, else "default" */
    const char *const *plugins; /* beside those of the configuration; ends with NULL; NULL: none */
    const char *state;          /* the state folder; NULL: as configured, else the user's */
    int slots; /* attempts at once, over all executors; 0: as configured, else the processors */
    /* Transactions at once, each on a connection and a thread of its own; 0: as configured, else 1.
     * More than one is refused on SQLite. With `here` it is one. */
    int loops;
    bool here;    /* only what is given to it by pawl_engine_submit, nothing queued */
    int64_t tree; /* with here: goes on with this tree, which was begun so and has been rerun */

    /* Asked, by any of its threads, while a step waits for a database that is away: true: wait no
     * longer now. So a stop that is asked for comes through. NULL: wait. */
    bool (*give_up)(void *arg);
    void *arg;
};

/* Opens a worker on the handle's database, with connections of its own. It does its work in
 * pawl_engine_step, on the caller's thread. */
PAWL_CHECKED int pawl_engine_open(struct pawl *p, const struct pawl_engine_options *options,
                                  struct pawl_engine **out, struct pawl_error *err);
/* Commands under a shim run on and are found by the next worker; functions are told to stop. */
PAWL_API void pawl_engine_close(struct pawl_engine *e); /* NULL is fine */
PAWL_API int64_t pawl_engine_worker(const struct pawl_engine *e);
PAWL_API int pawl_engine_slots(const struct pawl_engine *e);

/* Serves the lane function:NAME. Before the first step. */
PAWL_CHECKED int pawl_engine_register(struct pawl_engine *e, const char *name, pawl_function *fn,
                                      void *arg, struct pawl_error *err);

/* Sleeps until there is something to do, at most so long (ms; < 0: for as long as it takes), and
 * does it. An error means that this engine can't go on. */
PAWL_CHECKED int pawl_engine_step(struct pawl_engine *e, int timeout_ms, struct pawl_error *err);
PAWL_API int pawl_engine_fd(const struct pawl_engine *e);         /* readable: step */
PAWL_API int pawl_engine_timeout_ms(const struct pawl_engine *e); /* step by then in any case */

/* Submits with the next turn, and works on it if it can. `done` gets the job with its id, or the
 * error.
 *
 * With `here` one job alone, in a queue of its own that others leave alone while this engine lives;
 * if it dies, a worker of the same state folder goes on with it. Where the configuration has no
 * queue, and the job no parent whose place it takes, it is refused if queue.cap others are there.
 */
typedef void pawl_submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err);
PAWL_CHECKED int pawl_engine_submit(struct pawl_engine *e, const struct pawl_job *job,
                                    pawl_submitted *done, void *arg, struct pawl_error *err);

/* Who wants to know what this engine has stored: new output of an execution (status NULL), or the
 * end of an attempt, with the execution's status then. Called from pawl_engine_step. */
typedef void pawl_told(void *arg, int64_t execution, const char *status);
PAWL_API void pawl_engine_watch(struct pawl_engine *e, pawl_told *told, void *arg);

/* Takes nothing more and gives back what has not begun; commands under a shim are left to the next
 * worker, functions may come to their end. With `now` they are told to stop. */
PAWL_API void pawl_engine_stop(struct pawl_engine *e, bool now);
PAWL_API bool pawl_engine_idle(const struct pawl_engine *e); /* holds nothing any more */
/* Idle, and nothing is left in its queues that it could run, that runs elsewhere, or that waits for
 * its time. What is paused is not waited for. */
PAWL_CHECKED int pawl_engine_drained(struct pawl_engine *e, bool *drained, struct pawl_error *err);
PAWL_API int64_t pawl_engine_drain_grace(const struct pawl_engine *e); /* as configured, µs */

/* ---- executors of your own ---- */

/* An executor is a way to run attempts. Beside its own, for functions and for commands, an engine
 * takes yours: a structure of functions that serves one lane, its key.
 *
 *     start ──> pawl_report_started ──> pawl_report_log … ──> pawl_report_ended
 *
 * It never meets the database: leases, retries and history are the engine's. Its slots are called
 * by pawl_engine_step, one at a time, and should not wait. Reports may be made at any time from any
 * thread, slots included; the next step takes them. docs/EXECUTORS.md tells the rest. */
struct pawl_reporter;

/* Which attempt. May be copied and kept, and is good for reports until the slot `free` returns;
 * what is said about an attempt that has ended or was forgotten is not heard. */
struct pawl_attempt {
    struct pawl_reporter *to;
    int64_t execution;
    int attempt; /* from 1 */
};

/* What is to be run. Texts live until the slot returns. */
struct pawl_task {
    struct pawl_attempt id;
    int64_t root;
    int epoch; /* rises when the attempt changes hands */
    int max_attempts;
    const char *name;            /* full name, exec::NAME */
    const char *input;           /* JSON; NULL: none */
    const char *spec;            /* JSON, as it was given with the job */
    struct pawl_command command; /* the same as it was read; it may have neither run nor argv */
    int64_t lease_until;         /* CLOCK_BOOTTIME, µs */
};

/* How an attempt ended. */
struct pawl_end {
    int outcome; /* enum pawl_outcome */
    bool has_exit_code;
    int exit_code, signal;
    const char *result;       /* of PAWL_OK: JSON, at most 1 MB; NULL: none */
    const char *error;        /* of all others: a sentence */
    int64_t duration;         /* 0: since it was reported as started */
    int64_t cpu, peak_memory; /* µs, bytes; 0: not known */
    int64_t retry_delay;      /* of PAWL_DEFERRED and PAWL_REFUSED: until it is offered again */
};

/* Only key and start are needed. */
struct pawl_executor {
    const char *key; /* letters, digits, _ . - and at most 64 of them */
    void *data;      /* for the slots */
    int slots; /* attempts at once, within the engine's; 0: as configured, else the engine's */
    /* Whether its work goes on without this process, and another worker can find it again. */
    bool outlives_worker;

    /* Begins an attempt. 0: its end will be reported, once. -PAWL_E_REFUSED: nothing was begun; the
     * job is given back, which costs no attempt, and for a while this executor is offered none. Any
     * other error: the attempt has failed. The sentence goes into the history. */
    int (*start)(void *data, const struct pawl_task *t, struct pawl_error *err);

    /* Takes over an attempt that another worker had, or this one under an older epoch: reports come
     * as after start. What is not there is PAWL_LOST, once nothing of it is left; it is never begun
     * anew. Errors as for start. NULL: what does not run here is lost. Needed if it outlives the
     * worker. */
    int (*find)(void *data, const struct pawl_task *t, struct pawl_error *err);

    /* Ends it, once: somebody cancels it, its timeout is over, or the engine stops now. Its end is
     * still reported: as PAWL_CANCELLED, or as it was if that came first (perhaps it is reported
     * already). NULL: it can't be ended. */
    void (*cancel)(void *data, struct pawl_attempt a);

    /* It is no longer ours: the lease is lost, or the engine stops and leaves it to the next one.
     * What outlives the worker must not be touched any more, as another may own it; all else
     * should stop. NULL: as cancel, for what does not outlive the worker. */
    void (*forget)(void *data, struct pawl_attempt a);

    /* The lease is good until then (CLOCK_BOOTTIME, µs). NULL: of no interest. */
    void (*renewed)(void *data, struct pawl_attempt a, int64_t until);

    /* Its end is in the database: what it left behind may go. NULL: nothing to do. */
    void (*settled)(void *data, struct pawl_attempt a);

    /* How many more it can begin now, for one that depends on more than its slots; it is asked in
     * every step. */
    int (*room)(void *data);

    /* For one without threads: a descriptor, and what is called when it is readable. */
    int (*fd)(void *data);
    void (*turn)(void *data);

    /* The last call, by pawl_engine_close: ends its threads, and what can't go on without them. */
    void (*free)(void *data);
};

/* Before the first step. The structure is copied. With an error `free` is not called. */
PAWL_CHECKED int pawl_engine_add_executor(struct pawl_engine *e, const struct pawl_executor *x,
                                          struct pawl_error *err);

/* The work began, so long ago (µs). Without it the first output or the end tells that. */
PAWL_API void pawl_report_started(struct pawl_attempt a, int64_t ago);
/* More of its output, in order. The first and last 512 KiB are kept. */
PAWL_API void pawl_report_log(struct pawl_attempt a, const char *bytes, size_t len);
PAWL_API void pawl_report_ended(struct pawl_attempt a, const struct pawl_end *end);

/* ---- a worker of your own ---- */

/* A worker claims jobs, works on them, and settles them. It holds each under a lease which it must
 * renew; whoever does not is taken for dead, and another worker of the same folder adopts its jobs.
 * What may be said about a job is fenced by the lease's epoch, so that one who was away too long
 * changes nothing.
 *
 *     claim -> started -> (heartbeat …) -> settle          tick from time to time */
struct pawl_worker;

struct pawl_worker_options {
    const char *const *lanes;  /* which it serves; ends with NULL; NULL: "process" */
    const char *const *queues; /* ends with NULL; NULL: "default" */
    const char *folder; /* whose work it can find again after a death; NULL: the host's name */
    int64_t lease;      /* 0: 30 s; renew three times as often */
    int64_t host_grace; /* how long jobs of another folder are left to it; 0: 5 min */
    int room;           /* how many at once, for people to see; 0: 1 */
};

/* Registers a worker on the handle, which must outlive it. */
PAWL_CHECKED int pawl_worker_open(struct pawl *p, const struct pawl_worker_options *options,
                                  struct pawl_worker **out, struct pawl_error *err);
/* Says goodbye if it can. Leases that are still held run out. */
PAWL_API void pawl_worker_close(struct pawl_worker *w);
PAWL_API int64_t pawl_worker_id(const struct pawl_worker *w);

/* A job in the hands of a worker. */
struct pawl_claim {
    int64_t execution, root;
    int attempt; /* counted from 1 */
    int epoch;
    int max_attempts;
    bool adopted; /* another worker had started this attempt: find its work, or settle it as lost */
    bool cancel_requested;
    const char *name, *queue, *lane, *input; /* texts live until the worker's next claim */
};

/* Adopts what others left behind and claims what waits, by priority and age: at most max. Never
 * waits. */
PAWL_CHECKED int pawl_claim(struct pawl_worker *w, struct pawl_claim *out, size_t max, size_t *n,
                            struct pawl_error *err);

/* A lease as its holder knows it. */
struct pawl_lease {
    int64_t execution;
    int epoch;

    bool lost;             /* out: another may own it by now; forget it, and touch nothing */
    bool cancel_requested; /* out: end the work and settle it */
};

/* Renews the leases. */
PAWL_CHECKED int pawl_heartbeat(struct pawl_worker *w, struct pawl_lease *leases, size_t n,
                                struct pawl_error *err);
/* Writes into the history that the work began, so long ago. */
PAWL_CHECKED int pawl_started(struct pawl_worker *w, struct pawl_lease *leases, size_t n,
                              int64_t ago, struct pawl_error *err);

enum pawl_outcome {
    PAWL_OK = 1,
    PAWL_FAILED,
    PAWL_TIMED_OUT,
    PAWL_CANCELLED,
    PAWL_LOST,     /* nobody knows how it ended; never a success */
    PAWL_DEFERRED, /* run it again after retry_delay; costs no attempt */
    PAWL_REFUSED,  /* given back before anything started; costs no attempt */
};

struct pawl_settlement {
    struct pawl_lease lease;
    int outcome; /* enum pawl_outcome */
    bool has_exit_code;
    int exit_code, signal;
    const char *result;  /* of PAWL_OK: JSON, at most 1 MB; NULL: none */
    const char *error;   /* of all others: a sentence */
    int64_t duration;    /* of the attempt; -1: not known */
    int64_t retry_delay; /* until it is tried again, while attempts are left; -1: never */

    const char *status; /* out: its status now; "ready": it will be tried again */
};

/* Ends attempts. A result that can't be stored makes a failure that says so. Those whose lease was
 * lost change nothing; the others are durable when this returns. */
PAWL_CHECKED int pawl_settle(struct pawl_worker *w, struct pawl_settlement *list, size_t n,
                             struct pawl_error *err);

/* What somebody has to do from time to time, the best once per third of a lease: shows that this
 * worker lives, clears leases that nobody renews, ends delays that are over. *next_due, if wanted:
 * when the next delay ends (0: none). */
PAWL_CHECKED int pawl_tick(struct pawl_worker *w, int64_t *next_due, struct pawl_error *err);

/* ---- waiting for others ---- */

struct pawl_listener;

enum pawl_wake {
    PAWL_WAKE_JOBS = 1,   /* something may be claimed */
    PAWL_WAKE_CANCEL = 2, /* a running job is to be cancelled */
    PAWL_WAKE_EVENTS = 4, /* there is new history */
};

/* Opens an ear for what others write, in this process and in others: bits of enum pawl_wake. */
PAWL_CHECKED int pawl_listen(struct pawl *p, unsigned what, struct pawl_listener **out,
                             struct pawl_error *err);
PAWL_API void pawl_listener_close(struct pawl_listener *l); /* NULL is fine */
/* To be polled for POLLIN; may change after each drain, -1: there is none now. Look by yourself
 * every so many milliseconds all the same: a wake-up may be lost. */
PAWL_API int pawl_listener_fd(const struct pawl_listener *l);
PAWL_API int pawl_listener_poll_ms(const struct pawl_listener *l);
PAWL_API unsigned pawl_listener_drain(struct pawl_listener *l); /* what came; never waits */
/* Waits for something to come, at most so long (and never longer than poll_ms), and drains. */
PAWL_API unsigned pawl_listener_wait(struct pawl_listener *l, int timeout_ms);

/* ---- an operator's hand ---- */

/* `by` is who asks, for the history; NULL: user@host of this process. `reason` may be NULL. */

struct pawl_cancelled {
    const char *status; /* of the execution now: cancelled, or running until its worker ends it */
    int64_t left;       /* how many of it and all below it run on, and were asked to end */
};

/* Cancels an execution and all below it: what waits at once, what runs by a request that its
 * worker, or whoever adopts it, carries out. PAWL_E_INVALID if all of it has ended already. After
 * an error a part may be cancelled: repeat it. */
PAWL_CHECKED int pawl_cancel(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_cancelled *out, struct pawl_error *err);

/* The same, but what runs may finish; nothing comes after it. */
PAWL_CHECKED int pawl_let_finish(struct pawl *p, int64_t id, const char *by, const char *reason,
                                 struct pawl_cancelled *out, struct pawl_error *err);

/* When this returns nothing of the execution and below it starts any more, at any depth and
 * whoever restarts; what runs goes on. A workflow's timeout goes on, too. PAWL_E_INVALID: it has
 * ended, is paused already, or is a single job that runs. */
PAWL_CHECKED int pawl_pause(struct pawl *p, int64_t id, const char *by, const char *reason,
                            struct pawl_error *err);
/* The end of that pause. What is paused further down, or further up, stays so. */
PAWL_CHECKED int pawl_resume(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_error *err);
/* Leaves out what has not begun; those that need it take it for done. */
PAWL_CHECKED int pawl_skip(struct pawl *p, int64_t id, const char *by, const char *reason,
                           struct pawl_error *err);
/* Answers the approval that a task waits for; a rejected task fails. */
PAWL_CHECKED int pawl_approve(struct pawl *p, int64_t id, const char *by, const char *reason,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_reject(struct pawl *p, int64_t id, const char *by, const char *reason,
                             struct pawl_error *err);

struct pawl_rerun {
    bool failed;      /* only what failed or was cancelled, at any depth, and all behind that */
    const char *from; /* this task of the workflow, and all behind it; neither: the whole */
    /* With one of these it becomes a new execution, linked to the old one by rerun_of, which takes
     * over the results of what stands before (`failed`, `from`): */
    const char *const *params; /* NAME=VALUE, ends with NULL: other values; NULL: the old ones */
    const char *file;          /* another definition */
    bool dry_run;              /* only tell */
    /* A new execution of what an engine ran `here` is for such an engine, too, which is opened with
     * its id as `tree` then. Otherwise it waits in the usual queue. */
    bool here;
    const char *by, *reason;
};

/* Runs again what has ended, in place: the same executions with their history, and what is above
 * them that has ended is open again. Any node may be named; what needs it runs again after it.
 * *json (to be freed; NULL: not wanted) is {"id", "rerun_of", "nodes": [{"id", "name", "status"}]},
 * the nodes with how they ended before; below one that is named all of it runs again.
 * PAWL_E_INVALID: it has not ended, or what would have to run again runs; PAWL_E_REFUSED: the limit
 * of its concurrency key has no room. */
PAWL_CHECKED int pawl_rerun(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
                            struct pawl_error *err);

/* Lets at most max jobs of a queue be claimable or running at once; below 0: any number. Those
 * above it wait, what runs already goes on. The limit of a paused queue holds once it is resumed:
 * *paused, if wanted, says so. Like the next two, repeat it after an error. Who asked (by; NULL:
 * the user of this process) and why are kept. */
PAWL_CHECKED int pawl_queue_limit(struct pawl *p, const char *queue, int max, const char *by,
                                  const char *reason, bool *paused, struct pawl_error *err);
/* Nothing of the queue is claimed any more when this returns; what runs goes on. */
PAWL_CHECKED int pawl_queue_pause(struct pawl *p, const char *queue, const char *by,
                                  const char *reason, struct pawl_error *err);
/* Gives the queue back the limit that it had. PAWL_E_INVALID if it is not paused. */
PAWL_CHECKED int pawl_queue_resume(struct pawl *p, const char *queue, const char *by,
                                   const char *reason, struct pawl_error *err);

/* ---- workflows by name, and by the clock ---- */

struct pawl_applied {
    struct pawl_definition definition;
    bool unchanged; /* its name meant this very definition before */
    size_t kept;    /* of its schedules: had the same pattern before, and go on where they stood */
    size_t removed; /* those that it has no more */
};

/* Makes a workflow file what its name means, with its schedules instead of those before. What runs
 * goes on by its own definition. A schedule with the pattern and time zone of an earlier one goes
 * on where that stood, also in its pause; a new one begins now. *out may be NULL. */
PAWL_CHECKED int pawl_apply(struct pawl *p, const char *file, const char *by,
                            struct pawl_applied *out, struct pawl_error *err);

/* The same with a text that is no file: what it nests has an absolute path. */
PAWL_CHECKED int pawl_apply_text(struct pawl *p, const char *yaml, const char *by,
                                 struct pawl_applied *out, struct pawl_error *err);

/* The same with one that was built in C. */
PAWL_CHECKED int pawl_apply_built(struct pawl *p, struct pawl_workflow *w, const char *by,
                                  struct pawl_applied *out, struct pawl_error *err);

/* A schedule is called WORKFLOW/NAME, where NAME is its place in the list, from 1, if the file
 * gives none. WORKFLOW alone means all of them. Engines fire them, except those that work `here`.
 */

/* What comes while one is paused is left out, also a due time that waits for a run to end. */
PAWL_CHECKED int pawl_schedule_pause(struct pawl *p, const char *name, const char *by,
                                     const char *reason, struct pawl_error *err);
/* Goes on from now. PAWL_E_INVALID if it is not paused. */
PAWL_CHECKED int pawl_schedule_resume(struct pawl *p, const char *name, const char *by,
                                      const char *reason, struct pawl_error *err);
/* Begins a run now, with the schedule's values, whatever else runs. The name must mean one. */
PAWL_CHECKED int pawl_schedule_run(struct pawl *p, const char *name, const char *by,
                                   const char *reason, int64_t *id, struct pawl_error *err);

struct pawl_fenced {
    int64_t generation; /* the new one */
    int64_t jobs;       /* that were running, and have no worker now */
};

/* After a backup was restored: what runs belongs to a time that is lost. Raises the database's
 * generation, and makes orphans of all running jobs: those who adopt them end what is left. */
PAWL_CHECKED int pawl_fence(struct pawl *p, struct pawl_fenced *out, struct pawl_error *err);

/* ---- reading ---- */

/* The fields, in this order (docs/JSON.md says more); what is not known, or does not apply, is
 * null. Times are RFC 3339 in UTC with microseconds, ids numbers, those of workers texts of 16
 * hexadecimal digits.
 *
 * an execution        id parent root depth kind name status attempt (0 before the first)
 *                     max_attempts queue priority executor worker (the last) requested_at
 *                     started_at finished_at exit_code signal (of the last attempt that ended)
 *                     error input outputs result usage waiting (why it waits: a word, and more
 *                     for people) rerun_of workflow_task workflow_execution children (in a tree)
 * workflow_task       workflow_execution task_name task_index retry_count max_retries
 * workflow_execution  definition variables current_tasks completed_tasks failed_tasks
 *                     skipped_tasks (names; a fan-out is one; of more than 1,000 the first, and
 *                     "…" at the end) paused pause_reason error
 * a line of an outline  id parent depth kind name task_name task_index status attempt max_attempts
 *                     worker requested_at ready_at (the first time) started_at finished_at error
 *                     reason (of a skip or cancel) waiting paused items
 *   items             total pending ready running succeeded failed timed_out cancelled skipped
 * an event            sequence_num execution root seq type from to attempt epoch worker data
 *                     created_at
 * a queue             queue ready held running oldest_ready_at oldest_wait_us paused limit
 *                     last_order
 *   paused            since by reason limit (the one that comes back)
 *   limit             max used
 *   last_order        action at by reason data
 * a schedule          schedule (its full name) workflow cron tz catchup (a duration, or last)
 *                     overlap jitter start end with next_at (it fires) waiting_at (a due time that
 *                     waits for the last run to end) last_due_at last_run (its id) last_status
 *                     skipped (due times that were left out) skipped_at missed_at paused (since by
 *                     reason) problem (why it can't be fired) definition applied_at applied_by
 *                     last_order
 * a due time          schedule due_at fires_at
 * a submission        id workflow status (waiting, taken, refused) execution (once it is taken)
 *                     error (why it was refused) key queue priority delay_us params definition
 *                     requested_by requested_at decided_at
 * a worker            id host pid folder version room leases started_at seen_at silent_us
 *                     serves (the queues of each lane; a worker that is stopping serves none)
 *                     state (alive draining silent)
 * an overview         at queues workers running ended
 *   running           id root name queue executor attempt max_attempts worker since elapsed_us
 *                     last_line
 *   ended             queue done failed */

/* One JSON object, without a line end. Anything but 0 ends the reading, which then returns 0. */
typedef int pawl_line(void *arg, const char *json);

/* One execution. The caller frees *json. */
PAWL_CHECKED int pawl_show(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* Its status alone: cheaper than all of it. The text lives for ever. */
PAWL_CHECKED int pawl_status(struct pawl *p, int64_t id, const char **status,
                             struct pawl_error *err);
/* Waits until it has ended, at most so long (ms; < 0: for as long as it takes); *status is how it
 * stands then. Also of what was submitted by SQL and waits to be taken. Not for a thread that steps
 * the engine which has to run it: that has pawl_engine_watch. */
PAWL_CHECKED int pawl_wait(struct pawl *p, int64_t id, int timeout_ms, const char **status,
                           struct pawl_error *err);
/* What is above it; the workflow that it is a task of, with its state. PAWL_E_NOT_FOUND: there is
 * none. The caller frees *json. */
PAWL_CHECKED int pawl_parent(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
PAWL_CHECKED int pawl_workflow(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* What is right below an execution, by requested_at and id. */
PAWL_CHECKED int pawl_children(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                               struct pawl_error *err);
/* The tasks of a workflow execution, with the items of its fan-outs, without those of workflows
 * that are nested in it. PAWL_E_INVALID: it is none. */
PAWL_CHECKED int pawl_tasks(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                            struct pawl_error *err);
/* An execution with all below it, as one object with children in it. The caller frees *json. */
PAWL_CHECKED int pawl_tree(struct pawl *p, int64_t id, char **json, struct pawl_error *err);
/* The same as lines, each parent before its children. */
PAWL_CHECKED int pawl_tree_lines(struct pawl *p, int64_t id, pawl_line *each, void *arg,
                                 struct pawl_error *err);
/* The same for a view, as lines of a kind of their own: without what may be large, and with the
 * items of fan-outs counted. Of these only some that run and some that failed (at most 10 each)
 * have a line, with all below them. *now, if wanted, is the database's time. */
PAWL_CHECKED int pawl_outline(struct pawl *p, int64_t id, pawl_line *each, void *arg, int64_t *now,
                              struct pawl_error *err);

/* A moment of the past: after all events up to that time, or (the other is 0) up to that number. */
struct pawl_moment {
    int64_t time, event;
};

/* The same as they were then, made from the events alone: what was requested later is not there,
 * and PAWL_E_NOT_FOUND says when the execution itself was. What the history does not keep is null:
 * the input of a task that was not ready yet or has been rerun since. *now is the time of the
 * moment. */
PAWL_CHECKED int pawl_show_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_tree_at(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                              struct pawl_error *err);
PAWL_CHECKED int pawl_outline_at(struct pawl *p, int64_t id, const struct pawl_moment *at,
                                 pawl_line *each, void *arg, int64_t *now, struct pawl_error *err);

/* The critical path: the chain of executions that its end waited for (at NULL: its end, or now),
 * since it was last asked to run, with the same inside each workflow and fan-out on the chain.
 * Every microsecond belongs to one step, and there to one part. The caller frees *json.
 *
 * a critical path     id name status from to total_us wait_us held_us run_us retry_us steps
 * a step              id depth kind name status attempt from to total_us wait_us (for a worker,
 *                     or an engine) held_us run_us (of a workflow or fan-out: what no step in it
 *                     covers) retry_us (attempts that failed, and the back-off after them) */
PAWL_CHECKED int pawl_critical(struct pawl *p, int64_t id, const struct pawl_moment *at,
                               char **json, struct pawl_error *err);

/* Two executions beside each other, in one object. *same, if wanted: neither what they were given
 * and ran by nor what became of them and of each task differs; ids, times, workers and the number
 * of attempts are no differences. Tasks are those of the whole trees, by their paths ("each[1]",
 * "below/one"), in the order in which they ended. The caller frees *json.
 *
 * a difference        a b (id kind name definition requested_at started_at finished_at)
 *                     params (name, null if they are no object; a b: left out where there is
 *                     none) definition (task, null for the workflow itself; change: added
 *                     removed changed; keys) outcome (of both: as a task) tasks first (the first
 *                     task that is not the same) same
 * a task of both      task (its path) differs (there status outputs error attempts duration)
 *                     a b (id status attempt duration_us error outputs; null: there is none) */
PAWL_CHECKED int pawl_diff(struct pawl *p, int64_t a, int64_t b, char **json, bool *same,
                           struct pawl_error *err);

/* Which executions a list has; all 0: the newest of those without a parent. Texts may be NULL. */
struct pawl_list_query {
    int64_t parent;       /* right below this one */
    bool all;             /* at any depth */
    const char *status;   /* "failed", "ready,running" */
    const char *kind;     /* workflow, task, foreach, exec */
    const char *name;     /* a glob on the full name: * is any text, ? one character */
    const char *workflow; /* of a workflow of that name, and (all, parent) its tasks */
    const char *queue;
    int64_t before; /* only those with a smaller id; 0: any */
    int64_t limit;  /* at most so many; 0, or more than 1,000: 1,000 */
};

/* Newest first, a page. *next, if wanted: `before` of the next page; 0: there is none. For what no
 * index holds (status, kind, name, workflow, queue) at most 100,000 executions are looked at: a
 * page may be short, even empty, before the end. */
PAWL_CHECKED int pawl_list(struct pawl *p, const struct pawl_list_query *query, pawl_line *each,
                           void *arg, int64_t *next, struct pawl_error *err);
/* The newest execution that has no parent; PAWL_E_NOT_FOUND if there is none. */
PAWL_CHECKED int pawl_last(struct pawl *p, int64_t *id, struct pawl_error *err);

/* Why an execution is where it is: the exact condition that is not met, and how its attempts ended.
 * {id name status reasons: [{code text …}]}; the codes stay what they are, the text is for people,
 * what follows are the facts. The caller frees *json.
 *
 * ready    no_worker not_served in_line (lane queue before alive serving room busy)
 * held     approval (since message until) delay retry deferred released (until in_us …)
 *          limit (key max used holders before) queue_paused (queue since by reason)
 * running  running (attempt max_attempts since worker host lease_until) worker_silent (worker
 *          silent_us lease_until) orphan (worker expired_at folder alive_in_folder others_from
 *          alive_elsewhere) children (open) items (total made left max_parallel open)
 * pending  needs (left all join succeeded if needs: those that are open)
 * ended    ended (status at error by reason), and of a skipped task needs: those that did not
 *          succeed
 * all      paused (execution: where, since by reason) cancel_requested let_finish (since by
 *          reason), and for each attempt that did not end well attempt (attempt outcome exit_code
 *          signal duration_us error at) */
PAWL_CHECKED int pawl_why(struct pawl *p, int64_t id, char **json, struct pawl_error *err);

/* The kept output of an attempt, while it runs and after. */
struct pawl_log_place {
    int64_t execution;
    int attempt;  /* 0: the last */
    int64_t from; /* an offset in all that it said; 0: its beginning */
};

/* A stretch of output in which nothing is missing. */
struct pawl_log_page {
    int attempt;     /* whose it is; 0: nothing was started yet */
    size_t len;      /* bytes, of any kind */
    int64_t from;    /* where it begins: as asked for, or later, if something is missing there */
    int64_t next;    /* where the next one begins */
    int64_t dropped; /* how many bytes were left out right before it */
    bool more;       /* there is another one by now */
    bool ended;      /* the attempt has ended: without `more`, nothing will come any more */
};

/* Copies at most `size` bytes to `out`; a page may be short before the end. PAWL_E_NOT_FOUND: there
 * is no such execution or attempt. */
PAWL_CHECKED int pawl_log(struct pawl *p, const struct pawl_log_place *at, char *out, size_t size,
                          struct pawl_log_page *page, struct pawl_error *err);

/* What is going on and what was done, as Prometheus reads it: gauges of queues, workers and leases,
 * and the sums of what workers counted. The caller frees *text. */
PAWL_CHECKED int pawl_metrics(struct pawl *p, char **text, struct pawl_error *err);

/* Schedules, by name; of one workflow, or one of them; NULL: all. */
PAWL_CHECKED int pawl_schedules(struct pawl *p, const char *name, pawl_line *each, void *arg,
                                struct pawl_error *err);
/* Their next due times, at most n of all, the earliest first; those that are paused have none. */
PAWL_CHECKED int pawl_schedule_next(struct pawl *p, const char *name, size_t n, pawl_line *each,
                                    void *arg, struct pawl_error *err);
/* What was submitted by SQL, with pawl_submit() inside of a transaction on PostgreSQL: those that
 * are waiting, taken or refused (NULL: all), newest first, at most `limit` (0, or more than 1,000:
 * 1,000). */
PAWL_CHECKED int pawl_submissions(struct pawl *p, const char *status, size_t limit, pawl_line *each,
                                  void *arg, struct pawl_error *err);
/* Queues, and workers: one object each. */
PAWL_CHECKED int pawl_queues(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);
PAWL_CHECKED int pawl_workers(struct pawl *p, pawl_line *each, void *arg, struct pawl_error *err);

/* What of it; all 0: the usual. */
struct pawl_overview_query {
    const char *part; /* of the name or queue of what runs, in any case of letters; NULL: all */
    int64_t limit;    /* at most so many that run; 0: 100; never more than 1,000 */
};

/* What goes on everywhere, in one snapshot, and cheap enough to be asked for every second: queues
 * (those of runs by themselves together as "here"), workers, the jobs that run (the oldest first,
 * each with the last line that it wrote), and how many attempts have ended so far, as workers count
 * them with each heartbeat. The caller frees *json. */
PAWL_CHECKED int pawl_overview(struct pawl *p, const struct pawl_overview_query *query, char **json,
                               struct pawl_error *err);

/* Which events. */
struct pawl_event_query {
    int64_t execution; /* of it and all below it, oldest first; 0: all, newest first */
    bool self;         /* of the execution alone */
    const char
        *types; /* "task.failed", "failed" for tasks and workflows, "failed,timed_out"; NULL: all */
    int64_t since, until; /* since <= created_at < until; 0: open */
    int64_t limit;        /* at most so many; 0: all */
};

/* The history: an event a line. */
PAWL_CHECKED int pawl_events(struct pawl *p, const struct pawl_event_query *query, pawl_line *each,
                             void *arg, struct pawl_error *err);

/* Following: events in the order of their numbers, none left out, also of those who commit late. Of
 * an execution from its first event on, of all from now on. limit is not looked at. */
struct pawl_follower;

/* Begins to follow; types, since and until narrow it down. */
PAWL_CHECKED int pawl_follow(struct pawl *p, const struct pawl_event_query *query,
                             struct pawl_follower **out, struct pawl_error *err);
/* What came since the last call, perhaps not yet all of it; never waits. *n = how many. If `each`
 * ends it, the rest of those is not told again. */
PAWL_CHECKED int pawl_follower_next(struct pawl_follower *f, pawl_line *each, void *arg, size_t *n,
                                    struct pawl_error *err);
PAWL_API void pawl_follower_close(struct pawl_follower *f);

/* ---- keeping in order ---- */

struct pawl_verify_options {
    const char *save;  /* write a checkpoint to this file */
    const char *since; /* compare with that checkpoint */
    int64_t lease;     /* the longest in use; 0: 30 s */
    bool host;         /* also this host: its state folder beside the database */
    const char *state; /* that folder; NULL: as configured, else the user's */
    /* One call for each breach: which invariant, of which execution (0: none), what is wrong. */
    void (*breach)(void *arg, const char *invariant, int64_t execution, const char *detail);
    void *arg;
};

struct pawl_verify_result {
    size_t checks, breaches;
    int64_t executions, events;
    int64_t attempts, workers; /* with `host`: so many were found on it */
};

/* Checks the whole database. PAWL_E_BREACH if something does not hold; the result is set then, too.
 */
PAWL_CHECKED int pawl_verify(struct pawl *p, const struct pawl_verify_options *options,
                             struct pawl_verify_result *result, struct pawl_error *err);

struct pawl_cleanup_result {
    int64_t trees, executions, events;
};

/* Removes trees that ended so long ago, with all that belongs to them, in slices that are each
 * whole; an error ends it between two of them. With dry_run it only counts. */
PAWL_CHECKED int pawl_cleanup(struct pawl *p, int64_t older_than, bool dry_run,
                              struct pawl_cleanup_result *result, struct pawl_error *err);

#ifdef __cplusplus
}
#endif

#endif
