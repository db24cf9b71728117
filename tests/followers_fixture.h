/* followers_fixture.h - workflows whose tasks have more followers than one turn notifies: counts
 * executions, and runs such a workflow to its end. */
#ifndef TESTS_FOLLOWERS_FIXTURE_H
#define TESTS_FOLLOWERS_FIXTURE_H

#include "workflow_fixture.h"

static inline int64_t count(struct store *s, const char *where)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE %s", where);
    return sql_number(s, sql);
}

static inline void play_to_the_end(struct store *s, int64_t w, int status)
{
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), status);
    CHECK_EQ(count(s, "status < 4"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
}

#endif
