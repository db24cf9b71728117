/* pg.c - see raw.h: libpq, in a pipeline, with binary arrays. */
#include "raw.h"
#include "store/driver/postgres/batch.h"
#include "store/driver/postgres/codec.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PGconn *pg;
static bool pg_prepared[Q_COUNT];
static int pg_open_results;

/* Encoded as the driver does it, so that the server receives identical statements. */
static void pg_run_queued(const struct args *a, int64_t *first_column)
{
    static struct buf scratch = BUF_INIT;
    static struct pg_shapes shapes;
    const struct stmt *s = a->stmt;
    struct pg_shape *shape = pg_shape_for(&shapes, a);
    const char *name = shape ? shape->name : s->name;
    bool *prepared = shape ? &shape->prepared : &pg_prepared[s - statements];
    struct pg_params params;
    struct err err;

    (void)first_column;
    if (pg_encode(a, shape ? shape->same : 0, &scratch, &params, &err))
        raw_die(name, err.msg);
    if (!*prepared) {
        *prepared = true;
        pq.sendPrepare(pg, name, shape ? shape->sql : s->sql[DIALECT_POSTGRES], params.n,
                       params.types);
        pg_open_results++;
    }
    if (!pq.sendQueryPrepared(pg, name, params.n, params.values, params.lengths, params.formats, 1))
        raw_die(name, pq.errorMessage(pg));
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
            const char *place = pq.getvalue(res, i, pq.nfields(res) - 2);
            uint64_t n;
            uint32_t page;
            uint16_t at;

            memcpy(&n, pq.getvalue(res, i, 0), sizeof(n));
            first_column[i] = (int64_t)be64toh(n);
            memcpy(&page, place, sizeof(page));
            memcpy(&at, place + sizeof(page), sizeof(at));
            raw_outbox_ctids[i] = (int64_t)be32toh(page) << 16 | be16toh(at);
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
    .open = pg_open, .begin = pg_begin, .run = pg_run_queued, .sync = pg_sync, .commit = pg_commit};
