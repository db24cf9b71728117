/* host.c - what a host has of one database: the files of workers, the folders of attempts with
 * their locks, and the processes that say that they are of one. It changes nothing, and takes no
 * lock that a worker would wait for. */
#include "api/host.h"

#include "base/env.h"
#include "engine/worker_file.h"
#include "exec/attempt.h"

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

static void look_at_worker(struct host *h, const char *workers, const char *name)
{
    struct worker_file file;
    struct stat st;
    char *end, *path;
    int64_t id = (int64_t)strtoull(name, &end, 16);

    if (*end || strlen(name) != 16)
        return;
    path = mem_printf("%s/%s", workers, name);
    if (!stat(path, &st) && !worker_file_read(path, &file))
        *vec_add(&h->workers) = (struct host_worker){
            .id = id, .alive = file.held, .here = file.here, .age = age_of(&st)};
    free(path);
}

static int look_at_workers(struct host *h, const char *dir, struct err *err)
{
    char *path = mem_printf("%s/workers", dir);
    DIR *d = opendir(path);
    struct dirent *e;
    int rc = 0;

    if (!d && errno != ENOENT)
        rc = err_set(err, E_UNAVAILABLE, "the folder %s can't be read: %s", path, strerror(errno));
    while (d && (e = readdir(d)))
        look_at_worker(h, path, e->d_name);
    if (d)
        closedir(d);
    free(path);
    return rc;
}

/* ---- attempts ---- */

struct looking {
    struct host *h;
    int dir;
    bool old;
};

static int64_t ended_ago(int at)
{
    struct stat st;

    return fstatat(at, RECORD_EXIT.name, &st, AT_SYMLINK_NOFOLLOW) ? -1 : age_of(&st);
}

static int look_at_attempt(void *arg, int64_t execution, int attempt, bool held)
{
    struct looking *l = arg;
    int at = attempt_open(l->dir, execution, attempt);

    if (at < 0)
        return 0; /* it went just now */
    *vec_add(&l->h->attempts) = (struct host_attempt){.execution = execution,
                                                      .attempt = attempt,
                                                      .old = l->old,
                                                      .folder = true,
                                                      .shim = held,
                                                      .tree = attempt_is_held(at, ATTEMPT_TREE),
                                                      .ended_ago = ended_ago(at)};
    close(at);
    return 0;
}

static int look_at_attempts(struct host *h, const char *dir, bool old, struct err *err)
{
    struct looking l = {.h = h, .dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .old = old};
    int rc = attempt_each(dir, look_at_attempt, &l, err);

    if (l.dir >= 0)
        close(l.dir);
    return rc;
}

/* Its folder may be gone. */
static void look_at_process(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct host *h = arg;
    size_t i;

    for (i = 0; i < h->attempts.n; i++) {
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

static void look_at_old(void *arg, const char *dir)
{
    struct generations *g = arg;

    if (!g->rc)
        g->rc = look_at_attempts(g->h, dir, true, g->err);
}

int host_look(const char *dir, struct host *out, struct err *err)
{
    struct host h = {0};
    struct generations g = {.h = &h, .err = err};
    int rc;

    if ((rc = look_at_workers(&h, dir, err)) || (rc = look_at_attempts(&h, dir, false, err)))
        goto done;
    attempt_each_process(dir, look_at_process, &h);
    folder_each_old(dir, look_at_old, &g);
    if ((rc = g.rc))
        goto done;
    *out = h;
    h = (struct host){0};
done:
    host_release(&h);
    return rc;
}

void host_release(struct host *h)
{
    vec_release(&h->workers);
    vec_release(&h->attempts);
}
