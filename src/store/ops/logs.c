/* logs.c - stores the output of attempts, in chunks while they run; query/log_pages.c reads it.
 *
 * Writes are fenced by the lease, and readers use the highest epoch of an attempt, so a chunk that
 * a worker sends while it loses its lease is never shown (docs/adr/0028). */
#include "store/turn.h"

#include <stdlib.h>
#include <zstd.h>

#define ZSTD_LEVEL 3

/* Pushes a row with the bytes compressed, or unchanged if that is smaller. */
static void push_chunk(struct turn *t, ZSTD_CCtx *zstd, const struct log_chunk *c, size_t at,
                       size_t len)
{
    size_t bound = ZSTD_compressBound(len), packed = len;
    char *compressed = arena_alloc(&t->arena, bound);

    if (zstd)
        packed = ZSTD_compressCCtx(zstd, compressed, bound, c->bytes + at, len, ZSTD_LEVEL);
    args_int(&t->args, c->lease.execution);
    args_int(&t->args, c->attempt);
    args_int(&t->args, c->lease.epoch);
    args_int(&t->args, c->offset + (int64_t)at);
    args_int(&t->args, (int64_t)len);
    args_int(&t->args, c->dropped);
    if (!ZSTD_isError(packed) && packed < len) {
        args_int(&t->args, 1);
        args_bytes(&t->args, compressed, packed);
    } else {
        args_int(&t->args, 0);
        args_bytes(&t->args, c->bytes + at, len);
    }
}

static int send_delete_old_epochs(struct turn *t, int64_t worker, const struct log_chunk *list,
                                  size_t n, struct err *err)
{
    size_t i;

    args_begin(&t->args, Q_LOG_DELETE_OLD_EPOCHS);
    args_int(&t->args, worker);
    for (i = 0; i < n; i++)
        if (!list[i].offset) {
            args_int(&t->args, list[i].lease.execution);
            args_int(&t->args, list[i].attempt);
            args_int(&t->args, list[i].lease.epoch);
        }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int send_truncate(struct turn *t, int64_t worker, const struct log_chunk *list, size_t n,
                         struct err *err)
{
    size_t i;

    args_begin(&t->args, Q_LOG_TRUNCATE);
    args_int(&t->args, worker);
    for (i = 0; i < n; i++) {
        args_int(&t->args, list[i].lease.execution);
        args_int(&t->args, list[i].attempt);
        args_int(&t->args, list[i].lease.epoch);
        args_int(&t->args, list[i].offset);
    }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int send_chunks(struct turn *t, int64_t worker, const struct log_chunk *list, size_t n,
                       struct err *err)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx(); /* NULL if out of memory: nothing is compressed */
    size_t i, at, len;

    args_begin(&t->args, Q_LOG_INSERT);
    args_int(&t->args, worker);
    for (i = 0; i < n; i++)
        for (at = 0; at < list[i].len; at += len) {
            len = list[i].len - at;
            if (len > STORE_MAX_LOG_CHUNK)
                len = STORE_MAX_LOG_CHUNK;
            push_chunk(t, zstd, &list[i], at, len);
        }
    ZSTD_freeCCtx(zstd);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

/* Sets the rc of each chunk: 0 if its lease is still held, else -E_LEASE_LOST. */
static int fetch_leased(struct turn *t, int64_t worker, struct log_chunk *list, size_t n,
                        struct err *err)
{
    struct idmap held = IDMAP_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&t->args, Q_LOG_LEASES);
    args_int(&t->args, worker);
    for (i = 0; i < n; i++) {
        args_int(&t->args, list[i].lease.execution);
        args_int(&t->args, list[i].lease.epoch);
    }
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        idmap_put(&held, rows_int(&r, i, 0), &r.cells[i * r.ncols]);
    for (i = 0; i < n; i++) {
        const struct val *v = idmap_get(&held, list[i].lease.execution);

        list[i].lease.rc = v && v[1].i == list[i].lease.epoch ? 0 : -E_LEASE_LOST;
    }
done:
    idmap_release(&held);
    rows_release(&r);
    return rc;
}

int op_store_logs(struct turn *t, int64_t worker, struct log_chunk *list, size_t n, struct err *err)
{
    int rc;

    if (!n)
        return 0;
    if ((rc = send_delete_old_epochs(t, worker, list, n, err)) ||
        (rc = send_truncate(t, worker, list, n, err)) ||
        (rc = send_chunks(t, worker, list, n, err)))
        return rc;
    return fetch_leased(t, worker, list, n, err);
}
