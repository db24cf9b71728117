/* tampered.c - attempt folders that were changed while in use, usually by the task itself, which
 * runs as the same user. Such an attempt never succeeds. It is ended with what is known without the
 * replaced file: its shim is found by the folder that it has open.
 *
 *     replaced            result
 *     lock, not a file    a shim that lives is awaited by its pidfd; if none lives, none can
 *                         start, as it could not take the lock either
 *     lock, another file  the recorded shim is looked for before a free lock is trusted
 *     lock, hard link     to the lock of another attempt, which is held: counts as free once the
 *                         attempt's own shim has ended
 *     (all three)         the mark of a shim that can't write its exit record is not seen; the shim
 *                         is killed at the end of the timeout, like any that hangs
 *     lease               no renewal is recorded; the shim's fence ends the task, if it has one
 *     shim                the shim is looked for among all processes; likewise if it was removed,
 *                         and then processes whose environment names the attempt are killed
 *     tree                not all processes can be found: lost, after those found were killed
 *     exit, exit.new      the shim leaves it and its outcome is unknown: failed. A file that was
 *                         removed or replaced by a plain file is created again
 *     log, log.pos        no log is reported
 *     control             the shim is killed at the end of the grace
 *     the folder          lost: the replacement is removed, and processes whose environment names
 *                         the attempt are killed; likewise if the folder was removed */
#include "exec/process/process_internal.h"

#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool watch_note_fault(struct watch *w)
{
    return *w->fault || attempt_fault(w->at, w->fault);
}

void watch_note_file(struct watch *w, const char *name, int error)
{
    if (!watch_note_fault(w))
        snprintf(w->fault, sizeof(w->fault), "\"%s\" in its folder can no longer be opened: %s",
                 name, strerror(error));
}

bool watch_note_shared_lock(struct watch *w)
{
    struct stat st;

    if (fstatat(w->at, ATTEMPT_LOCK, &st, AT_SYMLINK_NOFOLLOW) || st.st_nlink < 2)
        return false;
    if (!*w->fault)
        snprintf(w->fault, sizeof(w->fault), "\"%s\" in its folder was replaced: it is a link",
                 ATTEMPT_LOCK);
    return true;
}

int watch_shim_without_lock(struct watch *w, int64_t *begun)
{
    struct attempt_shim s;
    int rc = w->shim_ended ? 0 : record_read(w->at, &RECORD_SHIM, &s), pidfd;

    *begun = rc == 1 ? s.begun : clock_boot_us();
    if (w->shim_ended) {
        errno = ESRCH;
        return -1;
    }
    pidfd = attempt_find_shim(w->at, rc == 1 ? &s : NULL);
    if (pidfd >= 0 && rc == 0)
        w->unrecorded = true;
    return pidfd;
}

int process_open_folder(struct process *p, const struct job *j, char fault[ATTEMPT_FAULT_SIZE],
                        int64_t *no_folder)
{
    char name[ATTEMPT_NAME_SIZE];
    const char *what;
    int at = attempt_open_folder(p->dir, j->execution, j->attempt);

    attempt_name(j->execution, j->attempt, name);
    if (at < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        what = own_file_fault(p->dir, name, 0);
        snprintf(fault, ATTEMPT_FAULT_SIZE, "its folder was replaced%s%s", what ? ": " : "",
                 what ? what : "");
        if (attempt_remove_folder(p->dir, name))
            return -1;
        errno = ENOENT;
    }
    /* A missing folder is created to hold the tombstone. */
    *no_folder = at < 0 ? clock_boot_us() : 0;
    if (at < 0 && errno == ENOENT)
        at = attempt_make_folder(p->dir, j->execution, j->attempt);
    if (at < 0 && errno == EEXIST) /* another worker created the folder in the meantime */
        at = attempt_open_folder(p->dir, j->execution, j->attempt);
    return at;
}

/* ---- attempts without a folder ---- */

static void add_stray(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct process *p = arg;

    *vec_add(&p->strays.all) =
        (struct stray){.execution = execution, .attempt = attempt, .pid = pid};
}

/* Kills the processes of an attempt, found by their environment. True if any was alive, or not all
 * processes could be inspected; then call it again. Nothing new is started for an attempt that has
 * no shim and whose lease this worker holds, so a scan made after that was known is recent enough;
 * it is repeated until it finds no process of the attempt. */
static bool kill_strays(struct process *p, struct watch *w, int64_t known_at)
{
    bool found = false;

    if (p->strays.scanned_at <= known_at) {
        p->strays.all.n = 0;
        p->strays.scanned_at = clock_boot_us();
        found = !attempt_each_process(p->dir_path, add_stray, p);
    }
    for (size_t i = 0; i < p->strays.all.n; i++) {
        const struct stray *s = &p->strays.all.at[i];

        if (s->execution != w->execution || s->attempt != w->attempt)
            continue;
        w->unrecorded = true;
        found |= attempt_kill_stray(p->dir_path, s->execution, s->attempt, s->pid);
    }
    if (found)
        p->strays.scanned_at = 0; /* scan again: the process may have started others */
    return found;
}

/* ---- attempts without a record ---- */

bool watch_kill_unrecorded(struct process *p, struct watch *w)
{
    struct attempt_shim s;
    struct attempt_exit end;
    int begun, ended;

    /* An attempt with an exit record needs no search: the shim writes it when all processes of the
     * task have ended. */
    begun = record_read(w->at, &RECORD_SHIM, &s);
    if (!w->no_folder && (begun == 1 || (begun < 0 && error_may_pass(errno))))
        return false; /* a readable record needs no search; for one that can't be read now,
                         check_unlocked (reattach.c) waits */
    ended = record_read(w->at, &RECORD_EXIT, &end);
    if (!w->no_folder && (ended == 1 || (ended < 0 && error_may_pass(errno))))
        return false;
    return kill_strays(p, w, w->no_folder ? w->no_folder : clock_boot_us());
}

bool watch_was_started(struct process *p, struct watch *w)
{
    struct attempt_shim s = {.pid = w->shim_pid};
    struct pollfd shim = {.fd = w->pidfd, .events = POLLIN};
    AUTO_FD pidfd = attempt_find_shim(w->at, w->shim_pid ? &s : NULL);

    w->unrecorded |= pidfd >= 0;
    if (pidfd >= 0 || errno != ESRCH)
        return true;
    /* A shim that lives without a lock has started nothing. */
    return (w->pidfd < 0 || poll(&shim, 1, 0)) && watch_kill_unrecorded(p, w);
}
