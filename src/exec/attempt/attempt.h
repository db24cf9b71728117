/* attempt.h - the attempt folder: locks, records and log of one attempt, shared by its shim and the
 * worker that holds its lease. src/exec/attempt/ knows neither the database nor the executors.
 *
 *     <dir>/<execution>.<attempt>/
 *         lock       locked by the shim, from before anything starts until everything has ended;
 *                    contains the start token until the shim takes it, right before the start
 *         tree       locked by every process that the task started: free when none is left
 *         tombstone  nothing may be started in this folder any more; created under `lock`
 *         shim       record: which process runs the attempt and how to find what it leaves
 *                    behind; created complete, by renaming `shim.new`. The attempt was started
 *                    if and only if this record exists, unless the task removed it: then a shim
 *                    or a process of the task may be found
 *         lease      record: epoch and end of the lease, overwritten by each renewal
 *         control    a FIFO: commands from the lease holder to the shim
 *         exit       record: how the attempt ended; either complete or absent. The shim reserves
 *                    `exit.new` before the start, writes it at the end and renames it
 *         ending     record: like `exit`, written while the attempt's container is not gone yet
 *         container  record: what another shim needs to continue to watch the attempt's container
 *         log        the output: a head, then a ring for the tail; `log.pos` exists once the ring
 *                    has wrapped
 *         output     $PAWL_OUTPUT
 *         values     a folder with the values of the key `files`, each in a file of its name
 *         work       the working directory, unless the task names another
 *         undo       the command that ends what runs outside of the process tree: a container
 *
 * How a worker reattaches to an attempt that another worker started:
 *
 *     1. it writes its higher epoch to `lease` (attempt_renew); from then on the shim obeys no
 *        lower epoch
 *     2. it tries to take `lock`; the table at the top of process/reattach.c says what each
 *        combination of `lock`, `shim` and `exit` means
 *
 * Records are checksummed and never fsynced: after a power cut the attempt is lost, which is
 * allowed. A task runs as the same user and can replace any of these files. Therefore each is
 * opened through own_file.h, relative to a directory descriptor, and one that is no longer a plain
 * file is not trusted. */
#ifndef EXEC_ATTEMPT_ATTEMPT_H
#define EXEC_ATTEMPT_ATTEMPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ATTEMPT_LOCK        "lock"
#define ATTEMPT_TREE        "tree"
#define ATTEMPT_CONTROL     "control"
#define ATTEMPT_LOG         "log"
#define ATTEMPT_OUTPUT      "output"
#define ATTEMPT_VALUES      "values"
#define ATTEMPT_WORK        "work"
#define ATTEMPT_UNDO        "undo"

/* Each process of an attempt has this variable in its environment, with the key of the attempt. */
#define ATTEMPT_KEY_NAME    "PAWL_ATTEMPT_KEY"
#define ATTEMPT_KEY_SIZE    64

/* The mode bit that `output` has while the shim masks secrets in it in place: if the shim is killed
 * then, the file holds neither the old nor the new text. Setting a mode needs no disk space. */
#define ATTEMPT_OUTPUT_MARK S_ISVTX

#define ATTEMPT_NAME_SIZE   48

/* The largest valid size of each file, in bytes. */
#define ATTEMPT_LOCK_MAX    INT64_MAX /* at most RECORD_MAX bytes of a lock file are read */
#define ATTEMPT_UNDO_MAX    65536
#define ATTEMPT_LOG_MAX     (INT64_C(2) << 30) /* head and tail, as large as settings allow */
#define CGROUP_PATH_SIZE    248
#define RECORD_MAX          512 /* the largest record, with its magic number and checksum */

/* ---- the folder ---- */

/* Writes "<execution>.<attempt>" to `out` (ATTEMPT_NAME_SIZE bytes) and returns it. */
char *attempt_name(int64_t execution, int attempt, char *out);
/* Parses the name of an attempt folder; false if `name` is not one. */
bool attempt_parse_name(const char *name, int64_t *execution, int *attempt);

/* Creates and opens the folder. Returns its descriptor, or -1 and errno (EEXIST: it exists
 * already). */
MUST_USE int attempt_make_folder(int dir, int64_t execution, int attempt);
MUST_USE int attempt_open_folder(int dir, int64_t execution, int attempt); /* the descriptor, or -1
                                                                              and errno */

/* Locks a file in the folder. Returns its descriptor, or -1 and errno: without `wait`, EAGAIN if
 * another process holds the lock. The lock is released when the last copy of the descriptor is
 * closed. */
MUST_USE int attempt_lock(int at, const char *name, bool wait);
/* Takes a shared lock, which attempt_is_locked reports too, through a descriptor that can't write
 * to the file: a task that runs as another user inherits it. */
MUST_USE int attempt_lock_shared(int at, const char *name);
/* Tests the lock without taking it: a third process can't mistake the test for a lock. */
bool attempt_is_locked(int at, const char *name);
/* Like attempt_is_locked, for an open file, whose name may belong to another file by now. */
bool attempt_file_is_locked(int fd);
/* Marks `lock`, which the caller holds: the task has ended and its shim knows how, but can't write
 * the exit record yet. The mark is part of the lock: it needs no disk space and disappears with the
 * shim. */
void attempt_mark_end_known(int lock);
/* Whether attempt_mark_end_known was called and no process of the task is left. */
bool attempt_is_end_known(int at);
/* Locks the lease. Returns its descriptor, or -1 and errno. The lock is required to write the lease
 * record and to act on it: between the check for a higher epoch and the action no higher epoch may
 * be written. No child inherits the descriptor, so the lock is released when this process ends. */
MUST_USE int attempt_lock_lease(int at);
/* Whether the folder was removed; then nothing can be created in it any more. */
bool attempt_is_folder_removed(int at);

MUST_USE int attempt_write_tombstone(int at); /* 0, or -1 and errno; the caller holds `lock` */
bool attempt_has_tombstone(int at);

/* The start token proves that the command was never started. The worker writes it into a new `lock`
 * before it requests the shim, and the shim takes it before it starts anything. The proof holds
 * only for a process that holds `lock` and has written a tombstone. Every other state of the file
 * proves nothing: a task can remove a token, but has never seen its own. Nothing here stops a task
 * from writing such a record itself, but the store returns no job to its queue whose start was
 * reported (store/ops/settle.c).
 *
 * Returns 0, or -1 and errno (EEXIST: another worker has adopted the attempt). */
MUST_USE int attempt_write_start_token(int at, int64_t execution, int attempt);
/* Whether `lock`, the descriptor from attempt_lock, contains the start token of this attempt. False
 * if it is -1. */
bool attempt_has_start_token(int lock, int64_t execution, int attempt);
/* The start token that a shim took: the content of `lock` before the shim overwrote all of it. */
struct taken_token {
    size_t len;
    char bytes[RECORD_MAX];
};
/* 0, or -1 and errno; after an error nothing may be started. */
MUST_USE int attempt_take_start_token(int lock, struct taken_token *out);
/* Puts the token back, for a shim that took it and could not start anything after all. */
void attempt_return_start_token(int lock, const struct taken_token *t);

/* Removes the folder with its contents, which may be nested deeply; a tree of more than 10,000
 * levels takes several calls. Returns 0, or -1 and errno. Never follows a link. */
int attempt_remove_folder(int dir, const char *name);

/* ---- records ---- */

struct attempt_shim {
    int64_t pid, start_time; /* of the shim; start_time as in /proc/PID/stat */
    int64_t epoch;           /* the epoch that started the attempt */
    int64_t begun;           /* time of the start, CLOCK_BOOTTIME, µs */
    int64_t session;         /* the task's session; 0 if not started yet */
    int64_t session_start;
    char key[ATTEMPT_KEY_SIZE];
    char cgroup[CGROUP_PATH_SIZE]; /* absolute path; "" if none */
    uint64_t place;                /* identifies the pid namespace and boot where the pids are valid
                                      (proc_place); 0 if unknown */
};

struct attempt_lease {
    int64_t epoch, until; /* until: CLOCK_BOOTTIME, µs */
};

enum attempt_command {
    COMMAND_CANCEL = 1, /* TERM, grace, KILL */
    COMMAND_TIME_OUT,   /* like COMMAND_CANCEL; the outcome is "timed out" */
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
    END_FENCED,      /* killed: the lease was not renewed */
    END_NOT_STARTED, /* the command could not be executed: step and error say why */
    END_CLIENT,      /* only the client's end is known; the container engine confirmed nothing about
                        the command */
};

/* The steps between fork and exec; the strings complete "can't …". */
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
    int64_t kind, code, signal; /* code or signal of the main process, for every kind */
    int64_t step, error;        /* END_NOT_STARTED: attempt_step and errno */
    int64_t begun, ended;       /* CLOCK_BOOTTIME, µs */
    int64_t cpu, peak_memory;   /* µs, bytes */
    int64_t log_total, log_unwritten;
};

struct attempt_log_pos {
    int64_t total, head, tail;
};

/* Written before the container is created. An attempt without this record was started by an earlier
 * version of Pawl, and its container can't be watched by another shim. */
struct attempt_container {
    int64_t head, tail;      /* the caps of the log */
    uint64_t pid_namespace;  /* in which the pids of the shim's record are valid; 0 if unknown */
    char boot[BOOT_ID_SIZE]; /* the boot of the host: no container outlives it */
};

/* File name, magic number and size of each kind of record. RECORD_ENDING has the content of
 * RECORD_EXIT; it is written while the container of an ended attempt is not gone yet. */
struct record {
    const char *name;
    uint64_t magic;
    size_t size;
};
extern const struct record RECORD_SHIM, RECORD_LEASE, RECORD_CONTROL, RECORD_EXIT, RECORD_ENDING,
    RECORD_LOG_POS, RECORD_CONTAINER;

/* Writes the bytes of a record to `out` (RECORD_MAX bytes) and returns their number. */
size_t record_encode(const struct record *kind, const void *from, void *out);
/* False unless the bytes are a complete, undamaged record of that kind. */
bool record_decode(const struct record *kind, const void *bytes, size_t len, void *to);

/* Reads a record. Returns 1 if it was read, 0 if the file does not exist, or -1 and errno: EBADMSG
 * if the content is not a valid record; an errno for which own_file_is_fault is true if the file
 * was replaced; one for which error_may_pass is true if a later try may succeed. No errno belongs
 * to both of these classes. */
int record_read(int at, const struct record *kind, void *to);
/* Overwrites the record in place, in one write; creates the file. 0, or -1 and errno. */
MUST_USE int record_write(int at, const struct record *kind, const void *from);
/* Whether a later try to read or write may succeed: the disk was full or failed, or a limit of the
 * process or the host was reached. Any other error persists until the file is changed. */
bool error_may_pass(int error);
/* Creates the file from which the record will be published, or takes the one that a dead shim left,
 * and allocates its blocks: on a file system that overwrites in place, a full disk can't prevent
 * the publication. Returns the descriptor, or -1 and errno. */
MUST_USE int record_reserve(int at, const struct record *kind);
/* Removes the file that record_reserve created. */
void record_release(int at, const struct record *kind);
/* Writes the reserved file and renames it to the record's name, so that readers see all of it or
 * nothing. 0, or -1 and errno. *reserved is the descriptor from record_reserve, or -1; it is closed
 * and set to -1 on success, and may be replaced on failure, after which the caller may try again. A
 * reserved file that was removed is created again. ENOSTR: one of the two names belongs to
 * something other than a plain file; trying again does not help. `step`, unless NULL, is called
 * between the steps (for crash tests). */
MUST_USE int record_publish(int at, const struct record *kind, const void *from, int *reserved,
                            void (*step)(const char *where));

/* The highest epoch recorded in this folder; 0 if none. */
int64_t attempt_epoch(int at);
/* Records epoch and end of the lease. -E_LEASE_LOST if the folder has a higher epoch, -E_INVALID if
 * the lease file was replaced by something else, -E_UNAVAILABLE if a later try may succeed. */
MUST_USE int attempt_renew(int at, const struct attempt_lease *l, struct err *err);
/* Writes the first lease record, unless one exists. Renewals overwrite it in place, so that a disk
 * that fills up later can't stop them. 0, or -1 and errno. */
MUST_USE int attempt_begin_lease(int at, const struct attempt_lease *l);
/* Sends a command to the shim. 0, or -1 and errno (ENXIO, ENOENT: the shim does not listen yet, or
 * has ended). */
MUST_USE int attempt_send_command(int at, const struct attempt_control *c);

/* ---- tampering: a task replaced files of its own folder ---- */

#define ATTEMPT_FAULT_SIZE 120
/* Whether a file of the attempt was replaced; if so, `out` receives a text that names the file. */
MUST_USE bool attempt_fault(int at, char out[ATTEMPT_FAULT_SIZE]);

/* A pidfd of the shim that has this folder open and has taken its lock, or -1: for folders whose
 * lock was removed or replaced and therefore proves nothing. Checks only the process in `recorded`,
 * or all processes if that is NULL. errno is ESRCH if there is no such shim; with any other errno a
 * shim may live. */
MUST_USE int attempt_find_shim(int at, const struct attempt_shim *recorded);

/* ---- log and output ---- */

/* The kept output: `kept` bytes in total; the first `head` of them are followed by a gap of
 * `dropped` bytes (0 if there is no gap). */
struct attempt_log {
    int64_t kept, head, dropped;
};
/* 0, or -1 and errno (ENOENT: the task printed nothing, or nothing could be written). */
MUST_USE int attempt_log_size(int at, struct attempt_log *out);
/* Appends at most `max` kept bytes, starting at `offset`. 0, or -1 and errno. */
MUST_USE int attempt_log_read(int at, const struct attempt_log *log, int64_t offset, size_t max,
                              struct buf *out);

/* ---- ending what is left of an attempt ---- */

/* A pidfd of the recorded shim, or -1 and errno: ESRCH if it has ended; with any other errno it may
 * still live. Only if the caller finds `lock` held afterwards is the process certain to be the
 * shim, and not another one with a reused pid. */
MUST_USE int attempt_shim_pidfd(const struct attempt_shim *s);

/* Kills the remaining processes of an attempt whose shim has ended: its cgroup, and every process
 * that has its key in the environment, holds `tree`, or belongs to its session; the session only if
 * it was recorded in this pid namespace and boot. Returns how many were found alive, plus 1 if not
 * all could be inspected for want of descriptors or memory. The caller holds `lock` and the current
 * epoch. */
int attempt_kill_remains(int at, const struct attempt_shim *s);
/* Like attempt_kill_remains, with `tree` as an open file: the name may belong to another file by
 * now. */
int attempt_kill_remains_of(int tree, const struct attempt_shim *s);

/* Kills a shim that does not respond. 0 if the signal was sent: the caller then ends the remaining
 * processes of the attempt. -1 if not: the folder has a higher epoch (another worker adopted the
 * attempt), the shim has ended, or its records can't be read. */
MUST_USE int attempt_kill_shim(int at, int64_t epoch);

/* Kills the shim whatever its epoch, because a stopped shim does not respond and could be continued
 * later. 0 if the signal was sent: the caller then ends the remaining processes of the attempt. -1
 * if the shim has ended or can't be identified. */
int attempt_kill_any_shim(int at);

/* How to end the attempts of another generation of the database. */
struct attempt_ending {
    int64_t patience;        /* µs to wait for each attempt */
    bool (*stop)(void *arg); /* returns true if the caller wants to stop; NULL if never */
    /* Called for each folder that was handled; `problem` says why it could not be removed, NULL if
     * it was. If the member `removed` is NULL, the first problem ends the call. */
    void (*removed)(void *arg, const char *problem);
    void *arg;
};

/* Ends every attempt below `dir` that may still run, regardless of the worker that started it, and
 * leaves the folders. Several processes may do this at once. 0 if `dir` does not exist. */
MUST_USE int attempt_end_running(const char *dir, const struct attempt_ending *o, struct err *err);
/* Like attempt_end_running, and removes the folders. -E_BUSY without a message if another process
 * is removing them now. */
MUST_USE int attempt_remove_all(const char *dir, const struct attempt_ending *o, struct err *err);

/* Calls `each` for every attempt below `dir` until it returns a value other than 0, which is then
 * returned. `locked` is true while a shim runs the attempt. */
MUST_USE int attempt_each(const char *dir,
                          int (*each)(void *arg, int64_t execution, int attempt, bool locked),
                          void *arg, struct err *err);

/* At most this many bytes of a process's environment are read. */
#define ENVIRON_MAX (8 << 20)

/* Calls `each` for every process whose environment names an attempt below `dir`, as far as this
 * user may read environments. False if some could not be inspected for want of descriptors or
 * memory. */
bool attempt_each_process(const char *dir,
                          void (*each)(void *arg, int64_t execution, int attempt, pid_t pid),
                          void *arg);
/* Kills a process that attempt_each_process found. False if its environment does not name the
 * attempt any more, so that a process with a reused pid is never killed. True without a kill if
 * descriptors or memory are short. */
MUST_USE bool attempt_kill_stray(const char *dir, int64_t execution, int attempt, pid_t pid);
/* Kills all processes whose environment names this attempt. True if any was found, or not all could
 * be inspected; then call it again. */
MUST_USE bool attempt_kill_strays(const char *dir, int64_t execution, int attempt);

/* ---- the undo command: ends what runs outside of the process tree ----
 *
 * A container is a child of its engine, not of the process that requested it, and only the engine
 * knows when it is gone. Therefore the attempt has an "undo" command that removes the container. It
 * may be run any number of times, by any process that may end the attempt. Until it has confirmed
 * that the container is gone, the attempt counts as possibly running. */

/* The lines that the undo command prints: */
#define UNDO_FOUND "found" /* first line, with the state and exit code of the container found */
#define UNDO_GONE  "gone"  /* last line, if nothing is left */
#define UNDO_ENDED "over"  /* last line, if the container has ended for good but still exists */

/* The state of the container when the undo command first found it; its later states are not
 * recorded, as the container is then being removed. */
enum undo_found {
    FOUND_NOTHING, /* the container does not exist, or the engine has not answered yet */
    FOUND_ENDED,   /* the command has ended by itself */
    FOUND_OTHER,   /* not started, or running */
};

/* Writes the undo command and the environment in which it finds its container engine, so that any
 * process can run it; with env NULL it runs in the environment of that process. 0, or -1 and
 * errno. */
MUST_USE int undo_write(int at, const char *const *argv, const char *const *env);

struct undo {
    bool done;             /* nothing is left that runs or will run */
    bool unremovable;      /* done, but the container can't be removed; `message` says why */
    int times_unremovable; /* how many runs of the command in a row found the container
                              unremovable */
    struct buf words;      /* argv, each word with its NUL; then an empty word and the environment
                              likewise; empty if there is nothing to undo */
    int64_t owner; /* uid + 1 of the user who started the attempt, if that is not this process's
                      user: the container engine of this user does not list that user's containers;
                      else 0 */
    pid_t pid;     /* process of the undo command that runs now; 0 if none */
    int out;       /* read end of the command's output */
    int64_t started_at;
    int64_t next, pause; /* time of the next try; the pause before it, µs */
    enum undo_found found;
    int64_t code; /* FOUND_ENDED: the command's exit code */
    size_t len;
    char message[400]; /* printed by the last run that failed; "" if none did */
};
/* undo_set_command and undo_load set the undo command of `u`, which starts zeroed. undo_load reads
 * it from the folder and returns false and errno if the file is missing, damaged (EBADMSG) or can't
 * be read. */
void undo_set_command(struct undo *u, const char *const *argv, const char *const *env);
MUST_USE bool undo_load(struct undo *u, int at);
/* Makes progress without waiting: runs the command, reads its output, runs it again if it failed,
 * kills it if it takes too long. Returns `done`. */
bool undo_poll(struct undo *u);
/* Splits the words into two NULL-terminated lists, which point into `u`; the caller frees both
 * lists. *env is NULL if no environment is stored. */
void undo_split(const struct undo *u, char ***argv, char ***env);
/* Kills the undo command if it is running (another process will run it again), and frees its words.
 */
void undo_release(struct undo *u);

/* ---- cgroups (version 2) ---- */

/* The path of this process's own cgroup if it may create cgroups in it, else "". */
void cgroup_find(char out[CGROUP_PATH_SIZE]);
/* Removes the empty cgroups of attempts whose shims were killed before they could remove them:
 * those below `parent` that are older than a minute. A cgroup with a process in it can't be
 * removed. */
void cgroup_remove_old(const char *parent);
/* Creates a cgroup; returns its descriptor, or -1. */
MUST_USE int cgroup_make(const char *path);
/* Sets a limit; false if its controller is not available. */
bool cgroup_limit(int cgroup, const char *file, int64_t value);
bool cgroup_kill(const char *path); /* false if the cgroup can't be killed */
void cgroup_remove(const char *path);

#endif
