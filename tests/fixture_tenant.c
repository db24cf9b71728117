/* fixture_tenant.c - see fixture.h: the tenant of a test. On PostgreSQL a tenant may be reused:
 * under tests/run, free tenants are kept in a pool, as files with their names in PAWL_TEST_POOL,
 * and pool.sql resets them. The process that removes the file owns the tenant. It is returned to
 * the keeper, a session that reads SQL from the pipe PAWL_TEST_KEEPER, without waiting for the
 * answer; a test that dies returns nothing.
 *
 * On SQLite the first test of a build leaves a copy of its new database in PAWL_TEST_POOL, the
 * image, and the others start with a copy of that: the migrations took half of the time of a test.
 */
#include "base/buf.h"
#include "fixture.h"
#include "store/driver/url.h"
#include "store/tenant.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char url[4096], tenant[64];
static pid_t
    maker; /* the process that created the database: its forked children leave the tenant alone */
static bool fresh;

static const char *pool_of(const char *db)
{
    const char *dir = getenv("PAWL_TEST_POOL");

    return !fresh && dir && *dir && !strcmp(test_db(), db) ? dir : NULL;
}

static const char *pool(void)
{
    return pool_of("postgres");
}

static bool take_from_pool(void)
{
    DIR *dir = pool() ? opendir(pool()) : NULL;
    struct dirent *entry;
    bool taken = false;

    while (dir && !taken && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && !unlinkat(dirfd(dir), entry->d_name, 0)) {
            snprintf(tenant, sizeof(tenant), "%s", entry->d_name);
            taken = true;
        }
    if (dir)
        closedir(dir);
    return taken;
}

/* Records the structure of a new tenant before it is used. */
static int record_structure(struct err *err)
{
    struct stmt stmt = {.name = "pool",
                        .sql = {[DIALECT_POSTGRES] = "SELECT test_pool.remember($1, $2)::text"},
                        .nscalars = 2,
                        .types = {T_TEXT, T_TEXT}};
    struct args a = {.stmt = &stmt};
    struct rows r = ROWS_INIT;
    struct db_url *u = NULL;
    struct db *db = NULL;
    struct env env = {0};
    int rc;

    args_text(&a, pool());
    args_text(&a, tenant);
    if ((rc = url_parse(url, NULL, &u, err)) || (rc = db_open(u, &env, &db, err)) ||
        (rc = db_begin(db, TX_LONG, err)) || (rc = db_query(db, &a, &r, err)))
        goto done;
    rc = db_commit(db, err);
done:
    if (db)
        db_rollback(db);
    db_close(&db);
    url_free(&u);
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* The keeper creates the file whose name the function returns, if it returns one. A single write,
 * which a pipe does not interleave with those of other processes. */
static bool return_to_pool(void)
{
    static const char words[] = "\\unset file\n"
                                "SELECT test_pool.keep('%s', '%s') AS file \\gset\n"
                                "\\if :{?file}\n\\o :file\n\\o\n\\endif\n";
    char text[PIPE_BUF];
    int fd, n;
    bool given;

    if (!pool() || (fd = open(getenv("PAWL_TEST_KEEPER"), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        return false;
    n = snprintf(text, sizeof(text), words, pool(), tenant);
    given = n < PIPE_BUF && write(fd, text, (size_t)n) == n;
    close(fd);
    return given;
}

/* ---- the image of a new SQLite database ---- */

#define ID_LENGTH 16

/* The random id of the database in the bytes of its file: the value of the setting database_id,
 * which follows its name. The pages of SQLite have no checksum. */
static char *find_id(const struct buf *file)
{
    static const char name[] = "database_id";
    char *end = file->ptr + file->len - ID_LENGTH, *at = file->ptr, *id = NULL;

    while ((at = memmem(at, (size_t)(end - at), name, sizeof(name) - 1))) {
        int n = 0;

        at += sizeof(name) - 1;
        while (n < ID_LENGTH && isxdigit((unsigned char)at[n]))
            n++;
        if (n == ID_LENGTH) {
            CHECK(!id);
            id = at;
        }
    }
    CHECK(id);
    return id;
}

static bool read_whole_file(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "re");
    char chunk[65536];
    size_t n;

    if (!f)
        return false;
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(b, chunk, n);
    CHECK(!ferror(f));
    fclose(f);
    return true;
}

static void write_new_file(const char *path, const struct buf *b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    CHECK_EQ(write(fd, b->ptr, b->len), b->len);
    close(fd);
}

/* Hidden, so that nobody takes it for a tenant. */
static void image_path(char *path, size_t size)
{
    snprintf(path, size, "%s/.image", pool_of("sqlite"));
}

static bool copy_image(void)
{
    char path[4096], id[ID_LENGTH + 1], *file;
    struct buf b = BUF_INIT;

    if (!pool_of("sqlite"))
        return false;
    image_path(path, sizeof(path));
    if (!read_whole_file(path, &b))
        return false;
    snprintf(id, sizeof(id), "%016llx", (unsigned long long)env_random_id());
    memcpy(find_id(&b), id, ID_LENGTH);
    file = tenant_file(url + strlen("sqlite:"), tenant);
    write_new_file(file, &b);
    free(file);
    buf_release(&b);
    return true;
}

/* Pawl leaves its last writes in the write-ahead log, whose frames have checksums: the image must
 * be a single file. */
static void empty_log(const char *file)
{
    sqlite3 *db = NULL;

    CHECK_EQ(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    /* a connection that has read nothing does not know of the log */
    CHECK_EQ(sqlite3_exec(db, "SELECT count(*) FROM settings", NULL, NULL, NULL), SQLITE_OK);
    CHECK_EQ(sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
             SQLITE_OK);
    CHECK_EQ(sqlite3_close(db), SQLITE_OK);
}

static void keep_image(void)
{
    char path[4096], draft[4200], *file;
    struct buf b = BUF_INIT;

    if (!pool_of("sqlite"))
        return;
    image_path(path, sizeof(path));
    snprintf(draft, sizeof(draft), "%s.%d", path, (int)getpid());
    file = tenant_file(url + strlen("sqlite:"), tenant);
    empty_log(file);
    CHECK(read_whole_file(file, &b));
    write_new_file(draft, &b);
    CHECK_EQ(rename(draft, path), 0); /* replaces an equal one if two tests began at once */
    free(file);
    buf_release(&b);
}

/* ---- every test ---- */

static void return_or_drop_tenant(void)
{
    struct err err;

    if (getpid() == maker && !return_to_pool())
        (void)!tenant_drop(url, tenant, NULL, &err);
}

static void create_tenant(void)
{
    struct err err = ERR_INIT;

    snprintf(tenant, sizeof(tenant), "t%d_%u", (int)maker, (unsigned)(env_random_id() % 1000000));
    if (copy_image())
        return;
    CHECK_OK_ERR(tenant_create(url, tenant, NULL, &err), &err);
    keep_image();
    if (pool())
        CHECK_OK_ERR(record_structure(&err), &err);
}

static void ensure_database(void)
{
    if (maker)
        return;
    maker = getpid();
    if (!strcmp(test_db(), "sqlite"))
        snprintf(url, sizeof(url), "sqlite:%s/pawl.db", test_dir());
    else /* wait for a connection as long as a test may take, in case the machine stalls */
        snprintf(url, sizeof(url), "%s?connect_timeout=240", getenv("PAWL_TEST_PG_URL"));
    if (!take_from_pool())
        create_tenant();
    atexit(return_or_drop_tenant);
}

void fixture_fresh(void)
{
    fresh = true;
}

const char *fixture_url(void)
{
    ensure_database();
    return url;
}

const char *fixture_tenant(void)
{
    ensure_database();
    return tenant;
}
