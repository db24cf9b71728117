/* raw.c - the yardstick of lives.c: the same statements with the same arguments in the same four
 * transactions, straight through sqlite3 and libpq, with nothing decided, checked or remembered in
 * between.
 *
 *   raw URL BATCH CONNECTIONS JOBS
 *
 * The schema must be there (lives makes it). One process; several connections are several
 * processes. */
#include "store/pg_lib.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <endian.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_IDS 5000

static sqlite3 *lite;
static sqlite3_stmt *lite_stmts[Q_COUNT];
static PGconn *pg;
static bool pg_prepared[Q_COUNT];
static int pg_open_results;
static int64_t ids[MAX_IDS];

static void die(const char *what, const char *why)
{
    fprintf(stderr, "raw: %s: %s\n", what, why);
    exit(1);
}

/* ---- sqlite3 ---- */

static void lite_exec(const char *sql)
{
    if (sqlite3_exec(lite, sql, NULL, NULL, NULL))
        die(sql, sqlite3_errmsg(lite));
}

static void lite_bind(sqlite3_stmt *st, const struct stmt *s, const struct val *v, int from, int n)
{
    int i;

    for (i = 0; i < n; i++, v++) {
        unsigned char type = s->types[from + i];

        if (v->null)
            sqlite3_bind_null(st, from + i + 1);
        else if (type == T_TEXT)
            sqlite3_bind_text(st, from + i + 1, v->s, (int)v->len, SQLITE_STATIC);
        else
            sqlite3_bind_int64(st, from + i + 1, v->i);
    }
}

static void lite_run(const struct args *a, int64_t *first_column)
{
    const struct stmt *s = a->stmt;
    sqlite3_stmt **st = &lite_stmts[s - statements];
    size_t rows = s->nrows ? (a->vals.n - s->nscalars) / s->nrows : 1, r, got = 0;
    int rc;

    if (!*st &&
        sqlite3_prepare_v3(lite, s->sql[DIALECT_SQLITE], -1, SQLITE_PREPARE_PERSISTENT, st, NULL))
        die(s->name, sqlite3_errmsg(lite));
    lite_bind(*st, s, a->vals.at, 0, s->nscalars);
    for (r = 0; r < rows; r++) {
        lite_bind(*st, s, a->vals.at + s->nscalars + r * s->nrows, s->nscalars, s->nrows);
        while ((rc = sqlite3_step(*st)) == SQLITE_ROW)
            if (first_column)
                first_column[got++] = sqlite3_column_int64(*st, 0);
        if (rc != SQLITE_DONE)
            die(s->name, sqlite3_errmsg(lite));
        sqlite3_reset(*st);
    }
}

/* ---- libpq ---- */

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

static void pg_run(const struct args *a)
{
    static struct bytes buffers[STMT_MAX_PARAMS];
    const struct stmt *s = a->stmt;
    int n = s->nscalars + s->nrows, i;
    size_t rows = s->nrows ? (a->vals.n - s->nscalars) / s->nrows : 0, r;
    const char *values[STMT_MAX_PARAMS];
    int lengths[STMT_MAX_PARAMS], formats[STMT_MAX_PARAMS];
    Oid oids[STMT_MAX_PARAMS];

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
        die(s->name, pq.errorMessage(pg));
    pg_open_results++;
}

static void pg_text(const char *sql)
{
    if (!pq.sendQueryParams(pg, sql, 0, NULL, NULL, NULL, NULL, 1))
        die(sql, pq.errorMessage(pg));
    pg_open_results++;
}

/* Reads everything that is under way; the first column of the last result that has rows. */
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
            die("statement", pq.resultErrorMessage(res));
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

/* ---- the three transactions ---- */

static void begin(void)
{
    if (lite) {
        lite_exec("BEGIN IMMEDIATE");
        return;
    }
    pg_text("BEGIN");
    pg_text(
        "SELECT set_config('search_path', 'pawl', true), set_config('lock_timeout', '1s', true),"
        " set_config('statement_timeout', '10s', true), set_config('enable_seqscan', 'off', true),"
        " set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),"
        " set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)");
}

static void run(const struct args *a, int64_t *first_column)
{
    if (lite)
        lite_run(a, first_column);
    else
        pg_run(a);
}

static void commit(void)
{
    if (lite) {
        lite_exec("COMMIT");
        return;
    }
    pg_text("COMMIT");
    pg_sync(NULL);
}

static int64_t sequence;
static const int64_t started = 1760000000000000LL;

static void event(struct args *a, int64_t id, int seq, int type, int from, int to, const char *data)
{
    args_int_or_null(a, lite ? ++sequence : 0);
    args_int(a, id);
    args_int(a, id);
    args_int(a, started);
    args_int_or_null(a, seq > 2 ? 7 : 0);
    args_int(a, seq);
    args_int(a, seq > 2);
    args_int(a, seq > 2);
    args_int(a, type);
    args_int(a, from);
    args_int(a, to);
    args_text(a, data);
}

static void number(struct args *a, int64_t writer, int64_t turn)
{
    args_begin(a, Q_TURN_WRITE);
    args_int(a, writer);
    args_int(a, turn);
    args_int(a, started);
    args_int(a, 0);
    run(a, NULL);
}

static void count(struct args *a, int64_t writer, const char *queue, int64_t ready, int64_t running)
{
    args_begin(a, Q_COUNTER_ADD);
    args_int(a, writer);
    args_text(a, queue);
    args_int(a, ready);
    args_int(a, 0);
    args_int(a, running);
    run(a, NULL);
}

static void submit(struct args *a, size_t n, const char *queue)
{
    size_t i, k;

    args_begin(a, Q_TAKE_IDS);
    args_int(a, (int64_t)n);
    if (lite) {
        run(a, ids);
        for (i = 1; i < n; i++)
            ids[i] = ids[0] + (int64_t)i;
    } else {
        pg_text(
            "SELECT i, 0, 0, 0, 0 FROM (SELECT nextval('execution_id') i FROM generate_series(1, 0)) x");
        run(a, NULL);
        pg_sync(NULL);
        for (i = 0; i < n; i++)
            ids[i] = ids[MAX_IDS - 1] + 1 + (int64_t)i;
        ids[MAX_IDS - 1] = ids[n - 1];
    }
    args_begin(a, Q_EXECUTION_INSERT);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_null(a);
        args_int(a, ids[i]);
        args_null(a);
        args_null(a);
        args_int(a, started);
        args_null(a);
        args_null(a);
        args_int(a, started);
        for (k = 0; k < 6; k++)
            args_int(a, k == 4 ? 2 : k == 2); /* priority, attempts, max, epoch, seq, needs */
        args_null(a);
        args_int(a, 0);
        args_int(a, 0);
        args_int(a, KIND_EXEC);
        args_int(a, S_READY);
        for (k = 0; k < 4; k++)
            args_int(a, 0);
        args_text(a, "exec::noop");
        args_text(a, queue);
        args_text(a, "process");
        for (k = 0; k < 3; k++)
            args_null(a);
        args_text(a, "{\"argv\":[\"true\"]}");
        for (k = 0; k < 3; k++)
            args_null(a); /* result, error, spec */
    }
    run(a, NULL);
    args_begin(a, Q_OUTBOX_INSERT);
    for (i = 0; i < n; i++) {
        args_text(a, "process");
        args_text(a, queue);
        args_int(a, 0);
        args_int(a, ids[i]);
        args_int(a, started);
        args_null(a);
    }
    run(a, NULL);
    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < n; i++) {
        event(a, ids[i], 1, EV_CREATED, 0, S_PENDING, NULL);
        event(a, ids[i], 2, EV_MARKED_READY, S_PENDING, S_READY, NULL);
    }
    run(a, NULL);
}

static void update(struct args *a, enum stmt_id q, size_t n, int seq, int status)
{
    size_t i, k;

    args_begin(a, q);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_int(a, q == Q_EXECUTION_OUTCOME ? seq - 2 : seq - 1);
        args_int(a, started);
        args_int_or_null(a, status == S_SUCCEEDED ? started : 0);
        args_int(a, started);
        args_int(a, 1);
        args_int(a, 1);
        args_int(a, 1);
        args_int(a, seq);
        args_int(a, 0);
        args_int(a, 0);
        args_int(a, status);
        for (k = 0; k < 4; k++)
            args_int(a, 0);
        args_null(a);
        if (q == Q_EXECUTION_OUTCOME) {
            args_null(a);
            args_null(a);
        }
    }
    run(a, NULL);
}

static void claim(struct args *a, size_t n, const char *queue)
{
    size_t i;

    args_begin(a, Q_CLAIM);
    args_int(a, (int64_t)n);
    args_text(a, "process");
    args_text(a, queue);
    run(a, ids);
    if (pg)
        pg_sync(ids);
    update(a, Q_EXECUTION_UPDATE, n, 3, S_RUNNING);
    args_begin(a, Q_OUTBOX_DELETE);
    for (i = 0; i < n; i++) {
        args_text(a, "process");
        args_text(a, queue);
        args_int(a, 0);
        args_int(a, ids[i]);
    }
    run(a, NULL);
    args_begin(a, Q_LEASE_INSERT);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_int(a, 1);
        args_int(a, 7);
        args_int(a, started);
        args_text(a, "bench");
    }
    run(a, NULL);
    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < n; i++)
        event(a, ids[i], 3, EV_CLAIMED, S_READY, S_RUNNING, NULL);
    run(a, NULL);
}

static void load(struct args *a, size_t n)
{
    size_t i;

    args_begin(a, Q_LOAD);
    for (i = 0; i < n; i++)
        args_int(a, ids[i]);
    run(a, NULL);
    if (pg)
        pg_sync(NULL);
}

static void end_events(struct args *a, size_t n)
{
    size_t i;

    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < n; i++) {
        event(a, ids[i], 4, EV_STARTED, S_RUNNING, S_RUNNING, "{\"ago_us\":3}");
        event(a, ids[i], 5, EV_COMPLETED, S_RUNNING, S_SUCCEEDED,
              "{\"outcome\":\"ok\",\"exit_code\":0,\"duration_us\":10}");
    }
    run(a, NULL);
}

static void live(struct args *a, size_t n, const char *queue, int64_t writer, int64_t *turn)
{
    size_t i;

    begin();
    number(a, writer, ++*turn);
    submit(a, n, queue);
    count(a, writer, queue, (int64_t)n, 0);
    commit();
    begin();
    number(a, writer, ++*turn);
    claim(a, n, queue);
    count(a, writer, queue, -(int64_t)n, (int64_t)n);
    commit();
    begin();
    number(a, writer, ++*turn);
    load(a, n);
    update(a, Q_EXECUTION_OUTCOME, n, 5, S_SUCCEEDED);
    args_begin(a, Q_LEASE_DELETE);
    for (i = 0; i < n; i++) {
        args_int(a, ids[i]);
        args_int(a, 1);
    }
    run(a, NULL);
    end_events(a, n);
    count(a, writer, queue, 0, -(int64_t)n);
    commit();
}

static void open_connection(const char *url, int connection)
{
    struct err err;

    if (!strncmp(url, "sqlite:", 7)) {
        if (sqlite3_open(url + 7, &lite))
            die(url, "can't open");
        lite_exec(
            "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-65536;"
            "PRAGMA temp_store=MEMORY; DELETE FROM task_outbox");
        sequence = 1000000000;
        return;
    }
    if (pq_load(&err))
        die(url, err.msg);
    {
        const char *keys[] = {"dbname", NULL}, *values[] = {url, NULL};

        pg = pq.connectStartParams(keys, values, 1);
        while (pq.connectPoll(pg) != PGRES_POLLING_OK && pq.status(pg) != CONNECTION_BAD)
            usleep(1000);
    }
    if (pq.status(pg) != CONNECTION_OK)
        die(url, pq.errorMessage(pg));
    pq.enterPipelineMode(pg);
    /* ids of its own, within the partitions that are there */
    ids[MAX_IDS - 1] = 1000000 + connection * 600000;
}

static void work(const char *url, size_t batch, size_t jobs, int connection, int ready, int go)
{
    struct args a = ARGS_INIT;
    char queue[32], c = 0;
    int64_t turn = 0;
    size_t done;

    snprintf(queue, sizeof(queue), "raw%d", connection);
    open_connection(url, connection);
    if (write(ready, &c, 1) != 1 || read(go, &c, 1) < 0)
        exit(1);
    for (done = 0; done < jobs; done += batch)
        live(&a, batch, queue, 100 + connection, &turn);
    args_release(&a);
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int ready[2], go[2], i, status, failed = 0, connections;
    size_t batch, jobs;
    double took;
    char c;

    if (argc != 5) {
        fprintf(stderr, "usage: raw URL BATCH CONNECTIONS JOBS\n");
        return 2;
    }
    batch = strtoul(argv[2], NULL, 10);
    connections = (int)strtol(argv[3], NULL, 10);
    jobs = connections > 0 && batch
               ? strtoul(argv[4], NULL, 10) / (size_t)connections / batch * batch
               : 0;
    if (!jobs) {
        fprintf(stderr, "raw: JOBS must be BATCH times CONNECTIONS at least\n");
        return 2;
    }
    if (batch >= MAX_IDS || pipe(ready) || pipe(go))
        return 1;
    for (i = 0; i < connections; i++)
        if (fork() == 0) {
            close(go[1]);
            work(argv[1], batch, jobs, i, ready[1], go[0]);
            exit(0);
        }
    for (i = 0; i < connections; i++)
        if (read(ready[0], &c, 1) != 1)
            return 1;
    took = now();
    close(go[1]);
    close(go[0]);
    for (i = 0; i < connections; i++) {
        wait(&status);
        failed |= status;
    }
    took = now() - took;
    printf(
        "{\"what\":\"raw\",\"batch\":%zu,\"connections\":%d,\"jobs\":%zu,\"seconds\":%.3f,\"lives_per_s\":%.0f}\n",
        batch, connections, jobs * (size_t)connections, took,
        (double)(jobs * (size_t)connections) / took);
    return failed != 0;
}
