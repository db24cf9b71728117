/* reattach.c - finds out whether an attempt runs or how it ended: one that this worker adopted from
 * another, or one of its own whose shim ended or never answered. attempt.h describes the files.
 *
 * Adoption, step by step: the store raises the epoch (store/ops/adopt.c); the dispatcher calls the
 * executor's `reattach`, process_reattach() below, which writes the new epoch to the attempt
 * folder; the next poll calls watch_check() below. It gives the attempt up if the folder has a
 * higher epoch than ours. Otherwise it tries to take `lock`, and the result depends on the records:
 *
 *     lock                records            result
 *     held                any                the shim lives: wait for it by its pidfd
 *     free                exit               ended as recorded; report outputs and log
 *     free                shim, no exit,     the shim died: if its container runs or has ended,
 *                         container          another shim continues (resume.c); else as below
 *     free                shim, no exit      the shim died: end the remains, wait until `tree` is
 *                                            free and the container is gone; then report
 *                                            `ending` if that record exists, else lost (timed
 *                                            out or cancelled if this worker killed the shim)
 *     free                neither, but       the task removed them: as above
 *                         `tree` is held,
 *                         or we saw it run
 *     free                neither            not started by a shim that can be found (tampered.c);
 *                                            the tombstone written now makes sure that it never
 *                                            will be, and is not needed once our own shim has
 *                                            ended. Refused if it is proved that the command never
 *                                            started (unrecorded.c); else lost, as the records may
 *                                            have been removed
 *     removed or replaced by the task        see the table in tampered.c
 *     the folder was removed                 lost once no shim and no process of it is found
 *
 * An attempt is never started a second time, and never reported as ended while a process or a
 * container of it may still run. */
#include "exec/process/process_internal.h"

#include "base/own_file.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* Reads the stored command that removes the container. Returns 1 if it was read or is not needed; 0
 * if it is missing or damaged: the caller then derives it from the container's name; or -1 and
 * errno if a later try may succeed: the caller must wait for that, because a derived command lacks
 * the client's environment, without which the container can't be resumed. */
static int load_undo(const struct process *p, int at, struct undo *out)
{
    if (!p->in_containers || undo_load(out, at))
        return 1;
    return error_may_pass(errno) ? -1 : 0;
}

int process_reattach(struct executor *x, const struct job *j, void **handle, struct err *err)
{
    struct process *p = (struct process *)x;
    struct attempt_lease lease = {.epoch = j->epoch, .until = j->lease_until};
    struct watch *w;
    char fault[ATTEMPT_FAULT_SIZE] = "";
    int64_t no_folder;
    struct undo undo = {0};
    int rc = *handle ? 0 : process_check_descriptors(p, err), at, known;

    if (rc) /* the lease runs out, and this or another worker tries again */
        return rc;
    at = process_open_folder(p, j, fault, &no_folder);
    known = at < 0 ? -1 : load_undo(p, at, &undo);
    if (known < 0) {
        (void)err_set(err, E_REFUSED,
                      "the folder of attempt %d of execution %lld can't be read: %s", j->attempt,
                      (long long)j->execution, strerror(errno));
        undo_release(&undo);
        fd_close(&at);
        return -E_REFUSED;
    }
    /* From here on the shim obeys no lower epoch. */
    rc = attempt_renew(at, &lease, err);
    if (rc && rc != -E_INVALID) { /* the attempt may be running: report nothing about it */
        undo_release(&undo);
        close(at);
        if (rc == -E_UNAVAILABLE)
            err->code = E_REFUSED;
        return -(int)err->code;
    }
    if (*handle) /* the handle of an earlier epoch */
        watch_drop(p, *handle, true);
    *handle = w = watch_new(p, j, at);
    w->no_folder = no_folder;
    snprintf(w->fault, sizeof(w->fault), "%s", fault);
    if (rc)
        watch_note_file(w, RECORD_LEASE.name, EPERM);
    else
        (void)watch_note_fault(w);
    w->undo = undo;
    if (!known)
        process_set_undo_by_name(p, w);
    w->is_adopted = true;
    w->unmarked = j->unstarted;
    w->state = WATCH_CHECKING;
    w->check_at = clock_boot_us();
    wakeup_at(&p->wakeup, w->check_at);
    return 0;
}

static void note_container(struct process *p, const struct watch *w, const char *what)
{
    env_note(p->x.env, "the container of attempt %d of execution %lld %s: %s", w->attempt,
             (long long)w->execution, what,
             *w->undo.message ? w->undo.message
                              : "the container engine (podman or docker) does not respond");
}

/* Removes the container, if there is one; true when it is gone. Notes every failed try. */
static bool remove_container(struct process *p, struct watch *w)
{
    int64_t next = w->undo.next;
    bool before = w->undo.done, done = undo_poll(&w->undo);

    if (!done && w->undo.next != next)
        note_container(p, w, "is not removed yet");
    else if (!before && w->undo.unremovable)
        note_container(p, w, "has ended, but could not be removed");
    return done;
}

/* Whether the attempt must wait for a record that can't be read for now; `read` is the result of
 * record_read. The record may report a success, so only a cancelled attempt is ended without it. If
 * descriptors or memory are short, a cancelled attempt waits, too: not even its processes can be
 * found. */
static bool is_hidden(struct process *p, struct watch *w, int read)
{
    char what[200];

    if (read >= 0 || !error_may_pass(errno) || (w->cancelled && !proc_is_shortage(errno)))
        return false;
    snprintf(what, sizeof(what), "its records can't be read: %s", strerror(errno));
    watch_note(p, w, what);
    return true;
}

/* Whether a process of the attempt holds `tree`: 1, 0, or -1 and errno. */
static int has_tree(const struct watch *w)
{
    AUTO_FD tree = own_file_open(w->at, ATTEMPT_TREE, O_RDONLY, ATTEMPT_LOCK_MAX);

    if (tree < 0)
        return errno == ENOENT ? 0 : -1;
    return attempt_file_is_locked(tree);
}

/* Like has_tree, but without errors: if the result can't be determined for now, true, unless the
 * attempt was cancelled and the disk fails. */
static bool may_have_tree(const struct watch *w)
{
    int held = has_tree(w);

    return held < 0 ? error_may_pass(errno) && (!w->cancelled || proc_is_shortage(errno)) : held;
}

/* Ends what a shim left behind that died without an exit record. The attempt is reported only when
 * nothing of it runs, so that it never runs at the same time as a retry. */
static void end_remains(struct process *p, struct watch *w)
{
    bool alive = attempt_kill_remains(w->at, &w->shim) || may_have_tree(w);
    bool removed = remove_container(p, w);
    struct attempt_exit end;
    int ended;

    w->unstarted &= !alive && !w->undo.found;
    if (!removed || alive) {
        watch_check_later(p, w);
        return;
    }
    ended = record_read(w->at, &RECORD_ENDING, &end);
    if (is_hidden(p, w, ended)) {
        watch_check_later(p, w);
    } else if (ended == 1) {
        if (end.kind == END_CLIENT && w->undo.found == FOUND_ENDED && !end.signal &&
            end.code == w->undo.code)
            end.kind = END_EXITED; /* now the container engine confirms the exit code */
        if (!process_report_exit(p, w, &end))
            watch_check_later(p, w);
    } else if (!w->shim.pid && p->in_containers)
        watch_report_unrecorded(p, w);
    else if (w->killed)
        process_report_end(p, w, w->kill_outcome,
                           w->kill_outcome == OUTCOME_TIMED_OUT
                               ? "killed after its timeout: its shim did not answer"
                               : "cancelled and killed: its shim did not answer");
    else if (watch_note_fault(w))
        process_report_fault(p, w);
    else
        process_report_end(p, w, OUTCOME_LOST, "its shim died, so its exit status is unknown");
}

/* Releases the lock, which each check takes again. */
static void unlock_and_check_later(struct process *p, struct watch *w)
{
    fd_close(&w->lock);
    watch_check_later(p, w);
}

/* Checks an attempt whose lock is free: no shim runs, and none can start. See the rows with a free
 * lock of the table at the top of this file. */
static void check_unlocked(struct process *p, struct watch *w)
{
    struct attempt_exit end;
    int ended = record_read(w->at, &RECORD_EXIT, &end), begun, tree, resume;

    if (is_hidden(p, w, ended)) {
        unlock_and_check_later(p, w);
        return;
    }
    begun = record_read(w->at, &RECORD_SHIM, &w->shim);
    if (ended == 1) {
        w->begun = end.begun;
        if (!process_report_exit(p, w, &end))
            unlock_and_check_later(p, w);
        return;
    }
    if (is_hidden(p, w, begun)) {
        unlock_and_check_later(p, w);
        return;
    }
    tree = begun ? 0 : has_tree(w);
    if (is_hidden(p, w, tree)) {
        unlock_and_check_later(p, w);
        return;
    }
    /* A changed folder and a locked `tree` mean that something ran; w->begun means that this worker
     * saw it run. */
    if (!begun && (ended < 0 || w->unrecorded || w->begun || tree || watch_note_fault(w)))
        begun = -1;
    if (begun) {
        if (begun < 0) /* without the record, processes are found by the lock on `tree` */
            memset(&w->shim, 0, sizeof(w->shim));
        resume = begun == 1 ? watch_may_resume(p, w) : 0;
        if (is_hidden(p, w, resume)) {
            unlock_and_check_later(p, w);
            return;
        }
        if (begun == 1)
            w->begun = w->shim.begun;
        w->wait = 0;
        if (resume == 1) {
            watch_begin_asking(p, w);
        } else {
            w->state = WATCH_LOST;
            end_remains(p, w);
        }
        return;
    }
    w->given_up = attempt_has_tombstone(w->at);
    if (!watch_forbid_start(w)) {
        unlock_and_check_later(p, w);
        return;
    }
    w->unstarted = watch_is_proved_unstarted(w);
    if (p->in_containers && (w->is_adopted || !w->unstarted)) { /* the attempt's container may
                                                                   exist */
        w->state = WATCH_LOST;
        end_remains(p, w);
    } else {
        watch_report_unrecorded(p, w);
    }
}

/* Checks an attempt whose lock is held by its shim or, briefly, by another worker that checks
 * it. */
static void check_locked(struct process *p, struct watch *w)
{
    struct attempt_shim s = {0};
    int known = record_read(w->at, &RECORD_SHIM, &s);
    int pidfd = known == 1  ? attempt_shim_pidfd(&s)
                : known < 0 ? attempt_find_shim(w->at, NULL)
                            : -1;
    bool ended = pidfd < 0 && errno == ESRCH;

    /* The lock is still held, so the pidfd is the shim's and not that of a reused pid. */
    if (pidfd >= 0 && attempt_is_locked(w->at, ATTEMPT_LOCK)) {
        watch_follow_shim(p, w, pidfd, known == 1 ? s.begun : clock_boot_us());
    } else if (known == 1 && ended && watch_note_shared_lock(w)) {
        check_unlocked(p, w); /* the shim has ended, and the lock is another attempt's */
    } else {
        fd_close(&pidfd);
        watch_check_later(p, w);
    }
}

/* Reports an attempt whose folder was removed and of which nothing runs on this host. A removed
 * folder can't hold a tombstone. */
static void report_removed(struct process *p, struct watch *w)
{
    if (!remove_container(p, w))
        unlock_and_check_later(p, w);
    else
        process_report_end(p, w, OUTCOME_LOST,
                           "its folder was removed, so its exit status is unknown");
}

/* Checks an attempt whose lock this worker holds, or which can't be locked (w->lock is -1) because
 * the lock file was replaced or the folder removed. A shim may still live: a replaced lock file is
 * not the one that the shim holds. */
static void check_for_shim_without_lock(struct process *p, struct watch *w)
{
    int64_t begun;
    int pidfd = watch_shim_without_lock(w, &begun);

    if (pidfd >= 0) {
        fd_close(&w->lock);
        watch_follow_shim(p, w, pidfd, begun);
    } else if (errno != ESRCH) { /* a shim may live */
        (void)is_hidden(p, w, -1);
        unlock_and_check_later(p, w);
    } else if (watch_kill_unrecorded(p, w)) {
        unlock_and_check_later(p, w);
    } else if (attempt_is_folder_removed(w->at)) {
        report_removed(p, w);
    } else {
        check_unlocked(p, w);
    }
}

void watch_check(struct process *p, struct watch *w)
{
    int error;

    if (attempt_epoch(w->at) > w->epoch) {
        watch_drop(p, w, false); /* the lease is lost: another worker decides */
        return;
    }
    if (w->state == WATCH_LOST) {
        end_remains(p, w);
        return;
    }
    if (w->state == WATCH_ASKING) {
        watch_ask(p, w);
        return;
    }
    w->lock = attempt_lock(w->at, ATTEMPT_LOCK, false);
    error = w->lock < 0 ? errno : 0;
    if (own_file_is_fault(error))
        watch_note_file(w, ATTEMPT_LOCK, error);
    if (!error || own_file_is_fault(error) ||
        (error == ENOENT && attempt_is_folder_removed(w->at)) ||
        (process_is_disk_full(error) &&
         !watch_needs_tombstone(w))) /* no lock file can be created on a full disk */
        check_for_shim_without_lock(p, w);
    else if (error == EAGAIN)
        check_locked(p, w);
    else
        watch_check_later(p, w);
}

/* Refuses an attempt whose shim has not started the command yet. If this worker only forgot the
 * attempt, the worker that adopts it might report it as lost, which uses up one of the job's
 * attempts. */
void watch_refuse_unstarted(struct process *p, struct watch *w)
{
    struct attempt_shim s;

    if (w->is_adopted || w->state == WATCH_DROPPED || w->lock >= 0 ||
        record_read(w->at, &RECORD_SHIM, &s) || attempt_epoch(w->at) > w->epoch)
        return;
    w->lock = attempt_lock(w->at, ATTEMPT_LOCK, false);
    if (w->lock < 0) /* the shim holds the lock: it is about to start the command */
        return;
    if (watch_was_started(p, w)) /* the task removed the record and the lock */
        unlock_and_check_later(p, w);
    else
        check_unlocked(p, w);
}
