/* fixture_tenant.c - see fixture.h: the tenant of a test. On PostgreSQL a tenant may be reused:
 * under tests/run, free tenants are kept in a pool, as files with their names in PAWL_TEST_POOL,
 * and pool.sql resets them. The process that removes the file owns the tenant. It is returned to
 * the keeper, a session that reads SQL from the pipe PAWL_TEST_KEEPER, without waiting for the
 * answer; a test that dies returns nothing. */
#include "fixture.h"
#include "store/driver/url.h"
#include "store/tenant.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char url[4096], tenant[64];
static pid_t
    maker; /* the process that created the database: its forked children leave the tenant alone */
static bool fresh;

static const char *pool(void)
{
    const char *dir = getenv("PAWL_TEST_POOL");

    return !fresh && dir && *dir && !strcmp(test_db(), "postgres") ? dir : NULL;
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
    CHECK_OK_ERR(tenant_create(url, tenant, NULL, &err), &err);
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
