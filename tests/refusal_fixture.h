/* refusal_fixture.h - a database that refuses to write some rows, like a damaged one or one with
 * added constraints. */
#ifndef TESTS_REFUSAL_FIXTURE_H
#define TESTS_REFUSAL_FIXTURE_H

#include "fixture.h"

#include <stdio.h>
#include <string.h>

/* Makes the database refuse some writes from now on. `what` is the event and table of a trigger,
 * such as "INSERT ON executions"; `when` is a condition on NEW, the row to be written. */
static inline void refuse_write(struct store *s, const char *what, const char *when)
{
    char sql[500];

    if (!strcmp(test_db(), "sqlite")) {
        snprintf(sql, sizeof(sql),
                 "CREATE TRIGGER refuse BEFORE %s WHEN %s BEGIN SELECT RAISE(ABORT, 'not today'); "
                 "END",
                 what, when);
        sql_run(s, sql);
        return;
    }
    sql_run(s, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
               "'BEGIN RAISE ''not today''; END'");
    snprintf(sql, sizeof(sql),
             "CREATE TRIGGER refuse BEFORE %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION refuse()",
             what, when);
    sql_run(s, sql);
}

/* Ends the refusal of writes to this table. */
static inline void allow_write(struct store *s, const char *table)
{
    char sql[100];

    snprintf(sql, sizeof(sql),
             strcmp(test_db(), "sqlite") ? "DROP TRIGGER refuse ON %s" : "DROP TRIGGER refuse",
             table);
    sql_run(s, sql);
}

#endif
