/* test_engine_crash.c - kill -9 of a whole worker at every point of its life, and of its
 * shims at every point of theirs. The next worker of the same state folder finishes every
 * job; the ledger proves that no job ran twice at once, none was started twice in one attempt, and
 * every job that succeeded was done. */
#include "attempt_counts_fixture.h"
#include "ledger.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

TEST_POLL_TOO;
TEST_LOOPS_TOO;
TEST_LONG;

#define SHORT_LEASE (3 * SECOND)

/* The jobs that one worker is given. Keys make a repeated submit return the same executions. */
enum role { FUNCTION, FUNCTION_ONCE, COMMAND, COMMAND_ONCE, COMMAND_WAITS, CANCELLED, ROLES };

struct jobs {
    int64_t ids[ROLES]; /* 0 if not acknowledged */
    int acknowledged;
};

static struct jobs *jobs; /* shared with the worker that dies */
static int round_number;

static struct submission job_of(enum role role)
{
    static const char *const how[ROLES] = {"ok", "once", "ok", "once", "wait", "sleep"};
    struct submission s = ledger_job(role >= COMMAND, how[role], 4);

    s.key = ledger_keep(mem_printf("%d-%d", round_number, (int)role));
    return s;
}

/* ---- the worker that dies ---- */

static atomic_int points, die_at;
static const char *die_where; /* NULL means any point */

static void die_at_point(void *arg, const char *where)
{
    (void)arg;
    if (die_where && strcmp(die_where, where) != 0)
        return;
    if (atomic_fetch_add(&points, 1) + 1 == atomic_load(&die_at))
        kill(getpid(), SIGKILL);
}

static void on_acknowledged(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    *(int64_t *)arg = s->id;
    jobs->acknowledged++;
}

static bool is_terminal(struct store *s, int64_t id)
{
    return status_is_terminal(status_of(s, id));
}

/* Does everything that a worker does: open, submit, run, retry, cancel, wait, settle, close. */
static void run_worker(void)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    struct store *s = fixture_store();
    int i;

    kit_open_with(&k, (struct engine_options){.lease = SHORT_LEASE});
    for (i = 0; i < ROLES; i++) {
        struct submission sub = job_of((enum role)i);

        engine_submit(k.engine, &sub, on_acknowledged, &jobs->ids[i]);
    }
    KIT_UNTIL(&k, jobs->acknowledged == ROLES);
    KIT_UNTIL(&k, ledger_begun(jobs->ids[CANCELLED]) && ledger_begun(jobs->ids[COMMAND_WAITS]));
    kit_cancel(&k, s, jobs->ids[CANCELLED]);
    KIT_UNTIL(&k, is_terminal(s, jobs->ids[CANCELLED]));
    ledger_go();
    for (i = 0; i < ROLES; i++)
        KIT_UNTIL(&k, is_terminal(s, jobs->ids[i]));
    engine_stop(k.engine, false);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    engine_close(&k.engine);
    store_close(&s);
}

/* Returns false if the worker ended before it reached that point. */
static bool run_worker_until(const char *where, int nth)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        die_where = where;
        atomic_store(&die_at, nth);
        fixture_env()->point = die_at_point;
        run_worker();
        _exit(0);
    }
    return was_killed(pid);
}

/* ---- the next worker ---- */

/* Submits all jobs again: acknowledged ones are found, the others are created. */
static void submit_again(struct store *s, int64_t *ids)
{
    for (int i = 0; i < ROLES; i++) {
        ids[i] = submit_with(s, job_of((enum role)i));
        if (jobs->ids[i])
            CHECK_EQ(jobs->ids[i], ids[i]);
    }
}

static void check_all(struct store *s, const int64_t *ids)
{
    for (int i = 0; i < ROLES; i++) {
        ledger_check(s, ids[i]);
        CHECK_EQ(status_of(s, ids[i]), i == CANCELLED ? S_CANCELLED : S_SUCCEEDED);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    check_counts_match_events(s);
    verify_clean(s);
}

static void finish_with_next_worker(void)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    struct store *s = fixture_store();
    int64_t ids[ROLES];
    int rc;

    verify_clean(s);
    submit_again(s, ids);
    rc = cancel(s, ids[CANCELLED]);
    CHECK(rc == 0 || rc == -E_INVALID); /* -E_INVALID: already cancelled */
    ledger_go();
    kit_open_with(&k, (struct engine_options){.lease = SHORT_LEASE});
    KIT_UNTIL(&k, !sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"));
    KIT_UNTIL(&k, ledger_held() == 0);
    KIT_UNTIL(&k, ledger_processes() == 0);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM workers") == 1);
    engine_close(&k.engine);
    check_all(s, ids);
    store_close(&s);
}

static void start_round(void)
{
    ledger_clear();
    *jobs = (struct jobs){0};
    round_number++;
}

static void prepare(void)
{
    jobs = shared_memory(sizeof(*jobs));
    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* only processes of Pawl are killed */
    fixture_url();
    ledger_script();
}

/* `make test` covers a different sample of the points each time. */
TEST_SLOW(worker_killed_at_any_point_loses_nothing_and_repeats_nothing, 1200)
{
    int stride = test_full() ? 1 : SANITIZED ? 41 : 17;
    int nth = 1 + (int)(getpid() % stride), kills = 0;

    prepare();
    for (start_round(); run_worker_until(NULL, nth); nth += stride, start_round()) {
        printf("killed at point %d\n", nth);
        finish_with_next_worker();
        kills++;
    }
    printf("%d kills, up to point %d\n", kills, nth);
    CHECK(nth > 100); /* the worker did run */
}

/* Every point between a commit and the action that follows it; none is left out. */
TEST_SLOW(worker_killed_between_a_commit_and_its_action_loses_nothing, 600)
{
    static const char *const where[] = {
        "engine:committed",      "engine:job-started", "engine:settled",
        "process:before-folder", "process:folder",     "process:before-request",
        "process:requested",     "process:answered",   "process:before-removal"};
    int nth, stride = test_full() ? 1 : 4;
    size_t i;

    prepare();
    for (i = 0; i < sizeof(where) / sizeof(*where); i++) {
        nth = 1 + (int)(getpid() + (int)i) % stride;
        for (start_round(); run_worker_until(where[i], nth); nth += stride, start_round()) {
            printf("killed at %s, time %d\n", where[i], nth);
            finish_with_next_worker();
            if (!test_full())
                break;
        }
        if (test_full())
            CHECK(nth > 1);
    }
}

/* ---- killed shims ---- */

/* The worker is killed as well, after it has requested some shims or received the exit of some. */
static void check_shims_killed_at(const char *shim_point, const char *where)
{
    start_round();
    setenv("PAWL_SHIM_POINT", shim_point, 1);
    CHECK(run_worker_until(where, 2));
    unsetenv("PAWL_SHIM_POINT");
    printf("shims killed at %s, their worker at %s\n", shim_point, where);
    finish_with_next_worker();
}

TEST_SLOW(worker_killed_together_with_its_shims_loses_nothing, 600)
{
    static const char *const shim[] = {"before-lock", "locked",  "forked",
                                       "ended",       "written", "renamed"};
    static const char *const worker[] = {"process:requested", "process:answered", "engine:settled"};
    size_t i, n = sizeof(shim) / sizeof(*shim), k = (size_t)getpid() % 3;

    prepare();
    for (i = 0; i < n * 3; i++)
        if (test_full() || i % 3 == k)
            check_shims_killed_at(shim[i / 3], worker[(i + i / 3) % 3]);
}
