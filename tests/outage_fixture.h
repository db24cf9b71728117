/* outage_fixture.h - engines on a PostgreSQL that goes away, under constant load or as separate
 * processes. */
#ifndef TESTS_OUTAGE_FIXTURE_H
#define TESTS_OUTAGE_FIXTURE_H

#include "ledger.h"
#include "server_fixture.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- engines ---- */

static atomic_int begun;

static const struct kit_function functions[] = {
    {"counts", kit_noop, &begun}, {"ledger", ledger_function, NULL}, {NULL, NULL, NULL}};

static inline void open_at(struct worker_kit *k, const char *url, const char *state,
                           struct engine_options o)
{
    struct err err = ERR_INIT;

    o.url = url;
    o.tenant = fixture_tenant();
    o.env = fixture_env();
    o.state = state;
    o.loops = kit_loops();
    CHECK_OK_ERR(engine_open(&o, kit_make, k, &k->engine, &err), &err);
    engine_on_end(k->engine, kit_ended, &k->ended);
}

/* ---- engines as separate processes ---- */

static inline _Noreturn void run_worker_process(const char *url, const char *state,
                                                struct engine_options o)
{
    struct worker_kit k = {.list = functions, .commands = true, .threads = 8, .slots = 8};
    struct err err = ERR_INIT;

    open_at(&k, url, state, o);
    while (!engine_step(k.engine, 20000, &err))
        ;
    fprintf(stderr, "%s\n", err.msg);
    engine_close(&k.engine);
    _exit(7);
}

static inline pid_t worker_start(const char *url, const char *state, struct engine_options o)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        run_worker_process(url, state, o);
    return pid;
}

static inline void until_begun(const int64_t *ids, int n)
{
    for (int i = 0; i < n; i++)
        while (!ledger_begun(ids[i]))
            clock_sleep_us(1000);
}

static inline void until_terminal(struct store *s, int64_t id)
{
    while (!status_is_terminal(status_of(s, id)))
        clock_sleep_us(5000);
}

static inline void until_number(struct store *s, const char *sql, int64_t n)
{
    while (sql_number(s, sql) < n)
        clock_sleep_us(5000);
}

static inline void end_worker(pid_t pid)
{
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- under load ---- */

struct load {
    struct worker_kit k;
    int submitted, acked;
};

static inline void on_ack(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    ++*(int *)arg;
}

/* Makes a step, after submitting jobs so that at most this many wait. */
static inline void step_under_load(struct load *l, int waiting)
{
    struct submission s = {.kind = KIND_EXEC,
                           .name = "exec::load",
                           .lane = "function:counts",
                           .task_index = -1,
                           .max_attempts = 4};

    for (; l->submitted - l->k.ended < waiting; l->submitted++)
        engine_submit(l->k.engine, &s, on_ack, &l->acked);
    kit_step(&l->k);
}

/* Every job whose submission was acknowledged ran once. */
static inline void end_load(struct load *l)
{
    struct store *s;

    KIT_UNTIL(&l->k, l->k.ended >= l->submitted && l->acked == l->submitted);
    engine_close(&l->k.engine);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), l->submitted);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 1"),
             l->submitted);
    CHECK_EQ(atomic_load(&begun), l->submitted);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 11"), 0);
    verify_clean(s);
    store_close(&s);
}

#endif
