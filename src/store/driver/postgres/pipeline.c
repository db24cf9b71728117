/* pipeline.c - sends statements without waiting for the results of earlier ones (libpq's pipeline
 * mode), so a turn costs one round trip per flush. Results arrive in order; after an error the
 * server skips everything up to the next sync. */
#include "store/driver/postgres/pg_db.h"

#include "store/driver/postgres/codec.h"
#include "store/driver/postgres/pg_errors.h"

#include <stdlib.h>
#include <string.h>

/* ---- sending ---- */

/* The statement's index in `prepared`, or -1 if the server must parse it each time: behind a
 * pooler, because the next transaction may run in a session where it is not prepared; in a TX_LONG,
 * TX_VERIFY or TX_CATALOG, because the engine would inherit plans made under other planner
 * settings; and if it is in neither table of statements. */
static int name_index(const struct pg_db *p, const struct stmt *stmt)
{
    uintptr_t at = (uintptr_t)stmt;

    if (p->unnamed || p->kind == TX_LONG || p->kind == TX_VERIFY || p->kind == TX_CATALOG)
        return -1;
    if (at >= (uintptr_t)statements && at < (uintptr_t)(statements + Q_COUNT))
        return (int)(stmt - statements);
    if (at >= (uintptr_t)pg_driver_stmt && at < (uintptr_t)(pg_driver_stmt + OWN_COUNT))
        return Q_COUNT + (int)(stmt - pg_driver_stmt);
    return -1;
}

static bool send_statement(struct pg_db *p, const struct stmt *stmt, struct pg_shape *shape,
                           const struct pg_params *params)
{
    const char *sql = shape ? shape->sql : stmt->sql[DIALECT_POSTGRES];
    const char *name = shape ? shape->name : stmt->name;
    int index = name_index(p, stmt);
    bool *prepared = shape ? &shape->prepared : index >= 0 ? &p->prepared[index] : NULL;

    if (index < 0)
        return pq.sendQueryParams(p->conn, sql, params->n, params->types, params->values,
                                  params->lengths, params->formats, 1);
    if (!*prepared) {
        if (!pq.sendPrepare(p->conn, name, sql, params->n, params->types))
            return false;
        *prepared = true;
        *vec_add(&p->queue) =
            (struct pg_entry){.kind = ENTRY_PREPARE, .stmt = stmt, .shape = shape};
    }
    return pq.sendQueryPrepared(p->conn, name, params->n, params->values, params->lengths,
                                params->formats, 1);
}

/* Sets the error if libpq refused to send, because the connection is gone or the arguments are
 * invalid. */
static int set_send_error(struct pg_db *p, const char *what, struct err *err)
{
    const char *message = pq.errorMessage(p->conn);

    if (pq.status(p->conn) != CONNECTION_OK)
        return pg_lose_connection(p, what, err);
    err_set(err, E_INTERNAL, "the statement %s can't be sent to %s: %.*s", what, p->url->safe,
            (int)strcspn(message, "\n"), message);
    pg_drop_connection(p); /* drop the connection: part of the message may have been sent */
    return pg_keep_first_error(p, err);
}

int pg_queue_stmt(struct pg_db *p, const struct args *a, const struct pg_entry *e, struct err *err)
{
    const struct stmt *stmt = a->stmt;
    struct pg_params params;
    struct pg_shape *shape;

    if (p->failed.code)
        return pg_keep_first_error(p, err);
    if (!p->db.in_tx)
        return err_set(err, E_INTERNAL, "statement %s was sent outside a transaction", stmt->name);
    if (!stmt->sql[DIALECT_POSTGRES]) {
        err_set(err, E_INTERNAL, "%s has no text for PostgreSQL", stmt->name);
        return pg_keep_first_error(p, err);
    }
    shape = pg_shape_for(&p->shapes, a);
    if (pg_encode(a, shape ? shape->same : 0, &p->scratch, &params, err))
        return pg_keep_first_error(p, err);
    if (!send_statement(p, stmt, shape, &params))
        return set_send_error(p, stmt->name, err);
    *vec_add(&p->queue) = *e;
    return 0;
}

bool pg_queue_has_checks(const struct pg_db *p)
{
    for (size_t i = 0; i < p->queue.n; i++) {
        const struct pg_entry *e = &p->queue.at[i];

        if (e->kind == ENTRY_RUN && (e->out || e->now || e->expect != ANY_ROWS))
            return true;
    }
    return false;
}

/* ---- reading results ---- */

int pg_keep_first_error(struct pg_db *p, struct err *err)
{
    if (!p->failed.code)
        p->failed = *err;
    else if (&p->failed != err)
        *err = p->failed;
    return -(int)p->failed.code;
}

void pg_trace(const struct pg_db *p, const char *what, int64_t *since, long rows)
{
    const struct env *env = p->db.env;
    int64_t now;

    if (!env->trace)
        return;
    now = clock_boot_us();
    env->trace(env->arg, what, now - *since, rows);
    *since = now;
}

static const char *entry_name(const struct pg_entry *e)
{
    return e->kind == ENTRY_SYNC ? "sync" : e->stmt->name;
}

static bool is_own(const struct pg_entry *e, enum pg_driver_stmt which)
{
    return e->stmt == &pg_driver_stmt[which];
}

/* Handles the result of COMMIT. The command tag of the result is ROLLBACK if the transaction had
 * failed before. */
static void handle_commit(struct pg_db *p, const PGresult *res)
{
    struct err err = ERR_INIT;

    if (strcmp(pq.cmdStatus((PGresult *)res), "COMMIT") == 0) {
        p->commit = COMMIT_DONE;
        return;
    }
    p->commit = COMMIT_REFUSED;
    err_set(&err, E_INTERNAL,
            "COMMIT on %s was refused: the transaction had failed before and was rolled back",
            p->url->safe);
    pg_keep_first_error(p, &err);
}

/* Handles a statement that succeeded. Returns the number of rows that it changed or returned; res
 * is freed or owned by e->out afterwards. */
static long handle_success(struct pg_db *p, const struct pg_entry *e, PGresult *res)
{
    long n = pq.resultStatus(res) == PGRES_TUPLES_OK ? pq.ntuples(res) : atol(pq.cmdTuples(res));
    struct rows now = ROWS_INIT, *out = e->now ? &now : e->out;
    struct err err = ERR_INIT;
    bool kept = false;

    if (is_own(e, OWN_COMMIT))
        handle_commit(p, res);
    if (e->expect != ANY_ROWS && n != e->expect) {
        err_set(&err, E_INTERNAL,
                "%s on %s changed %ld rows instead of %ld: a condition of the "
                "statement refused the change",
                e->stmt->name, p->url->safe, n, e->expect);
        pg_keep_first_error(p, &err);
    } else if (out && !p->failed.code) {
        kept = pg_decode(res, e->stmt, out, &err) == 0;
        if (!kept)
            pg_keep_first_error(p, &err);
        else if (e->now)
            *e->now = rows_int(out, 0, 0);
    }
    if (!kept)
        pq.clear(res);
    rows_release(&now);
    return n;
}

/* Whether the error means that prepared statements don't work. The session does not have Pawl's
 * statements, or has others under the same names (an undetected pooler), or a migration changed the
 * columns of a statement. */
static bool is_prepared_stmt_error(const char *state)
{
    return strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0 ||
           strcmp(state, "0A000") == 0;
}

static void handle_error(struct pg_db *p, const struct pg_entry *e, const PGresult *res)
{
    struct err err = ERR_INIT;
    const char *state = pg_sqlstate(res);

    if (p->commit == COMMIT_SENT && *state && pg_proves_rollback(res))
        p->commit = COMMIT_REFUSED;
    if (is_prepared_stmt_error(state) && e->stmt && name_index(p, e->stmt) >= 0) {
        p->unnamed = true;
        err_set(&err, E_REDO,
                "%s on %s: the prepared statement can't be used (SQLSTATE %s); from now on "
                "statements are sent unprepared",
                entry_name(e), p->url->safe, state);
    } else {
        pg_set_stmt_error(res, entry_name(e), p->url->safe, &err);
    }
    pg_keep_first_error(p, &err);
}

static void forget_prepared(struct pg_db *p, const struct pg_entry *e)
{
    int index = e->kind == ENTRY_PREPARE ? name_index(p, e->stmt) : -1;

    if (e->shape)
        e->shape->prepared = false;
    else if (index >= 0)
        p->prepared[index] = false;
}

/* Handles one result of an entry; afterwards, res is freed or owned by e->out. Returns false if the
 * connection is lost. */
static bool handle_result(struct pg_db *p, const struct pg_entry *e, PGresult *res, int64_t *since)
{
    ExecStatusType status = pq.resultStatus(res);
    bool alive = true;

    if (e->kind == ENTRY_RUN && (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)) {
        long n = handle_success(p, e, res);

        /* BEGIN is traced together with the settings that follow it. */
        if (!is_own(e, OWN_START) && !is_own(e, OWN_START_READ))
            pg_trace(p, e->stmt->name, since, n);
        return true;
    }
    if (status == PGRES_PIPELINE_ABORTED) {
        forget_prepared(p, e);
    } else if (status != PGRES_COMMAND_OK && status != PGRES_PIPELINE_SYNC) {
        forget_prepared(p, e);
        handle_error(p, e, res);
        alive = *pg_sqlstate(res) != '\0';
    }
    pq.clear(res);
    return alive;
}

/* Reads all results of an entry, up to the NULL that ends them, or the result of the sync. Returns
 * false if the connection is lost or its results don't match the queue. */
static bool read_entry(struct pg_db *p, const struct pg_entry *e, int64_t limit_us, int64_t *since)
{
    struct err err = ERR_INIT;
    bool answered = false;
    PGresult *res;

    for (;;) {
        if (pg_wait_result(p->conn, limit_us, &res, &err)) {
            err_prefix(&err, "%s on %s", entry_name(e), p->url->safe);
            pg_keep_first_error(p, &err);
            return false;
        }
        if (!res)
            return answered;
        answered = true;
        if (pq.resultStatus(res) == PGRES_PIPELINE_SYNC || e->kind == ENTRY_SYNC) {
            bool is_expected = pq.resultStatus(res) == PGRES_PIPELINE_SYNC && e->kind == ENTRY_SYNC;

            return handle_result(p, e, res, since) && is_expected;
        }
        if (!handle_result(p, e, res, since))
            return false;
    }
}

int pg_run_queued(struct pg_db *p, int64_t limit_us, struct err *err)
{
    int64_t since = p->db.env->trace ? clock_boot_us() : 0;
    bool alive = true;

    if (p->queue.n) {
        if (!pq.pipelineSync(p->conn))
            return set_send_error(p, "sync", err);
        *vec_add(&p->queue) = (struct pg_entry){.kind = ENTRY_SYNC};
        for (size_t i = 0; i < p->queue.n && alive; i++)
            alive = read_entry(p, &p->queue.at[i], limit_us, &since);
        p->queue.n = 0;
        pg_hub_collect(p);
    }
    if (!alive)
        return pg_lose_connection(p, "flush", err);
    return p->failed.code ? pg_keep_first_error(p, err) : 0;
}

int pg_lose_connection(struct pg_db *p, const char *what, struct err *err)
{
    pg_set_lost_error(p->conn, err);
    err_prefix(err, "%s on %s", what, p->url->safe);
    pg_drop_connection(p);
    return pg_keep_first_error(p, err);
}

void pg_drop_connection(struct pg_db *p)
{
    pg_close(&p->conn);
    pg_hub_lost(p);
    p->queue.n = 0;
    memset(p->prepared, 0, sizeof(p->prepared));
    pg_shapes_forget(&p->shapes);
}
