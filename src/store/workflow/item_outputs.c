/* item_outputs.c - collects the outputs of the items of a fan-out, with whichever status it ended.
 * A list of at most ITEMS_MAX_STORED bytes is stored with the fan-out; a larger list is built from
 * the items each time it is read. */
#include "base/buf.h"
#include "base/json.h"
#include "store/door/door.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <string.h>

#define OUTPUTS_PAGE 100 /* rows per page; the outputs of one item may be 1 MB long */

struct item_entry {
    int status;
    const char *outputs, *error; /* outputs as JSON, error as plain text; NULL if none */
    const json_t *item;
};

static void add_entry(struct buf *b, const struct item_entry *e)
{
    buf_addf(b, "%s{\"status\":\"%s\",\"outputs\":%s,\"item\":", b->len > 1 ? "," : "",
             status_text(e->status), e->outputs ? e->outputs : "{}");
    (void)json_add_value(b, e->item, SIZE_MAX);
    buf_addstr(b, ",\"error\":");
    if (e->error)
        json_quote(b, e->error, strlen(e->error));
    else
        buf_addstr(b, "null");
    buf_addch(b, '}');
}

/* Adds a page of items, starting at the index `at`, but only items that were created in this run:
 * an earlier run may have had more. */
static int add_page(struct turn *t, const struct row *foreach, const json_t *list, int64_t at,
                    size_t most, struct buf *out, struct err *err)
{
    int64_t made = foreach->now.children_made;
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t->db, &r, err, Q_ITEMS_OUTPUTS, foreach->now.id, at,
            at + OUTPUTS_PAGE < made ? at + OUTPUTS_PAGE : made));
    for (size_t i = 0; i < r.n && out->len <= most; i++) {
        struct item_entry e = {0};
        json_t *item;
        int index;

        rows_read(&r, i, 0, NULL, &index, &e.status, &e.outputs, &e.error);
        TRY(items_at(foreach, list, index, &item, err));
        e.item = item;
        add_entry(out, &e);
    }
    return 0;
}

/* Adds items that were not created because of fail_fast or a cancel. Such an item counts as
 * cancelled. */
static void add_uncreated(const struct row *foreach, const json_t *list, size_t most,
                          struct buf *out)
{
    size_t all = json_array_size(list), i;

    for (i = (size_t)foreach->now.children_made; i < all && out->len <= most; i++)
        add_entry(out,
                  &(struct item_entry){.status = S_CANCELLED, .item = json_array_get(list, i)});
}

int items_build_outputs(struct turn *t, const struct row *foreach, size_t most, struct buf *out,
                        bool *fits, struct err *err)
{
    size_t least = strlen("{\"status\":\"failed\",\"outputs\":1,\"item\":1,\"error\":null},");
    int64_t made = foreach->now.children_made, at;
    json_t *list;

    *fits = (size_t)made * least <= most;
    if (!*fits)
        return 0;
    TRY(items_read_list(t, foreach, &list, err));
    *fits = json_array_size(list) * least <= most;
    if (!*fits)
        return 0;
    TRY(door_write(t, err)); /* write first: the query must see the items that ended in this turn */
    buf_addch(out, '[');
    for (at = 0; at < made && out->len <= most; at += OUTPUTS_PAGE)
        TRY(add_page(t, foreach, list, at, most, out, err));
    add_uncreated(foreach, list, most, out);
    buf_addch(out, ']');
    *fits = out->len <= most;
    return 0;
}
