/* concurrent_turns_fixture.h - concurrent turns in a test: on PostgreSQL another turn runs at a
 * chosen statement (env->point), or several processes are brought into the order in which a wrong
 * lock order would deadlock. SQLite runs the same tests, one turn after the other. */
#ifndef TESTS_CONCURRENT_TURNS_FIXTURE_H
#define TESTS_CONCURRENT_TURNS_FIXTURE_H

#include "fixture.h"
#include "store/door/door.h"
#include "store/store_internal.h"

#include <stdio.h>
#include <string.h>

static inline bool on_sqlite(void)
{
    return !strcmp(test_db(), "sqlite");
}

static inline void check_not_redone(const struct watch *w)
{
    if (w->redone)
        test_fail(__FILE__, __LINE__, "%d times redone: %s", w->redone, w->message);
}

#define LANE                 \
    {                        \
        "process", "default" \
    }
static const struct lane_queue lanes[] = {LANE};

static inline struct claim claim_of(int64_t worker, size_t max, int64_t lease)
{
    return (struct claim){.worker = worker,
                          .folder = "folder-a",
                          .lease = lease,
                          .serves = lanes,
                          .nserves = 1,
                          .max = max};
}

static inline struct held_job held_job_of(const struct execution *e)
{
    return (struct held_job){.id = e->id,
                             .root = e->root,
                             .worker = e->worker,
                             .epoch = e->epoch,
                             .attempt = e->attempts};
}

/* Three rows: a low, a middle and a high one. One process holds the middle one until two others
 * wait for a lock. One of these was given the rows in ascending, the other in descending order. If
 * they lock in the order given, each holds one end, and when the middle row is released they
 * deadlock. */
static struct {
    struct shared_flag held;
    _Atomic int64_t backend[3];
    _Atomic int redone;
    struct held_job up[3], down[3];
    int64_t ids[3];
} * scene;

static inline void prepare_store(int nth, struct store *s)
{
    submit(s, "first"); /* makes the store do its one-time work now */
    if (!on_sqlite())
        scene->backend[nth] = sql_number(s, "SELECT pg_backend_pid()");
}

static inline void close_checked(struct store **s, const struct watch *w)
{
    check_not_redone(w);
    store_close(s);
}

/* Called inside a turn that holds the locks that the other processes want. */
static inline void hold_until_they_wait(struct store *observer, int others)
{
    int64_t until = clock_boot_us() + 500000; /* after a second the others would give up */
    char sql[200];

    flag_set(&scene->held);
    if (on_sqlite())
        return;
    do {
        clock_sleep_us(1000);
        snprintf(
            sql, sizeof(sql),
            "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN (%lld, %lld)",
            (long long)scene->backend[1], (long long)scene->backend[2]);
    } while (sql_number(observer, sql) < others && clock_boot_us() < until);
}

/* Runs this many processes: the first one holds, inside a turn, the locks that the others then ask
 * for. No turn may be repeated. */
static struct {
    void (*hold)(struct store *s, struct watch *w, struct store *observer);
    void (*come)(struct store *s, int nth);
} line;

static inline void run_line_process(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *observer = nth ? NULL : fixture_store();

    prepare_store(nth, s);
    if (nth == 0) {
        line.hold(s, &w, observer);
        store_close(&observer);
    } else {
        flag_await(&scene->held);
        line.come(s, nth);
    }
    close_checked(&s, &w);
}

static inline void run_in_line(int n,
                               void (*first)(struct store *s, struct watch *w,
                                             struct store *observer),
                               void (*others)(struct store *s, int nth))
{
    line.hold = first;
    line.come = others;
    run_processes(n, run_line_process);
}

/* Runs one statement with the id as its parameter, inside a turn. */
static inline int lock_row(struct turn *t, const char *table, int64_t id, struct err *err)
{
    static char sql[100];
    static struct stmt stmt = {.name = "lock_row",
                               .sql = {[DIALECT_SQLITE] = "SELECT ?1", [DIALECT_POSTGRES] = sql},
                               .nscalars = 1,
                               .types = {T_I64}};
    struct args a = {.stmt = &stmt};
    int rc;

    snprintf(sql, sizeof(sql), "SELECT 1 FROM %s WHERE %s = $1 FOR UPDATE", table,
             strcmp(table, "leases") ? "id" : "execution");
    args_int(&a, id);
    if (!(rc = db_send(t->db, &a, NULL, ANY_ROWS, err)))
        rc = turn_sync(t, err);
    args_release(&a);
    return rc;
}

#endif
