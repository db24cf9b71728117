/* test_counters.c - the counters of workers: the sum contains everything that was added, whichever
 * worker added it and whether that worker still exists. */
#include "fixture.h"

#include "store/query/query.h"

#include <stdio.h>
#include <string.h>

#define DAY (24 * 3600 * SECOND)

struct counter_batch {
    int64_t worker;
    const struct counter *list;
    size_t n;
};

static int add_counters_body(struct turn *t, void *arg, struct err *err)
{
    struct counter_batch *c = arg;

    return op_add_counters(t, c->worker, c->list, c->n, err);
}

static void add_counter(struct store *s, int64_t worker, const char *metric, const char *labels,
                        int64_t n)
{
    struct counter one = {metric, labels, n};
    struct counter_batch c = {worker, &one, 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, add_counters_body, &c, &err), &err);
}

/* All counters as "metric{labels} value, …", each preceded by its worker if by_worker is set. */
static const char *counters_text(struct store *s, bool by_worker)
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

static int register_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_register(t, arg, err);
}

static int unregister_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_unregister(t, *(int64_t *)arg, err);
}

static void register_worker(struct store *s, int64_t id)
{
    struct worker w = {.id = id, .host = "h", .folder = "folder-a", .version = "1", .capacity = 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_body, &w, &err), &err);
}

static void unregister_worker(struct store *s, int64_t id)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, unregister_body, &id, &err), &err);
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

TEST(counters_of_all_workers_are_summed_by_metric_and_labels)
{
    struct store *s = fixture_store();

    CHECK_STR(counters_text(s, false), "");
    add_counter(s, 1, "jobs", "queue=\"a\"", 2);
    add_counter(s, 1, "jobs", "queue=\"a\"", 3);
    add_counter(s, 2, "jobs", "queue=\"a\"", 10);
    add_counter(s, 2, "jobs", "queue=\"b\"", 1);
    add_counter(s, 2, "claims", "", 7);
    CHECK_STR(counters_text(s, false), "claims{} 7, jobs{queue=\"a\"} 15, jobs{queue=\"b\"} 1");
    CHECK_STR(counters_text(s, true),
              "2: claims{} 7, 1: jobs{queue=\"a\"} 5, 2: jobs{queue=\"a\"} 10, "
              "2: jobs{queue=\"b\"} 1");
    verify_clean(s);
    store_close(&s);
}

TEST(metric_given_twice_in_one_turn_is_added_twice)
{
    static const struct counter list[] = {{"m", "", 1}, {"n", "", 1}, {"m", "", 4}};
    struct counter_batch c = {1, list, 3}, none = {1, NULL, 0};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, add_counters_body, &c, &err), &err);
    CHECK_OK_ERR(store_turn(s, add_counters_body, &none, &err), &err);
    CHECK_STR(counters_text(s, false), "m{} 5, n{} 1");
    verify_clean(s);
    store_close(&s);
}

TEST(counters_of_removed_workers_stay_in_the_sum)
{
    struct store *s = fixture_store();
    int64_t i;

    for (i = 1; i <= 4; i++) {
        register_worker(s, i);
        add_counter(s, i, "jobs", "", i);
    }
    unregister_worker(s, 1);
    unregister_worker(s, 2);
    retain(s);
    CHECK_STR(counters_text(s, true), "0: jobs{} 3, 3: jobs{} 3, 4: jobs{} 4");
    add_counter(s, 2, "jobs", "", 10); /* worker 2 was alive after all */
    clock_advance(2 * DAY);
    register_worker(s, 4);
    retain(s); /* worker 3 sent no heartbeat for too long */
    CHECK_STR(counters_text(s, true), "0: jobs{} 16, 4: jobs{} 4");
    retain(s);
    CHECK_STR(counters_text(s, false), "jobs{} 20");
    verify_clean(s);
    store_close(&s);
}

/* ---- concurrency ---- */

#define EACH 200

static void count_up(int nth)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < EACH; i++) {
        /* The worker has no row in `workers`, so retention may merge its counters at any moment. */
        if (nth)
            add_counter(s, nth % 2 + 1, "jobs", "", 1);
        else if (i % 10 == 0)
            retain(s);
    }
    store_close(&s);
}

TEST(counters_lose_nothing_if_they_are_merged_while_workers_add_to_them)
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
