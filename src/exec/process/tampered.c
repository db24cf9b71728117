/* tampered.c - folders of attempts that somebody has changed while they were in use: the task
 * itself as a rule, which runs as the same user. Such an attempt never succeeds, and it ends by
 * what is known without the file: its shim is found by the folder that it has open.
 *
 *     replaced          then
 *     lock              the shim that lives is waited for by its pidfd; if none lives, none can
 *                       begin, as it could not lock it either
 *     lock, by a file   the same: the recorded shim is looked for before a free lock is believed
 *     lock, by a link   to that of another attempt, which is held: free, once its own shim is gone
 *                       (in each case nobody sees the mark of a shim that can't write its record:
 *                       it is killed at the end of the timeout, as any that hangs)
 *     lease             nothing is renewed; the fence of the shim ends it where it has one
 *     shim              the shim is looked for among all processes
 *     tree              nobody knows whether all have ended: lost, after all that can be found
 *     exit, exit.new    the shim leaves it there and does not say how it ended: failed; one that
 *                       was removed, or is another plain file, it makes anew
 *     log, log.pos      no log is told
 *     control           the shim is killed at the end of the grace
 *     the folder        what stands there is removed, and what says by its environment that it is
 *                       of the attempt is killed, likewise where the folder was removed; lost */
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
        snprintf(w->fault, sizeof(w->fault), "\"%s\" in its folder can't be opened any more: %s",
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
    /* Without a record nothing was begun: a shim that comes late finds the tombstone. */
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
    /* Not there: made, so that the tombstone has a place. */
    *no_folder = at < 0 ? clock_boot_us() : 0;
    if (at < 0 && errno == ENOENT)
        at = attempt_make_folder(p->dir, t->execution, t->attempt);
    if (at < 0 && errno == EEXIST) /* its starter was faster */
        at = attempt_open_folder(p->dir, t->execution, t->attempt);
    return at;
}

/* --- without a folder ---------------------------------------------------------------------------
 */

static void add_stray(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct process *p = arg;

    *vec_add(&p->strays.all) =
        (struct stray){.execution = execution, .attempt = attempt, .pid = pid};
}

static bool says_so(pid_t pid, const char *variable)
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

/* The handle is opened before the last look: so it is that of no process that got the number. */
static bool kill_stray(pid_t pid, const char *variable)
{
    int pidfd = pidfd_open(pid, 0);
    bool found = pidfd >= 0 && says_so(pid, variable);

    if (found)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
    return found;
}

/* Nothing new is begun for an attempt that we hold, so a look since then is good enough, and what
 * it found is looked at again until it is gone. */
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
        p->strays.looked_at = 0; /* it may have started others before it died */
    free(variable);
    return found;
}
