/* helper.c - the worker's side of the helper, a pawl-shim process that forks the shims. It is
 * started with posix_spawn, whose cost does not depend on the size of the worker, and started again
 * after it died. shim/helper_loop.c is the other side. */
#include "exec/process/process_internal.h"
#include "exec/process/request.h"
#include "exec/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_FD    3
#define STOP_TIME    1000000 /* µs to wait for the helper to end by itself */
#define KILL_TIME    1000000 /* µs to wait for the helper to end after SIGKILL */
#define SEND_TIME_MS 1000    /* enough for the helper to fork a few thousand shims */

static int spawn_helper(struct process *p, int socket)
{
    char *argv[] = {(char[]){"pawl-shim"}, (char[]){"--helper"}, (char[]){"3"}, NULL};
    posix_spawn_file_actions_t files;
    int rc;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, socket, HELPER_FD);
    rc = spawn_detached(p->shim_path, argv, NULL, &files, &p->helper);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

int process_helper_start(struct process *p, struct err *err)
{
    int pair[2], rc;

    if (p->socket >= 0)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err_set(err, E_REFUSED,
                       "can't create a socket for pawl-shim, which starts commands: %s",
                       strerror(errno));
    rc = spawn_helper(p, pair[1]);
    close(pair[1]);
    if (rc) {
        close(pair[0]);
        return err_set(err, E_REFUSED, "%s can't be started: %s", p->shim_path, strerror(rc));
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    p->socket = pair[0];
    if (wakeup_add(&p->wakeup, p->socket, &p->socket)) {
        process_helper_stop(p);
        return err_set(err, E_REFUSED,
                       "the socket of pawl-shim, which starts commands, can't be polled: %s",
                       strerror(errno));
    }
    return 0;
}

static bool ends_within(pid_t helper, int64_t us)
{
    int64_t deadline = clock_boot_us() + us;
    pid_t done;

    while ((done = waitpid(helper, NULL, WNOHANG)) == 0 || (done < 0 && errno == EINTR)) {
        if (clock_boot_us() > deadline)
            return false;
        clock_sleep_us(100);
    }
    return true;
}

/* Ends the helper. A helper that is blocked in the kernel, e.g. by a disk that does not respond,
 * does not even die of SIGKILL: the worker does not wait for it, because it can't start anything
 * any more. */
static void end_helper(struct process *p)
{
    if (ends_within(p->helper, STOP_TIME))
        return;
    kill(p->helper, SIGKILL);
    if (!ends_within(p->helper, KILL_TIME))
        env_note(p->x.env,
                 "pawl-shim (process %d), which starts commands, was killed but does "
                 "not exit, and is left alone: check whether it waits for a disk that "
                 "does not respond",
                 (int)p->helper);
}

/* Stops the helper: it finishes the requests that it has received and ends when its socket is
 * closed. */
void process_helper_stop(struct process *p)
{
    if (p->socket >= 0) /* closing is not enough: a child of the embedder may have inherited the
                           socket */
        wakeup_remove(&p->wakeup, p->socket);
    fd_close(&p->socket);
    if (p->helper)
        end_helper(p);
    p->helper = 0;
}

static struct watch *find_requested(struct process *p, int64_t execution, int64_t attempt)
{
    struct watch *w = p->watches;

    while (w && (w->execution != execution || w->attempt != attempt || w->state != WATCH_REQUESTED))
        w = w->next;
    return w;
}

/* Checks all attempts for which the helper has not answered. */
static void helper_died(struct process *p)
{
    int64_t now = clock_boot_us();

    process_helper_stop(p);
    for (struct watch *w = p->watches; w; w = w->next)
        if (w->state == WATCH_REQUESTED) {
            w->state = WATCH_CHECKING;
            w->check_at = now;
        }
}

/* Ends a helper that is stopped or stuck, because it has not answered for the length of a lease.
 * The attempts that it was asked to start are checked. */
void process_helper_replace(struct process *p)
{
    env_note(p->x.env, "pawl-shim, which starts commands, did not answer and will be replaced");
    if (p->helper)
        kill(p->helper, SIGKILL);
    helper_died(p);
}

void process_helper_receive(struct process *p)
{
    struct answer_packet a;
    int pidfd, rc;

    while ((rc = packet_receive(p->socket, &a, sizeof(a), &pidfd, 1)) > 0) {
        struct watch *w = find_requested(p, a.execution, a.attempt);
        char why[200];

        env_point(p->x.env, "process:answered");
        if (w)
            w->shim_pid = (pid_t)a.pid;
        if (!w) {
            if (pidfd >= 0)
                close(pidfd);
        } else if (a.error && w->resumes) { /* the attempt's container may still run: check again */
            watch_helper_answered(p, w, -1);
        } else if (a.error) {
            snprintf(why, sizeof(why), "no process could be started: %s", strerror((int)a.error));
            process_report_end(p, w, OUTCOME_REFUSED, why);
        } else {
            watch_helper_answered(p, w, pidfd);
        }
    }
    if (rc == 0 || (errno != EAGAIN && errno != EINTR))
        helper_died(p);
}

/* The request, which contains secrets, is passed in memory that only this worker and the shim can
 * access. */
int process_helper_send(struct process *p, const struct watch *w, const struct buf *request,
                        struct err *err)
{
    struct request_packet packet = {.execution = w->execution, .attempt = w->attempt};
    struct pollfd writable = {.fd = p->socket, .events = POLLOUT};
    int fds[2] = {w->at, memfd_make("request", request->ptr, request->len)}, rc;

    if (fds[1] < 0)
        return err_set(err, E_REFUSED, "can't create the request to start a command: %s",
                       strerror(errno));
    rc = packet_send(p->socket, &packet, sizeof(packet), fds, 2);
    if (rc && errno == EAGAIN && poll(&writable, 1, SEND_TIME_MS) > 0)
        rc = packet_send(p->socket, &packet, sizeof(packet), fds, 2);
    close(fds[1]);
    return rc ? err_set(err, E_REFUSED,
                        "the request to start a command can't be sent to pawl-shim: %s",
                        strerror(errno))
              : 0;
}
