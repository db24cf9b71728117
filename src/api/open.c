/* open.c - finds the database, opens and closes handles, migrates, and manages tenants. */
#include "api/api.h"
#include "store/tenant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The public codes equal the internal ones. Programs compile against them: existing codes must
 * never change. */
_Static_assert((int)PAWL_E_INTERNAL == (int)E_INTERNAL, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_INVALID == (int)E_INVALID, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_CONFLICT == (int)E_CONFLICT, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_NOT_FOUND == (int)E_NOT_FOUND, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_UNAVAILABLE == (int)E_UNAVAILABLE, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_NO_SPACE == (int)E_NO_SPACE, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_SCHEMA == (int)E_SCHEMA, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_REFUSED == (int)E_REFUSED, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_LEASE_LOST == (int)E_LEASE_LOST, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_BUSY == (int)E_BUSY, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_REDO == (int)E_REDO, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_CONN_LOST == (int)E_CONN_LOST, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_COMMIT_UNKNOWN == (int)E_COMMIT_UNKNOWN, "pawl.h and err.h differ");
_Static_assert((int)PAWL_E_VIOLATION == (int)E_VIOLATION, "pawl.h and err.h differ");
_Static_assert((int)PAWL_MISSING_EXECUTION == (int)MISSING_EXECUTION, "pawl.h and err.h differ");
_Static_assert((int)PAWL_MISSING_PARAM == (int)MISSING_PARAM, "pawl.h and err.h differ");

#define TRIES_BEFORE_WAITING 3
#define TRIES                10

const char *pawl_version(void)
{
    return PAWL_VERSION;
}

int pawl_exit_code(int code)
{
    return err_exit_code((enum error_code)(code < 0 ? -code : code));
}

int api_end(int rc, const struct err *err, struct pawl_error *out)
{
    if (rc && out) {
        out->code = -rc;
        snprintf(out->message, sizeof(out->message), "%s", err->msg);
        out->missing = (int)err->missing;
        snprintf(out->name, sizeof(out->name), "%s", err->name);
    }
    return rc;
}

int api_end_lines(struct lines *l, int rc, const struct err *err, struct pawl_error *out)
{
    buf_release(&l->line);
    return api_end(rc, err, out);
}

int api_turns(struct pawl *p, int (*body)(struct turn *, void *, struct err *),
              size_t (*busy)(void *), void *arg, struct err *err)
{
    int i, rc;

    for (i = 0; i < TRIES; i++) {
        rc = (i < TRIES_BEFORE_WAITING ? store_turn : store_turn_waiting)(p->store, body, arg, err);
        if (rc || !busy(arg))
            return rc;
    }
    return err_set(err, E_BUSY,
                   "the execution's tree stays locked by other transactions: try again");
}

const char *pawl_url(const struct pawl *p)
{
    return store_url(p->store)->safe;
}

bool pawl_has_queue(const struct pawl *p)
{
    return p->config->queue.enabled;
}

/* ---- configuration and location ---- */

int api_config(const char *path, struct config **out, struct err *err)
{
    struct config_host host = config_this_host();
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    const char *named = getenv("PAWL_CONFIG");
    int rc = config_load(path              ? path
                         : named && *named ? named
                                           : NULL,
                         &host, &diagnostics, out, err);

    if (rc == -E_INVALID && diagnostics.count) {
        struct buf all = BUF_INIT;

        diagnostics_show(&diagnostics, &all);
        rc = err_set(err, E_INVALID, "%s", buf_cstr(&all));
        buf_release(&all);
    }
    diagnostics_release(&diagnostics);
    return rc;
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

int pawl_default_url(char **url, struct pawl_error *out)
{
    struct config *config = NULL;
    struct err err = ERR_INIT;
    int rc = api_config(NULL, &config, &err);

    if (!rc)
        rc = default_url(config, url, &err);
    config_free(&config);
    return api_end(rc, &err, out);
}

/* Creates the folders above the default database file. The folder of any other file must exist. */
static int make_folders(const char *file, struct err *err)
{
    char *path = mem_strdup(file), *slash;
    int rc = 0;

    for (slash = strchr(path + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST)
            rc = err_set(err, errno == ENOSPC || errno == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                         "the folder %s for the database can't be created: %s; name another "
                         "database with --db or PAWL_DB",
                         path, strerror(errno));
        *slash = '/';
    }
    free(path);
    return rc;
}

/* SQLite creates a missing file. A reader must not do that, and a tenant is created only by
 * pawl_tenant_create. */
static int check_exists(const struct db_url *u, bool must_exist, struct err *err)
{
    struct stat st;

    if (!u->file || !stat(u->file, &st) || errno != ENOENT)
        return 0;
    if (u->tenant)
        return err_set(err, E_NOT_FOUND, "there is no tenant '%s': %s does not exist", u->tenant,
                       u->file);
    if (must_exist)
        return err_set(err, E_UNAVAILABLE,
                       "there is no database at %s: the first run or submission creates it, "
                       "or `pawl admin migrate`",
                       u->file);
    return 0;
}

/* PAWL_TENANT belongs to the database that PAWL_DB names (a task gets both), so it counts only
 * together with PAWL_DB. */
static const char *tenant_of(const struct config *c, const struct pawl_options *o)
{
    const char *db = getenv("PAWL_DB"), *named = getenv("PAWL_TENANT");

    if (o->tenant)
        return o->tenant;
    return !o->url && db && *db && named && *named ? named : c->tenant;
}

static int open_store(struct pawl *p, const struct pawl_options *o, struct err *err)
{
    struct store_options options = {
        .no_migrate = o->must_exist, .env = &p->env, .patience = o->patience};
    const char *tenant = tenant_of(p->config, o);
    struct db_url *u = NULL;
    char *url = NULL;
    bool is_default; /* neither the caller nor the environment nor the configuration names it */
    int rc;

    if (o->url)
        url = mem_strdup(o->url);
    else if ((rc = default_url(p->config, &url, err)))
        return rc;
    if ((rc = url_parse(url, tenant, &u, err)))
        goto done;
    is_default = !o->url && !getenv("PAWL_DB") && !p->config->db_given;
    if (is_default && !o->must_exist && (rc = make_folders(u->file, err)))
        goto done;
    if ((rc = check_exists(u, o->must_exist, err)))
        goto done;
    if (!(rc = store_open(url, tenant, &options, &p->store, err)))
        api_set_workflow_options(p->store, p->config);
done:
    url_free(&u);
    free(url);
    return rc;
}

/* ---- open and close ---- */

int pawl_open(const struct pawl_options *options, struct pawl **out, struct pawl_error *e)
{
    static const struct pawl_options none;
    const struct pawl_options *o = options ? options : &none;
    struct pawl *p = mem_zalloc(sizeof(*p));
    struct err err = ERR_INIT;
    int rc;

    p->env = (struct env){.trace = o->trace, .note = o->note, .arg = o->arg};
    if ((rc = api_config(o->config, &p->config, &err)) || (rc = open_store(p, o, &err)))
        pawl_close(p);
    else
        *out = p;
    return api_end(rc, &err, e);
}

void pawl_close(struct pawl *p)
{
    if (!p)
        return;
    store_close(&p->store);
    config_free(&p->config);
    free(p);
}

int pawl_migrate(const struct pawl_options *options, int *version, struct pawl_error *err)
{
    struct pawl_options o = options ? *options : (struct pawl_options){0};
    struct pawl *p;
    int rc;

    o.must_exist = false;
    if ((rc = pawl_open(&o, &p, err)))
        return rc;
    pawl_close(p);
    if (version)
        *version = migration_count;
    return 0;
}

/* ---- tenants ---- */

/* The URL and environment of a call that has no handle. The caller frees *url. */
static int without_handle(const struct pawl_options *o, char **url, struct env *env,
                          struct err *err)
{
    struct config *config = NULL;
    int rc;

    *env = o ? (struct env){.trace = o->trace, .note = o->note, .arg = o->arg} : (struct env){0};
    if (o && o->url) {
        *url = mem_strdup(o->url);
        return 0;
    }
    if (!(rc = api_config(o ? o->config : NULL, &config, err)))
        rc = default_url(config, url, err);
    config_free(&config);
    return rc;
}

static int change_tenant(const struct pawl_options *options, const char *name,
                         int (*change)(const char *url, const char *name, struct env *env,
                                       struct err *err),
                         struct pawl_error *e)
{
    struct err err = ERR_INIT;
    struct env env;
    char *url = NULL;
    int rc;

    if (!(rc = without_handle(options, &url, &env, &err)))
        rc = change(url, name, &env, &err);
    free(url);
    return api_end(rc, &err, e);
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
    struct err err = ERR_INIT;
    struct env env;
    char *url = NULL;
    int rc;

    if (!(rc = without_handle(options, &url, &env, &err)))
        rc = tenant_list(url, &env, each, arg, &err);
    free(url);
    return api_end(rc, &err, e);
}
