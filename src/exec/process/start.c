/* start.c - starts an attempt: creates its folder and sends a request to the helper. Until the
 * request is sent, nothing has started; from then on only a check under the attempt's lock can tell
 * whether the task has. */
#include "exec/process/process_internal.h"
#include "exec/process/request.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Free space that an attempt needs on the disk to start, including some for its output. */
#define ROOM_BYTES 65536
#define ROOM_FILES 16
/* Descriptors that stay free: a check of an attempt needs up to 8, the database a few. */
#define SPARE_FDS  16

static void make_key(char out[ATTEMPT_KEY_SIZE])
{
    unsigned char bytes[16];

    env_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void fill_request(const struct process *p, const struct job *j, struct request *r)
{
    const struct spec *s = j->spec;

    r->execution = j->execution;
    r->attempt = j->attempt;
    r->epoch = j->epoch;
    r->until = j->lease_until;
    r->fence = p->fence && j->lease_until ? p->fence : -1;
    r->timeout = s->timeout;
    r->grace = s->grace > 0 ? s->grace : p->grace;
    r->head = p->log_head;
    r->tail = p->log_tail;
    r->memory = s->limits.memory;
    r->cpu = s->limits.cpu;
    r->files = s->limits.files;
    r->pids = s->limits.pids;
    r->cwd = s->cwd;
    r->user = s->user;
    r->input = s->input;
}

/* The request to the shim and the buffers that it points to. */
struct start_request {
    char key[ATTEMPT_KEY_SIZE];
    char *folder, *output, *values;
    struct variables v;
    struct container_command words; /* only for a container */
    struct arena arena;             /* owns the strings of argv */
    struct buf request;
};

static void start_request_release(struct start_request *o)
{
    process_variables_release(&o->v);
    container_command_release(&o->words);
    arena_release(&o->arena);
    if (o->request.ptr)
        explicit_bzero(o->request.ptr, o->request.cap);
    buf_release(&o->request);
    free(o->folder);
    free(o->output);
    free(o->values);
}

/* Fills in the request for a container. The engine's client runs with the worker's user and limits;
 * those of the task apply to the container. */
static void request_container(const struct start_request *o, struct request *r)
{
    r->memory = r->cpu = r->files = r->pids = 0;
    r->cwd = r->user = NULL;
    r->in_container = 1;
    r->argv = (const char **)(uintptr_t)o->words.argv.at;
    r->env = (const char **)(uintptr_t)o->words.env.at;
}

static int make_start_request(struct process *p, const struct job *j, struct start_request *o,
                              struct err *err)
{
    struct request r = {.key = o->key};
    struct paths paths;
    char name[ATTEMPT_NAME_SIZE];
    int rc;

    make_key(o->key);
    o->folder = mem_printf("%s/%s", p->dir_path, attempt_name(j->execution, j->attempt, name));
    o->output = mem_printf("%s/%s", o->folder, ATTEMPT_OUTPUT);
    o->values = mem_printf("%s/%s", o->folder, ATTEMPT_VALUES);
    paths = p->in_containers ? (struct paths){CONTAINER_OUTPUT, CONTAINER_VALUES}
                             : (struct paths){o->output, o->values};
    if ((rc = process_variables(p, j, o->key, &paths, &o->v, err)))
        return rc;
    if (p->in_containers &&
        (rc = container_command(&p->container, j, o->folder, o->v.all.at, &o->words, err)))
        return rc;
    fill_request(p, j, &r);
    r.output = o->output;
    r.argv = (const char **)(uintptr_t)spec_argv(j->spec, &o->arena);
    r.env = (const char **)(uintptr_t)o->v.all.at;
    r.secrets = (const char **)(uintptr_t)o->v.secrets.at;
    if (p->in_containers)
        request_container(o, &r);
    request_write(&r, &o->request);
    return 0;
}

bool process_is_disk_full(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

/* Whether the disk has enough free blocks and inodes. Only root may use all free blocks; some file
 * systems have no fixed number of inodes, and then report 0. */
bool process_has_room(int folder)
{
    struct statvfs disk;
    uint64_t bytes;

    if (fstatvfs(folder, &disk))
        return true;
    bytes = (uint64_t)(geteuid() ? disk.f_bavail : disk.f_bfree) * disk.f_frsize;
    return bytes >= ROOM_BYTES && (!disk.f_files || disk.f_ffree >= ROOM_FILES);
}

/* Keeps enough descriptors free to check attempts: without them, the records of an ended attempt
 * could not be read, and the attempt would keep its descriptors. */
int process_check_descriptors(const struct process *p, struct err *err)
{
    int fds[SPARE_FDS], n = 0, error = 0;

    while (n < SPARE_FDS && !error) {
        fds[n] = fcntl(p->dir, F_DUPFD_CLOEXEC, 0);
        if (fds[n] < 0)
            error = errno;
        else
            n++;
    }
    while (n > 0)
        close(fds[--n]);
    return error ? err_set(err, E_REFUSED,
                           "the worker has too few file descriptors left: %s; raise its limit "
                           "(ulimit -n)",
                           strerror(error))
                 : 0;
}

static int check_task(const struct process *p, const struct job *j, struct err *err)
{
    if (p->closed)
        return err_set(err, E_REFUSED, "this worker is stopping and accepts no more jobs");
    if (!j->spec->run && (!j->spec->argv || !j->spec->argv[0]))
        return err_set(err, E_INVALID, "there is no command: set `run` or `argv`");
    if (j->lease_until && j->lease_until - clock_boot_us() < p->lease / 2)
        return err_set(err, E_REFUSED,
                       "the job was not started, because less than half of its lease was "
                       "left: is this host overloaded?");
    if (process_check_descriptors(p, err))
        return -E_REFUSED;
    if (!process_has_room(p->dir))
        return err_set(err, E_REFUSED, "the disk of the state folder %s is full", p->dir_path);
    return p->in_containers ? container_check(&p->container, err) : 0;
}

/* Creates the folder with its start token. A `lock` that exists is that of a worker which has
 * adopted the attempt in the meantime: the folder is left to it. */
static int create_folder(struct process *p, const struct job *j)
{
    char name[ATTEMPT_NAME_SIZE];
    int at = attempt_make_folder(p->dir, j->execution, j->attempt), error;

    if (at < 0)
        return -1;
    env_point(p->x.env, "process:folder");
    if (attempt_write_start_token(at, j->execution, j->attempt) == 0)
        return at;
    error = errno;
    close(at);
    if (error != EEXIST)
        attempt_remove_folder(p->dir, attempt_name(j->execution, j->attempt, name));
    errno = error;
    return -1;
}

static int make_folder(struct process *p, const struct job *j, struct err *err)
{
    int at;

    env_point(p->x.env, "process:before-folder");
    at = create_folder(p, j);
    if (at >= 0)
        return at;
    /* Refused: the next attempt of the job has a new number and so a free folder name. */
    if (errno == EEXIST)
        return err_set(err, E_REFUSED, "attempt %d of execution %lld already has a folder",
                       j->attempt, (long long)j->execution);
    return err_set(err, E_REFUSED, "can't create a folder in %s: %s", p->dir_path, strerror(errno));
}

void process_set_undo_by_name(struct process *p, struct watch *w)
{
    char name[ATTEMPT_NAME_SIZE];
    AUTO_FREE char *folder =
        mem_printf("%s/%s", p->dir_path, attempt_name(w->execution, w->attempt, name));
    AUTO(container_command_release) struct container_command words = {0};

    container_undo_command(&p->container, w->execution, w->attempt, folder, &words);
    undo_set_command(&w->undo, (const char *const *)words.undo.at, NULL);
}

static bool write_value(int folder, const struct spec_pair *value)
{
    AUTO_FD fd = openat(folder, value->key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t len = strlen(value->value);

    return fd >= 0 && !fchmod(fd, 0644) && write(fd, value->value, len) == (ssize_t)len;
}

/* Writes the values of the key `files`. Access to the values is restricted by their folder only:
 * the shim gives it to the user of the task, and a container may run as any user. */
static bool write_values(const struct process *p, int at, const struct spec *s)
{
    AUTO_FD folder = -1;

    if (!s->nfiles)
        return true;
    if (mkdirat(at, ATTEMPT_VALUES, 0700) ||
        (folder = openat(at, ATTEMPT_VALUES, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        (p->in_containers && fchmod(folder, 0755)))
        return false;
    for (size_t i = 0; i < s->nfiles; i++)
        if (!write_value(folder, &s->files[i]))
            return false;
    return true;
}

/* Records that the start is about to be requested. The folder has its start token by now: if this
 * worker dies, either its file proves that nothing was requested, or the token proves that nothing
 * was started. */
static int mark_start(struct process *p, const struct watch *w, struct err *err)
{
    env_point(p->x.env, "process:before-mark");
    if (!p->marks || !start_marks_add(p->marks, w->execution, w->attempt))
        return 0;
    return err_set(err, E_REFUSED,
                   "the start of the command can't be recorded in the worker's file: %s; free disk "
                   "space or check the state folder",
                   strerror(errno));
}

/* Sends the request to the helper. On failure the watch is dropped and the folder removed, because
 * nothing has started in it. */
static int send_start_request(struct process *p, struct watch *w, const struct spec *s,
                              const struct start_request *o, struct err *err)
{
    char name[ATTEMPT_NAME_SIZE];
    int rc = 0;

    if (!write_values(p, w->at, s))
        rc = err_set(err, E_REFUSED, "can't write to the attempt folder %s: %s", o->folder,
                     strerror(errno));
    if (!rc && p->in_containers) {
        const char *const *argv = (const char *const *)o->words.undo.at;
        const char *const *env = (const char *const *)o->words.client.at;

        undo_set_command(&w->undo, argv, env);
        if (undo_write(w->at, argv, env))
            rc = err_set(err, E_REFUSED, "can't write to the attempt folder %s: %s", o->folder,
                         strerror(errno));
    }
    if (!rc)
        rc = mark_start(p, w, err);
    env_point(p->x.env, "process:before-request");
    if (!rc)
        rc = process_helper_send(p, w, &o->request, err);
    if (rc) {
        attempt_name(w->execution, w->attempt, name);
        watch_drop(p, w, true);
        attempt_remove_folder(p->dir, name);
    }
    return rc;
}

int process_start(struct executor *x, const struct job *j, void **handle, struct err *err)
{
    struct process *p = (struct process *)x;
    AUTO(start_request_release) struct start_request o = {0};
    struct watch *w;
    int rc, at;

    if ((rc = check_task(p, j, err)) || (rc = process_helper_start(p, err)) ||
        (rc = make_start_request(p, j, &o, err)))
        return rc;
    if ((at = make_folder(p, j, err)) < 0)
        return at;
    w = watch_new(p, j, at);
    if ((rc = send_start_request(p, w, j->spec, &o, err)))
        return rc;
    *handle = w;
    w->check_at = clock_boot_us() + p->lease;
    wakeup_at(&p->wakeup, w->check_at);
    env_point(p->x.env, "process:requested");
    return 0;
}
