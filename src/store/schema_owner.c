/* schema_owner.c - checks and changes the owner of a schema on PostgreSQL. A session with rights on
 * all tenants must not run code that a tenant, or another role of the database, can write: a
 * trigger, or a function found through the search path, could reset the role and read everything.
 * So the schema and its tables belong to the role that administers Pawl, and a schema of any other
 * owner is refused before a name is looked up in it.
 *
 * Schema versions up to 10 gave a tenant's schema to the tenant's role. An upgrade takes such a
 * schema over, after comparing it with a schema that the migrations create, because no object that
 * could run code may have been added. */
#include "base/buf.h"
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

enum owner { NO_SCHEMA, SESSION, TENANT, TRUSTED, STRANGER };

static int refuse_stranger(const struct db_url *url, const char *owner, const char *session,
                           struct err *err)
{
    return err_set(err, E_SCHEMA,
                   "the schema %s in %s belongs to the role %.63s, but Pawl connects as %.63s: "
                   "connect as its owner, or, if you are sure that no other role created anything "
                   "in it, give the schema and everything in it to %.63s (ALTER SCHEMA, TABLE, "
                   "SEQUENCE, VIEW, FUNCTION … OWNER TO %.63s)",
                   url->schema, url->safe, owner, session, session, session);
}

static bool migrations_create_function(const char *name)
{
    char *head = mem_printf(" FUNCTION %s(", name);
    bool found = false;

    for (int i = 0; i < migration_count && !found; i++)
        found = strstr(migrations[i].sql[DIALECT_POSTGRES], head);
    free(head);
    return found;
}

/* Refuses a schema because of an object in it; `r` has the row of Q_SCHEMA_OWNER. If the object is
 * a function that Pawl's migrations create, another role with CREATE on the schema has run these
 * migrations: the message then asks for one owner, not for a DROP. */
static int refuse_object(const struct db_url *url, const struct rows *r, struct err *err)
{
    const char *owner = rows_text(r, 0, 0), *object = rows_text(r, 0, 3);
    const char *other = rows_text(r, 0, 4);

    if (!rows_null(r, 0, 5) && migrations_create_function(rows_text(r, 0, 5)))
        return err_set(
            err, E_SCHEMA,
            "the schema %s in %s belongs to the role %.63s, but %.200s in it belongs to %.63s: give "
            "all that Pawl created to one role, either with ALTER SCHEMA %s OWNER TO %.63s, or, if "
            "you are sure that only Pawl's migrations created it, with ALTER TABLE, SEQUENCE, VIEW, "
            "FUNCTION … OWNER TO %.63s",
            url->schema, url->safe, owner, object, other, url->schema, other, owner);
    return err_set(err, E_SCHEMA,
                   "the schema %s in %s has %.200s, which belongs to %.63s and could be called "
                   "instead of Pawl's own or the server's: drop it, or move it to another schema",
                   url->schema, url->safe, object, other);
}

/* Finds the owner of the schema, and refuses a schema whose owner is not trusted with the session's
 * rights. Called in a TX_CATALOG transaction. */
static int find_owner(struct db *db, const struct db_url *url, bool to_change, enum owner *owner,
                      struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    const char *name, *session;
    int known;

    *owner = NO_SCHEMA;
    TRY(ask(db, &r, err, Q_SCHEMA_OWNER, url->schema));
    if (!r.n)
        return 0;
    rows_read(&r, 0, 0, NULL, &name, &session, &known);
    *owner = (enum owner)known;
    if (*owner == STRANGER)
        return refuse_stranger(url, name, session, err);
    if (*owner == TRUSTED && to_change)
        return err_set(err, E_SCHEMA,
                       "the schema %s in %s belongs to the role %.63s, and only that role can "
                       "upgrade it, not %.63s: run `pawl admin migrate` as %.63s, or, if %.63s "
                       "created Pawl's tables, give it the schema: ALTER SCHEMA %s OWNER TO %.63s",
                       url->schema, url->safe, name, session, name, session, url->schema, session);
    if (*owner == TENANT && !strcmp(session, name))
        return err_set(err, E_SCHEMA,
                       "the schema %s in %s belongs to the tenant's own role, because an older "
                       "version created it: run `pawl admin migrate --tenant %s` as the role that "
                       "created the tenant",
                       url->schema, url->safe, url->tenant);
    return *owner != TENANT && !rows_null(&r, 0, 3) ? refuse_object(url, &r, err) : 0;
}

int schema_check_owner(struct db *db, const struct db_url *url, bool *must_take_over,
                       struct err *err)
{
    enum owner owner;
    int rc = 0;

    *must_take_over = false;
    if (!url->schema)
        return 0;
    TRY(db_begin(db, TX_CATALOG, err));
    rc = find_owner(db, url, false, &owner, err);
    db_rollback(db);
    if (!rc && owner == NO_SCHEMA && url->tenant)
        return err_set(err, E_NOT_FOUND,
                       "there is no tenant '%s' in %s: `pawl admin tenant create %s` creates it",
                       url->tenant, url->safe, url->tenant);
    *must_take_over = !rc && owner == TENANT;
    return rc;
}

/* ---- taking over ---- */

/* Creates a reference schema from the migrations, to compare the tenant's schema with. */
static int create_reference(struct db *db, const char *name, int64_t version, struct err *err)
{
    TRY(ask(db, NULL, err, Q_REFERENCE_MAKE, name));
    TRY(ask(db, NULL, err, Q_REFERENCE_CREATE));
    TRY(ask(db, NULL, err, Q_SCHEMA_ENTER, name));
    TRY(ask(db, NULL, err, Q_MIGRATIONS_TABLE));
    for (int64_t i = 0; i < version; i++)
        TRY(db->driver->script(db, migrations[i].sql[DIALECT_POSTGRES], err));
    return ask(db, NULL, err, Q_SCHEMA_LEAVE);
}

/* Refuses the upgrade if an object that could run code differs between the tenant's schema and the
 * reference schema, or is missing in one of them; the message names the first five. */
static int refuse_differences(struct db *db, const struct db_url *url, const char *reference,
                              struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_BUF names = BUF_INIT;
    size_t i;

    TRY(ask(db, &r, err, Q_SCHEMA_STRANGE, url->schema, reference));
    if (!r.n)
        return 0;
    for (i = 0; i < r.n && i < 5; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", rows_text(&r, i, 0));
    if (r.n > i)
        buf_addf(&names, " and %zu more", r.n - i);
    return err_set(err, E_SCHEMA,
                   "the tenant '%s' in %s can't be upgraded, because these objects in its "
                   "schema are not as Pawl created them, and their code would run with "
                   "Pawl's rights: %.600s; drop those that are not Pawl's or move them to "
                   "another schema, restore those that are, and run `pawl admin migrate` "
                   "again; nothing was changed",
                   url->tenant, url->safe, buf_cstr(&names));
}

static int read_version(struct db *db, const struct db_url *url, int64_t *version, struct err *err)
{
    TRY(ask(db, NULL, err, Q_SCHEMA_VERSION_PLAIN));
    TRY(ask_one(db, INTO(version), err, Q_SCHEMA_VERSION_READ));
    if (*version < 0)
        return err_set(err, E_SCHEMA,
                       "Pawl did not create the table %s.schema_migrations in %s: nothing was "
                       "changed; restore it from a backup, or create another tenant",
                       url->schema, url->safe);
    return schema_check_not_newer(url, *version, err);
}

/* Takes over a tenant's schema. Changes the owner before the comparison, because ALTER … OWNER
 * locks each table, so that no trigger or rule can be added to it afterwards. Functions have no
 * such lock, so the tenant's role must have no open session. */
static int take_over(struct db *db, const struct db_url *url, struct err *err)
{
    AUTO_BUF reference = BUF_INIT;
    int64_t version = 0, sessions = 0;

    buf_addf(&reference, "pawlref_%s", url->tenant);
    TRY(ask_one(db, INTO(&sessions), err, Q_TENANT_SESSIONS, url->schema));
    if (sessions)
        return err_set(
            err, E_SCHEMA,
            "the tenant '%s' in %s can't be upgraded while %lld session%s of the role %s "
            "%s open: close %s, then run `pawl admin migrate` again",
            url->tenant, url->safe, (long long)sessions, sessions == 1 ? "" : "s", url->schema,
            sessions == 1 ? "is" : "are", sessions == 1 ? "it" : "them");
    TRY(read_version(db, url, &version, err));
    TRY(create_reference(db, buf_cstr(&reference), version, err));
    TRY(ask(db, NULL, err, Q_SCHEMA_TAKE_OVER));
    TRY(refuse_differences(db, url, buf_cstr(&reference), err));
    return ask(db, NULL, err, Q_REFERENCE_DROP);
}

int schema_own(struct db *db, const struct db_url *url, struct err *err)
{
    enum owner owner;

    if (!url->schema)
        return 0;
    TRY(find_owner(db, url, true, &owner, err));
    if (owner == TENANT)
        TRY(take_over(db, url, err));
    return ask(db, NULL, err, Q_SCHEMA_ENTER, url->schema);
}

int schema_grant(struct db *db, const struct db_url *url, struct err *err)
{
    return url->schema ? ask(db, NULL, err, Q_SCHEMA_GRANT) : 0;
}
