/* embedder_sql.c - runs statements of an embedding program inside a turn; see embedder_sql.h. The
 * SQLite part is in driver/sqlite/embedder.c. */
#include "store/ops/embedder_sql.h"

#include "store/applied.h"
#include "store/store_internal.h"

bool store_takes_embedder_stmts(const struct store *s)
{
    return s->db->driver->embedder_stmt != NULL;
}

int op_run_embedder_stmt(struct turn *t, struct embedder_stmt *stmt, struct err *err)
{
    stmt->changed = 0;
    stmt->must_roll_back = false;
    if (!store_takes_embedder_stmts(t->store))
        return err_set(err, E_INTERNAL, "Pawl runs statements on your own tables only with SQLite");
    return t->db->driver->embedder_stmt(t->db, stmt, err);
}

int op_read_applied(struct turn *t, const char *name, const char **definition, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t->db, &r, err, Q_QUERY_APPLIED, name));
    if (!r.n)
        return applied_missing(ASK_ON(t->db), name, err);
    if (rows_null(&r, 0, 1))
        return applied_definition_missing(name, rows_text(&r, 0, 0), err);
    *definition = arena_strdup(&t->arena, rows_text(&r, 0, 1));
    return 0;
}
