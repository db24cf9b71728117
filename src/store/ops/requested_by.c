/* requested_by.c - reads from the event of a request who made the request and why. Later turns,
 * which apply the request to descendants, write the same user and reason into their events. */
#include "store/door/event_data.h"

#include <jansson.h>

/* Finds the last event of this type among those that this turn has not written yet. */
static const char *find_unwritten_event(const struct turn *t, const struct row *row, int type)
{
    for (size_t i = t->events.n; i > 0; i--)
        if (t->events.at[i - 1].row == row && t->events.at[i - 1].type == type)
            return t->events.at[i - 1].data;
    return NULL;
}

static const char *copy_text(struct turn *t, const json_t *data, const char *key)
{
    return arena_strdup(&t->arena, json_string_value(json_object_get(data, key)));
}

int data_requested_by(struct turn *t, const struct row *row, enum event_action action,
                      struct request *out, struct err *err)
{
    int type = event_type(row->now.kind, action);
    const char *text = find_unwritten_event(t, row, type);
    AUTO_ROWS r = ROWS_INIT;
    json_t *data;

    if (!text) {
        TRY(ask(t->db, &r, err, Q_REQUESTED_BY, row->now.root, row->now.id, type));
        text = r.n ? rows_text(&r, 0, 0) : NULL;
    }
    data = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    out->by = copy_text(t, data, "by");
    out->reason = copy_text(t, data, "reason");
    json_decref(data);
    return 0;
}
