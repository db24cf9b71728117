/* old_attempts.c - ends the attempts of another generation, and removes their folders, see
 * attempt.h.
 *
 * Several workers may end the same attempts at once: each waits until the processes are gone. Only
 * one worker at a time removes folders. */
#include "base/env.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "base/proc.h"
#include "exec/attempt/attempt.h"
#include "exec/attempt/proc_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define POLL_PAUSE 10000 /* µs */

/* ---- the processes that run now ---- */

/* The result of one scan of /proc for all attempts: one scan for each would take most of the
 * time. */
struct alive {
    struct proc_search s;
    VEC(pid_t) sessions;
    VEC(char *) keys; /* the attempts' keys that were found in environments */
};

static bool note_process(struct proc_search *s, int proc, pid_t pid)
{
    struct alive *a = (struct alive *)s;
    const size_t len = strlen(ATTEMPT_KEY_NAME "=");
    struct proc_stat line;

    (void)pid;
    if (!proc_search_read(s, proc, "stat", 4096) || !proc_parse_stat(s->text.ptr, &line) ||
        line.state == 'Z' || line.state == 'X')
        return false;
    *vec_add(&a->sessions) = line.session;
    if (proc_search_read(s, proc, "environ", ENVIRON_MAX))
        for (size_t i = 0; i < s->text.len; i += strlen(s->text.ptr + i) + 1)
            if (!strncmp(s->text.ptr + i, ATTEMPT_KEY_NAME "=", len))
                *vec_add(&a->keys) = mem_strdup(s->text.ptr + i + len);
    return false;
}

static void alive_release(struct alive *a)
{
    for (size_t i = 0; i < a->keys.n; i++)
        free(a->keys.at[i]);
    vec_release(&a->keys);
    vec_release(&a->sessions);
    buf_release(&a->s.text);
}

static bool has_process(const struct alive *a, const struct attempt_shim *shim)
{
    for (size_t i = 0; i < a->sessions.n; i++)
        if (shim->session && a->sessions.at[i] == shim->session)
            return true;
    for (size_t i = 0; i < a->keys.n; i++)
        if (!strcmp(a->keys.at[i], shim->key))
            return true;
    return a->s.error != 0;
}

/* Whether the attempt has certainly ended: nothing of it can run any more. */
static bool has_ended(const struct alive *a, int at)
{
    struct attempt_shim shim;
    AUTO_FD pidfd = -1;

    if (attempt_is_locked(at, ATTEMPT_LOCK) || attempt_is_locked(at, ATTEMPT_TREE) ||
        record_read(at, &RECORD_SHIM, &shim) != 1 || !*shim.key || has_process(a, &shim) ||
        (*shim.cgroup && access(shim.cgroup, F_OK) == 0) ||
        faccessat(at, ATTEMPT_UNDO, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    pidfd = attempt_shim_pidfd(&shim);
    return pidfd < 0 && errno == ESRCH;
}

/* ---- ending ---- */

/* Whether a shim runs even though the caller holds the lock file, or the file was replaced: the
 * shim may have locked another file under that name. If no shim runs, none can start: it could not
 * take the lock. */
static bool has_shim_without_lock(int at)
{
    struct attempt_shim s;
    int known = record_read(at, &RECORD_SHIM, &s);
    AUTO_FD pidfd = attempt_find_shim(at, known == 1 ? &s : NULL);

    return pidfd >= 0 || errno != ESRCH;
}

struct end_all {
    struct alive alive;
    const struct attempt_ending *o;
    int dir;
    struct err *err;
    const char *path;
    int64_t execution; /* the attempt that is being ended */
    int attempt;
};

static bool is_stopped(const struct end_all *all)
{
    return all->o->stop && all->o->stop(all->o->arg);
}

/* Sends the kill command to the shim; if `late`, kills the shim itself. The caller repeats it until
 * the shim has ended. */
static bool ask_to_end(int at, bool late)
{
    const struct attempt_control stop = {.epoch = INT64_MAX, .command = COMMAND_KILL};

    return (late ? attempt_kill_any_shim(at) : attempt_send_command(at, &stop)) == 0;
}

/* Ends the attempt's shim: sends it the kill command, kills it after half of the patience, and
 * waits until it has ended. *lock is the descriptor of the attempt's lock, or -1 if the lock file
 * was replaced. False if the shim did not end in time, or the caller stopped the wait. */
static bool stop_shim(const struct end_all *all, int at, int *lock)
{
    int64_t start = clock_boot_us(), patience = all->o->patience;

    for (;;) {
        int64_t waited = clock_boot_us() - start;
        bool unlocked;

        *lock = attempt_lock(at, ATTEMPT_LOCK, false);
        unlocked = *lock >= 0 || own_file_is_fault(errno);
        if (!unlocked && errno != EAGAIN)
            return false;
        if (unlocked && !has_shim_without_lock(at))
            return true;
        fd_close(lock);
        if (waited > patience || is_stopped(all))
            return false;
        ask_to_end(at, waited > patience / 2);
        clock_sleep_us(POLL_PAUSE);
    }
}

/* Kills what is left of an attempt without a shim. `known` is the result of reading the shim's
 * record: without that record, processes are found by `tree` and by their environment. */
static bool kill_remains(const struct end_all *all, int at, int known,
                         const struct attempt_shim *shim)
{
    bool alive = attempt_kill_remains(at, shim) > 0 || attempt_is_locked(at, ATTEMPT_TREE);

    return (known != 1 && attempt_kill_strays(all->path, all->execution, all->attempt)) || alive;
}

/* Sets the error of an attempt whose shim or processes did not end. The number of the process or
 * session is named if it was recorded in this pid namespace and boot. */
static int set_not_ended(const struct end_all *all, const struct attempt_shim *shim, bool is_shim,
                         struct err *why)
{
    int64_t number = is_shim ? shim->pid : shim->session;
    char known[40] = "";

    if (number && shim->place && shim->place == proc_place())
        snprintf(known, sizeof(known), " (%s %lld)", is_shim ? "process" : "session",
                 (long long)number);
    return err_set(why, E_BUSY,
                   is_shim ? "the shim%s of the attempt in %s/%lld.%d did not end; kill it, then "
                             "try again"
                           : "processes%s of the attempt in %s/%lld.%d did not end; kill them, "
                             "then try again",
                   known, all->path, (long long)all->execution, all->attempt);
}

/* Runs the undo command, which removes the container. */
static int end_container(const struct end_all *all, int at, struct err *why)
{
    int64_t deadline = clock_boot_us() + all->o->patience;
    AUTO(undo_release) struct undo undo = {0};

    /* Most attempts have no undo command. If the file exists and can't be read, an operator must
     * remove the container. */
    if (!undo_load(&undo, at) && faccessat(at, ATTEMPT_UNDO, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return err_set(why, E_BUSY,
                       "the container of the attempt in %s/%lld.%d can't be removed, because the "
                       "file %s there can't be read; remove the container and that file, then try "
                       "again",
                       all->path, (long long)all->execution, all->attempt, ATTEMPT_UNDO);
    while (!undo_poll(&undo)) {
        if (clock_boot_us() > deadline || is_stopped(all))
            return err_set(why, E_BUSY,
                           "the container of the attempt in %s/%lld.%d could not be removed: %s; "
                           "remove it with podman or docker, then try again",
                           all->path, (long long)all->execution, all->attempt,
                           *undo.message ? undo.message : "the container engine does not respond");
        clock_sleep_us(POLL_PAUSE);
    }
    return 0;
}

/* Ends one attempt; when this returns 0, none of its processes runs any more. */
static int end_attempt(const struct end_all *all, int at, struct err *why)
{
    struct attempt_shim shim = {0};
    int64_t deadline = clock_boot_us() + all->o->patience;
    AUTO_FD lock = -1;
    bool stopped = stop_shim(all, at, &lock);
    int known = record_read(at, &RECORD_SHIM, &shim);

    if (!stopped)
        return set_not_ended(all, &shim, true, why);
    if (attempt_write_tombstone(at))
        return err_set(why, E_BUSY, "can't write to the attempt folder %s/%lld.%d: %s", all->path,
                       (long long)all->execution, all->attempt, strerror(errno));
    while (kill_remains(all, at, known, &shim)) {
        if (clock_boot_us() > deadline || is_stopped(all))
            return set_not_ended(all, &shim, false, why);
        clock_sleep_us(POLL_PAUSE);
    }
    return end_container(all, at, why);
}

static int set_stopped(struct end_all *all)
{
    return err_set(all->err, E_UNAVAILABLE,
                   "this worker was stopped before it had ended all attempts of an earlier "
                   "generation in %s; the next worker ends the rest",
                   all->path);
}

/* Ends one attempt unless it has ended. Another worker may remove the folder meanwhile. */
static int end_if_running(struct end_all *all, int64_t execution, int attempt)
{
    AUTO_FD at = attempt_open_folder(all->dir, execution, attempt);
    struct err why = ERR_INIT;

    if (at < 0 && errno != ENOENT)
        return err_set(all->err, E_UNAVAILABLE, "the folder %s/%lld.%d can't be opened: %s",
                       all->path, (long long)execution, attempt, strerror(errno));
    if (at < 0 || has_ended(&all->alive, at))
        return 0;
    all->execution = execution;
    all->attempt = attempt;
    if (!end_attempt(all, at, &why) || attempt_is_folder_removed(at))
        return 0;
    if (is_stopped(all))
        return set_stopped(all);
    *all->err = why;
    return -(int)why.code;
}

static int end_one(void *arg, int64_t execution, int attempt, bool locked)
{
    struct end_all *all = arg;

    (void)locked;
    return is_stopped(all) ? set_stopped(all) : end_if_running(all, execution, attempt);
}

/* Asks one shim to end. All shims are asked before any is awaited, so that they end at the same
 * time. */
static int ask_one(void *arg, int64_t execution, int attempt, bool locked)
{
    const struct end_all *all = arg;
    AUTO_FD at = locked ? attempt_open_folder(all->dir, execution, attempt) : -1;

    if (at >= 0)
        ask_to_end(at, false);
    return 0;
}

static int remove_one(void *arg, int64_t execution, int attempt, bool locked)
{
    struct end_all *all = arg;
    char name[ATTEMPT_NAME_SIZE];
    int rc;

    (void)locked;
    if (is_stopped(all))
        return set_stopped(all);
    rc = end_if_running(all, execution, attempt);
    if (!rc && attempt_remove_folder(all->dir, attempt_name(execution, attempt, name)) &&
        errno != ENOENT)
        rc = err_set(all->err, E_UNAVAILABLE, "the folder %s/%s can't be removed: %s", all->path,
                     name, strerror(errno));
    if (all->o->removed)
        all->o->removed(all->o->arg, rc ? all->err->msg : NULL);
    return all->o->removed ? 0 : rc;
}

/* Opens the folder and looks for processes. If the folder does not exist, returns 0 and sets
 * all->dir to -1. */
static int open_all(struct end_all *all)
{
    all->dir = open(all->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (all->dir < 0 && errno != ENOENT)
        return err_set(all->err, E_UNAVAILABLE, "the folder %s can't be opened: %s", all->path,
                       strerror(errno));
    if (all->dir >= 0)
        (void)proc_search(&all->alive.s, note_process);
    return 0;
}

static void close_all(struct end_all *all)
{
    alive_release(&all->alive);
    fd_close(&all->dir);
}

int attempt_end_running(const char *dir, const struct attempt_ending *o, struct err *err)
{
    struct end_all all = {.o = o, .err = err, .path = dir};
    int rc = open_all(&all);

    if (!rc && all.dir >= 0 && !(rc = attempt_each(dir, ask_one, &all, err)))
        rc = attempt_each(dir, end_one, &all, err);
    close_all(&all);
    return rc;
}

int attempt_remove_all(const char *dir, const struct attempt_ending *o, struct err *err)
{
    struct end_all all = {.o = o, .err = err, .path = dir};
    int rc = open_all(&all);

    if (!rc && all.dir >= 0)
        rc = flock(all.dir, LOCK_EX | LOCK_NB) ? -E_BUSY : attempt_each(dir, remove_one, &all, err);
    close_all(&all);
    return rc;
}
