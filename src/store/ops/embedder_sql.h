/* embedder_sql.h - statements of the program that embeds us, on tables of its own, inside of a
 * turn. With SQLite alone: on PostgreSQL such a program has a connection of its own, and submits by
 * SQL. */
#ifndef STORE_OPS_EMBEDDER_SQL_H
#define STORE_OPS_EMBEDDER_SQL_H

#include "store/driver/embedder_stmt.h"
#include "store/store.h"

bool store_takes_embedder_stmts(const struct store *s);
/* E_INVALID: the statement can't be run, or touches what is ours. E_CONFLICT: a rule of the
 * program's own tables refused it. After these the turn may go on, unless it is over. */
MUST_USE int op_run_embedder_stmt(struct turn *t, struct embedder_stmt *g, struct err *err);

/* The canonical text of what a name means, as query_applied; lives as long as the turn. */
MUST_USE int op_read_applied(struct turn *t, const char *name, const char **definition,
                             struct err *err);

#endif
