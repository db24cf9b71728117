/* remove.c - removes the folder of an attempt, see attempt.h.
 *
 * A task may leave folders nested to any depth. Therefore no function here recurses: the subfolders
 * of a folder that is removed are moved up to the top folder, which needs two descriptors for any
 * depth. */
#include "exec/attempt/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* Opens a folder to remove its contents; restores its permissions if a task has removed them. */
static int open_folder(int at, const char *name)
{
    int fd = openat(at, name, DIR_FLAGS), saved;

    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
        fd = openat(at, name, DIR_FLAGS);
    if (fd < 0 || faccessat(at, name, W_OK | X_OK, 0) == 0 || fchmod(fd, 0700) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static DIR *open_stream(int fd)
{
    DIR *d = fdopendir(fd);

    if (!d && fd >= 0)
        close(fd);
    return d;
}

enum removed { REMOVED, IS_FULL_FOLDER, STAYS };

/* STAYS means that the entry can't be removed: errno says why, e.g. it is immutable or a mount
 * point. */
static enum removed remove_entry(int at, const struct dirent *e)
{
    int error;

    if (e->d_type != DT_DIR && (unlinkat(at, e->d_name, 0) == 0 || errno == ENOENT))
        return REMOVED;
    error = e->d_type == DT_DIR ? ENOTDIR : errno;
    if (unlinkat(at, e->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return REMOVED;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return IS_FULL_FOLDER;
    if (errno == ENOTDIR)
        errno = error;
    return STAYS;
}

/* Ends the removal if a process keeps adding files. Each pass removes at least one level of
 * folders, so a tree deeper than this is left to a later cleanup. */
#define MAX_PASSES 10000

struct removal_state {
    int top;
    unsigned names; /* names tried for folders that are moved up */
    unsigned moved; /* number of folders that were moved up */
    int error;      /* errno of an entry that can't be removed; 0 if none */
};

static bool is_dots(const struct dirent *e)
{
    return !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
}

/* Moves a folder to the top folder under a free name; the rename replaces an empty folder. */
static int move_up(struct removal_state *s, int from, const char *name)
{
    char to[32];
    int rc;

    do {
        snprintf(to, sizeof(to), ".removed-%u", s->names++);
        rc = renameat(from, name, s->top, to);
        if (rc && errno == EACCES && fchmodat(from, name, 0700, 0) == 0)
            rc = renameat(from, name, s->top, to);
    } while (rc && (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR));
    s->moved += rc == 0;
    return rc;
}

/* Removes one folder in the top folder; its subfolders are moved to the top folder. */
static int flatten(struct removal_state *s, const char *name)
{
    DIR *d = open_stream(open_folder(s->top, name));
    struct dirent *e;
    int rc = d ? 0 : -1;

    while (d && (e = readdir(d)) != NULL) {
        enum removed done = is_dots(e) ? REMOVED : remove_entry(dirfd(d), e);

        if (done == STAYS || (done == IS_FULL_FOLDER && move_up(s, dirfd(d), e->d_name))) {
            s->error = errno;
            rc = -1;
        }
    }
    if (d)
        closedir(d);
    return rc ? -1 : unlinkat(s->top, name, AT_REMOVEDIR);
}

/* Makes one pass over the top folder; false if it changed nothing. */
static bool empty_once(struct removal_state *s)
{
    DIR *d = open_stream(openat(s->top, ".", DIR_FLAGS));
    unsigned before = s->moved;
    struct dirent *e;
    bool any = false;

    s->error = d ? 0 : errno;
    while (d && (e = readdir(d)) != NULL) {
        enum removed done;

        if (is_dots(e))
            continue;
        done = remove_entry(s->top, e);
        if (done == REMOVED || (done == IS_FULL_FOLDER && flatten(s, e->d_name) == 0))
            any = true;
        else if (!s->error)
            s->error = errno;
    }
    if (d)
        closedir(d);
    return any || s->moved != before;
}

int attempt_remove_folder(int dir, const char *name)
{
    struct removal_state s = {0};
    int passes = 0;

    if (unlinkat(dir, name, 0) == 0) /* a file, or the link itself */
        return 0;
    s.top = errno == ENOENT ? -1 : open_folder(dir, name);
    if (s.top < 0)
        return -1;
    while (empty_once(&s) && ++passes < MAX_PASSES)
        ;
    close(s.top);
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return 0;
    if (s.error)
        errno = s.error;
    return -1;
}
