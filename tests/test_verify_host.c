/* test_verify_host.c - verify --host: each possible inconsistency between a host and the database
 * is created on purpose and must be reported, and nothing else. Attempts that run, with or without
 * a worker, are not violations. */
#include "api/host.h"
#include "engine_fixture.h"
#include "exec/attempt/attempt.h"
#include "store/generation.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define GRACE (300 * SECOND)
#define HOUR  (3600 * SECOND)

/* ---- running verify ---- */

static void add_code(void *arg, const struct violation *b)
{
    char *codes = arg;

    snprintf(codes + strlen(codes), 200 - strlen(codes), "%s%s", *codes ? " " : "", b->invariant);
    CHECK(b->detail && *b->detail);
}

static struct host_result check_host(struct store *s, const char *codes)
{
    char found[200] = "";
    struct host_options o = {
        .state = kit_state(), .grace = GRACE, .report = add_code, .arg = found};
    struct host_result r;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(host_verify(s, &o, &r, &err), &err);
    CHECK_STR(found, codes);
    CHECK_EQ(r.checks, host_invariant_count);
    CHECK_EQ(r.violations, (strlen(codes) + 1) / 4);
    return r;
}

/* ---- the state folder ---- */

static const char *generation_folder(struct store *s, int64_t generations_ago)
{
    static char path[2][4096];
    static int at;
    char id[STORE_ID_SIZE], *dir;
    struct err err = ERR_INIT;
    int64_t generation;

    CHECK_OK_ERR(store_identity(s, id, &generation, &err), &err);
    dir = state_folder_path(kit_state(), id, generation - generations_ago);
    snprintf(path[at = !at], sizeof(path[0]), "%s", dir);
    free(dir);
    return path[at];
}

/* Opens the folder of an attempt; creates it if it does not exist. */
static int open_attempt_folder(const char *folder, int64_t execution, int attempt)
{
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), at;

    CHECK(dir >= 0);
    at = attempt_make_folder(dir, execution, attempt);
    if (at < 0)
        at = attempt_open_folder(dir, execution, attempt);
    CHECK(at >= 0);
    close(dir);
    return at;
}

static void remove_folder(struct store *s, int64_t execution, int attempt)
{
    int dir = open(generation_folder(s, 0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[ATTEMPT_NAME_SIZE];

    CHECK_OK(attempt_remove_folder(dir, attempt_name(execution, attempt, name)));
    close(dir);
}

static const char *worker_path(struct store *s, int64_t worker)
{
    static char path[5000];

    snprintf(path, sizeof(path), "%s/workers/%016llx", generation_folder(s, 0),
             (unsigned long long)worker);
    return path;
}

/* Sets the file's time `us` into the past. */
static void make_older(const char *path, int64_t us)
{
    struct timespec t[2] = {{.tv_sec = (clock_wall_us() - us) / 1000000}};

    t[1] = t[0];
    CHECK_OK(utimensat(AT_FDCWD, path, t, 0));
}

/* Makes the worker look as if it had been running for `age`. */
static void make_worker_older(struct worker_kit *k, struct store *s, int64_t age)
{
    make_older(worker_path(s, engine_worker(k->engine)), age);
}

/* Opens a worker that has been running for `age` and does nothing. */
static void open_idle_worker(struct worker_kit *k, struct store *s, int64_t age)
{
    kit_open(k);
    make_worker_older(k, s, age);
}

/* Runs an execution to its end; nothing is left of it on the host. */
static int64_t run_one_to_the_end(struct store *s)
{
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "true");

    kit_open(&k);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    return id;
}

/* Opens the worker and lets it start the command. */
static int64_t start_one(struct store *s, struct worker_kit *k, const char *command)
{
    int64_t id = kit_command(s, command);

    k->commands = true;
    kit_open(k);
    KIT_UNTIL(k, strstr(history(s, id), "started"));
    return id;
}

/* ---- consistent hosts ---- */

TEST(host_that_has_run_nothing_has_no_violations)
{
    struct store *s = fixture_store();
    struct host_result r;

    r = check_host(s, "");
    CHECK_EQ(r.attempts + r.workers, 0);
    store_close(&s);
}

TEST(running_attempt_is_not_a_violation_before_or_after_its_worker_ends)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t id = start_one(s, &k, "sleep 100");
    struct host_result r;

    r = check_host(s, "");
    CHECK_EQ(r.attempts, 1);
    CHECK_EQ(r.workers, 1);
    engine_close(&k.engine); /* the running attempt is left to the next worker */
    r = check_host(s, "");
    CHECK_EQ(r.attempts, 1);
    CHECK_EQ(r.workers, 1);
    kit_open(&k);
    CHECK_OK(cancel(s, id));
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    r = check_host(s, "");
    CHECK_EQ(r.attempts + r.workers, 0);
    verify_clean(s);
    store_close(&s);
}

struct shared {
    struct shared_flag working, done;
};
static struct shared *shared;

static void work_or_verify(int nth)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true, .slots = 8};
    int i;

    if (nth == 0) {
        kit_open(&k);
        flag_set(&shared->working);
        kit_until_ended(&k, 60);
        engine_close(&k.engine);
        flag_set(&shared->done);
    } else {
        flag_await(&shared->working);
        for (i = 0; !i || !flag_wait(&shared->done, 0); i++)
            check_host(s, "");
    }
    store_close(&s);
}

TEST(jobs_that_run_during_verify_are_not_violations)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 60; i++)
        kit_command(s, "sleep 0.0$PAWL_EXECUTION_ID");
    store_close(&s);
    shared = shared_memory(sizeof(*shared));
    run_processes(2, work_or_verify);
    s = fixture_store();
    check_host(s, "");
    verify_clean(s);
    store_close(&s);
}

/* ---- inconsistent hosts ---- */

TEST(attempt_folder_without_a_stored_attempt_is_reported)
{
    struct store *s = fixture_store();
    int64_t id = run_one_to_the_end(s);

    close(open_attempt_folder(generation_folder(s, 0), 999999, 1));
    check_host(s, "H01");
    close(open_attempt_folder(generation_folder(s, 0), id,
                              2)); /* the execution had only one attempt */
    check_host(s, "H01 H01");
    remove_folder(s, 999999, 1);
    remove_folder(s, id, 2);
    check_host(s, "");
    store_close(&s);
}

/* A process holds the given lock of an ended attempt. */
static void check_lock_of_ended_attempt(const char *what, const char *codes)
{
    struct store *s = fixture_store();
    int64_t id = run_one_to_the_end(s);
    int at = open_attempt_folder(generation_folder(s, 0), id, 1),
        lock = attempt_lock(at, what, false);

    CHECK(lock >= 0);
    check_host(s, codes);
    close(lock);
    check_host(s, "");
    close(at);
    store_close(&s);
}

TEST(shim_of_an_attempt_that_is_not_running_is_reported)
{
    check_lock_of_ended_attempt(ATTEMPT_LOCK, "H02");
}

TEST(shim_of_an_attempt_adopted_by_another_host_is_reported)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t id = start_one(s, &k, "sleep 100");
    int at = open_attempt_folder(generation_folder(s, 0), id, 1);

    KIT_UNTIL(&k, attempt_is_locked(at, ATTEMPT_LOCK)); /* wait until the shim holds its lock */
    close(at);
    check_host(s, "");
    sql_run(s, "UPDATE leases SET folder = 'elsewhere'");
    check_host(s, "H02");
    sql_run(s, "UPDATE leases SET worker = NULL, until = NULL");
    check_host(s, "H02");
    CHECK_OK(cancel(s, id));
    engine_close(&k.engine);
    store_close(&s);
}

TEST(process_tree_that_outlives_its_attempt_is_reported)
{
    check_lock_of_ended_attempt(ATTEMPT_TREE, "H03");
}

TEST(process_of_an_ended_attempt_is_reported_even_if_it_holds_no_lock)
{
    struct store *s = fixture_store();
    int64_t id = run_one_to_the_end(s);
    char output[4200], *env[] = {output, NULL};
    int ready[2];
    pid_t pid;
    char c;

    snprintf(output, sizeof(output), "PAWL_OUTPUT=%s/%lld.1/output", generation_folder(s, 0),
             (long long)id);
    store_close(&s);
    CHECK_OK(pipe2(ready, O_CLOEXEC));
    pid = fork();
    if (!pid) {
        execle("/bin/sleep", "sleep", "100", NULL, env);
        _exit(1);
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &c, 1), 0); /* the exec closes the pipe */
    close(ready[0]);
    s = fixture_store();
    check_host(s, "H03");
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    check_host(s, "");
    store_close(&s);
}

TEST(exit_record_that_a_running_worker_did_not_settle_is_reported)
{
    struct store *s = fixture_store();
    struct worker_kit first = {0}, idle = {.commands = true};
    int64_t id = start_one(s, &first, "sleep 0.2");
    char path[4200];

    engine_close(&first.engine);
    snprintf(path, sizeof(path), "%s/%lld.1/exit", generation_folder(s, 0), (long long)id);
    while (access(path, F_OK))
        clock_sleep_us(10000);
    make_older(path, GRACE + SECOND);
    check_host(s, ""); /* no worker is running */
    open_idle_worker(&idle, s, GRACE / 2);
    check_host(s, ""); /* the worker has just started */
    make_worker_older(&idle, s, GRACE + SECOND);
    check_host(s, "H04");
    make_older(path, GRACE / 2);
    check_host(s, "");
    kit_until_ended(&idle, 1);
    engine_close(&idle.engine);
    check_host(s, "");
    verify_clean(s);
    store_close(&s);
}

TEST(leftovers_that_a_running_worker_did_not_clean_up_are_reported)
{
    struct store *s = fixture_store();
    struct worker_kit idle = {.commands = true};
    int64_t id = run_one_to_the_end(s), gone = 0x1234567890abcdef;
    int fd;

    close(open_attempt_folder(generation_folder(s, 0), id, 1));
    fd = open(worker_path(s, gone), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    close(fd);
    make_older(worker_path(s, gone), 3 * HOUR);
    clock_advance(3 * HOUR);
    check_host(s, "");
    open_idle_worker(&idle, s, HOUR);
    check_host(s, "");
    make_worker_older(&idle, s, 3 * HOUR);
    check_host(s, "H05 H05");
    remove_folder(s, id, 1);
    check_host(s, "H05");
    KIT_UNTIL(&idle, access(worker_path(s, gone), F_OK));
    check_host(s, "");
    engine_close(&idle.engine);
    store_close(&s);
}

TEST(lease_of_a_worker_without_a_worker_file_is_reported)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t id = start_one(s, &k, "sleep 100");

    CHECK_OK(unlink(worker_path(s, engine_worker(k.engine))));
    check_host(s, "H06");
    CHECK_OK(cancel(s, id));
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    check_host(s, "");
    store_close(&s);
}

TEST(running_worker_without_a_row_is_reported)
{
    struct store *s = fixture_store();
    struct worker_kit idle = {0};

    open_idle_worker(&idle, s, SECOND);
    sql_run(s, "DELETE FROM workers");
    check_host(s, ""); /* a worker that has just started may be about to register */
    make_worker_older(&idle, s, 2 * 60 * SECOND);
    check_host(s, "H07");
    engine_close(&idle.engine);
    check_host(s, "");
    store_close(&s);
}

TEST(attempts_of_an_earlier_generation_are_reported)
{
    struct store *s = fixture_store();
    struct worker_kit idle = {0};
    int at, lock;

    open_idle_worker(&idle, s, SECOND);
    CHECK_OK(mkdir(generation_folder(s, 1), 0700));
    at = open_attempt_folder(generation_folder(s, 1), 7, 1);
    lock = attempt_lock(at, ATTEMPT_LOCK, false);
    CHECK(lock >= 0);
    check_host(s, "");
    make_worker_older(&idle, s, GRACE + SECOND);
    check_host(s, "H08");
    close(lock);
    check_host(s, "");
    close(at);
    engine_close(&idle.engine);
    store_close(&s);
}
