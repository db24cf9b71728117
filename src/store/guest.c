/* guest.c - see guest.h. What is particular to SQLite is in lite_guest.c. */
#include "store/guest.h"

#include "store/store_internal.h"

bool store_takes_guests(const struct store *s)
{
    return s->db->driver->guest != NULL;
}

int op_guest(struct turn *t, struct guest *g, struct err *err)
{
    g->changed = 0;
    g->over = false;
    if (!store_takes_guests(t->store))
        return err_set(err, E_INTERNAL, "this database takes no statements of others");
    return t->db->driver->guest(t->db, g, err);
}

int op_applied(struct turn *t, const char *name, const char **definition, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_QUERY_APPLIED);
    args_text(&t->args, name);
    if (!(rc = db_query(t->db, &t->args, &r, err))) {
        *definition = r.n ? arena_strdup(&t->arena, rows_text(&r, 0, 1)) : NULL;
        if (!*definition)
            rc = err_set(
                err, E_NOT_FOUND,
                "no workflow is applied under the name %.100s: `pawl apply FILE` does that", name);
    }
    rows_release(&r);
    return rc;
}
