/* pg_submit.c - a program that uses only one SQL function of Pawl: it stores an order and submits a
 * workflow for it, in one transaction of its own, with libpq alone.
 *
 *   pg_submit URL WORKFLOW ORDER             stores order ORDER, and submits WORKFLOW for it
 *   pg_submit URL WORKFLOW ORDER --rollback  the same, then rolls back: nothing is stored
 *   pg_submit URL --wait ORDER               waits until its workflow has ended, and prints the
 * status
 *
 * First run pawl apply FILE, which stores WORKFLOW under its name; the workflow needs a param
 * "order", a number. A worker runs it: pawl worker. The key makes a repeated call harmless, also
 * after a lost reply to COMMIT. */
#include <libpq-fe.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PGconn *conn;

static int fail(const char *what)
{
    fprintf(stderr, "pg_submit: %s: %s", what, PQerrorMessage(conn));
    return 1;
}

/* Runs a statement with up to three parameters. If value is not NULL, *value is the first column of
 * the first row, or NULL if there is no row. Returns false if the statement failed. */
static bool run(const char *sql, const char *a, const char *b, const char *c, char **value)
{
    const char *const params[] = {a, b, c};
    PGresult *r = PQexecParams(conn, sql,
                               !a   ? 0
                               : !b ? 1
                               : !c ? 2
                                    : 3,
                               NULL, params, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(r);

    if (value)
        *value = status == PGRES_TUPLES_OK && PQntuples(r) && !PQgetisnull(r, 0, 0)
                     ? strdup(PQgetvalue(r, 0, 0))
                     : NULL;
    PQclear(r);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

static int submit(const char *workflow, const char *order, bool rolls_back)
{
    char params[100], key[100], *id = NULL;

    snprintf(params, sizeof(params), "{\"order\": %s}", order);
    snprintf(key, sizeof(key), "order-%s", order);
    if (!run("CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, execution bigint)", NULL,
             NULL, NULL, NULL) ||
        !run("BEGIN", NULL, NULL, NULL, NULL) ||
        !run("INSERT INTO orders (id) VALUES ($1)", order, NULL, NULL, NULL) ||
        !run("SELECT pawl.pawl_submit($1, $2, key => $3)", workflow, params, key, &id) ||
        !run("UPDATE orders SET execution = $1 WHERE id = $2", id, order, NULL, NULL) ||
        !run(rolls_back ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL, NULL)) {
        free(id);
        return fail("the order was not stored"); /* and nothing was submitted */
    }
    if (rolls_back)
        printf("order %s: rolled back\n", order);
    else
        printf("order %s: execution %s\n", order, id);
    free(id);
    return 0;
}

/* Reads the status of the workflow: NULL if no worker has taken the submission yet, "refused:
 * REASON" if it was refused. */
static bool read_status(const char *order, char **status)
{
    return run(
        "SELECT COALESCE(e.status, CASE s.status WHEN 'refused' THEN 'refused: ' || s.error END)"
        "  FROM orders o LEFT JOIN pawl.pawl_submissions s ON s.id = o.execution"
        "  LEFT JOIN pawl.pawl_executions e ON e.id = COALESCE(s.execution, o.execution)"
        " WHERE o.id = $1",
        order, NULL, NULL, status);
}

static bool has_ended(const char *status)
{
    return status && strcmp(status, "pending") && strcmp(status, "ready") &&
           strcmp(status, "running");
}

static int wait_for(const char *order)
{
    char *status = NULL;
    int code;

    for (;;) {
        if (!read_status(order, &status))
            return fail("the status of the order can't be read");
        if (has_ended(status))
            break;
        free(status);
        usleep(100000);
    }
    printf("order %s: %s\n", order, status);
    code = strcmp(status, "succeeded") != 0;
    free(status);
    return code;
}

int main(int argc, char **argv)
{
    bool rolls_back = argc == 5 && !strcmp(argv[4], "--rollback");
    int code;

    if (argc != 4 && !rolls_back) {
        fprintf(stderr, "usage: pg_submit URL WORKFLOW ORDER [--rollback] | URL --wait ORDER\n");
        return 2;
    }
    conn = PQconnectdb(argv[1]);
    if (PQstatus(conn) != CONNECTION_OK)
        code = fail("can't connect");
    else if (!strcmp(argv[2], "--wait"))
        code = wait_for(argv[3]);
    else
        code = submit(argv[2], argv[3], rolls_back);
    PQfinish(conn);
    return code;
}
