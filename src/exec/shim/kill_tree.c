/* kill_tree.c - ends all processes that a task started. The shim is the subreaper of its
 * descendants: a process that loses its parent becomes a child of the shim, even if it has changed
 * its session. So killing all children until none is left ends them all. */
#include "exec/shim/shim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals all children of this process and returns their number. Only this process can reap them,
 * so their pids can't be reused. Those in `except_group` have received the signal already. */
static int signal_children(int sig, pid_t except_group)
{
    char path[64];
    int pid, n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "re");
    if (!f)
        return 0;
    while (fscanf(f, "%d", &pid) == 1)
        if ((except_group && getpgid(pid) == except_group) || kill(pid, sig) == 0)
            n++;
    fclose(f);
    return n;
}

void signal_tree(pid_t main_pid, int sig)
{
    /* Fails until the main process has called setsid; then the children are signalled one by
     * one. */
    bool group = kill(-main_pid, sig) == 0;

    if (group)
        kill(-main_pid, SIGCONT);
    signal_children(sig, group ? main_pid : 0);
}

void kill_tree(pid_t *main_pid, int *status, const char *cgroup)
{
    for (;;) {
        int st, flags = 0;
        pid_t pid;

        /* Usually nothing is left, and this is the only system call. */
        pid = waitpid(-1, &st, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return;
        if (pid == 0) {
            if (*cgroup)
                cgroup_kill(cgroup);
            if (*main_pid)
                kill(-*main_pid, SIGKILL);
            /* Don't wait for processes that this process may not signal (setuid programs), unless a
             * cgroup kills them. */
            if (signal_children(SIGKILL, 0) == 0 && !*cgroup)
                flags = WNOHANG;
            pid = waitpid(-1, &st, flags);
            if (pid == 0)
                return;
        }
        if (pid == *main_pid) {
            *main_pid = 0;
            *status = st;
        }
    }
}
