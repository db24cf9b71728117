/* embedder.c - runs statements of the embedder on this connection, inside a turn's transaction, so
 * that its own tables and its submissions change together.
 *
 * The statements are prepared under an authorizer: they may read everything and change everything
 * that is not Pawl's. Transactions, pragmas and other database files are refused. */
#include "store/driver/embedder_stmt.h"
#include "store/driver/sqlite/sqlite_db.h"

#include <stdio.h>
#include <string.h>

/* ---- Pawl's names ---- */

static bool is_pawl_name(const char *name)
{
    return name &&
           (!sqlite3_stricmp(name, "schema_migrations") || !sqlite3_strnicmp(name, "pawl_", 5) ||
            schema_creates(DIALECT_SQLITE, 0, migration_count, name));
}

/* ---- authorization ---- */

struct auth_check {
    char refused[100]; /* the table or index of Pawl that the statement would change; "" if none */
    bool tables;       /* whether the statement creates or alters a table */
};

static int authorize(void *arg, int action, const char *a, const char *b, const char *db,
                     const char *trigger)
{
    struct auth_check *c = arg;
    const char *table = a;

    (void)db, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
    case SQLITE_REINDEX: /* sent for every CREATE INDEX, too */
        return SQLITE_OK;
    case SQLITE_CREATE_TABLE:
        c->tables = true;
        break;
    case SQLITE_ALTER_TABLE:
        c->tables = true;
        table = b;
        break;
    case SQLITE_CREATE_INDEX:
    case SQLITE_DROP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_DROP_TRIGGER:
        table = is_pawl_name(a) ? a : b;
        break;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_DROP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_DROP_VIEW:
        break;
    default:
        return SQLITE_DENY;
    }
    if (!is_pawl_name(table))
        return SQLITE_OK;
    snprintf(c->refused, sizeof(c->refused), "%s", table);
    return SQLITE_DENY;
}

/* Refuses a foreign key to one of Pawl's tables, which would prevent Pawl from deleting rows of
 * that table. */
static int check_foreign_keys(struct sqlite_db *l, struct err *err)
{
    static const struct stmt keys = {
        .name = "embedder_keys",
        .sql = {[DIALECT_SQLITE] = "SELECT DISTINCT f.\"table\" FROM sqlite_master m, "
                                   "pragma_foreign_key_list(m.name) f WHERE m.type = 'table'"}};
    struct args a = {.stmt = &keys};
    struct rows r = ROWS_INIT;
    int rc = sqlite_run_stmt(l, &a, &r, ANY_ROWS, err);

    for (size_t i = 0; !rc && i < r.n; i++)
        if (is_pawl_name(rows_text(&r, i, 0)))
            rc = err_set(err, E_INVALID,
                         "a foreign key to Pawl's table %s would prevent Pawl from deleting old "
                         "rows: store the id without a foreign key",
                         rows_text(&r, i, 0));
    rows_release(&r);
    return rc;
}

/* ---- running a statement ---- */

/* Sets the error of a statement. An error in the statement itself is reported to the embedder,
 * which may continue the transaction; after any other error, the transaction must be rolled
 * back. */
static int set_stmt_error(struct sqlite_db *l, const struct auth_check *c, struct err *err)
{
    int code = sqlite3_extended_errcode(l->sq) & 0xff;
    const char *message = sqlite3_errmsg(l->sq);

    switch (code) {
    case SQLITE_AUTH:
        return *c->refused
                   ? err_set(err, E_INVALID, "%s belongs to Pawl: it may be read but not changed",
                             c->refused)
                   : err_set(err, E_INVALID,
                             "a Pawl transaction accepts only statements on your own tables, not "
                             "BEGIN, COMMIT, SAVEPOINT, PRAGMA, ATTACH, TEMP or virtual tables");
    case SQLITE_CONSTRAINT:
        return err_set(err, E_CONFLICT, "%s", message);
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_TOOBIG:
        return err_set(err, E_INVALID, "%s", message);
    }
    l->failed = true;
    return sqlite_set_error(l, "a statement of the embedding program", err);
}

static int prepare(struct sqlite_db *l, const struct embedder_stmt *g, struct auth_check *c,
                   sqlite3_stmt **out, struct err *err)
{
    const char *rest = "";
    int got;

    sqlite3_set_authorizer(l->sq, authorize, c);
    got = sqlite3_prepare_v2(l->sq, g->sql, -1, out, &rest);
    sqlite3_set_authorizer(l->sq, NULL, NULL);
    if (got)
        return set_stmt_error(l, c, err);
    if (!*out || rest[strspn(rest, " \t\r\n;")])
        return err_set(err, E_INVALID, "the text is not exactly one statement");
    if ((size_t)sqlite3_bind_parameter_count(*out) != g->nparams)
        return err_set(err, E_INVALID, "the statement has %d parameters, but %zu values were given",
                       sqlite3_bind_parameter_count(*out), g->nparams);
    return 0;
}

static int bind_value(sqlite3_stmt *st, int i, const struct embedder_value *v)
{
    switch (v->type) {
    case EMBEDDER_INT:
        return sqlite3_bind_int64(st, i, v->i);
    case EMBEDDER_REAL:
        return sqlite3_bind_double(st, i, v->d);
    case EMBEDDER_TEXT:
        return sqlite3_bind_text64(st, i, v->s, v->len, SQLITE_STATIC, SQLITE_UTF8);
    case EMBEDDER_BLOB:
        return sqlite3_bind_blob64(st, i, v->s ? v->s : "", v->len, SQLITE_STATIC);
    case EMBEDDER_NULL:
        break;
    }
    return sqlite3_bind_null(st, i);
}

static void read_cell(sqlite3_stmt *st, int i, struct embedder_value *v)
{
    *v = (struct embedder_value){.type = EMBEDDER_NULL};
    switch (sqlite3_column_type(st, i)) {
    case SQLITE_INTEGER:
        v->type = EMBEDDER_INT;
        v->i = sqlite3_column_int64(st, i);
        break;
    case SQLITE_FLOAT:
        v->type = EMBEDDER_REAL;
        v->d = sqlite3_column_double(st, i);
        break;
    case SQLITE_TEXT:
        v->type = EMBEDDER_TEXT;
        v->s = (const char *)sqlite3_column_text(st, i);
        v->len = (size_t)sqlite3_column_bytes(st, i);
        break;
    case SQLITE_BLOB:
        v->type = EMBEDDER_BLOB;
        v->s = sqlite3_column_blob(st, i);
        v->len = (size_t)sqlite3_column_bytes(st, i);
        break;
    }
}

/* Runs the statement to its end. Returns the code of the last sqlite3_step, or SQLITE_DONE if the
 * row callback stopped the statement. */
static int step_to_end(sqlite3_stmt *st, struct embedder_stmt *g, struct embedder_value *cells)
{
    int got, i, n = sqlite3_column_count(st);

    while ((got = sqlite3_step(st)) == SQLITE_ROW) {
        for (i = 0; g->row && i < n; i++)
            read_cell(st, i, &cells[i]);
        if (g->row && g->row(g->arg, cells, (size_t)n))
            return SQLITE_DONE;
    }
    return got;
}

static int run_prepared(struct sqlite_db *l, sqlite3_stmt *st, struct embedder_stmt *g,
                        const struct auth_check *c, struct err *err)
{
    int before = sqlite3_total_changes(l->sq);
    struct arena arena = ARENA_INIT;
    struct embedder_value *cells =
        arena_alloc(&arena, ((size_t)sqlite3_column_count(st) + 1) * sizeof(*cells));
    int rc = 0;

    for (size_t i = 0; !rc && i < g->nparams; i++)
        if (bind_value(st, (int)i + 1, &g->params[i]))
            rc = set_stmt_error(l, c, err);
    if (!rc && step_to_end(st, g, cells) != SQLITE_DONE)
        rc = set_stmt_error(l, c, err);
    g->changed = sqlite3_total_changes(l->sq) == before ? 0 : sqlite3_changes(l->sq);
    arena_release(&arena);
    return rc;
}

int sqlite_embedder_stmt(struct db *db, struct embedder_stmt *g, struct err *err)
{
    struct sqlite_db *l = sqlite_from_db(db);
    int64_t start = sqlite_trace_start(l);
    struct auth_check c = {.tables = false};
    sqlite3_stmt *st = NULL;
    int rc;

    if (!(rc = prepare(l, g, &c, &st, err)))
        rc = run_prepared(l, st, g, &c, err);
    sqlite3_finalize(st);
    if (!rc && c.tables && (rc = check_foreign_keys(l, err)))
        l->failed = true;
    if (sqlite3_get_autocommit(l->sq)) { /* a conflict clause OR ROLLBACK ended the transaction */
        l->failed = true;
        if (!rc)
            rc = err_set(err, E_INVALID, "the statement ended the transaction");
    }
    g->must_roll_back = l->failed;
    sqlite_trace(l, "embedder", start, (long)g->changed);
    return rc;
}
