/* pg_errors.c - translates PostgreSQL's errors; see pg_errors.h. */
#include "store/driver/postgres/pg_errors.h"

#include <stdio.h>
#include <string.h>

struct rule {
    const char *state; /* SQLSTATE, or a prefix of it, such as its class of two characters */
    enum error_code code;
    const char *advice; /* advice for the user, which ends the message */
};

#define BUG          "this is a bug in Pawl"
#define CHECK_SERVER "check that the server is running and can be reached"

/* How errors are translated. The first rule that matches applies. A fatal error that no rule
 * matches means that the connection is lost. */
static const struct rule rules[] = {
    {"40001", E_REDO, "another transaction changed the same rows; try again"},
    {"40P01", E_REDO, "another transaction waits for the same rows; try again"},
    {"55P03", E_REDO, "another transaction holds the lock; try again"},
    {"57014", E_REDO, "try again; if it stays slow, check the server's load and locks"},
    {"53100", E_NO_SPACE, "nothing was stored; free some space on the server's disk"},
    {"53300", E_UNAVAILABLE, "raise max_connections, or run fewer workers"},
    {"53", E_UNAVAILABLE, "the server is short of resources"},
    {"58T01", E_UNAVAILABLE,
     "run `pawl admin fence --yes`; or, if certainly no commit was lost, `pawl admin fence "
     "--nothing-lost`"},
    {"58", E_UNAVAILABLE, "check the server's log"},
    {"28", E_UNAVAILABLE,
     "check the user, the password (in the URL, PGPASSWORD or ~/.pgpass) and the server's pg_hba.conf"},
    {"3D000", E_UNAVAILABLE,
     "create the database with createdb, or name another database in the URL"},
    {"42501", E_UNAVAILABLE, "grant this right to the user of the URL, or use another user"},
    {"25006", E_UNAVAILABLE,
     "this server is read-only (a standby?): use the primary, or add "
     "target_session_attrs=read-write to the URL"},
    {"42P01", E_SCHEMA, "run `pawl admin migrate`"},
    {"3F000", E_SCHEMA, "run `pawl admin migrate` with the newest pawl"},
    {"22021", E_INVALID, "text must be valid UTF-8 without NUL"},
    {"22P05", E_INVALID, "create the database with the encoding UTF8"},
    {"57P", E_CONN_LOST, CHECK_SERVER},
    {"25P03", E_CONN_LOST, "the transaction was idle for too long"},
};

static const struct rule bug = {"", E_INTERNAL, BUG};
static const struct rule lost = {"", E_CONN_LOST, CHECK_SERVER};

static const struct rule *find_rule(const char *state, bool fatal)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (strncmp(state, rules[i].state, strlen(rules[i].state)) == 0)
            return &rules[i];
    if (fatal)
        return &lost;
    /* 08P01 (protocol violation) does not mean that the connection is lost: the server got an
     * invalid message from Pawl. */
    return strncmp(state, "08", 2) == 0 && strcmp(state, "08P01") != 0 ? &lost : &bug;
}

static const char *result_field(const PGresult *res, int which)
{
    const char *s = pq.resultErrorField(res, which);

    return s ? s : "";
}

const char *pg_sqlstate(const PGresult *res)
{
    return result_field(res, PG_DIAG_SQLSTATE);
}

static bool is_fatal(const PGresult *res)
{
    return strcmp(result_field(res, PG_DIAG_SEVERITY_NONLOCALIZED), "ERROR") != 0;
}

bool pg_proves_rollback(const PGresult *res)
{
    return !is_fatal(res) && strncmp(pg_sqlstate(res), "08", 2) != 0;
}

int pg_set_stmt_error(const PGresult *res, const char *what, const char *safe, struct err *err)
{
    const char *state = pg_sqlstate(res), *message = result_field(res, PG_DIAG_MESSAGE_PRIMARY);
    const struct rule *rule = find_rule(state, is_fatal(res));

    if (!*state) { /* an error of libpq, which lost the server or got an invalid message */
        message = pq.resultErrorMessage(res);
        return err_set(err, E_CONN_LOST, "%s on %s: the connection was lost (%.*s)", what, safe,
                       (int)strcspn(message, "\n"), message);
    }
    return err_set(err, rule->code, "%s on %s: %.*s (SQLSTATE %s); %s", what, safe,
                   (int)strcspn(message, "\n"), message, state, rule->advice);
}

int pg_set_lost_error(PGconn *conn, struct err *err)
{
    const char *message = pq.errorMessage(conn);

    return err_set(err, E_CONN_LOST, "the connection was lost%s%.*s", *message ? ": " : "",
                   (int)strcspn(message, "\n"), message);
}

/* ---- connecting ---- */

#define STATE_LETTERS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* libpq has no function for the SQLSTATE of a refused connection, but a verbose message contains
 * it: "…: FATAL:  3D000: database "x" does not exist"; FATAL may be translated. Returns the text
 * after the SQLSTATE, or NULL if the message is not the server's. */
static const char *find_sqlstate(const char *message, char state[6])
{
    const char *p;

    for (p = strstr(message, ":  "); p; p = strstr(p + 1, ":  ")) {
        if (strspn(p + 3, STATE_LETTERS) != 5 || strncmp(p + 8, ": ", 2) != 0)
            continue;
        memcpy(state, p + 3, 5);
        state[5] = '\0';
        return p + 10;
    }
    return NULL;
}

/* PgBouncer's error for too many clients. It has the SQLSTATE of a protocol violation. */
static const struct rule pooler_is_full = {"08P01", E_UNAVAILABLE,
                                           "raise max_client_conn of PgBouncer"};

static const struct rule *find_connect_rule(const char *state, const char *reason)
{
    if (strcmp(state, "08P01") == 0 && strstr(reason, "no more connections allowed"))
        return &pooler_is_full;
    return find_rule(state, true);
}

/* Whether a refusal to connect may end by itself. 53300: all connections of the server, of the
 * database or of the role are in use, except perhaps the reserved ones. 57P03: the server is
 * starting or stopping. But 53300 may also need a change of the configuration. */
static bool is_refusal_for_now(const struct rule *rule, const char *state)
{
    return rule == &pooler_is_full || strcmp(state, "53300") == 0 || strcmp(state, "57P03") == 0;
}

int pg_set_connect_error(PGconn *conn, const char *safe, struct err *err)
{
    const char *message = pq.errorMessage(conn), *reason;
    const struct rule *rule;
    enum error_code code;
    char state[6];

    if (pq.connectionNeedsPassword(conn))
        return err_set(err, E_UNAVAILABLE,
                       "PostgreSQL at %s requires a password: put it into ~/.pgpass or PGPASSWORD",
                       safe);
    reason = find_sqlstate(message, state);
    if (!reason)
        return err_set(err, E_CONN_LOST, "can't reach PostgreSQL at %s: is it running? (%.*s)",
                       safe, (int)strcspn(message, "\n"), message);
    rule = find_connect_rule(state, reason);
    code = is_refusal_for_now(rule, state) ? E_BUSY
           : rule->code == E_UNAVAILABLE   ? E_UNAVAILABLE
                                           : E_CONN_LOST;
    return err_set(err, code, "PostgreSQL at %s refused the connection: %.*s (SQLSTATE %s); %s",
                   safe, (int)strcspn(reason, "\n"), reason, state, rule->advice);
}
