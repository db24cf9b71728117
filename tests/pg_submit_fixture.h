/* pg_submit_fixture.h - a program that calls pawl_submit() in a test: it has its own session on the
 * test's tenant, with any role, and records the server's messages. */
#ifndef TESTS_PG_SUBMIT_FIXTURE_H
#define TESTS_PG_SUBMIT_FIXTURE_H

#include "sql_submission_fixture.h"

#undef SECOND /* the driver defines the same name, as an int */
#include "pg_fixture.h"

static char message[1024], state[6]; /* of the last statement */

static inline PGconn *session_as(const char *role)
{
    struct pg_session session;
    struct db_url *url = NULL;
    struct err err = ERR_INIT;
    PGconn *conn = NULL;
    char text[5000];

    snprintf(text, sizeof(text), "%s%soptions=-csearch_path%%3Dpawl_%s%s%s", pg_server(),
             strchr(pg_server(), '?') ? "&" : "?", fixture_tenant(), role ? "%20-crole%3D" : "",
             role ? role : "");
    CHECK_OK_ERR(url_parse(text, NULL, &url, &err), &err);
    CHECK_OK_ERR(pg_connect(url, 0, &conn, &session, &err), &err);
    url_free(&url);
    return conn;
}

/* The first value of a statement's result; 0 if it has none or the statement failed. */
static inline int64_t run(PGconn *conn, const char *sql)
{
    PGresult *res = NULL;
    struct err err = ERR_INIT;
    int64_t n = 0;

    CHECK(pq.sendQuery(conn, sql));
    message[0] = state[0] = '\0';
    do {
        PGresult *next = NULL;

        CHECK_OK_ERR(pg_wait_result(conn, 60 * SECOND, &next, &err), &err);
        if (!next)
            break;
        pq.clear(res);
        res = next;
        if (pq.resultStatus(res) == PGRES_FATAL_ERROR) {
            snprintf(message, sizeof(message), "%s",
                     pq.resultErrorField(res, PG_DIAG_MESSAGE_PRIMARY));
            snprintf(state, sizeof(state), "%s", pq.resultErrorField(res, PG_DIAG_SQLSTATE));
        }
    } while (true);
    if (pq.resultStatus(res) == PGRES_TUPLES_OK && pq.ntuples(res) && !pq.getisnull(res, 0, 0))
        n = strtoll(pq.getvalue(res, 0, 0), NULL, 10);
    pq.clear(res);
    return n;
}

static inline int64_t ok(PGconn *conn, const char *sql)
{
    int64_t n = run(conn, sql);

    if (*state)
        test_fail(__FILE__, __LINE__, "%s: %s", sql, message);
    return n;
}

static inline int64_t executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL");
}

#endif
