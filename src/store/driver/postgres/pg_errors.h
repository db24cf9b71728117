/* pg_errors.h - PostgreSQL's refusals in our words: the code says what the caller may do, the
 * sentence what people can. No sentence ever holds a password: they name the server by url->safe.
 */
#ifndef STORE_DRIVER_POSTGRES_PG_ERRORS_H
#define STORE_DRIVER_POSTGRES_PG_ERRORS_H

#include "store/driver/postgres/libpq.h"

#include <stdbool.h>

/* A statement that failed; `what` is its name. Returns -code; E_CONN_LOST if libpq has lost the
 * server. */
int pg_set_stmt_error(const PGresult *res, const char *what, const char *safe, struct err *err);

/* What libpq says about a connection that broke: E_CONN_LOST. */
int pg_set_lost_error(PGconn *conn, struct err *err);

/* A connection that did not come about. E_CONN_LOST: it may later; E_UNAVAILABLE: not before
 * somebody changes something. */
int pg_set_connect_error(PGconn *conn, const char *safe, struct err *err);

/* The error's SQLSTATE, "" if it was libpq that failed, not the server. */
const char *pg_sqlstate(const PGresult *res);

/* The server said this about a statement in a transaction, so it rolled that back, and no COMMIT
 * that follows in the pipeline was run. Not of a fatal error: a pooler in between reports a lost
 * server in that way, whatever it had forwarded already. */
bool pg_proves_rollback(const PGresult *res);

#endif
