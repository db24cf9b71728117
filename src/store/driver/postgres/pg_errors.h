/* pg_errors.h - translates PostgreSQL's errors into an error_code, which decides what the caller
 * does, and a message with advice for the user. No message contains a password: messages name the
 * server by url->safe. */
#ifndef STORE_DRIVER_POSTGRES_PG_ERRORS_H
#define STORE_DRIVER_POSTGRES_PG_ERRORS_H

#include "store/driver/postgres/libpq.h"

#include <stdbool.h>

/* Sets the error of a failed statement; `what` names the statement in the message. Returns -code,
 * which is -E_CONN_LOST if libpq has lost the connection. */
int pg_set_stmt_error(const PGresult *res, const char *what, const char *safe, struct err *err);

/* Sets E_CONN_LOST with libpq's message about a broken connection. */
int pg_set_lost_error(PGconn *conn, struct err *err);

/* Sets the error of a failed attempt to connect. E_CONN_LOST: a later attempt may succeed; E_BUSY:
 * the server is not accepting connections; E_UNAVAILABLE: retrying does not help until someone
 * fixes the cause. */
int pg_set_connect_error(PGconn *conn, const char *safe, struct err *err);

/* The error's SQLSTATE; "" if the error comes from libpq, not from the server. */
const char *pg_sqlstate(const PGresult *res);

/* Whether this error of a statement proves that the server rolled the transaction back, and did not
 * run a COMMIT that was sent after the statement. A fatal error does not prove it: a pooler reports
 * a lost server as a fatal error, and may already have forwarded the COMMIT. */
bool pg_proves_rollback(const PGresult *res);

#endif
