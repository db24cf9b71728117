/* logs.c - stores the output of attempts, in chunks while they run; query/log_pages.c reads it.
 *
 * Writes are fenced by the lease, and readers use the highest epoch of an attempt, so a chunk that
 * a worker sends while it loses its lease is never shown (docs/adr/0028). */
#include "store/turn.h"

#include <stdlib.h>
#include <zstd.h>

#define ZSTD_LEVEL 3

/* Pushes a row with the bytes of a chunk, compressed if that makes them smaller. */
static void push_chunk(struct turn *t, ZSTD_CCtx *zstd, const struct log_chunk *c, size_t at,
                       size_t len)
{
    size_t bound = ZSTD_compressBound(len), packed = len;
    char *compressed = arena_alloc(&t->arena, bound);

    if (zstd)
        packed = ZSTD_compressCCtx(zstd, compressed, bound, c->bytes + at, len, ZSTD_LEVEL);
    args_row(&t->args, c->lease.execution, c->attempt, c->lease.epoch, c->offset + (int64_t)at, len,
             c->dropped);
    if (!ZSTD_isError(packed) && packed < len) {
        args_row(&t->args, 1, val_bytes(compressed, packed));
    } else {
        args_row(&t->args, 0, val_bytes(c->bytes + at, len));
    }
}

static int send_delete_old_epochs(struct turn *t, int64_t worker, const struct log_chunk *list,
                                  size_t n, struct err *err)
{
    args_begin(&t->args, Q_LOG_DELETE_OLD_EPOCHS, worker);
    for (size_t i = 0; i < n; i++)
        if (!list[i].offset)
            args_row(&t->args, list[i].lease.execution, list[i].attempt, list[i].lease.epoch);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int send_truncate(struct turn *t, int64_t worker, const struct log_chunk *list, size_t n,
                         struct err *err)
{
    args_begin(&t->args, Q_LOG_TRUNCATE, worker);
    for (size_t i = 0; i < n; i++)
        args_row(&t->args, list[i].lease.execution, list[i].attempt, list[i].lease.epoch,
                 list[i].offset);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int send_chunks(struct turn *t, int64_t worker, const struct log_chunk *list, size_t n,
                       struct err *err)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx(); /* NULL if out of memory; then nothing is compressed */
    size_t i, at, len;

    args_begin(&t->args, Q_LOG_INSERT, worker);
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

/* Sets the rc of each chunk: 0 if the worker still holds the attempt's lease, else
 * -E_LEASE_LOST. */
static int fetch_leased(struct turn *t, int64_t worker, struct log_chunk *list, size_t n,
                        struct err *err)
{
    AUTO_IDMAP held = IDMAP_INIT;
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_LOG_LEASES, worker);
    for (size_t i = 0; i < n; i++)
        args_row(&t->args, list[i].lease.execution, list[i].lease.epoch);
    TRY(turn_query(t, &t->args, &r, err));
    rows_index(&r, &held);
    for (size_t i = 0; i < n; i++) {
        const struct val *v = idmap_get(&held, list[i].lease.execution);

        list[i].lease.rc = v && v[1].i == list[i].lease.epoch ? 0 : -E_LEASE_LOST;
    }
    return 0;
}

int op_store_logs(struct turn *t, int64_t worker, struct log_chunk *list, size_t n, struct err *err)
{
    if (!n)
        return 0;
    TRY(send_delete_old_epochs(t, worker, list, n, err));
    TRY(send_truncate(t, worker, list, n, err));
    TRY(send_chunks(t, worker, list, n, err));
    return fetch_leased(t, worker, list, n, err);
}
