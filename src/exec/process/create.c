/* create.c - creates and frees a process executor, see process.h. */
#include "base/mem.h"
#include "base/program.h"
#include "exec/process/process_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEASE_DEFAULT 30000000
#define GRACE_DEFAULT 10000000
#define LOG_DEFAULT   (512 << 10)

/* The path of pawl-shim; NULL if none was found. A path given by the caller or by PAWL_SHIM is not
 * checked. */
static char *shim_path(const char *given)
{
    const char *env = getenv("PAWL_SHIM");
    char *path;

    if (given)
        return mem_strdup(given);
    if ((path = program_next_to_this("pawl-shim")))
        return path;
    return env ? mem_strdup(env) : program_next_to_this("../libexec/pawl/pawl-shim");
}

bool process_has_shim(const char *given)
{
    AUTO_FREE char *path = shim_path(given);

    return path && access(path, X_OK) == 0;
}

static int find_shim(struct process *p, const char *given, struct err *err)
{
    p->shim_path = shim_path(given);
    if (p->shim_path && access(p->shim_path, X_OK) == 0)
        return 0;
    return err_set(err, E_UNAVAILABLE,
                   "pawl-shim, which runs commands, was not found%s%s; set PAWL_SHIM to its path",
                   p->shim_path ? ": " : "", p->shim_path ? p->shim_path : "");
}

static int open_dir(struct process *p, const char *dir, struct err *err)
{
    if (mkdir(dir, 0700) && errno != EEXIST)
        return err_set(err, E_UNAVAILABLE, "the folder %s can't be created: %s", dir,
                       strerror(errno));
    p->dir_path = realpath(dir, NULL);
    p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!p->dir_path || p->dir < 0)
        return err_set(err, E_UNAVAILABLE, "the folder %s can't be opened: %s", dir,
                       strerror(errno));
    return 0;
}

static void copy_options(struct process *p, const struct process_options *o)
{
    static const char *const allow[] = {"PATH",   "HOME", "LANG",    "LC_ALL", "LC_CTYPE", "TZ",
                                        "TMPDIR", "USER", "LOGNAME", "SHELL",  NULL};
    static const char *const inside[] = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", NULL};
    const char *key;

    p->in_containers = o->container;
    if (o->container)
        p->container =
            (struct container_options){.client = arena_strdup(&p->own, o->container->client),
                                       .docker = o->container->docker,
                                       .image = arena_strdup(&p->own, o->container->image),
                                       .pull = arena_strdup(&p->own, o->container->pull)};
    key = o->key ? o->key : o->container ? "container" : "process";
    p->x = (struct executor){.ops = &process_ops,
                             .key = arena_strdup(&p->own, key),
                             .env = o->env ? o->env : &p->no_env};
    p->marks = o->marks;
    p->slots = o->slots > 0 ? o->slots : (int)sysconf(_SC_NPROCESSORS_ONLN);
    p->lease = o->lease ? o->lease : LEASE_DEFAULT;
    p->fence = o->fence;
    p->grace = o->grace ? o->grace : GRACE_DEFAULT;
    if (p->grace < 0)
        p->grace = 0;
    p->log_head = o->log_head || o->log_tail ? o->log_head : LOG_DEFAULT;
    p->log_tail = o->log_head || o->log_tail ? o->log_tail : LOG_DEFAULT;
    p->allow = mem_copy_list(o->allow ? o->allow : o->container ? inside : allow);
    p->nextra = o->nextra;
    p->extra = arena_alloc(&p->own, o->nextra * sizeof(*p->extra));
    for (size_t i = 0; i < o->nextra; i++)
        p->extra[i] = (struct spec_pair){.key = arena_strdup(&p->own, o->extra[i].key),
                                         .value = arena_strdup(&p->own, o->extra[i].value)};
    p->resolve_secret = o->resolve_secret;
    p->secret_arg = o->secret_arg;
    p->secrets = arena_strdup(&p->own, o->secrets);
}

int process_new(const struct process_options *o, struct executor **out, struct err *err)
{
    struct process *p = mem_zalloc(sizeof(*p));
    int rc;

    p->dir = p->socket = -1;
    p->wakeup = (struct wakeup)WAKEUP_INIT;
    STAILQ_INIT(&p->removals);
    STAILQ_INIT(&p->delayed_removals);
    copy_options(p, o);
    if (!(rc = open_dir(p, o->dir, err)) && !(rc = find_shim(p, o->shim, err)) &&
        wakeup_open(&p->wakeup))
        rc = err_set(err, E_UNAVAILABLE, "no descriptor for polling is available: %s",
                     strerror(errno));
    if (rc || (rc = process_helper_start(p, err)))
        process_free(&p->x);
    else
        *out = &p->x;
    return rc;
}

void process_free(struct executor *x)
{
    struct process *p = (struct process *)x;

    for (struct watch *w = p->watches; w; w = w->next)
        watch_drop(p, w, true);
    process_helper_stop(p);
    process_free_dropped(p);
    process_cleanup(p, p->dir < 0 ? 0 : INT_MAX);
    vec_release(&p->strays.all);
    removals_release(&p->removals);
    removals_release(&p->delayed_removals); /* their folders stay; the cleanup of leftovers finds
                                               them */
    wakeup_close(&p->wakeup);
    fd_close(&p->dir);
    free(p->allow);
    free(p->dir_path);
    free(p->shim_path);
    arena_release(&p->own);
    free(p);
}
