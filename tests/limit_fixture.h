/* limit_fixture.h - limits in a test: sets of jobs under them, and the states of those jobs. */
#ifndef TESTS_LIMIT_FIXTURE_H
#define TESTS_LIMIT_FIXTURE_H

#include "fixture.h"
#include "store/operator.h"

#include <stdio.h>

#define QUEUE       "queue:default"
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static inline int64_t claimable(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM task_outbox");
}

static inline int64_t used(struct store *s, const char *key)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT COALESCE(sum(used), -1) FROM limits WHERE key = '%s'", key);
    return sql_number(s, sql);
}

static inline void check_waits(struct store *s, int64_t id, const char *key)
{
    struct execution e = get(s, id);

    CHECK_EQ(e.status, S_READY);
    CHECK_EQ(e.held, HELD_LIMIT);
    CHECK_STR(e.held_key, key);
}

static inline void check_claimable(struct store *s, int64_t id)
{
    struct execution e = get(s, id);

    CHECK_EQ(e.status, S_READY);
    CHECK_EQ(e.held, HELD_NONE);
    CHECK(!e.held_key);
}

static inline int64_t submit_keyed(struct store *s, const char *name, const char *key)
{
    return submit_with(s, (struct submission){.name = name, .concurrency = key});
}

/* Three jobs in a queue with a limit of one: a may be claimed, b and c wait. */
struct line_of_three {
    int64_t a, b, c;
};

static inline struct line_of_three submit_line_of_three(struct store *s)
{
    struct line_of_three l;

    set_limit(s, QUEUE, 1);
    l.a = submit(s, "a");
    l.b = submit(s, "b");
    l.c = submit(s, "c");
    check_claimable(s, l.a);
    check_waits(s, l.b, QUEUE);
    check_waits(s, l.c, QUEUE);
    return l;
}

struct batch {
    struct submission list[300];
    size_t n;
};

static inline int batch_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

/* Submits n jobs in one turn. Returns the first id; the others follow it. */
static inline int64_t submit_batch(struct store *s, size_t n, const char *key)
{
    static struct batch b;
    struct err err = ERR_INIT;
    size_t i;

    b.n = n;
    for (i = 0; i < n; i++)
        b.list[i] = (struct submission){.kind = KIND_EXEC,
                                        .task_index = -1,
                                        .name = "x",
                                        .concurrency = key,
                                        .concurrency_max = 1000000};
    CHECK_OK_ERR(store_turn(s, batch_body, &b, &err), &err);
    for (i = 0; i < n; i++)
        CHECK_EQ(b.list[i].rc, 0);
    return b.list[0].id;
}

#endif
