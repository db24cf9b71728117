/* test_counters.c - the contract of workers' counters: what is added is in the sum, whoever added
 * it and whether it is still there. */
#include "fixture.h"

#include "store/query/query.h"

#include <stdio.h>
#include <string.h>

#define DAY (24 * 3600 * SECOND)

struct counting {
    int64_t worker;
    const struct counter *list;
    size_t n;
};

static int add_body(struct turn *t, void *arg, struct err *err)
{
    struct counting *c = arg;

    return op_add_counters(t, c->worker, c->list, c->n, err);
}

static void add(struct store *s, int64_t worker, const char *metric, const char *labels, int64_t n)
{
    struct counter one = {metric, labels, n};
    struct counting c = {worker, &one, 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, add_body, &c, &err), &err);
}

/* "metric{labels} value, …", with the worker before it if each is wanted. */
static const char *counters(struct store *s, bool by_worker)
{
    static char text[1000];
    struct counter_list l = {0};
    struct err err = ERR_INIT;
    size_t i, n = 0;

    text[0] = '\0';
    CHECK_OK_ERR(query_counters(s, by_worker, &l, &err), &err);
    for (i = 0; i < l.n; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", i ? ", " : "");
        if (by_worker)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%lld: ", (long long)l.at[i].worker);
        else
            CHECK_EQ(l.at[i].worker, 0);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s{%s} %lld", l.at[i].metric,
                              l.at[i].labels, (long long)l.at[i].value);
        CHECK(n < sizeof(text));
    }
    counter_list_release(&l);
    return text;
}

static int hello_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_register(t, arg, err);
}

static int bye_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_unregister(t, *(int64_t *)arg, err);
}

static void hello(struct store *s, int64_t id)
{
    struct worker w = {.id = id, .host = "h", .folder = "folder-a", .version = "1", .capacity = 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hello_body, &w, &err), &err);
}

static void bye(struct store *s, int64_t id)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, bye_body, &id, &err), &err);
}

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention *r = arg;

    return op_retain(t, r, &r[1], err);
}

static void retain(struct store *s)
{
    struct retention r[2] = {{.older_than = 90 * DAY, .max_trees = 10}};
    struct err err = ERR_INIT;

    do {
        CHECK_OK_ERR(store_long_turn(s, retain_body, r, &err), &err);
        r[0] = r[1];
    } while (r[0].more);
}

TEST(counters_add_up_by_metric_and_labels_over_all_workers)
{
    struct store *s = fixture_store();

    CHECK_STR(counters(s, false), "");
    add(s, 1, "jobs", "queue=\"a\"", 2);
    add(s, 1, "jobs", "queue=\"a\"", 3);
    add(s, 2, "jobs", "queue=\"a\"", 10);
    add(s, 2, "jobs", "queue=\"b\"", 1);
    add(s, 2, "claims", "", 7);
    CHECK_STR(counters(s, false), "claims{} 7, jobs{queue=\"a\"} 15, jobs{queue=\"b\"} 1");
    CHECK_STR(counters(s, true), "2: claims{} 7, 1: jobs{queue=\"a\"} 5, 2: jobs{queue=\"a\"} 10, "
                                 "2: jobs{queue=\"b\"} 1");
    verify_clean(s);
    store_close(&s);
}

TEST(one_turn_may_name_a_metric_twice)
{
    static const struct counter list[] = {{"m", "", 1}, {"n", "", 1}, {"m", "", 4}};
    struct counting c = {1, list, 3}, none = {1, NULL, 0};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, add_body, &c, &err), &err);
    CHECK_OK_ERR(store_turn(s, add_body, &none, &err), &err);
    CHECK_STR(counters(s, false), "m{} 5, n{} 1");
    verify_clean(s);
    store_close(&s);
}

TEST(what_workers_that_are_gone_have_counted_stays_in_the_sum)
{
    struct store *s = fixture_store();
    int64_t i;

    for (i = 1; i <= 4; i++) {
        hello(s, i);
        add(s, i, "jobs", "", i);
    }
    bye(s, 1);
    bye(s, 2);
    retain(s);
    CHECK_STR(counters(s, true), "0: jobs{} 3, 3: jobs{} 3, 4: jobs{} 4");
    add(s, 2, "jobs", "", 10); /* it was not gone after all */
    clock_advance(2 * DAY);
    hello(s, 4);
    retain(s); /* 3 was silent for too long */
    CHECK_STR(counters(s, true), "0: jobs{} 16, 4: jobs{} 4");
    retain(s);
    CHECK_STR(counters(s, false), "jobs{} 20");
    verify_clean(s);
    store_close(&s);
}

/* ---- at once ---- */

#define EACH 200

static void count_up(int nth)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < EACH; i++) {
        if (nth) /* no row of `workers`: retention may fold it at any moment */
            add(s, nth % 2 + 1, "jobs", "", 1);
        else if (i % 10 == 0)
            retain(s);
    }
    store_close(&s);
}

TEST(nothing_is_lost_when_counters_are_folded_while_they_are_added_to)
{
    struct store *s;

    run_processes(4, count_up);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT CAST(sum(value) AS bigint) FROM worker_counters"), 3 * EACH);
    retain(s);
    CHECK_EQ(
        sql_number(s, "SELECT CAST(sum(value) AS bigint) FROM worker_counters WHERE worker = 0"),
        3 * EACH);
    verify_clean(s);
    store_close(&s);
}
