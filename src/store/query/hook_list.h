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
    const char *workflow;   /* that it starts, or whose ends it reports; NULL if none */
    const char *url;        /* where it reports to; NULL if it starts a workflow */
    int statuses;           /* of the ends that it reports: bits 1 << S_... */
    const char *queue;      /* whose ends it reports; NULL for any */
    int tasks;              /* whether it reports executions with a parent */
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
/* Reads what is needed to check a message of a webhook that starts a workflow. */
MUST_USE int query_hook(struct store *s, const char *name, struct hook_check *out, struct err *err);

struct hook_target {
    struct webhook_key key;
    const char *url; /* NULL if no webhook of this name reports anything */
    int64_t wall;    /* turn_wall_time now */
    struct arena arena;
};
/* Reads where a delivery goes, and the key that signs it. */
MUST_USE int query_hook_target(struct store *s, const char *name, struct hook_target *out,
                               struct err *err);
void hook_target_release(struct hook_target *t);

#endif
