/* embedder_sql.h - runs SQL statements of the embedder, on its own tables, inside a turn. SQLite
 * only: on PostgreSQL the embedder uses its own connection and submits by SQL. */
#ifndef STORE_OPS_EMBEDDER_SQL_H
#define STORE_OPS_EMBEDDER_SQL_H

#include "store/driver/embedder_stmt.h"
#include "store/store.h"

bool store_takes_embedder_stmts(const struct store *s);
/* -E_INVALID if the statement can't be run, or uses a table of Pawl. -E_CONFLICT if a constraint of
 * the embedder's tables refused it. After these two errors the turn may continue, unless the
 * statement set must_roll_back. */
MUST_USE int op_run_embedder_stmt(struct turn *t, struct embedder_stmt *stmt, struct err *err);

/* Reads the canonical text of the definition that is applied under a name, by the statement
 * query_applied. The text lives as long as the turn. */
MUST_USE int op_read_applied(struct turn *t, const char *name, const char **definition,
                             struct err *err);

#endif
