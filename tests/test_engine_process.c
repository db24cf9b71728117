/* test_engine_process.c - the engine loop with commands under a shim: they run, outlive their
 * worker and are reattached. Each test ends with verify. */
#include "disk_fixture.h"
#include "engine_fixture.h"
#include "exec/attempt/attempt.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static const char *read_text(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static const char *path_in_test_dir(const char *name)
{
    static char path[4][4096];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", test_dir(), name);
    return path[at];
}

TEST(outputs_of_a_command_are_stored)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "echo hello; echo n=7 >> $PAWL_OUTPUT");

    kit_run_to_success(&k, s, id, "{\"n\":\"7\"}");
    CHECK_EQ(sql_number(s, "SELECT raw FROM attempt_logs"), 6);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(error_of_a_failed_command_contains_its_exit_status)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "exit 3");

    kit_open(&k);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK(strstr(get(s, id).error, "3"));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static void stop_worker(struct worker_kit *k)
{
    engine_stop(k->engine, false);
    KIT_UNTIL(k, engine_is_idle(k->engine));
    engine_close(&k->engine);
}

/* `spec` is SQL that changes the job's spec between the two workers; NULL if none. */
static void check_reattached(const char *spec)
{
    struct store *s = fixture_store();
    struct worker_kit first = {.commands = true}, second = {.commands = true};
    char text[1000];
    int64_t id;

    snprintf(text, sizeof(text), "echo begun >> %s; while [ ! -e %s ]; do sleep 0.02; done; exit 0",
             path_in_test_dir("ledger"), path_in_test_dir("go"));
    id = kit_command(s, text);
    kit_open(&first);
    KIT_UNTIL(&first, strstr(history(s, id), "started") && *read_text(path_in_test_dir("ledger")));
    stop_worker(&first);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    if (spec)
        sql_run(s, spec);
    kit_open(&second);
    KIT_UNTIL(&second, get(s, id).epoch == 2);
    CHECK_EQ(get(s, id).worker, engine_worker(second.engine));
    fclose(fopen(path_in_test_dir("go"), "w"));
    kit_until_ended(&second, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(read_text(path_in_test_dir("ledger")), "begun\n");
    CHECK_STR(history(s, id),
              "created marked_ready claimed started lease_expired adopted completed");
    engine_close(&second.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(command_that_outlives_its_worker_is_reattached_by_the_next_worker)
{
    check_reattached(NULL);
}

/* As if the first worker were of a newer version: the command is neither ended nor started a second
 * time. */
TEST(command_with_an_unreadable_spec_is_reattached)
{
    check_reattached("UPDATE executions SET spec = '{\"of\":\"tomorrow\"}'");
}

/* The shim of the command runs, but has not started the command. */
TEST(command_that_has_not_started_is_released_by_a_stopping_worker)
{
    struct store *s = fixture_store();
    struct worker_kit first = {.commands = true}, second = {.commands = true};
    int64_t id = kit_command(s, "true");

    setenv("PAWL_SHIM_POINT", "=before-lock", 1); /* the shim stops there */
    kit_open(&first);
    unsetenv("PAWL_SHIM_POINT");
    KIT_UNTIL(&first, status_of(s, id) == S_RUNNING);
    for (int i = 0; i < 5; i++)
        kit_step(&first);
    stop_worker(&first);
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK_EQ(get(s, id).max_attempts, 2); /* the job used up no attempt */
    kit_open(&second);
    kit_until_ended(&second, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(history(s, id), "created marked_ready claimed released claimed started completed");
    engine_close(&second.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(cancel_ends_a_running_command)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "sleep 100");

    kit_open(&k);
    KIT_UNTIL(&k, strstr(history(s, id), "started"));
    kit_cancel(&k, s, id);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- full disks ---- */

TEST(command_that_ends_while_the_state_folders_disk_is_full_succeeds)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    char command[4200], *filler;
    int64_t id;

    CHECK_OK(mkdir(kit_state(), 0711));
    mount_small_disk(kit_state(), "2m");
    snprintf(command, sizeof(command),
             "echo n=7 >>$PAWL_OUTPUT; echo >%s; until test -e %s; do sleep 0.01; done",
             path_in_test_dir("begun"), path_in_test_dir("go"));
    id = kit_command(s, command);
    kit_open(&k);
    KIT_UNTIL(&k, *read_text(path_in_test_dir("begun")));
    filler = fill_disk(kit_state());
    fclose(fopen(path_in_test_dir("go"), "w"));
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(get(s, id).result, "{\"n\":\"7\"}");
    CHECK_STR(history(s, id), "created marked_ready claimed started completed");
    CHECK_OK(unlink(filler));
    free(filler);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static char noted[1000];

static void keep_note(void *arg, const char *sentence)
{
    (void)arg;
    snprintf(noted, sizeof(noted), "%s", sentence);
}

TEST(command_that_cannot_start_on_a_full_disk_uses_no_attempt)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "true");
    char *filler;

    CHECK_OK(mkdir(kit_state(), 0711));
    mount_small_disk(kit_state(), "2m");
    fixture_env()->note = keep_note;
    kit_open(&k);
    filler = fill_disk(kit_state());
    KIT_UNTIL(&k, strstr(history(s, id), "released"));
    CHECK(strstr(noted, "the executor process can't start jobs: the disk of the state folder "));
    CHECK(!strstr(history(s, id), "started"));
    CHECK_EQ(get(s, id).max_attempts, get(s, id).attempts + 1);
    CHECK_OK(unlink(filler));
    free(filler);
    KIT_UNTIL(&k, status_of(s, id) == S_SUCCEEDED); /* the command has no other outcome before */
    CHECK(!strstr(history(s, id), "lost") && !strstr(history(s, id), "failed"));
    CHECK_STR(noted, "the executor process has recovered and accepts jobs");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- the worker's slots ---- */

static atomic_int functions_now, functions_most;

static int takes_a_while(struct function_call *c, void *arg)
{
    int now = atomic_fetch_add(&functions_now, 1) + 1, most = atomic_load(&functions_most);

    (void)c;
    (void)arg;
    while (now > most && !atomic_compare_exchange_weak(&functions_most, &most, now))
        ;
    usleep(3000);
    atomic_fetch_sub(&functions_now, 1);
    return 0;
}

static const struct kit_function a_while[] = {{"takes_a_while", takes_a_while, NULL},
                                              {NULL, NULL, NULL}};

static int commands_now(const struct worker_kit *k)
{
    size_t n;
    const struct lane_group *g = dispatch_lane_groups(engine_dispatch(k->engine), &n);

    CHECK(n > 1);
    CHECK_STR(g[1].executor, "process");
    return k->slots - g[1].can_start;
}

TEST(jobs_of_all_executors_together_stay_within_the_worker_slots)
{
    struct worker_kit k = {
        .list = a_while, .commands = true, .threads = 4, .slots = 4, .in_all = 4};
    struct store *s = fixture_store();
    int most_commands = 0, i;

    for (i = 0; i < 60; i++)
        kit_submit(s, "takes_a_while", NULL);
    for (i = 0; i < 12; i++)
        kit_command(s, "sleep 0.3");
    for (i = 0; i < 60; i++)
        kit_submit(s, "takes_a_while", NULL);
    kit_open(&k);
    while (k.ended < 132) {
        /* read the functions first: one may start in the slot of a command that ended in between */
        int functions = atomic_load(&functions_now), commands = commands_now(&k);

        CHECK(functions + commands <= 4);
        most_commands = commands > most_commands ? commands : most_commands;
        kit_step(&k);
    }
    CHECK_EQ(atomic_load(&functions_most), 4);
    CHECK_EQ(most_commands, 4);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(jobs_of_all_executors_start_in_order_of_priority_then_age)
{
    struct worker_kit k = {
        .list = a_while, .commands = true, .threads = 1, .slots = 1, .in_all = 1};
    struct store *s = fixture_store();
    struct execution first, urgent, last;
    int64_t a = kit_command(s, "true"), b, c;

    b = kit_command(s, "true");
    c = submit_with(s, (struct submission){
                           .name = "exec::test", .lane = "function:takes_a_while", .priority = 5});
    kit_open(&k);
    kit_until_ended(&k, 3);
    first = get(s, a), last = get(s, b), urgent = get(s, c);
    CHECK(urgent.started_at < first.started_at);
    CHECK(first.started_at < last.started_at);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(orphans_are_adopted_by_a_worker_without_capacity)
{
    struct worker_kit k = {.commands = true}, next = {.commands = true, .in_all = 1};
    struct store *s = fixture_store();
    char wait[4200];
    int64_t later;
    int i;

    snprintf(wait, sizeof(wait), "echo >> %s; until test -e %s; do sleep 0.01; done",
             path_in_test_dir("ledger"), path_in_test_dir("go"));
    for (i = 0; i < 3; i++)
        kit_command(s, wait);
    kit_open(&k);
    KIT_UNTIL(&k, strlen(read_text(path_in_test_dir("ledger"))) == 3);
    engine_close(&k.engine);
    later = kit_command(s, "true");
    kit_open(&next);
    KIT_UNTIL(&next, dispatch_in_flight(engine_dispatch(next.engine)) == 3);
    for (i = 0; i < 5; i++)
        kit_step(&next);
    CHECK_EQ(status_of(s, later), S_READY);
    fclose(fopen(path_in_test_dir("go"), "w"));
    kit_until_ended(&next, 4);
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- leftover attempt folders ---- */

/* Opens the folder of an attempt in the state folder; creates it if it is missing. */
static int attempt_folder(int64_t execution, int attempt)
{
    char pattern[4200];
    glob_t g;
    int dir, at;

    snprintf(pattern, sizeof(pattern), "%s/*.1", kit_state());
    CHECK_OK(glob(pattern, 0, NULL, &g));
    dir = open(g.gl_pathv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    globfree(&g);
    at = attempt_make_folder(dir, execution, attempt);
    if (at < 0)
        at = attempt_open_folder(dir, execution, attempt);
    close(dir);
    CHECK(at >= 0);
    return at;
}

static bool is_removed(int at)
{
    struct stat st;

    return fstat(at, &st) == 0 && st.st_nlink == 0;
}

TEST(leftover_attempt_folders_of_ended_executions_are_removed)
{
    struct worker_kit k = {.commands = true};
    struct store *s = fixture_store();
    int64_t ended = kit_command(s, "true"), waits;
    int old, unknown, waiting, locked, tree, lock[2];

    kit_open(&k);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    waits = submit_with(s, (struct submission){.name = "exec::x", .lane = "nobody"});
    old = attempt_folder(ended, 1);
    unknown = attempt_folder(999999, 1);
    waiting = attempt_folder(waits, 1);
    locked = attempt_folder(ended, 2);
    lock[0] = attempt_lock(locked, ATTEMPT_LOCK, false);
    tree = attempt_folder(ended, 3);
    lock[1] = attempt_lock(tree, ATTEMPT_TREE, false);
    kit_open(&k);
    KIT_UNTIL(&k, is_removed(old) && is_removed(unknown));
    CHECK(!is_removed(waiting));
    CHECK(!is_removed(locked));
    CHECK(!is_removed(tree));
    close(lock[0]);
    close(lock[1]);
    engine_close(&k.engine);
    kit_open(&k); /* the cleanup runs at each start */
    KIT_UNTIL(&k, is_removed(locked) && is_removed(tree));
    CHECK(!is_removed(waiting));
    close(old), close(unknown), close(waiting), close(locked), close(tree);
    engine_close(&k.engine);
    CHECK_OK(cancel(s, waits));
    verify_clean(s);
    store_close(&s);
}
