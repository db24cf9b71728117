/* hello.c - what a worker's row says: who we are, what we serve, and that we go. */
#include "engine/internal.h"

#include <stdlib.h>

static int hello_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    int64_t from = engine_now(e);
    int rc = op_worker_hello(t, &e->row, err);

    if (!rc)
        db_clock_told(e, turn_now(t), from, engine_now(e));
    return rc;
}

int worker_hello(struct engine *e, struct err *err)
{
    return store_turn(e->store, hello_body, e, err);
}

/* The heartbeat's thread copies the row, and may be using a copy with the old text: so that stays,
 * for as long as the engine does. */
static void set_row(struct engine *e, const char *serves, int room)
{
    pthread_mutex_lock(&e->beat.lock);
    e->row.serves = serves;
    e->row.room = room;
    pthread_mutex_unlock(&e->beat.lock);
}

/* Who waits for what we have served must not believe that we still do. That nobody hears it is no
 * reason to go on. */
static void say_draining(struct engine *e)
{
    struct err ignored = ERR_INIT;

    if (!e->held.n || !e->lanes_told)
        return; /* goodbye comes at once */
    e->lanes_told = 0;
    set_row(e, "{}", e->row.room);
    if (worker_hello(e, &ignored))
        ignored.code = E_NONE;
}

int worker_serve(struct engine *e, struct err *err)
{
    size_t n, i, k, q, lanes = 0;
    const struct lane_group *groups = dispatch_lanes(e->dispatch, &n);
    struct buf serves = BUF_INIT;
    int rc;

    VEC(struct lane_queue) list = {0};

    if (e->stopping) {
        say_draining(e);
        return 0;
    }
    for (i = 0; i < n; i++)
        lanes += groups[i].nlanes;
    if (lanes == e->lanes_told)
        return 0;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            for (q = 0; q < e->own_queues; q++)
                *vec_add(&list) = (struct lane_queue){groups[i].lanes[k], e->queues.at[q]};
    serves_json(list.at, list.n, &serves);
    set_row(e, arena_strdup(&e->own, buf_cstr(&serves)), dispatch_capacity(e->dispatch));
    if (!(rc = worker_hello(e, err)))
        e->lanes_told = lanes;
    buf_release(&serves);
    vec_release(&list);
    return rc;
}

/* With what was counted since the last heartbeat. */
static int bye_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    const struct beat *b = &e->beat;
    int rc = op_counters(t, e->row.id, b->counters.at, b->counters.n, err);

    return rc ? rc : op_worker_bye(t, e->row.id, err);
}

void worker_bye(struct engine *e)
{
    struct err ignored = ERR_INIT;

    tally_collect(e);
    if (e->store && e->row.folder && e->last_tick &&
        store_turn(e->store, bye_body, e, &ignored)) /* else its row goes after a day */
        ignored.code = E_NONE;
}
