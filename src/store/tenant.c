/* tenant.c - creates, drops and lists tenants; see tenant.h. */
#include "store/tenant.h"

#include "store/ask.h"
#include "store/driver/connect_wait.h"
#include "store/driver/url.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* µs that tenant_create and tenant_drop wait for a free connection. */
#define WRITER_WAIT 30000000LL
#define READER_WAIT 5000000LL

/* Runs the statement q for the tenant's schema in one transaction. must_exist says whether the
 * schema must exist or must not. */
static int change_schema(const char *url, const struct db_url *tenant, struct env *env,
                         bool must_exist, enum stmt_id q, struct err *err)
{
    AUTO(url_free) struct db_url *base = NULL;
    AUTO(db_close) struct db *db = NULL;
    int64_t n = 0;

    TRY(url_parse(url, NULL, &base, err));
    TRY(db_open_waiting(base, env, WRITER_WAIT, &db, err));
    TRY(db_begin(db, TX_LONG, err));
    TRY(ask_one(db, INTO(&n), err, Q_TENANT_EXISTS, tenant->schema));
    if (must_exist && !n)
        return err_set(err, E_NOT_FOUND,
                       "there is no tenant '%s' in %s: `pawl admin tenant list` lists the tenants",
                       tenant->tenant, base->safe);
    if (!must_exist && n)
        return err_set(err, E_INVALID, "the tenant '%s' already exists in %s", tenant->tenant,
                       base->safe);
    TRY(db_queue(db, NULL, ANY_ROWS, err, Q_SCHEMA_NAME, tenant->schema));
    TRY(db_queue(db, NULL, ANY_ROWS, err, q));
    return db_commit(db, err);
}

/* ---- SQLite: files ---- */

static int create_file(const struct db_url *u, struct err *err)
{
    int fd = open(u->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 && errno == EEXIST)
        return err_set(err, E_INVALID, "the tenant '%s' already exists: %s", u->tenant, u->file);
    if (fd < 0)
        return err_set(err, E_UNAVAILABLE, "can't create %s: %s", u->file, strerror(errno));
    close(fd);
    return 0;
}

/* Removes the folder of the wake-up sockets (driver/sqlite/wake.c). Ignores errors, because the
 * folder is not part of the database. */
static void remove_wake_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}

static int remove_files(const struct db_url *u, struct err *err)
{
    static const char *const suffixes[] = {"-wal", "-shm", ".lock", ""};
    struct stat st;
    char *path;

    if (stat(u->file, &st))
        return err_set(err, E_NOT_FOUND,
                       "there is no tenant '%s', because %s does not exist: `pawl admin tenant "
                       "list` lists the tenants",
                       u->tenant, u->file);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        int rc;

        path = mem_printf("%s%s", u->file, suffixes[i]);
        rc = unlink(path) && errno != ENOENT;
        if (rc)
            err_set(err, E_UNAVAILABLE, "can't remove %s: %s", path, strerror(errno));
        free(path);
        if (rc)
            return -E_UNAVAILABLE;
    }
    path = mem_printf("%s.wake", u->file);
    remove_wake_folder(path);
    free(path);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Finds the files pawl.NAME.db next to pawl.db and passes each NAME to `each`, sorted. Does not use
 * glob(3), because the folder's name may contain special characters. */
static int list_files(const char *file, void (*each)(void *, const char *), void *arg,
                      struct err *err)
{
    char *pattern = tenant_file(file, "*"), *slash = strrchr(pattern, '/');
    char *base = slash ? slash + 1 : pattern, *star = strrchr(base, '*');
    size_t head = (size_t)(star - base), tail = strlen(star + 1), i;
    VEC(char *) names = {0};
    struct dirent *entry;
    struct err ignored;
    DIR *dir;
    int rc = 0;

    if (slash)
        *slash = '\0';
    dir = opendir(!slash ? "." : slash == pattern ? "/" : pattern);
    if (!dir)
        rc = err_set(err, E_UNAVAILABLE, "the folder of the database %s can't be read: %s", file,
                     strerror(errno));
    while (dir && (entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        char *name;

        if (len <= head + tail || strncmp(entry->d_name, base, head) ||
            strcmp(entry->d_name + len - tail, star + 1))
            continue;
        name = mem_strdup(entry->d_name + head);
        name[len - head - tail] = '\0';
        if (tenant_check_name(name, &ignored))
            free(name);
        else
            *vec_add(&names) = name;
    }
    if (dir)
        closedir(dir);
    if (names.n)
        qsort(names.at, names.n, sizeof(*names.at), compare_names);
    for (i = 0; i < names.n; i++) {
        each(arg, names.at[i]);
        free(names.at[i]);
    }
    vec_release(&names);
    free(pattern);
    return rc;
}

/* ---- both databases ---- */

int tenant_create(const char *url, const char *name, struct env *env, struct err *err)
{
    struct store_options options = {.env = env, .wait_to_connect = WRITER_WAIT};
    AUTO(url_free) struct db_url *u = NULL;
    AUTO(store_close) struct store *s = NULL;
    struct env none = {0};

    TRY(url_parse(url, name, &u, err));
    TRY(u->file ? create_file(u, err)
                : change_schema(url, u, env ? env : &none, false, Q_TENANT_CREATE, err));
    return store_open(url, name, &options, &s, err);
}

int tenant_drop(const char *url, const char *name, struct env *env, struct err *err)
{
    AUTO(url_free) struct db_url *u = NULL;
    struct env none = {0};

    TRY(url_parse(url, name, &u, err));
    return u->file ? remove_files(u, err)
                   : change_schema(url, u, env ? env : &none, true, Q_TENANT_DROP, err);
}

int tenant_list(const char *url, struct env *env, void (*each)(void *, const char *name), void *arg,
                struct err *err)
{
    AUTO(url_free) struct db_url *u = NULL;
    AUTO(db_close) struct db *db = NULL;
    AUTO_ROWS r = ROWS_INIT;
    struct env none = {0};

    TRY(url_parse(url, NULL, &u, err));
    if (u->file)
        return list_files(u->file, each, arg, err);
    TRY(db_open_waiting(u, env ? env : &none, READER_WAIT, &db, err));
    TRY(db_begin(db, TX_READ, err));
    TRY(ask(db, &r, err, Q_TENANT_LIST));
    for (size_t i = 0; i < r.n; i++)
        each(arg, rows_text(&r, i, 0));
    return 0;
}
