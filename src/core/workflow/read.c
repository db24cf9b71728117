/* read.c - reads values by the table of keys, and a workflow from its canonical text. Only the
 * first error is reported, since the text was written by write.c. A damaged text is not trusted:
 * every workflow that is returned is a valid graph. */
#include "core/route.h"
#include "core/workflow/keys.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_MAX (100LL * 365 * 86400 * 1000000) /* µs: the longest duration in a spec */
/* Bytes in an argument or an environment variable. */
#define ARG_MAX  (128 * 1024 - 1)

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

/* ---- lists ---- */

/* The maximum number of items in a list. */
static size_t list_max(const struct key_reader *r, const struct key *k)
{
    if (!r->bounded)
        return WORKFLOW_MAX_TEXT;
    return k->type == KEY_TEMPLATES ? 10000 : k->type == KEY_CODES ? 256 : 1000;
}

static int read_text(const struct key_reader *r, const struct key *k, const struct json_node *p,
                     const char **out)
{
    size_t min = r->bounded ? (size_t)k->min : 0, max = r->bounded ? (size_t)k->max : 0;
    int rc = json_read_text(p, min, max ? max : WORKFLOW_MAX_TEXT, r->arena, out, r->err);

    if (!rc && k->type == KEY_NAME && !workflow_is_name(*out))
        rc = json_read_fail(p, r->err, "is not a valid name");
    return rc;
}

static int read_texts(const struct key_reader *r, const struct key *k, const struct json_node *p,
                      void *member)
{
    struct json_node item;
    const char **texts;
    size_t i, n, max = r->bounded ? ARG_MAX : WORKFLOW_MAX_TEXT;
    int rc = json_read_array(p, list_max(r, k), &n, r->err);

    if (rc)
        return rc;
    texts = arena_zalloc(r->arena, (n + 1) * sizeof(*texts));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = json_read_text(&item, 0, max, r->arena, &texts[i], r->err)))
            return rc;
    }
    key_set_list(member, texts, n);
    return 0;
}

static int read_pairs(const struct key_reader *r, const struct key *k, const struct json_node *p,
                      void *member)
{
    size_t n = 0, count, max = WORKFLOW_MAX_TEXT;
    struct json_node at;
    struct spec_pair *pairs;
    void *iter;
    int rc = json_read_known_keys(p, NULL, r->err);

    if (rc)
        return rc;
    count = json_read_size(p);
    if (count > list_max(r, k))
        return json_read_fail(p, r->err, "has %zu variables; at most %zu are allowed", count,
                              list_max(r, k));
    pairs = arena_zalloc(r->arena, (count + 1) * sizeof(*pairs));
    JSON_EACH(p, iter, &at)
    {
        pairs[n].key = arena_strdup(r->arena, at.key);
        if (r->bounded && k->max) /* the limit applies to KEY=VALUE as a whole */
            max = (size_t)k->max - strlen(at.key) - 1;
        if (key_stored_as(k) == STORED_VALUES)
            pairs[n].value = json_read_raw(&at, r->arena);
        else if ((rc = json_read_text(&at, 0, max, r->arena, &pairs[n].value, r->err)))
            return rc;
        n++;
    }
    key_set_list(member, pairs, n);
    return 0;
}

/* Reads a list of integers from 0 to `max`, which must fit in 32 bits. */
static int read_numbers(const struct key_reader *r, const struct key *k, const struct json_node *p,
                        int64_t max, uint32_t **out, size_t *n)
{
    struct json_node item;
    int64_t number = 0;
    uint32_t *list;
    int rc = json_read_array(p, list_max(r, k), n, r->err);

    if (rc)
        return rc;
    list = arena_alloc(r->arena, (*n + 1) * sizeof(*list));
    for (size_t i = 0; i < *n; i++) {
        json_read_item(p, i, &item);
        if ((rc = json_read_i64(&item, 0, max, &number, r->err)))
            return rc;
        list[i] = (uint32_t)number;
    }
    *out = list;
    return 0;
}

/* Reads a value of one of the three types that are lists of integers. */
static int read_number_list(const struct key_reader *r, const struct key *k,
                            const struct json_node *p, void *member)
{
    enum stored_as stored = key_stored_as(k);
    int64_t max = stored == STORED_CODES     ? 255
                  : stored == STORED_INDEXES ? WORKFLOW_MAX_TASKS
                                             : UINT32_MAX;
    uint32_t *list, count;
    size_t n;
    int rc = read_numbers(r, k, p, max, &list, &n);

    if (rc)
        return rc;
    count = (uint32_t)n;
    if (stored == STORED_CODES) {
        key_set_list(member, list, n);
    } else if (stored == STORED_INDEXES) {
        memcpy(member, &list, sizeof(list));
        memcpy((char *)member + sizeof(list), &count, sizeof(count));
    } else {
        if (n != 2 || !list[0])
            return json_read_fail(p, r->err, "must be a line and a column");
        memcpy(member, list, 2 * sizeof(*list));
    }
    return 0;
}

/* ---- scalars ---- */

static int read_word(const struct key_reader *r, const struct key *k, const struct json_node *p,
                     int *out)
{
    const char *text;
    int i, rc = read_text(r, k, p, &text);

    if (rc)
        return rc;
    for (i = 0; k->words[i]; i++)
        if (!strcmp(k->words[i], text)) {
            *out = i;
            return 0;
        }
    return json_read_fail(p, r->err, "can't be \"%.40s\"", text);
}

static int64_t number_max(const struct key *k)
{
    return k->stored_max ? k->stored_max : k->type == KEY_DURATION ? SPAN_MAX : k->max;
}

static int read_i64(const struct key_reader *r, const struct key *k, const struct json_node *p,
                    int64_t *out)
{
    return r->bounded ? json_read_i64(p, 0, number_max(k), out, r->err)
                      : json_read_i64(p, CATCHUP_LAST, INT64_MAX, out, r->err);
}

static int read_int(const struct key_reader *r, const struct key *k, const struct json_node *p,
                    int *out)
{
    int64_t n;
    int rc = r->bounded ? json_read_i64(p, 0, number_max(k), &n, r->err)
                        : json_read_i64(p, INT_MIN, INT_MAX, &n, r->err);

    if (!rc)
        *out = (int)n;
    return rc;
}

static int read_double(const struct key_reader *r, const struct key *k, const struct json_node *p,
                       double *out)
{
    double max = r->bounded ? (double)number_max(k) : 1e9;
    int rc = json_read_double(p, 0, max, out, r->err);

    if (!rc && r->bounded && *out > 0 && *out < (double)k->min)
        rc =
            json_read_fail(p, r->err, "must be at least %lld, not %g, so that delays do not shrink",
                           (long long)k->min, *out);
    return rc;
}

static int read_bool(const struct key_reader *r, const struct json_node *p, bool *out)
{
    if (strcmp(json_read_raw(p, r->arena), "true") != 0)
        return json_read_fail(p, r->err, "must be true or left out");
    *out = true;
    return 0;
}

static int read_json(const struct key_reader *r, const struct json_node *p, const char **out)
{
    int rc = r->bounded ? json_read_known_keys(p, NULL, r->err) : 0; /* the JSON of `container` */

    if (!rc)
        *out = json_read_raw(p, r->arena);
    return rc;
}

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
    case STORED_TEXT:
        return read_text(r, k, p, member);
    case STORED_JSON:
        return read_json(r, p, member);
    case STORED_TEXTS:
        return read_texts(r, k, p, member);
    case STORED_PAIRS:
    case STORED_VALUES:
        return read_pairs(r, k, p, member);
    case STORED_I64:
        return read_i64(r, k, p, member);
    case STORED_INT:
        return read_int(r, k, p, member);
    case STORED_DOUBLE:
        return read_double(r, k, p, member);
    case STORED_BOOL:
        return read_bool(r, p, member);
    case STORED_WORD:
        return read_word(r, k, p, member);
    case STORED_CODES:
    case STORED_INDEXES:
    case STORED_LOCATION:
        return read_number_list(r, k, p, member);
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
    case STORED_NOTHING:
        break;
    }
    return 0;
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
        return json_read_fail(p, r->err,
                              "must have exactly one of run, argv, function and workflow, or a "
                              "custom executor");
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
