/* test_worker_file.c - a worker's file: the worker is alive while a process holds the file's lock,
 * and only the process that wrote the file is killed. */
#include "harness.h"

#include "base/env.h"
#include "base/proc.h"
#include "engine/worker_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_NO_DB;

static const char *file_path(void)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/worker", test_dir());
    return path;
}

/* Starts a process that holds the file's lock and has written its identity into it. */
static pid_t start_worker(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    CHECK_OK(pipe(ready));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int fd = open(file_path(), O_RDWR | O_CREAT, 0600);

        if (fd < 0 || flock(fd, LOCK_EX) || worker_file_write(fd, 42) ||
            write(ready[1], "x", 1) != 1)
            _exit(3);
        for (;;)
            pause();
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end_worker(pid_t pid)
{
    int status;

    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
}

/* Writes the identity of another process into the file. */
static void write_identity(int pid, int64_t start_time, uint64_t pid_namespace)
{
    FILE *f = fopen(file_path(), "r+");

    CHECK(f);
    fprintf(f, "%10d %20d %20lld %20llu\n", pid, 42, (long long)start_time,
            (unsigned long long)pid_namespace);
    CHECK_OK(fclose(f));
}

static bool is_alive(pid_t pid)
{
    clock_sleep_us(20000);
    return waitpid(pid, NULL, WNOHANG) == 0;
}

TEST(worker_file_identifies_its_worker_and_shows_whether_it_is_alive)
{
    pid_t worker = start_worker();
    struct worker_file f;

    CHECK_OK(worker_file_read(file_path(), &f));
    CHECK(f.is_locked);
    CHECK_EQ(f.pid, worker);
    CHECK_EQ(f.foreground, 42);
    CHECK_EQ(f.start_time, proc_start_time(worker));
    CHECK_EQ(f.pid_namespace, proc_pid_namespace());
    end_worker(worker);
    CHECK_OK(worker_file_read(file_path(), &f));
    CHECK(!f.is_locked);
    CHECK_OK(unlink(file_path()));
    CHECK_EQ(worker_file_read(file_path(), &f), -1);
}

TEST(kill_of_a_worker_reaches_the_process_that_holds_the_lock)
{
    pid_t worker = start_worker();
    int status;

    worker_file_kill(file_path());
    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK(WIFSIGNALED(status));
    worker_file_kill(file_path()); /* the process has ended */
}

TEST(kill_of_a_worker_spares_a_process_that_only_has_the_same_pid)
{
    pid_t worker = start_worker();

    write_identity(worker, proc_start_time(worker) - 1, proc_pid_namespace());
    worker_file_kill(file_path());
    CHECK(is_alive(worker));
    write_identity(worker, proc_start_time(worker), proc_pid_namespace() + 1);
    worker_file_kill(file_path());
    CHECK(is_alive(worker));
    write_identity(0, 0, proc_pid_namespace());
    worker_file_kill(file_path());
    CHECK(is_alive(worker));
    end_worker(worker);
}

/* The format of an older version. */
TEST(kill_of_a_worker_spares_a_process_whose_worker_file_has_no_start_time)
{
    pid_t worker = start_worker();
    struct worker_file f;
    FILE *file = fopen(file_path(), "w");

    CHECK(file);
    fprintf(file, "%10d %20d\n", (int)worker, 7);
    CHECK_OK(fclose(file));
    worker_file_kill(file_path());
    CHECK(is_alive(worker));
    CHECK_OK(worker_file_read(file_path(), &f));
    CHECK(f.is_locked);
    CHECK_EQ(f.foreground, 7);
    end_worker(worker);
}
