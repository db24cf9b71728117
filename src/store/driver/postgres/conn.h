/* conn.h - one connection to a PostgreSQL server: making it, waiting for it, losing it. Knows
 * nothing of transactions or of named statements.
 *
 * A connection is non-blocking, and every wait has an end: a server that has vanished without a
 * word (a pulled cable, a stopped machine) must not take us with it. */
#ifndef STORE_DRIVER_POSTGRES_CONN_H
#define STORE_DRIVER_POSTGRES_CONN_H

#include "store/driver/postgres/libpq.h"
#include "store/driver/url.h"

#include <stdbool.h>
#include <stdint.h>

#define SECOND 1000000

/* What the server says about us, once we are in. */
struct pg_session {
    bool pooled;    /* a pooler lies in between: each transaction may run in another session */
    bool is_tenant; /* we are connected as the tenant's own role, or there is no tenant */
};

/* Connects, asks for the session and checks the server's version. With limit_us 0 the URL's
 * connect_timeout says how long that may take, 5 s if it says nothing. E_CONN_LOST: the server
 * can't be reached now; E_UNAVAILABLE: nor later, unless somebody does something; E_NOT_FOUND: the
 * tenant. */
MUST_USE int pg_connect(const struct db_url *url, int64_t limit_us, PGconn **out,
                        struct pg_session *session, struct err *err);

/* The same without waiting, for those who poll: start once, then step whenever the socket may have
 * become ready, until it is UP (and nothing asked of the server yet) or FAILED. */
enum pg_step { PG_UP, PG_READS, PG_WRITES, PG_FAILED };
PGconn *pg_connect_start(const struct db_url *url);
enum pg_step pg_connect_step(PGconn *conn);

void pg_close(PGconn **conn);

/* True unless the server is known to have left. Reads what came unasked; never waits. */
bool pg_is_alive(PGconn *conn);

/* Waits for the next result, NULL at a statement's end, as PQgetResult. E_CONN_LOST: the server
 * said nothing for limit_us (0: wait for ever). A lost connection shows as a result without an
 * SQLSTATE, or as none at all. */
MUST_USE int pg_wait_result(PGconn *conn, int64_t limit_us, PGresult **out, struct err *err);

/* Ends a statement outside of pipeline mode: reads its results to the last. Refused: as
 * pg_set_stmt_error.
 */
MUST_USE int pg_finish_statement(PGconn *conn, int64_t limit_us, const char *what, const char *safe,
                                 PGresult **last, struct err *err);

#endif
