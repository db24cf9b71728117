/* hook_list.c - reads webhooks; see hook_list.h. */
#include "store/query/hook_list.h"

#include "store/query/query_internal.h"
#include "store/turn.h"

#include <string.h>

int query_hooks(struct store *s, struct hook_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_HOOKS));
    LIST_ALLOC(out, r.n);
    for (size_t i = 0; i < r.n; i++) {
        struct hook_row *h = &out->at[i];

        rows_read(&r, i, 0, &out->arena, &h->name, &h->signature, &h->created_at, &h->created_by,
                  &h->workflow, &h->url, &h->statuses, &h->queue, &h->tasks);
    }
    return 0;
}

int query_hook(struct store *s, const char *name, struct hook_check *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    *out = (struct hook_check){0};
    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_HOOK, name)));
    out->wall = wall_time(store_db(s), now);
    out->found = r.n > 0;
    if (!r.n)
        return 0;
    out->signature = (int)rows_int(&r, 0, 0);
    out->key.len = r.cells[1].len <= WEBHOOK_KEY_MAX ? r.cells[1].len : 0;
    memcpy(out->key.bytes, r.cells[1].s, out->key.len);
    return 0;
}

int query_hook_target(struct store *s, const char *name, struct hook_target *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    *out = (struct hook_target){0};
    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_HOOK_TARGET, name)));
    out->wall = wall_time(store_db(s), now);
    if (!r.n)
        return 0;
    out->key.len = r.cells[0].len <= WEBHOOK_KEY_MAX ? r.cells[0].len : 0;
    memcpy(out->key.bytes, r.cells[0].s, out->key.len);
    out->url = arena_strdup(&out->arena, rows_text(&r, 0, 1));
    return 0;
}

void hook_target_release(struct hook_target *t)
{
    webhook_wipe_key(&t->key);
    arena_release(&t->arena);
}
