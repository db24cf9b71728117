/* turn.h - one transaction in the making; inside the store only.
 *
 * A turn keeps an image of every execution it touches, once (`struct row`): what the database holds
 * and what this turn made of it. Operations load rows, change them through the door (door.h), and
 * the door writes the difference. */
#ifndef STORE_TURN_H
#define STORE_TURN_H

#include "base/idmap.h"
#include "store/store.h"

struct row {
    struct execution stored; /* as the database has it (in this transaction) */
    struct execution now;    /* as this turn wants it */
    int64_t due_at;          /* when a hold for a delay ends; only where it was set in this turn */
    int64_t timeout_at;      /* when one for an approval ends by itself; likewise */
    int64_t outbox_ctid;     /* where a claim saw its outbox row, and locked it; 0: nobody knows */
    const char *reuse;       /* of a workflow that is begun: what it takes over, see rerun.h */
    bool is_new;             /* not yet inserted */
    bool outcome;            /* result or error changed */
    bool has_input_and_spec; /* input and spec are known, not only to the database */
    bool has_outcome;        /* result and error, likewise */
    bool resolved;           /* they changed */
    bool dirty;              /* in the list of what must be written */
    bool has_permits;        /* counted in the limits it falls under */
    bool on_agenda;          /* a workflow's rules will look at it in this turn */
    bool unlocked;           /* read without a lock: whoever locks it reads it again */

    /* Who had it run again; only where that was asked for. */
    const struct request *rerun_request;
};

/* A limit as this turn sees it; also a key that has none (max < 0), looked up once. */
struct limit {
    char kind;        /* 'q' a queue's, 'k' a concurrency key's */
    const char *name; /* of the queue or key */
    const char *key;  /* as stored: "queue:NAME", "key:NAME" */
    int max;          /* < 0: no such limit */
    int used, stored_used;
    bool known;         /* looked up, and locked, in this turn */
    bool freed;         /* a permit became free: hand it on */
    int offer_at_least; /* at least so many at once: those asked before had no use for it */
    struct limit *next_same_hash;
};

struct event {
    const struct row *row;
    int64_t at, worker;
    int seq, attempt, epoch, type, from, to;
    const char *data;
};

/* Something that a workflow's rules have to look at, and its place among its siblings: workflow.c.
 */
struct agenda_entry {
    struct row *row;
    uint32_t rank;
};

/* Net change of a queue's jobs in this turn. */
struct queue_change {
    const char *queue;
    int64_t ready, held, running;
};

struct turn {
    struct store *store;
    struct db *db;
    struct arena arena;      /* everything the turn makes */
    int64_t now;             /* µs, with the environment's offset; 0 until the first turn_sync */
    int64_t db_now;          /* what the driver writes at a flush */
    bool wait;               /* wait for locks instead of skipping what is locked */
    unsigned wake;           /* enum wake, said after the commit */
    size_t offered;          /* who waited for a limit and was offered a permit */
    int64_t partition_limit; /* the store's, and what this turn adds to it if it commits */
    int64_t event_base;      /* one_writer: the last event's number; -1 not yet known */

    struct idmap rows;  /* id -> struct row */
    struct idmap roots; /* root -> itself, if its lock is ours */
    struct idmap limits;
    VEC(struct row *) dirty;
    VEC(struct event) events;
    VEC(struct limit *) limit_list;
    VEC(struct queue_change) queues;
    struct args args; /* scratch of the statement being built */

    VEC(struct agenda_entry) agenda; /* a heap: what comes first stands first */
    VEC(struct row *) ended;         /* became terminal, and was not counted where it counts yet */
    VEC(struct row *)
    to_prefetch;               /* on the agenda, and what it is decided by was not fetched yet */
    VEC(struct json_t *) json; /* values that live as long as the turn */
    struct idmap submitted_definitions; /* text -> struct definition, of those that it begins */
    const char *last_prepared;          /* the last of them */
    VEC(const char *) used_hashes;      /* hashes of those that it stored */
    VEC(struct definition *) parsed_definitions; /* of texts that came with this turn; its own */
    struct idmap workflow_states;                /* id -> struct flow */
    VEC(int64_t) reserved_ids; /* ids that were taken and not used yet, the next at the end */
    uint32_t tasks_created;    /* tasks of workflows: large ones share what a turn may make */
    uint32_t items_created;    /* of fan-outs, likewise */
    uint32_t notified;         /* ends that were told to those behind them, likewise */
    VEC(const struct row *) to_notify; /* ended, with some behind them left for another turn */
};

/* The time on the wall, if the database's is `now`; see turn_wall_time. */
int64_t wall_time(const struct db *db, int64_t now);

/* Sends what is queued and takes the database's time after it: a lock may have been waited for. */
MUST_USE int turn_sync(struct turn *t, struct err *err);

/* Sends and fetches, with the time. */
MUST_USE int turn_query(struct turn *t, const struct args *a, struct rows *out, struct err *err);

struct row *turn_row(const struct turn *t, int64_t id); /* NULL: not loaded */
/* The row for an image that was just read; an earlier image of this turn wins. */
struct row *turn_add_row(struct turn *t, const struct execution *e);

/* What to load: filled in by the caller but for rc. */
struct row_ref {
    int64_t id, root;
    int rc; /* 0: the row is there, its tree's lock ours; -E_BUSY, -E_NOT_FOUND */
};
/* Locks the trees and loads the rows. */
MUST_USE int turn_load(struct turn *t, struct row_ref *list, size_t n, struct err *err);
/* The same, also if all is there; what `send_more` sends travels with it, behind the locks. */
MUST_USE int turn_load_and_send(struct turn *t, struct row_ref *list, size_t n,
                                int (*send_more)(struct turn *t, void *arg, struct err *err),
                                void *arg, struct err *err);
/* Fills in roots that are 0; those without an execution get rc = -E_NOT_FOUND. */
MUST_USE int turn_find_roots(struct turn *t, struct row_ref *list, size_t n, struct err *err);

/* Has the next n ids taken at once, for those who need them one by one: all above that of their
 * parent. */
MUST_USE int turn_reserve_ids(struct turn *t, size_t n, int64_t parent, struct err *err);
/* One of these, if it is above that of its parent, or a fresh one. */
MUST_USE int turn_next_id(struct turn *t, int64_t parent, int64_t *id, struct err *err);
/* n fresh ids, ascending; makes sure that their events have a place. */
MUST_USE int turn_new_ids(struct turn *t, size_t n, int64_t *ids, struct err *err);

/* Makes sure that the events of a tree of this id have a place: one that was drawn before. */
MUST_USE int turn_ensure_partition(struct turn *t, int64_t id, struct err *err);

/* Takes rows of @state@ (with input and spec after it, if asked) into the turn, which were read
 * under a lock, or which nobody changes who does not have that of their tree. */
MUST_USE int turn_read_rows(struct turn *t, const struct rows *r, bool with_input, struct row **out,
                            struct err *err);

#endif
