/* store_internal.h - the store's handle and the functions that its files share, beyond turn.h and
 * door.h. Only for files of the store. */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "core/rerun.h"
#include "store/driver/url.h"
#include "store/turn.h"

#define MAX_CACHED_LISTS 8

struct store {
    struct db_url *url;
    struct db *db;
    bool shares_db; /* db belongs to another store or to a listener */
    /* See store_set_wake; NULL if the driver sends wake-ups. */
    void (*wake)(void *arg, unsigned what);
    void *wake_arg;
    struct env *env;
    struct env own_env; /* used if the caller passed none */
    int64_t writer;     /* this connection's id in `turns` and `queue_counters` */
    int64_t turn_number;
    int64_t partition_limit; /* the first root without a partition for its events; 0 if unknown */
    int64_t patience;        /* µs to retry while the database is unavailable */
    struct turn turn;        /* kept between turns to reuse its memory */
    VEC(struct definition *) definitions;
    struct item_list {
        int64_t foreach, started_at; /* the key: a fan-out that runs again has another list */
        struct json_t *list;         /* a reference owned by the cache; users take their own */
    } item_lists[MAX_CACHED_LISTS];  /* the lists of fan-outs that this store advanced recently */
    unsigned next_item_list;
    struct {
        int64_t top;      /* the execution being cancelled; 0 if none */
        bool let_finish;  /* the let_finish of the request */
        bool truncated;   /* it has more open descendants than were loaded */
        VEC(int64_t) ids; /* its open descendants when they were loaded */
        size_t next;      /* index in ids of the next one to cancel */
    } cancel_cache;       /* a large tree is searched once for several slices */
    struct {
        int64_t execution;      /* 0 if none */
        enum rerun_mark *marks; /* the marks of its tasks, by index */
    } reuse;                    /* which tasks a rerun reuses; decided once for all its slices */
    struct {
        /* The version of the settings when the routes were read; 0 if not read yet. */
        int64_t version;
        struct routes routes;
        struct arena arena;
    } routes; /* the database's routes; read again when the version has changed */
    struct store_workflow_options workflow_options;
};

void definitions_trim_cache(struct store *s);
void definitions_cache_used(struct turn *t);  /* after the commit: caches the turn's definitions */
void definitions_drop_parsed(struct turn *t); /* frees those that were not cached */
void item_lists_clear(struct store *s);
void cancel_cache_clear(struct store *s);
void reuse_cache_clear(struct store *s);

/* lease.c: clears the lease of a running job, which becomes an orphan */
MUST_USE int lease_expire(struct turn *t, struct row *r, struct err *err);

/* schema.c. Creates or upgrades the schema if may_change is set, otherwise returns E_SCHEMA if that
 * is needed. Refuses a newer schema. */
MUST_USE int schema_migrate(struct db *db, const struct db_url *url, bool may_change,
                            struct err *err);
MUST_USE int schema_check_not_newer(const struct db_url *url, int64_t version, struct err *err);

/* schema_owner.c. On PostgreSQL the schema must belong to a role that is trusted with the rights of
 * the session. must_take_over is set if the schema belongs to the tenant's role and an upgrade must
 * take it over. */
MUST_USE int schema_check_owner(struct db *db, const struct db_url *url, bool *must_take_over,
                                struct err *err);
/* Called in a TX_CATALOG transaction with the migration lock held. Afterwards the role that the
 * session acts as owns the schema, and the search path is that schema. */
MUST_USE int schema_own(struct db *db, const struct db_url *url, struct err *err);
/* Grants the tenant's role its rights on the schema. */
MUST_USE int schema_grant(struct db *db, const struct db_url *url, struct err *err);

#endif
