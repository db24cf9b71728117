/* stored_definitions.c - definitions in the database: stored while something runs by them, or a
 * name means them.
 *
 * Retention deletes those that nothing needs any more. So that none goes from under the hands of
 * whoever begins to use it, each use sees to it that the row says so, to within a day: it is
 * stored, or marked anew, or was marked less than DEFINITION_FRESH_US ago. One that was used within
 * twice that time is never deleted (retention.c). A nested workflow is stored when it begins: until
 * then it is part of the text of what it is nested in. */
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include "base/buf.h"

#include <string.h>

/* What the store trusts is older than what is stored by less than this. */
#define MARK_TRUSTED_US (DEFINITION_FRESH_US / 2)

static bool is_marked_used(const struct turn *t, const char *hash)
{
    const struct definition *d = definition_find_cached(t->store, hash);

    return definition_is_used_by_turn(t, hash) ||
           (d && t->now && t->now - d->marked_used_at < MARK_TRUSTED_US);
}

/* Whether the row is there, and marked; an old mark is renewed under its lock. */
static int mark_used(struct turn *t, const char *hash, bool *there, struct err *err)
{
    struct rows r = ROWS_INIT, marked = ROWS_INIT;
    int rc;

    *there = false;
    args_begin(&t->args, Q_DEFINITION_USED);
    args_text(&t->args, hash);
    if ((rc = turn_query(t, &t->args, &r, err)) || !r.n)
        goto done;
    if (rows_int(&r, 0, 0) > t->now - DEFINITION_FRESH_US) {
        *there = true;
        goto done;
    }
    args_begin(&t->args, Q_DEFINITION_MARK);
    args_text(&t->args, hash);
    args_int(&t->args, t->now);
    if (!(rc = db_query(t->db, &t->args, &marked, err)))
        *there = marked.n > 0; /* or retention was faster */
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
    bool there;
    int rc;

    if (is_marked_used(t, hash))
        return 0;
    if ((rc = mark_used(t, hash, &there, err)))
        return rc;
    if (!there && !w)
        return err_set(err, E_NOT_FOUND, "the definition %s is not stored", hash);
    if (!there && (rc = insert_definition(t, w, text, err)))
        return rc;
    *vec_add(&t->used_hashes) = arena_strdup(&t->arena, hash);
    return 0;
}
