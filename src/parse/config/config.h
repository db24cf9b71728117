/* config.h - pawl.yaml, the configuration of workers and of the command line.
 *
 * Each key is defined once, in config_keys.c: parser, defaults and docs/CONFIGURATION.md are made
 * from those tables. The caller decides which values the environment and the command line
 * override. */
#ifndef PARSE_CONFIG_CONFIG_H
#define PARSE_CONFIG_CONFIG_H

#include "core/route.h"
#include "core/workflow/keys.h"
#include "parse/diagnostics.h"

enum config_mode { CONFIG_PUSH, CONFIG_POLL };
enum config_executor_type { CONFIG_PROCESS, CONFIG_CONTAINER, CONFIG_FUNCTION, CONFIG_CUSTOM };
enum config_engine { CONFIG_AUTO, CONFIG_PODMAN, CONFIG_DOCKER };
enum config_pull { CONFIG_MISSING, CONFIG_ALWAYS, CONFIG_NEVER };
#define CONFIG_COMMANDS (1u << CONFIG_PROCESS | 1u << CONFIG_CONTAINER)
#define CONFIG_OURS     (CONFIG_COMMANDS | 1u << CONFIG_FUNCTION) /* always present */
#define CONFIG_ANY      (CONFIG_OURS | 1u << CONFIG_CUSTOM)

struct config_executor {
    const char *key;
    int type; /* enum config_executor_type; the type determines which other members are used */
    bool enabled;
    int slots;
    bool slots_given; /* if false, `slots` is set to the worker's number of slots */
    struct texts env;
    const char *secrets_file; /* absolute path; NULL if none */
    struct {
        int64_t head, tail; /* bytes */
    } log;
    int64_t grace;
    const char *shim;  /* program that runs attempts; NULL for the installed one */
    int engine;        /* enum config_engine */
    const char *image; /* default image; NULL if none */
    int pull;          /* enum config_pull */
};

struct config_executors {
    const struct config_executor *at;
    size_t n;
};

/* The values of pawl.yaml. Durations are in µs, sizes in bytes, paths absolute. */
struct config {
    struct arena arena;
    /* The file that was read; NULL if no file was found, so that all values are defaults. */
    const char *file;
    bool db_given;     /* the file contains the key db */
    bool routes_given; /* the file contains dispatch.routes or dispatch.default_executor */
    /* The file contains a key that says how long executions or logs are kept. */
    bool retention_given;

    const char *db;     /* database; NULL if neither the file nor $HOME determines it */
    const char *tenant; /* tenant; NULL for the default tenant */
    const char *state;  /* state folder; NULL if neither the file nor $HOME determines it */
    struct {
        bool enabled;
        int cap;
    } queue;
    struct {
        int mode; /* enum config_mode */
        struct routes routes;
    } dispatch;
    struct config_executors executors;
    struct {
        int slots, loops;
        struct texts queues;
        int64_t lease, heartbeat, host_grace, drain_grace;
    } worker;
    struct {
        int threads, queue;
    } functions;
    struct texts plugins;
    struct {
        bool cleanup;
        int retention_days;
    } execution_events;
    struct {
        int retention_days;
        int64_t keep;
    } logs;
    struct retry_policy retry;
    int64_t timeout; /* µs; 0 for no timeout */
};

/* The properties of the machine that a configuration depends on. */
struct config_host {
    const char *folder;          /* the current folder, where ./pawl.yaml is searched */
    const char *home;            /* may be NULL, like the two members below */
    const char *xdg_config_home; /* ignored if not absolute, as the XDG specification requires */
    const char *xdg_state_home;
    int processors;
};
struct config_host config_this_host(void);

/* Reads `path`, which must exist. If `path` is NULL, reads the first that exists of ./pawl.yaml and
 * pawl/pawl.yaml in $XDG_CONFIG_HOME or ~/.config, or uses the defaults if neither does.
 * ./pawl.yaml may set keys that decide what runs only if the user trusts it (trust.h). Errors:
 * -E_NOT_FOUND if the file does not exist; -E_INVALID if other users can change the file, or if it
 * has errors: `diagnostics` has all of them, `err` the first. */
MUST_USE int config_load(const char *path, const struct config_host *host,
                         struct diagnostics *diagnostics, struct config **out, struct err *err);
/* Like config_load, for text that is already in memory; NULL for the defaults. `untrusted` is the
 * reason why keys that decide what runs are refused, as the end of a sentence; NULL if they are
 * accepted. */
MUST_USE int config_parse(const struct source *source, const char *untrusted,
                          const struct config_host *host, struct diagnostics *diagnostics,
                          struct config **out, struct err *err);
void config_free(struct config **config);

/* The executor with this key; NULL if there is none. */
const struct config_executor *config_executor(const struct config *c, const char *key);

/* ---- the tables, for the documentation and the tests ---- */

extern const struct keys config_keys, config_executor_keys;
extern const char *const config_executor_types[]; /* each of these lists ends with NULL */
extern const char *const config_engines[], *const config_pulls[];

#endif
