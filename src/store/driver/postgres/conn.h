/* conn.h - one connection to a PostgreSQL server: connect, wait for results, detect the loss of the
 * connection. This module must not know about transactions and named statements.
 *
 * A connection is non-blocking, and waits have a time limit: a server that disappears silently (a
 * pulled cable, a stopped machine) must not block Pawl. */
#ifndef STORE_DRIVER_POSTGRES_CONN_H
#define STORE_DRIVER_POSTGRES_CONN_H

#include "store/driver/postgres/libpq.h"
#include "store/driver/url.h"

#include <stdbool.h>
#include <stdint.h>

#define SECOND 1000000

/* Facts about a session, read from the server after connecting. */
struct pg_session {
    /* Whether a pooler is in between: each transaction may run in another session. */
    bool pooled;
    bool is_tenant; /* whether the session's role is the tenant's own role, or there is no tenant */
};

/* Connects, checks the server's version, reads the session and makes the server detect a client
 * that disappeared (keepalives). If limit_us is 0, the time limit is the URL's connect_timeout, 5 s
 * by default. -E_CONN_LOST: the server can't be reached; -E_BUSY: the server can be reached, but is
 * not accepting connections, because all are in use or it is starting; -E_UNAVAILABLE: retrying
 * does not help until someone fixes the cause; -E_NOT_FOUND: there is no such tenant. */
MUST_USE int pg_connect(const struct db_url *url, int64_t limit_us, PGconn **out,
                        struct pg_session *session, struct err *err);

/* Connects without waiting, for callers that poll: call pg_connect_start once, then pg_connect_step
 * whenever the socket may be ready, until the result is PG_UP or PG_FAILED. PG_UP means that the
 * connection is established; neither the server's version nor the session has been checked. */
enum pg_step { PG_UP, PG_READS, PG_WRITES, PG_FAILED };
/* A statement without parameters that makes the server detect a lost client (keepalives), for
 * callers of pg_connect_step. It must run in a session that is not a pooler's. */
extern const char pg_keepalives_sql[];
PGconn *pg_connect_start(const struct db_url *url);
enum pg_step pg_connect_step(PGconn *conn);

void pg_close(PGconn **conn);

/* False if the server is known to have closed the connection. Reads pending input; never waits. */
bool pg_is_alive(PGconn *conn);

/* Waits for the next result; *out is NULL at the end of a statement, as with PQgetResult.
 * -E_CONN_LOST if the server sent nothing for limit_us (0 for no limit). A lost connection appears
 * as a result without an SQLSTATE, or as no result at all. */
MUST_USE int pg_wait_result(PGconn *conn, int64_t limit_us, PGresult **out, struct err *err);

/* Finishes a statement outside pipeline mode: reads all its results and returns the last one. If
 * the statement failed, the error is that of pg_set_stmt_error. */
MUST_USE int pg_finish_statement(PGconn *conn, int64_t limit_us, const char *what, const char *safe,
                                 PGresult **last, struct err *err);

#endif
