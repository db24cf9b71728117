/* workers.c - the rows of workers: which workers exist, since when, and the capacity of each. */
#include "base/json.h"
#include "store/store_internal.h"

#include <jansson.h>
#include <string.h>

void serves_to_json(const struct lane_queue *serves, size_t n, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    size_t i;

    json_write_begin(&w, '{');
    for (i = 0; i < n; i++) {
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
    json_t *all = w->serves ? json_loads(w->serves, 0, NULL) : NULL;
    const json_t *queues = json_object_get(all, lane);
    bool found = !all || (queues && !queue);
    size_t i;

    for (i = 0; i < json_array_size(queues) && !found; i++)
        found = !strcmp(json_string_value(json_array_get(queues, i)), queue);
    json_decref(all);
    return found;
}

static int write_worker(struct turn *t, enum stmt_id q, const struct worker *w, struct err *err)
{
    int rc;

    if ((rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, q);
    args_int(&t->args, w->id);
    args_int(&t->args, t->now);
    args_int(&t->args, w->pid);
    args_int(&t->args, w->capacity);
    args_text(&t->args, w->host);
    args_text(&t->args, w->folder);
    args_text(&t->args, w->version);
    args_text(&t->args, w->serves);
    return db_send(t->db, &t->args, NULL, 1, err);
}

int op_worker_register(struct turn *t, const struct worker *w, struct err *err)
{
    return write_worker(t, Q_WORKER_REGISTER, w, err);
}

int op_worker_unregister(struct turn *t, int64_t worker, struct err *err)
{
    int rc;

    if ((rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, Q_WORKER_UNREGISTER);
    args_int(&t->args, worker);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int read_tick(struct turn *t, int64_t worker, struct rows *out, struct err *err)
{
    args_begin(&t->args, Q_WORKER_TICK);
    args_int(&t->args, worker);
    args_int(&t->args, t->now);
    args_int(&t->args, t->store->env->clock_offset);
    return db_query(t->db, &t->args, out, err);
}

int op_worker_tick(struct turn *t, const struct worker *w, struct tick *out, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    /* reading SQLite's clock needs no statement; on PostgreSQL, Q_WORKER_TICK reads the clock
     * itself */
    if (t->db->driver->one_writer && (rc = turn_sync(t, err)))
        return rc;
    if ((rc = read_tick(t, w->id, &r, err)))
        goto done;
    if (!r.n) { /* its row was removed after a long silence, e.g. the machine was suspended */
        rows_release(&r);
        if ((rc = write_worker(t, Q_WORKER_REREGISTER, w, err)) ||
            (rc = read_tick(t, w->id, &r, err)))
            goto done;
    }
    *out = (struct tick){.expired = rows_int(&r, 0, 0),
                         .orphans = rows_int(&r, 0, 1),
                         .next_timer = rows_int(&r, 0, 2),
                         .now = rows_int(&r, 0, 3),
                         .generation = rows_int(&r, 0, 4),
                         .next_schedule = rows_int(&r, 0, 5),
                         .waiting = rows_int(&r, 0, 6) != 0,
                         .submissions = !rows_null(&r, 0, 7)};
    out->wall = wall_time(t->db, out->now);
done:
    rows_release(&r);
    return rc;
}
