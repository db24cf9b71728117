/* keys.c - expands the lists of keys into the key table; see keys.h. */
#include "core/workflow/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define X(name, text) text,
const char *const param_types[] = {PARAM_TYPES(X) NULL};
const char *const overlaps[] = {OVERLAPS(X) NULL};
const char *const end_statuses[] = {END_STATUSES(X) NULL};
#undef X
const char *param_article(enum param_type type)
{
    return strchr("aeiou", *param_types[type]) ? "an" : "a";
}

const char *const container_pulls[] = {"missing", "always", "never", NULL};

#define KEY(of, key, type, member, ...)  {key, KEY_##type, KEY_AT(of, member, type), __VA_ARGS__},

#define X(key, type, member, built, ...) KEY(retry_policy, key, type, member, __VA_ARGS__)
static const struct key retry[] = {RETRY_KEYS(X) KEYS_END};
#undef X
const struct keys keys_retry = {
    "retry",
    "Failed, timed-out, signalled and lost attempts are retried; cancelled ones never are. "
    "`retry: 3` is short for `{max: 3}`. Keys that a task omits are taken from `defaults`.",
    retry, sizeof(struct retry_policy)};

#define X(key, type, member, built, ...) KEY(spec_limits, key, type, member, __VA_ARGS__)
static const struct key limits[] = {LIMIT_KEYS(X) KEYS_END};
#undef X
const struct keys keys_limits = {"limits", "The resources that a command may use.", limits,
                                 sizeof(struct spec_limits)};

#define X(key, type, member, built, ...) KEY(container_keys, key, type, member, __VA_ARGS__)
static const struct key container[] = {CONTAINER_KEYS(X) KEYS_END};
#undef X
const struct keys keys_container = {
    "container",
    "The command runs in its own container, with podman or docker. `run` is run by a "
    "shell of the image; the image's entrypoint is not used. The task's folder has the same "
    "path inside, and the command starts in it.",
    container, sizeof(struct container_keys)};

#define X(key, type, member, built, ...) KEY(workflow_concurrency, key, type, member, __VA_ARGS__)
static const struct key concurrency[] = {CONCURRENCY_KEYS(X) KEYS_END};
#undef X
const struct keys keys_concurrency = {"concurrency",
                                      "Limits how many executions with the same key run at once.",
                                      concurrency, sizeof(struct workflow_concurrency)};

#define X(key, type, member, built, ...) KEY(workflow_approval, key, type, member, __VA_ARGS__)
static const struct key approval[] = {APPROVAL_KEYS(X) KEYS_END};
#undef X
const struct keys keys_approval = {
    "approval", "Holds the task until `pawl approve ID` or `pawl reject ID` is run.", approval,
    sizeof(struct workflow_approval)};

#define X(key, type, member, built, ...) KEY(workflow_param, key, type, member, __VA_ARGS__)
static const struct key param[] = {PARAM_KEYS(X) KEYS_END};
#undef X
const struct keys keys_param = {
    "params",
    "`day: {type: string, default: today}`; `day: today` is short for `{default: today}`. Commands "
    "get params as environment variables.",
    param, sizeof(struct workflow_param)};

#define X(key, type, member, built, ...) KEY(workflow_schedule, key, type, member, __VA_ARGS__)
static const struct key schedule[] = {SCHEDULE_KEYS(X) KEYS_END};
#undef X
const struct keys keys_schedule = {
    "on.schedule", "`schedule: \"0 2 * * *\"` is short for `[{cron: \"0 2 * * *\"}]`.", schedule,
    sizeof(struct workflow_schedule)};

#define X(key, type, member, built, ...) KEY(workflow_follow, key, type, member, __VA_ARGS__)
static const struct key follow[] = {FOLLOW_KEYS(X) KEYS_END};
#undef X
const struct keys keys_follow = {
    "on.workflow",
    "`workflow: nightly` is short for `[{name: nightly}]`. `trigger` has the fields `workflow`, "
    "`execution` (its id), `status`, `error`, `params` and `outputs` of the run that ended.",
    follow, sizeof(struct workflow_follow)};

#define X(key, type, member, built, ...) KEY(workflow_webhook, key, type, member, __VA_ARGS__)
static const struct key webhook[] = {WEBHOOK_KEYS(X) KEYS_END};
#undef X
const struct keys keys_webhook = {
    "on.webhook",
    "`webhook: push` is short for `[{name: push}]`. `trigger` has the fields `hook` (its name), "
    "`id` (of the message; null if it has none), `headers` (an object; names are in lower case) "
    "and `body` (the JSON; a string if the message has another type).",
    webhook, sizeof(struct workflow_webhook)};

static const struct key triggers[] = {
    {"schedule", KEY_SCHEDULES, .group = &keys_schedule,
     .sentence = "Runs the workflow at given times, once it is applied (`pawl apply`)."},
    {"webhook", KEY_WEBHOOKS, .group = &keys_webhook,
     .sentence = "Runs the workflow when a server receives this webhook, once it is applied.",
     .elsewhere = "webhooks hook http push repository_dispatch"},
    {"workflow", KEY_FOLLOWS, .group = &keys_follow,
     .sentence = "Runs the workflow when a run of another workflow ends, once it is applied.",
     .elsewhere = "workflow_run workflows after"},
    KEYS_END,
};
const struct keys keys_triggers = {"on", "Events that start the workflow.", triggers, 0};

#define X(key, type, member, built, ...) KEY(workflow_task, key, type, member, __VA_ARGS__)
static const struct key task[] = {TASK_KEYS(X) KEYS_END};
#undef X
const struct keys keys_task = {
    "tasks",
    "Each task has exactly one of `run`, `argv`, `function` and `workflow`, or only the `executor` "
    "that gets its values. A string alone is short for `{run: TEXT}`. In a list, the tasks run one after the other and are named `step1`, "
    "`step2` …",
    task, sizeof(struct workflow_task)};

#define X(key, type, member, built, ...) KEY(workflow, key, type, member, __VA_ARGS__)
static const struct key workflow[] = {WORKFLOW_KEYS(X) KEYS_END};
#undef X
const struct keys keys_workflow = {"The file", "", workflow, sizeof(struct workflow)};

const struct keys *const keys_all[] = {
    &keys_workflow, &keys_task,   &keys_param,       &keys_schedule, &keys_follow,    &keys_webhook,
    &keys_retry,    &keys_limits, &keys_concurrency, &keys_approval, &keys_container, NULL};

/* ---- types ---- */

static const struct {
    enum stored_as stored;
    const char *text;
} types[] = {
#define X(name, stored, text, schema) [KEY_##name] = {STORED_##stored, text},
    KEY_TYPES(X)
#undef X
};

const char *key_type_sentence(enum key_type type)
{
    return types[type].text;
}

enum stored_as key_stored_as(const struct key *k)
{
    return types[k->type].stored;
}

size_t key_size(const struct key *k)
{
    static const size_t sizes[] = {
#define X(name, ctype) [STORED_##name] = sizeof(ctype),
        STORED_AS(X)
#undef X
    };
    enum stored_as stored = key_stored_as(k);

    return stored == STORED_GROUP || stored == STORED_OPTION ? k->group->size : sizes[stored];
}

void key_set_list(void *member, const void *at, size_t n)
{
    memcpy(member, &at, sizeof(at));
    memcpy((char *)member + sizeof(at), &n, sizeof(n));
}

void keys_init(const struct keys *keys, void *to)
{
    for (const struct key *k = keys->at; k->name; k++) {
        void *at = (char *)to + k->at;

        if (k->unset)
            *(int *)at = k->unset;
        else if (k->type == KEY_NUMBER)
            *(double *)at = (double)k->min - 1;
        else if (key_stored_as(k) == STORED_GROUP)
            keys_init(k->group, at);
    }
}

/* ---- finding a key ---- */

const struct key *key_of_file(const struct key *k)
{
    while (k->name && !k->sentence)
        k++;
    return k;
}

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

    KEYS_EACH(keys, k)
    if (!strcmp(k->name, name))
        return k;
    return NULL;
}

void keys_walk(const struct keys *keys, const char *above,
               void (*each)(void *arg, const char *path, const struct key *k), void *arg)
{
    const struct key *k;
    char path[200];

    KEYS_EACH(keys, k)
    {
        snprintf(path, sizeof(path), "%s%s%s", above, *above ? "." : "", k->name);
        if (k->group)
            keys_walk(k->group, path, each, arg);
        else
            each(arg, path, k);
    }
}
