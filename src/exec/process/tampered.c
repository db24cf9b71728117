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
 *     shim                the shim is looked for among all processes
 *     tree                not all processes can be found: lost, after those found were killed
 *     exit, exit.new      the shim leaves it and its outcome is unknown: failed. A file that was
 *                         removed or replaced by a plain file is created again
 *     log, log.pos        no log is reported
 *     control             the shim is killed at the end of the grace
 *     the folder          lost: the replacement is removed, and processes whose environment names
 *                         the attempt are killed; likewise if the folder was removed */
#include "exec/process/process_internal.h"

#include "base/mem.h"
#include "base/own_file.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
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
    int rc = w->shim_ended ? 0 : record_read(w->at, &RECORD_SHIM, &s);

    *begun = rc == 1 ? s.begun : clock_boot_us();
    /* Without a record nothing was started: a late shim finds the tombstone. */
    return rc ? attempt_find_shim(w->at, rc == 1 ? &s : NULL) : -1;
}

int process_open_folder(struct process *p, const struct task *t, char fault[ATTEMPT_FAULT_SIZE],
                        int64_t *no_folder)
{
    char name[ATTEMPT_NAME_SIZE];
    const char *what;
    int at = attempt_open_folder(p->dir, t->execution, t->attempt);

    attempt_name(t->execution, t->attempt, name);
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
        at = attempt_make_folder(p->dir, t->execution, t->attempt);
    if (at < 0 && errno == EEXIST) /* another worker created it in the meantime */
        at = attempt_open_folder(p->dir, t->execution, t->attempt);
    return at;
}

/* --- attempts without a folder ------------------------------------------------------------------
 */

static void add_stray(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct process *p = arg;

    *vec_add(&p->strays.all) =
        (struct stray){.execution = execution, .attempt = attempt, .pid = pid};
}

static bool has_variable(pid_t pid, const char *variable)
{
    struct buf text = BUF_INIT;
    char path[40];
    bool found;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    found = proc_read(AT_FDCWD, path, ENVIRON_MAX, &text) &&
            memmem(text.ptr, text.len, variable, strlen(variable) + 1);
    buf_release(&text);
    return found;
}

/* The environment is read after the pidfd was opened, so a reused pid is never killed. */
static bool kill_stray(pid_t pid, const char *variable)
{
    int pidfd = pidfd_open(pid, 0);
    bool found = pidfd >= 0 && has_variable(pid, variable);

    if (found)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
    return found;
}

/* Nothing new is started for an attempt whose lease we hold, so a scan made after the folder was
 * found missing is recent enough; it is repeated until it finds no process of the attempt. */
bool watch_kill_strays(struct process *p, const struct watch *w)
{
    char name[ATTEMPT_NAME_SIZE], *variable;
    bool found = false;

    if (p->strays.looked_at <= w->no_folder) {
        p->strays.all.n = 0;
        p->strays.looked_at = clock_boot_us();
        attempt_each_process(p->dir_path, add_stray, p);
    }
    variable = mem_printf("PAWL_OUTPUT=%s/%s/%s", p->dir_path,
                          attempt_name(w->execution, w->attempt, name), ATTEMPT_OUTPUT);
    for (size_t i = 0; i < p->strays.all.n; i++) {
        const struct stray *s = &p->strays.all.at[i];

        if (s->execution == w->execution && s->attempt == w->attempt)
            found |= kill_stray(s->pid, variable);
    }
    if (found)
        p->strays.looked_at = 0; /* scan again: it may have started others before it died */
    free(variable);
    return found;
}
