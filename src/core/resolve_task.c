/* resolve_task.c - makes the spec and the input of a task from its definition and its scope; see
 * resolve.h. */
#include "core/resolve.h"

#include "base/json.h"
#include "core/expr/value.h"
#include "core/workflow/keys.h"

#include <jansson.h>
#include <string.h>

/* Bytes of an environment beyond which unused params and items are left out. */
#define ENV_BYTES (256 * 1024)

/* Builds the environment of a command. Later sources override earlier ones: defaults, the
 * workflow's env, params, with, ITEM and INDEX, the task's env. */
static int make_env(const struct resolve_scope *s, json_t **out, struct err *err)
{
    json_auto_t *env = NULL, *with = NULL, *own = NULL;
    int rc;

    if ((rc = resolve_pairs(s->templates->default_env, s, true, &env, err)) ||
        (rc = resolve_pairs(resolve_template(s, TASK_WITH), s, false, &with, err)) ||
        (rc = resolve_pairs(resolve_template(s, TASK_ENV), s, true, &own, err)))
        return rc;
    json_object_update(env, s->env);
    json_object_update(env, s->expr.names[EXPR_PARAMS]);
    json_object_update(env, with);
    if (s->expr.names[EXPR_ITEM]) {
        json_object_set(env, "ITEM", s->expr.names[EXPR_ITEM]);
        json_object_set(env, "INDEX", s->expr.names[EXPR_INDEX]);
    }
    json_object_update(env, own);
    *out = json_incref(env);
    return 0;
}

/* Makes pairs of names and strings from an object, leaving out members that are null. */
static int make_pairs(json_t *values, const char *what, struct arena *arena, struct spec_pair **out,
                      size_t *n, struct err *err)
{
    struct spec_pair *pairs = arena_alloc(arena, (json_object_size(values) + 1) * sizeof(*pairs));
    const char *key;
    json_t *v;

    *n = 0;
    *out = pairs;
    json_object_foreach(values, key, v)
    {
        if (resolve_check_nul(v, err))
            return err_prefix(err, "%s.%s", what, key);
        if (!json_is_null(v))
            pairs[(*n)++] =
                (struct spec_pair){arena_strdup(arena, key),
                                   json_is_string(v) ? arena_strdup(arena, json_string_value(v))
                                                     : json_arena_text(v, arena)};
    }
    return 0;
}

static size_t variable_size(const struct spec_pair *p)
{
    return strlen(p->key) + 1 + strlen(p->value);
}

/* Whether the variable can't be left out of the environment, because the task sets it itself or its
 * command mentions it. */
static bool is_used(const struct workflow_task *t, const char *name)
{
    return pairs_have(t->command.env, t->command.nenv, name) ||
           pairs_have(t->with.at, t->with.n, name) || spec_mentions(&t->command, name);
}

/* The index of the largest variable that the task does not use (is_used); n if it uses all. */
static size_t find_unused(const struct workflow_task *t, const struct spec_pair *env, size_t n)
{
    size_t largest = n;

    for (size_t i = 0; i < n; i++)
        if ((largest == n || variable_size(&env[i]) > variable_size(&env[largest])) &&
            !is_used(t, env[i].key))
            largest = i;
    return largest;
}

/* Makes the environment small enough. Params and items may be larger than the system allows for one
 * variable, or for all. Leaves out variables that the task does not use, the largest first. */
static int fit_env(const struct workflow_task *t, struct spec_pair *env, size_t *n, struct err *err)
{
    size_t all = 0, at, bytes;

    for (size_t i = 0; i < *n; i++) {
        bytes = variable_size(&env[i]);
        all += bytes;
        if (bytes > KEY_ARG_BYTES && is_used(t, env[i].key))
            return resolve_too_large(env[i].key, bytes, err);
    }
    while (all > KEY_ARG_BYTES && (at = find_unused(t, env, *n)) < *n) {
        bytes = variable_size(&env[at]);
        if (bytes <= KEY_ARG_BYTES && all <= ENV_BYTES)
            break;
        all -= bytes;
        env[at] = env[--*n];
    }
    return 0;
}

/* Sets the environment in the spec. A file with the name of a variable replaces the variable. */
static int set_env(const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                   struct err *err)
{
    json_auto_t *env = NULL;
    struct spec_pair *pairs;
    int rc = make_env(s, &env, err);

    for (size_t i = 0; !rc && i < spec->nfiles; i++)
        json_object_del(env, spec->files[i].key);
    if (rc || (rc = make_pairs(env, "env", arena, &pairs, &spec->nenv, err)))
        return rc;
    spec->env = pairs;
    return fit_env(s->task, pairs, &spec->nenv, err);
}

static int set_files(const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                     struct err *err)
{
    json_auto_t *files = NULL;
    struct spec_pair *pairs;

    if (resolve_pairs(resolve_template(s, TASK_FILES), s, true, &files, err))
        return err_prefix(err, "files");
    if (make_pairs(files, "files", arena, &pairs, &spec->nfiles, err))
        return -(int)err->code;
    spec->files = pairs;
    return 0;
}

/* Evaluates a template to a string. *out stays unchanged if t is NULL. */
static int eval_text(const struct template *t, const struct resolve_scope *s, struct arena *arena,
                     const char **out, struct err *err)
{
    AUTO_BUF b = BUF_INIT;
    int rc = t ? resolve_text(t, s, &b, err) : 0;

    if (!rc && t)
        *out = arena_strdup(arena, buf_cstr(&b));
    return rc;
}

static int check_argument(const char *text, struct err *err)
{
    return strlen(text) <= KEY_ARG_BYTES
               ? 0
               : err_set(
                     err, E_INVALID,
                     "an argument of a program may be at most %d bytes long, but this one is %zu: "
                     "pass it in a file (key `files`) or on standard input (key `stdin`)",
                     KEY_ARG_BYTES, strlen(text));
}

static int set_argv(const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                    struct err *err)
{
    const struct template *all = resolve_template(s, TASK_ARGV);
    const char **argv = arena_zalloc(arena, (all->n + 1) * sizeof(*argv));

    for (size_t i = 0; i < all->n; i++)
        if (eval_text(&all->items[i], s, arena, &argv[i], err) || check_argument(argv[i], err))
            return err_prefix(err, "argv[%zu]", i);
    spec->argv = all->n ? argv : NULL;
    spec->argc = all->n;
    return 0;
}

/* Sets the working directory. A relative cwd starts at the folder of the workflow file. */
static int set_cwd(const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                   struct err *err)
{
    const char *cwd = NULL, *folder = s->templates->workflow->folder;

    if (eval_text(resolve_template(s, TASK_CWD), s, arena, &cwd, err))
        return err_prefix(err, "cwd");
    spec->cwd = cwd ? cwd : folder;
    if (folder && cwd && *cwd != '/')
        spec->cwd = arena_printf(arena, "%s/%s", folder, cwd);
    return 0;
}

/* Makes the source of a volume absolute, relative to the workflow's folder, unless it is absolute
 * already or the name of a volume. */
static json_t *absolute_volume(const struct workflow *w, json_t *volume)
{
    const char *text = json_string_value(volume);
    bool path = text && (*text == '.' || memchr(text, '/', strcspn(text, ":")));

    /* A source that contains a NUL character stays unchanged: the container executor refuses it. */
    if (!w->folder || !path || *text == '/' || strlen(text) < json_string_length(volume))
        return json_incref(volume);
    return value_need(json_sprintf("%s/%s", w->folder, text));
}

/* Converts numbers and booleans to strings, as in argv. Other values are kept, and the container
 * executor refuses them where it needs a string. A list is copied before its items are converted,
 * because it may belong to the scope. */
static json_t *as_texts(json_t *v)
{
    json_t *made;

    if (json_is_number(v) || json_is_boolean(v))
        return value_as_text(json_incref(v));
    if (!json_is_array(v))
        return json_incref(v);
    made = value_need(json_array());
    for (size_t i = 0; i < json_array_size(v); i++)
        value_append(made, as_texts(json_array_get(v, i)));
    return made;
}

static int set_container(const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                         struct err *err)
{
    const struct template *t = resolve_template(s, TASK_CONTAINER);
    json_t *c = NULL, *volumes, *v;
    const char *key;

    if (!t)
        return 0;
    if (resolve_value(t, s, &c, err))
        return err_prefix(err, "container");
    json_object_foreach(c, key, v) json_object_set_new(c, key, as_texts(v));
    volumes = json_object_get(c, "volumes");
    for (size_t i = 0; i < json_array_size(volumes); i++)
        json_array_set_new(volumes, i,
                           absolute_volume(s->templates->workflow, json_array_get(volumes, i)));
    spec->container = json_arena_text(c, arena);
    json_decref(c);
    return 0;
}

/* Whether the task has the key that `k` needs to have an effect, as `shell` needs `run`. */
static bool is_usable(const struct key *k, const struct workflow_task *task)
{
    const struct key *with = k->only_with ? key_find(&keys_task, k->only_with) : NULL;

    return !with || !key_is_default(with, (const char *)task + with->at);
}

/* Copies values of the workflow's `defaults` to the spec, if reading the file did not copy them to
 * the task. make_env does this for env. */
static void inherit_defaults(const struct workflow *w, const struct workflow_task *task,
                             struct spec *spec)
{
    const struct key *k;

    KEYS_EACH(&keys_task, k)
    if (k->places & KEY_COMMON_LATE && !k->scope && is_usable(k, task)) {
        char *to = (char *)spec + k->at - offsetof(struct workflow_task, command);

        if (key_is_default(k, to))
            memcpy(to, (const char *)&w->defaults + k->at, key_size(k));
    }
}

/* Whether the task gets the values of `with` as its input, not as environment variables. */
static bool has_input(const struct workflow_task *task)
{
    return task->function || task_is_custom(task);
}

static int make_spec(const struct resolve_scope *s, const struct spec *defaults, struct spec *spec,
                     struct arena *arena, struct err *err)
{
    const struct workflow_task *task = s->task;
    int rc;

    *spec = task->command;
    inherit_defaults(s->templates->workflow, task, spec);
    if (!spec->timeout)
        spec->timeout = defaults->timeout;
    if (task->command.retry.max < 0)
        spec->retry = defaults->retry;
    if (has_input(task))
        return 0;
    if ((rc = set_argv(s, spec, arena, err)) || (rc = set_cwd(s, spec, arena, err)) ||
        (rc = set_container(s, spec, arena, err)))
        return rc;
    if (eval_text(resolve_template(s, TASK_INPUT), s, arena, &spec->input, err))
        return err_prefix(err, "stdin");
    return (rc = set_files(s, spec, arena, err)) ? rc : set_env(s, spec, arena, err);
}

/* Adds the value of `name` in the scope to `with`, unless `with` has a member of that name. */
static void add_missing(json_t *with, const char *name, json_t *v)
{
    if (v && !json_object_get(with, name))
        json_object_set(with, name, v);
}

/* Appends the input of a function or of a custom executor: the values of `with`, the item and its
 * index, or the params if there are no such values. */
static int make_input(const struct resolve_scope *s, struct buf *input, struct err *err)
{
    json_auto_t *with = NULL;
    int rc = resolve_pairs(resolve_template(s, TASK_WITH), s, false, &with, err);

    if (rc)
        return rc;
    add_missing(with, "item", s->expr.names[EXPR_ITEM]);
    add_missing(with, "index", s->expr.names[EXPR_INDEX]);
    if (!json_object_size(with))
        json_object_update(with, s->expr.names[EXPR_PARAMS]);
    (void)json_add_value(input, with, SIZE_MAX);
    return 0;
}

int resolve_task(const struct resolve_scope *s, const struct spec *defaults, struct buf *spec,
                 struct buf *input, struct err *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct spec made;
    int rc = make_spec(s, defaults, &made, &arena, err);

    if (!rc)
        spec_write(&made, spec);
    return rc || !has_input(s->task) ? rc : make_input(s, input, err);
}
