/* config.h - pawl.yaml, the configuration of workers and of the command line.
 *
 * Each key is defined once, in the lists below: parser, defaults and docs/CONFIGURATION.md are made
 * from them. The caller decides how the file ranks against the environment and the command line;
 * `set` tells it which keys the file has. */
#ifndef PARSE_CONFIG_CONFIG_H
#define PARSE_CONFIG_CONFIG_H

#include "core/spec.h"
#include "parse/diagnostics.h"

/* name, type in C, text in docs/CONFIGURATION.md */
#define CONFIG_TYPES(X)                                                      \
    X(TEXT, const char *, "string")                                          \
    X(URL, const char *, "URL")                                              \
    X(TENANT, const char *, "name")                                          \
    X(PATH, const char *, "path")                                            \
    X(BOOL, bool, "true or false")                                           \
    X(INT, int, "number")                                                    \
    X(COUNT, int, "number")                                                  \
    X(NUMBER, double, "number")                                              \
    X(DURATION, int64_t, "duration")                                         \
    X(SIZE, int64_t, "size")                                                 \
    X(WORD, int, "")                                                         \
    X(QUEUES, struct config_texts, "list of queues")                         \
    X(NAMES, struct config_texts, "list of variable names")                  \
    X(PATHS, struct config_texts, "list of paths")                           \
    X(CODES, struct retry_policy, "list of exit codes, 1 to 255")            \
    X(ROUTES, struct config_routes, "list of `{task: GLOB, executor: KEY}`") \
    X(EXECUTORS, struct config_executors, "mapping of executors, see below")

/* id, key, type, member, default, lowest, highest, words, sentence. A default in ( ) is derived
 * from other values, see derive_defaults() in config.c. Keys of one section must be adjacent. */
#define CONFIG_KEYS(X)                                                                             \
    X(DB, "db", URL, db, "(an SQLite file in `state`)", 0, 0, NULL,                                \
      "The database: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`.")                           \
    X(TENANT, "tenant", TENANT, tenant, "(none)", 0, 0, NULL,                                      \
      "The tenant to use in that database.")                                                       \
    X(STATE, "state", PATH, state, "(`$XDG_STATE_HOME/pawl`, else `~/.local/state/pawl`)", 0, 0,   \
      NULL,                                                                                        \
      "The folder for the files of running attempts; workers that share it adopt each other's "    \
      "attempts.")                                                                                 \
    X(QUEUE_ENABLED, "queue.enabled", BOOL, queue.enabled, "true", 0, 0, NULL,                     \
      "Whether jobs wait in a queue for a worker; if not, a job runs at once where it is "         \
      "submitted, or is refused when `queue.cap` is reached.")                                     \
    X(QUEUE_CAP, "queue.cap", COUNT, queue.cap, "auto", 1, 10000, NULL,                            \
      "Without a queue: how many jobs run at once, in all processes together.")                    \
    X(DISPATCH_MODE, "dispatch.mode", WORD, dispatch.mode, "push", 0, 0, config_modes,             \
      "`push` hands a job that became ready straight to a free slot; `poll` always goes "          \
      "through the queue.")                                                                        \
    X(DISPATCH_DEFAULT_EXECUTOR, "dispatch.default_executor", TEXT, dispatch.default_executor,     \
      "process", 0, 0, NULL, "The executor of commands that no route matches.")                    \
    X(DISPATCH_ROUTES, "dispatch.routes", ROUTES, dispatch.routes, "(none)", 0, 0, NULL,           \
      "Which executor runs a task, by the task's full name such as `nightly::extract`: the first " \
      "glob that matches wins.")                                                                   \
    X(EXECUTORS, "executors", EXECUTORS, executors,                                                \
      "(`process`, `container` and `function`, each of the type that it is named after)", 0, 0,    \
      NULL,                                                                                        \
      "The executors, by their keys. The three default ones always exist; keys given for them "    \
      "change only those settings.")                                                               \
    X(WORKER_SLOTS, "worker.slots", COUNT, worker.slots, "auto", 1, 10000, NULL,                   \
      "How many attempts a worker runs at once, across all its executors.")                        \
    X(WORKER_QUEUES, "worker.queues", QUEUES, worker.queues, "[default]", 0, 0, NULL,              \
      "The queues from which a worker claims jobs.")                                               \
    X(WORKER_LOOPS, "worker.loops", INT, worker.loops, "1", 1, 64, NULL,                           \
      "How many transactions a worker runs at once, each on its own connection; more than one "    \
      "only on PostgreSQL.")                                                                       \
    X(WORKER_LEASE, "worker.lease", DURATION, worker.lease, "30s", SECOND, 3600 * SECOND, NULL,    \
      "How long a worker may be silent before other workers take over its jobs.")                  \
    X(WORKER_HEARTBEAT, "worker.heartbeat", DURATION, worker.heartbeat, "(a third of `lease`)",    \
      SECOND / 10, 1800 * SECOND, NULL,                                                            \
      "How often a worker renews its leases; less than half of `worker.lease`.")                   \
    X(WORKER_HOST_GRACE, "worker.host_grace", DURATION, worker.host_grace, "5m", 2 * SECOND,       \
      7 * DAY, NULL,                                                                               \
      "How long after the end of a lease a worker on another host waits before it takes over the " \
      "job; at least twice `worker.lease`.")                                                       \
    X(WORKER_DRAIN_GRACE, "worker.drain_grace", DURATION, worker.drain_grace, "30s", 0, DAY, NULL, \
      "How long a stopping worker waits for attempts that can't continue without it.")             \
    X(FUNCTIONS_THREADS, "functions.threads", COUNT, functions.threads, "auto", 1, 10000, NULL,    \
      "How many functions run at once in a worker.")                                               \
    X(FUNCTIONS_QUEUE, "functions.queue", INT, functions.queue, "64", 0, 100000, NULL,             \
      "How many functions a worker claims in addition to those that run, so that no thread "       \
      "waits.")                                                                                    \
    X(PLUGINS, "plugins", PATHS, plugins, "[]", 0, 0, NULL,                                        \
      "Shared objects with functions, loaded when a worker starts.")                               \
    X(EVENTS_CLEANUP, "execution_events.cleanup", BOOL, execution_events.cleanup, "true", 0, 0,    \
      NULL,                                                                                        \
      "Whether workers remove, once a day, executions that are older than "                        \
      "`execution_events.retention_days`.")                                                        \
    X(EVENTS_RETENTION_DAYS, "execution_events.retention_days", INT,                               \
      execution_events.retention_days, "90", 1, 36500, NULL,                                       \
      "The age, counted from its end, at which an execution is removed with all its descendants: " \
      "rows, events, logs and folders.")                                                           \
    X(LOGS_RETENTION_DAYS, "logs.retention_days", INT, logs.retention_days,                        \
      "(`execution_events.retention_days`)", 1, 36500, NULL,                                       \
      "The age at which logs and folders are removed; at most `execution_events.retention_days`.") \
    X(LOGS_KEEP, "logs.keep", SIZE, logs.keep, "1MB", 0, GB, NULL,                                 \
      "How much of each attempt's output is kept: half of it from the start, half from the end.")  \
    X(RETRY_MAX, "retry.max", INT, retry.max, "0", 0, 1000, NULL,                                  \
      "How often a task without its own `retry` is retried; `retry: 3` is short for this key.")    \
    X(RETRY_DELAY, "retry.delay", DURATION, retry.policy.delay, "1s", 1000, 30 * DAY, NULL,        \
      "The delay before the second attempt.")                                                      \
    X(RETRY_BACKOFF, "retry.backoff", NUMBER, retry.policy.backoff, "2", 1, 100, NULL,             \
      "The factor by which the delay grows with each attempt.")                                    \
    X(RETRY_MAX_DELAY, "retry.max_delay", DURATION, retry.policy.max_delay, "5m", 1000, 30 * DAY,  \
      NULL, "The longest delay between two attempts; at least `retry.delay`.")                     \
    X(RETRY_JITTER, "retry.jitter", NUMBER, retry.policy.jitter, "0.1", 0, 1, NULL,                \
      "The random part of the delay, so that tasks that failed together are not retried "          \
      "together.")                                                                                 \
    X(RETRY_CODES, "retry.codes", CODES, retry.policy, "[]", 0, 0, NULL,                           \
      "Only these exit codes are retried; an empty list means all.")                               \
    X(TIMEOUT, "timeout", DURATION, timeout, "(none)", 1000, 365 * DAY, NULL,                      \
      "How long an attempt of a task without its own `timeout` may take.")

/* As above, with the executor types that have the key instead of an id. */
#define EXECUTOR_KEYS(X)                                                                           \
    X(CONFIG_ANY, "type", WORD, type, "(its key, if that is a type)", 0, 0, config_executor_types, \
      "What the executor runs: commands as processes, commands in containers, functions inside "   \
      "the worker, or what a program that embeds Pawl registers under this key (`custom`).")       \
    X(CONFIG_OURS, "enabled", BOOL, enabled, "true", 0, 0, NULL,                                   \
      "Whether this worker runs tasks with the executor; routes may name it in either case.")      \
    X(CONFIG_COMMANDS | 1u << CONFIG_CUSTOM, "slots", COUNT, slots, "(`worker.slots`)", 1, 10000,  \
      NULL, "How many attempts the executor runs at once.")                                        \
    X(CONFIG_COMMANDS, "env", NAMES, env,                                                          \
      "[PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ, TMPDIR]", 0, 0, NULL,                  \
      "The variables of the worker's environment that tasks get; in containers, the default is "   \
      "LANG, LC_ALL and TZ.")                                                                      \
    X(CONFIG_COMMANDS, "secrets_file", PATH, secrets_file, "(none)", 0, 0, NULL,                   \
      "A file of `NAME=VALUE` lines with the secrets that are not in the worker's environment; "   \
      "it must be readable only by its owner.")                                                    \
    X(CONFIG_COMMANDS, "log.head", SIZE, log.head, "(half of `logs.keep`)", 0, GB, NULL,           \
      "How much is kept from the start of an attempt's output.")                                   \
    X(CONFIG_COMMANDS, "log.tail", SIZE, log.tail, "(half of `logs.keep`)", 0, GB, NULL,           \
      "How much is kept from the end of an attempt's output.")                                     \
    X(CONFIG_COMMANDS, "grace", DURATION, grace, "10s", 0, 3600 * SECOND, NULL,                    \
      "The time between SIGTERM and SIGKILL when a task is stopped.")                              \
    X(1u << CONFIG_PROCESS, "shim", PATH, shim, "(the installed one)", 0, 0, NULL,                 \
      "The program `pawl-shim`, under which processes run.")                                       \
    X(1u << CONFIG_CONTAINER, "engine", WORD, engine, "auto", 0, 0, config_engines,                \
      "The container engine; `auto` uses podman if it is installed, else docker if it responds.")  \
    X(1u << CONFIG_CONTAINER, "image", TEXT, image, "(none)", 0, 0, NULL,                          \
      "The image for tasks that do not set one.")                                                  \
    X(1u << CONFIG_CONTAINER, "pull", WORD, pull, "missing", 0, 0, config_pulls,                   \
      "When an image is pulled.")

enum config_mode { CONFIG_PUSH, CONFIG_POLL };
enum config_executor_type { CONFIG_PROCESS, CONFIG_CONTAINER, CONFIG_FUNCTION, CONFIG_CUSTOM };
enum config_engine { CONFIG_AUTO, CONFIG_PODMAN, CONFIG_DOCKER };
enum config_pull { CONFIG_MISSING, CONFIG_ALWAYS, CONFIG_NEVER };
#define CONFIG_COMMANDS (1u << CONFIG_PROCESS | 1u << CONFIG_CONTAINER)
#define CONFIG_OURS     (CONFIG_COMMANDS | 1u << CONFIG_FUNCTION) /* always present */
#define CONFIG_ANY      (CONFIG_OURS | 1u << CONFIG_CUSTOM)

enum config_type {
#define X(name, ctype, text) CONFIG_TYPE_##name,
    CONFIG_TYPES(X)
#undef X
};

enum config_id {
#define X(id, ...) CONFIG_##id,
    CONFIG_KEYS(X)
#undef X
        CONFIG_COUNT
};

enum {
#define X(...) +1
    CONFIG_EXECUTOR_COUNT = 0 EXECUTOR_KEYS(X)
#undef X
};

struct config_texts {
    const char *const *at; /* ends with NULL */
    size_t n;
};

struct config_route {
    const char *task; /* a glob, matched against the full name */
    const char *executor;
};

struct config_routes {
    const struct config_route *at;
    size_t n;
};

struct config_executor {
    const char *key;
    int type; /* enum config_executor_type; determines which other members are used */
    bool enabled;
    int slots;
    bool slots_given; /* if false, slots are the worker's */
    struct config_texts env;
    const char *secrets_file; /* NULL if none */
    struct {
        int64_t head, tail; /* bytes */
    } log;
    int64_t grace;
    const char *shim;  /* NULL for the installed one */
    int engine;        /* enum config_engine */
    const char *image; /* NULL if none */
    int pull;          /* enum config_pull */
};

struct config_executors {
    const struct config_executor *at;
    size_t n;
};

/* Durations are µs, sizes bytes, paths absolute. */
struct config {
    struct arena arena;
    const char *file;       /* the file that was read; NULL if none, then all values are defaults */
    bool set[CONFIG_COUNT]; /* by enum config_id: whether the file has the key */

    const char *db;     /* NULL if neither the file nor $HOME determines it */
    const char *tenant; /* NULL for the default tenant */
    const char *state;  /* NULL as for db */
    struct {
        bool enabled;
        int cap;
    } queue;
    struct {
        int mode; /* enum config_mode */
        const char *default_executor;
        struct config_routes routes;
    } dispatch;
    struct config_executors executors;
    struct {
        int slots, loops;
        struct config_texts queues;
        int64_t lease, heartbeat, host_grace, drain_grace;
    } worker;
    struct {
        int threads, queue;
    } functions;
    struct config_texts plugins;
    struct {
        bool cleanup;
        int retention_days;
    } execution_events;
    struct {
        int retention_days;
        int64_t keep;
    } logs;
    struct {
        int max;
        struct retry_policy policy;
    } retry;
    int64_t timeout; /* 0 if none */
};

/* The properties of the machine that a configuration depends on. */
struct config_host {
    const char *folder;          /* the current folder, for ./pawl.yaml */
    const char *home;            /* this and the next two may be NULL */
    const char *xdg_config_home; /* ignored if not absolute, as the XDG specification requires */
    const char *xdg_state_home;
    int processors;
};
struct config_host config_this_host(void);

/* Reads `path`, which must exist. If `path` is NULL, reads the first that exists of ./pawl.yaml and
 * pawl/pawl.yaml in $XDG_CONFIG_HOME or ~/.config, or uses the defaults if neither does. Errors:
 * E_NOT_FOUND if the file does not exist; E_INVALID with all errors in `diagnostics`, the first
 * also in `err`. */
MUST_USE int config_load(const char *path, const struct config_host *host,
                         struct diagnostics *diagnostics, struct config **out, struct err *err);
/* Like config_load, for a text that is already in memory; NULL for the defaults. */
MUST_USE int config_parse(const struct source *source, const struct config_host *host,
                          struct diagnostics *diagnostics, struct config **out, struct err *err);
void config_free(struct config **config);

const struct config_executor *config_executor(const struct config *c,
                                              const char *key); /* NULL if none */

/* ---- the lists as tables, for the documentation and the tests ---- */

struct config_key {
    const char *path;
    enum config_type type;
    size_t offset;             /* of its member, in struct config or struct config_executor */
    const char *default_value; /* as in the lists above */
    int64_t min, max;          /* both 0 if there is no range */
    const char *const *words;  /* of CONFIG_TYPE_WORD */
    unsigned only;             /* of executor keys: bits of the types that have the key */
    const char *sentence;
};

struct config_table {
    const struct config_key *keys;
    size_t n;
};

extern const struct config_table config_keys;          /* by enum config_id */
extern const struct config_table config_executor_keys; /* the keys of one executor */
extern const char *const config_executor_types[];      /* these lists end with NULL */
extern const char *const config_engines[], *const config_pulls[];
const char *config_type_sentence(enum config_type type);

#endif
