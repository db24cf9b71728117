/* kill.c - kills the remaining processes of an attempt whose shim has ended, see attempt.h.
 *
 * Processes are found in three ways; a task can evade each of them, but hardly all at once: they
 * have the attempt's key in their environment, hold its `tree`, or belong to its session. Each is
 * signalled through a pidfd that was opened before the last check, so that a process with a reused
 * pid is never killed. */
#include "exec/attempt/attempt.h"

#include "base/fd.h"
#include "base/proc.h"
#include "exec/attempt/proc_search.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

/* ---- does a process belong to the attempt? ---- */

struct remains_search {
    struct proc_search s;
    struct stat tree;
    bool has_tree;
    const struct attempt_shim *shim;
    uint64_t place; /* proc_place() of this process */
    char marker[ATTEMPT_KEY_SIZE + sizeof(ATTEMPT_KEY_NAME) + 1];
    int found;
};

static bool carries_key(struct remains_search *r, int proc)
{
    const struct buf *text = &r->s.text;
    size_t len = strlen(r->marker) + 1; /* including the NUL that ends the variable */

    if (!*r->shim->key || !proc_search_read(&r->s, proc, "environ", ENVIRON_MAX))
        return false;
    for (size_t i = 0; i + len <= text->len;) {
        const char *var = text->ptr + i;

        if (memcmp(var, r->marker, len) == 0)
            return true;
        i += strnlen(var, text->len - i) + 1;
    }
    return false;
}

/* Whether the process belongs to the task's session. A session id is not reused while a member
 * lives. If the leader lives, it must be the recorded one. In another pid namespace or after a
 * restart of the host, the number means another session. */
static bool is_of_session(const struct remains_search *r, const struct proc_stat *line)
{
    int64_t leader;

    if (!r->shim->session || line->session != r->shim->session || !r->shim->place ||
        r->shim->place != r->place)
        return false;
    leader = proc_start_time((pid_t)r->shim->session);
    return leader < 0 || leader == r->shim->session_start;
}

static bool is_of_attempt(struct remains_search *r, int proc)
{
    struct proc_stat line;

    if (!proc_search_read(&r->s, proc, "stat", 4096) || !proc_parse_stat(r->s.text.ptr, &line) ||
        line.state == 'Z' || line.state == 'X')
        return false;
    return is_of_session(r, &line) || carries_key(r, proc) ||
           (r->has_tree && proc_search_has_open(&r->s, proc, &r->tree, true));
}

/* ---- the search ---- */

static bool kill_if_of_attempt(struct proc_search *s, int proc, pid_t pid)
{
    struct remains_search *r = (struct remains_search *)s;
    AUTO_FD pidfd = -1;

    if (!is_of_attempt(r, proc))
        return false;
    pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        proc_search_note_error(s);
    } else if (is_of_attempt(r, proc)) {
        r->found++;
        pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    }
    return false;
}

static int kill_found(struct remains_search *r)
{
    const struct attempt_shim *shim = r->shim;

    r->place = proc_place();
    if (*shim->cgroup)
        cgroup_kill(shim->cgroup);
    snprintf(r->marker, sizeof(r->marker), "%s=%s", ATTEMPT_KEY_NAME, shim->key);
    (void)proc_search(&r->s, kill_if_of_attempt);
    r->found += r->s.error != 0;
    if (!r->found && *shim->cgroup)
        cgroup_remove(shim->cgroup);
    buf_release(&r->s.text);
    return r->found;
}

int attempt_kill_remains(int at, const struct attempt_shim *shim)
{
    struct remains_search r = {.shim = shim};

    r.has_tree = fstatat(at, ATTEMPT_TREE, &r.tree, AT_SYMLINK_NOFOLLOW) == 0;
    return kill_found(&r);
}

int attempt_kill_remains_of(int tree, const struct attempt_shim *shim)
{
    struct remains_search r = {.shim = shim};

    r.has_tree = fstat(tree, &r.tree) == 0;
    return kill_found(&r);
}
