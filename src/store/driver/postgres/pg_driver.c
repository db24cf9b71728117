/* pg_driver.c - transactions on PostgreSQL, and the driver's table of functions.
 *
 * All session settings that a transaction needs are set inside it and only for it: behind a pooler
 * the next transaction may run in another session. BEGIN and the settings are queued, so they cost
 * no extra round trip. */
#include "store/driver/postgres/pg_db.h"

#include "store/driver/postgres/pg_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Settings of any transaction. The role ($5) is set only for a tenant, and only if the session has
 * another role. */
#define SET_ANY                                                                                  \
    "SELECT pg_catalog.set_config('search_path', $1, true),"                                     \
    " pg_catalog.set_config('lock_timeout', $2, true),"                                          \
    " pg_catalog.set_config('statement_timeout', $3, true),"                                     \
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $4, true),"                   \
    " CASE WHEN $5 OPERATOR(pg_catalog.<>) '' THEN pg_catalog.set_config('role', $5, true) END," \
    " pg_catalog.set_config('jit', 'off', true)"
#define SET_TYPES .nscalars = 5, .types = {T_TEXT, T_TEXT, T_TEXT, T_TEXT, T_TEXT}

/* Settings of the planner. The engine's statements must use indexes whatever the statistics say,
 * because a plan made while the tables are nearly empty is kept for the life of the connection. */
#define SET_PLANNER                                            \
    ", pg_catalog.set_config('enable_seqscan', 'off', true),"  \
    " pg_catalog.set_config('enable_hashjoin', 'off', true),"  \
    " pg_catalog.set_config('enable_mergejoin', 'off', true)," \
    " pg_catalog.set_config('enable_material', 'off', true),"  \
    " pg_catalog.set_config('enable_sort', 'off', true),"      \
    " pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true)"

/* Defines a statement of the driver. Its name is in upper case, so that no statement in a .sql file
 * has the same name. */
#define OWN(label, text) .name = label, .sql[DIALECT_POSTGRES] = text
const struct stmt pg_driver_stmt[OWN_COUNT] = {
    [OWN_START] = {OWN("START", "BEGIN ISOLATION LEVEL READ COMMITTED")},
    [OWN_START_READ] = {OWN("START READ", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")},
    [OWN_SET_ENGINE] = {OWN("BEGIN", SET_ANY SET_PLANNER), SET_TYPES},
    [OWN_SET_LONG] = {OWN("BEGIN", SET_ANY), SET_TYPES},
    [OWN_COMMIT] = {OWN("COMMIT", "COMMIT")},
    [OWN_ROLLBACK] = {OWN("ROLLBACK", "ROLLBACK")},
    [OWN_NOW] = {OWN("NOW", "SELECT pg_catalog.clock_timestamp()")},
};

/* How much longer than its statement_timeout the server may be silent. */
#define PATIENCE (15 * SECOND)

/* The settings of each kind of transaction. The connection counts as lost if the server sends
 * nothing for silence_us; 0 for no limit. */
static const struct kind {
    enum pg_driver_stmt start, set;
    const char *lock, *statement, *idle;
    int64_t silence_us;
} kinds[] = {
    [TX_WRITE] = {OWN_START, OWN_SET_ENGINE, "1s", "10s", "5s", 10 * SECOND + PATIENCE},
    [TX_READ] = {OWN_START_READ, OWN_SET_ENGINE, "1s", "60s", "5s", 60 * SECOND + PATIENCE},
    [TX_LONG] = {OWN_START, OWN_SET_LONG, "10s", "0", "60s", 0},
    [TX_VERIFY] = {OWN_START_READ, OWN_SET_LONG, "10s", "0", "60s", 0},
    [TX_CATALOG] = {OWN_START, OWN_SET_LONG, "10s", "0", "60s", 0},
};

/* The settings of the current transaction. With env->long_timeouts, the limits for locks and idle
 * time are 5 minutes, and so is the limit for a statement, if it has one. */
static struct kind kind_of(const struct pg_db *p)
{
    struct kind k = kinds[p->kind];

    if (p->db.env->long_timeouts) {
        k.lock = k.idle = "5min";
        k.statement = strcmp(k.statement, "0") ? "5min" : "0";
        k.silence_us = 0;
    }
    return k;
}

/* ---- the connection ---- */

static int connect_now(struct pg_db *p, struct err *err)
{
    int rc;

    pg_hub_stop_connecting(p); /* done first, so that two connections are never open at once */
    TRY(pg_connect(p->url, 0, &p->conn, &p->session, err));
    if (p->session.pooled)
        p->unnamed = true;
    if ((rc = pg_hub_connected(p, err))) {
        pg_drop_connection(p);
        return rc;
    }
    if (!pq.enterPipelineMode(p->conn)) {
        pg_drop_connection(p);
        return err_set(err, E_INTERNAL, "libpq refuses pipeline mode on %s", p->url->safe);
    }
    return 0;
}

int pg_reconnect(struct pg_db *p, struct err *err)
{
    if (p->conn && !pg_is_alive(p->conn))
        pg_drop_connection(p);
    return p->conn ? 0 : connect_now(p, err);
}

/* Reads the notifications first. Without this, notifications that libpq read with the result would
 * wait for the next transaction: their bytes are gone from the socket. */
void pg_resume_pipeline(struct pg_db *p, int rc)
{
    pg_hub_collect(p);
    if (rc == -E_CONN_LOST || !pq.enterPipelineMode(p->conn))
        pg_drop_connection(p);
}

int pg_run_simple(struct pg_db *p, const char *what, const char *sql, int64_t limit_us,
                  struct err *err)
{
    PGresult *last = NULL;
    int rc;

    if (!pq.exitPipelineMode(p->conn) || !pq.sendQuery(p->conn, sql)) {
        pg_set_lost_error(p->conn, err);
        pg_drop_connection(p);
        return -E_CONN_LOST;
    }
    rc = pg_finish_statement(p->conn, limit_us, what, p->url->safe, &last, err);
    pq.clear(last);
    pg_resume_pipeline(p, rc);
    return rc;
}

static void disconnect(struct db *db)
{
    if (db->in_tx)
        return;
    pg_drop_connection(pg_from_db(db));
    pg_hub_stop_connecting(pg_from_db(db));
}

/* Compares the number of sessions with the server's limit. Counts all sessions that use a database,
 * including a few that do not count against max_connections, such as those of autovacuum. At least
 * 3 connections of the server must be free. Behind a pooler an idle client needs no connection of
 * the server. */
static int check_scarcity(struct db *db, int parts, bool *scarce, struct err *err)
{
    static const char sql[] =
        "SELECT s.most - s.reserved - s.used < greatest(3, s.most / $1::int4) FROM (SELECT"
        " pg_catalog.current_setting('max_connections')::int4 AS most,"
        " pg_catalog.current_setting('superuser_reserved_connections')::int4"
        " + coalesce(pg_catalog.current_setting('reserved_connections', true), '0')::int4"
        " AS reserved, (SELECT pg_catalog.sum(d.numbackends) FROM pg_catalog.pg_stat_database d)"
        " AS used) AS s";
    struct pg_db *p = pg_from_db(db);
    PGresult *res = NULL;
    char text[12];
    const char *const values[] = {text};
    int rc;

    *scarce = false;
    snprintf(text, sizeof(text), "%d", parts);
    TRY(pg_reconnect(p, err));
    if (p->session.pooled)
        return 0;
    if (!pq.exitPipelineMode(p->conn) ||
        !pq.sendQueryParams(p->conn, sql, 1, NULL, values, NULL, NULL, 0)) {
        pg_set_lost_error(p->conn, err);
        pg_drop_connection(p);
        return -E_CONN_LOST;
    }
    if (!(rc = pg_finish_statement(p->conn, PATIENCE, "free connections", p->url->safe, &res, err)))
        *scarce = *pq.getvalue(res, 0, 0) == 't';
    pq.clear(res);
    pg_resume_pipeline(p, rc);
    return rc;
}

/* The last attempt to send deferred wake-ups, before the connection is closed. It also reconnects,
 * for some seconds at most. Wake-ups that still can't be sent are lost, which does no harm, because
 * listeners also poll. */
static void send_last_deferred(struct pg_db *p)
{
    struct err ignored = ERR_INIT;

    p->deferred_until = 0;
    if (p->deferred && !pg_reconnect(p, &ignored))
        pg_send_deferred(p);
}

static void close_db(struct db *db)
{
    struct pg_db *p = pg_from_db(db);

    send_last_deferred(p);
    pg_waker_close(&p->waker);
    pg_drop_connection(p);
    url_free(&p->url);
    vec_release(&p->queue);
    buf_release(&p->scratch);
    pg_shapes_release(&p->shapes);
    args_release(&p->own);
    free(p);
}

static int open_db(const struct db_url *url, struct env *env, struct db **out, struct err *err)
{
    struct pg_db *p = mem_zalloc(sizeof(*p));
    int rc;

    p->db.driver = &db_postgres;
    p->db.env = env;
    if (!(rc = url_parse(url->text, url->tenant, &p->url, err)))
        rc = connect_now(p, err);
    if (rc) {
        close_db(&p->db);
        return rc;
    }
    *out = &p->db;
    return 0;
}

/* ---- begin, commit, rollback ---- */

static int queue_own(struct pg_db *p, enum pg_driver_stmt which, struct pg_entry *e,
                     struct err *err)
{
    p->own.stmt = &pg_driver_stmt[which];
    e->kind = ENTRY_RUN;
    e->stmt = p->own.stmt;
    e->expect = ANY_ROWS;
    return pg_queue_stmt(p, &p->own, e, err);
}

static int queue_plain(struct pg_db *p, enum pg_driver_stmt which, struct err *err)
{
    struct pg_entry e = {0};

    p->own.vals.n = 0;
    return queue_own(p, which, &e, err);
}

/* Queues the settings of the transaction. The search path names pg_temp last, since it would
 * otherwise be searched first. */
static int queue_settings(struct pg_db *p, struct err *err)
{
    bool catalog = p->kind == TX_CATALOG;
    struct kind k = kind_of(p);
    struct pg_entry e = {0};
    char path[80];

    if (catalog)
        snprintf(path, sizeof(path), "pg_catalog, pg_temp");
    else
        snprintf(path, sizeof(path), "\"%s\", pg_temp", p->url->schema);
    p->own.vals.n = 0;
    args_row(&p->own, (const char *)path, k.lock, k.statement, k.idle,
             p->session.is_tenant || catalog ? "" : p->url->schema);
    return queue_own(p, k.set, &e, err);
}

static int begin(struct db *db, enum tx_kind kind, struct err *err)
{
    struct pg_db *p = pg_from_db(db);
    int rc = 0;

    if (db->in_tx)
        return err_set(err, E_INTERNAL, "a transaction was started inside another one");
    if ((rc = pg_reconnect(p, err))) {
        /* The server is restarting, or connections are scarce: the caller retries. */
        if (rc == -E_BUSY)
            err->code = E_CONN_LOST;
        return -(int)err->code;
    }
    pg_send_deferred(p);
    if (!p->conn)
        return err_set(err, E_CONN_LOST, "the connection to %s was lost", p->url->safe);
    p->kind = kind;
    p->commit = COMMIT_UNSENT;
    p->failed = (struct err)ERR_INIT;
    db->in_tx = true;
    if ((rc = queue_plain(p, kind_of(p).start, err)) || (rc = queue_settings(p, err)))
        db->in_tx = false;
    return rc;
}

/* Reads and discards all results that are still expected, because the caller may already have freed
 * the rows that they were meant for. */
static void discard_results(struct pg_db *p)
{
    struct err err = ERR_INIT;

    for (size_t i = 0; i < p->queue.n; i++) {
        p->queue.at[i].out = NULL;
        p->queue.at[i].now = NULL;
    }
    p->failed = (struct err)ERR_INIT;
    if (pg_run_queued(p, kind_of(p).silence_us, &err))
        p->failed = (struct err)ERR_INIT;
}

static void rollback(struct db *db)
{
    struct pg_db *p = pg_from_db(db);
    struct err err = ERR_INIT;

    if (!db->in_tx)
        return;
    discard_results(p);
    if (p->conn && (queue_plain(p, OWN_ROLLBACK, &err) || pg_run_queued(p, PATIENCE, &err)))
        pg_drop_connection(p);
    p->failed = (struct err)ERR_INIT;
    db->in_tx = false;
}

static int commit_queued(struct pg_db *p, struct err *err)
{
    int64_t silence_us = kind_of(p).silence_us;
    int rc = 0;

    /* COMMIT may be sent with the queued statements only if their results need no check here. */
    if (p->failed.code || pg_queue_has_checks(p))
        TRY(pg_run_queued(p, silence_us, err));
    /* Check the connection first: if it is lost before COMMIT is sent, the outcome is known. */
    if (!pg_is_alive(p->conn))
        return pg_lose_connection(p, "COMMIT", err);
    TRY(queue_plain(p, OWN_COMMIT, err));
    p->commit = COMMIT_SENT;
    rc = pg_run_queued(p, silence_us, err);
    /* The transaction is stored, even if the connection broke right after it. */
    if (p->commit == COMMIT_DONE)
        return 0;
    if (p->commit == COMMIT_SENT && !p->conn && p->kind != TX_READ && p->kind != TX_VERIFY)
        return err_set(
            err, E_COMMIT_UNKNOWN,
            "the connection to %s was lost before COMMIT was acknowledged: check in the database whether "
            "the change is stored",
            p->url->safe);
    return rc;
}

static int commit(struct db *db, struct err *err)
{
    int rc;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "commit was called outside a transaction");
    if ((rc = commit_queued(pg_from_db(db), err)))
        rollback(db);
    db->in_tx = false;
    return rc;
}

/* ---- statements ---- */

static int send(struct db *db, const struct args *a, struct rows *out, long expect, struct err *err)
{
    struct pg_entry e = {.kind = ENTRY_RUN, .stmt = a->stmt, .out = out, .expect = expect};

    if (a->stmt->nrows && !args_rows(a)) {
        if (out)
            rows_release(out);
        return 0;
    }
    return pg_queue_stmt(pg_from_db(db), a, &e, err);
}

static int flush(struct db *db, struct err *err)
{
    struct pg_db *p = pg_from_db(db);

    return pg_run_queued(p, kind_of(p).silence_us, err);
}

static int send_now(struct db *db, int64_t *us, struct err *err)
{
    struct pg_db *p = pg_from_db(db);
    struct pg_entry e = {.now = us};

    p->own.vals.n = 0;
    return queue_own(p, OWN_NOW, &e, err);
}

/* Runs a string of statements. Uses the simple query protocol, the only one that accepts several
 * statements in one string. */
static int run_script(struct pg_db *p, const char *sql, struct err *err)
{
    PGresult *last = NULL;
    int rc;

    if (!pq.exitPipelineMode(p->conn) || !pq.sendQuery(p->conn, sql))
        return pg_lose_connection(p, "script", err);
    rc = pg_finish_statement(p->conn, kind_of(p).silence_us, "script", p->url->safe, &last, err);
    pq.clear(last);
    if (rc == -E_CONN_LOST || !pq.enterPipelineMode(p->conn))
        pg_drop_connection(p);
    else if (!rc && pq.transactionStatus(p->conn) != PQTRANS_INTRANS)
        rc = err_set(err, E_INTERNAL, "a script ended the transaction in which it ran");
    return rc ? pg_keep_first_error(p, err) : 0;
}

static int script(struct db *db, const char *sql, struct err *err)
{
    struct pg_db *p = pg_from_db(db);
    int64_t since;
    int rc = 0;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "a script was sent outside a transaction");
    TRY(flush(db, err));
    since = clock_boot_us();
    rc = run_script(p, sql, err);
    pg_trace(p, "script", &since, 0);
    return rc;
}

const struct db_driver db_postgres = {
    .name = "postgres",
    .dialect = DIALECT_POSTGRES,
    .open = open_db,
    .close = close_db,
    .begin = begin,
    .send = send,
    .flush = flush,
    .commit = commit,
    .rollback = rollback,
    .send_now = send_now,
    .script = script,
    .wake = pg_wake,
    .notify = pg_notify,
    .listen = pg_listen,
    .listen_on = pg_listen_on,
    .disconnect = disconnect,
    .check_scarcity = check_scarcity,
};
