/* schema.c - migrates a database to the schema of this program: numbered migrations, applied in one
 * transaction together with their rows in schema_migrations, by one process at a time. */
#include "store/store_internal.h"

#include <string.h>
#include <strings.h>

/* ---- names ---- */

static bool is_word(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && !strncasecmp(s, word, len);
}

/* Whether a line of the text starts with CREATE, the kind of object, and this name. */
static bool sql_creates(const char *sql, const char *name)
{
    static const char create[] = "\nCREATE ";
    const char *at = sql;

    while ((at = strstr(at, create))) {
        size_t len;

        for (at += strlen(create);; at += len + 1) {
            len = strcspn(at, " (;\n");
            if (!is_word(at, len, "TABLE") && !is_word(at, len, "VIEW") &&
                !is_word(at, len, "INDEX") && !is_word(at, len, "UNIQUE") &&
                !is_word(at, len, "TRIGGER") && !is_word(at, len, "SEQUENCE"))
                break;
        }
        if (is_word(at, len, name))
            return true;
    }
    return false;
}

bool schema_creates(enum dialect dialect, int after, int last, const char *name)
{
    int i;

    for (i = after; i < last; i++)
        if (sql_creates(migrations[i].sql[dialect], name))
            return true;
    return false;
}

static int set_name_taken(const struct db_url *url, const char *name, struct err *err)
{
    return err_set(err, E_SCHEMA,
                   "%s has a table, view or index '%.100s' that is not Pawl's, but Pawl needs the "
                   "name: nothing was changed; rename it, or give Pawl a separate database",
                   url->safe, name);
}

/* Checks, before migrating, that no name the migrations create is used by another program: a
 * migration must neither fail half-way nor take over a foreign table. A name that an earlier
 * migration created may be created again. */
static int check_names(struct db *db, const struct db_url *url, int from, struct err *err)
{
    enum dialect d = db->driver->dialect;
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&a, Q_RELATIONS);
    rc = db_query(db, &a, &r, err);
    for (i = 0; !rc && i < r.n; i++) {
        const char *name = rows_text(&r, i, 0);

        if (schema_creates(d, from, migration_count, name) && !schema_creates(d, 0, from, name))
            rc = set_name_taken(url, name, err);
    }
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* ---- versions ---- */

/* Reads one number with a statement without parameters. */
static int read_number(struct db *db, enum stmt_id q, int64_t *n, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, q);
    if (!(rc = db_query(db, &a, &r, err)))
        *n = r.n ? rows_int(&r, 0, 0) : 0;
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int read_version(struct db *db, const struct db_url *url, int64_t *v, struct err *err)
{
    int64_t exists = 0;
    int rc;

    *v = 0;
    if ((rc = read_number(db, Q_MIGRATIONS_EXIST, &exists, err)) || !exists)
        return rc;
    if (exists > 1) /* a table of this name, but not Pawl's */
        return set_name_taken(url, "schema_migrations", err);
    return read_number(db, Q_SCHEMA_VERSION, v, err);
}

int schema_check_not_newer(const struct db_url *url, int64_t v, struct err *err)
{
    if (v <= migration_count)
        return 0;
    return err_set(
        err, E_SCHEMA,
        "the schema of %s has version %lld, but this pawl supports at most %d: use a newer pawl",
        url->safe, (long long)v, migration_count);
}

static int record_migration(struct db *db, const struct migration *m, int64_t at, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_SCHEMA_APPLIED);
    args_int(&a, m->version);
    args_text(&a, m->name);
    args_int(&a, at);
    rc = db_send(db, &a, NULL, 1, err);
    args_release(&a);
    return rc ? rc : db_flush(db, err);
}

/* Gives the database a random id, which its workers' state folders use. */
static int name_database(struct db *db, struct err *err)
{
    struct args a = ARGS_INIT;
    char id[17];
    int64_t r = env_random_id();
    int i, rc;

    for (i = 15; i >= 0; i--, r >>= 4)
        id[i] = "0123456789abcdef"[r & 15];
    id[16] = '\0';
    args_begin(&a, Q_SETTING_INIT);
    args_text(&a, "database_id");
    args_text(&a, id);
    rc = db_send(db, &a, NULL, ANY_ROWS, err);
    args_release(&a);
    return rc ? rc : db_flush(db, err);
}

/* Called in a transaction that excludes other migrations. */
static int apply_migrations(struct db *db, int64_t from, struct err *err)
{
    int64_t now = 0;
    int i, rc;

    if ((rc = db->driver->send_now(db, &now, err)) || (rc = db_flush(db, err)))
        return rc;
    for (i = (int)from; i < migration_count; i++) {
        const struct migration *m = &migrations[i];

        if ((rc = db->driver->script(db, m->sql[db->driver->dialect], err)))
            return err_prefix(err, "migration %d (%s)", m->version, m->name);
        if ((rc = record_migration(db, m, now, err)))
            return rc;
    }
    return name_database(db, err);
}

static int lock_schema(struct db *db, const struct db_url *url, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_SCHEMA_LOCK);
    args_text(&a, url->schema ? url->schema : "");
    rc = db_send(db, &a, NULL, ANY_ROWS, err);
    args_release(&a);
    return rc ? rc : db_flush(db, err);
}

/* Creates the schema for the tables. A tenant's schema already exists. */
static int create_schema(struct db *db, const struct db_url *url, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_SCHEMA_NAME);
    args_text(&a, url->schema ? url->schema : "");
    if (!(rc = db_send(db, &a, NULL, ANY_ROWS, err))) {
        args_begin(&a, Q_SCHEMA_CREATE);
        rc = db_send(db, &a, NULL, ANY_ROWS, err);
    }
    args_release(&a);
    return rc ? rc : db_flush(db, err);
}

static int upgrade(struct db *db, const struct db_url *url, struct err *err)
{
    struct args a = ARGS_INIT;
    int64_t v;
    int rc;

    if ((rc = db_begin(db, TX_CATALOG, err)))
        return rc;
    if ((rc = lock_schema(db, url, err)))
        goto done;
    if ((rc = create_schema(db, url, err)) || (rc = schema_own(db, url, err)))
        goto done;
    if ((rc = read_version(db, url, &v, err)) || (rc = schema_check_not_newer(url, v, err)) ||
        (rc = check_names(db, url, (int)v, err)))
        goto done;
    args_begin(&a, Q_MIGRATIONS_TABLE);
    if ((rc = db_send(db, &a, NULL, ANY_ROWS, err)) || (rc = db_flush(db, err)))
        goto done;
    if ((v < migration_count && (rc = apply_migrations(db, v, err))) ||
        (rc = schema_grant(db, url, err)))
        goto done;
    rc = db_commit(db, err);
done:
    if (rc)
        db_rollback(db);
    args_release(&a);
    return rc;
}

/* Checks the version in a read-only transaction: a foreign database that is refused stays
 * unchanged.
 */
static int check_version(struct db *db, const struct db_url *url, int64_t *v, struct err *err)
{
    int rc;

    if ((rc = db_begin(db, TX_READ, err)))
        return rc;
    if (!(rc = read_version(db, url, v, err)) && !(rc = schema_check_not_newer(url, *v, err)) &&
        *v < migration_count)
        rc = check_names(db, url, (int)*v, err);
    db_rollback(db);
    return rc;
}

int schema_migrate(struct db *db, const struct db_url *url, bool may_change, struct err *err)
{
    bool must_take_over;
    int64_t v;
    int rc;

    if ((rc = schema_check_owner(db, url, &must_take_over, err)))
        return rc;
    if (must_take_over && may_change)
        return upgrade(db, url, err);
    if (must_take_over)
        return err_set(err, E_SCHEMA,
                       "the schema %s in %s belongs to the tenant's own role, as older versions "
                       "created it: run `pawl admin migrate --tenant %s`",
                       url->schema, url->safe, url->tenant);
    if ((rc = check_version(db, url, &v, err)) || v == migration_count)
        return rc;
    if (!may_change && !v)
        return err_set(err, E_SCHEMA,
                       "%s has no Pawl tables yet: the first run or submission creates them, or "
                       "`pawl admin migrate`",
                       url->safe);
    if (!may_change)
        return err_set(
            err, E_SCHEMA,
            "the schema of %s has version %lld, but this pawl needs %d: run `pawl admin migrate`",
            url->safe, (long long)v, migration_count);
    return upgrade(db, url, err);
}
