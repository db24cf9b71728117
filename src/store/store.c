/* store.c - opens a store and runs turns: begin, number, body, advance workflows, flush,
 * commit. A turn is repeated if the database rolled it back for a reason outside the turn; if the
 * answer to COMMIT is lost, the turn's number shows whether the turn is stored. */
#include "store/store.h"

#include "store/door/door.h"
#include "store/driver/connect_wait.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PATIENCE 30000000LL /* µs */
#define MAX_BACKOFF      1000000LL
/* µs. A turn must have retried for this long before its conflicts with other turns are reported.
 * Such conflicts are normal. */
#define QUIET_CONFLICTS  5000000LL

int store_open(const char *url, const char *tenant, const struct store_options *options,
               struct store **out, struct err *err)
{
    struct store *s = mem_zalloc(sizeof(*s));
    int rc;

    s->env = options && options->env ? options->env : &s->own_env;
    s->writer = env_random_id();
    s->patience = options && options->patience ? options->patience : DEFAULT_PATIENCE;
    s->db = options ? options->share : NULL;
    s->shares_db = s->db != NULL;
    if ((rc = url_parse(url, tenant, &s->url, err)) ||
        (!s->db && (rc = db_open_waiting(s->url, s->env, options ? options->wait_to_connect : 0,
                                         &s->db, err))))
        goto done;
    if (!(options && options->is_checked) &&
        (rc = schema_migrate(s->db, s->url, !(options && options->no_migrate), err)))
        goto done;
    *out = s;
    s = NULL;
done:
    store_close(&s);
    return rc;
}

/* The members of a turn that are emptied and not freed, to reuse their memory in the next turn. */
#define TURN_MAPS rows, roots, limits, workflow_states, submitted_definitions
#define TURN_LISTS                                                                              \
    json, ended, to_prefetch, to_notify, agenda, reserved_ids, used_hashes, parsed_definitions, \
        dirty, events, end_notes, limit_list, queues, attempts

/* Frees the memory that members of a turn own outside of its arena. */
static void turn_drop_owned(struct turn *t)
{
    for (size_t i = 0; i < t->workflow_states.cap; i++)
        if (t->workflow_states.keys[i]) {
            idmap_release(&((struct workflow_state *)t->workflow_states.values[i])->tasks);
            idmap_release(&((struct workflow_state *)t->workflow_states.values[i])->scope_values);
        }
    for (size_t i = 0; i < t->json.n; i++)
        json_decref(t->json.at[i]);
    definitions_drop_parsed(t);
}

static void turn_release(struct turn *t)
{
    turn_drop_owned(t);
#define RELEASE_MAP(x)  idmap_release(&t->x)
#define RELEASE_LIST(x) vec_release(&t->x)
    MAP(RELEASE_MAP, TURN_MAPS);
    MAP(RELEASE_LIST, TURN_LISTS);
    args_release(&t->args);
    rows_release(&t->settings_version);
    arena_release(&t->arena);
}

static void clear_caches(struct store *s)
{
    item_lists_clear(s);
    cancel_cache_clear(s);
    reuse_cache_clear(s);
}

void store_close(struct store **ps)
{
    struct store *s = *ps;

    if (!s)
        return;
    turn_release(&s->turn);
    definitions_release(s);
    clear_caches(s);
    arena_release(&s->routes.arena);
    arena_release(&s->followers.arena);
    arena_release(&s->hooks.arena);
    if (!s->shares_db)
        db_close(&s->db);
    url_free(&s->url);
    free(s);
    *ps = NULL;
}

struct db *store_db(struct store *s)
{
    return s->db;
}

const struct db_url *store_url(const struct store *s)
{
    return s->url;
}

void store_set_workflow_options(struct store *s, const struct store_workflow_options *o)
{
    s->workflow_options = *o;
}

int store_check_present(struct store *s, struct err *err)
{
    return s->db->driver->check_present ? s->db->driver->check_present(s->db, err) : 0;
}

void store_set_wake(struct store *s, void (*wake)(void *arg, unsigned what), void *arg)
{
    s->wake = wake;
    s->wake_arg = arg;
}

void store_set_patience(struct store *s, int64_t us)
{
    __atomic_store_n(&s->patience, us, __ATOMIC_RELAXED);
}

/* Whether a turn that was first tried at `since` must not be tried again. */
static bool retry_time_is_over(const struct store *s, int64_t since)
{
    return clock_boot_us() - since >= __atomic_load_n(&s->patience, __ATOMIC_RELAXED) ||
           (s->env->give_up && s->env->give_up(s->env->arg));
}

/* Clears the state of the last turn and keeps its memory for the next one. */
static struct turn *reset_turn(struct store *s, bool wait)
{
    struct turn *t = &s->turn;

    turn_drop_owned(t);
#define RESET_MAP(x)  idmap_reset(&t->x)
#define RESET_LIST(x) t->x.n = 0
    MAP(RESET_MAP, TURN_MAPS);
    MAP(RESET_LIST, TURN_LISTS);
    definitions_trim_cache(s);
    t->tasks_created = t->items_created = t->notified = 0;
    t->last_prepared = NULL;
    rows_release(&t->settings_version);
    arena_reset(&t->arena);
    t->store = s;
    t->db = s->db;
    t->now = 0;
    t->wait = wait;
    t->wake = 0;
    t->offered = 0;
    t->event_base = -1;
    t->partition_limit = s->partition_limit;
    return t;
}

/* Writes the turn's number in the turn's transaction: if the number is found later, the turn has
 * committed. Also reads the time on SQLite, where that costs nothing; on PostgreSQL the time comes
 * with the first rows that the body locks. */
static int write_number(struct turn *t, struct err *err)
{
    if (t->db->driver->one_writer)
        TRY(turn_sync(t, err));
    return db_queue(t->db, &t->settings_version, 1, err, Q_TURN_WRITE, t->store->writer,
                    t->store->turn_number, t->now, t->store->env->clock_offset, migration_count);
}

/* Creates the deliveries of all ends of the turn, and writes its changes. */
static int flush_with_deliveries(struct turn *t, struct err *err)
{
    do {
        TRY(deliveries_submit(t, err));
        TRY(door_flush(t, err));
    } while (t->end_notes.n); /* the flush may have ended further executions */
    return 0;
}

static int run_turn(struct store *s, enum turn_mode mode,
                    int (*body)(struct turn *, void *, struct err *), void *arg, struct err *err)
{
    struct turn *t;
    int rc = 0;

    if (s->db->in_tx) /* the body of a turn tried to start another one */
        return err_set(
            err, E_INVALID,
            "a transaction is in progress on this handle: until it ends, only the functions of the "
            "transaction may be called");
    t = reset_turn(s, mode == TURN_WAITING);
    s->turn_number += mode != TURN_LIGHT;
    TRY(db_begin(s->db, mode == TURN_LONG ? TX_LONG : TX_WRITE, err));
    if ((mode != TURN_LIGHT && (rc = write_number(t, err))) || (rc = body(t, arg, err)) ||
        (rc = workflow_advance(t, err)) || (rc = flush_with_deliveries(t, err)) ||
        (rc = attempts_write(t, err)) || (rc = db_commit(s->db, err))) {
        db_rollback(s->db);
        clear_caches(s); /* the caches may contain ids and changes that the rollback undid */
        return rc;
    }
    definitions_cache_used(t);
    return 0;
}

/* Returns 1 if the turn whose COMMIT got no answer is stored, 0 if not, or an error if that can't
 * be checked yet. */
static int turn_is_stored(struct store *s, struct err *err)
{
    int64_t number = -1;
    int rc;

    TRY(db_begin(s->db, TX_WRITE, err));
    if (!(rc = db_queue(s->db, NULL, ANY_ROWS, err, Q_TURN_TOUCH, s->writer, migration_count)))
        rc = ask_one(s->db, INTO(&number), err, Q_TURN_READ, s->writer);
    db_rollback(s->db);
    return rc ? rc : number == s->turn_number;
}

/* Sleeps longer with each call. A part of the time is random, so that many workers do not retry in
 * step. */
static void back_off(int64_t *wait)
{
    uint32_t r;

    env_random(&r, sizeof(r));
    clock_sleep_us(*wait / 2 + (int64_t)(r % (uint32_t)(*wait / 2 + 1)));
    *wait = *wait * 2 > MAX_BACKOFF ? MAX_BACKOFF : *wait * 2;
}

static bool is_retryable(int rc)
{
    return rc == -E_REDO || rc == -E_CONN_LOST || rc == -E_COMMIT_UNKNOWN;
}

static int turn_with_retries(struct store *s, enum turn_mode mode,
                             int (*body)(struct turn *, void *, struct err *), void *arg,
                             struct err *err)
{
    int64_t since = clock_boot_us(), pause = 2000;
    int redone = 0;
    bool unknown = false; /* whether a COMMIT got no answer, so that its outcome must be checked */
    int rc;

    for (;;) {
        if (unknown) {
            rc = turn_is_stored(s, err);
            if (rc == 1)
                return 0;
            if (rc == 0)
                unknown = false;
        }
        if (!unknown)
            rc = run_turn(s, mode, body, arg, err);
        if (rc == 0 || (!unknown && !is_retryable(rc)))
            return rc;
        if (mode == TURN_WAITING && rc == -E_REDO &&
            ++redone == 2) { /* another transaction still holds the lock */
            err->code = E_BUSY;
            return -E_BUSY;
        }
        unknown |= rc == -E_COMMIT_UNKNOWN && mode != TURN_LIGHT;
        if (s->env->redone)
            s->env->redone(s->env->arg, err->msg);
        if (s->env->note && (rc != -E_REDO || clock_boot_us() - since > QUIET_CONFLICTS))
            s->env->note(s->env->arg, err->msg);
        if (retry_time_is_over(s, since))
            break;
        back_off(&pause);
    }
    if (unknown) {
        err->code = E_COMMIT_UNKNOWN;
        return err_prefix(err,
                          "the answer to COMMIT was lost: the change may or may not be stored, "
                          "and the database can't be reached to find out");
    }
    err->code = E_UNAVAILABLE;
    return -E_UNAVAILABLE;
}

int store_run_turn(struct store *s, enum turn_mode mode,
                   int (*body)(struct turn *, void *, struct err *), void *arg, struct err *err)
{
    unsigned wake;

    TRY(turn_with_retries(s, mode, body, arg, err));
    s->partition_limit = s->turn.partition_limit;
    wake = s->turn.wake;
    /* On PostgreSQL, readers that follow events poll: waking them would cost a NOTIFY per turn. */
    if (!s->db->driver->one_writer && !(wake & ~(unsigned)(WAKE_EVENTS | WAKE_ENDS)))
        wake &= WAKE_ENDS;
    if (wake && s->wake)
        s->wake(s->wake_arg, wake);
    else if (wake)
        s->db->driver->wake(s->db, wake);
    return 0;
}

unsigned store_last_wake(const struct store *s)
{
    return s->turn.wake;
}

int store_next_due(struct store *s, struct next_due *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    TRY(ask_all(s, &now, err, ASKED(&r, Q_NEXT_DUE)));
    rows_read(&r, 0, 0, NULL, &out->timer, &out->schedule);
    out->wall = wall_time(s->db, now);
    out->submissions = !rows_null(&r, 0, 2);
    return 0;
}
