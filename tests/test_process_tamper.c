/* test_process_tamper.c - a task replaces files of its own attempt, which it may do: it runs as the
 * same user. No worker waits for such a file, no such attempt succeeds, its error names the file,
 * and nothing of it is left. */
#include "process_wait_fixture.h"

#include <sys/wait.h>

TEST_NO_DB;

/* ---- the ways to replace a file ---- */

#define FIFO   "mkfifo"
#define FOLDER "f() { mkdir -p \"$1/inside\"; }; f"
#define LINK   "ln -s /dev/zero"
#define DANGLE "ln -s /nowhere/at/all"
#define HUGE   "truncate -s 50G"
#define SHUT   "install -m 0 /dev/null"
#define GIVEN  "install -o 12345 /dev/null" /* to another user; needs root */

struct replaced {
    const char *file, *by;
    const char *message; /* a part of the error */
};

static const struct replaced all[] = {
    {"lock", FIFO, "\"lock\" in its folder was replaced: it is a FIFO"},
    {"lock", FOLDER, "\"lock\" in its folder was replaced: it is a folder"},
    {"lock", LINK, "\"lock\" in its folder was replaced: it is a symbolic link"},
    {"lock", DANGLE, "\"lock\" in its folder was replaced: it is a symbolic link"},
    {"lock", SHUT, "\"lock\" in its folder was replaced: its owner can't read and write it"},
    {"tree", FIFO, "\"tree\" in its folder was replaced: it is a FIFO"},
    {"tree", FOLDER, "\"tree\" in its folder was replaced: it is a folder"},
    {"tree", LINK, "\"tree\" in its folder was replaced: it is a symbolic link"},
    {"lease", FIFO, "\"lease\" in its folder was replaced: it is a FIFO"},
    {"lease", FOLDER, "\"lease\" in its folder was replaced: it is a folder"},
    {"lease", LINK, "\"lease\" in its folder was replaced: it is a symbolic link"},
    {"lease", HUGE, "\"lease\" in its folder was replaced: it is too large"},
    {"shim", FIFO, "\"shim\" in its folder was replaced: it is a FIFO"},
    {"shim", FOLDER, "\"shim\" in its folder was replaced: it is a folder"},
    {"exit", FOLDER, "\"exit\" in its folder was replaced: it is a folder"},
    {"exit", FIFO, "\"exit\" in its folder was replaced: it is a FIFO"},
    {"exit", LINK, "\"exit\" in its folder was replaced: it is a symbolic link"},
    {"exit.new", FIFO, "\"exit.new\" in its folder was replaced: it is a FIFO"},
    {"exit.new", FOLDER, "\"exit.new\" in its folder was replaced: it is a folder"},
    {"exit.new", LINK, "\"exit.new\" in its folder was replaced: it is a symbolic link"},
    {"exit.new", DANGLE, "\"exit.new\" in its folder was replaced: it is a symbolic link"},
    {"ending", FIFO, "\"ending\" in its folder was replaced: it is a FIFO"},
    {"log", FIFO, "\"log\" in its folder was replaced: it is a FIFO"},
    {"log", FOLDER, "\"log\" in its folder was replaced: it is a folder"},
    {"log", LINK, "\"log\" in its folder was replaced: it is a symbolic link"},
    {"log", HUGE, "\"log\" in its folder was replaced: it is too large"},
    {"log.pos", FIFO, "\"log.pos\" in its folder was replaced: it is a FIFO"},
    {"control", FOLDER, "\"control\" in its folder was replaced: it is no longer a FIFO"},
    {"control", HUGE, "\"control\" in its folder was replaced: it is no longer a FIFO"},
    {"output", FIFO, "$PAWL_OUTPUT can't be read: it is a FIFO"},
    {"output", FOLDER, "$PAWL_OUTPUT can't be read: it is a folder"},
    {"output", LINK, "$PAWL_OUTPUT can't be read: it is a symbolic link"},
    {"output", HUGE, "$PAWL_OUTPUT is longer than 1048576 bytes"},
    /* Only root can give files away. */
    {"lock", GIVEN, "\"lock\" in its folder was replaced: it belongs to another user"},
    {"lease", GIVEN, "\"lease\" in its folder was replaced: it belongs to another user"},
};
#define FOR_ROOT 2 /* cases, the last ones */
#define END      (all + sizeof(all) / sizeof(*all) - (geteuid() ? FOR_ROOT : 0))

/* A command that replaces the file, reports that in `begun`, and does the rest. */
static const char *replacing_command(const struct replaced *c, const char *rest)
{
    static char text[1000];

    snprintf(text, sizeof(text), "%srm -rf \"$d/%s\"; %s \"$d/%s\"; echo $$ >>begun; %s",
             AWAITS_SHIM, c->file, c->by, c->file, rest);
    return text;
}

static void check_failed(const struct replaced *c, const struct seen *s)
{
    if (s->o.kind != OUTCOME_FAILED || !strstr(s->error, c->message))
        test_fail(__FILE__, __LINE__, "%s by %s: outcome %d, %s", c->file, c->by, (int)s->o.kind,
                  s->error ? s->error : "no error");
    if (s->result)
        test_fail(__FILE__, __LINE__, "%s by %s has a result", c->file, c->by);
}

/* Checks that the attempt leaves nothing on the disk once it is settled. */
static void check_removed(struct worker *w, const struct job *t)
{
    char path[PATH_MAX + ATTEMPT_NAME_SIZE], name[ATTEMPT_NAME_SIZE];

    snprintf(path, sizeof(path), "%s/%s", attempts_dir(),
             attempt_name(t->execution, t->attempt, name));
    w->x->ops->settled(w->x, t->execution, t->attempt);
    UNTIL(w, faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW));
}

static struct job task_with_id(const struct spec *spec, int64_t execution)
{
    struct job t = task_of(spec);

    t.execution = execution;
    return t;
}

/* ---- under its own worker ---- */

static void check_each_under_one_worker(struct spec spec)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5});
    int64_t execution = 100;

    spec.cwd = test_dir();
    for (const struct replaced *c = all; c < END; c++) {
        struct job t = task_with_id(&spec, execution++);

        spec.run = replacing_command(c, "exit 0");
        check_failed(c, worker_run(w, &t));
        check_removed(w, &t);
    }
    spec.run = "true";
    CHECK_EQ(worker_run(w, &(struct job){.execution = execution,
                                         .attempt = 1,
                                         .epoch = 1,
                                         .name = "exec::test",
                                         .spec = &spec})
                 ->o.kind,
             OUTCOME_OK);
    worker_free(w);
}

TEST(attempt_that_replaced_a_file_in_its_folder_fails_with_the_files_name_and_leaves_nothing)
{
    check_each_under_one_worker((struct spec){0});
}

TEST(without_cgroups_attempt_that_replaced_a_file_in_its_folder_fails_with_the_files_name)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_each_under_one_worker((struct spec){0});
}

/* The shim itself reads and writes the output file, to mask secrets. */
TEST(attempt_that_has_secrets_and_replaced_its_output_file_fails)
{
    const char *secrets[] = {"TAMPER_SECRET", NULL};
    struct worker *w = worker_new();
    int64_t execution = 100;

    setenv("TAMPER_SECRET", "quite secret", 1);
    for (const struct replaced *c = all; c < END; c++) {
        struct spec spec = {.run = replacing_command(c, "exit 0"), .cwd = test_dir()};
        struct job t = task_with_id(&spec, execution++);

        if (strcmp(c->file, "output") != 0)
            continue;
        spec.secrets = secrets;
        spec.nsecrets = 1;
        check_failed(c, worker_run(w, &t));
        check_removed(w, &t);
    }
    worker_free(w);
}

/* The worker renews the lease after the task has replaced it. */
TEST(renewal_of_a_replaced_lease_file_lets_the_task_finish_and_fails_its_attempt)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    const struct replaced lease = {"lease", FIFO, "\"lease\" in its folder was replaced"};

    spec.run = replacing_command(&lease, "read x <fifo; exit $x");
    (void)begin(w, &t);
    for (int i = 0; i < 3; i++)
        handles_renewed(&w->handles, t.execution, t.attempt, clock_boot_us() + 30 * SECOND);
    CHECK_EQ(seen_of(w, t.execution, t.attempt)->ended, 0);
    let_end("0\n");
    check_failed(&lease, worker_wait(w, &t));
    worker_free(w);
}

/* The cancel goes to a FIFO that no process reads, and neither the record nor the lock identifies
 * the shim. */
TEST(cancel_ends_an_attempt_that_replaced_its_control_shim_and_lock_files)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t task;

    spec.run = "d=${PAWL_OUTPUT%/*}; rm $d/control $d/shim $d/lock; mkfifo $d/control; "
               "echo x >$d/shim; mkfifo $d/lock; echo $$ >>begun; read x <fifo";
    task = begin(w, &t);
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(task));
    check_removed(w, &t);
    worker_free(w);
}

/* ---- under the next worker ---- */

/* The attempt is adopted while it runs, and ends afterwards. */
TEST(adopter_waits_for_an_attempt_that_replaced_a_file_and_fails_it)
{
    struct spec spec = waiting_spec();
    int64_t execution = 100;

    for (const struct replaced *c = all; c < END; c++) {
        struct worker *a = worker_new(), *b;
        struct job t = task_with_id(&spec, execution++);
        struct seen *s;

        unlink(path_of("begun"));
        spec.run = replacing_command(c, "read x <fifo; exit $x");
        (void)begin(a, &t);
        b = next_worker(a, &t);
        s = seen_of(b, t.execution, t.attempt);
        UNTIL(b, s->started || s->ended);
        if (s->ended)
            test_fail(__FILE__, __LINE__, "%s by %s: ended while its shim runs: %s", c->file, c->by,
                      s->error);
        let_end("0\n");
        check_failed(c, worker_wait(b, &t));
        CHECK_EQ(times_begun(), 1);
        check_removed(b, &t);
        worker_free(b);
    }
}

/* The attempt has ended, or is about to, when it is adopted. */
TEST(ended_attempt_that_replaced_a_file_fails_under_the_next_worker)
{
    struct spec spec = {.cwd = test_dir()};
    int64_t execution = 100;

    for (const struct replaced *c = all; c < END; c++) {
        struct worker *a = worker_new(), *b;
        struct job t = task_with_id(&spec, execution++);

        unlink(path_of("begun"));
        CHECK(mkfifo(path_of("fifo"), 0600) == 0 || errno == EEXIST);
        spec.run = replacing_command(c, "read x <fifo; exit $x");
        (void)begin(a, &t);
        worker_free(a);
        let_end("0\n");
        b = worker_new();
        t.epoch = 2;
        worker_reattach(b, &t);
        check_failed(c, worker_wait(b, &t));
        check_removed(b, &t);
        worker_free(b);
    }
}

static void check_adoption_waits_for_shim(const char *run)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;

    spec.run = run;
    (void)begin(a, &t);
    b = next_worker(a, &t);
    s = seen_of(b, t.execution, t.attempt);
    UNTIL(b, s->started || s->ended);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    worker_free(b);
}

TEST(adopter_of_an_attempt_without_its_lock_file_waits_for_the_shim)
{
    check_adoption_waits_for_shim(
        "rm ${PAWL_OUTPUT%/*}/lock; echo $$ >>begun; read x <fifo; exit $x");
}

TEST(adopter_of_an_attempt_with_a_replaced_lock_file_waits_for_the_shim)
{
    check_adoption_waits_for_shim("d=${PAWL_OUTPUT%/*}; rm $d/lock $d/tree; touch $d/lock $d/tree; "
                                  "echo $$ >>begun; read x <fifo; exit $x");
}

/* Its lock is a hard link to the lock of another attempt, which keeps running. */
TEST(attempt_whose_lock_is_a_link_to_another_attempts_lock_does_not_wait_for_that_attempt)
{
    struct worker *w = worker_new();
    struct spec waits = waiting_spec(), links = {.cwd = test_dir()};
    struct job other = task_with_id(&waits, 8), t = task_with_id(&links, 9);
    struct seen *s;

    (void)begin(w, &other);
    links.run = "d=${PAWL_OUTPUT%/*}; ln -f $d/../8.1/lock $d/lock";
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK(strstr(s->error, "\"lock\" in its folder was replaced: it is a link"));
    CHECK_EQ(seen_of(w, other.execution, other.attempt)->ended, 0);
    let_end("0\n");
    CHECK_EQ(worker_wait(w, &other)->o.kind, OUTCOME_OK);
    worker_free(w);
}

/* ---- its shim is killed, too ---- */

static void check_killed_shim_and_replaced(const char *file, enum outcome_kind kind,
                                           const char *message)
{
    const struct replaced c = {file, FIFO, message};
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t task;

    spec.run = replacing_command(&c, "echo $PPID >shim; read x <fifo; exit $x");
    task = begin(w, &t);
    CHECK_OK(kill(read_pid(w, path_of("shim")), SIGKILL));
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, kind);
    CHECK(strstr(s->error, message));
    CHECK(is_gone(task));
    check_removed(w, &t);
    worker_free(w);
}

TEST(attempt_whose_shim_was_killed_and_tree_lock_replaced_is_lost)
{
    check_killed_shim_and_replaced("tree", OUTCOME_LOST,
                                   "\"tree\" in its folder was replaced: it is a FIFO");
}

TEST(attempt_whose_shim_was_killed_and_lock_replaced_ends_as_failed)
{
    check_killed_shim_and_replaced("lock", OUTCOME_FAILED,
                                   "\"lock\" in its folder was replaced: it is a FIFO");
}

/* ---- the folder itself ---- */

static void check_replaced_folder_is_lost(const char *run, const char *message)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t task;

    spec.run = run;
    task = begin(a, &t);
    worker_free(a);
    /* a tombstone is kept for the time of a lease */
    b = worker_with((struct process_options){.lease = SECOND / 5});
    t.epoch = 2;
    worker_reattach(b, &t);
    s = worker_wait(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK(is_gone(task));
    CHECK(strstr(s->error, message));
    check_removed(b, &t);
    worker_free(b);
}

TEST(attempt_whose_folder_was_replaced_by_a_link_is_lost_and_the_error_names_the_link)
{
    check_replaced_folder_is_lost(
        AWAITS_SHIM "mv $d elsewhere; ln -s $PWD/elsewhere $d; echo $$ >>begun; read x <fifo",
        "its folder was replaced: it is a symbolic link");
    CHECK_OK(access(path_of("elsewhere/shim"), F_OK));
}

TEST(attempt_whose_folder_was_replaced_by_a_fifo_is_lost_and_the_error_names_the_fifo)
{
    check_replaced_folder_is_lost(AWAITS_SHIM "rm -r $d; mkfifo $d; echo $$ >>begun; read x <fifo",
                                  "its folder was replaced: it is a FIFO");
}

TEST(attempt_whose_folder_was_removed_is_lost_and_its_processes_end)
{
    check_replaced_folder_is_lost(AWAITS_SHIM "rm -r $d; echo $$ >>begun; read x <fifo", "");
}

/* ---- after a fence ---- */

TEST(attempt_from_before_a_fence_that_replaced_a_file_is_ended_and_removed)
{
    struct spec spec = waiting_spec();
    struct err err = ERR_INIT;
    int64_t execution = 100;

    for (const struct replaced *c = all; c < END; c++) {
        struct worker *w = worker_new();
        struct job t = task_with_id(&spec, execution++);
        pid_t task;

        unlink(path_of("begun"));
        spec.run = replacing_command(c, "read x <fifo; exit $x");
        task = begin(w, &t);
        worker_free(w);
        CHECK_OK_ERR(end_all_attempts(attempts_dir(), SECOND, &err), &err);
        CHECK(is_gone(task));
        CHECK_EQ(count_files(attempts_dir()), 0);
    }
}
