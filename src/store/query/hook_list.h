/* hook_list.h - reads webhooks. */
#ifndef STORE_QUERY_HOOK_LIST_H
#define STORE_QUERY_HOOK_LIST_H

#include "core/webhook.h"
#include "store/store.h"

struct hook_row {
    const char *name;
    int signature; /* enum webhook_signature */
    int64_t created_at;
    const char *created_by; /* NULL if unknown */
    const char *workflow;   /* that it starts; NULL if no applied workflow names it */
};
STORE_LIST(hook_list, struct hook_row)

/* All webhooks, ordered by name. */
MUST_USE int query_hooks(struct store *s, struct hook_list *out, struct err *err);

struct hook_check {
    bool found;
    int signature;
    struct webhook_key key;
    int64_t wall; /* turn_wall_time now */
};
/* Reads what is needed to check a message. */
MUST_USE int query_hook(struct store *s, const char *name, struct hook_check *out, struct err *err);

#endif
