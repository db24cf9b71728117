/* config_keys.c - the keys of pawl.yaml. */
#include "parse/config/config.h"

#define SECOND (1000 * 1000LL)
#define DAY    (86400 * SECOND)
#define GB     (1000 * 1000 * 1000LL)

static const char *const config_modes[] = {[CONFIG_PUSH] = "push", [CONFIG_POLL] = "poll", NULL};
const char *const config_executor_types[] = {[CONFIG_PROCESS] = "process",
                                             [CONFIG_CONTAINER] = "container",
                                             [CONFIG_FUNCTION] = "function",
                                             [CONFIG_CUSTOM] = "custom",
                                             NULL};
const char *const config_engines[] = {
    [CONFIG_AUTO] = "auto", [CONFIG_PODMAN] = "podman", [CONFIG_DOCKER] = "docker", NULL};
const char *const config_pulls[] = {
    [CONFIG_MISSING] = "missing", [CONFIG_ALWAYS] = "always", [CONFIG_NEVER] = "never", NULL};

#define CONFIG(of, member, type) KEY_##type, KEY_AT(of, member, type)
/* A key whose value is a mapping; the documentation lists the keys of the mapping instead. */
#define SECTION(name)                                                                  \
    {                                                                                  \
#name, KEY_SECTION, .group = &(const struct keys){.at = name }, .sentence = "" \
    }

static const struct key queue[] = {
    {"enabled", CONFIG(config, queue.enabled, BOOL), .default_value = "true",
     .sentence = "Whether jobs wait in a queue for a worker; if not, a job runs at once where it "
                 "is submitted, or is refused when `queue.cap` is reached. Tasks of a workflow "
                 "are not refused, but wait."},
    {"cap", CONFIG(config, queue.cap, COUNT), 1, 10000, .default_value = "auto",
     .sentence = "Without a queue: how many jobs and tasks run at once, in all processes of the "
                 "database together."},
    KEYS_END,
};

static const struct key dispatch[] = {
    {"mode", CONFIG(config, dispatch.mode, WORD), .words = config_modes, .default_value = "push",
     .sentence = "`push` hands a job that became ready straight to a free slot; `poll` always "
                 "goes through the queue."},
    {"default_executor", CONFIG(config, dispatch.routes.command, TEXT), 1, 0, .is_shared = true,
     .default_value = "process", .sentence = "The executor of commands that no route matches."},
    {"routes", CONFIG(config, dispatch.routes, ROUTES), .is_shared = true,
     .default_value = "(none)",
     .sentence = "Which executor runs a task, by the task's full name such as "
                 "`nightly::extract`: the first glob that matches wins."},
    KEYS_END,
};

static const struct key worker[] = {
    {"slots", CONFIG(config, worker.slots, COUNT), 1, 10000, .default_value = "auto",
     .sentence = "How many attempts a worker runs at once, across all its executors."},
    {"queues", CONFIG(config, worker.queues, QUEUES), .default_value = "[default]",
     .sentence = "The queues from which a worker claims jobs."},
    {"loops", CONFIG(config, worker.loops, INT), 1, 64, .default_value = "1",
     .sentence = "How many transactions a worker runs at once, each on its own connection; more "
                 "than one only on PostgreSQL."},
    {"lease", CONFIG(config, worker.lease, DURATION), SECOND, 3600 * SECOND, .default_value = "30s",
     .sentence = "How long a worker may be silent before other workers take over its jobs."},
    {"heartbeat", CONFIG(config, worker.heartbeat, DURATION), SECOND / 10, 1800 * SECOND,
     .default_value = "(a third of `lease`)",
     .sentence = "How often a worker renews its leases; less than half of `worker.lease`."},
    {"host_grace", CONFIG(config, worker.host_grace, DURATION), 2 * SECOND, 7 * DAY,
     .default_value = "5m",
     .sentence = "How long after the end of a lease a worker on another host waits before it "
                 "takes over the job; at least twice `worker.lease`."},
    {"drain_grace", CONFIG(config, worker.drain_grace, DURATION), 0, DAY, .default_value = "30s",
     .sentence = "How long a stopping worker waits for attempts that can't continue without it."},
    KEYS_END,
};

static const struct key functions[] = {
    {"threads", CONFIG(config, functions.threads, COUNT), 1, 10000, .default_value = "auto",
     .sentence = "How many functions run at once in a worker."},
    {"queue", CONFIG(config, functions.queue, INT), 0, 100000, .default_value = "64",
     .sentence = "How many short functions a worker may claim in addition to those that run, so "
                 "that no thread waits; functions that take longer are claimed when they start."},
    KEYS_END,
};

static const struct key execution_events[] = {
    {"cleanup", CONFIG(config, execution_events.cleanup, BOOL), .is_shared = true,
     .default_value = "true",
     .sentence = "Whether workers remove, once a day, executions that are older than "
                 "`execution_events.retention_days`."},
    {"retention_days", CONFIG(config, execution_events.retention_days, INT), 1, 36500,
     .is_shared = true, .default_value = "90",
     .sentence = "The age, counted from its end, at which an execution is removed with all its "
                 "descendants: rows, events, logs and folders."},
    KEYS_END,
};

static const struct key logs[] = {
    {"retention_days", CONFIG(config, logs.retention_days, INT), 1, 36500, .is_shared = true,
     .default_value = "(`execution_events.retention_days`)",
     .sentence = "The age at which logs and folders are removed; at most "
                 "`execution_events.retention_days`."},
    {"keep", CONFIG(config, logs.keep, SIZE), 0, GB, .default_value = "1MB",
     .sentence = "How much of each attempt's output is kept: half of it from the start, half "
                 "from the end."},
    KEYS_END,
};

static const struct key retry[] = {
    {"max", CONFIG(retry_policy, max, INT), 0, 1000, .default_value = "0",
     .sentence = "How often a task without its own `retry` is retried; `retry: 3` is short for "
                 "this key."},
    {"delay", CONFIG(retry_policy, delay, DURATION), 1000, 30 * DAY, .default_value = "1s",
     .sentence = "The delay before the second attempt."},
    {"backoff", CONFIG(retry_policy, backoff, NUMBER), 1, 100, .default_value = "2",
     .sentence = "The factor by which the delay grows with each attempt."},
    {"max_delay", CONFIG(retry_policy, max_delay, DURATION), 1000, 30 * DAY, .default_value = "5m",
     .sentence = "The longest delay between two attempts; at least `retry.delay`."},
    {"jitter", CONFIG(retry_policy, jitter, NUMBER), 0, 1, .default_value = "0.1",
     .sentence = "The random part of the delay, so that tasks that failed together are not "
                 "retried together."},
    {"codes", CONFIG(retry_policy, codes, CODES), 1, 255, .default_value = "[]",
     .sentence = "Only these exit codes are retried; an empty list means all."},
    KEYS_END,
};

/* The keys of pawl.yaml. A default in ( ) is derived from other values; derive_defaults() in
 * config.c sets it. */
static const struct key config[] = {
    {"db", CONFIG(config, db, URL), .needs_trust = true,
     .default_value = "(an SQLite file in `state`)",
     .sentence = "The database: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`."},
    {"tenant", CONFIG(config, tenant, TENANT), .default_value = "(none)",
     .sentence = "The tenant to use in that database."},
    {"state", CONFIG(config, state, PATH), .needs_trust = true,
     .default_value = "(`$XDG_STATE_HOME/pawl`, else `~/.local/state/pawl`)",
     .sentence = "The folder for the files of running attempts; workers that share it adopt each "
                 "other's attempts."},
    SECTION(queue),
    SECTION(dispatch),
    {"executors", CONFIG(config, executors, EXECUTORS),
     .default_value =
         "(`process`, `container` and `function`, each of the type that it is named after)",
     .sentence = "The executors, by their keys. The three default ones always exist; keys given "
                 "for them change only those settings."},
    SECTION(worker),
    SECTION(functions),
    {"plugins", CONFIG(config, plugins, PATHS), .needs_trust = true, .default_value = "[]",
     .sentence = "Shared objects with functions and executors, loaded when a worker starts."},
    SECTION(execution_events),
    SECTION(logs),
    {"retry", CONFIG(config, retry, RETRY), .group = &(const struct keys){.at = retry},
     .sentence = ""},
    {"timeout", CONFIG(config, timeout, DURATION), 1000, 365 * DAY, .default_value = "(none)",
     .sentence = "How long an attempt of a task without its own `timeout` may take."},
    KEYS_END,
};

const struct keys config_keys = {.title = "the configuration", .at = config};

/* ---- the keys of one executor; `places` are the types that have the key ---- */

static const struct key log_keys[] = {
    {"head", CONFIG(config_executor, log.head, SIZE), 0, GB, .places = CONFIG_COMMANDS,
     .default_value = "(half of `logs.keep`)",
     .sentence = "How much is kept from the start of an attempt's output."},
    {"tail", CONFIG(config_executor, log.tail, SIZE), 0, GB, .places = CONFIG_COMMANDS,
     .default_value = "(half of `logs.keep`)",
     .sentence = "How much is kept from the end of an attempt's output."},
    KEYS_END,
};

static const struct key executor[] = {
    {"type", CONFIG(config_executor, type, WORD), .places = CONFIG_ANY,
     .words = config_executor_types, .default_value = "(its key, if that is a type)",
     .sentence = "What the executor runs: commands as processes, commands in containers, "
                 "functions inside the worker, or what a program that embeds Pawl registers "
                 "under this key (`custom`)."},
    {"enabled", CONFIG(config_executor, enabled, BOOL), .places = CONFIG_OURS,
     .default_value = "true",
     .sentence = "Whether this worker runs tasks with the executor; routes may name it in either "
                 "case."},
    {"slots", CONFIG(config_executor, slots, COUNT), 1, 10000,
     .places = CONFIG_COMMANDS | 1u << CONFIG_CUSTOM, .default_value = "(`worker.slots`)",
     .sentence = "How many attempts the executor runs at once."},
    {"env", CONFIG(config_executor, env, NAMES), .places = CONFIG_COMMANDS,
     .default_value = "[PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ, TMPDIR]",
     .sentence = "The variables of the worker's environment that tasks get; in containers, the "
                 "default is LANG, LC_ALL and TZ."},
    {"secrets_file", CONFIG(config_executor, secrets_file, PATH), .places = CONFIG_COMMANDS,
     .default_value = "(none)",
     .sentence = "A file of `NAME=VALUE` lines with the secrets that are not in the worker's "
                 "environment; it must be readable only by its owner."},
    {"log", KEY_SECTION, .group = &(const struct keys){.at = log_keys}, .sentence = ""},
    {"grace", CONFIG(config_executor, grace, DURATION), 0, 3600 * SECOND, .places = CONFIG_COMMANDS,
     .default_value = "10s",
     .sentence = "The time between SIGTERM and SIGKILL when a task is stopped."},
    {"shim", CONFIG(config_executor, shim, PATH), .needs_trust = true,
     .places = 1u << CONFIG_PROCESS, .default_value = "(the installed one)",
     .sentence = "The program `pawl-shim`, under which processes run."},
    {"engine", CONFIG(config_executor, engine, WORD), .places = 1u << CONFIG_CONTAINER,
     .words = config_engines, .default_value = "auto",
     .sentence = "The container engine; `auto` uses podman if it is installed, else docker if it "
                 "responds."},
    {"image", CONFIG(config_executor, image, TEXT), 1, 0, .needs_trust = true,
     .places = 1u << CONFIG_CONTAINER, .default_value = "(none)",
     .sentence = "The image for tasks that do not set one."},
    {"pull", CONFIG(config_executor, pull, WORD), .places = 1u << CONFIG_CONTAINER,
     .words = config_pulls, .default_value = "missing", .sentence = "When an image is pulled."},
    KEYS_END,
};

const struct keys config_executor_keys = {.at = executor};
