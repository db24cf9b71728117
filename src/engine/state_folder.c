/* state_folder.c - watches the workers of a state folder by the locks of their files; see
 * state_folder.h. */
#include "engine/state_folder.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/folders.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "base/start_marks.h"
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

#define WATCH_DELAY_MS 250
#define WATCH_RETRY_S  10

/* A living worker of the same folder; its end makes pidfd readable. */
struct peer {
    int64_t id;
    int pidfd; /* -1 if the worker's pid is of another pid namespace and can't be watched */
    bool seen; /* the current scan has found the worker's file */
};

struct state_folder {
    char id[STATE_FOLDER_ID_SIZE];
    char *dir, *workers;
    int64_t own_id, generation;
    int lock; /* descriptor of this worker's own file, which is locked */
    /* inotify descriptor; watches the folder of worker files once watch_timer has fired */
    int watch;
    int watch_timer; /* fires when the watch must be added; -1 once the watch was added */
    int poll;        /* epoll descriptor: for the watch, its timer, and the peers' pidfds */
    VEC(struct peer) peers;
    VEC(struct dead_worker) dead;
    VEC(const char *) old_dirs;
};

/* Creates folders that other users may traverse, for attempts that run as another user, but not
 * list. */
static int make_dirs(const char *path, struct err *err)
{
    size_t failed;

    if (folders_make(path, 0711, &failed))
        return 0;
    return err_set(err, errno == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE,
                   "can't create the folder %.*s: %s; choose another state folder with --state, "
                   "or `state` in pawl.yaml",
                   (int)failed, path, strerror(errno));
}

static char *worker_file_path(const struct state_folder *f, int64_t worker)
{
    return mem_printf("%s/%016llx", f->workers, (unsigned long long)worker);
}

static int write_own_file(struct state_folder *f, int64_t foreground, struct err *err)
{
    return worker_file_write(f->lock, foreground)
               ? state_folder_error(err, "write this worker's file in", f->workers)
               : 0;
}

/* Creates this worker's file. It gets its final name only after it is locked, so that no scan finds
 * it unlocked. */
static int create_own_file(struct state_folder *f, struct err *err)
{
    AUTO_FREE char *path = worker_file_path(f, f->own_id);
    AUTO_FREE char *temp = mem_printf("%s/.%016llx", f->workers, (unsigned long long)f->own_id);
    int rc = 0;

    f->lock = own_file_open(AT_FDCWD, temp, O_RDWR | O_CREAT | O_EXCL, 0);
    if (f->lock < 0 || flock(f->lock, LOCK_EX | LOCK_NB))
        rc = state_folder_error(err, "lock", temp);
    else if (!(rc = write_own_file(f, 0, err)) && rename(temp, path))
        rc = state_folder_error(err, "create", path);
    if (rc)
        unlink(temp);
    return rc;
}

static int add_to_poll(struct state_folder *f, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN};

    return epoll_ctl(f->poll, EPOLL_CTL_ADD, fd, &ev);
}

/* Starts the timer after which the watch is added. The kernel takes 15 ms or more to remove a
 * watch, which is long for a program that runs one command, so a watch is added only after
 * WATCH_DELAY_MS. The scan that follows finds the workers that appeared before that. */
static int start_watch_timer(struct state_folder *f, struct err *err)
{
    struct itimerspec at = {.it_value = {.tv_nsec = WATCH_DELAY_MS * 1000000L}};

    f->poll = epoll_create1(EPOLL_CLOEXEC);
    f->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    f->watch_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (f->poll < 0 || f->watch < 0 || f->watch_timer < 0 ||
        timerfd_settime(f->watch_timer, 0, &at, NULL) || add_to_poll(f, f->watch_timer) ||
        add_to_poll(f, f->watch))
        return state_folder_error(err, "watch", f->workers);
    return 0;
}

/* Adds the watch when its timer has fired. If that fails, it is tried again later; until then scans
 * find new workers. */
static void start_watch(struct state_folder *f)
{
    uint64_t times;

    if (f->watch_timer < 0 || read(f->watch_timer, &times, sizeof(times)) != sizeof(times))
        return;
    if (inotify_add_watch(f->watch, f->workers, IN_MOVED_TO) < 0) {
        struct itimerspec again = {.it_value = {.tv_sec = WATCH_RETRY_S}};

        (void)timerfd_settime(f->watch_timer, 0, &again, NULL);
        return;
    }
    fd_close(&f->watch_timer);
}

int state_folder_open(const char *state, const char *database, int64_t generation, int64_t worker,
                      struct state_folder **out, struct err *err)
{
    struct state_folder *f = mem_zalloc(sizeof(*f));
    int rc;

    f->own_id = worker;
    f->generation = generation;
    f->lock = f->watch = f->watch_timer = f->poll = -1;
    f->dir = state_folder_path(state, database, generation);
    f->workers = mem_printf("%s/workers", f->dir);
    if ((rc = make_dirs(f->workers, err)) || (rc = state_folder_name(state, true, f->id, err)) ||
        (rc = create_own_file(f, err)) || (rc = start_watch_timer(f, err)))
        goto done;
    *out = f;
    f = NULL;
done:
    state_folder_close(&f, true);
    return rc;
}

/* Removes the pidfd from epoll explicitly: closing it is not enough if a child of the embedder has
 * a copy. */
static void drop_peer(struct state_folder *f, struct peer *p)
{
    if (p->pidfd < 0)
        return;
    (void)epoll_ctl(f->poll, EPOLL_CTL_DEL, p->pidfd, NULL);
    fd_close(&p->pidfd);
}

void state_folder_close(struct state_folder **pf, bool nothing_left)
{
    struct state_folder *f = *pf;

    if (!f)
        return;
    for (size_t i = 0; i < f->peers.n; i++)
        drop_peer(f, &f->peers.at[i]);
    if (f->lock >= 0 && nothing_left) {
        AUTO_FREE char *path = worker_file_path(f, f->own_id);

        unlink(path);
    }
    fd_close(&f->lock);
    fd_close(&f->watch);
    fd_close(&f->watch_timer);
    fd_close(&f->poll);
    for (size_t i = 0; i < f->old_dirs.n; i++)
        free((char *)f->old_dirs.at[i]);
    vec_release(&f->old_dirs);
    vec_release(&f->peers);
    vec_release(&f->dead);
    free(f->dir);
    free(f->workers);
    free(f);
    *pf = NULL;
}

const char *state_folder_id(const struct state_folder *f)
{
    return f->id;
}

const char *state_folder_dir(const struct state_folder *f)
{
    return f->dir;
}

static bool parse_worker_name(const char *name, int64_t *id)
{
    char *end;

    *id = (int64_t)strtoull(name, &end, 16);
    return !*end && strlen(name) == 16;
}

/* Links the worker files of an earlier generation that name a foreground tree into the present
 * folder, so that workers of this generation finish the tree. The files also stay in the old
 * folder: the database may be a copy that is used at the same time as its original. A file that
 * can't be linked is linked when the next worker starts. */
static void link_foreground_files(struct state_folder *f, const char *old_dir)
{
    AUTO_FREE char *workers = mem_printf("%s/workers", old_dir);
    DIR *d = opendir(workers);
    struct worker_file file;
    struct dirent *entry;
    int64_t id;

    while (d && (entry = readdir(d))) {
        AUTO_FREE char *old = mem_printf("%s/%s", workers, entry->d_name);

        if (parse_worker_name(entry->d_name, &id) && !worker_file_read(old, &file) &&
            file.foreground) {
            AUTO_FREE char *path = worker_file_path(f, id);

            (void)!link(old, path);
        }
    }
    if (d)
        closedir(d);
}

static void add_old_dir(void *arg, const char *dir)
{
    struct state_folder *f = arg;

    link_foreground_files(f, dir);
    *vec_add(&f->old_dirs) = mem_strdup(dir);
}

const char *const *state_folder_old_dirs(struct state_folder *f)
{
    f->old_dirs.n = 0; /* the list is built by the first call; there is only one, while the engine
                          is opened */
    state_folder_each_old(f->dir, add_old_dir, f);
    *vec_add(&f->old_dirs) = NULL;
    return f->old_dirs.at;
}

int state_folder_set_foreground(struct state_folder *f, int64_t root, struct err *err)
{
    return write_own_file(f, root, err);
}

int state_folder_fd(const struct state_folder *f)
{
    return f->poll;
}

static int read_peer_file(const struct state_folder *f, int64_t worker, struct worker_file *out)
{
    AUTO_FREE char *path = worker_file_path(f, worker);

    return worker_file_read(path, out);
}

static struct peer *find_peer(struct state_folder *f, int64_t worker)
{
    for (size_t i = 0; i < f->peers.n; i++)
        if (f->peers.at[i].id == worker)
            return &f->peers.at[i];
    return NULL;
}

/* Watches for the peer's end. If the peer's file is still locked after its pidfd was opened, the
 * pidfd refers to the process that holds the lock. */
static void add_peer(struct state_folder *f, int64_t worker, int pid)
{
    struct peer *p = vec_add(&f->peers);

    *p = (struct peer){
        .id = worker, .seen = true, .pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1};
    if (p->pidfd >= 0)
        (void)add_to_poll(f, p->pidfd);
}

/* Drops the pidfd of a process that has ended while the peer's lock is still held: the pid was not
 * the worker's. */
static void drop_wrong_pid(struct state_folder *f, struct peer *p)
{
    struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

    if (p->pidfd >= 0 && poll(&fd, 1, 0) > 0)
        drop_peer(f, p);
}

static void scan_worker(struct state_folder *f, int64_t worker)
{
    struct peer *p = find_peer(f, worker);
    struct worker_file file;

    if (read_peer_file(f, worker, &file))
        return;
    if (file.is_locked && p) {
        p->seen = true;
        drop_wrong_pid(f, p);
        return;
    }
    if (file.is_locked) {
        add_peer(f, worker, file.pid);
        if (read_peer_file(f, worker, &file) || file.is_locked)
            return;
    }
    *vec_add(&f->dead) = (struct dead_worker){.id = worker, .foreground = file.foreground};
}

bool state_folder_scan(struct state_folder *f)
{
    struct dirent *entry;
    size_t i, kept = 0;
    char events[4096];
    int64_t id;
    DIR *d;

    start_watch(f);
    d = opendir(f->workers);
    while (read(f->watch, events, sizeof(events)) > 0)
        ;
    for (i = 0; i < f->peers.n; i++)
        f->peers.at[i].seen = false;
    f->dead.n = 0;
    while (d && (entry = readdir(d)))
        if (parse_worker_name(entry->d_name, &id) && id != f->own_id)
            scan_worker(f, id);
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

const struct dead_worker *state_folder_dead_workers(const struct state_folder *f, size_t *n)
{
    *n = f->dead.n;
    return f->dead.at;
}

void state_folder_remove_worker(struct state_folder *f, int64_t worker)
{
    AUTO_FREE char *path = worker_file_path(f, worker);

    unlink(path);
    for (size_t i = 0; i < f->dead.n; i++)
        if (f->dead.at[i].id == worker) {
            f->dead.at[i] = f->dead.at[--f->dead.n];
            return;
        }
}

int64_t state_folder_worker_age(const struct state_folder *f, int64_t worker)
{
    AUTO_FREE char *path = worker_file_path(f, worker);
    struct stat st;
    int64_t age = INT64_MAX;

    if (!lstat(path, &st))
        age = clock_wall_us() - ((int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000);
    return age;
}

int state_folder_own_file(const struct state_folder *f)
{
    return f->lock;
}

bool state_folder_is_unstarted(const struct state_folder *f, int64_t worker, int64_t execution,
                               int attempt)
{
    AUTO_FREE char *path = worker_file_path(f, worker);
    AUTO_FD fd = -1;

    if (!worker || worker == f->own_id)
        return false;
    fd = own_file_open_given(AT_FDCWD, path, O_RDONLY, OWN_FILE_ANY_SIZE);
    return fd >= 0 && !flock(fd, LOCK_SH | LOCK_NB) &&
           start_marks_prove_unstarted(fd, f->generation, execution, attempt);
}

bool state_folder_is_alive(const struct state_folder *f, int64_t worker)
{
    struct worker_file file;

    return worker == f->own_id || (!read_peer_file(f, worker, &file) && file.is_locked);
}

bool state_folder_runs_tree(const struct state_folder *f, int64_t root)
{
    struct worker_file file;

    for (size_t i = 0; i < f->peers.n; i++)
        if (!read_peer_file(f, f->peers.at[i].id, &file) && file.is_locked &&
            file.foreground == root)
            return true;
    return false;
}

void state_folder_kill_worker(const struct state_folder *f, int64_t worker)
{
    AUTO_FREE char *path = worker_file_path(f, worker);

    worker_file_kill(path);
}
