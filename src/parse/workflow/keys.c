/* keys.c - see keys.h. */
#include "parse/workflow/keys.h"

#include <ctype.h>
#include <string.h>

#define SECOND        1000000LL
#define DAY           (86400 * SECOND)
#define MS            1000LL
/* The kernel's limit on one argument or environment variable. */
#define ARG_MAX_BYTES (128 * 1024 - 1)
#define PATH_BYTES    4095
#define NAME_BYTES    255
#define MANY          INT64_MAX

#define END          \
    {                \
        .name = NULL \
    }

const char *key_type_sentence(enum key_type type)
{
    static const char *const texts[] = {
#define X(name, text) [KEY_##name] = text,
        KEY_TYPES(X)
#undef X
    };
    return texts[type];
}

/* ---- small mappings ---- */

#define AT(type, member) .at = offsetof(struct type, member)

static const struct key retry[] = {
    {"max", KEY_INT, AT(workflow_retry, max), 0, 1000, .default_value = "as configured (0)",
     .sentence = "How often the task is retried: `max: 3` allows up to four attempts."},
    {"delay", KEY_DURATION, AT(workflow_retry, policy.delay), MS, 30 * DAY, .default_value = "1s",
     .sentence = "The delay before the second attempt."},
    {"backoff", KEY_NUMBER, AT(workflow_retry, policy.backoff), 1, 100, .default_value = "2",
     .sentence = "The factor by which the delay grows with each attempt."},
    {"max_delay", KEY_DURATION, AT(workflow_retry, policy.max_delay), MS, 30 * DAY,
     .default_value = "5m", .sentence = "The longest delay between two attempts."},
    {"jitter", KEY_NUMBER, AT(workflow_retry, policy.jitter), 0, 1, .default_value = "0.1",
     .sentence = "The random part of the delay, so that tasks that failed together are not "
                 "retried together."},
    {"codes", KEY_CODES, AT(workflow_retry, policy), .max = 255, .default_value = "all",
     .sentence = "Only these exit codes are retried; timeouts, signals and lost attempts always "
                 "are."},
    END,
};
const struct keys keys_retry = {
    "retry",
    "Failed, timed-out, signalled and lost attempts are retried; cancelled ones never are. "
    "`retry: 3` is short for `{max: 3}`. Keys that a task omits are taken from `defaults`.",
    retry};

static const struct key limits[] = {
    {"memory", KEY_SIZE, AT(workflow_limits, memory), 1 << 20, 1LL << 50,
     .sentence = "The most memory that the command may use."},
    {"cpu", KEY_DURATION, AT(workflow_limits, cpu), SECOND, 365 * DAY,
     .sentence = "The most processor time that the command may use."},
    {"files", KEY_INT, AT(workflow_limits, files), 8, 1 << 30,
     .sentence = "How many files the command may have open."},
    {"pids", KEY_INT, AT(workflow_limits, pids), 1, 1 << 22,
     .sentence = "How many processes the command may have."},
    END,
};
const struct keys keys_limits = {"limits", "The resources that a command may use.", limits};

const char *const container_pulls[] = {"missing", "always", "never", NULL};
static const struct key container[] = {
    {"image", KEY_TEMPLATE, AT(container_keys, image), 1, PATH_BYTES,
     .default_value = "the executor's",
     .sentence = "The image; `container: alpine` is short for `{image: alpine}`."},
    {"pull", KEY_WORD, AT(container_keys, pull), .words = container_pulls,
     .default_value = "missing", .sentence = "When the image is pulled."},
    {"network", KEY_TEMPLATE, AT(container_keys, network), 1, NAME_BYTES, .default_value = "none",
     .sentence = "The network: `none`, `host`, `bridge`, or a name."},
    {"volumes", KEY_TEMPLATES, AT(container_keys, volumes), 1, PATH_BYTES,
     .sentence = "Paths of the host to mount: `SOURCE:TARGET[:ro]`. A relative source starts at "
                 "the folder of the workflow file."},
    {"options", KEY_TEMPLATES, AT(container_keys, options), 1, ARG_MAX_BYTES,
     .sentence = "Further options for `podman create` or `docker create`, one per entry, such as "
                 "`--device=/dev/fuse`."},
    END,
};
const struct keys keys_container = {
    "container",
    "The command runs in its own container, with podman or docker. `run` is a text for the "
    "container's `/bin/sh`; the image's entrypoint is not used. The task's folder has the same "
    "path inside, and the command starts in it.",
    container};

static const struct key concurrency[] = {
    {"key", KEY_TEMPLATE, AT(workflow_concurrency, key), 1, NAME_BYTES,
     .sentence = "Everything with the same key shares the limit. `concurrency: KEY` is short for "
                 "`{key: KEY}`."},
    {"max", KEY_INT, AT(workflow_concurrency, max), 1, 1000000, .default_value = "1",
     .sentence = "How many executions with that key may run at once, across all workflows."},
    END,
};
const struct keys keys_concurrency = {
    "concurrency", "Limits how many executions with the same key run at once.", concurrency};

static const struct key approval[] = {
    {"message", KEY_TEMPLATE, AT(workflow_approval, message), 1, 10000,
     .sentence = "The text shown to approvers; `approval: TEXT` is short for `{message: TEXT}`."},
    {"timeout", KEY_DURATION, AT(workflow_approval, timeout), SECOND, 365 * DAY,
     .default_value = "none",
     .sentence = "The task times out if it is not approved or rejected within this time."},
    END,
};
const struct keys keys_approval = {
    "approval", "Holds the task until `pawl approve ID` or `pawl reject ID` is run.", approval};

static const struct key param[] = {
    {"type", KEY_WORD, AT(workflow_param, type), .words = param_types,
     .default_value = "the type of the default, else `string`",
     .sentence = "The type of the value."},
    {"default", KEY_LITERAL, AT(workflow_param, default_value), .default_value = "null",
     .sentence = "The value used if none is given."},
    {"required", KEY_BOOL, AT(workflow_param, required), .default_value = "false",
     .sentence = "Whether a value must be given."},
    {"description", KEY_TEXT, AT(workflow_param, description), 0, MANY,
     .sentence = "What the param is for; shown to users."},
    END,
};
const struct keys keys_param = {
    "params",
    "`day: {type: string, default: today}`; `day: today` is short for `{default: today}`. Commands "
    "get params as environment variables.",
    param};

static const struct key schedule[] = {
    {"name", KEY_NAME, AT(workflow_schedule, name),
     .default_value = "its position in the list, from 1",
     .sentence = "The name of the schedule: `weekly` of the workflow `report` is `report/weekly`."},
    {"cron", KEY_CRON, AT(workflow_schedule, cron), 1, 1000,
     .sentence = "Minute, hour, day of the month, month, day of the week; or `@hourly`, `@daily`, "
                 "`@weekly`, `@monthly`, `@yearly`. Required."},
    {"tz", KEY_ZONE, AT(workflow_schedule, tz), 1, 63, .default_value = "UTC",
     .sentence = "The time zone of the pattern, such as `Europe/Berlin`."},
    {"catchup", KEY_CATCHUP, AT(workflow_schedule, catchup), SECOND, 365 * DAY,
     .default_value = "none",
     .sentence = "Due times that were missed because no worker ran are made up for if they are "
                 "not older than this, one after the other unless `overlap` allows more; `last` "
                 "runs only the newest of them, however old."},
    {"overlap", KEY_WORD, AT(workflow_schedule, overlap), .words = overlaps,
     .default_value = "skip",
     .sentence = "What happens at a due time while the previous run is still active: skip the new "
                 "run, let one wait, or run both."},
    {"jitter", KEY_DURATION, AT(workflow_schedule, jitter), MS, DAY, .default_value = "0s",
     .sentence = "A random delay of up to this long after the due time, always before the next "
                 "due time, so that schedules do not all start at once."},
    {"start", KEY_TIME, AT(workflow_schedule, start), .default_value = "none",
     .sentence =
         "The schedule does not fire before this time, which is UTC unless it has an offset."},
    {"end", KEY_TIME, AT(workflow_schedule, end), .default_value = "none",
     .sentence = "The schedule does not fire at or after this time."},
    {"with", KEY_LITERALS, AT(workflow_schedule, with), .sentence = "Values for the params."},
    END,
};
const struct keys keys_schedule = {
    "on.schedule", "`schedule: \"0 2 * * *\"` is short for `[{cron: \"0 2 * * *\"}]`.", schedule};

static const struct key triggers[] = {
    {"schedule", KEY_SCHEDULES, .group = &keys_schedule,
     .sentence = "Runs the workflow at given times, once it is applied (`pawl apply`)."},
    END,
};
const struct keys keys_triggers = {"on", "Events that start the workflow.", triggers};

/* ---- tasks ---- */

#define TASK(member) .at = offsetof(struct workflow_task, member)
#define HOOKED       (KEY_ALL | KEY_HOOKS)

static const struct key task[] = {
    {"run", KEY_SHELL, TASK(run), 1, ARG_MAX_BYTES, KEY_COMMANDS | KEY_HOOKS,
     .sentence = "Text for `/bin/sh -c`. Params and `with` are passed as environment variables, an "
                 "item as `$ITEM`; nothing is ever inserted into the text.",
     .elsewhere = "command commands cmd script shell bash exec"},
    {"argv", KEY_TEMPLATES, TASK(argv), 0, ARG_MAX_BYTES, KEY_COMMANDS | KEY_HOOKS,
     .scope = SCOPE_ITEM, .sentence = "A program and its arguments, without a shell.",
     .elsewhere = "args"},
    {"function", KEY_TEXT, TASK(function), 1, 100, KEY_FUNCTIONS | KEY_HOOKS,
     .sentence = "The name of a C function registered in a worker; its input is `with`, as JSON.",
     .elsewhere = "handler call"},
    {"workflow", KEY_FILE, TASK(nested), 1, PATH_BYTES, KEY_NESTED | KEY_HOOKS,
     .sentence = "Another workflow file, which becomes part of this definition. A relative path "
                 "starts at the folder of this file.",
     .elsewhere = "uses subworkflow dag"},
    {"description", KEY_TEXT, TASK(description), 0, MANY, HOOKED,
     .sentence = "What the task does; shown to users."},
    {"needs", KEY_NEEDS, TASK(needs), .places = KEY_ALL,
     .sentence = "The tasks that must end before this one runs or is skipped.",
     .elsewhere = "depends depends_on dependencies deps after requires upstream"},
    {"if", KEY_CONDITION, TASK(condition), 1, 65536, KEY_ALL, .default_value = "`success()`",
     .scope = SCOPE_TASK,
     .sentence = "Whether the task runs or is skipped; evaluated when its needs have ended.",
     .elsewhere = "when condition only_if preconditions"},
    {"join", KEY_JOIN, TASK(join), .places = KEY_ALL, .default_value = "`all`",
     .sentence = "`any` (1) or a number: `if` is evaluated as soon as that many needs have "
                 "succeeded, and the task is skipped as soon as that is impossible."},
    {"foreach", KEY_FOREACH, TASK(foreach), 0, 100000, KEY_ALL, .scope = SCOPE_TASK,
     .sentence = "Runs the task once for each item of a list, or for 0 to n-1; `item` and `index` "
                 "(`$ITEM`, `$INDEX`) identify the item.",
     .elsewhere = "matrix strategy loop items with_items each map"},
    {"max_parallel", KEY_INT, TASK(max_parallel), 1, 1000000, KEY_ALL, .default_value = "no limit",
     .sentence = "With `foreach`: how many items run at once.",
     .elsewhere = "parallel parallelism max_concurrent"},
    {"fail_fast", KEY_BOOL, TASK(fail_fast), .places = KEY_ALL, .default_value = "false",
     .sentence = "With `foreach`: the first failed item cancels the others."},
    {"allow_failure", KEY_BOOL, TASK(allow_failure), .places = KEY_ALL, .default_value = "false",
     .sentence = "Its failure counts as success for its followers and for the workflow.",
     .elsewhere = "continue_on_error ignore_errors continue_on"},
    {"with", KEY_VALUES, TASK(with), .places = HOOKED, .scope = SCOPE_ITEM,
     .sentence = "Values: the params of a nested workflow, the input of a function, environment "
                 "variables of a command.",
     .elsewhere = "inputs arguments"},
    {"env", KEY_ENV, TASK(env), 0, ARG_MAX_BYTES, KEY_COMMANDS | KEY_HOOKS | KEY_COMMON,
     .scope = SCOPE_ITEM,
     .sentence = "Environment variables. Those in `defaults` are overridden by all others.",
     .elsewhere = "environment variables"},
    {"cwd", KEY_TEMPLATE, TASK(cwd), 1, PATH_BYTES, KEY_COMMANDS | KEY_HOOKS | KEY_COMMON,
     .default_value = "the folder of the workflow file", .scope = SCOPE_ITEM,
     .sentence = "The folder in which the command runs.",
     .elsewhere = "working_directory workdir working_dir dir directory"},
    {"stdin", KEY_TEMPLATE, TASK(input), 0, 1 << 20, KEY_COMMANDS | KEY_HOOKS,
     .default_value = "nothing", .scope = SCOPE_ITEM,
     .sentence = "The text that the command reads from its standard input.", .elsewhere = "input"},
    {"user", KEY_TEXT, TASK(user), 1, NAME_BYTES, KEY_COMMANDS | KEY_HOOKS | KEY_COMMON,
     .default_value = "the worker's",
     .sentence = "The user, by name or number, that the command runs as."},
    {"limits", KEY_LIMITS, TASK(limits), .places = KEY_COMMANDS | KEY_HOOKS | KEY_COMMON,
     .group = &keys_limits, .sentence = "The resources that the command may use."},
    {"container", KEY_CONTAINER, TASK(container), .places = KEY_COMMANDS | KEY_HOOKS | KEY_COMMON,
     .group = &keys_container, .scope = SCOPE_ITEM, .sentence = "Runs the command in a container.",
     .elsewhere = "image docker"},
    {"secrets", KEY_VARIABLES, TASK(secrets), .places = KEY_COMMANDS | KEY_HOOKS,
     .sentence = "Secrets that the command gets as environment variables, in addition to those of "
                 "the workflow. Their values are in no event, row or log."},
    {"retry", KEY_RETRY, TASK(retry), .places = KEY_JOBS | KEY_HOOKS | KEY_COMMON,
     .group = &keys_retry, .default_value = "as configured",
     .sentence = "How often and when the task is retried.",
     .elsewhere = "retries attempts retry_policy max_attempts"},
    {"timeout", KEY_DURATION, TASK(timeout), MS, 365 * DAY, HOOKED | KEY_COMMON,
     .default_value = "as configured",
     .sentence = "How long an attempt may take; for a nested workflow, how long all of it may take "
                 "(`defaults` do not apply to that).",
     .elsewhere = "timeout_minutes timeout_seconds timeout_sec deadline"},
    {"queue", KEY_QUEUE, TASK(queue), 1, 64, HOOKED | KEY_COMMON, .default_value = "the workflow's",
     .sentence = "The queue in which the task waits for a worker."},
    {"priority", KEY_INT, TASK(priority), -1000000, 1000000, HOOKED | KEY_COMMON,
     .default_value = "the workflow's",
     .sentence = "Tasks with a higher priority run first in their queue."},
    {"executor", KEY_TEXT, TASK(executor), 1, 100, KEY_COMMANDS | KEY_HOOKS | KEY_COMMON,
     .default_value = "chosen by the routes",
     .sentence = "The key in pawl.yaml of the executor that runs the task.",
     .elsewhere = "runs_on runner"},
    {"concurrency", KEY_CONCURRENCY, TASK(concurrency), .places = HOOKED,
     .group = &keys_concurrency, .scope = SCOPE_ITEM,
     .sentence = "How many tasks with the same key may run at once."},
    {"delay", KEY_DURATION, TASK(delay), 0, 365 * DAY, KEY_ALL, .default_value = "0s",
     .sentence = "How long the task waits after it becomes ready."},
    {"outputs", KEY_OUTPUTS, TASK(outputs), .places = KEY_JOBS | KEY_HOOKS,
     .default_value = "all that the task writes",
     .sentence = "The keys that are kept from what the task writes to `$PAWL_OUTPUT`.",
     .elsewhere = "output"},
    {"approval", KEY_APPROVAL, TASK(approval), .places = KEY_ALL, .group = &keys_approval,
     .scope = SCOPE_TASK, .sentence = "Waits until the task is approved."},
    END,
};
const struct keys keys_task = {
    "tasks",
    "Each task has exactly one of `run`, `argv`, `function` and `workflow`. A string alone is short "
    "for `{run: TEXT}`. In a list, the tasks run one after the other and are named `step1`, "
    "`step2` …",
    task};

/* ---- the workflow ---- */

#define WORKFLOW(member) .at = offsetof(struct workflow, member)

static const struct key workflow[] = {
    {"name", KEY_NAME, WORKFLOW(name), .default_value = "the file name up to its first dot",
     .sentence =
         "The name of the workflow: the tasks of `nightly` are `nightly::extract` and so on."},
    {"description", KEY_TEXT, WORKFLOW(description), 0, MANY,
     .sentence = "What the workflow does; shown to users."},
    {"params", KEY_PARAMS, WORKFLOW(params), .group = &keys_param,
     .sentence = "The values that the workflow is started with.",
     .elsewhere = "inputs parameters arguments"},
    {"vars", KEY_VALUES, WORKFLOW(vars), .scope = SCOPE_PARAMS,
     .sentence = "Named values, evaluated once, at the start.", .elsewhere = "variables"},
    {"env", KEY_ENV, WORKFLOW(env), 0, ARG_MAX_BYTES, .scope = SCOPE_START,
     .sentence = "Environment variables of all commands in the workflow.",
     .elsewhere = "environment"},
    {"timeout", KEY_DURATION, WORKFLOW(timeout), MS, 365 * DAY, .default_value = "none",
     .sentence = "How long the whole workflow may take."},
    {"queue", KEY_QUEUE, WORKFLOW(queue), 1, 64, .default_value = "`default`",
     .sentence = "The queue of tasks that do not set one."},
    {"priority", KEY_INT, WORKFLOW(priority), -1000000, 1000000, .default_value = "0",
     .sentence = "The priority of tasks that do not set one."},
    {"concurrency", KEY_CONCURRENCY, WORKFLOW(concurrency), .group = &keys_concurrency,
     .scope = SCOPE_START, .sentence = "How many runs with the same key may be active at once."},
    {"secrets", KEY_VARIABLES, WORKFLOW(secrets),
     .sentence = "Secrets that all commands in the workflow get."},
    {"defaults", KEY_DEFAULTS, .group = &keys_task,
     .sentence = "Values for each task that does not set its own; some keys of a task are allowed "
                 "here."},
    {"on", KEY_TRIGGERS, .group = &keys_triggers, .sentence = "Events that start the workflow.",
     .elsewhere = "schedule schedules cron trigger triggers"},
    {"tasks", KEY_TASKS, WORKFLOW(tasks), .group = &keys_task,
     .sentence = "The tasks of the workflow. Required.", .elsewhere = "steps jobs stages nodes"},
    {"outputs", KEY_VALUES, WORKFLOW(outputs), .scope = SCOPE_END,
     .sentence = "The result of the workflow, evaluated when all of its tasks have ended."},
    {"on_failure", KEY_TASK, WORKFLOW(on_failure), .group = &keys_task,
     .sentence = "A task that runs after all others if the workflow failed.",
     .elsewhere = "on_error onerror"},
    {"on_exit", KEY_TASK, WORKFLOW(on_exit), .group = &keys_task,
     .sentence = "A task that runs last, however the workflow ended.",
     .elsewhere = "finally cleanup"},
    END,
};
const struct keys keys_workflow = {"The file", "", workflow};

const struct keys *const keys_all[] = {
    &keys_workflow, &keys_task,        &keys_param,    &keys_schedule,  &keys_retry,
    &keys_limits,   &keys_concurrency, &keys_approval, &keys_container, NULL};

bool key_is_elsewhere(const struct key *k, const char *word)
{
    const char *at, *p, *w;

    for (at = k->elsewhere; at && *at; at = *p ? p + 1 : p) {
        for (p = at, w = word; *p && *p != ' ' && *w; p++, w++)
            if (tolower((unsigned char)*w) != *p && !(*w == '-' && *p == '_'))
                break;
        if (!*w && (!*p || *p == ' '))
            return true;
        p += strcspn(p, " ");
    }
    return false;
}

const struct key *key_find(const struct keys *keys, const char *name)
{
    const struct key *k;

    for (k = keys->at; k->name; k++)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}
