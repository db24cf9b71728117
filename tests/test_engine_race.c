/* test_engine_race.c - two things happen to a running job at once: cancel, timeout, its own end,
 * the reaper, an adopter, in every order; and workers that were stopped while others went on. Each
 * job ends once, nothing runs beside itself, and who lost a lease touches nothing. */
#include "heartbeat_fixture.h"
#include "ledger.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

TEST_POLL_TOO;
TEST_LONG;

/* ---- two at once ---- */

enum happening { CANCEL, TIMEOUT, FINISH, REAP, ADOPT, HAPPENINGS };

struct race {
    struct store *s;
    struct worker_kit a, b;
    bool command;
    int64_t id;
};

static const char *const names[] = {"cancel", "timeout", "finish", "reap", "adopt"};

static bool has_ended(const struct race *r)
{
    struct ledger l = {0};
    bool ended;

    ledger_read(&l);
    ended = ledger_count(&l, r->id, 0, 'e') > 0;
    vec_release(&l.lines);
    return ended;
}

static void some_steps(struct worker_kit *k)
{
    struct err err = ERR_INIT;

    for (int i = 0; i < 5; i++)
        CHECK_OK_ERR(engine_step(k->engine, 2000, &err), &err);
}

/* A function is taken over by its own worker alone, a command by any of its folder. */
static void adopt(struct race *r)
{
    struct worker_kit *taker = r->command ? &r->b : &r->a;

    clock_advance(LEASE / 2); /* the next heartbeat is due, with its look for orphans */
    if (sql_number(r->s, "SELECT count(*) FROM leases WHERE worker IS NULL"))
        KIT_UNTIL(taker, !sql_number(r->s, "SELECT count(*) FROM leases WHERE worker IS NULL"));
    else
        some_steps(taker);
}

static void happen(struct race *r, enum happening what)
{
    int rc;

    switch (what) {
    case CANCEL:
        rc = cancel(r->s, r->id);
        CHECK(rc == 0 || rc == -E_INVALID); /* it has ended */
        break;
    case TIMEOUT: /* as its executor's own clock does it */
        dispatch_cancel(engine_dispatch(r->a.engine), r->id, 1, OUTCOME_TIMED_OUT);
        break;
    case FINISH:
        ledger_go();
        while (r->command ? ledger_held() > 0 : !has_ended(r)) /* its end is recorded, too */
            clock_sleep_us(1000);
        break;
    case REAP:
        clock_advance(2 * LEASE);
        reap(r->s);
        break;
    case ADOPT:
        adopt(r);
        break;
    case HAPPENINGS:
        break;
    }
}

static int terminal_events(struct store *s, int64_t id)
{
    static const char *const words[] = {" completed", " failed", " timed_out", " cancelled",
                                        " abandoned"};
    const char *all = history(s, id);
    int n = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        for (const char *p = all; (p = strstr(p, words[i])) != NULL; p++)
            n++;
    return n;
}

static void check_race(struct race *r, enum happening first)
{
    int status = status_of(r->s, r->id);

    printf("    %s\n", history(r->s, r->id));
    CHECK_EQ(terminal_events(r->s, r->id), 1);
    CHECK_EQ(get(r->s, r->id).attempts, 1);
    if (first == FINISH) /* what had ended by itself keeps its own outcome */
        CHECK_EQ(status, S_SUCCEEDED);
    else
        CHECK(status == S_SUCCEEDED || status == S_CANCELLED || status == S_TIMED_OUT);
    ledger_check(r->s, r->id);
    verify_clean(r->s);
}

static void race(bool command, enum happening first, enum happening second, bool between)
{
    struct race r = {.s = fixture_store(),
                     .a = {.list = ledger_functions, .commands = true},
                     .b = {.list = ledger_functions, .commands = true},
                     .command = command};

    printf("%s: %s, %s%s\n", command ? "command" : "function", names[first],
           between ? "a step, " : "", names[second]);
    ledger_clear();
    r.id = submit_with(r.s, ledger_job(command, "wait", 1));
    kit_open(&r.a);
    KIT_UNTIL(&r.a, ledger_begun(r.id) && strstr(history(r.s, r.id), "started"));
    kit_open(&r.b);
    some_steps(&r.b);
    happen(&r, first);
    if (between)
        some_steps(&r.a);
    happen(&r, second);
    some_steps(&r.a); /* whoever is the slower one then has to see that it is */
    ledger_go();
    clock_advance(LEASE / 2);
    while (!status_is_terminal(status_of(r.s, r.id))) {
        kit_step(&r.a);
        kit_step(&r.b);
    }
    some_steps(&r.a);
    engine_close(&r.a.engine);
    engine_close(&r.b.engine);
    check_race(&r, first);
    store_close(&r.s);
}

/* In poll mode, and for a sanitizer, some of them, others each time: how a job was claimed matters
 * little here, and the code is the same in another order. */
static void all_races(bool command)
{
    bool between = getpid() % 2;
    int stride = test_full() ? 1 : kit_polls() ? 5 : SANITIZED ? 3 : 1;
    int first, second, nth = getpid() % stride;

    for (first = 0; first < HAPPENINGS; first++)
        for (second = 0; second < HAPPENINGS; second++)
            if (first != second && nth++ % stride == 0) {
                race(command, (enum happening)first, (enum happening)second, between);
                if (test_full())
                    race(command, (enum happening)first, (enum happening)second, !between);
                between = !between;
            }
}

TEST_SLOW(two_things_that_happen_to_a_command_at_once_end_it_once, 600)
{
    all_races(true);
}

TEST_SLOW(two_things_that_happen_to_a_function_at_once_end_it_once, 600)
{
    all_races(false);
}

/* ---- workers that were stopped ---- */

/* Between the worker that is stopped and the test. */
static struct {
    struct sign stop;       /* stop between two steps */
    _Atomic int64_t cancel; /* after the stop: end this one, as its time is up */
    _Atomic int64_t offset; /* after the stop: so late it is (env.h) */
    _Atomic int steps;
} * shared;

static const char *stop_where;

/* Until it is woken, when the time is the test's. */
static void stop_here(void)
{
    raise(SIGSTOP);
    __atomic_store_n(&fixture_env()->clock_offset, shared->offset, __ATOMIC_RELAXED);
}

static void stop_there(void *arg, const char *where)
{
    (void)arg;
    if (!stop_where || strcmp(stop_where, where) != 0)
        return;
    stop_where = NULL;
    stop_here();
}

static void stop_if_told(struct worker_kit *k)
{
    if (!shared->stop.given)
        return;
    stop_here();
    shared->stop.given = 0;
    if (shared->cancel)
        dispatch_cancel(engine_dispatch(k->engine), shared->cancel, 1, OUTCOME_TIMED_OUT);
}

/* A worker in a process of its own. Nothing may be open meanwhile. It stops at `where`, unless that
 * is NULL. */
static pid_t worker_start(const char *where, struct engine_options o)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct worker_kit k = {.list = ledger_functions, .commands = true};

        stop_where = where;
        fixture_env()->point = stop_there;
        for (kit_open_with(&k, o);; shared->steps++) {
            kit_step(&k);
            stop_if_told(&k);
        }
    }
    return pid;
}

static void wait_for_stop(pid_t pid)
{
    int status;

    CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
    CHECK(WIFSTOPPED(status));
}

static void go_on(pid_t pid)
{
    shared->offset = fixture_env()->clock_offset;
    CHECK_OK(kill(pid, SIGCONT));
}

/* Lets it go on, and waits until it has gone round some times. */
static void wake(pid_t pid, struct worker_kit *other)
{
    int before = shared->steps;

    go_on(pid);
    KIT_UNTIL(other, shared->steps >= before + 20);
}

static void worker_end(pid_t pid, int signal)
{
    int status;

    if (signal == 0)
        CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int64_t submit_and_close(bool command)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, ledger_job(command, "wait", 4));

    shared = shared_memory(sizeof(*shared));
    store_close(&s);
    return id;
}

static void end_well(struct store *s, struct worker_kit *k, int64_t id)
{
    ledger_go();
    KIT_UNTIL(k, status_is_terminal(status_of(s, id)));
    engine_close(&k->engine);
    printf("    %s\n", history(s, id));
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    ledger_check(s, id);
    verify_clean(s);
    store_close(&s);
}

/* The claim is committed, and nothing begun. Meanwhile another takes it over, finds nothing,
 * settles that and begins the next attempt; what the first one left on the disk is gone. */
static void stopped_claimer(const char *where)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    int64_t id = submit_and_close(true);
    struct engine_options o = {.lease = 4 * SECOND}; /* so long the folder stays, by any clock */
    pid_t pid = worker_start(where, o);
    struct ledger l = {0};
    struct store *s;

    wait_for_stop(pid);
    s = fixture_store();
    kit_open_with(&k, o);
    PASS_UNTIL(&k, ledger_begun(id) && !ledger_has_first_folder(id));
    CHECK_EQ(get(s, id).attempts, 2);
    wake(pid, &k);
    ledger_read(&l);
    CHECK_EQ(ledger_count(&l, id, 1, 'b'), 0);
    vec_release(&l.lines);
    worker_end(pid, 0);
    end_well(s, &k, id);
}

TEST(a_claimer_stopped_before_it_handed_out_begins_nothing)
{
    stopped_claimer("engine:committed");
}

TEST(a_claimer_stopped_before_it_made_a_folder_begins_nothing)
{
    stopped_claimer("process:before-folder");
}

/* While it lives nobody else takes its functions; when it wakes it is too late to begin. */
TEST(a_claimer_of_a_function_that_was_stopped_begins_nothing)
{
    struct worker_kit k = {.list = ledger_functions};
    int64_t id = submit_and_close(false);
    pid_t pid = worker_start("engine:committed", (struct engine_options){0});
    struct ledger l = {0};
    struct store *s;

    wait_for_stop(pid);
    s = fixture_store();
    kit_open(&k);
    PASS_UNTIL(&k, strstr(history(s, id), "lease_expired"));
    for (int i = 0; i < 50; i++)
        kit_step(&k);
    CHECK_EQ(get(s, id).epoch, 1);
    go_on(pid);
    KIT_UNTIL(&k, ledger_begun(id));
    ledger_read(&l);
    CHECK_EQ(ledger_count(&l, id, 1, 'b'), 0);
    vec_release(&l.lines);
    ledger_go();
    KIT_UNTIL(&k, status_is_terminal(status_of(s, id)));
    worker_end(pid, 0);
    end_well(s, &k, id);
}

TEST(a_worker_that_wakes_after_its_lease_was_taken_over_signals_nothing)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    int64_t id = submit_and_close(true);
    pid_t pid = worker_start(NULL, (struct engine_options){0});
    struct store *s;

    while (!ledger_begun(id))
        clock_sleep_us(1000);
    s = fixture_store();
    while (!strstr(history(s, id), "started")) /* it has said so, too */
        clock_sleep_us(1000);
    shared->cancel = id;
    sign_give(&shared->stop);
    wait_for_stop(pid);
    kit_open(&k);
    PASS_UNTIL(&k, get(s, id).epoch == 2);
    wake(pid, &k);
    CHECK(ledger_processes() > 0);
    CHECK_EQ(get(s, id).worker, engine_worker(k.engine));
    worker_end(pid, 0);
    end_well(s, &k, id);
    s = fixture_store();
    CHECK_EQ(get(s, id).attempts, 1);
    CHECK_STR(history(s, id),
              "created marked_ready claimed started lease_expired adopted completed");
    store_close(&s);
}

TEST(a_worker_stuck_for_long_is_killed_before_its_functions_are_taken)
{
    struct worker_kit k = {.list = ledger_functions};
    int64_t id = submit_and_close(false);
    pid_t pid = worker_start(NULL, (struct engine_options){0});
    struct store *s;

    while (!ledger_begun(id))
        clock_sleep_us(1000);
    sign_give(&shared->stop);
    wait_for_stop(pid);
    s = fixture_store();
    kit_open(&k);
    PASS_UNTIL(&k, ledger_begun(id) == 2); /* with its execution's lock: the first one is dead */
    worker_end(pid, SIGKILL);
    end_well(s, &k, id);
}
