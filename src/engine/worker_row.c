/* worker_row.c - this worker's row in the database: registers it, announces the lanes that are
 * served, and removes it. */
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

/* The heartbeat thread may use a copy of the row that points to the old string, so the string is
 * freed only with the engine. */
static void set_served_lanes(struct engine *e, const char *serves, int capacity)
{
    pthread_mutex_lock(&e->heartbeat.lock);
    e->row.serves = serves;
    e->row.capacity = capacity;
    pthread_mutex_unlock(&e->heartbeat.lock);
}

/* Announces that we serve no lanes any more, so that readers know which workers could run a waiting
 * job. A failure must not delay the stop. */
static void announce_draining(struct engine *e)
{
    struct err ignored = ERR_INIT;

    if (!e->leased_jobs.n || !e->lanes_announced)
        return; /* the row is removed soon */
    e->lanes_announced = 0;
    set_served_lanes(e, "{}", e->row.capacity);
    if (worker_row_register(e, &ignored))
        ignored.code = E_NONE;
}

int worker_row_announce_lanes(struct engine *e, struct err *err)
{
    size_t n, i, k, q, lanes = 0;
    const struct lane_group *groups = dispatch_lane_groups(e->dispatch, &n);
    AUTO_BUF serves = BUF_INIT;
    int rc;

    AUTO_VEC(struct lane_queue) list = {0};

    if (e->stopping) {
        announce_draining(e);
        return 0;
    }
    for (i = 0; i < n; i++)
        lanes += groups[i].nlanes;
    if (lanes == e->lanes_announced)
        return 0;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            for (q = 0; q < e->own_queues; q++)
                *vec_add(&list) = (struct lane_queue){groups[i].lanes[k], e->queues.at[q]};
    serves_to_json(list.at, list.n, &serves);
    set_served_lanes(e, arena_strdup(&e->own, buf_cstr(&serves)),
                     dispatch_total_capacity(e->dispatch));
    if (!(rc = worker_row_register(e, err)))
        e->lanes_announced = lanes;
    return rc;
}

static int remove_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    const struct heartbeat *b = &e->heartbeat;
    int rc = op_add_counters(t, e->row.id, b->counters.at, b->counters.n, err);

    return rc ? rc : op_worker_unregister(t, e->row.id, err);
}

void worker_row_remove(struct engine *e)
{
    struct err ignored = ERR_INIT;

    metrics_collect(e);
    if (e->store && e->row.folder && e->last_tick &&
        store_turn(e->store, remove_body, e, &ignored)) /* else it is removed after a day */
        ignored.code = E_NONE;
}
