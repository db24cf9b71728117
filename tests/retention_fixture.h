/* retention_fixture.h - retention in a test, as an engine does it: in long turns, slice by slice.
 */
#ifndef TESTS_RETENTION_FIXTURE_H
#define TESTS_RETENTION_FIXTURE_H

#include "fixture.h"

#define DAY (24 * 3600 * 1000000LL)

struct retaining {
    struct retention from, to;
};

static inline int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retaining *r = arg;

    return op_retain(t, &r->from, &r->to, err);
}

/* One slice, from where `from` is. */
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

/* The same of what is older; returns how many trees went. */
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

#endif
