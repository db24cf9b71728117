/* worker_row.c - this worker's row in the database: registers it, announces the lanes that are
 * served, and removes it. */
#include "base/json.h"
#include "engine/engine_internal.h"

static int register_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    int64_t from = engine_now(e);
    int rc = op_worker_register(t, &e->row, err);

    if (!rc)
        db_clock_observe(e, turn_now(t), from, engine_now(e));
    return rc;
}

int worker_row_register(struct engine *e, struct err *err)
{
    return store_turn(e->store, register_body, e, err);
}

/* Sets the lanes that this worker serves, and its capacity; NULL for none, while the worker is
 * stopping. The heartbeat thread may use a copy of the row that points to the old strings, so they
 * are freed only with the engine. */
static void set_served_lanes(struct engine *e, const char *serves, const char *executors)
{
    pthread_mutex_lock(&e->heartbeat.lock);
    if (serves)
        e->row.capacity = dispatch_total_capacity(e->dispatch, &e->row.claim_ahead);
    e->row.serves = serves ? serves : "{}";
    e->row.executors = executors ? executors : "{}";
    pthread_mutex_unlock(&e->heartbeat.lock);
}

/* Announces that this worker no longer serves any lane, so that readers know which workers could
 * run a waiting job. A failure must not delay the stop. */
static void announce_stopping(struct engine *e)
{
    struct err ignored = ERR_INIT;

    if (!e->leased_jobs.n || !e->lanes_announced)
        return; /* without jobs, the stop removes the row soon */
    e->lanes_announced = 0;
    set_served_lanes(e, NULL, NULL);
    if (worker_row_register(e, &ignored))
        ignored.code = E_NONE;
}

static void set_drain_request(struct engine *e, struct worker_drain d)
{
    pthread_mutex_lock(&e->heartbeat.lock);
    e->row.drain = d;
    pthread_mutex_unlock(&e->heartbeat.lock);
}

static int drain_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    struct worker_drain found;

    TRY(op_worker_drain_request(t, e->row.id, &found, err));
    /* 0 if the row was removed meanwhile: it is inserted again */
    found.at = found.at ? found.at : turn_now(t);
    found.by = arena_strdup(&e->own, found.by);
    found.reason = arena_strdup(&e->own, found.reason);
    set_drain_request(e, found);
    return register_body(t, arg, err);
}

/* Reads who requests the drain, and announces that this worker no longer serves any lane. A later
 * step tries again if the database can't be reached. */
static int announce_draining(struct engine *e, struct err *err)
{
    int rc;

    if (e->row.drain.at)
        return 0;
    e->lanes_announced = 0;
    set_served_lanes(e, NULL, NULL);
    if (!(rc = store_turn(e->store, drain_body, e, err)))
        return 0;
    set_drain_request(e, (struct worker_drain){0});
    engine_note(e, err->msg);
    return is_transient(rc) ? 0 : rc;
}

/* Writes how many jobs each executor may hold: {"process": 4}. */
static const char *executors_json(struct engine *e, const struct lane_group *groups, size_t n)
{
    AUTO_BUF b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    for (size_t i = 0; i < n; i++) {
        json_write_key(&w, groups[i].executor);
        json_write_i64(&w, dispatch_executor_capacity(e->dispatch, i));
    }
    json_write_end(&w, '}');
    return arena_strdup(&e->own, buf_cstr(&b));
}

int worker_row_announce_lanes(struct engine *e, struct err *err)
{
    size_t n, i, k, q, lanes = 0;
    const struct lane_group *groups = dispatch_lane_groups(e->dispatch, &n);
    AUTO_BUF serves = BUF_INIT;
    int rc;

    AUTO_VEC(struct lane_queue) list = {0};

    if (e->stopping) {
        announce_stopping(e);
        return 0;
    }
    if (e->draining)
        return announce_draining(e, err);
    for (i = 0; i < n; i++)
        lanes += groups[i].nlanes;
    if (lanes == e->lanes_announced)
        return 0;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            for (q = 0; q < e->own_queues; q++)
                *vec_add(&list) = (struct lane_queue){groups[i].lanes[k], e->queues.at[q]};
    serves_to_json(list.at, list.n, &serves);
    set_served_lanes(e, arena_strdup(&e->own, buf_cstr(&serves)), executors_json(e, groups, n));
    if (!(rc = worker_row_register(e, err)))
        e->lanes_announced = lanes;
    return rc;
}

static int remove_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;

    return op_worker_unregister(t, e->row.id, err);
}

void worker_row_remove(struct engine *e)
{
    struct err ignored = ERR_INIT;

    if (e->store && e->row.folder && e->last_tick &&
        store_turn(e->store, remove_body, e, &ignored)) /* if this fails, another worker removes the
                                                           row after a day */
        ignored.code = E_NONE;
}
