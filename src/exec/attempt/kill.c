/* kill.c - kills the remaining processes of an attempt whose shim has ended, see attempt.h.
 *
 * Processes are found in three ways; a task can evade each of them, but hardly all at once: they
 * have the attempt's key in their environment, hold its `tree`, or belong to its session. Each is
 * signalled through a pidfd that was opened before the last check, so that a process with a reused
 * pid is never killed. */
#include "exec/attempt/attempt.h"

#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

int attempt_shim_pidfd(const struct attempt_shim *s)
{
    int fd, error;
    int64_t start;

    errno = ESRCH;
    fd = s->pid > 1 ? pidfd_open((pid_t)s->pid, 0) : -1;
    error = errno;
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        errno = ESRCH;
        start = proc_start_time((pid_t)s->pid);
        error = errno;
        if (start == s->start_time)
            return fd;
        if (start >= 0)
            error = ESRCH;
        close(fd);
    }
    errno = proc_is_shortage(error) ? error : ESRCH;
    return -1;
}

/* --- does a process belong to the attempt? ------------------------------------------------------
 */

struct remains_search {
    struct stat tree;
    bool has_tree;
    const struct attempt_shim *shim;
    bool unsure; /* a process could not be inspected for want of descriptors or memory */
    char marker[ATTEMPT_KEY_SIZE + sizeof(ATTEMPT_KEY_NAME) + 1];
    struct buf text;
};

static bool read_file(struct remains_search *s, int proc, const char *name, size_t max)
{
    bool good = proc_read(proc, name, max, &s->text);

    s->unsure |= !good && proc_is_shortage(errno);
    return good;
}

static bool carries_key(struct remains_search *s, int proc)
{
    size_t len = strlen(s->marker) + 1; /* with the NUL that ends the variable */

    if (!*s->shim->key || !read_file(s, proc, "environ", ENVIRON_MAX))
        return false;
    for (size_t i = 0; i + len <= s->text.len;) {
        const char *var = s->text.ptr + i;

        if (memcmp(var, s->marker, len) == 0)
            return true;
        i += strnlen(var, s->text.len - i) + 1;
    }
    return false;
}

/* Other processes may have `tree` open to test it; only those that share the lock belong to it. */
static bool shares_lock(struct remains_search *s, int proc, const char *fd)
{
    char name[40];

    snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
    return read_file(s, proc, name, 65536) && s->text.len && strstr(s->text.ptr, "\nlock:");
}

static bool holds_tree(struct remains_search *s, int proc)
{
    int fd = s->has_tree ? openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    struct stat st;
    bool found = false;

    if (!d) {
        s->unsure |= s->has_tree && proc_is_shortage(errno);
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (!found && (e = readdir(d)) != NULL)
        found = e->d_name[0] != '.' && fstatat(fd, e->d_name, &st, 0) == 0 &&
                st.st_dev == s->tree.st_dev && st.st_ino == s->tree.st_ino &&
                shares_lock(s, proc, e->d_name);
    closedir(d);
    return found;
}

/* A session id is not reused while a member lives. If the leader lives, it must be the recorded
 * one. */
static bool is_of_session(const struct remains_search *s, const struct proc_stat *line)
{
    int64_t leader;

    if (!s->shim->session || line->session != s->shim->session)
        return false;
    leader = proc_start_time((pid_t)s->shim->session);
    return leader < 0 || leader == s->shim->session_start;
}

static bool is_of_attempt(struct remains_search *s, int proc)
{
    struct proc_stat line;

    if (!read_file(s, proc, "stat", 4096) || !s->text.len || !proc_parse_stat(s->text.ptr, &line))
        return false;
    if (line.state == 'Z' || line.state == 'X')
        return false;
    return is_of_session(s, &line) || carries_key(s, proc) || holds_tree(s, proc);
}

/* --- the search ---------------------------------------------------------------------------------
 */

/* The descriptor of /proc/PID keeps referring to the process that it was opened for. */
static bool kill_if_of_attempt(struct remains_search *s, int all, const char *name)
{
    int proc = openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), pidfd = -1;
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    bool found = false;

    if (proc < 0) {
        s->unsure |= proc_is_shortage(errno);
        return false;
    }
    if (pid != getpid() && is_of_attempt(s, proc)) {
        pidfd = pidfd_open(pid, 0);
        s->unsure |= pidfd < 0 && proc_is_shortage(errno);
        found = pidfd >= 0 && is_of_attempt(s, proc);
        if (found)
            pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    }
    if (pidfd >= 0)
        close(pidfd);
    close(proc);
    return found;
}

static int kill_found(struct remains_search s)
{
    const struct attempt_shim *shim = s.shim;
    DIR *d;
    struct dirent *e;
    int found = 0;

    if (*shim->cgroup)
        cgroup_kill(shim->cgroup);
    snprintf(s.marker, sizeof(s.marker), "%s=%s", ATTEMPT_KEY_NAME, shim->key);
    d = opendir("/proc");
    s.unsure |= !d && errno != ENOENT; /* a host may have no /proc */
    while (d && (e = readdir(d)) != NULL)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            found += kill_if_of_attempt(&s, dirfd(d), e->d_name);
    if (d)
        closedir(d);
    found += s.unsure;
    if (!found && *shim->cgroup)
        cgroup_remove(shim->cgroup);
    buf_release(&s.text);
    return found;
}

int attempt_kill_remains(int at, const struct attempt_shim *shim)
{
    struct remains_search s = {.shim = shim};

    s.has_tree = fstatat(at, ATTEMPT_TREE, &s.tree, AT_SYMLINK_NOFOLLOW) == 0;
    return kill_found(s);
}

int attempt_kill_remains_of(int tree, const struct attempt_shim *shim)
{
    struct remains_search s = {.shim = shim};

    s.has_tree = fstat(tree, &s.tree) == 0;
    return kill_found(s);
}
