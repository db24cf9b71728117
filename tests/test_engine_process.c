/* test_engine_process.c - the loop with commands under a shim: they run, outlive their worker, and
 * are taken over. Each test ends with verify. */
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

static const char *text_of(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static const char *in_dir(const char *name)
{
    static char path[4][4096];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", test_dir(), name);
    return path[at];
}

TEST(a_command_runs_and_its_outputs_are_kept)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "echo hello; echo n=7 >> $PAWL_OUTPUT");
    struct execution e;

    kit_open(&k);
    kit_until_ended(&k, 1);
    e = get(s, id);
    CHECK_EQ(e.status, S_SUCCEEDED);
    CHECK_STR(e.result, "{\"n\":\"7\"}");
    CHECK_STR(history(s, id), "created marked_ready claimed started completed");
    CHECK_EQ(sql_number(s, "SELECT raw FROM attempt_logs"), 6);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(a_command_that_fails_says_how)
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

static void stop(struct worker_kit *k)
{
    engine_stop(k->engine, false);
    KIT_UNTIL(k, engine_is_idle(k->engine));
    engine_close(&k->engine);
}

/* What is to happen to its spec meanwhile; NULL: nothing. */
static void go_on_without_their_worker(const char *spec)
{
    struct store *s = fixture_store();
    struct worker_kit first = {.commands = true}, second = {.commands = true};
    char text[1000];
    int64_t id;

    snprintf(text, sizeof(text), "echo begun >> %s; while [ ! -e %s ]; do sleep 0.02; done; exit 0",
             in_dir("ledger"), in_dir("go"));
    id = kit_command(s, text);
    kit_open(&first);
    KIT_UNTIL(&first, strstr(history(s, id), "started") && *text_of(in_dir("ledger")));
    stop(&first);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    if (spec)
        sql_run(s, spec);
    kit_open(&second);
    KIT_UNTIL(&second, get(s, id).epoch == 2);
    CHECK_EQ(get(s, id).worker, engine_worker(second.engine));
    fclose(fopen(in_dir("go"), "w"));
    kit_until_ended(&second, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(text_of(in_dir("ledger")), "begun\n");
    CHECK_STR(history(s, id),
              "created marked_ready claimed started lease_expired adopted completed");
    engine_close(&second.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(commands_go_on_without_their_worker_and_the_next_one_takes_them_over)
{
    go_on_without_their_worker(NULL);
}

/* As where the first one was of a newer version: it is not ended, and not begun beside itself. */
TEST(a_command_whose_spec_can_not_be_read_is_taken_over_all_the_same)
{
    go_on_without_their_worker("UPDATE executions SET spec = '{\"of\":\"tomorrow\"}'");
}

/* That a command was started says that its shim is on the way. */
TEST(a_worker_that_stops_gives_back_the_command_that_has_not_begun)
{
    struct store *s = fixture_store();
    struct worker_kit first = {.commands = true}, second = {.commands = true};
    int64_t id = kit_command(s, "true");

    setenv("PAWL_SHIM_POINT", "=before-lock", 1); /* where it stands still */
    kit_open(&first);
    unsetenv("PAWL_SHIM_POINT");
    KIT_UNTIL(&first, strstr(history(s, id), "started"));
    stop(&first);
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK_EQ(get(s, id).max_attempts, 2); /* it used up no try */
    kit_open(&second);
    kit_until_ended(&second, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(history(s, id),
              "created marked_ready claimed started released claimed started completed");
    engine_close(&second.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(a_cancel_ends_the_command)
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

TEST(a_command_that_ends_while_the_disk_of_the_state_folder_is_full_succeeds)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    char command[4200], *filler;
    int64_t id;

    CHECK_OK(mkdir(kit_state(), 0711));
    mount_small_disk(kit_state(), "2m");
    snprintf(command, sizeof(command),
             "echo n=7 >>$PAWL_OUTPUT; echo >%s; until test -e %s; do sleep 0.01; done",
             in_dir("begun"), in_dir("go"));
    id = kit_command(s, command);
    kit_open(&k);
    KIT_UNTIL(&k, *text_of(in_dir("begun")));
    filler = fill_disk(kit_state());
    fclose(fopen(in_dir("go"), "w"));
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

TEST(a_command_that_a_full_disk_keeps_from_starting_uses_up_no_attempt)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "true");
    char *filler;

    CHECK_OK(mkdir(kit_state(), 0711));
    mount_small_disk(kit_state(), "2m");
    kit_open(&k);
    filler = fill_disk(kit_state());
    KIT_UNTIL(&k, strstr(history(s, id), "released"));
    CHECK_OK(unlink(filler));
    free(filler);
    KIT_UNTIL(&k, status_of(s, id) == S_SUCCEEDED); /* and in no other way */
    CHECK(!strstr(history(s, id), "lost") && !strstr(history(s, id), "failed"));
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
    struct executor_stats s = {0};

    CHECK_STR(dispatch_stats(engine_dispatch(k->engine), 1, &s), "process");
    return s.running;
}

TEST(over_all_executors_a_worker_runs_no_more_than_it_has_slots)
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
        /* the functions first: one may begin in the place of a command that ended in between */
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

TEST(priority_and_age_count_over_all_executors)
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

TEST(work_is_taken_over_whether_there_is_room_or_not)
{
    struct worker_kit k = {.commands = true}, next = {.commands = true, .in_all = 1};
    struct store *s = fixture_store();
    char wait[4200];
    int64_t later;
    int i;

    snprintf(wait, sizeof(wait), "echo >> %s; until test -e %s; do sleep 0.01; done",
             in_dir("ledger"), in_dir("go"));
    for (i = 0; i < 3; i++)
        kit_command(s, wait);
    kit_open(&k);
    KIT_UNTIL(&k, strlen(text_of(in_dir("ledger"))) == 3);
    engine_close(&k.engine);
    later = kit_command(s, "true");
    kit_open(&next);
    KIT_UNTIL(&next, commands_now(&next) == 3);
    for (i = 0; i < 5; i++)
        kit_step(&next);
    CHECK_EQ(status_of(s, later), S_READY);
    fclose(fopen(in_dir("go"), "w"));
    kit_until_ended(&next, 4);
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- what was left on the disk ---- */

/* The folder of an attempt in the state folder, made if it is not there. */
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

TEST(what_a_killed_worker_left_of_ended_executions_is_swept)
{
    struct worker_kit k = {.commands = true};
    struct store *s = fixture_store();
    int64_t ended = kit_command(s, "true"), waits;
    int old, unknown, open_one, locked, tree, lock[2];

    kit_open(&k);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    waits = submit_with(s, (struct submission){.name = "exec::x", .lane = "nobody"});
    old = attempt_folder(ended, 1);
    unknown = attempt_folder(999999, 1);
    open_one = attempt_folder(waits, 1);
    locked = attempt_folder(ended, 2);
    lock[0] = attempt_lock(locked, ATTEMPT_LOCK, false);
    tree = attempt_folder(ended, 3);
    lock[1] = attempt_lock(tree, ATTEMPT_TREE, false);
    kit_open(&k);
    KIT_UNTIL(&k, is_removed(old) && is_removed(unknown));
    CHECK(!is_removed(open_one));
    CHECK(!is_removed(locked));
    CHECK(!is_removed(tree));
    close(lock[0]);
    close(lock[1]);
    engine_close(&k.engine);
    kit_open(&k); /* at each start */
    KIT_UNTIL(&k, is_removed(locked) && is_removed(tree));
    CHECK(!is_removed(open_one));
    close(old), close(unknown), close(open_one), close(locked), close(tree);
    engine_close(&k.engine);
    CHECK_OK(cancel(s, waits));
    verify_clean(s);
    store_close(&s);
}
