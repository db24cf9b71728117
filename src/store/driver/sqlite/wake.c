/* wake.c - wake-ups between the processes of one database.
 *
 * The folder FILE.wake is next to the database. Each listener binds a datagram socket in it, whose
 * name contains the bits that the listener wants ("5-8f3ac01d2b44e977"). A wake-up is one byte, the
 * bits that changed, sent to each listener that wants one of them. The sender never waits: a
 * listener whose queue is full has unread wake-ups anyway. A lost wake-up only causes a delay
 * because listeners also poll, so the folder may be deleted at any time.
 *
 * Sockets are addressed through /proc/self/fd/N/NAME because the folder's path may be longer than
 * the 108 bytes of a socket address. */
#include "store/driver/sqlite/sqlite_db.h"
#include "store/driver/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The ms between polls of a listener. At least 10 s, because an idle worker must not run more than
 * one statement in that time. */
#define POLL_MS           10000
/* The ms between polls of a listener that has no socket. */
#define POLL_NO_SOCKET_MS 500
/* With this many unread datagrams, the queue of a socket (10 datagrams by default) may have been
 * full, and others may have been lost. */
#define QUEUE_MAYBE_FULL  8

static void set_address(struct sockaddr_un *a, int dir_fd, const char *name)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d/%.40s", dir_fd, name);
}

/* ---- waking ---- */

void sqlite_wake_release(struct sqlite_db *l)
{
    if (l->wake_dir)
        closedir(l->wake_dir);
    l->wake_dir = NULL;
}

/* Returns the folder of the sockets, rewound to its first entry; NULL if no process has ever
 * listened. */
static DIR *open_wake_dir(struct sqlite_db *l)
{
    struct stat st;
    char *path;

    if (l->wake_dir && (fstat(dirfd(l->wake_dir), &st) || st.st_nlink == 0))
        sqlite_wake_release(l); /* the folder was deleted; a new folder may exist */
    if (l->wake_dir) {
        rewinddir(l->wake_dir);
        return l->wake_dir;
    }
    path = mem_printf("%s.wake", l->path);
    l->wake_dir = opendir(path); /* sets close-on-exec */
    free(path);
    return l->wake_dir;
}

static void wake_listener(int fd, int dir_fd, const char *name, unsigned char what)
{
    struct sockaddr_un to;

    set_address(&to, dir_fd, name);
    if (sendto(fd, &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to)) < 0 &&
        errno == ECONNREFUSED)
        unlinkat(dir_fd, name, 0); /* the process of the socket died without closing it */
}

/* Sends a wake-up to the listeners. Opens a new socket each time: unread datagrams of a hanging
 * listener count against the buffer of the socket that sent them, and must not keep wake-ups from
 * reaching other listeners. */
void sqlite_wake(struct db *db, unsigned what)
{
    struct sqlite_db *l = sqlite_from_db(db);
    DIR *dir = open_wake_dir(l);
    struct dirent *entry;
    int fd = -1;

    while (dir && (entry = readdir(dir))) {
        char *dash;
        unsigned long wants = strtoul(entry->d_name, &dash, 10);

        if (*dash != '-' || !(wants & what))
            continue;
        if (fd < 0 && (fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
            return;
        wake_listener(fd, dirfd(dir), entry->d_name, (unsigned char)what);
    }
    if (fd >= 0)
        close(fd);
}

/* ---- listening ---- */

struct sqlite_listener {
    struct listener listener;
    unsigned what;
    int dir_fd;
    char name[32]; /* name of the socket in the folder; "" if the listener has no socket */
};

static unsigned drain(struct listener *listener)
{
    struct sqlite_listener *l = (struct sqlite_listener *)listener;
    unsigned char byte;
    unsigned got = 0, n = 0;

    while (listener->fd >= 0 && recv(listener->fd, &byte, 1, MSG_DONTWAIT) == 1) {
        got |= byte;
        n++;
    }
    return n < QUEUE_MAYBE_FULL ? got & l->what : l->what;
}

static void close_listener(struct listener *listener)
{
    struct sqlite_listener *l = (struct sqlite_listener *)listener;

    if (*l->name)
        unlinkat(l->dir_fd, l->name, 0);
    if (listener->fd >= 0)
        close(listener->fd);
    if (l->dir_fd >= 0)
        close(l->dir_fd);
    free(l);
}

/* Binds the listener's socket under a hidden name, then renames it. Between the steps of bind(2)
 * the socket's file exists but refuses datagrams, and a sender would mistake it for the socket of a
 * dead process and delete it. */
static int bind_socket(struct sqlite_listener *l)
{
    char hidden[40];
    struct sockaddr_un to;

    snprintf(l->name, sizeof(l->name), "%u-%016llx", l->what, (unsigned long long)env_random_id());
    snprintf(hidden, sizeof(hidden), ".%s", l->name);
    set_address(&to, l->dir_fd, hidden);
    if (bind(l->listener.fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
        renameat(l->dir_fd, hidden, l->dir_fd, l->name) == 0)
        return 0;
    *l->name = '\0';
    return -1;
}

static int open_socket(struct sqlite_listener *l, const char *folder)
{
    if (mkdir(folder, 0700) && errno != EEXIST)
        return -1;
    l->dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (l->dir_fd < 0)
        return -1;
    l->listener.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return l->listener.fd < 0 ? -1 : bind_socket(l);
}

/* Makes a listener without a socket poll often. Such a listener works, but with a delay, so this
 * logs a note and does not fail. */
static void poll_without_socket(struct sqlite_listener *l, const char *folder, struct env *env)
{
    char sentence[1024];

    snprintf(sentence, sizeof(sentence),
             "can't listen for wake-ups in %s: %s; polling for work every %d ms instead", folder,
             strerror(errno), POLL_NO_SOCKET_MS);
    if (env->note)
        env->note(env->arg, sentence);
    if (l->listener.fd >= 0)
        close(l->listener.fd);
    l->listener.fd = -1;
    l->listener.poll_ms = POLL_NO_SOCKET_MS;
    l->listener.is_complete = false;
}

int sqlite_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
                  struct err *err)
{
    struct sqlite_listener *l;
    char *path = NULL, *folder;

    TRY(sqlite_resolve_path(url->file, &path, err));
    l = mem_zalloc(sizeof(*l));
    *l = (struct sqlite_listener){.listener = {.fd = -1,
                                               .poll_ms = POLL_MS,
                                               .is_complete = true,
                                               .drain = drain,
                                               .close = close_listener},
                                  .what = what,
                                  .dir_fd = -1};
    folder = mem_printf("%s.wake", path);
    if (open_socket(l, folder))
        poll_without_socket(l, folder, env);
    *out = &l->listener;
    free(folder);
    free(path);
    return 0;
}
