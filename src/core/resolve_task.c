/* resolve_task.c - makes the spec and the input of a task from its definition and its scope; see
 * resolve.h. */
#include "core/resolve.h"

#include "base/json.h"
#include "core/expr/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A value as an environment variable: texts unchanged, everything else as JSON. */
static const char *as_variable(const json_t *v, struct arena *arena)
{
    char *json;
    const char *kept;

    if (json_is_string(v))
        return arena_strdup(arena, json_string_value(v));
    json = json_text(v);
    kept = arena_strdup(arena, json);
    free(json);
    return kept;
}

int resolve_pairs_as_text(const struct workflow_pairs *pairs, const struct resolve_scope *s,
                          json_t **out, struct err *err)
{
    json_t *object = value_need(json_object());
    size_t i;

    for (i = 0; i < pairs->n; i++) {
        struct buf text = BUF_INIT;
        int rc = resolve_text(pairs->at[i].value, s, &text, err);

        if (!rc)
            json_object_set_new(object, pairs->at[i].key, json_string(buf_cstr(&text)));
        buf_release(&text);
        if (rc) {
            json_decref(object);
            return err_prefix(err, "%s", pairs->at[i].key);
        }
    }
    *out = object;
    return 0;
}

/* Later sources override earlier ones: defaults, the workflow's env, params, with, ITEM and INDEX,
 * the task's env. */
static int make_env(const struct workflow *w, const struct workflow_task *task,
                    const struct resolve_scope *s, json_t **out, struct err *err)
{
    json_t *env = NULL, *with = NULL, *own = NULL;
    int rc;

    if ((rc = resolve_pairs_as_text(&w->default_env, s, &env, err)) ||
        (rc = resolve_pairs(&task->with, s, &with, err)) ||
        (rc = resolve_pairs_as_text(&task->env, s, &own, err)))
        goto done;
    json_object_update(env, s->env);
    json_object_update(env, s->expr.names[EXPR_PARAMS]);
    json_object_update(env, with);
    if (s->expr.names[EXPR_ITEM]) {
        json_object_set(env, "ITEM", s->expr.names[EXPR_ITEM]);
        json_object_set(env, "INDEX", s->expr.names[EXPR_INDEX]);
    }
    json_object_update(env, own);
    *out = json_incref(env);
done:
    json_decref(env);
    json_decref(with);
    json_decref(own);
    return rc;
}

static void set_env(const json_t *env, struct spec *spec, struct arena *arena)
{
    struct spec_pair *pairs = arena_alloc(arena, (json_object_size(env) + 1) * sizeof(*pairs));
    const char *key;
    json_t *v;

    spec->env = pairs;
    json_object_foreach((json_t *)env, key, v)
    {
        if (!json_is_null(v))
            pairs[spec->nenv++] =
                (struct spec_pair){arena_strdup(arena, key), as_variable(v, arena)};
    }
}

static int eval_text(const char *template, const struct resolve_scope *s, struct arena *arena,
                     const char **out, struct err *err)
{
    struct buf b = BUF_INIT;
    int rc = template ? resolve_text(template, s, &b, err) : 0;

    if (!rc && template)
        *out = arena_strdup(arena, buf_cstr(&b));
    buf_release(&b);
    return rc;
}

static int set_argv(const struct workflow_task *task, const struct resolve_scope *s,
                    struct spec *spec, struct arena *arena, struct err *err)
{
    const char **argv = arena_zalloc(arena, (task->argv.n + 1) * sizeof(*argv));
    size_t i;
    int rc;

    for (i = 0; i < task->argv.n; i++)
        if ((rc = eval_text(task->argv.at[i], s, arena, &argv[i], err)))
            return err_prefix(err, "argv[%zu]", i);
    spec->argv = task->argv.n ? argv : NULL;
    spec->argc = task->argv.n;
    return 0;
}

/* A relative cwd starts at the folder of the workflow's file. */
static int set_cwd(const struct workflow *w, const struct workflow_task *task,
                   const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                   struct err *err)
{
    const char *cwd = NULL;
    char *path;
    int rc = eval_text(task->cwd, s, arena, &cwd, err);

    if (rc)
        return err_prefix(err, "cwd");
    if (!w->folder || (cwd && *cwd == '/')) {
        spec->cwd = cwd;
        return 0;
    }
    path = arena_alloc(arena, strlen(w->folder) + (cwd ? strlen(cwd) : 0) + 2);
    stpcpy(path, w->folder);
    if (cwd)
        stpcpy(stpcpy(path + strlen(path), "/"), cwd);
    spec->cwd = path;
    return 0;
}

/* Makes the source of a volume absolute, starting at the workflow's folder, if it is a relative
 * path and not the name of a volume. */
static json_t *absolute_volume(const struct workflow *w, json_t *volume)
{
    const char *text = json_string_value(volume);
    bool path = text && (*text == '.' || memchr(text, '/', strcspn(text, ":")));

    if (!w->folder || !path || *text == '/')
        return json_incref(volume);
    return value_need(json_sprintf("%s/%s", w->folder, text));
}

/* Converts numbers and booleans to texts, as in argv. Other values are kept; the container executor
 * refuses them if it needs a text. A list is copied, since the original may belong to the scope. */
static json_t *as_texts(json_t *v)
{
    json_t *made;
    char *json;
    size_t i;

    if (json_is_array(v)) {
        made = value_need(json_array());
        for (i = 0; i < json_array_size(v); i++)
            value_append(made, as_texts(json_array_get(v, i)));
        return made;
    }
    if (!json_is_number(v) && !json_is_boolean(v))
        return json_incref(v);
    json = json_text(v);
    made = value_need(json_string(json));
    free(json);
    return made;
}

static int set_container(const struct workflow *w, const struct workflow_task *task,
                         const struct resolve_scope *s, struct spec *spec, struct arena *arena,
                         struct err *err)
{
    json_t *c = NULL, *volumes, *v;
    const char *key;
    char *text;
    size_t i;
    int rc;

    if (!task->container)
        return 0;
    if ((rc = resolve_value(task->container, s, &c, err)))
        return err_prefix(err, "container");
    json_object_foreach(c, key, v) json_object_set_new(c, key, as_texts(v));
    volumes = json_object_get(c, "volumes");
    for (i = 0; i < json_array_size(volumes); i++)
        json_array_set_new(volumes, i, absolute_volume(w, json_array_get(volumes, i)));
    text = json_text(c);
    spec->container = arena_strdup(arena, text);
    free(text);
    json_decref(c);
    return 0;
}

static int make_spec(const struct workflow *w, const struct workflow_task *task,
                     const struct resolve_scope *s, const struct spec *defaults, struct spec *spec,
                     struct arena *arena, struct err *err)
{
    json_t *env = NULL;
    int rc;

    *spec = (struct spec){.run = task->run,
                          .user = task->user,
                          .secrets = task->secrets.at,
                          .nsecrets = task->secrets.n,
                          .outputs = task->outputs.at,
                          .noutputs = task->outputs.n,
                          .timeout = task->timeout ? task->timeout : defaults->timeout,
                          .retry = task->retry.max < 0 ? defaults->retry : task->retry.policy};
    spec->limits.memory = task->limits.memory;
    spec->limits.cpu = task->limits.cpu;
    spec->limits.files = task->limits.files;
    spec->limits.pids = task->limits.pids;
    if (task->function)
        return 0;
    if ((rc = set_argv(task, s, spec, arena, err)) ||
        (rc = set_cwd(w, task, s, spec, arena, err)) ||
        (rc = set_container(w, task, s, spec, arena, err)) ||
        (rc = eval_text(task->input, s, arena, &spec->input, err)) ||
        (rc = make_env(w, task, s, &env, err)))
        return rc;
    set_env(env, spec, arena);
    json_decref(env);
    return 0;
}

/* The input of a function: the values of `with` and the item, or the params if both are missing. */
static int make_input(const struct workflow_task *task, const struct resolve_scope *s,
                      struct buf *input, struct err *err)
{
    json_t *with;
    char *text;
    int rc;

    if ((rc = resolve_pairs(&task->with, s, &with, err)))
        return rc;
    if (s->expr.names[EXPR_ITEM] && !json_object_get(with, "item")) {
        json_object_set(with, "item", s->expr.names[EXPR_ITEM]);
        json_object_set(with, "index", s->expr.names[EXPR_INDEX]);
    }
    if (!json_object_size(with) && json_object_size(s->expr.names[EXPR_PARAMS]))
        json_object_update(with, s->expr.names[EXPR_PARAMS]);
    text = json_text(with);
    buf_addstr(input, text);
    free(text);
    json_decref(with);
    return 0;
}

int resolve_task(const struct workflow *w, const struct workflow_task *task,
                 const struct resolve_scope *s, const struct spec *defaults, struct buf *spec,
                 struct buf *input, struct err *err)
{
    struct arena arena = ARENA_INIT;
    struct spec made;
    int rc = make_spec(w, task, s, defaults, &made, &arena, err);

    if (!rc)
        spec_write(&made, spec);
    arena_release(&arena);
    return rc || !task->function ? rc : make_input(task, s, input, err);
}
