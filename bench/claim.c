/* claim.c - measures a claim from a long queue: turns that claim 100 jobs each, from WAITING jobs
 * in 8 queues, with DELAYED more that are held for a delay.
 *
 *   claim URL WAITING DELAYED TURNS
 *
 * Prints the median and the p90 of a turn in µs. The rows are created by SQL, as a submit would
 * leave them. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES 8
#define CLAIM  100

static void must(int rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "claim: %s\n", err->msg);
    exit(1);
}

static void sql(struct store *s, const char *sqlite, const char *postgres, int64_t waiting,
                int64_t delayed)
{
    static struct stmt stmts[16];
    static size_t n;
    struct stmt *st = &stmts[n++];
    struct args a = {.stmt = st};
    struct err err = ERR_INIT;

    *st = (struct stmt){.name = "seed",
                        .sql = {[DIALECT_SQLITE] = sqlite, [DIALECT_POSTGRES] = postgres},
                        .nscalars = 2,
                        .types = {T_I64, T_I64}};
    args_int(&a, waiting);
    args_int(&a, delayed);
    must(db_begin(store_db(s), TX_LONG, &err), &err);
    must(db_send(store_db(s), &a, NULL, ANY_ROWS, &err), &err);
    must(db_commit(store_db(s), &err), &err);
    args_release(&a);
}

/* The first $1 jobs wait, the next $2 are held for a delay. */
static void seed(struct store *s, int64_t waiting, int64_t delayed)
{
    sql(s,
        "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < ?1 + ?2)"
        " INSERT INTO executions SELECT i, NULL, i, NULL, NULL, 1, NULL, NULL, 1, 0, 0, 1, 0, 2, 0, NULL,"
        " 0, 0, 2, 2, CASE WHEN i > ?1 THEN 3 ELSE 0 END, 0, 0, 0, 'exec::noop', 'q' || (i % 8),"
        " 'process', NULL, NULL, NULL, '{}', NULL, NULL, NULL FROM g",
        "INSERT INTO executions SELECT i, NULL, i, NULL, NULL, now(), NULL, NULL, now(), 0, 0, 1, 0, 2, 0,"
        " NULL, 0, 0, 2, 2, CASE WHEN i > $1 THEN 3 ELSE 0 END, 0, 0, 0, 'exec::noop', 'q' || (i % 8),"
        " 'process', NULL, NULL, NULL, '{}', NULL, NULL, NULL FROM generate_series(1, $1 + $2) i",
        waiting, delayed);
    sql(s,
        "INSERT INTO task_outbox SELECT lane, queue, 0, id, 1, NULL FROM executions"
        " WHERE held = 0 AND ?1 >= 0 AND ?2 >= 0",
        "INSERT INTO task_outbox SELECT lane, queue, 0, id, now(), NULL FROM executions"
        " WHERE held = 0 AND $1 >= 0 AND $2 >= 0",
        waiting, delayed);
    sql(s,
        "INSERT INTO timers SELECT 4000000000000000 + id, id, 1 FROM executions"
        " WHERE held = 3 AND ?1 >= 0 AND ?2 >= 0",
        "INSERT INTO timers SELECT now() + interval '90 days', id, 1 FROM executions"
        " WHERE held = 3 AND $1 >= 0 AND $2 >= 0",
        waiting, delayed);
}

static int claim_some(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[QUEUES] = {
        {"process", "q0"}, {"process", "q1"}, {"process", "q2"}, {"process", "q3"},
        {"process", "q4"}, {"process", "q5"}, {"process", "q6"}, {"process", "q7"}};
    struct claim c = {.worker = 1,
                      .folder = "bench",
                      .lease = 30000000,
                      .serves = serves,
                      .nserves = QUEUES,
                      .max = CLAIM};

    return op_claim(t, &c, arg, err);
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    struct store *s = NULL;
    struct err err = ERR_INIT;
    struct job_list jobs;
    int64_t waiting, delayed, *took;
    size_t turns, i;

    if (argc != 5) {
        fprintf(stderr, "usage: claim URL WAITING DELAYED TURNS\n");
        return 2;
    }
    waiting = strtoll(argv[2], NULL, 10);
    delayed = strtoll(argv[3], NULL, 10);
    turns = strtoul(argv[4], NULL, 10);
    took = calloc(turns, sizeof(*took));
    must(store_open(argv[1], NULL, NULL, &s, &err), &err);
    seed(s, waiting, delayed);
    for (i = 0; i < turns; i++) {
        took[i] = clock_boot_us();
        must(store_turn(s, claim_some, &jobs, &err), &err);
        took[i] = clock_boot_us() - took[i];
        if (jobs.n != CLAIM) {
            fprintf(stderr, "claim: got %zu of %d\n", jobs.n, CLAIM);
            return 1;
        }
    }
    qsort(took, turns, sizeof(*took), by_time);
    printf(
        "{\"what\":\"claim\",\"waiting\":%lld,\"delayed\":%lld,\"of\":%d,\"p50_us\":%lld,\"p90_us\":%lld}\n",
        (long long)waiting, (long long)delayed, CLAIM, (long long)took[turns / 2],
        (long long)took[turns * 9 / 10]);
    store_close(&s);
    free(took);
    return 0;
}
