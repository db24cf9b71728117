/* open.c - finds, creates, opens and reopens the file of a database.
 *
 * Only SQLite opens the file: by the rules of POSIX, if this process closed another descriptor of
 * the file, it would drop all locks that SQLite holds on it. The one exception is creating the
 * file, which is safe: with O_EXCL the file did not exist before, so SQLite could hold no lock on
 * it. */
#include "store/driver/sqlite/sqlite_db.h"
#include "store/driver/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ---- */

static int resolve_in_folder(const char *file, char **out, struct err *err)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    char *folder = slash ? mem_printf("%.*s", (int)(slash - file + 1), file) : mem_strdup(".");
    char *real = realpath(folder, NULL);
    int rc = 0;

    if (!real)
        rc = err_set(err, E_UNAVAILABLE, "the folder of the database %s can't be used: %s; %s",
                     file, strerror(errno),
                     errno == ENOENT ? "create it first"
                                     : "use another folder, or change its permissions");
    else if (!*base)
        rc = err_set(err, E_UNAVAILABLE, "the database %s is a folder: name a file in it", file);
    else
        *out = mem_printf("%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
    free(real);
    free(folder);
    return rc;
}

int sqlite_resolve_path(const char *file, char **out, struct err *err)
{
    char *real;

    if (!*file)
        return err_set(err, E_INVALID, "the database has no file name: write sqlite:FILE");
    real = realpath(file, NULL);
    if (!real)
        return resolve_in_folder(file, out, err);
    *out = mem_strdup(real);
    free(real);
    return 0;
}

/* Creates the database file if it does not exist. A tenant's file is not created here, but only by
 * tenant_create. */
static int create_file(const char *path, const char *tenant, struct err *err)
{
    int fd;

    if (tenant && access(path, F_OK) && errno == ENOENT)
        return err_set(err, E_NOT_FOUND,
                       "there is no tenant '%s', because %s does not exist: `pawl admin tenant "
                       "create %s` creates it",
                       tenant, path, tenant);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    if (errno == EEXIST)
        return 0;
    if (errno == ENOSPC || errno == EDQUOT)
        return err_set(err, E_NO_SPACE,
                       "the database %s can't be created: %s; free some disk space", path,
                       strerror(errno));
    return err_set(err, E_UNAVAILABLE, "the database %s can't be created: %s%s", path,
                   strerror(errno),
                   errno == EACCES || errno == EPERM || errno == EROFS
                       ? "; Pawl needs write permission on its folder"
                       : "");
}

static int set_not_found(const char *path, struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "the database %s can't be found: %s; was it moved?", path,
                   strerror(errno));
}

/* Checks a file, because SQLite would only report "unable to open database file". */
static int check_file(const char *path, struct stat *st, struct err *err)
{
    char *folder = mem_printf("%.*s", (int)(strrchr(path, '/') - path + 1), path);
    int rc = 0;

    if (stat(path, st))
        rc = set_not_found(path, err);
    else if (S_ISDIR(st->st_mode))
        rc = err_set(err, E_UNAVAILABLE, "the database %s is a folder: name a file in it", path);
    else if (!S_ISREG(st->st_mode))
        rc =
            err_set(err, E_UNAVAILABLE,
                    "the database %s is not a regular file: give the path of a regular file", path);
    else if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
        rc =
            err_set(err, E_UNAVAILABLE,
                    "the database %s can't be used: %s; Pawl needs read and write permission on it",
                    path, strerror(errno));
    else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS))
        rc = err_set(
            err, E_UNAVAILABLE,
            "Pawl can't write to the folder of the database %s: %s; SQLite keeps its log there",
            path, strerror(errno));
    free(folder);
    return rc;
}

/* ---- the connection ---- */

/* Settings of each connection. mmap is not used: it speeds up only reads that miss the cache (5 µs
 * instead of 7 for a random row of a large file), and turns a disk error into a SIGBUS. */
static const char settings[] = "PRAGMA foreign_keys = ON;"
                               "PRAGMA temp_store = MEMORY;"
                               "PRAGMA cache_size = -65536;"
                               "PRAGMA synchronous = ";

static int configure(struct sqlite_db *l, struct err *err)
{
    char *sql = mem_printf("%s%s", settings, l->sync_normal ? "NORMAL" : "FULL");
    int rc = 0;

    if (sqlite3_exec(l->sq, sql, NULL, NULL, NULL))
        rc = sqlite_set_error(l, NULL, err);
    free(sql);
    return rc;
}

static void disconnect(struct sqlite_db *l)
{
    sqlite_finalize_all(l);
    sqlite3_close(l->sq);
    l->sq = NULL;
    l->clock.state = CLOCK_UNKNOWN;
}

/* Opens the file. Its path is absolute, so SQLite can't mistake it for ":memory:" or "file:…". */
static int connect_file(struct sqlite_db *l, struct err *err)
{
    int rc;

    if (sqlite3_open_v2(l->path, &l->sq, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)) {
        rc = sqlite_set_error(l, NULL, err);
        goto failed;
    }
    sqlite3_busy_timeout(l->sq, BUSY_TIMEOUT_MS);
    sqlite3_db_config(l->sq, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    /* With these options, "x" in double quotes is a column or an error, never a string. */
    sqlite3_db_config(l->sq, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(l->sq, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    if ((rc = sqlite_wal_watch(l, err)) || (rc = configure(l, err)))
        goto failed;
    l->broken = false;
    return 0;
failed:
    disconnect(l);
    l->broken = true;
    return rc;
}

static bool has_moved(struct sqlite_db *l)
{
    int moved = 0;

    sqlite3_file_control(l->sq, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved;
}

/* Refuses a database file that has replaced the file that was opened first, such as a restored
 * backup: the ids, leases and other state that this process keeps in memory do not belong to it. */
static int check_same(const struct sqlite_db *l, const struct stat *st, struct err *err)
{
    if (st->st_dev == l->dev && st->st_ino == l->ino)
        return 0;
    return err_set(err, E_UNAVAILABLE,
                   "the database %s was replaced by another file while in use: restart Pawl",
                   l->path);
}

int sqlite_reopen_if_broken(struct sqlite_db *l, struct err *err)
{
    struct stat st;

    if (!l->broken && !has_moved(l))
        return 0;
    disconnect(l);
    l->broken = true;
    TRY(check_file(l->path, &st, err));
    TRY(check_same(l, &st, err));
    return connect_file(l, err);
}

int sqlite_check_present(struct db *db, struct err *err)
{
    const struct sqlite_db *l = sqlite_from_db(db);
    struct stat st;

    if (!stat(l->path, &st))
        return check_same(l, &st, err);
    return errno == ENOENT ? set_not_found(l->path, err) : 0;
}

/* ---- open and close ---- */

static int apply_option(struct sqlite_db *l, const char *option, struct err *err)
{
    if (strcmp(option, "synchronous=normal") == 0)
        l->sync_normal = true;
    else if (strcmp(option, "synchronous=full") == 0)
        l->sync_normal = false;
    else
        return err_set(err, E_INVALID,
                       "unknown option \"%s\" after the database's file: the options are "
                       "synchronous=full and synchronous=normal",
                       option);
    return 0;
}

/* Applies the options after "?" in sqlite:FILE?option&option. */
static int apply_options(struct sqlite_db *l, const char *url, struct err *err)
{
    const char *query = strchr(url, '?');
    char *copy, *at, *option;
    int rc = 0;

    if (!query)
        return 0;
    at = copy = mem_strdup(query + 1);
    while (!rc && (option = strsep(&at, "&")))
        rc = apply_option(l, option, err);
    free(copy);
    return rc;
}

int sqlite_open(const struct db_url *url, struct env *env, struct db **out, struct err *err)
{
    struct sqlite_db *l = mem_zalloc(sizeof(*l));
    struct stat st;
    int rc;

    l->db = (struct db){.driver = &db_sqlite, .env = env};
    l->lock.fd = -1;
    if ((rc = apply_options(l, url->text, err)) ||
        (rc = sqlite_resolve_path(url->file, &l->path, err)))
        goto failed;
    sqlite_lock_init(&l->lock, l->path);
    if ((rc = create_file(l->path, url->tenant, err)) || (rc = check_file(l->path, &st, err)))
        goto failed;
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    if ((rc = connect_file(l, err)))
        goto failed;
    *out = &l->db;
    return 0;
failed:
    sqlite_close(&l->db);
    return rc;
}

void sqlite_close(struct db *db)
{
    struct sqlite_db *l = sqlite_from_db(db);

    db->driver->rollback(db);
    if (l->sq)
        sqlite_wal_before_close(l);
    disconnect(l);
    sqlite_wake_release(l);
    sqlite_lock_release(&l->lock);
    free(l->path);
    free(l);
}
