/* proc_search.c - searches /proc for the processes of an attempt; see proc_search.h. */
#include "exec/attempt/proc_search.h"

#include "base/fd.h"
#include "base/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proc_search_note_error(struct proc_search *s)
{
    if (proc_is_shortage(errno))
        s->error = errno;
}

static bool inspect(struct proc_search *s, int all, const char *name,
                    bool (*each)(struct proc_search *s, int proc, pid_t pid))
{
    AUTO_FD proc = openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = (pid_t)strtol(name, NULL, 10);

    if (proc < 0)
        proc_search_note_error(s);
    return proc >= 0 && pid != getpid() && each(s, proc, pid);
}

bool proc_search(struct proc_search *s, bool (*each)(struct proc_search *s, int proc, pid_t pid))
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    bool found = false;

    if (!d && errno != ENOENT) /* a host without /proc has no processes to search */
        s->error = errno;
    while (d && !found && (e = readdir(d)) != NULL)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            found = inspect(s, dirfd(d), e->d_name, each);
    if (d)
        closedir(d);
    return found;
}

bool proc_search_one(struct proc_search *s, pid_t pid,
                     bool (*each)(struct proc_search *s, int proc, pid_t pid))
{
    AUTO_FD all = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[24];

    snprintf(name, sizeof(name), "%d", (int)pid);
    if (all < 0 && errno != ENOENT)
        s->error = errno;
    return all >= 0 && inspect(s, all, name, each);
}

bool proc_search_read(struct proc_search *s, int proc, const char *name, size_t max)
{
    bool good = proc_read(proc, name, max, &s->text);

    if (!good)
        proc_search_note_error(s);
    return good && s->text.len;
}

/* Whether the process holds a lock on the file through this descriptor. Another process may have
 * the file open only to test its lock. */
static bool holds_lock(struct proc_search *s, int proc, const char *fd)
{
    char name[40];

    snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
    return proc_search_read(s, proc, name, 65536) && strstr(s->text.ptr, "\nlock:");
}

bool proc_search_has_open(struct proc_search *s, int proc, const struct stat *file, bool locked)
{
    int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    struct stat st;
    bool found = false;

    if (!d) {
        proc_search_note_error(s);
        fd_close(&fd);
        return false;
    }
    while (!found && (e = readdir(d)) != NULL)
        found = e->d_name[0] != '.' &&
                (!file || (fstatat(fd, e->d_name, &st, 0) == 0 && st.st_dev == file->st_dev &&
                           st.st_ino == file->st_ino)) &&
                (!locked || holds_lock(s, proc, e->d_name));
    closedir(d);
    return found;
}
