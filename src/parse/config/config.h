/* config.h - pawl.yaml: how a worker and the command line are set up.
 *
 * Each key stands once, in the lists below: parser, defaults and docs/CONFIGURATION.md are made
 * from them. Precedence against the environment and the command line is the caller's: `set` says
 * what the file said itself. */
#ifndef PARSE_CONFIG_CONFIG_H
#define PARSE_CONFIG_CONFIG_H

#include "core/spec.h"
#include "parse/diagnostics.h"

/* name, type in C, how the page calls it */
#define CONFIG_TYPES(X)                                                      \
    X(TEXT, const char *, "text")                                            \
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
    X(NAMES, struct config_texts, "list of names of variables")              \
    X(PATHS, struct config_texts, "list of paths")                           \
    X(CODES, struct retry_policy, "list of exit codes, 1 to 255")            \
    X(ROUTES, struct config_routes, "list of `{task: GLOB, executor: KEY}`") \
    X(EXECUTORS, struct config_executors, "mapping of executors, see below")

/* id, key, type, member, default, lowest, highest, words, sentence. A default in ( ) is worked out
 * from other values, see derive() in config.c. Keys of one section stand together. */
#define CONFIG_KEYS(X)                                                                              \
    X(DB, "db", URL, db, "(an SQLite file in `state`)", 0, 0, NULL,                                 \
      "Where the database is: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`.")                   \
    X(TENANT, "tenant", TENANT, tenant, "(none)", 0, 0, NULL,                                       \
      "The tenant in that database whose work this is.")                                            \
    X(STATE, "state", PATH, state, "(`$XDG_STATE_HOME/pawl`, else `~/.local/state/pawl`)", 0, 0,    \
      NULL,                                                                                         \
      "The folder in which running attempts keep their files; workers that share it adopt "         \
      "each other's work.")                                                                         \
    X(QUEUE_ENABLED, "queue.enabled", BOOL, queue.enabled, "true", 0, 0, NULL,                      \
      "Whether work waits in a queue for a worker; if not, it runs at once where it is "            \
      "submitted, or is refused when `queue.cap` is reached.")                                      \
    X(QUEUE_CAP, "queue.cap", COUNT, queue.cap, "auto", 1, 10000, NULL,                             \
      "Without a queue: how many run at once, in all processes together.")                          \
    X(DISPATCH_MODE, "dispatch.mode", WORD, dispatch.mode, "push", 0, 0, config_modes,              \
      "`push` hands a job that became ready straight to a free slot, `poll` always takes the way "  \
      "through the queue.")                                                                         \
    X(DISPATCH_DEFAULT_EXECUTOR, "dispatch.default_executor", TEXT, dispatch.default_executor,      \
      "process", 0, 0, NULL, "The executor of commands that no route matches.")                     \
    X(DISPATCH_ROUTES, "dispatch.routes", ROUTES, dispatch.routes, "(none)", 0, 0, NULL,            \
      "Which executor runs a task, by its full name such as `nightly::extract`: the first glob "    \
      "that matches counts.")                                                                       \
    X(EXECUTORS, "executors", EXECUTORS, executors,                                                 \
      "(`process`, `container` and `function`, each of the type it is named after)", 0, 0, NULL,    \
      "The ways to run a task, by their keys; what is said of the three that are always there "     \
      "is added to them.")                                                                          \
    X(WORKER_SLOTS, "worker.slots", COUNT, worker.slots, "auto", 1, 10000, NULL,                    \
      "How many attempts a worker runs at once, over all its executors.")                           \
    X(WORKER_QUEUES, "worker.queues", QUEUES, worker.queues, "[default]", 0, 0, NULL,               \
      "The queues that a worker takes work from.")                                                  \
    X(WORKER_LOOPS, "worker.loops", INT, worker.loops, "1", 1, 64, NULL,                            \
      "How many transactions a worker makes at once, each on a connection of its own; more than "   \
      "one only on PostgreSQL.")                                                                    \
    X(WORKER_LEASE, "worker.lease", DURATION, worker.lease, "30s", SECOND, 3600 * SECOND, NULL,     \
      "How long a worker may be silent before others take over its work.")                          \
    X(WORKER_HEARTBEAT, "worker.heartbeat", DURATION, worker.heartbeat, "(a third of `lease`)",     \
      SECOND / 10, 1800 * SECOND, NULL,                                                             \
      "How often a worker renews its leases; less than half of `worker.lease`.")                    \
    X(WORKER_HOST_GRACE, "worker.host_grace", DURATION, worker.host_grace, "5m", 2 * SECOND,        \
      7 * DAY, NULL,                                                                                \
      "How long after the end of a lease a worker of another host waits before it takes over; at "  \
      "least twice `worker.lease`.")                                                                \
    X(WORKER_DRAIN_GRACE, "worker.drain_grace", DURATION, worker.drain_grace, "30s", 0, DAY, NULL,  \
      "How long a worker that is asked to stop waits for what can't go on without it.")             \
    X(FUNCTIONS_THREADS, "functions.threads", COUNT, functions.threads, "auto", 1, 10000, NULL,     \
      "How many functions run at once in a worker.")                                                \
    X(FUNCTIONS_QUEUE, "functions.queue", INT, functions.queue, "64", 0, 100000, NULL,              \
      "How many functions a worker claims beyond those that run, so that no thread waits.")         \
    X(PLUGINS, "plugins", PATHS, plugins, "[]", 0, 0, NULL,                                         \
      "Shared objects with functions, loaded when a worker starts.")                                \
    X(EVENTS_CLEANUP, "execution_events.cleanup", BOOL, execution_events.cleanup, "true", 0, 0,     \
      NULL,                                                                                         \
      "Whether workers remove by themselves, once a day, what is older than "                       \
      "`execution_events.retention_days`.")                                                         \
    X(EVENTS_RETENTION_DAYS, "execution_events.retention_days", INT,                                \
      execution_events.retention_days, "90", 1, 36500, NULL,                                        \
      "The age, counted from its end, at which an execution goes with everything below it: rows, "  \
      "events, logs and folders.")                                                                  \
    X(LOGS_RETENTION_DAYS, "logs.retention_days", INT, logs.retention_days,                         \
      "(that of `execution_events`)", 1, 36500, NULL,                                               \
      "The age at which logs and folders go; not above that of the rest.")                          \
    X(LOGS_KEEP, "logs.keep", SIZE, logs.keep, "1MB", 0, GB, NULL,                                  \
      "How much of each attempt's output is kept, half of it from its beginning and half from its " \
      "end.")                                                                                       \
    X(RETRY_MAX, "retry.max", INT, retry.max, "0", 0, 1000, NULL,                                   \
      "How often a task that says nothing itself is tried again; `retry: 3` is short for it.")      \
    X(RETRY_DELAY, "retry.delay", DURATION, retry.policy.delay, "1s", 1000, 30 * DAY, NULL,         \
      "The time before the second attempt.")                                                        \
    X(RETRY_BACKOFF, "retry.backoff", NUMBER, retry.policy.backoff, "2", 1, 100, NULL,              \
      "The factor by which that time grows with each attempt.")                                     \
    X(RETRY_MAX_DELAY, "retry.max_delay", DURATION, retry.policy.max_delay, "5m", 1000, 30 * DAY,   \
      NULL, "The longest time between two attempts; not below `retry.delay`.")                      \
    X(RETRY_JITTER, "retry.jitter", NUMBER, retry.policy.jitter, "0.1", 0, 1, NULL,                 \
      "The part of the delay that is random, so that what failed together is not retried "          \
      "together.")                                                                                  \
    X(RETRY_CODES, "retry.codes", CODES, retry.policy, "[]", 0, 0, NULL,                            \
      "Only these exit codes are tried again; none: all.")                                          \
    X(TIMEOUT, "timeout", DURATION, timeout, "(none)", 1000, 365 * DAY, NULL,                       \
      "How long an attempt of a task that says nothing itself may take.")

/* As above, with the types that have it instead of an id. */
#define EXECUTOR_KEYS(X)                                                                           \
    X(CONFIG_ANY, "type", WORD, type, "(its key, if that is a type)", 0, 0, config_executor_types, \
      "What it runs: commands as processes, commands in containers, functions inside the worker, " \
      "or whatever a program that embeds Pawl adds under this key (`custom`).")                    \
    X(CONFIG_OURS, "enabled", BOOL, enabled, "true", 0, 0, NULL,                                   \
      "Whether this worker runs tasks with it; routes may name it either way.")                    \
    X(CONFIG_COMMANDS | 1u << CONFIG_CUSTOM, "slots", COUNT, slots, "(`worker.slots`)", 1, 10000,  \
      NULL, "How many attempts it runs at once.")                                                  \
    X(CONFIG_COMMANDS, "env", NAMES, env,                                                          \
      "[PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ, TMPDIR]", 0, 0, NULL,                  \
      "The variables of the worker's environment that tasks get, too; those in containers only "   \
      "LANG, LC_ALL and TZ, if it is not said.")                                                   \
    X(CONFIG_COMMANDS, "secrets_file", PATH, secrets_file, "(none)", 0, 0, NULL,                   \
      "A file of `NAME=VALUE` lines with the secrets that are not in the worker's environment; "   \
      "only its owner may read it.")                                                               \
    X(CONFIG_COMMANDS, "log.head", SIZE, log.head, "(half of `logs.keep`)", 0, GB, NULL,           \
      "How much is kept from the beginning of an attempt's output.")                               \
    X(CONFIG_COMMANDS, "log.tail", SIZE, log.tail, "(half of `logs.keep`)", 0, GB, NULL,           \
      "How much is kept from its end.")                                                            \
    X(CONFIG_COMMANDS, "grace", DURATION, grace, "10s", 0, 3600 * SECOND, NULL,                    \
      "The time between TERM and KILL when a task is ended.")                                      \
    X(1u << CONFIG_PROCESS, "shim", PATH, shim, "(the installed one)", 0, 0, NULL,                 \
      "The program `pawl-shim`, under which processes run.")                                       \
    X(1u << CONFIG_CONTAINER, "engine", WORD, engine, "auto", 0, 0, config_engines,                \
      "The container engine; `auto` takes podman if there is one, else a docker that answers.")    \
    X(1u << CONFIG_CONTAINER, "image", TEXT, image, "(none)", 0, 0, NULL,                          \
      "The image for tasks that name none.")                                                       \
    X(1u << CONFIG_CONTAINER, "pull", WORD, pull, "missing", 0, 0, config_pulls,                   \
      "When an image is fetched.")

enum config_mode { CONFIG_PUSH, CONFIG_POLL };
enum config_executor_type { CONFIG_PROCESS, CONFIG_CONTAINER, CONFIG_FUNCTION, CONFIG_CUSTOM };
enum config_engine { CONFIG_AUTO, CONFIG_PODMAN, CONFIG_DOCKER };
enum config_pull { CONFIG_MISSING, CONFIG_ALWAYS, CONFIG_NEVER };
#define CONFIG_COMMANDS (1u << CONFIG_PROCESS | 1u << CONFIG_CONTAINER)
#define CONFIG_OURS     (CONFIG_COMMANDS | 1u << CONFIG_FUNCTION) /* always there */
#define CONFIG_ANY      (CONFIG_OURS | 1u << CONFIG_CUSTOM)

enum config_type {
#define X(name, ctype, says) CONFIG_TYPE_##name,
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
    const char *task; /* a glob on the full name */
    const char *executor;
};

struct config_routes {
    const struct config_route *at;
    size_t n;
};

struct config_executor {
    const char *key;
    int type; /* enum config_executor_type; says which of the others have a meaning */
    bool enabled;
    int slots;
    bool slots_given; /* else they are the worker's */
    struct config_texts env;
    const char *secrets_file; /* NULL: none */
    struct {
        int64_t head, tail; /* bytes */
    } log;
    int64_t grace;
    const char *shim;  /* NULL: the installed one */
    int engine;        /* enum config_engine */
    const char *image; /* NULL: none */
    int pull;          /* enum config_pull */
};

struct config_executors {
    const struct config_executor *at;
    size_t n;
};

/* Durations are µs, sizes bytes, paths absolute. */
struct config {
    struct arena arena;
    const char *file;       /* that was read; NULL: none, all values are defaults */
    bool set[CONFIG_COUNT]; /* by enum config_id: the file says it */

    const char *db;     /* NULL: nothing says where, not even $HOME */
    const char *tenant; /* NULL: the default one */
    const char *state;  /* NULL: as db */
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
    int64_t timeout; /* 0: none */
};

/* The machine, as far as a configuration depends on it. */
struct config_host {
    const char *folder;          /* the current one, for ./pawl.yaml */
    const char *home;            /* these three may be NULL */
    const char *xdg_config_home; /* what is not absolute is ignored, as the standard says */
    const char *xdg_state_home;
    int processors;
};
struct config_host config_this_host(void);

/* Reads `path`, which must exist; or, if it is NULL, the first that exists of ./pawl.yaml and
 * pawl/pawl.yaml in $XDG_CONFIG_HOME or ~/.config; or takes the defaults. E_NOT_FOUND: no such
 * file; E_INVALID: all that is wrong is in `problems`, the first of it also in `err`. */
MUST_USE int config_load(const char *path, const struct config_host *host,
                         struct diagnostics *diagnostics, struct config **out, struct err *err);
/* The same with a text that is already there; NULL: the defaults. */
MUST_USE int config_parse(const struct source *source, const struct config_host *host,
                          struct diagnostics *diagnostics, struct config **out, struct err *err);
void config_free(struct config **config);

const struct config_executor *config_executor(const struct config *c,
                                              const char *key); /* or NULL */

/* ---- for the page and the tests: the lists as tables ---- */

struct config_key {
    const char *path;
    enum config_type type;
    size_t offset;             /* of its member, in struct config or struct config_executor */
    const char *default_value; /* the default */
    int64_t min, max;          /* both 0: no range */
    const char *const *words;  /* of CONFIG_TYPE_WORD */
    unsigned only;             /* executors: bits of the types that have it */
    const char *sentence;
};

struct config_table {
    const struct config_key *keys;
    size_t n;
};

extern const struct config_table config_keys;          /* by enum config_id */
extern const struct config_table config_executor_keys; /* of one executor */
extern const char *const config_executor_types[];      /* words end with NULL */
extern const char *const config_engines[], *const config_pulls[];
const char *config_type_sentence(enum config_type type);

#endif
