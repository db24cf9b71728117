/* item_outputs.c - collects the outputs of the items of a fan-out. Up to ITEMS_MAX_STORED bytes the
 * list is stored with the fan-out; a larger one is built from the items each time it is read. */
#include "base/buf.h"
#include "store/door/door.h"
#include "store/workflow/workflow.h"

#include <string.h>

#define OUTPUTS_PAGE 100 /* the outputs of one item may have 1 MB */

static void add_item_outputs(struct buf *b, int status, const char *outputs)
{
    buf_addf(b, "%s{\"status\":\"%s\",\"outputs\":", b->len > 1 ? "," : "", status_text(status));
    buf_addstr(b, outputs ? outputs : "{}");
    buf_addch(b, '}');
}

int items_build_outputs(struct turn *t, const struct row *foreach, size_t most, struct buf *out,
                        bool *fits, struct err *err)
{
    size_t least = strlen("{\"status\":\"failed\",\"outputs\":1},"), i;
    int64_t all = foreach->now.children_made, at;
    AUTO_ROWS r = ROWS_INIT;
    int rc = 0;

    *fits = (size_t)all * least <= most;
    if (*fits)
        TRY(door_write(t, err)); /* the query must see the items that ended in this turn */
    buf_addch(out, '[');
    for (at = 0; !rc && *fits && at < all; at += OUTPUTS_PAGE) {
        /* an earlier run may have had more */
        if ((rc = ask(t->db, &r, err, Q_ITEMS_OUTPUTS, foreach->now.id, at,
                      at + OUTPUTS_PAGE < all ? at + OUTPUTS_PAGE : all)))
            break;
        for (i = 0; i < r.n && out->len <= most; i++)
            add_item_outputs(out, (int)rows_int(&r, i, 0), rows_text(&r, i, 1));
        *fits = out->len < most;
        rows_release(&r);
    }
    buf_addch(out, ']');
    return rc;
}
