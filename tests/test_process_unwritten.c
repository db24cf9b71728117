/* test_process_unwritten.c - a shim that can't write its exit record yet, while files of its
 * attempt are replaced. The attempt still ends, and nothing is written through a link. */
#include "base/own_file.h"
#include "process_wait_fixture.h"

TEST_NO_DB;

static void put_fifo(int at, const char *name)
{
    CHECK_OK(mkfifoat(at, name, 0600));
}

static void put_folder(int at, const char *name)
{
    CHECK_OK(mkdirat(at, name, 0700));
}

static void put_link(int at, const char *name)
{
    CHECK_OK(symlinkat("elsewhere", at, name));
}

static void put_file(int at, const char *name)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    close(fd);
}

static void put_huge_file(int at, const char *name)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    CHECK_OK(ftruncate(fd, INT64_C(50) << 30));
    close(fd);
}

static void put_nothing(int at, const char *name)
{
    (void)at;
    (void)name;
}

/* Replaces the file while its shim retries to write the exit record. */
static struct seen *replace_while_unwritten(struct worker *w, const char *name,
                                            void (*put)(int at, const char *name))
{
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t shim;
    int at;

    (void)begin(w, &t);
    shim = shim_of(&t);
    at = folder_of(&t);
    let_shim_write(shim, false);
    end_unwritten(w, &t);
    (void)unlinkat(at, name, 0);
    put(at, name);
    let_shim_write(shim, true);
    s = worker_wait(w, &t);
    CHECK(is_gone(shim));
    CHECK_EQ(faccessat(at, "elsewhere", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    close(at);
    return s;
}

static void check_replacement_fails(const char *name, void (*put)(int at, const char *name),
                                    const char *message)
{
    struct worker *w = worker_new();
    struct seen *s = replace_while_unwritten(w, name, put);

    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_STR(s->error, message);
    worker_free(w);
}

static void check_replacement_succeeds(const char *name, void (*put)(int at, const char *name))
{
    struct worker *w = worker_new();

    CHECK_EQ(replace_while_unwritten(w, name, put)->o.kind, OUTCOME_OK);
    worker_free(w);
}

TEST(exit_record_replaced_by_a_fifo_during_retries_fails_the_attempt)
{
    check_replacement_fails(
        "exit.new", put_fifo,
        "\"exit.new\" in its folder was replaced: it is a FIFO, so its exit status "
        "is unknown");
}

TEST(exit_record_replaced_by_a_folder_during_retries_fails_the_attempt)
{
    check_replacement_fails(
        "exit", put_folder,
        "\"exit\" in its folder was replaced: it is a folder, so its exit status "
        "is unknown");
}

TEST(exit_record_replaced_by_a_link_during_retries_is_not_written_through_the_link)
{
    check_replacement_fails(
        "exit.new", put_link,
        "\"exit.new\" in its folder was replaced: it is a symbolic link, so its exit "
        "status is unknown");
}

TEST(exit_record_removed_during_retries_is_still_written)
{
    check_replacement_succeeds("exit.new", put_nothing);
}

TEST(exit_record_replaced_by_a_huge_file_during_retries_is_still_written)
{
    check_replacement_succeeds("exit.new", put_huge_file);
}

TEST(exit_record_replaced_by_a_file_during_retries_is_still_written)
{
    check_replacement_succeeds("exit.new", put_file);
}

/* The worker can't see the mark in the lock, so the shim counts as unresponsive. */
TEST(timeout_ends_a_shim_that_cannot_write_its_exit_record_and_whose_lock_was_replaced)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    pid_t shim;
    int at;

    spec.timeout = SECOND;
    (void)begin(w, &t);
    shim = shim_of(&t);
    at = folder_of(&t);
    let_shim_write(shim, false);
    end_unwritten(w, &t);
    CHECK_OK(unlinkat(at, ATTEMPT_LOCK, 0));
    put_fifo(at, ATTEMPT_LOCK);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_TIMED_OUT);
    CHECK(is_gone(shim));
    close(at);
    worker_free(w);
}

/* For a while, another process holds and marks the file that has replaced the lock. */
TEST(timeout_ends_a_frozen_shim_after_another_process_releases_a_forged_lock)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    pid_t shim;
    int at, lock;

    spec.timeout = SECOND;
    (void)begin(w, &t);
    shim = shim_of(&t);
    at = folder_of(&t);
    CHECK_OK(kill(shim, SIGSTOP));
    CHECK_OK(unlinkat(at, ATTEMPT_LOCK, 0));
    CHECK_OK(unlinkat(at, ATTEMPT_TREE, 0));
    lock = attempt_lock(at, ATTEMPT_LOCK, false);
    CHECK(lock >= 0);
    attempt_mark_end_known(lock);
    CHECK(attempt_is_end_known(at));
    poll_for(w, 2 * SECOND);
    CHECK_EQ(seen_of(w, t.execution, t.attempt)->ended, 0);
    close(lock);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_TIMED_OUT);
    CHECK(is_gone(shim));
    close(at);
    worker_free(w);
}

/* Relevant only if the worker is not root. */
TEST(exit_record_is_written_even_if_the_folders_permissions_were_removed)
{
    const char *const names[] = {"TOKEN", NULL};
    struct spec spec = {.run = "echo v=$TOKEN >$PAWL_OUTPUT; chmod 0 ${PAWL_OUTPUT%/*}",
                        .secrets = names,
                        .nsecrets = 1};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;

    setenv("TOKEN", "hunter2hunter2", 1);
    w = worker_new();
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"v\":\"***\"}");
    worker_free(w);
}

/* A worker waits for a record that can't be read yet, but must not wait for a replaced one. */
TEST(read_of_a_replaced_exit_record_fails_permanently)
{
    static void (*const puts[])(int at, const char *name) = {put_fifo, put_folder, put_link,
                                                             put_huge_file};
    struct attempt_exit end;
    int at = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < sizeof(puts) / sizeof(*puts); i++) {
        puts[i](at, "exit");
        CHECK_EQ(record_read(at, &RECORD_EXIT, &end), -1);
        CHECK(own_file_is_fault(errno));
        CHECK(!error_may_pass(errno));
        CHECK_OK(unlinkat(at, "exit", puts[i] == put_folder ? AT_REMOVEDIR : 0));
    }
    close(at);
}
