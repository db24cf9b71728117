/* workers.c - the rows of workers: which workers exist, when they started, and the capacity of
 * each. */
#include "base/json.h"
#include "store/operator.h"
#include "store/store_internal.h"

#include <jansson.h>
#include <string.h>

void serves_to_json(const struct lane_queue *serves, size_t n, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    json_write_begin(&w, '{');
    for (size_t i = 0; i < n; i++) {
        bool first = !i || strcmp(serves[i].lane, serves[i - 1].lane) != 0;

        if (first && i)
            json_write_end(&w, ']');
        if (first) {
            json_write_key(&w, serves[i].lane);
            json_write_begin(&w, '[');
        }
        json_write_text(&w, serves[i].queue);
    }
    if (n)
        json_write_end(&w, ']');
    json_write_end(&w, '}');
}

bool worker_serves(const struct worker *w, const char *lane, const char *queue)
{
    json_auto_t *all = w->serves ? json_loads(w->serves, 0, NULL) : NULL;
    const json_t *queues = json_object_get(all, lane);
    bool found = !all || (queues && !queue);

    for (size_t i = 0; i < json_array_size(queues) && !found; i++)
        found = !strcmp(json_string_value(json_array_get(queues, i)), queue);
    return found;
}

static int write_worker(struct turn *t, enum stmt_id q, const struct worker *w, struct err *err)
{
    TRY(turn_sync(t, err));
    TRY(db_queue(t->db, NULL, 1, err, Q_WORKER_HOST_WRITE, w->id, t->now, w->host));
    return db_queue(t->db, NULL, 1, err, q, w->id, t->now, w->pid, w->capacity, w->host, w->folder,
                    w->version, w->serves, w->executors, w->claim_ahead, val_or_null(w->drain.at),
                    w->drain.by, w->drain.reason);
}

int op_worker_register(struct turn *t, const struct worker *w, struct err *err)
{
    return write_worker(t, Q_WORKER_REGISTER, w, err);
}

int op_worker_unregister(struct turn *t, int64_t worker, struct err *err)
{
    TRY(turn_sync(t, err));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_WORKER_HOST_SEEN, worker, t->now));
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_WORKER_UNREGISTER, worker);
}

/* ---- draining ---- */

/* A foreground worker serves no queue until its tree exists, and then only the queue of that tree.
 * A worker that stops also serves no queue, but announces no executors either. */
bool worker_is_foreground(const struct worker *w)
{
    if (!w->serves)
        return false;
    return strstr(w->serves, "\"" QUEUE_FOREGROUND) ||
           (!strcmp(w->serves, "{}") && w->executors && strcmp(w->executors, "{}") != 0);
}

int op_worker_drain(struct turn *t, const struct drain_request *d, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    struct worker w = {.id = d->worker};

    TRY(ask(t, &r, err, Q_WORKER_SERVED, d->worker));
    if (!r.n)
        return err_set(err, E_NOT_FOUND, "there is no worker %016llx",
                       (unsigned long long)d->worker);
    rows_read(&r, 0, 0, &t->arena, &w.serves, &w.executors);
    if (worker_is_foreground(&w))
        return err_set(err, E_INVALID,
                       "the worker %016llx runs in the foreground, for `pawl run` or `pawl exec`, "
                       "and ends with its job",
                       (unsigned long long)d->worker);
    TRY(turn_sync(t, err));
    t->wake |= WAKE_CANCEL;
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_WORKER_DRAIN, d->worker, t->now, d->by,
                    d->reason);
}

int op_worker_drain_request(struct turn *t, int64_t worker, struct worker_drain *out,
                            struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    *out = (struct worker_drain){0};
    TRY(ask(t, &r, err, Q_WORKER_DRAIN_REQUEST, worker));
    if (r.n)
        rows_read(&r, 0, 0, &t->arena, &out->at, &out->by, &out->reason);
    return 0;
}

/* ---- heartbeats ---- */

static int read_tick(struct turn *t, int64_t worker, struct rows *out, struct err *err)
{
    return ask(t->db, out, err, Q_WORKER_TICK, worker, t->now, t->store->env->clock_offset);
}

int op_worker_tick(struct turn *t, const struct worker *w, struct tick *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    /* SQLite's clock is read without a statement; on PostgreSQL, Q_WORKER_TICK reads the clock
     * itself */
    if (t->db->driver->one_writer)
        TRY(turn_sync(t, err));
    TRY(read_tick(t, w->id, &r, err));
    /* The worker's row was removed after a long silence, as when the machine was suspended. */
    if (!r.n) {
        TRY(write_worker(t, Q_WORKER_REREGISTER, w, err));
        TRY(read_tick(t, w->id, &r, err));
    }
    rows_read(&r, 0, 0, NULL, &out->expired, &out->orphans, &out->next_timer, &out->now,
              &out->generation, &out->next_schedule, &out->waiting);
    out->submissions = !rows_null(&r, 0, 7);
    out->minimum_schema = rows_int(&r, 0, 8);
    out->drain = rows_int(&r, 0, 9) != 0;
    out->wall = wall_time(t->db, out->now);
    return 0;
}
