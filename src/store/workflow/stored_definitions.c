/* stored_definitions.c - definitions in the database, kept while an execution or an applied name
 * uses them.
 *
 * Retention deletes unused definitions. It must never delete a definition that a turn has just
 * started to use. So each use makes sure that the row of the definition has a recent mark: the turn
 * inserts the row, renews its mark, or finds a mark younger than DEFINITION_FRESH_US (a day).
 * Retention never deletes a definition whose mark is younger than twice that time
 * (ops/retention.c). A nested workflow is stored when it starts; until then it is part of the text
 * of the workflow that contains it. */
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include "base/buf.h"

#include <string.h>

/* How long the store relies on its cached time of a mark without reading the row. The mark is then
 * at most 1.5 * DEFINITION_FRESH_US old. */
#define MARK_TRUSTED_US (DEFINITION_FRESH_US / 2)

static bool is_marked_used(const struct turn *t, const char *hash)
{
    const struct definition *d = definition_find_cached(t->store, hash);

    return definition_is_used_by_turn(t, hash) ||
           (d && t->now && t->now - d->marked_used_at < MARK_TRUSTED_US);
}

/* Reads whether the row of the definition exists and is marked used. Renews an old mark under the
 * row's lock. */
static int mark_used(struct turn *t, const char *hash, bool *exists, struct err *err)
{
    int64_t used_at = INT64_MIN;

    TRY(ask_one(t, INTO(&used_at), err, Q_DEFINITION_USED, hash));
    *exists = used_at > t->now - DEFINITION_FRESH_US;
    if (used_at == INT64_MIN || *exists)
        return 0;
    /* no row is returned if retention deleted it first */
    return ask_any(t->db, exists, err, Q_DEFINITION_MARK, hash, t->now);
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
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_DEFINITION_INSERT, t->now, w->hash, w->name,
                    text);
}

int definition_use(struct turn *t, const char *hash, const struct workflow *w, const char *text,
                   struct err *err)
{
    bool exists;

    if (is_marked_used(t, hash))
        return 0;
    TRY(mark_used(t, hash, &exists, err));
    if (!exists && !w)
        return err_set(err, E_NOT_FOUND,
                       "the definition %s is missing from the database: apply its workflow "
                       "file again",
                       hash);
    if (!exists)
        TRY(insert_definition(t, w, text, err));
    *vec_add(&t->used_hashes) = arena_strdup(&t->arena, hash);
    return 0;
}
