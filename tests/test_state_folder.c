/* test_state_folder.c - the workers of a state folder: which are alive, which started, which ended,
 * and how soon the others are notified. */
#include "base/env.h"
#include "engine/state_folder.h"
#include "harness.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_NO_DB;

#define SELF  1
#define OTHER 2

static struct state_folder *open_as(int64_t worker)
{
    struct state_folder *f;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(state_folder_open(test_dir(), "db", 1, worker, &f, &err), &err);
    return f;
}

/* Another process that holds the lock of OTHER until it is killed. */
static pid_t other_worker(void)
{
    int ready[2];
    pid_t pid;
    char c;

    CHECK(!pipe(ready));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)open_as(OTHER);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    CHECK_EQ(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end_other(pid_t pid)
{
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* Waits as the engine's loop does: scans when it is notified and at no other time. */
static void wait_for_a_dead_worker(struct state_folder *f)
{
    struct pollfd fd = {.fd = state_folder_fd(f), .events = POLLIN};

    do
        CHECK_EQ(poll(&fd, 1, -1), 1);
    while (!state_folder_scan(f));
}

static void check_only_other_is_dead(struct state_folder *f)
{
    size_t n;
    const struct dead_worker *dead = state_folder_dead_workers(f, &n);

    CHECK_EQ(n, 1);
    CHECK_EQ(dead[0].id, OTHER);
    state_folder_remove_worker(f, OTHER);
    CHECK(!state_folder_scan(f));
}

static void wait_until_old(struct state_folder *f)
{
    struct pollfd fd = {.fd = state_folder_fd(f), .events = POLLIN};

    CHECK_EQ(poll(&fd, 1, -1), 1);
    CHECK(!state_folder_scan(f));
    CHECK_EQ(poll(&fd, 1, 0), 0); /* notified only once */
}

TEST(end_of_a_running_worker_is_reported_immediately)
{
    pid_t other = other_worker();
    struct state_folder *f = open_as(SELF);

    CHECK(!state_folder_scan(f));
    CHECK(state_folder_is_alive(f, OTHER));
    end_other(other);
    wait_for_a_dead_worker(f);
    CHECK(!state_folder_is_alive(f, OTHER));
    check_only_other_is_dead(f);
    state_folder_close(&f, true);
}

TEST(worker_that_starts_and_ends_before_the_folder_is_watched_is_found_dead)
{
    struct state_folder *f = open_as(SELF);

    CHECK(!state_folder_scan(f));
    end_other(other_worker());
    wait_for_a_dead_worker(f);
    check_only_other_is_dead(f);
    state_folder_close(&f, true);
}

TEST(worker_that_starts_before_the_folder_is_watched_and_ends_later_is_found_dead)
{
    struct state_folder *f = open_as(SELF);
    pid_t other;

    CHECK(!state_folder_scan(f));
    other = other_worker();
    wait_until_old(f);
    end_other(other);
    wait_for_a_dead_worker(f);
    check_only_other_is_dead(f);
    state_folder_close(&f, true);
}

TEST(worker_that_starts_and_ends_while_the_folder_is_watched_is_found_dead)
{
    struct state_folder *f = open_as(SELF);

    wait_until_old(f);
    end_other(other_worker());
    wait_for_a_dead_worker(f);
    check_only_other_is_dead(f);
    state_folder_close(&f, true);
}

/* A command of the same user may create any file there. */
TEST(scan_does_not_block_on_a_replaced_worker_file)
{
    struct state_folder *f = open_as(SELF);
    char path[4096];

    snprintf(path, sizeof(path), "%s/db.1/workers/%016llx", test_dir(), (unsigned long long)OTHER);
    CHECK(!mkfifo(path, 0600));
    CHECK(!state_folder_scan(f));
    CHECK(!state_folder_is_alive(f, OTHER));
    state_folder_kill_worker(f, OTHER);
    CHECK(!unlink(path) && !symlink("/dev/zero", path));
    CHECK(!state_folder_scan(f));
    CHECK(!state_folder_is_alive(f, OTHER));
    state_folder_close(&f, true);
}

TEST(folder_whose_id_file_is_a_fifo_is_refused_immediately)
{
    struct err err = ERR_INIT;
    struct state_folder *f;
    char path[4096];

    snprintf(path, sizeof(path), "%s/id", test_dir());
    CHECK(!mkfifo(path, 0600));
    CHECK_EQ(state_folder_open(test_dir(), "db", 1, SELF, &f, &err), -E_UNAVAILABLE);
    CHECK(strstr(err.msg, "/id: it is a FIFO"));
}
