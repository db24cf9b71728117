/* test_stress.c - many processes compete for the same keys and limits: one idempotency key creates
 * one execution, no limit is exceeded, and every job ends. */
#include "stress_fixture.h"

#include <stdatomic.h>
#include <stdio.h>

TEST_LONG;

/* ---- the same keys from all processes ---- */

#define KEYS         60
#define KEYS_AT_ONCE 12

static struct {
    _Atomic int64_t id[KEYS];
    _Atomic int made[KEYS];
} * keyed;

/* All processes submit the same keys; each starts at another position, and every second one goes
 * backwards. */
static void submit_keys(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct submission list[KEYS_AT_ONCE];
    char keys[KEYS_AT_ONCE][20], limits[KEYS_AT_ONCE][20];
    int i, k;

    for (i = 0; i < KEYS; i += KEYS_AT_ONCE) {
        for (k = 0; k < KEYS_AT_ONCE; k++) {
            int at = (nth * 7 + i + k) % KEYS, key = nth % 2 ? KEYS - 1 - at : at;

            snprintf(keys[k], sizeof(keys[k]), "key-%d", key);
            snprintf(limits[k], sizeof(limits[k]), "limit-%d", key % 7);
            list[k] = (struct submission){.kind = KIND_EXEC,
                                          .task_index = key,
                                          .name = "x",
                                          .key = keys[k],
                                          .concurrency = limits[k],
                                          .concurrency_max = 100};
        }
        submit_batch(s, list, KEYS_AT_ONCE);
        for (k = 0; k < KEYS_AT_ONCE; k++) {
            int64_t none = 0;

            keyed->made[list[k].task_index] += !list[k].existed;
            if (!atomic_compare_exchange_strong(&keyed->id[list[k].task_index], &none, list[k].id))
                CHECK_EQ(none, list[k].id);
        }
    }
    check_redone(&w, 2);
    store_close(&s);
}

TEST(idempotency_key_submitted_by_eight_processes_creates_one_execution)
{
    struct store *s;
    int i;

    keyed = shared_memory(sizeof(*keyed));
    run_processes(8, submit_keys);
    for (i = 0; i < KEYS; i++)
        CHECK_EQ(keyed->made[i], 1);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), KEYS);
    verify_clean(s);
    store_close(&s);
}

/* ---- limits ---- */

#define LIMITED_JOBS 240
#define QUEUE_MAX    3
#define WAYS         3 /* concurrency keys: none, one with limit 1, one with limit 2 */

static struct {
    _Atomic int running, of_key[WAYS], ended, most;
    int way[LIMITED_JOBS + 1]; /* of each job, by its id */
} * gauge;

static const int way_max[WAYS] = {1000, 1, 2};
static const char *const way_key[WAYS] = {NULL, "one", "two"};

/* The gauge counts jobs that are claimed and not yet settled from the workers' point of view, which
 * is never more than the store has running. */
static void work_under_limits(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct held_job jobs[4];
    size_t n, i;

    while (gauge->ended < LIMITED_JOBS) {
        n = claim_many(s, nth + 1, 4, jobs);
        for (i = 0; i < n; i++) {
            int now = ++gauge->running, way = gauge->way[jobs[i].id];

            if (now > gauge->most)
                gauge->most = now;
            CHECK(now <= QUEUE_MAX);
            CHECK(++gauge->of_key[way] <= way_max[way]);
        }
        for (i = 0; i < n; i++) {
            gauge->running--;
            gauge->of_key[gauge->way[jobs[i].id]]--;
            while (settle_ok(s, jobs[i]) == -E_BUSY)
                ;
            gauge->ended++;
        }
        if (!n)
            run_timers(s); /* a permit that could not be passed on is offered again */
    }
    check_redone(&w, 2);
    store_close(&s);
}

TEST_SLOW(eight_processes_never_exceed_a_limit_and_all_jobs_end, 600)
{
    struct store *s;
    int i;

    gauge = shared_memory(sizeof(*gauge));
    s = fixture_store();
    set_limit(s, "queue:default", QUEUE_MAX);
    for (i = 0; i < LIMITED_JOBS; i++) {
        int way = i % WAYS;
        int64_t id = submit_with(s, (struct submission){.name = "x",
                                                        .concurrency = way_key[way],
                                                        .concurrency_max = way_max[way]});

        CHECK(id <= LIMITED_JOBS);
        gauge->way[id] = way;
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), QUEUE_MAX);
    store_close(&s);
    run_processes(8, work_under_limits);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), LIMITED_JOBS);
    CHECK_EQ(sql_number(s, "SELECT sum(used) FROM limits"), 0);
    CHECK(gauge->most > 1);
    verify_clean(s);
    store_close(&s);
}
