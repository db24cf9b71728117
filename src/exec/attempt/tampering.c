/* tampering.c - detects files of an attempt that its task replaced, see attempt.h.
 *
 * A task runs as the user of its worker and can replace everything in its folder. Nothing can
 * prevent that, but the attempt must still end, with an error that names the file, and no other
 * attempt may be affected. */
#include "exec/attempt/attempt.h"

#include "base/own_file.h"
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
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
    {"exit", EXPECT_OURS, RECORD_MAX},
    {"exit.new", EXPECT_OURS, RECORD_MAX},
    {"ending", EXPECT_OURS, RECORD_MAX},
    {"ending.new", EXPECT_OURS, RECORD_MAX},
    {ATTEMPT_UNDO, EXPECT_OURS, ATTEMPT_UNDO_MAX},
    {ATTEMPT_LOG, EXPECT_OURS, ATTEMPT_LOG_MAX},
    {"log.pos", EXPECT_OURS, RECORD_MAX},
    {ATTEMPT_CONTROL, EXPECT_FIFO, 0},
    {ATTEMPT_OUTPUT, EXPECT_GIVEN, OWN_FILE_ANY_SIZE}, /* outputs.h limits its size */
};

static const char *fault_of(int at, size_t i)
{
    struct stat st, folder;

    if (fstatat(at, files[i].name, &st, AT_SYMLINK_NOFOLLOW))
        return NULL;
    if (files[i].expect == EXPECT_FIFO)
        return S_ISFIFO(st.st_mode) ? NULL : "it is no longer a FIFO";
    if (files[i].expect == EXPECT_OURS && S_ISREG(st.st_mode) && (st.st_mode & 0600) != 0600)
        return "its owner has no access to it";
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

/* --- finding the shim without its lock or its record --------------------------------------------
 */

struct shim_search {
    struct stat folder;
    struct buf text;
    int error; /* why a process could not be inspected, if that may pass; else 0 */
};

static void note_error(struct shim_search *s)
{
    if (proc_is_shortage(errno))
        s->error = errno;
}

static bool read_file(struct shim_search *s, int proc, const char *name)
{
    bool good = proc_read(proc, name, 65536, &s->text);

    if (!good)
        note_error(s);
    return good && s->text.len;
}

static bool is_named_shim(struct shim_search *s, int proc)
{
    return read_file(s, proc, "comm") && !strcmp(s->text.ptr, "pawl-shim\n");
}

static bool has_lock(struct shim_search *s, int proc, DIR *fds)
{
    struct dirent *e;
    char name[40];

    while ((e = readdir(fds)) != NULL) {
        snprintf(name, sizeof(name), "fdinfo/%.20s", e->d_name);
        if (e->d_name[0] != '.' && read_file(s, proc, name) && strstr(s->text.ptr, "\nlock:"))
            return true;
    }
    return false;
}

/* From before it starts anything until it ends, a shim has the folder open and holds a lock,
 * whatever happens to the files in it. A shim that has no lock yet has started nothing, and the
 * helper, which has the same name, never has one. */
static bool runs_attempt(struct shim_search *s, int proc)
{
    int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    struct stat st;
    bool found = false;

    if (!d) {
        note_error(s);
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (!found && (e = readdir(d)) != NULL)
        found = e->d_name[0] != '.' && fstatat(fd, e->d_name, &st, 0) == 0 &&
                st.st_dev == s->folder.st_dev && st.st_ino == s->folder.st_ino;
    if (found) {
        rewinddir(d);
        found = has_lock(s, proc, d);
    }
    closedir(d);
    return found;
}

static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* The pidfd is checked after it was opened, so it belongs to the process that was inspected. */
static int handle_if_shim(struct shim_search *s, int all, const char *name)
{
    int proc = openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), pidfd = -1;
    pid_t pid = (pid_t)strtol(name, NULL, 10);

    if (proc < 0) {
        note_error(s);
        return -1;
    }
    if (pid != getpid() && is_named_shim(s, proc) && runs_attempt(s, proc)) {
        pidfd = pidfd_open(pid, 0);
        if (pidfd < 0)
            note_error(s);
    }
    close(proc);
    if (pidfd < 0)
        return -1;
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    if (!has_ended(pidfd))
        return pidfd;
    close(pidfd);
    return -1;
}

int attempt_find_shim(int at, const struct attempt_shim *recorded)
{
    struct shim_search s = {.text = BUF_INIT};
    DIR *d = fstat(at, &s.folder) ? NULL : opendir("/proc");
    struct dirent *e;
    char name[24];
    int pidfd = -1;

    if (!d && errno != ENOENT) /* a host may have no /proc */
        s.error = errno;
    if (d && recorded) {
        snprintf(name, sizeof(name), "%lld", (long long)recorded->pid);
        pidfd = handle_if_shim(&s, dirfd(d), name);
    }
    while (d && !recorded && pidfd < 0 && (e = readdir(d)) != NULL)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            pidfd = handle_if_shim(&s, dirfd(d), e->d_name);
    if (d)
        closedir(d);
    buf_release(&s.text);
    errno = s.error ? s.error : ESRCH;
    return pidfd;
}
