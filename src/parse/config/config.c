/* config.c - finds pawl.yaml, reads it, and checks its values against each other; see config.h. */
#include "parse/config/config_parts.h"
#include "parse/config/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct config_host config_this_host(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return (struct config_host){.folder = ".",
                                .home = getenv("HOME"),
                                .xdg_config_home = getenv("XDG_CONFIG_HOME"),
                                .xdg_state_home = getenv("XDG_STATE_HOME"),
                                .processors = processors < 1 ? 1 : (int)processors};
}

/* ---- finding the file ---- */

/* The folder pawl in the folder that the variable $XDG_… names or, if it is not set, in the folder
 * `fallback` of $HOME. NULL if neither variable is set. The caller frees it. */
static char *user_folder(const char *xdg, const char *home, const char *fallback)
{
    if (xdg && *xdg == '/')
        return mem_printf("%s/pawl", xdg);
    return home && *home == '/' ? mem_printf("%s/%s/pawl", home, fallback) : NULL;
}

char *config_state_folder(const struct config_host *host)
{
    return user_folder(host->xdg_state_home, host->home, ".local/state");
}

/* Reads the file at `path`. If the file does not exist, and `must_exist` is false, *out stays NULL.
 * A file in a folder that this process may not search belongs to another user, and counts as
 * missing. */
static int read_file(struct diagnostics *diagnostics, const char *path, bool must_exist,
                     const struct source **out, struct err *err)
{
    struct stat st;
    int rc;

    if (!must_exist && stat(path, &st) && errno == EACCES)
        return 0;
    rc = diagnostics_read_config(diagnostics, path, out, err);
    return rc == -E_NOT_FOUND && !must_exist ? 0 : rc;
}

/* Finds and reads the configuration file. *untrusted is set if the file was found in the current
 * folder and the user does not trust it. */
static int find_source(const char *path, const struct config_host *host,
                       struct diagnostics *diagnostics, const struct source **out,
                       const char **untrusted, struct err *err)
{
    AUTO_FREE char *local = NULL, *folder = NULL, *user = NULL;
    int rc;

    *out = NULL;
    if (path)
        return read_file(diagnostics, path, true, out, err);
    local = !strcmp(host->folder, ".") ? mem_strdup(CONFIG_FILE_NAME)
                                       : mem_printf("%s/" CONFIG_FILE_NAME, host->folder);
    rc = read_file(diagnostics, local, false, out, err);
    if (!rc && *out)
        *untrusted = trust_refusal(*out, host);
    folder = user_folder(host->xdg_config_home, host->home, ".config");
    if (!rc && !*out && folder) {
        user = mem_printf("%s/" CONFIG_FILE_NAME, folder);
        rc = read_file(diagnostics, user, false, out, err);
    }
    return rc;
}

char *config_folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash ? mem_printf("%.*s", (int)(slash - file), file) : mem_strdup(".");
    char *real = realpath(*folder ? folder : "/", NULL);

    if (!real)
        return folder;
    free(folder);
    return real;
}

/* ---- values that depend on each other ---- */

/* Sets the defaults that are derived from other values. */
static void derive_defaults(const struct config_host *host, struct config *c)
{
    AUTO_FREE char *folder = config_state_folder(host);

    if (!c->state)
        c->state = arena_strdup(&c->arena, folder);
    if (!c->db && c->state)
        c->db = arena_printf(&c->arena, "sqlite:%s/pawl.db", c->state);
    if (!c->worker.heartbeat)
        c->worker.heartbeat = c->worker.lease / 3;
    if (!c->logs.retention_days)
        c->logs.retention_days = c->execution_events.retention_days;
}

/* The location for an error about two values: one of them that the file sets; NULL if it sets
 * neither. */
static const struct yaml *given_either(const struct reader *r, const char *a, const char *b)
{
    const struct yaml *node = reader_given(r, &r->doc->root, a);

    return node ? node : reader_given(r, &r->doc->root, b);
}

/* Checks values against each other. The defaults are consistent, so an error always has the
 * location of a value in the file. */
static void check_consistency(const struct reader *r)
{
    const struct config *c = r->config;
    const struct yaml *at;

    at = given_either(r, "worker.heartbeat", "worker.lease");
    if (at && c->worker.heartbeat >= (c->worker.lease + 1) / 2)
        yaml_error(r->doc, at,
                   "worker.heartbeat must be less than half of worker.lease, so that a worker does "
                   "not lose its leases after one missed heartbeat");
    at = given_either(r, "worker.host_grace", "worker.lease");
    if (at && c->worker.host_grace < 2 * c->worker.lease)
        yaml_error(r->doc, at, "worker.host_grace must be at least twice worker.lease");
    at = given_either(r, "logs.retention_days", "execution_events.retention_days");
    if (at && c->logs.retention_days > c->execution_events.retention_days)
        yaml_error(r->doc, at,
                   "logs.retention_days must not be more than execution_events.retention_days, "
                   "which is %d",
                   c->execution_events.retention_days);
}

/* ---- reading ---- */

/* Makes the reader skip executors and routes, which are read after all other values. */
static bool skip_for_now(struct reader *r, const struct key *k, const struct yaml *node,
                         const char *what, void *to)
{
    (void)r, (void)k, (void)node, (void)what, (void)to;
    return true;
}

static void read_values(struct reader *r, const struct config_host *host, const struct yaml *root)
{
    const struct yaml *executor;

    keys_init(&config_keys, r->config);
    reader_defaults_of(r, &config_keys, r->config, true);
    if (root->kind != YAML_NULL)
        reader_keys(r, &config_keys, root, "", 0, r->config);
    derive_defaults(host, r->config);
    check_consistency(r);
    config_read_executors(r, yaml_get(root, "executors"));
    config_read_routes(r, reader_given(r, root, "dispatch.routes"));
    if ((executor = reader_given(r, root, "dispatch.default_executor")))
        config_check_executor(r, executor, "dispatch.default_executor",
                              r->config->dispatch.routes.command);
    r->config->db_given = yaml_get(root, "db");
    r->config->routes_given = given_either(r, "dispatch.routes", "dispatch.default_executor");
    r->config->retention_given =
        given_either(r, "execution_events.cleanup", "execution_events.retention_days") ||
        reader_given(r, root, "logs.retention_days");
}

int config_parse(const struct source *source, const char *untrusted, const struct config_host *host,
                 struct diagnostics *diagnostics, struct config **out, struct err *err)
{
    static const struct source nothing = {.name = CONFIG_FILE_NAME, .text = "", .len = 0};
    struct config *c = mem_zalloc(sizeof(*c));
    AUTO_FREE char *folder = config_folder_of(source ? source->name : CONFIG_FILE_NAME);
    struct yaml_doc doc;
    int rc;

    c->file = source ? arena_strdup(&c->arena, source->name) : NULL;
    if (!yaml_read(source ? source : &nothing, diagnostics, &doc)) {
        struct reader r = {.doc = &doc,
                           .arena = &c->arena,
                           .other = skip_for_now,
                           .config = c,
                           .untrusted = untrusted,
                           .folder = folder,
                           .home = host->home,
                           .processors = host->processors};

        read_values(&r, host, &doc.root);
        reader_release(&r);
    }
    rc = diagnostics_err(diagnostics, err);
    yaml_release(&doc);
    if (rc)
        config_free(&c);
    else
        *out = c;
    return rc;
}

int config_load(const char *path, const struct config_host *host, struct diagnostics *diagnostics,
                struct config **out, struct err *err)
{
    const struct source *source;
    const char *untrusted = NULL;
    int rc = find_source(path, host, diagnostics, &source, &untrusted, err);

    return rc ? rc : config_parse(source, untrusted, host, diagnostics, out, err);
}

void config_free(struct config **config)
{
    if (*config)
        arena_release(&(*config)->arena);
    free(*config);
    *config = NULL;
}
