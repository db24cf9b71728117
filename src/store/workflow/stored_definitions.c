/* stored_definitions.c - definitions in the database, stored while an execution or a name uses
 * them.
 *
 * Retention deletes unused definitions. So that it never deletes one that a turn has just started
 * to use, each use makes sure that the row carries a recent mark: the turn inserts the row, renews
 * its mark, or finds a mark younger than DEFINITION_FRESH_US (a day). Retention never deletes a
 * definition marked within twice that time (ops/retention.c). A nested workflow is stored when it
 * starts; until then it is part of the text of the workflow that contains it. */
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include "base/buf.h"

#include <string.h>

/* How long the store trusts its cached mark time without reading the row. The mark is then at most
 * 1.5 * DEFINITION_FRESH_US old. */
#define MARK_TRUSTED_US (DEFINITION_FRESH_US / 2)

static bool is_marked_used(const struct turn *t, const char *hash)
{
    const struct definition *d = definition_find_cached(t->store, hash);

    return definition_is_used_by_turn(t, hash) ||
           (d && t->now && t->now - d->marked_used_at < MARK_TRUSTED_US);
}

/* Whether the row exists and is marked used; renews an old mark under the row's lock. */
static int mark_used(struct turn *t, const char *hash, bool *exists, struct err *err)
{
    struct rows r = ROWS_INIT, marked = ROWS_INIT;
    int rc;

    *exists = false;
    args_begin(&t->args, Q_DEFINITION_USED);
    args_text(&t->args, hash);
    if ((rc = turn_query(t, &t->args, &r, err)) || !r.n)
        goto done;
    if (rows_int(&r, 0, 0) > t->now - DEFINITION_FRESH_US) {
        *exists = true;
        goto done;
    }
    args_begin(&t->args, Q_DEFINITION_MARK);
    args_text(&t->args, hash);
    args_int(&t->args, t->now);
    if (!(rc = db_query(t->db, &t->args, &marked, err)))
        *exists = marked.n > 0; /* no row: retention deleted it first */
done:
    rows_release(&r);
    rows_release(&marked);
    return rc;
}

static int insert_definition(struct turn *t, const struct workflow *w, const char *text,
                             struct err *err)
{
    struct buf written = BUF_INIT;

    if (!text) {
        workflow_write(w, &written);
        text = arena_strdup(&t->arena, buf_cstr(&written));
        buf_release(&written);
    }
    args_begin(&t->args, Q_DEFINITION_INSERT);
    args_int(&t->args, t->now);
    args_text(&t->args, w->hash);
    args_text(&t->args, w->name);
    args_text(&t->args, text);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

int definition_use(struct turn *t, const char *hash, const struct workflow *w, const char *text,
                   struct err *err)
{
    bool exists;
    int rc;

    if (is_marked_used(t, hash))
        return 0;
    if ((rc = mark_used(t, hash, &exists, err)))
        return rc;
    if (!exists && !w)
        return err_set(err, E_NOT_FOUND, "the definition %s is not stored", hash);
    if (!exists && (rc = insert_definition(t, w, text, err)))
        return rc;
    *vec_add(&t->used_hashes) = arena_strdup(&t->arena, hash);
    return 0;
}
