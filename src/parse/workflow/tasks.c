/* tasks.c - reads tasks, their needs, and defaults. The keys of a task are rows of TASK_KEYS in
 * core/workflow/key_lists.h. */
#include "parse/workflow/reader.h"

#include "base/suggest.h"
#include "core/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"run", "argv", "function", "workflow"};
static const unsigned kind_places[] = {KEY_COMMANDS, KEY_COMMANDS, KEY_FUNCTIONS, KEY_NESTED};
#define NKINDS     4
#define KINDS_TEXT "exactly one of run, argv, function and workflow"

/* ---- defaults ---- */

bool reader_defaults(struct reader *r, const struct yaml *node, const char *what)
{
    if (!yaml_is_map(r->doc, node, what))
        return false;
    reader_keys(r, &keys_task, node, what, KEY_COMMON, &r->w->defaults);
    return true;
}

/* ---- needs ---- */

static bool unknown_need(struct reader *r, const struct yaml *node, const char *what)
{
    struct suggestion s = suggest_for(node->text);

    for (size_t i = 0; i < r->tasks->n && !diagnostics_full(r->doc->diagnostics); i++)
        suggest_try(&s, yaml_pair(r->tasks, i)->key.text);
    return yaml_error(r->doc, node, "%s: there is no task \"%.60s\"%s%s%s", what, node->text,
                      DID_YOU_MEAN(s.best));
}

static bool read_need(struct reader *r, const struct yaml *node, const char *what,
                      const struct workflow_task *t, uint32_t *out)
{
    const struct yaml *found;
    const char *name;

    if (!yaml_text(r->doc, node, what, &name))
        return false;
    if (!(found = yaml_get(r->tasks, name)))
        return unknown_need(r, node, what);
    *out = reader_task_index(r, found);
    if (*out == t->index)
        return yaml_error(r->doc, node, "%s: the task \"%.60s\" can't need itself", what, name);
    return true;
}

static int compare_indexes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Adds an error for each need that is listed twice. Returns false if there was one. */
static bool check_duplicates(struct reader *r, const struct yaml *node, const char *what,
                             const uint32_t *needs, size_t n)
{
    uint32_t *sorted;
    bool ok = true;

    if (n < 2)
        return true;
    sorted = mem_alloc(n * sizeof(*sorted));
    memcpy(sorted, needs, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_indexes);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1]) {
            yaml_error(r->doc, node, "%s: \"%.60s\" is listed twice", what,
                       yaml_pair(r->tasks, sorted[i])->key.text);
            ok = false;
        }
    free(sorted);
    return ok;
}

bool reader_needs(struct reader *r, const struct yaml *node, const char *what,
                  struct workflow_task *t)
{
    const struct yaml *items;
    uint32_t *needs;
    bool ok = true;
    size_t n, i;

    if (!r->tasks)
        return yaml_error(r->doc, node,
                          "%s: in a list, each task needs the one before it; write tasks as a "
                          "mapping (name: task) to set other needs",
                          what);
    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    needs = arena_alloc(r->arena, (n + 1) * sizeof(*needs));
    for (i = 0; i < n; i++)
        ok = read_need(r, &items[i], what, t, &needs[i]) && ok;
    if (!ok || !check_duplicates(r, node, what, needs, n))
        return false;
    t->needs = needs;
    t->nneeds = (uint32_t)n;
    return true;
}

/* ---- a task ---- */

/* Handles a task that has none of the keys `kinds`. Such a task must name a custom executor itself,
 * because an executor from the defaults would hide that a command is missing. Returns the task's
 * bit of enum key_context; 0 if an error was added. */
static unsigned kind_without_command(struct reader *r, const struct yaml *node,
                                     const struct yaml *location, const char *what)
{
    const struct yaml *executor = yaml_get(node, "executor");

    if (!executor)
        yaml_error(r->doc, location, "%s has nothing to run: " KINDS_TEXT " is required", what);
    else if (executor->kind >= YAML_LIST || !executor_is_built_in(executor->text))
        return KEY_CUSTOM; /* the reader of `executor` refuses a list or mapping */
    else if (!strncmp(executor->text, "function", strlen("function")))
        yaml_error(r->doc, executor,
                   "%s names the executor %.60s, but no function: write `function: NAME` instead",
                   what, executor->text);
    else
        yaml_error(r->doc, executor,
                   "%s has nothing to run: the executor %.60s runs commands, so run or argv is "
                   "required",
                   what, executor->text);
    return 0;
}

/* The bit of enum key_context for the kind of the task; 0 if an error was added because the task
 * has no kind or several. */
static unsigned kind_of(struct reader *r, const struct yaml *node, const struct yaml *location,
                        const char *what)
{
    size_t found = NKINDS;

    for (size_t i = 0; i < NKINDS; i++) {
        if (!yaml_get(node, kinds[i]))
            continue;
        if (found < NKINDS) {
            yaml_error(r->doc, location, "%s has both %s and %s: " KINDS_TEXT " is required", what,
                       kinds[found], kinds[i]);
            return 0;
        }
        found = i;
    }
    return found < NKINDS ? kind_places[found] : kind_without_command(r, node, location, what);
}

/* Applies the defaults that are allowed for this kind of task. */
static void apply_defaults(const struct reader *r, unsigned kind, struct workflow_task *t)
{
    const struct key *k;

    keys_init(&keys_task, t);
    KEYS_EACH(&keys_task, k)
    if (k->places & KEY_COMMON && !(k->places & KEY_COMMON_LATE) && (k->places & kind) == kind &&
        !(k->places & KEY_COMMON_JOBS && kind & KEY_NESTED))
        memcpy((char *)t + k->at, (const char *)&r->w->defaults + k->at, key_size(k));
}

/* Puts the workflow's secrets before the task's own secrets; each name occurs once. */
static void add_secrets(struct reader *r, const struct yaml *node, unsigned kind,
                        struct workflow_task *t)
{
    const struct texts *all = &r->w->secrets;
    size_t i, n = all->n, k, own = t->command.nsecrets;
    const char **texts;

    if (!(kind & (KEY_COMMANDS | KEY_CUSTOM)) || !all->n)
        return;
    t->command.nsecrets = n;
    if (!own) {
        t->command.secrets = all->at;
        return;
    }
    texts = arena_zalloc(r->arena, (n + own + 1) * sizeof(*texts));
    memcpy(texts, all->at, n * sizeof(*texts));
    for (i = 0; i < own; i++) {
        for (k = 0; k < all->n && strcmp(all->at[k], t->command.secrets[i]) != 0; k++)
            ;
        if (k == all->n)
            texts[n++] = t->command.secrets[i];
    }
    (void)reader_spend(r, node, n * sizeof(*texts));
    t->command.secrets = texts;
    t->command.nsecrets = n;
}

static void check_task(struct reader *r, const struct yaml *node, const struct yaml *location,
                       const char *what, unsigned kind, const struct workflow_task *t)
{
    const struct yaml *with = yaml_get(node, "with");
    const struct key *k;
    char name[WHAT_SIZE];

    KEYS_EACH(&keys_task, k)
    if (k->only_with && k->places & kind && yaml_get(node, k->name) &&
        !yaml_get(node, k->only_with))
        yaml_error(r->doc, yaml_get(node, k->name), "%s.%s can be used only with %s", what, k->name,
                   k->only_with);
    if (t->join > 0 && (uint32_t)t->join > t->nneeds && !r->bad_task)
        yaml_error(r->doc, yaml_get(node, "join"), "%s.join: the task has only %u need%s", what,
                   t->nneeds, t->nneeds == 1 ? "" : "s");
    if (t->nested)
        reader_check_with(r, t->nested, with, with ? with : location,
                          reader_what(name, what, "with"));
}

static void read_task(struct reader *r, const struct yaml *node, const struct yaml *location,
                      const char *what, unsigned places, struct workflow_task *t)
{
    const struct key *run = key_find(&keys_task, "run");
    unsigned kind = KEY_COMMANDS;
    size_t before;

    t->line = location->line;
    t->column = location->column;
    if (node->kind != YAML_MAP) {
        apply_defaults(r, kind, t);
        if (node->kind == YAML_LIST || node->kind == YAML_NULL)
            (void)yaml_expected(r->doc, node, what, "a mapping (key: value), or shell text,");
        else
            (void)reader_key(r, run, node, what, t);
    } else {
        kind = kind_of(r, node, location, what);
        apply_defaults(r, kind, t);
        before = r->doc->diagnostics->count;
        reader_keys(r, &keys_task, node, what, kind | places, t);
        r->bad_task = r->doc->diagnostics->count != before;
        check_task(r, node, location, what, kind, t);
    }
    add_secrets(r, location, kind, t);
    (void)reader_spend(r, location, r->common_size);
}

bool reader_hook(struct reader *r, const struct yaml *node, const char *name,
                 struct workflow_task **out)
{
    struct workflow_task *t = arena_zalloc(r->arena, sizeof(*t));

    t->name = name;
    r->task = strcmp(name, "on_exit") ? ON_FAILURE : ON_EXIT;
    read_task(r, node, node, name, KEY_HOOKS, t);
    r->task = NO_TASK;
    *out = t;
    return true;
}

/* ---- all tasks ---- */

static void read_list(struct reader *r, const struct yaml *node)
{
    char name[32];

    for (uint32_t i = 0; i < node->n; i++) {
        struct workflow_task *t = &r->w->tasks[i];
        uint32_t *before = arena_alloc(r->arena, sizeof(*before));

        snprintf(name, sizeof(name), "step%u", i + 1);
        t->name = arena_strdup(r->arena, name);
        t->index = r->task = i;
        read_task(r, &node->items[i], &node->items[i], t->name, 0, t);
        if (i) {
            *before = i - 1;
            t->needs = before;
            t->nneeds = 1;
        }
    }
}

static void check_name(struct reader *r, const struct yaml *key)
{
    if (!key->n)
        return; /* the YAML reader has reported the empty key */
    if (!workflow_is_name(key->text))
        (void)yaml_expected(r->doc, key, "task name",
                            "a letter or _ followed by up to 99 letters, digits, _ or -,");
    else if (!strcmp(key->text, "on_failure") || !strcmp(key->text, "on_exit"))
        yaml_error(r->doc, key,
                   "a task can't be named %s: that key belongs next to tasks, not inside it",
                   key->text);
}

static void read_map(struct reader *r, const struct yaml *node)
{
    char what[WHAT_SIZE];

    r->tasks = node;
    for (uint32_t i = 0; i < node->n; i++) {
        const struct yaml_pair *p = yaml_pair(node, i);
        struct workflow_task *t = &r->w->tasks[i];

        check_name(r, &p->key);
        t->name = reader_keep(r, &p->key, p->key.text);
        t->index = r->task = i;
        read_task(r, &p->value, &p->key, reader_what(what, "tasks", p->key.text), 0, t);
    }
}

uint32_t reader_task_index(const struct reader *r, const struct yaml *value)
{
    const struct yaml_pair *p =
        (const struct yaml_pair *)(const void *)((const char *)value -
                                                 offsetof(struct yaml_pair, value));

    return (uint32_t)(p - r->tasks->map->pairs);
}

bool reader_tasks(struct reader *r, const struct yaml *node, const char *what)
{
    if (node->kind < YAML_LIST)
        return yaml_expected(r->doc, node, what, "a mapping (name: task), or a list of tasks,");
    if (!node->n)
        return yaml_error(r->doc, node, "the workflow has no tasks");
    if (node->n > WORKFLOW_MAX_TASKS)
        return yaml_error(r->doc, node, "%s: the workflow has %u tasks; at most %d are allowed",
                          what, node->n, WORKFLOW_MAX_TASKS);
    r->w->ntasks = node->n;
    r->w->tasks = arena_zalloc(r->arena, node->n * sizeof(*r->w->tasks));
    (node->kind == YAML_LIST ? read_list : read_map)(r, node);
    r->task = NO_TASK;
    return true;
}
