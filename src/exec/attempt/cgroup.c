/* cgroup.c - a cgroup (version 2) for each attempt, where this process may create one: a single
 * write kills every process in it, and no process can leave it. Controllers are used if the
 * administrator delegated them; Pawl enables none. Without cgroups everything still works, but a
 * task can hide processes more easily. */
#include "exec/attempt/attempt.h"

#include "base/env.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_NAME "pawl-" /* followed by the attempt's name and key */
#define OLD_AFTER   60 /* s; an empty cgroup that is younger may belong to a task about to start */

/* The mount point of version 2, alone or together with version 1; NULL if none. PAWL_CGROUPS=off
 * disables cgroups. */
static const char *find_cgroup_mount(void)
{
    const char *wanted = getenv("PAWL_CGROUPS");

    if (wanted && strcmp(wanted, "off") == 0)
        return NULL;
    if (access(CGROUP_ROOT "/cgroup.controllers", F_OK) == 0)
        return CGROUP_ROOT;
    if (access(CGROUP_ROOT "/unified/cgroup.controllers", F_OK) == 0)
        return CGROUP_ROOT "/unified";
    return NULL;
}

void cgroup_find(char out[CGROUP_PATH_SIZE])
{
    const char *root = find_cgroup_mount();
    char line[CGROUP_PATH_SIZE];
    FILE *f;
    int n = -1;

    out[0] = '\0';
    f = root ? fopen("/proc/self/cgroup", "re") : NULL;
    if (!f)
        return;
    while (n < 0 && fgets(line, sizeof(line), f)) {
        char *nl = strchr(line, '\n');

        if (!nl || strncmp(line, "0::/", 4) != 0)
            continue;
        *nl = '\0';
        n = snprintf(out, CGROUP_PATH_SIZE, "%s%s", root,
                     strcmp(line, "0::/") == 0 ? "" : line + 3);
    }
    fclose(f);
    /* The name of a child cgroup must fit, and this process must be allowed to create and enter
     * one. */
    if (n < 0 || n > CGROUP_PATH_SIZE - 80 || access(out, W_OK | X_OK))
        out[0] = '\0';
}

int cgroup_make(const char *path)
{
    int fd;

    if (mkdir(path, 0755))
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A cgroup without cgroup.kill (before Linux 5.14) is of no use. */
    if (fd >= 0 && faccessat(fd, "cgroup.kill", W_OK, 0) == 0)
        return fd;
    fd_close(&fd);
    rmdir(path);
    return -1;
}

static bool write_cgroup_file(int dir, const char *file, const char *text)
{
    AUTO_FD fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

bool cgroup_limit(int cgroup, const char *file, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return write_cgroup_file(cgroup, file, text);
}

/* Whether the path is that of a cgroup which Pawl made. The path comes from a file that the task
 * can change. */
static bool is_own_cgroup(const char *path)
{
    return strncmp(path, CGROUP_ROOT "/", sizeof(CGROUP_ROOT)) == 0 && !strstr(path, "/../") &&
           strstr(path, "/" CGROUP_NAME);
}

static int open_cgroup(const char *path)
{
    return is_own_cgroup(path) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
}

bool cgroup_kill(const char *path)
{
    AUTO_FD dir = open_cgroup(path);

    return dir >= 0 && write_cgroup_file(dir, "cgroup.kill", "1");
}

/* Removes the child cgroups, which the task may have created. Closes fd. */
static void remove_inner(int fd)
{
    DIR *d = fdopendir(fd);
    struct dirent *e;

    if (!d) {
        close(fd);
        return;
    }
    while ((e = readdir(d)) != NULL) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.')
            continue;
        if (unlinkat(fd, e->d_name, AT_REMOVEDIR) && errno == EBUSY) {
            int inner = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

            if (inner >= 0)
                remove_inner(inner);
            unlinkat(fd, e->d_name, AT_REMOVEDIR);
        }
    }
    closedir(d);
}

void cgroup_remove(const char *path)
{
    int fd;

    if (!is_own_cgroup(path) || rmdir(path) == 0 || errno != EBUSY)
        return;
    fd = open_cgroup(path);
    if (fd >= 0)
        remove_inner(fd);
    rmdir(path);
}

void cgroup_remove_old(const char *parent)
{
    DIR *d = *parent ? opendir(parent) : NULL;
    int64_t now = clock_wall_us() / 1000000;
    struct dirent *e;
    struct stat st;

    while (d && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, CGROUP_NAME, strlen(CGROUP_NAME)) == 0 &&
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            now - st.st_mtim.tv_sec > OLD_AFTER)
            (void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    if (d)
        closedir(d);
}
