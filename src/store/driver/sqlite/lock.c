/* lock.c - the lock file of a SQLite database, with flock(2); see lock.h.
 *
 * A flock belongs to the open file description, so two connections of one process exclude each
 * other too. The kernel releases the lock when its holder dies, and queues waiters, so that no
 * writer waits much longer than others (measured with 64 writers; SQLite's own busy handler sleeps
 * and retries, without any order). But flock has no time limit: a holder that is stopped, for
 * example by a debugger, would block all others without any message. A caller that polls with
 * LOCK_NB has no place in the queue, and a library must not use a signal to interrupt the call. So
 * a connection that finds the lock taken waits in a separate thread, which can be cancelled. A free
 * lock, the common case, needs no thread. */
#include "store/driver/sqlite/lock.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PID_TEXT_SIZE 12

void sqlite_lock_init(struct sqlite_lock *k, const char *database)
{
    *k = (struct sqlite_lock){.path = mem_printf("%s.lock", database), .fd = -1};
}

void sqlite_lock_release(struct sqlite_lock *k)
{
    sqlite_lock_drop(k);
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    free(k->path);
    k->path = NULL;
}

static int open_file(struct sqlite_lock *k, struct err *err)
{
    if (k->fd >= 0)
        return 0;
    k->fd = open(k->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (k->fd >= 0)
        return 0;
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                   "the lock file %s can't be opened: %s; writing to the database needs it",
                   k->path, strerror(errno));
}

/* Whether the lock file was deleted while this connection waited for it; other processes then lock
 * a new file. */
static bool is_deleted(const struct sqlite_lock *k)
{
    struct stat st;

    return fstat(k->fd, &st) == 0 && st.st_nlink == 0;
}

/* Writes the holder's pid into the file, for the error message of a process whose wait times out.
 * The pid is written only if another process held the lock before, so that a single writer does not
 * dirty the file. */
static void write_holder_pid(const struct sqlite_lock *k)
{
    char mine[PID_TEXT_SIZE], stored[PID_TEXT_SIZE];
    ssize_t n;

    snprintf(mine, sizeof(mine), "%10d\n", (int)getpid());
    n = pread(k->fd, stored, sizeof(stored), 0);
    if (n == (ssize_t)strlen(mine) && memcmp(mine, stored, (size_t)n) == 0)
        return;
    n = pwrite(k->fd, mine, strlen(mine), 0);
    (void)n; /* if the write fails (a full disk), the message names no process */
}

static int set_timeout_error(const struct sqlite_lock *k, int limit_ms, struct err *err)
{
    char stored[PID_TEXT_SIZE + 1] = "";
    int pid;

    if (pread(k->fd, stored, PID_TEXT_SIZE, 0) > 0 && (pid = (int)strtol(stored, NULL, 10)) > 0)
        return err_set(
            err, E_UNAVAILABLE,
            "process %d%s has held %s for more than %d s: end it if it hangs, or try again later",
            pid, pid == getpid() ? " (this one)" : "", k->path, limit_ms / 1000);
    return err_set(err, E_UNAVAILABLE,
                   "another process has held %s for more than %d s: find it with fuser(1)", k->path,
                   limit_ms / 1000);
}

static int set_lock_error(const struct sqlite_lock *k, int error, struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "%s can't be locked: %s; is this a local file system?",
                   k->path, strerror(error));
}

static int flock_blocking(int fd)
{
    while (flock(fd, LOCK_EX))
        if (errno != EINTR)
            return errno;
    return 0;
}

static void *run_lock_waiter(void *arg)
{
    int error;

    /* The cancellation is asynchronous because flock is not a cancellation point. It is enabled
     * only around flock, because most of libc, including the exit of a thread, is not safe to
     * cancel asynchronously. */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    error = flock_blocking((int)(intptr_t)arg);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    return (void *)(intptr_t)error;
}

/* Starts the thread that waits for the lock, with all signals blocked: the application's handlers
 * must not run in it. */
static int start_waiter(pthread_t *thread, int fd)
{
    pthread_attr_t attr;
    sigset_t all;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    pthread_attr_setsigmask_np(&attr, &all);
    rc = pthread_create(thread, &attr, run_lock_waiter, (void *)(intptr_t)fd);
    pthread_attr_destroy(&attr);
    return rc;
}

/* The time `ms` from now. Uses the wall clock because the thread sanitizer supports no other timed
 * join. If the wall clock is set during the wait, the wait ends earlier or later, which is
 * harmless. */
static struct timespec time_in_ms(int ms)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += ms / 1000;
    ts.tv_nsec += (long)(ms % 1000) * 1000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    return ts;
}

static int wait_for_lock(const struct sqlite_lock *k, int limit_ms, struct err *err)
{
    struct timespec limit = time_in_ms(limit_ms);
    pthread_t thread;
    void *result;
    int error;

    if (start_waiter(&thread, k->fd)) { /* without a thread, wait without a limit */
        error = flock_blocking(k->fd);
    } else if (pthread_timedjoin_np(thread, &result, &limit) == 0) {
        error = (int)(intptr_t)result;
    } else {
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        /* The thread may have acquired the lock just before it was cancelled. */
        flock(k->fd, LOCK_UN);
        return set_timeout_error(k, limit_ms, err);
    }
    return error ? set_lock_error(k, error, err) : 0;
}

int sqlite_lock_acquire(struct sqlite_lock *k, int limit_ms, struct err *err)
{
    for (;;) {
        TRY(open_file(k, err));
        if (flock(k->fd, LOCK_EX | LOCK_NB)) {
            if (errno != EWOULDBLOCK)
                return set_lock_error(k, errno, err);
            TRY(wait_for_lock(k, limit_ms, err));
        }
        if (!is_deleted(k))
            break;
        close(k->fd);
        k->fd = -1;
    }
    write_holder_pid(k);
    k->held = true;
    return 0;
}

bool sqlite_lock_try(struct sqlite_lock *k)
{
    struct err ignored;

    if (open_file(k, &ignored) || flock(k->fd, LOCK_EX | LOCK_NB))
        return false;
    k->held = true;
    if (is_deleted(k))
        sqlite_lock_drop(k);
    return k->held;
}

void sqlite_lock_drop(struct sqlite_lock *k)
{
    if (k->held)
        flock(k->fd, LOCK_UN);
    k->held = false;
}
