/* read.c - reads values by the table of keys, and a workflow from its canonical text. Only the
 * first error is reported, since the text was written by write.c. A damaged text is not trusted:
 * every workflow that is returned is a valid graph. */
#include "core/route.h"
#include "core/workflow/keys.h"

#include <stdlib.h>
#include <string.h>

/* A nested definition that is known by its hash; `done` is true once it has been read
 * completely. */
struct known {
    struct workflow *w;
    bool done;
};

struct nested_reader {
    /* The member of the text that holds the definitions by hash; its value is NULL if there are
     * none. */
    struct json_node nested;
    VEC(struct known) known; /* definitions that have been read or are being read */
    int depth;
};

static int read_task(struct key_reader *r, const struct json_node *p, uint32_t index,
                     struct workflow_task *t);
static int find_nested(struct key_reader *r, const struct json_node *p,
                       const struct workflow **out);

/* ---- by the table ---- */

#define MAX_KEYS 64

/* Reports the first member of `p` whose name is not a key, `other` or `another`. */
static int unknown_member(const struct key_reader *r, const struct keys *keys,
                          const struct json_node *p, const char *other, const char *another)
{
    const char *names[MAX_KEYS + 3] = {NULL};
    size_t n = 0;

    for (const struct key *k = keys->at; k->name && n < MAX_KEYS; k++)
        if (key_stored_as(k) != STORED_NOTHING)
            names[n++] = k->name;
    names[n] = other;
    names[n + (other != NULL)] = another;
    return json_read_known_keys(p, names, r->err);
}

/* Reads all members of `p` whose names are keys. Members named `other` or `another` (NULL if none)
 * are left to the caller; any further member is an error. */
static int read_members(struct key_reader *r, const struct keys *keys, const struct json_node *p,
                        void *to, const char *other, const char *another)
{
    struct json_node member;
    const struct key *k;
    void *iter;
    int rc = json_read_known_keys(p, NULL, r->err);

    if (rc)
        return rc;
    JSON_EACH(p, iter, &member)
    {
        for (k = keys->at; k->name && strcmp(k->name, member.key) != 0; k++)
            ;
        if (k->name && key_stored_as(k) != STORED_NOTHING)
            rc = key_read(r, k, &member, (char *)to + k->at);
        else if (!(other && !strcmp(member.key, other)) &&
                 !(another && !strcmp(member.key, another)))
            rc = unknown_member(r, keys, p, other, another);
        if (rc)
            return rc;
    }
    k = keys->at;
    if (k->type == KEY_NAME && k->min && !*(const char **)((char *)to + k->at))
        return json_read_fail(p, r->err, "has no name");
    return 0;
}

static int read_list(struct key_reader *r, const struct key *k, const struct json_node *p,
                     void *member)
{
    struct json_node item;
    char *list;
    size_t i, n;
    int rc = json_read_array(p, WORKFLOW_MAX_TEXT, &n, r->err);

    if (rc)
        return rc;
    list = arena_zalloc(r->arena, (n + 1) * k->group->size);
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = read_members(r, k->group, &item, list + i * k->group->size, NULL, NULL)))
            return rc;
    }
    key_set_list(member, list, n);
    return 0;
}

static int read_hook(struct key_reader *r, const struct json_node *p, struct workflow_task **out)
{
    struct workflow_task *t = arena_zalloc(r->arena, sizeof(*t));
    int rc = read_task(r, p, 0, t);

    if (!rc && t->nneeds)
        rc = json_read_fail(p, r->err, "can't need other tasks");
    if (!rc)
        *out = t;
    return rc;
}

int key_read(struct key_reader *r, const struct key *k, const struct json_node *p, void *member)
{
    switch (key_stored_as(k)) {
    case STORED_NESTED:
        return find_nested(r, p, member);
    case STORED_OPTION:
        *(bool *)member = true;
        return read_members(r, k->group, p, member, NULL, NULL);
    case STORED_GROUP:
        return read_members(r, k->group, p, member, NULL, NULL);
    case STORED_LIST:
        return read_list(r, k, p, member);
    case STORED_TASK:
        return read_hook(r, p, member);
    default:
        return value_read(r, k, p, member);
    }
}

/* ---- tasks ---- */

static int read_task(struct key_reader *r, const struct json_node *p, uint32_t index,
                     struct workflow_task *t)
{
    int rc, kinds;

    t->index = index;
    keys_init(&keys_task, t);
    if ((rc = read_members(r, &keys_task, p, t, NULL, NULL)))
        return rc;
    kinds = !!t->command.run + !!t->command.argc + !!t->function + !!t->nested;
    if (kinds > 1 || (!kinds && (!t->executor || executor_is_built_in(t->executor))))
        return json_read_fail(
            p, r->err,
            "must have exactly one of run, argv, function and workflow; only a task "
            "for a custom executor may have none");
    if (t->join < 0 || (uint32_t)t->join > t->nneeds)
        return json_read_fail(p, r->err, "has a join of %d, but only %u need%s", t->join, t->nneeds,
                              t->nneeds == 1 ? "" : "s");
    return 0;
}

static int read_tasks(struct key_reader *r, const struct json_node *p, struct workflow *w)
{
    struct json_node item;
    size_t i, k, n;
    int rc = json_read_array(p, WORKFLOW_MAX_TASKS, &n, r->err);

    if (rc)
        return rc;
    w->ntasks = (uint32_t)n;
    w->tasks = arena_zalloc(r->arena, (n + 1) * sizeof(*w->tasks));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = read_task(r, &item, (uint32_t)i, &w->tasks[i])))
            return rc;
        for (k = 0; k < w->tasks[i].nneeds; k++)
            if (w->tasks[i].needs[k] >= n)
                return json_read_fail(&item, r->err,
                                      "needs the task with index %u, but the workflow has only %zu "
                                      "task%s",
                                      w->tasks[i].needs[k], n, n == 1 ? "" : "s");
    }
    return 0;
}

/* ---- workflows ---- */

#define SHOWN_TASKS 10

struct found_cycle {
    const struct workflow *w;
    struct buf path; /* the cycle as text, "a -> b -> a"; empty if none was found */
};

static void note_cycle(void *arg, const uint32_t *path, uint32_t n)
{
    struct found_cycle *found = arg;

    if (found->path.len) /* reporting the first cycle is enough */
        return;
    for (uint32_t i = 0; i < n && i < SHOWN_TASKS; i++)
        buf_addf(&found->path, "%s -> ", found->w->tasks[path[i]].name);
    buf_addf(&found->path, "%s%s", n > SHOWN_TASKS ? "… -> " : "", found->w->tasks[path[0]].name);
}

static int check_graph(struct key_reader *r, const struct json_node *p, struct workflow *w)
{
    AUTO_FREE uint32_t *order = mem_alloc((w->ntasks + 1) * sizeof(*order));
    struct found_cycle found = {.w = w, .path = BUF_INIT};
    uint32_t n;

    workflow_link(w, r->arena);
    if (workflow_order(w, order, &n))
        return 0;
    workflow_cycles(w, note_cycle, &found);
    json_read_fail(p, r->err, "has tasks that need each other in a cycle: %s",
                   buf_cstr(&found.path));
    buf_release(&found.path);
    return -(int)r->err->code;
}

static int read_workflow(struct key_reader *r, const struct json_node *p, struct workflow *w)
{
    struct json_node tasks;
    int rc;

    if (++r->of->depth > WORKFLOW_MAX_DEPTH)
        return json_read_fail(p, r->err, "has workflows nested more than %d levels deep",
                              WORKFLOW_MAX_DEPTH);
    if ((rc = read_members(r, &keys_workflow, p, w, "tasks", r->of->depth == 1 ? "nested" : NULL)))
        return rc;
    if (!json_read_member(p, "tasks", &tasks))
        return json_read_fail(p, r->err, "has no tasks");
    if ((rc = read_tasks(r, &tasks, w)))
        return rc;
    if (w->on_failure)
        w->on_failure->index = w->ntasks;
    if (w->on_exit)
        w->on_exit->index = w->ntasks + 1;
    r->of->depth--;
    return check_graph(r, p, w);
}

/* Reads a nested definition. Called when a task first refers to it. */
static int read_nested(struct key_reader *r, const struct json_node *p, const char *hash,
                       const struct workflow **out)
{
    struct workflow *w = arena_zalloc(r->arena, sizeof(*w));
    size_t number = r->of->known.n;
    struct json_node at;
    int rc;

    if (strlen(hash) != WORKFLOW_HASH_SIZE - 1 || !r->of->nested.value ||
        !json_read_member(&r->of->nested, hash, &at))
        return json_read_fail(p, r->err, "is not among the nested workflows");
    memcpy(w->hash, hash, WORKFLOW_HASH_SIZE);
    *vec_add(&r->of->known) = (struct known){.w = w};
    if ((rc = read_workflow(r, &at, w)))
        return rc;
    r->of->known.at[number].done = true;
    *out = w;
    return 0;
}

static int find_nested(struct key_reader *r, const struct json_node *p, const struct workflow **out)
{
    const char *hash;
    size_t i;
    int rc = json_read_text(p, 0, WORKFLOW_MAX_TEXT, r->arena, &hash, r->err);

    if (rc)
        return rc;
    for (i = r->of->known.n; i && strcmp(r->of->known.at[i - 1].w->hash, hash) != 0; i--)
        ;
    if (!i)
        return read_nested(r, p, hash, out);
    if (!r->of->known.at[i - 1].done)
        return json_read_fail(p, r->err, "contains itself");
    *out = r->of->known.at[i - 1].w;
    return 0;
}

int workflow_read(const char *json, size_t len, struct arena *arena, const struct workflow **out,
                  struct err *err)
{
    struct nested_reader of = {.depth = 0};
    struct key_reader r = {.arena = arena, .err = err, .of = &of};
    struct workflow *w = arena_zalloc(arena, sizeof(*w));
    AUTO_JSON_NODE doc = {0};
    int rc = json_read_deep(json, len, WORKFLOW_MAX_TEXT, WORKFLOW_MAX_JSON_DEPTH, "the definition",
                            &doc, err);

    if (rc)
        return rc;
    if (json_read_member(&doc, "nested", &of.nested) &&
        json_read_size(&of.nested) > WORKFLOW_MAX_NESTED)
        rc = json_read_fail(&of.nested, err, "has more than %d workflows", WORKFLOW_MAX_NESTED);
    workflow_hash(json, len, w->hash);
    if (!rc)
        rc = read_workflow(&r, &doc, w);
    if (!rc)
        *out = w;
    vec_release(&of.known);
    return rc;
}
