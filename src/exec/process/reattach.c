/* reattach.c - what has become of an attempt: the table of adoption, for attempts of others as
 * for our own after their shim ended.
 *
 *     lock    record            then
 *     held                      its shim lives: note our epoch, wait for it
 *     free    exit              it ended so, with its outputs and log
 *     free    shim, no exit     lost: end what is left, wait until `tree` is free and the engine
 *                               says that its container is gone; with `ending` it is known how
 *                               it ended all the same
 *     free    neither           never begun, and by the tombstone never will be
 *     was replaced by the task  see tampered.c
 *     the folder was removed    lost, as for who looks for it by its name */
#include "exec/process/process_internal.h"

#include "base/mem.h"
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define WAIT_MIN 1000    /* µs between looks */
#define WAIT_MAX 1000000 /* … at most */

static void check_later(struct process *p, struct watch *w)
{
    w->wait = w->wait ? w->wait * 2 : WAIT_MIN;
    if (w->wait > WAIT_MAX)
        w->wait = WAIT_MAX;
    w->check_at = clock_boot_us() + w->wait;
    process_set_timer(p, w->check_at);
}

/* The shim ends it by itself. One that is stopped, or hangs, does not: for that there is a time
 * when nothing is expected of it any more. It is counted from now at the earliest: the machine may
 * have been asleep, and the shim with it. */
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
    char *note;

    if (w->noted || !p->x.env->note)
        return;
    w->noted = true;
    note = mem_printf("attempt %d of execution %lld has ended, but %s; it is tried until it "
                      "succeeds or the execution is cancelled",
                      w->attempt, (long long)w->execution, what);
    p->x.env->note(p->x.env->arg, note);
    free(note);
}

void watch_kill_overdue(struct process *p, struct watch *w, bool away)
{
    /* It ended in time, so its end counts, however late it is written down. Only a cancel, by which
     * the user gives that up, kills such a shim. */
    w->kill_at = clock_boot_us() + p->lease; /* if it can't be killed now, or need not be */
    if (!w->cancelled && attempt_is_end_known(w->at)) {
        watch_note(p, w, UNWRITTEN);
        return;
    }
    if (w->cancelled && w->noted)
        w->kill_outcome = OUTCOME_CANCELLED;
    if (away)
        w->kill_at += w->grace;
    else if (attempt_kill_shim(w->at, w->epoch) == 0)
        w->killed = true;
    else
        watch_refuse_unstarted(p, w); /* it may not even have begun */
}

/* From now on its pidfd tells of its end. */
static void follow_shim(struct process *p, struct watch *w, int pidfd, int64_t begun)
{
    w->state = WATCH_RUNNING;
    w->pidfd = pidfd;
    w->check_at = w->wait = 0;
    w->begun = begun;
    if (!process_poll_add(p, pidfd, w)) { /* no way to be told: look now and then */
        w->state = WATCH_CHECKING;
        close(pidfd);
        w->pidfd = -1;
        check_later(p, w);
    }
    process_report_started(p, w);
    if (w->timeout)
        set_kill_time(p, w, begun + w->timeout, OUTCOME_TIMED_OUT);
    watch_send_command(p, w);
    process_set_timer(p, p->log_check_at);
}

void watch_helper_answered(struct process *p, struct watch *w, int pidfd)
{
    if (pidfd >= 0) {
        follow_shim(p, w, pidfd, clock_boot_us());
    } else {
        w->state = WATCH_CHECKING;
        check_later(p, w);
    }
}

void watch_send_command(struct process *p, struct watch *w)
{
    struct attempt_control c = {.epoch = w->epoch, .command = (int64_t)w->command};

    if (!w->command || w->state != WATCH_RUNNING)
        return;
    if (attempt_epoch(w->at) > w->epoch) { /* another's by now: touch nothing */
        w->command = 0;
        return;
    }
    set_kill_time(p, w, clock_boot_us(),
                  w->command == COMMAND_TIME_OUT ? OUTCOME_TIMED_OUT : OUTCOME_CANCELLED);
    if (attempt_send_command(w->at, &c) == 0) {
        w->command = 0;
        w->check_at = w->wait = 0;
    } else {
        check_later(p, w); /* it does not listen yet, or is about to end */
    }
}

static void note_container(struct process *p, const struct watch *w, const char *what)
{
    char *note;

    if (!p->x.env->note)
        return;
    note = mem_printf("the container of attempt %d of execution %lld %s: %s", w->attempt,
                      (long long)w->execution, what,
                      *w->undo.message ? w->undo.message : "its engine does not answer");
    p->x.env->note(p->x.env->arg, note);
    free(note);
}

/* The container, if there is one. An engine that can't be asked is worth a word, each time anew. */
static bool undo(struct process *p, struct watch *w)
{
    int64_t next = w->undo.next;
    bool before = w->undo.done, done = undo_poll(&w->undo);

    if (!done && w->undo.next != next)
        note_container(p, w, "is not gone yet");
    else if (!before && w->undo.unremovable)
        note_container(p, w, "has ended, but could not be removed");
    return done;
}

/* A record that can't be read now may well say that it succeeded. A cancel gives that up. */
static bool is_hidden(struct process *p, struct watch *w, int read)
{
    char what[200];

    if (read >= 0 || !error_may_pass(errno) || w->cancelled)
        return false;
    snprintf(what, sizeof(what), "its records can't be read: %s", strerror(errno));
    watch_note(p, w, what);
    return true;
}

/* Also true if that can't be known for now. A cancel gives that up. */
static bool may_have_tree(const struct watch *w)
{
    int tree = own_file_open(w->at, ATTEMPT_TREE, O_RDONLY, ATTEMPT_LOCK_MAX);
    bool held = tree < 0 ? !w->cancelled && error_may_pass(errno) : attempt_file_is_locked(tree);

    process_close_fd(&tree);
    return held;
}

/* Its shim died without a word. Never a second one beside what it left behind. */
static void end_remains(struct process *p, struct watch *w)
{
    bool alive = attempt_kill_remains(w->at, &w->shim) || may_have_tree(w);
    struct attempt_exit end;
    int ended;

    if (!undo(p, w) || alive) {
        check_later(p, w);
        return;
    }
    ended = record_read(w->at, &RECORD_ENDING, &end);
    if (is_hidden(p, w, ended)) {
        check_later(p, w);
    } else if (ended == 1) {
        if (end.kind == END_CLIENT && w->undo.found == FOUND_ENDED && !end.signal &&
            end.code == w->undo.code)
            end.kind = END_EXITED; /* now its engine says so, too */
        if (!process_report_exit(p, w, &end))
            check_later(p, w);
    } else if (!w->shim.pid && p->in_containers)
        process_report_end(p, w, OUTCOME_LOST, "its worker was gone before it began");
    else if (w->killed)
        process_report_end(p, w, w->kill_outcome,
                           w->kill_outcome == OUTCOME_TIMED_OUT
                               ? "killed after its timeout: its shim did not answer"
                               : "cancelled and killed: its shim did not answer");
    else if (watch_note_fault(w))
        process_report_fault(p, w);
    else
        process_report_end(p, w, OUTCOME_LOST, "its shim died, so nobody knows how it ended");
}

static bool has_room(const struct watch *w)
{
    struct statvfs disk;

    return fstatvfs(w->at, &disk) || (disk.f_bavail && (disk.f_favail || !disk.f_files));
}

/* By the tombstone it never will be: a shim that stands still has nothing to do any more. */
static const char *why_not_started(const struct process *p, const struct watch *w)
{
    if (p->closed)
        return "its worker was stopped before it began";
    if (w->pidfd < 0)
        return has_room(w) ? "its shim ended before anything began"
                           : "the disk of its state folder is full, so nothing was begun";
    (void)pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0);
    return "its shim stood still, and had begun nothing";
}

/* With the lock given back, which is taken again for each look. */
static void look_again(struct process *p, struct watch *w)
{
    process_close_fd(&w->lock);
    check_later(p, w);
}

static void check_unlocked(struct process *p, struct watch *w)
{
    struct attempt_exit end;
    int ended = record_read(w->at, &RECORD_EXIT, &end), begun;

    if (is_hidden(p, w, ended)) {
        look_again(p, w);
        return;
    }
    begun = record_read(w->at, &RECORD_SHIM, &w->shim);
    if (ended == 1) {
        w->begun = end.begun;
        if (!process_report_exit(p, w, &end))
            look_again(p, w);
        return;
    }
    if (is_hidden(p, w, begun)) {
        look_again(p, w);
        return;
    }
    if (!begun && (ended < 0 || watch_note_fault(w)))
        begun = -1; /* nothing is changed where nothing ran */
    if (begun) {
        if (begun < 0) /* without its record the lock of the tree still shows who is left */
            memset(&w->shim, 0, sizeof(w->shim));
        w->begun = w->shim.begun;
        w->state = WATCH_LOST;
        w->wait = 0;
        end_remains(p, w);
    } else if (attempt_has_tombstone(w->at)) {
        process_report_end(p, w, OUTCOME_LOST, "another worker gave it up before it began");
    } else if (attempt_write_tombstone(w->at)) {
        look_again(p, w);
    } else if (w->found && p->in_containers) { /* its folder may have been removed, and not it */
        w->state = WATCH_LOST;
        end_remains(p, w);
    } else if (w->found) {
        process_report_end(p, w, OUTCOME_LOST, "its worker was gone before it began");
    } else {
        process_report_end(p, w, OUTCOME_REFUSED, why_not_started(p, w));
    }
}

/* Somebody holds its lock: its shim, or for a moment one who looks as we do. */
static void check_locked(struct process *p, struct watch *w)
{
    struct attempt_shim s = {0};
    int known = record_read(w->at, &RECORD_SHIM, &s);
    int pidfd = known == 1  ? attempt_shim_pidfd(&s)
                : known < 0 ? attempt_find_shim(w->at, NULL)
                            : -1;

    /* Still held: so the handle is that of the shim, and not of one that got its number. */
    if (pidfd >= 0 && attempt_is_locked(w->at, ATTEMPT_LOCK)) {
        follow_shim(p, w, pidfd, known == 1 ? s.begun : clock_boot_us());
    } else if (known == 1 && pidfd < 0 && watch_note_shared_lock(w)) {
        check_unlocked(p, w); /* its shim is gone, and the lock is another attempt's */
    } else {
        process_close_fd(&pidfd);
        check_later(p, w);
    }
}

/* Nobody holds its lock, or nobody could (-1). One that was replaced is not the one that its shim
 * holds. */
static void look_without_shim(struct process *p, struct watch *w)
{
    int64_t begun;
    int pidfd = watch_shim_without_lock(w, &begun);

    if (pidfd < 0 && w->no_folder && watch_kill_strays(p, w)) {
        process_close_fd(&w->lock);
        check_later(p, w);
        return;
    }
    if (pidfd < 0) {
        check_unlocked(p, w);
        return;
    }
    process_close_fd(&w->lock);
    follow_shim(p, w, pidfd, begun);
}

void watch_check(struct process *p, struct watch *w)
{
    int error;

    if (attempt_epoch(w->at) > w->epoch) {
        watch_drop(p, w); /* the lease is lost, and with it the right to look */
        return;
    }
    if (w->state == WATCH_LOST) {
        end_remains(p, w);
        return;
    }
    w->lock = attempt_lock(w->at, ATTEMPT_LOCK, false);
    error = w->lock < 0 ? errno : 0;
    if (own_file_is_fault(error))
        watch_note_file(w, ATTEMPT_LOCK, error);
    if (!error || own_file_is_fault(error))
        look_without_shim(p, w);
    else if (error == EAGAIN)
        check_locked(p, w);
    else if (error == ENOENT && attempt_is_folder_removed(w->at) && undo(p, w))
        process_report_end(p, w, OUTCOME_LOST,
                           "its folder was removed, so nobody knows how it ended");
    else
        check_later(p, w);
}

/* That it was started says only that its shim is on the way: what nobody has begun would be lost to
 * whoever finds it, and an attempt with it. */
void watch_refuse_unstarted(struct process *p, struct watch *w)
{
    struct attempt_shim s;

    if (w->found || w->state == WATCH_DROPPED || w->lock >= 0 ||
        record_read(w->at, &RECORD_SHIM, &s) || attempt_epoch(w->at) > w->epoch)
        return;
    w->lock = attempt_lock(w->at, ATTEMPT_LOCK, false);
    if (w->lock >= 0) /* else it is about to begin */
        check_unlocked(p, w);
}
