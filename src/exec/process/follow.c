/* follow.c - follows an attempt while its shim lives: reports its start, sends the shim its
 * commands, and kills a shim that is overdue. reattach.c finds out how an attempt ended. */
#include "exec/process/process_internal.h"

#define WAIT_MIN   1000    /* µs before the second check; each further pause is twice as long */
#define WAIT_MAX   1000000 /* µs, the longest pause */
#define START_WAIT 8000    /* µs; the record of the start is read after twice this time */

void watch_check_later(struct process *p, struct watch *w)
{
    w->wait = w->wait ? w->wait * 2 : WAIT_MIN;
    if (w->wait > WAIT_MAX)
        w->wait = WAIT_MAX;
    w->check_at = clock_boot_us() + w->wait;
    wakeup_at(&p->wakeup, w->check_at);
}

/* Sets when the shim is killed. A shim normally ends the task by itself, but not if it is stopped
 * or hangs. The time counts from now at the earliest: the machine may have been suspended, and the
 * shim with it. */
static void set_kill_time(const struct process *p, struct watch *w, int64_t when,
                          enum outcome_kind as)
{
    int64_t now = clock_boot_us();

    when = (when > now ? when : now) + w->grace + p->lease;
    if (w->kill_at && w->kill_at <= when)
        return;
    w->kill_at = when;
    w->kill_outcome = as;
}

void watch_note(const struct process *p, struct watch *w, const char *what)
{
    if (!w->noted)
        env_note(p->x.env,
                 "attempt %d of execution %lld has ended, but %s; the worker keeps trying until "
                 "that succeeds or the execution is cancelled",
                 w->attempt, (long long)w->execution, what);
    w->noted = true;
}

void watch_kill_overdue(struct process *p, struct watch *w, bool away)
{
    struct attempt_shim s;
    bool unrecorded;

    /* A task that ended in time keeps its outcome, however late it is recorded. Such a shim is
     * killed only after a cancel, by which the user gives up the outcome. */
    w->kill_at = clock_boot_us() + p->lease; /* when to try next, if the shim is not killed now */
    if (!w->cancelled && attempt_is_end_known(w->at)) {
        watch_note(p, w, UNWRITTEN);
        return;
    }
    if (w->cancelled && w->noted)
        w->kill_outcome = OUTCOME_CANCELLED;
    unrecorded = !record_read(w->at, &RECORD_SHIM, &s) && !attempt_is_locked(w->at, ATTEMPT_LOCK);
    if (away) {
        w->kill_at += w->grace;
    } else if (attempt_kill_shim(w->at, w->epoch) == 0) {
        w->killed = true;
        w->unrecorded |= unrecorded;
    } else {
        watch_refuse_unstarted(p, w); /* the attempt may not have started yet */
    }
}

void watch_check_start(struct process *p, struct watch *w)
{
    struct attempt_shim s;

    if (w->begun)
        return;
    if (record_read(w->at, &RECORD_SHIM, &s) == 1)
        w->begun = s.begun;
    else
        watch_check_later(p, w);
    process_report_started(p, w);
}

void watch_follow_shim(struct process *p, struct watch *w, int pidfd, int64_t begun)
{
    w->state = WATCH_RUNNING;
    w->pidfd = pidfd;
    w->check_at = w->wait = 0;
    w->begun = begun;
    if (!begun) {
        w->wait = START_WAIT;
        watch_check_later(p, w);
    }
    if (wakeup_add(&p->wakeup, pidfd, w)) { /* no events for this pidfd: check periodically */
        w->state = WATCH_CHECKING;
        fd_close(&w->pidfd);
        watch_check_later(p, w);
    }
    process_report_started(p, w);
    if (w->timeout && !w->container_ended)
        set_kill_time(p, w, (begun ? begun : clock_boot_us()) + w->timeout, OUTCOME_TIMED_OUT);
    watch_send_command(p, w);
    wakeup_at(&p->wakeup, p->log_check_at);
}

void watch_helper_answered(struct process *p, struct watch *w, int pidfd)
{
    if (pidfd >= 0) {
        watch_follow_shim(p, w, pidfd, w->dead.pid ? w->begun : 0);
    } else {
        w->state = WATCH_CHECKING;
        watch_check_later(p, w);
    }
}

void watch_send_command(struct process *p, struct watch *w)
{
    struct attempt_control c = {.epoch = w->epoch, .command = (int64_t)w->command};

    if (!w->command || w->state != WATCH_RUNNING ||
        (w->container_ended && w->command == COMMAND_TIME_OUT))
        return;
    if (attempt_epoch(w->at) > w->epoch) { /* another worker adopted the attempt: send nothing */
        w->command = 0;
        return;
    }
    set_kill_time(p, w, clock_boot_us(),
                  w->command == COMMAND_TIME_OUT ? OUTCOME_TIMED_OUT : OUTCOME_CANCELLED);
    if (w->container_ended) /* nothing runs, and the outcome is about to be recorded */
        return;
    if (attempt_send_command(w->at, &c) == 0) {
        w->command = 0;
        w->check_at = w->wait = 0;
        watch_check_start(p, w);
    } else {
        watch_check_later(p, w); /* the shim does not listen yet, or is about to end */
    }
}
