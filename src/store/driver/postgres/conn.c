/* conn.c - one connection to a PostgreSQL server; see conn.h. */
#include "store/driver/postgres/conn.h"

#include "base/env.h"
#include "store/driver/postgres/pg_errors.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_SECONDS "5"
#define OLDEST_SERVER   130000

/* ---- waiting ---- */

/* Waits until the socket is ready for one of `events` or the connection ends. False if the deadline
 * passes first. */
static bool wait_for(PGconn *conn, short events, int64_t deadline)
{
    struct pollfd p = {.fd = pq.socket(conn), .events = events};

    for (;;) {
        int64_t left = deadline - clock_boot_us();
        int n = poll(&p, 1, left <= 0 ? 0 : left > 60 * SECOND ? 60000 : (int)(left / 1000) + 1);

        if (n > 0 || (n < 0 && errno != EINTR))
            return true;
        if (left <= 0)
            return false;
    }
}

static int64_t deadline_in(int64_t limit_us)
{
    return limit_us ? clock_boot_us() + limit_us : INT64_MAX;
}

/* Reads the pending input. With TLS, reads twice, because one read may not return the whole TLS
 * record, and poll does not report the rest of the record. */
static bool read_input(PGconn *conn)
{
    return pq.consumeInput(conn) && (!pq.sslInUse(conn) || pq.consumeInput(conn));
}

bool pg_is_alive(PGconn *conn)
{
    while (pq.status(conn) == CONNECTION_OK && wait_for(conn, POLLIN, 0))
        if (!read_input(conn))
            return false;
    return pq.status(conn) == CONNECTION_OK;
}

int pg_wait_result(PGconn *conn, int64_t limit_us, PGresult **out, struct err *err)
{
    /* Also read while there is something to write: a server that can't send its results stops
     * reading our statements. A lost connection ends the loop without an error because results that
     * arrived before the loss can still be read. */
    while (pq.status(conn) == CONNECTION_OK && pq.isBusy(conn)) {
        short events = pq.flush(conn) == 1 ? POLLIN | POLLOUT : POLLIN;

        if (!wait_for(conn, events, deadline_in(limit_us)))
            return err_set(err, E_CONN_LOST, "the server did not answer for %d s",
                           (int)(limit_us / SECOND));
        if (!read_input(conn) && pq.status(conn) == CONNECTION_OK)
            return pg_set_lost_error(conn, err);
    }
    *out = pq.getResult(conn);
    return 0;
}

int pg_finish_statement(PGconn *conn, int64_t limit_us, const char *what, const char *safe,
                        PGresult **last, struct err *err)
{
    PGresult *res = NULL;
    int rc = 0;

    *last = NULL;
    for (;;) {
        ExecStatusType status;

        if (pg_wait_result(conn, limit_us, &res, err)) {
            rc = err_prefix(err, "%s on %s", what, safe);
            break;
        }
        if (!res)
            break;
        status = pq.resultStatus(res);
        if (!rc && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            rc = pg_set_stmt_error(res, what, safe, err);
        pq.clear(*last);
        *last = res;
    }
    if (!rc && !*last) {
        pg_set_lost_error(conn, err);
        rc = err_prefix(err, "%s on %s", what, safe);
    }
    if (rc) {
        pq.clear(*last);
        *last = NULL;
    }
    return rc;
}

/* ---- connecting ---- */

static void ignore_notice(void *arg, const PGresult *res)
{
    (void)arg;
    (void)res;
}

PGconn *pg_connect_start(const struct db_url *url)
{
    /* dbname contains the URL, which overrides the keys before it. Poolers accept these keys; all
     * other settings are made in each transaction. */
    static const char *const keys[] = {
        "application_name", "connect_timeout",     "tcp_user_timeout",
        "keepalives_idle",  "keepalives_interval", "keepalives_count",
        "dbname",           "client_encoding",     NULL};
    const char *const values[] = {"pawl", CONNECT_SECONDS, "10000", "10", "5",
                                  "3",    url->text,       "UTF8",  NULL};
    PGconn *conn = pq.connectStartParams(keys, values, 1);

    if (conn) {
        pq.setErrorVerbosity(conn, PQERRORS_VERBOSE); /* for pg_set_connect_error */
        pq.setNoticeReceiver(conn, ignore_notice, NULL);
    }
    return conn;
}

enum pg_step pg_connect_step(PGconn *conn)
{
    if (pq.status(conn) == CONNECTION_BAD)
        return PG_FAILED;
    switch (pq.connectPoll(conn)) {
    case PGRES_POLLING_OK:
        return pq.setnonblocking(conn, 1) ? PG_FAILED : PG_UP;
    case PGRES_POLLING_READING:
        return PG_READS;
    case PGRES_POLLING_WRITING:
        return PG_WRITES;
    default:
        return PG_FAILED;
    }
}

void pg_close(PGconn **conn)
{
    if (*conn)
        pq.finish(*conn);
    *conn = NULL;
}

/* The time limit for connecting. In the asynchronous API, libpq leaves the limit to the caller. If
 * the URL names several hosts, libpq continues with the next one after tcp_user_timeout, so the
 * limit must leave time for that. */
static int64_t connect_limit(PGconn *conn)
{
    PQconninfoOption *options = pq.conninfo(conn), *o;
    int64_t seconds = 0, more_hosts = 0;

    for (o = options; o && o->keyword; o++) {
        const char *p = o->val;

        if (p && strcmp(o->keyword, "connect_timeout") == 0)
            seconds = atol(p);
        if (p && strcmp(o->keyword, "host") == 0)
            for (; *p; p++)
                more_hosts += *p == ',';
    }
    pq.conninfoFree(options);
    return seconds <= 0 ? 0 : (seconds + 10 * more_hosts) * SECOND;
}

static int finish_connecting(PGconn *conn, int64_t limit_us, const char *safe, struct err *err)
{
    int64_t deadline = deadline_in(limit_us);
    enum pg_step step = PG_WRITES; /* libpq requires that the first wait is for writing */

    for (;;) {
        if (step == PG_FAILED || pq.status(conn) == CONNECTION_BAD)
            return pg_set_connect_error(conn, safe, err);
        if (step == PG_UP)
            return 0;
        if (!wait_for(conn, step == PG_WRITES ? POLLOUT : POLLIN, deadline))
            return err_set(err, E_CONN_LOST,
                           "can't reach PostgreSQL at %s: it did not answer for %d s", safe,
                           (int)(limit_us / SECOND));
        step = pg_connect_step(conn);
    }
}

#define EQUALS  " OPERATOR(pg_catalog.=) "
#define EXCEEDS " OPERATOR(pg_catalog.>) "
/* A server notices a client that disappeared silently (a partition, a pulled cable) only by
 * keepalives, which Linux sends after two hours, or by data that is not acknowledged, after about
 * 15 minutes; until then the session keeps its connection. With these values, the server ends the
 * session after a minute. Lower values that the server or the URL sets are kept. Over a Unix
 * socket, where the values are 0, nothing is set. */
#define SET_KEEPALIVES                                                                        \
    "(SELECT pg_catalog.count(pg_catalog.set_config(k.name, k.most::pg_catalog.text, false))" \
    " FROM (VALUES ('tcp_keepalives_interval', 10), ('tcp_keepalives_count', 3),"             \
    " ('tcp_user_timeout', 60000), ('tcp_keepalives_idle', 30)) AS k (name, most)"            \
    " WHERE pg_catalog.current_setting('tcp_keepalives_idle')::pg_catalog.int4" EXCEEDS "0"   \
    " AND (pg_catalog.current_setting(k.name)::pg_catalog.int4" EQUALS "0"                    \
    " OR pg_catalog.current_setting(k.name)::pg_catalog.int4" EXCEEDS "k.most))"

const char pg_keepalives_sql[] = "SELECT " SET_KEEPALIVES ";";

/* Reads the facts about the session. Runs a single statement, because a pooler may run each
 * statement in another session. */
static int read_session(PGconn *conn, const struct db_url *url, int64_t limit_us,
                        struct pg_session *session, struct err *err)
{
    /* The statement does not use pg_roles: planning that view takes longer than the rest of the
     * statement. */
    static const char sql[] =
        "SELECT pg_catalog.pg_backend_pid(),"
        " session_user" EQUALS "$1,"
        " pg_catalog.to_regrole(pg_catalog.quote_ident($1)) IS NOT NULL,"
        /* set keepalives only if the session is not a pooler's */
        " CASE WHEN pg_catalog.pg_backend_pid()" EQUALS "$2 THEN " SET_KEEPALIVES " END";
    static const Oid types[] = {19 /* name */, 23 /* int4 */};
    char own_pid[12];
    const char *const values[] = {url->schema, own_pid};
    PGresult *res = NULL;
    uint32_t pid;
    bool role_exists;

    snprintf(own_pid, sizeof(own_pid), "%d", pq.backendPID(conn));
    if (!pq.sendQueryParams(conn, sql, 2, types, values, NULL, NULL, 1))
        return pg_set_lost_error(conn, err);
    TRY(pg_finish_statement(conn, limit_us, "connecting", url->safe, &res, err));
    memcpy(&pid, pq.getvalue(res, 0, 0), sizeof(pid));
    session->pooled = be32toh(pid) != (uint32_t)pq.backendPID(conn);
    session->is_tenant = !url->tenant || *pq.getvalue(res, 0, 1);
    role_exists = *pq.getvalue(res, 0, 2);
    pq.clear(res);
    if (!session->is_tenant && !role_exists)
        return err_set(err, E_NOT_FOUND,
                       "there is no tenant '%s' in %s, because the role %s does not exist: `pawl "
                       "admin tenant create %s` creates it",
                       url->tenant, url->safe, url->schema, url->tenant);
    return 0;
}

int pg_connect(const struct db_url *url, int64_t limit_us, PGconn **out, struct pg_session *session,
               struct err *err)
{
    PGconn *conn = NULL;
    int version, rc = 0;

    TRY(pq_load(err));
    conn = pg_connect_start(url);
    if (!conn)
        return err_set(err, E_UNAVAILABLE, "there is not enough memory to connect to %s",
                       url->safe);
    if (!limit_us)
        limit_us = connect_limit(conn);
    if ((rc = finish_connecting(conn, limit_us, url->safe, err)))
        goto done;
    version = pq.serverVersion(conn);
    if (version < OLDEST_SERVER) {
        rc = err_set(err, E_UNAVAILABLE, "PostgreSQL at %s is version %d: Pawl needs %d or newer",
                     url->safe, version / 10000, OLDEST_SERVER / 10000);
        goto done;
    }
    if ((rc = read_session(conn, url, limit_us, session, err)))
        goto done;
    *out = conn;
    conn = NULL;
done:
    pg_close(&conn);
    return rc;
}
