/* test_engine_race.c - two events hit a running job at the same time: cancel, timeout, its own end,
 * the reaper, an adopter, in every order; and workers that were frozen by SIGSTOP while others
 * continued. Each job ends once, no job runs twice at once, and a worker that lost a lease touches
 * nothing. */
#include "heartbeat_fixture.h"
#include "ledger.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

TEST_POLL_TOO;
TEST_LONG;

/* ---- two simultaneous events ---- */

enum race_event { CANCEL, TIMEOUT, FINISH, REAP, ADOPT, RACE_EVENTS };

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

static void make_some_steps(struct worker_kit *k)
{
    struct err err = ERR_INIT;

    for (int i = 0; i < 5; i++)
        CHECK_OK_ERR(engine_step(k->engine, 2000, &err), &err);
}

/* A function is adopted only by its own worker, a command by any worker of its state folder. */
static void adopt(struct race *r)
{
    struct worker_kit *adopter = r->command ? &r->b : &r->a;

    clock_advance(LEASE / 2); /* the next heartbeat, which searches for orphans, is due */
    if (sql_number(r->s, "SELECT count(*) FROM leases WHERE worker IS NULL"))
        KIT_UNTIL(adopter, !sql_number(r->s, "SELECT count(*) FROM leases WHERE worker IS NULL"));
    else
        make_some_steps(adopter);
}

static void trigger(struct race *r, enum race_event what)
{
    int rc;

    switch (what) {
    case CANCEL:
        rc = cancel(r->s, r->id);
        CHECK(rc == 0 || rc == -E_INVALID); /* -E_INVALID: the job has ended */
        break;
    case TIMEOUT: /* as the executor's own timer does */
        dispatch_cancel(engine_dispatch(r->a.engine), r->id, 1, OUTCOME_TIMED_OUT);
        break;
    case FINISH:
        ledger_go();
        while (r->command ? ledger_held() > 0 : !has_ended(r)) /* until its end is recorded */
            clock_sleep_us(1000);
        break;
    case REAP:
        clock_advance(2 * LEASE);
        reap(r->s);
        break;
    case ADOPT:
        adopt(r);
        break;
    case RACE_EVENTS:
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

static void check_race(struct race *r, enum race_event first)
{
    int status = status_of(r->s, r->id);

    printf("    %s\n", history(r->s, r->id));
    CHECK_EQ(terminal_events(r->s, r->id), 1);
    CHECK_EQ(get(r->s, r->id).attempts, 1);
    if (first == FINISH) /* a job that ended by itself keeps its outcome */
        CHECK_EQ(status, S_SUCCEEDED);
    else
        CHECK(status == S_SUCCEEDED || status == S_CANCELLED || status == S_TIMED_OUT);
    ledger_check(r->s, r->id);
    verify_clean(r->s);
}

static void race(bool command, enum race_event first, enum race_event second, bool between)
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
    make_some_steps(&r.b);
    trigger(&r, first);
    if (between)
        make_some_steps(&r.a);
    trigger(&r, second);
    make_some_steps(&r.a); /* the slower worker must notice that it came second */
    ledger_go();
    clock_advance(LEASE / 2);
    while (!status_is_terminal(status_of(r.s, r.id))) {
        kit_step(&r.a);
        kit_step(&r.b);
    }
    make_some_steps(&r.a);
    engine_close(&r.a.engine);
    engine_close(&r.b.engine);
    check_race(&r, first);
    store_close(&r.s);
}

/* In poll mode and with a sanitizer, each run covers a different sample of the pairs: how a job was
 * claimed matters little here, and all pairs run the same code in another order. */
static void all_races(bool command)
{
    bool between = getpid() % 2;
    int stride = test_full() ? 1 : kit_polls() ? 5 : SANITIZED ? 3 : 1;
    int first, second, nth = getpid() % stride;

    for (first = 0; first < RACE_EVENTS; first++)
        for (second = 0; second < RACE_EVENTS; second++)
            if (first != second && nth++ % stride == 0) {
                race(command, (enum race_event)first, (enum race_event)second, between);
                if (test_full())
                    race(command, (enum race_event)first, (enum race_event)second, !between);
                between = !between;
            }
}

TEST_SLOW(command_hit_by_two_simultaneous_events_ends_once, 600)
{
    all_races(true);
}

TEST_SLOW(function_hit_by_two_simultaneous_events_ends_once, 600)
{
    all_races(false);
}

/* ---- frozen workers ---- */

/* Shared by the frozen worker and the test. */
static struct {
    struct shared_flag stop; /* stop between two steps */
    _Atomic int64_t cancel;  /* after the stop: end this execution as timed out */
    _Atomic int64_t offset;  /* after the stop: the clock offset to use (env.h) */
    _Atomic int steps;
} * shared;

static const char *stop_where;

/* Freezes the process until the test resumes it, then takes over the test's clock. */
static void stop_process(void)
{
    raise(SIGSTOP);
    __atomic_store_n(&fixture_env()->clock_offset, shared->offset, __ATOMIC_RELAXED);
}

static void stop_at_point(void *arg, const char *where)
{
    (void)arg;
    if (!stop_where || strcmp(stop_where, where) != 0)
        return;
    stop_where = NULL;
    stop_process();
}

static void stop_if_requested(struct worker_kit *k)
{
    if (!shared->stop.is_set)
        return;
    stop_process();
    shared->stop.is_set = 0;
    if (shared->cancel)
        dispatch_cancel(engine_dispatch(k->engine), shared->cancel, 1, OUTCOME_TIMED_OUT);
}

/* Starts a worker in its own process, which stops at the point `where` unless that is NULL. The
 * caller must have no store or engine open. */
static pid_t worker_start(const char *where, struct engine_options o)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct worker_kit k = {.list = ledger_functions, .commands = true};

        stop_where = where;
        fixture_env()->point = stop_at_point;
        for (kit_open_with(&k, o);; shared->steps++) {
            kit_step(&k);
            stop_if_requested(&k);
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

static void resume(pid_t pid)
{
    shared->offset = fixture_env()->clock_offset;
    CHECK_OK(kill(pid, SIGCONT));
}

/* Resumes the worker and waits until it has made some steps. */
static void resume_and_wait(pid_t pid, struct worker_kit *other)
{
    int before = shared->steps;

    resume(pid);
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

static void finish_and_check(struct store *s, struct worker_kit *k, int64_t id)
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

/* The claim is committed and nothing is started. Meanwhile another worker adopts the job, finds no
 * process, settles the attempt and starts the next one; the first attempt's folder is gone. */
static void check_stopped_claimer(const char *where)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    int64_t id = submit_and_close(true);
    struct engine_options o = {.lease =
                                   4 * SECOND}; /* the folder stays for this long, by any clock */
    pid_t pid = worker_start(where, o);
    struct ledger l = {0};
    struct store *s;

    wait_for_stop(pid);
    s = fixture_store();
    kit_open_with(&k, o);
    PASS_UNTIL(&k, ledger_begun(id) && !ledger_has_first_folder(id));
    CHECK_EQ(get(s, id).attempts, 2);
    resume_and_wait(pid, &k);
    ledger_read(&l);
    CHECK_EQ(ledger_count(&l, id, 1, 'b'), 0);
    vec_release(&l.lines);
    worker_end(pid, 0);
    finish_and_check(s, &k, id);
}

TEST(worker_frozen_between_claim_and_hand_over_starts_nothing_after_it_resumes)
{
    check_stopped_claimer("engine:committed");
}

TEST(worker_frozen_before_it_creates_the_attempt_folder_starts_nothing_after_it_resumes)
{
    check_stopped_claimer("process:before-folder");
}

/* While the worker lives, no other worker adopts its functions; when it resumes, it is too late to
 * start them. */
TEST(worker_frozen_after_it_claims_a_function_starts_nothing_after_it_resumes)
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
    resume(pid);
    KIT_UNTIL(&k, ledger_begun(id));
    ledger_read(&l);
    CHECK_EQ(ledger_count(&l, id, 1, 'b'), 0);
    vec_release(&l.lines);
    ledger_go();
    KIT_UNTIL(&k, status_is_terminal(status_of(s, id)));
    worker_end(pid, 0);
    finish_and_check(s, &k, id);
}

TEST(worker_resumed_after_its_job_was_adopted_signals_nothing)
{
    struct worker_kit k = {.list = ledger_functions, .commands = true};
    int64_t id = submit_and_close(true);
    pid_t pid = worker_start(NULL, (struct engine_options){0});
    struct store *s;

    while (!ledger_begun(id))
        clock_sleep_us(1000);
    s = fixture_store();
    while (!strstr(history(s, id), "started")) /* the start is stored, too */
        clock_sleep_us(1000);
    shared->cancel = id;
    flag_set(&shared->stop);
    wait_for_stop(pid);
    kit_open(&k);
    PASS_UNTIL(&k, get(s, id).epoch == 2);
    resume_and_wait(pid, &k);
    CHECK(ledger_processes() > 0);
    CHECK_EQ(get(s, id).worker, engine_worker(k.engine));
    worker_end(pid, 0);
    finish_and_check(s, &k, id);
    s = fixture_store();
    CHECK_EQ(get(s, id).attempts, 1);
    CHECK_STR(history(s, id),
              "created marked_ready claimed started lease_expired adopted completed");
    store_close(&s);
}

TEST(worker_frozen_for_long_is_killed_before_its_functions_are_adopted)
{
    struct worker_kit k = {.list = ledger_functions};
    int64_t id = submit_and_close(false);
    pid_t pid = worker_start(NULL, (struct engine_options){0});
    struct store *s;

    while (!ledger_begun(id))
        clock_sleep_us(1000);
    flag_set(&shared->stop);
    wait_for_stop(pid);
    s = fixture_store();
    kit_open(&k);
    /* The second start needs the lock of the execution, so the first worker is dead then. */
    PASS_UNTIL(&k, ledger_begun(id) == 2);
    worker_end(pid, SIGKILL);
    finish_and_check(s, &k, id);
}
