/* watch.c - the event loop of a shim while its task runs. The timer is set to the next deadline. */
#include "base/env.h"
#include "base/fd.h"
#include "exec/shim/shim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536

static void reap(struct shim *s)
{
    int status;
    pid_t pid;

    while (!s->ended && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->task.pid) {
            s->ended = true;
            s->status = status;
            s->task.pid = 0;
        }
    }
}

void log_masked(struct shim *s, const char *text, size_t len)
{
    if (!s->mask.n) {
        append_output(s, text, len);
        return;
    }
    buf_reset(&s->masked);
    if (len)
        mask_feed(&s->mask, text, len, &s->masked);
    else
        mask_end(&s->mask, &s->masked);
    append_output(s, buf_cstr(&s->masked), s->masked.len);
}

bool read_task_output(struct shim *s)
{
    static char piece[PIECE];
    ssize_t n = s->task.output < 0 ? 0 : read(s->task.output, piece, sizeof(piece));

    if (n > 0) {
        log_masked(s, piece, (size_t)n);
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    fd_close(&s->task.output);
    return false;
}

static void read_lease(struct shim *s)
{
    struct attempt_lease l;

    if (record_read(s->folder, &RECORD_LEASE, &l) != 1 || l.epoch < s->epoch)
        return;
    s->epoch = l.epoch;
    s->until = l.until;
}

/* Asks the task to end. A client that started its container passes the signal on; one that watches
 * it for a dead shim does not. */
static void terminate_task(const struct shim *s)
{
    if (s->resumed)
        terminate_container(s);
    else
        signal_tree(s->task.pid, SIGTERM);
}

/* Ends the task. If the task has already ended by itself, its outcome is kept. Of several reasons,
 * the first counts. */
static void end_task(struct shim *s, int64_t kind, bool at_once)
{
    int64_t kill_at = clock_boot_us() + (at_once ? 0 : s->grace);

    reap(s);
    if (s->ended)
        return;
    if (!s->kind && !at_once)
        terminate_task(s);
    if (!s->kind)
        s->kind = kind;
    if (!s->kill_at || kill_at < s->kill_at)
        s->kill_at = kill_at;
}

static void handle_command(struct shim *s, const struct attempt_control *c)
{
    read_lease(s);
    if (c->epoch < s->epoch)
        return;
    s->epoch = c->epoch;
    if (s->has_ended)
        return;
    if (c->command == COMMAND_CANCEL)
        end_task(s, END_CANCELLED, false);
    else if (c->command == COMMAND_TIME_OUT)
        end_task(s, END_TIMED_OUT, false);
    else if (c->command == COMMAND_KILL)
        end_task(s, END_CANCELLED, true);
}

static void read_commands(struct shim *s)
{
    char bytes[RECORD_MAX];
    struct attempt_control c;
    size_t size = record_encode(&RECORD_CONTROL, &(struct attempt_control){0}, bytes);
    ssize_t n;

    while ((n = read(s->control, bytes, size)) > 0)
        if (record_decode(&RECORD_CONTROL, bytes, (size_t)n, &c))
            handle_command(s, &c);
}

/* Sets the timer to the next deadline: kill, timeout or fence. */
static void set_timer(struct shim *s)
{
    struct itimerspec t = {0};
    int64_t next = s->kill_at;

    if (s->timeout_at && !s->kind && (!next || s->timeout_at < next))
        next = s->timeout_at;
    if (s->fence >= 0 && (!next || s->until + s->fence < next))
        next = s->until + s->fence;
    if (next == s->timer_set)
        return;
    if (s->timer < 0)
        s->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    s->timer_set = next;
    if (next) {
        t.it_value.tv_sec = next / 1000000;
        t.it_value.tv_nsec = next % 1000000 * 1000 + 1;
    }
    timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

/* True if the task must be killed now. */
static bool is_time_up(struct shim *s)
{
    int64_t now = clock_boot_us();

    if (s->fence >= 0 && now >= s->until + s->fence) {
        read_lease(s); /* usually the lease was renewed long ago */
        if (now >= s->until + s->fence)
            end_task(s, END_FENCED, true);
    }
    if (s->timeout_at && now >= s->timeout_at && !s->kind)
        end_task(s, END_TIMED_OUT, false);
    return s->kill_at && clock_boot_us() >= s->kill_at;
}

void watch_task(struct shim *s)
{
    bool kill = false;

    while (!s->ended && !kill) {
        enum { SIGNALS, CONTROL, OUTPUT, TIMER, COUNT };
        struct pollfd p[COUNT] = {[SIGNALS] = {.fd = s->signals, .events = POLLIN},
                                  [CONTROL] = {.fd = s->control, .events = POLLIN},
                                  [OUTPUT] = {.fd = s->task.output, .events = POLLIN}};
        struct signalfd_siginfo info;

        set_timer(s);
        p[TIMER] = (struct pollfd){.fd = s->timer, .events = POLLIN};
        if (poll(p, COUNT, -1) < 0)
            continue;
        if (p[SIGNALS].revents && read(s->signals, &info, sizeof(info)) > 0)
            reap(s);
        if (p[OUTPUT].revents)
            read_task_output(s);
        if (p[CONTROL].revents)
            read_commands(s);
        if (p[TIMER].revents)
            s->timer_set = -1;
        kill = is_time_up(s);
    }
}
