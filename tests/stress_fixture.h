/* stress_fixture.h - many processes on one database at once, in a test: jobs in batches, and a
 * check on repeated turns. */
#ifndef TESTS_STRESS_FIXTURE_H
#define TESTS_STRESS_FIXTURE_H

#include "fixture.h"
#include "store/door/door.h"

/* On a busy machine a wait for a lock may time out now and then; a wrong lock order makes it happen
 * often. (test_deadlock.c tolerates none.) */
static inline void check_redone(const struct watch *w, int at_most)
{
    if (w->redone > at_most)
        test_fail(__FILE__, __LINE__, "%d turns were redone: %s", w->redone, w->message);
}

struct batch {
    struct submission *list;
    size_t n;
};

static inline int submit_batch_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

static inline void submit_batch(struct store *s, struct submission *list, size_t n)
{
    struct batch b = {list, n};
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(store_turn(s, submit_batch_body, &b, &err), &err);
    for (i = 0; i < n; i++)
        CHECK_OK_ERR(list[i].rc, &list[i].err);
}

#endif
