/* fields.c - the tables of the canonical text; see fields.h. */
#include "core/workflow/fields.h"

#include <string.h>

#define AT(type, member)   .at = offsetof(struct type, member)
#define FLAG(type, member) .count_at = offsetof(struct type, member)
#define END         \
    {               \
        .key = NULL \
    }

#define X(name, text) text,
const char *const param_types[] = {PARAM_TYPES(X) NULL};
const char *const overlaps[] = {OVERLAPS(X) NULL};
#undef X

const char *param_article(enum param_type type)
{
    return strchr("aeiou", *param_types[type]) ? "an" : "a";
}

/* ---- parts of a task ---- */

#define TASK(member) AT(workflow_task, member)

static const struct workflow_field limit_fields[] = {
    {"memory", F_I64, TASK(limits.memory)},
    {"cpu", F_I64, TASK(limits.cpu)},
    {"files", F_INT, TASK(limits.files)},
    {"pids", F_INT, TASK(limits.pids)},
    END,
};
static const struct workflow_field retry_fields[] = {
    {"max", F_INT, TASK(retry.max), .default_value = -1},
    {"delay", F_I64, TASK(retry.policy.delay)},
    {"backoff", F_FACTOR, TASK(retry.policy.backoff)},
    {"max_delay", F_I64, TASK(retry.policy.max_delay)},
    {"jitter", F_PART, TASK(retry.policy.jitter)},
    {"codes", F_CODES, TASK(retry.policy)},
    END,
};
static const struct workflow_field task_concurrency_fields[] = {
    {"key", F_TEXT, TASK(concurrency.key)},
    {"max", F_INT, TASK(concurrency.max)},
    END,
};
static const struct workflow_field approval_fields[] = {
    {"message", F_TEXT, TASK(approval.message)},
    {"timeout", F_I64, TASK(approval.timeout)},
    END,
};

#define PART(name) static const struct workflow_record name##_part = {0, name##_fields}
PART(limit);
PART(retry);
PART(task_concurrency);
PART(approval);

static const struct workflow_field task_fields[] = {
    {"name", F_NAME, TASK(name)},
    {"at", F_LOCATION, TASK(line)},
    {"description", F_TEXT, TASK(description)},
    {"run", F_TEXT, TASK(run)},
    {"argv", F_TEXTS, TASK(argv)},
    {"function", F_TEXT, TASK(function)},
    {"workflow", F_NESTED, TASK(nested)},
    {"needs", F_INDEXES, TASK(needs), FLAG(workflow_task, nneeds)},
    {"if", F_TEXT, TASK(condition)},
    {"join", F_INT, TASK(join)},
    {"foreach", F_VALUE, TASK(foreach)},
    {"max_parallel", F_INT, TASK(max_parallel)},
    {"fail_fast", F_BOOL, TASK(fail_fast)},
    {"allow_failure", F_BOOL, TASK(allow_failure)},
    {"with", F_VALUES, TASK(with)},
    {"env", F_PAIRS, TASK(env)},
    {"cwd", F_TEXT, TASK(cwd)},
    {"stdin", F_TEXT, TASK(input)},
    {"user", F_TEXT, TASK(user)},
    {"limits", F_GROUP, .record = &limit_part},
    {"container", F_VALUE, TASK(container)},
    {"secrets", F_TEXTS, TASK(secrets)},
    {"retry", F_GROUP, .record = &retry_part},
    {"timeout", F_I64, TASK(timeout)},
    {"queue", F_TEXT, TASK(queue)},
    {"priority", F_INT, TASK(priority)},
    {"executor", F_TEXT, TASK(executor)},
    {"concurrency", F_GROUP, .record = &task_concurrency_part},
    {"delay", F_I64, TASK(delay)},
    {"outputs", F_TEXTS, TASK(outputs)},
    {"approval", F_OPTION, FLAG(workflow_task, has_approval), .record = &approval_part},
    END,
};
const struct workflow_record workflow_task_record = {sizeof(struct workflow_task), task_fields};

/* ---- parts of a workflow ---- */

#define WORKFLOW(member) AT(workflow, member)

static const struct workflow_field param_fields[] = {
    {"name", F_NAME, AT(workflow_param, name)},
    {"type", F_WORD, AT(workflow_param, type), .words = param_types},
    {"default", F_VALUE, AT(workflow_param, default_value)},
    {"required", F_BOOL, AT(workflow_param, required)},
    {"description", F_TEXT, AT(workflow_param, description)},
    END,
};
static const struct workflow_field schedule_fields[] = {
    {"name", F_TEXT, AT(workflow_schedule, name)},
    {"cron", F_TEXT, AT(workflow_schedule, cron)},
    {"tz", F_TEXT, AT(workflow_schedule, tz)},
    {"catchup", F_I64, AT(workflow_schedule, catchup)},
    {"overlap", F_WORD, AT(workflow_schedule, overlap), .words = overlaps},
    {"jitter", F_I64, AT(workflow_schedule, jitter)},
    {"start", F_I64, AT(workflow_schedule, start)},
    {"end", F_I64, AT(workflow_schedule, end)},
    {"with", F_VALUES, AT(workflow_schedule, with)},
    END,
};
static const struct workflow_field concurrency_fields[] = {
    {"key", F_TEXT, WORKFLOW(concurrency.key)},
    {"max", F_INT, WORKFLOW(concurrency.max)},
    END,
};
PART(concurrency);
static const struct workflow_record params = {sizeof(struct workflow_param), param_fields};
static const struct workflow_record schedules = {sizeof(struct workflow_schedule), schedule_fields};

static const struct workflow_field fields[] = {
    {"name", F_NAME, WORKFLOW(name)},
    {"file", F_TEXT, WORKFLOW(file)},
    {"folder", F_TEXT, WORKFLOW(folder)},
    {"description", F_TEXT, WORKFLOW(description)},
    {"params", F_LIST, WORKFLOW(params), FLAG(workflow, nparams), .record = &params},
    {"env", F_PAIRS, WORKFLOW(env)},
    {"default_env", F_PAIRS, WORKFLOW(default_env)},
    {"vars", F_VALUES, WORKFLOW(vars)},
    {"timeout", F_I64, WORKFLOW(timeout)},
    {"queue", F_TEXT, WORKFLOW(queue)},
    {"priority", F_INT, WORKFLOW(priority)},
    {"concurrency", F_GROUP, .record = &concurrency_part},
    {"schedules", F_LIST, WORKFLOW(schedules), FLAG(workflow, nschedules), .record = &schedules},
    {"secrets", F_TEXTS, WORKFLOW(secrets)},
    {"outputs", F_VALUES, WORKFLOW(outputs)},
    {"on_failure", F_TASK, WORKFLOW(on_failure)},
    {"on_exit", F_TASK, WORKFLOW(on_exit)},
    END,
};
const struct workflow_record workflow_record = {sizeof(struct workflow), fields};

/* ---- nested definitions ---- */

const struct workflow **workflow_below(const struct workflow *w, size_t *n)
{
    VEC(const struct workflow *) all = {0};
    size_t i, k, next = 0;

    /* A linear search is enough: there are few definitions. */
    for (;;) {
        for (i = 0; i < w->nnested; i++) {
            for (k = 0; k < all.n && all.at[k] != w->nested[i]; k++)
                ;
            if (k == all.n)
                *vec_add(&all) = w->nested[i];
        }
        if (next == all.n)
            break;
        w = all.at[next++];
    }
    *n = all.n;
    return all.at;
}
