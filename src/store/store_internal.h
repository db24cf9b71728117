/* store_internal.h - the structure of a store, and functions that files of the store share, besides
 * those in turn.h and door.h. Only for files of the store. */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "core/rerun.h"
#include "store/driver/url.h"
#include "store/turn.h"

#define MAX_CACHED_LISTS 8

struct store {
    struct db_url *url;
    struct db *db;
    bool shares_db; /* whether db belongs to another store or to a listener */
    /* Called instead of sending wake-ups, see store_set_wake; NULL if the driver sends them. */
    void (*wake)(void *arg, unsigned what);
    void *wake_arg;
    struct env *env;
    struct env own_env; /* used if the caller gave no env */
    int64_t writer;     /* id of this connection in the tables `turns` and `queue_counters` */
    int64_t turn_number;
    int64_t partition_limit; /* the first root without a partition for its events; 0 if unknown */
    int64_t patience;        /* µs to retry while the database is unavailable */
    struct turn turn;        /* the current turn; its memory is reused by the next turn */
    VEC(struct definition *) definitions;
    struct item_list {
        /* The key of an entry; started_at is part of it because a fan-out that runs again has
         * another list. */
        int64_t foreach, started_at;
        struct json_t *list;        /* the cache owns a reference; users take their own */
    } item_lists[MAX_CACHED_LISTS]; /* the lists of fan-outs that this store advanced recently */
    unsigned next_item_list;
    struct {
        int64_t top;      /* the execution that is being cancelled; 0 if none */
        bool let_finish;  /* let_finish of the cancel request */
        bool truncated;   /* whether there are more open descendants than were loaded */
        VEC(int64_t) ids; /* open descendants at the time when they were loaded */
        size_t next;      /* index in ids of the next descendant to cancel */
    } cancel_cache;       /* lets one search of a large tree serve several slices of a cancel */
    struct {
        int64_t execution;      /* the rerun; 0 if none */
        enum rerun_mark *marks; /* the marks of the workflow's tasks, by index */
    } reuse;                    /* the tasks that a rerun reuses, decided once for all slices */
    struct {
        /* The version of the settings at which the routes were read; 0 if they were not read
         * yet. */
        int64_t version;
        struct routes routes;
        struct arena arena;
    } routes; /* the database's routes, which are read again when the version has changed */
    struct {
        int64_t version; /* as in routes */
        struct follower *at;
        size_t n;
        struct arena arena;
    } followers; /* the workflows that start when a run ends; see workflow/follow_runs.c */
    struct {
        int64_t version; /* as in routes */
        struct reporting_hook *at;
        size_t n;
        struct arena arena;
    } hooks; /* the webhooks that report ends; see workflow/deliveries.c */
    struct store_workflow_options workflow_options;
};

/* settings.c. The version of the settings: a turn with a number has read it in the same round trip
 * as the number; other turns read it now. */
#define SETTINGS_FIRST_VERSION 1 /* the version while no setting was ever changed */
MUST_USE int settings_find_version(struct turn *t, int64_t *out, struct err *err);

void definitions_trim_cache(struct store *s);
/* Called after the commit: adds the turn's definitions to the cache. */
void definitions_cache_used(struct turn *t);
/* Frees the turn's definitions that are not in the cache. */
void definitions_drop_parsed(struct turn *t);
void item_lists_clear(struct store *s);
void cancel_cache_clear(struct store *s);
void reuse_cache_clear(struct store *s);

/* lease.c: clears the lease of a running job, so that the job becomes an orphan */
MUST_USE int lease_expire(struct turn *t, struct row *r, struct err *err);

/* schema.c. Creates or upgrades the schema if necessary; if may_change is false, returns -E_SCHEMA
 * instead. Refuses a newer schema. */
MUST_USE int schema_migrate(struct db *db, const struct db_url *url, bool may_change,
                            struct err *err);
MUST_USE int schema_check_not_newer(const struct db_url *url, int64_t version, struct err *err);

/* schema_owner.c. Checks, on PostgreSQL, that the schema belongs to a role that is trusted with the
 * rights of the session. must_take_over is set if the schema belongs to the tenant's role and an
 * upgrade must take it over. */
MUST_USE int schema_check_owner(struct db *db, const struct db_url *url, bool *must_take_over,
                                struct err *err);
/* Makes the schema Pawl's own. Called in a TX_CATALOG transaction, with the migration lock held.
 * Afterwards the role that the session acts as owns the schema, and the search path is that
 * schema. */
MUST_USE int schema_own(struct db *db, const struct db_url *url, struct err *err);
/* Grants the tenant's role the rights that it needs on the schema. */
MUST_USE int schema_grant(struct db *db, const struct db_url *url, struct err *err);

#endif
