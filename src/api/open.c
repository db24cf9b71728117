/* open.c - finds the database, opens and closes handles, migrates, and manages tenants. */
#include "api/api.h"
#include "base/folders.h"
#include "parse/config/trust.h"
#include "store/tenant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The public codes equal the internal ones. Programs compile against them: existing codes must
 * never change. */
#define X(name, exit_code) \
    _Static_assert((int)PAWL_E_##name == (int)E_##name, "pawl.h and err.h differ");
ERROR_CODES(X)
#undef X
_Static_assert((int)PAWL_MISSING_EXECUTION == (int)MISSING_EXECUTION, "pawl.h and err.h differ");
_Static_assert((int)PAWL_MISSING_PARAM == (int)MISSING_PARAM, "pawl.h and err.h differ");
_Static_assert((int)PAWL_MISSING_SUBMITTED == (int)MISSING_SUBMITTED, "pawl.h and err.h differ");
_Static_assert((int)PAWL_MISSING_STATE == (int)MISSING_STATE, "pawl.h and err.h differ");

#define TRIES_BEFORE_WAITING 3
#define TRIES                10
#define DEFAULT_PATIENCE     30000000LL /* µs */

const char *pawl_version(void)
{
    return PAWL_VERSION;
}

int pawl_exit_code(int code)
{
    return err_exit_code((enum error_code)(code < 0 ? -code : code));
}

void api_err_copy(const struct err *err, struct pawl_error *to)
{
    to->code = (int)err->code;
    snprintf(to->message, sizeof(to->message), "%s", err->msg);
    to->missing = (int)err->missing;
    snprintf(to->name, sizeof(to->name), "%s", err->name);
}

void api_err_report(struct api_err *e)
{
    if (e->to && e->err.code)
        api_err_copy(&e->err, e->to);
}

int api_turns(struct pawl *p, int (*body)(struct turn *, void *, struct err *),
              size_t (*busy)(void *), void *arg, struct err *err)
{
    int rc;

    for (int i = 0; i < TRIES; i++) {
        rc = store_run_turn(p->store, i < TRIES_BEFORE_WAITING ? TURN_PLAIN : TURN_WAITING, body,
                            arg, err);
        if (rc || !busy(arg))
            return rc;
    }
    return err_set(err, E_BUSY,
                   "other transactions keep the execution's tree locked: try again later");
}

int api_needs_database(const struct pawl *p, const char *what, struct err *err)
{
    if (!p->remote)
        return 0;
    return err_set(err, E_INVALID,
                   "%s with the database itself, not through the server %s: name the database",
                   what, remote_url(p->remote));
}

const char *pawl_url(const struct pawl *p)
{
    return p->remote ? remote_url(p->remote) : store_url(p->store)->safe;
}

bool pawl_has_queue(const struct pawl *p)
{
    return p->remote || p->config->queue.enabled; /* a server has workers */
}

/* ---- configuration and database ---- */

int api_config(const char *path, struct config **out, struct err *err)
{
    struct config_host host = config_this_host();
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_BUF all = BUF_INIT;
    const char *named = getenv("PAWL_CONFIG");
    int rc = config_load(path              ? path
                         : named && *named ? named
                                           : NULL,
                         &host, &diagnostics, out, err);

    if (rc != -E_INVALID || !diagnostics.count)
        return rc;
    diagnostics_show(&diagnostics, &all);
    return err_set(err, E_INVALID, "%s", buf_cstr(&all));
}

int pawl_trust(const char *path, char **file, struct pawl_error *e)
{
    struct config_host host = config_this_host();
    API_ERR(e);

    return trust_add(path, &host, file, err);
}

int pawl_distrust(const char *path, char **file, struct pawl_error *e)
{
    struct config_host host = config_this_host();
    API_ERR(e);

    return trust_remove(path, &host, file, err);
}

static int default_url(const struct config *c, char **url, struct err *err)
{
    const char *db = getenv("PAWL_DB");

    if (!db || !*db)
        db = c->db;
    if (!db)
        return err_set(
            err, E_INVALID,
            "no database is named: neither PAWL_DB nor HOME is set; name one with --db URL");
    *url = mem_strdup(db);
    return 0;
}

int pawl_default_url(char **url, struct pawl_error *e)
{
    AUTO(config_free) struct config *config = NULL;
    API_ERR(e);

    TRY(api_config(NULL, &config, err));
    return default_url(config, url, err);
}

/* Creates the folders above the default database file. The folder of any other file must exist. */
static int make_folders(const char *file, struct err *err)
{
    AUTO_FREE char *folder = mem_strdup(file);
    size_t failed;

    *strrchr(folder, '/') = '\0';
    if (folders_make(folder, 0700, &failed))
        return 0;
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                   "the folder %.*s for the database can't be created: %s; name another database "
                   "with --db or PAWL_DB",
                   (int)failed, folder, strerror(errno));
}

/* Refuses a database file that does not exist, unless it may be created. SQLite creates a missing
 * file: a reader must not do that, and a tenant is created only by pawl_tenant_create. */
static int check_exists(const struct db_url *u, bool must_exist, struct err *err)
{
    struct stat st;

    if (!u->file || !stat(u->file, &st) || errno != ENOENT)
        return 0;
    if (u->tenant)
        return err_set(err, E_NOT_FOUND,
                       "there is no tenant '%s', because %s does not exist: `pawl admin tenant "
                       "create %s` creates it",
                       u->tenant, u->file, u->tenant);
    if (must_exist)
        return err_set(
            err, E_UNAVAILABLE,
            "there is no database at %s: `pawl admin migrate` creates it, and so does the "
            "first run or submission",
            u->file);
    return 0;
}

/* The tenant of a handle. PAWL_TENANT belongs to the database that PAWL_DB names (a task gets
 * both), so it counts only together with PAWL_DB. */
static const char *tenant_of(const struct config *c, const struct pawl_options *o)
{
    const char *db = getenv("PAWL_DB"), *named = getenv("PAWL_TENANT");

    if (o->tenant)
        return o->tenant;
    return !o->url && db && *db && named && *named ? named : c->tenant;
}

/* The server takes the tenant from the access token. */
static int open_remote(struct pawl *p, const struct pawl_options *o, const char *url,
                       struct err *err)
{
    const char *token = o->token ? o->token : getenv("PAWL_TOKEN");
    struct remote_options options = {.url = url,
                                     .token = token,
                                     .env = &p->env,
                                     .patience = o->patience ? o->patience : DEFAULT_PATIENCE};

    if (o->tenant)
        return err_set(
            err, E_INVALID,
            "a server takes the tenant from the access token: leave out the tenant %.60s",
            o->tenant);
    return remote_open(&options, &p->remote, err);
}

static int open_store(struct pawl *p, const struct pawl_options *o, struct err *err)
{
    struct store_options options = {.no_migrate = o->must_exist,
                                    .env = &p->env,
                                    .patience = o->patience,
                                    .wait_to_connect =
                                        o->patience ? o->patience : DEFAULT_PATIENCE};
    const char *tenant = tenant_of(p->config, o);
    AUTO(url_free) struct db_url *u = NULL;
    AUTO_FREE char *url = mem_strdup(o->url);
    bool is_default; /* neither the caller, the environment nor the configuration has a URL */

    if (!url)
        TRY(default_url(p->config, &url, err));
    if (remote_is_url(url))
        return open_remote(p, o, url, err);
    TRY(url_parse(url, tenant, &u, err));
    is_default = !o->url && !getenv("PAWL_DB") && !p->config->db_given;
    if (is_default && !o->must_exist)
        TRY(make_folders(u->file, err));
    TRY(check_exists(u, o->must_exist, err));
    TRY(store_open(url, tenant, &options, &p->store, err));
    api_set_workflow_options(p->store, p->config);
    return 0;
}

/* ---- open and close ---- */

int pawl_open(const struct pawl_options *options, struct pawl **out, struct pawl_error *e)
{
    static const struct pawl_options none;
    const struct pawl_options *o = options ? options : &none;
    struct pawl *p = mem_zalloc(sizeof(*p));
    int rc;
    API_ERR(e);

    p->env = (struct env){.trace = o->trace,
                          .note = o->note,
                          .give_up = o->give_up,
                          .one_connection = o->one_connection,
                          .arg = o->arg};
    if ((rc = api_config(o->config, &p->config, err)) || (rc = open_store(p, o, err)))
        pawl_close(p);
    else
        *out = p;
    return rc;
}

void pawl_close(struct pawl *p)
{
    if (!p)
        return;
    remote_close(p->remote);
    store_close(&p->store);
    config_free(&p->config);
    free(p->user);
    free(p);
}

static int needs_database(const struct pawl *p, const char *what, struct pawl_error *e)
{
    API_ERR(e);

    return api_needs_database(p, what, err);
}

int pawl_migrate(const struct pawl_options *options, int *version, struct pawl_error *err)
{
    struct pawl_options o = options ? *options : (struct pawl_options){0};
    struct pawl *p;
    int rc;

    o.must_exist = false;
    TRY(pawl_open(&o, &p, err));
    rc = needs_database(p, "a migration works", err);
    pawl_close(p);
    if (!rc && version)
        *version = migration_count;
    return rc;
}

/* ---- tenants ---- */

/* Determines the URL and environment for a call that has no handle. The caller frees *url. */
static int without_handle(const struct pawl_options *o, char **url, struct env *env,
                          struct err *err)
{
    AUTO(config_free) struct config *config = NULL;

    *env = o ? (struct env){.trace = o->trace, .note = o->note, .arg = o->arg} : (struct env){0};
    if (o && (*url = mem_strdup(o->url)))
        return 0;
    TRY(api_config(o ? o->config : NULL, &config, err));
    return default_url(config, url, err);
}

static int check_database(const char *url, struct err *err)
{
    if (!remote_is_url(url))
        return 0;
    return err_set(
        err, E_INVALID,
        "tenants are managed with the database itself, not through the server %.200s: name "
        "the database",
        url);
}

static int change_tenant(const struct pawl_options *options, const char *name,
                         int (*change)(const char *url, const char *name, struct env *env,
                                       struct err *err),
                         struct pawl_error *e)
{
    struct env env;
    AUTO_FREE char *url = NULL;
    API_ERR(e);

    TRY(without_handle(options, &url, &env, err));
    TRY(check_database(url, err));
    return change(url, name, &env, err);
}

int pawl_tenant_create(const struct pawl_options *options, const char *name, struct pawl_error *e)
{
    return change_tenant(options, name, tenant_create, e);
}

int pawl_tenant_drop(const struct pawl_options *options, const char *name, struct pawl_error *e)
{
    return change_tenant(options, name, tenant_drop, e);
}

int pawl_tenant_list(const struct pawl_options *options, void (*each)(void *, const char *),
                     void *arg, struct pawl_error *e)
{
    struct env env;
    AUTO_FREE char *url = NULL;
    API_ERR(e);

    TRY(without_handle(options, &url, &env, err));
    TRY(check_database(url, err));
    return tenant_list(url, &env, each, arg, err);
}
