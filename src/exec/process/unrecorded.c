/* unrecorded.c - attempts without a shim record and without an exit record: makes sure that none
 * starts any more, and decides which of them are proved to have never started.
 *
 * A missing record does not prove it: the task, or another program, may have removed it. Proofs:
 *
 *     no start mark in the file of the worker, which is dead    it never requested a shim
 *     the start token in `lock`, which we hold                  no shim has started anything
 *
 * The worker writes the token first, then the mark, then the request, so a worker that dies at any
 * point leaves one of the two proofs until a shim starts the command. */
#include "exec/process/process_internal.h"

#include <signal.h>
#include <sys/pidfd.h>

/* Whether a tombstone is needed to prevent a start. It is not if this worker's own shim has ended
 * and no other was requested: then nothing can start any more, and a full disk that can't hold a
 * tombstone does no harm. */
bool watch_needs_tombstone(const struct watch *w)
{
    return w->is_adopted || !w->shim_ended;
}

bool watch_forbid_start(const struct watch *w)
{
    return attempt_has_tombstone(w->at) || attempt_write_tombstone(w->at) == 0 ||
           !watch_needs_tombstone(w);
}

bool watch_is_proved_unstarted(const struct watch *w)
{
    return w->unmarked || attempt_has_start_token(w->lock, w->execution, w->attempt);
}

/* Says why an attempt of this worker has not started. The start is forbidden, so a shim that lives
 * has nothing left to do. */
static const char *why_not_started(const struct process *p, const struct watch *w)
{
    if (p->closed)
        return p->stopped ? "its worker was stopped before the attempt started"
                          : "its worker was asked to drain before the attempt started";
    if (w->pidfd < 0)
        return process_has_room(w->at) ? "its shim ended before it started anything" : DISK_FULL;
    (void)pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0);
    return "its shim did not respond and had started nothing";
}

static const char *why_lost(const struct watch *w)
{
    if (w->given_up)
        return "another worker gave it up before it started";
    if (w->no_folder)
        return "its worker is gone, and this host has no folder of the attempt, so its exit status "
               "is unknown";
    return "none of its processes is left, and its folder does not show whether the command started";
}

void watch_report_unrecorded(struct process *p, struct watch *w)
{
    if (!w->unstarted)
        process_report_end(p, w, OUTCOME_LOST, why_lost(w));
    else if (w->is_adopted || w->given_up)
        process_report_unstarted(p, w, "its worker ended before the command started");
    else if (p->closed || !process_has_room(w->at)) /* the job is not the cause */
        process_report_end(p, w, OUTCOME_REFUSED, why_not_started(p, w));
    else /* counts as an attempt: a job that prevents its own start must not be started forever */
        process_report_unstarted(p, w, why_not_started(p, w));
}
