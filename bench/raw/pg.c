/* pg.c - see raw.h: libpq, in a pipeline, with binary arrays. */
#include "raw.h"
#include "store/pg_lib.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PGconn *pg;
static bool pg_prepared[Q_COUNT];
static int pg_open_results;

static const Oid scalar_oids[] = {
    [T_I64] = 20, [T_I32] = 23, [T_I16] = 21, [T_TEXT] = 25, [T_TIME] = 1184, [T_BYTES] = 17};
static const Oid array_oids[] = {[T_I64] = 1016,  [T_I32] = 1007,  [T_I16] = 1005,
                                 [T_TEXT] = 1009, [T_TIME] = 1185, [T_BYTES] = 1001};

struct bytes {
    char *at;
    size_t n, cap;
};

static void put(struct bytes *b, const void *p, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2;
        b->at = realloc(b->at, b->cap);
    }
    memcpy(b->at + b->n, p, n);
    b->n += n;
}

static void put32(struct bytes *b, int32_t v)
{
    uint32_t n = htonl((uint32_t)v);

    put(b, &n, 4);
}

static void put_value(struct bytes *b, unsigned char type, const struct val *v, bool with_length)
{
    uint64_t n64 = htobe64((uint64_t)(type == T_TIME ? v->i - 946684800000000LL : v->i));
    uint32_t n32 = htonl((uint32_t)v->i);
    uint16_t n16 = htons((uint16_t)v->i);
    const void *p = type == T_TEXT  ? (const void *)v->s
                    : type == T_I32 ? (const void *)&n32
                    : type == T_I16 ? (const void *)&n16
                                    : (const void *)&n64;
    size_t n = type == T_TEXT ? v->len : type == T_I32 ? 4 : type == T_I16 ? 2 : 8;

    if (with_length)
        put32(b, v->null ? -1 : (int32_t)n);
    if (!v->null)
        put(b, p, n);
}

static void pg_run(const struct args *a, int64_t *first_column)
{
    static struct bytes buffers[STMT_MAX_PARAMS];
    const struct stmt *s = a->stmt;
    int n = s->nscalars + s->nrows, i;
    size_t rows = s->nrows ? (a->vals.n - s->nscalars) / s->nrows : 0, r;
    const char *values[STMT_MAX_PARAMS];
    int lengths[STMT_MAX_PARAMS], formats[STMT_MAX_PARAMS];
    Oid oids[STMT_MAX_PARAMS];

    (void)first_column;
    for (i = 0; i < n; i++) {
        struct bytes *b = &buffers[i];
        bool scalar = i < s->nscalars;

        b->n = 0;
        oids[i] = scalar ? scalar_oids[s->types[i]] : array_oids[s->types[i]];
        if (scalar) {
            put_value(b, s->types[i], &a->vals.at[i], false);
        } else {
            put32(b, 1);
            put32(b, 1);
            put32(b, (int32_t)scalar_oids[s->types[i]]);
            put32(b, (int32_t)rows);
            put32(b, 1);
            for (r = 0; r < rows; r++)
                put_value(b, s->types[i],
                          &a->vals.at[s->nscalars + r * s->nrows + (size_t)(i - s->nscalars)],
                          true);
        }
        values[i] = b->at;
        lengths[i] = (int)b->n;
        formats[i] = 1;
    }
    if (!pg_prepared[s - statements]) {
        pg_prepared[s - statements] = true;
        pq.sendPrepare(pg, s->name, s->sql[DIALECT_POSTGRES], n, oids);
        pg_open_results++;
    }
    if (!pq.sendQueryPrepared(pg, s->name, n, values, lengths, formats, 1))
        raw_die(s->name, pq.errorMessage(pg));
    pg_open_results++;
}

static void pg_text(const char *sql)
{
    if (!pq.sendQueryParams(pg, sql, 0, NULL, NULL, NULL, NULL, 1))
        raw_die(sql, pq.errorMessage(pg));
    pg_open_results++;
}

static void pg_sync(int64_t *first_column)
{
    PGresult *res;
    int i, nulls;

    pq.pipelineSync(pg);
    while (pg_open_results) {
        res = pq.getResult(pg);
        if (!res)
            continue;
        if (pq.resultStatus(res) != PGRES_COMMAND_OK && pq.resultStatus(res) != PGRES_TUPLES_OK)
            raw_die("statement", pq.resultErrorMessage(res));
        for (i = 0; first_column && pq.nfields(res) > 4 && i < pq.ntuples(res); i++) {
            int64_t n;

            memcpy(&n, pq.getvalue(res, i, 0), 8);
            first_column[i] = (int64_t)be64toh((uint64_t)n);
        }
        pq.clear(res);
        pg_open_results--;
    }
    for (nulls = 0; nulls < 3;) { /* the sync's own result */
        res = pq.getResult(pg);
        if (res && pq.resultStatus(res) == PGRES_PIPELINE_SYNC) {
            pq.clear(res);
            return;
        }
        pq.clear(res);
        nulls += !res;
    }
}

static void pg_open(const char *url)
{
    const char *keys[] = {"dbname", NULL}, *values[] = {url, NULL};
    struct err err;

    if (pq_load(&err))
        raw_die(url, err.msg);
    pg = pq.connectStartParams(keys, values, 1);
    while (pq.connectPoll(pg) != PGRES_POLLING_OK && pq.status(pg) != CONNECTION_BAD)
        usleep(1000);
    if (pq.status(pg) != CONNECTION_OK)
        raw_die(url, pq.errorMessage(pg));
    pq.enterPipelineMode(pg);
}

static void pg_begin(void)
{
    pg_text("BEGIN");
    pg_text(
        "SELECT set_config('search_path', 'pawl', true), set_config('lock_timeout', '1s', true),"
        " set_config('statement_timeout', '10s', true), set_config('enable_seqscan', 'off', true),"
        " set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),"
        " set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)");
}

static void pg_commit(void)
{
    pg_text("COMMIT");
    pg_sync(NULL);
}

const struct raw_db raw_pg = {
    .open = pg_open, .begin = pg_begin, .run = pg_run, .sync = pg_sync, .commit = pg_commit};
