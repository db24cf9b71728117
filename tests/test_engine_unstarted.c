/* test_engine_unstarted.c - functions and commands that a worker has claimed and not started when
 * it is killed: they are given back and use up no attempt, at most three times in a row. */
#include "engine_fixture.h"

#include <signal.h>
#include <sys/resource.h>

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
        struct worker_kit k = {.list = functions, .threads = JOBS, .commands = true, .slots = JOBS};

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
    struct worker_kit k = {.list = functions, .commands = true};

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

/* Counts jobs, not events: on a busy machine the next worker, too, returns a function that waited
 * too long for a thread. */
static int count_released_jobs(struct store *s)
{
    char sql[120];

    snprintf(sql, sizeof(sql),
             "SELECT count(DISTINCT execution) FROM execution_events WHERE type = %d", EV_RELEASED);
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

TEST(functions_that_a_killed_worker_had_not_started_use_no_attempt)
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
    CHECK_EQ(count_released_jobs(s), claimed - STARTED);
    check_ends(s, ids);
    store_close(&s);
}

static bool has_adopted(struct store *s)
{
    return count_of_type(s, EV_ADOPTED) > 0;
}

/* The adopter learns from the dead worker's file which functions had started. It must write this
 * into its own file before it can be killed: the next adopter reads only that one. */
TEST(only_started_functions_use_an_attempt_when_their_worker_and_its_adopter_are_killed)
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

static int claims_before; /* how many claims the killed workers had made */

static bool has_claimed(struct store *s)
{
    return count_of_type(s, EV_CLAIMED) > claims_before;
}

TEST(job_that_kills_its_worker_before_it_starts_is_returned_to_its_queue_three_times_then_lost)
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
              "the attempt did not start, like the 3 attempts before, so it counts as lost: "
              "its worker ended before the function started");
    CHECK_EQ(get(s, id).attempts, 4);
    CHECK_EQ(get(s, id).max_attempts, 4);
    CHECK_EQ(count_of_type(s, EV_RELEASED), 3);
    CHECK_EQ(atomic_load(&shared->started), 0);
    verify_clean(s);
    store_close(&s);
}

/* The lease of the dead worker is cleared before a worker that has the function looks: the file
 * with the marks must still be there. */
TEST(unstarted_function_of_a_killed_worker_uses_no_attempt_although_its_lease_was_cleared_long_ago)
{
    struct worker_kit other = {.list = NULL};
    struct store *s;
    int64_t id;

    claims_before = 0;
    shared = shared_memory(sizeof(*shared));
    submit_all(&id, 1);
    kill_worker("engine:committed", has_claimed);
    s = fixture_store();
    kit_lose_lease(s);
    kit_open(&other);
    KIT_UNTIL(&other, engine_is_drained(other.engine));
    for (int i = 0; i < 5; i++) /* it looks for dead workers after its first turn */
        kit_step(&other);
    engine_close(&other.engine);
    finish_with_next_worker(s);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_EQ(count_released_jobs(s), 1);
    CHECK_EQ(count_of_type(s, EV_ABANDONED), 0);
    CHECK_EQ(get(s, id).attempts, get(s, id).max_attempts);
    verify_clean(s);
    store_close(&s);
}

/* ---- commands ---- */

static const char *ledger(void)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/ledger", test_dir());
    return path;
}

/* Each command writes one line when it starts; all have one attempt. */
static void submit_commands(int64_t *ids, int n)
{
    struct store *s = fixture_store();
    char run[5000];

    snprintf(run, sizeof(run), "echo $PAWL_EXECUTION_ID >>%s", ledger());
    for (int i = 0; i < n; i++)
        ids[i] = kit_command(s, run);
    store_close(&s);
}

static int count_begun(void)
{
    FILE *f = fopen(ledger(), "re");
    int n = 0, c;

    while (f && (c = getc(f)) != EOF)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

/* Every command has run once, whatever happened to its workers. */
static void check_all_ran_once(struct store *s, const int64_t *ids)
{
    for (int i = 0; i < JOBS; i++) {
        CHECK_EQ(status_of(s, ids[i]), S_SUCCEEDED);
        CHECK_EQ(get(s, ids[i]).attempts, get(s, ids[i]).max_attempts);
    }
    CHECK_EQ(count_of_type(s, EV_ABANDONED), 0);
    CHECK_EQ(count_begun(), JOBS);
    verify_clean(s);
}

static int passed; /* how often the point was passed */

static bool is_third_time(struct store *s)
{
    (void)s;
    return ++passed == 3;
}

/* The commands before the third one outlive the worker, the others have not started. */
static void check_death_at(const char *where)
{
    int64_t ids[JOBS];
    struct store *s;
    int claimed;

    passed = 0;
    shared = shared_memory(sizeof(*shared));
    submit_commands(ids, JOBS);
    kill_worker(where, is_third_time);
    s = fixture_store();
    claimed = (int)sql_number(s, "SELECT count(*) FROM leases");
    CHECK(claimed >= 3);
    finish_with_next_worker(s);
    CHECK(count_of_type(s, EV_RELEASED) >= claimed - 3);
    check_all_ran_once(s, ids);
    store_close(&s);
}

TEST(commands_that_a_killed_worker_had_not_handed_over_use_no_attempt)
{
    check_death_at("engine:job-started");
}

TEST(command_whose_worker_was_killed_before_it_created_the_attempt_folder_uses_no_attempt)
{
    check_death_at("process:before-folder");
}

TEST(command_whose_worker_was_killed_before_it_wrote_the_start_token_uses_no_attempt)
{
    check_death_at("process:folder");
}

TEST(command_whose_worker_was_killed_before_it_wrote_the_start_mark_uses_no_attempt)
{
    check_death_at("process:before-mark");
}

TEST(command_whose_worker_was_killed_before_it_requested_the_start_uses_no_attempt)
{
    check_death_at("process:before-request");
}

TEST(unstarted_commands_use_no_attempt_although_their_worker_and_its_adopter_are_killed)
{
    int64_t ids[JOBS];
    struct store *s;

    passed = 0;
    shared = shared_memory(sizeof(*shared));
    submit_commands(ids, JOBS);
    kill_worker("process:before-request", is_third_time);
    kill_worker("engine:committed", has_adopted);
    s = fixture_store();
    CHECK(count_of_type(s, EV_ADOPTED) > 3);
    finish_with_next_worker(s);
    check_all_ran_once(s, ids);
    store_close(&s);
}

static void remove_attempt_folders(void)
{
    char command[5000];

    snprintf(command, sizeof(command), "rm -rf %s/*/*.1", kit_state());
    CHECK_EQ(system(command), 0);
}

/* Without its folder, only the marks tell that a command may have started: those of the adopters,
 * too. */
TEST(started_command_without_its_folder_is_lost_even_if_its_adopter_is_killed_too)
{
    struct store *s;
    int64_t id;

    shared = shared_memory(sizeof(*shared));
    submit_commands(&id, 1);
    kill_worker("process:requested", has_claimed);
    while (!count_begun())
        usleep(1000);
    remove_attempt_folders();
    kill_worker("engine:committed", has_adopted);
    remove_attempt_folders();
    s = fixture_store();
    finish_with_next_worker(s);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK_EQ(count_of_type(s, EV_RELEASED), 0);
    CHECK_EQ(count_begun(), 1);
    verify_clean(s);
    store_close(&s);
}

/* ---- an adopter that can't reattach ---- */

static struct rlimit descriptors;

/* Leaves the worker no file descriptor while it reattaches the command that it has adopted. Then
 * submits a function, which uses a slot for its mark. */
static void refuse_reattach(void *arg, const char *where)
{
    (void)arg;
    if (!descriptors.rlim_cur && !strcmp(where, "engine:committed") && has_adopted(killing.s)) {
        struct rlimit none;

        CHECK_OK(getrlimit(RLIMIT_NOFILE, &descriptors));
        none = descriptors;
        none.rlim_cur = 1;
        CHECK_OK(setrlimit(RLIMIT_NOFILE, &none));
    } else if (descriptors.rlim_cur && !strcmp(where, "engine:job-started")) {
        CHECK_OK(setrlimit(RLIMIT_NOFILE, &descriptors));
        fixture_env()->point = NULL;
        kit_submit(killing.s, "f", NULL);
    }
}

static void kill_worker_that_cannot_reattach(void)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct worker_kit k = {.list = functions, .commands = true};

        killing.s = fixture_store();
        kit_open(&k);
        fixture_env()->point = refuse_reattach;
        while (!atomic_load(&shared->started))
            kit_step(&k);
        kill(getpid(), SIGKILL);
    }
    CHECK(was_killed(pid));
}

/* The adopter lets the lease run out, but it is the last holder: its mark must stay. */
TEST(started_command_is_lost_even_if_its_adopter_could_not_reattach_it_and_is_killed_too)
{
    struct store *s;
    int64_t id;

    shared = shared_memory(sizeof(*shared));
    submit_commands(&id, 1);
    kill_worker("process:requested", has_claimed);
    while (!count_begun())
        usleep(1000);
    remove_attempt_folders();
    kill_worker_that_cannot_reattach();
    s = fixture_store();
    CHECK_EQ(count_of_type(s, EV_ADOPTED), 1);
    finish_with_next_worker(s);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK_EQ(count_of_type(s, EV_RELEASED), 0);
    CHECK_EQ(count_begun(), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(command_that_kills_its_worker_before_it_starts_is_returned_to_its_queue_three_times_then_lost)
{
    struct store *s;
    int64_t id;

    shared = shared_memory(sizeof(*shared));
    submit_commands(&id, 1);
    for (claims_before = 0; claims_before < 4; claims_before++)
        kill_worker("process:before-request", has_claimed);
    s = fixture_store();
    finish_with_next_worker(s);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK_STR(get(s, id).error,
              "the attempt did not start, like the 3 attempts before, so it counts as lost: "
              "its worker ended before the command started");
    CHECK_EQ(get(s, id).attempts, 4);
    CHECK_EQ(count_of_type(s, EV_RELEASED), 3);
    CHECK_EQ(count_begun(), 0);
    verify_clean(s);
    store_close(&s);
}
