/* read.c - reads a workflow from its canonical text. The text was written by write.c, so only the
 * first error is reported. But a damaged text is never trusted: every workflow that is returned is
 * a valid graph. */
#include "core/workflow/fields.h"

#include <stdlib.h>
#include <string.h>

/* A nested definition; `done` once it has been read completely. */
struct known {
    struct workflow *w;
    bool done;
};

struct reading {
    struct value_reader to;
    struct json_node nested; /* the definitions by hash; its value is NULL if there are none */
    VEC(struct known) known; /* definitions that have been read or are being read */
    int depth;
};

static int read_record(struct reading *r, const struct workflow_record *record, char *to,
                       const struct json_node *p);
static int find_nested(struct reading *r, const struct json_node *p, const struct workflow **out);

static int read_list(struct reading *r, const struct workflow_record *record,
                     const struct json_node *p, char **out, size_t *n)
{
    struct json_node item;
    char *list;
    size_t i;
    int rc = json_read_array(p, WORKFLOW_MAX_TEXT, n, r->to.err);

    if (rc)
        return rc;
    list = arena_zalloc(r->to.arena, (*n + 1) * record->size);
    for (i = 0; i < *n; i++) {
        json_read_item(p, i, &item);
        if ((rc = read_record(r, record, list + i * record->size, &item)))
            return rc;
    }
    *out = list;
    return 0;
}

/* ---- tasks ---- */

static int read_task(struct reading *r, const struct json_node *p, uint32_t index,
                     struct workflow_task *t)
{
    int rc;

    t->index = index;
    t->retry.max = -1;
    t->retry.policy.jitter = -1;
    if ((rc = read_record(r, &workflow_task_record, (char *)t, p)))
        return rc;
    if (!!t->run + !!t->argv.n + !!t->function + !!t->nested != 1)
        return json_read_fail(p, r->to.err,
                              "must have exactly one of run, argv, function and workflow");
    if (t->join < 0 || (uint32_t)t->join > t->nneeds)
        return json_read_fail(p, r->to.err, "has a join of %d, but %u needs", t->join, t->nneeds);
    return 0;
}

static int read_hook(struct reading *r, const struct json_node *p, struct workflow_task **out)
{
    struct workflow_task *t = arena_zalloc(r->to.arena, sizeof(*t));
    int rc = read_task(r, p, 0, t);

    if (!rc && t->nneeds)
        rc = json_read_fail(p, r->to.err, "can't need other tasks");
    if (!rc)
        *out = t;
    return rc;
}

static int read_tasks(struct reading *r, const struct json_node *p, struct workflow *w)
{
    struct json_node item;
    size_t i, k, n;
    int rc = json_read_array(p, WORKFLOW_MAX_TASKS, &n, r->to.err);

    if (rc)
        return rc;
    w->ntasks = (uint32_t)n;
    w->tasks = arena_zalloc(r->to.arena, (n + 1) * sizeof(*w->tasks));
    for (i = 0; i < n; i++) {
        json_read_item(p, i, &item);
        if ((rc = read_task(r, &item, (uint32_t)i, &w->tasks[i])))
            return rc;
        for (k = 0; k < w->tasks[i].nneeds; k++)
            if (w->tasks[i].needs[k] >= n)
                return json_read_fail(&item, r->to.err,
                                      "needs the task with index %u, but there are %zu tasks",
                                      w->tasks[i].needs[k], n);
    }
    return 0;
}

/* ---- by the tables ---- */

static int read_field(struct reading *r, const struct workflow_field *f, const struct json_node *p,
                      char *s)
{
    char *at = s + f->at;
    uint32_t *list;
    size_t n;
    int rc;

    switch (f->type) {
    case F_TEXT:
    case F_NAME:
        rc = field_read_text(&r->to, p, (const char **)at);
        return rc || f->type == F_TEXT || workflow_is_name(*(const char **)at)
                   ? rc
                   : json_read_fail(p, r->to.err, "is not a name");
    case F_VALUE:
        *(const char **)at = json_read_raw(p, r->to.arena);
        return 0;
    case F_TEXTS:
        return field_read_texts(&r->to, p, (struct workflow_texts *)at);
    case F_PAIRS:
    case F_VALUES:
        return field_read_pairs(&r->to, p, f->type == F_VALUES, (struct workflow_pairs *)at);
    case F_I64:
    case F_INT:
    case F_FACTOR:
    case F_PART:
        return field_read_number(&r->to, f, p, at);
    case F_BOOL:
        return field_read_bool(&r->to, p, (bool *)at);
    case F_WORD:
        return field_read_word(&r->to, p, f->words, (unsigned *)at);
    case F_CODES:
        return field_read_codes(&r->to, p, (struct retry_policy *)at);
    case F_LOCATION:
        return field_read_place(&r->to, p, (uint32_t *)at);
    case F_INDEXES:
        if ((rc = field_read_numbers(&r->to, p, WORKFLOW_MAX_TASKS, &list, &n)))
            return rc;
        *(const uint32_t **)at = list;
        *(uint32_t *)(s + f->count_at) = (uint32_t)n;
        return 0;
    case F_NESTED:
        return find_nested(r, p, (const struct workflow **)at);
    case F_OPTION:
        *(bool *)(s + f->count_at) = true;
        return read_record(r, f->record, s, p);
    case F_GROUP:
        return read_record(r, f->record, s, p);
    case F_LIST:
        return read_list(r, f->record, p, (char **)at, (size_t *)(s + f->count_at));
    case F_TASK:
        return read_hook(r, p, (struct workflow_task **)at);
    }
    return 0;
}

static const struct workflow_field *find_field(const struct workflow_record *record,
                                               const char *key)
{
    const struct workflow_field *f;

    for (f = record->fields; f->key; f++)
        if (!strcmp(f->key, key))
            return f;
    return NULL;
}

/* Reads all members that are fields. The caller reads the two others that are allowed, `other` and
 * `another`; any further member is an error. */
static int read_members(struct reading *r, const struct workflow_record *record, char *to,
                        const struct json_node *p, const char *other, const char *another)
{
    const struct workflow_field *f = record->fields;
    struct json_node member;
    void *iter;
    int rc = json_read_known_keys(p, NULL, r->to.err);

    if (rc)
        return rc;
    JSON_EACH(p, iter, &member)
    {
        f = find_field(record, member.key);
        if (f && (rc = read_field(r, f, &member, to)))
            return rc;
        if (!f && strcmp(member.key, other) != 0 && strcmp(member.key, another) != 0)
            return json_read_fail(&member, r->to.err, "is not known");
    }
    f = record->fields;
    if (f->type == F_NAME && !*(const char **)(to + f->at))
        return json_read_fail(p, r->to.err, "has no name");
    return 0;
}

static int read_record(struct reading *r, const struct workflow_record *record, char *to,
                       const struct json_node *p)
{
    return read_members(r, record, to, p, "", "");
}

/* ---- workflows ---- */

static int check_graph(struct reading *r, const struct json_node *p, struct workflow *w)
{
    uint32_t *order, n;
    bool ok;

    workflow_link(w, r->to.arena);
    order = mem_alloc((w->ntasks + 1) * sizeof(*order));
    ok = workflow_order(w, order, &n);
    free(order);
    return ok ? 0 : json_read_fail(p, r->to.err, "has tasks that need each other");
}

static int read_workflow(struct reading *r, const struct json_node *p, struct workflow *w)
{
    struct json_node tasks;
    int rc;

    if (++r->depth > WORKFLOW_MAX_DEPTH)
        return json_read_fail(p, r->to.err, "has workflows nested more than %d deep",
                              WORKFLOW_MAX_DEPTH);
    if ((rc = read_members(r, &workflow_record, (char *)w, p, "tasks",
                           r->depth == 1 ? "nested" : "")))
        return rc;
    if (!json_read_member(p, "tasks", &tasks))
        return json_read_fail(p, r->to.err, "has no tasks");
    if ((rc = read_tasks(r, &tasks, w)))
        return rc;
    if (w->on_failure)
        w->on_failure->index = w->ntasks;
    if (w->on_exit)
        w->on_exit->index = w->ntasks + 1;
    r->depth--;
    return check_graph(r, p, w);
}

/* Reads a nested definition, when the first task refers to it. */
static int read_nested(struct reading *r, const struct json_node *p, const char *hash,
                       const struct workflow **out)
{
    struct workflow *w = arena_zalloc(r->to.arena, sizeof(*w));
    size_t number = r->known.n;
    struct json_node at;
    int rc;

    if (strlen(hash) != WORKFLOW_HASH_SIZE - 1 || !r->nested.value ||
        !json_read_member(&r->nested, hash, &at))
        return json_read_fail(p, r->to.err, "is not among the nested workflows");
    memcpy(w->hash, hash, WORKFLOW_HASH_SIZE);
    *vec_add(&r->known) = (struct known){.w = w};
    if ((rc = read_workflow(r, &at, w)))
        return rc;
    r->known.at[number].done = true;
    *out = w;
    return 0;
}

static int find_nested(struct reading *r, const struct json_node *p, const struct workflow **out)
{
    const char *hash;
    size_t i;
    int rc = field_read_text(&r->to, p, &hash);

    if (rc)
        return rc;
    for (i = r->known.n; i && strcmp(r->known.at[i - 1].w->hash, hash) != 0; i--)
        ;
    if (!i)
        return read_nested(r, p, hash, out);
    if (!r->known.at[i - 1].done)
        return json_read_fail(p, r->to.err, "is part of itself");
    *out = r->known.at[i - 1].w;
    return 0;
}

int workflow_read(const char *json, size_t len, struct arena *arena, const struct workflow **out,
                  struct err *err)
{
    struct reading r = {.to = {arena, err}};
    struct workflow *w = arena_zalloc(arena, sizeof(*w));
    struct json_node doc;
    int rc = json_read_deep(json, len, WORKFLOW_MAX_TEXT, WORKFLOW_MAX_JSON_DEPTH, "the definition",
                            &doc, err);

    if (rc)
        return rc;
    if (json_read_member(&doc, "nested", &r.nested) &&
        json_read_size(&r.nested) > WORKFLOW_MAX_NESTED)
        rc = json_read_fail(&r.nested, err, "has more than %d workflows", WORKFLOW_MAX_NESTED);
    workflow_hash(json, len, w->hash);
    if (!rc)
        rc = read_workflow(&r, &doc, w);
    if (!rc)
        *out = w;
    vec_release(&r.known);
    json_read_close(&doc);
    return rc;
}
