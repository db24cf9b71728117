/* engine_executors.c - sets up the executors of an engine: those of the configuration, and the
 * functions and executors that a program adds. An executor that can't run on this host, because the
 * shim or a container engine is missing, leaves its jobs to other workers. */
#include "api/engine_handle.h"

#include "api/custom_executor.h"
#include "exec/function/function.h"
#include "exec/process/process.h"

#include <stdlib.h>
#include <string.h>

/* ---- from the configuration ---- */

static int add_executor(struct dispatch *d, struct executor *x, struct err *err)
{
    int rc = dispatch_add_executor(d, x, 0, err);

    if (rc)
        x->ops->free(x);
    return rc;
}

/* How many attempts the executor runs at once: as configured, else all slots of the engine. */
static int own_slots(const struct pawl_engine *e, const struct config_executor *c)
{
    return c && c->slots_given ? c->slots : e->slots;
}

/* Checks that an executor of the program or of a plugin can be added. */
static int check_custom(struct pawl_engine *e, const struct dispatch *d,
                        const struct pawl_executor *x, struct err *err)
{
    const struct config_executor *c;

    TRY(api_executor_check(x, err));
    c = config_executor(e->p->config, x->key);
    if (c && c->type != CONFIG_CUSTOM)
        return err_set(err, E_CONFLICT, "an executor %s of the type %s already exists", c->key,
                       config_executor_types[c->type]);
    return dispatch_check_key(d, x->key, err);
}

static int add_custom(struct pawl_engine *e, struct dispatch *d, const struct pawl_executor *x,
                      struct err *err)
{
    struct custom_executor_options o = {.tenant = store_url(e->p->store)->tenant, .env = &e->env};

    TRY(check_custom(e, d, x, err));
    o.slots = own_slots(e, config_executor(e->p->config, x->key));
    return api_executor_add(d, x, &o, err);
}

/* ---- plugins ---- */

static const struct pawl_report_ops report_ops = {pawl_report_started, pawl_report_log,
                                                  pawl_report_ended};

struct plugin_executors {
    struct pawl_engine *engine;
    struct dispatch *dispatch;
    VEC(struct pawl_executor) list; /* owns the keys */
};

static int note_executor(void *arg, const struct pawl_executor *x, struct err *err)
{
    struct plugin_executors *found = arg;
    struct pawl_executor *noted;

    if (!x)
        return err_set(err, E_INVALID, "the plugin called add_executor without an executor");
    TRY(check_custom(found->engine, found->dispatch, x, err));
    for (size_t i = 0; i < found->list.n; i++)
        if (!strcmp(found->list.at[i].key, x->key))
            return err_set(err, E_CONFLICT, "the plugin adds two executors named %s", x->key);
    noted = vec_add(&found->list);
    *noted = *x;
    noted->key = mem_strdup(x->key); /* the plugin may free its string when its init has returned */
    return 0;
}

/* Frees the executors from index `first` on, which were not added to the dispatcher. */
static void drop_from(struct plugin_executors *found, size_t first)
{
    for (size_t i = first; i < found->list.n; i++)
        if (found->list.at[i].free)
            found->list.at[i].free(found->list.at[i].data);
}

static void drop_executors(void *arg)
{
    drop_from(arg, 0);
}

/* Loads a plugin. Its executors are added only after that: a plugin that fails to load is unloaded,
 * and their code with it. */
static int load_plugin(struct pawl_engine *e, struct dispatch *d, const char *path, struct err *err)
{
    struct plugin_executors found = {.engine = e, .dispatch = d};
    struct function_plugin_executors executors = {
        .note = note_executor, .drop = drop_executors, .arg = &found, .report = &report_ops};
    int rc = function_load_plugin(e->functions, path, &executors, err);

    for (size_t i = 0; !rc && i < found.list.n; i++)
        if ((rc = add_custom(e, d, &found.list.at[i], err))) {
            err_prefix(err, "the plugin %.200s", path);
            drop_from(&found, i);
        }
    for (size_t i = 0; i < found.list.n; i++)
        free((char *)found.list.at[i].key);
    vec_release(&found.list);
    return rc;
}

static int add_functions(struct pawl_engine *e, const struct engine_dispatch_setup *place,
                         struct dispatch *d, struct err *err)
{
    const struct config *c = e->p->config;
    /* more threads than slots would never have work */
    struct function_options o = {.threads = c->functions.threads < e->slots ? c->functions.threads
                                                                            : e->slots,
                                 .queue = c->functions.queue ? c->functions.queue : -1,
                                 .marks = place->marks,
                                 .env = &e->env};

    TRY(function_new(&o, &e->functions, err));
    TRY(add_executor(d, function_executor(e->functions), err));
    for (size_t i = 0; i < c->plugins.n; i++)
        TRY(load_plugin(e, d, c->plugins.at[i], err));
    for (size_t i = 0; e->o->plugins && e->o->plugins[i]; i++)
        TRY(load_plugin(e, d, e->o->plugins[i], err));
    return 0;
}

/* Adds an executor of commands; `container` is NULL for commands that run as plain processes. */
static int add_commands(struct pawl_engine *e, const struct config_executor *c,
                        const struct container_options *container,
                        const struct engine_dispatch_setup *place, struct dispatch *d,
                        struct err *err)
{
    const struct db_url *url = store_url(e->p->store);
    struct spec_pair extra[] = {
        {"PAWL_DB", url->text}, {"PAWL_STATE", e->state}, {"PAWL_TENANT", url->tenant}};
    struct process_options o = {.key = c->key,
                                .dir = place->dir,
                                .shim = c->shim,
                                .slots = own_slots(e, c),
                                .env = &e->env,
                                .lease = place->lease,
                                .fence = place->fence,
                                .grace = c->grace ? c->grace : -1,
                                .log_head = c->log.head,
                                .log_tail = c->log.tail,
                                .allow = c->env.at,
                                .extra = extra,
                                /* a container has access to neither database nor state folder */
                                .nextra = container     ? 0
                                          : url->tenant ? 3
                                                        : 2,
                                .marks = place->marks,
                                .resolve_secret = api_secret,
                                .secret_arg = (void *)c,
                                .container = container};
    struct executor *x;

    TRY(process_new(&o, &x, err));
    return add_executor(d, x, err);
}

static void note_missing(struct pawl_engine *e, const char *what, const char *is,
                         const struct config_executor *c)
{
    AUTO_FREE char *sentence = mem_printf(
        "%s %s: the jobs of the executor %s are left to other workers", what, is, c->key);

    e->env.note(e->env.arg, sentence);
}

/* Whether the engine can run commands. A program that embeds Pawl for its functions need not have
 * the shim. A foreground engine, or one with a configured shim, is meant to run commands, so a
 * missing shim is an error there. */
static bool can_run(struct pawl_engine *e, const struct config_executor *c)
{
    if (e->here || c->shim || getenv("PAWL_SHIM") || process_has_shim(NULL))
        return true;
    note_missing(e, "pawl-shim", "was not found", c);
    return false;
}

/* Adds an executor of containers. Without a container engine its jobs are left to workers that have
 * one. */
static int add_containers(struct pawl_engine *e, const struct config_executor *c,
                          const struct engine_dispatch_setup *place, struct dispatch *d,
                          struct err *err)
{
    AUTO_FREE char *podman = c->engine == CONFIG_DOCKER ? NULL : container_find_client("podman");
    AUTO_FREE char *docker =
        c->engine == CONFIG_PODMAN || podman ? NULL : container_find_client("docker");
    struct container_options o = {.client = podman ? podman : docker,
                                  .docker = !podman,
                                  .image = c->image,
                                  .pull = config_pulls[c->pull]};
    struct err away = ERR_INIT;

    if (docker && c->engine == CONFIG_AUTO && container_check(&o, &away))
        o.client = NULL; /* the docker client is often installed without a running docker daemon */
    if (!o.client && !e->here && c->engine != CONFIG_AUTO) /* podman or docker is configured */
        note_missing(e, config_engines[c->engine], "is not in PATH", c);
    return o.client && can_run(e, c) ? add_commands(e, c, &o, place, d, err) : 0;
}

int api_executors_make(struct pawl_engine *e, const struct engine_dispatch_setup *place,
                       struct dispatch **out, struct err *err)
{
    const struct config *c = e->p->config;
    struct dispatch_options o = place->dispatch;
    struct dispatch *d = NULL;
    int rc;

    o.slots = e->slots;
    if ((rc = dispatch_new(&o, &d, err)))
        return rc;
    for (size_t i = 0; !rc && i < c->executors.n; i++) {
        const struct config_executor *x = &c->executors.at[i];

        if (x->enabled && x->type == CONFIG_PROCESS && can_run(e, x))
            rc = add_commands(e, x, NULL, place, d, err);
        else if (x->enabled && x->type == CONFIG_CONTAINER)
            rc = add_containers(e, x, place, d, err);
        else if (x->enabled && x->type == CONFIG_FUNCTION)
            rc = add_functions(e, place, d, err);
    }
    if (rc)
        dispatch_free(d);
    else
        *out = d;
    return rc;
}

/* ---- from the program ---- */

int pawl_engine_register(struct pawl_engine *e, const char *name, pawl_function *fn, void *arg,
                         struct pawl_error *out)
{
    API_ERR(out);

    if (!e->functions)
        return err_set(err, E_INVALID,
                       "functions are disabled: set executors.function.enabled to true in "
                       "pawl.yaml");
    return function_add(e->functions, name, (function_fn *)(void (*)(void))fn, arg, err);
}

int pawl_engine_add_executor(struct pawl_engine *e, const struct pawl_executor *x,
                             struct pawl_error *out)
{
    API_ERR(out);

    return add_custom(e, engine_dispatch(e->engine), x, err);
}
