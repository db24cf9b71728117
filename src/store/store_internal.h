/* store_internal.h - what the store's own files know of each other beyond turn.h and door.h. */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/driver/url.h"
#include "store/turn.h"

#define MAX_CACHED_LISTS 8

struct store {
    struct db_url *url;
    struct db *db;
    struct env *env;
    struct env own_env; /* used when the caller gave none */
    int64_t writer;     /* this connection's name in `turns` and `queue_counters` */
    int64_t turn_number;
    int64_t
        partition_limit; /* the first root whose events have no partition yet; 0: not asked yet */
    int64_t patience;    /* µs to go on trying while the database is away */
    struct turn turn;    /* kept between turns for its memory */
    VEC(struct definition *) definitions;
    struct item_list {
        int64_t foreach, started_at; /* a fan-out that runs again has another list */
        struct json_t *list;         /* a reference; whoever uses it has another */
    } item_lists[MAX_CACHED_LISTS];  /* of fan-outs that this store went on with lately */
    unsigned next_item_list;
    struct {
        int64_t top;      /* 0: nothing is being cancelled */
        bool let_finish;  /* as it was asked for */
        bool truncated;   /* there were more than were looked for */
        VEC(int64_t) ids; /* what was open below it when that was looked for */
        size_t next;      /* of them */
    } cancel_cache;       /* a large tree is walked through once for several slices */
    struct {
        int64_t execution; /* 0: none */
        bool *is_reusable; /* of its tasks, by index */
    } reuse;               /* what a workflow takes over of another, in slices, is judged once */
    struct store_workflow_options workflow_options;
};

void definitions_trim_cache(struct store *s);
void definitions_cache_used(struct turn *t);  /* after the commit: those that it stored */
void definitions_drop_parsed(struct turn *t); /* the others */
void item_lists_clear(struct store *s); /* also after a rollback: its ids may be given again */
void cancel_cache_clear(
    struct store *s); /* also after a rollback: what it cancelled is open again */
void reuse_cache_clear(struct store *s); /* likewise */

static inline int64_t store_writer(const struct store *s)
{
    return s->writer;
}

MUST_USE int turn_find_event_base(struct turn *t, struct err *err);

/* schema.c: creates or upgrades; refuses what is newer. */
MUST_USE int schema_migrate(struct db *db, const struct db_url *url, bool may_change,
                            struct err *err);
MUST_USE int schema_check_not_newer(const struct db_url *url, int64_t version, struct err *err);

/* schema_owner.c: on PostgreSQL a schema must belong to a role that may be trusted with the rights
 * of the session. must_take_over: it belongs to the tenant's role, and an upgrade is needed. */
MUST_USE int schema_check_owner(struct db *db, const struct db_url *url, bool *must_take_over,
                                struct err *err);
/* In a TX_CATALOG, under the lock of migrations: the schema is the session role's afterwards, and
 * the search path is that schema. */
MUST_USE int schema_own(struct db *db, const struct db_url *url, struct err *err);
MUST_USE int schema_grant(struct db *db, const struct db_url *url, struct err *err);

#endif
