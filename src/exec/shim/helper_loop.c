/* helper_loop.c - the helper: forks a shim for each request. It stays small, because the cost of a
 * fork depends on the size of the process, and it does not read the requests. */
#include "base/fd.h"
#include "exec/shim/shim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void wake_up(int sig)
{
    (void)sig;
}

/* Reaps children. SIGCHLD is unblocked only during ppoll, so a child is not reaped before its pidfd
 * is open. */
static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void start_shim(int sock, const struct request_packet *p, const int fds[2],
                       const char *cgroup)
{
    struct answer_packet a = {.execution = p->execution, .attempt = p->attempt};
    pid_t pid = fork();
    int pidfd = -1;

    if (pid == 0) {
        close(sock);
        _exit(shim_run(fds[0], fds[1], cgroup));
    }
    if (pid < 0) {
        a.error = errno;
    } else {
        a.pid = pid;
        pidfd = pidfd_open(pid, 0);
    }
    /* If the answer can't be sent, the worker has ended: the next receive returns 0, and ends the
     * loop. reap() does no harm; it only uses the result. */
    if (packet_send(sock, &a, sizeof(a), &pidfd, pidfd >= 0))
        reap();
    test_point("answered");
    fd_close(&pidfd);
}

int helper_run(int sock)
{
    struct sigaction wake = {.sa_handler = wake_up};
    struct pollfd p = {.fd = sock, .events = POLLIN};
    char cgroup[CGROUP_PATH_SIZE];
    sigset_t blocked, waiting;

    sigfillset(&blocked);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    sigaction(SIGCHLD, &wake, NULL);
    sigfillset(&waiting);
    sigdelset(&waiting, SIGCHLD);
    sigdelset(&waiting, SIGTERM);
    cgroup_find(cgroup);
    cgroup_remove_old(cgroup);
    for (;;) {
        struct request_packet packet;
        int fds[2], rc;

        reap();
        if (ppoll(&p, 1, NULL, &waiting) < 0) {
            if (errno == EINTR)
                continue;
            return 1;
        }
        rc = packet_receive(sock, &packet, sizeof(packet), fds, 2);
        if (rc <= 0)
            return rc ? 1 : 0;
        start_shim(sock, &packet, fds, cgroup);
        fd_close(&fds[0]);
        fd_close(&fds[1]);
    }
}
