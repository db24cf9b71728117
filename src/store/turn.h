/* turn.h - the state of a transaction in progress; only for files of the store.
 *
 * A turn keeps one `struct row` for every execution that it touches: the stored image and the
 * wanted image. Operations load rows and change them through the door (door.h), and the door writes
 * the difference. */
#ifndef STORE_TURN_H
#define STORE_TURN_H

#include "base/idmap.h"
#include "core/route.h"
#include "store/ask.h"
#include "store/store.h"

struct row {
    struct execution stored; /* the image of the row in the database, in this transaction */
    struct execution now;    /* the image that this turn wants to store */
    int64_t due_at;          /* when a hold for a delay ends; valid only if this turn has set it */
    /* When a hold for an approval times out; valid only if this turn has set it. */
    int64_t timeout_at;
    int64_t outbox_ctid; /* ctid of the outbox row, which a claim has locked; 0 if unknown */
    const char *reuse;   /* for a new workflow: what it reuses, see struct submission */
    /* Set if the turn has started the execution as a workflow, until that is stored: the hash of
     * its definition, and its variables; otherwise NULL. */
    const char *definition, *variables;
    bool is_new;             /* whether the row is not inserted yet */
    bool outcome_changed;    /* whether the result or error has changed */
    bool has_input_and_spec; /* whether input and spec are loaded */
    bool has_outcome;        /* whether result and error are loaded */
    bool input_changed;      /* whether input, spec or lane has changed */
    bool dirty;              /* whether it is in the turn's list of rows to write */
    bool has_permits;        /* whether the execution counts against its limits */
    bool on_agenda;          /* whether it is in the turn's agenda */
    bool unlocked;           /* an unlocked read, which is repeated when the lock is taken */

    /* The request that made the execution run again; NULL if none. */
    const struct request *rerun_request;
};

/* A limit as this turn sees it. A queue or key without a limit has an entry, too (max < 0), so that
 * the limit is looked up only once. */
struct limit {
    char kind;        /* 'q' for a queue, 'k' for a concurrency key */
    const char *name; /* name of the queue or the key */
    const char *key;  /* key in the database: "queue:NAME", "key:NAME" */
    int max;          /* maximum; negative if the limit does not exist */
    int used, stored_used;
    bool max_changed; /* whether the cap has changed max, which is not written yet */
    bool known;       /* whether this turn has looked up and locked the limit */
    bool freed;       /* whether a permit became free and must be offered */
    /* How many waiters to try at the next offer; grows with each offer of this turn. */
    int offer_at_least;
    struct limit *next_same_hash;
};

struct event {
    const struct row *row;
    int64_t at, worker;
    int seq, attempt, epoch, type, from, to;
    const char *data;
};

/* A row to which the rules of its workflow must be applied, and its position among its siblings;
 * see workflow/advance.c. */
struct agenda_entry {
    struct row *row;
    uint32_t rank;
};

/* The end of an execution, for webhooks that report it; see workflow/deliveries.c. */
struct end_note {
    const struct row *row;
    int64_t at;
    int seq, type, status;
};

/* How much the numbers of a queue's jobs change in this turn. */
struct queue_change {
    const char *queue;
    int64_t ready, held, running;
};

/* How many events of one type attempts had in this turn; see door/attempts.c. */
struct attempt_count {
    const char *queue, *executor;
    int64_t worker;
    int type;     /* enum event_action; 0 for a refused outcome */
    int outcome;  /* enum outcome_kind; 0 if the attempt continues */
    int64_t upto; /* upper bound of the times in this count; 0 if no time is known */
    int64_t n, us;
};

struct turn {
    struct store *store;
    struct db *db;
    struct arena arena; /* memory of the turn */
    /* The database's time in µs, including the environment's offset; 0 until the first
     * turn_sync. */
    int64_t now;
    int64_t db_now;          /* the database's time, set by the driver at a flush */
    bool wait;               /* whether to wait for locks instead of skipping locked rows */
    unsigned wake;           /* bits of enum wake to send after the commit */
    size_t offered;          /* permits that waiters took in this turn */
    int64_t partition_limit; /* becomes the member of this name in struct store after the commit */
    /* For drivers with one_writer: number of the last event; -1 if not read yet. */
    int64_t event_base;

    struct idmap rows;  /* maps an id to its struct row */
    struct idmap roots; /* keys are the roots that this turn has locked */
    struct idmap limits;
    VEC(struct row *) dirty;
    VEC(struct event) events;
    VEC(struct limit *) limit_list;
    VEC(struct queue_change) queues;
    VEC(struct attempt_count) attempts;
    /* The version of the shared settings, which arrives with the first flush. */
    struct rows settings_version;
    struct args args; /* the statement that is being built */

    /* A heap, sorted by depth (deepest first), then rank, then id. */
    VEC(struct agenda_entry) agenda;
    /* Rows that have ended, but whose parents and followers are not updated yet. */
    VEC(struct row *) ended;
    VEC(struct end_note) end_notes; /* ends that webhooks may report */
    /* Rows on the agenda whose decision needs rows that are not loaded yet. */
    VEC(struct row *) to_prefetch;
    VEC(struct json_t *) json; /* values that live as long as the turn */
    /* Maps a text to its struct definition, for workflows that this turn starts. */
    struct idmap submitted_definitions;
    const char *last_prepared; /* text of the definition that was looked up last */
    /* Hashes of definitions that this turn stored or marked used. */
    VEC(const char *) used_hashes;
    VEC(struct definition *) parsed_definitions; /* definitions that this turn parsed and owns */
    struct idmap workflow_states;                /* maps an id to its struct workflow_state */
    /* Ids that are not used yet, the next one at the end. */
    VEC(int64_t) reserved_ids;
    /* Counts that are compared with the limits on the work of one turn. All workflows of the turn
     * share them. */
    uint32_t tasks_created; /* tasks of workflows that the turn created */
    uint32_t items_created; /* items of fan-outs that the turn created */
    /* Followers notified, plus NOTIFY_ROUND_COST for each call of count_ends. */
    uint32_t notified;
    /* Ended rows with followers that a later turn must notify. */
    VEC(const struct row *) to_notify;
};

/* The wall clock at the moment when the database's time is `now`; see turn_wall_time. */
int64_t wall_time(const struct db *db, int64_t now);

/* Flushes the queue, and reads the database's time afterwards, because a statement may have waited
 * for a lock. */
MUST_USE int turn_sync(struct turn *t, struct err *err);

/* Runs one statement and reads the database's time, in one round trip. */
MUST_USE int turn_query(struct turn *t, const struct args *a, struct rows *out, struct err *err);

struct row *turn_row(const struct turn *t, int64_t id); /* NULL if the row is not loaded */
/* Returns the row for an image that was just read. If the turn has the row already, the new image
 * is ignored. */
struct row *turn_add_row(struct turn *t, const struct execution *e);

/* A row to load. The caller fills in id and root. */
struct row_ref {
    int64_t id, root;
    int rc; /* result: 0 if the row is loaded and its root is locked; -E_BUSY; -E_NOT_FOUND */
};
/* Locks the roots and loads the rows of the list. */
MUST_USE int turn_load(struct turn *t, struct row_ref *list, size_t n, struct err *err);
/* Loads a row that must exist. -E_REDO if its root is locked by another turn. */
MUST_USE int turn_load_row(struct turn *t, int64_t id, int64_t root, struct row **out,
                           struct err *err);
/* Like turn_load, but makes a round trip even if all rows are loaded. `send_more` queues further
 * statements, which are sent after the locks. */
MUST_USE int turn_load_and_send(struct turn *t, struct row_ref *list, size_t n,
                                int (*send_more)(struct turn *t, void *arg, struct err *err),
                                void *arg, struct err *err);
/* Fills in roots that are 0. Sets rc to -E_NOT_FOUND if an execution does not exist. */
MUST_USE int turn_find_roots(struct turn *t, struct row_ref *list, size_t n, struct err *err);

/* Reserves n ids at once for later calls of turn_next_id. All are greater than the parent's id. */
MUST_USE int turn_reserve_ids(struct turn *t, size_t n, int64_t parent, struct err *err);
/* Gets a reserved id if it is greater than the parent's id, otherwise a new id. */
MUST_USE int turn_next_id(struct turn *t, int64_t parent, int64_t *id, struct err *err);
/* Gets n new ids, ascending, and makes sure that the partitions for their events exist. */
MUST_USE int turn_new_ids(struct turn *t, size_t n, int64_t *ids, struct err *err);

/* Makes sure that the partition for the events of this root exists, if an earlier transaction
 * assigned the id. */
MUST_USE int turn_ensure_partition(struct turn *t, int64_t id, struct err *err);

/* Adds rows whose columns are those of the SQL macro @state@ (followed by input and spec if
 * with_input) to the turn. The rows must have been read under their own lock, or be such that only
 * holders of their root lock change them. */
MUST_USE int turn_read_rows(struct turn *t, const struct rows *r, bool with_input,
                            struct row ***out, struct err *err);

/* Finds the lane of a job that becomes ready, by the routes of the database (core/route.h). */
MUST_USE int turn_route(struct turn *t, const struct route_query *q, const char **lane,
                        struct err *err);

/* Copies a list of messages to the turn's memory. */
const char **turn_messages(struct turn *t, const char *const *list, size_t n);

#endif
