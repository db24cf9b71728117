/* key_lists.h - the keys of a workflow file and their types, each once. The lists are expanded for
 * the key table (keys.h, keys.c), for the structures in which a program builds a workflow
 * (api/build_keys.c), and for the JSON Schema.
 *
 *   X(key, type, member of the definition, member in pawl.h, lowest, highest, places, ...)
 *
 * The arguments from `lowest` on set members of struct key (keys.h), by position or by name.
 * `.spec` of a new key is the next free number, which is 16 (raise it here); numbers are never
 * reused. NO_MEMBER means that pawl.h has no member for the key. A list is in the order of the
 * canonical text. A key without a sentence exists only in the canonical text. */
#ifndef CORE_WORKFLOW_KEY_LISTS_H
#define CORE_WORKFLOW_KEY_LISTS_H

#define KEY_SECOND     1000000LL
#define KEY_DAY        (86400 * KEY_SECOND)
#define KEY_MS         1000LL
/* The kernel's limit on one argument or environment variable, without the closing NUL. */
#define KEY_ARG_BYTES  (128 * 1024 - 1)
#define KEY_PATH_BYTES 4095
#define KEY_NAME_BYTES 255
#define KEY_ANY_BYTES  INT64_MAX

/* ---- types ---- */

/* How the value of a key is stored: its C type, and its form in JSON. "and size_t" means that the
 * next member of the structure is the length of the list. */
#define STORED_AS(X)                                                                         \
    X(TEXT, const char *)   /* NULL if none */                                               \
    X(JSON, const char *)   /* any value; NULL if none */                                    \
    X(TEXTS, struct texts)  /* or const char *const * followed by a size_t */                \
    X(PAIRS, struct pairs)  /* values are strings */                                         \
    X(VALUES, struct pairs) /* values are JSON */                                            \
    X(BOOL, bool)                                                                            \
    X(INT, int)                                                                              \
    X(I64, int64_t)                                                                          \
    X(DOUBLE, double)                  /* the default is below the lowest value */           \
    X(WORD, int)                       /* an index in the key's `words`; any enum */         \
    X(CODES, const int *)              /* a list followed by a size_t */                     \
    X(INDEXES, const uint32_t *)       /* a list followed by a uint32_t */                   \
    X(LOCATION, uint32_t)              /* the line, followed by a uint32_t for the column */ \
    X(NESTED, const struct workflow *) /* stored in JSON as the hash of the definition */    \
    X(TASK, struct workflow_task *)                                                          \
    X(GROUP, struct key_any)   /* a structure with the keys of `group` */                    \
    X(OPTION, struct key_any)  /* like GROUP; its first member says if it is given */        \
    X(LIST, struct key_any)    /* pointer to an array of structures, followed by a size_t */ \
    X(NOTHING, struct key_any) /* not stored */

/* The types of keys. Columns: name, how it is stored, text in the documentation, JSON Schema,
 * written with the macros of schema_json.c ("" for any value, and for types that no workflow file
 * uses). COUNT and the types from SECTION on are only for the keys of pawl.yaml
 * (parse/config/config_keys.c), which has no schema. */
#define KEY_TYPES(X)                                                                             \
    X(NAME, TEXT, "name", STRING ",\"pattern\":\"" NAME_PATTERN "\"")                            \
    X(TEXT, TEXT, "string", SCALAR)                                                              \
    X(TEMPLATE, TEXT, "string, may contain `${{ }}`", SCALAR)                                    \
    X(SCRIPT, TEXT, "shell text, without `${{ }}`", SCALAR)                                      \
    X(CONDITION, TEXT, "expression, with or without `${{ }}`",                                   \
      "\"type\":[\"string\",\"boolean\"]")                                                       \
    X(BOOL, BOOL, "true or false", "\"type\":\"boolean\"")                                       \
    X(INT, INT, "number", "\"type\":\"integer\",\"minimum\":<min>,\"maximum\":<max>")            \
    X(COUNT, INT, "number", "")                                                                  \
    X(NUMBER, DOUBLE, "number", "\"type\":\"number\",\"minimum\":<min>,\"maximum\":<max>")       \
    X(DURATION, I64, "duration", DURATION)                                                       \
    X(SIZE, I64, "size",                                                                         \
      ANY_OF("{\"type\":\"integer\",\"minimum\":0}",                                             \
             "{" STRING ",\"pattern\":\"" SIZE_PATTERN "\"}"))                                   \
    X(WORD, WORD, "", "\"enum\":[<words>]")                                                      \
    X(QUEUE, TEXT, "queue name", SCALAR)                                                         \
    X(CRON, TEXT, "cron pattern", STRING)                                                        \
    X(ZONE, TEXT, "time zone name", STRING)                                                      \
    X(CATCHUP, I64, "duration, or `last`", ANY_OF("{\"const\":\"last\"}", "{" DURATION "}"))     \
    X(TIME, I64, "time: `2026-01-31` or `2026-01-31T14:00:00Z`", STRING)                         \
    X(FILE, NESTED, "path of a workflow file", STRING)                                           \
    X(JOIN, INT, "`all`, `any` or a number",                                                     \
      ANY_OF("{\"enum\":[\"all\",\"any\"]}", "{\"type\":\"integer\",\"minimum\":1}"))            \
    X(FOREACH, JSON, "list, number or a single `${{ }}`",                                        \
      ANY_OF("{\"type\":\"array\"},{\"type\":\"integer\",\"minimum\":0}",                        \
             "{" STRING ",\"pattern\":\"^\\\\$\\\\{\\\\{\"}"))                                   \
    X(NEEDS, INDEXES, "list of task names", LIST(TEXT_SCHEMA))                                   \
    X(LOCATION, LOCATION, "", "")                                                                \
    X(TEMPLATES, TEXTS, "list of strings, may contain `${{ }}`", LIST(TEXT_SCHEMA))              \
    X(WORDS, TEXTS, "string, split at spaces, or list of strings", LIST(TEXT_SCHEMA))            \
    X(VARIABLES, TEXTS, "list of variable names", LIST(TEXT_SCHEMA))                             \
    X(OUTPUTS, TEXTS, "list of names", LIST(TEXT_SCHEMA))                                        \
    X(CODES, CODES, "list of exit codes, 1 to 255",                                              \
      LIST("{\"type\":\"integer\",\"minimum\":<min>,\"maximum\":<max>}"))                        \
    X(ENV, PAIRS, "mapping of variables to strings, may contain `${{ }}`",                       \
      MAPPING(VARIABLE_PATTERN, TEXT_SCHEMA))                                                    \
    X(VALUES, VALUES, "mapping of names to values, may contain `${{ }}`", "\"type\":\"object\"") \
    X(LITERALS, VALUES, "mapping of names to values", "\"type\":\"object\"")                     \
    X(LITERAL, JSON, "any value", "")                                                            \
    X(RETRY, GROUP, "number, or mapping",                                                        \
      ANY_OF("{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000}", REF("retry")))             \
    X(LIMITS, GROUP, "mapping", ONLY("limits"))                                                  \
    X(CONTAINER, JSON, "image, or mapping", ANY_OF(TEXT_SCHEMA, REF("container")))               \
    X(CONCURRENCY, GROUP, "key, or mapping", ANY_OF(TEXT_SCHEMA, REF("concurrency")))            \
    X(APPROVAL, OPTION, "message, `true`, or mapping", ANY_OF(TEXT_SCHEMA, REF("approval")))     \
    X(PARAMS, LIST, "mapping of names to defaults, or to mappings",                              \
      MAPPING(VARIABLE_PATTERN,                                                                  \
              "{" ANY_OF("{\"type\":[\"string\",\"number\",\"boolean\",\"array\",\"null\"]}",    \
                         REF("param")) "}"))                                                     \
    X(DEFAULTS, NOTHING, "mapping", ONLY("defaults"))                                            \
    X(TRIGGERS, NOTHING, "mapping", ONLY("on"))                                                  \
    X(SCHEDULES, LIST, "list of cron patterns, or of mappings",                                  \
      LIST("{" ANY_OF("{" STRING "}", REF("schedule")) "}"))                                     \
    X(FOLLOWS, LIST, "list of workflow names, or of mappings",                                   \
      LIST("{" ANY_OF("{" STRING "}", REF("follow")) "}"))                                       \
    X(WEBHOOKS, LIST, "list of names, or of mappings",                                           \
      LIST("{" ANY_OF("{" STRING "}", REF("webhook")) "}"))                                      \
    X(TASK, TASK, "task", ONLY("hook"))                                                          \
    X(TASKS, NOTHING, "mapping of names to tasks, or list of tasks",                             \
      ANY_OF("{" MAPPING(NAME_PATTERN, REF("task")) "}",                                         \
             "{\"type\":\"array\",\"minItems\":1,\"items\":" REF("task") "}"))                   \
    X(SECTION, NOTHING, "mapping", "")                                                           \
    X(URL, TEXT, "URL", "")                                                                      \
    X(TENANT, TEXT, "name", "")                                                                  \
    X(PATH, TEXT, "path", "")                                                                    \
    X(QUEUES, TEXTS, "list of queues", "")                                                       \
    X(NAMES, TEXTS, "list of variable names", "")                                                \
    X(PATHS, TEXTS, "list of paths", "")                                                         \
    X(ROUTES, NOTHING, "list of `{task: GLOB, executor: KEY}`", "")                              \
    X(EXECUTORS, NOTHING, "mapping of executors, see below", "")

/* ---- small mappings ---- */

#define RETRY_KEYS(X)                                                                              \
    X("max", INT, max, retries, 0, 1000, .unset = -1, .default_value = "as configured (0)",        \
      .sentence = "How often the task is retried: `max: 3` allows up to four attempts.")           \
    X("delay", DURATION, delay, retry.delay, KEY_MS, 30 * KEY_DAY, .default_value = "1s",          \
      .sentence = "The delay before the second attempt.")                                          \
    X("backoff", NUMBER, backoff, retry.backoff, 1, 100, .stored_max = 1000, .default_value = "2", \
      .sentence = "The factor by which the delay grows with each attempt.")                        \
    X("max_delay", DURATION, max_delay, retry.max_delay, KEY_MS, 30 * KEY_DAY,                     \
      .default_value = "5m", .sentence = "The longest delay between two attempts.")                \
    X("jitter", NUMBER, jitter, retry.jitter, 0, 1, .default_value = "0.1",                        \
      .sentence = "The random part of the delay, so that tasks that failed together are not "      \
                  "retried together.")                                                             \
    X("codes", CODES, codes, retry.codes, 1, 255, .default_value = "all",                          \
      .sentence = "Only these exit codes are retried; timeouts, signals and lost attempts always " \
                  "are.")

#define LIMIT_KEYS(X)                                                  \
    X("memory", SIZE, memory, memory, 1 << 20, 1LL << 50,              \
      .sentence = "The most memory that the command may use.")         \
    X("cpu", DURATION, cpu, cpu, KEY_SECOND, 365 * KEY_DAY,            \
      .sentence = "The most processor time that the command may use.") \
    X("files", INT, files, files, 8, 1 << 30,                          \
      .sentence = "How many files the command may have open.")         \
    X("pids", INT, pids, pids, 1, 1 << 22, .sentence = "How many processes the command may have.")

#define CONTAINER_KEYS(X)                                                                          \
    X("image", TEMPLATE, image, image, 1, KEY_PATH_BYTES, .default_value = "the executor's",       \
      .sentence = "The image; `container: alpine` is short for `{image: alpine}`.")                \
    X("pull", WORD, pull, pull, .unset = -1, .words = container_pulls, .default_value = "missing", \
      .sentence = "When the image is pulled.")                                                     \
    X("network", TEMPLATE, network, network, 1, KEY_NAME_BYTES, .default_value = "none",           \
      .sentence = "The network: `none`, `host`, `bridge`, or a name.")                             \
    X("volumes", TEMPLATES, volumes, volumes, 1, KEY_PATH_BYTES,                                   \
      .sentence = "Paths of the host to mount: `SOURCE:TARGET[:ro]`. A relative source starts at " \
                  "the folder of the workflow file.")                                              \
    X("options", TEMPLATES, options, options, 1, KEY_ARG_BYTES,                                    \
      .sentence = "Further options for `podman create` or `docker create`, one per entry, such "   \
                  "as `--device=/dev/fuse`.")

#define CONCURRENCY_KEYS(X)                                                                       \
    X("key", TEMPLATE, key, concurrency, 1, KEY_NAME_BYTES,                                       \
      .sentence = "Everything with the same key shares the limit. `concurrency: KEY` is short "   \
                  "for `{key: KEY}`.")                                                            \
    X("max", INT, max, concurrency_max, 1, 1000000, .stored_default = true, .default_value = "1", \
      .sentence = "How many executions with that key may run at once, across all workflows.")

#define APPROVAL_KEYS(X)                                                                           \
    X("message", TEMPLATE, message, message, 1, 10000,                                             \
      .sentence = "The text shown to approvers; `approval: TEXT` is short for `{message: TEXT}`.") \
    X("timeout", DURATION, timeout, timeout, KEY_SECOND, 365 * KEY_DAY, .default_value = "none",   \
      .sentence = "The task times out if it is not approved or rejected within this time.")

#define PARAM_KEYS(X)                                                    \
    X("name", NAME, name, NO_MEMBER, .min = 1)                           \
    X("type", WORD, type, type, .words = param_types,                    \
      .default_value = "the type of the default, else `string`",         \
      .sentence = "The type of the value.")                              \
    X("default", LITERAL, default_value, value, .default_value = "null", \
      .sentence = "The value used if none is given.")                    \
    X("required", BOOL, required, required, .default_value = "false",    \
      .sentence = "Whether a value must be given.")                      \
    X("description", TEXT, description, description, 0, KEY_ANY_BYTES,   \
      .sentence = "What the param is for; shown to users.")

#define SCHEDULE_KEYS(X)                                                                          \
    X("name", NAME, name, name, .default_value = "its position in the list, from 1",              \
      .sentence = "The name of the schedule: `weekly` of the workflow `report` is "               \
                  "`report/weekly`.")                                                             \
    X("cron", CRON, cron, cron, 1, 1000,                                                          \
      .sentence = "Minute, hour, day of the month, month, day of the week; or `@hourly`, "        \
                  "`@daily`, `@weekly`, `@monthly`, `@yearly`. Required.")                        \
    X("tz", ZONE, tz, tz, 1, 63, .default_value = "UTC",                                          \
      .sentence = "The time zone of the pattern, such as `Europe/Berlin`.")                       \
    X("catchup", CATCHUP, catchup, catchup, KEY_SECOND, 365 * KEY_DAY, .default_value = "none",   \
      .sentence = "Due times that were missed because no worker ran are caught up if they are "   \
                  "not older than this, one after another unless `overlap` allows more; `last` "  \
                  "runs only the newest of them, however old.")                                   \
    X("overlap", WORD, overlap, overlap, .words = overlaps, .default_value = "skip",              \
      .sentence = "What happens at a due time while the previous run is still active: skip the "  \
                  "new run, let one wait, or run both.")                                          \
    X("jitter", DURATION, jitter, jitter, KEY_MS, KEY_DAY, .default_value = "0s",                 \
      .sentence = "A random delay of up to this long after the due time, always before the next " \
                  "due time, so that schedules do not all start at once.")                        \
    X("start", TIME, start, start, .default_value = "none",                                       \
      .sentence = "The schedule does not fire before this time, which is UTC unless it has an "   \
                  "offset.")                                                                      \
    X("end", TIME, end, end, .default_value = "none",                                             \
      .sentence = "The schedule does not fire at or after this time.")                            \
    X("with", LITERALS, with, with, .sentence = "Values for the params.")

#define FOLLOW_KEYS(X)                                                                             \
    X("name", NAME, name, name, .min = 1, .sentence = "The name of the other workflow. Required.", \
      .elsewhere = "workflow workflows")                                                           \
    X("status", WORD, status, status, .words = end_statuses, .default_value = "succeeded",         \
      .sentence = "How its run must have ended.", .elsewhere = "state result conclusion types")    \
    X("with", VALUES, with, with, .scope = SCOPE_FOLLOW,                                           \
      .sentence = "Values for the params; expressions can use `trigger`, the run that ended.",     \
      .elsewhere = "inputs params")

#define WEBHOOK_KEYS(X)                                                                     \
    X("name", NAME, name, name, .min = 1,                                                   \
      .sentence = "The name of the webhook, which the URL ends with and `pawl admin hook "  \
                  "create` creates. Required.",                                             \
      .elsewhere = "hook path url")                                                         \
    X("with", VALUES, with, with, .scope = SCOPE_WEBHOOK,                                   \
      .sentence =                                                                           \
          "Values for the params; expressions can use `trigger`, the message. Without it, " \
          "the params keep their defaults.",                                                \
      .elsewhere = "inputs params")

/* ---- tasks ---- */

#define KEY_HOOKED     (KEY_ALL | KEY_HOOKS)
#define KEY_OF_COMMAND (KEY_COMMANDS | KEY_HOOKS)
/* The places of keys that custom executors also get, and interpret themselves. */
#define KEY_PASSED_ON  (KEY_OF_COMMAND | KEY_CUSTOM)

#define TASK_KEYS(X)                                                                               \
    X("name", NAME, name, NO_MEMBER, .min = 1)                                                     \
    X("at", LOCATION, line, NO_MEMBER, .min = 0)                                                   \
    X("description", TEXT, description, description, 0, KEY_ANY_BYTES, KEY_HOOKED,                 \
      .sentence = "What the task does; shown to users.")                                           \
    X("run", SCRIPT, command.run, run, 1, KEY_ARG_BYTES, KEY_OF_COMMAND, .spec = 1,                \
      .sentence = "A script for `shell`. Params and `with` are passed as environment variables, "  \
                  "an item as `$ITEM`; nothing is ever inserted into the text.",                   \
      .elsewhere = "command commands cmd script bash exec")                                        \
    X("shell", WORDS, command.shell, shell, .max = KEY_PATH_BYTES, .only_with = "run",             \
      .places = KEY_OF_COMMAND | KEY_COMMON | KEY_COMMON_LATE, .spec = 14,                         \
      .default_value = "the workflow's",                                                           \
      .sentence = "The program that runs the text of `run`, with its options: "                    \
                  "`bash -euo pipefail`. The text is passed after `-c`, or in place of `{}`: "     \
                  "`perl -e {}`.",                                                                 \
      .elsewhere = "interpreter")                                                                  \
    X("argv", TEMPLATES, command.argv, argv, 0, KEY_ARG_BYTES, KEY_OF_COMMAND,                     \
      .scope = SCOPE_ITEM, .spec = 2, .sentence = "A program and its arguments, without a shell.", \
      .elsewhere = "args")                                                                         \
    X("function", TEXT, function, function, 1, 100, KEY_FUNCTIONS | KEY_HOOKS,                     \
      .sentence = "The name of a C function registered in a worker; its input is `with`, as "      \
                  "JSON.",                                                                         \
      .elsewhere = "handler call")                                                                 \
    X("workflow", FILE, nested, workflow, 1, KEY_PATH_BYTES, KEY_NESTED | KEY_HOOKS,               \
      .sentence = "Another workflow file, which becomes part of this definition. A relative path " \
                  "starts at the folder of this file.",                                            \
      .elsewhere = "uses subworkflow dag")                                                         \
    X("needs", NEEDS, needs, needs, .places = KEY_ALL,                                             \
      .sentence = "The tasks that must end before this one runs or is skipped.",                   \
      .elsewhere = "depends depends_on dependencies deps after requires upstream")                 \
    X("if", CONDITION, condition, condition, 1, 65536, KEY_ALL, .default_value = "`success()`",    \
      .scope = SCOPE_TASK,                                                                         \
      .sentence = "Whether the task runs or is skipped; evaluated when its needs have ended. A "   \
                  "condition that calls no status function also requires `success()`.",            \
      .elsewhere = "when condition only_if preconditions")                                         \
    X("join", JOIN, join, join, .places = KEY_ALL, .default_value = "`all`",                       \
      .sentence = "`any` (1) or a number: `if` is evaluated as soon as that many needs have "      \
                  "succeeded, and the task is skipped as soon as that is impossible.")             \
    X("foreach", FOREACH, foreach, foreach, 0, 100000, KEY_ALL, .scope = SCOPE_TASK,               \
      .sentence = "Runs the task once for each item of a list, or for 0 to n-1; `item` and "       \
                  "`index` (`$ITEM`, `$INDEX`) identify the item.",                                \
      .elsewhere = "matrix strategy loop items with_items each map")                               \
    X("max_parallel", INT, max_parallel, max_parallel, 1, 1000000, KEY_ALL,                        \
      .only_with = "foreach", .default_value = "no limit",                                         \
      .sentence = "With `foreach`: how many items run at once.",                                   \
      .elsewhere = "parallel parallelism max_concurrent")                                          \
    X("fail_fast", BOOL, fail_fast, fail_fast, .places = KEY_ALL, .only_with = "foreach",          \
      .default_value = "false",                                                                    \
      .sentence = "With `foreach`: the first failed item cancels the others.")                     \
    X("allow_failure", BOOL, allow_failure, allow_failure, .places = KEY_ALL,                      \
      .default_value = "false",                                                                    \
      .sentence = "Its failure counts as success for its followers and for the workflow.",         \
      .elsewhere = "continue_on_error ignore_errors continue_on")                                  \
    X("with", VALUES, with, with, .places = KEY_HOOKED, .scope = SCOPE_ITEM,                       \
      .sentence = "Values: the params of a nested workflow, the input of a function or of a "      \
                  "custom executor, environment variables of a command.",                          \
      .elsewhere = "inputs arguments")                                                             \
    X("env", ENV, command.env, env, 0, KEY_ARG_BYTES,                                              \
      KEY_OF_COMMAND | KEY_COMMON | KEY_COMMON_LATE, .scope = SCOPE_ITEM, .spec = 6,               \
      .sentence = "Environment variables. Those in `defaults` are overridden by all others.",      \
      .elsewhere = "environment variables")                                                        \
    X("files", ENV, command.files, input_files, 0, 1 << 20, KEY_OF_COMMAND, .scope = SCOPE_ITEM,   \
      .spec = 15,                                                                                  \
      .sentence = "Values that the command reads from files, of up to 1 MB together: the "         \
                  "environment variable of that name is the path of a file with the value.")       \
    X("cwd", TEMPLATE, command.cwd, cwd, 1, KEY_PATH_BYTES, KEY_OF_COMMAND | KEY_COMMON,           \
      .default_value = "the folder of the workflow file", .scope = SCOPE_ITEM, .spec = 3,          \
      .sentence = "The folder in which the command runs.",                                         \
      .elsewhere = "working_directory workdir working_dir dir directory")                          \
    X("stdin", TEMPLATE, command.input, input, 0, 1 << 20, KEY_OF_COMMAND,                         \
      .default_value = "nothing", .scope = SCOPE_ITEM, .spec = 4,                                  \
      .sentence = "The text that the command reads from its standard input.",                      \
      .elsewhere = "input")                                                                        \
    X("user", TEXT, command.user, user, 1, KEY_NAME_BYTES, KEY_OF_COMMAND | KEY_COMMON,            \
      .default_value = "the worker's", .spec = 5,                                                  \
      .sentence = "The user, by name or number, that the command runs as.")                        \
    X("limits", LIMITS, command.limits, memory, .places = KEY_PASSED_ON | KEY_COMMON,              \
      .group = &keys_limits, .spec = 11, .sentence = "The resources that the command may use.")    \
    X("container", CONTAINER, command.container, container, .places = KEY_OF_COMMAND | KEY_COMMON, \
      .group = &keys_container, .scope = SCOPE_ITEM, .spec = 12,                                   \
      .sentence = "Runs the command in a container.", .elsewhere = "image docker")                 \
    X("secrets", VARIABLES, command.secrets, secrets, .places = KEY_PASSED_ON, .spec = 7,          \
      .sentence = "Secrets that the command gets as environment variables, in addition to those "  \
                  "of the workflow. Their values are in no event, row or log.")                    \
    X("retry", RETRY, command.retry, retries, .places = KEY_JOBS | KEY_HOOKS | KEY_COMMON,         \
      .group = &keys_retry, .default_value = "as configured", .spec = 13,                          \
      .sentence = "How often and when the task is retried.",                                       \
      .elsewhere = "retries attempts retry_policy max_attempts")                                   \
    X("grace", DURATION, command.grace, NO_MEMBER, .spec = 10)                                     \
    X("timeout", DURATION, command.timeout, timeout, KEY_MS, 365 * KEY_DAY,                        \
      KEY_HOOKED | KEY_COMMON | KEY_COMMON_JOBS, .default_value = "as configured", .spec = 9,      \
      .sentence = "How long an attempt may take; for a nested workflow, how long all of it may "   \
                  "take (`defaults` do not apply to that).",                                       \
      .elsewhere = "timeout_minutes timeout_seconds timeout_sec deadline")                         \
    X("queue", QUEUE, queue, queue, 1, 64, KEY_HOOKED | KEY_COMMON,                                \
      .default_value = "the workflow's",                                                           \
      .sentence = "The queue in which the task waits for a worker.")                               \
    X("priority", INT, priority, priority, -1000000, 1000000, KEY_HOOKED | KEY_COMMON,             \
      .default_value = "the workflow's",                                                           \
      .sentence = "Tasks with a higher priority run first in their queue.")                        \
    X("executor", TEXT, executor, executor, 1, 100, KEY_PASSED_ON | KEY_COMMON,                    \
      .default_value = "chosen by the routes",                                                     \
      .sentence = "The key of the executor that runs the task. A task for a custom executor "      \
                  "needs no command: its input is `with`, as JSON.",                               \
      .elsewhere = "runs_on runner")                                                               \
    X("concurrency", CONCURRENCY, concurrency, concurrency, .places = KEY_HOOKED,                  \
      .group = &keys_concurrency, .scope = SCOPE_ITEM,                                             \
      .sentence = "How many tasks with the same key may run at once.")                             \
    X("delay", DURATION, delay, delay, 0, 365 * KEY_DAY, KEY_ALL, .default_value = "0s",           \
      .sentence = "How long the task waits after it becomes ready.")                               \
    X("outputs", OUTPUTS, command.outputs, outputs, .places = KEY_JOBS | KEY_HOOKS,                \
      .default_value = "all that the task writes", .spec = 8,                                      \
      .sentence = "The keys that are kept from what the task writes to `$PAWL_OUTPUT`.",           \
      .elsewhere = "output")                                                                       \
    X("approval", APPROVAL, approval, approval, .places = KEY_ALL, .group = &keys_approval,        \
      .scope = SCOPE_TASK, .sentence = "Waits until the task is approved.")

/* ---- the workflow ---- */

#define WORKFLOW_KEYS(X)                                                                          \
    X("name", NAME, name, name, .min = 1, .default_value = "the file name up to its first dot",   \
      .sentence = "The name of the workflow: the tasks of `nightly` are `nightly::extract` and "  \
                  "so on.")                                                                       \
    X("file", TEXT, file, NO_MEMBER, .min = 0)                                                    \
    X("folder", TEXT, folder, NO_MEMBER, .min = 0)                                                \
    X("description", TEXT, description, description, 0, KEY_ANY_BYTES,                            \
      .sentence = "What the workflow does; shown to users.")                                      \
    X("params", PARAMS, params, NO_MEMBER, .group = &keys_param,                                  \
      .sentence = "The values that the workflow is started with.",                                \
      .elsewhere = "inputs parameters arguments")                                                 \
    X("env", ENV, env, env, 0, KEY_ARG_BYTES, .scope = SCOPE_START,                               \
      .sentence = "Environment variables of all commands in the workflow.",                       \
      .elsewhere = "environment")                                                                 \
    X("default_env", ENV, defaults.command.env, NO_MEMBER, .min = 0)                              \
    X("vars", VALUES, vars, vars, .scope = SCOPE_PARAMS,                                          \
      .sentence = "Named values, evaluated once, at the start.", .elsewhere = "variables")        \
    X("timeout", DURATION, timeout, timeout, KEY_MS, 365 * KEY_DAY, .default_value = "none",      \
      .sentence = "How long the whole workflow may take.")                                        \
    X("queue", QUEUE, queue, queue, 1, 64, .default_value = "`default`",                          \
      .sentence = "The queue of tasks that do not set one.")                                      \
    X("priority", INT, priority, priority, -1000000, 1000000, .default_value = "0",               \
      .sentence = "The priority of tasks that do not set one.")                                   \
    X("shell", WORDS, defaults.command.shell, shell, .max = KEY_PATH_BYTES,                       \
      .stored_default = true, .default_value = "/bin/sh -e",                                      \
      .sentence = "The shell of tasks that do not set one. With `-e`, a command that fails ends " \
                  "the script, and the task fails.")                                              \
    X("concurrency", CONCURRENCY, concurrency, concurrency, .group = &keys_concurrency,           \
      .scope = SCOPE_START, .sentence = "How many runs with the same key may be active at once.") \
    X("schedules", SCHEDULES, schedules, NO_MEMBER, .group = &keys_schedule)                      \
    X("webhooks", WEBHOOKS, webhooks, NO_MEMBER, .group = &keys_webhook)                          \
    X("follows", FOLLOWS, follows, NO_MEMBER, .group = &keys_follow)                              \
    X("secrets", VARIABLES, secrets, secrets,                                                     \
      .sentence = "Secrets that all commands in the workflow get.")                               \
    X("defaults", DEFAULTS, tasks, defaults, .group = &keys_task,                                 \
      .sentence = "Values for each task that does not set its own; some keys of a task are "      \
                  "allowed here.")                                                                \
    X("on", TRIGGERS, schedules, NO_MEMBER, .group = &keys_triggers,                              \
      .sentence = "Events that start the workflow.",                                              \
      .elsewhere = "schedule schedules cron trigger triggers")                                    \
    X("tasks", TASKS, tasks, NO_MEMBER, .group = &keys_task,                                      \
      .sentence = "The tasks of the workflow. Required.", .elsewhere = "steps jobs stages nodes") \
    X("outputs", VALUES, outputs, outputs, .scope = SCOPE_END,                                    \
      .sentence = "The result of the workflow, evaluated when all of its tasks have ended.")      \
    X("on_failure", TASK, on_failure, on_failure, .group = &keys_task,                            \
      .sentence = "A task that runs after all others if the workflow failed or timed out.",       \
      .elsewhere = "on_error onerror")                                                            \
    X("on_exit", TASK, on_exit, on_exit, .group = &keys_task,                                     \
      .sentence = "A task that runs last, however the workflow ended.",                           \
      .elsewhere = "finally cleanup")

#endif
