/* known_executors.c - collects the executors that are known to exist, to find mistyped ones; see
 * known_executors.h. */
#include "api/known_executors.h"

#include "base/suggest.h"

#include <jansson.h>
#include <string.h>

#define FUNCTION_LANE "function:"

static bool has_key(const struct known_executors *k, const char *key)
{
    for (size_t i = 0; i < k->keys.n; i++)
        if (!strcmp(k->keys.at[i], key))
            return true;
    return false;
}

void known_executors_add(struct known_executors *k, const char *key)
{
    if (strcmp(key, "function") && strncmp(key, FUNCTION_LANE, strlen(FUNCTION_LANE)) &&
        !has_key(k, key))
        *vec_add(&k->keys) = arena_strdup(&k->arena, key);
}

static void add_worker(struct known_executors *k, const struct worker *w)
{
    json_auto_t *lanes = w->serves ? json_loads(w->serves, 0, NULL) : NULL;
    const char *lane;
    json_t *queues;

    k->any |= !lanes;
    json_object_foreach(lanes, lane, queues)
    {
        known_executors_add(k, lane);
    }
}

/* Adds the lanes of a worker as a server has it. */
static int add_worker_line(void *arg, const char *json)
{
    json_auto_t *o = json_loads(json, 0, NULL);
    json_t *lanes = json_object_get(o, "serves"), *queues;
    struct known_executors *k = arg;
    const char *lane;

    k->any |= !json_is_object(lanes);
    json_object_foreach(lanes, lane, queues)
    {
        known_executors_add(k, lane);
    }
    return 0;
}

static int read_workers(struct pawl *p, struct known_executors *k, struct err *err)
{
    AUTO(worker_list_release) struct worker_list workers = {0};

    if (p->remote)
        return remote_lines(p->remote, "/v1/workers", NULL, NULL, -1, add_worker_line, k, err);
    TRY(query_workers(p->store, &workers, err));
    for (size_t i = 0; i < workers.n; i++)
        add_worker(k, &workers.at[i].worker);
    return 0;
}

/* The metrics of a server have the counters of attempts. */
static int read_metrics(struct pawl *p, struct known_executors *k, struct err *err)
{
    static const char label[] = "executor=\"";
    AUTO_FREE char *text = NULL;

    TRY(remote_get(p->remote, "/metrics", &text, err));
    for (char *at = text, *end; (at = strstr(at, label)); at = end + 1) {
        at += strlen(label);
        if (!(end = strchr(at, '"')))
            break;
        *end = '\0';
        known_executors_add(k, at);
    }
    return 0;
}

/* Adds executors from the counters of attempts: they name every executor that has ever run an
 * attempt, even if its workers are gone. */
int known_executors_read_past(struct pawl *p, struct known_executors *k, struct err *err)
{
    AUTO(attempt_list_release) struct attempt_list attempts = {0};
    AUTO(worker_outcome_list_release) struct worker_outcome_list unused = {0};

    if (p->remote)
        return read_metrics(p, k, err);
    TRY(query_attempt_counts(p->store, &attempts, &unused, err));
    for (size_t i = 0; i < attempts.n; i++)
        known_executors_add(k, attempts.at[i].executor);
    return 0;
}

int known_executors_read(struct pawl *p, struct known_executors *k, struct err *err)
{
    for (size_t i = 0; i < p->config->executors.n; i++)
        known_executors_add(k, p->config->executors.at[i].key);
    return read_workers(p, k, err);
}

bool known_executors_have(const struct known_executors *k, const char *key)
{
    return k->any || has_key(k, key);
}

const char *known_executors_suggest(const struct known_executors *k, const char *key)
{
    struct suggestion s = suggest_for(key);

    for (size_t i = 0; i < k->keys.n; i++)
        suggest_try(&s, k->keys.at[i]);
    return s.best;
}

void known_executors_release(struct known_executors *k)
{
    vec_release(&k->keys);
    arena_release(&k->arena);
}
