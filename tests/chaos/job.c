/* job.c - the command of every job of a chaos campaign. It proves what ran, without Pawl's help.
 *
 *   job MODE MILLISECONDS
 *
 * In the current folder it holds a lock on the byte `execution id` of the file `locks` while it
 * runs, and appends one line to `ledger` when it begins and one when it ends, each with a single
 * write:
 *
 *   WHAT EXECUTION ATTEMPT EPOCH PID NANOSECONDS KEY MODE CODE
 *
 * WHAT is b (begin), e (end, with the exit code) or o (overlap: another process of this execution
 * holds the lock). The lock belongs to the open file, so that children hold it, too. Nothing is
 * written if the process is killed.
 *
 * MODE is ok, fail (always exits with 3), flaky (exits with 3 in its first attempt), out (writes
 * the output n) or daemon (leaves a child behind that holds the lock and must be ended by Pawl). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    if (!value) {
        fprintf(stderr, "job: %s is not set\n", name);
        exit(9);
    }
    return value;
}

static void append(int fd, char what, const char *mode, int code)
{
    char line[256];
    struct timespec now;
    int n;

    clock_gettime(CLOCK_MONOTONIC, &now);
    n = snprintf(line, sizeof(line), "%c %s %s %s %d %lld%09ld %.16s %s %d\n", what,
                 variable("PAWL_EXECUTION_ID"), variable("PAWL_ATTEMPT"), variable("PAWL_EPOCH"),
                 (int)getpid(), (long long)now.tv_sec, now.tv_nsec, variable("PAWL_ATTEMPT_KEY"),
                 mode, code);
    if (write(fd, line, (size_t)n) != n)
        exit(9);
}

static void wait_milliseconds(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&span, NULL);
}

/* Leaves a child behind in a session of its own, which keeps the lock. */
static void leave_child(void)
{
    if (fork())
        return;
    setsid();
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    sleep(600);
    _exit(0);
}

static void write_output(void)
{
    FILE *f = fopen(variable("PAWL_OUTPUT"), "a");

    if (!f || fprintf(f, "n=%s\n", getenv("INDEX") ? getenv("INDEX") : "0") < 0 || fclose(f))
        exit(8); /* the disk is full */
}

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[1] : "";
    int ledger = open("ledger", O_WRONLY | O_APPEND | O_CREAT, 0600);
    int locks = open("locks", O_RDWR | O_CREAT, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int code = 0;

    if (argc != 3 || ledger < 0 || locks < 0) {
        fprintf(stderr, "usage: job MODE MILLISECONDS, in the folder of a round\n");
        return 9;
    }
    lock.l_start = atoll(variable("PAWL_EXECUTION_ID"));
    append(ledger, fcntl(locks, F_OFD_SETLK, &lock) ? 'o' : 'b', mode, 0);
    wait_milliseconds(atol(argv[2]));
    if (!strcmp(mode, "daemon"))
        leave_child();
    if (!strcmp(mode, "out"))
        write_output();
    if (!strcmp(mode, "fail") || (!strcmp(mode, "flaky") && atol(variable("PAWL_ATTEMPT")) == 1))
        code = 3;
    append(ledger, 'e', mode, code);
    return code;
}
