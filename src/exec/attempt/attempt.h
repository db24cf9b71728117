/* attempt.h - the folder of one attempt, which its shim and whoever holds its lease share:
 *
 *     <dir>/<execution>.<attempt>/
 *         lock       held by the shim alone, from before anything starts until it has ended
 *         tree       held by all that the task started: free means that nothing of it is left
 *         tombstone  nothing may be started here any more; made under `lock`
 *         shim       who runs it, and how to find its remains; there = it was begun
 *         lease      epoch and end of the lease, overwritten with each renewal
 *         control    a fifo: what the holder of the lease wants of the shim
 *         exit       how it ended, whole or not there; `exit.new`, reserved before the start and
 *                    written at the end, is renamed to it
 *         ending     the same, while the container of it is not gone yet
 *         log        what it said: head, then a ring for the tail; `log.pos` once the ring turned
 *         output     $PAWL_OUTPUT
 *         work       where it runs, if it names no folder of its own
 *         undo       the command that ends what it has outside of its tree: a container
 *
 * Records are checksummed and never fsynced: after a power cut the attempt is lost, which is
 * allowed. A task runs as the same user and can replace every one of these files: so each is opened
 * by own_file.h, relative to a handle, and one that is no plain file any more is never believed. */
#ifndef EXEC_ATTEMPT_ATTEMPT_H
#define EXEC_ATTEMPT_ATTEMPT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ATTEMPT_LOCK      "lock"
#define ATTEMPT_TREE      "tree"
#define ATTEMPT_CONTROL   "control"
#define ATTEMPT_LOG       "log"
#define ATTEMPT_OUTPUT    "output"
#define ATTEMPT_WORK      "work"
#define ATTEMPT_UNDO      "undo"

/* Each process of an attempt has this variable in its environment, with the key of the attempt. */
#define ATTEMPT_KEY_NAME  "PAWL_ATTEMPT_KEY"
#define ATTEMPT_KEY_SIZE  64

#define ATTEMPT_NAME_SIZE 48

/* No file of an attempt is larger, in bytes. */
#define ATTEMPT_LOCK_MAX  INT64_MAX /* locks are never read */
#define ATTEMPT_UNDO_MAX  65536
#define ATTEMPT_LOG_MAX   (INT64_C(2) << 30) /* head and tail, as large as settings allow */
#define CGROUP_PATH_SIZE  256

/* --- the folder ---------------------------------------------------------------------------------
 */

/* "<execution>.<attempt>", and back: false if the name is no attempt's. */
char *attempt_name(int64_t execution, int attempt, char *out);
bool attempt_parse_name(const char *name, int64_t *execution, int *attempt);

/* Makes the folder and opens it: a handle, or -1 and errno (EEXIST: it was there). */
MUST_USE int attempt_make_folder(int dir, int64_t execution, int attempt);
MUST_USE int attempt_open_folder(int dir, int64_t execution, int attempt); /* or -1 and errno */

/* Takes a lock without waiting (wait: until it is free): its handle, or -1 and errno (EAGAIN: held
 * by another). Closing the last copy of the handle gives it back. */
MUST_USE int attempt_lock(int at, const char *name, bool wait);
/* Looks without taking, so that it is in nobody's way. */
bool attempt_is_locked(int at, const char *name);
/* The same of a file that is open, whatever has its name by now. */
bool attempt_file_is_locked(int fd);
/* Marks a held `lock`: the task has ended, and its shim knows how, but can't write it down yet. The
 * mark is part of the lock, so it needs no disk and goes with the shim. */
void attempt_mark_end_known(int lock);
bool attempt_is_end_known(int at);
/* The right to write the lease, and to act on what it says: whoever has looked for a higher epoch
 * must not be overtaken by one before it has acted. A handle of its own, which nobody inherits, so
 * that it goes with us; or -1 and errno. */
MUST_USE int attempt_lock_lease(int at);
bool attempt_is_folder_removed(
    int at); /* the folder, by whoever: nothing can be made in it any more */

MUST_USE int attempt_write_tombstone(int at); /* 0, or -1 and errno; the caller holds `lock` */
bool attempt_has_tombstone(int at);

/* Removes the folder and all in it, however deep: 0, or -1 and errno. Never leaves it by a link. */
int attempt_remove_folder(int dir, const char *name);

/* --- records ------------------------------------------------------------------------------------
 */

struct attempt_shim {
    int64_t pid, start_time; /* of the shim, as /proc counts */
    int64_t epoch;           /* that it was begun with */
    int64_t begun;           /* CLOCK_BOOTTIME, µs */
    int64_t session;         /* of the task; 0: not begun yet */
    int64_t session_start;
    char key[ATTEMPT_KEY_SIZE];
    char cgroup[CGROUP_PATH_SIZE]; /* absolute; "": none */
};

struct attempt_lease {
    int64_t epoch, until; /* CLOCK_BOOTTIME, µs */
};

enum attempt_command {
    COMMAND_CANCEL = 1, /* TERM, grace, KILL */
    COMMAND_TIME_OUT,   /* the same for another reason */
    COMMAND_KILL,       /* KILL at once */
};

struct attempt_control {
    int64_t epoch, command;
};

enum attempt_end {
    END_EXITED = 1,
    END_SIGNALLED,
    END_TIMED_OUT,
    END_CANCELLED,
    END_FENCED,      /* nobody renewed the lease */
    END_NOT_STARTED, /* the command could not be executed: step and error say why */
    END_CLIENT,      /* so ended who asked an engine for it, and the engine does not say the same */
};

/* The steps between fork and exec, in the words of "can't …". */
#define ATTEMPT_STEPS(X)                        \
    X(FORK, "start a process")                  \
    X(FILES, "open the files of the attempt")   \
    X(LIMITS, "set the limits")                 \
    X(USER, "become the user")                  \
    X(OUTPUT, "reach $PAWL_OUTPUT as the user") \
    X(CWD, "enter the folder")                  \
    X(EXEC, "execute")

enum attempt_step {
    STEP_NONE,
#define X(name, text) STEP_##name,
    ATTEMPT_STEPS(X)
#undef X
};
const char *attempt_step_text(int64_t step);

struct attempt_exit {
    int64_t kind, code, signal; /* the main process's own code or signal, whatever the kind */
    int64_t step, error;        /* END_NOT_STARTED: attempt_step and errno */
    int64_t begun, ended;       /* CLOCK_BOOTTIME, µs */
    int64_t cpu, peak_memory;   /* µs, bytes */
    int64_t log_total, log_unwritten;
};

struct attempt_log_pos {
    int64_t total, head, tail;
};

/* Name and magic number of each kind of record. RECORD_ENDING is an exit that is known, of work
 * whose container is not gone yet. */
struct record {
    const char *name;
    uint64_t magic;
    size_t size;
};
extern const struct record RECORD_SHIM, RECORD_LEASE, RECORD_CONTROL, RECORD_EXIT, RECORD_ENDING,
    RECORD_LOG_POS;

/* The largest record, head and checksum included. */
#define RECORD_MAX 512

/* The bytes of a record; `out` has room for RECORD_MAX. Returns their number. */
size_t record_encode(const struct record *kind, const void *from, void *out);
/* False if the bytes are not that record, whole and unharmed. */
bool record_decode(const struct record *kind, const void *bytes, size_t len, void *to);

/* What is there: 1 read, 0 no such file, or -1 and errno: EBADMSG if it is no good, one of
 * own_file_is_fault if it is not the file that was made there, one of error_may_pass if it may be
 * read later. No errno is both of the latter. */
int record_read(int at, const struct record *kind, void *to);
/* Overwrites in place, in one write; creates it. 0, or -1 and errno. */
MUST_USE int record_write(int at, const struct record *kind, const void *from);
/* Whether the next try to read or write may succeed: the disk was full or failed, or a limit of the
 * process or the host was reached. Any other error stays until somebody changes the file. */
bool error_may_pass(int error);
/* Creates the file from which the record will be published, with its blocks: on a file system that
 * overwrites in place, a full disk can't prevent the publication. Its handle, or -1 and errno. */
MUST_USE int record_reserve(int at, const struct record *kind);
/* Removes that file. */
void record_release(int at, const struct record *kind);
/* Writes it aside and renames it: there is all of it or nothing. *reserved is the handle from
 * record_reserve, or -1; it is closed and set to -1 on success, and may be replaced on failure,
 * after which the caller may try again. A reserved file that was removed is made anew. -1 and
 * ENOSTR: something else than a plain file stands under one of both names, which no other try
 * changes. `step`, unless NULL, is called in between. */
MUST_USE int record_publish(int at, const struct record *kind, const void *from, int *reserved,
                            void (*step)(const char *where));

/* The highest epoch that this folder has seen; 0: none. */
int64_t attempt_epoch(int at);
/* Notes epoch and time, unless the folder has seen a higher epoch: then -E_LEASE_LOST. -E_INVALID:
 * somebody has put something else in the place of the file. */
MUST_USE int attempt_renew(int at, const struct attempt_lease *l, struct err *err);
/* Writes the first lease record, unless there is one: renewals overwrite it in place, so that a
 * disk that fills up later can't stop them. 0, or -1 and errno. */
MUST_USE int attempt_begin_lease(int at, const struct attempt_lease *l);
/* Tells the shim something. 0; -1 and errno (ENXIO, ENOENT: nobody listens, yet or any more). */
MUST_USE int attempt_send_command(int at, const struct attempt_control *c);

/* --- what a task did to its own folder ----------------------------------------------------------
 */

#define ATTEMPT_FAULT_SIZE 120
/* Whether a file of the attempt is something else than what was made there: false, or true and the
 * words that name it. */
MUST_USE bool attempt_fault(int at, char out[ATTEMPT_FAULT_SIZE]);

/* Handle of the shim that has this folder open, or -1: for folders whose lock says nothing, as
 * somebody replaced it. Looks at the recorded process alone, or at all of them (NULL). */
MUST_USE int attempt_find_shim(int at, const struct attempt_shim *recorded);

/* --- log and output -----------------------------------------------------------------------------
 */

/* What is kept of the output: `kept` bytes in all, of which `head` stand before a gap of `dropped`
 * bytes (0: no gap). */
struct attempt_log {
    int64_t kept, head, dropped;
};
/* 0, or -1 and errno (ENOENT: it said nothing, or nothing could be written). */
MUST_USE int attempt_log_size(int at, struct attempt_log *out);
/* Appends kept bytes from `offset` on, at most `max`. 0, or -1 and errno. */
MUST_USE int attempt_log_read(int at, const struct attempt_log *log, int64_t offset, size_t max,
                              struct buf *out);

/* --- ending what is left ------------------------------------------------------------------------
 */

/* Handle of the shim that is recorded, or -1: it is gone. Only if the caller has seen `lock` held
 * afterwards is it sure that this is the shim and not another with its number. */
MUST_USE int attempt_shim_pidfd(const struct attempt_shim *s);

/* Kills all that is left of an attempt whose shim is gone: its cgroup, and every process that
 * carries its key, holds `tree`, or is of its session. Returns how many were found alive. The
 * caller holds `lock` and the current epoch. */
int attempt_kill_remains(int at, const struct attempt_shim *s);
/* The same, with `tree` by a handle: what has its name may be another file by now. */
int attempt_kill_remains_of(int tree, const struct attempt_shim *s);

/* Kills a shim that hears nothing; what it leaves is to be ended afterwards. 0: the signal was
 * sent. -1: it was not, as it is another worker's by now, one of a higher epoch, or has ended; or
 * its records can't be read. */
MUST_USE int attempt_kill_shim(int at, int64_t epoch);

/* Ends everything below `dir`, whoever began it, and removes it: for the folders of another
 * generation. Waits at most `patience` µs for each attempt. A folder that isn't there is fine. */
MUST_USE int attempt_end_all(const char *dir, int64_t patience, struct err *err);

/* Calls `each` for every attempt below dir, until it returns something else than 0, which is then
 * returned. `held` says whether a shim is at work there. */
MUST_USE int attempt_each(const char *dir,
                          int (*each)(void *arg, int64_t execution, int attempt, bool locked),
                          void *arg, struct err *err);

/* No environment of a process is larger. */
#define ENVIRON_MAX (8 << 20)

/* Calls `each` for every process that says by its environment that it is of an attempt below dir,
 * as far as we may look. */
void attempt_each_process(const char *dir,
                          void (*each)(void *arg, int64_t execution, int attempt, pid_t pid),
                          void *arg);

/* --- what is outside of the tree ----------------------------------------------------------------
 *
 * A container is no child of whoever asked for it: its engine began it, and only the engine knows
 * when it is gone. So its attempt has a command that ends it, which may be run as often as wanted
 * and by anybody who may end the attempt. Until that has said yes, the attempt may live. */

#define UNDO_FOUND "found" /* what it says first of what it finds, with its state and exit code */
#define UNDO_GONE  "gone"  /* what it says last if nothing is left */
#define UNDO_ENDED "over"  /* … if what is left has ended, and nobody begins it again */

/* The first of them stays: afterwards it is being removed. */
enum undo_found {
    FOUND_NOTHING, /* it is not there, or its engine was not heard yet */
    FOUND_ENDED,   /* the command has ended by itself */
    FOUND_OTHER,   /* not begun, or running */
};

/* With the environment in which its engine is found, whoever runs it; env NULL: one's own. 0, or -1
 * and errno. */
MUST_USE int undo_write(int at, const char *const *argv, const char *const *env);

struct undo {
    bool done;             /* nothing is left that runs or will run */
    bool unremovable;      /* done, but it is still there: it can't be removed, `said` says why */
    int times_unremovable; /* how often that was said in a row */
    struct buf words; /* each with its NUL, then an empty one, then the environment likewise; none:
                         there is nothing to undo */
    int64_t owner;    /* the user that began it, if another: our engine does not know it; else 0 */
    pid_t pid;        /* that runs now; 0: none */
    int out;          /* what it says */
    int64_t started_at;
    int64_t next, pause; /* when it is tried again, and how long after the last time */
    enum undo_found found;
    int64_t code; /* FOUND_ENDED: the command's exit code */
    size_t len;
    char message[400]; /* by the last one that failed; "": none did */
};
/* Takes the words; begin with zeroes. False: the file is not there, or harmed. */
void undo_set_command(struct undo *u, const char *const *argv, const char *const *env);
MUST_USE bool undo_load(struct undo *u, int at);
/* Goes on with it, without waiting: runs it, listens to it, runs it again if it failed, kills one
 * that takes too long. Returns `done`. */
bool undo_poll(struct undo *u);
/* The same until it is done, `patience` µs at most. */
MUST_USE bool undo_run(struct undo *u, int64_t patience);
/* Gives up, for another to do it, and frees the words. */
void undo_release(struct undo *u);

/* --- cgroups (version 2) ------------------------------------------------------------------------
 */

/* The path of our own cgroup, if we may make others in it; "" otherwise. */
void cgroup_find(char out[CGROUP_PATH_SIZE]);
/* Makes one; its handle, or -1. */
MUST_USE int cgroup_make(const char *path);
/* Sets a limit if its controller is there. */
bool cgroup_limit(int cgroup, const char *file, int64_t value);
bool cgroup_kill(const char *path); /* false: it can't be */
void cgroup_remove(const char *path);

#endif
