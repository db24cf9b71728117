/* plugin.c - the registry of functions by name, and plugins: shared objects that add functions to
 * it, and executors to the engine. */
#include "exec/function/pool.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LANE_PREFIX "function:"
#define NAME_MAX    100
#define NAME_CHARS  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/"

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

const struct entry *function_find(const struct functions *f, const char *name)
{
    const struct entry wanted = {.name = name}, *key = &wanted;
    struct entry *const *found =
        f->entries.n ? bsearch(&key, f->entries.at, f->entries.n, sizeof(*f->entries.at), by_name)
                     : NULL;

    return found ? *found : NULL;
}

bool function_has(const struct functions *f, const char *name)
{
    return function_find(f, name) != NULL;
}

static void rebuild_lanes(struct functions *f)
{
    f->lanes.n = 0;
    for (size_t i = 0; i < f->entries.n; i++)
        *vec_add(&f->lanes) = f->entries.at[i]->lane;
}

static int add_function(struct functions *f, const char *name, function_fn *fn, void *arg,
                        void *plugin, struct err *err)
{
    struct entry *e;

    if (!name || !*name || name[strspn(name, NAME_CHARS)] || strlen(name) > NAME_MAX)
        return err_set(err, E_INVALID,
                       "\"%.100s\" is not a valid function name: use letters, digits and "
                       "_ - . : /, at most %d characters",
                       name ? name : "", NAME_MAX);
    if (!fn)
        return err_set(err, E_INVALID, "the function pointer of %s is NULL", name);
    if (function_has(f, name))
        return err_set(err, E_CONFLICT, "a function %s already exists", name);
    e = mem_zalloc(sizeof(*e));
    e->lane = mem_printf(LANE_PREFIX "%s", name);
    e->name = e->lane + strlen(LANE_PREFIX);
    e->fn = fn;
    e->arg = arg;
    e->plugin = plugin;
    *vec_add(&f->entries) = e;
    qsort(f->entries.at, f->entries.n, sizeof(*f->entries.at), by_name);
    rebuild_lanes(f);
    return 0;
}

int function_add(struct functions *f, const char *name, function_fn *fn, void *arg, struct err *err)
{
    return add_function(f, name, fn, arg, NULL, err);
}

const char *const *function_lanes(const struct functions *f, size_t *n)
{
    *n = f->lanes.n;
    return f->lanes.at;
}

static void entry_free(struct entry *e)
{
    free(e->lane);
    free(e);
}

void function_registry_release(struct functions *f)
{
    for (size_t i = 0; i < f->entries.n; i++)
        entry_free(f->entries.at[i]);
    for (size_t i = 0; i < f->plugins.n; i++)
        dlclose(f->plugins.at[i]);
    vec_release(&f->entries);
    vec_release(&f->lanes);
    vec_release(&f->plugins);
}

/* ---- plugins ---- */

struct loading {
    struct functions *f;
    void *plugin;
    const struct function_plugin_executors *executors;
    struct err *err; /* the first error */
    int rc;
};

static int host_add(const struct function_plugin_host *host, const char *name, function_fn *fn,
                    void *arg)
{
    struct loading *l = host->data;

    if (!l->rc)
        l->rc = add_function(l->f, name, fn, arg, l->plugin, l->err);
    return l->rc;
}

static int host_add_executor(const struct function_plugin_host *host, const struct pawl_executor *x)
{
    struct loading *l = host->data;

    if (!l->rc)
        l->rc = l->executors->note(l->executors->arg, x, l->err);
    return l->rc;
}

static void remove_plugin_functions(struct functions *f, const void *plugin)
{
    size_t i, n = 0;

    for (i = 0; i < f->entries.n; i++)
        if (f->entries.at[i]->plugin == plugin)
            entry_free(f->entries.at[i]);
        else
            f->entries.at[n++] = f->entries.at[i];
    f->entries.n = n;
    rebuild_lanes(f);
}

static int init_plugin(struct functions *f, void *plugin,
                       const struct function_plugin_executors *executors, struct err *err)
{
    struct loading l = {.f = f, .plugin = plugin, .executors = executors, .err = err};
    struct function_plugin_host host = {.add = host_add,
                                        .data = &l,
                                        .add_executor = host_add_executor,
                                        .report = executors->report};
    const int *abi = dlsym(plugin, "pawl_plugin_abi");
    union { /* ISO C has no cast from an object pointer to a function pointer */
        void *address;
        int (*call)(const struct function_plugin_host *);
    } entry = {dlsym(plugin, "pawl_plugin_init")};
    int rc;

    if (!abi || !entry.address)
        return err_set(err, E_INVALID, "the file is not a Pawl plugin, because it has no symbol %s",
                       abi ? "pawl_plugin_init" : "pawl_plugin_abi");
    if (*abi < FUNCTION_PLUGIN_ABI_MIN || *abi > FUNCTION_PLUGIN_ABI)
        return err_set(err, E_INVALID,
                       "the plugin was built for version %d of the plugin interface, but this Pawl "
                       "has version %d; rebuild it",
                       *abi, FUNCTION_PLUGIN_ABI);
    host.abi = *abi;
    rc = entry.call(&host);
    if (rc && !l.rc)
        return err_set(err, E_INVALID,
                       "the plugin's pawl_plugin_init failed: it returned %d, not 0", rc);
    return l.rc;
}

int function_load_plugin(struct functions *f, const char *path,
                         const struct function_plugin_executors *executors, struct err *err)
{
    /* dlopen would search the system's library folders for a name without a slash. */
    AUTO_FREE char *file = mem_printf("%s%s", strchr(path, '/') ? "" : "./", path);
    void *plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    int rc = 0;

    if (!plugin)
        return err_set(err, E_INVALID, "the plugin %.200s can't be loaded: %.600s", path,
                       dlerror());
    for (size_t i = 0; i < f->plugins.n; i++)
        if (f->plugins.at[i] == plugin)
            rc = err_set(err, E_CONFLICT, "it is already loaded; name it once");
    if (!rc && (rc = init_plugin(f, plugin, executors, err))) {
        remove_plugin_functions(f, plugin);
        executors->drop(executors->arg);
    }
    if (rc) {
        err_prefix(err, "the plugin %.200s", path);
        dlclose(plugin);
    } else {
        *vec_add(&f->plugins) = plugin;
    }
    return rc;
}
