/* tampering.c - detects files of an attempt that its task replaced, see attempt.h.
 *
 * A task runs as the user of its worker and can replace everything in its folder. Nothing can
 * prevent that, but the attempt must still end, with an error that names the file, and no other
 * attempt may be affected. */
#include "exec/attempt/attempt.h"

#include "base/fd.h"
#include "base/own_file.h"
#include "exec/attempt/proc_search.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum expect { EXPECT_OURS, EXPECT_GIVEN, EXPECT_FIFO, EXPECT_FOLDER };

/* Every file that a worker or a shim opens by its name. */
static const struct {
    const char *name;
    enum expect expect;
    int64_t max;
} files[] = {
    {ATTEMPT_LOCK, EXPECT_OURS, ATTEMPT_LOCK_MAX},
    {ATTEMPT_TREE, EXPECT_OURS, ATTEMPT_LOCK_MAX},
    {"lease", EXPECT_OURS, RECORD_MAX},
    {"shim", EXPECT_OURS, RECORD_MAX},
    {"shim.new", EXPECT_OURS, RECORD_MAX},
    {"exit", EXPECT_OURS, RECORD_MAX},
    {"exit.new", EXPECT_OURS, RECORD_MAX},
    {"ending", EXPECT_OURS, RECORD_MAX},
    {"ending.new", EXPECT_OURS, RECORD_MAX},
    {"container", EXPECT_OURS, RECORD_MAX},
    {ATTEMPT_UNDO, EXPECT_OURS, ATTEMPT_UNDO_MAX},
    {ATTEMPT_LOG, EXPECT_OURS, ATTEMPT_LOG_MAX},
    {"log.pos", EXPECT_OURS, RECORD_MAX},
    {ATTEMPT_CONTROL, EXPECT_FIFO, 0},
    {ATTEMPT_OUTPUT, EXPECT_GIVEN, OWN_FILE_ANY_SIZE}, /* outputs.h limits the size of this file */
};

static const char *fault_of(int at, size_t i)
{
    struct stat st, folder;

    if (fstatat(at, files[i].name, &st, AT_SYMLINK_NOFOLLOW))
        return NULL;
    if (files[i].expect == EXPECT_FIFO)
        return S_ISFIFO(st.st_mode) ? NULL : "it is no longer a FIFO";
    if (files[i].expect == EXPECT_OURS && S_ISREG(st.st_mode) && (st.st_mode & 0600) != 0600)
        return "its owner can't read and write it";
    if (files[i].expect == EXPECT_OURS && st.st_uid != geteuid() && fstat(at, &folder) == 0 &&
        st.st_uid != folder.st_uid)
        return "it belongs to another user";
    return own_file_fault(at, files[i].name, files[i].max);
}

bool attempt_fault(int at, char out[ATTEMPT_FAULT_SIZE])
{
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        const char *what = fault_of(at, i);

        if (!what)
            continue;
        snprintf(out, ATTEMPT_FAULT_SIZE, "\"%s\" in its folder was replaced: %s", files[i].name,
                 what);
        return true;
    }
    return false;
}

/* ---- finding the shim without its lock or its record ---- */

struct shim_search {
    struct proc_search s;
    struct stat folder;
    int pidfd;
};

/* From before it starts anything until it ends, a shim has the folder open and holds a lock,
 * whatever happens to the files in it. A shim that has no lock yet has started nothing, and the
 * helper, which has the same name, never has one. */
static bool runs_attempt(struct shim_search *f, int proc)
{
    return proc_search_read(&f->s, proc, "comm", 65536) && !strcmp(f->s.text.ptr, "pawl-shim\n") &&
           proc_search_has_open(&f->s, proc, &f->folder, false) &&
           proc_search_has_open(&f->s, proc, NULL, true);
}

/* Inspects the process after opening the pidfd, so that both refer to the same process. */
static bool open_if_shim(struct proc_search *s, int proc, pid_t pid)
{
    struct shim_search *f = (struct shim_search *)s;
    struct pollfd p = {.events = POLLIN};

    if (!runs_attempt(f, proc))
        return false;
    p.fd = f->pidfd = pidfd_open(pid, 0);
    if (f->pidfd < 0) {
        proc_search_note_error(s);
        return false;
    }
    fcntl(f->pidfd, F_SETFD, FD_CLOEXEC);
    if (poll(&p, 1, 0) > 0) /* the process has ended */
        fd_close(&f->pidfd);
    return f->pidfd >= 0;
}

int attempt_find_shim(int at, const struct attempt_shim *recorded)
{
    struct shim_search f = {.pidfd = -1};

    if (fstat(at, &f.folder))
        return -1;
    if (recorded)
        (void)proc_search_one(&f.s, (pid_t)recorded->pid, open_if_shim);
    else
        (void)proc_search(&f.s, open_if_shim);
    buf_release(&f.s.text);
    errno = f.s.error ? f.s.error : ESRCH;
    return f.pidfd;
}
