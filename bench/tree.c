/* tree.c - measures how long it takes to show a run: a nested workflow with retries and a fan-out
 * of 1,000 items, in a database with OTHERS executions.
 *
 *   tree URL OTHERS TIMES
 *
 * Prints the median and the p90, in µs, of the outline that views are made from, of the whole tree
 * as JSON, and of the program `pawl tree` from its start to its end. The rows are created by SQL,
 * as engines would leave them. */
#include "base/env.h"
#include "pawl.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN   2000000LL /* the id of the run; its descendants follow */
#define ITEMS 1000

static void must(int rc, const char *message)
{
    if (!rc)
        return;
    fprintf(stderr, "tree: %s\n", message);
    exit(1);
}

/* ---- rows ---- */

/* Runs `text` after a WITH clause that defines g(i), the numbers 1 to n, and t(at), a time. */
static void sql(struct store *s, const char *text, int64_t n)
{
    static struct stmt stmts[16];
    static char texts[16][2][2000];
    static size_t used;
    struct stmt *st = &stmts[used];
    struct args a = {.stmt = st};
    struct err err = ERR_INIT;
    int d;

    for (d = 0; d < 2; d++) {
        char *out = texts[used][d];

        snprintf(
            out, sizeof(texts[0][0]),
            d == DIALECT_SQLITE
                ? "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < ?1),"
                  " t(at) AS (SELECT 1) %s"
                : "WITH g(i) AS (SELECT generate_series(1, $1)), t(at) AS (SELECT now()) %s",
            text);
        st->sql[d] = out;
    }
    st->name = "seed";
    st->nscalars = 1;
    st->types[0] = T_I64;
    used++;
    args_int(&a, n);
    must(db_begin(store_db(s), TX_LONG, &err), err.msg);
    must(db_send(store_db(s), &a, NULL, ANY_ROWS, &err), err.msg);
    must(db_commit(store_db(s), &err), err.msg);
    args_release(&a);
}

#define OF_EXECUTIONS                                                                            \
    "(id, parent, root, workflow, requested_at, started_at, finished_at, updated_at, priority,"  \
    " attempts, max_attempts, epoch, seq, needs_left, task_index, needs_succeeded, depth, kind," \
    " status, held, deferred, flags, cancel_requested, name, queue, lane, task_name, input, error)"
#define INTO_EVENTS                                                                                  \
    "INSERT INTO execution_events (sequence_num, root, execution, created_at, worker, seq, attempt," \
    " epoch, type, from_status, to_status, data)"

/* Trees of ten executions, with two events each. */
static void seed_others(struct store *s, int64_t n)
{
    sql(s,
        "INSERT INTO executions " OF_EXECUTIONS
        " SELECT i, CASE WHEN i % 10 = 1 THEN NULL ELSE i - (i - 1) % 10 END, i - (i - 1) % 10,"
        " NULL, at, at, at, at, 0, 1, 1, 1, 2, 0, NULL, 0, CASE WHEN i % 10 = 1 THEN 0 ELSE 1 END,"
        " 2, 4, 0, 0, 0, 0, 'exec::other', 'default', 'process', NULL, '{}', NULL FROM g, t",
        n);
    sql(s,
        INTO_EVENTS
        " SELECT i * 2, i - (i - 1) % 10, i, at, NULL, 1, 0, 0, 1, 0, 1, NULL FROM g, t",
        n);
    sql(s,
        INTO_EVENTS
        " SELECT i * 2 + 1, i - (i - 1) % 10, i, at, 7, 2, 1, 1, 14, 1, 4, NULL FROM g, t",
        n);
}

/* 1 the run, 2 a fan-out in it, 3 a nested workflow, 4 to 13 its tasks, 14 to 1,013 items, of which
 * every hundredth failed; each job has two attempts and eight events. */
static void seed_run(struct store *s)
{
    sql(s,
        "INSERT INTO executions " OF_EXECUTIONS
        " SELECT i + 2000000, CASE WHEN i = 1 THEN NULL WHEN i < 4 THEN 2000001 WHEN i < 14 THEN"
        " 2000003 ELSE 2000002 END, 2000001, 2000001, at, at, at, at, 0,"
        " CASE WHEN i > 3 THEN 2 ELSE 0 END, 3, 2, 8, 0, CASE WHEN i > 13 THEN i - 14 END, 0,"
        " CASE WHEN i = 1 THEN 0 WHEN i < 4 THEN 1 ELSE 2 END,"
        " CASE WHEN i IN (1, 3) THEN 3 WHEN i = 2 THEN 4 ELSE 1 END,"
        " CASE WHEN i > 13 AND i % 100 = 0 THEN 5 ELSE 4 END, 0, 0, 0, 0, 'run::task', 'default',"
        " 'process', 'task', CASE WHEN i = 2 THEN '[1, 2, 3]' ELSE '{}' END,"
        " CASE WHEN i > 13 AND i % 100 = 0 THEN 'exited with code 1' END FROM g, t",
        ITEMS + 13);
    sql(s,
        INTO_EVENTS
        " SELECT 200000000 + i, 2000001, 2000001 + (i - 1) / 8, at, 7, (i - 1) % 8 + 1, 1,"
        " 1, CASE (i - 1) % 8 WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 5 WHEN 3 THEN 6 WHEN 4"
        " THEN 10 WHEN 5 THEN 5 WHEN 6 THEN 6 ELSE 14 END, 3, 3,"
        " '{\"outcome\":\"ok\",\"exit_code\":0,\"duration_us\":1000}' FROM g, t",
        (ITEMS + 13) * 8);
}

/* ---- measuring ---- */

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int count(void *arg, const char *json)
{
    (void)json;
    ++*(size_t *)arg;
    return 0;
}

static const char *command(const char *url)
{
    static char text[8192];
    char path[4000] = "";
    char *slash;
    int up;

    must(readlink("/proc/self/exe", path, sizeof(path) - 1) < 0, "can't read /proc/self/exe");
    for (up = 0; up < 2 && (slash = strrchr(path, '/')); up++)
        *slash = 0;
    snprintf(text, sizeof(text), "'%s/pawl' tree %lld --db '%s' >/dev/null", path, RUN + 1, url);
    return text;
}

enum way { OUTLINE, WHOLE, PROGRAM, WAYS };

static void read_run(enum way way, struct pawl *p, const char *url)
{
    struct pawl_error err;
    char *json = NULL;
    size_t n = 0;

    if (way == OUTLINE)
        must(pawl_outline(p, RUN + 1, count, &n, NULL, &err), err.message);
    else if (way == WHOLE)
        must(pawl_tree(p, RUN + 1, &json, &err), err.message);
    else
        must(system(command(url)), "pawl tree failed");
    free(json);
}

static void measure(const char *url, int64_t others, size_t times)
{
    static const char *const names[WAYS] = {"outline", "whole", "program"};
    struct pawl_options o = {.url = url, .must_exist = true};
    int64_t *took = calloc(times, sizeof(*took));
    struct pawl_error err;
    struct pawl *p = NULL;
    size_t i;
    enum way way;

    must(pawl_open(&o, &p, &err), err.message);
    for (way = 0; way < WAYS; way++) {
        for (i = 0; i < times; i++) {
            took[i] = clock_boot_us();
            read_run(way, p, url);
            took[i] = clock_boot_us() - took[i];
        }
        qsort(took, times, sizeof(*took), by_time);
        printf("{\"what\":\"tree\",\"way\":\"%s\",\"others\":%lld,\"items\":%d,\"p50_us\":%lld,"
               "\"p90_us\":%lld}\n",
               names[way], (long long)others, ITEMS, (long long)took[times / 2],
               (long long)took[times * 9 / 10]);
    }
    pawl_close(p);
    free(took);
}

int main(int argc, char **argv)
{
    struct store *s = NULL;
    struct err err = ERR_INIT;
    int64_t others;

    if (argc != 4) {
        fprintf(stderr, "usage: tree URL OTHERS TIMES\n");
        return 2;
    }
    others = strtoll(argv[2], NULL, 10);
    must(store_open(argv[1], NULL, NULL, &s, &err), err.msg);
    seed_others(s, others);
    seed_run(s);
    store_close(&s);
    measure(argv[1], others, strtoul(argv[3], NULL, 10));
    return 0;
}
