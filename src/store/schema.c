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

/* Whether a line of the text starts with CREATE, the kind of an object, and this name. */
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
    for (int i = after; i < last; i++)
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

/* Checks before a migration that another program does not use a name that the migrations create: a
 * migration must neither fail half-way nor take over another program's table. A later migration may
 * create a name again that an earlier one created. */
static int check_names(struct db *db, const struct db_url *url, int from, struct err *err)
{
    enum dialect d = db->driver->dialect;
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_RELATIONS));
    for (size_t i = 0; i < r.n; i++) {
        const char *name = rows_text(&r, i, 0);

        if (schema_creates(d, from, migration_count, name) && !schema_creates(d, 0, from, name))
            return set_name_taken(url, name, err);
    }
    return 0;
}

/* ---- versions ---- */

static int read_version(struct db *db, const struct db_url *url, int64_t *v, struct err *err)
{
    int64_t exists = 0;

    *v = 0;
    TRY(ask_one(db, INTO(&exists), err, Q_MIGRATIONS_EXIST));
    if (!exists)
        return 0;
    if (exists > 1) /* a table of this name exists that Pawl did not create */
        return set_name_taken(url, "schema_migrations", err);
    return ask_one(db, INTO(v), err, Q_SCHEMA_VERSION);
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

int store_check_schema(const struct store *s, int64_t minimum, struct err *err)
{
    if (minimum <= migration_count)
        return 0;
    return err_set(err, E_SCHEMA,
                   "a newer pawl has upgraded the schema of %s to version %lld, but this process "
                   "supports at most %d: restart it with the newer pawl",
                   s->url->safe, (long long)minimum, migration_count);
}

/* Gives the database a random id. Workers use it in the paths of their state folders. */
static int name_database(struct db *db, struct err *err)
{
    char id[17];
    int64_t r = env_random_id();

    for (int i = 15; i >= 0; i--, r >>= 4)
        id[i] = "0123456789abcdef"[r & 15];
    id[16] = '\0';
    return ask(db, NULL, err, Q_SETTING_INIT, "database_id", id);
}

/* Applies all later migrations. Called in a transaction that excludes other migrations. */
static int apply_migrations(struct db *db, int64_t from, struct err *err)
{
    int64_t now = 0;

    TRY(db->driver->send_now(db, &now, err));
    TRY(db_flush(db, err));
    for (int i = (int)from; i < migration_count; i++) {
        const struct migration *m = &migrations[i];

        if (db->driver->script(db, m->sql[db->driver->dialect], err))
            return err_prefix(err, "migration %d (%s)", m->version, m->name);
        TRY(ask(db, NULL, err, Q_SCHEMA_APPLIED, m->version, m->name, now));
    }
    return name_database(db, err);
}

/* Upgrades the schema inside a transaction that the caller commits or rolls back. */
static int upgrade_locked(struct db *db, const struct db_url *url, struct err *err)
{
    const char *schema = url->schema ? url->schema : "";
    int64_t v;

    TRY(ask(db, NULL, err, Q_SCHEMA_LOCK, schema));
    TRY(db_queue(db, NULL, ANY_ROWS, err, Q_SCHEMA_NAME, schema));
    TRY(ask(db, NULL, err, Q_SCHEMA_CREATE)); /* for a tenant, the schema exists already */
    TRY(schema_own(db, url, err));
    TRY(read_version(db, url, &v, err));
    TRY(schema_check_not_newer(url, v, err));
    TRY(check_names(db, url, (int)v, err));
    TRY(ask(db, NULL, err, Q_MIGRATIONS_TABLE));
    if (v < migration_count)
        TRY(apply_migrations(db, v, err));
    return schema_grant(db, url, err);
}

static int upgrade(struct db *db, const struct db_url *url, struct err *err)
{
    int rc;

    TRY(db_begin(db, TX_CATALOG, err));
    if ((rc = upgrade_locked(db, url, err)) || (rc = db_commit(db, err)))
        db_rollback(db);
    return rc;
}

/* Reads and checks the version in a read-only transaction, so that a database that is refused stays
 * unchanged. */
static int check_version(struct db *db, const struct db_url *url, int64_t *v, struct err *err)
{
    int rc = 0;

    TRY(db_begin(db, TX_READ, err));
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

    TRY(schema_check_owner(db, url, &must_take_over, err));
    if (must_take_over && may_change)
        return upgrade(db, url, err);
    if (must_take_over)
        return err_set(err, E_SCHEMA,
                       "the schema %s in %s belongs to the tenant's own role, because an older "
                       "version created it: run `pawl admin migrate --tenant %s`",
                       url->schema, url->safe, url->tenant);
    TRY(check_version(db, url, &v, err));
    if (v == migration_count)
        return 0;
    if (!may_change && !v)
        return err_set(err, E_SCHEMA,
                       "%s has no Pawl tables yet: `pawl admin migrate` creates them, and so does "
                       "the first run or submission",
                       url->safe);
    if (!may_change)
        return err_set(
            err, E_SCHEMA,
            "the schema of %s has version %lld, but this pawl needs %d: run `pawl admin migrate`",
            url->safe, (long long)v, migration_count);
    return upgrade(db, url, err);
}
