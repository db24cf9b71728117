/* test_engine_unstarted.c - functions that a worker has claimed and not started when it is killed:
 * they are given back and use up no attempt, at most three times in a row. */
#include "engine_fixture.h"

#include <signal.h>

TEST_POLL_TOO;
TEST_LOOPS_TOO;

#define JOBS    12
#define STARTED 3

/* ---- a worker that is killed ---- */

static struct shared {
    _Atomic int started, go;
    int64_t first[STARTED]; /* the executions that started first */
} * shared;

/* Runs until its worker is killed, or until the test lets it end. */
static int until_go(struct function_call *c, void *arg)
{
    int n = atomic_fetch_add(&shared->started, 1);

    (void)arg;
    if (n < STARTED)
        shared->first[n] = c->execution;
    while (!atomic_load(&shared->go))
        usleep(1000);
    return 0;
}

static const struct kit_function functions[] = {{"f", until_go, NULL}, {0}};

static struct {
    const char *where;
    bool (*is_time)(struct store *s);
    struct store *s;
} killing;

static void kill_when_it_is_time(void *arg, const char *where)
{
    (void)arg;
    if (!strcmp(where, killing.where) && killing.is_time(killing.s))
        kill(getpid(), SIGKILL);
}

/* Ends the holds of jobs that were given back. */
static void end_holds(struct store *s)
{
    if (sql_number(s, "SELECT count(*) FROM executions WHERE held = 3"))
        clock_advance(10 * SECOND);
}

/* Runs a worker in a process of its own, and kills it at a point where `is_time` holds. */
static void kill_worker(const char *where, bool (*is_time)(struct store *s))
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct worker_kit k = {.list = functions, .threads = JOBS};

        killing.where = where;
        killing.is_time = is_time;
        killing.s = fixture_store();
        kit_open(&k);
        fixture_env()->point = kill_when_it_is_time;
        for (;;) {
            kit_step(&k);
            end_holds(killing.s);
        }
    }
    CHECK(was_killed(pid));
}

static void submit_all(int64_t *ids, int n)
{
    struct store *s = fixture_store();

    for (int i = 0; i < n; i++)
        ids[i] = kit_submit(s, "f", NULL);
    store_close(&s);
}

static void finish_with_next_worker(struct store *s)
{
    struct worker_kit k = {.list = functions};

    atomic_store(&shared->go, 1);
    kit_open(&k);
    while (sql_number(s, "SELECT count(*) FROM executions WHERE status < 4")) {
        kit_step(&k);
        end_holds(s);
    }
    engine_close(&k.engine);
}

static int count_of_type(struct store *s, enum event_action type)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM execution_events WHERE type = %d", (int)type);
    return (int)sql_number(s, sql);
}

/* ---- tests ---- */

static bool three_have_started(struct store *s)
{
    static int handed_over;

    (void)s;
    if (++handed_over < STARTED)
        return false;
    while (atomic_load(&shared->started) < STARTED)
        usleep(1000);
    return true;
}

static bool had_started(int64_t id)
{
    for (int i = 0; i < STARTED; i++)
        if (shared->first[i] == id)
            return true;
    return false;
}

/* Each job has one attempt: those that had started lose it, the others do not. */
static void check_ends(struct store *s, const int64_t *ids)
{
    for (int i = 0; i < JOBS; i++) {
        bool lost = had_started(ids[i]);

        CHECK_EQ(status_of(s, ids[i]), lost ? S_FAILED : S_SUCCEEDED);
        CHECK_EQ(get(s, ids[i]).attempts, get(s, ids[i]).max_attempts);
        if (lost)
            CHECK_STR(get(s, ids[i]).error,
                      "the worker that ran this function ended, and the function with it");
    }
    CHECK_EQ(count_of_type(s, EV_ABANDONED), STARTED);
    CHECK_EQ(atomic_load(&shared->started), JOBS);
    verify_clean(s);
}

TEST(functions_that_a_killed_worker_had_not_started_keep_their_attempt)
{
    int64_t ids[JOBS];
    struct store *s;
    int claimed;

    shared = shared_memory(sizeof(*shared));
    submit_all(ids, JOBS);
    kill_worker("engine:job-started", three_have_started);
    s = fixture_store();
    claimed = (int)sql_number(s, "SELECT count(*) FROM leases");
    CHECK(claimed > STARTED);
    finish_with_next_worker(s);
    CHECK_EQ(count_of_type(s, EV_RELEASED), claimed - STARTED);
    check_ends(s, ids);
    store_close(&s);
}

static bool has_adopted(struct store *s)
{
    return count_of_type(s, EV_ADOPTED) > 0;
}

/* The adopter learns from the dead worker's file which functions had started. It must write this
 * into its own file before it can be killed: the next adopter reads only that one. */
TEST(only_started_functions_lose_an_attempt_when_their_worker_and_its_adopter_are_killed)
{
    int64_t ids[JOBS];
    struct store *s;
    int adopted;

    shared = shared_memory(sizeof(*shared));
    submit_all(ids, JOBS);
    kill_worker("engine:job-started", three_have_started);
    kill_worker("engine:committed", has_adopted);
    s = fixture_store();
    adopted = count_of_type(s, EV_ADOPTED);
    CHECK(adopted > STARTED);
    finish_with_next_worker(s);
    CHECK_EQ(count_of_type(s, EV_ADOPTED), 2 * adopted);
    check_ends(s, ids);
    store_close(&s);
}

static int claims_before; /* the claims of the workers that were killed */

static bool has_claimed(struct store *s)
{
    return count_of_type(s, EV_CLAIMED) > claims_before;
}

TEST(job_that_kills_its_worker_before_it_starts_is_given_back_three_times_and_then_lost)
{
    struct store *s;
    int64_t id;

    shared = shared_memory(sizeof(*shared));
    submit_all(&id, 1);
    for (claims_before = 0; claims_before < 4; claims_before++)
        kill_worker("engine:committed", has_claimed);
    s = fixture_store();
    finish_with_next_worker(s);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK_STR(get(s, id).error,
              "its worker ended before the attempt started, as in the 3 attempts before: "
              "it counts as lost");
    CHECK_EQ(get(s, id).attempts, 4);
    CHECK_EQ(get(s, id).max_attempts, 4);
    CHECK_EQ(count_of_type(s, EV_RELEASED), 3);
    CHECK_EQ(atomic_load(&shared->started), 0);
    verify_clean(s);
    store_close(&s);
}
