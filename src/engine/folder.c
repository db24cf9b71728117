/* folder.c - see folder.h. */
#include "engine/folder.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/worker_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define YOUNG_MS 250
#define RETRY_S  10

/* A worker of the same folder that lives; its end makes pidfd readable. */
struct peer {
    int64_t id;
    int pidfd; /* -1: its pid says nothing here (another pid namespace) */
    bool seen; /* in the scan that is going on */
};

struct folder {
    char id[FOLDER_ID_SIZE];
    char *dir, *workers;
    int64_t self;
    int lock;  /* our own file */
    int watch; /* inotify on the workers' files */
    int young; /* a timer until it is put up; -1: it is */
    int poll;  /* epoll: watch or timer, and the peers' pidfds */
    VEC(struct peer) peers;
    VEC(struct dead_worker) dead;
    VEC(const char *) old;
};

static int io_error(struct err *err, const char *what, const char *path)
{
    return err_set(err, errno == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "can't %s %s: %s", what, path,
                   strerror(errno));
}

/* mkdir -p. Others may pass through, to the attempts that run as another user, but not look around.
 */
static int make_dirs(const char *path, struct err *err)
{
    char *copy = mem_strdup(path), *p;
    int rc = 0;

    for (p = copy + 1; !rc; p++)
        if (*p == '/' || !*p) {
            char was = *p;

            *p = 0;
            if (mkdir(copy, 0711) && errno != EEXIST)
                rc = err_set(err, errno == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE,
                             "can't create the folder %s: %s; --state, or `state` in pawl.yaml, "
                             "names another place for what runs",
                             copy, strerror(errno));
            if (!(*p = was))
                break;
        }
    free(copy);
    return rc;
}

static char *file_of(const struct folder *f, int64_t worker)
{
    return mem_printf("%s/%016llx", f->workers, (unsigned long long)worker);
}

static int write_self(struct folder *f, int64_t here, struct err *err)
{
    return worker_file_write(f->lock, here) ? io_error(err, "write a worker's file in", f->workers)
                                            : 0;
}

/* The file appears under its name with its lock already held: nobody can find it free before. */
static int lock_self(struct folder *f, struct err *err)
{
    char *path = file_of(f, f->self);
    char *temp = mem_printf("%s/.%016llx", f->workers, (unsigned long long)f->self);
    int rc = 0;

    f->lock = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->lock < 0 || flock(f->lock, LOCK_EX | LOCK_NB))
        rc = io_error(err, "lock", temp);
    else if (!(rc = write_self(f, 0, err)) && rename(temp, path))
        rc = io_error(err, "create", path);
    if (rc)
        unlink(temp);
    free(temp);
    free(path);
    return rc;
}

static int add_to_poll(struct folder *f, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN};

    return epoll_ctl(f->poll, EPOLL_CTL_ADD, fd, &ev);
}

/* The kernel waits 15 ms and more when a watch is given back, which is long for a program that runs
 * one command: only who has lived for a while puts it up. The look that follows finds who came
 * before. */
static int watch_soon(struct folder *f, struct err *err)
{
    struct itimerspec at = {.it_value = {.tv_nsec = YOUNG_MS * 1000000L}};

    f->poll = epoll_create1(EPOLL_CLOEXEC);
    f->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    f->young = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (f->poll < 0 || f->watch < 0 || f->young < 0 || timerfd_settime(f->young, 0, &at, NULL) ||
        add_to_poll(f, f->young) || add_to_poll(f, f->watch))
        return io_error(err, "watch", f->workers);
    return 0;
}

/* Where it can't be put up it is tried again later; who came is found by the looks in between. */
static void watch_now(struct folder *f)
{
    uint64_t times;

    if (f->young < 0 || read(f->young, &times, sizeof(times)) != sizeof(times))
        return;
    if (inotify_add_watch(f->watch, f->workers, IN_MOVED_TO) < 0) {
        struct itimerspec again = {.it_value = {.tv_sec = RETRY_S}};

        (void)timerfd_settime(f->young, 0, &again, NULL);
        return;
    }
    close(f->young);
    f->young = -1;
}

int folder_open(const char *state, const char *database, int64_t generation, int64_t worker,
                struct folder **out, struct err *err)
{
    struct folder *f = mem_zalloc(sizeof(*f));
    int rc;

    f->self = worker;
    f->lock = f->watch = f->young = f->poll = -1;
    f->dir = folder_path(state, database, generation);
    f->workers = mem_printf("%s/workers", f->dir);
    if ((rc = make_dirs(f->workers, err)) || (rc = folder_name(state, true, f->id, err)) ||
        (rc = lock_self(f, err)) || (rc = watch_soon(f, err)))
        goto done;
    *out = f;
    f = NULL;
done:
    folder_close(&f, true);
    return rc;
}

/* Taken out by its number: a child of a program that embeds us may have the same handle. */
static void drop_peer(struct folder *f, struct peer *p)
{
    if (p->pidfd < 0)
        return;
    (void)epoll_ctl(f->poll, EPOLL_CTL_DEL, p->pidfd, NULL);
    close(p->pidfd);
    p->pidfd = -1;
}

void folder_close(struct folder **pf, bool nothing_left)
{
    struct folder *f = *pf;
    size_t i;

    if (!f)
        return;
    for (i = 0; i < f->peers.n; i++)
        drop_peer(f, &f->peers.at[i]);
    if (f->lock >= 0 && nothing_left) {
        char *path = file_of(f, f->self);

        unlink(path);
        free(path);
    }
    if (f->lock >= 0)
        close(f->lock);
    if (f->watch >= 0)
        close(f->watch);
    if (f->young >= 0)
        close(f->young);
    if (f->poll >= 0)
        close(f->poll);
    for (i = 0; i < f->old.n; i++)
        free((char *)f->old.at[i]);
    vec_release(&f->old);
    vec_release(&f->peers);
    vec_release(&f->dead);
    free(f->dir);
    free(f->workers);
    free(f);
    *pf = NULL;
}

const char *folder_id(const struct folder *f)
{
    return f->id;
}

const char *folder_dir(const struct folder *f)
{
    return f->dir;
}

static void note_old(void *arg, const char *dir)
{
    *vec_add(&((struct folder *)arg)->old) = mem_strdup(dir);
}

const char *const *folder_old_dirs(struct folder *f)
{
    f->old.n = 0; /* asked once, while the engine is opened */
    folder_each_old(f->dir, note_old, f);
    *vec_add(&f->old) = NULL;
    return f->old.at;
}

int folder_set_here(struct folder *f, int64_t root, struct err *err)
{
    return write_self(f, root, err);
}

int folder_fd(const struct folder *f)
{
    return f->poll;
}

static int look(const struct folder *f, int64_t worker, struct worker_file *out)
{
    char *path = file_of(f, worker);
    int rc = worker_file_read(path, out);

    free(path);
    return rc;
}

static struct peer *peer_of(struct folder *f, int64_t worker)
{
    size_t i;

    for (i = 0; i < f->peers.n; i++)
        if (f->peers.at[i].id == worker)
            return &f->peers.at[i];
    return NULL;
}

/* Asks to be told of its end. Still locked after the pidfd was made: it is that process's. */
static void add_peer(struct folder *f, int64_t worker, int pid)
{
    struct peer *p = vec_add(&f->peers);

    *p = (struct peer){
        .id = worker, .seen = true, .pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1};
    if (p->pidfd >= 0)
        (void)add_to_poll(f, p->pidfd);
}

/* A process that ended while the lock is still held was another one: pids mean nothing to us. */
static void forget_wrong_pid(struct folder *f, struct peer *p)
{
    struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

    if (p->pidfd >= 0 && poll(&fd, 1, 0) > 0)
        drop_peer(f, p);
}

static void scan_one(struct folder *f, int64_t worker)
{
    struct peer *p = peer_of(f, worker);
    struct worker_file file;

    if (look(f, worker, &file))
        return;
    if (file.held && p) {
        p->seen = true;
        forget_wrong_pid(f, p);
        return;
    }
    if (file.held) {
        add_peer(f, worker, file.pid);
        if (look(f, worker, &file) || file.held)
            return;
    }
    *vec_add(&f->dead) = (struct dead_worker){.id = worker, .here = file.here};
}

bool folder_scan(struct folder *f)
{
    struct dirent *entry;
    size_t i, kept = 0;
    char events[4096];
    DIR *d;

    watch_now(f);
    d = opendir(f->workers);
    while (read(f->watch, events, sizeof(events)) > 0)
        ;
    for (i = 0; i < f->peers.n; i++)
        f->peers.at[i].seen = false;
    f->dead.n = 0;
    while (d && (entry = readdir(d))) {
        char *end;
        int64_t id = (int64_t)strtoull(entry->d_name, &end, 16);

        if (!*end && strlen(entry->d_name) == 16 && id != f->self)
            scan_one(f, id);
    }
    if (d)
        closedir(d);
    for (i = 0; i < f->peers.n; i++)
        if (f->peers.at[i].seen)
            f->peers.at[kept++] = f->peers.at[i];
        else
            drop_peer(f, &f->peers.at[i]);
    f->peers.n = kept;
    return f->dead.n > 0;
}

const struct dead_worker *folder_dead(const struct folder *f, size_t *n)
{
    *n = f->dead.n;
    return f->dead.at;
}

void folder_bury(struct folder *f, int64_t worker)
{
    char *path = file_of(f, worker);
    size_t i;

    unlink(path);
    free(path);
    for (i = 0; i < f->dead.n; i++)
        if (f->dead.at[i].id == worker) {
            f->dead.at[i] = f->dead.at[--f->dead.n];
            return;
        }
}

int64_t folder_age(const struct folder *f, int64_t worker)
{
    char *path = file_of(f, worker);
    struct stat st;
    int64_t age = INT64_MAX;

    if (!stat(path, &st))
        age = clock_wall_us() - ((int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000);
    free(path);
    return age;
}

bool folder_is_alive(const struct folder *f, int64_t worker)
{
    struct worker_file file;

    return worker == f->self || (!look(f, worker, &file) && file.held);
}

void folder_kill(const struct folder *f, int64_t worker)
{
    char *path = file_of(f, worker);

    worker_file_kill(path);
    free(path);
}
