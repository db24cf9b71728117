/* worker_file.c - reads and writes worker files, and kills hanging workers; see worker_file.h. */
#include "engine/worker_file.h"

#include "base/fd.h"
#include "base/own_file.h"
#include "base/proc.h"
#include "base/start_marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_SIZE START_MARKS_AT

int worker_file_write(int fd, int64_t foreground)
{
    char text[TEXT_SIZE];
    int n = snprintf(text, sizeof(text), "%10d %20" PRId64 " %20" PRId64 " %20" PRIu64 "\n",
                     (int)getpid(), foreground, proc_start_time(getpid()), proc_pid_namespace());

    return pwrite(fd, text, (size_t)n, 0) == n ? 0 : -1;
}

int worker_file_read(const char *path, struct worker_file *out)
{
    char text[TEXT_SIZE];
    AUTO_FD fd = own_file_open_given(AT_FDCWD, path, O_RDONLY, OWN_FILE_ANY_SIZE);
    ssize_t n;

    *out = (struct worker_file){.is_locked = true};
    if (fd < 0) /* the worker may be alive if its file can't be opened */
        return errno == ENOENT || own_file_fault(AT_FDCWD, path, OWN_FILE_ANY_SIZE) ? -1 : 0;
    out->is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0;
    n = pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = 0;
    if (sscanf(text, "%d %" SCNd64 " %" SCNd64 " %" SCNu64, &out->pid, &out->foreground,
               &out->start_time, &out->pid_namespace) < 4)
        out->pid_namespace = 0;
    return 0;
}

/* Opens the pidfd first: checks of the pid made after that hold for the process of the pidfd,
 * unless it has ended, and then the signal has no effect. */
void worker_file_kill(const char *path)
{
    struct worker_file before, after;
    int pidfd;

    if (worker_file_read(path, &before) || !before.is_locked || before.pid <= 1 ||
        !before.pid_namespace || before.pid_namespace != proc_pid_namespace())
        return;
    pidfd = (int)syscall(SYS_pidfd_open, before.pid, 0);
    if (pidfd < 0)
        return;
    if (proc_start_time(before.pid) == before.start_time && !worker_file_read(path, &after) &&
        after.is_locked)
        (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    close(pidfd);
}
