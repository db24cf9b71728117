/* ledger.h - how the jobs of a campaign prove what ran: job.c, a command, and function.c, a plugin.
 *
 * In the current folder a job holds a lock on the byte `execution id` of the file `locks` while it
 * runs, and appends one line to `ledger` when it begins and one when it ends, each with a single
 * write:
 *
 *   WHAT EXECUTION ATTEMPT EPOCH PID NANOSECONDS KEY MODE CODE
 *
 * WHAT is b (begin), e (end, with the exit code) or o (overlap: another job of this execution holds
 * the lock). The lock belongs to the open file, so that children of a command hold it, too. Nothing
 * is written if the process is killed. */
#ifndef CHAOS_LEDGER_H
#define CHAOS_LEDGER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct entry {
    long long execution;
    int attempt, epoch; /* epoch is 0 for a function, which does not know it */
    const char *key;    /* of the attempt; "-" if unknown */
    const char *mode;
};

static inline bool ledger_append(int fd, char what, const struct entry *e, int code)
{
    char line[256];
    struct timespec now;
    int n;

    clock_gettime(CLOCK_MONOTONIC, &now);
    n = snprintf(line, sizeof(line), "%c %lld %d %d %d %lld%09ld %.16s %s %d\n", what, e->execution,
                 e->attempt, e->epoch, (int)getpid(), (long long)now.tv_sec, now.tv_nsec, e->key,
                 e->mode, code);
    return write(fd, line, (size_t)n) == n;
}

/* Takes the lock of the execution and writes the line of the begin. Returns the ledger, or -1. The
 * lock is released when *locks is closed. */
static inline int ledger_begin(const struct entry *e, int *locks)
{
    int ledger = open("ledger", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = e->execution, .l_len = 1};

    *locks = open("locks", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (ledger < 0 || *locks < 0 ||
        !ledger_append(ledger, fcntl(*locks, F_OFD_SETLK, &lock) ? 'o' : 'b', e, 0))
        return -1;
    return ledger;
}

static inline void wait_milliseconds(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&span, NULL);
}

#endif
