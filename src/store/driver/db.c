/* db.c - calls the functions of a connection's driver; see db.h. */
#include "store/driver/db.h"

#include "store/driver/url.h"

int db_open(const struct db_url *url, struct env *env, struct db **out, struct err *err)
{
    return url->driver->open(url, env, out, err);
}

void db_close(struct db **db)
{
    if (*db)
        (*db)->driver->close(*db);
    *db = NULL;
}

int db_send(struct db *db, const struct args *a, struct rows *out, long expect, struct err *err)
{
    env_point(db->env, a->stmt->name);
    return db->driver->send(db, a, out, expect, err);
}

int db_query(struct db *db, const struct args *a, struct rows *out, struct err *err)
{
    TRY(db_send(db, a, out, ANY_ROWS, err));
    return db_flush(db, err);
}

int db_commit(struct db *db, struct err *err)
{
    int rc;

    env_point(db->env, "commit");
    rc = db->driver->commit(db, err);
    env_point(db->env, "committed");
    return rc;
}
