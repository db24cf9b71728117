/* retention_fixture.h - retention in a test, as an engine runs it: in long turns, slice by slice.
 */
#ifndef TESTS_RETENTION_FIXTURE_H
#define TESTS_RETENTION_FIXTURE_H

#include "fixture.h"

#include <stdio.h>

#define DAY (24 * 3600 * 1000000LL)

struct retaining {
    struct retention from, to;
};

static inline int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retaining *r = arg;

    return r->from.logs_only ? op_retain_logs(t, &r->from, &r->to, err)
                             : op_retain(t, &r->from, &r->to, err);
}

/* One slice, starting at `from`. */
static inline struct retention retain_slice(struct store *s, struct retention from)
{
    struct retaining r = {.from = from};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_long_turn(s, retain_body, &r, &err), &err);
    return r.to;
}

/* All slices. */
static inline struct retention retain_as(struct store *s, struct retention r)
{
    do
        r = retain_slice(s, r);
    while (r.more);
    return r;
}

/* Runs all slices for trees older than that; returns how many were removed. */
static inline int64_t retain(struct store *s, int64_t older_than)
{
    return retain_as(s, (struct retention){.older_than = older_than, .max_trees = 100}).trees;
}

static inline int64_t ended_job(struct store *s)
{
    int64_t id = submit(s, "x");

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    return id;
}

static inline int64_t count(struct store *s, const char *table)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    return sql_number(s, sql);
}

static inline bool exists(struct store *s, int64_t id)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE id = %lld", (long long)id);
    return sql_number(s, sql) == 1;
}

/* A workflow with two jobs, all ended. */
static inline int64_t ended_tree(struct store *s)
{
    int64_t root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});

    submit_child(s, root, "a");
    submit_child(s, root, "b");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, -1), 0);
    end_workflow(s, root);
    return root;
}

#endif
