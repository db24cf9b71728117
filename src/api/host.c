/* host.c - inspects a host for one database: worker files, attempt folders with their locks, and
 * processes whose environment names an attempt. It changes nothing and takes no lock that a worker
 * would wait for. */
#include "api/host.h"

#include "base/env.h"
#include "base/fd.h"
#include "engine/worker_file.h"
#include "exec/attempt/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t age_of(const struct stat *st)
{
    return clock_wall_us() - ((int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000);
}

/* ---- workers ---- */

static void inspect_worker(struct host *h, const char *workers, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", workers, name);
    struct worker_file file;
    struct stat st;
    char *end;
    int64_t id = (int64_t)strtoull(name, &end, 16);

    if (!*end && strlen(name) == 16 && !lstat(path, &st) && !worker_file_read(path, &file))
        *vec_add(&h->workers) = (struct host_worker){
            .id = id, .alive = file.is_locked, .foreground = file.foreground, .age = age_of(&st)};
}

static int inspect_workers(struct host *h, const char *dir, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/workers", dir);
    DIR *d = opendir(path);
    struct dirent *e;

    if (!d && errno != ENOENT)
        return err_set(err, E_UNAVAILABLE, "the folder %s can't be read: %s", path,
                       strerror(errno));
    while (d && (e = readdir(d)))
        inspect_worker(h, path, e->d_name);
    if (d)
        closedir(d);
    return 0;
}

/* ---- attempts ---- */

struct inspection {
    struct host *h;
    int dir;
    bool old;
};

static int64_t ended_ago(int at)
{
    struct stat st;

    return fstatat(at, RECORD_EXIT.name, &st, AT_SYMLINK_NOFOLLOW) ? -1 : age_of(&st);
}

static int inspect_attempt(void *arg, int64_t execution, int attempt, bool is_locked)
{
    struct inspection *l = arg;
    AUTO_FD at = attempt_open_folder(l->dir, execution, attempt);

    if (at < 0)
        return 0; /* the folder was removed just now */
    *vec_add(&l->h->attempts) = (struct host_attempt){.execution = execution,
                                                      .attempt = attempt,
                                                      .old = l->old,
                                                      .folder = true,
                                                      .shim = is_locked,
                                                      .tree = attempt_is_locked(at, ATTEMPT_TREE),
                                                      .ended_ago = ended_ago(at)};
    return 0;
}

static int inspect_attempts(struct host *h, const char *dir, bool old, struct err *err)
{
    AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct inspection l = {.h = h, .dir = fd, .old = old};

    return attempt_each(dir, inspect_attempt, &l, err);
}

/* Adds a process to its attempt. If the attempt folder is gone, the attempt is added without a
 * folder. */
static void inspect_process(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct host *h = arg;

    for (size_t i = 0; i < h->attempts.n; i++) {
        struct host_attempt *a = &h->attempts.at[i];

        if (!a->old && a->execution == execution && a->attempt == attempt) {
            a->process = pid;
            return;
        }
    }
    *vec_add(&h->attempts) = (struct host_attempt){
        .execution = execution, .attempt = attempt, .ended_ago = -1, .process = pid};
}

struct generations {
    struct host *h;
    struct err *err;
    int rc;
};

static void inspect_old_generation(void *arg, const char *dir)
{
    struct generations *g = arg;

    if (!g->rc)
        g->rc = inspect_attempts(g->h, dir, true, g->err);
}

int host_inspect(const char *dir, struct host *h, struct err *err)
{
    struct generations g = {.h = h, .err = err};

    TRY(inspect_workers(h, dir, err));
    TRY(inspect_attempts(h, dir, false, err));
    attempt_each_process(dir, inspect_process, h);
    state_folder_each_old(dir, inspect_old_generation, &g);
    return g.rc;
}

void host_release(struct host *h)
{
    vec_release(&h->workers);
    vec_release(&h->attempts);
}
