/* test_verify_host.c - verify --host: each thing that may be wrong between a host and the database
 * is made so on purpose, and must be named, it alone. What merely goes on, or has stopped, is no
 * breach. */
#include "api/host.h"
#include "engine_fixture.h"
#include "exec/attempt/attempt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define GRACE (300 * SECOND)
#define HOUR  (3600 * SECOND)

/* ---- what is found ---- */

static void add_code(void *arg, const struct breach *b)
{
    char *codes = arg;

    snprintf(codes + strlen(codes), 200 - strlen(codes), "%s%s", *codes ? " " : "", b->invariant);
    CHECK(b->detail && *b->detail);
}

static struct host_result look(struct store *s, const char *codes)
{
    char found[200] = "";
    struct host_options o = {
        .state = kit_state(), .grace = GRACE, .report = add_code, .arg = found};
    struct host_result r;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(host_verify(s, &o, &r, &err), &err);
    CHECK_STR(found, codes);
    CHECK_EQ(r.checks, host_invariant_count);
    CHECK_EQ(r.breaches, (strlen(codes) + 1) / 4);
    return r;
}

/* ---- the state folder ---- */

static const char *world(struct store *s, int64_t generations_ago)
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

/* The folder of an attempt, made if it is not there. */
static int folder_of(const char *world_dir, int64_t execution, int attempt)
{
    int dir = open(world_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), at;

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
    int dir = open(world(s, 0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[ATTEMPT_NAME_SIZE];

    CHECK_OK(attempt_remove_folder(dir, attempt_name(execution, attempt, name)));
    close(dir);
}

static const char *worker_path(struct store *s, int64_t worker)
{
    static char path[5000];

    snprintf(path, sizeof(path), "%s/workers/%016llx", world(s, 0), (unsigned long long)worker);
    return path;
}

/* As if it had been written so long ago. */
static void make_older(const char *path, int64_t us)
{
    struct timespec t[2] = {{.tv_sec = (clock_wall_us() - us) / 1000000}};

    t[1] = t[0];
    CHECK_OK(utimensat(AT_FDCWD, path, t, 0));
}

/* As if that worker had been there for so long. */
static void make_it_older(struct worker_kit *k, struct store *s, int64_t age)
{
    make_older(worker_path(s, engine_worker(k->engine)), age);
}

/* A worker that lives, for so long, and does nothing. */
static void open_still(struct worker_kit *k, struct store *s, int64_t age)
{
    kit_open(k);
    make_it_older(k, s, age);
}

/* An execution that has ended, of which nothing is left. */
static int64_t ended_one(struct store *s)
{
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "true");

    kit_open(&k);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    return id;
}

/* One that this worker, which it opens, has begun to run. */
static int64_t started_one(struct store *s, struct worker_kit *k, const char *command)
{
    int64_t id = kit_command(s, command);

    k->commands = true;
    kit_open(k);
    KIT_UNTIL(k, strstr(history(s, id), "started"));
    return id;
}

/* ---- what is right ---- */

TEST(nothing_has_run_here_and_nothing_is_wrong)
{
    struct store *s = fixture_store();
    struct host_result r;

    r = look(s, "");
    CHECK_EQ(r.attempts + r.workers, 0);
    store_close(&s);
}

TEST(what_runs_is_right_before_and_after_the_death_of_its_worker)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t id = started_one(s, &k, "sleep 100");
    struct host_result r;

    r = look(s, "");
    CHECK_EQ(r.attempts, 1);
    CHECK_EQ(r.workers, 1);
    engine_close(&k.engine); /* what it runs is left to the next one */
    r = look(s, "");
    CHECK_EQ(r.attempts, 1);
    CHECK_EQ(r.workers, 1);
    kit_open(&k);
    CHECK_OK(cancel(s, id));
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    r = look(s, "");
    CHECK_EQ(r.attempts + r.workers, 0);
    verify_clean(s);
    store_close(&s);
}

struct shared {
    struct sign working, done;
};
static struct shared *shared;

static void work_or_look(int nth)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true, .slots = 8};
    int i;

    if (nth == 0) {
        kit_open(&k);
        sign_give(&shared->working);
        kit_until_ended(&k, 60);
        engine_close(&k.engine);
        sign_give(&shared->done);
    } else {
        sign_await(&shared->working);
        for (i = 0; !i || !sign_wait(&shared->done, 0); i++)
            look(s, "");
    }
    store_close(&s);
}

TEST(work_that_goes_on_meanwhile_is_no_breach)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 60; i++)
        kit_command(s, "sleep 0.0$PAWL_EXECUTION_ID");
    store_close(&s);
    shared = shared_memory(sizeof(*shared));
    run_processes(2, work_or_look);
    s = fixture_store();
    look(s, "");
    verify_clean(s);
    store_close(&s);
}

/* ---- what is not ---- */

TEST(a_folder_without_its_attempt_is_named)
{
    struct store *s = fixture_store();
    int64_t id = ended_one(s);

    close(folder_of(world(s, 0), 999999, 1));
    look(s, "H01");
    close(folder_of(world(s, 0), id, 2)); /* it had only one */
    look(s, "H01 H01");
    remove_folder(s, 999999, 1);
    remove_folder(s, id, 2);
    look(s, "");
    store_close(&s);
}

/* Somebody has that lock of an attempt that has ended. */
static void hold_of_an_ended_one(const char *what, const char *codes)
{
    struct store *s = fixture_store();
    int64_t id = ended_one(s);
    int at = folder_of(world(s, 0), id, 1), lock = attempt_lock(at, what, false);

    CHECK(lock >= 0);
    look(s, codes);
    close(lock);
    look(s, "");
    close(at);
    store_close(&s);
}

TEST(a_shim_at_work_on_what_does_not_run_is_named)
{
    hold_of_an_ended_one(ATTEMPT_LOCK, "H02");
}

TEST(a_shim_at_work_on_what_another_host_has_taken_over_is_named)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t id = started_one(s, &k, "sleep 100");
    int at = folder_of(world(s, 0), id, 1);

    KIT_UNTIL(&k, attempt_is_locked(at, ATTEMPT_LOCK)); /* its shim was only on the way */
    close(at);
    look(s, "");
    sql_run(s, "UPDATE leases SET folder = 'elsewhere'");
    look(s, "H02");
    sql_run(s, "UPDATE leases SET worker = NULL, until = NULL");
    look(s, "H02");
    CHECK_OK(cancel(s, id));
    engine_close(&k.engine);
    store_close(&s);
}

TEST(what_lives_on_after_its_attempt_is_named)
{
    hold_of_an_ended_one(ATTEMPT_TREE, "H03");
}

TEST(a_process_of_an_ended_attempt_is_named_though_it_holds_no_lock)
{
    struct store *s = fixture_store();
    int64_t id = ended_one(s);
    char output[4200], *env[] = {output, NULL};
    int ready[2];
    pid_t pid;
    char c;

    snprintf(output, sizeof(output), "PAWL_OUTPUT=%s/%lld.1/output", world(s, 0), (long long)id);
    store_close(&s);
    CHECK_OK(pipe2(ready, O_CLOEXEC));
    pid = fork();
    if (!pid) {
        execle("/bin/sleep", "sleep", "100", NULL, env);
        _exit(1);
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &c, 1), 0); /* closed by the exec */
    close(ready[0]);
    s = fixture_store();
    look(s, "H03");
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    look(s, "");
    store_close(&s);
}

TEST(an_end_that_nobody_settles_is_named_if_somebody_is_there_for_it)
{
    struct store *s = fixture_store();
    struct worker_kit first = {0}, still = {.commands = true};
    int64_t id = started_one(s, &first, "sleep 0.2");
    char path[4200];

    engine_close(&first.engine);
    snprintf(path, sizeof(path), "%s/%lld.1/exit", world(s, 0), (long long)id);
    while (access(path, F_OK))
        clock_sleep_us(10000);
    make_older(path, GRACE + SECOND);
    look(s, ""); /* Pawl is stopped */
    open_still(&still, s, GRACE / 2);
    look(s, ""); /* it just came */
    make_it_older(&still, s, GRACE + SECOND);
    look(s, "H04");
    make_older(path, GRACE / 2);
    look(s, "");
    kit_until_ended(&still, 1);
    engine_close(&still.engine);
    look(s, "");
    verify_clean(s);
    store_close(&s);
}

TEST(what_nobody_sweeps_is_named_if_somebody_is_there_for_it)
{
    struct store *s = fixture_store();
    struct worker_kit still = {.commands = true};
    int64_t id = ended_one(s), gone = 0x1234567890abcdef;
    int fd;

    close(folder_of(world(s, 0), id, 1));
    fd = open(worker_path(s, gone), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    close(fd);
    make_older(worker_path(s, gone), 3 * HOUR);
    clock_advance(3 * HOUR);
    look(s, "");
    open_still(&still, s, HOUR);
    look(s, "");
    make_it_older(&still, s, 3 * HOUR);
    look(s, "H05 H05");
    remove_folder(s, id, 1);
    look(s, "H05");
    KIT_UNTIL(&still, access(worker_path(s, gone), F_OK));
    look(s, "");
    engine_close(&still.engine);
    store_close(&s);
}

TEST(a_lease_whose_worker_has_no_file_is_named)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t id = started_one(s, &k, "sleep 100");

    CHECK_OK(unlink(worker_path(s, engine_worker(k.engine))));
    look(s, "H06");
    CHECK_OK(cancel(s, id));
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    look(s, "");
    store_close(&s);
}

TEST(a_worker_without_its_row_is_named)
{
    struct store *s = fixture_store();
    struct worker_kit still = {0};

    open_still(&still, s, SECOND);
    sql_run(s, "DELETE FROM workers");
    look(s, ""); /* it may be about to say hello */
    make_it_older(&still, s, 2 * 60 * SECOND);
    look(s, "H07");
    engine_close(&still.engine);
    look(s, "");
    store_close(&s);
}

TEST(work_of_an_earlier_generation_is_named)
{
    struct store *s = fixture_store();
    struct worker_kit still = {0};
    int at, lock;

    open_still(&still, s, SECOND);
    CHECK_OK(mkdir(world(s, 1), 0700));
    at = folder_of(world(s, 1), 7, 1);
    lock = attempt_lock(at, ATTEMPT_LOCK, false);
    CHECK(lock >= 0);
    look(s, "");
    make_it_older(&still, s, GRACE + SECOND);
    look(s, "H08");
    close(lock);
    look(s, "");
    close(at);
    engine_close(&still.engine);
    store_close(&s);
}
